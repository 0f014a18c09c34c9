/*
 * The one table of what can be asked. A row is a job key, an option, or both; a row without a path is an
 * option that no job file has. Parsing, "did you mean", --help, --print-schema job, --check, the man page's
 * lists and the shell completions read this table, so a new key is one row and one field of struct job.
 */
#ifndef QUERN_JOB_SCHEMA_H
#define QUERN_JOB_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum key_type {
	KEY_STRING,   /* the scalar as written */
	KEY_INT,      /* decimal digits */
	KEY_TOKENS,   /* digits, k or M (powers of 1000) */
	KEY_BYTES,    /* digits, KiB to TiB */
	KEY_DURATION, /* digits and ms, s, m or h; a bare 0; kept in ms */
	KEY_USD,      /* decimal amount; kept in billionths of a dollar */
	KEY_MARK,     /* a percentage, tokens, or off; kept as struct job_mark */
	KEY_BOOL,     /* true or false */
	KEY_ENUM,     /* one of choices */
	KEY_LIST,     /* strings, all of choices if there are any */
	KEY_MAP,      /* name to string */
	KEY_JSON,     /* an object, kept as JSON text */
	KEY_TOOLS,    /* tools of the job's own: a list of maps whose members are job_tool_members */
	KEY_HOOKS,    /* events, their groups and in these a list of maps whose members are job_hook_members */
	KEY_PRICE,    /* a map whose members are job_price_members; kept as struct job_price */
	KEY_TYPES
};

enum key_group {
	GROUP_TASK,
	GROUP_MODEL,
	GROUP_WORKSPACE,
	GROUP_LIMITS,
	GROUP_TOOLS,
	GROUP_HOOKS,
	GROUP_OUTPUT,
	GROUP_OTHER,
	GROUPS
};

/* What an option without a key of its own does. */
enum key_act {
	ACT_VALUE,   /* gives its row's key the value; the rule */
	ACT_SETS,    /* gives the key named by `sets` the text in `fallback` */
	ACT_NOTHING, /* accepted for the sake of habit */
	ACT_SET,     /* --set KEY=VALUE */
	ACT_CHECK,
	ACT_SCHEMA,
	ACT_HELP,
	ACT_VERSION,
	ACT_VERBOSE,
	ACT_QUIET
};

enum key_flags {
	KF_RESOLVE = 1,   /* a path, made absolute from the start directory */
	KF_INDEX = 2,     /* enum: the field is a C enum that counts the choices from 1 */
	KF_WHOLE = 4,     /* list option: each use is one item, never split at commas or spaces */
	KF_NOT_KEPT = 8,  /* checked, but there is no field */
	KF_HIDE = 16,     /* values may be secret: --check shows the names alone */
	KF_REPEATS = 32,  /* list: the same item may come twice */
	KF_REQUIRED = 64, /* a member: must be there */
	KF_AUTO = 128,    /* tokens or mark: the word auto too; tokens keep it as 0 */
	KF_COMMAND = 256, /* list: a program and its arguments */
	KF_SECONDS = 512, /* duration: a number without a unit is seconds, with a fraction if need be */
	KF_WORD = 1024    /* list: a single word will do too, as a list of one */
};

struct job_key {
	const char *path; /* "limits.max_turns", at most one dot; NULL: an option only */
	enum key_type type : 8;
	enum key_group group : 8;
	enum key_act act : 8;
	char letter;               /* short option, 0 = none */
	uint16_t flags;            /* enum key_flags */
	uint16_t at;               /* offset of the field in struct job */
	int64_t min, max;          /* numbers */
	const char *fallback;      /* default as text; NULL = none */
	const char *fallback_text; /* how people read a default that is not `fallback` */
	const char *const *choices;
	/* Says whether one string, item or member (name is NULL or its key) is acceptable; -1 with *e. */
	int (*check)(const char *name, const char *text, struct error *e);
	const char *env;    /* variable above the job file */
	const char *vendor; /* the vendor's variable, below it */
	const char *option; /* long option without dashes, NULL = none; "" with '-' as letter is the word "-" */
	const char *alias;  /* second spelling */
	const char *arg;    /* name of the option's value, NULL = takes none */
	const char *sets;
	const char *help; /* one line; what the man page has to say behind it is in notes.c */
};

extern const struct job_key job_keys[];
extern const size_t job_key_count;
#define JOB_KEYS_MAX 128

/* What the maps inside a value have; `path` is the member's name, `at` an offset in the struct of its own. */
struct job_members {
	const struct job_key *v;
	size_t n;
};
extern const struct job_members job_tool_members;  /* struct job_tool */
extern const struct job_members job_hook_members;  /* struct job_handler, which begins with a struct job_hook */
extern const struct job_members job_price_members; /* struct job_price */
/* The members of each map in a value of that type, NULL for a value without any. */
const struct job_members *schema_members(enum key_type type);

struct job_section {
	const char *name;
	const char *help;
};
extern const struct job_section job_sections[]; /* ends with a NULL name */
extern const char *const key_group_titles[GROUPS];

const struct job_key *schema_by_path(const char *path);
const struct job_key *schema_by_option(const char *name, size_t n); /* long name without dashes */
const struct job_key *schema_by_letter(char letter);
const struct job_section *schema_section(const char *name);
static inline size_t schema_index(const struct job_key *k)
{
	return (size_t)(k - job_keys);
}

/* The part of a path behind its dot. */
const char *schema_leaf(const char *path);
/* True if path lies in section (NULL: at the top). */
bool schema_in_section(const struct job_key *k, const char *section);

#endif
