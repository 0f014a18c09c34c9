/*
 * Made-up hooks. What they say is a line: [after MS] WORD [TEXT], with one of the words
 *   none (there is nobody to ask)   pass   block   end (continue:false)   hang (no answer)   gone (they cannot be
 * asked)
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#define SLOW "after 30000 "

static const char *const random_lines[SIM_HOOK_SORTS] = {
	"none", "pass", "block do it better", "block  ", "end enough", SLOW "pass", SLOW "block not yet",
	"hang", "gone",
};

/* How often each comes; in most runs there is no hook. */
static const unsigned random_moods[][SIM_HOOK_SORTS] = {
	{ 1 }, { 1 }, { 1 }, { 0, 8, 8, 1, 1, 2, 2, 1 }, { 0, 0, 1 }, { 0, 2, 8, 0, 1 }, { 1, 1, 1, 1, 1, 1, 1, 1, 1 },
};

void sim_draw_hooks(struct sim *s)
{
	static const int most[] = { 10, 1, 2, 3, 0 };

	s->moods.hooks = random_moods[sim_draw(s, LENGTH(random_moods))];
	s->cfg.max_stop_blocks = most[sim_draw(s, LENGTH(most))];
}

/* Will something come that ends a wait? */
static bool ends(const struct sim *s)
{
	return s->cfg.deadline != CLOCK_NEVER || s->signal_at > s->clock || s->second_signal_at > s->clock;
}

static const char *next_line(struct sim *s)
{
	if (s->hooks) {
		const char *line = s->hooks[s->next_hook];
		s->next_hook += s->hooks[s->next_hook + 1] != NULL;
		return line;
	}
	if (!s->moods.hooks)
		return "none";
	const char *line = random_lines[sim_pick(s, s->moods.hooks, SIM_HOOK_SORTS)];
	if (!strcmp(line, "hang") && !ends(s))
		line = SLOW "pass";
	return s->calm && !strcmp(line, "gone") ? "pass" : line;
}

static const char *const kinds[] = { [HOOK_STOP] = "Stop", [HOOK_STOP_FAILURE] = "StopFailure" };

static void answer(struct sim *s, const struct hook_call *call, int64_t when, const char *line)
{
	static const char *const words[] = {
		[HOOK_SAYS_PASS] = "pass", [HOOK_SAYS_BLOCK] = "block", [HOOK_SAYS_END] = "end"
	};
	size_t n = strcspn(line, " ");

	for (size_t i = 0; i < LENGTH(words); i++) {
		if (strlen(words[i]) != n || strncmp(line, words[i], n) != 0)
			continue;
		struct sim_event *q = sim_at(s, when, LOOP_EV_HOOK);
		q->ev.hook = (struct hook_answer){ .kind = call->kind, .verdict = (enum hook_verdict)i };
		if (line[n])
			q->ev.hook.text = sim_text(q, line + n + 1);
		return;
	}
	if (strcmp(line, "hang") != 0)
		sim_problem(s, "script of hooks: what is '%s'?", line);
}

static int hook_start(void *ctx, const struct hook_call *call, struct error *e)
{
	struct sim *s = ctx;
	char *line;
	int64_t after;

	sim_check(s, &(struct step){ .stage = AT_HOOK, .hook = call });
	witness_hook(s, call);
	const char *said = next_line(s);
	if (!strcmp(said, "none")) {
		witness_hook_answer(s, &(struct hook_answer){ .kind = call->kind });
		return 0;
	}
	s->hook_runs++;
	sim_add(s, "hook %s%s '%.*s'%s%s%s%s", kinds[call->kind], call->stop_hook_active ? " active" : "",
	        (int)(call->answer_len < 300 ? call->answer_len : 300), call->answer ? call->answer : "",
	        call->category ? " " : "", call->category ? call->category : "", call->error ? ": " : "",
	        call->error ? call->error : "");
	if (!strcmp(said, "gone") || (s->supervisor_lost_at && s->clock >= s->supervisor_lost_at))
		return error_set(e, ERR_GONE, "the supervisor is gone");
	after = sim_begins(said, "after ") ? strtoll(said + 6, &line, 10) : 10;
	answer(s, call, s->clock + after, sim_begins(said, "after ") ? line + 1 : said);
	s->running_hook = true;
	return 1;
}

static void hook_cancel(void *ctx, const struct hook_call *call)
{
	struct sim *s = ctx;

	if (!s->running_hook)
		sim_problem(s, "cancel of %s, which does not run", kinds[call->kind]);
	s->running_hook = false;
	sim_add(s, "hook %s cancelled", kinds[call->kind]);
	for (struct sim_event *q = s->queue; q; q = q->next)
		if (q->ev.kind == LOOP_EV_HOOK)
			q->ev.kind = LOOP_EV_OUTPUT; /* what is left of it says nothing */
}

void sim_hook_deps(struct loop_deps *deps)
{
	deps->hook_start = hook_start;
	deps->hook_cancel = hook_cancel;
}
