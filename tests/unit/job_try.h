/* Shared by the tests of job/: one call from words, variables and a file's text to a job. */
#ifndef JOB_TRY_H
#define JOB_TRY_H

/* cmocka wants these first. */

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job/job.h"

#define WORDS_MAX 48

struct trial {
	struct job job;
	struct job_errors errs;
	int rc;
	char file[64]; /* the job file, removed by try_end */
};

/* `words` is cut at '|'; a word "@" is replaced by the name of a file that holds `yaml`. The file's name in errors is
 * replaced by "job.yaml", so that whole lines can be compared. */
static inline void try_begin(struct trial *t, const char *words, const char *yaml, const char *const *envp)
{
	char copy[1024];
	char *argv[WORDS_MAX] = { (char *)(uintptr_t) "quern" };
	int argc = 1;

	memset(t, 0, sizeof *t);
	if (yaml) {
		snprintf(t->file, sizeof t->file, "/tmp/quern-test-job-XXXXXX");
		int fd = mkstemp(t->file);
		assert_true(fd >= 0);
		size_t n = strlen(yaml);
		assert_int_equal(write(fd, yaml, n), (ssize_t)n);
		close(fd);
	}
	assert_true(strlen(words) < sizeof copy);
	snprintf(copy, sizeof copy, "%s", words);
	for (char *p = copy; p && *words;) {
		char *bar = strchr(p, '|');
		if (bar)
			*bar = '\0';
		assert_true(argc < WORDS_MAX - 1);
		argv[argc++] = strcmp(p, "@") ? p : t->file;
		p = bar ? bar + 1 : NULL;
	}
	t->rc = job_parse(&t->job, argc, argv, envp, &t->errs);
}

/* The error lines with the file's name made the same every time. */
static inline char *try_errors(const struct trial *t)
{
	const char *text = buf_str(&t->errs.text);
	char *out = calloc(1, strlen(text) * 2 + 1);
	char *to = out;
	size_t n = strlen(t->file);

	assert_non_null(out);
	while (*text) {
		if (n && !strncmp(text, t->file, n)) {
			to = stpcpy(to, "job.yaml");
			text += n;
		} else {
			*to++ = *text++;
		}
	}
	return out;
}

static inline void try_end(struct trial *t)
{
	if (t->file[0])
		unlink(t->file);
	buf_release(&t->errs.text);
	job_release(&t->job);
}

/* Fails unless the errors are exactly these lines ("" = none). */
static inline void expect_errors(const char *words, const char *yaml, const char *want)
{
	static const char *const none[] = { NULL };
	struct trial t;

	try_begin(&t, words, yaml, none);
	char *got = try_errors(&t);
	if (strcmp(got, want))
		fail_msg("words '%s', job '%s': got\n%swant\n%s", words, yaml ? yaml : "", got, want);
	assert_int_equal(t.rc, *want ? -1 : 0);
	free(got);
	try_end(&t);
}

#endif
