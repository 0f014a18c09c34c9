#include "supervisor/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

struct proc {
	pid_t pid, parent, group, session;
	unsigned long long start;
	char state;
	pid_t top; /* the child of root that it is, or is below; 0 = not below root */
};

struct procs {
	struct proc *p;
	size_t n, cap;
};

static int add(struct procs *all, struct proc p)
{
	if (all->n >= TREE_MAX || ARRAY_GROW(all->p, all->n, all->cap))
		return -1;
	all->p[all->n++] = p;
	return 0;
}

/* "PID (name) STATE PARENT GROUP SESSION ... START ...", where the name may hold anything; the numbers are those
 * of the fields in proc(5). */
enum stat_field { STAT_PARENT = 4, STAT_GROUP, STAT_SESSION, STAT_START = 22 };

static bool parse_stat(const char *text, struct proc *p)
{
	const char *at = strrchr(text, ')');
	unsigned long long field[STAT_START + 1] = { 0 };

	if (!at || at[1] != ' ' || !at[2])
		return false;
	p->state = at[2];
	at += 3;
	for (int i = STAT_PARENT; i <= STAT_START; i++) {
		char *end;
		field[i] = strtoull(at, &end, 10); /* a few are negative: not those that are used */
		if (end == at)
			return false;
		at = end;
	}
	p->parent = (pid_t)field[STAT_PARENT];
	p->group = (pid_t)field[STAT_GROUP];
	p->session = (pid_t)field[STAT_SESSION];
	p->start = field[STAT_START];
	return true;
}

static bool read_stat(int proc_fd, pid_t pid, struct proc *p)
{
	char path[32], text[512];

	snprintf(path, sizeof path, "%d/stat", (int)pid);
	int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return parse_stat(text, p);
}

static void collect(struct procs *all)
{
	DIR *d = opendir("/proc");
	const struct dirent *entry;

	if (!d)
		return;
	while ((entry = readdir(d))) {
		struct proc p = { .pid = (pid_t)strtoll(entry->d_name, NULL, 10) };
		if (p.pid > 0 && read_stat(dirfd(d), p.pid, &p) && add(all, p))
			break;
	}
	closedir(d);
}

static int by_pid(const void *a, const void *b)
{
	const struct proc *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static pid_t top_of(const struct procs *all, const struct proc *p, pid_t root)
{
	if (p->parent == root)
		return p->pid;
	const struct proc key = { .pid = p->parent };
	const struct proc *parent = all->n ? bsearch(&key, all->p, all->n, sizeof key, by_pid) : NULL;
	return parent ? parent->top : 0;
}

/* Marks the descendants of root. Numbers wrap around, so a child may stand before its parent: until none is new. */
static void mark(struct procs *all, pid_t root)
{
	bool more = true;

	if (all->n)
		qsort(all->p, all->n, sizeof *all->p, by_pid);
	while (more) {
		more = false;
		for (size_t i = 0; i < all->n; i++) {
			struct proc *p = &all->p[i];
			if (p->top || p->pid == root)
				continue;
			p->top = top_of(all, p, root);
			more = more || p->top;
		}
	}
}

/* Which of the children it belongs to, n = none. An orphan has lost its parents but not its session. */
static size_t belongs_to(const struct proc *p, const pid_t *tops, size_t n)
{
	size_t by_session = n;

	for (size_t i = 0; i < n; i++) {
		if (p->top == tops[i])
			return i;
		if (p->session == tops[i])
			by_session = i;
	}
	return by_session;
}

static bool is_skipped(const struct proc *p, const struct tree_skip *skip)
{
	return belongs_to(p, skip->spare, skip->nspare) < skip->nspare || (skip->group && p->group == skip->group) ||
	       (skip->sessions && p->session == skip->session) || p->start < skip->older;
}

static bool is_alive(const struct proc *p)
{
	return p->state != 'Z' && p->state != 'X';
}

/* A group is signalled by the kernel at once, members included that were forked since we looked; a chain of short
 * lives can outrun any list. The group of root itself is its own; every other one began below root, so nobody else
 * is in it. */
static void kill_group(const struct proc *p, pid_t root)
{
	if (p->group > 1 && p->group != getpgid(root) && p->group != getpgid(0))
		kill(-p->group, SIGKILL);
}

size_t tree_signal(pid_t root, const struct tree_skip *skip, int sig)
{
	struct procs all = { NULL, 0, 0 };
	size_t n = 0;

	collect(&all);
	mark(&all, root);
	for (size_t i = 0; i < all.n; i++) {
		const struct proc *p = &all.p[i];
		if (!p->top || is_skipped(p, skip))
			continue;
		if (sig == SIGKILL) /* also through a zombie: its group may live on */
			kill_group(p, root);
		if (is_alive(p) && kill(p->pid, sig) == 0)
			n++;
	}
	free(all.p);
	return n;
}

/* Calls use for each number in /proc/.../children. */
static void each_child(void (*use)(void *ctx, pid_t pid), void *ctx)
{
	char path[64], text[8192];
	ssize_t n;
	pid_t pid = 0;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while ((n = read(fd, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
			} else if (pid) {
				use(ctx, pid);
				pid = 0;
			}
		}
	close(fd);
}

struct pid_list {
	pid_t *pids;
	size_t n, max;
};

static void list_pid(void *ctx, pid_t pid)
{
	struct pid_list *l = ctx;

	if (l->n < l->max)
		l->pids[l->n++] = pid;
}

size_t tree_children(pid_t *pids, size_t max)
{
	struct pid_list l = { pids, 0, max };

	each_child(list_pid, &l);
	return l.n;
}

struct killing {
	const struct tree_skip *skip;
	int proc_fd;
	size_t n;
};

static void kill_pid(void *ctx, pid_t pid)
{
	struct killing *k = ctx;
	struct proc p = { .pid = pid, .group = getpgid(pid), .session = getsid(pid), .start = ~0ULL };

	if (k->skip->older && (!read_stat(k->proc_fd, pid, &p) || !is_alive(&p))) /* the one thing that costs more */
		return;
	p.top = pid;
	if (is_skipped(&p, k->skip))
		return;
	if (p.group == pid)
		kill(-pid, SIGKILL);
	if (kill(pid, SIGKILL) == 0)
		k->n++;
}

size_t tree_kill_children(const struct tree_skip *skip)
{
	struct killing k = { .skip = skip, .proc_fd = -1 };

	if (skip->older)
		k.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	each_child(kill_pid, &k);
	if (k.proc_fd >= 0)
		close(k.proc_fd);
	return k.n;
}

size_t tree_census(pid_t root, const pid_t *tops, size_t n, size_t *counts)
{
	struct procs all = { NULL, 0, 0 };
	size_t total = 0;

	memset(counts, 0, (n + 1) * sizeof *counts);
	collect(&all);
	mark(&all, root);
	for (size_t i = 0; i < all.n; i++) {
		if (!all.p[i].top)
			continue;
		counts[belongs_to(&all.p[i], tops, n)]++;
		total++;
	}
	free(all.p);
	return total;
}

unsigned long long tree_start_time(pid_t pid)
{
	struct proc p;
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool found = false;

	if (fd < 0)
		return 0;
	found = read_stat(fd, pid, &p);
	close(fd);
	return found ? p.start : 0;
}
