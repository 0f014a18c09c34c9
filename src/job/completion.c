/* The completions of three shells. */
#include "job/docs.h"

#include <stdio.h>
#include <string.h>

#include "job/job.h"

#define GENERATED "# Made from the option table of quern by `make update-docs`; do not edit.\n"

/* What follows an option: the shells differ only in how they say it. */
enum follows { FOLLOWS_NOTHING, FOLLOWS_TEXT, FOLLOWS_FILE, FOLLOWS_DIR, FOLLOWS_CHOICE };

static enum follows follows(const struct job_key *k)
{
	if (!k->arg)
		return FOLLOWS_NOTHING;
	if (k->choices)
		return FOLLOWS_CHOICE;
	if (!strcmp(k->arg, "FILE"))
		return FOLLOWS_FILE;
	return !strcmp(k->arg, "DIR") ? FOLLOWS_DIR : FOLLOWS_TEXT;
}

static void choices(const struct job_key *k, struct buf *out)
{
	for (size_t i = 0; k->choices[i]; i++)
		buf_addf(out, "%s%s", i ? " " : "", k->choices[i]);
}

static void bash_patterns(const struct job_key *k, struct buf *out)
{
	buf_addf(out, "\t--%s", k->option);
	if (k->alias)
		buf_addf(out, " | --%s", k->alias);
	if (k->letter)
		buf_addf(out, " | -%c", k->letter);
	buf_adds(out, ")\n\t\t");
}

static void bash_value(const struct job_key *k, struct buf *out)
{
	bash_patterns(k, out);
	switch (follows(k)) {
	case FOLLOWS_CHOICE:
		buf_adds(out, "mapfile -t COMPREPLY < <(compgen -W '");
		choices(k, out);
		buf_adds(out, "' -- \"$cur\")");
		break;
	case FOLLOWS_DIR:
		buf_adds(out, "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")");
		break;
	case FOLLOWS_FILE:
		buf_adds(out, "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")");
		break;
	default:
		buf_adds(out, ":");
		break;
	}
	buf_adds(out, "\n\t\treturn ;;\n");
}

static void bash_options(struct buf *out)
{
	const char *space = "";

	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		if (!k->option || !k->option[0])
			continue;
		buf_addf(out, "%s--%s", space, k->option);
		space = " ";
		if (k->alias)
			buf_addf(out, " --%s", k->alias);
	}
}

/* bash makes three words of --option=value. */
static void bash(struct buf *out)
{
	buf_adds(out, GENERATED "_quern()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	                        "\t[[ $prev != = ]] || prev=${COMP_WORDS[COMP_CWORD-2]}\n"
	                        "\t[[ $cur != = ]] || cur=\n"
	                        "\tCOMPREPLY=()\n\tcase $prev in\n");
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++)
		if (k->option && k->option[0] && k->arg)
			bash_value(k, out);
	buf_adds(out, "\tesac\n\tif [[ $cur == -* ]]; then\n\t\tmapfile -t COMPREPLY < <(compgen -W '");
	bash_options(out);
	buf_adds(out, "' -- \"$cur\")\n\telse\n\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n\tfi\n}\n"
	              "complete -o filenames -F _quern quern\n");
}

/* Single quotes, colons and brackets mean something inside a specification. */
static void zsh_text(const char *s, struct buf *out)
{
	for (; *s; s++) {
		if (*s == '\'')
			buf_adds(out, "'\\''");
		else if (strchr(":[]\\", *s))
			buf_addf(out, "\\%c", *s);
		else
			buf_addc(out, *s);
	}
}

static void zsh_option(const struct job_key *k, const char *spelling, struct buf *out)
{
	buf_addf(out, " \\\n\t'%s%s%s[", k->flags & KF_WHOLE ? "*" : "", spelling,
	         k->arg && spelling[1] == '-' ? "=" : "");
	zsh_text(k->help, out);
	buf_addc(out, ']');
	if (k->arg) {
		buf_addc(out, ':');
		zsh_text(k->arg, out);
		buf_addc(out, ':');
	}
	switch (follows(k)) {
	case FOLLOWS_CHOICE:
		buf_addc(out, '(');
		choices(k, out);
		buf_addc(out, ')');
		break;
	case FOLLOWS_DIR:
		buf_adds(out, "_files -/");
		break;
	case FOLLOWS_FILE:
		buf_adds(out, "_files");
		break;
	default:
		break;
	}
	buf_addc(out, '\'');
}

static void zsh(struct buf *out)
{
	char spelling[64];

	buf_adds(out, "#compdef quern\n" GENERATED "_arguments");
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		if (!k->option || !k->option[0])
			continue;
		if (k->letter) {
			spelling[0] = '-';
			spelling[1] = k->letter;
			spelling[2] = '\0';
			zsh_option(k, spelling, out);
		}
		snprintf(spelling, sizeof spelling, "--%s", k->option);
		zsh_option(k, spelling, out);
		if (k->alias) {
			snprintf(spelling, sizeof spelling, "--%s", k->alias);
			zsh_option(k, spelling, out);
		}
	}
	buf_adds(out, " \\\n\t'1:job file:_files'\n");
}

static void fish_text(const char *s, struct buf *out)
{
	buf_addc(out, '\'');
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			buf_addc(out, '\\');
		buf_addc(out, *s);
	}
	buf_addc(out, '\'');
}

static void fish(struct buf *out)
{
	buf_adds(out, GENERATED);
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		if (!k->option || !k->option[0])
			continue;
		buf_adds(out, "complete -c quern");
		if (k->letter)
			buf_addf(out, " -s %c", k->letter);
		buf_addf(out, " -l %s", k->option);
		if (k->alias)
			buf_addf(out, " -l %s", k->alias);
		switch (follows(k)) {
		case FOLLOWS_CHOICE:
			buf_adds(out, " -x -a '");
			choices(k, out);
			buf_addc(out, '\'');
			break;
		case FOLLOWS_DIR:
			buf_adds(out, " -x -a '(__fish_complete_directories)'");
			break;
		case FOLLOWS_FILE:
			buf_adds(out, " -r -F");
			break;
		case FOLLOWS_TEXT:
			buf_adds(out, " -x");
			break;
		default:
			break;
		}
		buf_adds(out, " -d ");
		fish_text(k->help, out);
		buf_addc(out, '\n');
	}
}

int job_print_completion(const char *shell, struct buf *out)
{
	static const struct {
		const char *name;
		void (*print)(struct buf *);
	} shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

	for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
		if (!strcmp(shells[i].name, shell)) {
			shells[i].print(out);
			return 0;
		}
	return -1;
}
