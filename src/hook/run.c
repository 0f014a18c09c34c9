/* An asking from its first child to the last. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook/internal.h"

#define GRACE_MS     2000 /* from TERM to KILL after a timeout */
#define GRACE_END_MS 200  /* where the run is at its end */
#define ASYNC_MAX    32   /* hooks at once that nobody waits for */
#define ASYNC_LOOK   ((size_t)4096)

void run_free(struct run *run)
{
	struct run **at = &run->h->runs;

	while (*at && *at != run)
		at = &(*at)->next;
	if (*at)
		*at = run->next;
	free(run->name);
	free(run);
}

void asking_free(struct asking *a)
{
	struct asking **at = &a->h->askings;

	while (*at && *at != a)
		at = &(*at)->next;
	if (*at)
		*at = a->next;
	for (size_t i = 0; i < a->n; i++)
		said_release(&a->said[i]);
	free(a->said);
	free(a);
}

static void one_less(struct asking *a)
{
	if (--a->left == 0)
		merge_and_answer(a);
}

static void on_done(void *ctx, int id, struct child_result *res)
{
	struct run *run = ctx;
	struct asking *a = run->asking;
	struct said unheard = { 0 };

	(void)id;
	if (a) {
		judge(run, res, run->said);
		tell_end(run, res, run->said);
		if (run->said->message)
			tell_message(run, run->said->message);
	} else if (!run->cancelled) {
		if (hook_end(run, res, run->why, sizeof run->why))
			run->cancelled = res->timed_out;
		tell_end(run, res, &unheard);
	}
	run_free(run);
	if (a)
		one_less(a);
}

/* Those that nobody waits for and that do not end would take the place of a guard that is asked before a call. True:
 * there are too many, and run says so. */
static bool crowded(struct run *run)
{
	size_t n = 0;

	for (const struct run *i = run->h->runs; i; i = i->next)
		n += !i->asking;
	if (n <= ASYNC_MAX)
		return false;
	snprintf(run->why, sizeof run->why, "was given up: %d hooks that nobody waits for are running", ASYNC_MAX);
	run->cancelled = true;
	tell_end(run, NULL, NULL);
	return true;
}

/* Its first output says that it goes on in the background. */
static void on_heard(void *ctx, const char *p, size_t n)
{
	struct run *run = ctx;
	struct asking *a = run->asking;

	if (!a || run->deaf)
		return;
	run->deaf = n > ASYNC_LOOK;
	if (run->deaf || !output_is_async(p, n))
		return;
	run->asking = NULL;
	run->said = NULL;
	if (crowded(run))
		supervisor_kill(run->h->cfg.supervisor, run->child, GRACE_MS);
	one_less(a);
}

static void fill_spawn(struct hooks *h, const struct run *run, const struct buf *input, struct spawn *spec)
{
	bool verify = run->kind == HOOK_VERIFY;

	h->env[h->nenv] = run->kind == HOOK_SESSION_START ? h->file_env : NULL;
	*spec = (struct spawn){
		.argv = (const char *const *)run->handler->argv,
		.envp = h->env,
		.cwd_fd = h->cwd_fd,
		.input = verify ? NULL : input->data,
		.input_len = verify ? 0 : input->len,
		.separate_stderr = !verify,
		.keep_head = verify ? VERIFY_HEAD + CUT_SECRET : HOOK_OUTPUT_MAX,
		.keep_tail = verify ? VERIFY_TAIL + CUT_SECRET : 0,
		.timeout_ms = run->handler->timeout_ms,
		.grace_ms = run->kind == HOOK_SESSION_END ? GRACE_END_MS : GRACE_MS,
		.confine = run->handler->confine,
		.heard = verify ? NULL : on_heard,
	};
}

static char *run_name(const struct hook_call *call)
{
	const char *value = hook_value(call);
	char *name = NULL;

	if (asprintf(&name, "%s%s%s", hook_event_name(call->kind), value ? ":" : "", value ? value : "") < 0)
		return NULL;
	return name;
}

/* said NULL: nobody waits for it. */
static int start(struct asking *a, const struct handler *handler, struct said *said, const struct buf *input,
                 struct error *e)
{
	struct hooks *h = a->h;
	struct run *run = calloc(1, sizeof *run);
	struct spawn spec;

	if (!run || !(run->name = run_name(&a->call))) {
		free(run);
		return error_nomem(e);
	}
	run->h = h;
	run->handler = handler;
	run->kind = a->call.kind;
	run->asking = said ? a : NULL;
	run->said = said;
	snprintf(run->id, sizeof run->id, "hook_%u", ++h->started);
	run->next = h->runs;
	h->runs = run;
	if (!said && crowded(run)) {
		run_free(run);
		return 0;
	}
	fill_spawn(h, run, input, &spec);
	tell_start(run);
	run->child = supervisor_spawn(h->cfg.supervisor, &spec, on_done, run, e);
	if (run->child > 0)
		return 0;
	run_free(run);
	return -1;
}

static bool is_asked(const struct hooks *h, size_t i, const struct hook_call *call)
{
	const struct handler *a = &h->v[i];

	if (a->decl->event != call->kind || !matcher_meets(&a->matcher, &h->regex, hook_value(call)))
		return false;
	return !a->decl->if_rule || !h->cfg.meets || h->cfg.meets(h->cfg.ctx, a->decl->if_rule, call);
}

/* The handlers to ask, as indices: v has room for all. One that was declared twice runs once. */
static size_t find_asked(const struct hooks *h, const struct hook_call *call, size_t *v)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++) {
		size_t j = 0;
		if (!is_asked(h, i, call))
			continue;
		while (j < n && !handler_same(&h->v[v[j]], &h->v[i]))
			j++;
		if (j == n)
			v[n++] = i;
	}
	return n;
}

/* Its children end without a word to anybody. */
static void end_runs(struct asking *a, int64_t grace_ms)
{
	for (struct run *run = a->h->runs; run; run = run->next) {
		if (run->asking != a)
			continue;
		run->asking = NULL;
		run->said = NULL;
		run->cancelled = true;
		supervisor_kill(a->h->cfg.supervisor, run->child, grace_ms);
		tell_end(run, NULL, NULL);
	}
}

static int start_all(struct asking *a, const size_t *v, size_t n, struct error *e)
{
	struct hooks *h = a->h;
	struct buf input = BUF_INIT(BUF_HUGE);
	int rc = a->call.kind == HOOK_VERIFY ? 0 : hook_input(h, &a->call, &input, e);

	if (a->call.kind == HOOK_SESSION_START)
		env_file_offer(h);
	for (size_t i = 0; !rc && i < n; i++) {
		const struct handler *handler = &h->v[v[i]];
		rc = start(a, handler, handler->decl->async ? NULL : &a->said[a->n++], &input, e);
	}
	buf_release(&input);
	a->left = a->n;
	if (!rc && h->lost) {
		*e = h->why;
		rc = -1;
	}
	return rc;
}

static int ask(struct hooks *h, const struct hook_call *call, const size_t *v, size_t n, hooks_done done, void *ctx,
               struct error *e)
{
	struct asking *a = calloc(1, sizeof *a);
	struct said *said = calloc(n, sizeof *said);

	if (!a || !said) {
		free(a);
		free(said);
		return error_nomem(e);
	}
	*a = (struct asking){ .next = h->askings, .h = h, .call = *call, .done = done, .ctx = ctx, .said = said };
	h->askings = a;
	int rc = start_all(a, v, n, e);
	if (!rc && a->n)
		return 1;
	if (rc)
		end_runs(a, 0);
	asking_free(a);
	return rc;
}

int hooks_ask(struct hooks *h, const struct hook_call *call, hooks_done done, void *ctx, struct error *e)
{
	if (!hooks_any(h, call->kind))
		return 0;
	if (h->lost) {
		*e = h->why;
		return -1;
	}
	size_t *v = calloc(h->n, sizeof *v);
	if (!v)
		return error_nomem(e);
	size_t n = find_asked(h, call, v);
	int rc = n ? ask(h, call, v, n, done, ctx, e) : 0;
	free(v);
	return rc;
}

void hooks_cancel(struct hooks *h, const void *ctx, int64_t grace_ms)
{
	for (struct asking *a = h ? h->askings : NULL, *next; a; a = next) {
		next = a->next;
		if (a->ctx != ctx)
			continue;
		end_runs(a, grace_ms);
		asking_free(a);
	}
}
