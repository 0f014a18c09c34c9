/* What a run was given, in sums: so that two runs, or a run and what somebody keeps, can be told to be of one making.
 */
#include <string.h>

#include "base/digest.h"
#include "run/world.h"

/* Keys that say where a run is kept, or its key, and not what it does. */
static const char *const places[] = { "events:",        "record:", "replay:",  "replay_tools:",
	                              "replay_strict:", "resume:", "run_dir:", "  api_key_file:" };

static bool counts(const char *line, size_t n)
{
	size_t blanks = strspn(line, " ");

	if (blanks < n && line[blanks] == '#')
		return false;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (!strncmp(line, places[i], strlen(places[i])))
			return false;
	return true;
}

/* Without where it was read, which --check tells behind a hook. */
static size_t without_place(const char *line, size_t n)
{
	static const char mark[] = "} # \"";

	for (size_t i = n; i >= sizeof mark; i--)
		if (!memcmp(line + i - sizeof mark + 1, mark, sizeof mark - 1))
			return i - sizeof mark + 2;
	return n;
}

/* Of the job as --check prints it, without what is a comment there and without places. */
static void job_digest(const struct job *job, char out[DIGEST_HEX + 1])
{
	struct buf text = BUF_INIT(BUF_HUGE);
	struct digest d;

	digest_init(&d);
	job_print_check(job, &text);
	for (const char *line = buf_str(&text); *line;) {
		size_t n = strcspn(line, "\n");
		n += line[n] == '\n';
		if (counts(line, n))
			digest_add(&d, line, without_place(line, n));
		line += n;
	}
	out[0] = '\0';
	if (!text.failed)
		digest_hex(&d, out);
	buf_release(&text);
}

struct event_audit world_audit(struct world *w, const char *system, const char *tools_json)
{
	struct run_digests *d = &w->digests;

	job_digest(w->job, d->job);
	digest_of(system ? system : "", system ? strlen(system) : 0, d->system);
	digest_of(tools_json ? tools_json : "", tools_json ? strlen(tools_json) : 0, d->tools);
	w->audit = (struct event_audit){ d->job[0] ? d->job : NULL, d->system, d->tools };
	return w->audit;
}
