/* run/: what tools inherit, where the key comes from and goes, the queue. */

#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/world.h"

/* The linker sends the queue's allocations here, see run.am. */
static long left = -1; /* allocations until one fails; negative: none does */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
char *__real_strndup(const char *s, size_t n);
char *__wrap_strndup(const char *s, size_t n);

static bool fails(void)
{
	return left >= 0 && left-- == 0;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}

static void start(struct world *w, struct job *job, char **envp)
{
	memset(w, 0, sizeof *w);
	w->job = job;
	w->envp = envp;
	w->secrets = secrets_new();
	assert_non_null(w->secrets);
}

static void stop(struct world *w)
{
	world_queue_release(w);
	world_wipe_key(w);
	secrets_free(w->secrets);
	arena_release(&w->arena);
}

static bool inherited(const struct world *w, const char *assignment)
{
	for (size_t i = 0; w->child_env[i]; i++)
		if (!strcmp(w->child_env[i], assignment))
			return true;
	return false;
}

static size_t inherited_names(const struct world *w, const char *name)
{
	size_t n = 0, len = strlen(name);

	for (size_t i = 0; w->child_env[i]; i++)
		n += !strncmp(w->child_env[i], name, len) && w->child_env[i][len] == '=';
	return n;
}

static void tools_inherit_no_secret(void **state)
{
	char e0[] = "PATH=/bin", e1[] = "ANTHROPIC_API_KEY=sk-0123456789", e2[] = "MY_TOKEN=tok-0123456789",
	     e3[] = "db_password=hunter2hunter2", e4[] = "https_proxy=http://u:pass@h:1",
	     e5[] = "NPM_TOKEN=npm-0123456789", e6[] = "TMPDIR=/elsewhere", e7[] = "LANG=C",
	     e8[] = "http_proxy=http://h:1", e9[] = "ODD";
	char *envp[] = { e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, NULL };
	const char *keep[] = { "NPM_TOKEN", NULL };
	struct job_pair set[] = { { "LANG", "de_DE" }, { "NEW_KEY", "given" } };
	struct job job = { .env = set, .nenv = 2, .env_keep = keep, .api_key_env = "ANTHROPIC_API_KEY" };
	struct world w;
	struct error e = ERROR_INIT;

	(void)state;
	start(&w, &job, envp);
	assert_int_equal(world_child_env(&w, "/tmp/private", &e), 0);
	assert_true(inherited(&w, "PATH=/bin"));
	assert_int_equal(inherited_names(&w, "ANTHROPIC_API_KEY"), 0);
	assert_int_equal(inherited_names(&w, "MY_TOKEN"), 0);
	assert_int_equal(inherited_names(&w, "db_password"), 0);
	assert_int_equal(inherited_names(&w, "https_proxy"), 0);
	assert_true(inherited(&w, "http_proxy=http://h:1"));
	assert_true(inherited(&w, "NPM_TOKEN=npm-0123456789"));
	assert_true(inherited(&w, "TMPDIR=/tmp/private"));
	assert_int_equal(inherited_names(&w, "TMPDIR"), 1);
	assert_true(inherited(&w, "LANG=de_DE"));
	assert_int_equal(inherited_names(&w, "LANG"), 1);
	assert_true(inherited(&w, "NEW_KEY=given")); /* what the job names is passed */

	struct buf text = BUF_INIT(1000);
	buf_adds(&text, "a tok-0123456789 b hunter2hunter2 c");
	world_mask(&w, &text);
	assert_null(strstr(buf_str(&text), "tok-0123456789"));
	assert_null(strstr(buf_str(&text), "hunter2"));
	buf_release(&text);
	stop(&w);
}

static void the_key_leaves_the_environment(void **state)
{
	char e0[] = "ANTHROPIC_API_KEY=sk-vendor-0123456789", e1[] = "QUERN_API_KEY= sk-ours-0123456789\n";
	char *envp[] = { e0, e1, NULL };
	struct job job = { .api_key_env = "ANTHROPIC_API_KEY" };
	struct world w;
	struct error e = ERROR_INIT;

	(void)state;
	start(&w, &job, envp);
	assert_int_equal(world_take_key(&w, &e), 0);
	assert_string_equal(buf_str(&w.key), "sk-ours-0123456789");
	assert_string_equal(w.key_source, "QUERN_API_KEY");
	assert_int_equal(e0[18], 0);
	assert_int_equal(e1[15], 0);
	stop(&w);
}

static void a_bearer_token_is_one(void **state)
{
	char e0[] = "ANTHROPIC_AUTH_TOKEN=tok-0123456789";
	char *envp[] = { e0, NULL };
	struct job job = { .api_key_env = "ANTHROPIC_API_KEY" };
	struct world w;
	struct error e = ERROR_INIT;

	(void)state;
	start(&w, &job, envp);
	assert_int_equal(world_take_key(&w, &e), 0);
	assert_true(w.key_bearer);
	stop(&w);
}

static void a_named_variable_must_be_there(void **state)
{
	char *envp[] = { NULL };
	struct job job = { .api_key_env = "MINE" };
	struct world w;
	struct error e = ERROR_INIT;

	(void)state;
	start(&w, &job, envp);
	assert_int_equal(world_take_key(&w, &e), -1);
	assert_string_equal(e.msg, "model.api_key_env: the variable 'MINE' is not set or is empty");
	stop(&w);
}

static void a_key_with_a_line_break_is_refused_unseen(void **state)
{
	char e0[] = "ANTHROPIC_API_KEY=sk-canary\nX-Injected: 1";
	char *envp[] = { e0, NULL };
	struct job job = { .api_key_env = "ANTHROPIC_API_KEY" };
	struct world w;
	struct error e = ERROR_INIT;

	(void)state;
	start(&w, &job, envp);
	assert_int_equal(world_take_key(&w, &e), -1);
	assert_null(strstr(e.msg, "canary"));
	assert_null(strstr(e.msg, "Injected"));
	stop(&w);
}

static void ids_are_random_uuids(void **state)
{
	char a[UUID_LEN + 1], b[UUID_LEN + 1];

	(void)state;
	world_new_id(NULL, a);
	world_new_id(NULL, b);
	assert_int_equal(strlen(a), UUID_LEN);
	assert_int_equal(a[14], '4');
	assert_non_null(strchr("89ab", a[19]));
	assert_string_not_equal(a, b);
}

static void a_cancelled_attempt_leaves_no_event(void **state)
{
	struct job job = { .api_key_env = "ANTHROPIC_API_KEY" };
	char *envp[] = { NULL };
	struct world w;
	struct model_event ev = { .kind = MODEL_EV_MESSAGE_START, .message_id = "m", .model = "x" };
	struct tool_result res = { 0 };

	(void)state;
	start(&w, &job, envp);
	world_on_model(&w, &ev);
	world_on_tool(&w, "t1", &res);
	world_on_model(&w, &ev);
	world_drop_model_events(&w, false);
	world_on_signal(&w, 15, 0);
	assert_non_null(w.first);
	assert_int_equal(w.signo, 15);
	world_queue_release(&w);
	assert_null(w.first);
	stop(&w);
}

/* Two models answer at the same time: each event says of which it is, and the one's end leaves the other's alone. */
static void the_background_has_events_of_its_own(void **state)
{
	struct job job = { .api_key_env = "ANTHROPIC_API_KEY" };
	char *envp[] = { NULL };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct recorder_config cfg = { .fd = null };
	struct model_event start_ev = { .kind = MODEL_EV_MESSAGE_START, .message_id = "m", .model = "x" };
	struct model_event alive = { .kind = MODEL_EV_ALIVE, .phase = PHASE_BYTES };
	struct model_event raw = { .kind = MODEL_EV_RAW, .json = "{}", .json_len = 2 };
	static const enum model_kind want[] = { MODEL_SUMMARY, MODEL_COMPACT, MODEL_SUMMARY };
	struct loop_event got;
	struct world w;
	struct error e = ERROR_INIT;

	(void)state;
	assert_true(null >= 0);
	start(&w, &job, envp);
	w.recorder = recorder_open(&cfg, &e);
	assert_non_null(w.recorder);
	w.asked = MODEL_COMPACT;
	world_on_background(&w, &start_ev);
	world_on_background(&w, &raw); /* not shown */
	world_on_model(&w, &alive);
	world_on_background(&w, &alive); /* not merged with the other's sign of life */
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		assert_int_equal(world_next_event(&w, 0, &got, &e), 0);
		assert_int_equal(got.kind, LOOP_EV_MODEL);
		assert_int_equal(got.call, want[i]);
	}
	assert_null(w.first);
	world_on_model(&w, &start_ev);
	world_on_background(&w, &start_ev);
	world_drop_model_events(&w, true);
	assert_int_equal(world_next_event(&w, 0, &got, &e), 0);
	assert_int_equal(got.call, MODEL_COMPACT);
	assert_null(w.first);
	world_on_background(&w, &start_ev);
	world_drop_model_events(&w, false);
	assert_int_equal(world_next_event(&w, 0, &got, &e), 0);
	assert_int_equal(got.call, MODEL_SUMMARY);
	recorder_free(w.recorder);
	stop(&w);
	close(null);
}

/* An answer that lacks a block, or a call that never ends, would be taken for the real thing. */
static void an_event_that_is_lost_ends_the_run(void **state)
{
	struct job job = { .api_key_env = "ANTHROPIC_API_KEY" };
	char *envp[] = { NULL };
	struct world w;
	struct error e = ERROR_INIT;
	struct loop_event got;
	struct model_event ev = { .kind = MODEL_EV_MESSAGE_START, .message_id = "m", .model = "x" };
	struct tool_result res = { 0 };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct recorder_config cfg = { .fd = null };

	(void)state;
	assert_true(null >= 0);
	for (long at = 0; at < 5; at++) { /* the event and its two texts, the second event and its text */
		start(&w, &job, envp);
		w.recorder = recorder_open(&cfg, &e);
		assert_non_null(w.recorder);
		left = at;
		world_on_model(&w, &ev);
		world_on_tool(&w, "t1", &res);
		assert_int_equal(left, -1);
		assert_int_equal(world_next_event(&w, 0, &got, &e), -1);
		assert_int_equal(e.code, ERR_NOMEM);
		recorder_free(w.recorder);
		stop(&w);
	}
	close(null);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tools_inherit_no_secret),
		cmocka_unit_test(the_key_leaves_the_environment),
		cmocka_unit_test(a_bearer_token_is_one),
		cmocka_unit_test(a_named_variable_must_be_there),
		cmocka_unit_test(a_key_with_a_line_break_is_refused_unseen),
		cmocka_unit_test(ids_are_random_uuids),
		cmocka_unit_test(a_cancelled_attempt_leaves_no_event),
		cmocka_unit_test(the_background_has_events_of_its_own),
		cmocka_unit_test(an_event_that_is_lost_ends_the_run),
	};

	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
