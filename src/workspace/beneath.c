#include "workspace/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void beneath_init(struct beneath *b, int root_fd)
{
	b->root = root_fd;
	buf_init(&b->path, NAME_LONGEST);
	b->depth = 0;
	b->deep = -1;
}

/* The descriptor of a level that is open and kept. */
static int at(const struct beneath *b, size_t depth)
{
	if (depth == 0)
		return b->root;
	return depth > BENEATH_KEPT ? b->deep : b->fds[depth - 1];
}

/* Goes up to the first `depth` components, which are the first `len` bytes; no further up than what is kept. */
static void climb(struct beneath *b, size_t depth, size_t len)
{
	if (depth == b->depth)
		return;
	if (b->deep >= 0)
		close(b->deep);
	b->deep = -1;
	for (size_t i = depth; i < b->depth && i < BENEATH_KEPT; i++)
		close(b->fds[i]);
	b->depth = depth;
	buf_cut(&b->path, len);
}

void beneath_clear(struct beneath *b)
{
	climb(b, 0, 0);
}

void beneath_release(struct beneath *b)
{
	beneath_clear(b);
	buf_release(&b->path);
}

/* How many components of `name` are open already, and where the last of them that can be gone on from ends. */
static size_t shared(const struct beneath *b, const char *name, size_t n, size_t *len)
{
	const char *open = buf_str(&b->path);
	size_t depth = 0, i = 0;

	*len = 0;
	for (; i <= n && i <= b->path.len; i++) {
		bool name_ends = i == n || name[i] == '/', open_ends = i == b->path.len || open[i] == '/';
		if (name_ends != open_ends || (!name_ends && name[i] != open[i]))
			break;
		if (!name_ends || i == 0)
			continue;
		depth++;
		if (depth <= BENEATH_KEPT || depth == b->depth)
			*len = i;
	}
	return depth > BENEATH_KEPT && depth < b->depth ? BENEATH_KEPT : depth;
}

static int enter(struct beneath *b, const char *name, size_t n)
{
	char base[256];

	if (n >= sizeof base || n == 0) {
		errno = n ? ENAMETOOLONG : ENOENT;
		return -1;
	}
	memcpy(base, name, n);
	base[n] = '\0';
	if (!strcmp(base, "..")) {
		errno = EINVAL;
		return -1;
	}
	int fd = openat(at(b, b->depth), base, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (b->path.len)
		buf_addc(&b->path, '/');
	if (buf_add(&b->path, base, n)) {
		close(fd);
		buf_clear(&b->path);
		climb(b, 0, 0);
		errno = ENAMETOOLONG;
		return -1;
	}
	if (b->deep >= 0)
		close(b->deep);
	b->deep = -1;
	if (b->depth < BENEATH_KEPT)
		b->fds[b->depth] = fd;
	else
		b->deep = fd;
	b->depth++;
	return fd;
}

int beneath_dir(struct beneath *b, const char *name, size_t n)
{
	size_t len, depth = n ? shared(b, name, n, &len) : 0;

	if (!depth)
		len = 0;
	climb(b, depth, len);
	while (len < n) {
		size_t from = len + (len > 0), to = from;
		while (to < n && name[to] != '/')
			to++;
		if (enter(b, name + from, to - from) < 0)
			return -1;
		len = to;
	}
	return at(b, b->depth);
}

int beneath_parent(struct beneath *b, const char *name, const char **base)
{
	const char *slash = strrchr(name, '/');

	*base = slash ? slash + 1 : name;
	return beneath_dir(b, name, slash ? (size_t)(slash - name) : 0);
}
