/*
 * Made-up hooks. What they say is a line:
 *   [EVENT] [after MS] WORD [TEXT] [| context TEXT] [| first TEXT] [| hide]
 * EVENT is the name of the event, or Verify; a line without one is for Stop and StopFailure. Each event takes its lines
 * in their order, and the last one again and again; without a line there is nobody to ask. WORD is one of
 *   none (there is nobody to ask)   pass   block   end (continue:false)   hang (no answer)   gone (they cannot be
 * asked)
 */
#include "world.h"

#include <ctype.h>
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

/* Is the line of the script for that event? Then *said is what they say. */
static bool is_for(const char *line, enum hook_event kind, const char **said)
{
	const char *name = hook_event_name(kind);
	size_t n = strlen(name);

	if (!strncmp(line, name, n) && line[n] == ' ') {
		*said = line + n + 1;
		return true;
	}
	*said = line;
	return (kind == HOOK_STOP || kind == HOOK_STOP_FAILURE) && !isupper((unsigned char)*line);
}

static const char *next_scripted(struct sim *s, enum hook_event kind)
{
	size_t *at = &s->next_hook[kind == HOOK_STOP_FAILURE ? HOOK_STOP : kind];
	const char *said = NULL, *further;

	for (size_t i = *at; s->hooks[i]; i++) {
		if (!said && is_for(s->hooks[i], kind, &said)) {
			*at = i;
		} else if (said && is_for(s->hooks[i], kind, &further)) {
			*at = i;
			break;
		}
	}
	return said ? said : "none";
}

static const char *next_line(struct sim *s, enum hook_event kind)
{
	if (s->hooks)
		return next_scripted(s, kind);
	if (!s->moods.hooks || (kind != HOOK_STOP && kind != HOOK_STOP_FAILURE))
		return "none";
	const char *line = random_lines[sim_pick(s, s->moods.hooks, SIM_HOOK_SORTS)];
	if (!strcmp(line, "hang") && !ends(s))
		line = SLOW "pass";
	return s->calm && !strcmp(line, "gone") ? "pass" : line;
}

/* One part of a line becomes one member of the answer. */
static bool take_part(struct sim_event *q, const char *part)
{
	static const char *const words[] = {
		[HOOK_SAYS_PASS] = "pass", [HOOK_SAYS_BLOCK] = "block", [HOOK_SAYS_END] = "end"
	};
	struct hook_answer *a = &q->ev.hook;
	size_t n = strcspn(part, " ");
	const char *text = part[n] ? sim_text(q, part + n + 1) : NULL;

	for (size_t i = 0; i < LENGTH(words); i++)
		if (strlen(words[i]) == n && !strncmp(part, words[i], n)) {
			a->verdict = (enum hook_verdict)i;
			a->text = text;
			return true;
		}
	if (sim_begins(part, "context "))
		a->context = text;
	else if (sim_begins(part, "first "))
		a->first_message = text;
	else if (!strcmp(part, "hide"))
		a->hide_prompt = true;
	else
		return false;
	return true;
}

static void answer(struct sim *s, const struct hook_call *call, int64_t when, const char *line)
{
	char copy[1024], *at_part = copy;

	if (!strcmp(line, "hang"))
		return;
	struct sim_event *q = sim_at(s, when, LOOP_EV_HOOK);
	q->ev.hook = (struct hook_answer){ .kind = call->kind };
	snprintf(copy, sizeof copy, "%s", line);
	while (at_part) {
		char *sep = strstr(at_part, " | ");
		if (sep)
			*sep = '\0';
		if (!take_part(q, at_part))
			sim_problem(s, "script of hooks: what is '%s'?", at_part);
		at_part = sep ? sep + 3 : NULL;
	}
}

static void tell_call(struct sim *s, const struct hook_call *call)
{
	const char *const about[HOOK_EVENTS] = {
		[HOOK_SESSION_START] = call->source,       [HOOK_USER_PROMPT_SUBMIT] = call->prompt,
		[HOOK_POST_TOOL_BATCH] = call->tool_calls, [HOOK_PRE_COMPACT] = call->trigger,
		[HOOK_POST_COMPACT] = call->summary,       [HOOK_SESSION_END] = call->reason,
	};
	const char *text = about[call->kind] ? about[call->kind] : call->answer;
	int n = !text ? 0 : about[call->kind] || call->answer_len >= 300 ? 300 : (int)call->answer_len;

	sim_add(s, "hook %s%s '%.*s'%s%s%s%s", hook_event_name(call->kind), call->stop_hook_active ? " active" : "", n,
	        text ? text : "", call->category ? " " : "", call->category ? call->category : "",
	        call->error ? ": " : "", call->error ? call->error : "");
}

static bool hook_any(void *ctx, enum hook_event kind)
{
	(void)ctx, (void)kind;
	return false;
}

static int hook_start(void *ctx, const struct hook_call *call, struct error *e)
{
	struct sim *s = ctx;
	char *line;
	int64_t after;

	sim_check(s, &(struct step){ .stage = AT_HOOK, .hook = call });
	witness_hook(s, call);
	const char *said = next_line(s, call->kind);
	if (!strcmp(said, "none")) {
		witness_hook_answer(s, &(struct hook_answer){ .kind = call->kind });
		return 0;
	}
	s->hook_runs++;
	tell_call(s, call);
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
		sim_problem(s, "cancel of %s, which does not run", hook_event_name(call->kind));
	s->running_hook = false;
	sim_add(s, "hook %s cancelled", hook_event_name(call->kind));
	for (struct sim_event *q = s->queue; q; q = q->next)
		if (q->ev.kind == LOOP_EV_HOOK)
			q->ev.kind = LOOP_EV_OUTPUT; /* what is left of it says nothing */
}

void sim_hook_deps(struct loop_deps *deps)
{
	deps->hook_any = hook_any;
	deps->hook_start = hook_start;
	deps->hook_cancel = hook_cancel;
}
