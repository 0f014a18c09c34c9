/* All hooks of a run: understood once, at its start. */
#include "hook/hook.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_out.h"
#include "hook/internal.h"

#define END_MAX_MS 60000

static const char *const ours[] = { "CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1" };
#define NOURS (sizeof ours / sizeof *ours)

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* Ours take the place of what is inherited under the same name. */
static int make_env(struct hooks *h)
{
	size_t n = 0, all = 0;

	while (h->cfg.env && h->cfg.env[all])
		all++;
	if (asprintf(&h->project_env, "CLAUDE_PROJECT_DIR=%s", h->cfg.project_dir) < 0) {
		h->project_env = NULL;
		return -1;
	}
	h->env = calloc(all + NOURS + 3, sizeof *h->env);
	if (!h->env)
		return -1;
	for (size_t i = 0; i < all; i++) {
		const char *v = h->cfg.env[i];
		bool replaced = same_name(h->project_env, v) || same_name(ENV_FILE, v);
		for (size_t j = 0; j < NOURS; j++)
			replaced |= same_name(ours[j], v);
		if (!replaced)
			h->env[n++] = v;
	}
	h->env[n++] = h->project_env;
	for (size_t j = 0; j < NOURS; j++)
		h->env[n++] = ours[j];
	h->nenv = n;
	return 0;
}

/* What all SessionEnd hooks may take together: a run that is at its end is not held up by one that asks for nothing. */
static int64_t end_budget(const struct hooks_config *cfg)
{
	int64_t ms = event_rule(HOOK_SESSION_END)->timeout_ms;

	for (size_t i = 0; i < cfg->n; i++)
		if (cfg->v[i].event == HOOK_SESSION_END && !cfg->v[i].async && cfg->v[i].timeout_ms > ms)
			ms = cfg->v[i].timeout_ms;
	return ms < END_MAX_MS ? ms : END_MAX_MS;
}

static int64_t timeout_of(const struct hooks *h, const struct job_hook *decl)
{
	int64_t ms = decl->timeout_ms;

	if (decl->event != HOOK_SESSION_END)
		return ms ? ms : event_rule(decl->event)->timeout_ms;
	int64_t budget = end_budget(&h->cfg);
	return ms && ms < budget ? ms : budget;
}

static int add_handler(struct hooks *h, const struct job_hook *decl, struct error *e)
{
	struct handler *a = &h->v[h->n++];

	*a = (struct handler){ .decl = decl, .timeout_ms = timeout_of(h, decl) };
	a->confine = h->cfg.unconfined ? CONFINE_NONE : decl->network ? CONFINE_TOOL_NET : CONFINE_TOOL;
	if (handler_words(a, h->cfg.project_dir))
		return error_nomem(e);
	if (matcher_init(&a->matcher, decl, &h->regex, e))
		return -1;
	return handler_check_file(a, &h->cfg, e);
}

static int add_all(struct hooks *h, struct error *e)
{
	const struct job_verify *verify = h->cfg.verify;

	h->v = calloc(h->cfg.n + 1, sizeof *h->v);
	if (!h->v || make_env(h))
		return error_nomem(e);
	h->cwd_fd = open(h->cfg.project_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (h->cwd_fd < 0)
		return error_sys(e, "cannot open '%s'", h->cfg.project_dir);
	for (size_t i = 0; i < h->cfg.n; i++)
		if (add_handler(h, &h->cfg.v[i], e))
			return -1;
	if (!verify || !verify->command || !verify->command[0])
		return 0;
	h->verify = (struct job_hook){ .event = HOOK_VERIFY,
		                       .command = verify->command[0],
		                       .args = verify->command + 1,
		                       .timeout_ms = verify->timeout_ms,
		                       .network = verify->network,
		                       .source = "verify.command" };
	return add_handler(h, &h->verify, e);
}

struct hooks *hooks_open(const struct hooks_config *cfg, struct error *e)
{
	struct hooks *h = calloc(1, sizeof *h);

	if (!h) {
		error_nomem(e);
		return NULL;
	}
	h->cfg = *cfg;
	h->cwd_fd = -1;
	buf_init(&h->env_text, ENV_TEXT_MAX);
	if (add_all(h, e) == 0)
		return h;
	hooks_free(h);
	return NULL;
}

void hooks_free(struct hooks *h)
{
	if (!h)
		return;
	while (h->askings)
		asking_free(h->askings);
	while (h->runs)
		run_free(h->runs);
	for (size_t i = 0; i < h->n; i++)
		handler_release(&h->v[i], &h->regex);
	regex_release(&h->regex);
	if (h->cwd_fd >= 0)
		close(h->cwd_fd);
	free(h->v);
	free(h->env);
	free(h->project_env);
	env_file_release(h);
	free(h);
}

void hooks_describe(const struct hooks *h, const char *const *tools, struct buf *out)
{
	for (const struct handler *a = h ? h->v : NULL; a && a < h->v + h->n; a++) {
		const char *text = a->matcher.text, *before = ": ";

		if (!text || !hook_is_about_tools(a->decl->event))
			continue;
		buf_addf(out, "# hook: %s of ", hook_event_name(a->decl->event));
		json_quote(out, text, strlen(text));
		for (const char *const *tool = tools; *tool; tool++) {
			if (!matcher_meets(&a->matcher, &h->regex, *tool))
				continue;
			buf_addf(out, "%s%s", before, *tool);
			before = ", ";
		}
		buf_adds(out, *before == ':' ? ": none of the tools\n" : "\n");
	}
}

bool hooks_busy(const struct hooks *h)
{
	return h && h->askings;
}

bool hooks_any(const struct hooks *h, enum hook_event kind)
{
	for (size_t i = 0; h && i < h->n; i++)
		if (h->v[i].decl->event == kind)
			return true;
	return false;
}

bool hooks_may_allow(const struct hooks *h, enum hook_event kind, const char *tool)
{
	for (size_t i = 0; h && i < h->n; i++)
		if (h->v[i].decl->event == kind && !h->v[i].decl->async &&
		    matcher_meets(&h->v[i].matcher, &h->regex, tool))
			return true;
	return false;
}
