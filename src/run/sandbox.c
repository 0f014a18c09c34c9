/* The job's sandbox. */
#include "run/replay.h"
#include "run/world.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static enum sandbox_mode mode_of(const struct job *job)
{
	for (int mode = SANDBOX_WORKSPACE_WRITE; mode < SANDBOX_OFF; mode++)
		if (!strcmp(job->sandbox_mode, sandbox_mode_name((enum sandbox_mode)mode)))
			return (enum sandbox_mode)mode;
	return SANDBOX_OFF;
}

/* What the job asks for and its mode does not give: an option may have set another mode than it was written for. */
static void tell_idle_keys(const struct job *job, enum sandbox_mode mode)
{
	const char *name = sandbox_mode_name(mode);

	if (mode != SANDBOX_WORKSPACE_WRITE && job->sandbox_write && job->sandbox_write[0])
		log_warn("sandbox.write does nothing: the sandbox is %s", name);
	if (mode == SANDBOX_OFF && job->sandbox_read_deny && job->sandbox_read_deny[0])
		log_warn("sandbox.read_deny hides nothing: the sandbox is %s", name);
}

/* The user's home directory as /etc/passwd has it; NULL: it has none, or there is no memory. */
static const char *account_home(struct world *w)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *entry;
	const char *home = NULL;

	while (f && !home && (entry = fgetpwent(f)))
		if (entry->pw_uid == getuid() && entry->pw_dir[0] == '/' && entry->pw_dir[1])
			home = arena_strdup(&w->arena, entry->pw_dir);
	if (f)
		fclose(f);
	return home;
}

int world_open_sandbox(struct world *w, struct error *e)
{
	const struct job *job = w->job;
	struct sandbox_config cfg = { .mode = mode_of(job),
		                      .roots = world_writable_roots(w),
		                      .write = job->replay_tools ? NULL : job->sandbox_write,
		                      .read_deny = job->replay_tools ? NULL : job->sandbox_read_deny,
		                      .key_file = job->api_key_file,
		                      .home = getenv("HOME"),
		                      .account_home = account_home(w),
		                      .network = job->sandbox_network,
		                      .best_effort = job->sandbox_best_effort };

	if (!cfg.roots)
		return error_nomem(e);
	tell_idle_keys(job, cfg.mode);
	w->sandbox = sandbox_open(&cfg, e);
	if (!w->sandbox)
		return -1;
	sandbox_enforced(w->sandbox, w->enforced);
	sandbox_missing(w->sandbox, w->missing);
	return 0;
}

const char *world_command_note(struct world *w)
{
	struct buf b = BUF_INIT((size_t)1 << 20);

	if (world_replayed_note(w))
		return world_replayed_note(w);
	sandbox_tell(w->sandbox, &b);
	const char *note = b.failed ? NULL : arena_strndup(&w->arena, buf_str(&b), b.len);
	buf_release(&b);
	return note;
}

static void join(const char *const *words, struct buf *out)
{
	for (size_t i = 0; words[i]; i++)
		buf_addf(out, "%s%s", i ? ", " : "", words[i]);
}

int world_judge_sandbox(struct world *w, struct error *e)
{
	struct buf words = BUF_INIT(200);
	int rc = 0;

	join(w->missing, &words);
	if (w->missing[0] && w->job->sandbox_best_effort)
		log_warn("the sandbox holds in part, what does not is: %s", buf_str(&words));
	else if (w->missing[0] && !w->job->replay_tools && toolbox_runs_programs(w->toolbox))
		rc = error_set(e, ERR_SYS,
		               "this kernel cannot enforce the sandbox (%s; it needs Landlock ABI 2 and seccomp): run "
		               "without it (--sandbox off), or set sandbox.best_effort: true to have what there is",
		               buf_str(&words));
	buf_release(&words);
	return rc;
}

int world_confine(struct world *w, struct error *e)
{
	const char *write[4], *parents[4];

	if (run_dir_needs(w->run_dir, write, parents) || world_changes_need(w, write, parents))
		return error_nomem(e);
	int rc = sandbox_confine_self(write, parents, e);
	w->confined = rc > 0;
	return rc < 0 ? -1 : 0;
}
