/* The page about a record that nobody wrote. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct report_config cfg = { .name = "fuzz" };
	struct error e = ERROR_INIT;
	struct report *r = report_open(&cfg, &e);
	const char *p = (const char *)data;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	while (r && size) {
		const char *end = memchr(p, '\n', size);
		size_t n = end ? (size_t)(end - p) : size;
		if (report_line(r, p, n, end != NULL, &e))
			break;
		p += n + (end != NULL);
		size -= n + (end != NULL);
	}
	if (r)
		report_finish(r, fd, &e);
	report_free(r);
	close(fd);
	return 0;
}
