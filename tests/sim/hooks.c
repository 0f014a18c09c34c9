/*
 * Made-up hooks. What they say is a line:
 *   [EVENT] [after MS] WORD [TEXT] [| context TEXT] [| first TEXT]
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

/* How often each comes; in most runs there is no hook. Of the end of the run's hooks, of those that may end it early,
 * and of those whose word has little weight. */
static const unsigned none[SIM_HOOK_SORTS] = { 1 };
static const unsigned stop_moods[][SIM_HOOK_SORTS] = {
	{ 0, 8, 8, 1, 1, 2, 2, 1 }, { 0, 0, 1 }, { 0, 2, 8, 0, 1 }, { 1, 1, 1, 1, 1, 1, 1, 1, 1 }, { 0, 1 },
};
static const unsigned early_moods[][SIM_HOOK_SORTS] = {
	{ 0, 1 }, { 1, 20, 1, 1, 1, 2, 1, 1 }, { 0, 9, 0, 0, 0, 1 }, { 10, 10, 1, 1, 1, 1, 1, 1, 1 }, { 0, 20, 1 },
};
static const unsigned late_moods[][SIM_HOOK_SORTS] = {
	{ 0, 1 }, { 1, 4, 4, 1, 1, 1, 1, 1 }, { 0, 0, 1 }, { 0, 0, 0, 0, 1 }, { 8, 8, 1, 1, 1, 1, 1, 1, 1 },
};

struct kind_of_hook {
	enum hook_event kind;
	const unsigned (*moods)[SIM_HOOK_SORTS];
	unsigned one_in; /* so often somebody is there */
	bool context;    /* what is said for the model is heard */
};
#define MOODS 5

static const struct kind_of_hook asked[] = {
	{ HOOK_STOP, stop_moods, 2, true },
	{ HOOK_STOP_FAILURE, late_moods, 3, false },
	{ HOOK_SESSION_START, early_moods, 5, true },
	{ HOOK_USER_PROMPT_SUBMIT, early_moods, 5, true },
	{ HOOK_POST_TOOL_BATCH, early_moods, 5, true },
	{ HOOK_PRE_COMPACT, late_moods, 5, false },
	{ HOOK_POST_COMPACT, late_moods, 5, false },
	{ HOOK_SESSION_END, late_moods, 5, false },
};

static const struct kind_of_hook *row_of(enum hook_event kind)
{
	for (size_t i = 0; i < LENGTH(asked); i++)
		if (asked[i].kind == kind)
			return &asked[i];
	return NULL;
}

void sim_draw_hooks(struct sim *s)
{
	static const int most[] = { 10, 1, 2, 3, 0 };
	static const int repairs[] = { 3, 1, 2, 0, 20 };
	static const int failures[] = { 0, 1, 2, 5, 1000000 };

	s->cfg.source = "startup";
	s->cfg.max_stop_blocks = most[sim_draw(s, LENGTH(most))];
	s->cfg.max_repairs = repairs[sim_draw(s, LENGTH(repairs))];
	for (size_t i = 0; i < LENGTH(asked); i++)
		if (sim_one_in(s, asked[i].one_in))
			s->moods.hooks[asked[i].kind] = asked[i].moods[sim_draw(s, MOODS)];
	if (!sim_one_in(s, 4))
		return;
	s->moods.hooks[HOOK_VERIFY] = none;
	s->moods.verify_fails = failures[sim_draw(s, LENGTH(failures))];
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
	if ((kind != HOOK_STOP && kind != HOOK_STOP_FAILURE) || isupper((unsigned char)*line))
		return false;
	*said = line;
	return true;
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

/* The verification fails some times, or for ever. */
static const char *verify_line(struct sim *s, const struct hook_call *call)
{
	switch (sim_draw(s, 12)) {
	case 9:
		return SLOW "pass";
	case 10:
		return ends(s) ? "hang" : "pass";
	case 11:
		return s->calm || sim_draw(s, 8) ? "pass" : "gone";
	default:
		return call->attempt < s->moods.verify_fails ? "block it does not build" : "pass";
	}
}

static const char *drawn_line(struct sim *s, const struct hook_call *call)
{
	const unsigned *moods = s->moods.hooks[call->kind];

	if (!moods)
		return "none";
	if (call->kind == HOOK_VERIFY)
		return verify_line(s, call);
	const char *line = random_lines[sim_pick(s, moods, SIM_HOOK_SORTS)];
	if (!strcmp(line, "hang") && !ends(s) && call->kind != HOOK_SESSION_END)
		line = SLOW "pass";
	return s->calm && !strcmp(line, "gone") ? "pass" : line;
}

/* The line that is played: with what is said beside the verdict. */
static void next_line(struct sim *s, const struct hook_call *call, char *out, size_t max)
{
	if (s->hooks) {
		snprintf(out, max, "%s", next_scripted(s, call->kind));
		return;
	}
	const char *line = drawn_line(s, call);
	const struct kind_of_hook *row = row_of(call->kind);
	size_t n = (size_t)snprintf(out, max, "%s", line);
	char mark[32];

	if (!strstr(line, "pass") && !strstr(line, "block") && !strstr(line, "end"))
		return;
	if (strstr(line, "better") || strstr(line, "yet") || strstr(line, "build"))
		n += (size_t)snprintf(out + n, max - n, " %s", sim_mark(s, mark, sizeof mark));
	if (row && row->context && sim_one_in(s, call->kind == HOOK_STOP ? 12 : 2))
		n += (size_t)snprintf(out + n, max - n, " | context %s", sim_mark(s, mark, sizeof mark));
	if (call->kind == HOOK_SESSION_START && strcmp(call->source, "compact") != 0 && sim_one_in(s, 3))
		snprintf(out + n, max - n, " | first %s", sim_mark(s, mark, sizeof mark));
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

static void tell_call(struct sim *s, const struct hook_call *call, const char *said)
{
	const char *const about[HOOK_EVENTS] = {
		[HOOK_SESSION_START] = call->source,       [HOOK_USER_PROMPT_SUBMIT] = call->prompt,
		[HOOK_POST_TOOL_BATCH] = call->tool_calls, [HOOK_PRE_COMPACT] = call->trigger,
		[HOOK_POST_COMPACT] = call->summary,       [HOOK_SESSION_END] = call->reason,
	};
	const char *text = about[call->kind] ? about[call->kind] : call->answer;
	int n = !text ? 0 : about[call->kind] || call->answer_len >= 300 ? 300 : (int)call->answer_len;

	sim_add(s, "hook %s%s '%.*s'%s%s%s%s -> %s", hook_event_name(call->kind),
	        call->stop_hook_active ? " active" : "", n, text ? text : "", call->category ? " " : "",
	        call->category ? call->category : "", call->error ? ": " : "", call->error ? call->error : "", said);
}

bool sim_has_hook(struct sim *s, enum hook_event kind)
{
	size_t was = s->next_hook[kind == HOOK_STOP_FAILURE ? HOOK_STOP : kind];

	if (s->hooks) {
		bool any = strcmp(next_scripted(s, kind), "none") != 0;
		s->next_hook[kind == HOOK_STOP_FAILURE ? HOOK_STOP : kind] = was; /* a look takes no line */
		return any;
	}
	return s->moods.hooks[kind] != NULL;
}

static bool hook_any(void *ctx, enum hook_event kind)
{
	return sim_has_hook(ctx, kind);
}

static int hook_start(void *ctx, const struct hook_call *call, struct error *e)
{
	struct sim *s = ctx;
	char said[512], *line;
	int64_t after;

	sim_check(s, &(struct step){ .stage = AT_HOOK, .hook = call });
	witness_hook(s, call);
	next_line(s, call, said, sizeof said);
	if (!strcmp(said, "none")) {
		witness_hook_answer(s, &(struct hook_answer){ .kind = call->kind });
		return 0;
	}
	s->hook_runs++;
	tell_call(s, call, said);
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
