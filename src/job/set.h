/*
 * From a text and its row to a field of struct job. Sources come strongest first: a value of a weaker source
 * is checked all the same, but goes into a shadow, so that every error of a file is told and nothing is overridden.
 * Life cycle: setter_init -> setter_value... -> (no release: everything lives in the job's arena).
 */
#ifndef QUERN_JOB_SET_H
#define QUERN_JOB_SET_H

#include "base/yaml.h"
#include "job/job.h"
#include "job/schema.h"

enum source {
	SOURCE_NONE,
	SOURCE_DEFAULT,
	SOURCE_VENDOR,
	SOURCE_SETTINGS, /* settings files: values are added to what stronger sources say, see setter_add */
	SOURCE_FILE,
	SOURCE_ENV,
	SOURCE_OPTION
};

struct setter {
	struct job *job;
	struct job shadow;
	size_t nwarnings;
	unsigned char level[JOB_KEYS_MAX]; /* enum source of what each key has */
	struct job_errors *errs;
	int plain; /* of errs: wrong values of keys other than output.format */
};

/* Where a value stands, for errors: "job.yaml" (positions come from the node) or "--max-turns". */
struct origin {
	enum source source;
	const char *label;
	bool found; /* a settings file that nobody named: what we cannot do is a warning, not an error */
};

static inline bool origin_is_file(const struct origin *o)
{
	return o->source == SOURCE_FILE || o->source == SOURCE_SETTINGS;
}

void setter_init(struct setter *s, struct job *job, struct job_errors *errs);

/* One value as the YAML reader gave it. Errors go to errs; the return says whether there were any. */
int setter_value(struct setter *s, const struct job_key *k, const struct yaml_node *v, const struct origin *o);
/* One value of a settings file: lists and hooks are added to what is there, a single value holds if no stronger source
 * and no file before has given one. */
int setter_add(struct setter *s, const struct job_key *k, const struct yaml_node *v, const struct origin *o);
/* One value as a plain text: strings verbatim, lists cut at commas and spaces outside parentheses. */
int setter_text(struct setter *s, const struct job_key *k, const char *text, const struct origin *o);

/* One member: `k` is a row of a struct job_members, `path` its whole name for errors, `into` the members' struct. */
int setter_member(struct setter *s, const struct job_key *k, const char *path, void *into, const struct yaml_node *v,
                  const struct origin *o);
/* members.c: all members of a map (`path` is its name, for errors), and whether those that are required are there. */
int setter_members(struct setter *s, const struct job_members *m, const char *path, void *into,
                   const struct yaml_node *map, const struct origin *o);
/* external.c, hook_keys.c, price.c: values of their types, for the setter. */
int setter_tools(struct setter *s, struct job *into, const struct yaml_node *v, const struct origin *o);
int setter_hooks(struct setter *s, struct job *into, const struct yaml_node *v, const struct origin *o);
int setter_price(struct setter *s, struct job *into, const struct yaml_node *v, const struct origin *o);

/* files.c: an error for each file that would be written over another one that the job names. */
void setter_check_files(struct setter *s);

/* One error line: "label:line:col: " for files, "label: " else, then path and ": " if there is a path. Returns -1. */
int setter_fail(struct setter *s, const struct origin *o, const struct yaml_node *at, const char *path, const char *fmt,
                ...) __attribute__((format(printf, 5, 6)));
/* The same of what lies inside a value: the path is told whatever the source. */
int setter_fail_in(struct setter *s, const struct origin *o, const struct yaml_node *at, const char *path,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* A line that is told before the run, in the form of an error's. Returns 0. */
int setter_warn(struct setter *s, const struct origin *o, const struct yaml_node *at, const char *path, const char *fmt,
                ...) __attribute__((format(printf, 5, 6)));

#endif
