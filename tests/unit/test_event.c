/* The lines: each kind byte for byte, the formats, what is cut, and that all of it obeys the schema. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"
#include "record/event.h"
#include "record/resume.h"

#define SESSION "5f0c2a1e-0d4b-4c0e-9b7a-1f2e3d4c5b6a"
#define TAIL(n) "\"quern_ms\":0,\"session_id\":\"" SESSION "\",\"uuid\":\"00000000-0000-4000-8000-" n "\"}\n"
#define NO_USAGE                                                                                                       \
	"{\"input_tokens\":0,\"output_tokens\":0,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0}"

static const struct usage unknown = USAGE_UNKNOWN;

struct bench {
	char dir[64];
	char out[96], events[96];
	unsigned uuids;
	int64_t now;
	struct run_dir *run_dir;
	struct recorder_config cfg;
	struct recorder *r;
};

static void count_uuid(void *ctx, char out[UUID_LEN + 1])
{
	struct bench *b = ctx;

	snprintf(out, UUID_LEN + 1, "00000000-0000-4000-8000-%012x", ++b->uuids);
}

static int64_t fake_now(void *ctx)
{
	const struct bench *b = ctx;

	return b->now;
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof *b);

	if (!b)
		return -1;
	log_set_level(LOG_QUIET);
	strcpy(b->dir, "/tmp/quern-test-event-XXXXXX");
	if (!mkdtemp(b->dir))
		return -1;
	snprintf(b->out, sizeof b->out, "%s/out", b->dir);
	snprintf(b->events, sizeof b->events, "%s/events", b->dir);
	b->cfg = (struct recorder_config){ .session_id = SESSION,
		                           .version = "0.1.0",
		                           .new_uuid = count_uuid,
		                           .now = fake_now,
		                           .started = 1000,
		                           .ctx = b,
		                           .fd = -1 };
	b->now = 1000;
	*state = b;
	return 0;
}

static void stop(struct bench *b)
{
	recorder_free(b->r);
	b->r = NULL;
	if (b->cfg.fd >= 0)
		close(b->cfg.fd);
	b->cfg.fd = -1;
}

static int teardown(void **state)
{
	struct bench *b = *state;
	char command[128];

	stop(b);
	run_dir_free(b->run_dir, false);
	snprintf(command, sizeof command, "rm -r %s", b->dir);
	int rc = system(command);
	free(b);
	return rc;
}

static void start(struct bench *b)
{
	struct error e = ERROR_INIT;

	b->cfg.fd = open(b->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(b->cfg.fd >= 0);
	b->r = recorder_open(&b->cfg, &e);
	assert_non_null(b->r);
}

static void use_run_dir(struct bench *b)
{
	static char path[96];
	struct error e = ERROR_INIT;

	snprintf(path, sizeof path, "%s/run", b->dir);
	struct run_dir_config cfg = { .explicit_dir = path, .session_id = SESSION, .max_bytes = 64 << 20 };
	b->run_dir = run_dir_open(&cfg, &e);
	assert_non_null(b->run_dir);
	b->cfg.run_dir = b->run_dir;
}

static void emit(struct bench *b, struct event ev)
{
	struct error e = ERROR_INIT;

	assert_int_equal(recorder_emit(b->r, &ev, &e), 0);
}

/* The whole file; the caller frees it. */
static char *slurp(const char *path, size_t *n)
{
	struct buf text = BUF_INIT(BUF_HUGE);
	struct error e = ERROR_INIT;

	assert_int_equal(io_read_file(AT_FDCWD, path, &text, &e), 0);
	char *p = buf_take(&text, n);
	assert_non_null(p);
	return p;
}

static void assert_file(const char *path, const char *expected)
{
	char *got = slurp(path, NULL);

	assert_string_equal(got, expected);
	free(got);
}

static void assert_line(struct bench *b, struct event ev, const char *expected)
{
	b->uuids = 0;
	start(b);
	emit(b, ev);
	stop(b);
	assert_file(b->out, expected);
}

/* A member of the one line of a file, decoded; the caller frees it. */
static char *member(const char *path, const char *where)
{
	size_t n;
	char *text = slurp(path, &n);
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;

	assert_int_equal(text[n - 1], '\n');
	assert_null(memchr(text, '\n', n - 1));
	assert_int_equal(json_parse(&doc, text, n, JSON_UNIQUE, &e), 0);
	char *value = json_strdup(&doc, json_path(&doc, json_root(&doc), where), NULL);
	json_release(&doc);
	free(text);
	return value;
}

static struct event init_event(void)
{
	static const char *const tools[] = { "Read", "Grep", NULL };
	static const char *const withheld[] = { "Bash: no rule allows it", NULL };

	return (struct event){ .kind = EVENT_INIT,
		               .u.init = { .cwd = "/repo",
		                           .model = "m-1",
		                           .permission_mode = "default",
		                           .api_key_source = "ANTHROPIC_API_KEY",
		                           .provider = "anthropic",
		                           .tools = tools,
		                           .tools_withheld = withheld } };
}

static struct event result_event(enum terminal_reason reason, const char *text)
{
	struct event ev = { .kind = EVENT_RESULT };

	ev.u.result = (struct event_result){ .reason = reason,
		                             .exit_code = terminal_exit_code(reason, false),
		                             .result = text,
		                             .result_len = text ? strlen(text) : 0,
		                             .usage = unknown,
		                             .cost_nano_usd = -1,
		                             .retry_after_ms = -1 };
	return ev;
}

static struct event user_event(struct block *block)
{
	return (struct event){ .kind = EVENT_USER, .u.user = { .block = block } };
}

static void init_line(void **state)
{
	assert_line(
	        *state, init_event(),
	        "{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/repo\",\"model\":\"m-1\","
	        "\"permissionMode\":\"default\",\"apiKeySource\":\"ANTHROPIC_API_KEY\",\"tools\":[\"Read\",\"Grep\"],"
	        "\"tools_withheld\":[\"Bash: no rule allows it\"],\"mcp_servers\":[],\"slash_commands\":[],"
	        "\"skills\":[],\"plugins\":[],\"output_style\":\"default\",\"claude_code_version\":\"2.1.240\","
	        "\"quern_version\":\"0.1.0\",\"quern_provider\":\"anthropic\"," TAIL("000000000001"));
}

/* Each line tells the time since the run began, the init line when that was; a clock that goes back is not seen. */
static void lines_tell_the_time(void **state)
{
	struct bench *b = *state;
	static const int64_t readings[] = { 3500, 400 };
	static const char *const told[] = { "2500", "0" };
	struct event init = init_event();

	init.u.init.started_wall_ms = INT64_C(1700000000007);
	assert_line(b, init,
	            "{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/repo\",\"model\":\"m-1\","
	            "\"permissionMode\":\"default\",\"apiKeySource\":\"ANTHROPIC_API_KEY\",\"tools\":[\"Read\","
	            "\"Grep\"],\"tools_withheld\":[\"Bash: no rule allows it\"],\"mcp_servers\":[],"
	            "\"slash_commands\":[],\"skills\":[],\"plugins\":[],\"output_style\":\"default\","
	            "\"claude_code_version\":\"2.1.240\",\"quern_version\":\"0.1.0\",\"quern_provider\":\"anthropic\","
	            "\"quern_started\":\"2023-11-14T22:13:20.007Z\"," TAIL("000000000001"));
	for (size_t i = 0; i < 2; i++) {
		char expected[256];
		struct event ev = { .kind = EVENT_NOTICE, .u.notice = { "c", "t" } };

		b->now = readings[i];
		snprintf(expected, sizeof expected,
		         "{\"type\":\"system\",\"subtype\":\"quern_notice\",\"code\":\"c\",\"text\":\"t\","
		         "\"quern_ms\":%s,\"session_id\":\"" SESSION
		         "\",\"uuid\":\"00000000-0000-4000-8000-000000000001\"}\n",
		         told[i]);
		assert_line(b, ev, expected);
	}
}

static void assistant_lines(void **state)
{
	struct usage usage = { 812, 31, 0, 7, -1, -1, -1, false };
	/* the bytes of the block are kept, odd spelling included */
	static const char json[] =
	        "{ \"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Bash\",\"input\":{\"n\":1.0e0}}";
	struct error e = ERROR_INIT;
	struct block *call = block_from_json(json, sizeof json - 1, &e);
	struct event ev = { .kind = EVENT_ASSISTANT };

	assert_non_null(call);
	ev.u.assistant =
	        (struct event_assistant){ .message_id = "msg_1", .model = "m-1", .block = call, .usage = &usage };
	assert_line(*state, ev,
	            "{\"type\":\"assistant\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\","
	            "\"model\":\"m-1\",\"content\":[{ \"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Bash\","
	            "\"input\":{\"n\":1.0e0}}],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{"
	            "\"input_tokens\":812,\"output_tokens\":31,\"cache_creation_input_tokens\":0,"
	            "\"cache_read_input_tokens\":7}},\"parent_tool_use_id\":null," TAIL("000000000001"));
	usage = (struct usage){ 1, 2, 3, 4, 5, 6, 7, true };
	ev.u.assistant = (struct event_assistant){ .message_id = "msg_1",
		                                   .model = "m-1",
		                                   .stop_reason = "stop_sequence",
		                                   .stop_sequence = "END",
		                                   .usage = &usage };
	assert_line(*state, ev,
	            "{\"type\":\"assistant\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\","
	            "\"model\":\"m-1\",\"content\":[],\"stop_reason\":\"stop_sequence\",\"stop_sequence\":\"END\","
	            "\"usage\":{\"input_tokens\":1,\"output_tokens\":2,\"cache_creation_input_tokens\":3,"
	            "\"cache_read_input_tokens\":4,\"cache_creation\":{\"ephemeral_5m_input_tokens\":5,"
	            "\"ephemeral_1h_input_tokens\":6},\"server_tool_use\":{\"web_search_requests\":7},"
	            "\"speed\":\"fast\"}},\"parent_tool_use_id\":null," TAIL("000000000001"));
	ev.u.assistant = (struct event_assistant){
		.message_id = "x", .model = "<synthetic>", .text = "overloaded", .error = "overloaded"
	};
	assert_line(*state, ev,
	            "{\"type\":\"assistant\",\"message\":{\"id\":\"x\",\"type\":\"message\",\"role\":\"assistant\","
	            "\"model\":\"<synthetic>\",\"content\":[{\"type\":\"text\",\"text\":\"overloaded\"}],"
	            "\"stop_reason\":null,\"stop_sequence\":null,\"usage\":" NO_USAGE "},"
	            "\"parent_tool_use_id\":null,\"error\":\"overloaded\"," TAIL("000000000001"));
	block_unref(call);
}

static void user_lines(void **state)
{
	struct block *result = block_new_tool_result("toolu_1", "ok\n", 3, false);
	struct block *text = block_new_text("go on", 5);
	struct event ev = user_event(result);
	char expected[1024];

	ev.u.user.structured = "{\"stdout\":\"ok\\n\"}";
	ev.u.user.state = "{\"cwd\":\"/\"}";
	ev.u.user.file = "/state/Bash.txt";
	snprintf(expected, sizeof expected,
	         "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[%s]},\"parent_tool_use_id\":null,"
	         "\"tool_use_result\":{\"stdout\":\"ok\\n\"},\"quern_state\":{\"cwd\":\"/\"},\"quern_output_file\":\"/"
	         "state/Bash.txt\",%s",
	         result->json, TAIL("000000000001"));
	assert_line(*state, ev, expected);
	ev = user_event(text);
	ev.u.user.synthetic = true;
	assert_line(*state, ev,
	            "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
	            "\"go on\"}]},\"parent_tool_use_id\":null,\"isSynthetic\":true," TAIL("000000000001"));
	block_unref(result);
	block_unref(text);
}

static void a_message_is_shown_again(void **state)
{
	struct message *m = message_new(ROLE_USER);
	struct event ev = { .kind = EVENT_USER, .has_uuid = true, .uuid = "a1b2c3d4-0000-4000-8000-00000000000f" };

	assert_int_equal(message_add(m, block_new_text("a", 1)), 0);
	assert_int_equal(message_add(m, block_new_text("b", 1)), 0);
	ev.u.user = (struct event_user){ .message = m, .replay = true };
	assert_line(*state, ev,
	            "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
	            "{\"type\":\"text\",\"text\":\"b\"}]},\"parent_tool_use_id\":null,\"isReplay\":true,"
	            "\"quern_ms\":0,\"session_id\":\"" SESSION
	            "\",\"uuid\":\"a1b2c3d4-0000-4000-8000-00000000000f\"}\n");
	message_unref(m);
}

static void control_responses(void **state)
{
	struct event ev = { .kind = EVENT_CONTROL_RESPONSE };

	ev.u.control = (struct event_control){ .request_id = "r\"1", .response = "{\"a\":[]}" };
	assert_line(*state, ev,
	            "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"r\\\"1\","
	            "\"response\":{\"a\":[]}}}\n");
	ev.u.control = (struct event_control){ .request_id = "r2", .error = "no" };
	assert_line(*state, ev,
	            "{\"type\":\"control_response\",\"response\":{\"subtype\":\"error\",\"request_id\":\"r2\","
	            "\"error\":\"no\"}}\n");
}

static struct event retry_event(void)
{
	return (struct event){ .kind = EVENT_API_RETRY,
		               .u.retry = { .attempt = 1,
		                            .max_retries = 10,
		                            .delay_ms = 1043,
		                            .error_status = 529,
		                            .category = "overloaded",
		                            .text = "Overloaded" } };
}

static struct event denied_event(void)
{
	return (struct event){ .kind = EVENT_PERMISSION_DENIED,
		               .u.denied = { "Bash", "toolu_2", "mode", "not allowed by any rule" } };
}

static struct event transition_event(void)
{
	return (struct event){ .kind = EVENT_TRANSITION, .u.transition = { "next_turn", 1, NULL, 812 } };
}

static struct event notice_event(void)
{
	return (struct event){ .kind = EVENT_NOTICE, .u.notice = { "request_repaired", "left out: thinking" } };
}

static void system_lines(void **state)
{
	static const char uuids[][UUID_LEN + 1] = { "00000000-0000-4000-8000-000000000007" };
	struct event ev = { .kind = EVENT_TOMBSTONE, .u.tombstone = { uuids, 1, "msg_1", NULL, NULL } };

	assert_line(*state, ev,
	            "{\"type\":\"system\",\"subtype\":\"quern_tombstone\",\"uuids\":["
	            "\"00000000-0000-4000-8000-000000000007\"],\"message_ids\":[\"msg_1\"],\"usage\":" NO_USAGE
	            "," TAIL("000000000001"));
	ev.u.tombstone = (struct event_tombstone){ .message_id = "msg_1", .model = "m" };
	assert_line(*state, ev,
	            "{\"type\":\"system\",\"subtype\":\"quern_tombstone\",\"uuids\":[],\"message_ids\":[\"msg_1\"],"
	            "\"model\":\"m\",\"usage\":" NO_USAGE "," TAIL("000000000001"));
	assert_line(*state, retry_event(),
	            "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":10,"
	            "\"retry_delay_ms\":1043,\"error_status\":529,\"error\":\"overloaded\","
	            "\"message\":\"Overloaded\"," TAIL("000000000001"));
	ev = retry_event();
	ev.u.retry.error_status = 0;
	assert_line(*state, ev,
	            "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":10,"
	            "\"retry_delay_ms\":1043,\"error_status\":null,\"error\":\"overloaded\","
	            "\"message\":\"Overloaded\"," TAIL("000000000001"));
	assert_line(*state, denied_event(),
	            "{\"type\":\"system\",\"subtype\":\"permission_denied\",\"tool_name\":\"Bash\","
	            "\"tool_use_id\":\"toolu_2\",\"decision_reason_type\":\"mode\","
	            "\"message\":\"not allowed by any rule\"," TAIL("000000000001"));
	assert_line(*state, transition_event(),
	            "{\"type\":\"system\",\"subtype\":\"quern_transition\",\"reason\":\"next_turn\",\"turn\":1,"
	            "\"from\":null,\"tokens\":812," TAIL("000000000001"));
	ev = transition_event();
	ev.u.transition.from = "pause_turn";
	ev.u.transition.tokens = -1;
	assert_line(*state, ev,
	            "{\"type\":\"system\",\"subtype\":\"quern_transition\",\"reason\":\"next_turn\",\"turn\":1,"
	            "\"from\":\"pause_turn\",\"tokens\":null," TAIL("000000000001"));
	assert_line(*state, notice_event(),
	            "{\"type\":\"system\",\"subtype\":\"quern_notice\",\"code\":\"request_repaired\","
	            "\"text\":\"left out: thinking\"," TAIL("000000000001"));
}

#define SHA64(c) c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c
#define SHA_A    SHA64("a1")
#define SHA_B    SHA64("b2")

static struct event history_event(void)
{
	static const char list[] =
	        "[{\"old\":[0,2]},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
	        "{\"old\":[2,0]}]}]";

	return (struct event){ .kind = EVENT_HISTORY,
		               .u.history = { .messages = list,
		                              .messages_len = sizeof list - 1,
		                              .has_prompt = true,
		                              .prompt_from = 0,
		                              .prompt_to = 1,
		                              .state = "{\"model\":\"m\"}" } };
}

static struct event resume_event(void)
{
	static const char *const calls[] = { "toolu_1", NULL }, *const changed[] = { "job", "cwd", NULL };

	return (struct event){ .kind = EVENT_RESUME,
		               .u.resume = { "run.ndjson", "max_turns", calls, changed, 41, true } };
}

static void lines_of_the_record(void **state)
{
	static const struct usage u = { 10, 20, 30, 40, -1, -1, -1, false };
	struct resumed_state told = { (char[]){ "t0" }, (char[]){ "{\"cwd\":\"/x\"}" } };
	static const char *const rounds[] = { "t0", "a line", NULL };
	struct block *call = block_new_tool_use("toolu_1", "Bash", "{}", 2);
	struct event ev = history_event();

	assert_line(
	        *state, ev,
	        "{\"type\":\"system\",\"subtype\":\"quern_history\",\"messages\":[{\"old\":[0,2]},{\"role\":\"user\","
	        "\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"old\":[2,0]}]}],\"prompt\":[0,1],"
	        "\"state\":{\"model\":\"m\"}," TAIL("000000000001"));
	ev.u.history = (struct event_history){ .state = "{}" };
	assert_line(*state, ev,
	            "{\"type\":\"system\",\"subtype\":\"quern_history\",\"state\":{}," TAIL("000000000001"));
	ev = (struct event){ .kind = EVENT_SUMMARY, .u.summary = { "toolu_1", "looked", "m", &u } };
	assert_line(*state, ev,
	            "{\"type\":\"system\",\"subtype\":\"quern_summary\",\"round\":\"toolu_1\",\"text\":\"looked\","
	            "\"model\":\"m\",\"usage\":{\"input_tokens\":10,\"output_tokens\":20,"
	            "\"cache_creation_input_tokens\":30,\"cache_read_input_tokens\":40}," TAIL("000000000001"));
	ev = (struct event){ .kind = EVENT_TOOL_START, .u.tool_start = { "toolu_1", "Bash", call } };
	assert_line(*state, ev,
	            "{\"type\":\"system\",\"subtype\":\"quern_tool_start\",\"tool_use_id\":\"toolu_1\","
	            "\"tool_name\":\"Bash\",\"block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Bash\","
	            "\"input\":{}}," TAIL("000000000001"));
	ev.u.tool_start.block = NULL;
	assert_line(*state, ev,
	            "{\"type\":\"system\",\"subtype\":\"quern_tool_start\",\"tool_use_id\":\"toolu_1\","
	            "\"tool_name\":\"Bash\"," TAIL("000000000001"));
	assert_line(*state, resume_event(),
	            "{\"type\":\"system\",\"subtype\":\"quern_resume\",\"file\":\"run.ndjson\",\"from_reason\":"
	            "\"max_turns\",\"interrupted\":[\"toolu_1\"],\"changed\":[\"job\",\"cwd\"],\"lines\":41,"
	            "\"torn\":true," TAIL("000000000001"));
	ev.kind = EVENT_RESUME;
	ev.u.resume = (struct event_resume){ .file = "f" };
	assert_line(*state, ev,
	            "{\"type\":\"system\",\"subtype\":\"quern_resume\",\"file\":\"f\",\"from_reason\":null,"
	            "\"interrupted\":[],\"changed\":[],\"lines\":0,\"torn\":false," TAIL("000000000001"));
	ev.u.resume.states = &told;
	ev.u.resume.nstates = 1;
	ev.u.resume.summaries = rounds;
	assert_line(*state, ev,
	            "{\"type\":\"system\",\"subtype\":\"quern_resume\",\"file\":\"f\",\"from_reason\":null,"
	            "\"interrupted\":[],\"changed\":[],\"lines\":0,\"torn\":false,\"states\":[{\"tool_use_id\":\"t0\","
	            "\"state\":{\"cwd\":\"/x\"}}],\"summaries\":[\"t0\",\"a line\"]," TAIL("000000000001"));
	ev = retry_event();
	ev.u.retry.model = "m";
	ev.u.retry.usage = &u;
	assert_line(*state, ev,
	            "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":10,"
	            "\"retry_delay_ms\":1043,\"error_status\":529,\"error\":\"overloaded\","
	            "\"message\":\"Overloaded\",\"model\":\"m\",\"usage\":{\"input_tokens\":10,\"output_tokens\":20,"
	            "\"cache_creation_input_tokens\":30,\"cache_read_input_tokens\":40}," TAIL("000000000001"));
	block_unref(call);
}

static struct event totals_event(struct session_totals *t)
{
	static struct session_model models[] = { { .model = "m", .usage = USAGE_UNKNOWN, .cost_nano_usd = 500000000 },
		                                 { .model = "n", .usage = USAGE_UNKNOWN, .cost_nano_usd = 1 } };
	struct event ev = result_event(TERM_COMPLETED, "done");

	*t = (struct session_totals){ 2, 7, 9, 11, 4000, USAGE_UNKNOWN, models, 2, true };
	ev.u.result.audit = (struct event_audit){ SHA_A, NULL, SHA_B };
	ev.u.result.events_sha256 = SHA_A;
	ev.u.result.events_bytes = 1234;
	ev.u.result.totals = t;
	return ev;
}

static void what_a_result_says_of_all_runs(void **state)
{
	struct session_totals t;
	struct bench *b = *state;

	start(b);
	emit(b, totals_event(&t));
	char *got = slurp(b->out, NULL);
	assert_non_null(strstr(got, "\"audit\":{\"job_sha256\":\"" SHA_A "\",\"tools_sha256\":\"" SHA_B
	                            "\",\"events_sha256\":\"" SHA_A "\",\"events_bytes\":1234},"
	                            "\"session_totals\":{\"runs\":2,\"turns\":7,\"requests\":9,\"tool_calls\":11,"
	                            "\"duration_ms\":4000,\"total_cost_usd\":0.500000001,\"cost_lower_bound\":true,"
	                            "\"usage\":" NO_USAGE ",\"models\":{\"m\":{\"usage\":" NO_USAGE
	                            ",\"costUSD\":0.5},\"n\":{\"usage\":" NO_USAGE ",\"costUSD\":0.000000001}}},"));
	free(got);
	stop(b);
	t.models[1].cost_nano_usd = -1;
	start(b);
	struct event ev = totals_event(&t);
	t.models[1].cost_nano_usd = -1;
	emit(b, ev);
	got = slurp(b->out, NULL);
	assert_non_null(
	        strstr(got, "\"total_cost_usd\":null,\"cost_lower_bound\":true,\"usage\":" NO_USAGE ",\"models\""));
	assert_non_null(strstr(got, ",\"costUSD\":null}}}"));
	free(got);
	t.models[1].cost_nano_usd = 1;
}

static void what_a_result_says_of_the_workspace(void **state)
{
	struct event_workspace w = { true, 2, 1, 3, "/out/s.tar.zst", "/out/p.patch", 1, true, true, NULL, NULL, NULL };
	struct bench *b = *state;
	struct event ev = result_event(TERM_COMPLETED, "done");

	ev.u.result.workspace = &w;
	start(b);
	emit(b, ev);
	char *got = slurp(b->out, NULL);
	assert_non_null(strstr(got,
	                       ",\"workspace\":{\"changed\":2,\"added\":1,\"deleted\":3,\"saved\":\"/out/s.tar.zst\","
	                       "\"patch\":\"/out/p.patch\",\"patch_left_out\":1,\"committed\":true},"));
	assert_false(recorder_named_file(b->r));
	free(got);
	stop(b);
	w = (struct event_workspace){ .transaction = true, .changes = "/run/changes.tar.zst", .copy = "/copy" };
	start(b);
	emit(b, ev);
	got = slurp(b->out, NULL);
	assert_non_null(strstr(got, ",\"workspace\":{\"committed\":false,\"changes\":\"/run/changes.tar.zst\","
	                            "\"copy\":\"/copy\"},"));
	assert_true(recorder_named_file(b->r));
	free(got);
	stop(b);
	w = (struct event_workspace){ .before = "/run/before.sums" };
	start(b);
	emit(b, ev);
	got = slurp(b->out, NULL);
	assert_non_null(strstr(got, ",\"workspace\":{\"before\":\"/run/before.sums\"},"));
	assert_true(recorder_named_file(b->r));
	free(got);
}

static void a_full_result(void **state)
{
	static const struct denial denials[] = { { "Bash", "toolu_2", "{\"command\":\"ls\"}" } };
	static const struct limit_line limits[] = { { "max_turns", 20, 4, 16, false },
		                                    { "max_cost_usd", 2500000000, 2600000001, -100000001, true } };
	static const char *const effects[] = { "Bash toolu_1" };
	static const char *const errors[] = { "Reached maximum number of turns (4)" };
	int transitions[CONT_COUNT] = { 0 };
	struct model_usage models[] = { { .model = "m-1",
		                          .usage = { 10, 20, 30, 40, -1, -1, -1, false },
		                          .cost_nano_usd = 31200000,
		                          .window = 200000,
		                          .max_output = 32000 },
		                        { .model = "x", .usage = unknown, .cost_nano_usd = -1 } };
	struct event ev = result_event(TERM_MAX_TURNS, NULL);
	struct event_result *v = &ev.u.result;

	transitions[CONT_NEXT_TURN] = 4;
	transitions[CONT_PAUSE_TURN] = 1;
	v->errors = errors;
	v->nerrors = 1;
	v->duration_ms = 9000;
	v->duration_api_ms = 8000;
	v->num_turns = 4;
	v->stop_reason = "tool_use";
	v->usage = (struct usage){ 10, 20, 30, 40, -1, -1, -1, false };
	v->cost_nano_usd = 31200000;
	v->cost_lower_bound = true;
	v->models = models;
	v->nmodels = 2;
	v->denials = denials;
	v->ndenials = 1;
	v->transitions = transitions;
	v->limits = limits;
	v->nlimits = 2;
	v->side_effects = effects;
	v->nside_effects = 1;
	v->run_dir = "/state/s";
	v->retry_after_ms = 0;
	v->api_error_status = 529;
	assert_line(
	        *state, ev,
	        "{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true,\"errors\":["
	        "\"Reached maximum number of turns (4)\"],\"terminal_reason\":\"max_turns\",\"exit_code\":10,"
	        "\"transient\":false,\"stop_reason\":\"tool_use\",\"api_error_status\":529,\"retry_after_ms\":0,"
	        "\"duration_ms\":9000,\"duration_api_ms\":8000,\"num_turns\":4,\"turns\":4,\"transitions\":{"
	        "\"next_turn\":4,\"pause_turn\":1},\"total_cost_usd\":0.0312,\"costBasis\":\"list\","
	        "\"cost_lower_bound\":true,\"usage\":{\"input_tokens\":10,\"output_tokens\":20,"
	        "\"cache_creation_input_tokens\":30,\"cache_read_input_tokens\":40},\"modelUsage\":{\"m-1\":{"
	        "\"inputTokens\":10,\"outputTokens\":20,\"cacheReadInputTokens\":40,"
	        "\"cacheCreationInputTokens\":30,\"webSearchRequests\":0,\"costUSD\":0.0312,\"costBasis\":\"list\","
	        "\"contextWindow\":200000,\"maxOutputTokens\":32000},\"x\":{\"inputTokens\":0,\"outputTokens\":0,"
	        "\"cacheReadInputTokens\":0,\"cacheCreationInputTokens\":0,\"webSearchRequests\":0,\"costUSD\":0,"
	        "\"costBasis\":\"unknown\",\"contextWindow\":0,\"maxOutputTokens\":0}},\"limits\":{\"max_turns\":{"
	        "\"limit\":20,\"used\":4,\"left\":16},\"max_cost_usd\":{\"limit\":2.5,\"used\":2.600000001,"
	        "\"left\":-0.100000001}},\"permission_denials\":[{\"tool_name\":\"Bash\",\"tool_use_id\":\"toolu_2\","
	        "\"tool_input\":{\"command\":\"ls\"}}],\"side_effects\":[\"Bash toolu_1\"],"
	        "\"run_dir\":\"/state/s\"," TAIL("000000000001"));
}

#define BARE_RESULT_END                                                                                                \
	"\"duration_ms\":0,\"duration_api_ms\":0,\"num_turns\":0,\"turns\":0,\"transitions\":{},"                      \
	"\"total_cost_usd\":null,\"costBasis\":\"unknown\",\"usage\":" NO_USAGE ",\"modelUsage\":{},\"limits\":{},"    \
	"\"permission_denials\":[],\"side_effects\":[],"

static void a_plain_result(void **state)
{
	assert_line(*state, result_event(TERM_COMPLETED, "All tests pass."),
	            "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"All tests pass.\","
	            "\"terminal_reason\":\"completed\",\"exit_code\":0,\"transient\":false,"
	            "\"stop_reason\":null," BARE_RESULT_END TAIL("000000000001"));
}

static void stream_events_only_if_asked(void **state)
{
	struct bench *b = *state;
	static const char delta[] = "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
	                            "\"text\":\"Hel\"}}";
	struct event ev = { .kind = EVENT_STREAM, .stream_json = delta, .stream_len = sizeof delta - 1 };

	start(b);
	for (int i = 0; i < 5000; i++)
		emit(b, ev);
	assert_int_equal(b->uuids, 0); /* not even an id was made */
	stop(b);
	assert_file(b->out, "");
	b->cfg.partial = true;
	assert_line(b, ev,
	            "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{"
	            "\"type\":\"text_delta\",\"text\":\"Hel\"}},\"parent_tool_use_id\":null," TAIL("000000000001"));
}

static void a_block_with_line_breaks_stays_one_line(void **state)
{
	struct bench *b = *state;
	static const char pretty[] = "{\n  \"type\": \"text\",\r\n  \"text\": \"a\\nb\"\n}";
	struct error e = ERROR_INIT;
	struct block *block = block_from_json(pretty, sizeof pretty - 1, &e);
	struct event ev = { .kind = EVENT_ASSISTANT,
		            .u.assistant = { .message_id = "m", .model = "m", .block = block } };

	assert_non_null(block);
	start(b);
	emit(b, ev);
	stop(b);
	char *text = member(b->out, "uuid"); /* fails if there is more than one line */
	assert_non_null(text);
	free(text);
	block_unref(block);
}

static void json_format_is_the_result_alone(void **state)
{
	struct bench *b = *state;
	size_t n = (size_t)2 << 20;
	char *big = malloc(n + 1);

	assert_non_null(big);
	memset(big, 'x', n);
	big[n] = '\0';
	b->cfg.format = OUTPUT_JSON;
	b->cfg.partial = true;
	start(b);
	emit(b, init_event());
	emit(b, notice_event());
	emit(b, result_event(TERM_COMPLETED, big));
	stop(b);
	char *text = member(b->out, "result"); /* no size limit */
	assert_string_equal(text, big);
	free(text);
	free(big);
}

static void text_format_is_the_answer_alone(void **state)
{
	struct bench *b = *state;
	static const struct {
		enum terminal_reason reason;
		const char *result, *out;
	} cases[] = {
		{ TERM_COMPLETED, "42", "42\n" },       { TERM_COMPLETED, "two\nlines\n", "two\nlines\n\n" },
		{ TERM_COMPLETED, "", "\n" },           { TERM_MAX_OUTPUT, "the begin", "the begin\n" },
		{ TERM_MAX_TURNS, "Let me look.", "" }, { TERM_MODEL_ERROR, NULL, "" },
	};

	b->cfg.format = OUTPUT_TEXT;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		start(b);
		emit(b, init_event());
		emit(b, result_event(cases[i].reason, cases[i].result));
		stop(b);
		assert_file(b->out, cases[i].out);
	}
}

static void the_events_file_gets_every_line_in_any_format(void **state)
{
	struct bench *b = *state;
	struct stat st;

	b->cfg.events_path = b->events;
	b->cfg.format = OUTPUT_TEXT;
	start(b);
	emit(b, notice_event());
	emit(b, result_event(TERM_COMPLETED, "42"));
	stop(b);
	assert_file(b->out, "42\n");
	assert_int_equal(stat(b->events, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	char *first = slurp(b->events, NULL);
	assert_non_null(strstr(first, "quern_notice"));
	assert_non_null(strstr(first, "\n{\"type\":\"result\""));

	start(b); /* a second run appends */
	emit(b, notice_event());
	stop(b);
	char *second = slurp(b->events, NULL);
	assert_memory_equal(first, second, strlen(first));
	assert_true(strlen(second) > strlen(first));
	free(first);
	free(second);
}

static void a_torn_last_line_is_ended_before_the_first_event(void **state)
{
	struct bench *b = *state;
	struct error e = ERROR_INIT;
	int fd = open(b->events, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(io_write_all(fd, "{\"torn", 6), 0);
	close(fd);
	b->cfg.events_path = b->events;
	/* and the same for `>>run.ndjson` */
	b->cfg.fd = open(b->out, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_int_equal(io_write_all(b->cfg.fd, "{\"torn", 6), 0);
	b->r = recorder_open(&b->cfg, &e);
	assert_non_null(b->r);
	emit(b, notice_event());
	stop(b);
	char *events = slurp(b->events, NULL), *out = slurp(b->out, NULL);
	assert_memory_equal(events, "{\"torn\n{\"type\":\"system\"", 23);
	assert_string_equal(events, out);
	free(events);
	free(out);
}

static void bad_events_files_are_input_errors(void **state)
{
	struct bench *b = *state;
	struct error e = ERROR_INIT;
	char fifo[96];

	snprintf(fifo, sizeof fifo, "%s/fifo", b->dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	b->cfg.fd = open(b->out, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	const char *const bad[] = { "/nonexistent/x", "/", fifo, b->out, "" };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		b->cfg.events_path = bad[i];
		e = (struct error)ERROR_INIT;
		assert_null(recorder_open(&b->cfg, &e));
		assert_int_equal(e.code, ERR_INPUT);
		assert_non_null(strstr(e.msg, bad[i]));
	}
}

/* Every character is two bytes escaped or more, and a cut may fall anywhere in it. */
static char *awkward_text(size_t n)
{
	static const char *const parts[] = { "\xF0\x9F\x98\x80", "\xC3\xA9", "\"", "\n", "\xE2\x80\xA8", "a" };
	char *p = malloc(n + 8);
	size_t len = 0;

	assert_non_null(p);
	for (size_t i = 0; len < n; i++) {
		size_t k = strlen(parts[i % 6]);
		memcpy(p + len, parts[i % 6], k);
		len += k;
	}
	p[len] = '\0';
	return p;
}

static void a_long_answer_is_cut_and_whole_in_its_file(void **state)
{
	struct bench *b = *state;

	use_run_dir(b);
	/* every length around, so that the cut falls on each byte of each character */
	for (size_t more = 0; more < 24; more++) {
		char *text = awkward_text(9000 + more);
		b->cfg.max_line = 4096 + more;
		start(b);
		emit(b, result_event(TERM_COMPLETED, text));
		assert_true(recorder_named_file(b->r));
		stop(b);
		size_t n;
		char *line = slurp(b->out, &n);
		assert_true(n <= b->cfg.max_line && n > b->cfg.max_line - 1024);
		assert_true(utf8_valid(line, n, NULL));
		char *cut = member(b->out, "result"), *file = member(b->out, "result_file");
		assert_memory_equal(cut, text, strlen(cut));
		assert_true(utf8_valid(cut, strlen(cut), NULL));
		assert_file(file, text);
		free(line);
		free(cut);
		free(file);
		free(text);
	}
}

static void a_long_block_is_cut_and_the_line_whole_in_its_file(void **state)
{
	struct bench *b = *state;
	char *text = awkward_text(3 << 20);
	struct block *block = block_new_tool_result("toolu_1", text, strlen(text), false);
	struct event ev = user_event(block);

	use_run_dir(b);
	start(b);
	emit(b, ev);
	stop(b);
	size_t n;
	free(slurp(b->out, &n));
	assert_true(n <= 1 << 20 && n > (1 << 20) - 8192);
	char *file = member(b->out, "quern_file"), *uuid = member(b->out, "uuid");
	char *whole_uuid = member(file, "uuid"), *whole = slurp(file, NULL);
	assert_string_equal(uuid, whole_uuid); /* the file is the same event */
	assert_non_null(strstr(whole, block->json));
	free(file);
	free(uuid);
	free(whole_uuid);
	free(whole);
	free(text);
	block_unref(block);
}

static void without_a_run_directory_the_cut_is_marked_all_the_same(void **state)
{
	struct bench *b = *state;
	char *text = awkward_text(9000);
	struct block *block = block_new_tool_result("toolu_1", text, strlen(text), false);
	struct event ev = user_event(block);

	b->cfg.max_line = 2048;
	start(b);
	emit(b, ev);
	assert_false(recorder_named_file(b->r));
	stop(b);
	char *line = slurp(b->out, NULL);
	assert_non_null(strstr(line, ",\"quern_file\":null}"));
	free(line);
	free(text);
	block_unref(block);
}

/* No string is long enough to be cut: numbers alone fill the line. */
static void a_line_full_of_small_parts_keeps_its_frame(void **state)
{
	struct bench *b = *state;
	struct buf input = BUF_INIT(BUF_HUGE);

	buf_adds(&input, "{\"v\":[0");
	for (int i = 0; i < 3000; i++)
		buf_adds(&input, ",1");
	buf_adds(&input, "]}");
	struct block *call = block_new_tool_use("toolu_9", "Write", input.data, input.len);
	struct event ev = { .kind = EVENT_ASSISTANT,
		            .u.assistant = { .message_id = "m", .model = "m", .block = call } };
	use_run_dir(b);
	b->cfg.max_line = 2048;
	start(b);
	emit(b, ev);
	stop(b);
	size_t n;
	char *line = slurp(b->out, &n), *file = member(b->out, "quern_file"), *whole = slurp(file, NULL);
	assert_true(n <= 2048);
	assert_non_null(strstr(line, "{\"type\":\"tool_use\",\"id\":\"toolu_9\",\"name\":\"Write\",\"input\":{}}"));
	assert_non_null(strstr(whole, call->json));
	free(line);
	free(file);
	free(whole);
	block_unref(call);
	buf_release(&input);
}

static void mask_cat(void *ctx, struct buf *text)
{
	(void)ctx;
	for (char *p; (p = strstr(text->data, "secret")) != NULL;)
		memcpy(p, "******", 6);
}

static void secrets_are_masked_in_lines_and_files(void **state)
{
	struct bench *b = *state;
	char *text = awkward_text(9000);

	memcpy(text, "a secret", 8);
	use_run_dir(b);
	b->cfg.mask = mask_cat;
	b->cfg.max_line = 4096;
	start(b);
	emit(b, result_event(TERM_COMPLETED, text));
	stop(b);
	char *line = slurp(b->out, NULL), *file = member(b->out, "result_file"), *whole = slurp(file, NULL);
	assert_null(strstr(line, "secret"));
	assert_non_null(strstr(line, "\"a ******"));
	assert_memory_equal(whole, "a ******", 8);
	free(line);
	free(file);
	free(whole);
	free(text);
}

static void a_startup_failure_is_one_whole_result(void **state)
{
	struct bench *b = *state;
	static const char *const errors[] = { "job.yaml:12:5: limits.max_turn: unknown key", "and another" };

	b->cfg.fd = open(b->out, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	b->cfg.events_path = "/nonexistent/x"; /* may be what failed: the result comes all the same */
	assert_int_equal(recorder_startup_failure(&b->cfg, TERM_SETUP_FAILED, 2, "config_file_invalid", errors, 2,
	                                          &(int64_t){ clock_mono_ms() + 20000 }),
	                 0);
	assert_file(b->out, "{\"type\":\"result\",\"subtype\":\"error_during_execution\",\"is_error\":true,\"errors\":["
	                    "\"job.yaml:12:5: limits.max_turn: unknown key\",\"and another\"],"
	                    "\"terminal_reason\":\"turn_setup_failed\",\"exit_code\":2,\"transient\":false,"
	                    "\"stop_reason\":null,\"startup_failure_reason\":\"config_file_invalid\",\"duration_ms\":0,"
	                    "\"duration_api_ms\":0,\"num_turns\":0,\"turns\":0,\"transitions\":{},\"total_cost_usd\":0,"
	                    "\"costBasis\":\"list\",\"usage\":" NO_USAGE ",\"modelUsage\":{},\"limits\":{},"
	                    "\"permission_denials\":[],\"side_effects\":[]," TAIL("000000000001"));
}

/* --- the schema ---------------------------------------------------------------------------------------------- */

static const char *source_dir(void)
{
	const char *dir = getenv("QUERN_SRC");

	return dir ? dir : ".";
}

static int validate(const char *lines)
{
	char command[512];

	snprintf(command, sizeof command, "python3 %s/tests/lib/validate.py %s/schema/events.json <%s >/dev/null",
	         source_dir(), source_dir(), lines);
	int status = system(command);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void the_committed_schema_is_current(void **state)
{
	struct buf now = BUF_INIT(BUF_HUGE);
	char path[256];

	(void)state;
	event_print_schema(&now);
	snprintf(path, sizeof path, "%s/schema/events.json", source_dir());
	char *committed = slurp(path, NULL);
	/* if not: quern --print-schema events >schema/events.json */
	assert_string_equal(committed, now.data);
	free(committed);
	buf_release(&now);
}

/* A run with every kind of event in it. */
static void a_whole_run(struct bench *b)
{
	struct block *call = block_new_tool_use("toolu_1", "Bash", "{\"command\":\"ls\"}", 16);
	struct block *answer = block_new_text("done", 4);
	struct block *result = block_new_tool_result("toolu_1", "ok", 2, false);
	struct usage first = { 10, 5, 0, 0, -1, -1, -1, false }, last = { 10, 9, 0, 3, -1, -1, -1, false };
	static const char delta[] = "{\"type\":\"message_stop\"}";
	char withdrawn[1][UUID_LEN + 1];
	struct error e = ERROR_INIT;

	b->cfg.partial = true;
	start(b);
	struct event ev = init_event();
	ev.u.init.audit = (struct event_audit){ SHA_A, SHA_B, SHA_A };
	ev.u.init.environment = "Date: today";
	emit(b, ev);
	emit(b, resume_event());
	emit(b, history_event());
	ev = retry_event();
	ev.u.retry.model = "m";
	ev.u.retry.usage = &first;
	emit(b, ev);
	ev = (struct event){ .kind = EVENT_ASSISTANT };
	ev.u.assistant =
	        (struct event_assistant){ .message_id = "gone", .model = "m", .block = answer, .usage = &first };
	assert_int_equal(recorder_emit(b->r, &ev, &e), 0);
	memcpy(withdrawn[0], ev.uuid, sizeof withdrawn[0]);
	struct event stone = { .kind = EVENT_TOMBSTONE,
		               .u.tombstone = { (const char(*)[UUID_LEN + 1]) withdrawn, 1, "gone", NULL, &first } };
	emit(b, stone);
	emit(b, (struct event){ .kind = EVENT_STREAM, .stream_json = delta, .stream_len = sizeof delta - 1 });
	ev.u.assistant = (struct event_assistant){ .message_id = "m1", .model = "m", .block = answer, .usage = &first };
	emit(b, ev);
	emit(b, (struct event){ .kind = EVENT_TOOL_START, .u.tool_start = { "toolu_1", "Bash", call } });
	ev.u.assistant.block = call;
	ev.u.assistant.usage = &last;
	ev.u.assistant.stop_reason = "tool_use";
	emit(b, ev);
	emit(b, denied_event());
	emit(b, (struct event){ .kind = EVENT_SUMMARY, .u.summary = { "toolu_1", NULL, "m", NULL } });
	ev = user_event(result);
	ev.u.user.structured = "{}";
	ev.u.user.state = "{\"cwd\":\"/repo\"}";
	emit(b, ev);
	emit(b, transition_event());
	emit(b, notice_event());
	ev = (struct event){ .kind = EVENT_ASSISTANT };
	ev.u.assistant =
	        (struct event_assistant){ .message_id = "s", .model = "<synthetic>", .text = "x", .error = "unknown" };
	emit(b, ev);
	struct session_totals t;
	ev = totals_event(&t);
	ev.u.result.reason = TERM_MODEL_ERROR;
	ev.u.result.exit_code = terminal_exit_code(TERM_MODEL_ERROR, false);
	static const char *const errors[] = { "x" };
	ev.u.result.errors = errors;
	ev.u.result.nerrors = 1;
	ev.u.result.usage = last;
	emit(b, ev);
	stop(b);
	block_unref(call);
	block_unref(answer);
	block_unref(result);
}

static void a_run_of_every_kind_is_valid(void **state)
{
	struct bench *b = *state;

	a_whole_run(b);
	assert_int_equal(validate(b->out), 0);
}

static void cut_lines_are_valid_too(void **state)
{
	struct bench *b = *state;
	struct buf many = BUF_INIT(BUF_HUGE);

	use_run_dir(b);
	buf_adds(&many, "{\"v\":[0");
	while (many.len < 3 << 20)
		buf_adds(&many, ",1");
	buf_adds(&many, "]}");
	struct block *call = block_new_tool_use("toolu_1", "Bash", many.data, many.len);
	char *text = awkward_text(3 << 20);
	struct block *result = block_new_tool_result("toolu_1", text, strlen(text), true);
	struct event ev = { .kind = EVENT_ASSISTANT };
	start(b);
	emit(b, init_event());
	ev.u.assistant = (struct event_assistant){ .message_id = "m1", .model = "m", .block = call };
	emit(b, ev);
	ev = user_event(result);
	ev.u.user.structured = many.data;
	emit(b, ev);
	emit(b, result_event(TERM_COMPLETED, text));
	stop(b);
	assert_int_equal(validate(b->out), 0);
	free(text);
	block_unref(call);
	block_unref(result);
	buf_release(&many);
}

/* Each change to a good run must be found: the schema and the checker are strict. */
static void wrong_runs_are_found(void **state)
{
	struct bench *b = *state;
	static const char *const changes[] = {
		"/\"init\"/d",                                               /* no init */
		"$d",                                                        /* no result */
		"$p",                                                        /* two results */
		"/\"type\":\"user\"/d",                                      /* an unanswered call */
		"s/\"exit_code\":20/\"exit_code\":3/",                       /* not a code of ours */
		"s/\"is_error\":true,\"result/\"is_error\":false,\"result/", /* success and failure at once */
		"s/\"terminal_reason\":\"model_error\"/\"terminal_reason\":\"api_error\"/",
		"s/\"attempt\":1/\"attempt\":\"1\"/",
		"s/\"attempt\":1,//",
		"s/\"attempt\":1/\"atempt\":1/",
		"s/\"reason\":\"next_turn\"/\"reason\":\"next\"/",
		"s/\"name\":\"Bash\",//",                     /* a tool_use without a name */
		"s/\"output_tokens\":9/\"output_tokens\":8/", /* the sum no longer fits the result's (first line only)
		                                               */
		"s/0000000000\\(..\\)\"}$/000000000001\"}/",  /* one uuid for all */
		"s/\"uuid\":\"0000/\"uuid\":\"000/",
		"s/\"subtype\":\"quern_notice\"/\"subtype\":\"quern_note\"/",
	};
	char command[512], changed[96];

	a_whole_run(b);
	snprintf(changed, sizeof changed, "%s/changed", b->dir);
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		bool sum = strstr(changes[i], "output_tokens") != NULL;
		snprintf(command, sizeof command, "sed -e '%s%s' %s >%s", sum ? "/assistant/" : "", changes[i], b->out,
		         changed);
		assert_int_equal(system(command), 0);
		snprintf(command, sizeof command, "cmp -s %s %s", b->out, changed);
		assert_int_not_equal(system(command), 0); /* the change did change something */
		if (validate(changed) != 1)
			fail_msg("not found: %s", changes[i]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(init_line),
		T(lines_tell_the_time),
		T(assistant_lines),
		T(user_lines),
		T(a_message_is_shown_again),
		T(control_responses),
		T(system_lines),
		T(lines_of_the_record),
		T(what_a_result_says_of_all_runs),
		T(what_a_result_says_of_the_workspace),
		T(a_full_result),
		T(a_plain_result),
		T(stream_events_only_if_asked),
		T(a_block_with_line_breaks_stays_one_line),
		T(json_format_is_the_result_alone),
		T(text_format_is_the_answer_alone),
		T(the_events_file_gets_every_line_in_any_format),
		T(a_torn_last_line_is_ended_before_the_first_event),
		T(bad_events_files_are_input_errors),
		T(a_long_answer_is_cut_and_whole_in_its_file),
		T(a_long_block_is_cut_and_the_line_whole_in_its_file),
		T(without_a_run_directory_the_cut_is_marked_all_the_same),
		T(a_line_full_of_small_parts_keeps_its_frame),
		T(secrets_are_masked_in_lines_and_files),
		T(a_startup_failure_is_one_whole_result),
		T(the_committed_schema_is_current),
		T(a_run_of_every_kind_is_valid),
		T(cut_lines_are_valid_too),
		T(wrong_runs_are_found),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
