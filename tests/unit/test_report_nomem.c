/* report/ out of memory: the same record again and again, with each allocation failing once. No page, or a whole one.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nomem.h"
#include "report/report.h"

static const char *const lines[] = {
	"{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/"
	"w\",\"model\":\"m\",\"quern_started\":\"T\",\"quern_ms\":0}",
	"{\"type\":\"system\",\"subtype\":\"quern_history\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
	"\"text\","
	"\"text\":\"do `it`\"}]}],\"prompt\":[0,1],\"quern_ms\":1}",
	"{\"type\":\"system\",\"subtype\":\"api_retry\",\"retry_delay_ms\":5,\"message\":\"busy\",\"quern_ms\":2}",
	"{\"type\":\"assistant\",\"uuid\":\"a\",\"message\":{\"id\":\"m1\",\"model\":\"m\",\"content\":[{\"type\":"
	"\"text\","
	"\"text\":\"**x**\"},{\"type\":\"tool_use\",\"id\":\"e\",\"name\":\"Edit\",\"input\":{\"file_path\":\"f\","
	"\"n\":7}}],"
	"\"usage\":{\"input_tokens\":7}},\"quern_ms\":3}",
	"{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"e\",\"content\":"
	"\"ok\"}]},"
	"\"tool_use_result\":{\"filePath\":\"f\",\"structuredPatch\":[{\"lines\":[\"-a\",\"+b\"]}]},\"quern_ms\":4}",
	"{\"type\":\"system\",\"subtype\":\"hook_started\",\"hook_id\":\"h\",\"hook_name\":\"Stop\",\"quern_ms\":5}",
	"{\"type\":\"system\",\"subtype\":\"hook_response\",\"hook_id\":\"h\",\"hook_name\":\"Stop\",\"stdout\":\"x\","
	"\"quern_ms\":6}",
	"{\"type\":\"system\",\"subtype\":\"quern_transition\",\"reason\":\"next_turn\",\"quern_ms\":7}",
	"{\"type\":\"system\",\"subtype\":\"quern_tombstone\",\"uuids\":[\"a\"],\"quern_ms\":8}",
	"{\"type\":\"result\",\"result\":\"done\",\"terminal_reason\":\"completed\",\"exit_code\":0,\"limits\":{\"max_"
	"turns\":"
	"{\"limit\":2,\"used\":1}},\"audit\":{\"events_sha256\":\"x\"},\"quern_ms\":9}",
};

static int make_page(int fd, struct error *e)
{
	static const struct report_config cfg = { .name = "run" };
	struct report *r = report_open(&cfg, e);
	int rc = r ? 0 : -1;

	for (size_t i = 0; rc == 0 && i < sizeof lines / sizeof *lines; i++)
		rc = report_line(r, lines[i], strlen(lines[i]), true, e);
	if (rc == 0)
		rc = report_patch(r, "-a\n+b\n", 6, e);
	if (rc == 0)
		rc = report_finish(r, fd, e);
	report_free(r);
	return rc;
}

static void each_allocation_fails_once(void **state)
{
	static const char end[] = "</html>\n";
	long nth = 0;
	int errors = 0;

	(void)state;
	do {
		struct error e = ERROR_INIT;
		int fd = memfd_create("page", MFD_CLOEXEC);

		nomem.failed = false;
		nomem.left = nth++;
		int rc = make_page(fd, &e);
		nomem.left = -1;
		if (rc) {
			char last[sizeof end] = "";
			off_t size = lseek(fd, 0, SEEK_END);

			assert_true(nomem.failed);
			assert_int_equal(e.code, ERR_NOMEM);
			errors++;
			/* what is there of it is no whole page */
			if (size > (off_t)sizeof end)
				assert_int_equal(pread(fd, last, sizeof end - 1, size - (off_t)sizeof end + 1),
				                 sizeof end - 1);
			assert_string_not_equal(last, end);
		} else {
			char last[sizeof end] = "";
			off_t size = lseek(fd, 0, SEEK_END);

			assert_int_equal(pread(fd, last, sizeof end - 1, size - (off_t)sizeof end + 1), sizeof end - 1);
			assert_string_equal(last, end);
		}
		close(fd);
	} while (nomem.failed);
	assert_true(errors > 50);
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(each_allocation_fails_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
