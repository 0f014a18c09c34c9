#include "supervisor/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct proc {
	pid_t pid, parent, group, session;
	unsigned long long start;
	char state;
	bool ours;
};

struct procs {
	struct proc *p;
	size_t n, cap;
};

static int add(struct procs *all, struct proc p)
{
	if (all->n == all->cap) {
		size_t cap = all->cap ? all->cap * 2 : 256;
		struct proc *q = cap > TREE_MAX ? NULL : reallocarray(all->p, cap, sizeof *q);
		if (!q)
			return -1;
		all->p = q;
		all->cap = cap;
	}
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

static bool read_stat(int proc_fd, const char *pid, struct proc *p)
{
	char path[32], text[512];

	snprintf(path, sizeof path, "%.20s/stat", pid);
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
		struct proc p = { .pid = (pid_t)strtol(entry->d_name, NULL, 10) };
		if (p.pid > 0 && read_stat(dirfd(d), entry->d_name, &p) && add(all, p))
			break;
	}
	closedir(d);
}

static int by_pid(const void *a, const void *b)
{
	const struct proc *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool is_ours(const struct procs *all, pid_t pid, pid_t root)
{
	if (pid == root)
		return true;
	const struct proc key = { .pid = pid };
	const struct proc *p = all->n ? bsearch(&key, all->p, all->n, sizeof key, by_pid) : NULL;
	return p && p->ours;
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
			if (!p->ours && p->pid != root && is_ours(all, p->parent, root))
				p->ours = more = true;
		}
	}
}

static bool is_skipped(const struct proc *p, const struct tree_skip *skip)
{
	return (skip->group && p->group == skip->group) || (skip->sessions && p->session == skip->session) ||
	       p->start < skip->older;
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
	if (p->group > 1 && p->group != getpgid(root) && p->group != getpgrp())
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
		if (!p->ours || is_skipped(p, skip))
			continue;
		if (sig == SIGKILL) /* also through a zombie: its group may live on */
			kill_group(p, root);
		if (is_alive(p) && kill(p->pid, sig) == 0)
			n++;
	}
	free(all.p);
	return n;
}

unsigned long long tree_start_time(pid_t pid)
{
	struct proc p;
	char name[24];
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool found = false;

	if (fd < 0)
		return 0;
	snprintf(name, sizeof name, "%d", (int)pid);
	found = read_stat(fd, name, &p);
	close(fd);
	return found ? p.start : 0;
}
