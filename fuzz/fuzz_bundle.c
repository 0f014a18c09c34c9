/* Bundles: what is read of them holds, and going on with one leaves a bundle that can be read. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "record/bundle.h"

#define MOST ((int64_t)4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct seen {
	int64_t bytes;
	size_t entries;
	int open;
};

static int see(void *ctx, const char *name, const char *p, size_t n, bool last, struct error *e)
{
	struct seen *s = ctx;

	(void)e;
	if (!*name || *name == '/' || !strncmp(name, "../", 3) || strstr(name, "/../"))
		abort();
	s->open += (!p && !last) - last;
	s->entries += last;
	s->bytes += (int64_t)n;
	if (s->bytes > MOST || s->open < 0 || s->open > 1)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int fd = memfd_create("bundle", MFD_CLOEXEC);
	struct seen before = { 0 }, after = { 0 };
	struct error e = ERROR_INIT;
	char path[40];
	bool cut;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fd < 0 || io_write_all(fd, data, n))
		abort();
	int rc = bundle_read(path, MOST, see, &before, &cut, &e);
	struct bundle *b = bundle_create(path, true, &e);
	if (b && (bundle_add(b, "quern.json", "{}", 2, &e) || bundle_close(b, &e)))
		abort();
	/* What could be read can be read still. */
	if (b && rc == 0 && (bundle_read(path, 2 * MOST, see, &after, &cut, &e) || after.entries < before.entries))
		abort();
	close(fd);
	return 0;
}
