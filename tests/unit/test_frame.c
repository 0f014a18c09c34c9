#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/frame.h"
#include "supervisor/spawn.h"
#include "supervisor/tree.h"

struct pair {
	struct frame_conn a, b;
};

static void init_pair(struct pair *p, size_t max_queued)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	frame_init(&p->a, fds[0], max_queued);
	frame_init(&p->b, fds[1], max_queued);
}

static void release_pair(struct pair *p)
{
	frame_release(&p->a);
	frame_release(&p->b);
	close(p->a.fd);
	close(p->b.fd);
}

static int open_null(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void frames_keep_their_borders(void **state)
{
	struct pair p;
	struct frame f;

	(void)state;
	init_pair(&p, 1000);
	assert_int_equal(frame_recv(&p.b, &f), 0);
	assert_int_equal(frame_send(&p.a, 1, 7, "first", 5, NULL, 0), 0);
	assert_int_equal(frame_send(&p.a, 2, -8, NULL, 0, NULL, 0), 0);
	assert_false(frame_pending(&p.a));
	assert_int_equal(frame_recv(&p.b, &f), 1);
	assert_int_equal(f.head.type, 1);
	assert_int_equal(f.head.id, 7);
	assert_int_equal(f.head.len, 5);
	assert_memory_equal(f.data, "first", 5);
	frame_clear(&f);
	assert_int_equal(frame_recv(&p.b, &f), 1);
	assert_int_equal(f.head.type, 2);
	assert_int_equal(f.head.id, -8);
	assert_int_equal(f.head.len, 0);
	frame_clear(&f);
	assert_int_equal(frame_recv(&p.b, &f), 0);
	release_pair(&p);
}

static void pieces_are_put_together(void **state)
{
	struct pair p;
	struct frame f;
	const struct frame_head head = { .len = 3, .type = 4, .id = 5 };
	char bytes[sizeof head + 3];

	(void)state;
	memcpy(bytes, &head, sizeof head);
	memcpy(bytes + sizeof head, "abc", 3);
	init_pair(&p, 1000);
	for (size_t i = 0; i < sizeof bytes; i++) {
		assert_int_equal(frame_recv(&p.b, &f), 0);
		assert_int_equal(write(p.a.fd, bytes + i, 1), 1);
	}
	assert_int_equal(frame_recv(&p.b, &f), 1);
	assert_memory_equal(f.data, "abc", 3);
	frame_clear(&f);
	release_pair(&p);
}

static void descriptors_stay_with_their_frame(void **state)
{
	struct pair p;
	struct frame f;
	struct stat null, got;
	int fds[2] = { open_null(), open_null() }, one[1] = { open_null() };

	(void)state;
	assert_int_equal(fstat(one[0], &null), 0);
	init_pair(&p, 1000);
	assert_int_equal(frame_send(&p.a, 1, 1, "x", 1, fds, 2), 0);
	assert_false(is_open(fds[0]) || is_open(fds[1])); /* ours no longer */
	assert_int_equal(frame_send(&p.a, 1, 2, "y", 1, NULL, 0), 0);
	assert_int_equal(frame_send(&p.a, 1, 3, "z", 1, one, 1), 0);
	static const size_t counts[] = { 2, 0, 1 };
	for (int i = 0; i < 3; i++) {
		assert_int_equal(frame_recv(&p.b, &f), 1);
		assert_int_equal(f.head.id, i + 1);
		assert_int_equal(f.head.nfds, counts[i]);
		assert_int_equal(f.nfds, counts[i]);
		for (size_t j = 0; j < f.nfds; j++) {
			assert_int_equal(fstat(f.fds[j], &got), 0);
			assert_int_equal(got.st_rdev, null.st_rdev);
			assert_true(fcntl(f.fds[j], F_GETFD) & FD_CLOEXEC);
		}
		int last = f.nfds ? f.fds[f.nfds - 1] : -1;
		frame_clear(&f);
		assert_false(is_open(last));
	}
	release_pair(&p);
}

static void what_does_not_fit_is_queued(void **state)
{
	enum { N = 40, LEN = 100000 };
	struct pair p;
	struct frame f;
	char *data = calloc(1, LEN);
	int received = 0;

	(void)state;
	assert_non_null(data);
	init_pair(&p, (size_t)8 << 20);
	for (int i = 0; i < N; i++) {
		int fd = open_null();
		memset(data, i, LEN);
		assert_int_equal(frame_send(&p.a, 1, i, data, LEN, &fd, 1), 0);
	}
	assert_true(frame_pending(&p.a));
	while (received < N) {
		int got = frame_recv(&p.b, &f);
		assert_true(got >= 0);
		if (!got) {
			assert_true(frame_pending(&p.a));
			assert_int_equal(frame_flush(&p.a), 0);
			continue;
		}
		memset(data, received, LEN);
		assert_int_equal(f.head.id, received++);
		assert_int_equal(f.nfds, 1);
		assert_memory_equal(f.data, data, LEN);
		frame_clear(&f);
	}
	assert_false(frame_pending(&p.a));
	assert_int_equal(p.a.queued, 0);
	free(data);
	release_pair(&p);
}

static void queue_has_a_limit(void **state)
{
	struct pair p;
	char *data = calloc(1, 1 << 20);
	int fd = -1, rc = 0, sent = 0;

	(void)state;
	assert_non_null(data);
	init_pair(&p, (size_t)3 << 20);
	while (rc == 0 && sent < 100) {
		fd = open_null();
		rc = frame_send(&p.a, 1, sent++, data, 1 << 20, &fd, 1);
	}
	assert_int_equal(rc, -1);
	assert_int_equal(errno, ENOBUFS);
	assert_false(is_open(fd)); /* closed also when refused */
	assert_int_equal(frame_send(&p.a, 1, 0, data, FRAME_MAX + 1, NULL, 0), -1);
	assert_int_equal(errno, EMSGSIZE);
	free(data);
	release_pair(&p);
}

static void end_of_the_peer(void **state)
{
	struct pair p;
	struct frame f;

	(void)state;
	init_pair(&p, 1000);
	assert_int_equal(frame_send(&p.a, 1, 1, "last", 4, NULL, 0), 0);
	shutdown(p.a.fd, SHUT_WR);
	assert_int_equal(frame_recv(&p.b, &f), 1); /* what came before the end is not lost */
	frame_clear(&f);
	assert_int_equal(frame_recv(&p.b, &f), -1);
	shutdown(p.b.fd, SHUT_RDWR);
	assert_int_equal(frame_send(&p.a, 1, 2, "x", 1, NULL, 0), -1); /* and no SIGPIPE */
	assert_int_equal(errno, EPIPE);
	release_pair(&p);
}

static void oversized_frame_breaks_the_connection(void **state)
{
	struct pair p;
	struct frame f;
	const struct frame_head head = { .len = UINT32_MAX, .type = 1 };

	(void)state;
	init_pair(&p, 1000);
	assert_int_equal(write(p.a.fd, &head, sizeof head), sizeof head);
	assert_int_equal(frame_recv(&p.b, &f), -1);
	release_pair(&p);
}

/* ---- spawn requests ---- */

static struct frame frame_of(const struct buf *b)
{
	struct frame f = { .head = { .len = (uint32_t)b->len }, .data = b->data };

	f.fds[0] = 100; /* never used here */
	f.fds[1] = 101;
	f.nfds = 2;
	return f;
}

static void spawn_request_round_trip(void **state)
{
	const char *argv[] = { "prog", "", "two words", NULL };
	const char *envp[] = { "A=1", "PATH=/x:/y", NULL };
	struct wire_spawn head = {
		.call = -1, .fd_mask = 1U << WIRE_FD_OUT | 1U << WIRE_FD_CWD, .timeout_ms = 5, .grace_ms = 6
	};
	struct buf b = BUF_INIT(1000);
	struct spawn_request q;

	(void)state;
	assert_int_equal(spawn_pack(&b, &head, argv, envp), 0);
	struct frame f = frame_of(&b);
	assert_int_equal(spawn_unpack(&q, &f, NULL, 0), CHILD_STARTED);
	assert_string_equal(q.plan.argv[0], "prog");
	assert_string_equal(q.plan.argv[1], "");
	assert_string_equal(q.plan.argv[2], "two words");
	assert_null(q.plan.argv[3]);
	assert_string_equal(q.plan.envp[1], "PATH=/x:/y");
	assert_null(q.plan.envp[2]);
	assert_string_equal(q.plan.path, "/x:/y");
	assert_string_equal(q.plan.sh_argv[0], "/bin/sh");
	assert_string_equal(q.plan.sh_argv[3], "two words");
	assert_null(q.plan.sh_argv[4]);
	assert_null(q.plan.call);
	assert_int_equal(q.plan.out, 100);
	assert_int_equal(q.plan.cwd, 101);
	assert_int_equal(q.plan.err, -1);
	assert_int_equal(q.head.timeout_ms, 5);
	spawn_release(&q);
	buf_release(&b);
}

/* A frame cut anywhere, or without its descriptors, is an error and nothing worse. */
static void broken_spawn_requests(void **state)
{
	const char *argv[] = { "prog", "one", NULL };
	const char *envp[] = { "A=1", NULL };
	struct wire_spawn head = { .call = -1, .fd_mask = 1U << WIRE_FD_OUT };
	struct buf b = BUF_INIT(1000);
	struct spawn_request q;

	(void)state;
	assert_int_equal(spawn_pack(&b, &head, argv, envp), 0);
	struct frame f = frame_of(&b);
	for (uint32_t len = 0; len < b.len; len++) {
		f.head.len = len;
		assert_int_equal(spawn_unpack(&q, &f, NULL, 0), CHILD_RECEIVE);
		spawn_release(&q);
	}
	f.head.len = (uint32_t)b.len;
	f.nfds = 0;
	assert_int_equal(spawn_unpack(&q, &f, NULL, 0), CHILD_RECEIVE);
	spawn_release(&q);
	buf_clear(&b);
	head.call = 3;
	assert_int_equal(spawn_pack(&b, &head, NULL, envp), 0);
	f = frame_of(&b);
	assert_int_equal(spawn_unpack(&q, &f, NULL, 0), CHILD_RECEIVE);
	spawn_release(&q);
	buf_release(&b);
}

/* ---- the tree ---- */

static pid_t fork_sleeper(bool own_group)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (own_group)
			setpgid(0, 0);
		for (;;)
			pause();
	}
	if (own_group)
		setpgid(pid, pid);
	return pid;
}

static int signal_of(pid_t pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void tree_skips_what_it_is_told(void **state)
{
	const struct tree_skip none = { .group = 0 };
	pid_t a = fork_sleeper(false);
	const struct tree_skip own_session = { .sessions = true, .session = getsid(0) };
	pid_t b = fork_sleeper(true);

	(void)state;
	assert_int_equal(tree_signal(a, &none, SIGTERM), 0); /* root itself is not below itself */
	assert_int_equal(tree_signal(getpid(), &own_session, SIGTERM), 0);
	assert_int_equal(tree_signal(getpid(), &(struct tree_skip){ .older = tree_start_time(b) + 1 }, SIGTERM), 0);
	assert_int_equal(tree_signal(getpid(), &(struct tree_skip){ .group = b }, SIGTERM), 1);
	assert_int_equal(signal_of(a), SIGTERM);
	assert_int_equal(tree_signal(getpid(), &none, SIGKILL), 1);
	assert_int_equal(signal_of(b), SIGKILL);
	assert_int_equal(tree_signal(getpid(), &none, SIGKILL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_keep_their_borders),
		cmocka_unit_test(pieces_are_put_together),
		cmocka_unit_test(descriptors_stay_with_their_frame),
		cmocka_unit_test(what_does_not_fit_is_queued),
		cmocka_unit_test(queue_has_a_limit),
		cmocka_unit_test(end_of_the_peer),
		cmocka_unit_test(oversized_frame_breaks_the_connection),
		cmocka_unit_test(spawn_request_round_trip),
		cmocka_unit_test(broken_spawn_requests),
		cmocka_unit_test(tree_skips_what_it_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
