/*
 * Where in a run an end came from outside: a signal, or the wall time. A record tells the place, and a replay ends at
 * the same one, whatever its clock says (private to run/).
 *
 *   interrupts/N.json  {"run": 1, "signal": 15 or "wall_time": true,
 *                       "lines": 9, "asks": 1,
 *                       "calls": 3, "running": ["toolu_7"], "hooks": 2, "asking": true,
 *                       "exchange": {"kind": "main", "ordinal": 3, "attempt": 1, "bytes": 431}}
 *
 * So many lines that tell of the conversation were out, and since the last of them, or since something came, the loop
 * had asked so often for what comes; so many calls had begun, and of these had none come back, as far as the loop had
 * seen; so many askings of hooks had begun, the last of them without an answer; that request was open, and so much of
 * its answer was seen.
 *
 * All of it does nothing for a run that is neither recorded nor replayed.
 */
#ifndef QUERN_RUN_CUTOFF_H
#define QUERN_RUN_CUTOFF_H

#include "model/recorded.h"
#include "run/world.h"

#define CUTOFF_DIRECTORY "interrupts/"

int cutoff_open(struct world *w, struct error *e); /* once or again */
void cutoff_free(struct world *w);

/* ---- what the run does: where it is ---- */
void cutoff_emitted(struct world *w, const struct event *ev);
int64_t cutoff_lines(const struct world *w); /* so many that tell of the conversation are out */
void cutoff_asked(struct world *w);
void cutoff_handed(struct world *w, const struct loop_event *ev);
void cutoff_call_started(struct world *w, const char *id);
void cutoff_hooks_asked(struct world *w);
void cutoff_hooks_over(struct world *w); /* without an answer */
void cutoff_sent(struct world *w, const struct exchange *x);
void cutoff_bytes(struct world *w, enum model_kind kind, size_t n);
void cutoff_waits(struct world *w); /* all that came before is seen */
void cutoff_request_over(struct world *w);
void cutoff_time_is_up(void *ctx); /* deps.time_is_up */

/* ---- a replay ---- */
/* The entry's text; the first of run `run` counts. -1 with *e: it says what cannot be, or no memory. */
int cutoff_read(struct world *w, int run, const char *text, size_t n, struct error *e);
/* Takes from the recorded exchange what the loop did not see of it any more. */
void cutoff_trim(struct world *w, struct recorded *r, int run);
/* The world's time as the loop has it: the wall time is not over before its place is reached. */
int64_t cutoff_now(void *ctx);
/* If the place is reached, what came there comes now: a signal into the queue. True: it is that the time is up. */
bool cutoff_look(struct world *w);
/* Nothing else can come any more: so this does, if it has not. False: there was none to come. */
bool cutoff_force(struct world *w);
bool cutoff_holds(const struct world *w, const struct loop_event *ev); /* until then */
bool cutoff_keeps_running(const struct world *w, const char *id);      /* it had not come back there */
bool cutoff_awaits_hook(const struct world *w);   /* the run was ended while hooks were asked: now, or they come next */
bool cutoff_owns_deadline(const struct world *w); /* the wall time ends there, and nowhere else */

#endif
