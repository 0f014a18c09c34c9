/* Records of runs: one that is gone on with holds a conversation that a request may hold, whatever stands in the file.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "record/resume.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int fd = memfd_create("record", MFD_CLOEXEC);
	struct error e = ERROR_INIT;
	struct resumed r;
	char path[40];
	const struct resume_source src = { .path = path };

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fd < 0 || io_write_all(fd, data, n))
		abort();
	int rc = resume_read(&src, &r, &e);
	if (rc == 1) {
		const struct message *last = r.history.n ? r.history.v[r.history.n - 1] : NULL;
		if (!last || !*r.session_id || history_check(&r.history, false, &e) || (r.ended && !r.result_line))
			abort();
		resumed_release(&r);
	} else if ((rc < 0) != (e.code != ERR_NONE)) {
		abort();
	}
	close(fd);
	return 0;
}
