#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "loop_path.h"

static void show_lines(const struct sim *s)
{
	for (size_t i = 0; i < s->nlines; i++)
		print_message("# %.200s\n", s->lines[i]);
}

void assert_trace(const struct sim *s, const char *trace)
{
	if (strcmp(s->trace, trace) != 0)
		show_lines(s);
	assert_string_equal(s->trace, trace);
}

void assert_turns(const struct sim *s, long turns)
{
	const char *end = sim_line(s, "end ");

	assert_non_null(end);
	assert_int_equal(strtol(strstr(end, "turns=") + sizeof "turns=" - 1, NULL, 10), turns);
}

void assert_shows(const struct sim *s, const char *line)
{
	if (!line || sim_line(s, line))
		return;
	show_lines(s);
	fail_msg("no line '%s'", line);
}

void assert_hides(const struct sim *s, const char *line)
{
	const char *found = line ? sim_line(s, line) : NULL;

	if (!found)
		return;
	show_lines(s);
	fail_msg("there is a line '%s'", found);
}
