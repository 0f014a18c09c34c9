/* Job files and command lines: the first byte says which. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "job/job.h"
#include "job/job_file.h"

#define WORDS 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void fuzz_file(const char *text, size_t n)
{
	struct job job;
	struct job_errors errs;
	struct setter s;

	memset(&job, 0, sizeof job);
	buf_init(&errs.text, 1 << 16);
	errs.n = 0;
	setter_init(&s, &job, &errs);
	job_file_text(&s, "job.yaml", text, n);
	buf_release(&errs.text);
	job_release(&job);
}

static void fuzz_words(const char *text, size_t n)
{
	static const char *const none[] = { NULL };
	char copy[4096];
	char name[] = "quern";
	char *argv[WORDS] = { name };
	int argc = 1;
	struct job job;
	struct job_errors errs;
	struct buf check = BUF_INIT(1 << 20);

	if (n >= sizeof copy)
		return;
	memcpy(copy, text, n);
	copy[n] = '\0';
	for (char *p = copy; p <= copy + n && argc < WORDS - 1; p += strlen(p) + 1)
		argv[argc++] = p;
	for (int i = 1; i < argc; i++)
		if (argv[i][0] == '/' || argv[i][0] == '.')
			argv[i] = name; /* no device or fifo is opened by chance */
	if (!job_parse(&job, argc, argv, none, &errs))
		job_print_check(&job, &check);
	buf_release(&check);
	buf_release(&errs.text);
	job_release(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (!n)
		return 0;
	if (data[0] == 'w')
		fuzz_words((const char *)data + 1, n - 1);
	else
		fuzz_file((const char *)data + 1, n - 1);
	return 0;
}
