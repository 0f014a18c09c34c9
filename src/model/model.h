/*
 * Who answers: the one interface to all wires. A model makes one attempt at a time; retries,
 * watchdogs and fallback are policy and live above (model/retry.h, model/watchdog.h are pure).
 *
 * Life cycle: wire->open -> { ops->start -> events ... MODEL_EV_END | ops->cancel }* -> ops->free.
 * Events reach the sink from inside reactor_wait (or from start itself), in stream order;
 * exactly one MODEL_EV_END ends an attempt that was not cancelled; none comes after a cancel.
 * An event's pointers are valid during the sink call only, but a block may be kept with block_ref.
 */
#ifndef QUERN_MODEL_MODEL_H
#define QUERN_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/reactor.h"
#include "message/message.h"

enum model_kind {
	MODEL_MAIN,
	MODEL_COMPACT, /* a summary of the conversation: tools are there for the cache's sake, none may be called */
	MODEL_SUMMARY, /* a line about a round, in the background: without tools and thinking, whatever the request has
	                */
	MODEL_COUNT /* count_tokens: complete END brings usage.input alone, or a failure if the server cannot count */
};

/* One-time repairs of a request that the server refused: what to leave out from now on. */
enum model_without {
	WITHOUT_THINKING = 1,        /* the thinking key */
	WITHOUT_THINKING_BLOCKS = 2, /* all thinking in history */
	WITHOUT_EFFORT = 4,          /* output_config */
	WITHOUT_EXTRA = 8,           /* the job's model.extra */
	WITHOUT_CACHE_MARKS = 16,
	WITHOUT_BETAS = 32
};

struct model_request {
	enum model_kind kind;
	const char *model;
	int64_t max_tokens;
	const char *system;             /* NULL = none */
	const char *tools_json;         /* "[...]", NULL = none; the same bytes all through a run */
	const struct history *messages; /* must stay unchanged until the attempt ends */
	const char *thinking_json;      /* the job's thinking object, NULL = leave out */
	const char *effort;             /* NULL = leave out */
	const char *extra_json;         /* object whose members are added to the body, NULL = none */
	unsigned without;               /* enum model_without */
	const char *refused;            /* names of extra members and beta values to leave out, between blanks or
	                                 * commas, in any case; NULL = none */
	int turn;                       /* 1-based, for messages only */
	int attempt;                    /* at the same request, 1-based; for who counts them, not sent */
};

enum model_failure {
	MODEL_FINE = 0,
	MODEL_HTTP,           /* an answer with a status that is no success; status, error_type, message are set */
	MODEL_NETWORK,        /* no answer or a broken transport before any stream content */
	MODEL_STREAM_CUT,     /* the stream ended without a stop_reason */
	MODEL_STREAM_ERROR,   /* an error event inside a 200 stream; error_type, message are set */
	MODEL_NOT_STREAM,     /* 2xx or 3xx that is no event stream: html, empty, redirect, nonsense status line */
	MODEL_MISMATCH,       /* a replayed run asked for what the record does not hold */
	MODEL_REFUSED_REQUEST /* we could not make the request: bad URL, bad header value, TLS verification; never
	                         retried */
};

enum model_net { NET_NONE, NET_CONNECT_REFUSED, NET_UNKNOWN_HOST, NET_TLS, NET_DEAD_REUSED, NET_OTHER };

struct model_end {
	enum model_failure failure;
	bool complete; /* a stop_reason and every block's end were seen: the answer stands whatever came after */
	const char *stop_reason; /* NULL if none was seen */
	const char *stop_sequence;
	const char *stop_details; /* raw JSON or NULL */
	struct usage usage;       /* last word of the stream; fields not told are -1 */
	bool had_content;         /* a content block had started: the attempt may have cost money */
	int http_status;          /* 0 = none */
	enum model_net net;
	const char *error_type; /* API error type, or NULL */
	const char *error_code; /* details.error_code, or NULL */
	const char *message;    /* one line for people, sanitised; never NULL when failure is set */
	bool quoted;            /* message is the server's own words, without status and type */
	const char *request_id; /* or NULL */
	int64_t retry_after_ms; /* -1 = none or junk; may be huge */
	bool retry_after_junk;  /* a value was there that could not be understood or is over 24 h */
	int should_retry;       /* x-should-retry: 1, 0, -1 = not said */
};

enum model_event_kind {
	MODEL_EV_ALIVE,         /* phase tells what was seen; at most one a read */
	MODEL_EV_RAW,           /* one stream event's JSON as received (only if partial was asked for) */
	MODEL_EV_MESSAGE_START, /* id, model, usage */
	MODEL_EV_BLOCK_START,   /* index, block_kind */
	MODEL_EV_BLOCK,         /* index, block: complete and parsed */
	MODEL_EV_STOP,          /* message_delta brought a stop_reason: .end.stop_reason and usage so far */
	MODEL_EV_END            /* .end */
};

enum model_phase { PHASE_CONNECTED, PHASE_SENT, PHASE_BYTES, PHASE_CONTENT };

struct model_event {
	enum model_event_kind kind;
	enum model_phase phase;
	const char *json; /* RAW */
	size_t json_len;
	const char *message_id; /* MESSAGE_START, never NULL ("" if the server sent none) */
	const char *model;      /* MESSAGE_START */
	int index;              /* BLOCK_START, BLOCK: position in the answer's content */
	enum block_kind block_kind;
	struct block *block;
	struct usage usage; /* MESSAGE_START */
	struct model_end end;
};

typedef void (*model_sink)(void *ctx, const struct model_event *ev);

struct model_tap;

/* What every wire needs to know. It and its strings are borrowed for the life of the model, but for the key: that is
 * copied by open. */
struct model_config {
	const char *base_url;
	const char *api_key;         /* NULL = send no auth header */
	bool bearer;                 /* Authorization: Bearer instead of x-api-key */
	const char *const *headers;  /* "Name: value", NULL terminated, or NULL */
	const char *betas;           /* comma separated, or NULL */
	bool partial;                /* deliver MODEL_EV_RAW */
	int64_t connect_timeout_ms;  /* 0 = off; the other watchdogs are the caller's */
	const char *tape;            /* replay: path of the tape */
	const char *user_agent;      /* "quern/VERSION" */
	const struct model_tap *tap; /* what goes over the wire is told to it (model/tap.h); NULL = to nobody */
};

struct model;

/* One row a wire; model_wires[] in model.c is the list that --provider is checked against. */
struct wire {
	const char *name;             /* "anthropic", "replay" */
	const char *default_base_url; /* NULL = none */
	bool needs_key;               /* on its vendor's own host */
	struct model *(*open)(const struct model_config *cfg, struct reactor *r, model_sink sink, void *ctx,
	                      struct error *e);
};
extern const struct wire *const model_wires[]; /* NULL terminated */
const struct wire *model_wire_find(const char *name);

/* The common head of every wire's own struct. */
struct model {
	const struct model_ops *ops;
};
struct model_ops {
	int (*start)(struct model *m, const struct model_request *req, struct error *e);
	void (*cancel)(struct model *m);
	void (*pause)(struct model *m, bool on); /* our own back-pressure; NULL = not needed */
	void (*free)(struct model *m);
};

#endif
