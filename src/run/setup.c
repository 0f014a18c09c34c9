/* Everything before the first request, in the order that keeps the key from every child. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "config.h"
#include "run/replay.h"
#include "run/world.h"

#define USER_AGENT "quern/" PACKAGE_VERSION

static enum output_format format_of(const struct job *job)
{
	static const struct {
		const char *name;
		enum output_format format;
	} formats[] = { { "json", OUTPUT_JSON }, { "text", OUTPUT_TEXT } };

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (job->output_format && !strcmp(job->output_format, formats[i].name))
			return formats[i].format;
	return OUTPUT_STREAM_JSON;
}

void world_fill_recorder(struct world *w, struct recorder_config *cfg)
{
	*cfg = (struct recorder_config){
		.format = format_of(w->job),
		.partial = w->job->partial,
		.session_id = w->session_id,
		.version = PACKAGE_VERSION,
		.events_path = w->job->events_path ? w->job->events_path : w->transcript,
		.run_dir = w->run_dir,
		.mask = w->secrets ? world_mask : NULL,
		.new_uuid = world_new_id,
		.tap = world_records(w) ? world_record_line : NULL,
		.named = world_records(w) ? world_record_file : NULL,
		.now = world_now,
		.started = w->started,
		.ctx = w,
		.reactor = w->reactor,
		.fd = STDOUT_FILENO,
	};
}

/* bypassPermissions lets the model do anything the user may do: as root that would be the whole machine. */
int world_check_bypass(struct world *w, struct error *e)
{
	if (world_permission_mode(w->job) != MODE_BYPASS || w->job->replay_tools || geteuid() != 0 ||
	    sandbox_is_whole(w->sandbox))
		return 0;
	return error_set(e, ERR_INPUT,
	                 "permissions.mode: bypassPermissions is refused for root without a sandbox that is enforced; "
	                 "allow the tools that are needed by name (--allowedTools) or run as another user");
}

static int read_task(struct world *w, struct error *e)
{
	const struct job *job = w->job;

	if (w->task || world_replays_task(w) || (job->stream_input && !job->prompt))
		return 0; /* it comes with the first message, or from the record */
	if (w->resumes && !job->prompt && job->stdin_mode != STDIN_CONTEXT)
		return 0; /* it is the recorded one */
	struct buf text = BUF_INIT(BUF_HUGE);
	const struct task_wait wait = { w->reactor, &w->signo, w->deadline, w->resumes };
	int rc = job_read_task(w->job, &wait, &text, e);

	if (rc == 0) {
		struct block *b = block_new_text(buf_str(&text), text.len);
		w->task = b ? message_new(ROLE_USER) : NULL;
		if (!w->task)
			block_unref(b);
		rc = w->task && !message_add(w->task, b) ? 0 : error_nomem(e);
	}
	buf_release(&text);
	return rc;
}

/* The task behind what is told beside it. */
static int make_history(struct world *w, struct error *e)
{
	struct message *task = w->task;

	if (world_replays_task(w))
		return world_replay_task(w, e);
	if (world_take_record(w, e))
		return -1;
	if (!task || w->job->stream_input)
		return 0; /* a session begins without any */
	if (world_tell_first(w, task, e))
		return -1;
	w->task = NULL;
	return history_add(&w->history, task) ? error_nomem(e) : 0;
}

static int make_run_dir(struct world *w, struct error *e)
{
	struct run_dir_config cfg = { .explicit_dir = w->job->run_dir ? w->job->run_dir : world_recorded_dir(w),
		                      .session_id = w->session_id,
		                      .writable_roots = world_writable_roots(w),
		                      .max_bytes = w->job->run_dir_bytes,
		                      .record = w->job->resume_path,
		                      .resumes = w->resumes,
		                      .left_alone = w->resumes && !w->record.run_dir };

	if (!cfg.writable_roots)
		return error_nomem(e);
	w->run_dir = run_dir_open(&cfg, e);
	if (!w->run_dir)
		return -1;
	run_dir_prepare(w->run_dir);
	if (run_dir_made(w->run_dir) && sandbox_add_readable(w->sandbox, run_dir_made(w->run_dir)))
		return error_nomem(e);
	if (world_has_hooks(w) && !w->job->events_path)
		world_make_transcript(w);
	const char *tmp = run_dir_tmp(w->run_dir, e);
	if (tmp && sandbox_add_writable(w->sandbox, tmp))
		return error_nomem(e);
	return tmp ? world_child_env(w, tmp, e) : -1;
}

/* Of two "Name: why". */
static bool same_reason(const char *a, const char *b)
{
	return a && b && !strcmp(a + strcspn(a, ":"), b + strcspn(b, ":"));
}

/* One line, so that nobody wonders why the model never edits. Neighbours with the same reason share it. */
static void tell_withheld(const struct world *w)
{
	const char *const *v = toolbox_withheld(w->toolbox);
	struct buf b = BUF_INIT(1000);

	for (size_t i = 0; v[i]; i++) {
		bool told_later = same_reason(v[i], v[i + 1]);
		buf_add(&b, v[i], told_later ? strcspn(v[i], ":") : strlen(v[i]));
		if (v[i + 1])
			buf_adds(&b, told_later ? ", " : "; ");
	}
	if (b.len)
		log_warn("tools withheld: %s", buf_str(&b));
	buf_release(&b);
}

void world_forget_secrets(void *ctx)
{
	struct world *w = ctx;

	log_set_mask(NULL, NULL);
	secrets_free(w->secrets);
	w->secrets = NULL;
	world_wipe_key(w);
	for (char **at = w->envp; *at; at++) /* children get theirs with each request */
		explicit_bzero(*at, strlen(*at));
}

/* Rules as the workspace's directories make them. */
int world_permissions(struct world *w, struct error *e)
{
	const struct job *job = w->job;
	const char *home = getenv("HOME"), **names;
	size_t n = 0;

	while (toolbox_builtin(n))
		n++;
	names = arena_alloc(&w->arena, (n + job->nexternal + 1) * sizeof *names);
	if (!names)
		return error_nomem(e);
	for (size_t i = 0; i < n; i++)
		names[i] = toolbox_builtin(i);
	for (size_t i = 0; i < job->nexternal; i++)
		names[n + i] = job->external[i].name;
	const struct permission_config cfg = {
		.mode = world_permission_mode(job),
		.allow = job->allow,
		.ask = job->ask,
		.deny = job->deny,
		.workspace = w->workspace,
		.add_dirs = w->add_dirs,
		.spelled = w->spelled,
		.home = home && home[0] == '/' ? home : NULL,
		.tools = names,
	};

	w->permissions = permissions_open(&cfg, e);
	return w->permissions ? 0 : -1;
}

#define CHILDREN 64 /* beside hooks of calls that run at the same time */

static int make_tools(struct world *w, struct error *e)
{
	const struct job *job = w->job;
	struct child_call *calls = arena_alloc(&w->arena, (tool_child_ncalls + 1) * sizeof *calls);
	struct supervisor_config sup = {
		.calls = calls,
		.ncalls = tool_child_ncalls + 1,
		.max_processes = (int)job->max_processes,
		/* a hook that cannot be started is one that does not object */
		.max_children = CHILDREN + (int)(job->tool_concurrency * (int64_t)job->nhooks),
		.some_unconfined = world_has_hooks(w) && !job->sandbox_hooks,
		.sandbox = w->sandbox,
		.forget = world_forget_secrets,
		.beside = w->keeper,
		.held = w->locks,
		.nheld = w->nlocks,
		.ctx = w,
	};
	struct toolbox_config cfg;

	if (!calls)
		return error_nomem(e);
	memcpy(calls, tool_child_calls, tool_child_ncalls * sizeof *calls);
	calls[tool_child_ncalls] = archive_child_call;
	world_fill_toolbox(w, &cfg);
	cfg.skip_files = world_own_files(w);
	cfg.child_env = w->child_env;
	cfg.named_env = world_named_env(w);
	cfg.max_spill = (size_t)job->tool_max_spill;
	cfg.no_edits = sandbox_mode(w->sandbox) == SANDBOX_READ_ONLY ? "the sandbox is read-only" : NULL;
	cfg.command_note = world_command_note(w);
	cfg.run_dir = w->run_dir;
	cfg.tells_touched = job->memory_auto;
	cfg.none_run = job->replay_tools;
	cfg.mask = world_mask;
	cfg.notice = world_notice;
	cfg.starts = world_tool_starts;
	cfg.ctx = w;
	if (!cfg.skip_files || !cfg.named_env || !cfg.command_note)
		return error_nomem(e);
	for (const char *const *why = permissions_warnings(w->permissions); *why; why++)
		log_warn("%s", *why);
	w->supervisor = supervisor_start(&sup, w->reactor, e);
	if (!w->supervisor || world_open_hooks(w, e))
		return -1;
	cfg.hooks = w->hooks;
	w->toolbox = toolbox_open(&cfg, w->reactor, w->supervisor, e);
	if (!w->toolbox)
		return -1;
	tell_withheld(w);
	return 0;
}

/* A header that may hold a credential is masked as the key is: servers like to quote what they refuse. */
static int mask_header(struct world *w, const struct job_pair *h)
{
	const char *last = strrchr(h->value, ' '); /* behind "Bearer" and the like */

	if (!strcasestr(h->name, "auth") && !strcasestr(h->name, "cookie") &&
	    !secret_env_name(h->name, strlen(h->name)))
		return 0;
	if (last && secrets_add(w->secrets, last + 1, strlen(last + 1)))
		return -1;
	return secrets_add(w->secrets, h->value, strlen(h->value));
}

/* "Name: value" lines out of the job's pairs. NULL: no memory. */
static const char *const *header_lines(struct world *w)
{
	const struct job *job = w->job;
	const char **v = arena_alloc(&w->arena, (job->nheaders + 1) * sizeof *v);

	for (size_t i = 0; v && i < job->nheaders; i++) {
		struct buf b = BUF_INIT(BUF_HUGE);
		buf_addf(&b, "%s: %s", job->headers[i].name, job->headers[i].value);
		v[i] = b.failed ? NULL : arena_strdup(&w->arena, buf_str(&b));
		buf_release(&b);
		if (!v[i] || mask_header(w, &job->headers[i]))
			return NULL;
	}
	return v;
}

static const char *join_betas(struct world *w)
{
	struct buf b = BUF_INIT(65536);
	const char *const *v = w->job->betas;
	const char *joined = NULL;

	for (size_t i = 0; v && v[i]; i++)
		buf_addf(&b, "%s%s", i ? "," : "", v[i]);
	if (b.len)
		joined = arena_strdup(&w->arena, buf_str(&b));
	buf_release(&b);
	return joined;
}

static bool vendor_host(const struct wire *wire, const char *base_url)
{
	return wire->default_base_url && !strncmp(base_url, wire->default_base_url, strlen(wire->default_base_url));
}

static const char *base_url(const struct job *job, const struct wire *wire)
{
	return job->base_url ? job->base_url : wire->default_base_url;
}

int world_tell_no_key(struct error *e)
{
	return error_set(e, ERR_INPUT, "no API key: set ANTHROPIC_API_KEY or QUERN_API_KEY, or model.api_key_file");
}

static int check_key(struct world *w, struct error *e)
{
	const struct wire *wire = model_wire_find(w->job->provider);
	const char *url = wire ? base_url(w->job, wire) : NULL;

	w->lacks_key = !w->key.len && !w->replay && url && wire->needs_key && vendor_host(wire, url);
	return w->lacks_key && !world_may_be_done(w) ? world_tell_no_key(e) : 0;
}

static int open_wires(struct world *w, const struct wire *wire, struct error *e)
{
	w->model = wire->open(&w->model_config, w->reactor, world_on_model, w, e);
	if (w->model && w->job->summary_model)
		w->background = wire->open(&w->model_config, w->reactor, world_on_background, w, e);
	return w->model && (w->background || !w->job->summary_model) ? 0 : -1;
}

static int make_model(struct world *w, struct error *e)
{
	const struct job *job = w->job;
	const struct wire *wire = model_wire_find(job->provider);

	if (!wire)
		return error_set(e, ERR_INPUT, "model.provider: '%s' is not known", job->provider);
	w->model_config = (struct model_config){
		.base_url = base_url(job, wire),
		.api_key = w->key.len ? buf_str(&w->key) : NULL,
		.bearer = w->key_bearer,
		.headers = header_lines(w),
		.betas = join_betas(w),
		.partial = job->partial && format_of(job) == OUTPUT_STREAM_JSON,
		.connect_timeout_ms = job->connect_ms,
		.tape = job->replay_path,
		.user_agent = USER_AGENT,
		.tap = world_record_tap(w),
	};

	if (!w->model_config.headers)
		return error_nomem(e);
	int rc = w->replay ? world_open_players(w, e) : open_wires(w, wire, e);
	w->model_config.api_key = NULL;
	world_wipe_key(w);
	return rc;
}

/* What a run whose tools go one by one uses, beside the standard streams and what it inherited. With fewer each call
 * would fail; where calls overlap, or search, one may fail and says why. */
#define MIN_DESCRIPTORS 13
#define BACKGROUND_MORE 5 /* a second model's connection, and what libcurl needs to make it */

static int check_descriptors(const struct world *w, struct error *e)
{
	int needed = MIN_DESCRIPTORS + (w->job->summary_model ? BACKGROUND_MORE : 0) + world_keeps(w) +
	             world_locks_most(w);
	struct rlimit files;
	int unused = 0;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return 0;
	for (int fd = STDERR_FILENO + 1; (rlim_t)fd < files.rlim_cur && unused < needed; fd++)
		unused += fcntl(fd, F_GETFD) < 0;
	if (unused >= needed)
		return 0;
	return error_set(e, ERR_SYS, "too few open files are allowed (ulimit -n is %llu): %d are left, %d are needed",
	                 (unsigned long long)files.rlim_cur, unused, needed);
}

static int catch_signals(struct world *w, struct error *e)
{
	w->reactor = reactor_open(e);
	/* where there are too few descriptors, that is what is told */
	return check_descriptors(w, e) || !w->reactor || world_catch_signals(w, e) ? -1 : 0;
}

static int know_secrets(struct world *w, struct error *e)
{
	w->secrets = secrets_new();
	if (!w->secrets)
		return error_nomem(e);
	log_set_mask(world_mask, w);
	return 0;
}

static int lock_record(struct world *w, struct error *e)
{
	return world_lock_record(w, e) || world_read_record(w, e) ? -1 : 0;
}

/* A record that is gone on with says what there is to do, before anything else is looked at. */
static int judge_record(struct world *w, struct error *e)
{
	if (w->resumes && read_task(w, e))
		return -1;
	world_judge_record(w);
	return 0;
}

static int make_workspace(struct world *w, struct error *e)
{
	if (!world_keeps(w))
		return 0;
	return world_start_keeper(w, e) || (w->job->archive && world_unpack(w, e)) ? -1 : 0;
}

static int begin_changes(struct world *w, struct error *e)
{
	return world_keeps(w) ? world_begin_changes(w, e) : 0;
}

static int read_new_task(struct world *w, struct error *e)
{
	return w->resumes ? 0 : read_task(w, e);
}

static int make_recorder(struct world *w, struct error *e)
{
	struct recorder_config rec;

	world_fill_recorder(w, &rec);
	w->keeps_events = rec.format == OUTPUT_STREAM_JSON || rec.events_path || w->recording;
	w->recorder = recorder_open(&rec, e);
	return w->recorder ? 0 : -1;
}

/* What is done, in this order, and what is named as the reason if it fails. */
static const struct {
	enum setup_step step;
	int (*make)(struct world *w, struct error *e);
} steps[] = {
	{ SETUP_SIGNALS, catch_signals },
	{ SETUP_SIGNALS, know_secrets },
	{ SETUP_REPLAY, world_read_replay },
	{ SETUP_OPTIONS, world_models },
	{ SETUP_KEY, world_take_key }, /* before all that may take long: until then it is readable in /proc */
	{ SETUP_RESUME, lock_record },
	{ SETUP_TASK, judge_record }, /* where there is nothing left to do, nothing follows */
	{ SETUP_KEEPER, make_workspace },
	{ SETUP_WORKSPACE, world_workspace },
	{ SETUP_KEEPER, begin_changes },
	{ SETUP_OPTIONS, world_permissions },
	{ SETUP_SANDBOX, world_open_sandbox },
	{ SETUP_BYPASS, world_check_bypass },
	{ SETUP_ATTACH, world_find_attachments },
	{ SETUP_TASK, read_new_task },
	{ SETUP_KEY, check_key }, /* whoever has no task either is told of that */
	{ SETUP_RUN_DIR, make_run_dir },
	{ SETUP_TOOLS, make_tools },
	{ SETUP_SANDBOX, world_judge_sandbox },
	{ SETUP_ATTACH, make_history },
	{ SETUP_OUTPUT, world_record_open },
	{ SETUP_MODEL, make_model },
	{ SETUP_OUTPUT, make_recorder },
	{ SETUP_OUTPUT, world_record_begin },
	{ SETUP_OUTPUT, world_record_files },
	{ SETUP_SANDBOX, world_confine }, /* after this nothing can be set up any more */
};

int world_set_up(struct world *w, enum setup_step *step, struct error *e)
{
	for (size_t i = 0; i < sizeof steps / sizeof *steps && !w->repeats; i++) {
		*step = steps[i].step;
		/* the file of the events is locked too: without a record it is the output */
		if (*step == SETUP_RESUME && !w->job->resume_path)
			*step = SETUP_OUTPUT;
		if (steps[i].make(w, e))
			return -1;
	}
	return 0;
}
