#include "supervisor/oom.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define OF_CHILDREN "500"

/* A score that is already as high; one has at most four digits. Numbers are compared as text here, since strtol and
 * snprintf would be the only reason to have a quarter of a megabyte more of libc in memory. */
static bool is_high(const char *score)
{
	size_t digits = strspn(score, "0123456789");

	return digits > strlen(OF_CHILDREN) ||
	       (digits == strlen(OF_CHILDREN) && strncmp(score, OF_CHILDREN, digits) >= 0);
}

/* The file belongs to root as long as we are not dumpable. */
void oom_open(struct oom_score *oom)
{
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	oom->fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (oom->fd < 0)
		return;
	if (read(oom->fd, oom->own, sizeof oom->own - 1) > 0 && !is_high(oom->own)) /* never lower than we were given */
		return;
	close(oom->fd);
	oom->fd = -1;
}

static void set(const struct oom_score *oom, const char *score)
{
	ssize_t n = oom->fd < 0 ? 0 : pwrite(oom->fd, score, strlen(score), 0);

	(void)n;
}

void oom_raise(const struct oom_score *oom)
{
	set(oom, OF_CHILDREN);
}

void oom_restore(const struct oom_score *oom)
{
	set(oom, oom->own);
}
