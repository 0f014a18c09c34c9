/* Calls and their hooks: real scripts, a real supervisor. */
#include "tool_world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "hook/hook.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define PRE       HOOK_PRE_TOOL_USE
#define QUESTION  HOOK_PERMISSION_REQUEST
#define POST      HOOK_POST_TOOL_USE
#define FAILURE   HOOK_POST_TOOL_USE_FAILURE

#define SAY(event, members) "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"" event "\"," members "}}'"
#define DECIDE(what)        SAY("PreToolUse", "\"permissionDecision\":\"" what "\"")
#define ANSWER(decision)    SAY("PermissionRequest", "\"decision\":{" decision "}")

static struct job_hook declared[8];
static size_t ndeclared;
static struct hooks *hooks, *older[16]; /* those live as long as the supervisor */
static size_t nolder;
static struct buf notices;

static void take_notice(void *ctx, const char *code, const char *text)
{
	(void)ctx;
	buf_addf(&notices, "%s: %s\n", code, text);
}

static int emit(void *ctx, struct event *ev, struct error *e)
{
	(void)ctx, (void)ev, (void)e;
	return 0;
}

static bool meets(void *ctx, const char *rule, const struct hook_call *call)
{
	struct tool_world *w = ctx;

	return toolbox_meets(w->toolbox, rule, call->tool_name, call->tool_input);
}

static struct job_hook *hook(enum hook_event event, const char *command)
{
	assert_true(ndeclared < LENGTH(declared));
	declared[ndeclared] =
	        (struct job_hook){ .event = event, .command = command, .source = "job", .timeout_ms = 20000 };
	return &declared[ndeclared++];
}

/* With what was declared since the last time. */
static void begin(struct tool_world *w)
{
	const struct hooks_config cfg = { .v = declared,
		                          .n = ndeclared,
		                          .supervisor = w->supervisor,
		                          .reactor = w->reactor,
		                          .run_dir = w->kept,
		                          .project_dir = w->work,
		                          .env = w->cfg.child_env,
		                          .session_id = "s",
		                          .permission_mode = "default",
		                          .transcript_path = "",
		                          .meets = meets,
		                          .emit = emit,
		                          .mask = w->cfg.mask,
		                          .ctx = w };
	struct error e = ERROR_INIT;

	assert_true(nolder < LENGTH(older));
	older[nolder++] = hooks;
	hooks = hooks_open(&cfg, &e);
	if (!hooks)
		fail_msg("%s", e.msg);
	w->cfg.hooks = hooks;
	w->cfg.notice = take_notice;
	tool_world_reopen(w);
	ndeclared = 0;
	buf_clear(&notices);
}

static void default_mode(struct tool_world *w, const char *const *allow, const char *const *ask,
                         const char *const *deny)
{
	w->rules.mode = MODE_DEFAULT;
	w->rules.allow = allow;
	w->rules.ask = ask;
	w->rules.deny = deny;
}

/* What a hook left in a file of the workspace, "" if there is none. */
static const char *left(const struct tool_world *w, const char *name)
{
	static char text[8192];
	struct buf b = BUF_INIT(BUF_HUGE);
	struct error e = ERROR_INIT;
	char path[600];

	snprintf(path, sizeof path, "%s/%s", w->work, name);
	int rc = io_read_file(AT_FDCWD, path, &b, &e);
	snprintf(text, sizeof text, "%s", rc < 0 ? "" : buf_str(&b));
	buf_release(&b);
	unlink(path);
	return text;
}

static void denied(const struct tool_world *w, const char *reason)
{
	assert_true(w->result.denied && w->result.is_error && !w->result.ran);
	assert_string_equal(w->result.denied_reason, reason);
}

static void what_hooks_see(void **state)
{
	struct tool_world *w = *state;
	char want[700];

	tool_world_sh(w, "mkdir sub; echo one >sub/f; ln -s sub link");
	hook(PRE, "cat >pre");
	hook(POST, "cat >post");
	hook(FAILURE, "cat >failure");
	begin(w);
	assert_contains(tool_world_call(w, "Read", "{\"limit\":5, \"file_path\":\"sub//./f\"}"), "one");
	snprintf(want, sizeof want,
	         "\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Read\",\"tool_input\":{\"limit\":5,\"file_path\":"
	         "\"%s/sub/f\"},\"tool_use_id\":\"toolu_1\"",
	         w->work);
	assert_contains(left(w, "pre"), want);
	const char *post = left(w, "post");
	snprintf(want, sizeof want,
	         "\"tool_input\":{\"limit\":5,\"file_path\":\"%s/sub/f\"},\"tool_use_id\":\"toolu_1\","
	         "\"tool_response\":{\"type\":\"text\"",
	         w->work);
	assert_contains(post, want);
	assert_contains(post, "\"duration_ms\":");
	assert_string_equal(left(w, "failure"), "");
	assert_null(w->result.context);
	assert_null(w->result.ends_run);
	/* `..` behind a link leads elsewhere than its text says */
	tool_world_call(w, "Read", "{\"file_path\":\"link/../sub/f\"}");
	snprintf(want, sizeof want, "\"file_path\":\"%s/sub/f\"", w->work);
	assert_contains(left(w, "pre"), want);
	/* no path, no change */
	tool_world_call(w, "Grep", "{\"pattern\":\"on.\",  \"output_mode\":\"content\"}");
	assert_contains(left(w, "pre"), "\"tool_input\":{\"pattern\":\"on.\",  \"output_mode\":\"content\"}");
	left(w, "post");
	/* a failure */
	tool_world_call(w, "Bash", "{\"command\":\"echo out; exit 3\"}");
	assert_contains(left(w, "pre"), "\"tool_input\":{\"command\":\"echo out; exit 3\"}");
	const char *failure = left(w, "failure");
	assert_contains(failure, "\"error\":\"Exit code 3\\nout\\n\",\"is_interrupt\":false,\"duration_ms\":");
	assert_string_equal(left(w, "post"), "");
	/* one of the model's own making, without its mark */
	tool_world_call(w, "Read", "{\"file_path\":\"none\"}");
	assert_contains(left(w, "failure"), "\"error\":\"File does not exist");
	left(w, "pre");
	/* an input that cannot be used is nobody's business */
	tool_world_call(w, "Read", "{\"path\":\"sub/f\"}");
	assert_true(w->result.invalid);
	assert_string_equal(left(w, "pre"), "");
	assert_string_equal(left(w, "failure"), "");
	/* a tool that needs no child is asked about as any other */
	tool_world_call(w, "TodoWrite", "{\"todos\":[]}");
	assert_contains(left(w, "pre"), "TodoWrite");
	assert_contains(left(w, "post"), "\"tool_response\":{\"oldTodos\":[]");
}

static void a_denial(void **state)
{
	static const struct {
		const char *command, *says;
	} rows[] = {
		{ "echo 'rm is canary-key' >&2; exit 2", "denied by a hook: rm is [secret].." },
		{ "exit 2", "has been denied by a hook" },
		{ SAY("PreToolUse", "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"not here\""),
		  "by a hook: not here" },
		{ "echo '{\"decision\":\"block\",\"reason\":\"old form\"}'", "by a hook: old form" },
		{ DECIDE("allow") "; echo no >&2; exit 2", "by a hook: no" },
	};
	struct tool_world *w = *state;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		hook(PRE, rows[i].command);
		hook(PRE, DECIDE("allow"));
		hook(POST, "cat >post");
		hook(FAILURE, "cat >failure");
		begin(w);
		assert_contains(tool_world_call(w, "Bash", "{\"command\":\"touch ran\"}"), rows[i].says);
		denied(w, "hook");
		tool_world_sh(w, "test ! -e ran -a ! -e post -a ! -e failure");
	}
}

static void an_allow_lifts_the_question_alone(void **state)
{
	static const char *const make[] = { "Bash(make *)", NULL }, *const edits[] = { "Edit(kept/**)", NULL };
	struct tool_world *w = *state;

	default_mode(w, NULL, make, edits);
	hook(PRE, DECIDE("allow"));
	begin(w);
	tool_world_call(w, "Bash", "{\"command\":\"touch ran\"}");
	assert_true(w->result.ran && !w->result.is_error);
	tool_world_call(w, "Write", "{\"file_path\":\"new\",\"content\":\"x\"}");
	tool_world_expect(w, "new", "x", 1);
	tool_world_call(w, "Bash", "{\"command\":\"make all\"}");
	denied(w, "rule");
	tool_world_call(w, "Write", "{\"file_path\":\"kept/x\",\"content\":\"x\"}");
	denied(w, "rule");
	tool_world_call(w, "Bash", "{\"command\":\"rm -rf /\"}");
	denied(w, "safetyCheck");
	tool_world_call(w, "Write", "{\"file_path\":\".git/config\",\"content\":\"x\"}");
	denied(w, "safetyCheck");
	/* the file system's borders stand: it may read what it was allowed to, and writes nothing outside */
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"/etc/passwd\"}"), "root");
	char path[400];
	snprintf(path, sizeof path, "%s/outside", w->dir);
	tool_world_call(w, "Write", "{\"file_path\":\"%s\",\"content\":\"x\"}", path);
	assert_true(w->result.denied && w->result.is_error);
	assert_string_equal(w->result.denied_reason, "path");
	assert_int_equal(access(path, F_OK), -1);
	w->rules.mode = MODE_PLAN;
	hook(PRE, DECIDE("allow"));
	hook(QUESTION, ANSWER("\"behavior\":\"allow\""));
	begin(w);
	tool_world_call(w, "Write", "{\"file_path\":\"new\",\"content\":\"y\"}");
	denied(w, "mode");
	tool_world_call(w, "Bash", "{\"command\":\"touch more\"}");
	denied(w, "command");
}

static void somebody_is_asked(void **state)
{
	static const char *const allow[] = { "Bash(touch *)", NULL }, *const deny[] = { "Bash(rm *)", NULL };
	struct tool_world *w = *state;

	/* a hook in doubt, nobody to ask */
	default_mode(w, allow, NULL, deny);
	hook(PRE, SAY("PreToolUse", "\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"sure?\""));
	begin(w);
	assert_contains(tool_world_call(w, "Bash", "{\"command\":\"touch ran\"}"), "nobody is there: sure?");
	denied(w, "hook");
	/* somebody says yes: to that, and to what no rule allows; never to what is denied */
	hook(PRE, DECIDE("ask"));
	hook(QUESTION, "cat >question; " ANSWER("\"behavior\":\"allow\""));
	begin(w);
	tool_world_call(w, "Bash", "{\"command\":\"touch ran\"}");
	assert_true(w->result.ran && !w->result.is_error);
	const char *question = left(w, "question");
	assert_contains(question, "\"tool_input\":{\"command\":\"touch ran\"},\"permission_suggestions\":[]");
	assert_null(strstr(question, "tool_use_id"));
	tool_world_call(w, "Bash", "{\"command\":\"mkdir made\"}");
	assert_true(w->result.ran && !w->result.is_error);
	left(w, "question");
	tool_world_call(w, "Bash", "{\"command\":\"rm ran\"}");
	denied(w, "rule");
	assert_string_equal(left(w, "question"), "");
	/* no */
	hook(QUESTION, ANSWER("\"behavior\":\"deny\",\"message\":\"ask me later\""));
	begin(w);
	assert_contains(tool_world_call(w, "Bash", "{\"command\":\"mkdir x\"}"), "by a hook: ask me later");
	denied(w, "hook");
	assert_null(w->result.ends_run);
	hook(QUESTION, ANSWER("\"behavior\":\"deny\",\"message\":\"stop it\",\"interrupt\":true"));
	begin(w);
	tool_world_call(w, "Bash", "{\"command\":\"mkdir x\"}");
	denied(w, "hook");
	assert_string_equal(w->result.ends_run, "stop it");
	/* nothing: the denial stands; and who is not in doubt is not asked about */
	hook(QUESTION, "cat >question");
	begin(w);
	tool_world_call(w, "Bash", "{\"command\":\"mkdir x\"}");
	denied(w, "command");
	assert_contains(left(w, "question"), "mkdir x");
	tool_world_call(w, "Bash", "{\"command\":\"touch ran\"}");
	assert_string_equal(left(w, "question"), "");
	/* with another input, which is judged in its turn */
	hook(QUESTION, ANSWER("\"behavior\":\"allow\",\"updatedInput\":{\"command\":\"echo other\"}"));
	begin(w);
	assert_string_equal(tool_world_call(w, "Bash", "{\"command\":\"mkdir x\"}"), "other\n");
	hook(QUESTION, ANSWER("\"behavior\":\"allow\",\"updatedInput\":{\"command\":\"rm ran\"}"));
	begin(w);
	tool_world_call(w, "Bash", "{\"command\":\"mkdir x\"}");
	denied(w, "rule");
	/* in dontAsk every question is a denial */
	w->rules.mode = MODE_DONT_ASK;
	hook(QUESTION, ANSWER("\"behavior\":\"allow\""));
	begin(w);
	tool_world_call(w, "Bash", "{\"command\":\"mkdir x\"}");
	denied(w, "command");
}

static void another_input(void **state)
{
	static const char *const deny[] = { "Bash(rm *)", NULL };
	struct tool_world *w = *state;

	w->rules.deny = deny;
	hook(PRE, SAY("PreToolUse", "\"updatedInput\":{\"command\":\"echo other\"}"));
	hook(POST, "cat >post");
	begin(w);
	assert_string_equal(tool_world_call(w, "Bash", "{\"command\":\"echo one\"}"), "other\n");
	assert_contains(left(w, "post"), "\"tool_input\":{\"command\":\"echo other\"}");
	assert_contains(buf_str(&notices), "hook_input: a PreToolUse hook replaced the input of Bash (toolu_1): "
	                                   "{\"command\":\"echo other\"}");
	hook(PRE, SAY("PreToolUse", "\"permissionDecision\":\"allow\",\"updatedInput\":{\"command\":\"rm x\"}"));
	begin(w);
	tool_world_call(w, "Bash", "{\"command\":\"echo one\"}");
	denied(w, "rule");
	hook(PRE, SAY("PreToolUse", "\"updatedInput\":{\"cmd\":\"rm x\"}"));
	hook(FAILURE, "cat >failure");
	begin(w);
	assert_contains(
	        tool_world_call(w, "Bash", "{\"command\":\"echo one\"}"),
	        "a PreToolUse hook replaced the input of Bash by one that cannot be used: InputValidationError");
	assert_true(w->result.is_error && !w->result.invalid && !w->result.denied && !w->result.ran);
	assert_string_equal(left(w, "failure"), "");
	/* paths are absolute again */
	hook(PRE, SAY("PreToolUse", "\"updatedInput\":{\"file_path\":\"a\",\"content\":\"x\"}"));
	hook(POST, "cat >post");
	begin(w);
	tool_world_call(w, "Write", "{\"file_path\":\"b\",\"content\":\"y\"}");
	tool_world_expect(w, "a", "x", 1);
	char want[400];
	snprintf(want, sizeof want, "\"tool_input\":{\"file_path\":\"%s/a\",\"content\":\"x\"}", w->work);
	assert_contains(left(w, "post"), want);
}

static void another_output(void **state)
{
	static const struct {
		const char *output, *tool, *input, *text; /* NULL: it stays as it is, and that is told */
	} rows[] = {
		{ "\"short\"", "Bash", "{\"command\":\"echo long\"}", "short" },
		{ "\"canary-key\"", "Bash", "{\"command\":\"echo long\"}", "[secret].." },
		{ "{\"stdout\":\"o\",\"stderr\":\"e\"}", "Bash", "{\"command\":\"echo long\"}", "oe" },
		{ "{\"type\":\"text\",\"file\":{\"content\":\"mine\"}}", "Read", "{\"file_path\":\"f\"}", "mine" },
		{ "{\"output\":\"o\"}", "Bash", "{\"command\":\"echo long\"}", NULL },
		{ "{\"content\":\"o\"}", "Write", "{\"file_path\":\"g\",\"content\":\"x\"}", NULL },
		{ "[1]", "Bash", "{\"command\":\"echo long\"}", NULL },
	};
	struct tool_world *w = *state;
	char command[300];

	tool_world_put(w, "f", "long\n", 5);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		snprintf(command, sizeof command, SAY("PostToolUse", "\"updatedToolOutput\":%s"), rows[i].output);
		hook(POST, command);
		begin(w);
		const char *text = tool_world_call(w, rows[i].tool, "%s", rows[i].input);
		assert_false(w->result.is_error);
		if (rows[i].text) {
			assert_string_equal(text, rows[i].text);
			assert_string_equal(buf_str(&notices), "");
			if (rows[i].output[0] == '{')
				assert_string_equal(w->result.structured, rows[i].output);
		} else {
			assert_non_null(strstr(text, rows[i].tool[0] == 'B' ? "long\n" : "created"));
			assert_contains(buf_str(&notices), "hook_output: a PostToolUse hook's updatedToolOutput");
		}
	}
}

static void what_is_said_beside(void **state)
{
	struct tool_world *w = *state;

	hook(PRE, SAY("PreToolUse", "\"additionalContext\":\"before\""));
	hook(POST, SAY("PostToolUse", "\"additionalContext\":\"after\""));
	hook(POST, "echo mend it >&2; exit 2");
	hook(FAILURE, "echo '{\"decision\":\"block\",\"reason\":\"no wonder\"}'");
	begin(w);
	assert_string_equal(tool_world_call(w, "Bash", "{\"command\":\"echo one\"}"), "one\n");
	assert_false(w->result.is_error);
	assert_string_equal(w->result.context, "PreToolUse: before\nPostToolUse: after\nPostToolUse: mend it");
	tool_world_call(w, "Bash", "{\"command\":\"false\"}");
	assert_string_equal(w->result.context, "PreToolUse: before\nPostToolUseFailure: no wonder");
	assert_true(w->result.cancels_siblings);
}

static void the_run_is_ended(void **state)
{
	struct tool_world *w = *state;

	hook(PRE, "echo '{\"continue\":false,\"stopReason\":\"enough\"}'");
	hook(PRE, DECIDE("allow"));
	begin(w);
	assert_contains(tool_world_call(w, "Bash", "{\"command\":\"touch ran\"}"), "Not run: a hook ended the run");
	assert_string_equal(w->result.ends_run, "enough");
	assert_true(w->result.is_error && !w->result.ran && !w->result.denied);
	tool_world_sh(w, "test ! -e ran");
	hook(POST, "echo '{\"continue\":false}'");
	begin(w);
	assert_string_equal(tool_world_call(w, "Bash", "{\"command\":\"echo ran\"}"), "ran\n");
	assert_string_equal(w->result.ends_run, "no reason was given");
}

/* ---- cancelling ---- */

static void cancel(struct tool_world *w, int64_t grace_ms)
{
	char id[32];

	snprintf(id, sizeof id, "toolu_%d", w->calls);
	toolbox_cancel(w->toolbox, id, grace_ms);
}

static void wait_for_file(struct tool_world *w, const char *name)
{
	struct error e = ERROR_INIT;
	char path[600];

	snprintf(path, sizeof path, "%s/%s", w->work, name);
	for (int i = 0; i < 3000 && access(path, F_OK) != 0; i++)
		assert_true(reactor_wait(w->reactor, clock_mono_ms() + 10, &e) >= 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_false(w->done);
	unlink(path);
}

#define HANG "touch asked; exec sleep 300"

static void a_cancel_while_hooks_are_asked(void **state)
{
	static const enum hook_event events[] = { PRE, QUESTION };
	struct tool_world *w = *state;

	default_mode(w, NULL, NULL, NULL);
	for (size_t i = 0; i < LENGTH(events); i++) {
		hook(events[i], HANG);
		hook(FAILURE, "cat >failure");
		begin(w);
		assert_true(tool_world_start(w, "Bash", "{\"command\":\"touch ran\"}"));
		wait_for_file(w, "asked");
		cancel(w, 100);
		cancel(w, 0);
		assert_false(w->done); /* it is told as all else is: from the reactor */
		assert_contains(tool_world_wait(w), "[Request interrupted by user for tool use]");
		assert_true(w->result.is_error && !w->result.ran && !w->result.denied);
		assert_string_equal(left(w, "failure"), "");
		tool_world_sh(w, "test ! -e ran");
	}
}

static void a_cancel_while_the_tool_runs(void **state)
{
	struct tool_world *w = *state;

	hook(FAILURE, "cat >failure; echo told >&2; exit 2");
	begin(w);
	assert_true(tool_world_start(w, "Bash", "{\"command\":\"touch begun; exec sleep 300\"}"));
	wait_for_file(w, "begun");
	cancel(w, 20000);
	assert_contains(tool_world_wait(w), "[Request interrupted by user for tool use]");
	assert_true(w->result.ran);
	assert_string_equal(w->result.context, "PostToolUseFailure: told");
	assert_contains(left(w, "failure"), "\"is_interrupt\":true");
	/* those who are told do not hold up the end */
	hook(FAILURE, HANG);
	begin(w);
	assert_true(tool_world_start(w, "Bash", "{\"command\":\"touch begun; exec sleep 300\"}"));
	wait_for_file(w, "begun");
	cancel(w, 500);
	assert_contains(tool_world_wait(w), "[Request interrupted by user for tool use]");
}

static void a_cancel_when_the_tool_is_done(void **state)
{
	struct tool_world *w = *state;

	hook(POST, HANG);
	begin(w);
	assert_true(tool_world_start(w, "Bash", "{\"command\":\"echo one\"}"));
	wait_for_file(w, "asked");
	cancel(w, 0);
	assert_string_equal(tool_world_wait(w), "one\n");
	assert_true(w->result.ran);
}

static void a_run_that_ends_meanwhile(void **state)
{
	struct tool_world *w = *state;

	hook(PRE, HANG);
	begin(w);
	assert_true(tool_world_start(w, "Bash", "{\"command\":\"echo one\"}"));
	wait_for_file(w, "asked");
	/* the teardown ends it */
}

/* ---- the rest ---- */

static void a_command_in_the_background(void **state)
{
	struct tool_world *w = *state;

	hook(POST, "cat >post");
	begin(w);
	tool_world_call(w, "Bash", "{\"command\":\"sleep 300\",\"run_in_background\":true}");
	assert_contains(w->result.text, "bash_1");
	assert_contains(left(w, "post"), "\"backgroundTaskId\":\"bash_1\"");
}

static void who_is_asked(void **state)
{
	struct tool_world *w = *state;

	hook(PRE, "touch asked")->if_rule = "Bash(git push *)";
	hook(PRE, "exit 2")->matcher = "Write|Edit";
	begin(w);
	tool_world_call(w, "Bash", "{\"command\":\"git status\"}");
	tool_world_sh(w, "test ! -e asked");
	tool_world_call(w, "Bash", "{\"command\":\"cd . && git push\"}");
	tool_world_sh(w, "rm asked");
	tool_world_call(w, "Write", "{\"file_path\":\"x\",\"content\":\"\"}");
	denied(w, "hook");
	assert_true(toolbox_meets(w->toolbox, "Read(f*)", "Read", "{\"file_path\":\"f1\"}"));
	assert_false(toolbox_meets(w->toolbox, "Read(f*)", "Read", "{\"file_path\":\"g1\"}"));
	assert_true(toolbox_meets(w->toolbox, "Nobody", "Nobody", "{}"));
}

static bool is_offered(const struct tool_world *w, const char *name)
{
	for (const char *const *v = toolbox_offered(w->toolbox); *v; v++)
		if (strcmp(*v, name) == 0)
			return true;
	return false;
}

static void what_hooks_could_allow_is_offered(void **state)
{
	static const char *const write[] = { "Write", NULL };
	struct tool_world *w = *state;

	default_mode(w, NULL, NULL, NULL);
	hook(POST, "true");
	hook(PRE, "true")->async = true;
	hook(PRE, "true")->matcher = "Bash";
	begin(w);
	assert_false(is_offered(w, "Write"));
	hook(PRE, "true")->matcher = "Write";
	begin(w);
	assert_true(is_offered(w, "Write"));
	assert_false(is_offered(w, "Edit"));
	hook(QUESTION, "true");
	begin(w);
	assert_true(is_offered(w, "Write") && is_offered(w, "Edit"));
	default_mode(w, NULL, write, NULL);
	hook(PRE, "true");
	begin(w);
	assert_false(is_offered(w, "Write")); /* the rule asks, and no allow lifts that */
	assert_true(is_offered(w, "Edit"));
	w->rules.mode = MODE_PLAN;
	hook(PRE, "true");
	hook(QUESTION, "true");
	begin(w);
	assert_false(is_offered(w, "Edit"));
}

static void on_answer(void *ctx, const struct hook_answer *a)
{
	(void)a;
	*(bool *)ctx = true;
}

/* A session starts: its hooks leave `text` for the environment of commands. */
static void start_session(struct tool_world *w, const char *text)
{
	const struct hook_call call = { .kind = HOOK_SESSION_START, .source = "startup" };
	struct error e = ERROR_INIT;
	bool answered = false;

	tool_world_put(w, "text", text, strlen(text));
	hook(HOOK_SESSION_START, "cat text >>\"$CLAUDE_ENV_FILE\"");
	begin(w);
	assert_int_equal(hooks_ask(hooks, &call, on_answer, &answered, &e), 1);
	while (!answered)
		assert_true(reactor_wait(w->reactor, CLOCK_NEVER, &e) >= 0);
}

static void what_a_session_left_for_commands(void **state)
{
	struct tool_world *w = *state;

	start_session(w, "export K='a b'\n");
	assert_string_equal(tool_world_call(w, "Bash", "{\"command\":\"echo \\\"$K\\\"; trap\"}"), "a b\n");
	assert_string_equal(tool_world_call(w, "Bash", "{\"command\":\"K=c; exit 4\"}"), "Exit code 4\n");
	assert_contains(tool_world_call(w, "Bash", "{\"command\":\"nosuchcommand\"}"), "line 1: nosuchcommand");
	/* broken: it is told, and the command runs */
	start_session(w, "export K=d\nif then\n");
	const char *text = tool_world_call(w, "Bash", "{\"command\":\"echo run $K\"}");
	assert_contains(text, "syntax error");
	assert_contains(text, "run d\n");
	/* or nobody takes its end for the command's */
	start_session(w, "exit 0\n");
	assert_contains(tool_world_call(w, "Bash", "{\"command\":\"echo run\"}"),
	                "(CLAUDE_ENV_FILE) ended the shell before the command");
	start_session(w, "sleep 300\n");
	assert_contains(tool_world_call(w, "Bash", "{\"command\":\"echo run\",\"timeout\":300}"),
	                "(CLAUDE_ENV_FILE) ended the shell before the command");
}

static int setup(void **state)
{
	buf_init(&notices, BUF_HUGE);
	ndeclared = 0;
	return tool_world_setup(state);
}

static int teardown(void **state)
{
	int rc = tool_world_teardown(state);

	while (nolder)
		hooks_free(older[--nolder]);
	hooks_free(hooks);
	hooks = NULL;
	buf_release(&notices);
	return rc;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_hooks_see),
		TEST(a_denial),
		TEST(an_allow_lifts_the_question_alone),
		TEST(somebody_is_asked),
		TEST(another_input),
		TEST(another_output),
		TEST(what_is_said_beside),
		TEST(the_run_is_ended),
		TEST(a_cancel_while_hooks_are_asked),
		TEST(a_cancel_while_the_tool_runs),
		TEST(a_cancel_when_the_tool_is_done),
		TEST(a_run_that_ends_meanwhile),
		TEST(a_command_in_the_background),
		TEST(who_is_asked),
		TEST(what_hooks_could_allow_is_offered),
		TEST(what_a_session_left_for_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
