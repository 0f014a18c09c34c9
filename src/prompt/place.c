#include "prompt/place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"

static struct roots *open_roots(const struct place *p, struct error *e)
{
	const char *first[] = { p->workspace, NULL };
	struct roots *r = roots_open(first, e);
	int rc = r ? 0 : -1;

	for (const char *const *d = p->add_dirs; rc == 0 && d && *d; d++)
		rc = roots_add(r, *d, false, e);
	for (size_t i = 0; rc == 0 && p->spelled && p->spelled[i]; i++)
		rc = roots_spell(r, i, p->spelled[i], e);
	if (rc == 0)
		return r;
	roots_free(r);
	return NULL;
}

/* Where an open descriptor lies; without /proc the path as it was given. */
static void real_path(int fd, const char *path, char real[PLACE_PATH])
{
	if (path_of_fd(fd, real) == 0)
		return;
	size_t n = strlen(path) < PLACE_PATH ? strlen(path) : PLACE_PATH - 1;
	memcpy(real, path, n);
	real[n] = '\0';
}

int place_open(const struct place *p, const char *path, char real[PLACE_PATH], enum path_verdict *why, struct error *e)
{
	struct roots *r = open_roots(p, e);

	*why = PATH_ERROR;
	if (!r)
		return -1;
	int fd = path_open(r, path, O_RDONLY, 0, why, e);
	roots_free(r);
	if (fd < 0)
		return -1;
	real_path(fd, path, real);
	if (!p->permissions || !permissions_hide(p->permissions, real))
		return fd;
	close(fd);
	*why = PATH_DENIED;
	return error_set(e, ERR_INPUT, "a rule forbids to read '%s'", path);
}

int place_open_named(const char *path, char real[PLACE_PATH], struct error *e)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return error_sys(e, "cannot read '%s'", path);
	if (fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
		real_path(fd, path, real);
		return fd;
	}
	close(fd);
	return error_set(e, ERR_INPUT, "'%s' is not a regular file", path);
}

static bool below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 0 && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool climbs(const char *path)
{
	for (; path; path = strchr(path, '/')) {
		path += *path == '/';
		if (path[0] == '.' && path[1] == '.' && (path[2] == '/' || path[2] == '\0'))
			return true;
	}
	return false;
}

bool place_names_beneath(const struct place *p, const char *path)
{
	if (climbs(path))
		return false;
	if (path[0] != '/' || below(path, p->workspace))
		return true;
	for (const char *const *d = p->add_dirs; d && *d; d++)
		if (below(path, *d))
			return true;
	for (const char *const *d = p->spelled; d && *d; d++)
		if (below(path, *d))
			return true;
	return false;
}

int place_read(int fd, size_t max, struct buf *out, size_t *size, struct error *e)
{
	struct stat st;
	char chunk[1 << 16];
	ssize_t n = 1;

	while (out->len < max && n > 0) {
		size_t want = max - out->len < sizeof chunk ? max - out->len : sizeof chunk;
		n = read(fd, chunk, want);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			return error_sys(e, "cannot read");
		else if (buf_add(out, chunk, (size_t)n))
			return buf_check(out, "a file", e);
	}
	*size = out->len;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && (size_t)st.st_size > out->len && n > 0)
		*size = (size_t)st.st_size;
	return 0;
}

int place_text(const struct place *p, struct buf *raw, size_t size, size_t most, struct buf *out)
{
	bool torn = size > raw->len, cut = size > most;
	struct buf text = BUF_INIT(BUF_HUGE);

	if (p->mask)
		p->mask(p->ctx, raw);
	const char *s = buf_str(raw), *end = s + raw->len;
	size_t n = raw->len;
	if (torn) /* half a secret may stand at the end, which nobody knows for one */
		n = n > PLACE_BEYOND ? n - PLACE_BEYOND : 0;
	if (n > most)
		n = most;
	if (n >= 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0) {
		s += 3;
		n -= 3;
	}
	if (cut) {
		const char *line = memrchr(s, '\n', n);
		n = line && (size_t)(line - s) >= n / 2 ? (size_t)(line - s) + 1 : utf8_floor(s, (size_t)(end - s), n);
	}
	utf8_repair(&text, s, n);
	for (char *nul = text.data; nul && (nul = memchr(nul, '\0', text.len - (size_t)(nul - text.data)));)
		*nul = '?';
	buf_add(out, buf_str(&text), text.len);
	if (text.len && buf_str(&text)[text.len - 1] != '\n')
		buf_addc(out, '\n');
	bool ok = !text.failed && !out->failed;
	buf_release(&text);
	return ok ? 0 : -1;
}
