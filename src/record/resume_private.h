/*
 * Inside the reading of a record: resume.c has the lines come, resume_line.c knows what each kind of line says,
 * resume_spent.c what was paid, resume_end.c what the conversation is where the lines end.
 */
#ifndef QUERN_RECORD_RESUME_PRIVATE_H
#define QUERN_RECORD_RESUME_PRIVATE_H

#include "base/json.h"
#include "record/resume.h"
#include "record/talk.h"

/* A call that is begun and has no result yet. */
struct begun {
	char *id, *name;
	struct block *block; /* its line is not out; NULL = it is. A reference */
};

struct spent {
	struct session_totals before; /* runs that are over */
	struct session_totals now;
	/* the answer that comes in: counted when its last line is there, or when another begins */
	char *model;
	struct usage usage;
	bool open;
	bool same_turn;  /* the one before was paused, or filled the window: the next one belongs to its turn */
	char *asked;     /* the model that requests are for; NULL = not told */
	bool sent;       /* a request is on its way, so far as the lines tell: nothing of what came of it */
	int64_t earlier; /* requests of the processes before */
	/* attempts for a summary: what it came to will tell them all, if it is told */
	char *tried_model;
	struct usage tried;
	int64_t ms, counted; /* of this process: the newest line's time, and how much of it a result has told */
};

struct reader {
	const struct resume_source *src;
	struct resumed *r;
	struct talk talk;
	struct spent spent;
	struct begun *begun;
	size_t nbegun;
	size_t nsummaries; /* strings in r->summaries */
	/* the lines of the answer that is not known to be whole: its end, or a result, makes it so */
	char (*answer)[UUID_LEN + 1];
	size_t nanswer;
	char *answer_id;   /* of its message */
	size_t nblocks;    /* of the newest answer, whole or not; */
	bool has_calls;    /* and is there a call among them? */
	bool cut;          /* or of one that was cut, or broke, as long as it is not told what is kept of it */
	bool known;        /* an init line of ours was there */
	bool elsewhere;    /* the run went on from a record that is another file */
	bool told;         /* the conversation was, in front of a request; before it stand words of ours alone */
	bool in_pieces;    /* the conversation is told in several lines, and the last one of them is not there yet */
	size_t foreign;    /* the first line that no run of ours writes in front of its init; 0 = none */
	bool result_alone; /* it is the result of a run of ours */
};

/* ---- resume_line.c ---- */
/* One whole line. -1 with *e. */
int reader_take(struct reader *rd, const struct json *doc, struct error *e);
/* Where the file is that the line names, if it names one. */
int reader_note_place(struct reader *rd, const struct json *doc, struct error *e);
/* Is it to be whole? Is it of no use, and the conversation not what it was, if it is not? */
bool reader_wants_whole(const struct json *doc);
bool reader_needs_whole(const struct json *doc);
void reader_forget_session(struct reader *rd);              /* another one begins */
void reader_drop_undecided(struct reader *rd);              /* all that followed from the newest answer was done */
void reader_drop_batch(struct reader *rd);                  /* or from its calls */
struct resumed_batch *reader_open_batch(struct reader *rd); /* the one of the newest results */

/* ---- resume_spent.c ---- */
void spent_time(struct reader *rd, int64_t ms);
int spent_assistant(struct reader *rd, const struct json *doc, int message, bool ends);
int spent_history(struct reader *rd, const struct json *doc, int state);
int spent_tombstone(struct reader *rd, const struct json *doc);
int spent_other(struct reader *rd, const struct json *doc, int model, int usage);   /* a request beside the main ones */
int spent_compact(struct reader *rd, const struct json *doc, int model, int usage); /* all that a summary took */
int spent_retry(struct reader *rd, const struct json *doc); /* an attempt that another one follows */
int spent_result(struct reader *rd, const struct json *doc);
int spent_new_run(struct reader *rd, const struct json *doc); /* a quern_resume: the process is another from here */
int spent_finish(struct reader *rd);                          /* *r has the totals */
void spent_release(struct spent *spent);

/* ---- resume_end.c ---- */
/* The process has ended here: an answer that is not whole is kept as far as it may be, or left out. */
int reader_close_answer(struct reader *rd, struct error *e);
/* Each call without a result gets one. */
int reader_answer_calls(struct reader *rd, struct error *e);
void reader_forget_begun(struct reader *rd, const char *id); /* NULL: all */
void reader_forget_answer(struct reader *rd);

#endif
