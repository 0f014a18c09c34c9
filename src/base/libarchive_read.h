/* Reading archives that nobody vouches for, in a child that does nothing else. */
#ifndef QUERN_BASE_LIBARCHIVE_READ_H
#define QUERN_BASE_LIBARCHIVE_READ_H

#include "base/libarchive_api.h"

/* Opens tar, zip or 7z at fd, in any compression that the library has within itself (never one that would start a
 * program); names come as bytes, whatever the locale. What read_open_fd returned. */
int libarchive_read_fd(const struct libarchive_api *la, struct archive *a, int fd);

/* A header can ask for a window of any size: this process gets 1 GiB more than it has, for good. */
void libarchive_limit_memory(void);

#endif
