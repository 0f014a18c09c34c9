#include "job/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/utf8.h"
#include "job/job_file.h"

struct words {
	struct setter *s;
	int argc;
	char *const *argv;
	int at; /* index of the word being read */
	bool bad;
};

static int shown(const char *text)
{
	return (int)utf8_floor(text, strlen(text), 80);
}

static void fail(struct words *w, const char *label, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void fail(struct words *w, const char *label, const char *fmt, ...)
{
	struct origin o = { SOURCE_OPTION, label, false };
	char msg[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	setter_fail(w->s, &o, NULL, NULL, "%s", msg);
	w->bad = true;
}

/* What an unknown long option may have meant: another option, or a job key that has none. */
static void fail_unknown(struct words *w, const char *word, const char *name, size_t n)
{
	struct suggest near, leaf;

	suggest_init(&near, name, n);
	suggest_init(&leaf, name, n);
	const char *path = NULL;
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		if (k->option)
			suggest_offer(&near, k->option);
		if (k->alias)
			suggest_offer(&near, k->alias);
		if (!k->path || k->option)
			continue;
		const char *before = leaf.best;
		suggest_offer(&leaf, schema_leaf(k->path));
		suggest_offer(&leaf, k->path);
		if (leaf.best != before)
			path = k->path;
	}
	if (near.best && (!leaf.best || near.distance <= leaf.distance))
		fail(w, NULL, "%.*s: unknown option (did you mean --%s?)", shown(word), word, near.best);
	else if (path)
		fail(w, NULL, "%.*s: unknown option (did you mean --set %s=VALUE?)", shown(word), word, path);
	else
		fail(w, NULL, "%.*s: unknown option (--help lists all)", shown(word), word);
}

/* --set KEY=VALUE: KEY is a path of the table, or of a map in it with one name more. */
static void set_key(struct words *w, const char *text)
{
	const char *eq = strchr(text, '=');

	if (!eq || eq == text) {
		fail(w, "--set", "must be KEY=VALUE, as in limits.max_turns=5");
		return;
	}
	if (job_set_key(w->s, text, (size_t)(eq - text), eq + 1))
		w->bad = true;
}

static void set_action(struct job *job, enum job_action action)
{
	/* Of help, version and schema the first wins; all win over --check. */
	if (job->action == ACTION_RUN || job->action == ACTION_CHECK)
		job->action = action;
}

static void print_schema(struct words *w, const char *value)
{
	if (!strcmp(value, "job"))
		set_action(w->s->job, ACTION_SCHEMA_JOB);
	else if (!strcmp(value, "events"))
		set_action(w->s->job, ACTION_SCHEMA_EVENTS);
	else
		fail(w, "--print-schema", "must be job or events, not '%.*s'", shown(value), value);
}

static void act(struct words *w, const struct job_key *k, const char *label, const char *value)
{
	struct origin o = { SOURCE_OPTION, label, false };
	struct job *job = w->s->job;

	switch (k->act) {
	case ACT_VALUE:
		if (setter_text(w->s, k, value ? value : "true", &o))
			w->bad = true;
		break;
	case ACT_SETS:
		if (setter_text(w->s, schema_by_path(k->sets), k->fallback, &o))
			w->bad = true;
		break;
	case ACT_NOTHING:
		break;
	case ACT_SET:
		set_key(w, value ? value : "");
		break;
	case ACT_CHECK:
		if (job->action == ACTION_RUN)
			job->action = ACTION_CHECK;
		break;
	case ACT_SCHEMA:
		print_schema(w, value ? value : "");
		break;
	case ACT_HELP:
		set_action(job, ACTION_HELP);
		break;
	case ACT_VERSION:
		set_action(job, ACTION_VERSION);
		break;
	case ACT_VERBOSE:
	case ACT_QUIET:
		job->verbose = k->act == ACT_VERBOSE;
		job->quiet = !job->verbose;
		break;
	}
}

static bool is_known_long(const char *word)
{
	if (strncmp(word, "--", 2) != 0)
		return false;
	return schema_by_option(word + 2, strcspn(word + 2, "=")) != NULL;
}

/* The next word as the value of an option, or NULL after an error. A prompt that begins with '-' could be a
 * variable's content posing as an option, so it must be joined by '='; so must what spells an option. */
static const char *next_value(struct words *w, const struct job_key *k, const char *label)
{
	const char *next = w->at + 1 < w->argc ? w->argv[w->at + 1] : NULL;
	bool prompt = k->path && !strcmp(k->path, "prompt");

	if (!next && prompt) {
		fail(w, label, "needs a text after it (without -p the task is read from stdin)");
		return NULL;
	}
	if (!next) {
		fail(w, label, "needs %s after it", k->arg);
		return NULL;
	}
	if (prompt && next[0] == '-') {
		fail(w, label, "the next word begins with '-': write --prompt=TEXT if it is the task");
		w->at++;
		return NULL;
	}
	if (is_known_long(next)) {
		fail(w, label, "needs %s before %.*s (or write --%s=%s)", k->arg, shown(next), next, k->option, k->arg);
		return NULL;
	}
	w->at++;
	return next;
}

static void read_long(struct words *w)
{
	const char *word = w->argv[w->at];
	const char *name = word + 2;
	size_t n = strcspn(name, "=");
	const struct job_key *k = schema_by_option(name, n);
	char label[64];

	if (!k) {
		fail_unknown(w, word, name, n);
		/* What may have been its value is no job file. */
		if (!name[n] && w->at + 1 < w->argc && w->argv[w->at + 1][0] != '-')
			w->at++;
		return;
	}
	snprintf(label, sizeof label, "--%.*s", (int)n, name);
	if (!k->arg && name[n]) {
		fail(w, label, "takes no value");
		return;
	}
	const char *value = name[n] ? name + n + 1 : NULL;
	if (k->arg && !value && !(value = next_value(w, k, label)))
		return;
	act(w, k, label, value);
}

/* A word such as -print: most likely a long option with one dash, never a value glued to a letter. */
static void fail_bundle(struct words *w, const struct job_key *k)
{
	const char *word = w->argv[w->at];
	struct suggest near;

	suggest_init(&near, word + 1, strlen(word + 1));
	for (const struct job_key *i = job_keys; i < job_keys + job_key_count; i++)
		if (i->option)
			suggest_offer(&near, i->option);
	if (near.best)
		fail(w, NULL, "%.*s: unknown option (did you mean --%s?)", shown(word), word, near.best);
	else if (k)
		fail(w, NULL, "%.*s: the value of -%c is the next word", shown(word), word, k->letter);
	else
		fail(w, NULL, "%.*s: unknown option (--help lists all)", shown(word), word);
}

static void read_short(struct words *w)
{
	const char *word = w->argv[w->at];
	bool single = !word[2];

	for (const char *p = word + 1; *p; p++) {
		const struct job_key *k = *p == '-' ? NULL : schema_by_letter(*p);
		if (!k || (k->arg && !single)) {
			fail_bundle(w, k);
			return;
		}
	}
	for (const char *p = word + 1; *p; p++) {
		const struct job_key *k = schema_by_letter(*p);
		char label[] = { '-', *p, '\0' };
		const char *value = k->arg ? next_value(w, k, label) : NULL;
		if (k->arg && !value)
			return;
		act(w, k, label, value);
	}
}

static void read_file_name(struct words *w)
{
	const char *word = w->argv[w->at];
	struct job *job = w->s->job;

	if (!job->job_file)
		job->job_file = word;
	else
		fail(w, NULL, "%.*s: there is a job file already, %.*s (did you mean -p?)", shown(word), word,
		     shown(job->job_file), job->job_file);
}

int options_read(struct setter *s, int argc, char *const argv[])
{
	struct words w = { .s = s, .argc = argc, .argv = argv };
	bool options = true;

	if (argc == 2 && !strcmp(argv[1], "-v")) {
		s->job->action = ACTION_VERSION;
		return 0;
	}
	for (w.at = 1; w.at < argc; w.at++) {
		const char *word = argv[w.at];
		if (!options || word[0] != '-')
			read_file_name(&w);
		else if (!word[1])
			act(&w, schema_by_letter('-'), "-", NULL);
		else if (!strcmp(word, "--"))
			options = false;
		else if (word[1] == '-')
			read_long(&w);
		else
			read_short(&w);
	}
	return w.bad ? -1 : 0;
}
