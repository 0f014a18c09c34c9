/* One attempt of a model call, and what is said of a failed one (private to the files of phase 2). */
#ifndef QUERN_LOOP_CALL_H
#define QUERN_LOOP_CALL_H

#include "loop/state.h"

/* An attempt's end in our own keeping: the model's strings die with the event. Zero at its start. */
struct attempt {
	struct model_end end;
	enum model_timeout timeout;
	char *texts[5];
	bool ended;
};
void attempt_release(struct attempt *at);

/* ---- attempt.c ---- */
/* Makes one attempt; l->reply is its answer. CALL_FAILED: *at tells how it ended. */
enum call_result attempt_run(struct loop *l, struct call *c, struct attempt *at, enum terminal_reason *stopped);
/* The attempt's answer does not stand: ends its calls and withdraws its lines. */
void attempt_withdraw(struct loop *l);

/* ---- failure.c ---- */
/* Why the call failed for good, into c->failure. */
void failure_note(struct loop *l, struct call *c, const struct attempt *at, const struct retry_decision *d,
                  const struct request_fault_info *info, int64_t attempts);
/* Tells of the attempt that follows. */
void failure_tell_retry(struct loop *l, const struct call *c, const struct attempt *at, const struct retry_decision *d,
                        int attempt);

/* ---- fallback.c ---- */
/* An attempt has ended: counts overloads in a row, and says by l->falls_back whether the next model is to be asked. */
void fallback_judge(struct loop *l, const struct call *c, const struct attempt *at, enum call_result r,
                    const struct retry_count *count);
/* The answer is withdrawn for that: each call that was shown gets a result, which is withdrawn with it. */
void fallback_answer_calls(struct loop *l);

#endif
