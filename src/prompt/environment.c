#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "prompt/system.h"

/* Local time; a run that is to be reproducible says which second it is. */
static void add_date(struct buf *out)
{
	const char *fixed = getenv("SOURCE_DATE_EPOCH");
	char *end = NULL, text[32];
	time_t now = (time_t)(clock_wall_ms() / 1000);
	long long second = fixed ? strtoll(fixed, &end, 10) : 0;
	bool is_fixed = fixed && *fixed && !*end;
	struct tm tm;

	if (is_fixed)
		now = (time_t)second;
	if ((is_fixed ? gmtime_r(&now, &tm) : localtime_r(&now, &tm)) && strftime(text, sizeof text, "%Y-%m-%d", &tm))
		buf_addf(out, "Date: %s\n", text);
}

/* By its .git alone, in the directory or above it: no program is asked. */
static bool in_git(const char *dir)
{
	struct buf path = BUF_INIT(PLACE_PATH);
	struct stat st;
	bool found = false;

	for (size_t n = strlen(dir);;) {
		while (n > 0 && dir[n - 1] == '/')
			n--;
		buf_clear(&path);
		buf_add(&path, dir, n);
		found = !buf_adds(&path, "/.git") && stat(buf_str(&path), &st) == 0;
		if (found || n == 0)
			break;
		while (n > 0 && dir[n - 1] != '/')
			n--;
	}
	buf_release(&path);
	return found;
}

void system_environment(const struct place *place, struct buf *out)
{
	struct utsname os;

	if (place->environment) {
		buf_adds(out, place->environment);
		return;
	}
	buf_adds(out, "Working directory: ");
	utf8_name(out, place->workspace, strlen(place->workspace), PLACE_PATH);
	buf_adds(out, in_git(place->workspace) ? " (in a git repository)\n" : "\n");
	for (const char *const *dir = place->add_dirs; dir && *dir; dir++) {
		buf_adds(out, "Added directory: ");
		utf8_name(out, *dir, strlen(*dir), PLACE_PATH);
		buf_addc(out, '\n');
	}
	if (uname(&os) == 0)
		buf_addf(out, "Platform: %s %s\n", os.sysname, os.machine);
	add_date(out);
}
