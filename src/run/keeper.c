/* The second supervisor: its children work on the workspace as a whole, where the model's cannot reach them. */
#include "run/world.h"

#include <stdlib.h>
#include <string.h>

#include "workspace/workspace.h"

#define KEEPER_GRACE_MS 0 /* what it does is waited for, or is not wanted any more */

bool world_keeps(const struct world *w)
{
	return !w->job->replay_tools && (w->job->archive || world_changes_wanted(w->job));
}

int world_start_keeper(struct world *w, struct error *e)
{
	const struct supervisor_config cfg = {
		.calls = workspace_child_calls,
		.ncalls = workspace_child_ncalls,
		.forget = world_forget_secrets,
		.held = w->locks,
		.nheld = w->nlocks,
		.large_files = true, /* the workspace has them */
		.ctx = w,
	};

	w->keeper = supervisor_start(&cfg, w->reactor, e);
	return w->keeper ? 0 : -1;
}

void world_stop_keeper(struct world *w)
{
	if (w->keeper)
		supervisor_stop(w->keeper, KEEPER_GRACE_MS);
	w->keeper = NULL;
}

/* ---- one call ---- */

struct kept {
	const struct keep *call;
	struct buf *out;
	struct error *e;
	int rc;
	bool done;
};

static int tell_end(const struct kept *k, const struct child_result *res)
{
	const char *name = k->call->call;

	if (res->error)
		return error_set(k->e, ERR_SYS, "%s", res->error);
	if (res->signal)
		return error_set(k->e, ERR_SYS, "the process for '%s' was ended by signal %d", name, res->signal);
	if (res->status && res->result.len == sizeof *k->e)
		memcpy(k->e, res->result.data, sizeof *k->e);
	else if (res->status)
		return error_set(k->e, ERR_BUG, "the process for '%s' ended with status %d", name, res->status);
	else if (res->out.total > res->out.head.len)
		return error_set(k->e, ERR_LIMIT, "the output of '%s' is too large", name);
	return res->status ? -1 : 0;
}

static void on_done(void *ctx, int id, struct child_result *res)
{
	struct kept *k = ctx;

	(void)id;
	k->done = true;
	k->rc = tell_end(k, res);
	if (k->rc == 0 && k->out && buf_add(k->out, buf_str(&res->out.head), res->out.head.len))
		k->rc = error_nomem(k->e);
}

int world_keep(struct world *w, const struct keep *call, struct buf *out, struct error *e)
{
	const char *const env[] = { NULL };
	const struct spawn spec = { .call = call->call,
		                    .envp = env,
		                    .cwd_fd = call->cwd_fd,
		                    .input = call->input ? call->input : "",
		                    .input_len = call->input_len,
		                    .keep_head = call->max_out,
		                    .max_result = sizeof *e,
		                    .confine = CONFINE_NONE };
	struct kept k = { .call = call, .out = out, .e = e };
	bool ended = false;

	if (!w->keeper)
		return error_set(e, ERR_BUG, "the workspace has no keeper");
	int id = supervisor_spawn(w->keeper, &spec, on_done, &k, e);
	if (id < 0)
		return -1;
	while (!k.done) { /* to its end in any case: on_done must find k */
		if (!ended && (w->signals >= call->signals || clock_mono_ms() >= call->deadline)) {
			supervisor_kill(w->keeper, id, 0);
			ended = true;
		}
		if (reactor_wait(w->reactor, ended ? CLOCK_NEVER : call->deadline, e) < 0) {
			world_stop_keeper(w); /* without on_done */
			return -1;
		}
	}
	if (ended && k.rc)
		error_set(e, ERR_GONE, "the run ended before '%s' had come to its end", call->call);
	return k.rc;
}
