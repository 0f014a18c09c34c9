/* A bundle is played again (private to run/). */
#ifndef QUERN_RUN_REPLAY_H
#define QUERN_RUN_REPLAY_H

#include "run/world.h"

/* By the first bytes of the file. */
bool world_is_replay(const char *path);
/* Reads the bundle that the job names, if it is one: session and environment are the record's from here on. Before
 * anything is made of them. */
int world_read_replay(struct world *w, struct error *e);
const char *world_replayed_environment(const struct world *w); /* NULL: it is told anew */
const char *world_replayed_note(const struct world *w);        /* likewise, of what is said of commands */
/* The recorded task stands for the one that stdin or the job would bring: so does what was told beside it. */
bool world_replays_task(const struct world *w);
/* Then it comes into the history. */
int world_replay_task(struct world *w, struct error *e);
/* What stood on stdin as lines comes from the record: stdin is left alone. */
bool world_replays_input(const struct world *w);
/* Then what was told in front of the first line comes into the history. */
int world_replay_told(struct world *w, struct error *e);
void world_fill_replayed(const struct world *w, struct loop_config *c);
int world_open_players(struct world *w, struct error *e);
/* In place of reactor_wait: until something is in the queue, or the deadline (of world_now) has come. It comes at once
 * when nothing runs that takes time. */
int world_replay_wait(struct world *w, int64_t deadline, struct error *e);
bool world_replay_open(const struct world *w);        /* is a request of the foreground open? */
bool world_replay_is_played(const struct world *w);   /* and nothing of its answer left, but that it was ended? */
int64_t world_replay_given(const struct world *w);    /* bytes of its answer, so far */
void world_replay_until(struct world *w, int64_t at); /* lets the time pass */
bool world_has_news(struct world *w);                 /* queue.c: would next_event return at once? */
/* --replay-tools: NULL otherwise. */
struct replay_tools *world_replay_tools(const struct world *w);

/* ---- replay_tools.c ---- */
struct replay_tools *replay_tools_new(void);                                            /* NULL: no memory */
int replay_tools_line(struct replay_tools *t, const struct json *doc, struct error *e); /* an event of the record */
/* As deps.tool_start; the result is there at once. */
int replay_tools_start(struct replay_tools *t, const struct block *use, struct tool_result *now, struct error *e);
bool replay_tools_started(const struct replay_tools *t, const char *id); /* the record tells its start */
bool replay_tools_first_hook(struct replay_tools *t); /* true once: for the notice that hooks are left out */
void replay_tools_free(struct replay_tools *t);

/* Before the last result. */
void world_tell_unplayed(struct world *w);
void world_tell_left_alone(struct world *w); /* --replay-tools: the workspace as a whole */
void world_free_replay(struct world *w);

#endif
