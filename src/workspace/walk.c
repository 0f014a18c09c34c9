#include "workspace/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

void walk_init(struct walk *w, int root_fd, const char *const *skip)
{
	*w = (struct walk){ .skip = skip };
	beneath_init(&w->at, root_fd);
	buf_init(&w->name, NAME_LONGEST + 1 + 256);
	w->n = SIZE_MAX; /* the root is still to be read */
}

void walk_release(struct walk *w)
{
	if (w->dir)
		closedir(w->dir);
	for (size_t i = 0; w->n != SIZE_MAX && i < w->n; i++)
		free(w->pending[i]);
	free(w->pending);
	buf_release(&w->name);
	beneath_release(&w->at);
	*w = (struct walk){ 0 };
}

int64_t walk_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

const char *walk_show(const char *name, char out[SHOWN_NAME])
{
	size_t n = 0;

	for (; *name && n < SHOWN_NAME - 8; name++) {
		unsigned char c = (unsigned char)*name;
		if (c < 0x20 || c == 0x7f || c == '\\')
			n += (size_t)snprintf(out + n, SHOWN_NAME - n, "\\x%02x", c);
		else
			out[n++] = *name;
	}
	snprintf(out + n, SHOWN_NAME - n, "%s", *name ? "..." : "");
	return out;
}

int walk_read_link(int dir_fd, const char *base, char out[LINK_LONGEST], size_t *n)
{
	ssize_t got = readlinkat(dir_fd, base, out, LINK_LONGEST - 1);

	if (got < 0)
		return -1;
	if (got == LINK_LONGEST - 1) {
		errno = ENAMETOOLONG;
		return -1;
	}
	out[got] = '\0';
	*n = (size_t)got;
	return 0;
}

int walk_open_file(int dir_fd, const char *base, struct stat *st)
{
	int fd = openat(dir_fd, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat own;

	st = st ? st : &own;
	if (fd < 0 || (fstat(fd, st) == 0 && S_ISREG(st->st_mode)))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

static bool is_skipped(const struct walk *w)
{
	for (const char *const *s = w->skip; s && *s; s++)
		if (!strcmp(*s, buf_str(&w->name)))
			return true;
	return false;
}

static int push(struct walk *w, const char *name)
{
	if (ARRAY_GROW(w->pending, w->n, w->cap))
		return -1;
	w->pending[w->n] = strdup(name);
	return w->pending[w->n] ? (w->n++, 0) : -1;
}

/* Opens the directory whose name stands in w->name for reading. -1 with errno. */
static int read_dir(struct walk *w)
{
	int dir = beneath_dir(&w->at, buf_str(&w->name), w->name.len);
	int fd = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	w->dir = fd < 0 ? NULL : fdopendir(fd);
	if (!w->dir) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (w->name.len)
		buf_addc(&w->name, '/');
	w->dir_len = w->name.len;
	return 0;
}

/* The next of the directories that are still to be read. 1: it is open, or found->unread says why not; 0: no more. */
static int next_dir(struct walk *w, struct walk_entry *found, struct error *e)
{
	char shown[SHOWN_NAME];

	if (w->n == SIZE_MAX) {
		w->n = 0;
		return read_dir(w) ? error_sys(e, "cannot read the directory") : 1;
	}
	if (!w->n)
		return 0;
	char *name = w->pending[--w->n];
	buf_clear(&w->name);
	buf_adds(&w->name, name);
	free(name);
	if (w->name.failed)
		return error_nomem(e);
	if (!read_dir(w))
		return 1;
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		return error_sys(e, "'%s'", walk_show(buf_str(&w->name), shown));
	*found = (struct walk_entry){ .name = buf_str(&w->name), .unread = errno };
	return 1;
}

/* What readdir found. 1: *found is it, 0: it is not to be told of. */
static int look_at(struct walk *w, const char *base, struct walk_entry *found, struct error *e)
{
	*found = (struct walk_entry){ .dir_fd = dirfd(w->dir) };
	buf_cut(&w->name, w->dir_len);
	if (buf_adds(&w->name, base))
		return error_nomem(e);
	found->name = buf_str(&w->name);
	found->base = found->name + w->dir_len;
	found->too_long = w->name.len > NAME_LONGEST;
	if (is_skipped(w))
		return 0;
	if (found->too_long)
		return 1;
	if (fstatat(found->dir_fd, base, &found->st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : error_sys(e, "'%s'", found->name);
	if (S_ISDIR(found->st.st_mode) && push(w, found->name))
		return error_nomem(e);
	return 1;
}

int walk_next(struct walk *w, struct walk_entry *found, struct error *e)
{
	for (;;) {
		if (!w->dir) {
			found->unread = 0;
			int rc = next_dir(w, found, e);
			if (rc <= 0 || found->unread)
				return rc;
		}
		errno = 0;
		const struct dirent *d = readdir(w->dir);
		if (!d && errno && errno != ENOENT)
			return error_sys(e, "cannot read the directory '%s'", buf_str(&w->name));
		if (!d) {
			closedir(w->dir);
			w->dir = NULL;
		} else if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0) {
			int rc = look_at(w, d->d_name, found, e);
			if (rc)
				return rc;
		}
	}
}
