/* Inside this room: how a call of the keeper gives back what went wrong. The call's directory is its cwd, what it
 * needs beside stands in its input; its output is what it writes to fd 1. */
#ifndef QUERN_WORKSPACE_CALLS_H
#define QUERN_WORKSPACE_CALLS_H

#include <stddef.h>

#include "base/error.h"

/* The call's exit status: 0, or 1 if rc is not 0; *e then goes to result_fd. */
int call_end(int rc, const struct error *e, int result_fd);

int call_commit(const char *in, size_t in_len, int result_fd);
int call_copy(const char *in, size_t in_len, int result_fd);
int call_patch(const char *in, size_t in_len, int result_fd);
int call_remove(const char *in, size_t in_len, int result_fd);
int call_restore(const char *in, size_t in_len, int result_fd);
int call_save(const char *in, size_t in_len, int result_fd);
int call_scan(const char *in, size_t in_len, int result_fd);
int call_sweep(const char *in, size_t in_len, int result_fd);
int call_unpack(const char *in, size_t in_len, int result_fd);

#endif
