#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "workspace/private.h"

#define PIECE 65536
/* A change so shortly before a scan began may have come before another one that the clock of the file system does not
 * tell apart; by whole seconds where it counts those. */
#define RACY_NS       (int64_t)50000000
#define RACY_WHOLE_NS (int64_t)2000000000

void scan_release(struct scan *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].name);
	free(s->v);
	*s = (struct scan)SCAN_INIT;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct scan_entry *)a)->name, ((const struct scan_entry *)b)->name);
}

const struct scan_entry *scan_find(const struct scan *s, const char *name)
{
	size_t low = 0, high = s ? s->n : 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(s->v[mid].name, name);
		if (!order)
			return &s->v[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

struct scan_entry *scan_add(struct scan *s, const char *name, size_t n)
{
	if (ARRAY_GROW(s->v, s->n, s->cap))
		return NULL;
	struct scan_entry *entry = &s->v[s->n];
	*entry = (struct scan_entry){ .name = strndup(name, n) };
	if (!entry->name)
		return NULL;
	s->n++;
	return entry;
}

bool scan_entry_same(const struct scan_entry *a, const struct scan_entry *b)
{
	return a->kind == b->kind && a->mode == b->mode && !memcmp(a->sha, b->sha, DIGEST_BYTES);
}

/* ---- one entry ---- */

static bool racy(int64_t changed_ns, int64_t taken_ns)
{
	return changed_ns > taken_ns - (changed_ns % 1000000000 ? RACY_NS : RACY_WHOLE_NS);
}

static bool is_known(const struct scan_entry *now, const struct scan_entry *then, const struct scan *known)
{
	return then && then->kind == now->kind && then->size == now->size && then->mtime_ns == now->mtime_ns &&
	       then->ctime_ns == now->ctime_ns && then->inode == now->inode && !racy(then->ctime_ns, known->taken_ns);
}

/* To its end, whatever its length is by then. */
static int hash_all(int fd, struct digest *d)
{
	unsigned char piece[PIECE];
	ssize_t got;

	while ((got = read(fd, piece, sizeof piece)) > 0 || (got < 0 && errno == EINTR))
		if (got > 0)
			digest_add(d, piece, (size_t)got);
	return got < 0 ? -1 : 0;
}

/* Fewer than PIECE bytes at the end alone. */
static ssize_t read_piece(int fd, unsigned char piece[PIECE], int64_t at)
{
	size_t have = 0;

	while (have < PIECE) {
		ssize_t got = pread(fd, piece + have, PIECE - have, (off_t)(at + (int64_t)have));
		if (got < 0 && errno != EINTR)
			return -1;
		if (got == 0)
			break;
		have += got > 0 ? (size_t)got : 0;
	}
	return (ssize_t)have;
}

static bool is_zero(const unsigned char *p, size_t n)
{
	return !n || (!*p && !memcmp(p, p + 1, n - 1));
}

/* The pieces that are not all zeros, each behind its place, then the size: the same whether zeros are written or holes,
 * and these are not read. */
static int hash_pieces(int fd, int64_t size, struct digest *d)
{
	unsigned char piece[PIECE];
	struct extent x = { 0 };
	int64_t at = 0;

	while (next_data(fd, size, &x)) {
		if (at < x.from)
			at = x.from - x.from % PIECE;
		for (; at < x.to; at += PIECE) {
			ssize_t got = read_piece(fd, piece, at);
			if (got < 0)
				return -1;
			if (is_zero(piece, (size_t)got))
				continue;
			digest_add(d, &at, sizeof at);
			digest_add(d, piece, (size_t)got);
		}
	}
	digest_add(d, &size, sizeof size);
	return 0;
}

int scan_hash_file(int dir_fd, const char *base, unsigned char sha[DIGEST_BYTES])
{
	struct digest d;
	struct stat st;
	int fd = walk_open_file(dir_fd, base, &st);

	if (fd < 0)
		return -1;
	digest_init(&d);
	int rc = st.st_size > PLAIN_SUM_MOST ? hash_pieces(fd, st.st_size, &d) : hash_all(fd, &d), saved = errno;
	close(fd);
	errno = saved;
	digest_bytes(&d, sha);
	return rc;
}

static int hash_link(int dir_fd, const char *base, unsigned char sha[DIGEST_BYTES])
{
	char target[LINK_LONGEST];
	struct digest d;
	size_t n;

	if (walk_read_link(dir_fd, base, target, &n))
		return -1;
	digest_init(&d);
	digest_add(&d, target, n);
	digest_bytes(&d, sha);
	return 0;
}

int scan_look(int dir_fd, const char *base, const struct stat *st, struct scan_entry *entry)
{
	entry->size = st->st_size;
	entry->mtime_ns = walk_ns(&st->st_mtim);
	entry->ctime_ns = walk_ns(&st->st_ctim);
	entry->inode = st->st_ino;
	entry->mode = st->st_mode & 07777;
	if (S_ISDIR(st->st_mode)) {
		entry->kind = FILE_DIRECTORY;
		entry->size = 0;
		return 0;
	}
	if (S_ISLNK(st->st_mode)) {
		entry->kind = FILE_LINK;
		entry->mode = 0777;
		return hash_link(dir_fd, base, entry->sha);
	}
	entry->kind = FILE_REGULAR;
	return scan_hash_file(dir_fd, base, entry->sha);
}

static bool is_kept(mode_t mode)
{
	return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode);
}

bool scan_has_sum(const struct scan_entry *f)
{
	static const unsigned char none[DIGEST_BYTES];

	return memcmp(f->sha, none, sizeof none) != 0;
}

static bool may_read(const struct walk_entry *found)
{
	return (found->st.st_mode & 0444) == 0444 || !faccessat(found->dir_fd, found->base, R_OK, AT_EACCESS);
}

/* Of a file in a list, whose content is read only if it tells something. -1 with errno. */
static int list_file(const struct scan *s, const struct walk_entry *found, const struct scan_entry *then,
                     struct scan_entry *entry)
{
	const bool was_file = then && then->kind == FILE_REGULAR;
	const bool told = was_file ? scan_has_sum(then) && then->size == entry->size
	                           : !then && racy(entry->ctime_ns, s->taken_ns);

	if (told)
		return scan_look(found->dir_fd, found->base, &found->st, entry);
	entry->kind = FILE_REGULAR;
	entry->mode = found->st.st_mode & 07777;
	memset(entry->sha, was_file ? 0xff : 0, sizeof entry->sha); /* another one than before, whatever that was */
	return may_read(found) ? 0 : -1;
}

/* What cannot be read is left out, unless it could be before: then its change would pass for a removal. */
static int unreadable(struct scan *s, const struct scan *known, const char *name, int why, struct error *e)
{
	const struct scan_entry *then = scan_find(known, name);
	char shown[SHOWN_NAME];

	if (why == ENOENT)
		return 0;
	if (then && then->kind == FILE_DIRECTORY) { /* was it like that before? Then nothing of it is known either */
		size_t n = strlen(name), next = (size_t)(then - known->v) + 1;
		while (next < known->n && !strncmp(known->v[next].name, name, n) && known->v[next].name[n] < '/')
			next++;
		if (next == known->n || strncmp(known->v[next].name, name, n) != 0 || known->v[next].name[n] != '/')
			then = NULL;
	}
	if (then || (known && known->whole) || (why != EACCES && why != EPERM && why != ENAMETOOLONG)) {
		errno = why;
		return error_sys(e, "cannot read '%s'", walk_show(name, shown));
	}
	s->skipped++;
	return 0;
}

static int add(struct scan *s, const struct scan *known, const struct walk_entry *found, struct error *e)
{
	struct scan_entry here = { .size = found->st.st_size,
		                   .mtime_ns = walk_ns(&found->st.st_mtim),
		                   .ctime_ns = walk_ns(&found->st.st_ctim),
		                   .inode = found->st.st_ino };
	const struct scan_entry *then = known && S_ISREG(found->st.st_mode) ? scan_find(known, found->name) : NULL;

	if (is_known(&here, then, known))
		here = *then;
	else if (s->listed && S_ISREG(found->st.st_mode) ? list_file(s, found, then, &here)
	                                                 : scan_look(found->dir_fd, found->base, &found->st, &here))
		return unreadable(s, known, found->name, errno, e);
	struct scan_entry *entry = scan_add(s, found->name, strlen(found->name));
	if (!entry)
		return error_nomem(e);
	here.name = entry->name;
	*entry = here;
	return 0;
}

static int look_at_all(int dir_fd, const struct scan *known, const char *const *skip, struct scan *out, struct error *e)
{
	struct walk_entry found;
	struct timespec now;
	struct walk w;
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	out->taken_ns = walk_ns(&now);
	walk_init(&w, dir_fd, skip);
	while ((rc = walk_next(&w, &found, e)) > 0) {
		if (found.unread)
			rc = unreadable(out, known, found.name, found.unread, e);
		else if (found.too_long)
			rc = unreadable(out, known, found.name, ENAMETOOLONG, e);
		else if (!is_kept(found.st.st_mode))
			out->skipped++;
		else
			rc = add(out, known, &found, e);
		if (rc < 0)
			break;
	}
	walk_release(&w);
	if (rc < 0) {
		scan_release(out);
		return -1;
	}
	if (out->n)
		qsort(out->v, out->n, sizeof *out->v, by_name);
	return 0;
}

int workspace_scan(int dir_fd, const struct scan *known, const char *const *skip, struct scan *out, struct error *e)
{
	*out = (struct scan){ .listed = known && known->listed };
	return look_at_all(dir_fd, known, skip, out, e);
}

int workspace_list(int dir_fd, const char *const *skip, struct scan *out, struct error *e)
{
	*out = (struct scan){ .listed = true };
	return look_at_all(dir_fd, NULL, skip, out, e);
}
