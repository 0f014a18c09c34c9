/* What tools inherit: our environment without secrets, then what the job sets. */
#include "run/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static size_t name_len(const char *assignment)
{
	return strcspn(assignment, "=");
}

static bool listed(const char *const *names, const char *name, size_t n)
{
	for (; names && *names; names++)
		if (strlen(*names) == n && !strncmp(*names, name, n))
			return true;
	return false;
}

bool world_env_kept(const struct job *job, const char *name, size_t n)
{
	return listed(job->env_keep, name, n);
}

static bool job_sets(const struct job *job, const char *name, size_t n)
{
	for (size_t i = 0; i < job->nenv; i++)
		if (strlen(job->env[i].name) == n && !strncmp(job->env[i].name, name, n))
			return true;
	return false;
}

/* http://user:password@host: the one that a tool must not read. */
static bool proxy_with_password(const char *assignment, size_t n)
{
	return n > 6 && !strncasecmp(assignment + n - 6, "_proxy", 6) && strchr(assignment + n, '@');
}

/* Variables that the program reads for itself and that no tool needs. */
static bool ours(const struct job *job, const char *name, size_t n)
{
	static const char *const names[] = { "QUERN_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "TMPDIR",
		                             NULL };

	return listed(names, name, n) || (strlen(job->api_key_env) == n && !strncmp(job->api_key_env, name, n));
}

/* A person's editors and pagers: without a terminal they would wait for nobody. */
static bool interactive(const char *name, size_t n)
{
	static const char *const names[] = {
		"EDITOR", "VISUAL", "PAGER", "MANPAGER", "GIT_EDITOR", "GIT_PAGER", "GIT_SEQUENCE_EDITOR", NULL
	};

	return listed(names, name, n);
}

/* What makes every shell run a file first: a person's set-up, of which neither the model nor the job knows. */
static bool shell_startup(const char *name, size_t n)
{
	static const char *const names[] = { "BASH_ENV", "ENV", NULL };

	return listed(names, name, n);
}

/* 1: a tool gets it. 0: it does not. -1: no memory. */
static int passes(struct world *w, const char *assignment)
{
	const struct job *job = w->job;
	size_t n = name_len(assignment);

	if (job_sets(job, assignment, n))
		return 0;
	bool kept = world_env_kept(job, assignment, n);
	if (!kept && (interactive(assignment, n) || shell_startup(assignment, n)))
		return 0;
	bool secret = secret_env_name(assignment, n);
	if (!secret && (kept || (!ours(job, assignment, n) && !proxy_with_password(assignment, n))))
		return 1;
	const char *value = assignment + n + (assignment[n] == '=');
	if (n == 6 && !strncmp(assignment, "TMPDIR", 6))
		return 0;
	/* a tool may have it, our records may not */
	return secrets_add(w->secrets, value, strlen(value)) ? -1 : kept;
}

const char *world_assignment(struct world *w, const char *name, const char *value)
{
	size_t size = strlen(name) + strlen(value) + 2;
	char *p = arena_alloc(&w->arena, size);

	if (p)
		snprintf(p, size, "%s=%s", name, value);
	return p;
}

/* A variable as tools get it: of a key's, what was copied before it was wiped. */
static const char *inherited(struct world *w, const char *assignment)
{
	size_t n = name_len(assignment);

	for (const char *const *k = w->kept_keys; *k; k++)
		if (name_len(*k) == n && !strncmp(*k, assignment, n))
			return *k;
	return arena_strdup(&w->arena, assignment);
}

/* What the job gives to tools and servers under a secret's name is a secret in what comes back. */
static int remember_pairs(struct world *w, const struct job_pair *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (secret_env_name(v[i].name, strlen(v[i].name)) &&
		    secrets_add(w->secrets, v[i].value, strlen(v[i].value)))
			return -1;
	return 0;
}

int world_child_env(struct world *w, const char *tmpdir, struct error *e)
{
	const struct job *job = w->job;
	size_t count = 0, n = 0;

	while (w->envp[count])
		count++;
	const char **v = arena_alloc(&w->arena, (count + job->nenv + 2) * sizeof *v);
	if (!v || remember_pairs(w, job->env, job->nenv) || remember_pairs(w, job->headers, job->nheaders))
		return error_nomem(e);
	for (size_t i = 0; i < count; i++) {
		int pass = passes(w, w->envp[i]);
		if (pass < 0)
			return error_nomem(e);
		if (pass && !(v[n++] = inherited(w, w->envp[i])))
			return error_nomem(e);
	}
	for (size_t i = 0; i < job->nenv; i++)
		if (!(v[n++] = world_assignment(w, job->env[i].name, job->env[i].value)))
			return error_nomem(e);
	if (!job_sets(job, "TMPDIR", 6) && !(v[n++] = world_assignment(w, "TMPDIR", tmpdir)))
		return error_nomem(e);
	v[n] = NULL;
	w->child_env = v;
	return 0;
}

static bool tool_names(const struct job *job, const char *name, size_t n)
{
	for (size_t i = 0; i < job->nexternal; i++)
		if (listed(job->external[i].env, name, n))
			return true;
	return false;
}

static bool child_has(const struct world *w, const char *name, size_t n)
{
	for (const char *const *v = w->child_env; *v; v++)
		if (name_len(*v) == n && !strncmp(*v, name, n))
			return true;
	return false;
}

const char *const *world_named_env(struct world *w)
{
	size_t count = 0, n = 0;

	while (w->envp[count])
		count++;
	const char **v = arena_alloc(&w->arena, (count + 1) * sizeof *v);
	for (size_t i = 0; i < count && v; i++) {
		size_t len = name_len(w->envp[i]);
		if (!tool_names(w->job, w->envp[i], len) || ours(w->job, w->envp[i], len) ||
		    child_has(w, w->envp[i], len))
			continue;
		v[n] = arena_strdup(&w->arena, w->envp[i]);
		if (!v[n++])
			return NULL;
	}
	return v;
}
