/* The files that a job names: none is written over another, and only a record is both read and written. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "job/set.h"

static const struct named {
	const char *key, *what;
	size_t at;
	bool written;
} files[] = {
	{ "events", "the file of the events", offsetof(struct job, events_path), true },
	{ "record", "the record", offsetof(struct job, record_path), true },
	{ "workspace.save", "what workspace.save names", offsetof(struct job, workspace_save), true },
	{ "workspace.patch", "what workspace.patch names", offsetof(struct job, workspace_patch), true },
	{ "resume", "what is resumed", offsetof(struct job, resume_path), false },
	{ "replay", "what is replayed", offsetof(struct job, replay_path), false },
	{ "workspace.archive", "the archive of the workspace", offsetof(struct job, archive), false },
	{ "", "the job file", offsetof(struct job, job_file), false },
};

static const char *path_of(const struct job *job, const struct named *f)
{
	return *(const char *const *)(const void *)((const char *)job + f->at);
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	if (!a || !b)
		return false;
	return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && S_ISREG(x.st_mode) && io_same_file(&x, &y));
}

/* Lines behind a bundle would spoil it: it begins as zstd does. */
static bool is_bundle(const char *path)
{
	char head[4];
	struct stat st;
	FILE *f = !stat(path, &st) && S_ISREG(st.st_mode) ? fopen(path, "rbe") : NULL;
	bool is = f && fread(head, 1, sizeof head, f) == sizeof head && !memcmp(head, "\x28\xb5\x2f\xfd", sizeof head);

	if (f)
		fclose(f);
	return is;
}

/* A run that is gone on with may write behind what it has written. */
static bool is_allowed(const struct job *job, const struct named *a, const struct named *b)
{
	if (strcmp(b->key, "resume") != 0)
		return false;
	return !strcmp(a->key, "record") || (!strcmp(a->key, "events") && !is_bundle(path_of(job, b)));
}

void setter_check_files(struct setter *s)
{
	const struct named *end = files + sizeof files / sizeof *files;

	for (const struct named *a = files; a->written; a++) {
		for (const struct named *b = a + 1; b < end; b++) {
			if (!same_file(path_of(s->job, a), path_of(s->job, b)) || is_allowed(s->job, a, b))
				continue;
			struct origin o = { SOURCE_DEFAULT, b->written ? b->key : a->key, false };
			setter_fail(s, &o, NULL, NULL, "must not be %s", b->written ? a->what : b->what);
			s->job->events_path = NULL; /* not even this error may be written there */
		}
	}
}
