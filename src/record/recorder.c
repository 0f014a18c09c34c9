/* From event to lines on stdout and in the events file, in the three formats. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "record/line.h"
#include "record/out.h"

#define MAX_LINE_DEFAULT ((size_t)1 << 20)
#define MAX_LINE_LEAST   ((size_t)1 << 10)
/* Kept aside so that the result can still be made when memory is gone. */
#define RESERVE ((size_t)64 << 10)
/* What a line's buffer may keep for the next line. */
#define KEEP_CAPACITY ((size_t)4 << 20)
/* An answer is cut alone if this much of it stays. */
#define ANSWER_LEAST ((size_t)256)

struct recorder {
	struct recorder_config cfg;
	char session_id[UUID_LEN + 1];
	size_t max_line; /* with the line feed */
	struct out *out;
	struct out *events;   /* or NULL */
	bool events_told;     /* its failure was returned once */
	bool tap_failed;      /* likewise of the tap, which gets no more */
	struct digest digest; /* of all lines so far */
	int64_t bytes;        /* in them */
	char hex[DIGEST_HEX + 1];
	struct buf line;
	void *reserve;
	bool named_file;
};

static void new_uuid(const struct recorder *r, char out[UUID_LEN + 1])
{
	if (r->cfg.new_uuid)
		r->cfg.new_uuid(r->cfg.ctx, out);
	else
		random_uuid(out);
}

static int64_t clock_now(const struct recorder *r)
{
	return r->cfg.now ? r->cfg.now(r->cfg.ctx) : clock_mono_ms();
}

static int open_outputs(struct recorder *r, struct error *e)
{
	const struct recorder_config *cfg = &r->cfg;

	r->out = out_open(cfg->fd, "stdout", cfg->reactor, e);
	if (!r->out)
		return -1;
	if (cfg->events_path) {
		r->events = out_append(cfg->events_path, cfg->reactor, e);
		if (!r->events)
			return -1;
		if (out_same_file(r->out, r->events))
			return error_set(e, ERR_INPUT,
			                 "events file '%s' is where stdout goes already: leave --events out",
			                 cfg->events_path);
		out_mend(r->events, NULL); /* a failure is met again, and told, at the first event */
	}
	if (cfg->format == OUTPUT_STREAM_JSON)
		out_mend(r->out, NULL);
	return 0;
}

struct recorder *recorder_open(const struct recorder_config *cfg, struct error *e)
{
	struct recorder *r = calloc(1, sizeof *r);

	if (r)
		r->reserve = malloc(RESERVE);
	if (!r || !r->reserve) {
		free(r);
		error_nomem(e);
		return NULL;
	}
	r->cfg = *cfg;
	r->max_line = cfg->max_line ? cfg->max_line : MAX_LINE_DEFAULT;
	if (r->max_line < MAX_LINE_LEAST)
		r->max_line = MAX_LINE_LEAST;
	if (!r->cfg.version)
		r->cfg.version = "";
	if (cfg->session_id)
		snprintf(r->session_id, sizeof r->session_id, "%s", cfg->session_id);
	else
		new_uuid(r, r->session_id);
	if (!r->cfg.started)
		r->cfg.started = clock_now(r);
	buf_init(&r->line, BUF_HUGE);
	digest_init(&r->digest);
	if (open_outputs(r, e)) {
		recorder_free(r);
		return NULL;
	}
	return r;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	out_free(r->out);
	out_free(r->events);
	buf_release(&r->line);
	free(r->reserve);
	free(r);
}

static void make_line(struct recorder *r, const struct event *ev, bool bare)
{
	buf_clear(&r->line);
	line_write(&r->line, ev, r->session_id, r->cfg.version, bare);
	if (r->cfg.mask && !r->line.failed)
		r->cfg.mask(r->cfg.ctx, &r->line);
}

/* A replay names files of the recorded run's directory, which need not be ours. */
static bool is_ours(const struct recorder *r, const char *path)
{
	const char *dir = r->cfg.run_dir ? run_dir_made(r->cfg.run_dir) : NULL;
	size_t n = dir ? strlen(dir) : 0;

	return !r->cfg.run_dir || (dir && !strncmp(path, dir, n) && path[n] == '/');
}

static void name_file(struct recorder *r, const char *path)
{
	r->named_file |= is_ours(r, path);
	if (r->cfg.named)
		r->cfg.named(r->cfg.ctx, path);
}

/* Are there lines, beside a result that stands alone? */
static bool keeps_lines(const struct recorder *r)
{
	return r->cfg.format == OUTPUT_STREAM_JSON || r->events || r->cfg.tap;
}

/* Whether lines are kept or not: the changes may be nowhere else. */
static void name_kept(struct recorder *r, const struct event_workspace *w)
{
	if (w->changes)
		name_file(r, w->changes);
	/* of no use where nobody can read that it is there */
	if (w->before && (keeps_lines(r) || r->cfg.format == OUTPUT_JSON))
		name_file(r, w->before);
}

/* The path under which the bytes are whole in the run directory, or NULL: then it says why on stderr. */
static const char *store(struct recorder *r, const char *name, const char *p, size_t n)
{
	struct error e = ERROR_INIT;
	const char *path = r->cfg.run_dir ? run_dir_store(r->cfg.run_dir, name, p, n, &e) : NULL;

	if (path)
		name_file(r, path);
	else
		log_warn("a %zu byte event was cut to fit a line and is not kept whole: %s", n,
		         e.code ? e.msg : "there is no run directory");
	return path;
}

/* How long the line may be before `"key":"path"` is added to it; the path is counted at its most escaped. */
static size_t room_beside(const struct recorder *r, const char *key, const char *path)
{
	size_t need = strlen(key) + 6 * (path ? strlen(path) : 4) + sizeof ",\"\":\"\"\n";

	return need < r->max_line ? r->max_line - need : 0;
}

/* The answer as text in a file of its own: what a person wants to open. */
static const char *store_answer(struct recorder *r, const struct event_result *v)
{
	struct buf text = BUF_INIT(BUF_HUGE);
	const char *path = NULL;

	if (buf_add(&text, v->result, v->result_len) == 0) {
		if (r->cfg.mask)
			r->cfg.mask(r->cfg.ctx, &text);
		if (!text.failed)
			path = store(r, "result.txt", buf_str(&text), text.len);
	}
	buf_release(&text);
	return path;
}

/* Cuts the result text alone, if that is enough. 1: it is not, line unchanged. */
static int fit_answer(struct recorder *r, const struct event *ev)
{
	size_t from, to;

	if (ev->kind != EVENT_RESULT || !ev->u.result.result || !line_find_string(&r->line, "result", &from, &to))
		return 1;
	/* A path of an unknown length comes beside it: 1/8 of the line is left for it. */
	if (to - from < r->line.len - r->max_line + r->max_line / 8 + ANSWER_LEAST)
		return 1;
	const char *path = store_answer(r, &ev->u.result);
	int rc = line_shorten(&r->line, from, to, room_beside(r, "result_file", path));
	if (rc == 0)
		line_append_str(&r->line, "result_file", path);
	return rc;
}

/* Makes r->line fit. The whole line, as it would have been, goes into the file that `quern_file` names. */
static int fit_line(struct recorder *r, const struct event *ev)
{
	char name[UUID_LEN + 20];

	if (r->line.len < r->max_line)
		return 0;
	int rc = fit_answer(r, ev);
	if (rc <= 0)
		return rc;
	snprintf(name, sizeof name, "event-%s.json", ev->uuid);
	buf_addc(&r->line, '\n');
	const char *path = r->line.failed ? NULL : store(r, name, r->line.data, r->line.len);
	buf_cut(&r->line, r->line.len - 1);
	size_t room = room_beside(r, "quern_file", path);
	rc = line_shorten(&r->line, 0, r->line.len, room);
	if (rc == 1) {
		make_line(r, ev, true);
		rc = r->line.failed ? -1 : line_shorten(&r->line, 0, r->line.len, room);
	}
	if (rc >= 0)
		line_append_str(&r->line, "quern_file", path);
	return rc < 0 ? -1 : 0;
}

static int write_answer(struct recorder *r, const struct event_result *v, struct error *e)
{
	struct buf text = BUF_INIT(BUF_HUGE);
	int rc = 0;

	/* Only what the model meant as its answer: at max_turns, say, the last text is a remark between two calls. */
	if (!v->result || (v->reason != TERM_COMPLETED && v->reason != TERM_MAX_OUTPUT))
		return 0;
	buf_add(&text, v->result, v->result_len);
	if (r->cfg.mask)
		r->cfg.mask(r->cfg.ctx, &text);
	buf_addc(&text, '\n');
	rc = buf_check(&text, "the answer", e);
	if (rc == 0)
		rc = out_write(r->out, text.data, text.len, e);
	buf_release(&text);
	return rc;
}

static int write_events_file(struct recorder *r, struct error *e)
{
	if (out_write(r->events, r->line.data, r->line.len, e) == 0)
		return 0;
	if (r->events_told)
		return 0;
	r->events_told = out_gone(r->events);
	return -1;
}

static int write_tap(struct recorder *r, struct error *e)
{
	if (r->tap_failed || r->cfg.tap(r->cfg.ctx, r->line.data, r->line.len, e) == 0)
		return 0;
	r->tap_failed = true;
	return -1;
}

/* Of everything that keeps lines. One that is gone does not keep the line from the others. */
static int write_line(struct recorder *r, struct error *e)
{
	struct error later = ERROR_INIT;
	int rc = 0;

	digest_add(&r->digest, r->line.data, r->line.len);
	r->bytes += (int64_t)r->line.len;
	if (r->cfg.format == OUTPUT_STREAM_JSON)
		rc = out_write(r->out, r->line.data, r->line.len, e);
	if (r->events && write_events_file(r, rc ? &later : e))
		rc = -1;
	if (r->cfg.tap && write_tap(r, rc ? &later : e))
		rc = -1;
	return rc;
}

static int end_line(struct recorder *r, struct error *e)
{
	buf_addc(&r->line, '\n');
	return buf_check(&r->line, "an event", e);
}

/* json and text: of all events the result alone, whole. */
static int write_result_alone(struct recorder *r, const struct event *ev, struct error *e)
{
	if (ev->kind != EVENT_RESULT)
		return 0;
	if (r->cfg.format == OUTPUT_TEXT)
		return write_answer(r, &ev->u.result, e);
	int rc = end_line(r, e);
	if (rc == 0) {
		rc = out_write(r->out, r->line.data, r->line.len, e);
		buf_cut(&r->line, r->line.len - 1);
	}
	return rc;
}

static int emit(struct recorder *r, const struct event *ev, struct error *e)
{
	struct error later = ERROR_INIT;

	make_line(r, ev, false);
	if (buf_check(&r->line, "an event", e))
		return -1;
	if (ev->kind == EVENT_RESULT && ev->u.result.workspace)
		name_kept(r, ev->u.result.workspace);
	int rc = r->cfg.format == OUTPUT_STREAM_JSON ? 0 : write_result_alone(r, ev, e);
	if (!keeps_lines(r))
		return rc;
	if (fit_line(r, ev))
		return error_nomem(e);
	if (ev->kind == EVENT_USER && ev->u.user.file)
		name_file(r, ev->u.user.file);
	if (ev->kind == EVENT_HOOK_RESPONSE && ev->u.hook.file)
		name_file(r, ev->u.hook.file);
	if (end_line(r, rc ? &later : e) || write_line(r, rc ? &later : e))
		rc = -1;
	return rc;
}

/* Of the lines in front of the result's. */
static void tell_digest(struct recorder *r, struct event_result *v)
{
	if (!r->bytes)
		return;
	digest_hex(&r->digest, r->hex);
	v->events_sha256 = r->hex;
	v->events_bytes = r->bytes;
}

int recorder_emit(struct recorder *r, struct event *ev, struct error *e)
{
	struct error own = ERROR_INIT;

	if (ev->kind == EVENT_STREAM && !r->cfg.partial)
		return 0;
	if (!ev->has_uuid)
		new_uuid(r, ev->uuid);
	ev->ms = clock_now(r) - r->cfg.started;
	if (ev->ms < 0)
		ev->ms = 0;
	if (!keeps_lines(r) && ev->kind != EVENT_RESULT)
		return 0;
	if (ev->kind == EVENT_RESULT) {
		tell_digest(r, &ev->u.result);
		free(r->reserve);
		r->reserve = NULL;
	}
	int rc = emit(r, ev, e ? e : &own);
	if (r->line.cap > KEEP_CAPACITY)
		buf_release(&r->line);
	return rc;
}

size_t recorder_backlog(const struct recorder *r)
{
	size_t out = out_backlog(r->out);
	size_t events = r->events ? out_backlog(r->events) : 0;

	return out > events ? out : events;
}

int recorder_sync(struct recorder *r, struct error *e)
{
	struct error own = ERROR_INIT;

	if (!r->events || r->events_told || out_sync(r->events, e ? e : &own) == 0)
		return 0;
	r->events_told = true;
	return -1;
}

int recorder_drain(struct recorder *r, const int64_t *deadline, struct error *e)
{
	struct error own = ERROR_INIT;
	int rc = out_drain(r->out, deadline, e ? e : &own);

	if (r->events && out_drain(r->events, deadline, rc ? &own : e))
		rc = -1;
	return rc;
}

const char *recorder_what_is_gone(const struct recorder *r)
{
	return out_gone(r->out) ? "stdout" : r->events && out_gone(r->events) ? "the events file" : NULL;
}

bool recorder_gone(const struct recorder *r)
{
	return recorder_what_is_gone(r) != NULL;
}

bool recorder_named_file(const struct recorder *r)
{
	return r->named_file;
}

static int repeat(struct recorder *r, const char *line, const char *answer, size_t n, struct error *e)
{
	struct buf text = BUF_INIT(BUF_HUGE);
	size_t len = strlen(line);
	int rc = 0;

	buf_add(&r->line, line, len && line[len - 1] == '}' ? len - 1 : len);
	buf_adds(&r->line, ",\"resumed_result\":true}");
	buf_add(&text, answer, n);
	buf_addc(&text, '\n');
	if (end_line(r, e) || buf_check(&text, "the answer", e))
		rc = -1;
	else if (r->cfg.format == OUTPUT_TEXT)
		rc = out_write(r->out, text.data, text.len, e);
	else if (r->cfg.format == OUTPUT_JSON)
		rc = out_write(r->out, r->line.data, r->line.len, e);
	buf_release(&text);
	return rc || write_line(r, e) ? -1 : 0;
}

int recorder_repeat(const struct recorder_config *cfg, const char *line, const char *answer, size_t n,
                    const int64_t *deadline, struct error *e)
{
	struct recorder *r = recorder_open(cfg, e);
	int rc = r ? repeat(r, line, answer, n, e) : -1;

	if (rc == 0)
		rc = recorder_drain(r, deadline, e);
	recorder_free(r);
	return rc;
}

static struct recorder *open_for_failure(struct recorder_config cfg)
{
	struct recorder *r = recorder_open(&cfg, NULL);

	if (!r && cfg.events_path) { /* the events file may be what failed */
		cfg.events_path = NULL;
		r = recorder_open(&cfg, NULL);
	}
	return r;
}

int recorder_startup_failure(const struct recorder_config *cfg, enum terminal_reason reason, int exit_code,
                             const char *startup, const char *const *errors, size_t n, const int64_t *deadline)
{
	struct recorder *r = open_for_failure(*cfg);
	struct usage none = USAGE_UNKNOWN;
	struct event ev = { .kind = EVENT_RESULT };

	if (!r)
		return -1;
	ev.u.result = (struct event_result){
		.reason = reason,
		.exit_code = exit_code,
		.errors = errors,
		.nerrors = n,
		.usage = none,
		.retry_after_ms = -1,
		.startup_failure_reason = startup,
	};
	int rc = recorder_emit(r, &ev, NULL);
	if (recorder_drain(r, deadline, NULL))
		rc = -1;
	recorder_free(r);
	return rc;
}
