/*
 * One permission rule: `Tool` or `Tool(specifier)`. Parsing says what a rule means and whether it is one at all; what a
 * call must look like for it is the business of the judges (path_rule, permit_command).
 */
#ifndef QUERN_GUARD_RULE_H
#define QUERN_GUARD_RULE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "guard/glob.h"

enum rule_effect { RULE_ALLOW, RULE_ASK, RULE_DENY };

enum rule_kind {
	RULE_TOOL,    /* the tool as a whole: `Tool`, `Tool(*)`, also a glob of names */
	RULE_COMMAND, /* Bash(...) */
	RULE_PATH,    /* Read(...), Edit(...): spec is a path pattern */
	RULE_DOMAIN,  /* WebFetch(domain:...): spec is the host pattern */
	RULE_NAME,    /* Agent(...), Skill(...): spec is the name, '*' a wildcard */
	RULE_PARAM,   /* Tool(param:value) */
	RULE_NOTHING  /* does nothing; `warning` says why */
};

struct rule {
	enum rule_effect effect;
	enum rule_kind kind;
	const char *text;    /* as written */
	const char *tool;    /* name or glob of names; "mcp__srv" is kept as "mcp__srv__*" */
	const char *spec;    /* escapes resolved but for path patterns; NULL = none */
	const char *param;   /* RULE_PARAM: the parameter; spec is the value */
	struct glob command; /* RULE_COMMAND: over words, each NUL in it the border of two words */
	bool tail;           /* RULE_COMMAND ends in " *": also the command without further arguments */
	const char *warning; /* NULL, or why it does nothing or not what it seems to */
};

/* Understands one rule; everything in *r lives in the arena, text is copied. -1 with *e (ERR_INPUT: malformed, names
 * the rule and says how it should read; ERR_NOMEM). home decides nothing here: patterns are anchored by path_rule. */
int rule_parse(struct rule *r, enum rule_effect effect, const char *text, struct arena *arena, struct error *e);

/* Does the rule's tool name or glob fit the name of a tool? */
bool rule_names(const struct rule *r, const char *tool);

/* A command as words with a NUL between each two, against a RULE_COMMAND: does it fit for certain? */
bool rule_covers_command(const struct rule *r, struct glob command);
/* Could it fit, where parts of the command are not known? 1, 0, -1 no memory. */
int rule_meets_command(const struct rule *r, struct glob command);
/* No wildcard in it. */
bool rule_is_exact(const struct rule *r);

/* Host of "https://Host.Example.:8080/x", lower case without a trailing dot, against a RULE_DOMAIN. */
bool rule_covers_url(const struct rule *r, const char *url);

/* How the rule was understood, in words, without the rule itself. where: the directory that path patterns start at. */
void rule_describe(const struct rule *r, const char *where, const char *home, struct buf *out);

const char *rule_effect_name(enum rule_effect effect); /* "allow", "ask", "deny" */

#endif
