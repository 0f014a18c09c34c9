/*
 * Files that enter the first user message in front of the task: text as it is, pictures and PDF documents as the API
 * takes them, of archives and directories what is in them. attach_find... and mentions (prompt/mention.h) collect
 * them, once each and in that order, before anything is waited for; attach_tell reads them.
 */
#ifndef QUERN_PROMPT_ATTACH_H
#define QUERN_PROMPT_ATTACH_H

#include <stdbool.h>
#include <stddef.h>

#include "message/message.h"
#include "prompt/archive.h"
#include "prompt/place.h"

enum attach_kind { ATTACH_TEXT, ATTACH_IMAGE, ATTACH_PDF, ATTACH_ARCHIVE, ATTACH_DIR, ATTACH_OTHER };

struct attachment {
	enum attach_kind kind;
	const char *media_type; /* of a picture or document; static */
	char *name;             /* as the user or the pattern has it; owned */
	char *path;             /* the real path; owned */
	bool beneath;           /* found beneath the place's directories, where rules hold */
	size_t size;
};

struct attachments {
	struct place place;
	struct attachment *v;
	size_t n, cap;
	size_t media, text; /* bytes of them that will be told */
};

#define ATTACH_MEDIA_MOST ((size_t)20 << 20)  /* pictures and documents together */
#define ATTACH_TEXT_MOST  ((size_t)256 << 10) /* of one text */
#define ATTACH_TEXTS_MOST ((size_t)4 << 20)   /* together */
#define ATTACH_FILES_MOST 500

void attachments_init(struct attachments *a, const struct place *place);
void attachments_release(struct attachments *a);

/* A file or a pattern of the job, as it is written there; relative to the directory `from`, an absolute path. What is
 * named may lie anywhere, but not where only a link that lies in the workspace leads; what a pattern finds there is
 * passed over, as is what a rule forbids to read. -1 with *e: nothing is found, a directory, too large or too many. */
int attach_find(struct attachments *a, const char *from, const char *pattern, struct error *e);
/* A file or directory beneath the place's directories that may be read. 1: it is among them now (or was), 0: there is
 * no such, -1 with *e. */
int attach_mention(struct attachments *a, const char *path, struct error *e);

/* "shot.png: image/png, 1234 bytes" */
void attachment_describe(const struct attachment *x, struct buf *out);

/* What was told of them: blocks for the message, and a line each for people. */
struct told {
	const struct place *place;
	struct message *message; /* of role user; NULL = nothing yet */
	struct buf names;        /* "shot.png: image/png, 1234 bytes", each with a NUL behind it */
	struct buf notes;        /* what was cut or left out, "; " between */
};
/* place stays the caller's and must outlive it. */
void told_init(struct told *t, const struct place *place);
void told_release(struct told *t);
/* Appends a text block; what is secret in it, in a name for instance, is masked. -1: no memory. */
int told_text(struct told *t, struct buf *text);

/* Reads them all into t. -1 with *e: one cannot be read any more, the run ends, no memory. */
int attach_tell(struct attachments *a, const struct archive_wait *wait, struct told *t, struct error *e);

#endif
