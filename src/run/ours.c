/* A directory of ours beside the workspace, for its copy and for what is known of it. */
#include "run/changing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "record/private.h"
#include "run/world.h"
#include "workspace/workspace.h"

#define FOR_TMPDIR "quern-" /* how its name begins that lies there */
#define RANDOM_LEN 6        /* how many bytes of it are at its end that no other one has */

/* False: somebody who found it before it had its lock has taken it away. Where nothing can be locked nobody takes
 * anything away. */
static bool lock(struct changing *c, const char *ours)
{
	struct stat st;

	c->lock = open(ours, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	while (c->lock >= 0 && flock(c->lock, LOCK_EX) && errno == EINTR)
		;
	if (c->lock >= 0 && fstat(c->lock, &st) == 0 && st.st_nlink)
		return true;
	changing_unlock(c);
	return false;
}

bool changing_lock(struct changing *c)
{
	c->lock = open(c->ours, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	c->busy = c->lock >= 0 && flock(c->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	if (c->busy)
		changing_unlock(c);
	return !c->busy;
}

void changing_unlock(struct changing *c)
{
	if (c->lock >= 0)
		close(c->lock);
	c->lock = -1;
}

/* As the record tells: where the copy lay that is gone, if that name is of the pattern. What stands in the conversation
 * is right again then, and nothing in front of it is another. */
static bool make_recorded(const struct world *w, struct buf *pattern)
{
	const char *cwd = w->changing->transaction && w->resumes ? w->record.cwd : NULL;
	const char *slash = cwd ? strrchr(cwd, '/') : NULL;
	size_t n = pattern->len - RANDOM_LEN;

	if (!slash || (size_t)(slash - cwd) != pattern->len || memcmp(cwd, pattern->data, n) != 0 ||
	    memchr(cwd + n, '/', RANDOM_LEN) || memchr(cwd + n, '.', RANDOM_LEN))
		return false;
	char *path = strndup(cwd, pattern->len);
	bool made = path && private_dir(path) == 0;
	if (made)
		memcpy(pattern->data + n, path + n, RANDOM_LEN);
	free(path);
	return made;
}

/* Makes it of a pattern, and says of what it is. NULL with errno. */
static const char *make(struct world *w, struct buf *pattern)
{
	struct changing *c = w->changing;
	char link[4096];

	if (pattern->failed || (!make_recorded(w, pattern) && !private_temp_dir(pattern->data)))
		return NULL;
	const char *ours = arena_strdup(&w->arena, pattern->data);
	if (ours && lock(c, ours) && snprintf(link, sizeof link, "%s/%s", ours, COPY_ORIGINAL) < (int)sizeof link &&
	    symlink(w->workspace, link) == 0)
		return ours;
	rmdir(pattern->data);
	changing_unlock(c);
	return NULL;
}

static bool is_within(const char *path, const char *dir)
{
	size_t n = dir[1] ? strlen(dir) : 0;

	return !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

/* Beside the workspace a copy may share its blocks. */
const char *changing_ours(struct world *w, struct error *e)
{
	const char *slash = strrchr(w->workspace, '/'), *made = NULL;
	struct buf b = BUF_INIT(4000);
	bool inside = false;

	if (slash && slash[1]) {
		buf_addf(&b, "%.*s/.%s.quern-XXXXXX", (int)(slash - w->workspace), w->workspace, slash + 1);
		made = make(w, &b);
	}
	if (!made) {
		char *real = realpath(io_tmpdir(), NULL);
		inside = real && is_within(real, w->workspace);
		free(real);
		buf_clear(&b);
		buf_addf(&b, "%s/" FOR_TMPDIR "XXXXXX", io_tmpdir());
		made = inside ? NULL : make(w, &b);
	}
	if (inside)
		error_set(e, ERR_INPUT, "a copy of the workspace would be within it: TMPDIR must be elsewhere");
	else if (!made)
		error_sys(e, "cannot make a directory for a copy of the workspace");
	buf_release(&b);
	return made;
}

static void add_places(const struct world *w, struct buf *in)
{
	const char *slash = strrchr(w->workspace, '/');
	struct buf b = BUF_INIT(8192);

	if (slash && slash[1]) {
		buf_addf(&b, "%.*s/", (int)(slash - w->workspace), w->workspace);
		changing_add(in, buf_str(&b));
		buf_clear(&b);
		buf_addf(&b, ".%s.quern-", slash + 1);
		changing_add(in, buf_str(&b));
	}
	buf_release(&b);
	changing_add(in, io_tmpdir());
	changing_add(in, FOR_TMPDIR);
}

/* That it cannot be looked for is no reason not to begin. */
void changing_sweep(struct world *w, const struct changing_limits *l)
{
	struct buf in = BUF_INIT(65536), told = BUF_INIT(65536);
	struct error e = ERROR_INIT;

	changing_add(&in, w->workspace);
	for (const char *const *s = w->changing->skip; *s; s++)
		changing_add(&in, *s);
	changing_add(&in, "");
	add_places(w, &in);
	if (changing_call(w, "sweep", w->workspace, &in, l, &told, &e))
		log_verbose("what killed runs have left was not looked for: %s", e.msg);
	for (char *line = told.data, *end; told.len && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		log_verbose("%s", line);
	}
	buf_release(&in);
	buf_release(&told);
}
