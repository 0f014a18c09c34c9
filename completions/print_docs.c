/*
 * A tool of the build, not part of quern: writes what is made from the tables of options and exit codes.
 *
 *   print_docs bash|zsh|fish    the completions of a shell
 *   print_docs man <PAGE        the man page with its generated lists made anew
 */
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "job/docs.h"
#include "job/job.h"
#include "record/reason.h"

#define PAGE_MAX ((size_t)1 << 20)

/* The lists of the man page; each stands between the lines `.\" begin NAME` and `.\" end NAME`. */
static const struct {
	const char *name;
	void (*print)(struct buf *out);
} lists[] = {
	{ "options", job_print_man },
	{ "keys", job_print_man_keys },
	{ "exit codes", reason_print_man },
};

static int fill_page(const char *page, struct buf *out)
{
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		char begin[64], end[64];
		snprintf(begin, sizeof begin, ".\\\" begin %s\n", lists[i].name);
		snprintf(end, sizeof end, ".\\\" end %s\n", lists[i].name);
		const char *from = strstr(page, begin), *to = from ? strstr(from, end) : NULL;
		if (!to)
			return -1;
		from += strlen(begin);
		buf_add(out, page, (size_t)(from - page));
		lists[i].print(out);
		page = to;
	}
	buf_adds(out, page);
	return 0;
}

static int print_man(struct buf *out)
{
	struct buf page = BUF_INIT(PAGE_MAX);
	struct error e = ERROR_INIT;
	int rc = io_read_fd(fileno(stdin), &page, &e) ? -1 : fill_page(buf_str(&page), out);

	buf_release(&page);
	return rc;
}

int main(int argc, char *argv[])
{
	struct buf out = BUF_INIT(PAGE_MAX);
	int rc = -1;

	if (argc == 2)
		rc = strcmp(argv[1], "man") ? job_print_completion(argv[1], &out) : print_man(&out);
	if (rc)
		fputs("usage: print_docs bash|zsh|fish, or print_docs man <PAGE with the lists in their order>\n",
		      stderr);
	else if (out.failed || fwrite(buf_str(&out), 1, out.len, stdout) != out.len || fflush(stdout))
		rc = -1;
	buf_release(&out);
	return rc ? 2 : 0;
}
