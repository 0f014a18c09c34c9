#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "run/answers.h"
#include "run/cutoff.h"
#include "run/replay.h"
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

	if (w->job->replay_bundle) {
		int rc = world_read_replay(w, e);
		world_free_replay(w);
		cutoff_free(w);
		answers_free(w);
		return rc;
	}
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

/* All that the search for a tool's program looks at. NULL: no memory. */
static const char *tools_path(struct world *w)
{
	const char *path = getenv("PATH");

	for (size_t i = 0; i < w->job->nenv; i++)
		if (strcmp(w->job->env[i].name, "PATH") == 0)
			path = w->job->env[i].value;
	return world_assignment(w, "PATH", path ? path : "");
}

/* Would the run be refused because this kernel cannot enforce the sandbox? That hangs on the tools on offer. */
static int check_kernel(struct world *w, struct buf *notes, struct error *e)
{
	const struct job *job = w->job;
	const char *env[2] = { NULL, NULL };

	if (!w->missing[0] || job->sandbox_best_effort)
		return 0;
	env[0] = tools_path(w);
	if (!env[0])
		return error_nomem(e);
	struct toolbox_config cfg;
	world_fill_toolbox(w, &cfg);
	cfg.child_env = env;
	cfg.hooks = w->hooks;
	w->toolbox = toolbox_open(&cfg, NULL, NULL, e);
	int rc = w->toolbox ? world_judge_sandbox(w, e) : -1;
	toolbox_free(w->toolbox);
	if (rc)
		buf_addf(notes, "# sandbox: the run would be refused: %s\n", e->msg);
	return rc;
}

static void tell_mark(const char *name, int64_t tokens, struct buf *out)
{
	if (tokens)
		buf_addf(out, ", %s at %lld", name, (long long)tokens);
	else
		buf_addf(out, ", %s off", name);
}

/* Where each layer begins its work, in tokens. */
static void tell_marks(const struct world *w, struct buf *out)
{
	struct context_marks m;
	struct error e = ERROR_INIT;

	for (size_t i = 0; i < w->nmodels; i++) {
		const char *name = w->models[i].name;
		(void)world_marks(w, &w->models[i], &m, &e); /* they were checked */
		if (!m.window) {
			buf_addf(out, "# context of %s: its window is not known, so no mark is on (context.window)\n",
			         name);
			continue;
		}
		buf_addf(out, "# context of %s: window %lld tokens, usable %lld", name, (long long)m.window,
		         (long long)m.usable);
		tell_mark("microcompact", m.microcompact, out);
		tell_mark("collapse", m.collapse, out);
		tell_mark("snip", m.snip, out);
		tell_mark("autocompact", m.autocompact, out);
		tell_mark("blocking", m.blocking, out);
		buf_addc(out, '\n');
	}
}

/* Which tools each matcher is about. */
static int tell_hooks(struct world *w, struct buf *out, struct error *e)
{
	const struct job *job = w->job;
	size_t n = array_count(job->tools);
	const char **names = arena_alloc(&w->arena, (n + job->nexternal + 1) * sizeof *names);
	if (!names)
		return error_nomem(e);
	memcpy(names, job->tools, n * sizeof *names);
	for (size_t i = 0; i < job->nexternal; i++)
		names[n + i] = job->external[i].name;
	hooks_describe(w->hooks, names, out);
	return 0;
}

static void tell_attachments(const struct attachments *a, struct buf *out)
{
	for (size_t i = 0; i < a->n; i++) {
		buf_adds(out, "# attached: ");
		attachment_describe(&a->v[i], out);
		buf_addc(out, '\n');
	}
}

int run_check(struct job *job, struct buf *notes, struct error *e)
{
	struct world w = { .job = job, .arena = ARENA_INIT };
	int rc = (job->archive && world_keeps(&w) && world_check_archive(&w, e)) || world_workspace(&w, e) ||
	         world_open_sandbox(&w, e) || world_check_bypass(&w, e) || world_models(&w, e) ||
	         world_check_record(&w, notes, e) || world_permissions(&w, e) || world_open_hooks(&w, e) ||
	         (!job->replay_bundle && world_find_attachments(&w, e)) || /* else the record tells them */
	         check_tape(&w, e);

	if (rc == 0) {
		tell_marks(&w, notes);
		tell_attachments(&w.attachments, notes);
		tell_rules(w.permissions, notes);
		rc = tell_hooks(&w, notes, e);
	}
	if (rc == 0) {
		sandbox_describe(w.sandbox, notes);
		rc = check_kernel(&w, notes, e);
	}
	if (w.unpacked)
		(void)rmdir(w.unpacked);
	hooks_free(w.hooks);
	sandbox_free(w.sandbox);
	attachments_release(&w.attachments);
	told_release(&w.told);
	permissions_free(w.permissions);
	resumed_release(&w.record);
	arena_release(&w.arena);
	return rc ? -1 : 0;
}
