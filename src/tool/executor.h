/*
 * The order of calls, apart from how they run: queued -> executing -> completed -> yielded.
 * Read-only calls start if nothing runs or all that runs is read-only, at most max_concurrency;
 * any other call runs alone; no call overtakes a queued one; results are yielded in call order.
 * Pure: the caller starts what executor_next names and reports what is done.
 *
 * Calls may be added at any time, while others run or are done already: executor_add as the calls of one answer
 * come in, next/started/done in between, yield when the answer is accepted. A pointer to a call is valid until the
 * next executor_add.
 */
#ifndef QUERN_TOOL_EXECUTOR_H
#define QUERN_TOOL_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "message/message.h"
#include "tool/tool.h"

enum call_state { CALL_QUEUED, CALL_EXECUTING, CALL_COMPLETED, CALL_YIELDED };

struct executor_call {
	struct block *use; /* a reference of its own */
	bool read_only;
	bool started; /* something runs or ran for it; stays set but for a call that was denied late */
	enum call_state state;
	struct tool_result result; /* from CALL_COMPLETED on; owned */
};

struct executor {
	struct executor_call *calls;
	size_t n, cap;
	size_t executing;
	size_t max_concurrency;
	const char *rest; /* a call cancelled its siblings, or hooks end the run with it: what those that have not
	                     started, and those to come, are answered. NULL = they may start; static */
};

void executor_init(struct executor *x, size_t max_concurrency);
void executor_release(struct executor *x);
void executor_clear(struct executor *x); /* forgets all calls: the next answer's may come */
/* Queues a call; takes no reference of the caller's. Behind a call that cancelled its siblings, or ends the run, it is
 * completed at once, by the error result that they got. 0 or -1 (memory). */
int executor_add(struct executor *x, struct block *use, bool read_only);
/* The next call that may start now, NULL if none. It is marked by executor_started, or has its result at once. */
struct executor_call *executor_next(struct executor *x);
void executor_started(struct executor *x, struct executor_call *c);
/* The call is done (started or not: a denied call completes at once). Moves *res. If it failed after it ran
 * and cancels its siblings, or ends the run, all queued calls behind it complete with an error result that says why.
 */
void executor_done(struct executor *x, struct executor_call *c, struct tool_result *res);
struct executor_call *executor_find(struct executor *x, const char *tool_use_id);
/* The next completed call in call order whose predecessors are all yielded. NULL if none. */
struct executor_call *executor_ready(const struct executor *x);
struct executor_call *executor_yield(struct executor *x); /* the same, and marks it yielded */
bool executor_idle(const struct executor *x);             /* nothing queued or executing */
bool executor_has_acted(const struct executor *x);        /* a call that is not read-only has started, done or not */
/* Abort: every call not completed gets an error result `why`. Executing ones are the caller's to cancel first. */
void executor_abort(struct executor *x, const char *why);

#endif
