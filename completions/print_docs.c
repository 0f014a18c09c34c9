/* A tool of the build, not part of quern: writes what is generated from the option table.
 * print_docs bash|zsh|fish|man */
#include <stdio.h>
#include <string.h>

#include "job/docs.h"
#include "job/job.h"

int main(int argc, char *argv[])
{
	struct buf out = BUF_INIT((size_t)1 << 20);
	int rc = argc == 2 ? 0 : -1;

	if (!rc && !strcmp(argv[1], "man"))
		job_print_man(&out);
	else if (!rc)
		rc = job_print_completion(argv[1], &out);
	if (rc)
		fputs("usage: print_docs bash|zsh|fish|man\n", stderr);
	else if (out.failed || fwrite(buf_str(&out), 1, out.len, stdout) != out.len || fflush(stdout))
		rc = -1;
	buf_release(&out);
	return rc ? 2 : 0;
}
