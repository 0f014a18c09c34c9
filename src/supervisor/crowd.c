/* More processes than there may be: they are counted, the call that made them is found, and it is ended with them. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "supervisor/process_private.h"

#define QUICK_PASSES 4
#define CROWD_SWEEPS 50

void crowd_take_precedence(bool on)
{
	const struct sched_param rank = { .sched_priority = on ? 1 : 0 };
	int policy = sched_getscheduler(0);

	if (on ? policy == SCHED_OTHER : policy == (SCHED_RR | SCHED_RESET_ON_FORK))
		(void)sched_setscheduler(0, on ? SCHED_RR | SCHED_RESET_ON_FORK : SCHED_OTHER, &rank);
}

size_t crowd_sweep(struct process *p, const struct tree_skip *skip)
{
	size_t n = 0;

	for (int i = 0; i < QUICK_PASSES; i++) {
		n += tree_kill_children(skip);
		process_reap(p);
	}
	n += tree_signal(getpid(), skip, SIGKILL);
	process_reap(p);
	return n;
}

/* Whose fault a crowd is: the child with most processes; if orphans that nobody can be asked about are more than
 * those, the youngest program. NULL: none is there any more. */
static struct child *find_crowded(struct process *p, const size_t *counts, size_t strays)
{
	struct child *most = NULL, *youngest = NULL;
	size_t i = 0, best = 0;

	for (struct child *c = p->children; c; c = c->next, i++) {
		if (counts[i] > best) {
			best = counts[i];
			most = c;
		}
		if (!youngest && !c->is_call) /* the newest stands first */
			youngest = c;
	}
	return strays > best ? youngest : most;
}

/* Fills pids with the children's, without `but`; returns their number. */
static size_t list_children(const struct process *p, const struct child *but, pid_t *pids)
{
	size_t n = 0;

	for (const struct child *c = p->children; c; c = c->next)
		if (c != but)
			pids[n++] = c->pid;
	return n;
}

/* Ends the child, what is below it, and orphans that may be its own: at first those that came up since it began, and
 * if that is not enough all there are. pids has room for the children and the elders. */
static void end_crowd(struct process *p, struct child *c, pid_t *pids)
{
	struct tree_skip skip = { .spare = pids };

	if (c)
		c->crowded = true;
	skip.nspare = list_children(p, c, pids);
	for (size_t i = 0; i < p->nelders && !p->crowd; i++)
		pids[skip.nspare++] = p->elders[i];
	crowd_take_precedence(true);
	for (int i = 0; i < CROWD_SWEEPS && crowd_sweep(p, &skip); i++)
		;
	crowd_take_precedence(false);
}

static void count_processes(struct process *p)
{
	size_t n = 0;

	for (const struct child *c = p->children; c; c = c->next)
		n++;
	pid_t *pids = calloc(n + ELDERS_MAX + 1, sizeof *pids);
	size_t *counts = calloc(n + 1, sizeof *counts);
	if (pids && counts) {
		list_children(p, NULL, pids);
		size_t total = tree_census(getpid(), pids, n, counts);
		bool crowd = total > p->census.max;
		if (crowd)
			end_crowd(p, find_crowded(p, counts, counts[n]), pids);
		census_note(&p->census, total, crowd ? 0 : clock_mono_ms());
		p->crowd = crowd;
	}
	free(pids);
	free(counts);
}

void crowd_watch(struct process *p)
{
	if (p->census.max && !p->census_timer.armed && !p->ending && !p->empty)
		reactor_timer_set(p->r, &p->census_timer, clock_mono_ms() + CENSUS_LOOK_MS);
}

void crowd_on_timer(void *ctx)
{
	struct process *p = ctx;

	if (census_due(&p->census, clock_mono_ms()))
		count_processes(p);
	process_reap(p);
	crowd_watch(p);
}

void crowd_note_elders(struct process *p)
{
	p->nelders = p->empty ? 0 : tree_children(p->elders, ELDERS_MAX);
}
