/*
 * Inside this room: each kind of line, and what it adds to the story. What is missing in a line is left out; what is
 * not known is passed over.
 */
#ifndef QUERN_REPORT_TAKE_H
#define QUERN_REPORT_TAKE_H

#include "report/story.h"

struct take {
	struct report *r;
	struct chapter *c;
	const struct json *doc;
	int root;
	int64_t ms; /* of this line; that of the line before if it does not tell */
};

/* ---- take.c: for all of them ---- */
int take_member(const struct take *t, const char *key);
bool take_is(const struct take *t, const char *key, const char *value);
/* "" if it is no string or does not fit. */
void take_short(char *to, size_t room, const struct json *doc, int tok);
/* A remark between blocks; NULL: no memory, which the turn remembers. */
struct item *take_aside(struct take *t, const char *word, bool bad);
/* Puts a value, or that of a member, behind it. `it` may be NULL. */
void take_value_of(struct take *t, struct item *it, int tok);
void take_value(struct take *t, struct item *it, const char *key);

/* ---- a line each; -1 with *e: no memory, or the spool is full ---- */
typedef int take_line(struct take *t, struct error *e);
/* take_model.c */
take_line take_assistant, take_tombstone, take_retry;
void take_block(struct take *t, int block);
/* take_user.c */
take_line take_user, take_tool_start, take_history;
/* take_hook.c */
take_line take_hook_started, take_hook_response;
/* take_aside.c */
take_line take_transition, take_denied, take_notice, take_informational, take_context, take_status, take_boundary,
        take_switch, take_summary, take_resume;

#endif
