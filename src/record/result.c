/* The result: the last line of a run, and the whole output of --output-format json. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "record/line.h"
#include "record/resume.h"

#define NANO INT64_C(1000000000)

/* Nano-USD as an exact decimal: no rounding, no locale, no trailing zeros. */
static void write_usd(struct json_out *o, int64_t nano)
{
	char text[32];
	uint64_t abs = nano < 0 ? (uint64_t)0 - (uint64_t)nano : (uint64_t)nano;
	int n = snprintf(text, sizeof text, "%s%" PRIu64 ".%09" PRIu64, nano < 0 ? "-" : "", abs / NANO, abs % NANO);

	while (n > 0 && text[n - 1] == '0')
		n--;
	if (n > 0 && text[n - 1] == '.')
		n--;
	jo_raw(o, text, (size_t)n);
}

static void key_usd(struct json_out *o, const char *key, int64_t nano)
{
	jo_key(o, key);
	write_usd(o, nano);
}

/* A sum of known prices, or null. */
static void key_cost(struct json_out *o, const char *key, int64_t nano)
{
	if (nano < 0)
		jo_knull(o, key);
	else
		key_usd(o, key, nano);
}

static size_t list_end(const struct line *l, size_t n)
{
	return l->bare && n > BARE_LIST_MAX ? BARE_LIST_MAX : n;
}

static void key_strings(struct line *l, const char *key, const char *const *list, size_t n)
{
	jo_key(&l->out, key);
	jo_array(&l->out);
	for (size_t i = 0; i < list_end(l, n); i++)
		jo_str(&l->out, list[i]);
	jo_end(&l->out);
}

static const char *cost_basis(bool known, bool own)
{
	return !known ? "unknown" : own ? "managed" : "list";
}

static void write_cost(struct json_out *o, const struct event_result *v)
{
	bool own = false;

	for (size_t i = 0; i < v->nmodels; i++)
		own |= v->models[i].own_price;
	key_cost(o, "total_cost_usd", v->cost_nano_usd);
	jo_kstr(o, "costBasis", cost_basis(v->cost_nano_usd >= 0, own));
	if (v->cost_lower_bound)
		jo_kbool(o, "cost_lower_bound", true);
}

static void write_models(struct json_out *o, const struct event_result *v)
{
	jo_key(o, "modelUsage");
	jo_object(o);
	for (size_t i = 0; i < v->nmodels; i++) {
		const struct model_usage *m = &v->models[i];
		bool priced = m->cost_nano_usd >= 0;

		jo_key(o, m->model);
		jo_object(o);
		jo_kint(o, "inputTokens", told(m->usage.input));
		jo_kint(o, "outputTokens", told(m->usage.output));
		jo_kint(o, "cacheReadInputTokens", told(m->usage.cache_read));
		jo_kint(o, "cacheCreationInputTokens", told(m->usage.cache_creation));
		jo_kint(o, "webSearchRequests", told(m->usage.web_searches));
		key_usd(o, "costUSD", priced ? m->cost_nano_usd : 0);
		jo_kstr(o, "costBasis", cost_basis(priced, m->own_price));
		jo_kint(o, "contextWindow", m->window);
		jo_kint(o, "maxOutputTokens", m->max_output);
		jo_end(o);
	}
	jo_end(o);
}

static void write_transitions(struct json_out *o, const int *counts)
{
	jo_key(o, "transitions");
	jo_object(o);
	for (int r = CONT_NONE + 1; counts && r < CONT_COUNT; r++) {
		if (counts[r])
			jo_kint(o, continue_row((enum continue_reason)r)->name, counts[r]);
	}
	jo_end(o);
}

static void key_amount(struct json_out *o, const char *key, int64_t n, bool is_usd)
{
	if (is_usd)
		key_usd(o, key, n);
	else
		jo_kint(o, key, n);
}

static void write_limits(struct json_out *o, const struct event_result *v)
{
	jo_key(o, "limits");
	jo_object(o);
	for (size_t i = 0; i < v->nlimits; i++) {
		const struct limit_line *limit = &v->limits[i];

		jo_key(o, limit->limit);
		jo_object(o);
		key_amount(o, "limit", limit->max, limit->is_usd);
		key_amount(o, "used", limit->used, limit->is_usd);
		key_amount(o, "left", limit->left, limit->is_usd);
		jo_end(o);
	}
	jo_end(o);
}

static void write_verification(struct json_out *o, const struct verification *v)
{
	if (!v->declared)
		return;
	jo_key(o, "verification");
	jo_object(o);
	jo_kint(o, "runs", v->runs);
	jo_kint(o, "failures", v->failures);
	jo_kbool(o, "passed", v->passed);
	jo_end(o);
}

static void write_denials(struct line *l, const struct event_result *v)
{
	struct json_out *o = &l->out;

	jo_key(o, "permission_denials");
	jo_array(o);
	for (size_t i = 0; i < list_end(l, v->ndenials); i++) {
		const struct denial *d = &v->denials[i];
		const char *input = d->tool_input && !l->bare ? d->tool_input : "{}";

		jo_object(o);
		jo_kstr(o, "tool_name", d->tool_name ? d->tool_name : "");
		jo_kstr(o, "tool_use_id", d->tool_use_id ? d->tool_use_id : "");
		jo_key(o, "tool_input");
		jo_raw(o, input, strlen(input));
		jo_end(o);
	}
	jo_end(o);
}

static void write_audit(struct json_out *o, const struct event_result *v)
{
	if (!v->events_sha256 && !v->audit.job && !v->audit.system && !v->audit.tools)
		return;
	jo_key(o, "audit");
	jo_object(o);
	line_audit(o, &v->audit);
	if (v->events_sha256) {
		jo_kstr(o, "events_sha256", v->events_sha256);
		jo_kint(o, "events_bytes", v->events_bytes);
	}
	jo_end(o);
}

static int64_t session_cost(const struct session_totals *t)
{
	int64_t sum = 0;

	for (size_t i = 0; i < t->nmodels; i++) {
		if (t->models[i].cost_nano_usd < 0 || sum > INT64_MAX - t->models[i].cost_nano_usd)
			return -1;
		sum += t->models[i].cost_nano_usd;
	}
	return sum;
}

void line_totals(struct json_out *o, const struct session_totals *t)
{
	if (!t)
		return;
	jo_key(o, "session_totals");
	jo_object(o);
	jo_kint(o, "runs", t->runs);
	jo_kint(o, "turns", t->turns);
	jo_kint(o, "requests", t->requests);
	jo_kint(o, "tool_calls", t->tool_calls);
	jo_kint(o, "duration_ms", t->duration_ms);
	key_cost(o, "total_cost_usd", session_cost(t));
	if (t->cost_lower_bound)
		jo_kbool(o, "cost_lower_bound", true);
	jo_key(o, "usage");
	line_usage(o, &t->accepted);
	jo_key(o, "models");
	jo_object(o);
	for (size_t i = 0; i < t->nmodels; i++) {
		jo_key(o, t->models[i].model);
		jo_object(o);
		jo_key(o, "usage");
		line_usage(o, &t->models[i].usage);
		key_cost(o, "costUSD", t->models[i].cost_nano_usd);
		jo_end(o);
	}
	jo_end(o);
	jo_end(o);
}

static void key_path(struct json_out *o, const char *key, const char *path)
{
	if (path)
		jo_kstr(o, key, path);
}

static void write_workspace(struct json_out *o, const struct event_workspace *w)
{
	if (!w)
		return;
	jo_key(o, "workspace");
	jo_object(o);
	if (w->told) {
		jo_kint(o, "changed", (int64_t)w->changed);
		jo_kint(o, "added", (int64_t)w->added);
		jo_kint(o, "deleted", (int64_t)w->deleted);
	}
	key_path(o, "saved", w->saved);
	key_path(o, "patch", w->patch);
	if (w->left_out)
		jo_kint(o, "patch_left_out", (int64_t)w->left_out);
	if (w->transaction)
		jo_kbool(o, "committed", w->committed);
	key_path(o, "changes", w->changes);
	key_path(o, "copy", w->copy);
	key_path(o, "before", w->before);
	jo_end(o);
}

void line_write_result(struct line *l)
{
	const struct event_result *v = &l->ev->u.result;
	const struct terminal_row *row = terminal_row(v->reason);
	struct json_out *o = &l->out;

	if (!row)
		row = terminal_row(TERM_INTERNAL_ERROR);
	jo_kstr(o, "subtype", row->subtype);
	jo_kbool(o, "is_error", row->exit_code != 0);
	/* Before any text of others, so that line_find_string meets this one first. */
	if (v->result) {
		jo_key(o, "result");
		jo_strn(o, v->result, v->result_len);
	}
	if (row->exit_code != 0)
		key_strings(l, "errors", v->errors, v->nerrors);
	jo_kstr(o, "terminal_reason", row->name);
	jo_kint(o, "exit_code", v->exit_code);
	jo_kbool(o, "transient", v->transient);
	jo_kstr(o, "stop_reason", v->stop_reason);
	if (v->startup_failure_reason)
		jo_kstr(o, "startup_failure_reason", v->startup_failure_reason);
	if (v->api_error_status)
		jo_kint(o, "api_error_status", v->api_error_status);
	if (v->retry_after_ms >= 0)
		jo_kint(o, "retry_after_ms", v->retry_after_ms);
	jo_kint(o, "duration_ms", v->duration_ms);
	jo_kint(o, "duration_api_ms", v->duration_api_ms);
	jo_kint(o, "num_turns", v->num_turns);
	jo_kint(o, "turns", v->num_turns);
	write_transitions(o, v->transitions);
	write_cost(o, v);
	jo_key(o, "usage");
	line_usage(o, &v->usage);
	write_models(o, v);
	write_limits(o, v);
	write_verification(o, &v->verification);
	write_denials(l, v);
	key_strings(l, "side_effects", v->side_effects, v->nside_effects);
	if (v->run_dir)
		jo_kstr(o, "run_dir", v->run_dir);
	write_workspace(o, v->workspace);
	write_audit(o, v);
	line_totals(o, v->totals);
}
