/*
 * Where in a run something came from outside: a signal, the end of the wall time, a line of stdin. A record tells the
 * place, and in a replay it comes at the same one, whatever its clock says (private to run/).
 *
 *   interrupts/N.json  {"run": 1, "signal": 15 or "wall_time": true,
 *                       "lines": 9, "asks": 1,
 *                       "calls": 3, "running": ["toolu_7"], "hooks": 2, "asking": true,
 *                       "exchange": {"kind": "main", "ordinal": 3, "attempt": 1, "bytes": 431}}
 *   input/N.json       the same with "line": TEXT, "problem": WHAT (a line that was not understood; "whole": it was no
 *                      object at all) or "end": true, and "ends": true if the work on a message was ended by it
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
#define INPUT_DIRECTORY  "input/"

/* Where a call started or its result came: less is told, as the lines tell what runs. */
struct moment {
	int64_t lines, bytes; /* bytes: -1 = no answer was open */
};

int cutoff_open(struct world *w, struct error *e); /* once or again */
void cutoff_free(struct world *w);

/* ---- what the run does: where it is ---- */
void cutoff_emitted(struct world *w, const struct event *ev);
int64_t cutoff_lines(const struct world *w);                    /* so many that tell of the conversation are out */
int64_t cutoff_came(const struct world *w);                     /* so many bytes of the answer are there, seen or not */
struct moment cutoff_here(const struct world *w, int64_t came); /* came: -1 = those that are seen */
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
void cutoff_over(struct world *w); /* a signal or the wall time ended a session, and the loop was not asked */
/* A line of stdin came, or the end of it. `ends`: and so the work on a message has its end. */
void cutoff_line(struct world *w, const char *line, size_t n, bool ends);
void cutoff_problem(struct world *w, const char *text, bool whole);
void cutoff_input_ends(struct world *w);

/* ---- a replay ---- */
/* An entry's text; those of run `run` count. -1 with *e: it says what cannot be, or no memory. */
int cutoff_read(struct world *w, int run, const char *text, size_t n, struct error *e);
/* Takes from the recorded exchanges what the loop did not see of them any more. */
void cutoff_trim(struct world *w, struct recorded *r, int run);
/* The world's time as the loop has it: the wall time is not over before its place is reached. */
int64_t cutoff_now(void *ctx);
/* What came at the places that are reached comes now: a signal into the queue, a line to the session. True: it is that
 * the time is up. */
bool cutoff_look(struct world *w);
/* Nothing else can come any more: so the next of them does. False: there is none. */
bool cutoff_force(struct world *w);
bool cutoff_reached(const struct world *w, const struct moment *at);
bool cutoff_holds(const struct world *w, const struct loop_event *ev); /* until then */
bool cutoff_keeps_running(const struct world *w, const char *id);      /* it had not come back when the work ended */
bool cutoff_awaits_hook(const struct world *w);   /* the run was ended while hooks were asked: now, or they come next */
bool cutoff_owns_deadline(const struct world *w); /* the wall time ends at a place, and nowhere else */

#endif
