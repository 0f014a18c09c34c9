/* The table of what can be asked, as its readers look into it. */
#include "job/schema.h"

#include <string.h>

const char *const key_group_titles[GROUPS] = {
	[GROUP_TASK] = "The task",
	[GROUP_MODEL] = "The model",
	[GROUP_WORKSPACE] = "Where it works",
	[GROUP_LIMITS] = "Limits",
	[GROUP_TOOLS] = "Tools and permissions",
	[GROUP_HOOKS] = "Hooks and settings files",
	[GROUP_OUTPUT] = "Output",
	[GROUP_OTHER] = "Other",
};

const struct job_section job_sections[] = {
	{ "model", "who answers" },
	{ "context", "what the model still sees of a long conversation" },
	{ "workspace", "where the tools work" },
	{ "limits", "when to stop; a limit that is not given is no limit, unless it has a default" },
	{ "tools", "what the model can do" },
	{ "permissions", "what it may do" },
	{ "sandbox", "what the system lets its tools do" },
	{ "verify", "what must succeed before the run counts as completed" },
	{ "output", "what comes out" },
	{ NULL, NULL },
};

const struct job_key *schema_by_path(const char *path)
{
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++)
		if (k->path && !strcmp(k->path, path))
			return k;
	return NULL;
}

static bool spelled(const char *known, const char *name, size_t n)
{
	return known && n && strlen(known) == n && !memcmp(known, name, n);
}

const struct job_key *schema_by_option(const char *name, size_t n)
{
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++)
		if (spelled(k->option, name, n) || spelled(k->alias, name, n))
			return k;
	return NULL;
}

const struct job_key *schema_by_letter(char letter)
{
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++)
		if (k->letter && k->letter == letter)
			return k;
	return NULL;
}

const struct job_members *schema_members(enum key_type type)
{
	return type == KEY_TOOLS   ? &job_tool_members
	       : type == KEY_HOOKS ? &job_hook_members
	       : type == KEY_PRICE ? &job_price_members
	                           : NULL;
}

const struct job_section *schema_section(const char *name)
{
	for (const struct job_section *s = job_sections; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

const char *schema_leaf(const char *path)
{
	const char *dot = strchr(path, '.');

	return dot ? dot + 1 : path;
}

bool schema_in_section(const struct job_key *k, const char *section)
{
	if (!k->path)
		return false;
	const char *dot = strchr(k->path, '.');
	if (!section)
		return !dot;
	return dot && strlen(section) == (size_t)(dot - k->path) && !strncmp(section, k->path, strlen(section));
}
