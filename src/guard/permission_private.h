/* What the judges share. Not for other rooms. */
#ifndef QUERN_GUARD_PERMISSION_PRIVATE_H
#define QUERN_GUARD_PERMISSION_PRIVATE_H

#include "base/arena.h"
#include "base/json.h"
#include "guard/path_names.h"
#include "guard/path_rule.h"
#include "guard/permission.h"
#include "guard/rule.h"

struct permissions {
	struct arena arena;
	enum permission_mode mode;
	struct rule *rule;       /* all lists, in the order allow, ask, deny */
	struct path_rule **path; /* of each rule: its pattern, NULL for other kinds */
	size_t n;
	struct path_anchor at; /* dirs: workspace and added directories */
	const char *const *tools;
	char **read_dirs; /* owned, NULL terminated */
	const char **warnings;
	size_t nwarnings;
};

/* The worst that was found. Texts have a bound so that a finding needs no memory. */
struct finding {
	enum permit permit;
	const char *type;        /* reason_type */
	const struct rule *rule; /* that decided, or NULL */
	char detail[512];
};

/* Takes over what is worse than what is there. */
void finding_worsen(struct finding *f, enum permit permit, const char *type, const struct rule *rule, const char *fmt,
                    ...) __attribute__((format(printf, 5, 6)));

/* ---- permit_path.c ---- */

enum path_use { USE_READ, USE_EDIT };

/* The names of a path as a tool or a command gives it; relative to base. */
struct target {
	struct path_names names;
	char *mapped; /* names.name[0], with the user's name of a working directory replaced by the real one; owned */
	char *home;   /* what a leading "~/" would be, or NULL; owned */
};
/* tilde: "~/" is the home directory for certain (a shell's word), else it may be. -1: no memory. */
int target_resolve(struct target *t, const struct permissions *p, const char *base, const char *path, bool tilde);
void target_release(struct target *t);
const char *target_real(const struct target *t);

/* Deny and ask rules alone. `below`: what lies beneath is read too. */
void path_forbidden(const struct permissions *p, enum path_use use, const struct target *t, bool below,
                    struct finding *f);
/* The same for a path with unknown parts; what may fit is to be asked about. */
void pattern_forbidden(const struct permissions *p, enum path_use use, struct glob path, bool dotted, bool below,
                       const char *shown, struct finding *f);
/* Is there any path rule of deny or ask that a use could fall under? */
const struct rule *path_rule_any(const struct permissions *p, enum path_use use);
/* Everything but deny and ask rules: protection, directories, mode, allow rules. tool: the one that an allow rule may
 * name as a whole; NULL for a shell's redirection. *named: an allow rule names the path. */
void path_permitted(const struct permissions *p, enum path_use use, const char *tool, const struct target *t,
                    bool *named, struct finding *f);
/* What is left of that for a path that was lifted: protection. */
void path_lifted(const struct permissions *p, enum path_use use, const struct target *t, struct finding *f);
/* Does any name of the path fit the pattern? */
bool path_meets(const struct path_rule *pr, const struct target *t);
bool path_in_dirs(const struct permissions *p, const char *path, bool reading);
/* Is the target protected against writing? */
bool target_is_protected(const struct permissions *p, const struct target *t);

/* ---- permit_command.c ---- */

/* lifted: what is not forbidden, nor protected, is allowed. */
void command_judge(const struct permissions *p, const struct permission_call *call, bool lifted, struct finding *f);
/* Does one of its commands fall under a rule of p, or may it, as far as can be told? */
bool command_meets(const struct permissions *p, const char *text);

/* ---- permission.c ---- */

/* The first rule of the effect that names the whole tool. */
const struct rule *tool_rule(const struct permissions *p, enum rule_effect effect, const char *tool);
/* A rule on a member of the input. */
bool rule_fits_input(const struct rule *r, const struct json *doc);

#endif
