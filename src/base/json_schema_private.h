/* What the files of the JSON Schema check share. Not for others. */
#ifndef QUERN_BASE_JSON_SCHEMA_PRIVATE_H
#define QUERN_BASE_JSON_SCHEMA_PRIVATE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/json_schema.h"
#include "base/pcre2_api.h"

enum {
	TYPE_NULL = 1,
	TYPE_BOOLEAN = 2,
	TYPE_INTEGER = 4,
	TYPE_NUMBER = 8,
	TYPE_STRING = 16,
	TYPE_ARRAY = 32,
	TYPE_OBJECT = 64
};
#define TYPE_COUNT 7

/* Whole numbers of keywords; -1 = not given. */
enum count {
	MIN_LENGTH,
	MAX_LENGTH,
	MIN_ITEMS,
	MAX_ITEMS,
	MIN_PROPERTIES,
	MAX_PROPERTIES,
	MIN_CONTAINS,
	MAX_CONTAINS,
	COUNTS
};

/* Keywords that compare with a number; the number is read from the schema where it is used. */
enum bound { MINIMUM, MAXIMUM, EXCLUSIVE_MINIMUM, EXCLUSIVE_MAXIMUM, MULTIPLE_OF, BOUNDS };

struct schema_node;

struct schema_list {
	struct schema_node **v;
	size_t n;
};

struct schema_member {
	const char *name;
	struct schema_node *node;
};

struct schema_regex {
	const char *text;
	pcre2_code *code;
	struct schema_node *node; /* of patternProperties */
	struct schema_regex *next_made;
};

struct schema_names {
	const char **v;
	size_t n;
};

struct schema_dependency {
	const char *name;
	struct schema_names needs;
};

/* One schema of the document. */
struct schema_node {
	int tok;                 /* where it stands */
	bool never;              /* the schema false */
	char walked;             /* of the search for circles */
	bool unique;             /* uniqueItems */
	unsigned types;          /* 0 = any */
	int enum_tok, const_tok; /* -1 = not given */
	int bound[BOUNDS];       /* tokens, -1 = not given */
	int64_t count[COUNTS];
	struct schema_member *members;
	size_t nmembers;
	struct schema_regex *patterns; /* an array */
	size_t npatterns;
	struct schema_regex *pattern;
	struct schema_names required;
	struct schema_dependency *dependencies;
	size_t ndependencies;
	struct schema_member *dependents; /* dependentSchemas */
	size_t ndependents;
	struct schema_list prefix, all, any, one;
	struct schema_node *additional, *names, *items, *contains, *not_this, *if_this, *then_this, *else_this, *ref;
};

struct json_schema {
	struct json doc;
	struct arena arena;
	struct schema_node *root;
	struct pcre2_api pcre2; /* filled once there is a pattern */
	bool has_pcre2;
	struct schema_regex *regexes; /* all of them, to be freed */
	pcre2_match_context *limits;
	pcre2_match_data *match;
};

/* ---- compiling ---- */

struct pending {
	struct schema_node *node;
	int tok; /* the text of its $ref */
};

struct compiler {
	struct json_schema *s;
	const struct json *doc;
	struct error *e;
	struct schema_node **by_token; /* what was made of which token */
	struct pending *refs;          /* resolved when all else is made */
	size_t nrefs, cap_refs, nnodes;
	struct buf path; /* JSON pointer to what is being read */
};

/* The node of the schema at the token, made if it is not there; NULL with c->e set. */
struct schema_node *schema_compile_node(struct compiler *c, int tok);
/* json_schema_ref.c: follows every $ref, and refuses circles. */
int schema_resolve_refs(struct compiler *c);

/* json_schema_regex.c */
int schema_regex_compile(struct json_schema *s, struct schema_regex *r, struct error *e);
/* 1: matches, 0: does not, -1: it took more than its bounds. */
int schema_regex_match(const struct json_schema *s, const struct schema_regex *r, const char *p, size_t n);
void schema_regex_release(struct json_schema *s);

/* ---- a check ---- */

/* Where in the value: a chain on the stack. */
struct at {
	const struct at *up;
	int key;      /* token of the member's name, -1: an element */
	size_t index; /* of the element */
	int level;
};

/* The problems of one collection. */
struct problems {
	struct buf *text; /* NULL: only the verdict counts */
	int n, max;
	int level;       /* of the value that the collection is about */
	unsigned wanted; /* types that this very value should have had, if that was the problem */
	bool tag_failed; /* a const or enum of a member was: the wrong one of several kinds of object */
};

struct check {
	const struct json_schema *s;
	const struct json *doc;
	const char *root;
	struct problems *out;
	int64_t steps; /* left */
	int depth;
	bool gave_up;
};

/* Takes n steps; false when there are none left. */
bool check_steps(struct check *c, int64_t n);
unsigned schema_types_of(const struct json *doc, int tok);

/* json_schema_say.c: each returns false, so that a check may return it. `path` goes before the text. */
bool say(struct check *c, const struct at *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool say_type(struct check *c, const struct at *at, unsigned wanted, int tok);
bool say_enum(struct check *c, const struct at *at, int enum_tok, int tok);
bool say_const(struct check *c, const struct at *at, int const_tok, int tok);
bool say_bound(struct check *c, const struct at *at, const char *what, int bound_tok, int tok);
bool say_unknown(struct check *c, const struct at *at, const struct schema_node *n, int key);
void say_value(struct buf *out, const struct json *doc, int tok);
void say_types(struct buf *out, unsigned types);

/* json_schema_equal.c */
bool schema_equal(struct check *c, const struct json *a, int x, const struct json *b, int y);
/* Indices of two equal elements; false if there are none. */
bool schema_find_twins(struct check *c, int array, size_t *first, size_t *second);
/* -1, 0, 1 as the numbers compare: integers of 64 bits exactly, all else as doubles. */
int schema_compare(const struct json *a, int x, const struct json *b, int y);

#endif
