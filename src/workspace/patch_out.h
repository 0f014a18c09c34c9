/* What a patch is written with (private to workspace/). */
#ifndef QUERN_WORKSPACE_PATCH_OUT_H
#define QUERN_WORKSPACE_PATCH_OUT_H

#include <stdbool.h>

#include "base/buf.h"
#include "workspace/private.h"

struct patch_out {
	int fd;
	struct buf text;
	int failed; /* 0 or the errno of the first write that failed */
};
void patch_put(struct patch_out *o, const void *p, size_t n);
void patch_puts(struct patch_out *o, const char *s);
void patch_flush(struct patch_out *o);

#define BLOB_HEX 40
/* A file or link of one side, as git sees it. */
struct blob {
	char *p;  /* the whole of it, unless it is too long for a text */
	int fd;   /* then it is read from here; -1 */
	size_t n; /* bytes */
	char id[BLOB_HEX + 1];
	bool is_text;
};

/* One side of a binary patch: the bytes in a deflate stream that does not compress, so that no library is needed. -1
 * with errno: it cannot be read, or is not any more what it was. */
int patch_literal(struct patch_out *o, const struct blob *b);

#endif
