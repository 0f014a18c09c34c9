/*
 * A tape: answers written down beforehand, one a request, each with what its request must look like.
 * Its format is described in quern-tape(5); the events of a run are a tape too. Read whole and checked whole before the
 * first request.
 *
 * Life cycle: TAPE_INIT -> tape_load or tape_parse -> tape_check, tape_render -> tape_release.
 * All that hangs on a tape lives in its arena.
 */
#ifndef QUERN_MODEL_TAPE_H
#define QUERN_MODEL_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/yaml.h"
#include "model/model.h"

#define TAPE_VERSION      1
#define TAPE_MAX_BYTES    ((size_t)64 << 20) /* of a tape of JSON lines; a YAML tape is bounded by base/yaml */
#define TAPE_MAX_REPEAT   1000000
#define TAPE_MAX_DURATION ((int64_t)24 * 60 * 60 * 1000)

/* A key that takes one scalar or a list of them. */
struct tape_list {
	const char *const *v;
	size_t n;
	bool given;
	bool single; /* written as a scalar */
};

/* What the request must look like; NULL, -1 and not given = not asked. */
struct tape_expect {
	int64_t turn, messages;
	const char *model, *last, *system_contains;
	struct tape_list results, result_contains, is_error, tools;
};

enum tape_block_kind { TAPE_TEXT, TAPE_THINKING, TAPE_TOOL_USE, TAPE_RAW };
struct tape_block {
	enum tape_block_kind kind;
	const char *text; /* text, thinking */
	size_t text_len;
	const char *signature; /* thinking; NULL = none */
	const char *id;        /* tool_use; NULL = made from its position on the tape */
	const char *name;
	const char *json; /* tool_use: input; raw: the block */
	size_t json_len;
};

enum tape_kind {
	TAPE_CONTENT = 1, /* text or content: made into a stream */
	TAPE_SSE = 2,     /* a stream as it stands */
	TAPE_STATUS = 4,  /* an HTTP status with a body */
	TAPE_NETWORK = 8  /* no answer */
};

struct tape_header {
	const char *name, *value;
};

struct tape_answer {
	int line;
	enum tape_kind kind;
	struct tape_expect expect;
	struct tape_block *blocks;
	size_t nblocks;
	size_t unnamed;   /* tool_use blocks without an id */
	const char *body; /* sse: the stream; status: the body */
	size_t body_len;
	int64_t status;
	const char *error_type, *error_code, *error_message; /* status: makes the body */
	struct tape_header *headers;
	size_t nheaders;
	enum model_failure failure; /* network */
	enum model_net net;
	const char *failure_text;
	const char *stop_reason, *id, *model;
	const struct yaml_node *usage; /* a map of counts, NULL = estimated */
	int64_t delay_ms, gap_ms;
	int64_t cut_after, stall_after; /* events; -1 = never */
	int64_t fail_after;             /* events before the error event; -1 = none */
	const char *fail_type, *fail_message;
	int64_t chunk;  /* bytes a feed; 0 = whole events */
	int64_t repeat; /* how often it is played, at least 1 */
};

struct tape {
	struct arena arena;
	const char *name; /* NULL = none */
	struct tape_answer *answers;
	size_t n;
};

#define TAPE_INIT                                                                                                      \
	{                                                                                                              \
		ARENA_INIT, NULL, NULL, 0                                                                              \
	}

/* 0, or -1 with *e: "PATH:LINE:COLUMN: what is wrong". On failure the tape is empty. */
int tape_load(struct tape *t, const char *path, struct error *e);
/* The same from memory; `path` stands in the messages only. */
int tape_parse(struct tape *t, const char *path, const char *text, size_t n, struct error *e);
void tape_release(struct tape *t);
/* How many requests the whole tape answers. */
size_t tape_plays(const struct tape *t);

/* An answer with all defaults. */
void tape_init_answer(struct tape_answer *ans, int line, enum tape_kind kind);
/* Reads one answer from its map. -1 with *e, without the path. For tape.c. */
int tape_read_answer(struct arena *a, const struct yaml_node *node, struct tape_answer *out, struct error *e);
/* The tree of a line of JSON, as if it had been YAML: strings are quoted scalars, all else is plain. For tape.c. */
struct yaml_node *tape_json_tree(struct arena *a, const char *text, size_t n, int line, struct error *e);
/* One line of a text, 1-based, without what is white at its end. */
struct tape_line {
	const char *p;
	size_t n;
	int no;
};
bool tape_next_line(const char **at, const char *end, struct tape_line *l);
/* True for the first line of what a run wrote to stdout or --events. */
bool tape_is_record(const char *line, size_t n);
/* Reads such a record; t->answers has room for an answer a line. For tape.c. */
int tape_read_record(struct tape *t, const char *text, size_t n, struct error *e);
/* "LINE:COL: what" */
int tape_fail(struct error *e, const struct yaml_node *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* True if the request is as expected; else the differences are added to why, as one line. */
bool tape_check(const struct tape_expect *x, const struct model_request *req, struct buf *why);

/* Where on the tape a play of an answer stands. */
struct tape_position {
	size_t play; /* 0-based, over the whole tape */
	size_t call; /* tool_use ids made before it */
};
/* The answer as bytes of an event stream (TAPE_CONTENT, TAPE_SSE) or the body (TAPE_STATUS). */
int tape_render(const struct tape_answer *ans, const struct tape_position *at, const struct model_request *req,
                struct buf *out, struct error *e);

#endif
