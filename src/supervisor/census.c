#include "supervisor/census.h"

#include <sys/sysinfo.h>

static unsigned short all_processes(void)
{
	struct sysinfo s = { .procs = 0 };

	return sysinfo(&s) ? 0 : s.procs;
}

bool census_due(const struct census *c, int64_t now)
{
	if (now >= c->due)
		return true;
	/* The machine's number wraps around; so does the difference. */
	short grown = (short)(all_processes() - c->others);
	size_t room = c->counted < c->max ? c->max - c->counted : 0;
	return grown > 0 && (size_t)grown > room / 2;
}

void census_note(struct census *c, size_t counted, int64_t now)
{
	c->counted = counted;
	c->others = all_processes();
	c->due = now + CENSUS_FULL_MS;
}
