/*
 * The functions of libarchive that we call, found at run time: only a run with an archive to look into needs the
 * library, which brings fourteen others along. They are declared here as libarchive.so.13 has them, so that its headers
 * are not needed to build.
 */
#ifndef QUERN_PROMPT_LIBARCHIVE_API_H
#define QUERN_PROMPT_LIBARCHIVE_API_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct archive;
struct archive_entry;

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
	F(int, read_support_format_tar, (struct archive *))                                                            \
	F(int, read_support_format_zip, (struct archive *))                                                            \
	F(int, read_support_format_7zip, (struct archive *))                                                           \
	F(int, read_set_options, (struct archive *, const char *))                                                     \
	F(int, read_open_fd, (struct archive *, int, size_t))                                                          \
	F(int, read_next_header, (struct archive *, struct archive_entry **))                                          \
	F(const char *, error_string, (struct archive *))                                                              \
	F(const char *, entry_pathname, (struct archive_entry *))                                                      \
	F(const char *, entry_pathname_utf8, (struct archive_entry *))                                                 \
	F(const char *, entry_symlink, (struct archive_entry *))                                                       \
	F(const char *, entry_hardlink, (struct archive_entry *))                                                      \
	F(mode_t, entry_filetype, (struct archive_entry *))                                                            \
	F(int64_t, entry_size, (struct archive_entry *))                                                               \
	F(int, entry_size_is_set, (struct archive_entry *))

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define LIBARCHIVE_MEMBER(type, name, args) type(*name) args;

struct libarchive_api {
	LIBARCHIVE_FUNCTIONS(LIBARCHIVE_MEMBER)
};

/* Loads the library, which stays loaded, and fills the table; -1 with *e if it is not there or too old. */
int libarchive_api_load(struct libarchive_api *api, struct error *e);

#endif
