#include "record/zstd_frames.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[4] = "\x28\xB5\x2F\xFD";

#define HEAD_MOST    18 /* magic, descriptor, window, dictionary, content size */
#define BLOCK_HEAD   3
#define CHECKSUM     4
#define BLOCK_REPEAT 1 /* one byte stands for all of them */
#define BLOCK_NONE   3 /* no such type */

bool zstd_is_frame(const char *head, size_t n)
{
	return n >= sizeof magic && !memcmp(head, magic, sizeof magic);
}

bool zstd_may_be_frame(const char *head, size_t n)
{
	return n && !memcmp(head, magic, n < sizeof magic ? n : sizeof magic);
}

/* Up to n bytes from `at`; fewer at the end of the file. -1 with *e. */
static ssize_t read_at(int fd, void *out, size_t n, off_t at, struct error *e)
{
	size_t done = 0;

	while (done < n) {
		ssize_t k = pread(fd, (char *)out + done, n - done, at + (off_t)done);
		if (k == 0)
			break;
		if (k < 0 && errno != EINTR)
			return error_sys(e, "cannot read the bundle");
		if (k > 0)
			done += (size_t)k;
	}
	return (ssize_t)done;
}

/* The length of a frame's header by its descriptor, the magic included. */
static size_t head_length(unsigned descriptor)
{
	static const size_t dictionary[] = { 0, 1, 2, 4 }, content[] = { 0, 2, 4, 8 };
	bool single = descriptor >> 5 & 1;
	size_t n = sizeof magic + 1 + !single + dictionary[descriptor & 3] + content[descriptor >> 6];

	return single && descriptor >> 6 == 0 ? n + 1 : n;
}

int zstd_frame(int fd, off_t at, off_t size, off_t *end, struct error *e)
{
	unsigned char head[HEAD_MOST];
	ssize_t n = read_at(fd, head, sizeof head, at, e);
	bool last = false;

	if (n < 0)
		return -1;
	if (n <= (ssize_t)sizeof magic || !zstd_is_frame((const char *)head, (size_t)n))
		return 0;
	unsigned descriptor = head[sizeof magic];
	at += (off_t)head_length(descriptor);
	while (!last) {
		n = read_at(fd, head, BLOCK_HEAD, at, e);
		if (n < 0)
			return -1;
		if (n < BLOCK_HEAD)
			return 0;
		uint32_t block = head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16, type = block >> 1 & 3;
		last = block & 1;
		/* what a disk left empty when the power went reads as blocks of nothing, without an end */
		if (type == BLOCK_NONE || (block >> 3 == 0 && !last))
			return 0;
		at += BLOCK_HEAD + (type == BLOCK_REPEAT ? 1 : (off_t)(block >> 3));
	}
	if (descriptor >> 2 & 1)
		at += CHECKSUM;
	if (at > size)
		return 0;
	*end = at;
	return 1;
}

int zstd_frames(int fd, struct zstd_frames *f, struct error *e)
{
	struct stat st;
	off_t end;
	int rc;

	*f = (struct zstd_frames){ 0 };
	if (fstat(fd, &st))
		return error_sys(e, "cannot look at the bundle");
	f->size = st.st_size;
	while ((rc = zstd_frame(fd, f->end, f->size, &end, e)) > 0) {
		if (f->n++ == 0)
			f->first = end;
		f->last = f->end;
		f->end = end;
	}
	return rc;
}
