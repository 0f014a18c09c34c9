#include "prompt/pattern.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"

#define PATH_MOST    4095
#define LOOKED_MOST  200000 /* entries of directories */
#define DEPTH_MOST   64
#define SEGMENT_MOST 256

struct search {
	int (*each)(void *ctx, const char *path, struct error *e);
	void *ctx;
	struct error *e;
	int base;        /* descriptor */
	struct buf path; /* so far, without a slash at its end unless it is "/" */
	size_t looked;
	int depth;
};

static int walk(struct search *s, const char *pattern);

bool pattern_is(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
}

static int add_name(char ***v, size_t *n, size_t *cap, const char *name)
{
	if (ARRAY_GROW(*v, *n, *cap))
		return -1;
	(*v)[*n] = strdup(name);
	return (*v)[*n] ? (++*n, 0) : -1;
}

/* The names in the directory s->path, sorted; one that cannot be read has none. */
static int list(struct search *s, char ***out, size_t *n)
{
	int fd = openat(s->base, s->path.len ? buf_str(&s->path) : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	char **v = NULL;
	size_t cap = 0;
	int rc = 0;

	*n = 0;
	if (!d && fd >= 0)
		close(fd);
	for (const struct dirent *entry; rc == 0 && d && (entry = readdir(d));) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (++s->looked > LOOKED_MOST) {
			rc = error_set(s->e, ERR_LIMIT, "there are more than %d files to look at", LOOKED_MOST);
		} else {
			rc = add_name(&v, n, &cap, entry->d_name) ? error_nomem(s->e) : 0;
		}
	}
	if (d)
		closedir(d);
	if (*n)
		qsort(v, *n, sizeof *v, by_bytes);
	*out = v;
	return rc;
}

/* Into s->path/name with what is left of the pattern; back where it was afterwards. */
static int step(struct search *s, const char *name, const char *rest)
{
	size_t was = s->path.len;
	struct stat st;
	int rc = 0;

	if (was && buf_str(&s->path)[was - 1] != '/')
		buf_addc(&s->path, '/');
	buf_adds(&s->path, name);
	if (s->path.failed) /* longer than any path can be */
		rc = 0;
	else if (rest)
		rc = walk(s, rest);
	else if (fstatat(s->base, buf_str(&s->path), &st, 0) == 0 && !S_ISDIR(st.st_mode))
		rc = s->each(s->ctx, buf_str(&s->path), s->e);
	s->path.failed = ERR_NONE;
	buf_cut(&s->path, was);
	return rc;
}

static bool is_real_dir(const struct search *s, const char *name)
{
	struct buf path = BUF_INIT(PATH_MOST);
	struct stat st;

	buf_addf(&path, "%s%s%s", buf_str(&s->path), s->path.len ? "/" : "", name);
	bool is = !path.failed && fstatat(s->base, buf_str(&path), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	          S_ISDIR(st.st_mode);
	buf_release(&path);
	return is;
}

/* One segment of the pattern against the names of a directory. `deep`: any directories may come first. */
static int match(struct search *s, const char *segment, const char *rest, const char *deep)
{
	char **v;
	size_t n;
	int rc = list(s, &v, &n);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (!deep && fnmatch(segment, v[i], FNM_PERIOD) == 0)
			rc = step(s, v[i], rest);
		else if (deep && v[i][0] != '.' && is_real_dir(s, v[i]))
			rc = step(s, v[i], deep);
	}
	free_names(v, n);
	return rc;
}

static int walk(struct search *s, const char *pattern)
{
	char segment[SEGMENT_MOST];
	size_t n = strcspn(pattern, "/");
	const char *rest = pattern + n + strspn(pattern + n, "/");
	int rc;

	if (s->depth == DEPTH_MOST || n >= sizeof segment)
		return 0;
	s->depth++;
	memcpy(segment, pattern, n);
	segment[n] = '\0';
	if (strcmp(segment, "**") == 0) {
		rc = walk(s, *rest ? rest : "*"); /* none */
		if (rc == 0)
			rc = match(s, NULL, NULL, pattern); /* one, and again */
	} else if (pattern_is(segment)) {
		rc = match(s, segment, *rest ? rest : NULL, NULL);
	} else {
		rc = step(s, segment, *rest ? rest : NULL);
	}
	s->depth--;
	return rc;
}

int pattern_find(const char *base, const char *pattern, int (*each)(void *ctx, const char *path, struct error *e),
                 void *ctx, struct error *e)
{
	struct search s = { .each = each, .ctx = ctx, .e = e, .path = BUF_INIT(PATH_MOST) };
	const char *from = pattern + strspn(pattern, "/");
	int rc = 0;

	while (from[0] == '.' && from[1] == '/')
		from += 1 + strspn(from + 1, "/");
	s.base = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s.base < 0)
		return error_sys(e, "cannot look into '%s'", base);
	if (pattern[0] == '/')
		buf_adds(&s.path, "/");
	if (*from)
		rc = walk(&s, from);
	close(s.base);
	buf_release(&s.path);
	return rc;
}
