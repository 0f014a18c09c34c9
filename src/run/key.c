/* The key: found by precedence, cleaned, and then gone from where it was found. */
#include "run/world.h"

#include <fcntl.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"

#define KEY_MAX ((size_t)128 << 10)

static char *variable(char **envp, const char *name)
{
	size_t n = strlen(name);

	for (; *envp; envp++)
		if (!strncmp(*envp, name, n) && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

/* What the job lets tools have in spite of all is copied before it is wiped. */
static int keep_for_tools(struct world *w, const char *name, const char *value)
{
	size_t i = 0;

	if (!world_env_kept(w->job, name, strlen(name)))
		return 0;
	while (w->kept_keys[i])
		i++;
	w->kept_keys[i] = world_assignment(w, name, value);
	return w->kept_keys[i] ? 0 : -1;
}

/* The value is overwritten where /proc/PID/environ would show it. -1: no memory. */
static int wipe_variable(struct world *w, const char *name)
{
	char *value = variable(w->envp, name);

	if (!value || !*value)
		return 0;
	int rc = keep_for_tools(w, name, value);
	explicit_bzero(value, strlen(value));
	return rc;
}

static int from_file(struct world *w, const char *path, struct error *e)
{
	if (io_read_file(AT_FDCWD, path, &w->key, e))
		return error_prefix(e, "model.api_key_file");
	w->key_source = "api_key_file";
	return 0;
}

static bool from_variable(struct world *w, const char *name, const char *source, bool bearer)
{
	const char *value = variable(w->envp, name);

	if (!value || !*value)
		return false; /* set to nothing is not set: CI hands out empty secrets to those who may not have them */
	buf_adds(&w->key, value);
	w->key_source = source;
	w->key_bearer = bearer;
	return true;
}

static int find(struct world *w, struct error *e)
{
	const struct job *job = w->job;

	if (from_variable(w, "QUERN_API_KEY", "QUERN_API_KEY", false))
		return 0;
	if (job->api_key_file)
		return from_file(w, job->api_key_file, e);
	if (from_variable(w, job->api_key_env, job->api_key_env, false))
		return 0;
	/* a variable that the job names must be there, but for a replay; of the usual ones none has to be */
	if (strcmp(job->api_key_env, "ANTHROPIC_API_KEY") != 0 && !job->replay_path)
		return error_set(e, ERR_INPUT, "model.api_key_env: the variable '%s' is not set or is empty",
		                 job->api_key_env);
	from_variable(w, "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN", true);
	return 0;
}

static int remember(struct world *w, const char *value)
{
	return value ? secrets_add(w->secrets, value, strlen(value)) : 0;
}

int world_take_key(struct world *w, struct error *e)
{
	static const char *const names[] = { "QUERN_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN" };

	buf_init(&w->key, KEY_MAX);
	w->key_source = "none";
	if (find(w, e))
		return -1;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (remember(w, variable(w->envp, names[i])) || wipe_variable(w, names[i]))
			return error_nomem(e);
	}
	if (remember(w, variable(w->envp, w->job->api_key_env)) || wipe_variable(w, w->job->api_key_env))
		return error_nomem(e);
	if (!strcmp(w->key_source, "none"))
		return 0;
	if (buf_check(&w->key, "the key", e))
		return -1;
	int trimmed = secret_clean_key(&w->key, w->key_source, e);
	if (trimmed < 0)
		return -1;
	if (trimmed)
		log_warn("white space around the key in %s is not part of it and was cut off", w->key_source);
	return remember(w, buf_str(&w->key)) ? error_nomem(e) : 0;
}

void world_wipe_key(struct world *w)
{
	if (w->key.data)
		explicit_bzero(w->key.data, w->key.cap);
	buf_release(&w->key);
}
