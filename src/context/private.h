/*
 * What the layers share (private to context/): the state over a run, and the edits that are made of it. An edit is a
 * draft, a second history that shares the messages which stay; it takes the place of the old one when it is whole, so
 * that running out of memory leaves the conversation as it was.
 */
#ifndef QUERN_CONTEXT_PRIVATE_H
#define QUERN_CONTEXT_PRIVATE_H

#include "context/context.h"

/* A round that came to its end, and what is told of it when it is folded. */
struct staged {
	char *id;   /* of its first call */
	char *line; /* without a line feed */
};

struct context {
	struct context_config cfg;
	struct context_model model;
	struct message *task;  /* the first message as the user wrote it; NULL until the first round */
	struct message *base;  /* the first message as the last compaction left it; NULL: there was none */
	struct block *fold;    /* the lines of folded rounds: in the first message; NULL: none are there */
	struct block *marker;  /* says how many rounds were snipped: likewise */
	size_t snipped;        /* rounds that the marker counts */
	struct message *files; /* what the last compaction attached: not the user's words */
	struct staged *staged; /* in the order of their rounds, from `gone` on */
	size_t gone, nstaged, staged_cap;
};

/* ---- rounds.c: the history as rounds, and the edit that takes the oldest of them ---- */

/* Rounds, an answer at the end that nothing follows yet counted as one. Round r is the messages 2r + 1 and 2r + 2. */
static inline size_t rounds_in(const struct history *h)
{
	return h->n / 2;
}
static inline size_t round_begin(size_t r)
{
	return 2 * r + 1;
}
/* The place next to `rounds`, a later one first, where a cut parts no call of the server's from its result: that stands
 * in the answer behind. The last round stays. */
size_t whole_cut(const struct history *h, size_t rounds);
/* The weight that goes when round r is taken out. */
size_t round_weight(const struct context *c, const struct history *h, size_t r);
/* The first call of an answer, or NULL. */
const struct block *first_call(const struct message *m);
/* The result of a call in the message behind it, NULL if it is not there. *from: where to look first, moved on. */
const struct block *result_of(const struct message *user, const char *id, size_t *from);
/* c may be NULL here and in round_weight. */
bool is_own_file(const struct context *c, const struct block *b);
/* Remembers the first message as the user's task, before anything of ours comes into it. */
int note_task(struct context *c, const struct history *h);

/* The oldest rounds go. What the user said in them stays, behind the first message's blocks. */
struct cut {
	size_t rounds;
	const struct block *was; /* our block in the first message, which goes; NULL = none */
	struct block *now;       /* our block, which stands in its place, or behind the first message; NULL = none */
	bool strip;              /* thinking is taken out of all that stays */
};
/* Writes the edited conversation to *draft, which is empty before. */
int cut_draft(const struct context *c, const struct history *h, const struct cut *cut, struct history *draft);
/* Puts the draft in the history's place and forgets the results of the `rounds` that went. Returns the weight freed. */
size_t cut_commit(struct context *c, struct history *h, struct history *draft, size_t rounds);

/* ---- thinking.c ---- */
bool has_thinking(const struct message *m);
/* Adds m to the draft, without its thinking if `strip`; nothing if nothing is left. */
int draft_add(struct history *draft, struct message *m, bool strip);
/* Does a model that needs the thinking since the last user text lose some, if the first `rounds` go and the rest is
 * kept as it is or stripped? */
bool breaks_thinking(const struct context *c, const struct history *h, size_t rounds, bool strip);

/* ---- microcompact.c, snip.c, collapse.c: each adds to the report what it did and hands on what is left ---- */
int microcompact(struct context *c, struct history *h, int64_t *tokens, struct context_report *report);
int snip(struct context *c, struct history *h, int64_t *tokens, struct context_report *report);
int collapse(struct context *c, struct history *h, int64_t *tokens, struct context_report *report);

/* Rounds that the layers leave alone: the model works on them, and has not seen the last one's results yet. */
#define ROUNDS_KEPT 2
/* How many of the oldest rounds have to go to get from `tokens` down to mark - slack. 0: it cannot be got below the
 * mark that way, or nothing has to. told: the weight of what is told instead of any; costs: of what is told of one.
 * Both may answer NO_MEMORY. */
#define NO_MEMORY SIZE_MAX
size_t rounds_over(const struct context *c, const struct history *h, int64_t tokens, int64_t mark, size_t told,
                   size_t (*costs)(const struct context *c, const struct history *h, size_t r));
int64_t weight_tokens(const struct context *c, size_t weight);
void report_step(const struct context *c, struct context_report *report, const char *name, int64_t *tokens,
                 size_t weight_freed);

/* The edit that folds cut->rounds; fills in the rest of *cut, whose `now` the caller has to unref. */
int fold_draft(const struct context *c, const struct history *h, struct cut *cut, struct history *draft);

/* ---- lines.c: what is told of a round ---- */
/* Appends the line of round r: the staged one, or one made now. */
void round_line(const struct context *c, const struct history *h, size_t r, struct buf *out);
/* Rounds up to r are gone: so are their staged lines. Called with the history that still has them. */
void unstage(struct context *c, const struct history *h, size_t rounds);
/* Appends text as one line: white space runs become one space, cut after `max` bytes with "...". */
void put_clipped(struct buf *out, const char *text, size_t n, size_t max);

#endif
