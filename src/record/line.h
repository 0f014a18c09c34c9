/*
 * Inside this room: how one event becomes one line of JSON.
 *
 * event_rows[] has a row for each event kind; its writer puts the members between "type" and "session_id",
 * which are the same for all. line_shorten makes a line that is too long fit.
 */
#ifndef QUERN_RECORD_LINE_H
#define QUERN_RECORD_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json_out.h"
#include "record/event.h"

/* The event stream follows what this version of the official program is documented to write; consumers look at it. */
#define STREAM_VERSION "2.1.240"
/* In a line that had to be cut, lists stop here: the whole line is in the run directory. */
#define BARE_LIST_MAX 1000

struct line {
	struct json_out out;
	const struct event *ev;
	const char *session_id;
	const char *version;
	bool bare; /* leave out embedded JSON and cut lists: strings alone could not be cut enough */
};

/* One member of an event in the schema; the list ends with a NULL name. */
struct schema_field {
	const char *name;
	const char *schema; /* JSON */
	bool optional;
};

struct event_row {
	const char *type;
	const char *subtype; /* of type system, else NULL */
	void (*write)(struct line *l);
	const struct schema_field *schema;
};

/* Lines of that kind belong to no session: they have neither session_id nor uuid. */
static inline bool event_is_outside(enum event_kind kind)
{
	return kind == EVENT_CONTROL_RESPONSE;
}

/* A count as events tell it: -1, not known, is 0. */
static inline int64_t told(int64_t n)
{
	return n < 0 ? 0 : n;
}

extern const struct event_row event_rows[EVENT_RESULT + 1]; /* by enum event_kind */

/* Appends the event as one JSON object without the line feed. */
void line_write(struct buf *b, const struct event *ev, const char *session_id, const char *version, bool bare);
void line_write_result(struct line *l);                               /* the result's members (result.c) */
void line_usage(struct json_out *o, const struct usage *u);           /* as the API writes it; NULL = zeros */
void line_audit(struct json_out *o, const struct event_audit *a);     /* its members */
void line_totals(struct json_out *o, const struct session_totals *t); /* the member; t may be NULL */

/* Shortens the longest string values that begin in [from, to) to one common length, on character borders, until
 * the line is at most `target` bytes. Keys and strings up to 256 bytes stay. 1: not possible, line unchanged;
 * 0: done; -1: no memory. */
int line_shorten(struct buf *line, size_t from, size_t to, size_t target);
/* Where the value of the top-level string member `"key":"` stands: [*from, *to) with its quotes. False if absent. */
bool line_find_string(const struct buf *line, const char *key, size_t *from, size_t *to);
/* Adds a last member to the object that the line is. */
void line_append_str(struct buf *line, const char *key, const char *value); /* NULL writes null */

extern const struct schema_field schema_init[], schema_assistant[], schema_user[], schema_stream[], schema_api_retry[],
        schema_permission_denied[], schema_transition[], schema_tombstone[], schema_notice[], schema_context[],
        schema_status[], schema_compact_boundary[], schema_model_switch[], schema_history[], schema_summary[],
        schema_tool_start[], schema_resume[], schema_hook_started[], schema_hook_response[], schema_informational[],
        schema_control_response[], schema_result[];

#endif
