/*
 * The functions of libarchive that we call, found at run time: only a run with an archive to read or write needs the
 * library, which brings fourteen others along. They are declared here as libarchive.so.13 has them, so that its headers
 * are not needed to build.
 */
#ifndef QUERN_BASE_LIBARCHIVE_API_H
#define QUERN_BASE_LIBARCHIVE_API_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct archive;
struct archive_entry;

/* Callbacks; open and close may be NULL. Reading and writing return a count of bytes, or -1. */
typedef int (*libarchive_on_open)(struct archive *, void *ctx);
typedef ssize_t (*libarchive_on_read)(struct archive *, void *ctx, const void **p);
typedef ssize_t (*libarchive_on_write)(struct archive *, void *ctx, const void *p, size_t n);
typedef int (*libarchive_on_close)(struct archive *, void *ctx);

/* What its functions return. Errors are below 0: of these a reader can go on after a warning alone. */
#define LIBARCHIVE_EOF  1
#define LIBARCHIVE_WARN (-20)

#define LIBARCHIVE_FUNCTIONS(F)                                                                                        \
	F(struct archive *, read_new, (void))                                                                          \
	F(int, read_free, (struct archive *))                                                                          \
	F(int, read_support_filter_gzip, (struct archive *))                                                           \
	F(int, read_support_filter_bzip2, (struct archive *))                                                          \
	F(int, read_support_filter_xz, (struct archive *))                                                             \
	F(int, read_support_filter_zstd, (struct archive *))                                                           \
	F(int, read_support_filter_lz4, (struct archive *))                                                            \
	F(int, read_support_filter_lzma, (struct archive *))                                                           \
	F(int, read_support_filter_lzip, (struct archive *))                                                           \
	F(int, read_support_filter_compress, (struct archive *))                                                       \
	F(int, read_support_format_tar, (struct archive *))                                                            \
	F(int, read_support_format_zip, (struct archive *))                                                            \
	F(int, read_support_format_7zip, (struct archive *))                                                           \
	F(int, read_set_options, (struct archive *, const char *))                                                     \
	F(int, read_open_fd, (struct archive *, int, size_t))                                                          \
	F(int, read_open_memory, (struct archive *, const void *, size_t))                                             \
	F(int, read_open, (struct archive *, void *, libarchive_on_open, libarchive_on_read, libarchive_on_close))     \
	F(int, read_support_format_raw, (struct archive *))                                                            \
	F(int, read_support_format_empty, (struct archive *))                                                          \
	F(ssize_t, read_data, (struct archive *, void *, size_t))                                                      \
	F(int, read_data_block, (struct archive *, const void **, size_t *, int64_t *))                                \
	F(int64_t, filter_bytes, (struct archive *, int))                                                              \
	F(int, read_next_header, (struct archive *, struct archive_entry **))                                          \
	F(int, format, (struct archive *))                                                                             \
	F(const char *, error_string, (struct archive *))                                                              \
	F(const char *, entry_pathname, (struct archive_entry *))                                                      \
	F(const char *, entry_pathname_utf8, (struct archive_entry *))                                                 \
	F(const char *, entry_symlink, (struct archive_entry *))                                                       \
	F(const char *, entry_symlink_utf8, (struct archive_entry *))                                                  \
	F(const char *, entry_hardlink, (struct archive_entry *))                                                      \
	F(mode_t, entry_filetype, (struct archive_entry *))                                                            \
	F(int64_t, entry_size, (struct archive_entry *))                                                               \
	F(int, entry_size_is_set, (struct archive_entry *))                                                            \
	F(mode_t, entry_perm, (struct archive_entry *))                                                                \
	F(time_t, entry_mtime, (struct archive_entry *))                                                               \
	F(int, entry_mtime_is_set, (struct archive_entry *))                                                           \
	F(long, entry_mtime_nsec, (struct archive_entry *))                                                            \
	F(struct archive_entry *, entry_new, (void))                                                                   \
	F(struct archive_entry *, entry_clear, (struct archive_entry *))                                               \
	F(void, entry_free, (struct archive_entry *))                                                                  \
	F(void, entry_set_pathname, (struct archive_entry *, const char *))                                            \
	F(void, entry_set_symlink, (struct archive_entry *, const char *))                                             \
	F(void, entry_set_filetype, (struct archive_entry *, unsigned))                                                \
	F(void, entry_set_perm, (struct archive_entry *, mode_t))                                                      \
	F(void, entry_set_size, (struct archive_entry *, int64_t))                                                     \
	F(void, entry_set_mtime, (struct archive_entry *, time_t, long))                                               \
	F(void, entry_sparse_add_entry, (struct archive_entry *, int64_t, int64_t))                                    \
	F(int, entry_sparse_count, (struct archive_entry *))                                                           \
	F(struct archive *, write_new, (void))                                                                         \
	F(int, write_free, (struct archive *))                                                                         \
	F(int, write_close, (struct archive *))                                                                        \
	F(int, write_set_format_pax_restricted, (struct archive *))                                                    \
	F(int, write_set_format_raw, (struct archive *))                                                               \
	F(int, write_add_filter_zstd, (struct archive *))                                                              \
	F(int, write_set_options, (struct archive *, const char *))                                                    \
	F(int, write_set_bytes_per_block, (struct archive *, int))                                                     \
	F(int, write_set_bytes_in_last_block, (struct archive *, int))                                                 \
	F(int, write_open, (struct archive *, void *, libarchive_on_open, libarchive_on_write, libarchive_on_close))   \
	F(int, write_header, (struct archive *, struct archive_entry *))                                               \
	F(ssize_t, write_data, (struct archive *, const void *, size_t))                                               \
	F(int, write_finish_entry, (struct archive *))

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define LIBARCHIVE_MEMBER(type, name, args) type(*name) args;

struct libarchive_api {
	LIBARCHIVE_FUNCTIONS(LIBARCHIVE_MEMBER)
};

/* Loads the library, which stays loaded, and fills the table; -1 with *e if it is not there or too old. */
int libarchive_api_load(struct libarchive_api *api, struct error *e);

#endif
