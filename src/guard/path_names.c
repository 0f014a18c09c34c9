#include "guard/path_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 40

bool path_is_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 0 && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* One component back. */
static void cut_last(char *done)
{
	char *slash = strrchr(done, '/');

	*(slash ? slash : done) = '\0';
}

/* done/name. -1: too long. */
static int append(char done[PATH_TEXT_MAX], const char *name, size_t n)
{
	size_t len = strlen(done);

	if (len + n + 2 > PATH_TEXT_MAX)
		return -1;
	done[len] = '/';
	memcpy(done + len + 1, name, n);
	done[len + 1 + n] = '\0';
	return 0;
}

int path_clean(const char *path, char out[PATH_TEXT_MAX])
{
	out[0] = '\0';
	while (*path) {
		size_t n = strcspn(path, "/");
		if (n == 2 && memcmp(path, "..", 2) == 0)
			cut_last(out);
		else if (n > 0 && !(n == 1 && *path == '.') && append(out, path, n) < 0)
			return -1;
		path += n;
		path += strspn(path, "/");
	}
	if (!out[0])
		memcpy(out, "/", 2);
	return 0;
}

struct walk {
	char done[PATH_TEXT_MAX]; /* what has no links any more; "" is the root */
	char rest[PATH_TEXT_MAX]; /* still to be walked */
	int links;
};

/* Keeps what done and rest come to as one more name. */
static const char *keep(struct path_names *names, const struct walk *w)
{
	char whole[2 * PATH_TEXT_MAX], clean[PATH_TEXT_MAX];

	snprintf(whole, sizeof whole, "%s/%s", w->done, w->rest);
	if (path_clean(whole, clean) < 0)
		return "the path is too long";
	if (names->n > 0 && strcmp(names->name[names->n - 1], clean) == 0)
		return NULL;
	names->name[names->n] = strdup(clean);
	if (!names->name[names->n])
		return "no memory";
	names->n++;
	return NULL;
}

/* Puts a link's target in front of what is left. */
static const char *follow(struct path_names *names, struct walk *w, const char *link)
{
	char target[PATH_TEXT_MAX], rest[2 * PATH_TEXT_MAX];
	ssize_t n = readlink(link, target, sizeof target - 1);

	if (n <= 0 || n >= (ssize_t)sizeof target - 1)
		return "a symbolic link cannot be read";
	target[n] = '\0';
	if (++w->links > MAX_LINKS)
		return "too many symbolic links";
	snprintf(rest, sizeof rest, "%s/%s", target, w->rest);
	if (strlen(rest) >= sizeof w->rest)
		return "the path is too long";
	memcpy(w->rest, rest, strlen(rest) + 1);
	if (target[0] == '/')
		w->done[0] = '\0';
	return keep(names, w);
}

static const char *walk_on(struct path_names *names, struct walk *w)
{
	struct stat st;
	char next[PATH_TEXT_MAX], part[PATH_TEXT_MAX];
	const char *fault = NULL;

	while (!fault && w->rest[strspn(w->rest, "/")]) {
		char *p = w->rest + strspn(w->rest, "/");
		size_t n = strcspn(p, "/");
		memcpy(part, p, n);
		part[n] = '\0';
		memmove(w->rest, p + n, strlen(p + n) + 1);
		if (strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0) {
			cut_last(w->done);
			continue;
		}
		memcpy(next, w->done, sizeof next);
		if (append(next, part, n) < 0)
			return "the path is too long";
		if (lstat(next, &st) == 0 && S_ISLNK(st.st_mode))
			fault = follow(names, w, next);
		else
			memcpy(w->done, next, sizeof next);
	}
	return fault;
}

void path_names_resolve(struct path_names *names, const char *base, const char *path)
{
	struct walk w = { .links = 0 };
	struct stat st;

	memset(names, 0, sizeof *names);
	int n = path[0] == '/' ? snprintf(w.rest, sizeof w.rest, "%s", path)
	                       : snprintf(w.rest, sizeof w.rest, "%s/%s", base, path);
	if (n < 0 || (size_t)n >= sizeof w.rest) {
		names->fault = "the path is too long";
		return;
	}
	names->fault = keep(names, &w);
	if (!names->fault)
		names->fault = walk_on(names, &w);
	if (!names->fault)
		names->fault = keep(names, &w);
	if (!names->fault)
		names->is_dir = stat(names->name[names->n - 1], &st) == 0 && S_ISDIR(st.st_mode);
}

void path_names_release(struct path_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->name[i]);
	names->n = 0;
}
