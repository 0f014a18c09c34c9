/*
 * The order of calls as a property: random answers whose calls come in over a virtual clock, take random times, fail,
 * are denied, are aborted, and whose stream is cut at random moments and played again or salvaged. What must come of
 * an answer is told by a model that knows nothing of time. EXECUTOR_SEED=N plays one sequence.
 */

#include "test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/executor.h"

#define SEQUENCES 10000
#define MAX_CALLS 12

struct planned {
	bool safe, denied, fails; /* a call that fails after it ran cancels those behind it, if it is not read-only */
	bool refused;             /* it is denied late: nothing ran after all */
	int comes, takes;         /* when, after the beginning of its attempt; for how long it runs */
	int ends;                 /* when it will be done, INT_MAX = it does not run */
	int starts;               /* how often it was started, over all attempts */
};

struct play {
	uint64_t seed, rng;
	struct executor x;
	struct planned calls[MAX_CALLS];
	int n, arrived, yielded;
	int now, began;       /* of the attempt */
	int cut_at, abort_at; /* INT_MAX = never */
	int attempts;
	bool accepted, aborted;
};

static void wrong(const struct play *p, const char *what, int call)
{
	fail_msg("EXECUTOR_SEED=%llu: call %d: %s, at %d", (unsigned long long)p->seed, call, what, p->now);
}

static int draw(struct play *p, int below)
{
	p->rng = p->rng * 6364136223846793005u + 1442695040888963407u;
	return (int)((p->rng >> 33) % (unsigned)below);
}

static void plan(struct play *p)
{
	int comes = 0;

	p->n = draw(p, MAX_CALLS + 1);
	for (int i = 0; i < p->n; i++) {
		struct planned *c = &p->calls[i];
		comes += draw(p, 40);
		*c = (struct planned){ .safe = draw(p, 3) != 0, .denied = draw(p, 8) == 0, .comes = comes };
		c->fails = draw(p, 6) == 0;
		c->refused = !c->fails && draw(p, 8) == 0;
		c->takes = draw(p, 4) ? draw(p, 30) : draw(p, 300);
		c->ends = INT_MAX;
	}
	p->cut_at = draw(p, 3) ? INT_MAX : draw(p, comes + 20);
	p->abort_at = draw(p, 5) ? INT_MAX : draw(p, comes + 200);
}

static void come(struct play *p)
{
	char id[16];
	const struct planned *c = &p->calls[p->arrived];

	snprintf(id, sizeof id, "t%d", p->arrived++);
	struct block *b = block_new_tool_use(id, c->safe ? "Read" : "Bash", "{}", 2);
	assert_non_null(b);
	assert_int_equal(executor_add(&p->x, b, c->safe), 0);
	block_unref(b);
}

static struct tool_result result_of(int i, const char *word)
{
	char text[32];

	snprintf(text, sizeof text, "%s %d", word, i);
	return (struct tool_result){ .text = strdup(text), .text_len = strlen(text) };
}

static void check_start(const struct play *p, int i)
{
	size_t running = 0;

	for (int k = 0; k < p->n; k++) {
		if (p->calls[k].ends == INT_MAX)
			continue;
		running++;
		if (!p->calls[k].safe || !p->calls[i].safe)
			wrong(p, "overlaps another call", i);
	}
	if (running >= p->x.max_concurrency)
		wrong(p, "is one too many", i);
	for (int k = 0; k < i; k++)
		if (p->x.calls[k].state == CALL_QUEUED)
			wrong(p, "overtakes a queued call", i);
	if (p->calls[i].starts && !p->calls[i].safe)
		wrong(p, "does its work twice", i);
	if (p->aborted)
		wrong(p, "starts after the abort", i);
}

static void start_all(struct play *p)
{
	struct executor_call *c;

	while ((c = executor_next(&p->x))) {
		int i = (int)(c - p->x.calls);
		if (p->calls[i].denied) {
			struct tool_result r = result_of(i, "denied");
			executor_done(&p->x, c, &r);
			continue;
		}
		check_start(p, i);
		executor_started(&p->x, c);
		p->calls[i].starts++;
		p->calls[i].ends = p->now + p->calls[i].takes;
	}
	/* nothing waits without a reason */
	size_t running = 0;
	for (int k = 0; k < p->n; k++)
		running += p->calls[k].ends != INT_MAX;
	assert_int_equal(running, p->x.executing);
	if (!running && !executor_idle(&p->x))
		wrong(p, "waits for nothing", -1);
}

static void finish(struct play *p, int i)
{
	char id[16];
	struct planned *c = &p->calls[i];
	struct tool_result r = result_of(i, c->fails ? "failed" : "ok");

	snprintf(id, sizeof id, "t%d", i);
	r.is_error = c->fails;
	r.ran = !c->refused;
	if (c->refused)
		c->starts = 0;
	r.cancels_siblings = c->fails && !c->safe;
	c->ends = INT_MAX;
	executor_done(&p->x, executor_find(&p->x, id), &r);
	assert_null(r.text);
}

/* What the answer's i-th call must have got, if nothing was aborted. */
static void expect(const struct play *p, int i, char *text, size_t size)
{
	const char *word = p->calls[i].denied ? "denied" : p->calls[i].fails ? "failed" : "ok";

	snprintf(text, size, "%s %d", word, i);
	for (int k = 0; k < i; k++)
		if (!p->calls[k].denied && !p->calls[k].safe && p->calls[k].fails)
			snprintf(text, size, "<tool_use_error>Cancelled");
}

static void take_results(struct play *p)
{
	struct executor_call *c;
	char want[32];

	while ((c = executor_yield(&p->x))) {
		if (c != &p->x.calls[p->yielded])
			wrong(p, "comes out of order", p->yielded);
		expect(p, p->yielded, want, sizeof want);
		bool as_told = !strncmp(c->result.text, want, strlen(want));
		if (!as_told && !(p->aborted && !strcmp(c->result.text, "aborted")))
			wrong(p, c->result.text, p->yielded);
		p->yielded++;
	}
}

static void stop_all(struct play *p)
{
	for (int i = 0; i < p->n; i++)
		p->calls[i].ends = INT_MAX;
}

/* The stream breaks: what only looked at things is forgotten and comes again, else what came is the answer. */
static void cut(struct play *p)
{
	bool acted = false;

	for (int i = 0; i < p->n; i++)
		acted |= p->calls[i].starts && !p->calls[i].safe;
	if (acted != executor_has_acted(&p->x))
		wrong(p, "executor_has_acted is not right", -1);
	p->cut_at = INT_MAX;
	if (acted) {
		p->n = p->arrived;
		return;
	}
	stop_all(p);
	executor_clear(&p->x);
	p->arrived = 0;
	p->began = p->now;
	p->attempts++;
	if (draw(p, 2))
		p->cut_at = p->now + draw(p, 200);
}

static void abort_all(struct play *p)
{
	p->abort_at = INT_MAX;
	p->aborted = true;
	p->n = p->arrived;
	stop_all(p);
	executor_abort(&p->x, "aborted");
	for (int i = 0; i < p->n; i++)
		if (!p->calls[i].denied) { /* comes late: the first result stands */
			char id[16];
			struct tool_result late = result_of(i, "late");
			snprintf(id, sizeof id, "t%d", i);
			executor_done(&p->x, executor_find(&p->x, id), &late);
			assert_null(late.text);
		}
}

static int min(int a, int b)
{
	return a < b ? a : b;
}

/* The next moment at which something happens, INT_MAX if nothing will. */
static int next_moment(const struct play *p)
{
	int at = p->arrived < p->n ? p->began + p->calls[p->arrived].comes : INT_MAX;

	for (int i = 0; i < p->n; i++)
		at = min(at, p->calls[i].ends);
	if (!p->accepted)
		at = min(at, p->cut_at);
	return p->arrived < p->n || !executor_idle(&p->x) ? min(at, p->abort_at) : INT_MAX;
}

static void happen(struct play *p)
{
	if (p->now == p->abort_at) {
		abort_all(p);
		return;
	}
	for (int i = 0; i < p->n; i++)
		if (p->calls[i].ends == p->now)
			finish(p, i);
	if (p->now == p->cut_at && !p->accepted)
		cut(p);
	while (p->arrived < p->n && p->began + p->calls[p->arrived].comes <= p->now)
		come(p);
	p->accepted = p->arrived == p->n;
}

static void sequence(uint64_t seed)
{
	struct play p = { .seed = seed, .rng = seed };

	executor_init(&p.x, (size_t)(1 + draw(&p, 4)));
	plan(&p);
	for (int at; (at = next_moment(&p)) != INT_MAX;) {
		assert_true(at >= p.now);
		p.now = at;
		happen(&p);
		start_all(&p);
		if (p.accepted || p.aborted)
			take_results(&p);
	}
	take_results(&p);
	if (!executor_idle(&p.x) || p.yielded != p.n || p.arrived != p.n)
		wrong(&p, "has no result", p.yielded);
	assert_null(executor_yield(&p.x));
	executor_release(&p.x);
}

static void random_sequences(void **state)
{
	const char *only = getenv("EXECUTOR_SEED");

	(void)state;
	if (only) {
		sequence(strtoull(only, NULL, 10));
		return;
	}
	for (uint64_t seed = 1; seed <= SEQUENCES; seed++)
		sequence(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_sequences) };

	return cmocka_run_group_tests_name("executor_random", tests, NULL, NULL);
}
