/* Hooks in the real world: what they get of the run, and how the loop asks them. */
#include "run/answers.h"
#include "run/cutoff.h"
#include "run/replay.h"

#include <string.h>
#include <unistd.h>

#define GRACE_MS 2000

bool world_has_hooks(const struct world *w)
{
	return w->job->nhooks || (w->job->verify.command && w->job->verify.command[0]);
}

void world_make_transcript(struct world *w)
{
	int fd = run_dir_made(w->run_dir) ? run_dir_file(w->run_dir, "transcript.jsonl", &w->transcript, NULL) : -1;

	if (fd >= 0)
		close(fd);
}

static const char *store(void *ctx, const char *name, const char *text, size_t n)
{
	struct world *w = ctx;

	return toolbox_store(w->toolbox, name, text, n);
}

static bool meets(void *ctx, const char *rule, const struct hook_call *call)
{
	struct world *w = ctx;

	return toolbox_meets(w->toolbox, rule, call->tool_name, call->tool_input);
}

int world_open_hooks(struct world *w, struct error *e)
{
	const struct job *job = w->job;
	const char *transcript = job->events_path ? world_absolute(w, job->events_path) : w->transcript;
	const struct hooks_config cfg = {
		.v = job->hooks,
		.n = job->nhooks,
		.verify = &job->verify,
		.supervisor = w->supervisor,
		.reactor = w->reactor,
		.run_dir = w->run_dir,
		.project_dir = w->workspace,
		.env = w->child_env,
		.session_id = w->session_id,
		.permission_mode = permission_mode_name(world_permission_mode(job)),
		.transcript_path = transcript ? transcript : "",
		.unconfined = !job->sandbox_hooks,
		.writable = sandbox_writable(w->sandbox),
		.tell_all = job->hook_events,
		.meets = meets,
		.emit = world_emit,
		.mask = world_mask,
		.store = store,
		.ctx = w,
	};

	if (!world_has_hooks(w))
		return 0;
	w->hooks = hooks_open(&cfg, e);
	return w->hooks ? 0 : -1;
}

bool world_hook_any(void *ctx, enum hook_event kind)
{
	struct world *w = ctx;
	struct replay_tools *recorded = world_replay_tools(w);
	bool any = hooks_any(w->hooks, kind);

	if (recorded && answers_known(w))
		return any;
	if (any && recorded && replay_tools_first_hook(recorded))
		world_notice(w, "replay_hooks", "hooks and the verification are left out where tools are not run");
	return any && !recorded;
}

int world_hook_start(void *ctx, const struct hook_call *call, struct error *e)
{
	struct world *w = ctx;

	if (world_replay_tools(w))
		return answers_take_hook(w, call->kind, e);
	int rc = hooks_ask(w->hooks, call, world_on_hook, w, e);
	if (rc == 0)
		answers_tell_hook(w, call->kind, NULL);
	if (rc == 1)
		cutoff_hooks_asked(w);
	return rc;
}

void world_hook_cancel(void *ctx, const struct hook_call *call)
{
	struct world *w = ctx;

	/* the loop asks one thing at a time; what calls of tools ask has another ctx */
	hooks_cancel(w->hooks, w, GRACE_MS);
	world_drop_hook_events(w);
	answers_tell_hook_ended(w, call->kind);
	cutoff_hooks_over(w);
}
