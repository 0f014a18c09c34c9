/*
 * What the loop was answered by tools, hooks and files: kept by a record beside the events, where these do not tell it,
 * and given again by a replay that runs nothing (--replay-tools; private to run/).
 *
 *   answers/N.ndjson  a line an answer, in order: {"run": 1, "what": W, "key": K, ...}
 *     tool     K: the call. ran, invalid, cancels, ends_run, context; its text and the rest tell the events. later: it
 *              was not there at once, and the loop took it when so many `lines` that tell of the conversation were out,
 *              and so many `bytes` of the answer had come, if one was open
 *     start    K: the call. lines, bytes: where it was told that it starts; hooks may have been asked before
 *     whole    K: the call. text: its result before it was cut for the window
 *     cut      K: the call. text, file: and behind that
 *     hook     K: the event. nobody, or ended (asked, and not answered), or verdict, text, context, first_message
 *     memory   K: how many lines were out. text: of a directory that was touched
 *     file     K: its index. text: of a file that stands behind a summary
 */
#ifndef QUERN_RUN_ANSWERS_H
#define QUERN_RUN_ANSWERS_H

#include "run/cutoff.h"
#include "run/world.h"

#define ANSWERS_DIRECTORY "answers/"

/* ---- a record: each does nothing if there is none ---- */
/* `at`: where it came; NULL = it was there at once. */
void answers_tell_tool(struct world *w, const char *id, const struct tool_result *res, const struct moment *at);
void answers_tell_start(struct world *w, const char *id);
void answers_tell_hook(struct world *w, enum hook_event kind, const struct hook_answer *a); /* NULL: nobody was asked */
void answers_tell_hook_ended(struct world *w, enum hook_event kind); /* it was asked, and ended without an answer */
void answers_tell_text(struct world *w, const char *what, const char *key, const struct buf *text);
/* As deps.tool_shorten. */
int answers_shorten(struct world *w, const char *id, struct tool_result *res, size_t allowed);

/* ---- a replay ---- */
/* A piece of an entry's lines; only those of the run that is replayed are kept. -1 with *e: no memory. */
int answers_read(struct world *w, const char *text, size_t n, struct error *e);
bool answers_known(const struct world *w); /* has the record any? Those of before had none */
void answers_free(struct world *w);
/* Was it not there at once? Then *at is where it came, 0 where the record does not tell, and *turn is greater than that
 * of all that came before it. */
bool answers_comes_later(const struct world *w, const char *id, struct moment *at, size_t *turn);
bool answers_take_start(struct world *w, const char *id, struct moment *at, size_t *turn); /* false: it is not told */
/* Adds what the record tells of the call to what the events do. -1 with *e. */
int answers_take_tool(struct world *w, const char *id, struct tool_result *res, struct error *e);
/* As deps.hook_start; the answer is in the queue at once. */
int answers_take_hook(struct world *w, enum hook_event kind, struct error *e);
/* 1 = *out is filled, 0 = there is none. */
int answers_take_text(struct world *w, const char *what, const char *key, struct buf *out, struct error *e);

#endif
