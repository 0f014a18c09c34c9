/*
 * --record: what goes into the bundle while the run goes on. The lines and the files that they name come from the
 * recorder, requests and answers from the wire; a piece of the events is written whenever something outside has
 * happened or is about to.
 */
#include "run/cutoff.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json_out.h"
#include "base/log.h"
#include "config.h"
#include "model/exchange.h"
#include "model/tap.h"
#include "record/bundle.h"

#define EVENTS_PIECE ((size_t)256 << 10) /* lines that wait, at most about that much of them */
#define ANSWER_MOST  ((size_t)64 << 20)
#define READ_BLOCK   ((size_t)64 << 10)
#define SECRET_MOST  ((size_t)64 << 10) /* no key is longer */
#define NAME_SIZE    300

/* The requests of one kind: one is open at a time. */
struct wire_kind {
	bool open;
	struct exchange exchange;
	size_t number;       /* in the names of its entries */
	int64_t asked;       /* the world's ms */
	unsigned long looks; /* the world's, when the last of it came */
	struct buf answer;
	bool cut;
	struct buf body;      /* that was sent last, as it is recorded */
	struct digest digest; /* of its first `digested` bytes */
	size_t digested;
};

struct record {
	struct world *w;
	struct bundle *bundle;
	struct model_tap tap;
	struct buf events, answers; /* lines that are not in the bundle yet */
	struct exchange_count count;
	struct wire_kind kinds[EXCHANGE_KINDS];
	int run;
	bool begun;       /* the file has its name */
	struct error why; /* the first that went wrong; nothing is written behind it */
};

static bool broken(const struct record *r)
{
	return r->why.code != ERR_NONE;
}

static void add(struct record *r, const char *name, const struct buf *content)
{
	struct error e = ERROR_INIT;

	if (broken(r))
		return;
	if (buf_check(content, name, &e) || bundle_add(r->bundle, name, content->data, content->len, &e))
		r->why = e;
}

static void add_numbered(struct record *r, const char *form, size_t number, const struct buf *content)
{
	char name[NAME_SIZE];

	snprintf(name, sizeof name, form, number); /* NOLINT(clang-diagnostic-format-nonliteral): ours */
	add(r, name, content);
}

void world_record_numbered(struct world *w, const char *form, const struct buf *content)
{
	if (w->recording)
		add_numbered(w->recording, form, bundle_entries(w->recording->bundle), content);
}

void world_record_answer(struct world *w, struct buf *line)
{
	struct record *r = w->recording;

	world_mask(w, line);
	if (line->failed || buf_add(&r->answers, line->data, line->len))
		error_nomem(&r->why);
}

int world_record_run(const struct world *w)
{
	return w->recording ? w->recording->run : 1;
}

/* ---- the events ---- */

static void flush_answers(struct record *r)
{
	if (r->answers.len)
		add_numbered(r, "answers/%06zu.ndjson", bundle_entries(r->bundle), &r->answers);
	buf_clear(&r->answers);
}

static void flush_events(struct record *r)
{
	char name[NAME_SIZE];

	flush_answers(r);
	if (!r->events.len)
		return;
	snprintf(name, sizeof name, "events/%06zu.ndjson", bundle_entries(r->bundle));
	add(r, name, &r->events);
	if (r->events.cap > 2 * EVENTS_PIECE)
		buf_release(&r->events);
	buf_clear(&r->events);
}

static int tell(struct record *r, struct error *e)
{
	if (!broken(r))
		return 0;
	*e = r->why;
	return -1;
}

int world_record_line(void *ctx, const char *line, size_t n, struct error *e)
{
	struct record *r = ((struct world *)ctx)->recording;

	if (buf_add(&r->events, line, n))
		buf_check(&r->events, "the events for the bundle", &r->why);
	else if (r->events.len >= EVENTS_PIECE)
		flush_events(r);
	return tell(r, e);
}

void world_record_file(void *ctx, const char *path)
{
	struct record *r = ((struct world *)ctx)->recording;
	const char *slash = strrchr(path, '/');
	char name[NAME_SIZE];
	struct error e = ERROR_INIT;

	if (broken(r))
		return;
	snprintf(name, sizeof name, "files/%s", slash ? slash + 1 : path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		log_warn("'%s' is not in the bundle: it cannot be opened", path);
	else if (bundle_add_file(r->bundle, name, fd, &e))
		r->why = e;
	if (fd >= 0)
		close(fd);
}

/* How safe all is to be that was told up to there. */
enum point {
	POINT_NONE,
	POINT_WRITTEN, /* it outlives us */
	POINT_SAFE     /* and the machine: something outside has happened, or is about to */
};

static enum point point_of(const struct event *ev)
{
	const struct event_user *user = &ev->u.user;

	switch (ev->kind) {
	case EVENT_RESULT:
	case EVENT_TOOL_START:
		return POINT_SAFE;
	case EVENT_USER:
		return user->block && user->block->kind == BLOCK_TOOL_RESULT ? POINT_SAFE : POINT_NONE;
	case EVENT_ASSISTANT:
		return ev->u.assistant.stop_reason ? POINT_WRITTEN : POINT_NONE;
	case EVENT_HISTORY:
		return POINT_WRITTEN;
	default:
		return POINT_NONE;
	}
}

int world_record_point(struct world *w, const struct event *ev, struct error *e)
{
	struct record *r = w->recording;
	enum point point = point_of(ev);

	if (!r || broken(r) || !point)
		return 0;
	flush_events(r);
	if (point == POINT_SAFE && !broken(r))
		bundle_sync(r->bundle, &r->why);
	return tell(r, e);
}

/* ---- requests ---- */

static size_t same_bytes(const char *a, const char *b, size_t n)
{
	size_t i = 0;

	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/* Brings the body up to date. Where it begins to differ from the one before. */
static size_t take_body(struct buf *body, const struct request_body *now)
{
	struct request_cursor cursor = { 0 };
	size_t at = 0, n;
	bool same = true;
	char *block = malloc(READ_BLOCK);

	if (!block)
		body->failed = ERR_NOMEM;
	while (block && (n = request_read(now, &cursor, block, READ_BLOCK)) > 0) {
		size_t k = 0;
		if (same && body->data) {
			size_t most = body->len - at < n ? body->len - at : n;
			k = memcmp(body->data + at, block, most) ? same_bytes(body->data + at, block, most) : most;
			at += k;
		}
		if (k < n && same) {
			buf_cut(body, at);
			same = false;
		}
		buf_add(body, block + k, n - k);
	}
	if (same)
		buf_cut(body, at);
	free(block);
	return at;
}

/* Masks what is new in it, which may begin within a secret. Where it begins to differ then. */
static size_t mask_body(struct world *w, struct buf *body, size_t prefix)
{
	size_t from = prefix > SECRET_MOST ? prefix - SECRET_MOST : 0;
	struct buf tail = BUF_INIT(BUF_HUGE);

	buf_add(&tail, body->data + from, body->len - from);
	world_mask(w, &tail);
	size_t least = tail.len < body->len - from ? tail.len : body->len - from;
	if (tail.failed) {
		body->failed = tail.failed;
	} else if (tail.len != body->len - from || memcmp(body->data + from, tail.data, tail.len) != 0) {
		size_t same = from + same_bytes(body->data + from, tail.data, least);
		prefix = same < prefix ? same : prefix;
		buf_cut(body, from);
		buf_add(body, tail.data, tail.len);
	}
	buf_release(&tail);
	return prefix;
}

/* The sum of what was there before goes on from where it ended the last time. */
static void sum_prefix(struct wire_kind *k, size_t prefix)
{
	if (k->digested > prefix || !k->digested) {
		digest_init(&k->digest);
		k->digested = 0;
	}
	digest_add(&k->digest, k->body.data + k->digested, prefix - k->digested);
	k->digested = prefix;
	if (prefix)
		digest_hex(&k->digest, k->exchange.prefix_sha);
}

static void on_sent(void *ctx, const struct model_request *req, const struct request_body *body)
{
	struct record *r = ctx;
	struct wire_kind *k = &r->kinds[req->kind];

	if (broken(r))
		return;
	exchange_init(&k->exchange);
	exchange_asked(&k->exchange, req, &r->count);
	k->exchange.run = r->run;
	cutoff_sent(r->w, &k->exchange);
	k->open = true;
	k->cut = false;
	k->asked = world_now(r->w);
	k->looks = r->w->looks;
	flush_events(r); /* they led to it */
	k->number = bundle_entries(r->bundle);
	size_t prefix = take_body(&k->body, body);
	if (!k->body.failed)
		prefix = mask_body(r->w, &k->body, prefix);
	if (buf_check(&k->body, "a request for the bundle", &r->why))
		return;
	sum_prefix(k, prefix);
	k->exchange.bytes = k->body.len;
	k->exchange.prefix = prefix;
	struct buf added = { .data = k->body.data + prefix, .len = k->body.len - prefix };
	add_numbered(r, "exchanges/%06zu.request", k->number, &added);
}

/* ---- answers ---- */

static int64_t since(const struct record *r, const struct wire_kind *k)
{
	return world_now(r->w) - k->asked;
}

/* Did the loop look in vain since the last of it came? */
static bool apart(const struct record *r, struct wire_kind *k)
{
	bool looked = k->looks != r->w->looks;

	k->looks = r->w->looks;
	return looked;
}

static void on_phase(void *ctx, enum model_kind kind, enum model_phase phase)
{
	struct record *r = ctx;
	struct wire_kind *k = &r->kinds[kind];

	if (k->open)
		exchange_phase(&k->exchange, since(r, k), phase);
}

static void on_head(void *ctx, enum model_kind kind, int status, const struct answer_headers *headers)
{
	struct record *r = ctx;
	struct wire_kind *k = &r->kinds[kind];

	if (k->open)
		exchange_head(&k->exchange, since(r, k), status, headers);
}

static void on_bytes(void *ctx, enum model_kind kind, const char *p, size_t n)
{
	struct record *r = ctx;
	struct wire_kind *k = &r->kinds[kind];

	if (!k->open)
		return;
	exchange_chunk(&k->exchange, since(r, k), n, apart(r, k));
	cutoff_bytes(r->w, kind, n);
	if (k->cut || k->answer.len + n > ANSWER_MOST) {
		if (!k->cut)
			log_warn("an answer is larger than %zu MiB: the bundle holds the first part alone",
			         ANSWER_MOST >> 20);
		k->cut = true;
	} else if (buf_add(&k->answer, p, n)) {
		buf_check(&k->answer, "an answer for the bundle", &r->why);
	}
}

/* A secret that was masked is longer than what stands for it: the last chunks are told so much shorter. */
static void shorten_chunks(struct exchange *x, size_t less)
{
	for (size_t i = x->nchunks; i-- && less;) {
		size_t n = x->chunks[i].n < less ? x->chunks[i].n : less;
		x->chunks[i].n -= n;
		x->answer_bytes -= n;
		less -= n;
	}
}

static void finish(struct record *r, struct wire_kind *k)
{
	struct buf json = BUF_INIT(BUF_HUGE);
	size_t came = k->answer.len;

	world_mask(r->w, &k->answer);
	if (k->answer.len < came)
		shorten_chunks(&k->exchange, came - k->answer.len);
	if (exchange_write(&k->exchange, &json))
		json.failed = ERR_NOMEM;
	buf_addc(&json, '\n');
	world_mask(r->w, &json);
	if (k->answer.len)
		add_numbered(r, "exchanges/%06zu.response", k->number, &k->answer);
	add_numbered(r, "exchanges/%06zu.json", k->number, &json);
	buf_release(&json);
	buf_release(&k->answer);
	exchange_release(&k->exchange);
	k->open = false;
}

static void on_done(void *ctx, enum model_kind kind, const struct http_done *done)
{
	struct record *r = ctx;
	struct wire_kind *k = &r->kinds[kind];

	if (!k->open)
		return;
	exchange_done(&k->exchange, since(r, k), apart(r, k), done);
	finish(r, k);
}

static void on_cancelled(void *ctx, enum model_kind kind)
{
	struct record *r = ctx;
	struct wire_kind *k = &r->kinds[kind];

	if (!k->open)
		return;
	exchange_cancelled(&k->exchange, since(r, k));
	finish(r, k);
}

/* ---- the life of it ---- */

/* A bundle that is there was locked before it was read. A new one is from now on, also by those whose children may
 * outlive us; where nothing can be locked nothing is. */
static int lock_new(struct world *w, int fd, struct error *e)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	if (w->keeper && supervisor_hold(w->keeper, fd, e))
		return -1;
	return supervisor_hold(w->supervisor, fd, e);
}

/* Is it recorded into the bundle that the run goes on from? */
static bool goes_on_in(const struct world *w, const char *path)
{
	return w->resumes && io_same_path(path, w->job->resume_path);
}

int world_record_open(struct world *w, struct error *e)
{
	const char *path = w->job->record_path;
	bool append;

	if (!path)
		return 0;
	struct record *r = calloc(1, sizeof *r);
	if (!r)
		return error_nomem(e);
	w->recording = r;
	r->w = w;
	append = goes_on_in(w, path);
	r->run = append ? (int)w->record.totals.runs + 1 : 1;
	r->tap = (struct model_tap){ r, on_sent, on_phase, on_head, on_bytes, on_done, on_cancelled };
	buf_init(&r->events, BUF_HUGE);
	buf_init(&r->answers, BUF_HUGE);
	for (size_t i = 0; i < EXCHANGE_KINDS; i++) {
		buf_init(&r->kinds[i].body, BUF_HUGE);
		buf_init(&r->kinds[i].answer, ANSWER_MOST);
	}
	r->bundle = bundle_create(path, append, e);
	if (!r->bundle || (!append && lock_new(w, bundle_fd(r->bundle), e)))
		return -1;
	return cutoff_open(w, e);
}

const struct model_tap *world_record_tap(const struct world *w)
{
	return w->recording ? &w->recording->tap : NULL;
}

bool world_records(const struct world *w)
{
	return w->recording && w->recording->bundle;
}

static void describe(struct world *w, struct buf *out)
{
	struct json_out o;

	json_out_init(&o, out);
	jo_object(&o);
	jo_kint(&o, "version", BUNDLE_VERSION);
	jo_kstr(&o, "program", PACKAGE_STRING);
	jo_kstr(&o, "session_id", w->session_id);
	jo_kstr(&o, "cwd", w->workspace);
	jo_kstr(&o, "run_dir", run_dir_made(w->run_dir));
	jo_kstr(&o, "environment", world_environment(w));
	jo_kstr(&o, "command_note", world_command_note(w));
	if (w->job->stream_input)
		jo_kbool(&o, "input", true);
	jo_end(&o);
	buf_addc(out, '\n');
}

int world_record_begin(struct world *w, struct error *e)
{
	struct record *r = w->recording;
	struct buf text = BUF_INIT(BUF_HUGE);

	if (!r)
		return 0;
	describe(w, &text);
	world_mask(w, &text);
	add(r, "quern.json", &text);
	buf_clear(&text);
	job_print_check(w->job, &text);
	world_mask(w, &text);
	add(r, "job.yaml", &text);
	buf_release(&text);
	r->begun = !broken(r);
	return tell(r, e);
}

int world_record_add(struct world *w, const char *name, const struct buf *content, struct error *e)
{
	struct record *r = w->recording;

	if (!r)
		return 0;
	add(r, name, content);
	return tell(r, e);
}

int world_record_end(struct world *w, struct error *e)
{
	struct record *r = w->recording;
	int rc;

	if (!r)
		return 0;
	w->recording = NULL;
	if (r->begun) /* else what was there before stays */
		flush_events(r);
	rc = tell(r, e);
	if (bundle_close(r->bundle, rc ? NULL : e))
		rc = -1;
	for (size_t i = 0; i < EXCHANGE_KINDS; i++) {
		exchange_release(&r->kinds[i].exchange);
		buf_release(&r->kinds[i].body);
		buf_release(&r->kinds[i].answer);
	}
	buf_release(&r->events);
	buf_release(&r->answers);
	free(r);
	return rc;
}
