#include "test.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/supervisor.h"

#define KEEP     ((size_t)64 << 10)
#define PATIENCE 20000 /* ms; far more than anything here needs */

static const char *const env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };

/* ---- a supervisor and the results of its children ---- */

struct ended {
	int id;
	char *error;
	struct child_result res; /* emptied into here */
};

struct fixture {
	struct reactor *r;
	struct supervisor *s;
	struct ended ended[16];
	int n;
};

/* ---- calls ---- */

static int call_upper(const char *in, size_t len, int result_fd)
{
	char c;

	for (size_t i = 0; i < len; i++) {
		c = (char)toupper((unsigned char)in[i]);
		if (write(STDOUT_FILENO, &c, 1) != 1)
			return 9;
	}
	return dprintf(result_fd, "{\"length\":%zu,\"nul\":%d}", len, in[len] == '\0') > 0 ? 5 : 9;
}

static int call_crash(const char *in, size_t len, int result_fd)
{
	(void)in;
	(void)len;
	(void)result_fd;
	abort();
}

static int call_environment(const char *in, size_t len, int result_fd)
{
	char cwd[4096];

	(void)in;
	(void)len;
	dprintf(STDOUT_FILENO, "A=%s HOME=%s result=%d cwd=%s", getenv("A"), getenv("HOME") ? getenv("HOME") : "-",
	        result_fd, getcwd(cwd, sizeof cwd));
	return 0;
}

static char secret[] = "only ours";

static void forget(void *ctx)
{
	memset(ctx, '-', strlen(ctx));
}

static int call_secret(const char *in, size_t len, int result_fd)
{
	(void)in;
	(void)len;
	(void)result_fd;
	return dprintf(STDOUT_FILENO, "%s", secret) > 0 ? 0 : 9;
}

static const struct child_call calls[] = {
	{ "upper", call_upper },
	{ "crash", call_crash },
	{ "environment", call_environment },
	{ "secret", call_secret },
};

/* ---- helpers ---- */

static int number_in(const char *text)
{
	return (int)strtol(text, NULL, 10);
}

static void start_with(struct fixture *f, int max_processes)
{
	const struct supervisor_config cfg = {
		.calls = calls, .ncalls = 4, .forget = forget, .ctx = secret, .max_processes = max_processes
	};
	struct error e = ERROR_INIT;

	memset(f, 0, sizeof *f);
	f->r = reactor_open(&e);
	assert_non_null(f->r);
	f->s = supervisor_start(&cfg, f->r, &e);
	assert_non_null(f->s);
}

static void start(struct fixture *f)
{
	start_with(f, 0);
}

static void release_ended(struct ended *d)
{
	if (d->res.cwd_fd >= 0)
		close(d->res.cwd_fd);
	free(d->error);
	buf_release(&d->res.out.head);
	buf_release(&d->res.out.tail);
	buf_release(&d->res.err.head);
	buf_release(&d->res.err.tail);
	buf_release(&d->res.result);
}

static void clear_ended(struct fixture *f)
{
	for (int i = 0; i < f->n; i++)
		release_ended(&f->ended[i]);
	f->n = 0;
}

static void stop(struct fixture *f)
{
	assert_int_equal(supervisor_stop(f->s, 2000), 0);
	clear_ended(f);
	reactor_free(f->r);
}

static void on_done(void *ctx, int id, struct child_result *res)
{
	struct fixture *f = ctx;

	assert_true(f->n < 16);
	struct ended *d = &f->ended[f->n++];
	d->id = id;
	d->error = res->error ? strdup(res->error) : NULL;
	d->res = *res;
	memset(&res->out, 0, sizeof res->out);
	memset(&res->err, 0, sizeof res->err);
	memset(&res->result, 0, sizeof res->result);
	res->cwd_fd = -1;
}

static struct spawn spec_of(const char *const *argv)
{
	return (struct spawn){ .argv = argv, .envp = env, .cwd_fd = -1, .keep_head = KEEP, .keep_tail = KEEP };
}

static int spawn(struct fixture *f, const struct spawn *spec)
{
	struct error e = ERROR_INIT;
	int id = supervisor_spawn(f->s, spec, on_done, f, &e);

	if (id < 0)
		print_error("%s\n", e.msg);
	assert_true(id > 0);
	return id;
}

static void wait_for(struct fixture *f, int n)
{
	struct error e = ERROR_INIT;
	int64_t deadline = clock_mono_ms() + PATIENCE;

	while (f->n < n && clock_mono_ms() < deadline)
		assert_true(reactor_wait(f->r, deadline, &e) >= 0);
	assert_int_equal(f->n, n);
}

/* Runs one child to its end; the result lives until the next run. */
static struct ended *run(struct fixture *f, const struct spawn *spec)
{
	clear_ended(f);
	int id = spawn(f, spec);
	wait_for(f, 1);
	assert_int_equal(f->ended[0].id, id);
	return &f->ended[0];
}

static struct ended *run_argv(struct fixture *f, const char *const *argv)
{
	struct spawn spec = spec_of(argv);

	return run(f, &spec);
}

static struct ended *run_sh(struct fixture *f, const char *script)
{
	const char *argv[] = { "sh", "-c", script, NULL };

	return run_argv(f, argv);
}

static const char *out_of(const struct ended *d)
{
	return buf_str(&d->res.out.head);
}

static void assert_exit(const struct ended *d, int status)
{
	if (d->error)
		print_error("%s\n", d->error);
	assert_null(d->error);
	assert_true(d->res.exited);
	assert_int_equal(d->res.status, status);
	assert_int_equal(d->res.signal, 0);
}

/* Gone: no such process, or a zombie that somebody else has to reap. */
static bool is_gone(pid_t pid)
{
	char path[64], text[256];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY);
	if (fd < 0)
		return true;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return true;
	text[n] = '\0';
	const char *end = strrchr(text, ')');
	return end && end[2] == 'Z';
}

/* Now or soon. */
static void assert_goes(pid_t pid)
{
	int64_t deadline = clock_mono_ms() + PATIENCE;

	assert_true(pid > 1);
	while (!is_gone(pid) && clock_mono_ms() < deadline)
		usleep(10000);
	assert_true(is_gone(pid));
}

static void assert_alive(pid_t pid)
{
	assert_true(pid > 1);
	assert_false(is_gone(pid));
}

/* Open descriptors of a process, -1 where we may not look. */
static int count_fds(pid_t pid)
{
	char path[64];
	int n = 0;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	DIR *d = opendir(path);
	if (!d)
		return -1;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Direct children of pid, zombies included. */
static int count_children(pid_t pid)
{
	DIR *d = opendir("/proc");
	const struct dirent *entry;
	int n = 0;

	assert_non_null(d);
	while ((entry = readdir(d))) {
		char path[300], text[512];
		int parent;
		char state;
		snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
		int fd = isdigit((unsigned char)entry->d_name[0]) ? open(path, O_RDONLY) : -1;
		if (fd < 0)
			continue;
		ssize_t got = read(fd, text, sizeof text - 1);
		close(fd);
		text[got > 0 ? got : 0] = '\0';
		const char *end = strrchr(text, ')');
		if (end && sscanf(end + 1, " %c %d", &state, &parent) == 2 && parent == (int)pid)
			n++;
	}
	closedir(d);
	return n;
}

/* ---- starting and ending ---- */

static void echo(void **state)
{
	struct fixture f;
	const char *argv[] = { "echo", "hello", NULL };

	(void)state;
	start(&f);
	struct ended *d = run_argv(&f, argv);
	assert_exit(d, 0);
	assert_string_equal(out_of(d), "hello\n");
	assert_int_equal(d->res.out.total, 6);
	assert_false(d->res.timed_out || d->res.killed);
	stop(&f);
}

static void exit_codes(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	assert_exit(run_sh(&f, "exit 0"), 0);
	assert_exit(run_sh(&f, "exit 3"), 3);
	assert_exit(run_sh(&f, "exit 127"), 127); /* the child's own, not a failure to start it */
	assert_exit(run_sh(&f, "exit 255"), 255);
	stop(&f);
}

static void death_by_signal(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	struct ended *d = run_sh(&f, "echo before; kill -SEGV $$");
	assert_null(d->error);
	assert_false(d->res.exited);
	assert_int_equal(d->res.signal, SIGSEGV);
	assert_string_equal(out_of(d), "before\n");
	stop(&f);
}

static void programs_that_cannot_run(void **state)
{
	struct fixture f;
	const char *missing[] = { "no-such-program", NULL };
	const char *missing_path[] = { "/no/such/program", NULL };
	const char *directory[] = { "/usr", NULL };
	const char *empty[] = { "", NULL };

	(void)state;
	start(&f);
	assert_string_equal(run_argv(&f, missing)->error,
	                    "cannot execute 'no-such-program': No such file or directory");
	assert_string_equal(run_argv(&f, missing_path)->error,
	                    "cannot execute '/no/such/program': No such file or directory");
	assert_string_equal(run_argv(&f, directory)->error, "cannot execute '/usr': Permission denied");
	assert_string_equal(run_argv(&f, empty)->error, "cannot execute '': No such file or directory");
	assert_exit(run_sh(&f, "true"), 0);
	stop(&f);
}

static void write_script(const char *dir, const char *name, const char *text, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void scripts(void **state)
{
	struct fixture f;
	char dir[] = "/tmp/test_supervisor.XXXXXX", bare[64], broken[64], path[64];
	const char *argv[] = { "bare", "one", "two", NULL };
	const char *argv_broken[] = { broken, NULL };
	const char *own_env[] = { path, NULL };

	(void)state;
	assert_non_null(mkdtemp(dir));
	write_script(dir, "bare", "echo \"$#:$1:$2\"\n", bare, sizeof bare);
	write_script(dir, "broken", "#!/no/such/interpreter\n", broken, sizeof broken);
	snprintf(path, sizeof path, "PATH=/nowhere::%s", dir);
	start(&f);
	struct spawn spec = spec_of(argv);
	spec.envp = own_env; /* found in the child's PATH, not in ours */
	struct ended *d = run(&f, &spec);
	assert_exit(d, 0);
	assert_string_equal(out_of(d), "2:one:two\n");
	d = run_argv(&f, argv_broken);
	assert_non_null(d->error);
	assert_non_null(strstr(d->error, "interpreter is missing"));
	stop(&f);
	unlink(bare);
	unlink(broken);
	rmdir(dir);
}

static void too_large_arguments(void **state)
{
	struct fixture f;
	static char one[200 << 10];
	static char piece[100 << 10];
	const char *argv_one[] = { "/bin/echo", one, NULL };
	const char *argv_many[102] = { "/bin/echo" };

	(void)state;
	memset(one, 'x', sizeof one - 1);
	memset(piece, 'x', sizeof piece - 1);
	for (int i = 1; i < 101; i++)
		argv_many[i] = piece;
	start(&f);
	struct ended *d = run_argv(&f, argv_one); /* the kernel's limit for one string */
	assert_non_null(d->error);
	assert_non_null(strstr(d->error, "too large"));
	d = run_argv(&f, argv_many); /* ours for a frame */
	assert_non_null(d->error);
	assert_non_null(strstr(d->error, "too large"));
	piece[0] = '\0';
	assert_exit(run_argv(&f, argv_many), 0);
	stop(&f);
}

static void refused_specs(void **state)
{
	struct fixture f;
	struct error e = ERROR_INIT;
	const char *none[] = { NULL };
	struct spawn spec = spec_of(none);

	(void)state;
	start(&f);
	assert_int_equal(supervisor_spawn(f.s, &spec, on_done, &f, &e), -1);
	assert_int_equal(e.code, ERR_BUG);
	spec = (struct spawn){ .call = "unknown", .envp = env, .cwd_fd = -1 };
	assert_int_equal(supervisor_spawn(f.s, &spec, on_done, &f, &e), -1);
	assert_int_equal(e.code, ERR_BUG);
	stop(&f);
}

static void too_many_children(void **state)
{
	struct fixture f;
	const struct supervisor_config cfg = { .max_children = 2 };
	const char *argv[] = { "sleep", "1000", NULL };
	struct spawn spec = spec_of(argv);
	struct error e = ERROR_INIT;

	(void)state;
	memset(&f, 0, sizeof f);
	f.r = reactor_open(&e);
	f.s = supervisor_start(&cfg, f.r, &e);
	assert_non_null(f.s);
	int a = spawn(&f, &spec);
	spawn(&f, &spec);
	int c = spawn(&f, &spec);
	assert_int_equal(f.n, 0); /* never from inside supervisor_spawn */
	wait_for(&f, 1);
	assert_int_equal(f.ended[0].id, c);
	assert_non_null(strstr(f.ended[0].error, "2 children are running"));
	supervisor_kill(f.s, a, 0);
	wait_for(&f, 2);
	clear_ended(&f);
	assert_exit(run_sh(&f, "true"), 0);
	stop(&f);
}

/* ---- what a child gets ---- */

static void directory(void **state)
{
	struct fixture f;
	const char *argv[] = { "pwd", NULL };
	char dir[] = "/tmp/test_supervisor.XXXXXX";
	struct spawn spec = spec_of(argv);

	(void)state;
	assert_non_null(mkdtemp(dir));
	start(&f);
	spec.cwd_fd = open(dir, O_PATH | O_DIRECTORY);
	struct ended *d = run(&f, &spec);
	assert_exit(d, 0);
	assert_memory_equal(out_of(d), dir, strlen(dir));
	close(spec.cwd_fd);
	spec.cwd_fd = open("/dev/null", O_RDONLY); /* no directory */
	assert_string_equal(run(&f, &spec)->error, "cannot enter the directory to run 'pwd' in: Not a directory");
	close(spec.cwd_fd);
	rmdir(dir);
	stop(&f);
}

static void assert_ended_in(const struct ended *d, const char *dir)
{
	char link[64], path[4096];

	snprintf(link, sizeof link, "/proc/self/fd/%d", d->res.cwd_fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	assert_true(n > 0);
	path[n] = '\0';
	assert_string_equal(path, dir);
}

/* Where so many children meet: what each says to wait for the others, with a file that is empty. */
struct meeting {
	char file[40], words[200];
};

static void meeting_init(struct meeting *m, int n)
{
	strcpy(m->file, "/tmp/test_supervisor.XXXXXX");
	int fd = mkstemp(m->file);
	assert_true(fd >= 0);
	close(fd);
	snprintf(m->words, sizeof m->words, "echo >>%s; until [ $(wc -l <%s) = %d ]; do sleep 0.02; done", m->file,
	         m->file, n);
}

static void followed(void **state)
{
	struct fixture f;
	struct meeting m;
	char both[300];
	const char *argv[] = { "sh", "-c", "cd /usr; umask 0; (cd /); exec sh -c 'cd bin; exit 3'", NULL };
	const char *slow[] = { "sh", "-c", both, NULL };
	const char *fails[] = { "/nonexistent", NULL };
	struct spawn spec = spec_of(argv);
	char home[4096], mask[16];

	(void)state;
	if (getenv("QUERN_VALGRIND"))
		skip(); /* it cannot run the system call */
	start(&f);
	snprintf(mask, sizeof mask, "%s", out_of(run_sh(&f, "umask")));
	assert_int_equal(f.ended[0].res.cwd_fd, -1);
	spec.follow_cwd = true;
	assert_exit(run(&f, &spec), 3);
	struct stat bin, got;
	assert_int_equal(stat("/usr/bin", &bin) | fstat(f.ended[0].res.cwd_fd, &got), 0);
	assert_true(bin.st_ino == got.st_ino && bin.st_dev == got.st_dev);
	/* the next one is not where that was, and has a mask of its own */
	snprintf(home, sizeof home, "%s", out_of(run_sh(&f, "umask; pwd")));
	char want[4200];
	assert_non_null(getcwd(want + strlen(mask), sizeof want - 32));
	memcpy(want, mask, strlen(mask));
	strcat(want, "\n");
	assert_string_equal(home, want);
	/* one at a time: the second is not followed, and not led about either */
	clear_ended(&f);
	meeting_init(&m, 2);
	snprintf(both, sizeof both, "cd /usr; %s; umask", m.words);
	spec.argv = slow;
	spawn(&f, &spec);
	int second = spawn(&f, &spec);
	wait_for(&f, 2);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(out_of(&f.ended[i]), mask);
		if (f.ended[i].id == second)
			assert_int_equal(f.ended[i].res.cwd_fd, -1);
		else
			assert_ended_in(&f.ended[i], "/usr");
	}
	/* what could not be started, or did not end by itself, has no directory */
	spec.argv = fails;
	assert_non_null(run(&f, &spec)->error);
	assert_int_equal(f.ended[0].res.cwd_fd, -1);
	spec.argv = slow;
	spec.timeout_ms = 50;
	assert_true(run(&f, &spec)->res.timed_out); /* nobody comes to meet it */
	unlink(m.file);
	assert_int_equal(f.ended[0].res.cwd_fd, -1);
	spec.argv = argv;
	spec.timeout_ms = 0;
	assert_exit(run(&f, &spec), 3);
	assert_true(f.ended[0].res.cwd_fd >= 0);
	stop(&f);
}

static void files_are_bounded(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	assert_string_equal(
	        out_of(run_sh(&f, "[ $(ulimit -f) = unlimited ] || [ $(ulimit -f) -gt 8388608 ] || echo ok; "
	                          "ulimit -H -f 16777216 2>/dev/null || echo stays")),
	        "ok\nstays\n");
	stop(&f);
}

/* Of two that run side by side the one with too many is ended, with what it hid. */
static void crowds_are_ended(void **state)
{
	struct fixture f;
	const char *crowd[] = {
		"sh", "-c",
		"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 331 & (setsid sleep 332 &); done; "
		"sleep 333",
		NULL
	};
	const char *quiet[] = { "sh", "-c", "sleep 1; sleep 0.5; echo $$", NULL };
	struct spawn a = spec_of(quiet), b = spec_of(crowd);

	(void)state;
	start_with(&f, 20);
	int first = spawn(&f, &a);
	int second = spawn(&f, &b);
	wait_for(&f, 2);
	const struct ended *bad = &f.ended[f.ended[0].id == second ? 0 : 1], *good = &f.ended[bad == &f.ended[0]];
	assert_int_equal(bad->id, second);
	assert_int_equal(good->id, first);
	assert_exit(good, 0);
	assert_int_equal(good->res.too_many, 0);
	assert_int_equal(bad->res.too_many, 20);
	assert_int_equal(bad->res.signal, SIGKILL);
	assert_string_equal(
	        out_of(run_sh(&f, "ps -eo ppid=,args= | awk -v p=$PPID '$1 == p' | grep -c 'sleep 33[123]'")), "0\n");
	stop(&f);
}

static void environment_is_exact(void **state)
{
	struct fixture f;
	const char *argv[] = { "/usr/bin/env", NULL };
	const char *own[] = { "A=1", "B=two words", NULL };
	const char *none[] = { NULL };
	const char *found[] = { "env", NULL };
	struct spawn spec = spec_of(argv);

	(void)state;
	start(&f);
	spec.envp = own;
	assert_string_equal(out_of(run(&f, &spec)), "A=1\nB=two words\n");
	spec.envp = none;
	spec.argv = found; /* by the default PATH */
	struct ended *d = run(&f, &spec);
	assert_exit(d, 0);
	assert_string_equal(out_of(d), "");
	stop(&f);
}

static void stdin_is_empty(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	assert_string_equal(out_of(run_sh(&f, "readlink /proc/self/fd/0; cat; cat /dev/stdin; echo end")),
	                    "/dev/null\nend\n");
	stop(&f);
}

static void stdin_of_an_exec(void **state)
{
	struct fixture f;
	const char *argv[] = { "sh", "-c", "read line; echo \"<$line>\"; cat | wc -c", NULL };
	struct spawn spec = spec_of(argv);
	static char input[300000];

	(void)state;
	memset(input, 'x', sizeof input);
	memcpy(input, "first\n", 6);
	start(&f);
	spec.input = input;
	spec.input_len = sizeof input;
	assert_string_equal(out_of(run(&f, &spec)), "<first>\n299994\n");
	spec.input = "";
	spec.input_len = 0;
	assert_string_equal(out_of(run(&f, &spec)), "<>\n0\n");
	stop(&f);
}

static void no_terminal(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	struct ended *d = run_sh(&f, "read x </dev/tty");
	assert_null(d->error);
	assert_true(d->res.status != 0);
	assert_non_null(strstr(out_of(d), "/dev/tty"));
	stop(&f);
}

static void no_inherited_descriptors(void **state)
{
	struct fixture f;
	int fds[18];

	(void)state;
	for (int i = 0; i < 18; i++)
		fds[i] = open("/dev/zero", O_RDONLY); /* without close-on-exec */
	start(&f);
	assert_string_equal(out_of(run_sh(&f, "ls -x /proc/self/fd")),
	                    "0  1  2  3\n"); /* 3 is ls's own, of the folder */
	struct ended *d = run_sh(&f, "ls -l /proc/self/fd");
	assert_null(strstr(out_of(d), "zero"));
	assert_null(strstr(out_of(d), "socket"));
	for (int i = 0; i < 18; i++)
		close(fds[i]);
	stop(&f);
}

static void clean_signals(void **state)
{
	struct fixture f;
	static const int ignored[] = { SIGINT, SIGCHLD, SIGUSR1, 32, 33 }; /* the last two libc keeps from us */
	static const unsigned long ignore[16] = { 1 }, by_default[16];

	(void)state;
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		syscall(SYS_rt_sigaction, ignored[i], ignore, NULL, (size_t)8);
	start(&f);
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		syscall(SYS_rt_sigaction, ignored[i], by_default, NULL, (size_t)8);
	const char *text = out_of(run_sh(&f, "grep -E '^Sig(Blk|Ign)' /proc/self/status"));
	assert_string_equal(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	stop(&f);
}

static long oom_score(int pid)
{
	char path[64], text[16] = "";

	snprintf(path, sizeof path, "/proc/%d/oom_score_adj", pid);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof text, file));
	fclose(file);
	return strtol(text, NULL, 10);
}

static void own_session_limits_and_rank(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	struct ended *d = run_sh(&f, "ulimit -c; cat /proc/self/oom_score_adj; set -- $(cat /proc/$$/stat); "
	                             "test $1 = $5 && test $1 = $6 && echo leader");
	assert_int_equal(strncmp(out_of(d), "0\n", 2), 0);
	assert_true(number_in(out_of(d) + 2) >= 500);
	assert_non_null(strstr(out_of(d), "leader\n"));
	assert_int_equal(oom_score(supervisor_pid(f.s)), oom_score(getpid())); /* it outlives them */
	stop(&f);
}

/* A child of root keeps what files need; it cannot look into the process that has the key. */
static void root_children_have_few_capabilities(void **state)
{
	struct fixture f;
	unsigned long long effective = 0, bounding = 0;

	(void)state;
	start(&f);
	const char *text = out_of(run_sh(&f, "grep -E '^Cap(Eff|Bnd)' /proc/self/status"));
	assert_int_equal(sscanf(text, "CapEff: %llx CapBnd: %llx", &effective, &bounding), 2);
	const unsigned long long sys_ptrace = 1ULL << 19, sys_admin = 1ULL << 21, dac_override = 1ULL << 1;
	assert_true((effective & (sys_ptrace | sys_admin)) == 0);
	if (geteuid() == 0) {
		char script[200];
		assert_true((bounding & (sys_ptrace | sys_admin)) == 0);
		assert_true(effective & dac_override);
		snprintf(script, sizeof script, "cat /proc/%d/environ", supervisor_pid(f.s));
		assert_true(run_sh(&f, script)->res.status != 0);
	}
	stop(&f);
}

/* ---- output ---- */

static void interleaving_is_kept(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	assert_string_equal(out_of(run_sh(&f, "echo 1; echo 2 >&2; echo 3; echo 4 >&2")), "1\n2\n3\n4\n");
	stop(&f);
}

static void separate_stderr(void **state)
{
	struct fixture f;
	const char *argv[] = { "sh", "-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2", NULL };
	struct spawn spec = spec_of(argv);

	(void)state;
	start(&f);
	spec.separate_stderr = true;
	struct ended *d = run(&f, &spec);
	assert_string_equal(out_of(d), "1\n3\n");
	assert_string_equal(buf_str(&d->res.err.head), "2\n4\n");
	stop(&f);
}

static void large_output_is_complete(void **state)
{
	struct fixture f;
	const char *argv[] = { "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last", NULL };
	struct spawn spec = spec_of(argv);

	(void)state;
	start(&f);
	spec.keep_head = 4 << 20;
	struct ended *d = run(&f, &spec);
	assert_int_equal(d->res.out.total, 3000006);
	assert_int_equal(d->res.out.head.len, 3000006);
	assert_string_equal(out_of(d) + 3000000, "\nlast\n");
	stop(&f);
}

struct spilling {
	struct fixture f;
	int spill_fd;
};

static int open_spill(void *ctx)
{
	struct spilling *s = ctx;

	s->spill_fd = memfd_create("spill", MFD_CLOEXEC);
	return dup(s->spill_fd);
}

static void spill_holds_everything(void **state)
{
	struct spilling s = { .spill_fd = -1 };
	const char *argv[] = { "seq", "1", "100000", NULL };
	struct spawn spec = spec_of(argv);
	struct stat st;
	char text[8] = "";

	(void)state;
	start(&s.f);
	spec.keep_head = spec.keep_tail = 100;
	spec.max_spill = 1 << 20;
	spec.spill_open = open_spill;
	struct ended *d = run(&s.f, &spec);
	assert_exit(d, 0);
	assert_int_equal(d->res.out.total, 588895);
	assert_int_equal(d->res.out.head.len, 100);
	assert_int_equal(d->res.out.tail.len, 100);
	assert_memory_equal(out_of(d), "1\n2\n3\n", 6);
	assert_string_equal(buf_str(&d->res.out.tail) + 93, "100000\n");
	assert_true(d->res.out.spilled);
	assert_int_equal(fstat(s.spill_fd, &st), 0);
	assert_int_equal(st.st_size, 588895);
	assert_int_equal(pread(s.spill_fd, text, 7, 588895 - 7), 7);
	assert_string_equal(text, "100000\n");
	close(s.spill_fd);
	stop(&s.f);
}

static void pause_and_go_on(void **state)
{
	struct fixture f;
	const char *argv[] = { "sh", "-c", "head -c 300000 /dev/zero", NULL };
	struct spawn spec = spec_of(argv);
	struct error e = ERROR_INIT;

	(void)state;
	start(&f);
	spec.keep_head = 1 << 20;
	spawn(&f, &spec);
	supervisor_pause(f.s, true);
	int64_t until = clock_mono_ms() + 200;
	while (clock_mono_ms() < until)
		assert_true(reactor_wait(f.r, until, &e) >= 0);
	assert_int_equal(f.n, 0); /* more than a pipe holds: it cannot have ended */
	supervisor_pause(f.s, false);
	wait_for(&f, 1);
	assert_exit(&f.ended[0], 0);
	assert_int_equal(f.ended[0].res.out.total, 300000);
	stop(&f);
}

/* ---- time and killing ---- */

static void flood_is_bounded_and_timed_out(void **state)
{
	struct fixture f;
	const char *argv[] = { "yes", NULL };
	struct spawn spec = spec_of(argv);

	(void)state;
	start(&f);
	spec.keep_head = spec.keep_tail = 1000;
	spec.timeout_ms = 900; /* for a busy machine to come to the million, too */
	struct ended *d = run(&f, &spec);
	assert_true(d->res.timed_out);
	assert_false(d->res.killed);
	assert_int_equal(d->res.signal, SIGTERM);
	assert_int_equal(d->res.out.head.len, 1000);
	assert_int_equal(d->res.out.tail.len, 1000);
	assert_true(d->res.out.total > 1000000);
	assert_true(d->res.duration_ms >= 900);
	stop(&f);
}

/* The reactor must come to other things while a child floods. */
static void flood_leaves_time_for_others(void **state)
{
	struct fixture f;
	const char *argv[] = { "yes", NULL };
	const char *argv_echo[] = { "echo", "hello", NULL };
	struct spawn flood = spec_of(argv), other = spec_of(argv_echo);

	(void)state;
	start(&f);
	int id = spawn(&f, &flood);
	spawn(&f, &other);
	wait_for(&f, 1);
	assert_string_equal(out_of(&f.ended[0]), "hello\n");
	supervisor_kill(f.s, id, 0);
	wait_for(&f, 2);
	assert_true(f.ended[1].res.killed);
	stop(&f);
}

static void term_ignored_then_killed(void **state)
{
	struct fixture f;
	const char *argv[] = { "sh", "-c", "trap '' TERM; echo on; while :; do sleep 0.05; done", NULL };
	struct spawn spec = spec_of(argv);

	(void)state;
	start(&f);
	spec.timeout_ms = 900;
	spec.grace_ms = 200;
	struct ended *d = run(&f, &spec);
	assert_true(d->res.timed_out);
	assert_int_equal(d->res.signal, SIGKILL);
	assert_string_equal(out_of(d), "on\n");
	assert_true(d->res.duration_ms >= 1100);
	stop(&f);
}

static void term_handler_has_its_say(void **state)
{
	struct fixture f;
	const char *argv[] = { "sh", "-c", "trap 'echo bye; exit 7' TERM; while :; do sleep 0.05; done", NULL };
	struct spawn spec = spec_of(argv);

	(void)state;
	start(&f);
	spec.timeout_ms = 900;
	struct ended *d = run(&f, &spec);
	assert_true(d->res.timed_out);
	assert_exit(d, 7);
	assert_non_null(strstr(out_of(d), "bye\n")); /* the shell may have said that its sleep was ended */
	stop(&f);
}

static void stopped_child_is_ended(void **state)
{
	struct fixture f;
	const char *argv[] = { "sh", "-c", "kill -STOP $$", NULL };
	struct spawn spec = spec_of(argv);

	(void)state;
	start(&f);
	spec.timeout_ms = 200;
	struct ended *d = run(&f, &spec);
	assert_true(d->res.timed_out);
	assert_int_equal(d->res.signal, SIGTERM);
	stop(&f);
}

/* A timeout ends what is below the child also where it moved to another session. */
static void timeout_reaches_other_sessions(void **state)
{
	struct fixture f;
	const char *argv[] = { "sh", "-c", "setsid sh -c 'echo $$; exec sleep 1000' & wait; sleep 1000", NULL };
	struct spawn spec = spec_of(argv);

	(void)state;
	start(&f);
	spec.timeout_ms = 900;
	struct ended *d = run(&f, &spec);
	assert_true(d->res.timed_out);
	assert_goes(number_in(out_of(d)));
	stop(&f);
}

static void kill_one_of_two(void **state)
{
	struct fixture f;
	const char *argv[] = { "sleep", "1000", NULL };
	struct spawn spec = spec_of(argv);

	(void)state;
	start(&f);
	int a = spawn(&f, &spec);
	int b = spawn(&f, &spec);
	supervisor_kill(f.s, a, 1000);
	wait_for(&f, 1);
	assert_int_equal(f.ended[0].id, a);
	assert_true(f.ended[0].res.killed);
	assert_false(f.ended[0].res.timed_out);
	assert_int_equal(f.ended[0].res.signal, SIGTERM);
	supervisor_kill(f.s, a, 0); /* it is gone: nothing happens */
	supervisor_kill(f.s, b, 0);
	wait_for(&f, 2);
	assert_int_equal(f.ended[1].id, b);
	assert_int_equal(f.ended[1].res.signal, SIGKILL);
	stop(&f);
}

/* ---- many ---- */

static void ten_in_parallel(void **state)
{
	struct fixture f;
	struct meeting m;
	const char *argv[] = { "sh", "-c", m.words, NULL };
	struct spawn spec = spec_of(argv);

	(void)state;
	meeting_init(&m, 10);
	start(&f);
	for (int i = 0; i < 10; i++)
		spawn(&f, &spec);
	wait_for(&f, 10);
	for (int i = 0; i < 10; i++)
		assert_exit(&f.ended[i], 0);
	unlink(m.file);
	stop(&f);
}

static void many_leave_nothing(void **state)
{
	struct fixture f;
	const char *argv[] = { "/bin/true", NULL };
	const char *argv_orphan[] = { "/bin/sh", "-c", "(sleep 0.01 &) ; exit 4", NULL };

	(void)state;
	start(&f);
	assert_exit(run_argv(&f, argv), 0);
	int fds = count_fds(getpid());
	int theirs = count_fds(supervisor_pid(f.s));
	for (int i = 0; i < 480; i++)
		assert_exit(run_argv(&f, argv), 0);
	for (int i = 0; i < 20; i++)
		assert_exit(run_argv(&f, argv_orphan), 4);
	assert_int_equal(count_fds(getpid()), fds);
	/* it tells of an end before it has cleared up behind it */
	for (int i = 0; i < 2000 && (count_children(supervisor_pid(f.s)) || count_fds(supervisor_pid(f.s)) > theirs);
	     i++)
		usleep(10000);
	assert_int_equal(count_children(supervisor_pid(f.s)), 0);
	assert_true(count_fds(supervisor_pid(f.s)) <= theirs);
	stop(&f);
}

/* ---- what is left in the background ---- */

static void background_child_is_not_waited_for(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	struct ended *d = run_sh(&f, "sleep 1000 & echo $!");
	assert_exit(d, 0);
	pid_t pid = number_in(out_of(d));
	assert_alive(pid);
	stop(&f);
	assert_true(is_gone(pid));
}

static void background_flood_is_not_waited_for(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	struct ended *d = run_sh(&f, "trap '' PIPE; yes & exit 0");
	assert_exit(d, 0);
	stop(&f);
}

/* What a shell begins with whose children say at descriptor 9 that they are there. */
#define HEARD "f=$(mktemp -u); mkfifo $f && exec 9<>$f; rm $f\n"

static void daemons_are_ended(void **state)
{
	struct fixture f;
	int a = 0, b = 0, c = 0;

	(void)state;
	start(&f);
	/* Another session; a double fork; one that ignores all that can be ignored. */
	struct ended *d = run_sh(&f, HEARD
	                         "setsid sh -c 'echo $$ >&9; exec sleep 1000' &\n"
	                         "(setsid sh -c '(sh -c \"echo \\$\\$ >&9; exec sleep 1000\" &)' &)\n"
	                         "setsid sh -c 'trap \"\" TERM HUP INT; echo $$ >&9; while :; do sleep 0.1; done' &\n"
	                         "read a <&9; read b <&9; read c <&9; echo $a $b $c");
	assert_exit(d, 0);
	assert_int_equal(sscanf(out_of(d), "%d %d %d", &a, &b, &c), 3);
	assert_alive(a);
	assert_alive(b);
	assert_alive(c);
	clear_ended(&f);
	assert_int_equal(supervisor_stop(f.s, 300), 0);
	reactor_free(f.r);
	assert_true(is_gone(a));
	assert_true(is_gone(b));
	assert_true(is_gone(c));
}

/* A process that lives for a millisecond and leaves a successor: a look at /proc comes too late for each of them,
 * the signal to their group does not. */
static void relay_is_ended(void **state)
{
	struct fixture f;
	char dir[] = "/tmp/test_supervisor.XXXXXX", path[64];
	const char *argv[] = { path, NULL };

	(void)state;
	assert_non_null(mkdtemp(dir));
	write_script(dir, "relay", "#!/bin/sh\ntest -e \"$0\" && \"$0\" &\n", path, sizeof path);
	start(&f);
	assert_exit(run_argv(&f, argv), 0);
	bool seen = false; /* one look can miss it as well */
	for (int i = 0; i < 200 && !seen; i++)
		seen = count_children(supervisor_pid(f.s)) > 0;
	assert_true(seen);
	int rc = supervisor_stop(f.s, 100);
	unlink(path); /* the relay's own end, should we have failed */
	rmdir(dir);
	assert_int_equal(rc, 0);
	clear_ended(&f);
	reactor_free(f.r);
}

static void stop_with_children_running(void **state)
{
	struct fixture f;
	const char *argv[] = { "yes", NULL };
	struct spawn spec = spec_of(argv);

	(void)state;
	start(&f);
	for (int i = 0; i < 3; i++)
		spawn(&f, &spec);
	int pid = supervisor_pid(f.s);
	stop(&f);
	assert_int_equal(f.n, 0);
	assert_true(is_gone(pid));
}

/* ---- calls ---- */

static struct spawn spec_of_call(const char *name, const char *input)
{
	return (struct spawn){ .call = name,
		               .envp = env,
		               .cwd_fd = -1,
		               .input = input,
		               .input_len = strlen(input),
		               .keep_head = KEEP,
		               .max_result = 1000 };
}

static void call_with_result(void **state)
{
	struct fixture f;
	struct spawn spec = spec_of_call("upper", "some text");

	(void)state;
	start(&f);
	struct ended *d = run(&f, &spec);
	assert_exit(d, 5);
	assert_string_equal(out_of(d), "SOME TEXT");
	assert_string_equal(buf_str(&d->res.result), "{\"length\":9,\"nul\":1}");
	spec.max_result = 4;
	spec.input = NULL;
	d = run(&f, &spec);
	assert_exit(d, 5);
	assert_string_equal(buf_str(&d->res.result), "{\"le"); /* cut, not blocked */
	stop(&f);
}

static void what_is_forgotten(void **state)
{
	struct fixture f;
	struct spawn spec = spec_of_call("secret", "");

	(void)state;
	start(&f);
	assert_string_equal(out_of(run(&f, &spec)), "---------");
	assert_string_equal(secret, "only ours");
	stop(&f);
}

static void call_that_crashes(void **state)
{
	struct fixture f;
	struct spawn spec = spec_of_call("crash", "");

	(void)state;
	start(&f);
	struct ended *d = run(&f, &spec);
	assert_null(d->error);
	assert_int_equal(d->res.signal, SIGABRT);
	assert_exit(run_sh(&f, "true"), 0);
	stop(&f);
}

static void call_has_its_environment(void **state)
{
	struct fixture f;
	const char *own[] = { "A=b", NULL };
	struct spawn spec = spec_of_call("environment", "");

	(void)state;
	start(&f);
	spec.envp = own;
	spec.max_result = 0;
	spec.cwd_fd = open("/usr", O_PATH);
	assert_string_equal(out_of(run(&f, &spec)), "A=b HOME=- result=-1 cwd=/usr");
	close(spec.cwd_fd);
	stop(&f);
}

static void result_of_an_exec(void **state)
{
	struct fixture f;
	const char *argv[] = { "sh", "-c", "echo out; pwd >&3", NULL };
	struct spawn spec = spec_of(argv);

	(void)state;
	start(&f);
	spec.max_result = 100;
	spec.cwd_fd = open("/usr", O_PATH);
	struct ended *d = run(&f, &spec);
	assert_string_equal(out_of(d), "out\n");
	assert_string_equal(buf_str(&d->res.result), "/usr\n");
	close(spec.cwd_fd);
	stop(&f);
}

/* ---- bad surroundings; each in a process of its own, so that nothing stays ---- */

static void in_process(void (*fn)(void))
{
	int status;

	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define CHECK(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			print_error("%s:%d: %s\n", __FILE__, __LINE__, #cond);                                         \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

static void ignored_and_blocked(void)
{
	struct fixture f;
	sigset_t all;

	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	start(&f);
	const struct ended *d = run_sh(&f, "exit 3");
	CHECK(!d->error && d->res.exited && d->res.status == 3);
	d = run_sh(&f, "kill -TERM $$");
	CHECK(!d->error && d->res.signal == SIGTERM);
	CHECK(supervisor_stop(f.s, 1000) == 0);
	clear_ended(&f);
	reactor_free(f.r);
}

/* What was inherited may leave no more than the two descriptors that main needs for the socket. */
static void full_table(void)
{
	const struct supervisor_config cfg = { .calls = calls, .ncalls = 4, .forget = forget, .ctx = secret };
	struct fixture f = { 0 };
	struct error e = ERROR_INIT;
	struct rlimit few = { 64, 64 };
	int fd, first = -1, last = -1;

	f.r = reactor_open(&e);
	CHECK(f.r && setrlimit(RLIMIT_NOFILE, &few) == 0);
	while ((fd = open("/dev/zero", O_RDONLY)) >= 0) {
		first = first < 0 ? fd : first;
		last = fd;
	}
	close(last--);
	close(last--);
	f.s = supervisor_start(&cfg, f.r, &e);
	CHECK(f.s);
	for (fd = first; fd <= last; fd++)
		close(fd);
	const struct ended *d = run_sh(&f, "exit 3");
	CHECK(!d->error && d->res.exited && d->res.status == 3);
	CHECK(supervisor_stop(f.s, 1000) == 0);
	clear_ended(&f);
	reactor_free(f.r);
}

static void descriptors_full_before(void **state)
{
	(void)state;
	in_process(full_table);
}

static void signals_ignored_and_blocked_before(void **state)
{
	(void)state;
	in_process(ignored_and_blocked);
}

static void set_soft_limit(pid_t pid, enum __rlimit_resource what, rlim_t soft, struct rlimit *old)
{
	struct rlimit now;

	CHECK(prlimit(pid, what, NULL, &now) == 0);
	if (old)
		*old = now;
	now.rlim_cur = soft;
	CHECK(prlimit(pid, what, &now, NULL) == 0);
}

static void without_processes(void)
{
	struct fixture f;
	struct rlimit old;

	/* The limit does not hold for root. */
	if (geteuid() == 0)
		CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
	start(&f);
	set_soft_limit(supervisor_pid(f.s), RLIMIT_NPROC, 0, &old);
	const struct ended *d = run_sh(&f, "true");
	CHECK(d->error && strstr(d->error, "cannot start a process for 'sh'"));
	set_soft_limit(supervisor_pid(f.s), RLIMIT_NPROC, old.rlim_cur, NULL);
	d = run_sh(&f, "exit 3");
	CHECK(!d->error && d->res.status == 3);
	CHECK(supervisor_stop(f.s, 1000) == 0);
	clear_ended(&f);
	reactor_free(f.r);
}

static void fork_fails(void **state)
{
	(void)state;
	in_process(without_processes);
}

static void without_descriptors(void)
{
	struct fixture f;
	struct rlimit old;

	start(&f);
	run_sh(&f, "true");                       /* the supervisor is up */
	for (rlim_t room = 5; room < 8; room++) { /* too few to receive them, then to start the child */
		set_soft_limit(supervisor_pid(f.s), RLIMIT_NOFILE, room, &old);
		const struct ended *d = run_sh(&f, "true");
		CHECK(d->error);
		set_soft_limit(supervisor_pid(f.s), RLIMIT_NOFILE, old.rlim_cur, NULL);
		d = run_sh(&f, "exit 3");
		CHECK(!d->error && d->res.status == 3);
	}
	/* And on our side. */
	set_soft_limit(getpid(), RLIMIT_NOFILE, 5, &old);
	const struct ended *d = run_sh(&f, "true");
	CHECK(d->error && strstr(d->error, "Too many open files"));
	set_soft_limit(getpid(), RLIMIT_NOFILE, old.rlim_cur, NULL);
	d = run_sh(&f, "exit 3");
	CHECK(!d->error && d->res.status == 3);
	CHECK(supervisor_stop(f.s, 1000) == 0);
	clear_ended(&f);
	reactor_free(f.r);
}

static void descriptors_run_out(void **state)
{
	(void)state;
	in_process(without_descriptors);
}

/* ---- one of the two processes dies ---- */

/* Starts a process that starts a supervisor with children of all kinds, kills it, and looks what stays. */
static void loop_process_is_killed(void **state)
{
	int p[2], a = 0, b = 0, c = 0, sup = 0;
	char text[200] = "";

	(void)state;
	assert_int_equal(pipe(p), 0);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct fixture f;
		const char *argv[] = { "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done", NULL };
		struct spawn spec = spec_of(argv);
		start(&f);
		const struct ended *d = run_sh(
		        &f, HEARD
		        "sleep 1000 & a=$!\n"
		        "setsid sh -c 'echo $$ >&9; exec sleep 1000' &\n"
		        "(setsid sh -c '(sh -c \"trap : TERM; echo \\$\\$ >&9; while :; do sleep 1; done\" &)' &)\n"
		        "read b <&9; read c <&9; echo $a $b $c");
		spawn(&f, &spec);
		dprintf(p[1], "%d %s", supervisor_pid(f.s), out_of(d));
		for (;;)
			reactor_wait(f.r, CLOCK_NEVER, NULL);
	}
	close(p[1]);
	assert_true(read(p[0], text, sizeof text - 1) > 0);
	assert_int_equal(sscanf(text, "%d %d %d %d", &sup, &a, &b, &c), 4);
	assert_alive(a);
	assert_alive(b);
	assert_alive(c);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_goes(sup);
	assert_true(is_gone(a));
	assert_true(is_gone(b));
	assert_true(is_gone(c));
	close(p[0]);
}

/* Two of one process: whichever is lost, what the other has started lives on. */
static void one_of_two_is_killed(void **state)
{
	const char *argv[] = { "sh", "-c", "echo $$; exec sleep 1000", NULL };
	const struct spawn spec = spec_of(argv);

	(void)state;
	for (int lost = 0; lost < 2; lost++) {
		struct fixture f[2];
		struct error e = ERROR_INIT;
		start(&f[0]);
		f[1] = (struct fixture){ .r = f[0].r };
		f[1].s = supervisor_start(&(struct supervisor_config){ .beside = f[0].s }, f[0].r, &e);
		assert_non_null(f[1].s);
		for (int i = 0; i < 2; i++)
			assert_true(supervisor_spawn(f[i].s, &spec, on_done, &f[i], &e) > 0);
		kill(supervisor_pid(f[lost].s), SIGKILL);
		wait_for(&f[lost], 1);
		assert_true(supervisor_lost(f[lost].s));
		supervisor_stop(f[lost].s, 0);
		assert_false(supervisor_lost(f[1 - lost].s));
		assert_alive(supervisor_pid(f[1 - lost].s));
		supervisor_kill(f[1 - lost].s, 1, 0);
		wait_for(&f[1 - lost], 1);
		assert_null(f[1 - lost].ended[0].error);
		assert_true(f[1 - lost].ended[0].res.killed);
		assert_int_equal(supervisor_stop(f[1 - lost].s, 0), 0);
		clear_ended(&f[0]);
		clear_ended(&f[1]);
		reactor_free(f[0].r);
	}
}

/* What the caller has locked stays so until the last child is gone, and no child has it. */
static void what_is_held(void **state)
{
	struct fixture f = { 0 };
	const char *argv[] = { "sh", "-c",
		               "for i in 3 4 5 6 7 8 9; do [ ! -e /proc/$$/fd/$i ] || echo $i; done; echo none", NULL };
	struct spawn spec = spec_of(argv);
	struct error e = ERROR_INIT;
	int p[2], q[2], held[3];
	char c;

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	held[1] = p[1];
	held[2] = fcntl(p[1], F_DUPFD_CLOEXEC, 3);
	held[0] = fcntl(p[1], F_DUPFD_CLOEXEC, 40); /* in no order */
	f.r = reactor_open(&e);
	f.s = supervisor_start(&(struct supervisor_config){ .held = held, .nheld = 3 }, f.r, &e);
	assert_non_null(f.s);
	for (int i = 0; i < 3; i++)
		close(held[i]);
	assert_int_equal(pipe2(q, O_CLOEXEC | O_NONBLOCK), 0); /* one that comes later */
	assert_int_equal(supervisor_hold(f.s, q[1], &e), 0);
	close(q[1]);
	spawn(&f, &spec);
	wait_for(&f, 1);
	assert_string_equal(out_of(&f.ended[0]), "none\n");
	assert_int_equal(read(p[0], &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(read(q[0], &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(supervisor_stop(f.s, 0), 0);
	assert_int_equal(read(p[0], &c, 1), 0);
	assert_int_equal(read(q[0], &c, 1), 0);
	close(p[0]);
	close(q[0]);
	clear_ended(&f);
	reactor_free(f.r);
}

static void supervisor_is_killed(void **state)
{
	struct fixture f;
	/* The child itself, one below it, one below it in another session. */
	struct meeting m;
	char script[300];
	const char *argv[] = { "sh", "-c", script, NULL };
	struct spawn spec = spec_of(argv);
	struct error e = ERROR_INIT;
	struct stat st = { 0 };

	(void)state;
	pid_t own = fork(); /* none of the supervisor's */
	assert_true(own >= 0);
	if (own == 0) {
		pause();
		_exit(0);
	}
	meeting_init(&m, 3); /* they are two, who go on waiting */
	snprintf(script, sizeof script, "sleep 1000 & a=$!; setsid sleep 1001 & echo $$ $a $!; %s", m.words);
	start(&f);
	spawn(&f, &spec);
	spawn(&f, &spec);
	/* until both have said their numbers, and we have read them */
	int64_t until = clock_mono_ms() + PATIENCE;
	while (st.st_size < 2 && clock_mono_ms() < until) {
		assert_true(reactor_wait(f.r, clock_mono_ms() + 20, &e) >= 0);
		assert_int_equal(stat(m.file, &st), 0);
	}
	while (reactor_wait(f.r, clock_mono_ms() + 50, &e) > 0)
		;
	unlink(m.file);
	assert_false(supervisor_lost(f.s));
	kill(supervisor_pid(f.s), SIGKILL);
	wait_for(&f, 2);
	assert_true(supervisor_lost(f.s));
	for (int i = 0; i < 2; i++)
		assert_non_null(strstr(f.ended[i].error, "with it, and how far it came is not known"));
	assert_int_equal(supervisor_spawn(f.s, &spec, on_done, &f, &e), -1);
	assert_int_equal(e.code, ERR_GONE);
	assert_int_equal(supervisor_stop(f.s, 100), 0);
	for (int i = 0; i < 2; i++) {
		int child = 0, below = 0, other_session = 0;
		assert_int_equal(sscanf(out_of(&f.ended[i]), "%d %d %d", &child, &below, &other_session), 3);
		assert_true(is_gone(child));
		assert_true(is_gone(below));
		assert_true(is_gone(other_session));
	}
	assert_alive(own);
	kill(own, SIGKILL);
	assert_int_equal(waitpid(own, NULL, 0), own);
	while (waitpid(-1, NULL, WNOHANG) > 0) /* the orphans that came to us */
		;
	clear_ended(&f);
	reactor_free(f.r);
}

static void supervisor_ignores_the_terminals_signals(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	struct fixture f;

	(void)state;
	start(&f);
	assert_exit(run_sh(&f, "true"), 0);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		kill(supervisor_pid(f.s), signals[i]);
	assert_exit(run_sh(&f, "exit 3"), 3);
	assert_int_equal(getsid(supervisor_pid(f.s)), supervisor_pid(f.s));
	stop(&f);
}

static void stop_of_nothing(void **state)
{
	(void)state;
	assert_int_equal(supervisor_stop(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(echo),
		cmocka_unit_test(exit_codes),
		cmocka_unit_test(death_by_signal),
		cmocka_unit_test(programs_that_cannot_run),
		cmocka_unit_test(refused_specs),
		cmocka_unit_test(too_many_children),
		cmocka_unit_test(directory),
		cmocka_unit_test(followed),
		cmocka_unit_test(files_are_bounded),
		cmocka_unit_test(crowds_are_ended),
		cmocka_unit_test(environment_is_exact),
		cmocka_unit_test(stdin_is_empty),
		cmocka_unit_test(stdin_of_an_exec),
		cmocka_unit_test(no_terminal),
		cmocka_unit_test(no_inherited_descriptors),
		cmocka_unit_test(clean_signals),
		cmocka_unit_test(own_session_limits_and_rank),
		cmocka_unit_test(root_children_have_few_capabilities),
		cmocka_unit_test(interleaving_is_kept),
		cmocka_unit_test(separate_stderr),
		cmocka_unit_test(large_output_is_complete),
		cmocka_unit_test(spill_holds_everything),
		cmocka_unit_test(pause_and_go_on),
		cmocka_unit_test(flood_is_bounded_and_timed_out),
		cmocka_unit_test(flood_leaves_time_for_others),
		cmocka_unit_test(term_ignored_then_killed),
		cmocka_unit_test(term_handler_has_its_say),
		cmocka_unit_test(stopped_child_is_ended),
		cmocka_unit_test(timeout_reaches_other_sessions),
		cmocka_unit_test(kill_one_of_two),
		cmocka_unit_test(ten_in_parallel),
		cmocka_unit_test(many_leave_nothing),
		cmocka_unit_test(background_child_is_not_waited_for),
		cmocka_unit_test(background_flood_is_not_waited_for),
		cmocka_unit_test(daemons_are_ended),
		cmocka_unit_test(relay_is_ended),
		cmocka_unit_test(stop_with_children_running),
		cmocka_unit_test(call_with_result),
		cmocka_unit_test(what_is_forgotten),
		cmocka_unit_test(call_that_crashes),
		cmocka_unit_test(call_has_its_environment),
		cmocka_unit_test(result_of_an_exec),
		cmocka_unit_test(signals_ignored_and_blocked_before),
		cmocka_unit_test(fork_fails),
		cmocka_unit_test(descriptors_run_out),
		cmocka_unit_test(loop_process_is_killed),
		cmocka_unit_test(supervisor_is_killed),
		cmocka_unit_test(one_of_two_is_killed),
		cmocka_unit_test(what_is_held),
		cmocka_unit_test(supervisor_ignores_the_terminals_signals),
		cmocka_unit_test(stop_of_nothing),
		/* The last three are beyond valgrind: it keeps descriptors for itself, and it gives up where an execve
		 * fails that it did not foresee. */
		cmocka_unit_test(descriptors_full_before),
		cmocka_unit_test(scripts),
		cmocka_unit_test(too_large_arguments),
	};
	size_t n = sizeof tests / sizeof *tests;

	return _cmocka_run_group_tests("supervisor", tests, getenv("QUERN_VALGRIND") ? n - 3 : n, NULL, NULL);
}
