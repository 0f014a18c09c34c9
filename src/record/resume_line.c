/* What each kind of line says of the run. */
#include <stdlib.h>
#include <string.h>

#include "record/resume_private.h"

#define MANY 1000 /* overloads in a row: another model is asked before that */

static int replace(char **s, char *text)
{
	free(*s);
	*s = text;
	return text ? 0 : -1;
}

/* A member that may be missing. */
static int take_text(char **s, const struct json *doc, int tok)
{
	return json_type(doc, tok) == JSON_STRING ? replace(s, json_strdup(doc, tok, NULL)) : 0;
}

static void take_hex(char out[DIGEST_HEX + 1], const struct json *doc, int tok)
{
	char *text = json_strdup(doc, tok, NULL);

	out[0] = '\0';
	if (text && strlen(text) == DIGEST_HEX)
		memcpy(out, text, DIGEST_HEX + 1);
	free(text);
}

static bool take_uuid(char out[UUID_LEN + 1], const struct json *doc, int tok)
{
	size_t n;
	const char *raw = json_raw(doc, tok, &n);

	memset(out, '0', UUID_LEN);
	out[UUID_LEN] = '\0';
	if (json_type(doc, tok) != JSON_STRING || n != UUID_LEN + 2)
		return false;
	memcpy(out, raw + 1, UUID_LEN);
	return strspn(out, "0123456789abcdefABCDEF-") == UUID_LEN;
}

static int member(const struct json *doc, const char *key)
{
	return json_get(doc, json_root(doc), key);
}

static bool is_true(const struct json *doc, int tok)
{
	bool is = false;

	return json_bool(doc, tok, &is) && is;
}

static int nomem_if(int failed, struct error *e)
{
	return failed ? error_nomem(e) : 0;
}

/* ---- where a run stands ---- */

static int take_init(struct reader *rd, const struct json *doc, struct error *e)
{
	struct resumed *r = rd->r;
	char session[UUID_LEN + 1];
	int audit = member(doc, "quern_audit");

	if (json_absent(doc, member(doc, "quern_version")) || !take_uuid(session, doc, member(doc, "session_id")))
		return 0; /* of another program */
	if (strcmp(session, r->session_id) != 0) {
		reader_forget_session(rd);
		memcpy(r->session_id, session, sizeof session);
		rd->spent.now.runs = 1;
	}
	rd->known = true;
	take_hex(r->digests.job, doc, json_get(doc, audit, "job_sha256"));
	take_hex(r->digests.system, doc, json_get(doc, audit, "system_sha256"));
	take_hex(r->digests.tools, doc, json_get(doc, audit, "tools_sha256"));
	return nomem_if(take_text(&r->cwd, doc, member(doc, "cwd")) ||
	                        take_text(&r->environment, doc, member(doc, "quern_environment")),
	                e);
}

static void not_ended(struct resumed *r)
{
	r->ended = false;
	free(r->result_line);
	r->result_line = NULL;
}

static int take_result(struct reader *rd, const struct json *doc, struct error *e)
{
	struct resumed *r = rd->r;
	bool again = false;
	char *name;

	if (!json_absent(doc, member(doc, "startup_failure_reason")) ||
	    (json_bool(doc, member(doc, "resumed_result"), &again) && again))
		return 0;
	name = json_strdup(doc, member(doc, "terminal_reason"), NULL);
	r->reason = name ? terminal_find(name) : TERM_NONE;
	free(name);
	r->ended = r->reason != TERM_NONE;
	reader_drop_undecided(rd);
	r->batch.ended = true;
	free(r->batch.ends_run);
	free(r->batch.denied);
	r->batch.ends_run = r->batch.denied = NULL;
	rd->spent.same_turn = false;
	return nomem_if(replace(&r->result_line, strndup(doc->text, doc->len)) || spent_result(rd, doc), e);
}

/* ---- the conversation ---- */

/* The user's words: the blocks [FROM, TO) of the last message. */
static int take_prompt(struct reader *rd, const struct json *doc, int range)
{
	const struct history *h = &rd->talk.history;
	const struct message *last = h->n ? h->v[h->n - 1] : NULL;
	size_t from = 0, to = 0;
	struct message *m = message_new(ROLE_USER);
	int rc = m ? 0 : -1;

	json_pair(doc, range, &from, &to);
	for (size_t i = from; rc == 0 && last && i < to && i < last->n; i++)
		rc = message_add(m, block_ref(last->blocks[i]));
	message_unref(rd->r->prompt);
	rd->r->prompt = m;
	return rc;
}

/* How an answer ended: a turn that goes on is no new one. */
static int note_end(struct reader *rd, const struct json *doc, int message)
{
	struct resumed_answer *a = &rd->r->answer;

	if (replace(&a->stop_reason, json_strdup(doc, json_get(doc, message, "stop_reason"), NULL)) ||
	    take_text(&a->stop_sequence, doc, json_get(doc, message, "stop_sequence")) ||
	    take_text(&a->model, doc, json_get(doc, message, "model")) ||
	    take_text(&a->message_id, doc, json_get(doc, message, "id")))
		return -1;
	rd->spent.same_turn = !rd->has_calls && (!strcmp(a->stop_reason, "pause_turn") ||
	                                         !strcmp(a->stop_reason, "model_context_window_exceeded"));
	return 0;
}

/* What is told in the middle of an answer stands in front of it. */
static int set_in_front(struct talk *t, const struct json *doc, int messages, struct error *e)
{
	struct talk_lifted lines;

	if (talk_lift(t, &lines))
		return error_nomem(e);
	int rc = talk_set(t, doc, messages, e);
	return talk_put_back(t, &lines) ? error_nomem(e) : rc;
}

static int take_conversation(struct reader *rd, const struct json *doc, struct error *e)
{
	int messages = member(doc, "messages");

	rd->told |= messages >= 0;
	rd->in_pieces = false;
	json_bool(doc, member(doc, "more"), &rd->in_pieces);
	if (is_true(doc, member(doc, "open"))) {
		rd->cut = false; /* words within it stand in front of it now */
		return messages >= 0 ? set_in_front(&rd->talk, doc, messages, e) : 0;
	}
	if (messages >= 0 && talk_set(&rd->talk, doc, messages, e))
		return -1;
	/* A state alone is told before there are results, and does not say what is kept of an answer; one that had no
	 * end until then was cut in a block that is not shown. */
	if (messages >= 0 || is_true(doc, member(doc, "sends")))
		reader_forget_answer(rd);
	else
		rd->cut |= rd->nanswer > 0;
	rd->talk.open = false;
	return 0;
}

/* Of an answer that stands in another record. */
static int take_end(struct reader *rd, const struct json *doc, int answer)
{
	struct resumed_answer *a = &rd->r->answer;
	int64_t blocks = json_int_or(doc, json_get(doc, answer, "blocks"), 0);

	if (json_type(doc, json_get(doc, answer, "stop_reason")) != JSON_STRING)
		return 0;
	reader_drop_undecided(rd);
	a->nblocks = blocks > 0 ? (size_t)blocks : 0;
	a->replied = is_true(doc, json_get(doc, answer, "replied"));
	a->verified = is_true(doc, json_get(doc, answer, "verified"));
	usage_read(&a->usage, doc, json_get(doc, answer, "usage"));
	return note_end(rd, doc, answer) || take_text(&a->went_on, doc, json_get(doc, answer, "went_on")) ? -1 : 0;
}

static void leave_blocks(struct resumed_answer *a, int64_t n)
{
	if (n >= 0 && (uint64_t)n < a->nblocks)
		a->nblocks = (size_t)n;
}

static int take_history(struct reader *rd, const struct json *doc, struct error *e)
{
	int state = member(doc, "state"), prompt = member(doc, "prompt"), answer = member(doc, "answer");

	if (take_conversation(rd, doc, e))
		return -1;
	if (json_type(doc, state) == JSON_OBJECT && replace(&rd->r->loop_state, json_rawdup(doc, state)))
		return error_nomem(e);
	if (json_type(doc, answer) == JSON_OBJECT && rd->elsewhere && take_end(rd, doc, answer))
		return error_nomem(e);
	if (json_type(doc, answer) == JSON_OBJECT && !rd->elsewhere) /* its thinking may be gone */
		leave_blocks(&rd->r->answer, json_int_or(doc, json_get(doc, answer, "blocks"), 0));
	if (json_type(doc, state) == JSON_OBJECT) {
		rd->r->answer.told = rd->r->batch.told = true;
		rd->r->overloads_told = false;
	}
	if (is_true(doc, member(doc, "sends")) || json_type(doc, prompt) == JSON_ARRAY) {
		reader_drop_undecided(rd);
		reader_drop_batch(rd);
		not_ended(rd->r);
	}
	if (spent_history(rd, doc, state))
		return error_nomem(e);
	if (json_type(doc, prompt) != JSON_ARRAY)
		return 0;
	rd->spent.same_turn = false;
	return nomem_if(take_prompt(rd, doc, prompt), e);
}

static int note_line(struct reader *rd, const char *uuid)
{
	char(*grown)[UUID_LEN + 1] = realloc(rd->answer, (rd->nanswer + 1) * sizeof *grown);

	if (!grown)
		return -1;
	rd->answer = grown;
	memcpy(rd->answer[rd->nanswer++], uuid, UUID_LEN + 1);
	return 0;
}

/* Its line is out now. */
static void settle_begun(struct reader *rd, const struct block *b)
{
	for (size_t i = 0; b->kind == BLOCK_TOOL_USE && i < rd->nbegun; i++)
		if (!strcmp(rd->begun[i].id, b->id)) {
			block_unref(rd->begun[i].block);
			rd->begun[i].block = NULL;
		}
}

static int add_line(struct reader *rd, enum role role, const char *uuid, struct block *b, bool ends, struct error *e)
{
	int rc = talk_line(&rd->talk, role, uuid, b, ends);

	if (rc == 0 && role == ROLE_ASSISTANT) {
		settle_begun(rd, b);
		rd->nblocks += !block_is_blank(b);
		rd->has_calls |= b->kind == BLOCK_TOOL_USE;
		rc = note_line(rd, uuid);
	} else if (rc == 0 && b->kind == BLOCK_TOOL_RESULT) {
		reader_forget_begun(rd, b->id);
	}
	return nomem_if(rc, e);
}

/* What was open behind the answer before is done. */
static void next_answer(struct reader *rd)
{
	reader_drop_undecided(rd);
	reader_drop_batch(rd);
}

/* The same answer's lines bear one id. */
static int begin_answer(struct reader *rd, const struct json *doc, int message)
{
	int id = json_get(doc, message, "id");

	if (rd->nanswer && rd->answer_id && json_eq(doc, id, rd->answer_id))
		return 0;
	reader_forget_answer(rd);
	next_answer(rd);
	rd->nblocks = 0;
	rd->has_calls = false;
	return json_type(doc, id) == JSON_STRING ? replace(&rd->answer_id, json_strdup(doc, id, NULL)) : 0;
}

static bool was_cut(const struct json *doc, int message)
{
	int stop = json_get(doc, message, "stop_reason");

	return json_eq(doc, stop, "max_tokens") || json_eq(doc, stop, "model_context_window_exceeded");
}

/* It is whole: from here on it is not known what followed from it. */
static int note_undecided(struct reader *rd, const struct json *doc, int message)
{
	struct resumed_answer *a = &rd->r->answer;

	rd->r->overloads_told = true;
	rd->r->overloads = 0;
	if (json_type(doc, json_get(doc, message, "stop_reason")) != JSON_STRING) {
		reader_drop_undecided(rd);
		return 0;
	}
	a->nblocks = rd->nblocks;
	a->usage = rd->spent.usage;
	a->told = a->replied = a->verified = false;
	if (note_end(rd, doc, message))
		return -1;
	if (rd->has_calls) { /* their results follow */
		reader_drop_undecided(rd);
		reader_drop_batch(rd);
		reader_open_batch(rd)->usage = rd->spent.usage;
	}
	return 0;
}

static int take_assistant(struct reader *rd, const struct json *doc, struct error *e)
{
	int message = member(doc, "message"), content = json_get(doc, message, "content");
	bool ends = !json_absent(doc, json_get(doc, message, "stop_reason"));
	char uuid[UUID_LEN + 1];
	int rc = 0;

	if (json_eq(doc, json_get(doc, message, "model"), "<synthetic>"))
		return 0;
	not_ended(rd->r);
	if (begin_answer(rd, doc, message) || spent_assistant(rd, doc, message, ends))
		return error_nomem(e);
	take_uuid(uuid, doc, member(doc, "uuid"));
	for (int at = json_first(doc, content); rc == 0 && at >= 0; at = json_next(doc, content, at)) {
		struct block *b = block_from_token(doc, at, e);
		rc = b ? add_line(rd, ROLE_ASSISTANT, uuid, b, ends, e) : -1;
		block_unref(b);
	}
	if (ends) {
		rd->talk.open = false;
		rd->cut = was_cut(doc, message);
		if (!rd->cut)
			reader_forget_answer(rd);
		if (rc == 0)
			rc = nomem_if(note_undecided(rd, doc, message), e);
	}
	return rc;
}

static int note_state(struct resumed *r, const char *id, char *json)
{
	struct resumed_state *grown = realloc(r->tool_states, (r->ntool_states + 1) * sizeof *grown);
	char *copy = strdup(id);

	if (grown)
		r->tool_states = grown;
	if (!grown || !copy || !json) {
		free(copy);
		free(json);
		return -1;
	}
	grown[r->ntool_states++] = (struct resumed_state){ copy, json };
	return 0;
}

/* What its calls' results leave to be done. */
static int note_result(struct reader *rd, const struct json *doc)
{
	bool broke = rd->r->batch.open ? rd->r->batch.broke : rd->nanswer > 0;
	struct resumed_batch *b = reader_open_batch(rd);
	int call = member(doc, "quern_call"), say = json_get(doc, call, "say"), n = 0;
	struct buf said = BUF_INIT(BUF_HUGE);

	b->broke = broke;
	b->calls++;
	b->unusable += is_true(doc, json_get(doc, call, "unusable"));
	if (json_type(doc, say) == JSON_STRING) {
		buf_addf(&said, "%s%s", b->said ? b->said : "", b->said ? "\n" : "");
		n = json_str(doc, say, &said) || replace(&b->said, buf_take(&said, NULL));
		buf_release(&said);
	}
	return n || take_text(&b->ends_run, doc, json_get(doc, call, "ends_run")) ? -1 : 0;
}

static int take_denied(struct reader *rd, const struct json *doc, struct error *e)
{
	struct resumed_batch *b = &rd->r->batch;

	return b->denied ? 0 : nomem_if(take_text(&b->denied, doc, member(doc, "tool_name")), e);
}

static int take_user(struct reader *rd, const struct json *doc, struct error *e)
{
	int content = json_path(doc, json_root(doc), "message.content"), state = member(doc, "quern_state");
	bool shown_again = false;
	char uuid[UUID_LEN + 1];
	int rc = 0;

	if (json_bool(doc, member(doc, "isReplay"), &shown_again) && shown_again)
		return 0;
	if (is_true(doc, member(doc, "isSynthetic"))) { /* as hooks have them said in front of a prompt, too */
		rd->r->answer.replied = true;
	} else {
		reader_drop_undecided(rd);
		not_ended(rd->r);
	}
	rd->cut |= rd->nanswer > 0; /* it has no end, and is replied to: it broke */
	take_uuid(uuid, doc, member(doc, "uuid"));
	for (int at = json_first(doc, content); rc == 0 && at >= 0; at = json_next(doc, content, at)) {
		struct block *b = block_from_token(doc, at, e);
		/* of a run before, whose record is another file: the conversation comes yet */
		bool alien = b && b->kind == BLOCK_TOOL_RESULT && !rd->talk.history.n;
		if (!alien)
			rc = b ? add_line(rd, ROLE_USER, uuid, b, true, e) : -1;
		bool result = rc == 0 && !alien && b->kind == BLOCK_TOOL_RESULT;
		rd->spent.now.tool_calls += result;
		if (result && note_result(rd, doc))
			rc = error_nomem(e);
		if (rc == 0 && result && json_type(doc, state) == JSON_OBJECT)
			rc = nomem_if(note_state(rd->r, b->id, json_rawdup(doc, state)), e);
		block_unref(b);
	}
	return rc;
}

static int take_tombstone(struct reader *rd, const struct json *doc, struct error *e)
{
	int uuids = member(doc, "uuids");
	char uuid[UUID_LEN + 1];

	for (int at = json_first(doc, uuids); at >= 0; at = json_next(doc, uuids, at))
		if (take_uuid(uuid, doc, at))
			talk_withdraw(&rd->talk, uuid);
	reader_forget_answer(rd);
	reader_drop_undecided(rd);
	reader_drop_batch(rd);
	reader_forget_begun(rd, NULL);
	rd->talk.open = false;
	return nomem_if(spent_tombstone(rd, doc), e);
}

static int take_tool_start(struct reader *rd, const struct json *doc, struct error *e)
{
	int block = member(doc, "block");
	struct begun b = { json_strdup(doc, member(doc, "tool_use_id"), NULL),
		           json_strdup(doc, member(doc, "tool_name"), NULL), NULL };
	struct begun *grown = realloc(rd->begun, (rd->nbegun + 1) * sizeof *grown);

	if (grown)
		rd->begun = grown;
	if (!b.id || !b.name || !grown) {
		free(b.id);
		free(b.name);
		return grown ? 0 : error_nomem(e);
	}
	grown[rd->nbegun++] = b;
	if (json_type(doc, block) != JSON_OBJECT)
		return 0;
	/* No line of its answer need be out: this is the first that is heard of it. */
	if (!rd->nanswer || rd->r->batch.calls)
		next_answer(rd);
	grown[rd->nbegun - 1].block = block_from_token(doc, block, e);
	return grown[rd->nbegun - 1].block ? 0 : -1;
}

/* A line about a round: its name, then the line. */
static int note_summary(struct reader *rd, char *round, char *text)
{
	struct resumed *r = rd->r;
	char **grown = round && text ? realloc(r->summaries, (rd->nsummaries + 3) * sizeof *grown) : NULL;

	if (!grown) {
		free(round);
		free(text);
		return -1;
	}
	r->summaries = grown;
	grown[rd->nsummaries++] = round;
	grown[rd->nsummaries++] = text;
	grown[rd->nsummaries] = NULL;
	return 0;
}

static int take_words(struct reader *rd, const struct json *doc, int words, struct error *e)
{
	struct message *m = message_new(ROLE_USER);
	int rc = m ? 0 : error_nomem(e);

	for (int at = json_first(doc, words); rc == 0 && at >= 0; at = json_next(doc, words, at)) {
		struct block *b = block_from_token(doc, at, e);
		rc = b ? nomem_if(message_add(m, b), e) : -1;
	}
	if (rc) {
		message_unref(m);
		return -1;
	}
	message_unref(rd->r->prompt);
	rd->r->prompt = m;
	return 0;
}

/* What stood in front of it, if that is in another file. */
static int take_resume(struct reader *rd, const struct json *doc, struct error *e)
{
	int states = member(doc, "states"), summaries = member(doc, "summaries"), words = member(doc, "prompt");

	if (rd->in_pieces) /* that run did not come to tell the whole of it: this one begins anew */
		talk_release(&rd->talk);
	rd->in_pieces = false;
	if (reader_close_answer(rd, e) || (words >= 0 && take_words(rd, doc, words, e)))
		return -1;
	rd->elsewhere = !rd->talk.history.n;
	int rc = spent_new_run(rd, doc);
	for (int at = json_first(doc, states); rc == 0 && at >= 0; at = json_next(doc, states, at)) {
		char *id = json_strdup(doc, json_get(doc, at, "tool_use_id"), NULL);
		int state = json_get(doc, at, "state");
		if (id && json_type(doc, state) == JSON_OBJECT)
			rc = note_state(rd->r, id, json_rawdup(doc, state));
		free(id);
	}
	for (int at = json_first(doc, summaries); rc == 0 && at >= 0;) {
		int text = json_next(doc, summaries, at);
		if (text < 0)
			break;
		rc = note_summary(rd, json_strdup(doc, at, NULL), json_strdup(doc, text, NULL));
		at = json_next(doc, summaries, text);
	}
	return nomem_if(rc, e);
}

static int take_summary(struct reader *rd, const struct json *doc, struct error *e)
{
	int text = member(doc, "text");

	if (spent_other(rd, doc, member(doc, "model"), member(doc, "usage")))
		return error_nomem(e);
	if (json_type(doc, text) != JSON_STRING)
		return 0;
	return nomem_if(note_summary(rd, json_strdup(doc, member(doc, "round"), NULL), json_strdup(doc, text, NULL)),
	                e);
}

/* ---- what else was paid ---- */

static int take_boundary(struct reader *rd, const struct json *doc, struct error *e)
{
	return nomem_if(spent_compact(rd, doc, member(doc, "quern_model"), member(doc, "quern_usage")), e);
}

static int take_status(struct reader *rd, const struct json *doc, struct error *e)
{
	return json_absent(doc, member(doc, "quern_model")) ? 0 : take_boundary(rd, doc, e);
}

static int take_transition(struct reader *rd, const struct json *doc, struct error *e)
{
	struct resumed_answer *a = &rd->r->answer;

	rd->spent.sent = true;
	if (json_eq(doc, member(doc, "reason"), continue_row(CONT_NEXT_TURN)->name) ||
	    json_eq(doc, member(doc, "reason"), continue_row(CONT_SALVAGED_STREAM)->name))
		rd->r->batch.went_on = rd->r->batch.open;
	if (json_eq(doc, member(doc, "source"), "verify"))
		a->verified = true;
	return nomem_if(take_text(&a->went_on, doc, member(doc, "reason")), e);
}

static int take_hook(struct reader *rd, const struct json *doc, struct error *e)
{
	(void)e;
	rd->r->answer.verified = json_eq(doc, member(doc, "hook_event"), "Verify");
	return 0;
}

static int take_retry(struct reader *rd, const struct json *doc, struct error *e)
{
	int64_t n = json_int_or(doc, member(doc, "overloads"), 0);

	rd->r->overloads_told = true;
	rd->r->overloads = n < 0 ? 0 : n < MANY ? (int)n : MANY;
	return nomem_if(spent_retry(rd, doc), e);
}

/* What follows is told by the state; until then it is known that the next one is to be asked. */
static int take_switch(struct reader *rd, const struct json *doc, struct error *e)
{
	(void)doc, (void)e;
	rd->r->overloads_told = true;
	rd->r->overloads = MANY;
	return 0;
}

/* ---- all of them ---- */

static const struct row {
	const char *type, *subtype;
	enum { CUT_WILL_DO, WHOLE_IS_BETTER, WHOLE } whole; /* do its strings matter? */
	int (*take)(struct reader *rd, const struct json *doc, struct error *e);
} rows[] = {
	{ "assistant", NULL, WHOLE, take_assistant },
	{ "user", NULL, WHOLE, take_user },
	{ "result", NULL, WHOLE_IS_BETTER, take_result },
	{ "system", "init", CUT_WILL_DO, take_init },
	{ "system", "quern_history", WHOLE, take_history },
	{ "system", "quern_tool_start", WHOLE, take_tool_start },
	{ "system", "quern_summary", WHOLE_IS_BETTER, take_summary },
	{ "system", "quern_tombstone", WHOLE_IS_BETTER, take_tombstone },
	{ "system", "quern_resume", WHOLE, take_resume },
	{ "system", "compact_boundary", CUT_WILL_DO, take_boundary },
	{ "system", "status", CUT_WILL_DO, take_status },
	{ "system", "hook_response", CUT_WILL_DO, take_hook },
	{ "system", "api_retry", CUT_WILL_DO, take_retry },
	{ "system", "quern_model_switch", CUT_WILL_DO, take_switch },
	{ "system", "permission_denied", CUT_WILL_DO, take_denied },
	{ "system", "quern_transition", CUT_WILL_DO, take_transition },
};

static const struct row *row_of(const struct json *doc)
{
	int type = member(doc, "type"), subtype = member(doc, "subtype");

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (json_eq(doc, type, rows[i].type) && (!rows[i].subtype || json_eq(doc, subtype, rows[i].subtype)))
			return &rows[i];
	return NULL;
}

bool reader_wants_whole(const struct json *doc)
{
	const struct row *row = row_of(doc);

	return row && row->whole != CUT_WILL_DO;
}

bool reader_needs_whole(const struct json *doc)
{
	const struct row *row = row_of(doc);

	return row && row->whole == WHOLE;
}

int reader_note_place(struct reader *rd, const struct json *doc, struct error *e)
{
	struct resumed *r = rd->r;
	static const char *const names[] = { "run_dir", "quern_output_file", "quern_file", "result_file" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		int tok = member(doc, names[i]);
		if (json_type(doc, tok) != JSON_STRING)
			continue;
		if (take_text(&r->run_dir, doc, tok))
			return error_nomem(e);
		char *slash = i ? strrchr(r->run_dir, '/') : NULL;
		if (slash)
			slash[slash == r->run_dir] = '\0';
		break;
	}
	return 0;
}

int reader_take(struct reader *rd, const struct json *doc, struct error *e)
{
	const struct row *row = row_of(doc);
	int64_t ms;

	if (row && row->take == take_init)
		return row->take(rd, doc, e);
	if (!rd->known || !json_eq(doc, member(doc, "session_id"), rd->r->session_id))
		return 0; /* of a session that did not come to its init, or of nobody's */
	if (json_int(doc, member(doc, "quern_ms"), &ms) && ms >= 0)
		spent_time(rd, ms);
	if (reader_note_place(rd, doc, e))
		return -1;
	return row ? row->take(rd, doc, e) : 0;
}

void reader_forget_session(struct reader *rd)
{
	struct resumed *r = rd->r;
	size_t lines = r->lines, unreadable = r->unreadable;

	resumed_release(r);
	r->lines = lines;
	r->unreadable = unreadable;
	talk_release(&rd->talk);
	rd->talk = (struct talk)TALK_INIT;
	spent_release(&rd->spent);
	reader_forget_answer(rd);
	reader_forget_begun(rd, NULL);
	rd->nsummaries = 0;
	rd->elsewhere = rd->in_pieces = rd->told = false;
}
