/* A bundle is played again: what stands in it, the wires that play it, and a clock that does not wait. */
#include "run/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "hook/hook.h"
#include "model/player.h"
#include "record/bundle.h"
#include "run/answers.h"
#include "run/cutoff.h"
#include "run/run.h"

#define MOST_BYTES ((int64_t)4 << 30) /* of a bundle, unpacked */
#define JOB_BYTES  ((size_t)16 << 20)
#define MARK       ",\"cache_control\":{\"type\":\"ephemeral\"}}"

struct replay {
	struct replay_tools *tools; /* NULL: they run */
	struct recorded *recorded;
	struct buf entry; /* that is being read */
	bool cut, described, began;
	size_t runs;              /* in the bundle */
	char *environment, *note; /* owned, and so is the next; NULL = not told */
	char *key_source;
	const char **attached; /* in the world's arena, NULL terminated */
	size_t told, words;    /* blocks of the first message: in front of the user's words, and up to their end; 0 =
	                          not told */
	size_t fronted;        /* blocks that hooks put in front of the words, behind what was told */
	size_t behind;         /* blocks that hooks put behind it, in front of the first answer */
	bool answered;
	bool input;   /* lines of stdin are in it */
	bool went_on; /* from another record */
	bool taken;   /* the first message stands in the history */
};

bool world_is_replay(const char *path)
{
	char head[16];
	FILE *f = fopen(path, "rbe");
	size_t n = f ? fread(head, 1, sizeof head, f) : 0;

	if (f)
		fclose(f);
	return bundle_is(head, n);
}

/* ---- entries ---- */

/* 1: it is there, and nothing behind it is looked at: the first run is replayed. */
static int on_job_piece(void *ctx, const char *name, const char *p, size_t n, bool last, struct error *e)
{
	struct buf *text = ctx;

	if (!strcmp(name, "quern.json"))
		return 0; /* the first entry of every bundle */
	if (strcmp(name, "job.yaml") != 0)
		return error_set(e, ERR_INPUT, "this is an archive, but not the record of a run: it begins with '%s'",
		                 name);
	buf_add(text, p, n);
	if (!last)
		return 0;
	return buf_check(text, "the job in the bundle", e) ? -1 : 1;
}

int run_recorded_job(const char *path, struct buf *text, struct error *e)
{
	bool cut = false;

	if (!world_is_replay(path))
		return 0;
	text->max = JOB_BYTES;
	int rc = bundle_read(path, MOST_BYTES, on_job_piece, text, &cut, e);
	return rc ? rc : error_set(e, ERR_INPUT, "the bundle '%s' holds no job: it was cut off before", path);
}

static char *member(const struct json *doc, const char *key)
{
	return json_strdup(doc, json_get(doc, json_root(doc), key), NULL);
}

/* quern.json: the first run's; the session is the same for all. */
static int take_description(struct world *w, const struct buf *text, struct error *e)
{
	struct replay *r = w->replay;
	struct json doc = JSON_INIT;

	if (r->runs++)
		return 0;
	if (json_parse(&doc, buf_str(text), text->len, JSON_BORROW, e))
		return error_prefix(e, "quern.json");
	int64_t version = json_int_or(&doc, json_get(&doc, json_root(&doc), "version"), 0);
	char *id = member(&doc, "session_id");
	bool named = id && strlen(id) == UUID_LEN && strspn(id, "0123456789abcdef-") == UUID_LEN;
	r->described = named && version == BUNDLE_VERSION;
	if (r->described) {
		memcpy(w->session_id, id, sizeof w->session_id);
		r->environment = member(&doc, "environment");
		r->note = member(&doc, "command_note");
		(void)json_bool(&doc, json_get(&doc, json_root(&doc), "input"), &r->input);
	}
	free(id);
	json_release(&doc);
	if (r->described)
		return 0;
	if (version == BUNDLE_VERSION) /* directories are named by it */
		return error_set(e, ERR_INPUT, "quern.json: 'session_id' is no UUID");
	return error_set(e, ERR_INPUT, "quern.json: version %lld of a bundle is not known", (long long)version);
}

static int take_attached(struct world *w, const struct json *doc, int list, struct error *e)
{
	size_t n = 0;
	const char **v = arena_alloc(&w->arena, ((size_t)json_size(doc, list) + 1) * sizeof *v);

	for (int t = json_first(doc, list); v && t >= 0; t = json_next(doc, list, t)) {
		char *text = json_strdup(doc, t, NULL);
		v[n] = text ? arena_strdup(&w->arena, text) : "";
		free(text);
		if (!v[n++])
			return error_nomem(e);
	}
	w->replay->attached = n ? v : NULL;
	return v ? 0 : error_nomem(e);
}

/* The first message, up to the end of what the user said. */
static void take_prompt(struct replay *r, const struct json *doc, int range)
{
	size_t from, to;

	if (json_pair(doc, range, &from, &to) && to > from && !r->words) {
		r->fronted = r->behind < from ? r->behind : from;
		r->told = from - r->fronted;
		r->words = to;
	}
}

static int take_line(struct world *w, const char *p, size_t n, struct error *e)
{
	struct replay *r = w->replay;
	struct json doc = JSON_INIT;
	int rc = 0;

	if (json_parse(&doc, p, n, JSON_BORROW, NULL))
		return 0;
	int root = json_root(&doc), type = json_get(&doc, root, "type"), subtype = json_get(&doc, root, "subtype");
	if (json_eq(&doc, subtype, "init") && !r->began) {
		r->began = true;
		r->key_source = member(&doc, "apiKeySource");
		rc = take_attached(w, &doc, json_get(&doc, root, "quern_attached"), e);
	} else if (json_eq(&doc, subtype, "quern_resume")) {
		r->went_on = true;
	} else if (json_eq(&doc, subtype, "quern_history")) {
		take_prompt(r, &doc, json_get(&doc, root, "prompt"));
	} else if (json_eq(&doc, type, "assistant")) {
		r->answered = true;
	} else if (json_eq(&doc, type, "user") && !r->answered) {
		r->behind++;
	}
	if (!rc && r->tools)
		rc = replay_tools_line(r->tools, &doc, e);
	json_release(&doc);
	return rc;
}

static int take_events(struct world *w, const struct buf *text, struct error *e)
{
	const struct replay *r = w->replay;
	const char *p = buf_str(text), *end = p + text->len;

	while (p < end && (r->tools || !r->began || !(r->words || r->answered))) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((nl ? nl : end) - p);
		if (take_line(w, p, n, e))
			return -1;
		p += n + 1;
	}
	return 0;
}

static int take_entry(struct world *w, const char *name, const struct buf *text, struct error *e)
{
	if (!strcmp(name, "quern.json"))
		return take_description(w, text, e);
	if (!strncmp(name, "events/", 7))
		return w->replay->runs > 1 ? 0 : take_events(w, text, e);
	if (!strncmp(name, ANSWERS_DIRECTORY, strlen(ANSWERS_DIRECTORY)))
		return w->replay->tools ? answers_read(w, buf_str(text), text->len, e) : 0;
	if (!strncmp(name, CUTOFF_DIRECTORY, strlen(CUTOFF_DIRECTORY)) ||
	    !strncmp(name, INPUT_DIRECTORY, strlen(INPUT_DIRECTORY)))
		return cutoff_read(w, 1, buf_str(text), text->len, e) ? error_prefix(e, "%s", name) : 0;
	return recorded_add(w->replay->recorded, name, buf_str(text), text->len, e);
}

static bool is_wanted(const char *name)
{
	static const char *const directories[] = { "events/", "exchanges/", CUTOFF_DIRECTORY, INPUT_DIRECTORY,
		                                   ANSWERS_DIRECTORY };

	for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
		if (!strncmp(name, directories[i], strlen(directories[i])))
			return true;
	return !strcmp(name, "quern.json");
}

static int on_piece(void *ctx, const char *name, const char *p, size_t n, bool last, struct error *e)
{
	struct world *w = ctx;
	struct buf *entry = &w->replay->entry;

	if (!is_wanted(name))
		return 0;
	if (!p && !last)
		buf_clear(entry);
	buf_add(entry, p, n);
	if (!last)
		return 0;
	return buf_check(entry, name, e) || take_entry(w, name, entry, e) ? -1 : 0;
}

int world_read_replay(struct world *w, struct error *e)
{
	const char *path = w->job->replay_path;

	if (!w->job->replay_bundle)
		return 0;
	struct replay *r = w->replay = calloc(1, sizeof *r);
	if (!r)
		return error_nomem(e);
	buf_init(&r->entry, BUF_HUGE);
	r->recorded = recorded_new();
	r->tools = w->job->replay_tools ? replay_tools_new() : NULL;
	if (!r->recorded || (w->job->replay_tools && !r->tools))
		return error_nomem(e);
	if (cutoff_open(w, e))
		return -1;
	if (bundle_read(path, MOST_BYTES, on_piece, w, &r->cut, e))
		return error_prefix(e, "%s", path);
	cutoff_trim(w, r->recorded, 1);
	buf_release(&r->entry);
	if (!r->described)
		return error_set(e, ERR_INPUT, "the bundle '%s' does not say what it is of", path);
	if (r->went_on)
		return error_set(e, ERR_INPUT,
		                 "%s: the run in it went on from another record, and cannot be replayed without its "
		                 "beginning",
		                 path);
	if (r->runs > 1)
		log_warn("%s holds %zu runs, each of which goes on from the one before: the first is replayed", path,
		         r->runs);
	if (r->cut)
		log_warn("%s: the bundle is cut off; it is replayed as far as it goes", path);
	return 0;
}

const char *world_replayed_environment(const struct world *w)
{
	return w->replay ? w->replay->environment : NULL;
}

const char *world_replayed_note(const struct world *w)
{
	return w->replay ? w->replay->note : NULL;
}

void world_free_replay(struct world *w)
{
	struct replay *r = w->replay;

	if (!r)
		return;
	recorded_free(r->recorded);
	replay_tools_free(r->tools);
	buf_release(&r->entry);
	free(r->environment);
	free(r->note);
	free(r->key_source);
	free(r);
	w->replay = NULL;
}

/* ---- what was told ---- */

/* A block as it was before the request gave it a mark. */
static struct block *block_of(const struct json *doc, int tok, struct error *e)
{
	size_t n = 0, mark = strlen(MARK);
	const char *raw = json_raw(doc, tok, &n);
	struct buf text = BUF_INIT(BUF_HUGE);
	struct block *b = NULL;

	if (n > mark && !memcmp(raw + n - mark, MARK, mark)) {
		buf_add(&text, raw, n - mark);
		buf_addc(&text, '}');
	} else {
		buf_add(&text, raw, n);
	}
	if (!buf_check(&text, "a block", e))
		b = block_from_json(buf_str(&text), text.len, e);
	buf_release(&text);
	return b;
}

/* The first blocks of messages[0] of the first request: `most`, or all but what hooks put behind the user's words. */
static struct message *first_message(const struct replay *r, const char *body, size_t n, size_t most, struct error *e)
{
	struct json doc = JSON_INIT;
	struct message *m = NULL;

	if (json_parse(&doc, body, n, JSON_BORROW, e)) {
		error_prefix(e, "the first request of the bundle");
		return NULL;
	}
	int first = json_first(&doc, json_get(&doc, json_root(&doc), "messages"));
	int content = json_get(&doc, first, "content");
	m = message_new(ROLE_USER);
	size_t n_all = (size_t)json_size(&doc, content);
	if (!most)
		most = n_all > r->behind ? n_all - r->behind : n_all;
	bool ok = m && n_all > 0;
	size_t at = 0;
	for (int t = json_first(&doc, content); ok && t >= 0 && at < most; t = json_next(&doc, content, t)) {
		size_t i = at++;
		if (r->words && i >= r->told && i < r->told + r->fronted)
			continue; /* its hook says it again */
		struct block *b = block_of(&doc, t, e);
		ok = b && !message_add(m, b);
	}
	json_release(&doc);
	if (ok && m->n)
		return m;
	message_unref(m);
	error_set(e, ERR_INPUT, "the first request of the bundle holds no message of the user's");
	return NULL;
}

/* Directories that are touched may have more of it. */
static int recall(struct world *w, struct error *e)
{
	if (w->replay->tools)
		return 0;
	if (world_open_memory(w, e))
		return -1;
	return world_recall_memory(w) ? error_nomem(e) : 0;
}

int world_replay_task(struct world *w, struct error *e)
{
	struct replay *r = w->replay;
	size_t n = 0;
	const char *body = recorded_first(r->recorded, MODEL_MAIN, &n);
	struct message *m = first_message(r, body, n, r->words, e);
	if (!m)
		return -1;
	r->taken = true;
	w->told_first = true;
	if (history_add(&w->history, m))
		return error_nomem(e);
	return recall(w, e);
}

bool world_replays_input(const struct world *w)
{
	return w->replay && w->replay->input && w->job->stream_input;
}

int world_replay_told(struct world *w, struct error *e)
{
	struct replay *r = w->replay;
	size_t n = 0;
	const char *body = recorded_first(r->recorded, MODEL_MAIN, &n);
	struct message *m = body && r->told ? first_message(r, body, n, r->told, e) : NULL;

	if (body && r->told && !m)
		return -1;
	r->taken = w->told_first = true;
	if (m && history_add(&w->history, m))
		return error_nomem(e);
	return recall(w, e);
}

bool world_replays_task(const struct world *w)
{
	size_t n = 0;

	return w->replay && !w->job->stream_input && !w->job->prompt_from_option &&
	       recorded_first(w->replay->recorded, MODEL_MAIN, &n);
}

void world_fill_replayed(const struct world *w, struct loop_config *c)
{
	const struct replay *r = w->replay;

	if (!r)
		return;
	c->init.api_key_source = r->key_source;
	if (!r->taken)
		return;
	c->init.attached = r->attached;
	if (!w->job->stream_input)
		c->told_first = r->words ? r->told : w->history.v[0]->n - 1;
}

struct replay_tools *world_replay_tools(const struct world *w)
{
	return w->replay ? w->replay->tools : NULL;
}

/* ---- the wires ---- */

int world_open_players(struct world *w, struct error *e)
{
	const struct player_config cfg = { .recorded = w->replay->recorded,
		                           .partial = w->model_config.partial,
		                           .strict = w->job->replay_strict,
		                           .now = world_now,
		                           .notice = world_notice,
		                           .ctx = w,
		                           .tap = w->model_config.tap };

	w->model = player_open(&cfg, world_on_model, w, e);
	if (w->model && w->job->summary_model)
		w->background = player_open(&cfg, world_on_background, w, e);
	return w->model && (w->background || !w->job->summary_model) ? 0 : -1;
}

void world_tell_unplayed(struct world *w)
{
	size_t n = w->replay ? recorded_unused(w->replay->recorded) : 0;
	struct buf text = BUF_INIT(200);

	if (!n)
		return;
	buf_addf(&text, "the record holds %zu exchange%s that the replay did not ask for", n, n > 1 ? "s" : "");
	world_notice(w, "replay_unused", buf_str(&text));
	buf_release(&text);
}

void world_tell_left_alone(struct world *w)
{
	const struct job *job = w->job;

	if (job->replay_tools &&
	    (job->archive || job->workspace_save || job->workspace_patch || job->workspace_transaction))
		world_notice(w, "replay_workspace",
		             "where tools are not run the workspace is left alone: nothing was unpacked, copied, saved "
		             "or committed");
}

/* ---- the clock ---- */

static void advance(struct world *w, int64_t to)
{
	int64_t now = world_now(w);

	if (to > now)
		w->skew += to - now;
}

void world_replay_until(struct world *w, int64_t at)
{
	advance(w, at);
}

bool world_replay_open(const struct world *w)
{
	int64_t at;

	return player_next(w->model, &at) != PLAYER_NOTHING;
}

int64_t world_replay_given(const struct world *w)
{
	return (int64_t)player_given(w->model);
}

bool world_replay_is_played(const struct world *w)
{
	int64_t at;

	return player_next(w->model, &at) == PLAYER_END;
}

/* What takes its own time: it is waited for in ours. */
static bool something_runs(const struct world *w)
{
	return toolbox_busy(w->toolbox) || hooks_busy(w->hooks);
}

struct next {
	struct model *model;
	enum player_piece piece;
	int64_t at;
};

/* What comes next of all that is played. That the background's record ends is nothing to wait for. */
static struct next next_piece(const struct world *w)
{
	struct model *const models[] = { w->model, w->background };
	struct next best = { NULL, PLAYER_NOTHING, CLOCK_NEVER };

	for (size_t i = 0; i < 2; i++) {
		struct next n = { models[i], PLAYER_NOTHING, CLOCK_NEVER };
		if (models[i])
			n.piece = player_next(models[i], &n.at);
		if (n.piece == PLAYER_NOTHING || (n.piece == PLAYER_END && i == 1))
			continue;
		if (n.at < best.at)
			best = n;
	}
	return best;
}

static int wait_for_real(struct world *w, int64_t until, struct error *e)
{
	return reactor_wait(w->reactor, until == CLOCK_NEVER ? until : until - w->skew, e) < 0 ? -1 : 0;
}

int world_replay_wait(struct world *w, int64_t deadline, struct error *e)
{
	if (w->paused)
		return wait_for_real(w, deadline, e);
	if (reactor_wait(w->reactor, 0, e) < 0)
		return -1;
	if (world_has_news(w))
		return 0;
	struct next n = next_piece(w);
	bool gives = n.piece == PLAYER_PIECE || n.piece == PLAYER_APART;
	if (world_now(w) >= deadline) { /* a look */
		if (n.piece == PLAYER_PIECE)
			player_give(n.model);
		return 0;
	}
	if (something_runs(w) && (!gives || n.at > world_now(w)))
		return wait_for_real(w, gives && n.at < deadline ? n.at : deadline, e);
	if (gives) { /* it came in its time, so no deadline was met before it */
		advance(w, n.at < deadline ? n.at : deadline - 1);
		player_give(n.model);
	} else if (n.piece == PLAYER_END && n.at < deadline) {
		if (cutoff_force(w))
			return 0;
		advance(w, n.at);
		player_give(n.model);
	} else if (n.piece == PLAYER_NOTHING && world_force_held(w)) {
		return 0;
	} else if (deadline != CLOCK_NEVER) {
		advance(w, deadline);
	} else if (!cutoff_force(w)) {
		return wait_for_real(w, deadline, e);
	}
	return 0;
}
