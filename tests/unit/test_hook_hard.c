/* Hooks that misbehave, several at once, and those that nobody waits for: nothing is left, and nothing is held up. */
#include "hook_world.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- several at once ---- */

/* The first declared ends last: it waits for the other two. */
static void merged_in_order_of_declaration(void **state)
{
	struct hook_world *w = *state;
	const struct hook_call call = hook_world_call(HOOK_USER_PROMPT_SUBMIT);

	hook_world_add(w, HOOK_USER_PROMPT_SUBMIT, "while [ ! -e b ] || [ ! -e c ]; do sleep 0.01; done; echo one");
	hook_world_add(w, HOOK_USER_PROMPT_SUBMIT, "touch b; echo two");
	hook_world_add(w, HOOK_USER_PROMPT_SUBMIT,
	               "touch c; echo '{\"hookSpecificOutput\":{\"hookEventName\":\"UserPromptSubmit\","
	               "\"additionalContext\":\"three\"}}'");
	assert_int_equal(hook_world_ask(w, &call), 1);
	assert_string_equal(w->answer.context, "one\n\ntwo\n\nthree");
	assert_int_equal(w->answer.verdict, HOOK_SAYS_PASS);
}

static const char *say_permit(const char *decision, char *out, size_t n)
{
	snprintf(out, n,
	         "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"%s\","
	         "\"permissionDecisionReason\":\"%s it\",\"updatedInput\":{\"by\":\"%s\"}}}'",
	         decision, decision, decision);
	return out;
}

/* deny > defer > ask > allow, in whatever order they were declared; an end is apart from that. */
static void the_weightiest_word_holds(void **state)
{
	static const char *const words[] = { "allow", "ask", "defer", "deny" };
	static const enum hook_permit permits[] = { HOOK_ALLOWS, HOOK_ASKS, HOOK_DENIES, HOOK_DENIES };
	static const char *const texts[] = {
		"allow it", "ask it",
		"a hook deferred this call, and nobody is there who could decide it later: "
		"defer it",
		"deny it"
	};
	struct hook_world *w = *state;
	const struct hook_call call = hook_world_call(HOOK_PRE_TOOL_USE);
	char a[400], b[400];

	for (size_t i = 0; i < 4; i++) {
		for (size_t j = 0; j < 4; j++) {
			size_t top = i > j ? i : j;
			if (i == j)
				continue;
			hook_world_clear(w);
			hook_world_add(w, HOOK_PRE_TOOL_USE, say_permit(words[i], a, sizeof a));
			hook_world_add(w, HOOK_PRE_TOOL_USE, say_permit(words[j], b, sizeof b));
			assert_int_equal(hook_world_ask(w, &call), 1);
			assert_int_equal(w->answer.permit, permits[top]);
			assert_string_equal(w->answer.permit_text, texts[top]);
			if (permits[top] == HOOK_DENIES)
				assert_null(w->answer.new_input);
			else
				assert_contains(w->answer.new_input, words[j]); /* of the last declared */
		}
	}
	hook_world_clear(w);
	hook_world_add(w, HOOK_STOP, "echo block >&2; exit 2");
	hook_world_add(w, HOOK_STOP, "echo '{\"continue\":false,\"stopReason\":\"over\"}'");
	hook_world_add(w, HOOK_STOP, "echo again >&2; exit 2");
	const struct hook_call stop = hook_world_call(HOOK_STOP);
	assert_int_equal(hook_world_ask(w, &stop), 1);
	assert_int_equal(w->answer.verdict, HOOK_SAYS_END);
	assert_string_equal(w->answer.text, "over");
	w->cfg.n = 0;
	hook_world_add(w, HOOK_STOP, "echo block >&2; exit 2");
	hook_world_add(w, HOOK_STOP, "exit 0");
	hook_world_add(w, HOOK_STOP, "echo again >&2; exit 2");
	assert_int_equal(hook_world_ask(w, &stop), 1);
	assert_int_equal(w->answer.verdict, HOOK_SAYS_BLOCK);
	assert_string_equal(w->answer.text, "block\nagain");
}

/* ---- out of bounds ---- */

/* Whether one of the processes is, whose numbers are the lines of a file. */
static bool alive(struct hook_world *w, const char *pid_file)
{
	char *text = hook_world_get(w, pid_file), *at = text;
	bool found = false;

	do {
		pid_t pid = (pid_t)strtol(at, &at, 10);
		assert_true(pid > 1);
		found = found || kill(pid, 0) == 0 || errno != ESRCH;
	} while (*at == '\n' && at[1]);
	free(text);
	return found;
}

static void wait_gone(struct hook_world *w, const char *pid_file)
{
	int64_t patience = clock_mono_ms() + 20000;

	while (alive(w, pid_file) && clock_mono_ms() < patience)
		reactor_wait(w->reactor, clock_mono_ms() + 5, NULL);
	assert_false(alive(w, pid_file));
}

static void timeout_ends_the_tree(void **state)
{
	struct hook_world *w = *state;
	const struct hook_call call = hook_world_call(HOOK_STOP);

	struct job_hook *hook = hook_world_add(
	        w, HOOK_STOP,
	        "trap '' TERM; (trap '' TERM; echo $$ > a; exec sleep 300) & echo $! > b; wait; sleep 300");
	hook->timeout_ms = 900; /* for a busy machine to get as far as the sleeps */
	hook->blocks = true;
	assert_int_equal(hook_world_ask(w, &call), 1);
	assert_int_equal(w->answer.verdict, HOOK_SAYS_END);
	assert_contains(w->answer.text, "took longer than 900 ms and was ended");
	assert_contains(buf_str(&w->events), "response Stop cancelled -1 took longer than 900 ms and was ended|");
	wait_gone(w, "a");
	wait_gone(w, "b");
}

/* What a hook that runs into its timeout printed is not heard. */
static void timeout_drops_output(void **state)
{
	struct hook_world *w = *state;
	const struct hook_call call = hook_world_call(HOOK_STOP);

	hook_world_add(w, HOOK_STOP, "echo '{\"decision\":\"block\",\"reason\":\"r\"}'; sleep 300")->timeout_ms = 200;
	assert_int_equal(hook_world_ask(w, &call), 1);
	assert_int_equal(w->answer.verdict, HOOK_SAYS_PASS);
	assert_null(w->answer.text);
}

static void daemons_hold_nothing_up(void **state)
{
	struct hook_world *w = *state;
	const struct hook_answer *a = hook_world_one(w, HOOK_STOP, "sleep 300 & echo $! > pid; echo no >&2; exit 2");

	assert_string_equal(a->text, "no");
	assert_true(alive(w, "pid"));
	assert_int_equal(supervisor_stop(w->supervisor, 100), 0);
	w->supervisor = NULL;
	assert_false(alive(w, "pid"));
}

static void large_input_is_read_or_not(void **state)
{
	struct hook_world *w = *state;
	struct hook_call call = hook_world_call(HOOK_PRE_TOOL_USE);
	size_t n = (size_t)2 << 20;
	char *input = malloc(n + 20);

	assert_non_null(input);
	memcpy(input, "{\"content\":\"", 12);
	memset(input + 12, 'x', n);
	memcpy(input + 12 + n, "\"}", 3);
	call.tool_input = input;
	hook_world_add(w, HOOK_PRE_TOOL_USE, "wc -c >&2; exit 2");
	hook_world_add(w, HOOK_PRE_TOOL_USE, "echo unread >&2; exit 2");
	hook_world_add(w, HOOK_PRE_TOOL_USE, "exec 0<&-; echo closed >&2; exit 2");
	hook_world_add(w, HOOK_PRE_TOOL_USE, "head -c 10 >&2; exit 2");
	assert_int_equal(hook_world_ask(w, &call), 1);
	assert_true(strtol(w->answer.permit_text, NULL, 10) > (long)n);
	assert_contains(w->answer.permit_text, "\nunread\nclosed\n{\"session_");
	free(input);
}

static void floods_are_bounded(void **state)
{
	struct hook_world *w = *state;
	char path[500];
	struct stat st;

	hook_world_one(w, HOOK_STOP, "head -c 20000000 /dev/zero | tr '\\0' x; head -c 20000000 /dev/zero >&2; exit 2");
	assert_int_equal(w->answer.verdict, HOOK_SAYS_BLOCK);
	assert_true(strlen(w->answer.text) < 10000);
	assert_true(w->events.len < 100000);
	hook_world_one(w, HOOK_STOP,
	               "printf '{\"decision\":\"block\",\"reason\":\"'; head -c 9000000 /dev/zero | tr '\\0' x; "
	               "printf '\"}'");
	assert_int_equal(w->answer.verdict, HOOK_SAYS_PASS);
	assert_contains(buf_str(&w->events), "gave JSON that cannot be used: it is longer than ");
	/* up to there it is heard whole: 10,000 characters are not too long, one more is told by its file */
	hook_world_one(w, HOOK_USER_PROMPT_SUBMIT,
	               "head -c 9998 /dev/zero | tr '\\0' x; printf '\\303\\244\\303\\244'");
	assert_int_equal(strlen(w->answer.context), 10002);
	hook_world_one(w, HOOK_USER_PROMPT_SUBMIT, "echo canary-key; head -c 10000 /dev/zero | tr '\\0' x");
	assert_true(strlen(w->answer.context) < 2400);
	assert_contains(w->answer.context, "\n[... 10011 bytes in all; the whole text is in ");
	const char *at = strstr(w->answer.context, w->run);
	assert_non_null(at);
	snprintf(path, sizeof path, "%.*s", (int)strcspn(at, "]"), at);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 10011);
	snprintf(path, sizeof path, "grep -rq canary-key '%s'", w->run);
	assert_int_not_equal(system(path), 0);
	/* what was not kept is not said to be there */
	hook_world_one(w, HOOK_USER_PROMPT_SUBMIT, "head -c 9000000 /dev/zero | tr '\\0' x");
	assert_contains(w->answer.context, "\n[... 9000000 bytes in all; the beginning is in ");
	w->cfg.store = NULL;
	hook_world_one(w, HOOK_USER_PROMPT_SUBMIT, "head -c 10001 /dev/zero | tr '\\0' x");
	assert_contains(w->answer.context, "xx\n[... cut: 10001 bytes in all]");
}

static void secrets_are_masked(void **state)
{
	struct hook_world *w = *state;

	hook_world_one(w, HOOK_PRE_TOOL_USE,
	               "echo '{\"systemMessage\":\"m canary-key\",\"hookSpecificOutput\":{\"hookEventName\":"
	               "\"PreToolUse\",\"permissionDecision\":\"allow\",\"permissionDecisionReason\":\"p canary-key\","
	               "\"additionalContext\":\"c canary-key\",\"updatedInput\":{\"k\":\"canary-key\"}}}'");
	assert_string_equal(w->answer.permit_text, "p [secret]..");
	assert_string_equal(w->answer.context, "c [secret]..");
	assert_string_equal(w->answer.new_input, "{\"k\":\"[secret]..\"}");
	assert_string_equal(buf_str(&w->events), "message m [secret]..\n");
}

static void cannot_start(void **state)
{
	static const char *const no_args[] = { NULL };
	struct hook_world *w = *state;
	const struct hook_call call = hook_world_call(HOOK_PRE_TOOL_USE);

	hook_world_put(w, "plain", "#!/bin/sh\nexit 2\n", 0644);
	hook_world_put(w, "lost", "#!/nonexistent/interpreter\n", 0755);
	const char *const commands[] = { "./plain", "./lost", "/nonexistent/x", "no-such-program-at-all" };
	for (size_t i = 0; i < 4; i++) {
		if (i == 1 && getenv("QUERN_VALGRIND")) /* which gives up where an execve fails so late */
			continue;
		hook_world_clear(w);
		struct job_hook *hook = hook_world_add(w, HOOK_PRE_TOOL_USE, commands[i]);
		hook->args = no_args;
		assert_int_equal(hook_world_ask(w, &call), 1);
		assert_int_equal(w->answer.permit, HOOK_NO_OPINION);
		assert_contains(buf_str(&w->events), "response PreToolUse:Bash error -1 cannot execute '");
		hook->blocks = true;
		assert_int_equal(hook_world_ask(w, &call), 1);
		assert_int_equal(w->answer.permit, HOOK_DENIES);
	}
}

/* ---- nobody waits ---- */

static void async_is_not_waited_for(void **state)
{
	struct hook_world *w = *state;
	const struct hook_call call = hook_world_call(HOOK_STOP);

	hook_world_add(w, HOOK_STOP, "echo $$ > pid; cat > in; echo no >&2; touch done; exec sleep 300")->async = true;
	hook_world_add(w, HOOK_STOP_FAILURE, "while [ ! -e done ]; do sleep 0.01; done; exit 0");
	assert_int_equal(hook_world_ask(w, &call), 0); /* nobody to wait for */
	const struct hook_call later = hook_world_call(HOOK_STOP_FAILURE);
	assert_int_equal(hook_world_ask(w, &later), 1);
	assert_int_equal(w->answer.verdict, HOOK_SAYS_PASS);
	assert_true(alive(w, "pid"));
	assert_int_equal(supervisor_stop(w->supervisor, 100), 0);
	w->supervisor = NULL;
	assert_false(alive(w, "pid"));
}

static void async_by_its_first_output(void **state)
{
	struct hook_world *w = *state;
	/* other JSON as a first line is waited for */
	const struct hook_answer *a = hook_world_one(
	        w, HOOK_STOP, "echo '{\"async\":false,'; sleep 0.05; echo '\"decision\":\"block\"}'");

	assert_int_equal(a->verdict, HOOK_SAYS_BLOCK);
	a = hook_world_one(
	        w, HOOK_STOP,
	        "echo '{\"async\":true,\"asyncTimeout\":1000}'; while [ ! -e go ]; do sleep 0.01; done; touch gone; "
	        "echo no >&2; exit 2");

	assert_int_equal(a->verdict, HOOK_SAYS_PASS);
	hook_world_put(w, "go", "", 0644);
	int64_t patience = clock_mono_ms() + 20000;
	char path[400];
	snprintf(path, sizeof path, "%s/gone", w->work);
	while (access(path, F_OK) && clock_mono_ms() < patience)
		reactor_wait(w->reactor, clock_mono_ms() + 5, NULL);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(w->answers, 1);
}

static void cancelled(void **state)
{
	struct hook_world *w = *state;
	const struct hook_call call = hook_world_call(HOOK_STOP);
	struct hook_world other = { 0 };

	w->cfg.tell_all = true;
	hook_world_add(w, HOOK_STOP, "echo $$ >> pid; touch begun; exec sleep 300");
	hook_world_add(w, HOOK_STOP, "while [ ! -e begun ]; do sleep 0.01; done; touch second");
	assert_int_equal(hook_world_start(w, &call, w), 1);
	assert_int_equal(hook_world_start(w, &call, &other), 1);
	char path[400];
	snprintf(path, sizeof path, "%s/second", w->work);
	while (access(path, F_OK))
		reactor_wait(w->reactor, clock_mono_ms() + 5, NULL);
	hooks_cancel(w->hooks, &other, 0);
	hooks_cancel(w->hooks, &other, 0);
	hooks_cancel(w->hooks, w, 100);
	hooks_cancel(NULL, w, 100);
	wait_gone(w, "pid");
	assert_int_equal(w->answers + other.answers, 0);
	assert_contains(buf_str(&w->events), "response Stop cancelled -1 |||\n");
}

/* ---- how long ---- */

static void timeouts(void **state)
{
	struct hook_world *w = *state;
	const struct hook_call call = hook_world_call(HOOK_SESSION_END);

	struct job_hook *hook = hook_world_add(w, HOOK_SESSION_END,
	                                       "trap '' TERM; echo $$ > pid; sleep 300 & wait; sleep 300");
	hook->timeout_ms = 0;
	assert_int_equal(hook_world_ask(w, &call), 1);
	assert_contains(buf_str(&w->events), "cancelled -1 took longer than 1500 ms and was ended|");
	wait_gone(w, "pid");
	/* one that is given longer gives all longer, and keeps its own */
	hook_world_clear(w);
	hook_world_add(w, HOOK_SESSION_END, "sleep 300")->timeout_ms = 50;
	hook_world_add(w, HOOK_SESSION_END, "sleep 1.7; touch slept")->timeout_ms = 0;
	hook_world_add(w, HOOK_SESSION_END, "exit 0")->timeout_ms = 30000;
	assert_int_equal(hook_world_ask(w, &call), 1);
	assert_contains(buf_str(&w->events), "took longer than 50 ms and was ended");
	char path[400];
	snprintf(path, sizeof path, "%s/slept", w->work);
	assert_int_equal(access(path, F_OK), 0);
}

/* ---- the verification ---- */

static void verification(void **state)
{
	static const char *const passes[] = { "sh", "-c", "cat; pwd > out; test -n \"$CLAUDE_PROJECT_DIR\"", NULL };
	static const char *const fails[] = { "sh", "-c", "echo to-out; echo to-err canary-key >&2; exit 3", NULL };
	static const char *const floods[] = { "sh", "-c",
		                              "echo first; head -c 200000 /dev/zero | tr '\\0' x; echo last; exit 1",
		                              NULL };
	static const char *const sleeps[] = { "sleep", "300", NULL };
	static const char *const missing[] = { "./no-such-check", NULL };
	struct hook_world *w = *state;
	struct hook_call call = { .kind = HOOK_VERIFY };

	w->cfg.verify = &w->verify;
	hook_world_open(w);
	assert_false(hooks_any(w->hooks, HOOK_VERIFY));
	hooks_free(w->hooks);
	w->hooks = NULL;
	const struct {
		const char *const *command;
		const char *text, *more;
	} rows[] = {
		{ passes, NULL, NULL },
		{ fails,
		  "The work is not done: the verification `sh -c echo to-out; echo to-err [secret].. >&2; exit 3` "
		  "ended with exit status 3.\nIts output:\nto-out\nto-err [secret]..\n",
		  "" },
		{ floods, "ended with exit status 1.\nIts output:\nfirst\nxxx", "bytes left out ...]\nxxx" },
		{ sleeps, "the verification `sleep 300` took longer than 100 ms and was ended.", "" },
		{ missing, "the verification `./no-such-check` cannot execute './no-such-check'", "" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		w->verify = (struct job_verify){ .command = rows[i].command,
			                         .timeout_ms = rows[i].command == sleeps ? 100 : 20000 };
		assert_int_equal(hook_world_ask(w, &call), 1);
		assert_int_equal(w->answer.verdict, rows[i].text ? HOOK_SAYS_BLOCK : HOOK_SAYS_PASS);
		if (rows[i].text) {
			assert_contains(w->answer.text, rows[i].text);
			assert_contains(w->answer.text, rows[i].more);
			assert_true(strlen(w->answer.text) < 17000);
		}
		hooks_free(w->hooks);
		w->hooks = NULL;
	}
	call.attempt = 1;
	w->verify.command = fails;
	assert_int_equal(hook_world_ask(w, &call), 1);
	assert_contains(w->answer.text, "The work is not done yet: ");
}

/* Whatever is cut is cut behind the mask: half of a secret is still much of it. */
static void no_part_of_a_secret_beside_a_cut(void **state)
{
	static const char *const verify[] = {
		"sh", "-c",
		"head -c 3995 /dev/zero | tr '\\0' x; printf canary-key; head -c 200000 /dev/zero | tr '\\0' .; "
		"printf canary-key; head -c 11995 /dev/zero | tr '\\0' x; exit 1",
		NULL
	};
	static const char *const commands[] = {
		"head -c 9995 /dev/zero | tr '\\0' x >&2; printf canary-key >&2; exit 2",
		"head -c 9995 /dev/zero | tr '\\0' x; printf canary-key; echo no >&2; exit 2",
		"head -c 195 /dev/zero | tr '\\0' x >&2; printf canary-key >&2; exit 1",
		"head -c 4194299 /dev/zero | tr '\\0' x >&2; printf canary-key >&2; exit 2",
	};
	struct hook_world *w = *state;
	const struct hook_call call = { .kind = HOOK_VERIFY };

	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		hook_world_clear(w);
		hook_world_one(w, HOOK_POST_TOOL_USE, commands[i]);
		assert_contains(buf_str(&w->events), "xxxxx");
		assert_null(strstr(buf_str(&w->events), "xcana"));
	}
	char *stored = hook_world_get(w, "../run/hook_1.txt");
	assert_null(strstr(stored, "xcana"));
	free(stored);
	hook_world_clear(w);
	w->verify = (struct job_verify){ .command = verify, .timeout_ms = 20000 };
	w->cfg.verify = &w->verify;
	assert_int_equal(hook_world_ask(w, &call), 1);
	const char *said = strstr(w->answer.text, "\nIts output:");
	assert_contains(said, "xxxxx");
	assert_null(strstr(said, "cana"));
	assert_null(strstr(said, "-key"));
	assert_true(strlen(said) < 16200);
}

/* What hangs beside the work never takes the place of a guard. */
static void leaves_room(struct hook_world *w, const char *hangs, bool async)
{
	const struct hook_call call = hook_world_call(HOOK_PRE_TOOL_USE);

	hook_world_add(w, HOOK_PRE_TOOL_USE, hangs)->async = async;
	hook_world_add(w, HOOK_PRE_TOOL_USE, "echo no >&2; exit 2");
	for (int n = 0; n < 40; n++) {
		buf_clear(&w->events);
		assert_int_equal(hook_world_ask(w, &call), 1);
		assert_int_equal(w->answer.permit, HOOK_DENIES);
		bool told = strstr(buf_str(&w->events), "was given up: 32 hooks that nobody waits for") != NULL;
		assert_true(told == (n >= 32));
	}
}

static void async_leaves_room(void **state)
{
	leaves_room(*state, "exec sleep 300", true);
}

static void async_by_its_word_leaves_room(void **state)
{
	leaves_room(*state, "echo '{\"async\":true}'; exec sleep 300", false);
}

/* ---- outside the sandbox ---- */

static void what_tools_can_write_is_not_trusted(void **state)
{
	static const char *const own[] = { NULL }, *const script[] = { "${CLAUDE_PROJECT_DIR}/s.sh", NULL };
	static const char *const text[] = { "-ec", "true; ./s.sh", NULL }, *const good[] = { "-c", "true", NULL };
	static const char *const outside[] = { "-o", "pipefail", "../outside.sh", "s.sh", NULL };
	static const struct {
		const char *command;
		const char *const *args;
		bool refused;
	} rows[] = {
		{ "./s.sh", NULL, true },
		{ "s.sh", NULL, false }, /* not in PATH */
		{ "$CLAUDE_PROJECT_DIR/s.sh x", NULL, true },
		{ "\"${CLAUDE_PROJECT_DIR}\"/s.sh", NULL, true },
		{ "cd /; exec ./s.sh", NULL, true },
		{ "true && sh -e s.sh", NULL, true },
		{ "env A=1 timeout 5 ./s.sh", NULL, true },
		{ ". ./s.sh", NULL, true },
		{ "./link", NULL, true },
		{ "../outside.sh", NULL, false },
		{ "cat s.sh", NULL, false },
		{ "true", NULL, false },
		{ "${CLAUDE_PROJECT_DIR}/s.sh", own, true },
		{ "sh", script, true },
		{ "cat", script, false },
		{ "./later.sh", NULL, true }, /* not there: tools can put it there */
		{ "cd sub && ./later.sh", NULL, true },
		{ "../later.sh", NULL, false },
		{ "sh later.sh", NULL, true },
		{ "bash -o pipefail s.sh", NULL, true },
		{ "python3 -W ignore s.sh", NULL, true },
		{ "python3 -m json.tool", NULL, false },
		{ "bash", text, true },
		{ "bash", good, false },
		{ "bash", outside, false },
	};
	struct hook_world *w = *state;
	const char *const roots[] = { w->work, NULL };
	struct error e;

	hook_world_put(w, "s.sh", "#!/bin/sh\n", 0755);
	hook_world_put(w, "../outside.sh", "#!/bin/sh\n", 0755);
	char link[400];
	snprintf(link, sizeof link, "%s/link", w->work);
	assert_int_equal(symlink("../outside.sh", link), 0); /* another file can be put there */
	w->cfg.writable = roots;
	for (int unconfined = 0; unconfined < 2; unconfined++) {
		w->cfg.unconfined = unconfined;
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			hook_world_clear(w);
			hook_world_add(w, HOOK_STOP, rows[i].command)->args = rows[i].args;
			w->hooks = hooks_open(&w->cfg, &e);
			if (!w->hooks != (rows[i].refused && unconfined))
				fail_msg("%s: %s", rows[i].command, w->hooks ? "taken" : e.msg);
			if (!w->hooks)
				assert_contains(e.msg, "job.yaml:1:1: the hook would run '");
		}
	}
	w->cfg.writable = NULL;
}

static void an_event_that_cannot_be_written(void **state)
{
	struct hook_world *w = *state;
	const struct hook_call call = hook_world_call(HOOK_STOP);
	struct error e;

	hook_world_add(w, HOOK_STOP, "echo no >&2; exit 2");
	w->fail_emit = 1;
	assert_int_equal(hook_world_ask(w, &call), 1);
	assert_int_equal(w->answer.verdict, HOOK_SAYS_END);
	assert_string_equal(w->answer.text, "stdout is gone");
	assert_int_equal(hooks_ask(w->hooks, &call, hook_done_in, w, &e), -1);
	assert_int_equal(e.code, ERR_GONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_world_setup, hook_world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(merged_in_order_of_declaration),
		TEST(the_weightiest_word_holds),
		TEST(timeout_ends_the_tree),
		TEST(timeout_drops_output),
		TEST(daemons_hold_nothing_up),
		TEST(large_input_is_read_or_not),
		TEST(floods_are_bounded),
		TEST(no_part_of_a_secret_beside_a_cut),
		TEST(secrets_are_masked),
		TEST(cannot_start),
		TEST(async_is_not_waited_for),
		TEST(async_by_its_first_output),
		TEST(async_leaves_room),
		TEST(async_by_its_word_leaves_room),
		TEST(cancelled),
		TEST(timeouts),
		TEST(verification),
		TEST(what_tools_can_write_is_not_trusted),
		TEST(an_event_that_cannot_be_written),
	};

	return cmocka_run_group_tests_name("hook_hard", tests, NULL, NULL);
}
