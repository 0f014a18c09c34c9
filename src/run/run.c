#include "run/run.h"

#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "run/answers.h"
#include "run/cutoff.h"
#include "run/replay.h"
#include "run/world.h"

static const char *const setup_names[] = {
	[SETUP_SIGNALS] = "internal_error",
	[SETUP_OPTIONS] = "config_invalid",
	[SETUP_RESUME] = "resume_unavailable",
	[SETUP_REPLAY] = "replay_unavailable",
	[SETUP_KEEPER] = "workspace_unavailable",
	[SETUP_WORKSPACE] = "cwd_unavailable",
	[SETUP_SANDBOX] = "sandbox_required_unavailable",
	[SETUP_BYPASS] = "bypass_root",
	[SETUP_TASK] = "prompt_unavailable",
	[SETUP_ATTACH] = "attachment_unavailable",
	[SETUP_KEY] = "api_key_unavailable",
	[SETUP_RUN_DIR] = "run_dir_unavailable",
	[SETUP_TOOLS] = "tools_unavailable",
	[SETUP_MODEL] = "model_unavailable",
	[SETUP_OUTPUT] = "output_unavailable",
};

/* failed: nothing was sent, so what was unpacked holds no work. -1: what was to be recorded is not all there. */
static int tear_down(struct world *w, bool failed)
{
	bool keep = w->recorder && recorder_named_file(w->recorder);
	struct error e = ERROR_INIT;
	int rc;

	log_set_mask(NULL, NULL);
	if (w->background)
		w->background->ops->free(w->background);
	if (w->model)
		w->model->ops->free(w->model);
	rc = world_record_end(w, &e);
	if (rc && !failed) /* else why is told */
		log_error("%s", e.msg);
	w->result_out = w->result_out && !rc;
	toolbox_free(w->toolbox);
	if (w->supervisor)
		supervisor_stop(w->supervisor, w->signals > 1 ? 0 : STOP_GRACE_MS);
	world_release_changes(w);
	if (failed && w->unpacked_now && w->unpacked)
		world_drop_unpacked(w);
	world_stop_keeper(w);
	hooks_free(w->hooks); /* what is below it calls back until the supervisor has stopped */
	permissions_free(w->permissions);
	recorder_free(w->recorder);
	world_unlock_record(w);
	id_set_free(w->shown);
	run_dir_free(w->run_dir, keep);
	sandbox_free(w->sandbox);
	world_queue_release(w);
	history_release(&w->history);
	talk_release(&w->talk);
	resumed_release(&w->record);
	session_totals_release(&w->totals);
	world_free_replay(w);
	cutoff_free(w);
	answers_free(w);
	message_unref(w->task);
	memory_free(w->memory);
	told_release(&w->told);
	attachments_release(&w->attachments);
	world_wipe_key(w);
	secrets_free(w->secrets);
	reactor_free(w->reactor);
	arena_release(&w->arena);
	return rc;
}

/* Nothing was sent. What stopped us was either the user (a signal, the wall time) or something that is missing. */
static int setup_failed(struct world *w, enum setup_step step, const struct error *e)
{
	struct recorder_config rec;
	const char *lines[] = { e->msg };
	enum terminal_reason reason = TERM_SETUP_FAILED;

	if (e->code == ERR_NOMEM)
		reason = TERM_INTERNAL_ERROR;
	if (w->signo || world_now(w) >= w->deadline)
		reason = TERM_ABORTED_TOOLS;
	int code = w->signo ? 128 + w->signo : terminal_exit_code(reason, false);
	world_fill_recorder(w, &rec);
	if (w->locked_out)
		rec.events_path = NULL;
	log_error("%s", e->msg);
	const char *startup = reason == TERM_SETUP_FAILED ? setup_names[step] : NULL;
	if (reason == TERM_INTERNAL_ERROR)
		startup = setup_names[SETUP_SIGNALS];
	recorder_startup_failure(&rec, reason, code, startup, lines, 1, world_drain_deadline(w));
	return code;
}

/* Runs the loop; no child is alive when the result is written last. */
static int drive(struct world *w, int *died_by)
{
	struct loop_config cfg;
	struct loop_deps deps;
	struct loop_outcome out;
	struct error e = ERROR_INIT;

	w->progress = !w->job->quiet && isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	world_fill_loop(w, &cfg);
	world_deps(w, &deps);
	loop_run(&cfg, &deps, &w->history, &out);
	if (out.reason != TERM_COMPLETED)
		log_error("%s", out.error.msg);
	if (!out.broken && recorder_drain(w->recorder, world_drain_deadline(w), &e)) {
		log_error("%s", e.msg);
		*died_by = w->signo; /* whose reader did not take the result even so */
		return terminal_exit_code(TERM_INTERNAL_ERROR, false);
	}
	w->result_out = !out.broken;
	*died_by = out.signo;
	return out.exit_code;
}

/* There is nothing to do: nothing is sent, and nothing is started. */
static int repeat(struct world *w)
{
	struct error e = ERROR_INIT;

	run_dir_remove_tmp(w->session_id, w->job->resume_path); /* it may have been killed behind its result */
	if (world_repeat_result(w, &e) == 0) {
		world_drop_changes(w);
		return 0;
	}
	log_error("%s", e.msg);
	return terminal_exit_code(TERM_INTERNAL_ERROR, false);
}

int run_agent(struct job *job, char **envp)
{
	struct world w = { .job = job,
		           .envp = envp,
		           .started = clock_mono_ms(),
		           .started_wall = clock_wall_ms(),
		           .history = HISTORY_INIT };
	enum setup_step step;
	struct error e = ERROR_INIT;
	int died_by = 0, code;
	bool failed = true;

	/* no core file with the key in it, and no other process of this user reads our memory or environment */
	prctl(PR_SET_DUMPABLE, 0);
	w.deadline = job->wall_time_ms ? w.started + job->wall_time_ms : CLOCK_NEVER;
	world_new_id(&w, w.session_id);
	if (world_set_up(&w, &step, &e)) {
		code = setup_failed(&w, step, &e);
		died_by = w.signo;
	} else if (w.repeats) {
		code = repeat(&w);
	} else if (!job->stream_input) {
		failed = false;
		code = drive(&w, &died_by);
	} else if (world_converse(&w, &code, &died_by, &e)) {
		code = setup_failed(&w, SETUP_TASK, &e);
		died_by = w.signo;
	} else {
		failed = false;
	}
	if (tear_down(&w, failed) && code == 0)
		code = terminal_exit_code(TERM_INTERNAL_ERROR, false);
	if (died_by)
		world_die_by(died_by);
	return code;
}
