/* A run that goes on from a record: what is taken from it, what is said of it, and when there is nothing left to do. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "message/id_set.h"
#include "run/world.h"

static int64_t cost_of(void *ctx, const char *model, const struct usage *u)
{
	return world_cost(ctx, model, u);
}

int world_read_record(struct world *w, struct error *e)
{
	const struct resume_source src = { w->job->resume_path, cost_of, w };
	int rc = src.path ? resume_read(&src, &w->record, e) : 0;

	if (rc < 0)
		return error_prefix(e, "resume");
	if (rc == 0) {
		if (src.path)
			log_verbose("resume: nothing was begun in '%s': a fresh run", src.path);
		return 0;
	}
	w->resumes = true;
	memcpy(w->session_id, w->record.session_id, sizeof w->session_id);
	return 0;
}

/* Words that came on stdin beside the task cannot be asked for again. */
static bool same_words(const struct block *was, const char *now, size_t n, bool stdin_left)
{
	static const char beside[] = "\n\n<stdin>\n";

	if (was->text_len < n || memcmp(was->text, now, n) != 0)
		return false;
	return was->text_len == n || (stdin_left && !strncmp(was->text + n, beside, sizeof beside - 1));
}

/* Is what the job asks for what the record was about last? The record holds no secrets. */
static bool same_prompt(const struct world *w)
{
	const struct message *was = w->record.prompt;
	const struct block *now = w->task->blocks[0];
	struct buf text = BUF_INIT(BUF_HUGE);
	bool same = false;

	if (!was || was->n != 1 || was->blocks[0]->kind != BLOCK_TEXT)
		return false;
	if (buf_add(&text, now->text, now->text_len) == 0) {
		secrets_mask(w->secrets, &text);
		same = same_words(was->blocks[0], buf_str(&text), text.len, w->job->stdin_mode != STDIN_CONTEXT);
	}
	buf_release(&text);
	return same;
}

void world_judge_record(struct world *w)
{
	const struct resumed *r = &w->record;

	if (w->resumes && (!w->task || same_prompt(w))) {
		message_unref(w->task);
		w->task = NULL;
		w->repeats = !w->job->stream_input && r->ended && r->reason == TERM_COMPLETED;
		w->goes_on = !w->repeats && !(w->job->stream_input && r->ended);
	}
}

bool world_may_be_done(const struct world *w)
{
	static const char *const not_done[] = { "max_tokens", "model_context_window_exceeded", "pause_turn" };
	const struct resumed_answer *a = &w->record.answer;
	bool done = a->stop_reason && a->nblocks && !a->replied;

	for (size_t i = 0; done && i < sizeof not_done / sizeof *not_done; i++)
		done = strcmp(a->stop_reason, not_done[i]) != 0;
	return done;
}

/* ---- the run directory ---- */

/* Does its name say that it was made for the session? Tools may read it, and a record can be written by anybody. */
static bool is_named_after(const char *dir, const char *session)
{
	const char *name = strrchr(dir, '/') + 1;

	return !strcmp(name, session) || (!strncmp(name, "quern-", 6) && !strcmp(name + 6, session));
}

/* Where events of the record name files, if it is a place of ours. One that the job had named it names again. */
const char *world_recorded_dir(const struct world *w)
{
	const char *dir = w->resumes ? w->record.run_dir : NULL;
	struct stat st;

	if (!dir || dir[0] != '/' || lstat(dir, &st) || !is_named_after(dir, w->session_id))
		return NULL;
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077))
		return dir;
	log_warn("the run directory '%s' of the record is not this user's alone: another one is taken", dir);
	return NULL;
}

/* Is it a file of that directory, or of the one that the job names? The record may name any. */
bool world_is_recorded_file(const struct world *w, const char *path)
{
	const char *dir = world_recorded_dir(w), *slash = strrchr(path, '/');
	char *named = w->job->run_dir ? realpath(w->job->run_dir, NULL) : NULL;
	size_t n = slash ? (size_t)(slash - path) : 0;
	bool is = (dir && strlen(dir) == n && !memcmp(path, dir, n)) ||
	          (named && strlen(named) == n && !memcmp(path, named, n));

	free(named);
	return is && n;
}

/* ---- the conversation ---- */

static bool is_file(const char *path, const struct stat *st)
{
	struct stat other;

	return path && stat(path, &other) == 0 && io_same_file(&other, st);
}

bool world_appends_to_stdout(const struct world *w)
{
	struct stat out;

	return fstat(STDOUT_FILENO, &out) == 0 && S_ISREG(out.st_mode) && is_file(w->job->resume_path, &out);
}

/* Do the events of this run stand behind those of the record, in each file that keeps them? Who reads another one has
 * not read what was before. */
static bool goes_behind(const struct world *w)
{
	const struct job *job = w->job;
	struct stat st;

	if (stat(job->resume_path, &st))
		return false;
	if ((job->events_path && !is_file(job->events_path, &st)) ||
	    (job->record_path && !is_file(job->record_path, &st)))
		return false;
	return job->events_path || job->record_path || world_appends_to_stdout(w);
}

/* The calls whose results stand in it as they came. */
static int add_shown(const struct message *m, struct id_set **ids)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < m->n; i++)
		if (m->blocks[i]->kind == BLOCK_TOOL_RESULT && !m->blocks[i]->cleared)
			rc = id_set_add(ids, m->blocks[i]->id);
	return rc < 0 ? -1 : 0;
}

/* What tools knew, but for what does not stand in the conversation any more. */
static int restore_tools(struct world *w, struct error *e)
{
	const struct resumed *r = &w->record;
	size_t newest = r->batch.open ? r->batch.first_state : r->ntool_states;
	struct id_set *shown = NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < w->history.n; i++)
		rc = add_shown(w->history.v[i], &shown);
	for (size_t i = 0; rc == 0 && i < r->ntool_states; i++)
		rc = toolbox_restore(w->toolbox, r->tool_states[i].json, i >= newest, e) ? -2 : 0;
	if (rc == 0)
		toolbox_restored(w->toolbox, shown);
	id_set_free(shown);
	return rc == -1 ? error_nomem(e) : rc ? -1 : 0;
}

int world_take_record(struct world *w, struct error *e)
{
	if (!w->resumes)
		return 0;
	w->history = w->record.history;
	w->record.history = (struct history)HISTORY_INIT;
	w->appends = goes_behind(w);
	if (w->appends && history_copy(&w->talk.history, &w->history, 0, w->history.n))
		return error_nomem(e);
	attachments_release(&w->attachments); /* they were told */
	attachments_init(&w->attachments, &w->place);
	if (world_open_memory(w, e))
		return -1;
	return world_recall_memory(w) ? error_nomem(e) : restore_tools(w, e);
}

/* ---- what is said of it ---- */

static const char *differs(const char *name, const char *was, const char *is)
{
	return *was && is && strcmp(was, is) != 0 ? name : NULL;
}

bool world_record_moved(const struct world *w, const struct event_audit *is)
{
	const struct run_digests *was = &w->record.digests;

	return differs("system", was->system, is->system) || differs("tools", was->tools, is->tools);
}

/* Another job, another directory: nothing that keeps the run from going on, but whoever reads it should know. */
static void list_changes(const struct world *w, const struct event_init *init, const char *changed[5])
{
	const struct resumed *r = &w->record;
	const char *const all[] = {
		differs("job", r->digests.job, init->audit.job),
		differs("system", r->digests.system, init->audit.system),
		differs("tools", r->digests.tools, init->audit.tools),
		r->cwd ? differs("cwd", r->cwd, init->cwd) : NULL,
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i])
			changed[n++] = all[i];
	changed[n] = NULL;
}

static int tell_event(struct world *w, const struct event_init *init, struct error *e)
{
	const struct resumed *r = &w->record;
	const char *changed[5], **ids = arena_alloc(&w->arena, (r->ninterrupted + 1) * sizeof *ids);
	struct event ev = { .kind = EVENT_RESUME };

	if (!ids)
		return error_nomem(e);
	for (size_t i = 0; i < r->ninterrupted; i++)
		ids[i] = r->interrupted[i].id;
	ids[r->ninterrupted] = NULL;
	list_changes(w, init, changed);
	for (const char **what = changed; *what; what++)
		log_warn("resume: not as it was when '%s' was written: %s", w->job->resume_path, *what);
	if (r->unreadable)
		log_warn("resume: lines of '%s' that are no events, and what they told is not known: %zu",
		         w->job->resume_path, r->unreadable);
	ev.u.resume = (struct event_resume){
		.file = w->job->resume_path,
		.from_reason = r->ended ? terminal_row(r->reason)->name : NULL,
		.interrupted = ids,
		.changed = changed,
		.lines = r->lines,
		.torn = r->torn,
	};
	if (!w->appends) {
		ev.u.resume.totals = &r->totals;
		ev.u.resume.prompt = r->prompt;
		ev.u.resume.states = r->tool_states;
		ev.u.resume.nstates = r->ntool_states;
		ev.u.resume.summaries = (const char *const *)r->summaries;
	}
	return recorder_emit(w->recorder, &ev, e);
}

static bool is_interrupted(const struct resumed *r, const char *id)
{
	for (size_t i = 0; i < r->ninterrupted; i++)
		if (!strcmp(r->interrupted[i].id, id))
			return true;
	return false;
}

/* The results that we made stand in the record, too: whoever reads it next finds each call answered. */
static int tell_results(struct world *w, struct error *e)
{
	const struct history *h = &w->history;
	int rc = 0;

	/* a new message of the user's may stand behind them, or join theirs */
	for (size_t i = h->n > 2 ? h->n - 2 : 0; rc == 0 && w->record.ninterrupted && i < h->n; i++)
		for (size_t k = 0; rc == 0 && k < h->v[i]->n; k++) {
			const struct block *b = h->v[i]->blocks[k];
			struct event ev = { .kind = EVENT_USER };
			if (b->kind != BLOCK_TOOL_RESULT || !is_interrupted(&w->record, b->id))
				continue;
			ev.u.user = (struct event_user){ .block = b };
			rc = recorder_emit(w->recorder, &ev, e);
		}
	return rc;
}

int world_tell_resumed(struct world *w, const struct event_init *init, struct error *e)
{
	if (!w->resumes || w->resume_told)
		return 0;
	w->resume_told = true;
	return tell_event(w, init, e) || tell_results(w, e) ? -1 : 0;
}

/* ---- what all runs came to ---- */

int world_sum_up(struct world *w, struct event_result *res)
{
	struct session_totals *t = &w->totals;

	w->turns += res->num_turns;
	w->duration_ms += res->duration_ms;
	session_totals_release(t);
	*t = (struct session_totals){ .runs = 1,
		                      .turns = w->turns,
		                      .requests = w->requests,
		                      .tool_calls = w->tool_calls,
		                      .duration_ms = w->duration_ms,
		                      .accepted = res->usage,
		                      .cost_lower_bound = res->cost_lower_bound };
	for (size_t i = 0; i < res->nmodels; i++)
		if (session_totals_pay(t, res->models[i].model, &res->models[i].usage, res->models[i].cost_nano_usd))
			return -1;
	if (session_totals_add(t, &w->record.totals))
		return -1;
	res->totals = t;
	return 0;
}

/* ---- the old result ---- */

static int read_answer(const struct world *w, const char *path, struct buf *out, struct error *e)
{
	int at = world_is_recorded_file(w, path) ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	struct stat st;
	int rc = -1;

	if (at >= 0 && !fstat(at, &st) && S_ISREG(st.st_mode))
		rc = io_read_fd(at, out, e);
	else
		error_set(e, ERR_INPUT,
		          "the answer is in '%s', which is not there or no file of the run; its beginning is in the "
		          "result line of '%s'",
		          path, w->job->resume_path);
	if (at >= 0)
		close(at);
	return rc;
}

/* The answer's text: beside the line, if that had no room for it. */
static int old_answer(const struct world *w, const struct json *line, struct buf *out, struct error *e)
{
	char *path = json_strdup(line, json_get(line, json_root(line), "result_file"), NULL);
	int rc;

	if (path)
		rc = read_answer(w, path, out, e);
	else
		rc = json_str(line, json_get(line, json_root(line), "result"), out) ? error_nomem(e) : 0;
	free(path);
	return rc;
}

int world_repeat_result(struct world *w, struct error *e)
{
	const char *line = w->record.result_line;
	struct buf answer = BUF_INIT(BUF_HUGE);
	struct json doc = JSON_INIT;
	struct recorder_config cfg;

	world_fill_recorder(w, &cfg);
	int rc = json_parse(&doc, line, strlen(line), JSON_BORROW, e);
	if (rc == 0 && cfg.format == OUTPUT_TEXT)
		rc = old_answer(w, &doc, &answer, e);
	if (rc == 0)
		rc = recorder_repeat(&cfg, line, buf_str(&answer), answer.len, world_drain_deadline(w), e);
	json_release(&doc);
	buf_release(&answer);
	return rc;
}

/* ---- --check ---- */

int world_check_record(struct world *w, struct buf *notes, struct error *e)
{
	const struct resumed *r = &w->record;

	if (!w->job->resume_path)
		return 0;
	if (world_read_record(w, e))
		return -1;
	if (!w->resumes) {
		buf_addf(notes, "# resume: nothing was begun in '%s': a fresh run\n", w->job->resume_path);
		return 0;
	}
	buf_addf(notes, "# resume: session %s, %zu messages; %s%s", r->session_id, r->history.n,
	         r->ended ? "it ended with " : "it did not come to an end",
	         r->ended ? terminal_row(r->reason)->name : "");
	if (r->ninterrupted)
		buf_addf(notes, "; calls without a result: %zu", r->ninterrupted);
	buf_adds(notes, r->torn ? "; its last line is torn\n" : "\n");
	return 0;
}
