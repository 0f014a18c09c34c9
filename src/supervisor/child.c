#include "supervisor/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/caps.h"

#define EXIT_NOT_STARTED 127

static _Noreturn void fail(int status_fd, enum child_step step)
{
	struct child_failure f = { .step = (int32_t)step, .error = errno };
	ssize_t n = write(status_fd, &f, sizeof f);

	(void)n; /* a pipe that is empty takes it; if not, the exit status still tells */
	_exit(EXIT_NOT_STARTED);
}

void child_close_from(int first)
{
	if (close_range((unsigned)first, ~0U, 0) == 0)
		return;
	/* Old container profiles refuse what they do not know. */
	long n = sysconf(_SC_OPEN_MAX);
	for (long fd = first; fd < (n > 0 && n < 65536 ? n : 65536); fd++)
		close((int)fd);
}

/* An own session has no terminal, so /dev/tty fails at once; it is an own process group too. */
static void enter_session(const struct child_plan *plan, const struct child_rules *rules)
{
	if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		fail(plan->status, CHILD_SESSION);
	if (getppid() != rules->supervisor)
		_exit(EXIT_NOT_STARTED); /* it died before the death signal was asked for */
}

void child_default_signals(void)
{
	/* The system call itself, since libc keeps two signals from us, and some runners ignore all there are.
	 * All zero is the default action, no flags and an empty mask in the kernel's structure. */
	static const unsigned long zero[16];

	for (int sig = 1; sig < NSIG; sig++)
		syscall(SYS_rt_sigaction, sig, zero, NULL, (size_t)(NSIG - 1) / 8); /* KILL and STOP refuse */
}

void child_ignore_signals(bool on)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	const struct sigaction sa = { .sa_handler = on ? SIG_IGN : SIG_DFL };

	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		sigaction(ignored[i], &sa, NULL);
}

static void empty_signal_mask(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A copy of fd out of the way of the numbers that are given out below. */
static int lift(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, CHILD_RESULT_FD + 2);
}

/* 0, 1, 2, the result channel on 3, the status pipe behind that; nothing else. Returns the new status fd. */
static int arrange_fds(const struct child_plan *plan)
{
	int status = lift(plan->status);
	int result = lift(plan->result);
	int next = CHILD_RESULT_FD;

	if (status < 0 || (plan->result >= 0 && result < 0))
		fail(plan->status, CHILD_FDS);
	if (plan->in >= 0 && !plan->call && dup2(plan->in, STDIN_FILENO) < 0)
		fail(status, CHILD_FDS);
	if (dup2(plan->out, STDOUT_FILENO) < 0 || dup2(plan->err >= 0 ? plan->err : plan->out, STDERR_FILENO) < 0)
		fail(status, CHILD_FDS);
	if (result >= 0 && dup2(result, next++) < 0)
		fail(status, CHILD_FDS);
	if (dup3(status, next, O_CLOEXEC) < 0)
		fail(status, CHILD_FDS);
	child_close_from(next + 1);
	return next;
}

/* Replaces the process by the file, if it can. errno tells why not. */
static void try_exec(const struct child_plan *plan, const char *file)
{
	execve(file, plan->argv, plan->envp);
	if (errno == ENOEXEC) {
		plan->sh_argv[1] = (char *)(uintptr_t)file;
		execve("/bin/sh", plan->sh_argv, plan->envp);
	}
}

static _Noreturn void fail_exec(int status, const char *file)
{
	int saved = errno;
	bool there = saved == ENOENT && access(file, F_OK) == 0;

	errno = saved;
	fail(status, there ? CHILD_INTERPRETER : CHILD_EXEC);
}

/* A place where the program may be missing without an end to the search. */
static bool search_goes_on(int error)
{
	return error == ENOENT || error == ENOTDIR || error == EACCES || error == ENAMETOOLONG || error == ELOOP;
}

static _Noreturn void search_exec(int status, const struct child_plan *plan)
{
	const char *name = plan->argv[0];
	size_t len = strlen(name);
	char file[PATH_MAX];
	bool denied = false;

	for (const char *dir = plan->path; dir; dir = strchr(dir, ':') ? strchr(dir, ':') + 1 : NULL) {
		size_t n = strcspn(dir, ":");
		if (n + len + 2 > sizeof file)
			continue;
		memcpy(file, dir, n);
		if (n) /* an empty entry is the current directory */
			file[n++] = '/';
		memcpy(file + n, name, len + 1);
		/* looking costs less than an execve that fails, and most entries of a long PATH miss */
		if (access(file, F_OK) && search_goes_on(errno)) {
			denied = denied || errno == EACCES;
			continue;
		}
		try_exec(plan, file);
		if (!search_goes_on(errno) || errno == ENOENT) /* the file is there: its interpreter is not */
			fail_exec(status, file);
		denied = denied || errno == EACCES;
	}
	errno = denied ? EACCES : ENOENT;
	fail(status, CHILD_EXEC);
}

static _Noreturn void run_exec(int status, const struct child_plan *plan)
{
	const char *name = plan->argv[0];

	if (*name && !strchr(name, '/'))
		search_exec(status, plan);
	try_exec(plan, name);
	fail_exec(status, name);
}

/* The input bytes with a NUL behind. The child of a process with one thread may use malloc. */
static char *read_input(const struct child_plan *plan)
{
	char *text = malloc(plan->input_len + 1);
	size_t got = 0;

	while (text && got < plan->input_len) {
		ssize_t n = pread(plan->in, text + got, plan->input_len - got, (off_t)got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			fail(plan->status, CHILD_INPUT);
		got += (size_t)n;
	}
	if (!text)
		fail(plan->status, CHILD_INPUT);
	text[got] = '\0';
	return text;
}

static _Noreturn void run_call(int status, const struct child_plan *plan, char *input)
{
	close(status);
	environ = plan->envp;
	int rc = plan->call->fn(input, plan->input_len, plan->result >= 0 ? CHILD_RESULT_FD : -1);
	free(input);
	/* _exit: the standard streams' buffers are copies of the loop process's and not ours to write. */
	_exit(rc);
}

_Noreturn void child_run(const struct child_plan *plan, const struct child_rules *rules)
{
	const struct rlimit no_core = { 0, 0 };

	enter_session(plan, rules);
	child_ignore_signals(false); /* all others have their default action in the supervisor too */
	int cwd = plan->cwd >= 0 ? plan->cwd : rules->home;
	if (cwd >= 0 && fchdir(cwd))
		fail(plan->status, CHILD_DIRECTORY);
	umask(rules->mask);
	char *input = plan->call ? read_input(plan) : NULL;
	/* What needs rights on files is done. The ruleset's descriptor goes with all others in a moment. */
	if (plan->sandbox && sandbox_enter(plan->sandbox, plan->network))
		fail(plan->status, CHILD_SANDBOX);
	int status = arrange_fds(plan);
	if (setrlimit(RLIMIT_CORE, &no_core) || setrlimit(RLIMIT_FSIZE, &rules->file_size))
		fail(status, CHILD_LIMITS);
	if (caps_drop(rules->no_new_privileges))
		fail(status, CHILD_PRIVILEGES);
	empty_signal_mask();
	if (plan->call)
		run_call(status, plan, input);
	run_exec(status, plan);
}
