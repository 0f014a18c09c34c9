/* Wildcards stand for links too, and these lead anywhere. */
#include <dirent.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#include "guard/path_names.h"

struct finder {
	char path[PATH_TEXT_MAX]; /* as far as it is known, without a slash at the end */
	bool dotted;
	size_t *entries;
	void (*each)(void *arg, const char *path);
	void *arg;
};

static int find(struct finder *f, size_t len, const char *rest, bool linked);

/* One name behind the path. What is too long for a path cannot be opened either. */
static int step(struct finder *f, size_t len, const char *name, size_t n, const char *rest, bool linked, bool wild)
{
	struct stat st;

	if (len + 1 + n >= sizeof f->path)
		return 0;
	f->path[len] = '/';
	memcpy(f->path + len + 1, name, n);
	f->path[len + 1 + n] = '\0';
	if (wild && !linked)
		linked = lstat(f->path, &st) == 0 && S_ISLNK(st.st_mode);
	return find(f, len + 1 + n, rest, linked);
}

static int find_in(struct finder *f, size_t len, const char *part, const char *rest, bool linked)
{
	int flags = FNM_NOESCAPE | (f->dotted ? 0 : FNM_PERIOD), rc = 0;
	DIR *d = opendir(len ? f->path : "/");

	if (!d)
		return 0;
	for (struct dirent *e; rc == 0 && (e = readdir(d));) {
		bool special = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
		if (++*f->entries > PATH_ENTRIES_MAX)
			rc = -1;
		else if (!special && fnmatch(part, e->d_name, flags) == 0 &&
		         (*rest || linked || e->d_type == DT_LNK || e->d_type == DT_UNKNOWN))
			rc = step(f, len, e->d_name, strlen(e->d_name), rest, linked, true);
		f->path[len] = '\0';
	}
	closedir(d);
	return rc;
}

static int find(struct finder *f, size_t len, const char *rest, bool linked)
{
	char part[256];

	rest += strspn(rest, "/");
	size_t n = strcspn(rest, "/");
	if (n == 0) {
		if (linked)
			f->each(f->arg, f->path);
		return 0;
	}
	if (n >= sizeof part)
		return 0;
	memcpy(part, rest, n);
	part[n] = '\0';
	bool wild = strpbrk(part, "*?[") != NULL;
	return wild ? find_in(f, len, part, rest + n, linked) : step(f, len, part, n, rest + n, linked, true);
}

int path_links(const char *base, const char *pattern, bool dotted, size_t *entries,
               void (*each)(void *arg, const char *path), void *arg)
{
	struct finder f = { .dotted = dotted, .entries = entries, .each = each, .arg = arg };
	size_t n = pattern[0] == '/' ? 0 : strlen(base);

	/* the part without wildcards may lead through links: it is judged by itself */
	size_t head = strcspn(pattern, "*?[");
	while (head > 0 && pattern[head - 1] != '/')
		head--;
	if (n + head + 1 >= sizeof f.path)
		return 0;
	memcpy(f.path, base, n);
	if (head > 0) {
		if (n > 0)
			f.path[n++] = '/';
		memcpy(f.path + n, pattern, head);
		n += head;
	}
	while (n > 0 && f.path[n - 1] == '/')
		n--;
	f.path[n] = '\0';
	return find(&f, n, pattern + head, false);
}
