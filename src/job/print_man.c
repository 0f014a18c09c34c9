/* The parts of the man page that are lists of the schema table: the options, and the keys that have none. */
#include <stdio.h>
#include <string.h>

#include "job/docs.h"
#include "job/job.h"

/*
 * Running text in mdoc: a sentence begins a line, no line begins with a control character, and the dashes of an option
 * stay dashes.
 */
static void mdoc_text(const char *s, struct buf *out)
{
	bool literal = false;

	for (const char *p = s; *p; p++) {
		if (p == s || p[-1] == ' ')
			literal = *p == '-';
		if (p > s + 1 && *p == ' ' && p[-1] == '.' && p[1] >= 'A' && p[1] <= 'Z')
			buf_addc(out, '\n');
		else if (*p == '\\')
			buf_adds(out, "\\e");
		else if (*p == '-' && literal)
			buf_adds(out, "\\-");
		else if ((p == s || p[-1] == '\n') && (*p == '.' || *p == '\''))
			buf_addf(out, "\\&%c", *p);
		else
			buf_addc(out, *p);
	}
}

/* A help line is no sentence: here it begins with a capital and ends with a full stop. */
static void sentence(const char *help, struct buf *out)
{
	char first = help[0];

	if (first >= 'a' && first <= 'z')
		first = (char)(first - 'a' + 'A');
	buf_addc(out, first);
	mdoc_text(help + 1, out);
	buf_adds(out, ".\n");
}

/* "One of" and the choices, each a word of its own; the last is set off by "or". */
static void choices(const char *const *words, const char *intro, struct buf *out)
{
	buf_addf(out, "%s\n", intro);
	for (size_t i = 0; words[i]; i++) {
		if (i && !words[i + 1])
			buf_adds(out, "or\n");
		bool comma = words[i + 1] && words[i + 2];
		buf_addf(out, ".Cm %s%s\n", words[i], comma ? " ," : words[i + 1] ? "" : " .");
	}
}

static void fact(const char *word, const char *macro, const char *value, const char **before, struct buf *out)
{
	if (!value)
		return;
	buf_addf(out, "%s%s%s%s ", *before, word, word[0] ? "\n" : "", macro);
	mdoc_text(value, out);
	*before = " ;\n";
}

/* What stands behind the text: key, default and variables, as far as there are any. */
static void facts(const struct job_key *k, bool with_key, struct buf *out)
{
	const char *before = "", *otherwise = job_default_text(k);

	fact("Key", ".Cm", with_key ? k->path : NULL, &before, out);
	fact(before[0] ? "default" : "Default", ".Cm", otherwise, &before, out);
	fact("variables", ".Ev", k->env, &before, out);
	if (k->env && k->vendor)
		buf_addf(out, " , %s", k->vendor);
	if (before[0])
		buf_adds(out, " .\n");
}

static const char *note_on(const char *name)
{
	for (size_t i = 0; i < job_note_count; i++)
		if (!strcmp(job_notes[i].name, name))
			return job_notes[i].text;
	return NULL;
}

/* `list` is what the path lies in, with a dot behind, or "". */
static void text_of(const struct job_key *k, const char *list, struct buf *out)
{
	char name[80];

	sentence(k->help, out);
	if (k->choices && k->type != KEY_LIST && (k->arg || !k->option))
		choices(k->choices, "One of", out);
	const char *option = k->option ? k->option : "";
	snprintf(name, sizeof name, "%s%s", k->path ? list : *option ? "--" : "-", k->path ? k->path : option);
	const char *note = note_on(name);
	if (note) {
		mdoc_text(note, out);
		buf_adds(out, ".\n");
	}
}

static void option_item(const struct job_key *k, struct buf *out)
{
	if (!k->option[0])
		buf_addf(out, ".It Cm %c", k->letter);
	else if (k->letter)
		buf_addf(out, ".It Fl %c , Fl -%s", k->letter, k->option);
	else
		buf_addf(out, ".It Fl -%s", k->option);
	if (k->alias)
		buf_addf(out, " , Fl -%s", k->alias);
	if (k->arg)
		buf_addf(out, " Ar %s", k->arg);
	buf_addc(out, '\n');
	text_of(k, "", out);
	facts(k, true, out);
}

void job_print_man(struct buf *out)
{
	for (int g = 0; g < GROUPS; g++) {
		buf_addf(out, ".Ss %s\n.Bl -tag -width Ds\n", key_group_titles[g]);
		for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++)
			if (k->option && k->group == (enum key_group)g)
				option_item(k, out);
		buf_adds(out, ".El\n");
	}
}

static void member_list(const struct job_key *of, const struct job_members *m, const char *const types[KEY_TYPES],
                        struct buf *out)
{
	char list[40];

	snprintf(list, sizeof list, "%s.", of->path);
	buf_adds(out, of->type == KEY_PRICE ? "It has:\n" : "Each has:\n");
	buf_adds(out, ".Bl -tag -width Ds -compact\n");
	for (const struct job_key *k = m->v; k < m->v + m->n; k++) {
		buf_addf(out, ".It Cm %s : Ar %s\n", k->path, types[k->type]);
		text_of(k, list, out);
		facts(k, false, out);
	}
	buf_adds(out, ".El\n");
}

void job_print_man_keys(struct buf *out)
{
	static const char *const types[KEY_TYPES] = {
		[KEY_STRING] = "text",  [KEY_INT] = "number",         [KEY_TOKENS] = "tokens",
		[KEY_BYTES] = "size",   [KEY_USD] = "dollars",        [KEY_DURATION] = "duration",
		[KEY_BOOL] = "boolean", [KEY_ENUM] = "word",          [KEY_LIST] = "list",
		[KEY_MAP] = "map",      [KEY_JSON] = "object",        [KEY_TOOLS] = "list of maps",
		[KEY_MARK] = "mark",    [KEY_HOOKS] = "map of lists", [KEY_PRICE] = "map",
	};

	buf_adds(out, ".Bl -tag -width Ds\n");
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		if (!k->path || k->option)
			continue;
		buf_addf(out, ".It Cm %s : Ar %s\n", k->path, types[k->type]);
		text_of(k, "", out);
		facts(k, false, out);
		if (schema_members(k->type))
			member_list(k, schema_members(k->type), types, out);
	}
	buf_adds(out, ".El\n");
}
