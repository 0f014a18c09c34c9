/* --help: a usage line, then the options by group, one paragraph each, 80 columns. */
#include <string.h>

#include "job/docs.h"
#include "job/job.h"

#define SPELL_INDENT 2
#define TEXT_COLUMN  30
#define WIDTH        79

/* "-t, --max-turns N" */
static void spell_option(const struct job_key *k, struct buf *out)
{
	if (k->letter)
		k->option[0] ? buf_addf(out, "-%c, ", k->letter) : buf_addc(out, k->letter);
	else
		buf_adds(out, "    ");
	if (k->option[0])
		buf_addf(out, "--%s", k->option);
	if (k->alias)
		buf_addf(out, ", --%s", k->alias);
	if (k->arg)
		buf_addf(out, " %s", k->arg);
}

const char *job_default_text(const struct job_key *k)
{
	if (k->fallback_text)
		return k->fallback_text;
	return k->act == ACT_VALUE && k->type != KEY_BOOL ? k->fallback : NULL;
}

static void pad(struct buf *out, size_t from, size_t to)
{
	for (; from < to; from++)
		buf_addc(out, ' ');
}

/* Adds the words of a text, breaking lines before WIDTH; *column is where the line stands. */
static void add_words(struct buf *out, const char *text, size_t *column)
{
	while (*text) {
		size_t n = strcspn(text, " ");
		bool begins = *column == TEXT_COLUMN;
		if (!begins && *column + 1 + n > WIDTH) {
			buf_addc(out, '\n');
			pad(out, 0, TEXT_COLUMN);
			*column = TEXT_COLUMN;
			begins = true;
		}
		if (!begins) {
			buf_addc(out, ' ');
			++*column;
		}
		buf_add(out, text, n);
		*column += n;
		text += n;
		text += strspn(text, " ");
	}
}

/* " (a, b or c; default a)" as far as there is something to say. */
static void add_range(const struct job_key *k, struct buf *text)
{
	const char *otherwise = job_default_text(k);
	bool choices = k->choices && k->type != KEY_LIST;

	if (!choices && !otherwise)
		return;
	buf_adds(text, " (");
	for (size_t i = 0; choices && k->choices[i]; i++)
		buf_addf(text, "%s%s", !i ? "" : k->choices[i + 1] ? ", " : " or ", k->choices[i]);
	if (otherwise)
		buf_addf(text, "%sdefault %s", choices ? "; " : "", otherwise);
	buf_addc(text, ')');
}

static void print_option(const struct job_key *k, struct buf *out)
{
	struct buf text = BUF_INIT(4096);
	size_t start = out->len;

	pad(out, 0, SPELL_INDENT);
	spell_option(k, out);
	size_t column = out->len - start;
	if (column + 2 > TEXT_COLUMN) {
		buf_addc(out, '\n');
		column = 0;
	}
	pad(out, column, TEXT_COLUMN);
	column = TEXT_COLUMN;
	buf_adds(&text, k->help);
	add_range(k, &text);
	add_words(out, buf_str(&text), &column);
	buf_addc(out, '\n');
	buf_release(&text);
}

void job_print_help(struct buf *out)
{
	buf_adds(out, "usage: quern [OPTION]... [JOB.yaml]\n\n"
	              "Drives one task to its end with a language model and tools. The task is the text\n"
	              "of -p, the job's prompt, or else stdin; events come on stdout, one JSON object a\n"
	              "line.\n");
	for (int g = 0; g < GROUPS; g++) {
		buf_addf(out, "\n%s:\n", key_group_titles[g]);
		for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++)
			if (k->option && k->group == (enum key_group)g)
				print_option(k, out);
	}
	buf_adds(out, "\nLists are parted by commas or spaces. An option wins over a QUERN_* variable,\n"
	              "that over the job file, that over an ANTHROPIC_* variable, that over the\n"
	              "default. The keys of job files: quern --print-schema job\n");
}
