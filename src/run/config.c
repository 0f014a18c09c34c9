/* The job as the rooms take it: models and marks, tools, the loop. */
#include "base/array.h"
#include "run/replay.h"
#include "run/world.h"

#include <string.h>

#include "model/catalog.h"

enum permission_mode world_permission_mode(const struct job *job)
{
	enum permission_mode mode = MODE_DEFAULT;

	permission_mode_find(job->permission_mode, &mode);
	return mode;
}

/* What is known of a model, the user's price in it: that of the job's model wins over the catalog, with the others it
 * is for want of one. NULL: no memory. */
static const struct catalog_row *row_of(struct world *w, const char *model)
{
	const struct job_price *p = &w->job->price;
	const struct catalog_row *known = catalog_or_default(model);

	if (p->input < 0 || (known->price.input >= 0 && strcmp(model, w->job->model) != 0))
		return known;
	struct catalog_row *row = arena_alloc(&w->arena, sizeof *row);
	if (!row)
		return NULL;
	*row = *known;
	row->price = (struct catalog_price){ p->input, p->cache_write, p->cache_write, p->cache_read, p->output };
	row->step_above = 0;
	row->flags |= CAT_OWN_PRICE;
	return row;
}

int64_t world_cost(const struct world *w, const char *model, const struct usage *u)
{
	for (size_t i = 0; i < w->nmodels; i++)
		if (!strcmp(w->models[i].name, model))
			return catalog_cost(w->models[i].row, u);
	return catalog_cost(catalog_or_default(model), u);
}

static int check_price(const char *model, const struct catalog_row *row, struct error *e)
{
	const struct usage one = { .input = 1 };

	if (!model || catalog_cost(row, &one) >= 0)
		return 0;
	return error_set(e, ERR_INPUT, "limits.max_cost_usd: the price of model '%s' is not known: give model.price",
	                 model);
}

/* A cost budget that nothing can be counted against would be none. */
static int check_prices(const struct world *w, struct error *e)
{
	const struct job *job = w->job;

	if (!job->max_cost_nano_usd)
		return 0;
	for (size_t i = 0; i < w->nmodels; i++)
		if (check_price(w->models[i].name, w->models[i].row, e))
			return -1;
	return check_price(job->compact_model, w->compact_row, e) || check_price(job->summary_model, w->summary_row, e)
	               ? -1
	               : 0;
}

static struct context_spec context_of(const struct job *job)
{
	return (struct context_spec){
		.window = job->context_window,
		.microcompact = job->microcompact_at,
		.collapse = job->collapse_at,
		.snip = job->snip_at,
		.autocompact = job->autocompact ? job->autocompact_at : (struct job_mark){ .kind = MARK_OFF },
		.blocking = job->blocking_at,
		.microcompact_keep = (size_t)job->microcompact_keep,
	};
}

int world_marks(const struct world *w, const struct loop_model *model, struct context_marks *out, struct error *e)
{
	const struct context_spec spec = context_of(w->job);
	int64_t answer = w->job->max_output_tokens;

	if (!answer)
		answer = catalog_default_max_output(model->row);
	return context_marks(&spec, model->row->window, answer, model->row->flags & CAT_DENSE_TOKENS ? 3 : 4, out, e);
}

static int check_marks(const struct world *w, struct error *e)
{
	struct context_marks marks;

	for (size_t i = 0; i < w->nmodels; i++)
		if (world_marks(w, &w->models[i], &marks, e))
			return w->nmodels > 1 ? error_prefix(e, "%s", w->models[i].name) : -1;
	return 0;
}

int world_models(struct world *w, struct error *e)
{
	const struct job *job = w->job;
	size_t n = array_count(job->fallback);

	w->models = arena_alloc(&w->arena, (n + 1) * sizeof *w->models);
	if (!w->models)
		return error_nomem(e);
	w->nmodels = n + 1;
	for (size_t i = 0; i <= n; i++) {
		const char *name = i ? job->fallback[i - 1] : job->model;
		w->models[i] = (struct loop_model){ name, row_of(w, name) };
		if (!w->models[i].row)
			return error_nomem(e);
	}
	w->compact_row = job->compact_model ? row_of(w, job->compact_model) : NULL;
	w->summary_row = job->summary_model ? row_of(w, job->summary_model) : NULL;
	if ((job->compact_model && !w->compact_row) || (job->summary_model && !w->summary_row))
		return error_nomem(e);
	return check_prices(w, e) || check_marks(w, e) ? -1 : 0;
}

void world_fill_toolbox(const struct world *w, struct toolbox_config *cfg)
{
	const struct job *job = w->job;

	*cfg = (struct toolbox_config){
		.names = job->tools,
		.names_explicit = job->tools_explicit,
		.external = job->external,
		.nexternal = job->nexternal,
		.workspace = w->workspace,
		.add_dirs = w->add_dirs,
		.spelled = w->spelled,
		.permissions = w->permissions,
		.offer_all = strcmp(job->on_denied, "fail") == 0,
	};
}

static void fill_resumed(struct world *w, struct loop_config *c)
{
	const struct message *last = w->history.n ? w->history.v[w->history.n - 1] : NULL;

	c->source = w->resumes ? "resume" : "startup";
	c->goes_on = w->goes_on;
	c->told_first = last ? last->n - (w->goes_on ? 0 : 1) : 0; /* the task is one block */
	c->resume_state = w->record.loop_state;
	c->resume_ended = w->record.ended;
	c->resume_answer = w->goes_on && w->record.answer.stop_reason ? &w->record.answer : NULL;
	c->resume_batch = w->resumes && w->record.batch.open ? &w->record.batch : NULL;
	c->resume_overloads = w->resumes && w->record.overloads_told ? &w->record.overloads : NULL;
	c->resume_summaries = (const char *const *)w->record.summaries;
	c->resume_talk = w->resumes ? &w->talk : NULL;
	c->resume_paid = w->resumes ? &w->record.totals : NULL;
	c->resume_moved = w->resumes && world_record_moved(w, &c->init.audit);
}

void world_fill_loop(struct world *w, struct loop_config *c)
{
	const struct job *job = w->job;

	*c = (struct loop_config){
		.model = w->models[0].name,
		.row = w->models[0].row,
		.fallbacks = w->models + 1,
		.nfallbacks = w->nmodels - 1,
		.context = context_of(job),
		.compact_model = job->compact_model,
		.summary_model = job->summary_model,
		.compact_row = w->compact_row,
		.summary_row = w->summary_row,
		.system = world_system_prompt(w),
		.tools_json = toolbox_json(w->toolbox),
		.thinking_json = job->thinking_json,
		.effort = job->effort,
		.extra_json = job->extra_json,
		.max_output_tokens = job->max_output_tokens,
		.max_turns = job->max_turns,
		.token_budget = job->token_budget,
		.max_cost_nano_usd = job->max_cost_nano_usd,
		.max_requests = job->max_requests,
		.max_tool_calls = job->max_tool_calls,
		.started = w->started,
		.deadline = w->deadline,
		.wall_time_ms = job->wall_time_ms,
		.retry = { (int)job->max_retries, job->max_retry_wait_ms },
		.watchdog = { job->connect_ms, job->first_byte_ms, job->idle_ms, job->progress_ms },
		.tool_concurrency = (size_t)job->tool_concurrency,
		.max_stop_blocks = (int)job->max_stop_blocks,
		.max_repairs = (int)job->verify.max_repairs,
		.token_target = job->token_target,
		.denied_ends = strcmp(job->on_denied, "fail") == 0,
		.calls_wait = !strcmp(job->tool_executor, "batch"),
		.journal = w->keeps_events,
	};
	c->init = (struct event_init){
		.started_wall_ms = w->started_wall,
		.cwd = w->workspace,
		.model = job->model,
		.provider = job->provider,
		.permission_mode = permission_mode_name(permissions_mode(w->permissions)),
		.api_key_source = w->key_source,
		.tools = toolbox_offered(w->toolbox),
		.tools_withheld = toolbox_withheld(w->toolbox),
		.attached = world_told(w),
		.sandbox = { sandbox_mode_name(sandbox_mode(w->sandbox)), w->job->sandbox_network, w->enforced,
		             w->missing, sandbox_abi(w->sandbox), w->confined },
		.audit = world_audit(w, c->system, c->tools_json),
		.environment = world_environment(w),
	};
	fill_resumed(w, c);
	world_fill_replayed(w, c);
}
