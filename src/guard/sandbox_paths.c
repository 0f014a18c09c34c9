#include "guard/sandbox_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATH_ROOM ((size_t)4095)

/* Where keys and passwords lie. "~/" is the home directory. */
static const char *const secret_places[] = {
	"~/.ssh",           "~/.gnupg",     "~/.aws",    "~/.azure",
	"~/.config/gcloud", "~/.config/gh", "~/.kube",   "~/.docker/config.json",
	"~/.netrc",         "~/.npmrc",     "~/.pypirc", "~/.git-credentials",
	"/etc/shadow",      "/run/secrets",
};

/* ---- lists ---- */

void places_release(struct places *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i]);
	free(p->v);
	*p = (struct places){ NULL, 0 };
}

int places_add(struct places *p, const char *path)
{
	char **v = realloc(p->v, (p->n + 2) * sizeof *v);

	if (!v)
		return -1;
	p->v = v;
	v[p->n] = strdup(path);
	v[p->n + 1] = NULL;
	return v[p->n] ? (p->n++, 0) : -1;
}

bool place_beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1) /* the root */
		return true;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

const char *places_holding(const struct places *p, const char *path)
{
	for (size_t i = 0; i < p->n; i++)
		if (place_beneath(path, p->v[i]))
			return p->v[i];
	return NULL;
}

/* ---- one path ---- */

/* "~" and "~/x" by the home directory; malloc'ed. NULL with errno: ENOENT if home is not known. */
static char *expand(const char *path, const char *home)
{
	struct buf b = BUF_INIT(PATH_ROOM);
	bool at_home = path[0] == '~' && (path[1] == '/' || path[1] == '\0');

	if (at_home && (!home || home[0] != '/')) {
		errno = ENOENT;
		return NULL;
	}
	if (at_home)
		buf_addf(&b, "%s%s", home, path + 1);
	else
		buf_adds(&b, path);
	char *whole = buf_take(&b, NULL);
	if (!whole)
		errno = b.failed == ERR_LIMIT ? ENAMETOOLONG : ENOMEM;
	buf_release(&b);
	return whole;
}

/* The rest of a path behind what exists, without what means nothing. NULL with errno: EINVAL if it climbs. */
static char *join_missing(char *real, const char *rest)
{
	struct buf b = BUF_INIT(PATH_ROOM);

	buf_adds(&b, strcmp(real, "/") == 0 ? "" : real);
	free(real);
	while (*rest) {
		size_t n = strcspn(rest, "/");
		if (n == 2 && rest[0] == '.' && rest[1] == '.') {
			buf_release(&b);
			errno = EINVAL;
			return NULL;
		}
		if (n && !(n == 1 && rest[0] == '.')) {
			buf_addc(&b, '/');
			buf_add(&b, rest, n);
		}
		rest += n + (rest[n] == '/');
	}
	char *whole = buf_take(&b, NULL);
	buf_release(&b);
	if (!whole)
		errno = ENOMEM;
	return whole;
}

/* Where a path leads whose end need not exist. NULL with errno. */
static char *real_or_missing(const char *path)
{
	char *head = strdup(path);

	for (size_t n = head ? strlen(head) : 0; head;) {
		char *real = realpath(n ? head : path[0] == '/' ? "/" : ".", NULL);
		if (real) {
			free(head);
			return join_missing(real, path + n);
		}
		if (n == 0 || (errno != ENOENT && errno != ENOTDIR))
			break;
		while (n && head[n - 1] == '/')
			head[--n] = '\0';
		while (n && head[n - 1] != '/')
			head[--n] = '\0';
	}
	int saved = errno;
	free(head);
	errno = saved;
	return NULL;
}

/* ---- writable ---- */

static int add_all(struct places *p, const char *const *paths)
{
	for (; paths && *paths; paths++)
		if (places_add(p, *paths))
			return -1;
	return 0;
}

static int add_written(struct places *p, const char *const *written, const char *home, struct error *e)
{
	for (; written && *written; written++) {
		char *path = expand(*written, home);
		char *real = path ? realpath(path, NULL) : NULL;
		int rc = 0;
		if (!real)
			rc = error_sys(e, "sandbox.write: '%s'", *written);
		else if (places_add(p, real))
			rc = error_nomem(e);
		if (e && rc && errno != ENOMEM)
			e->code = ERR_INPUT;
		free(path);
		free(real);
		if (rc)
			return -1;
	}
	return 0;
}

int places_writable(struct places *p, const struct sandbox_config *cfg, struct error *e)
{
	if (cfg->mode != SANDBOX_WORKSPACE_WRITE)
		return 0;
	if (add_all(p, cfg->roots))
		return error_nomem(e);
	return add_written(p, cfg->write, cfg->home, e);
}

/* ---- hidden ---- */

static int cannot_hide(const char *place, const char *holder, struct error *e)
{
	return error_set(e, ERR_INPUT,
	                 "the sandbox cannot hide '%s', it lies in '%s', where tools can write: work in a directory "
	                 "beside it (-C DIR), or set sandbox.best_effort: true to leave it readable",
	                 place, holder);
}

/* Takes the real path over. */
static int hide(struct places *p, char *real, const struct sandbox_config *cfg, const struct places *writable,
                bool *passed_over, struct error *e)
{
	const char *holder = places_holding(writable, real);
	int rc = 0;

	if (strcmp(real, "/") == 0 || real[0] == '\0')
		rc = error_set(e, ERR_INPUT, "sandbox.read_deny: the root directory cannot be hidden");
	else if (holder && cfg->best_effort)
		*passed_over = true;
	else if (holder)
		rc = cannot_hide(real, holder, e);
	else if (!places_holding(p, real) && places_add(p, real))
		rc = error_nomem(e);
	free(real);
	return rc;
}

static int hide_secrets(struct places *p, const struct sandbox_config *cfg, const char *home,
                        const struct places *writable, bool *passed_over, struct error *e)
{
	for (size_t i = 0; i < sizeof secret_places / sizeof *secret_places; i++) {
		char *path = expand(secret_places[i], home);
		char *real = path ? realpath(path, NULL) : NULL;
		bool broke = !real && errno == ENOMEM;
		free(path);
		if (broke)
			return error_nomem(e);
		if (real && hide(p, real, cfg, writable, passed_over, e))
			return -1;
	}
	return 0;
}

static int hide_denied(struct places *p, const struct sandbox_config *cfg, const struct places *writable,
                       bool *passed_over, struct error *e)
{
	for (const char *const *d = cfg->read_deny; d && *d; d++) {
		char *path = expand(*d, cfg->home);
		char *real = path ? real_or_missing(path) : NULL;
		if (!real) {
			error_sys(e, "sandbox.read_deny: '%s'", *d);
			if (e && errno != ENOMEM)
				e->code = ERR_INPUT;
		}
		free(path);
		if (!real || hide(p, real, cfg, writable, passed_over, e))
			return -1;
	}
	return 0;
}

/* Whoever keeps it in the workspace lets tools have it; elsewhere nobody but us needs it. */
static int hide_key(struct places *p, const struct sandbox_config *cfg, const struct places *writable, struct error *e)
{
	char *real = cfg->key_file ? realpath(cfg->key_file, NULL) : NULL;
	int rc = 0;

	if (real && !places_holding(writable, real) && places_add(p, real))
		rc = error_nomem(e);
	free(real);
	return rc;
}

int places_hidden(struct places *p, const struct sandbox_config *cfg, const struct places *writable, bool *passed_over,
                  struct error *e)
{
	*passed_over = false;
	/* HOME may be missing (a service), or another's: what lies in the user's own is secret all the same */
	if (hide_secrets(p, cfg, cfg->home, writable, passed_over, e))
		return -1;
	if (cfg->account_home && (!cfg->home || strcmp(cfg->home, cfg->account_home) != 0) &&
	    hide_secrets(p, cfg, cfg->account_home, writable, passed_over, e))
		return -1;
	if (hide_denied(p, cfg, writable, passed_over, e))
		return -1;
	return hide_key(p, cfg, writable, e);
}
