/* Made-up tools. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

static enum tool_class tool_class(void *ctx, const char *name)
{
	(void)ctx;
	return sim_begins(name, "Unknown") ? TOOL_UNKNOWN : sim_begins(name, "Safe") ? TOOL_READ_ONLY : TOOL_UNSAFE;
}

static void set_text(struct tool_result *r, const char *t, bool is_error)
{
	r->text = strdup(t);
	r->text_len = strlen(t);
	r->is_error = is_error;
}

/* So long a text that it takes memory and time, of one byte. */
static void set_size(struct tool_result *r, size_t n, char byte)
{
	free(r->text);
	r->text = malloc(n + 1);
	memset(r->text, byte, n);
	r->text[n] = '\0';
	r->text_len = n;
}

/* The text that the input has under that name, or NULL; the caller's. */
static char *said(const struct block *use, const char *name)
{
	char key[32];
	size_t n = (size_t)snprintf(key, sizeof key, "\"%s\":\"", name);
	const char *at = strstr(use->input, key);

	return at ? strndup(at + n, strcspn(at + n, "\"")) : NULL;
}

/* The same of a mark, whose text stands in what is told alone: an input may be quoted. */
static char *marked(const struct block *use)
{
	const char *at = strstr(use->input, "\"mark\":");
	char text[32];

	if (!at)
		return NULL;
	snprintf(text, sizeof text, "[mark %d]", atoi(at + 7));
	return strdup(text);
}

static void set_image(struct tool_result *r)
{
	free(r->text);
	r->text = NULL;
	r->text_len = 0;
	r->content_json = strdup("[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\","
	                         "\"data\":\"iVBORw0KGgo=\"}}]");
}

/* Hooks were asked first, and what they said is no. */
static void set_refused(struct sim_event *q)
{
	tool_result_release(&q->result);
	set_text(&q->result, "refused", true);
	q->result.denied = q->refused = true;
	q->result.denied_reason = "hook";
	q->result.ran = false;
}

static bool output_full(void *ctx)
{
	struct sim *s = ctx;

	return s->clock >= s->full_from && s->clock < s->full_until;
}

static int tool_start(void *ctx, const struct block *use, struct tool_result *now, struct error *e)
{
	struct sim *s = ctx;
	const char *ms = strstr(use->input, "\"ms\":");
	bool safe = sim_begins(use->name, "Safe");

	if (sim_begins(use->name, "Unknown")) {
		set_text(now, "Error: No such tool available", true);
		now->invalid = true;
		return 0;
	}
	if (sim_begins(use->name, "Deny")) {
		set_text(now, "denied", true);
		now->denied = true;
		now->denied_reason = "mode";
		return 0;
	}
	if (s->supervisor_lost_at && s->clock >= s->supervisor_lost_at)
		return error_set(e, ERR_GONE, "the supervisor is gone");
	sim_check(s, &(struct step){ .stage = AT_START, .use = use, .safe = safe });
	witness_start(s, use, safe);
	*(safe ? &s->running_safe : &s->running_unsafe) += 1;
	s->tool_runs++;
	int64_t takes = sim_begins(use->name, "Slow") ? 100000 : ms ? atoi(ms + 5) : 10;
	struct sim_event *q = sim_at(s, s->clock + takes, LOOP_EV_TOOL);
	q->call = strdup(use->id);
	q->safe = safe;
	q->ev.tool_use_id = q->call;
	bool fails = sim_begins(use->name, "Fail");
	set_text(&q->result, fails ? "Exit code 1" : "ok", fails);
	if ((ms = strstr(use->input, "\"size\":")))
		set_size(&q->result, strtoul(ms + 7, NULL, 10), strstr(use->input, "\"binary\"") ? '\1' : 'r');
	if (strstr(use->input, "\"image\""))
		set_image(&q->result);
	q->undead = strstr(use->input, "\"undead\"") != NULL;
	q->result.ran = true;
	q->result.cancels_siblings = fails;
	q->result.context = said(use, "context");
	if (!q->result.context)
		q->result.context = marked(use);
	q->result.ends_run = said(use, "ends");
	if (sim_begins(use->name, "Refuse"))
		set_refused(q);
	return 1;
}

static void tool_cancel(void *ctx, const char *tool_use_id, int64_t grace_ms)
{
	struct sim *s = ctx;

	for (struct sim_event *q = s->queue; q; q = q->next) {
		if (q->ev.kind != LOOP_EV_TOOL || strcmp(q->call, tool_use_id) != 0)
			continue;
		/* a cancelled child takes half of its grace to go; one that hangs in the kernel comes when it likes,
		 * and counts no more */
		struct sim_event *copy = sim_at(s, s->clock + grace_ms / 2 + (q->undead ? 60000 : 0), LOOP_EV_TOOL);
		copy->undead = copy->gone = q->undead;
		s->w->undying += q->undead && !q->gone;
		if (q->undead && !q->gone)
			*(q->safe ? &s->running_safe : &s->running_unsafe) -= 1;
		copy->call = strdup(tool_use_id);
		copy->safe = q->safe;
		copy->ev.tool_use_id = copy->call;
		copy->refused = q->refused;
		copy->result.ran = !q->refused;
		set_text(&copy->result, "[interrupted]", true);
		q->ev.kind = LOOP_EV_OUTPUT; /* what is left of the old event says nothing */
		return;
	}
	sim_problem(s, "cancel of '%s', which does not run", tool_use_id);
}

static void answer_withdrawn(void *ctx)
{
	struct sim *s = ctx;

	struct witness *w = s->w;

	w->withdrawn_runs = w->nran;
	for (size_t i = w->accepted_runs; i < w->nran; i++)
		w->ran[i].withdrawn = true; /* no line of it need have been shown */
}

static bool tool_may_clear(void *ctx, const char *name)
{
	(void)ctx;
	return !sim_begins(name, "UnsafeB");
}

static void tool_forget(void *ctx, const char *tool_use_id)
{
	witness_forget(ctx, tool_use_id);
}

/* Three files are known. */
static int recent_file(void *ctx, size_t i, size_t max, struct buf *out, struct error *e)
{
	struct sim *s = ctx;

	(void)e;
	if (i >= 3 || max == 0)
		return 0;
	buf_addf(out, "file %zu of seed %llu", i, (unsigned long long)s->seed);
	return 1;
}

static void files_attached(void *ctx, size_t n)
{
	if (n > 3)
		sim_problem(ctx, "%zu files are said to be attached", n);
}

static int tool_shorten(void *ctx, const char *tool_use_id, struct tool_result *res, size_t allowed)
{
	char note[128];
	int n = snprintf(note, sizeof note, "[%zu bytes in all: /run/%s]", res->text_len, tool_use_id);
	size_t room = allowed > (size_t)n ? allowed - (size_t)n : 0;

	if (res->content_json) {
		free(res->content_json);
		res->content_json = NULL;
		set_text(res, "[no room for the image]", false);
		witness_cut(ctx, tool_use_id);
		return 0;
	}
	if (res->text_len <= allowed)
		return 0;
	witness_cut(ctx, tool_use_id);
	memmove(res->text + room, note, (size_t)n < allowed ? (size_t)n : allowed);
	res->text_len = allowed;
	res->text[allowed] = '\0';
	if (!res->file)
		res->file = strdup("/run/file");
	return 0;
}

void sim_tool_deps(struct loop_deps *deps)
{
	deps->tool_class = tool_class;
	deps->tool_start = tool_start;
	deps->tool_cancel = tool_cancel;
	deps->answer_withdrawn = answer_withdrawn;
	deps->output_full = output_full;
	deps->tool_may_clear = tool_may_clear;
	deps->tool_forget = tool_forget;
	deps->recent_file = recent_file;
	deps->files_attached = files_attached;
	deps->tool_shorten = tool_shorten;
}
