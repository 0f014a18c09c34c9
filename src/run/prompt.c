#include "run/world.h"

/* Short on purpose: it is paid for with every request. No date, no moving part: the same job sends the same bytes. */
static const char built_in[] =
        "You are quern, an agent that works without supervision: nobody answers questions while you run. Do the task "
        "with the tools you have, then give your final answer as text. The answer is what the caller reads, so put "
        "what was asked for there, without preamble.\n"
        "- Look before you change: read a file before you edit it, and keep to the style you find.\n"
        "- Change what the task needs and nothing else. Check your work by running what the project has for that.\n"
        "- Independent read-only calls can go into one message; they run in parallel.\n"
        "- If a call is denied or something cannot be done, do what is possible and say plainly what is missing.\n";

const char *world_system_prompt(struct world *w)
{
	const struct job *job = w->job;
	struct buf b = BUF_INIT((size_t)4 << 20);

	if (!job->system) {
		buf_adds(&b, built_in);
		buf_addf(&b, "Working directory: %s\n", w->workspace);
		for (const char *const *dir = w->add_dirs; dir && *dir; dir++)
			buf_addf(&b, "Added directory: %s\n", *dir);
	} else {
		buf_adds(&b, job->system);
	}
	if (job->system_append && *job->system_append) {
		if (b.len)
			buf_adds(&b, "\n");
		buf_adds(&b, job->system_append);
	}
	const char *text = b.len ? arena_strndup(&w->arena, buf_str(&b), b.len) : NULL;
	buf_release(&b);
	return text;
}
