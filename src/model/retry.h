/* Whether and when to try a model call again: pure functions over an outcome. */
#ifndef QUERN_MODEL_RETRY_H
#define QUERN_MODEL_RETRY_H

#include "model/model.h"

struct retry_policy {
	int max_retries;     /* 10; 0 = off */
	int64_t max_wait_ms; /* 5 min: a longer retry-after ends the run transient */
};

/* Counted over one model call (all its attempts); zero at its start. */
struct retry_count {
	int retries;      /* made so far */
	int costly;       /* attempts that had content or were ended by a watchdog */
	int unreachable;  /* connection refused, unknown host */
	int not_stream;   /* 200 that was no stream */
	bool dead_reused; /* the one uncounted retry of a dead kept-alive connection is used */
};

enum model_timeout { TIMEOUT_NONE, TIMEOUT_CONNECT, TIMEOUT_FIRST_BYTE, TIMEOUT_IDLE, TIMEOUT_PROGRESS };

enum retry_verdict { RETRY_AGAIN, RETRY_GIVE_UP };

struct retry_decision {
	enum retry_verdict verdict;
	int64_t wait_ms;        /* RETRY_AGAIN: before the next attempt, jitter included */
	bool counted;           /* false for the dead reused connection */
	bool transient;         /* GIVE_UP: a later run may work (exit 75) */
	int64_t retry_after_ms; /* GIVE_UP because the server asked for longer than we wait; else -1 */
};

/* What kind of end is it? The category that events name ("overloaded", "rate_limit", ...). */
const char *retry_category(const struct model_end *end, enum model_timeout timeout);

/* Updates *count and decides. random01 in [0,1) makes the jitter; remaining_ms is the time to the deadline. */
struct retry_decision retry_decide(const struct retry_policy *policy, struct retry_count *count,
                                   const struct model_end *end, enum model_timeout timeout, double random01,
                                   int64_t remaining_ms);

/* What a refused request is about, so that the loop can recover. */
enum request_fault {
	FAULT_NONE,
	FAULT_PROMPT_TOO_LONG, /* tokens, limit set if the text names them (else -1) */
	FAULT_MAX_TOKENS,      /* limit = largest max_tokens that the model takes */
	FAULT_INPUT_PLUS_MAX,  /* limit = window, tokens = input */
	FAULT_IMAGE,           /* an image is too large, unreadable or refused */
	FAULT_THINKING,        /* drop the thinking key */
	FAULT_THINKING_BLOCKS, /* strip the thinking from history */
	FAULT_BETA,
	FAULT_EFFORT,
	FAULT_EXTRA,
	FAULT_CACHE,
	FAULT_PREFILL /* the last message has to be the user's */
};
struct request_fault_info {
	enum request_fault fault;
	int64_t tokens, limit;
	char name[64]; /* EXTRA: the member, BETA: the values that the server minds, in lower case; "" = not told */
};
struct request_fault_info retry_request_fault(const struct model_end *end);

/* retry-after-ms or retry-after as sent: seconds (float) or an HTTP date, from wall time now_ms.
 * Returns ms >= 0, or -1 with *junk set for what cannot be understood or is over 24 h. */
int64_t retry_after_parse(const char *value, bool is_ms, int64_t now_ms, bool *junk);

#endif
