/* The list of tools. A new one is a row here and a file of its own. */
#include <string.h>

#include "tool/internal.h"

const struct tool_row *const tool_table[] = {
	&tool_bash, &tool_read, &tool_edit, &tool_write, &tool_glob, &tool_grep, &tool_todo, &tool_task_stop, NULL,
};

const char *toolbox_builtin(size_t i)
{
	return i < sizeof tool_table / sizeof *tool_table - 1 ? tool_table[i]->name : NULL;
}

const struct tool_row *tool_find(const char *name)
{
	for (const struct tool_row *const *row = tool_table; *row; row++)
		if (strcmp((*row)->name, name) == 0)
			return *row;
	return NULL;
}
