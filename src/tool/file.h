/*
 * What Read, Write and Edit share. Their work is done in a child of the supervisor (read_child and so on), which
 * keeps no state: what it must know comes in a frame, what the toolbox must remember goes back in another.
 */
#ifndef QUERN_TOOL_FILE_H
#define QUERN_TOOL_FILE_H

#include <sys/stat.h>

#include "tool/internal.h"

#define FILE_MAX_BYTES ((size_t)64 << 20) /* Edit and Write hold a file in memory */

/* Exit status of a child call. */
enum { FILE_OK = 0, FILE_ERROR = 1, FILE_DENIED = 2 };

/* ---- frames: length-prefixed fields, native byte order (both ends are this program) ---- */

void pack_bytes(struct buf *b, const void *p, size_t n);
void pack_int(struct buf *b, int64_t v);

struct unpack {
	const char *p;
	size_t n;
	bool bad;
};
/* The next field; "" and `bad` when there is none. Fields carry a NUL behind them. */
const char *unpack_bytes(struct unpack *u, size_t *n);
int64_t unpack_int(struct unpack *u);

/* ---- loop side ---- */

/* What is known of the file at the path, NULL if nothing. */
const struct read_record *file_known(struct toolbox *t, const char *path);
/* Packs roots, path and read state, and makes c->spec a call of `name`. 0, or -1 with *e. */
int file_plan(struct call *c, const char *name, const char *path, bool writing, struct error *e);
/* What was packed is the child's input. 1, what plan returns, or -1 with *e. */
int file_plan_end(struct call *c, struct error *e);
/* The first lines of an open file as Read shows them, at most max bytes of them; r gets what was seen of it and, of a
 * file up to 4 MiB, its hash. 1, 0 if it is no text or not a line of it fits, -1 with *e. (read.c; any process.) */
int read_first_lines(int fd, size_t max, struct buf *out, struct read_record *r, struct error *e);
/* The result of all three: text, structured result, image, and the new read state. */
void file_finish(struct call *c, struct child_result *res, struct tool_result *out);

/* ---- child side ---- */

struct file_job {
	struct roots *roots;
	const char *workspace;
	const char *path;
	const char *allowed;      /* the real path that was judged; "" = any */
	bool known, whole;        /* read before in this run; all of it */
	const unsigned char *sha; /* the content it had then */
	struct unpack in;         /* the tool's own fields */
	int result_fd;
};

/* 0, or the exit status of a child that cannot go on. */
int file_job_begin(struct file_job *j, const char *in, size_t in_len, int result_fd);
void file_job_end(struct file_job *j);
/* Prints the error for the model; returns FILE_ERROR, so that a child may `return file_fail(...)`. */
int file_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Is what was opened what was judged? name: in the directory fd, NULL: fd itself. If not, file_fail_judged. */
bool file_is_judged(const struct file_job *j, int fd, const char *name);
int file_fail_judged(const struct file_job *j);
int file_fail_path(const struct file_job *j, enum path_verdict why, const struct error *e);

struct file_report {
	bool unchanged;           /* nothing is shown: it stands in the conversation already */
	struct read_record state; /* key NULL: nothing to remember */
	uint64_t first_line;
	const char *content_json;
	const struct buf *structured;
};
/* Writes text to fd 1 and the report to the result channel; returns FILE_OK or FILE_ERROR. */
int file_succeed(const struct file_job *j, const struct buf *text, const struct file_report *report);

/* Identity of dir/name for the read state. */
void file_key(int dir, const char *name, char out[4096]);
void file_sha(const char *p, size_t n, unsigned char sha[DIGEST_BYTES]);
int64_t file_mtime_ns(const struct stat *st);
/* Reads dir/name, which must be a regular file. 0; -1 with *e; 1 if it does not exist. */
int file_slurp(int dir, const char *name, struct buf *out, struct stat *st, struct error *e);
/* Replaces (old != NULL) or makes dir/name: temporary file beside it, synced, renamed over. On failure the old content
 * is untouched and nothing is left. *now is the new file's stat. */
int file_replace(int dir, const char *name, const struct stat *old, const char *p, size_t n, struct stat *now,
                 struct error *e);
/* Bytes of a UTF-8 byte order mark at p, 0 or 3. */
size_t file_bom(const char *p, size_t n);
/* Appends lines [from, to] (1-based) with their numbers. */
void file_add_lines(struct buf *out, const char *p, size_t n, size_t from, size_t to);

int read_child(const char *in, size_t in_len, int result_fd);
int write_child(const char *in, size_t in_len, int result_fd);
int edit_child(const char *in, size_t in_len, int result_fd);

#endif
