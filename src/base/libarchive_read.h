/* Reading archives that nobody vouches for, in a child that does nothing else. */
#ifndef QUERN_BASE_LIBARCHIVE_READ_H
#define QUERN_BASE_LIBARCHIVE_READ_H

#include "base/libarchive_api.h"

/* Opens tar, zip or 7z at fd, in any compression that the library has within itself (never one that would start a
 * program); names come as bytes, whatever the locale. What read_open_fd returned. */
int libarchive_read_fd(const struct libarchive_api *la, struct archive *a, int fd);

/* Names that an archive has in Unicode (7z, most zips) become UTF-8 in this process: the library makes names of the
 * locale of them, and of what that has no letters for, none. Before a sandbox closes, as the locale is a file. */
void libarchive_utf8_names(void);

/* A header can ask for a window of any size: this process gets 1 GiB more than it has, for good. */
void libarchive_limit_memory(void);

#endif
