#include "supervisor/process_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/caps.h"

#define SOCKET_FD      3
#define QUEUE_MAX      ((size_t)1 << 20)
#define CHILD_STACK    ((size_t)32 << 10) /* a path and a few small frames */
#define UNKILLABLE_MS  5000 /* after KILL: a process in the hands of the kernel must not hold up the run */
#define KILL_SWEEPS    4    /* a look at /proc misses what is being forked */
#define KILL_PAUSE_MS  20
#define KILL_PAUSE_MAX 1000
#define FILE_MAX       ((rlim_t)4 << 30)

static void begin_end(struct process *p, int64_t grace_ms);
static void on_socket(void *ctx, int fd, short revents);

/* ---- frames to the loop process ---- */

static void disconnect(struct process *p)
{
	if (!p->connected)
		return;
	p->connected = false;
	reactor_fd_remove(p->r, p->conn.fd);
	frame_release(&p->conn);
	close(p->conn.fd);
	begin_end(p, 0); /* whoever goes on with the record waits for this, and meets nothing that still has effects */
}

static void watch_socket(struct process *p)
{
	short events = frame_pending(&p->conn) ? POLLIN | POLLOUT : POLLIN;

	if (p->connected && reactor_fd_set(p->r, p->conn.fd, events, on_socket, p))
		disconnect(p);
}

/* cwd_fd is the frame's; -1 = none. */
static void send_done(struct process *p, int id, const struct wire_done *done, int cwd_fd)
{
	if (!p->connected) {
		if (cwd_fd >= 0)
			close(cwd_fd);
		return;
	}
	if (frame_send(&p->conn, WIRE_DONE, id, done, sizeof *done, &cwd_fd, cwd_fd >= 0 ? 1 : 0))
		disconnect(p); /* a child whose end cannot be told would be waited for for ever */
	else
		watch_socket(p);
}

static void send_failure(struct process *p, int id, enum child_step step, int error)
{
	send_done(p, id, &(struct wire_done){ .failure = { .step = (int32_t)step, .error = error } }, -1);
}

/* ---- ending children ---- */

static void signal_child(const struct child *c, int sig)
{
	/* Those that left the group first: when the child is gone, they are no longer below it. */
	tree_signal(c->pid, &(struct tree_skip){ .group = c->pid }, sig);
	/* Before its setsid the child has no group of its own yet; its signals are blocked and stay pending. */
	if (kill(-c->pid, sig) && errno == ESRCH)
		kill(c->pid, sig);
}

static void ask_to_end(const struct child *c)
{
	signal_child(c, SIGTERM);
	signal_child(c, SIGCONT); /* a stopped process would not see the first */
}

/* The directory where it ended: of interest only if it ended by itself. */
static int end_following(struct child *c)
{
	if (!c->followed)
		return -1;
	c->followed = false;
	int cwd = follow_end(&c->p->follow);
	if (cwd < 0 || (!c->killed && !c->timed_out && !c->crowded))
		return cwd;
	close(cwd);
	return -1;
}

static void report_end(struct child *c, int status, int cwd_fd)
{
	struct wire_done done = {
		.status = status, .timed_out = c->timed_out, .killed = c->killed, .crowded = c->crowded
	};

	if (c->reported) {
		if (cwd_fd >= 0)
			close(cwd_fd);
		return;
	}
	c->reported = true;
	done.duration_ms = (clock_mono_us() - c->start_us) / 1000;
	if (read(c->status_fd, &done.failure, sizeof done.failure) != (ssize_t)sizeof done.failure)
		done.failure = (struct child_failure){ CHILD_STARTED, 0 };
	close(c->status_fd);
	if (done.failure.step != CHILD_STARTED && cwd_fd >= 0) {
		close(cwd_fd);
		cwd_fd = -1;
	}
	send_done(c->p, c->id, &done, cwd_fd);
}

static void kill_child(struct child *c)
{
	c->stage = STAGE_KILL;
	signal_child(c, SIGKILL);
	reactor_timer_set(c->p->r, &c->timer, clock_mono_ms() + UNKILLABLE_MS);
}

static void terminate_child(struct child *c, int64_t grace_ms)
{
	if (c->stage == STAGE_KILL)
		return;
	if (grace_ms <= 0) {
		kill_child(c);
		return;
	}
	if (c->stage == STAGE_RUNNING)
		ask_to_end(c);
	int64_t until = clock_mono_ms() + grace_ms;
	if (c->stage == STAGE_RUNNING || until < c->timer.at)
		reactor_timer_set(c->p->r, &c->timer, until);
	c->stage = STAGE_TERM;
}

static void on_child_timer(void *ctx)
{
	struct child *c = ctx;

	switch (c->stage) {
	case STAGE_RUNNING:
		c->timed_out = true;
		terminate_child(c, c->grace_ms);
		break;
	case STAGE_TERM:
		kill_child(c);
		break;
	case STAGE_KILL:
		report_end(c, SIGKILL, -1);
		break;
	}
}

/* ---- reaping ---- */

static void child_ended(struct process *p, pid_t pid, int status)
{
	struct child **at = &p->children;

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	struct child *c = *at;
	if (!c)
		return; /* an orphan that came to us */
	*at = c->next;
	reactor_timer_cancel(p->r, &c->timer);
	report_end(c, status, end_following(c));
	free(c);
}

void process_reap(struct process *p)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (WIFSTOPPED(status))
			kill(pid, SIGKILL); /* it made us its tracer, and would wait for us for ever */
		else
			child_ended(p, pid, status);
	}
	p->empty = pid < 0 && errno == ECHILD;
}

static void on_sigchld(void *ctx, int signo, int sender_pid)
{
	(void)signo;
	(void)sender_pid;
	process_reap(ctx);
}

/* ---- the end ---- */

/* Orphans come to us, so whatever is alive is below us. New ones may be forked while we look: until none is left. */
static void on_end_timer(void *ctx)
{
	struct process *p = ctx;

	crowd_take_precedence(true);
	for (int i = 0; i < KILL_SWEEPS && !p->empty; i++)
		crowd_sweep(p, &(struct tree_skip){ .group = 0 });
	crowd_take_precedence(false);
	reactor_timer_set(p->r, &p->end_timer, clock_mono_ms() + p->kill_pause_ms);
	if (p->kill_pause_ms < KILL_PAUSE_MAX)
		p->kill_pause_ms += p->kill_pause_ms / 4;
}

static void begin_end(struct process *p, int64_t grace_ms)
{
	int64_t at = clock_mono_ms() + grace_ms;

	if (p->ending) {
		if (at < p->end_timer.at)
			reactor_timer_set(p->r, &p->end_timer, at);
		return;
	}
	p->ending = true;
	reactor_timer_set(p->r, &p->end_timer, at);
	process_reap(p);
	if (p->empty || grace_ms <= 0)
		return;
	tree_signal(getpid(), &(struct tree_skip){ .group = 0 }, SIGTERM);
	tree_signal(getpid(), &(struct tree_skip){ .group = 0 }, SIGCONT);
}

/* ---- starting ---- */

struct child_args {
	const struct child_plan *plan;
	const struct child_rules *rules;
};

static int run_child(void *args)
{
	const struct child_args *a = args;

	child_run(a->plan, a->rules);
}

/* The address sanitizer takes what a child leaves on the stack that it was given for a trap. */
#ifdef __SANITIZE_ADDRESS__
#define MAY_BORROW false
#else
#define MAY_BORROW true
#endif

/* A call works in a copy of our memory. What becomes another program at once borrows it until then, as posix_spawn
 * does: making the copy, and taking it apart again, would be half of what we add to the price of a child. We stand
 * still that long, which nobody may draw out: only if no other process of the run is there that could stop it (STOP
 * cannot be blocked). It writes to nothing of ours but its stack, errno and its plan. */
static pid_t new_process(const struct child_plan *plan, const struct child_rules *rules, bool follow, bool borrow)
{
	struct child_args args = { plan, rules };
	_Alignas(max_align_t) char stack[CHILD_STACK];
	int flags = SIGCHLD | (MAY_BORROW && borrow ? CLONE_VM | CLONE_VFORK : 0) | (follow ? CLONE_FS : 0);

	if (!plan->call && flags != SIGCHLD)
		return clone(run_child, stack + sizeof stack, flags, &args);
	pid_t pid = fork();
	if (pid == 0)
		child_run(plan, rules);
	return pid;
}

static pid_t fork_child(struct process *p, const struct child_plan *plan, bool follow)
{
	sigset_t all, old;

	/* Signals that come before the child has its own dispositions wait until then, and are not lost. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	oom_raise(&p->oom);
	pid_t pid = new_process(plan, &p->rules, follow, p->empty);
	int saved = errno;
	oom_restore(&p->oom);
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return pid;
}

/* Forks and files the child; on failure a step with errno set. */
static enum child_step start(struct process *p, struct child *c, struct spawn_request *q)
{
	int status[2];

	if (pipe2(status, O_CLOEXEC | O_NONBLOCK))
		return CHILD_FDS;
	q->plan.status = status[1];
	c->start_us = clock_mono_us();
	c->is_call = q->plan.call != NULL;
	if (!c->is_call)
		crowd_note_elders(p);
	c->followed = q->head.follow_cwd && !c->is_call && follow_begin(&p->follow);
	c->pid = fork_child(p, &q->plan, c->followed);
	int saved = errno;
	close(status[1]);
	if (c->pid < 0) {
		int cwd = end_following(c);
		if (cwd >= 0)
			close(cwd);
		close(status[0]);
		errno = saved;
		return CHILD_FORK;
	}
	c->status_fd = status[0];
	c->next = p->children;
	p->children = c;
	p->empty = false;
	if (q->head.timeout_ms > 0)
		reactor_timer_set(p->r, &c->timer, clock_mono_ms() + q->head.timeout_ms);
	crowd_watch(p);
	return CHILD_STARTED;
}

/* What the child is confined by, made when the first one needs it: a run without tools never pays. */
static enum child_step set_sandbox(struct process *p, struct spawn_request *q)
{
	if (q->head.confine == CONFINE_NONE || !p->cfg->sandbox)
		return CHILD_STARTED;
	q->plan.sandbox = p->cfg->sandbox;
	q->plan.network = q->head.confine == CONFINE_TOOL_NET;
	if (sandbox_prepare(p->cfg->sandbox, q->plan.network, &p->shield))
		return CHILD_SANDBOX;
	/* A child from before could not be signalled any more, not even by us. */
	if (!p->empty || p->cfg->some_unconfined)
		return CHILD_STARTED;
	return sandbox_share(p->cfg->sandbox) ? CHILD_SANDBOX : CHILD_STARTED;
}

static void on_spawn(struct process *p, const struct frame *f)
{
	struct spawn_request q;
	struct child *c = calloc(1, sizeof *c);
	enum child_step step = spawn_unpack(&q, f, p->cfg->calls, p->cfg->ncalls);
	int error = f->nfds < f->head.nfds ? EMFILE : EBADMSG;

	if (step == CHILD_STARTED && !c)
		step = CHILD_MEMORY;
	if (step == CHILD_MEMORY)
		error = ENOMEM;
	if (step == CHILD_STARTED) {
		step = set_sandbox(p, &q);
		error = errno;
	}
	if (step == CHILD_STARTED) {
		*c = (struct child){ .p = p, .id = f->head.id, .grace_ms = q.head.grace_ms, .status_fd = -1 };
		c->timer.fn = on_child_timer;
		c->timer.ctx = c;
		step = start(p, c, &q);
		error = errno;
	}
	if (step != CHILD_STARTED) {
		send_failure(p, f->head.id, step, error);
		free(c);
	}
	spawn_release(&q);
}

/* ---- frames from the loop process ---- */

static int64_t grace_of(const struct frame *f)
{
	struct wire_grace g = { WIRE_GRACE_MS };

	if (f->head.len == sizeof g)
		memcpy(&g, f->data, sizeof g);
	return g.grace_ms;
}

static void on_kill(struct process *p, const struct frame *f)
{
	for (struct child *c = p->children; c; c = c->next) {
		if (c->id != f->head.id)
			continue;
		c->killed = true;
		terminate_child(c, grace_of(f));
		return;
	}
}

static void on_frame(struct process *p, struct frame *f)
{
	if (f->head.type == WIRE_SPAWN && !p->ending)
		on_spawn(p, f);
	else if (f->head.type == WIRE_KILL)
		on_kill(p, f);
	else if (f->head.type == WIRE_STOP)
		begin_end(p, grace_of(f));
	else if (f->head.type == WIRE_HOLD)
		f->nfds = 0; /* open as long as this process is there: no child inherits it */
}

static void on_socket(void *ctx, int fd, short revents)
{
	struct process *p = ctx;
	struct frame f;
	int got = 0;

	(void)fd;
	if ((revents & POLLOUT) && frame_flush(&p->conn)) {
		disconnect(p);
		return;
	}
	while (p->connected && (got = frame_recv(&p->conn, &f)) > 0) {
		on_frame(p, &f);
		frame_clear(&f);
	}
	if (got < 0)
		disconnect(p);
	watch_socket(p);
}

/* ---- the process ---- */

static int by_number(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The socket on 3, what is held behind it: in order, so that none comes to lie on one that is still to be moved. */
static int move_fds(int sock, const struct supervisor_config *cfg)
{
	int fds[SUPERVISOR_HELD_MAX];
	int n = (int)cfg->nheld;

	for (int i = 0; i < n; i++) {
		fds[i] = cfg->held[i];
		if (fds[i] == SOCKET_FD) /* there is room: our end of the pair has just been closed */
			fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, SOCKET_FD + 1);
		if (fds[i] < 0)
			return -1;
	}
	if (sock != SOCKET_FD && dup3(sock, SOCKET_FD, O_CLOEXEC) < 0)
		return -1;
	qsort(fds, (size_t)n, sizeof *fds, by_number);
	for (int i = 0, to = SOCKET_FD + 1; i < n; i++, to++)
		if (fds[i] != to && dup3(fds[i], to, O_CLOEXEC) < 0)
			return -1;
	return SOCKET_FD + 1 + n;
}

/* 0 and 1 on /dev/null, 2 as it was, the socket on 3, what is held, nothing else. What was inherited goes first: it
 * may fill the table. */
static int set_fds(int sock, const struct supervisor_config *cfg)
{
	int unused = move_fds(sock, cfg);

	if (unused < 0)
		return -1;
	child_close_from(unused);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return -1;
	if (fcntl(STDERR_FILENO, F_GETFD) < 0 && dup2(null, STDERR_FILENO) < 0)
		return -1;
	int spare = fcntl(null, F_DUPFD_CLOEXEC, unused); /* null may be 0 or 1 itself */
	if (spare < 0 || dup2(spare, STDIN_FILENO) < 0 || dup2(spare, STDOUT_FILENO) < 0)
		return -1;
	child_close_from(unused);
	return 0;
}

static void set_rules(struct process *p)
{
	struct child_rules *rules = &p->rules;

	follow_init(&p->follow);
	rules->home = p->follow.home;
	rules->mask = p->follow.mask;
	const rlim_t most = p->cfg->large_files ? RLIM_INFINITY : FILE_MAX; /* that is the largest number there is */
	if (getrlimit(RLIMIT_FSIZE, &rules->file_size))
		rules->file_size = (struct rlimit){ most, most };
	if (rules->file_size.rlim_cur > most)
		rules->file_size.rlim_cur = most;
	if (rules->file_size.rlim_max > most)
		rules->file_size.rlim_max = most;
	rules->supervisor = getpid();
	rules->no_new_privileges = caps_limit() != 0;
	p->shield = (struct sandbox_shield){ { getpid(), getppid(),
		                               p->cfg->beside ? supervisor_pid(p->cfg->beside) : 0 } };
}

/* What the process is to the rest of the system. */
static int set_identity(void)
{
	if (setsid() < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		return -1;
	prctl(PR_SET_NAME, "quern-superv", 0, 0, 0);
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static int set_up(struct process *p, int sock)
{
	static const int chld[] = { SIGCHLD };
	sigset_t none;

	/* Nothing of what we were started with counts: with SIGCHLD ignored there would be no exit codes. */
	child_default_signals();
	child_ignore_signals(true);
	if (set_identity() || set_fds(sock, p->cfg))
		return -1;
	set_rules(p);
	oom_open(&p->oom);
	frame_init(&p->conn, SOCKET_FD, QUEUE_MAX);
	p->connected = true;
	p->empty = true;
	p->kill_pause_ms = KILL_PAUSE_MS;
	p->census.max = p->cfg->max_processes > 0 ? (size_t)p->cfg->max_processes : 0;
	p->census_timer.fn = crowd_on_timer;
	p->census_timer.ctx = p;
	p->end_timer.fn = on_end_timer;
	p->end_timer.ctx = p;
	p->r = reactor_open(NULL);
	if (!p->r)
		return -1;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (reactor_signals(p->r, chld, 1, on_sigchld, p, NULL))
		return -1;
	return reactor_fd_set(p->r, SOCKET_FD, POLLIN, on_socket, p);
}

_Noreturn void process_run(int sock, const struct supervisor_config *cfg)
{
	struct process p = { .cfg = cfg };

	if (cfg->forget)
		cfg->forget(cfg->ctx);
	if (set_up(&p, sock))
		_exit(1); /* the loop process sees the end of the socket */
	while (!(p.ending && p.empty))
		if (reactor_wait(p.r, CLOCK_NEVER, NULL) < 0) {
			begin_end(&p, 0);
			on_end_timer(&p);
		}
	_exit(0);
}
