/* Small descriptor helpers shared by all rooms. Those that read to the end wait for it: they are for files. */
#ifndef QUERN_BASE_IO_H
#define QUERN_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

int io_write_all(int fd, const void *p, size_t n); /* retries EINTR and short writes; 0 or -1 with errno */
/* The whole file, bounded by out->max. A pipe by name that nobody writes to is an error after 3 s. */
int io_read_file(int dirfd, const char *path, struct buf *out, struct error *e);
int io_read_fd(int fd, struct buf *out, struct error *e); /* to end of file, bounded by out->max */
/* Do both tell of the same file, whatever it is called? By path: links are followed, and what is not there is none. */
static inline bool io_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}
bool io_same_path(const char *a, const char *b);
/* Where temporary files go: TMPDIR if that is an absolute path, else /tmp. Not owned. */
const char *io_tmpdir(void);
int io_cloexec(int fd);
int io_nonblock(int fd);
/* Makes sure 0, 1 and 2 are open (on /dev/null where they were not), so that no socket becomes one. A stdout that was
 * closed cannot be written to, as before: what was asked for must not vanish without an error. */
int io_ensure_std_fds(void);

#endif
