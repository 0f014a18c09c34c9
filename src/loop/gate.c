#include "loop/state.h"

/* A hard limit: what is used and what is allowed. Turns stand apart, they end a run differently; tool calls too: their
 * limit forbids more calls (tools.c), not the answer that follows the last allowed one. */
struct limit {
	const char *name;
	int64_t used, max;
};

enum { TOKENS, COST, REQUESTS, LIMITS };

static void fill_limits(const struct loop *l, struct limit limits[LIMITS])
{
	const struct loop_config *c = l->cfg;

	limits[TOKENS] = (struct limit){ "token budget", account_tokens(l), c->token_budget };
	limits[COST] = (struct limit){ "cost budget", account_cost(l), c->max_cost_nano_usd };
	limits[REQUESTS] = (struct limit){ "request limit", l->account.requests, c->max_requests };
}

bool loop_has_room(const struct loop *l, int64_t tokens, int64_t nano_usd)
{
	const int64_t more[LIMITS] = { [TOKENS] = tokens, [COST] = nano_usd, [REQUESTS] = 1 };
	struct limit limits[LIMITS];

	fill_limits(l, limits);
	for (size_t i = 0; i < LIMITS; i++) {
		int64_t mark = limits[i].max - limits[i].max / 10 - (limits[i].max % 10 > 0);
		if (limits[i].max > 0 && (limits[i].used >= mark || more[i] > mark - limits[i].used))
			return false;
	}
	return true;
}

/* What goes on in the background may take the rest of a budget: then it has to give way, as it is only a wish. */
static void make_way(struct loop *l)
{
	const int64_t kept[LIMITS] = { [TOKENS] = l->background.tokens, [COST] = l->background.nano_usd };
	struct limit limits[LIMITS];

	if (!l->background.running)
		return;
	fill_limits(l, limits);
	for (size_t i = 0; i < LIMITS; i++) {
		if (limits[i].max > 0 && limits[i].used < limits[i].max && kept[i] >= limits[i].max - limits[i].used) {
			summary_cancel(l);
			return;
		}
	}
}

static bool spent(struct loop *l, enum terminal_reason *why)
{
	struct limit limits[LIMITS];

	make_way(l);
	fill_limits(l, limits);
	for (size_t i = 0; i < LIMITS; i++) {
		if (limits[i].max <= 0 || limits[i].used < limits[i].max)
			continue;
		*why = TERM_BUDGET_EXHAUSTED;
		if (i == COST)
			loop_add_error(l, "the %s of %.9g USD is spent (%.9g USD used)", limits[i].name,
			               (double)limits[i].max / 1e9, (double)limits[i].used / 1e9);
		else
			loop_add_error(l, "the %s of %lld is spent (%lld used)", limits[i].name,
			               (long long)limits[i].max, (long long)limits[i].used);
		return true;
	}
	return false;
}

static void look_at_clock(struct loop *l)
{
	const struct loop_deps *d = l->deps;

	if (l->timed_out || d->now(d->ctx) < l->cfg->deadline)
		return;
	l->timed_out = true;
	if (d->time_is_up)
		d->time_is_up(d->ctx);
}

/* Looks for a signal or the deadline without waiting. True: the run must end. */
bool loop_abort_due(struct loop *l)
{
	struct loop_event ev;

	if (!loop_is_aborted(l))
		look_at_clock(l);
	/* Nothing of ours runs between phases, so all that can come now is a signal or news of the output. */
	while (!loop_is_aborted(l)) {
		if (!loop_wait(l, 0, &ev) || ev.kind == LOOP_EV_NONE)
			break;
	}
	return loop_is_aborted(l);
}

bool loop_hook_ended(struct loop *l)
{
	if (l->hook_end)
		loop_add_error(l, "a hook ended the run: %s", l->hook_end);
	return l->hook_end != NULL;
}

enum gate loop_may_send(struct loop *l, bool new_turn, enum terminal_reason *why)
{
	if (loop_abort_due(l))
		return GATE_ABORT;
	if (loop_hook_ended(l)) {
		*why = TERM_HOOK_STOPPED;
		return GATE_LIMIT;
	}
	if (new_turn && l->state.turn_count >= l->cfg->max_turns) {
		*why = TERM_MAX_TURNS;
		loop_add_error(l, "Reached maximum number of turns (%lld)", (long long)l->cfg->max_turns);
		return GATE_LIMIT;
	}
	return spent(l, why) ? GATE_LIMIT : GATE_GO;
}

bool loop_is_aborted(const struct loop *l)
{
	return l->signals > 0 || l->timed_out || l->interrupted || l->broken;
}

bool loop_next_event(struct loop *l, int64_t until, struct loop_event *ev)
{
	const struct loop_deps *d = l->deps;
	struct error e = ERROR_INIT;

	for (;;) {
		if (d->next_event(d->ctx, until, ev, &e)) {
			loop_break(l, &e);
			ev->kind = LOOP_EV_BROKEN;
			return false;
		}
		if (ev->kind != LOOP_EV_MODEL || ev->call != MODEL_SUMMARY)
			return true;
		summary_take(l, &ev->model);
		if (l->broken) { /* what came of it could not be told: nothing more is waited for */
			ev->kind = LOOP_EV_BROKEN;
			return false;
		}
	}
}

bool loop_wait(struct loop *l, int64_t until, struct loop_event *ev)
{
	int64_t deadline = l->timed_out ? CLOCK_NEVER : l->cfg->deadline;

	if (!loop_next_event(l, until < deadline ? until : deadline, ev))
		return false;
	switch (ev->kind) {
	case LOOP_EV_SIGNAL:
		if (!l->signo)
			l->signo = ev->signo;
		l->signals++;
		return false;
	case LOOP_EV_INTERRUPT:
		l->interrupted = true;
		return false;
	case LOOP_EV_BROKEN:
		loop_break(l, &ev->error);
		return false;
	default:
		break;
	}
	bool before = l->timed_out;
	if (ev->kind == LOOP_EV_NONE)
		look_at_clock(l);
	return l->timed_out == before;
}
