#include <string.h>

#include "base/log.h"
#include "run/world.h"

static void no_events(void *ctx, const struct model_event *ev)
{
	(void)ctx;
	(void)ev;
}

/* The tape is read whole, so that --check finds what is wrong in it. */
static int check_tape(struct world *w, struct error *e)
{
	struct model_config cfg = { .tape = w->job->replay_path };
	const struct wire *wire = model_wire_find(w->job->provider);

	if (!wire || !w->job->replay_path)
		return 0;
	w->reactor = reactor_open(e);
	struct model *m = w->reactor ? wire->open(&cfg, w->reactor, no_events, NULL, e) : NULL;
	if (m)
		m->ops->free(m);
	reactor_free(w->reactor);
	return m ? 0 : -1;
}

/* How each rule was understood, and which of them do nothing. */
static void tell_rules(const struct permissions *p, struct buf *out)
{
	struct buf lines = BUF_INIT((size_t)4 << 20);

	permissions_describe(p, &lines);
	for (const char *s = buf_str(&lines); *s;) {
		size_t n = strcspn(s, "\n");
		buf_addf(out, "# rule: %.*s\n", (int)n, s);
		s += n + (s[n] == '\n');
	}
	buf_release(&lines);
	for (const char *const *why = permissions_warnings(p); *why; why++)
		log_warn("%s", *why);
}

int run_check(struct job *job, struct buf *notes, struct error *e)
{
	struct world w = { .job = job, .arena = ARENA_INIT };
	int rc = world_workspace(&w, e) || world_open_sandbox(&w, e) || world_check_bypass(&w, e) ||
	         world_check_settings(&w, e) || world_permissions(&w, e) || check_tape(&w, e);

	if (rc == 0) {
		tell_rules(w.permissions, notes);
		sandbox_describe(w.sandbox, notes);
	}
	sandbox_free(w.sandbox);

	permissions_free(w.permissions);
	arena_release(&w.arena);
	return rc ? -1 : 0;
}
