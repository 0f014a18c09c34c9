/* A record as it may lie there after a run, or after a kill: what is read out of it. */
#include "test.h"

#include "growth.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_out.h"
#include "record/resume.h"

#define SESSION "11111111-1111-4111-8111-111111111111"
#define OTHER   "22222222-2222-4222-8222-222222222222"

struct file {
	char dir[64], path[128];
	FILE *f;
	unsigned uuids;
	struct resumed r;
	struct error e;
};

static int setup(void **state)
{
	struct file *f = calloc(1, sizeof *f);

	assert_non_null(f);
	snprintf(f->dir, sizeof f->dir, "/tmp/quern-test-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof f->path, "%s/run.ndjson", f->dir);
	f->f = fopen(f->path, "w");
	assert_non_null(f->f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct file *f = *state;
	char command[160];

	fclose(f->f);
	resumed_release(&f->r);
	snprintf(command, sizeof command, "rm -rf '%s'", f->dir);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

/* ---- lines ---- */

static const char *uuid(unsigned n)
{
	static char text[4][40];
	static unsigned at;
	char *out = text[at++ % 4];

	snprintf(out, 40, "00000000-0000-4000-8000-%012u", n);
	return out;
}

static void __attribute__((format(printf, 3, 4))) line(struct file *f, const char *session, const char *fmt, ...)
{
	va_list ap;

	fputs("{", f->f);
	va_start(ap, fmt);
	vfprintf(f->f, fmt, ap);
	va_end(ap);
	fprintf(f->f, ",\"quern_ms\":%u,\"session_id\":\"%s\",\"uuid\":\"%s\"}\n", 10 * f->uuids, session,
	        uuid(f->uuids));
	f->uuids++;
}

static void init_of(struct file *f, const char *session)
{
	line(f, session,
	     "\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/work\",\"quern_version\":\"1\",\"quern_environment\":"
	     "\"Today\",\"quern_audit\":{\"job_sha256\":"
	     "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}");
}

static void init(struct file *f)
{
	init_of(f, SESSION);
}

static void history(struct file *f, const char *messages, const char *more)
{
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_history\",\"messages\":%s%s", messages, more);
}

static void task(struct file *f)
{
	history(f,
	        "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"beside\"},{\"type\":\"text\",\"text\":"
	        "\"do it\"}]}]",
	        ",\"prompt\":[1,2],\"state\":{\"a\":1}");
}

static void answer(struct file *f, const char *id, const char *block, const char *stop)
{
	line(f, SESSION,
	     "\"type\":\"assistant\",\"message\":{\"id\":\"%s\",\"model\":\"m\",\"role\":\"assistant\",\"content\":[%s]"
	     ","
	     "\"stop_reason\":%s,\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}",
	     id, block, stop);
}

#define TEXT(t)       "{\"type\":\"text\",\"text\":\"" t "\"}"
#define CALL(id)      "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"Bash\",\"input\":{}}"
#define RESULT(id, t) "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"" t "\"}"
#define THOUGHT       "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"}"

static void user(struct file *f, const char *block, const char *more)
{
	line(f, SESSION, "\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[%s]}%s", block, more);
}

static void begins(struct file *f, const char *id, const char *more)
{
	line(f, SESSION,
	     "\"type\":\"system\",\"subtype\":\"quern_tool_start\",\"tool_use_id\":\"%s\",\"tool_name\":\"Bash\"%s", id,
	     more);
}

static void ends(struct file *f, const char *reason)
{
	line(f, SESSION,
	     "\"type\":\"result\",\"terminal_reason\":\"%s\",\"session_totals\":{\"runs\":1,\"turns\":3,\"requests\":4,"
	     "\"tool_calls\":2,\"duration_ms\":70,\"usage\":{\"input_tokens\":7},\"models\":{\"m\":{\"usage\":{"
	     "\"input_tokens\":100,\"output_tokens\":50},\"costUSD\":0.000000123}}}",
	     reason);
}

static void torn(struct file *f, const char *text)
{
	fputs(text, f->f);
}

/* Every token costs a nano-dollar. */
static int64_t cost(void *ctx, const char *model, const struct usage *u)
{
	(void)ctx;
	return *model ? u->input + u->output : -1;
}

static int take(struct file *f)
{
	const struct resume_source src = { f->path, cost, NULL };

	fflush(f->f);
	resumed_release(&f->r);
	f->e = (struct error)ERROR_INIT;
	int rc = resume_read(&src, &f->r, &f->e);
	if (rc < 0)
		assert_true(f->e.code != ERR_NONE);
	return rc;
}

/* The conversation, a word a block: "u:beside,do it a:tu_1 u:=tu_1". */
static const char *talk(const struct file *f)
{
	static struct buf b = BUF_INIT(65536);
	const struct history *h = &f->r.history;

	buf_clear(&b);
	for (size_t i = 0; i < h->n; i++) {
		buf_addf(&b, "%s%s:", i ? " " : "", h->v[i]->role == ROLE_USER ? "u" : "a");
		for (size_t k = 0; k < h->v[i]->n; k++) {
			const struct block *x = h->v[i]->blocks[k];
			const char *word = x->kind == BLOCK_TEXT ? x->text : x->id ? x->id : "?";
			buf_addf(&b, "%s%s%s", k ? "," : "", x->kind == BLOCK_TOOL_RESULT ? "=" : "", word);
		}
	}
	return buf_str(&b);
}

static const struct block *last_block(const struct file *f)
{
	const struct message *m = f->r.history.v[f->r.history.n - 1];

	return m->blocks[m->n - 1];
}

/* ---- tests ---- */

/* What stands behind results that nothing was told of yet. */
static void what_results_leave_to_be_done(void **test)
{
	struct file *f = *test;

	init(f);
	task(f);
	answer(f, "m1", CALL("t1"), "null");
	answer(f, "m1", CALL("t2"), "\"tool_use\"");
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_history\",\"state\":{\"a\":2}");
	user(f, RESULT("t1", "out"), ",\"quern_call\":{\"say\":\"one\",\"unusable\":true},\"quern_state\":{}");
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"permission_denied\",\"tool_name\":\"Bash\"");
	user(f, RESULT("t2", "out"), ",\"quern_call\":{\"say\":\"two\",\"ends_run\":\"enough\"}");
	assert_int_equal(take(f), 1);
	const struct resumed_batch *b = &f->r.batch;
	assert_true(b->open && b->told && !b->broke && !b->went_on && !b->ended);
	assert_int_equal(b->calls, 2);
	assert_int_equal(b->unusable, 1);
	assert_int_equal(b->usage.output, 5);
	assert_int_equal(b->first_state, 0);
	assert_string_equal(b->said, "one\ntwo");
	assert_string_equal(b->ends_run, "enough");
	assert_string_equal(b->denied, "Bash");
	assert_null(f->r.answer.stop_reason);

	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_transition\",\"reason\":\"next_turn\"");
	assert_int_equal(take(f), 1);
	assert_true(f->r.batch.open && f->r.batch.went_on);
	ends(f, "max_turns");
	assert_int_equal(take(f), 1);
	assert_true(f->r.batch.open && f->r.batch.ended);
	assert_null(f->r.batch.ends_run);
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_history\",\"sends\":true");
	assert_int_equal(take(f), 1);
	assert_false(f->r.batch.open);

	answer(f, "m2", CALL("t3"), "null");
	begins(f, "t3", "");
	user(f, RESULT("t3", "out"), "");
	assert_int_equal(take(f), 1);
	assert_true(f->r.batch.open && f->r.batch.broke && !f->r.batch.told);
	assert_int_equal(f->r.batch.first_state, 1);
	answer(f, "m3", TEXT("Done"), "\"end_turn\"");
	assert_int_equal(take(f), 1);
	assert_false(f->r.batch.open);
}

/* Thinking of another model is taken out: words behind it stand behind what was in front of it then. */
static void an_answer_that_was_nothing_but_thinking(void **test)
{
	struct file *f = *test;

	init(f);
	task(f);
	answer(f, "m1", THOUGHT, "\"end_turn\"");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.answer.nblocks, 1);
	history(f, "[{\"old\":[0,1]}]", ",\"state\":{\"a\":2},\"answer\":{\"stop_reason\":\"end_turn\",\"blocks\":0}");
	user(f, TEXT("go on"), ",\"isSynthetic\":true");
	assert_int_equal(take(f), 1);
	assert_string_equal(f->r.answer.stop_reason, "end_turn");
	assert_true(f->r.answer.replied);
	assert_int_equal(f->r.answer.nblocks, 0);
}

/* Its calls may run before a line of it is out. */
static void the_next_answer_is_known_by_its_call(void **test)
{
	struct file *f = *test;

	init(f);
	task(f);
	answer(f, "m1", CALL("t1"), "\"tool_use\"");
	user(f, RESULT("t1", "out"), ",\"quern_call\":{\"say\":\"of t1\",\"unusable\":true}");
	user(f, TEXT("of t1"), ",\"isSynthetic\":true");
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_transition\",\"reason\":\"next_turn\"");
	begins(f, "t2", ",\"block\":" CALL("t2"));
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:t1 u:=t1,of t1 a:t2 u:=t2");
	assert_true(f->r.batch.open && !f->r.batch.went_on);
	assert_null(f->r.batch.said);
	assert_int_equal(f->r.batch.calls, 1);
	assert_int_equal(f->r.batch.unusable, 0);
}

#define RETRY "\"type\":\"system\",\"subtype\":\"api_retry\""

static void overloads_since_the_state_was_told(void **test)
{
	struct file *f = *test;

	init(f);
	task(f);
	assert_int_equal(take(f), 1);
	assert_false(f->r.overloads_told);
	line(f, SESSION, RETRY ",\"overloads\":2");
	assert_int_equal(take(f), 1);
	assert_true(f->r.overloads_told);
	assert_int_equal(f->r.overloads, 2);
	line(f, SESSION, RETRY);
	assert_int_equal(take(f), 1);
	assert_true(f->r.overloads_told);
	assert_int_equal(f->r.overloads, 0);
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_model_switch\",\"from\":\"a\",\"to\":\"b\"");
	assert_int_equal(take(f), 1);
	assert_true(f->r.overloads > 2);
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_history\",\"state\":{\"a\":2},\"sends\":true");
	assert_int_equal(take(f), 1);
	assert_false(f->r.overloads_told);
	answer(f, "m1", TEXT("Done"), "\"end_turn\"");
	assert_int_equal(take(f), 1);
	assert_true(f->r.overloads_told);
	assert_int_equal(f->r.overloads, 0);
}

/* The conversation is another one in front of an answer that is coming in, and whose first line is out. */
static void what_is_told_in_the_middle_of_an_answer(void **test)
{
	struct file *f = *test;

	init(f);
	task(f);
	answer(f, "m1", TEXT("half"), "null");
	history(f, "[{\"role\":\"user\",\"content\":[" TEXT("short") "]}]",
	        ",\"state\":{\"new_window\":1,\"requests\":2},\"open\":true");
	assert_int_equal(take(f), 1); /* it was not accepted */
	assert_string_equal(talk(f), "u:short");
	assert_int_equal(f->r.totals.requests, 2);
	answer(f, "m1", TEXT("more"), "\"model_context_window_exceeded\"");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:short a:half,more");
	assert_int_equal(f->r.answer.nblocks, 2);
	assert_false(f->r.answer.told);
	assert_int_equal(f->r.totals.requests, 2);
}

/* An answer of another record, which this one has no line of. */
static void the_answer_of_another_record(void **test)
{
	struct file *f = *test;

	init(f);
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_resume\",\"file\":\"other\"");
	history(f,
	        "[{\"role\":\"user\",\"content\":[" TEXT("do it") "]},{\"role\":\"assistant\",\"content\":[" TEXT(
	                "part") "]}]",
	        ",\"state\":{\"a\":1},\"answer\":{\"id\":\"m1\",\"model\":\"m\",\"stop_reason\":\"max_tokens\","
	        "\"stop_sequence\":null,\"blocks\":1,\"went_on\":\"max_output_tokens_recovery\","
	        "\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}");
	assert_int_equal(take(f), 1);
	assert_string_equal(f->r.answer.stop_reason, "max_tokens");
	assert_string_equal(f->r.answer.went_on, "max_output_tokens_recovery");
	assert_int_equal(f->r.answer.nblocks, 1);
	assert_int_equal(f->r.answer.usage.output, 5);
	assert_true(f->r.answer.told);
	assert_false(f->r.answer.replied);
	assert_int_equal(f->r.totals.requests, 0); /* it was paid by whom it came to */
	user(f, TEXT("go on"), ",\"isSynthetic\":true");
	assert_int_equal(take(f), 1);
	assert_true(f->r.answer.replied);
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_history\",\"sends\":true");
	assert_int_equal(take(f), 1);
	assert_null(f->r.answer.stop_reason);
}

static void nothing_is_a_fresh_run(void **state)
{
	struct file *f = *state;

	assert_int_equal(take(f), 0);
	unlink(f->path);
	assert_int_equal(take(f), 0);
	f->f = freopen(f->path, "w", f->f);
	torn(f, "{\"type\":\"sys");
	assert_int_equal(take(f), 0);
}

static void a_start_that_failed_is_a_fresh_run(void **state)
{
	struct file *f = *state;

	line(f, OTHER,
	     "\"type\":\"result\",\"terminal_reason\":\"turn_setup_failed\",\"startup_failure_reason\":\"x\"");
	assert_int_equal(take(f), 0);
	init(f);
	assert_int_equal(take(f), 0);
	task(f);
	assert_int_equal(take(f), 1);
	line(f, OTHER,
	     "\"type\":\"result\",\"terminal_reason\":\"turn_setup_failed\",\"startup_failure_reason\":\"x\"");
	assert_int_equal(take(f), 1);
	assert_false(f->r.ended);
	assert_string_equal(f->r.session_id, SESSION);
}

static void what_no_run_wrote_is_refused(void **state)
{
	struct file *f = *state;

	torn(f, "hello\n");
	assert_int_equal(take(f), -1);
	assert_non_null(strstr(f->e.msg, "run.ndjson:1: "));
	init(f); /* but notes of others beside a run's lines are passed over */
	task(f);
	torn(f, "[1]\n{\"type\":\"system\",\"subtype\":\"news\"}\n\n");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.unreadable, 2);
	assert_string_equal(talk(f), "u:beside,do it");
}

static void a_straight_run(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", TEXT("I look"), "null");
	answer(f, "m1", CALL("t1"), "\"tool_use\"");
	user(f, RESULT("t1", "out"), ",\"quern_state\":{\"cwd\":\"/x\"}");
	answer(f, "m2", TEXT("Done"), "\"end_turn\"");
	ends(f, "completed");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:I look,t1 u:=t1 a:Done");
	assert_int_equal(f->r.prompt->n, 1);
	assert_string_equal(f->r.prompt->blocks[0]->text, "do it");
	assert_true(f->r.ended);
	assert_int_equal(f->r.reason, TERM_COMPLETED);
	assert_non_null(strstr(f->r.result_line, "\"completed\""));
	assert_string_equal(f->r.loop_state, "{\"a\":1}");
	assert_int_equal(f->r.ntool_states, 1);
	assert_string_equal(f->r.tool_states[0].json, "{\"cwd\":\"/x\"}");
	assert_string_equal(f->r.tool_states[0].id, "t1");
	assert_string_equal(f->r.environment, "Today");
	assert_string_equal(f->r.cwd, "/work");
	assert_int_equal(f->r.digests.job[0], 'a');
	assert_int_equal(f->r.digests.tools[0], '\0');
	assert_int_equal(f->r.ninterrupted, 0);
	assert_int_equal(f->r.lines, 7);
	assert_false(f->r.torn);
	assert_true(history_has_tool_use(&f->r.history, "t1"));
}

static void lines_that_are_not_of_the_conversation(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	user(f, TEXT("do it"), ",\"isReplay\":true");
	line(f, SESSION,
	     "\"type\":\"assistant\",\"message\":{\"id\":\"synthetic\",\"model\":\"<synthetic>\",\"content\":[" TEXT(
	             "oops") "],"
	                     "\"stop_reason\":null}");
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_transition\",\"reason\":\"next_turn\"");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it");
}

static void a_torn_last_line_is_passed_over(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	torn(f, "{\"type\":\"assistant\",\"mess");
	assert_int_equal(take(f), 1);
	assert_true(f->r.torn);
	assert_int_equal(f->r.lines, 2);
	assert_int_equal(f->r.unreadable, 0);
	torn(f, "\n"); /* as the next run mends it */
	answer(f, "m1", TEXT("Done"), "\"end_turn\"");
	assert_int_equal(take(f), 1);
	assert_false(f->r.torn);
	assert_int_equal(f->r.unreadable, 1);
	assert_string_equal(talk(f), "u:beside,do it a:Done");
}

static void a_whole_last_line_without_its_end_counts(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", TEXT("Done"), "\"end_turn\"");
	fflush(f->f);
	assert_int_equal(ftruncate(fileno(f->f), ftell(f->f) - 1), 0);
	assert_int_equal(take(f), 1);
	assert_false(f->r.torn);
	assert_string_equal(talk(f), "u:beside,do it a:Done");
}

static void an_answer_without_its_end_is_left_out(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", TEXT("I"), "null");
	answer(f, "m1", CALL("t1"), "null");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it");
	assert_int_equal(f->r.ninterrupted, 0);
}

static void one_that_had_effects_is_kept(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", TEXT("I"), "null");
	answer(f, "m1", CALL("t1"), "null");
	begins(f, "t1", "");
	answer(f, "m1", CALL("t2"), "null");
	answer(f, "m1", THOUGHT, "null"); /* may not stand at its end */
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:I,t1,t2 u:=t1,=t2");
	assert_int_equal(f->r.ninterrupted, 2);
	assert_true(f->r.interrupted[0].started);
	assert_false(f->r.interrupted[1].started);
	assert_string_equal(f->r.interrupted[0].name, "Bash");
	const struct message *m = f->r.history.v[2];
	assert_true(m->blocks[0]->is_error && m->blocks[1]->is_error);
	assert_non_null(strstr(m->blocks[0]->json, "not known"));
	assert_null(strstr(m->blocks[1]->json, "not known"));
	assert_true(f->r.totals.cost_lower_bound);
}

static void a_call_whose_line_was_not_out(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", THOUGHT, "null");
	begins(f, "t1", ",\"block\":" CALL("t1"));
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:?,t1 u:=t1");
	answer(f, "m1", CALL("t1"), "\"tool_use\""); /* now it is */
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:?,t1 u:=t1");
	assert_true(f->r.interrupted[0].started);
	user(f, RESULT("t1", "out"), "");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:?,t1 u:=t1");
	assert_int_equal(f->r.ninterrupted, 0);
}

static void the_first_block_of_an_answer_may_have_begun(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	begins(f, "t1", ",\"block\":" CALL("t1"));
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:t1 u:=t1");
}

static void a_result_is_missing(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", CALL("t1"), "null");
	answer(f, "m1", CALL("t2"), "\"tool_use\"");
	user(f, RESULT("t1", "out"), "");
	begins(f, "t2", "");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:t1,t2 u:=t1,=t2");
	assert_int_equal(f->r.ninterrupted, 1);
	assert_string_equal(f->r.interrupted[0].id, "t2");
	assert_true(f->r.interrupted[0].started);
	assert_true(last_block(f)->is_error);
}

static void a_second_run_in_the_file(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", TEXT("I"), "null"); /* killed here: left out, for good */
	init(f);
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_resume\",\"file\":\"f\"");
	answer(f, "m2", TEXT("I do"), "null");
	answer(f, "m2", CALL("t1"), "null");
	begins(f, "t1", ""); /* killed here: kept */
	init(f);
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_resume\",\"file\":\"f\"");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:I do,t1 u:=t1");
	assert_true(f->r.interrupted[0].started);
	user(f, RESULT("t1", "interrupted"), "");
	answer(f, "m3", TEXT("Done"), "\"end_turn\"");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:I do,t1 u:=t1 a:Done");
	assert_int_equal(f->r.totals.runs, 3);
}

/* The state is told when an answer is accepted, and its calls may have begun before. */
static void a_state_is_told_while_a_call_runs(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	begins(f, "t1", ",\"block\":" CALL("t1"));
	answer(f, "m1", CALL("t1"), "\"tool_use\"");
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_history\",\"state\":{}");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.ninterrupted, 1);
	assert_true(f->r.interrupted[0].started);
}

/* What the loop leaves out of an answer that was cut is told with the next request: here there is none. */
static void an_answer_was_cut(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"\"}", "null");
	answer(f, "m1", TEXT("The first"), "\"max_tokens\"");
	user(f, TEXT("Go on"), "");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:The first u:Go on");
}

static void words_stand_behind_a_turn_that_was_paused(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", TEXT("I search"), "null");
	answer(f, "m1", "{\"type\":\"server_tool_use\",\"id\":\"s1\",\"name\":\"web_search\",\"input\":{}}",
	       "\"pause_turn\"");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.history.v[1]->n, 2); /* it may go on */
	user(f, TEXT("Go on"), "");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:I search u:Go on");
}

/* Before the conversation is told. */
static void the_first_line_is_a_word_of_a_hook(void **state)
{
	struct file *f = *state;

	init(f);
	user(f, TEXT("the hook says"), ",\"isSynthetic\":true");
	assert_int_equal(take(f), 0); /* nobody has asked for anything */
	history(f, "[{\"role\":\"user\",\"content\":[{\"old\":[0,0]}," TEXT("do it") "]}]", "");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:the hook says,do it");
}

/* All its lines are out, and the one with the end never comes: the state tells that it was taken. */
static void an_answer_was_cut_in_a_block_that_is_not_shown(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"\"}", "null");
	answer(f, "m1", CALL("t1"), "null");
	begins(f, "t1", "");
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_history\",\"state\":{\"a\":2}");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.history.v[1]->n, 1);
	assert_string_equal(f->r.history.v[1]->blocks[0]->id, "t1");
}

static void a_record_that_begins_in_another_file(void **state)
{
	struct file *f = *state;

	init(f);
	line(f, SESSION,
	     "\"type\":\"system\",\"subtype\":\"quern_resume\",\"file\":\"f\",\"session_totals\":{\"runs\":3,"
	     "\"duration_ms\":9223372036854775807,\"turns\":"
	     "-7,"
	     "\"requests\":5,\"models\":{\"m\":{\"usage\":{\"input_tokens\":40},\"costUSD\":0.5}}},\"prompt\":[" TEXT(
	             "do it") "],\"states\":[{\"tool_use_id\":\"t0\",\"state\":{\"cwd\":\"/"
	                      "x\"}},{}],\"summaries\":[\"t0\",\"a line\"]");
	user(f, RESULT("t1", "interrupted"), "");
	assert_int_equal(take(f), -1); /* what was done in the other one would be done again */
	assert_non_null(strstr(f->e.msg, "another record"));
	history(f,
	        "[{\"role\":\"user\",\"content\":[" TEXT("do it") "]},{\"role\":\"assistant\",\"content\":[" CALL(
	                "t1") "]},{\"role\":\"user\",\"content\":[" RESULT("t1", "interrupted") "]}]",
	        "");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:do it a:t1 u:=t1");
	assert_int_equal(f->r.ninterrupted, 0);
	assert_int_equal(f->r.totals.runs, 4);
	assert_int_equal(f->r.totals.turns, 0);
	assert_int_equal(f->r.totals.requests, 5);
	assert_int_equal(f->r.totals.nmodels, 1);
	assert_int_equal(f->r.totals.models[0].usage.input, 40);
	assert_int_equal(f->r.totals.models[0].cost_nano_usd, 500000000);
	assert_true(f->r.totals.duration_ms > 1000 && f->r.totals.duration_ms < INT64_MAX / 2);
	assert_string_equal(f->r.prompt->blocks[0]->text, "do it");
	assert_int_equal(f->r.ntool_states, 1);
	assert_string_equal(f->r.tool_states[0].json, "{\"cwd\":\"/x\"}");
	assert_string_equal(f->r.summaries[1], "a line");
	assert_null(f->r.summaries[2]);
}

/* Each would double the conversation. */
static void a_list_that_names_messages_twice(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", TEXT("Done"), "\"end_turn\"");
	history(f, "[{\"old\":[0,2]},{\"old\":[0,2]}]", "");
	assert_int_equal(take(f), -1);
	assert_non_null(strstr(f->e.msg, "run.ndjson:4: "));
}

/* None of them is a run that is to begin anew. */
static void what_no_kill_leaves(void **state)
{
	struct file *f = *state;

	fputs("a note without a line feed", f->f);
	assert_int_equal(take(f), -1);
	assert_non_null(strstr(f->e.msg, "run.ndjson:1: "));
	assert_int_equal(ftruncate(fileno(f->f), 0), 0);
	rewind(f->f);
	fputs("{\"ty", f->f);
	assert_int_equal(take(f), 0);
	assert_int_equal(ftruncate(fileno(f->f), 0), 0);
	rewind(f->f);
	line(f, SESSION,
	     "\"type\":\"result\",\"terminal_reason\":\"turn_setup_failed\",\"startup_failure_reason\":\"x\"");
	assert_int_equal(take(f), 0);
	line(f, SESSION, "\"type\":\"result\",\"terminal_reason\":\"completed\",\"resumed_result\":true");
	assert_int_equal(take(f), -1);
}

static void a_cut_result_whose_file_is_gone(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", TEXT("Done"), "\"end_turn\"");
	line(f, SESSION,
	     "\"type\":\"result\",\"terminal_reason\":\"completed\",\"result\":\"Do\",\"quern_file\":\"%s/gone\"",
	     f->dir);
	assert_int_equal(take(f), 1);
	assert_true(f->r.ended);
}

static void a_second_session_in_the_file(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", CALL("t1"), "\"tool_use\"");
	user(f, RESULT("t1", "out"), ",\"quern_state\":{}");
	ends(f, "max_turns");
	init_of(f, OTHER);
	assert_int_equal(take(f), 0); /* it came to nothing */
	line(f, OTHER,
	     "\"type\":\"system\",\"subtype\":\"quern_history\",\"messages\":[{\"role\":\"user\",\"content\":[" TEXT(
	             "else") "]}],\"prompt\":[0,1]");
	assert_int_equal(take(f), 1);
	assert_string_equal(f->r.session_id, OTHER);
	assert_string_equal(talk(f), "u:else");
	assert_int_equal(f->r.ntool_states, 0);
	assert_null(f->r.loop_state);
	assert_false(f->r.ended);
	assert_int_equal(f->r.totals.nmodels, 0);
}

/* A long conversation that stood in another file comes in pieces, and is none before the last of them. */
static void a_conversation_in_pieces(void **state)
{
	struct file *f = *state;
	static const char first[] = "[{\"role\":\"user\",\"content\":[" TEXT(
	        "do it") "]},"
	                 "{\"role\":\"assistant\",\"content\":[" CALL("t1") "]}]",
	                  second[] = "[{\"old\":[0,2]},{\"role\":\"user\",\"content\":[" RESULT("t1", "out") "]}]";

	init(f);
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_resume\",\"file\":\"other\"");
	history(f, first, ",\"more\":true");
	assert_int_equal(take(f), -1);
	assert_non_null(strstr(f->e.msg, "ended before it had told what stands there"));
	init(f); /* once more, from that other file */
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_resume\",\"file\":\"other\"");
	assert_int_equal(take(f), -1);
	history(f, first, ",\"more\":true");
	history(f, second, ",\"state\":{\"b\":2}");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:do it a:t1 u:=t1");
	assert_string_equal(f->r.loop_state, "{\"b\":2}");
}

static void what_is_taken_back(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", TEXT("I"), "null");
	unsigned first = f->uuids - 1;
	answer(f, "m1", CALL("t1"), "null");
	line(f, SESSION,
	     "\"type\":\"system\",\"subtype\":\"quern_tombstone\",\"uuids\":[\"%s\",\"%s\"],\"message_ids\":[\"m1\"],"
	     "\"usage\":{\"input_tokens\":10,\"output_tokens\":6}",
	     uuid(first), uuid(first + 1));
	answer(f, "m2", TEXT("Done"), "\"end_turn\"");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:Done");
	assert_int_equal(f->r.totals.nmodels, 1);
	assert_int_equal(f->r.totals.models[0].usage.input, 20);
	assert_int_equal(f->r.totals.models[0].usage.output, 11);
	assert_int_equal(f->r.totals.models[0].cost_nano_usd, 31);
	assert_int_equal(f->r.totals.accepted.output, 5);
}

static void what_the_whole_conversation_is_now(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", CALL("t1"), "\"tool_use\"");
	user(f, RESULT("t1", "out"), "");
	history(f, "[{\"role\":\"user\",\"content\":[{\"old\":[0,1]}," TEXT("summary") "]}]", "");
	answer(f, "m2", TEXT("Done"), "\"end_turn\"");
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:do it,summary a:Done");
	assert_true(history_has_tool_use(&f->r.history, "t1"));
	history(f, "[{\"old\":[0,7]}]", "");
	assert_int_equal(take(f), -1);
	assert_non_null(strstr(f->e.msg, "run.ndjson:7: "));
}

static void a_new_message_is_not_ended(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", TEXT("Done"), "\"end_turn\"");
	ends(f, "completed");
	user(f, TEXT("the hook says"), ",\"isSynthetic\":true"); /* of a message that is not told itself yet */
	assert_int_equal(take(f), 1);
	assert_true(f->r.ended);
	history(f, "[{\"old\":[0,2]},{\"role\":\"user\",\"content\":[" TEXT("more") "]}]", ",\"prompt\":[0,1]");
	assert_int_equal(take(f), 1);
	assert_false(f->r.ended);
	assert_null(f->r.result_line);
	assert_string_equal(f->r.prompt->blocks[0]->text, "more");
	assert_string_equal(f->r.loop_state, "{\"a\":1}");
}

static void an_old_result_that_was_given_again(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", TEXT("Done"), "\"end_turn\"");
	ends(f, "completed");
	line(f, SESSION, "\"type\":\"result\",\"terminal_reason\":\"completed\",\"resumed_result\":true");
	assert_int_equal(take(f), 1);
	assert_true(f->r.ended);
	assert_null(strstr(f->r.result_line, "resumed_result"));
}

static void what_was_paid(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", TEXT("I"), "null");
	answer(f, "m1", CALL("t1"), "\"tool_use\"");
	user(f, RESULT("t1", "out"), "");
	line(f, SESSION,
	     "\"type\":\"system\",\"subtype\":\"api_retry\",\"model\":\"m\",\"usage\":{\"input_tokens\":1,"
	     "\"output_tokens\":0}");
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"api_retry\"");
	line(f, SESSION,
	     "\"type\":\"system\",\"subtype\":\"compact_boundary\",\"quern_model\":\"c\",\"quern_usage\":{\"input_"
	     "tokens\":"
	     "100,\"output_tokens\":20}");
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"status\",\"status\":null");
	line(f, SESSION,
	     "\"type\":\"system\",\"subtype\":\"quern_summary\",\"round\":\"t1\",\"text\":\"looked\",\"model\":\"s\","
	     "\"usage\":{"
	     "\"input_tokens\":3,\"output_tokens\":2}");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.totals.runs, 1);
	assert_int_equal(f->r.totals.turns, 1);
	assert_int_equal(f->r.totals.requests, 5);
	assert_int_equal(f->r.totals.tool_calls, 1);
	assert_int_equal(f->r.totals.duration_ms, 90);
	assert_int_equal(f->r.totals.nmodels, 3);
	assert_int_equal(f->r.totals.models[0].usage.input, 10); /* the boundary tells of all that a summary took */
	assert_int_equal(f->r.totals.models[0].cost_nano_usd, 15);
	assert_int_equal(f->r.totals.models[1].cost_nano_usd, 120);
	assert_string_equal(f->r.totals.models[2].model, "s");
	assert_string_equal(f->r.summaries[0], "t1");
	assert_string_equal(f->r.summaries[1], "looked");
	assert_null(f->r.summaries[2]);
	ends(f, "max_turns"); /* knows better */
	answer(f, "m2", TEXT("Done"), "\"end_turn\"");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.totals.nmodels, 1);
	assert_int_equal(f->r.totals.models[0].usage.input, 110);
	assert_int_equal(f->r.totals.models[0].cost_nano_usd, 138);
	assert_int_equal(f->r.totals.turns, 4);
	assert_int_equal(f->r.totals.duration_ms, 80);
	assert_int_equal(f->r.totals.accepted.input, 17);
	assert_false(f->r.totals.cost_lower_bound);
}

/* An answer that broke is kept, and the next attempt shows no line. */
static void what_was_paid_for_an_answer_that_broke(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	begins(f, "t1", ",\"block\":" CALL("t1"));
	answer(f, "m1", CALL("t1"), "null");
	user(f, RESULT("t1", "out"), "");
	line(f, SESSION,
	     "\"type\":\"system\",\"subtype\":\"quern_tombstone\",\"uuids\":[],\"message_ids\":[\"m2\"],"
	     "\"usage\":{\"input_tokens\":7,\"output_tokens\":1}");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.totals.requests, 2);
	assert_int_equal(f->r.totals.models[0].usage.input, 17);
}

/* The record tells no request: it was killed before. */
static void whose_answer_was_withdrawn(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	answer(f, "m1", CALL("t1"), "\"tool_use\"");
	user(f, RESULT("t1", "out"), "");
	line(f, SESSION,
	     "\"type\":\"system\",\"subtype\":\"quern_tombstone\",\"uuids\":[],\"message_ids\":[\"m2\"],"
	     "\"model\":\"paid\",\"usage\":{\"input_tokens\":7,\"output_tokens\":1}");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.totals.nmodels, 2);
	assert_string_equal(f->r.totals.models[1].model, "paid");
	assert_int_equal(f->r.totals.models[1].usage.input, 7);
}

static void state(struct file *f, const char *members, const char *more)
{
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_history\",\"state\":{%s}%s", members, more);
}

/* Some requests have no line of their own; of one that is on its way only this is known. */
static void requests_that_lines_do_not_tell_of(void **test)
{
	struct file *f = *test;

	init(f);
	task(f);
	state(f, "\"model\":\"asked\"", ",\"sends\":true");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.totals.requests, 1);
	assert_true(f->r.totals.cost_lower_bound);
	answer(f, "m1", CALL("t1"), "\"tool_use\"");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.totals.requests, 1);
	assert_false(f->r.totals.cost_lower_bound);
	assert_string_equal(f->r.totals.models[0].model, "asked");
	state(f, "\"requests\":3", ""); /* tokens were counted */
	user(f, RESULT("t1", "out"), "");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.totals.requests, 3);
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_transition\",\"reason\":\"next_turn\"");
	init(f);
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_resume\",\"file\":\"f\"");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.totals.requests, 4);
	state(f, "\"model\":\"other\",\"requests\":2", ",\"sends\":true"); /* of this process */
	line(f, SESSION,
	     "\"type\":\"system\",\"subtype\":\"quern_tombstone\",\"uuids\":[],\"message_ids\":[\"m2\"],"
	     "\"usage\":{\"input_tokens\":7,\"output_tokens\":1}");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.totals.requests, 7);
	assert_int_equal(f->r.totals.nmodels, 2);
	assert_string_equal(f->r.totals.models[1].model, "other");
}

/* Attempts for a summary that nothing came of: the program ended before. */
static void what_was_paid_for_a_summary_that_did_not_come(void **state)
{
	struct file *f = *state;

	init(f);
	task(f);
	for (int i = 0; i < 2; i++)
		line(f, SESSION,
		     "\"type\":\"system\",\"subtype\":\"api_retry\",\"model\":\"c\",\"usage\":{\"input_tokens\":7,"
		     "\"output_tokens\":1}");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.totals.requests, 2);
	assert_int_equal(f->r.totals.nmodels, 1);
	assert_int_equal(f->r.totals.models[0].usage.input, 14);
	init(f); /* the next process, which does not come far either */
	line(f, SESSION, "\"type\":\"system\",\"subtype\":\"quern_resume\",\"file\":\"f\"");
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.totals.runs, 2);
	assert_int_equal(f->r.totals.models[0].usage.input, 14);
}

/* The line as it was, in a file of its own; what stands in the record is cut. */
static void a_cut_line_is_taken_whole(void **state)
{
	struct file *f = *state;
	char whole[160];

	init(f);
	task(f);
	snprintf(whole, sizeof whole, "%s/event.json", f->dir);
	FILE *w = fopen(whole, "w");
	assert_non_null(w);
	fprintf(w,
	        "{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"model\":\"m\",\"content\":[" TEXT(
	                "all of it") "],"
	                             "\"stop_reason\":\"end_turn\"},\"session_id\":\"" SESSION "\",\"uuid\":\"%s\"}\n",
	        uuid(f->uuids));
	fclose(w);
	line(f, SESSION,
	     "\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"model\":\"m\",\"content\":[" TEXT(
	             "all") "],\"stop_reason\":"
	                    "\"end_turn\"},\"quern_file\":\"%s\"",
	     whole);
	line(f, SESSION,
	     "\"type\":\"system\",\"subtype\":\"hook_response\",\"quern_file\":null"); /* nobody asks for it */
	assert_int_equal(take(f), 1);
	assert_string_equal(talk(f), "u:beside,do it a:all of it");
	assert_string_equal(f->r.run_dir, f->dir);
	w = fopen(whole, "w"); /* another line */
	assert_non_null(w);
	fputs("{\"type\":\"assistant\",\"uuid\":\"x\"}", w);
	fclose(w);
	assert_int_equal(take(f), -1);
	assert_non_null(strstr(f->e.msg, "run.ndjson:3: "));
	unlink(whole);
	assert_int_equal(take(f), -1);
	assert_non_null(strstr(f->e.msg, "event.json"));
}

static void a_directory_is_no_record(void **state)
{
	struct file *f = *state;

	snprintf(f->path, sizeof f->path, "%s", f->dir);
	const struct resume_source src = { f->path, cost, NULL };
	assert_int_equal(resume_read(&src, &f->r, &f->e), -1);
	assert_non_null(strstr(f->e.msg, "regular"));
}

/* ---- size ---- */

#define RESULT_BYTES 50000

/* A run of so many turns with a large result each, written anew. */
static void write_long(struct file *f, size_t turns)
{
	static char text[RESULT_BYTES + 1];
	char block[RESULT_BYTES + 200];

	memset(text, 'x', RESULT_BYTES);
	f->f = freopen(f->path, "w", f->f);
	assert_non_null(f->f);
	init(f);
	task(f);
	for (size_t i = 0; i < turns; i++) {
		snprintf(block, sizeof block, "{\"type\":\"tool_use\",\"id\":\"t%zu\",\"name\":\"Bash\",\"input\":{}}",
		         i);
		answer(f, "m", block, "\"tool_use\"");
		snprintf(block, sizeof block, "{\"type\":\"tool_result\",\"tool_use_id\":\"t%zu\",\"content\":\"%s\"}",
		         i, text);
		user(f, block, ",\"quern_state\":{\"cwd\":\"/x\"}");
	}
	fflush(f->f);
}

#ifdef __SANITIZE_ADDRESS__ /* its allocator stands in the place of the library's, whose figures are 0 */
size_t __sanitizer_get_current_allocated_bytes(void);

static size_t in_use(void)
{
	return __sanitizer_get_current_allocated_bytes();
}
#else
static size_t in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}
#endif

static size_t most;

/* Asked for each answer, while its line is being read. */
static int64_t watching_cost(void *ctx, const char *model, const struct usage *u)
{
	size_t now = in_use();

	if (now > most)
		most = now;
	return cost(ctx, model, u);
}

static void fifty_megabytes_take_little_more_than_their_conversation(void **state)
{
	struct file *f = *state;
	const struct resume_source src = { f->path, watching_cost, NULL };

	write_long(f, (50 << 20) / RESULT_BYTES);
	size_t before = in_use();
	most = 0;
	assert_int_equal(resume_read(&src, &f->r, &f->e), 1);
	assert_true(f->r.history.bytes > (size_t)50 << 20);
	assert_true(most > before && most - before < f->r.history.bytes / 2 * 3);
}

static void read_turns(void *ctx, size_t turns)
{
	struct file *f = ctx;

	write_long(f, turns);
	assert_int_equal(take(f), 1);
	assert_int_equal(f->r.ntool_states, turns);
}

static void time_grows_with_the_record(void **state)
{
	assert_true(growth_is_linear(read_turns, *state, 60));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(nothing_is_a_fresh_run),
		T(a_start_that_failed_is_a_fresh_run),
		T(what_no_run_wrote_is_refused),
		T(a_straight_run),
		T(lines_that_are_not_of_the_conversation),
		T(a_torn_last_line_is_passed_over),
		T(a_whole_last_line_without_its_end_counts),
		T(an_answer_without_its_end_is_left_out),
		T(one_that_had_effects_is_kept),
		T(a_call_whose_line_was_not_out),
		T(the_first_block_of_an_answer_may_have_begun),
		T(a_result_is_missing),
		T(a_second_run_in_the_file),
		T(a_record_that_begins_in_another_file),
		T(a_second_session_in_the_file),
		T(a_list_that_names_messages_twice),
		T(what_no_kill_leaves),
		T(a_cut_result_whose_file_is_gone),
		T(a_conversation_in_pieces),
		T(what_is_taken_back),
		T(what_the_whole_conversation_is_now),
		T(a_new_message_is_not_ended),
		T(an_old_result_that_was_given_again),
		T(what_was_paid),
		T(what_results_leave_to_be_done),
		T(the_next_answer_is_known_by_its_call),
		T(an_answer_that_was_nothing_but_thinking),
		T(overloads_since_the_state_was_told),
		T(what_is_told_in_the_middle_of_an_answer),
		T(the_answer_of_another_record),
		T(whose_answer_was_withdrawn),
		T(requests_that_lines_do_not_tell_of),
		T(what_was_paid_for_a_summary_that_did_not_come),
		T(what_was_paid_for_an_answer_that_broke),
		T(a_state_is_told_while_a_call_runs),
		T(an_answer_was_cut),
		T(words_stand_behind_a_turn_that_was_paused),
		T(the_first_line_is_a_word_of_a_hook),
		T(an_answer_was_cut_in_a_block_that_is_not_shown),
		T(a_cut_line_is_taken_whole),
		T(a_directory_is_no_record),
		T(fifty_megabytes_take_little_more_than_their_conversation),
		T(time_grows_with_the_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
