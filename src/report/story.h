/*
 * Inside this room: what is kept of a run while its lines come. A chapter is one run; what goes on in it is held as a
 * turn until the next one begins, since results come after their calls and an answer may be withdrawn; then it becomes
 * HTML in the spool, and what stays is a row for each turn and a bar for each thing that took time.
 */
#ifndef QUERN_REPORT_STORY_H
#define QUERN_REPORT_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "message/message.h"
#include "report/report.h"
#include "report/spool.h"

/* Of each list of a chapter at most so many are kept; what is over is counted. */
#define KEPT_MOST ((size_t)20000)
/* Of a table or list in the page. */
#define SHOWN_MOST ((size_t)1000)

enum look {
	LOOK_ANSWER,
	LOOK_BROKEN,
	LOOK_WAIT,
	LOOK_COMPACT,
	LOOK_TOOL,
	LOOK_TOOL_BAD,
	LOOK_HOOK,
	LOOK_HOOK_BAD,
	LOOK_COUNT
};

/* Something that took time: a bar of the timeline. */
struct span {
	int64_t from, to;
	enum look look;
	int lane;    /* among those of its group that go on at once */
	int turn;    /* it is shown there; 0 = nowhere */
	char *label; /* HTML, owned; NULL = only its kind */
};

struct turn_row {
	int number;     /* 0: an attempt that was withdrawn */
	bool continued; /* the API had paused the turn: this is the rest of it */
	int64_t from, to;
	struct usage usage;
	int64_t cost; /* nano-USD, -1 = not known */
	int calls, failed;
	char stop_reason[24];
};

struct step {
	char reason[40], source[12];
	int turn;
	int64_t at;
};

struct hook_count {
	char *name; /* HTML */
	int64_t ms;
	int runs, failed;
};

/* The calls of one tool. */
struct tool_count {
	char *name; /* HTML */
	int calls, failed, denied;
	int64_t ms, longest, bytes;
};

/* What calls did to one file. */
struct changed_file {
	char *path; /* as the call named it */
	int added, removed, calls;
	struct buf diff; /* HTML rows */
	bool cut;        /* there were more */
};

struct list { /* of any of the above */
	void *v;
	size_t n, cap, over; /* over: how many were not kept */
};

enum item_kind { ITEM_TEXT, ITEM_THINKING, ITEM_CALL, ITEM_ASIDE, ITEM_USER };

struct item {
	enum item_kind kind;
	char uuid[UUID_LEN + 1];
	char *id, *name; /* of a call */
	bool withdrawn, answered, failed, denied;
	bool started; /* its start was told by an event of its own */
	int64_t from, to;
	size_t bytes;                  /* of its text, thinking or output */
	struct buf head, body, result; /* HTML */
};

struct turn {
	char *message_id, *model;
	int64_t from, first, to; /* asked, first block, last block */
	struct usage usage;
	char stop_reason[24];
	bool accepted;
	bool lost; /* memory was short for an item */
	struct item *items;
	size_t n, cap;
	size_t shown; /* bytes of HTML in the items, as far as they were counted */
};

struct hook_running {
	char id[64];
	int64_t from;
	int lane;
};

struct chapter {
	int number;
	bool begun;
	struct json init, result; /* the lines; without tokens if there was none */
	struct buf prompt;        /* HTML: what the user wants */
	struct buf notes;         /* HTML: notices, what a resume said */
	struct buf resumed;       /* HTML */
	bool timed;               /* a line told its time */
	int64_t t0, t1;           /* first and last time, ms */
	int64_t asked;            /* when the model was asked, as far as can be seen */
	bool answering;           /* blocks of that answer came */
	bool paused;              /* by the API: the next answer belongs to the same turn */
	int again;                /* how often the result was given again, when there was nothing left to do */
	int64_t compacting;       /* since; -1 = it is not */
	int turns, calls, failed_calls, denials;
	struct usage sum; /* of rows that are turns */
	int retries, compactions, switches;
	int64_t waited; /* ms before the retries */
	struct list spans, rows, steps, hooks, tools, changes;
	size_t diffs; /* bytes of HTML in the changes */
	struct hook_running running[16];
	size_t nrunning;
	struct turn turn;
	size_t lines;
	char events_sha[DIGEST_HEX + 1]; /* of the lines in front of the result */
};

struct report {
	struct report_config cfg;
	struct chapter c;
	int chapters;
	struct spool talk, done;      /* the chapter's turns; whole chapters */
	struct buf out;               /* HTML on its way to talk */
	struct buf job, patch;        /* of a bundle, HTML */
	struct digest process, since; /* of the lines since the process began, since the last result */
	bool same_process;
	char started[40];     /* of the last init */
	struct buf title;     /* HTML line: the first task */
	struct buf last_head; /* HTML: how the last chapter ended */
	size_t lines, unreadable, events;
	bool torn, cut;
	struct buf nav;  /* HTML: an entry a chapter */
	size_t nav_over; /* chapters that have none */
};

/* ---- take.c: a line into the story ---- */
int story_event(struct report *r, const struct json *doc, struct error *e);

/* ---- story.c ---- */
void chapter_begin(struct report *r);
int chapter_end(struct report *r, struct error *e);
void chapter_release(struct chapter *c);
/* A new zeroed element behind the last, or NULL: no memory, or the list is full (then it is counted). */
void *list_add(struct list *l, size_t size);
/* The bar gets the first lane of its group that is free at `from`. `label` may be NULL and is copied. */
void story_span(struct chapter *c, enum look look, int64_t from, int64_t to, const struct buf *label);
struct tool_count *story_tool(struct chapter *c, const char *name); /* NULL: there are too many, or no memory */
/* A call changed a file: `rows` is the difference as HTML. */
void story_change(struct chapter *c, const char *path, int added, int removed, const struct buf *rows);

/* ---- turn.c ---- */
struct item *turn_add(struct turn *t, enum item_kind kind); /* NULL: no memory */
struct item *turn_call(struct turn *t, const char *id);     /* NULL: none of that id */
/* To the spool; the turn is empty then. */
int turn_flush(struct report *r, struct error *e);
void turn_release(struct turn *t);
/* The tokens of a prompt: fresh, written to the cache, read from it. */
int64_t turn_prompt(const struct usage *u);

/* ---- call.c: tool calls ---- */
void call_input(struct item *it, const struct json *doc, int block);
void call_result(struct report *r, struct item *it, const struct json *doc, int block);
/* A block of content that is not a call: what kind it is, and what is to be seen of it. */
void show_content(struct buf *out, const struct json *doc, int content, size_t most, size_t *bytes);

/* ---- patch.c ---- */
/* The hunks of structuredPatch as HTML; counts lines. False: there are none. */
bool patch_hunks(struct buf *out, const struct json *doc, int hunks, int *added, int *removed);
void patch_lines(struct buf *out, char sign, const char *p, size_t n, int *count);
/* A unified diff, bounded. */
void patch_unified(struct buf *out, const char *p, size_t n);

/* ---- timeline.c, chart.c, chapter.c, page.c ---- */
void show_timeline(struct buf *out, struct chapter *c);
void show_chart(struct buf *out, const struct chapter *c);
void show_chapter(struct buf *out, struct report *r);
void show_rest(struct buf *out, const struct chapter *c); /* behind the conversation */
int page_write(struct report *r, int fd, struct error *e);
extern const char *const page_style[]; /* NULL terminated */

#endif
