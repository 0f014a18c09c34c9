#include "job/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "job/job_file.h"
#include "job/options.h"
#include "job/set.h"
#include "job/settings.h"

#define ERRORS_MAX ((size_t)256 << 10)

static const char *env_get(const char *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (; envp && *envp; envp++)
		if (!strncmp(*envp, name, n) && (*envp)[n] == '=')
			return (*envp)[n + 1] ? *envp + n + 1 : NULL; /* set to nothing is not set */
	return NULL;
}

/* Variables are looked at only where nothing stronger spoke: a stale one must not spoil a job. */
static void apply_env(struct setter *s, const char *const *envp, enum source source)
{
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		const char *name = source == SOURCE_ENV ? k->env : k->vendor;
		const char *value = name ? env_get(envp, name) : NULL;
		if (value && s->level[schema_index(k)] < source)
			setter_text(s, k, value, &(struct origin){ source, name, false });
	}
}

static void apply_defaults(struct setter *s)
{
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++)
		if (k->path && k->fallback && s->level[schema_index(k)] == SOURCE_NONE)
			setter_text(s, k, k->fallback, &(struct origin){ SOURCE_DEFAULT, k->path, false });
}

static enum source level_of(const struct setter *s, const char *path)
{
	return (enum source)s->level[schema_index(schema_by_path(path))];
}

/* From where quern was started, in the arena. NULL after an error. */
static const char *absolute(struct setter *s, const char *path, char **cwd)
{
	struct origin o = { SOURCE_DEFAULT, path, false };

	if (path[0] == '/')
		return path;
	if (!*cwd && !(*cwd = getcwd(NULL, 0))) {
		setter_fail(s, &o, NULL, NULL, "cannot tell the current directory: %s", strerror(errno));
		return NULL;
	}
	size_t n = strlen(*cwd) + strlen(path) + 2;
	char *full = arena_alloc(&s->job->arena, n);
	if (full)
		snprintf(full, n, "%s/%s", strcmp(*cwd, "/") ? *cwd : "", path);
	else
		setter_fail(s, &o, NULL, NULL, "out of memory");
	return full;
}

/* The files of memory, unless it is a word. */
static int resolve_memory(struct setter *s, char **cwd)
{
	struct job *job = s->job;
	size_t n = array_count(job->memory_files);
	const char **v = arena_alloc(&job->arena, (n + 1) * sizeof(*v));
	if (!v)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *full = absolute(s, job->memory_files[i], cwd);
		v[i] = full ? full : job->memory_files[i];
	}
	job->memory_files = v;
	return 0;
}

/* Files named in options and job are meant from where quern was started, whatever the directory is later. */
static void resolve_paths(struct setter *s)
{
	struct origin o = { SOURCE_DEFAULT, "memory", false };
	char *cwd = NULL;

	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		if (!(k->flags & KF_RESOLVE))
			continue;
		const char **at = (const char **)(void *)((char *)s->job + k->at);
		const char *full = *at ? absolute(s, *at, &cwd) : NULL;
		if (full)
			*at = full;
	}
	if (resolve_memory(s, &cwd))
		setter_fail(s, &o, NULL, NULL, "out of memory");
	free(cwd);
}

/* Is list[i] the model itself or one that stands before it? */
static bool named_before(const struct job *job, size_t i)
{
	bool found = job->model && !strcmp(job->fallback[i], job->model);

	for (size_t j = 0; j < i && !found; j++)
		found = !strcmp(job->fallback[i], job->fallback[j]);
	return found;
}

static void check_fallback(struct setter *s)
{
	struct origin o = { SOURCE_DEFAULT, "model.fallback", false };

	for (size_t i = 0; s->job->fallback[i]; i++)
		if (named_before(s->job, i))
			setter_fail(s, &o, NULL, NULL, "'%.80s' is in the row of models already: none is tried twice",
			            s->job->fallback[i]);
}

static bool is_one(const char *const *list, const char *word)
{
	return list[0] && !list[1] && !strcmp(list[0], word);
}

/* memory: off, auto or files. What is one of the words is no file: ./auto is. */
static void take_memory(struct setter *s)
{
	struct job *job = s->job;
	struct origin o = { SOURCE_DEFAULT, "memory", false };

	job->memory_auto = is_one(job->memory, "auto");
	if (job->memory_auto || is_one(job->memory, "off")) {
		job->memory_files = job->memory + 1;
		return;
	}
	for (const char *const *v = job->memory; *v; v++)
		if (!strcmp(*v, "auto") || !strcmp(*v, "off"))
			setter_fail(s, &o, NULL, NULL, "%s stands alone (./%s is a file of that name)", *v, *v);
	job->memory_files = job->memory;
}

static void check_input(struct setter *s)
{
	const struct job *job = s->job;
	struct origin o = { SOURCE_DEFAULT, "input_format", false };

	if (!job->stream_input && job->replay_messages)
		setter_fail(s, &o, NULL, NULL, "output.replay_user_messages is about messages of stream-json input");
	if (!job->stream_input)
		return;
	if (job->stdin_mode == STDIN_NONE)
		setter_fail(s, &o, NULL, NULL, "with stream-json messages come on stdin: it must be read");
	if (job->stdin_mode == STDIN_CONTEXT)
		setter_fail(s, &o, NULL, NULL, "with stream-json messages come on stdin: it cannot be context");
	if (job->output_format && strcmp(job->output_format, "stream-json") != 0)
		setter_fail(s, &o, NULL, NULL, "stream-json needs the output format stream-json");
}

static void check_verify(struct setter *s)
{
	struct origin o = { SOURCE_DEFAULT, "verify.command", false };

	if (s->job->verify.command)
		return;
	if (level_of(s, "verify.max_repairs") > SOURCE_DEFAULT || level_of(s, "verify.timeout") > SOURCE_DEFAULT ||
	    level_of(s, "verify.network") > SOURCE_DEFAULT)
		setter_fail(s, &o, NULL, NULL, "is missing: without it nothing is verified");
}

/* What a hook's failure means where its declaration does not say. */
static void take_hook_failure(struct job *job)
{
	for (struct job_hook *h = job->hooks; h < job->hooks + job->nhooks; h++)
		if (!h->blocks_said)
			h->blocks = !strcmp(job->hook_failure, "block");
}

static void check_replay(struct setter *s)
{
	const struct job *job = s->job;
	struct origin tools = { SOURCE_DEFAULT, "replay_tools", false },
	              strict = { SOURCE_DEFAULT, "replay_strict", false };

	if (job->replay_tools && !job->replay_bundle)
		setter_fail(s, &tools, NULL, NULL, "needs a bundle: --replay FILE");
	if (job->replay_strict && !job->replay_bundle)
		setter_fail(s, &strict, NULL, NULL, "needs a bundle: --replay FILE");
}

static void cross_check(struct setter *s)
{
	struct job *job = s->job;
	struct origin provider = { SOURCE_DEFAULT, "model.provider", false };

	if (!job->replay_path && job->provider && !strcmp(job->provider, "replay"))
		setter_fail(s, &provider, NULL, NULL, "replay needs a tape: --replay FILE, or replay: in the job");
	setter_check_files(s);
	check_fallback(s);
	check_input(s);
	check_verify(s);
	check_replay(s);
}

static void choose_provider(struct setter *s)
{
	if (s->job->replay_path && !s->job->replay_bundle)
		s->job->provider = "replay";
	else if (!s->job->provider)
		s->job->provider = schema_by_path("model.provider")->fallback;
}

static void derive(struct setter *s)
{
	struct job *job = s->job;

	job->tools_explicit = level_of(s, "tools.builtin") > SOURCE_DEFAULT;
	job->workspace_given = level_of(s, "workspace.dir") > SOURCE_DEFAULT;
	job->base_url_given = level_of(s, "model.base_url") > SOURCE_DEFAULT;
	job->prompt_from_option = level_of(s, "prompt") == SOURCE_OPTION;
	job->stream_input = !strcmp(job->input_format, "stream-json");
	if (level_of(s, "environment") == SOURCE_NONE)
		job->environment = !job->system;
	if (!job->verify.command[0])
		job->verify.command = NULL;
	take_hook_failure(job);
	take_memory(s);
}

/* An option or a key that could not be read may have been the format; a wrong value of another key was not. */
static bool format_known(const struct setter *s, enum file_status file)
{
	if (level_of(s, "output.format") > SOURCE_DEFAULT)
		return true;
	return file != FILE_UNREADABLE && s->errs->n == s->plain;
}

/* Where a recorded run was kept, and what it had its key from, is no business of a replay. */
static void forget_places(struct setter *s)
{
	static const char *const places[] = { "events", "record", "resume", "run_dir", "replay", "model.api_key_file" };

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const struct job_key *k = schema_by_path(places[i]);
		if (k && s->level[schema_index(k)] <= SOURCE_FILE)
			*(const char **)(void *)((char *)s->job + k->at) = NULL;
	}
}

/* The job of the bundle that is to be replayed stands where a job file would. */
static enum file_status read_recorded(struct setter *s, job_recorded recorded)
{
	struct job *job = s->job;
	struct buf text = BUF_INIT((size_t)16 << 20);
	struct error e = ERROR_INIT;
	struct origin o = { SOURCE_OPTION, "--replay", false };
	enum file_status file = FILE_FINE;
	const char *path = job->replay_path;
	int rc = recorded && path ? recorded(path, &text, &e) : 0;

	if (rc < 0) {
		setter_fail(s, &o, NULL, NULL, "%s", e.msg);
		file = FILE_UNREADABLE;
	}
	job->replay_bundle = rc != 0;
	if (rc > 0 && !job->job_file) {
		file = job_file_text(s, path, buf_str(&text), text.len);
		forget_places(s);
		job->replay_path = path;
	}
	buf_release(&text);
	return file;
}

int job_parse(struct job *job, int argc, char *const argv[], const char *const *envp, struct job_errors *errs)
{
	return job_parse_replay(job, argc, argv, envp, NULL, errs);
}

int job_parse_replay(struct job *job, int argc, char *const argv[], const char *const *envp, job_recorded recorded,
                     struct job_errors *errs)
{
	struct setter s;
	enum file_status file = FILE_FINE;

	memset(job, 0, sizeof *job);
	buf_init(&errs->text, ERRORS_MAX);
	errs->n = 0;
	setter_init(&s, job, errs);

	options_read(&s, argc, argv);
	bool informs = job->action != ACTION_RUN && job->action != ACTION_CHECK;
	if (informs) {
		/* Who asks for help gets it, whatever else stands on the line. */
		buf_clear(&errs->text);
		errs->n = 0;
	} else {
		apply_env(&s, envp, SOURCE_ENV);
		if (job->job_file)
			file = job_file_read(&s, job->job_file);
		if (job->replay_path) {
			enum file_status bundle = read_recorded(&s, recorded);
			file = bundle > file ? bundle : file;
		}
		settings_read(&s, env_get(envp, "HOME"));
		choose_provider(&s);
		if (!strcmp(job->provider, "anthropic"))
			apply_env(&s, envp, SOURCE_VENDOR);
	}
	job->output_format_known = format_known(&s, file);
	apply_defaults(&s);
	choose_provider(&s);
	derive(&s);
	if (!informs)
		cross_check(&s);
	resolve_paths(&s);
	return errs->n ? -1 : 0;
}

void job_release(struct job *job)
{
	arena_release(&job->arena);
	memset(job, 0, sizeof *job);
}
