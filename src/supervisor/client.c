#include "supervisor/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/frame.h"
#include "supervisor/kid.h"
#include "supervisor/process.h"
#include "supervisor/spawn.h"
#include "supervisor/tree.h"
#include "supervisor/wire.h"

#define QUEUE_MAX      ((size_t)64 << 20)
#define MAX_CHILDREN   64
#define QUICK_PASSES   4
#define QUIET_LOOKS    5    /* in a row, until nobody is taken to be left */
#define STOP_MS        3000 /* behind the grace: time for KILL to work */
#define TIMEOUT_MAX_MS ((int64_t)1 << 50)

struct supervisor {
	struct reactor *r;
	struct frame_conn conn;
	pid_t pid;
	unsigned long long born; /* tree_start_time of pid */
	struct supervisor *beside;
	const struct child_call *calls;
	size_t ncalls;
	int max_children;
	int max_processes;
	struct kid *kids; /* oldest first */
	int nkids;
	int last_id;
	bool connected;
	bool paused;
	bool stopping;
	struct reactor_timer failures; /* armed when a kid has failed and its on_done is due */
};

static void on_socket(void *ctx, int fd, short revents);

/* ---- kids ---- */

static struct kid **find_kid(struct supervisor *s, int id)
{
	struct kid **at = &s->kids;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static void append_kid(struct supervisor *s, struct kid *k)
{
	*find_kid(s, 0) = k; /* no kid has id 0: the end of the list */
	s->nkids++;
}

/* Ends the life of *at: out of the list first, since on_done may spawn and kill. */
static void finish_kid(struct supervisor *s, struct kid **at, const struct wire_done *done)
{
	struct kid *k = *at;

	*at = k->next;
	s->nkids--;
	kid_drain(k);
	if (!s->stopping)
		kid_finish(k, done);
	kid_free(k);
}

static struct kid **find_failed(struct supervisor *s, int last_id)
{
	for (struct kid **at = &s->kids; *at; at = &(*at)->next)
		if ((*at)->failed && (*at)->id <= last_id)
			return at;
	return NULL;
}

/* What on_done spawns here, and fails too, waits for the next round. */
static void on_failures(void *ctx)
{
	struct supervisor *s = ctx;
	struct kid **at;
	int last_id = s->last_id;

	while ((at = find_failed(s, last_id)))
		finish_kid(s, at, NULL);
}

static void report_failures(struct supervisor *s)
{
	if (!s->stopping)
		reactor_timer_set(s->r, &s->failures, clock_mono_ms());
}

/* ---- the connection ---- */

/* The supervisor died before its time. Its children died with it; what was below them has come to us, the next
 * subreaper, and is known by this: it is younger than the supervisor and in none of our sessions. */
static size_t end_strays(const struct supervisor *s)
{
	const pid_t beside = s->beside ? s->beside->pid : 0;
	const struct tree_skip skip = {
		.sessions = true, .session = getsid(0), .older = s->born, .spare = &beside, .nspare = s->beside ? 1 : 0
	};

	size_t n = 0;

	for (int i = 0; i < QUICK_PASSES && s->born; i++)
		n += tree_kill_children(&skip);
	return s->born ? n + tree_signal(getpid(), &skip, SIGKILL) : 0;
}

static void disconnect(struct supervisor *s)
{
	if (!s->connected)
		return;
	s->connected = false;
	reactor_fd_remove(s->r, s->conn.fd);
	frame_release(&s->conn);
	close(s->conn.fd);
	if (!s->stopping)
		end_strays(s);
	for (struct kid *k = s->kids; k; k = k->next)
		if (!k->failed)
			kid_fail(k, ERR_GONE,
			         "the supervisor process is gone, '%.200s' was ended with it, and how far it came is "
			         "not known",
			         k->name);
	report_failures(s);
}

static void watch_socket(struct supervisor *s)
{
	short events = frame_pending(&s->conn) ? POLLIN | POLLOUT : POLLIN;

	if (s->connected && reactor_fd_set(s->r, s->conn.fd, events, on_socket, s))
		disconnect(s);
}

static void on_done_frame(struct supervisor *s, struct frame *f)
{
	struct wire_done done;
	struct kid **at = find_kid(s, f->head.id);

	if (f->head.type != WIRE_DONE || f->head.len != sizeof done || !*at)
		return;
	memcpy(&done, f->data, sizeof done);
	if (f->nfds) {
		(*at)->cwd_fd = f->fds[0];
		f->fds[0] = -1;
	}
	if (done.crowded)
		(*at)->too_many = s->max_processes;
	finish_kid(s, at, &done);
}

static void on_socket(void *ctx, int fd, short revents)
{
	struct supervisor *s = ctx;
	struct frame f;
	int got = 0;

	(void)fd;
	if ((revents & POLLOUT) && frame_flush(&s->conn)) {
		disconnect(s);
		return;
	}
	while (s->connected && (got = frame_recv(&s->conn, &f)) > 0) {
		on_done_frame(s, &f);
		frame_clear(&f);
	}
	if (got < 0)
		disconnect(s);
	watch_socket(s);
}

/* Sends a frame; a peer that is gone shows as !connected. -1 with errno if it was not sent for another reason. */
static int send_frame(struct supervisor *s, enum wire_type type, int id, const void *data, size_t len, const int *fds,
                      size_t nfds)
{
	if (frame_send(&s->conn, (uint16_t)type, id, data, len, fds, nfds)) {
		if (errno == ENOBUFS || errno == EMSGSIZE || errno == ENOMEM)
			return -1;
		disconnect(s);
		return 0;
	}
	watch_socket(s);
	return 0;
}

/* ---- start ---- */

static pid_t fork_process(int sock, int other, const struct supervisor_config *cfg)
{
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid_t pid = fork();
	if (pid == 0) {
		close(other);
		process_run(sock, cfg);
	}
	int saved = errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return pid;
}

static int launch(struct supervisor *s, const struct supervisor_config *cfg, struct error *e)
{
	int pair[2];

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) /* see end_strays */
		return error_sys(e, "cannot become the parent of orphans");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return error_sys(e, "cannot make a socket for the supervisor");
	s->pid = fork_process(pair[1], pair[0], cfg);
	int saved = errno;
	close(pair[1]);
	if (s->pid < 0) {
		close(pair[0]);
		errno = saved;
		return error_sys(e, "cannot start the supervisor");
	}
	s->born = tree_start_time(s->pid);
	frame_init(&s->conn, pair[0], QUEUE_MAX);
	s->connected = true;
	watch_socket(s);
	return s->connected ? 0 : error_nomem(e);
}

struct supervisor *supervisor_start(const struct supervisor_config *cfg, struct reactor *r, struct error *e)
{
	struct supervisor *s = calloc(1, sizeof *s);

	if (!s) {
		error_nomem(e);
		return NULL;
	}
	s->r = r;
	s->calls = cfg->calls;
	s->ncalls = cfg->ncalls;
	s->max_processes = cfg->max_processes;
	s->max_children = cfg->max_children > 0 ? cfg->max_children : MAX_CHILDREN;
	s->failures.fn = on_failures;
	s->failures.ctx = s;
	if (launch(s, cfg, e)) {
		free(s);
		return NULL;
	}
	s->beside = cfg->beside;
	if (s->beside)
		s->beside->beside = s;
	return s;
}

/* ---- spawn ---- */

static int find_call(const struct supervisor *s, const char *name)
{
	for (size_t i = 0; name && i < s->ncalls; i++)
		if (strcmp(s->calls[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* A sealed file in memory with the input, read from its start. -1 with errno. */
static int make_input(const char *input, size_t len)
{
	int fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	for (size_t at = 0; at < len;) {
		ssize_t n = pwrite(fd, input + at, len - at, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close(fd);
			return -1;
		}
		at += (size_t)n;
	}
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	return fd;
}

/* Descriptors by enum wire_fd, -1 = none; all are the frame's in the end. */
static int gather_fds(struct supervisor *s, struct kid *k, const struct spawn *spec, int fds[WIRE_FD_COUNT])
{
	int ends[KID_CHANNELS];

	for (int i = 0; i < WIRE_FD_COUNT; i++)
		fds[i] = -1;
	if (kid_make_pipes(k, spec, s->paused, ends))
		return -1;
	fds[WIRE_FD_OUT] = ends[KID_OUT];
	fds[WIRE_FD_ERR] = ends[KID_ERR];
	fds[WIRE_FD_RESULT] = ends[KID_RESULT];
	if (spec->input || spec->call) {
		fds[WIRE_FD_INPUT] = make_input(spec->input, spec->input ? spec->input_len : 0);
		if (fds[WIRE_FD_INPUT] < 0)
			return -1;
	}
	if (spec->cwd_fd >= 0) {
		fds[WIRE_FD_CWD] = fcntl(spec->cwd_fd, F_DUPFD_CLOEXEC, 0);
		if (fds[WIRE_FD_CWD] < 0)
			return -1;
	}
	return 0;
}

static void close_fds(const int fds[WIRE_FD_COUNT])
{
	for (int i = 0; i < WIRE_FD_COUNT; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Sends the request; -1 with errno. */
static int send_spawn(struct supervisor *s, struct kid *k, const struct spawn *spec, int call,
                      const int fds[WIRE_FD_COUNT])
{
	struct wire_spawn head = { .call = call, .input_len = spec->input ? spec->input_len : 0 };
	struct buf b = BUF_INIT(FRAME_MAX);
	int list[WIRE_FD_COUNT];
	size_t n = 0;

	head.follow_cwd = spec->follow_cwd;
	head.timeout_ms = spec->timeout_ms < TIMEOUT_MAX_MS ? spec->timeout_ms : 0;
	head.confine = (int32_t)spec->confine;
	head.grace_ms = spec->grace_ms > 0 ? spec->grace_ms : WIRE_GRACE_MS;
	for (int i = 0; i < WIRE_FD_COUNT; i++) {
		if (fds[i] < 0)
			continue;
		head.fd_mask |= 1U << i;
		list[n++] = fds[i];
	}
	if (spawn_pack(&b, &head, spec->argv, spec->envp)) {
		close_fds(fds);
		errno = b.failed == ERR_LIMIT ? E2BIG : ENOMEM;
		buf_release(&b);
		return -1;
	}
	int rc = send_frame(s, WIRE_SPAWN, k->id, b.data, b.len, list, n);
	int saved = errno;
	buf_release(&b);
	errno = saved;
	return rc;
}

/* Asks for the child; what goes wrong becomes its error result. */
static void request_kid(struct supervisor *s, struct kid *k, const struct spawn *spec, int call)
{
	int fds[WIRE_FD_COUNT];

	if (s->nkids > s->max_children) {
		kid_fail(k, ERR_LIMIT, "cannot start '%.200s': %d children are running, wait for one to end", k->name,
		         s->max_children);
	} else if (gather_fds(s, k, spec, fds)) {
		kid_fail(k, ERR_SYS, "cannot set up the descriptors of '%.200s': %s%s", k->name, strerror(errno),
		         errno == EMFILE  ? " (ulimit -n)"
		         : errno == EFBIG ? " (its input is larger than files may be: ulimit -f)"
		                          : "");
		close_fds(fds);
	} else if (send_spawn(s, k, spec, call, fds)) {
		if (errno == E2BIG)
			kid_fail(k, ERR_INPUT,
			         "cannot execute '%.200s': its arguments and environment are too large, pass the data "
			         "in a file or on stdin",
			         k->name);
		else
			kid_fail(k, ERR_SYS, "cannot hand '%.200s' over to the supervisor: %s", k->name,
			         strerror(errno));
	}
	if (k->failed)
		report_failures(s);
}

int supervisor_spawn(struct supervisor *s, const struct spawn *spec, child_done on_done, void *ctx, struct error *e)
{
	int call = find_call(s, spec->call);

	if (!s->connected || s->stopping)
		return error_set(e, ERR_GONE, "the supervisor process is gone");
	if (spec->call ? call < 0 : !spec->argv || !spec->argv[0])
		return error_set(e, ERR_BUG, "a child needs a program or a registered call, not '%s'",
		                 spec->call ? spec->call : "");
	struct kid *k = kid_open(s->r, s->last_id + 1, spec, on_done, ctx);
	if (!k)
		return error_nomem(e);
	s->last_id++;
	int id = k->id;
	append_kid(s, k);
	request_kid(s, k, spec, call);
	return id;
}

/* ---- the rest ---- */

void supervisor_kill(struct supervisor *s, int id, int64_t grace_ms)
{
	struct wire_grace g = { grace_ms };
	const struct kid *k = *find_kid(s, id);

	if (k && !k->failed && s->connected)
		send_frame(s, WIRE_KILL, id, &g, sizeof g, NULL, 0);
}

void supervisor_pause(struct supervisor *s, bool on)
{
	s->paused = on;
	for (struct kid *k = s->kids; k; k = k->next)
		kid_pause(k, on);
}

bool supervisor_lost(const struct supervisor *s)
{
	return !s->connected && !s->stopping;
}

int supervisor_pid(const struct supervisor *s)
{
	return (int)s->pid;
}

/* True once the process is reaped (or was reaped by the kernel, where SIGCHLD is ignored). */
static bool reap(const struct supervisor *s, int *status)
{
	pid_t pid = waitpid(s->pid, status, WNOHANG);

	return pid == s->pid || (pid < 0 && errno == ECHILD);
}

static int end_process(struct supervisor *s, int64_t deadline)
{
	int status = 0;
	bool lost = !s->connected;
	int quiet = lost ? 0 : QUIET_LOOKS;

	while (s->connected && clock_mono_ms() < deadline)
		if (reactor_wait(s->r, deadline, NULL) < 0)
			break;
	/* It exits right behind the end of the socket; a lost one has left others to us. What forks while we look may
	 * be missed by one look. */
	while (!reap(s, &status) || quiet < QUIET_LOOKS) {
		if (lost)
			quiet = end_strays(s) ? 0 : quiet + 1;
		int64_t now = clock_mono_ms();
		if (now >= deadline || reactor_wait(s->r, now + 1, NULL) < 0)
			return -1;
	}
	return lost || status == 0 ? 0 : -1;
}

void supervisor_hurry(struct supervisor *s)
{
	const struct wire_grace none = { 0 };

	if (s->stopping && s->connected)
		send_frame(s, WIRE_STOP, 0, &none, sizeof none, NULL, 0);
}

int supervisor_hold(struct supervisor *s, int fd, struct error *e)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own < 0 || send_frame(s, WIRE_HOLD, 0, NULL, 0, &own, 1))
		return error_sys(e, "the supervisor cannot hold a file");
	return 0;
}

int supervisor_stop(struct supervisor *s, int64_t grace_ms)
{
	struct wire_grace g = { grace_ms };

	if (!s)
		return 0;
	reactor_timer_cancel(s->r, &s->failures);
	s->stopping = true;
	for (struct kid *k = s->kids; k; k = k->next) {
		k->discard = true; /* still read, so that nobody is stuck in a write during its grace */
		kid_pause(k, false);
	}
	if (s->connected) {
		kill(s->pid, SIGCONT); /* a stopped one would hear nothing */
		send_frame(s, WIRE_STOP, 0, &g, sizeof g, NULL, 0);
	}
	int rc = end_process(s, clock_mono_ms() + grace_ms + STOP_MS);
	disconnect(s); /* if it is still there: the end of the socket says it again */
	while (s->kids)
		finish_kid(s, &s->kids, NULL);
	if (s->beside)
		s->beside->beside = NULL;
	free(s);
	return rc;
}
