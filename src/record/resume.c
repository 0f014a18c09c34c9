/* Has the lines of a record come, one after the other, whole. */
#include "record/resume.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "record/bundle.h"
#include "record/resume_private.h"

#define CHUNK       ((size_t)256 << 10)
#define BUNDLE_MOST ((int64_t)64 << 30) /* it is streamed: a bound for who wants to keep us busy */
#define LINE_MOST   ((size_t)64 << 20)  /* ours are a mebibyte; what is longer is somebody else's */

struct lines {
	struct reader rd;
	struct buf line;
	bool too_long;
	bool bundle;
	bool described; /* the entry that every bundle begins with was there */
};

/* One entry that is looked for: a file of the run directory that was put into the bundle. */
struct wanted {
	const char *name;
	struct buf *out;
	bool found;
};

static int take_wanted(void *ctx, const char *name, const char *p, size_t n, bool last, struct error *e)
{
	struct wanted *w = ctx;

	(void)last;
	if (strncmp(name, "files/", 6) != 0 || strcmp(name + 6, w->name) != 0)
		return 0;
	if (!p)
		buf_clear(w->out);
	w->found = true;
	return p && buf_add(w->out, p, n) ? error_nomem(e) : 0;
}

/* Where the run directory is not the run's, the bundle has what the lines name. 1: it has, 0: not. */
static int read_bundled(const struct lines *l, const char *path, struct buf *out, struct error *e)
{
	const char *slash = strrchr(path, '/');
	struct wanted w = { slash ? slash + 1 : path, out, false };
	bool cut;

	return bundle_read(l->rd.src->path, BUNDLE_MOST, take_wanted, &w, &cut, e) ? -1 : w.found;
}

/* A file of the run directory. It must be ours. */
static int read_own(const char *path, struct buf *out, struct error *e)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = -1;
	struct stat st;

	if (fd < 0)
		return error_sys(e, "the rest of the line is in '%s'", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		error_set(e, ERR_INPUT, "the rest of the line is in '%s', which is not a file of this user", path);
	else
		rc = io_read_fd(fd, out, e);
	close(fd);
	return rc;
}

/* The line as it would have been, from the file that it names: it must be that very line. */
static int read_whole(const struct lines *l, const struct json *cut, const char *path, struct buf *out,
                      struct json *doc, struct error *e)
{
	int rc = l->bundle ? read_bundled(l, path, out, e) : 0;

	if (rc < 0 || (rc == 0 && read_own(path, out, e)))
		return -1;
	if (json_parse(doc, buf_str(out), out->len, JSON_BORROW, e))
		return error_prefix(e, "'%s'", path);
	char *uuid = json_strdup(cut, json_get(cut, json_root(cut), "uuid"), NULL);
	bool same = uuid && json_eq(doc, json_get(doc, json_root(doc), "uuid"), uuid);
	free(uuid);
	return same ? 0 : error_set(e, ERR_INPUT, "'%s' does not hold the line that names it", path);
}

static int take_whole(struct lines *l, const struct json *cut, int file, struct error *e)
{
	struct buf text = BUF_INIT(BUF_HUGE);
	struct json doc = JSON_INIT;
	char *path = json_strdup(cut, file, NULL);
	int rc = -1;

	if (!path)
		error_set(e, ERR_INPUT, "the line was cut, and the rest of it could not be kept");
	else
		rc = read_whole(l, cut, path, &text, &doc, e) || reader_take(&l->rd, &doc, e) ||
		                     reader_note_place(&l->rd, cut, e)
		             ? -1
		             : 0;
	json_release(&doc);
	buf_release(&text);
	free(path);
	return rc;
}

static int take(struct lines *l, const struct json *doc, struct error *e)
{
	int file = json_get(doc, json_root(doc), "quern_file");

	if (file < 0 || !reader_wants_whole(doc))
		return reader_take(&l->rd, doc, e);
	struct error why = ERROR_INIT;
	if (take_whole(l, doc, file, &why) == 0)
		return 0;
	if (why.code != ERR_NOMEM && !reader_needs_whole(doc)) /* nothing of the conversation is lost */
		return reader_take(&l->rd, doc, e);
	*e = why;
	return why.code == ERR_NOMEM ? -1
	                             : error_prefix(e, "a part of the conversation is not there (put the file back, or "
	                                               "begin anew without this record)");
}

/* Before our init stands nothing but what its start brings with it, or what a start that failed leaves behind. */
static bool is_early(const struct json *doc)
{
	int type = json_get(doc, json_root(doc), "type"), subtype = json_get(doc, json_root(doc), "subtype");

	if (json_eq(doc, type, "result"))
		return !json_absent(doc, json_get(doc, json_root(doc), "startup_failure_reason"));
	return json_eq(doc, type, "control_response") ||
	       (json_eq(doc, type, "system") &&
	        (json_eq(doc, subtype, "hook_started") || json_eq(doc, subtype, "hook_response") ||
	         json_eq(doc, subtype, "informational") || json_eq(doc, subtype, "quern_notice")));
}

/* Of a run whose events went elsewhere: as --output-format json has it, or one that was given again. */
static bool is_result(const struct json *doc)
{
	return json_eq(doc, json_get(doc, json_root(doc), "type"), "result") &&
	       !json_absent(doc, json_get(doc, json_root(doc), "terminal_reason"));
}

/* What a kill left of a line of ours, however little that is. */
static bool is_torn_event(const struct buf *line)
{
	static const char begin[] = "{\"type\":\"";
	size_t n = line->len < sizeof begin - 1 ? line->len : sizeof begin - 1;

	return memcmp(line->data, begin, n) == 0;
}

/* What came through another system or an editor ends in more than a line feed; a result is given again as it stands. */
static void strip_end(struct buf *line)
{
	size_t n = line->len;

	while (n && (line->data[n - 1] == '\r' || line->data[n - 1] == ' ' || line->data[n - 1] == '\t'))
		n--;
	buf_cut(line, n);
}

/* `last`: no line feed stands behind it. */
static int take_line(struct lines *l, bool last, struct error *e)
{
	struct resumed *r = l->rd.r;
	struct json doc = JSON_INIT;
	struct error why = ERROR_INIT;
	int rc;

	strip_end(&l->line);
	rc = l->too_long ? error_set(&why, ERR_LIMIT, "too long")
	                 : json_parse(&doc, buf_str(&l->line), l->line.len, JSON_BORROW, &why);
	if (!last || rc == 0)
		r->lines++;
	if (rc == 0 && json_type(&doc, json_root(&doc)) == JSON_OBJECT) {
		rc = take(l, &doc, e);
		if (!l->rd.known && !l->rd.foreign && !is_early(&doc)) {
			l->rd.foreign = r->lines;
			l->rd.result_alone = is_result(&doc);
		}
		if (rc)
			error_prefix(e, "%s:%zu", l->rd.src->path, r->lines);
	} else if (why.code == ERR_NOMEM) {
		rc = error_nomem(e);
	} else {
		r->torn = last;
		r->unreadable += !last && l->line.len > 0;
		if (!l->rd.known && !l->rd.foreign && l->line.len && !(last && is_torn_event(&l->line)))
			l->rd.foreign = r->lines + last;
		rc = 0;
	}
	json_release(&doc);
	buf_clear(&l->line);
	l->too_long = false;
	return rc;
}

static int add(struct lines *l, const char *p, size_t n, struct error *e)
{
	if (l->too_long || l->line.len + n > LINE_MOST) {
		l->too_long = true;
		return 0;
	}
	return buf_add(&l->line, p, n) ? error_nomem(e) : 0;
}

static int feed(struct lines *l, const char *p, size_t n, struct error *e)
{
	while (n) {
		const char *end = memchr(p, '\n', n);
		size_t k = end ? (size_t)(end - p) : n;
		if (add(l, p, k, e) || (end && take_line(l, false, e)))
			return -1;
		k += end != NULL;
		p += k;
		n -= k;
	}
	return 0;
}

static bool ends_with_results(const struct history *h)
{
	const struct message *last = h->n ? h->v[h->n - 1] : NULL;

	return last && last->n && last->blocks[0]->kind == BLOCK_TOOL_RESULT;
}

static int finish(struct lines *l, struct error *e)
{
	struct reader *rd = &l->rd;
	struct resumed *r = rd->r;
	bool nothing; /* or words of ours alone, of which nobody has asked for anything */

	if ((l->line.len || l->too_long) && take_line(l, true, e))
		return -1;
	if (!rd->known && rd->foreign)
		return error_set(e, ERR_INPUT,
		                 "%s:%zu: %s: give what --events, --record or stdout in stream-json wrote",
		                 rd->src->path, rd->foreign,
		                 rd->result_alone ? "a result without its conversation, which cannot be gone on with"
		                                  : "this is not the record of a run of this program");
	nothing = !rd->talk.history.n || (!rd->told && rd->talk.history.n == 1);
	if (rd->in_pieces || (nothing && rd->elsewhere))
		return error_set(
		        e, ERR_INPUT,
		        "%s: the run in it went on from another record, and ended before it had told what stands "
		        "there: go on from that one",
		        rd->src->path);
	if (nothing)
		return 0;
	if (reader_close_answer(rd, e) || reader_answer_calls(rd, e))
		return -1;
	if (!ends_with_results(&rd->talk.history))
		reader_drop_batch(rd); /* whatever took them out, nothing follows from them */
	r->history = rd->talk.history; /* with the ids of all calls that ever were in it */
	rd->talk.history = (struct history)HISTORY_INIT;
	if (!r->history.n)
		return 0;
	if (history_check(&r->history, false, e))
		return error_prefix(e, "%s: the conversation in it cannot be gone on with", rd->src->path);
	return spent_finish(rd) ? error_nomem(e) : 1;
}

static int take_entry(void *ctx, const char *name, const char *p, size_t n, bool last, struct error *e)
{
	struct lines *l = ctx;

	(void)last;
	l->described |= !strcmp(name, "quern.json"); /* the first entry of every bundle */
	if (!l->described)
		return error_set(e, ERR_INPUT, "'%s' is an archive, but not the record of a run", l->rd.src->path);
	return p && strncmp(name, "events/", 7) == 0 ? feed(l, p, n, e) : 0;
}

/* At most `size` bytes: what comes behind them was not there when we began. */
static int read_lines(struct lines *l, int fd, int64_t size, struct error *e)
{
	char *chunk = malloc(CHUNK);
	int rc = 0;

	if (!chunk)
		return error_nomem(e);
	while (rc == 0 && size > 0) {
		ssize_t n = read(fd, chunk, size < (int64_t)CHUNK ? (size_t)size : CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = error_sys(e, "cannot read '%s'", l->rd.src->path);
		if (n <= 0)
			break;
		size -= n;
		rc = feed(l, chunk, (size_t)n, e);
	}
	free(chunk);
	return rc;
}

static bool is_bundle(int fd)
{
	char head[64];
	ssize_t n = pread(fd, head, sizeof head, 0);

	return n > 0 && bundle_is(head, (size_t)n);
}

static int read_file(struct lines *l, struct error *e)
{
	bool cut = false;
	const char *path = l->rd.src->path;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), rc;
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st))
		rc = error_sys(e, "cannot read '%s'", path);
	else if (!S_ISREG(st.st_mode))
		rc = error_set(e, ERR_INPUT, "'%s' is no regular file", path);
	else if ((l->bundle = is_bundle(fd)))
		rc = bundle_read(path, BUNDLE_MOST, take_entry, l, &cut, e) ? -1 : 0;
	else
		rc = read_lines(l, fd, st.st_size, e);
	if (fd >= 0)
		close(fd);
	l->rd.r->torn |= cut;
	return rc;
}

int resume_read(const struct resume_source *src, struct resumed *r, struct error *e)
{
	struct lines l = { .rd = { .src = src, .r = r, .talk = TALK_INIT }, .line = BUF_INIT(LINE_MOST) };

	*r = (struct resumed){ .history = HISTORY_INIT };
	int rc = read_file(&l, e);
	if (rc == 0)
		rc = finish(&l, e);
	reader_forget_answer(&l.rd);
	reader_forget_begun(&l.rd, NULL);
	free(l.rd.begun);
	spent_release(&l.rd.spent);
	talk_release(&l.rd.talk);
	buf_release(&l.line);
	if (rc <= 0)
		resumed_release(r);
	return rc;
}

static void release_answer(struct resumed_answer *a)
{
	free(a->stop_reason);
	free(a->stop_sequence);
	free(a->model);
	free(a->message_id);
	free(a->went_on);
	*a = (struct resumed_answer){ 0 };
}

void reader_drop_undecided(struct reader *rd)
{
	release_answer(&rd->r->answer);
}

static void release_batch(struct resumed_batch *b)
{
	free(b->said);
	free(b->ends_run);
	free(b->denied);
	*b = (struct resumed_batch){ 0 };
}

void reader_drop_batch(struct reader *rd)
{
	release_batch(&rd->r->batch);
}

struct resumed_batch *reader_open_batch(struct reader *rd)
{
	struct resumed_batch *b = &rd->r->batch;

	if (!b->open)
		b->first_state = rd->r->ntool_states;
	b->open = true;
	return b;
}

void resumed_release(struct resumed *r)
{
	history_release(&r->history);
	message_unref(r->prompt);
	free(r->run_dir);
	free(r->environment);
	free(r->cwd);
	free(r->result_line);
	free(r->loop_state);
	for (size_t i = 0; i < r->ntool_states; i++) {
		free(r->tool_states[i].id);
		free(r->tool_states[i].json);
	}
	free(r->tool_states);
	for (char **s = r->summaries; s && *s; s++)
		free(*s);
	free(r->summaries);
	for (size_t i = 0; i < r->ninterrupted; i++) {
		free(r->interrupted[i].id);
		free(r->interrupted[i].name);
	}
	free(r->interrupted);
	session_totals_release(&r->totals);
	release_answer(&r->answer);
	release_batch(&r->batch);
	*r = (struct resumed){ .history = HISTORY_INIT };
}
