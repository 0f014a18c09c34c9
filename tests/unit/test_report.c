/* report/: from the lines of a run to a page. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/io.h"
#include "report/report.h"

#define TAIL(ms) ",\"quern_ms\":" #ms ",\"session_id\":\"s\",\"uuid\":\"u" #ms "\"}"
#define INIT(ms)                                                                                                       \
	"{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/w\",\"model\":\"m-1\",\"tools\":[\"Bash\"],"             \
	"\"quern_started\":\"T" #ms "\"" TAIL(ms)
#define ANSWER(id, block, stop, ms)                                                                                    \
	"{\"type\":\"assistant\",\"message\":{\"id\":\"" id "\",\"model\":\"m-1\",\"content\":[" block "],"            \
	"\"stop_reason\":" stop ",\"usage\":{\"input_tokens\":10,\"output_tokens\":20,\"cache_read_input_tokens\":30," \
	"\"cache_creation_input_tokens\":40}}" TAIL(ms)
#define TEXT(t)       "{\"type\":\"text\",\"text\":\"" t "\"}"
#define CALL(id, cmd) "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"Bash\",\"input\":{\"command\":\"" cmd "\"}}"
#define OUTPUT(id, text, err, ms)                                                                                      \
	"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"    \
	"\"" id "\",\"content\":\"" text "\",\"is_error\":" err "}]}" TAIL(ms)
#define NEXT(ms) "{\"type\":\"system\",\"subtype\":\"quern_transition\",\"reason\":\"next_turn\",\"turn\":1" TAIL(ms)
#define RESULT(ms)                                                                                                     \
	"{\"type\":\"result\",\"result\":\"the <answer>\",\"terminal_reason\":\"completed\",\"exit_code\":0,"          \
	"\"duration_ms\":1234,\"total_cost_usd\":0.5" TAIL(ms)

static struct report *open_report(void)
{
	struct error e = ERROR_INIT;
	static const struct report_config cfg = { .name = "a<b>.ndjson" };
	struct report *r = report_open(&cfg, &e);

	assert_non_null(r);
	return r;
}

/* The page; the caller frees it. NULL with *e if there is none. */
static char *finish(struct report *r, struct error *e)
{
	int fd = memfd_create("page", MFD_CLOEXEC);
	struct buf text = BUF_INIT(BUF_HUGE);
	char *page = NULL;

	assert_true(fd >= 0);
	if (report_finish(r, fd, e) == 0) {
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		assert_int_equal(io_read_fd(fd, &text, e), 0);
		page = buf_take(&text, NULL);
	}
	close(fd);
	report_free(r);
	return page;
}

static char *page_of(const char *const *lines, size_t n)
{
	struct report *r = open_report();
	struct error e = ERROR_INIT;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(report_line(r, lines[i], strlen(lines[i]), true, &e), 0);
	char *page = finish(r, &e);
	assert_non_null(page);
	return page;
}

static void has(const char *page, const char *what)
{
	if (!strstr(page, what))
		fail_msg("the page lacks: %s\n%s", what, strstr(page, "<main>"));
}

static void lacks(const char *page, const char *what)
{
	const char *at = strstr(page, what);

	if (at)
		fail_msg("the page has: %.200s", at);
}

static int count(const char *page, const char *what)
{
	const size_t len = strlen(what);
	int n = 0;

	/* not by strstr, which looks at all of the rest each time under ASan */
	while ((page = strchr(page, *what)) != NULL) {
		bool here = !strncmp(page, what, len);
		n += here;
		page += here ? len : 1;
	}
	return n;
}

#define PAGE(...)                                                                                                      \
	const char *const lines[] = { __VA_ARGS__ };                                                                   \
	char *page = page_of(lines, sizeof lines / sizeof *lines)

static void a_small_run(void **state)
{
	PAGE(INIT(0),
	     "{\"type\":\"system\",\"subtype\":\"quern_history\",\"messages\":[{\"old\":[0,1]},{\"role\":\"user\","
	     "\"content\":[{\"type\":\"text\",\"text\":\"told beside it\"},{\"type\":\"text\",\"text\":\"# Do `it` "
	     "now\\nplease\"}]}],\"prompt\":[1,2]" TAIL(5),
	     ANSWER("m1", TEXT("I look."), "null", 100), ANSWER("m1", CALL("c1", "ls <x>"), "\"tool_use\"", 200),
	     OUTPUT("c1", "file\\n", "false", 450), NEXT(451), ANSWER("m2", TEXT("Done."), "\"end_turn\"", 900),
	     RESULT(910));

	(void)state;
	has(page, "<h1>Do it now</h1>");
	has(page, "a&lt;b&gt;.ndjson");
	has(page, "<p class=\"verdict good\"><b>completed</b>");
	has(page, "<dt>Turns</dt><dd>2</dd>");
	has(page, "<dt>Tool calls</dt><dd>1</dd>");
	has(page, "<dt>Duration</dt><dd>1.2 s</dd>");
	has(page, "<dt>Tokens</dt><dd>160 + 40<small>in + out, 38% cached</small></dd>");
	has(page, "<dt>Cost</dt><dd>$0.5000</dd>");
	has(page, "<p>the &lt;answer&gt;</p>");
	lacks(page, "told beside it");
	/* the call with its headline, time and size */
	has(page, "<b>Bash</b> <code>ls &lt;x&gt;</code><span class=\"m\">250 ms · 5 B</span>");
	/* two bars of the model, one of a tool; the second request began with the transition */
	assert_int_equal(count(page, "<rect class=\"la\""), 2);
	assert_int_equal(count(page, "<rect class=\"lt\""), 1);
	has(page, "Turn 2 · 449 ms · at 451 ms</title>");
	has(page, "<code>next_turn</code></li><li class=\"good\"><b>completed</b></li></ol>");
	assert_int_equal(count(page, "<section class=\"turn\""), 2);
	has(page, "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
	          "img-src data:");
	lacks(page, "<script");
	free(page);
}

static void nothing_of_a_run_is_an_error(void **state)
{
	static const char *const inputs[] = {
		"", "no json", "{}", "[1]", "7", "{\"type\":\"system\",\"subtype\":\"x\"}"
	};

	(void)state;
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
		struct report *r = open_report();
		struct error e = ERROR_INIT;

		assert_int_equal(report_line(r, inputs[i], strlen(inputs[i]), true, &e), 0);
		assert_null(finish(r, &e));
		assert_int_equal(e.code, ERR_INPUT);
	}
}

/* A line that is cut off at any byte is passed over, and what was there before is shown. */
static void a_torn_record(void **state)
{
	static const char whole[] = ANSWER("m1", CALL("c1", "make"), "\"tool_use\"", 200);

	(void)state;
	for (size_t n = 1; n < sizeof whole - 1; n += 7) {
		struct report *r = open_report();
		struct error e = ERROR_INIT;

		assert_int_equal(report_line(r, INIT(0), strlen(INIT(0)), true, &e), 0);
		assert_int_equal(report_line(r, whole, n, false, &e), 0);
		char *page = finish(r, &e);
		assert_non_null(page);
		has(page, "<b>no result</b>");
		has(page, "the last line is torn");
		free(page);
	}
}

static void calls_without_a_result(void **state)
{
	PAGE(INIT(0), ANSWER("m1", CALL("c1", "make"), "\"tool_use\"", 200),
	     "{\"type\":\"system\",\"subtype\":\"quern_notice\",\"code\":\"x\",\"text\":\"a <notice>\"" TAIL(700));

	(void)state;
	has(page, "<mark>no result</mark> 500 ms");
	assert_int_equal(count(page, "<rect class=\"lx\""), 1);
	has(page, "<li>a &lt;notice&gt;</li>");
	free(page);
}

static void withdrawn_failed_and_denied(void **state)
{
	PAGE(INIT(0), ANSWER("m1", TEXT("half"), "null", 100),
	     "{\"type\":\"system\",\"subtype\":\"quern_tombstone\",\"uuids\":[\"u100\",7],\"message_ids\":[\"m1\"],"
	     "\"usage\":{\"input_tokens\":5,\"output_tokens\":1}" TAIL(150),
	     "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":10,\"retry_delay_ms\":1000,"
	     "\"error\":\"overloaded\",\"message\":\"busy\"" TAIL(160),
	     "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":2,\"max_retries\":10,\"retry_delay_ms\":2000,"
	     "\"error\":\"overloaded\",\"message\":\"busy\",\"usage\":{\"input_tokens\":1234}" TAIL(1300),
	     ANSWER("m2", CALL("c1", "curl x") "," CALL("c2", "false"), "\"tool_use\"", 4000),
	     "{\"type\":\"system\",\"subtype\":\"permission_denied\",\"tool_name\":\"Bash\",\"tool_use_id\":\"c1\","
	     "\"message\":\"no rule\"" TAIL(4001),
	     OUTPUT("c1", "no rule", "true", 4002), OUTPUT("c2", "", "true", 4100));

	(void)state;
	has(page, "An answer that was withdrawn");
	has(page, "<div class=\"say gone\"");
	has(page, "<a href=\"#r1t1\">Turn 1</a>");
	has(page, "<dt>Turns</dt><dd>1</dd>");
	has(page, "<small>1 failed, 1 denied</small>");
	has(page, "<mark>denied</mark>");
	has(page, "<mark>failed</mark>");
	has(page, "no output");
	assert_int_equal(count(page, "<rect class=\"lw\""), 2);
	has(page, "; paid all the same: 1,234 tokens</p>");
	has(page, "waiting to try again · 2.0 s · at 1.3 s");
	/* the withdrawn answer, and the attempts that failed before anything came */
	assert_int_equal(count(page, "<rect class=\"lb\""), 3);
	free(page);
}

static void calls_at_once_have_lanes(void **state)
{
	PAGE(INIT(0), ANSWER("m1", CALL("c1", "a") "," CALL("c2", "b") "," CALL("c3", "c"), "\"tool_use\"", 100),
	     OUTPUT("c2", "x", "false", 500), OUTPUT("c1", "x", "false", 600), OUTPUT("c3", "x", "false", 700),
	     RESULT(1000));

	(void)state;
	/* a row of 20 for the model, then one for each call */
	has(page, "y=\"23\" width=\"40.000%\"");
	has(page, "y=\"43\" width=\"50.000%\"");
	has(page, "y=\"63\" width=\"60.000%\"");
	has(page, "<div style=\"height:60px\">Tools</div>");
	free(page);
}

static void files_that_were_changed(void **state)
{
	PAGE(INIT(0),
	     ANSWER("m1", "{\"type\":\"tool_use\",\"id\":\"e1\",\"name\":\"Edit\",\"input\":{\"file_path\":\"a.c\"}}",
	            "\"tool_use\"", 1),
	     "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"e1\","
	     "\"content\":\"ok\"}]},"
	     "\"tool_use_result\":{\"filePath\":\"a.c\",\"structuredPatch\":[{\"oldStart\":1,\"oldLines\":1,"
	     "\"newStart\":1,"
	     "\"newLines\":1,\"lines\":[\"-old\",\"+<new>\"]}]}" TAIL(2),
	     ANSWER("m2", "{\"type\":\"tool_use\",\"id\":\"w1\",\"name\":\"Write\",\"input\":{\"file_path\":\"b\"}}",
	            "\"tool_use\"", 3),
	     "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"w1\","
	     "\"content\":\"ok\"}]},"
	     "\"tool_use_result\":{\"type\":\"create\",\"filePath\":\"b\",\"content\":\"1\\n2\\n\",\"structuredPatch\":"
	     "[],"
	     "\"originalFile\":null}" TAIL(4));

	(void)state;
	has(page,
	    "<code>a.c</code> <span class=\"pm\"><ins>+1</ins> <del>−1</del></span><span class=\"m\">1 call</span>");
	has(page, "<code>b</code> <span class=\"pm\"><ins>+2</ins> <del>−0</del></span>");
	assert_int_equal(count(page, "<ins>+&lt;new&gt;\n</ins>"), 2); /* with the file and with the call */
	free(page);
}

static void runs_stand_one_behind_the_other(void **state)
{
	PAGE(INIT(0), ANSWER("m1", TEXT("one"), "\"end_turn\"", 10), /* ends without a result */
	     INIT(1),
	     "{\"type\":\"system\",\"subtype\":\"quern_resume\",\"file\":\"run.ndjson\",\"from_reason\":\"max_turns\","
	     "\"interrupted\":[\"c1\"],\"changed\":[\"job\",\"cwd\"],\"lines\":2,\"torn\":true" TAIL(2),
	     ANSWER("m2", TEXT("two"), "\"end_turn\"", 20), RESULT(30));

	(void)state;
	has(page, "<body class=\"many\">");
	has(page, "<a href=\"#r1\">Run 1</a> <b class=\"no\">no result</b>");
	has(page, "<a href=\"#r2\">Run 2</a> <b class=\"ok\">completed</b>");
	has(page, "which had ended with <b>max_turns</b>; 1 interrupted call; changed since: job, cwd.");
	has(page, "id=\"r1t1\"");
	has(page, "id=\"r2t1\"");
	assert_int_equal(count(page, "<article "), 2);
	assert_int_equal(count(page, "</article>"), 2);
	free(page);
}

static void a_record_without_times(void **state)
{
	PAGE("{\"type\":\"system\",\"subtype\":\"init\",\"model\":\"m-1\"}",
	     "{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"content\":[" CALL("c1", "ls") "]}}",
	     "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\","
	     "\"content\":\"x\"}]}}",
	     "{\"type\":\"assistant\"}", "{\"type\":\"user\"}", "{\"type\":\"result\"}");

	(void)state;
	has(page, "the lines of this record tell no times");
	has(page, "<code>ls</code>");
	lacks(page, "<rect class=\"l");
	free(page);
}

/* Whatever is missing or of another type, there is a page. */
static void members_of_any_type(void **state)
{
	static const char *const kinds[] = {
		"assistant",
		"user",
		"result",
		"stream_event",
		"init",
		"quern_history",
		"quern_tool_start",
		"quern_transition",
		"api_retry",
		"quern_tombstone",
		"permission_denied",
		"quern_notice",
		"quern_context",
		"status",
		"compact_boundary",
		"quern_model_switch",
		"hook_started",
		"hook_response",
		"informational",
		"quern_resume",
		"quern_summary",
	};
	static const char *const values[] = { "null",
		                              "7",
		                              "-1e300",
		                              "\"\"",
		                              "[]",
		                              "[7,[],{}]",
		                              "{}",
		                              "{\"content\":7}",
		                              "{\"content\":[7,{},{\"type\":\"tool_use\"},{\"type\":\"image\"}]}",
		                              "true" };
	static const char *const keys[] = { "message",
		                            "usage",
		                            "quern_ms",
		                            "content",
		                            "messages",
		                            "prompt",
		                            "block",
		                            "uuids",
		                            "retry_delay_ms",
		                            "tool_use_id",
		                            "reason",
		                            "text",
		                            "stdout",
		                            "compact_metadata",
		                            "limits",
		                            "modelUsage",
		                            "permission_denials",
		                            "audit",
		                            "session_totals",
		                            "errors",
		                            "interrupted",
		                            "changed",
		                            "status",
		                            "error" };
	struct report *r = open_report();
	struct error e = ERROR_INIT;
	char line[512];

	(void)state;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		bool system = k > 3;
		for (size_t m = 0; m < sizeof keys / sizeof *keys; m++) {
			for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
				int n = snprintf(line, sizeof line, "{\"type\":\"%s\",\"subtype\":\"%s\",\"%s\":%s}",
				                 system ? "system" : kinds[k], kinds[k], keys[m], values[v]);
				assert_int_equal(report_line(r, line, (size_t)n, true, &e), 0);
			}
		}
	}
	char *page = finish(r, &e);
	assert_non_null(page);
	assert_string_equal(page + strlen(page) - 8, "</html>\n");
	free(page);
}

static void the_digest_of_the_events(void **state)
{
	static const char init[] = INIT(0), answer[] = ANSWER("m1", TEXT("x"), "\"end_turn\"", 10);
	static const char *const verdicts[] = { "✓ that of this record", "not that of this record" };
	char hex[DIGEST_HEX + 1], result[512];
	struct digest d;

	(void)state;
	digest_init(&d);
	digest_add(&d, init, sizeof init - 1);
	digest_add(&d, "\n", 1);
	digest_add(&d, answer, sizeof answer - 1);
	digest_add(&d, "\n", 1);
	digest_hex(&d, hex);
	snprintf(result, sizeof result,
	         "{\"type\":\"result\",\"terminal_reason\":\"completed\",\"exit_code\":0,\"audit\":{\"events_sha256\":"
	         "\"%s\"}}",
	         hex);
	for (size_t i = 0; i < 2; i++) {
		const char *const lines[] = { init, i ? ANSWER("m1", TEXT("y"), "\"end_turn\"", 10) : answer, result };
		char *page = page_of(lines, 3);
		has(page, verdicts[i]);
		lacks(page, verdicts[!i]);
		free(page);
	}
}

static void what_else_the_result_tells(void **state)
{
	PAGE(INIT(0), "{\"type\":\"result\",\"terminal_reason\":\"verify_failed\",\"exit_code\":33,"
	              "\"errors\":[\"the <check> fails\"],"
	              "\"limits\":{\"max_turns\":{\"limit\":10,\"used\":5,\"left\":5},\"max_cost_usd\":{\"limit\":2,"
	              "\"used\":3,\"left\":-1},\"wall_time_ms\":{\"limit\":60000,\"used\":1500,\"left\":58500}},"
	              "\"verification\":{\"runs\":2,\"failures\":2,\"passed\":false},"
	              "\"workspace\":{\"changed\":1,\"saved\":\"/tmp/<o>.tar\"},"
	              "\"session_totals\":{\"runs\":2,\"duration_ms\":61000,\"total_cost_usd\":1.5,\"models\":{}},"
	              "\"permission_denials\":[{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"<rm>\"}}]}");

	(void)state;
	has(page, "<p class=\"verdict bad\"><b>verify_failed</b>");
	has(page, "<span class=\"m\">exit code 33</span>");
	has(page, "<p class=\"err\">the &lt;check&gt; fails</p>");
	has(page, "<th>max_turns<td class=\"meter\"><i style=\"width:50.0%\"></i><td class=\"n\">5 of 10</tr>");
	has(page, "<i style=\"width:100.0%\" class=\"full\"></i><td class=\"n\">$3.00 of $2.00</tr>");
	has(page, "1.5 s of 1 min 0 s</tr>");
	has(page, "runs <b>2</b>, failures <b>2</b>, passed <b>false</b>");
	has(page, "changed <b>1</b>, saved <b>/tmp/&lt;o&gt;.tar</b>");
	has(page, "runs <b>2</b>, duration_ms <b>1 min 1 s</b>, total_cost_usd <b>$1.50</b></dd>");
	has(page, "<li><b>Bash</b> <code>{&quot;command&quot;:&quot;&lt;rm&gt;&quot;}</code></li>");
	free(page);
}

/* Pictures among the user's words, as among those of a tool, are shown, and counted as what they are. */
static void pictures(void **state)
{
#define PICTURE                                                                                                        \
	"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"iVBORw0KGgoA\"}}"
	PAGE(INIT(0),
	     "{\"type\":\"system\",\"subtype\":\"quern_history\",\"messages\":[{\"role\":\"user\",\"content\":[" TEXT(
	             "see") "," PICTURE "]}],\"prompt\":[0,2]" TAIL(5),
	     ANSWER("m1", CALL("c1", "x"), "\"tool_use\"", 10),
	     "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\","
	     "\"content\":[" PICTURE "," TEXT("a\\nb") "]}]}" TAIL(20),
	     "{\"type\":\"user\",\"isReplay\":true,\"message\":{\"content\":[" PICTURE "]}}", RESULT(30));

	(void)state;
	assert_int_equal(count(page, "src=\"data:image/png;base64,iVBORw0KGgoA\">"), 3);
	lacks(page, "&quot;base64&quot;");
	has(page, "<span class=\"m\">10 ms · 12 B</span>");
	free(page);
}

/* Differences are kept in memory until the end: of many files as much as there is room for. */
static void changes_of_many_files(void **state)
{
	struct report *r = open_report();
	struct error e = ERROR_INIT;
	struct buf line = BUF_INIT(BUF_HUGE);

	(void)state;
	assert_int_equal(report_line(r, INIT(0), strlen(INIT(0)), true, &e), 0);
	for (int i = 0; i < 1003; i++) {
		buf_clear(&line);
		buf_addf(&line,
		         "{\"type\":\"assistant\",\"message\":{\"id\":\"m%d\",\"content\":[{\"type\":\"tool_use\","
		         "\"id\":\"w%d\","
		         "\"name\":\"Write\",\"input\":{\"file_path\":\"f%d\"}}]}}",
		         i, i, i);
		assert_int_equal(report_line(r, line.data, line.len, true, &e), 0);
		buf_clear(&line);
		buf_addf(&line,
		         "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"w%"
		         "d\","
		         "\"content\":\"ok\"}]},\"tool_use_result\":{\"filePath\":\"f%d\",\"structuredPatch\":[],"
		         "\"content\":\"",
		         i, i);
		for (int k = 0; k < 500; k++)
			buf_adds(&line, "new line\\n");
		buf_adds(&line, "\"}}");
		assert_int_equal(report_line(r, line.data, line.len, true, &e), 0);
	}
	buf_release(&line);
	char *page = finish(r, &e);
	assert_non_null(page);
	/* each call has its own, the list of files as much as there is room for */
	int rows = count(page, "<ins>+new line\n</ins>");
	assert_true(rows > 1003 * 500 + 100000 && rows < 1003 * 500 + 300000);
	has(page, "<p class=\"cut\">3 more calls changed other files</p>");
	has(page, "<p class=\"cut\">the rest is with the calls</p>");
	assert_int_equal(count(page, "<ins>"), count(page, "</ins>"));
	free(page);
}

/* What came behind the last turn is reached by way of it; nothing points to where nothing is. */
static void a_run_that_ends_with_retries(void **state)
{
#define RETRY(n, ms)                                                                                                   \
	"{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":" #n                                               \
	",\"max_retries\":2,\"retry_delay_ms\":60000,"                                                                 \
	"\"error\":\"rate_limit\",\"message\":\"slow\"" TAIL(ms)
	PAGE(INIT(0), ANSWER("m1", CALL("c1", "ls"), "\"tool_use\"", 200), OUTPUT("c1", "x", "false", 450), NEXT(451),
	     RETRY(1, 500), RETRY(2, 61000),
	     "{\"type\":\"result\",\"terminal_reason\":\"model_error\",\"exit_code\":75,\"transient\":true,"
	     "\"retry_after_ms\":90000,\"errors\":[\"429\"]}");

	(void)state;
	has(page, "<b>model_error</b> the model call failed for good<span class=\"m\">exit code 75</span>");
	has(page, "<b>What now?</b> A later run may succeed, not before 1 min 30 s have passed; --resume goes on");
	has(page, "<dt>Retries</dt><dd>2<small>waited 2 min 0 s</small></dd>");
	has(page, "waiting to try again <span class=\"m\">2 × · 2 min 0 s</span>");
	lacks(page, "#r1t2\"");
	assert_int_equal(count(page, "<a tabindex=\"-1\" href=\"#r1t1\"><rect class=\"lw\""), 2);
	free(page);
}

/* Programs of the same format that tell neither a reason nor an exit code nor times. */
static void results_of_others(void **state)
{
	static const struct {
		const char *result, *verdict;
	} cases[] = {
		{ "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"x\"}",
		  "<p class=\"verdict good\"><b>success</b> </p>" },
		{ "{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true}",
		  "<p class=\"verdict bad\"><b>error_max_turns</b> </p>" },
		{ "{\"type\":\"result\"}", "<p class=\"verdict bad\"><b>ended</b> </p>" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		PAGE("{\"type\":\"system\",\"subtype\":\"init\"}", cases[i].result);
		has(page, cases[i].verdict);
		lacks(page, "exit code");
		lacks(page, "What now?");
		free(page);
	}
}

static void each_tool_has_a_row(void **state)
{
	PAGE("{\"type\":\"system\",\"subtype\":\"init\",\"quern_started\":\"2026-11-30T14:02:11.250Z\"" TAIL(0),
	     ANSWER("m1", CALL("c1", "a") "," CALL("c2", "b") "," CALL("c3", "c"), "\"tool_use\"", 100),
	     "{\"type\":\"system\",\"subtype\":\"permission_denied\",\"tool_name\":\"Bash\",\"tool_use_id\":\"c3\","
	     "\"message\":\"no rule\"" TAIL(101),
	     OUTPUT("c3", "no rule", "true", 102), OUTPUT("c1", "four", "false", 300), OUTPUT("c2", "", "true", 1100),
	     "{\"type\":\"system\",\"subtype\":\"quern_transition\",\"reason\":\"model_fallback\",\"turn\":1" TAIL(
	             1101));

	(void)state;
	has(page, "<th class=\"n\">failed<th");
	has(page, "<tr><td>Bash<td class=\"n\">3<td class=\"n no\">1<td class=\"n no\">1<td class=\"n\">1.2 s<td "
	          "class=\"n\">1.0 s<td class=\"n\">11 B</tr>");
	has(page, "<p class=\"meta\"><span>2026-11-30 14:02:11 UTC</span></p>");
	has(page, "<p class=\"why\"><code>model_fallback</code> model overloaded");
	assert_int_equal(count(page, "no rule"), 1); /* with the call alone */
	has(page, "<span class=\"m\">at 0 ms · model 100 ms · ");
	/* of a run that was killed */
	has(page, "<b>What now?</b> It was killed or is still running");
	free(page);
}

/* What took longest stands first; of what there was none of nothing is said. */
static void tools_by_their_time(void **state)
{
	PAGE(INIT(0),
	     ANSWER("m1", CALL("c1", "a") ",{\"type\":\"tool_use\",\"id\":\"c2\",\"name\":\"Slow\",\"input\":{}}",
	            "\"tool_use\"", 100),
	     OUTPUT("c1", "x", "false", 200), OUTPUT("c2", "x", "false", 1100));
	const char *slow = strstr(page, "<tr><td>Slow<td");

	(void)state;
	assert_non_null(slow);
	has(slow, "<tr><td>Bash<td class=\"n\">1<td class=\"n\"><td class=\"n\"><td class=\"n\">100 ms");
	has(page, "<dt>Tool calls</dt><dd>2</dd>");
	free(page);
}

/* The API may pause a long turn: what follows belongs to it. */
static void a_paused_turn_is_one(void **state)
{
	PAGE(INIT(0), ANSWER("m1", TEXT("half"), "\"pause_turn\"", 100),
	     ANSWER("m2", TEXT("whole"), "\"end_turn\"", 200), ANSWER("m3", TEXT("more"), "\"end_turn\"", 300),
	     RESULT(310));

	(void)state;
	has(page, "<dt>Turns</dt><dd>2</dd>");
	has(page, "<h3>Turn 1, continued<span");
	assert_int_equal(count(page, "id=\"r1t1\""), 1);
	assert_int_equal(count(page, "id=\"r1t2\""), 1);
	free(page);
}

/* Calls of an answer that was withdrawn are no calls of the run. */
static void withdrawn_calls_do_not_count(void **state)
{
	PAGE(INIT(0), ANSWER("m1", CALL("c1", "ls"), "null", 100),
	     "{\"type\":\"system\",\"subtype\":\"quern_tombstone\",\"uuids\":[\"u100\"]" TAIL(150),
	     OUTPUT("c1", "Model fallback triggered", "true", 160), ANSWER("m2", TEXT("x"), "\"end_turn\"", 200));

	(void)state;
	has(page, "<dt>Tool calls</dt><dd>0</dd>");
	free(page);
}

/* The legend of the tokens names what there is. */
static void kinds_of_tokens(void **state)
{
	PAGE(INIT(0),
	     "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":9}}}");

	(void)state;
	has(page, "<figcaption><span><i class=\"k ti\"></i>input</span>");
	lacks(page, "<i class=\"k tr\">");
	free(page);
}

/* `--resume` of a completed run writes its old result behind it. */
#define OLD_RESULT                                                                                                     \
	"{\"type\":\"result\",\"result\":\"x\",\"terminal_reason\":\"completed\",\"exit_code\":0,\"num_turns\":3,"     \
	"\"usage\":{\"input_tokens\":7,\"output_tokens\":5},\"resumed_result\":true}"

static void an_old_result_is_no_run(void **state)
{
	PAGE(INIT(0), ANSWER("m1", TEXT("x"), "\"end_turn\"", 200), RESULT(210), OLD_RESULT, OLD_RESULT);

	(void)state;
	assert_int_equal(count(page, "<article "), 1);
	has(page, "<dt>Result given again</dt><dd>2 times</dd>");
	has(page, "5 lines, 5 events");
	free(page);
}

static void a_result_alone_is_told(void **state)
{
	PAGE(OLD_RESULT);

	(void)state;
	has(page, "<b>old result</b> given again");
	has(page, "<dt>Turns</dt><dd>3</dd>");
	has(page, "<dt>Tokens</dt><dd>7 + 5<small>in + out</small></dd>");
	lacks(page, "Result given again");
	free(page);
}

static void what_was_shortened_says_where_it_is(void **state)
{
	PAGE(INIT(0), ANSWER("m1", TEXT("x"), "\"end_turn\"", 200),
	     "{\"type\":\"user\",\"message\":{\"content\":\"y\"},\"quern_file\":\"/r/<l>\"}",
	     "{\"type\":\"user\",\"message\":{\"content\":\"y\"},\"quern_file\":null}",
	     "{\"type\":\"result\",\"result\":\"x\",\"result_file\":\"/r/<a>\"}");

	(void)state;
	has(page, "<b>shortened, all of it is in</b> /r/&lt;l&gt;</p>");
	assert_int_equal(count(page, "shortened"), 1);
	has(page, "<p class=\"cut\">all of it is in <code>/r/&lt;a&gt;</code></p>");
	free(page);
}

/* No number is too large to be told. */
static void numbers_of_any_size(void **state)
{
	static const char *const numbers[] = { "9223372036854775807", "-9223372036854775808", "1e300", "-1e300" };
	char usage[512], result[1024];

	(void)state;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		const char *n = numbers[i];
		snprintf(usage, sizeof usage,
		         "{\"type\":\"assistant\",\"quern_ms\":%s,\"message\":{\"id\":\"m\",\"content\":[],\"usage\":{"
		         "\"input_tokens\":%s,\"output_tokens\":%s,\"cache_read_input_tokens\":%s}}}",
		         n, n, n, n);
		snprintf(result, sizeof result,
		         "{\"type\":\"result\",\"duration_ms\":%s,\"duration_api_ms\":%s,\"num_turns\":%s,"
		         "\"retry_after_ms\":%s,\"transient\":true,\"total_cost_usd\":%s,"
		         "\"session_totals\":{\"duration_ms\":%s,\"runs\":%s},\"limits\":{\"wall_time_ms\":{"
		         "\"limit\":%s,\"used\":%s},\"max_turns\":{\"limit\":%s,\"used\":%s}}}",
		         n, n, n, n, n, n, n, n, n, n, n);
		PAGE(INIT(0), usage, usage, result);
		has(page, "<h2>Limits</h2>");
		free(page);
	}
}

static void changed_files_are_named_from_the_workspace(void **state)
{
	PAGE(INIT(0), ANSWER("m1", CALL("c1", "a") "," CALL("c2", "b"), "\"tool_use\"", 100),
	     "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\"}]},"
	     "\"tool_use_result\":{\"filePath\":\"/w/src/<a>.c\",\"content\":\"x\",\"structuredPatch\":[]}}",
	     "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c2\"}]},"
	     "\"tool_use_result\":{\"filePath\":\"/where/b\",\"content\":\"x\",\"structuredPatch\":[]}}");

	(void)state;
	has(page, "<summary><code>src/&lt;a&gt;.c</code>");
	has(page, "<summary><code>/where/b</code>");
	free(page);
}

/* A thin bar of what went wrong is there, whatever stood at its place before it. */
static void failures_are_not_hidden(void **state)
{
	PAGE(INIT(0), ANSWER("m1", CALL("c1", "a"), "\"tool_use\"", 0), OUTPUT("c1", "x", "false", 1),
	     ANSWER("m2", CALL("c2", "b"), "\"tool_use\"", 1), OUTPUT("c2", "x", "false", 2),
	     ANSWER("m3", CALL("c3", "c"), "\"tool_use\"", 2), OUTPUT("c3", "x", "true", 3), RESULT(1000000));

	(void)state;
	assert_int_equal(count(page, "<rect class=\"lt\""), 1);
	assert_int_equal(count(page, "<rect class=\"lx\""), 1);
	free(page);
}

/* Whatever is in it, no part is so large that it is cut within an element. */
static void parts_of_any_size(void **state)
{
	struct report *r = open_report();
	struct buf line = BUF_INIT(BUF_HUGE);
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(report_line(r, INIT(0), strlen(INIT(0)), true, &e), 0);
	buf_adds(&line,
	         "{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c1\","
	         "\"name\":\"X\",\"input\":{\"k\":7");
	for (int i = 0; i < 300; i++) {
		buf_addf(&line, ",\"m%d\":\"", i);
		for (int k = 0; k < 3000; k++)
			buf_adds(&line, "\\u0001");
		buf_adds(&line, "\"");
	}
	buf_adds(&line, "}}]}}");
	assert_int_equal(report_line(r, line.data, line.len, true, &e), 0);
	buf_clear(&line);
	buf_adds(&line, "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\","
	                "\"content\":[7");
	for (int i = 0; i < 300; i++) {
		buf_adds(&line, ",{\"type\":\"text\",\"text\":\"");
		for (int k = 0; k < 8000; k++)
			buf_adds(&line, "<\\u001b");
		buf_adds(&line, "\"}");
	}
	buf_adds(&line, "]}]}}");
	assert_int_equal(report_line(r, line.data, line.len, true, &e), 0);
	buf_release(&line);
	char *page = finish(r, &e);
	assert_non_null(page);
	assert_true(strlen(page) < (size_t)4 << 20);
	assert_int_equal(count(page, "<pre"), count(page, "</pre>"));
	assert_int_equal(count(page, "<dd>"), count(page, "</dd>"));
	assert_int_equal(count(page, "<i class"), count(page, "</i>"));
	free(page);
}

/* Many turns and calls: the page has bars and rows enough, but not one for each. */
static void a_long_run_has_a_bounded_head(void **state)
{
	struct report *r = open_report();
	struct error e = ERROR_INIT;
	char line[512];

	(void)state;
	assert_int_equal(report_line(r, INIT(0), strlen(INIT(0)), true, &e), 0);
	for (int i = 0; i < 3000; i++) {
		snprintf(line, sizeof line,
		         "{\"type\":\"assistant\",\"message\":{\"id\":\"m%d\",\"content\":[" CALL(
		                 "c%d",
		                 "x") "],"
		                      "\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":%d}},\"quern_ms\":%d}",
		         i, i, i, i * 10);
		assert_int_equal(report_line(r, line, strlen(line), true, &e), 0);
		snprintf(line, sizeof line,
		         "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c%"
		         "d\","
		         "\"content\":\"x\"}]},\"quern_ms\":%d}",
		         i, i * 10 + 5);
		assert_int_equal(report_line(r, line, strlen(line), true, &e), 0);
	}
	char *page = finish(r, &e);
	assert_non_null(page);
	has(page, "<dt>Turns</dt><dd>3,000</dd>");
	has(page, "id=\"r1t3000\"");
	/* of 3000 turns each eighth has a place in the contents */
	has(page, "<nav class=\"turns\" aria-label=\"Turns\"><a href=\"#r1t1\">1</a><a href=\"#r1t9\">9</a>");
	has(page, "Turns 1 to 19, the mean");
	assert_true(count(page, "<rect class=\"ti\"") <= 160);
	assert_true(count(page, "<rect class=\"lt\"") <= 700);
	assert_true(count(page, "<tr>") < 2100);
	free(page);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_run),
		cmocka_unit_test(nothing_of_a_run_is_an_error),
		cmocka_unit_test(a_torn_record),
		cmocka_unit_test(calls_without_a_result),
		cmocka_unit_test(withdrawn_failed_and_denied),
		cmocka_unit_test(calls_at_once_have_lanes),
		cmocka_unit_test(files_that_were_changed),
		cmocka_unit_test(runs_stand_one_behind_the_other),
		cmocka_unit_test(a_record_without_times),
		cmocka_unit_test(members_of_any_type),
		cmocka_unit_test(the_digest_of_the_events),
		cmocka_unit_test(pictures),
		cmocka_unit_test(changes_of_many_files),
		cmocka_unit_test(a_run_that_ends_with_retries),
		cmocka_unit_test(results_of_others),
		cmocka_unit_test(each_tool_has_a_row),
		cmocka_unit_test(tools_by_their_time),
		cmocka_unit_test(a_paused_turn_is_one),
		cmocka_unit_test(withdrawn_calls_do_not_count),
		cmocka_unit_test(kinds_of_tokens),
		cmocka_unit_test(an_old_result_is_no_run),
		cmocka_unit_test(a_result_alone_is_told),
		cmocka_unit_test(what_was_shortened_says_where_it_is),
		cmocka_unit_test(numbers_of_any_size),
		cmocka_unit_test(changed_files_are_named_from_the_workspace),
		cmocka_unit_test(failures_are_not_hidden),
		cmocka_unit_test(parts_of_any_size),
		cmocka_unit_test(what_else_the_result_tells),
		cmocka_unit_test(a_long_run_has_a_bounded_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
