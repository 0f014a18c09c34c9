/* The sandbox against the real kernel: children of a real supervisor try what they must not, and do what they may. All
 * of it with Landlock as the kernel has it, and once more as Debian 12's kernel has it. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard/sandbox.h"
#include "guard/sandbox_kernel.h"
#include "sandbox_attacks.h"
#include "supervisor/supervisor.h"

#define KEEP     ((size_t)64 << 10)
#define DEBIAN12 2 /* the ABI of its kernel */

/* ---- a tree, a sandbox and a supervisor ---- */

/* T/work and T/tmp are writable; T/out is not; T/home has secrets. */
static char T[64];
static char big_env[7][160];

struct fixture {
	struct reactor *r;
	struct sandbox *box;
	struct supervisor *s;
	char out[4096]; /* of the last child */
	int status;     /* its exit code, or 256 + its signal */
	pid_t neighbour;
	int log; /* a socket that others log to */
};

static const char *at(const char *name)
{
	static char ring[8][512];
	static int next;
	char *p = ring[next++ % 8];

	snprintf(p, sizeof ring[0], "%s/%s", T, name);
	return p;
}

static void put(const char *name, const char *text)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void remove_tree(void)
{
	char command[200];
	pid_t pid = fork();

	if (pid == 0) {
		snprintf(command, sizeof command, "chmod -R u+rwX %s; rm -rf %s", T, T);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void make_tree(void)
{
	static const char *const dirs[] = { "work", "tmp", "out", "home", "home/.ssh", "home/.config", "home/later" };

	snprintf(T, sizeof T, "/tmp/test-sandbox-XXXXXX");
	assert_non_null(mkdtemp(T));
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		assert_int_equal(mkdir(at(dirs[i]), 0700), 0);
	put("out/file", "precious");
	put("home/.ssh/id", "secret");
	put("home/.netrc", "secret");
	put("home/.profile", "plain");
	put("home/denied", "secret");
	put("key", "secret");
	assert_int_equal(symlink(at("home/.ssh"), at("home/alias")), 0);
}

static struct sandbox_config config(int abi)
{
	static char work[128], key[128], home[128];
	static const char *roots[] = { work, NULL };
	static const char *deny[] = { "~/denied", "~/later/than", NULL };

	snprintf(work, sizeof work, "%s/work", T);
	snprintf(key, sizeof key, "%s/key", T);
	snprintf(home, sizeof home, "%s/home", T);
	return (struct sandbox_config){
		.roots = roots, .read_deny = deny, .key_file = key, .home = home, .max_abi = abi
	};
}

static const struct child_call calls[] = { { "attack", sandbox_attack_call }, { "stopper", sandbox_stopper_call } };

/* What is beside the run. */
static void start_others(struct fixture *f)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	f->neighbour = fork();
	if (f->neighbour == 0) {
		execl("/bin/sleep", "sleep", "600", (char *)NULL);
		_exit(127);
	}
	f->log = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	snprintf(name.sun_path, sizeof name.sun_path, "%s/out/log", T);
	unlink(name.sun_path);
	assert_int_equal(bind(f->log, (const struct sockaddr *)&name, sizeof name), 0);
}

static void stop_others(struct fixture *f)
{
	kill(f->neighbour, SIGKILL);
	assert_int_equal(waitpid(f->neighbour, NULL, 0), f->neighbour);
	close(f->log);
}

static void start(struct fixture *f, const struct sandbox_config *cfg)
{
	struct error e = ERROR_INIT;

	memset(f, 0, sizeof *f);
	f->box = sandbox_open(cfg, &e);
	assert_string_equal(e.msg, "");
	assert_int_equal(sandbox_add_writable(f->box, at("tmp")), 0);
	f->r = reactor_open(&e);
	assert_non_null(f->r);
	struct supervisor_config sup = { .calls = calls, .ncalls = 2, .sandbox = f->box };
	start_others(f);
	f->s = supervisor_start(&sup, f->r, &e);
	assert_non_null(f->s);
}

static void stop(struct fixture *f)
{
	assert_int_equal(supervisor_stop(f->s, 100), 0);
	stop_others(f);
	reactor_free(f->r);
	sandbox_free(f->box);
}

static bool done;

static void on_done(void *ctx, int id, struct child_result *res)
{
	struct fixture *f = ctx;

	(void)id;
	done = true;
	snprintf(f->out, sizeof f->out, "%s%s", res->error ? res->error : "", buf_str(&res->out.head));
	f->status = res->exited ? res->status : 256 + res->signal;
}

static const char *const *environment(const struct fixture *f)
{
	static const char *env[9];

	snprintf(big_env[0], sizeof big_env[0], "TMPDIR=%s/tmp", T);
	snprintf(big_env[1], sizeof big_env[1], "HOME=%s/home", T);
	snprintf(big_env[2], sizeof big_env[2], "O=%s/out", T);
	snprintf(big_env[3], sizeof big_env[3], "W=%s/work", T);
	snprintf(big_env[4], sizeof big_env[4], "LOOP=%d", (int)getpid());
	snprintf(big_env[5], sizeof big_env[5], "SUPERVISOR=%d", supervisor_pid(f->s));
	snprintf(big_env[6], sizeof big_env[6], "NEIGHBOUR=%d", (int)f->neighbour);
	for (int i = 0; i < 7; i++)
		env[i] = big_env[i];
	env[7] = "PATH=/usr/local/bin:/usr/bin:/bin";
	env[8] = NULL;
	return env;
}

static void run(struct fixture *f, struct spawn *spec)
{
	struct error e = ERROR_INIT;
	int work = open(at("work"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	spec->envp = environment(f);
	spec->cwd_fd = work;
	spec->keep_head = KEEP;
	spec->timeout_ms = 60000;
	done = false;
	assert_true(supervisor_spawn(f->s, spec, on_done, f, &e) > 0);
	close(work);
	while (!done)
		assert_int_not_equal(reactor_wait(f->r, CLOCK_NEVER, &e), -1);
}

static void shell(struct fixture *f, const char *command, enum confinement confine)
{
	const char *argv[] = { "bash", "-c", command, NULL };

	run(f, &(struct spawn){ .argv = argv, .confine = confine });
}

static bool have(const char *program)
{
	char path[64];

	snprintf(path, sizeof path, "/usr/bin/%s", program);
	return access(path, X_OK) == 0;
}

static bool is_expected(const char *out, const int expected[3])
{
	for (int i = 0; i < 3 && expected[i]; i++)
		if (strcmp(out, strerrorname_np(expected[i])) == 0)
			return true;
	return false;
}

static void try_attacks(int abi)
{
	struct sandbox_config cfg = config(abi);
	struct fixture f;
	int bad = 0;

	start(&f, &cfg);
	put("home/later/than", "secret");
	for (size_t i = 0; i < sandbox_nattacks; i++) {
		run(&f, &(struct spawn){ .call = "attack",
		                         .input = sandbox_attacks[i].name,
		                         .input_len = strlen(sandbox_attacks[i].name) });
		if (f.status == 0 && is_expected(f.out, sandbox_attacks[i].expected))
			continue;
		print_error("%s: %s (status %d)\n", sandbox_attacks[i].name, f.out, f.status);
		bad++;
	}
	stop(&f);
	assert_int_equal(bad, 0);
	struct stat st;
	assert_int_equal(stat(at("out/file"), &st), 0);
	assert_int_equal(st.st_size, 8);
	assert_int_equal(unlink(at("home/later/than")), 0);
}

static void test_attacks(void **state)
{
	(void)state;
	make_tree();
	try_attacks(0);
	try_attacks(DEBIAN12);
	remove_tree();
}

/* ---- one call and the next ---- */

/* A server that one command begins, another one ends. */
static void kill_across_calls(int abi)
{
	struct sandbox_config cfg = config(abi);
	struct fixture f;
	char command[200];

	start(&f, &cfg);
	shell(&f, "sleep 600 >/dev/null 2>&1 & echo $!", CONFINE_TOOL);
	long pid = strtol(f.out, NULL, 10);
	assert_true(pid > 1);
	snprintf(command, sizeof command, "kill %ld && while kill -0 %ld 2>/dev/null; do sleep 0.01; done", pid, pid);
	shell(&f, command, CONFINE_TOOL);
	assert_string_equal(f.out, "");
	assert_int_equal(f.status, 0);
	/* also from a child that came while an unconfined one was there */
	shell(&f, "sleep 600 >/dev/null 2>&1 & echo $!", CONFINE_TOOL_NET);
	pid = strtol(f.out, NULL, 10);
	snprintf(command, sizeof command, "kill %ld", pid);
	shell(&f, command, CONFINE_TOOL);
	assert_int_equal(f.status, 0);
	stop(&f);
}

static void test_kill_across_calls(void **state)
{
	(void)state;
	make_tree();
	kill_across_calls(0);
	kill_across_calls(DEBIAN12);
	remove_tree();
}

/* Where the kernel can, signals stay inside the run, whichever child comes first. */
static void test_kill_outside(void **state)
{
	struct sandbox_config cfg;
	struct fixture f;

	(void)state;
	if (landlock_abi() < ABI_SCOPES) {
		print_message("# this kernel cannot confine signals to the run\n");
		return;
	}
	make_tree();
	cfg = config(0);
	start(&f, &cfg);
	shell(&f, "kill -0 $NEIGHBOUR", CONFINE_TOOL);
	assert_non_null(strstr(f.out, "not permitted"));
	stop(&f);
	start(&f, &cfg);
	shell(&f, "kill -0 $NEIGHBOUR && sleep 600 >/dev/null 2>&1 & echo $!", CONFINE_NONE);
	pid_t stray = (pid_t)strtol(f.out, NULL, 10);
	shell(&f, "kill -0 $NEIGHBOUR", CONFINE_TOOL);
	assert_non_null(strstr(f.out, "not permitted"));
	shell(&f, "kill -0 $NEIGHBOUR", CONFINE_NONE);
	assert_int_equal(f.status, 0);
	stop(&f);
	assert_int_equal(kill(stray, 0), -1); /* ended though it began before the others were confined */
	remove_tree();
}

/* STOP cannot be blocked: whoever stops a child before its program runs must not stop the supervisor with it. */
static void stop_every_child(int abi)
{
	struct sandbox_config cfg = config(abi);
	struct error e = ERROR_INIT;
	struct fixture f;
	const char *argv[] = { "true", NULL };

	start(&f, &cfg);
	struct spawn stopper = {
		.call = "stopper", .input = "4", .input_len = 1, .envp = environment(&f), .cwd_fd = -1
	};
	assert_true(supervisor_spawn(f.s, &stopper, on_done, &f, &e) > 0);
	int64_t end = clock_mono_ms() + 60000;
	for (int i = 0; i < 40; i++) {
		done = false;
		int id = supervisor_spawn(
		        f.s,
		        &(struct spawn){
		                .argv = argv, .envp = environment(&f), .cwd_fd = -1, .timeout_ms = 50, .grace_ms = 20 },
		        on_done, &f, &e);
		assert_true(id > 0);
		while (!done && clock_mono_ms() < end)
			assert_int_not_equal(reactor_wait(f.r, end, &e), -1);
		if (!done)
			kill(supervisor_pid(f.s), SIGKILL);
		assert_true(done);
	}
	stop(&f);
}

static void test_stopped_before_exec(void **state)
{
	(void)state;
	make_tree();
	stop_every_child(0);
	stop_every_child(DEBIAN12);
	remove_tree();
}

/* ---- what must work ---- */

static const struct {
	const char *program; /* that it needs */
	const char *command;
} good[] = {
	{ "bash", "echo x >f && cat f && rm f && mkdir -p a/b && mv a/b c && rmdir a c" },
	{ "bash", "mkdir d e && echo x >d/f && mv d/f e/g && ln e/g d/h && ln -s ../e/g d/l && cat d/l && rm -r d e" },
	{ "bash", "t=$(mktemp) && echo x >\"$t\" && [ -s \"$t\" ] && rm \"$t\" && [ \"${t%/*}\" = \"$TMPDIR\" ]" },
	{ "bash", "diff <(echo a; echo b) <(printf 'a\\nb\\n')" },
	{ "bash", "cat <<X >/dev/null\nhere\nX\necho x 2>/dev/null >/dev/stderr | cat" },
	{ "bash", "set -o pipefail; seq 1 100000 | sort -n | tail -n 1 | grep -qx 100000" },
	{ "bash", "sleep 30 & kill $!; ! wait $!" },
	{ "bash", "trap 'exit 0' USR1; kill -USR1 $$; exit 1" },
	{ "bash", "set -m; sleep 30 & kill -- -$!; ! wait $!" },
	{ "bash", "cat \"$HOME/.profile\" /etc/passwd >/dev/null && head -c 8 /dev/urandom | wc -c | grep -qx 8" },
	{ "bash", "ls -la \"$HOME\" / /dev >/dev/null" },
	{ "bash", "ulimit -c && ulimit -n 64 && exec 5>f && : >f && truncate -s 0 f && mkfifo p && rm f p" },
	{ "git", "git init -q r && cd r && git config user.email a@b && git config user.name n && echo x >f && "
	         "git add f && git commit -qm first && git mv f g && git commit -qm second && git gc -q && "
	         "git log --oneline | grep -c . | grep -qx 2" },
	{ "cc", "printf 'int main(void){return 0;}' >m.c && printf 'm: m.c\\n\\tcc -o m m.c\\n' >Makefile && make -s "
	        "&& ./m" },
	{ "python3",
	  "python3 -c 'import subprocess, threading, tempfile; t = threading.Thread(target=print); t.start(); "
	  "t.join(); tempfile.TemporaryFile().write(b\"x\"); print(subprocess.check_output([\"echo\", \"x\"]))'" },
	{ "python3",
	  "python3 -c 'import fcntl; f = open(\"lock\", \"w\"); fcntl.lockf(f, fcntl.LOCK_EX); fcntl.flock(f, "
	  "fcntl.LOCK_EX); f.truncate(0)'" },
	{ "python3", "python3 -c 'import asyncio; asyncio.run(asyncio.sleep(0))'" },
	{ "python3",
	  "python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); assert b.recv(1) == b\"x\"'" },
	{ "flock", "flock lock echo x" },
	{ "nice", "nice -n 5 true && (renice -n 19 $$ && taskset -cp 0 $$ && ionice -c 3 true) >/dev/null" },
	{ "tar", "mkdir t && echo x >t/f && tar cf t.tar t && rm -r t && tar xf t.tar && cat t/f" },
	{ "perl", "perl -e 'exit !(fork() ? wait > 0 : exit 0)'" },
};

static void try_good(int abi)
{
	struct sandbox_config cfg = config(abi);
	struct fixture f;
	int bad = 0;

	start(&f, &cfg);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		if (!have(good[i].program))
			continue;
		shell(&f, good[i].command, CONFINE_TOOL);
		if (f.status == 0)
			continue;
		print_error("%s: status %d: %s\n", good[i].command, f.status, f.out);
		bad++;
		shell(&f, "rm -rf ./* .[a-z]*", CONFINE_NONE);
	}
	shell(&f, "rm -rf ./* .[a-z]*", CONFINE_NONE);
	stop(&f);
	assert_int_equal(bad, 0);
}

static void test_good(void **state)
{
	(void)state;
	make_tree();
	try_good(0);
	try_good(DEBIAN12);
	remove_tree();
}

/* ---- profiles ---- */

static void test_profiles(void **state)
{
	struct fixture f;

	(void)state;
	make_tree();
	struct sandbox_config cfg = config(0);
	start(&f, &cfg);
	/* a confined child, then one that is not, then one with the network */
	shell(&f, "echo x >$O/file", CONFINE_TOOL);
	assert_int_not_equal(f.status, 0);
	shell(&f, "echo x >$O/file2 && rm $O/file2 && cat $HOME/.ssh/id", CONFINE_NONE);
	assert_string_equal(f.out, "secret");
	shell(&f, "exec 3<>/dev/tcp/127.0.0.1/1", CONFINE_TOOL);
	assert_non_null(strstr(f.out, "not permitted"));
	shell(&f, "exec 3<>/dev/tcp/127.0.0.1/1", CONFINE_TOOL_NET);
	assert_non_null(strstr(f.out, "refused"));
	shell(&f, "echo x >$O/file", CONFINE_TOOL_NET);
	assert_int_not_equal(f.status, 0);
	run(&f, &(struct spawn){
	                .call = "attack", .input = "a local socket", .input_len = 14, .confine = CONFINE_TOOL_NET });
	assert_string_equal(f.out, "EPERM");
	run(&f, &(struct spawn){ .call = "attack", .input = "vsock", .input_len = 5, .confine = CONFINE_TOOL_NET });
	assert_string_equal(f.out, "EPERM");
	stop(&f);
	remove_tree();
}

static void test_read_only(void **state)
{
	struct fixture f;

	(void)state;
	make_tree();
	struct sandbox_config cfg = config(0);
	cfg.mode = SANDBOX_READ_ONLY;
	start(&f, &cfg);
	shell(&f, "echo x >f", CONFINE_TOOL);
	assert_int_not_equal(f.status, 0);
	shell(&f, "echo x >$TMPDIR/f && cat $TMPDIR/f", CONFINE_TOOL);
	assert_string_equal(f.out, "x\n");
	stop(&f);
	remove_tree();
}

static void test_off(void **state)
{
	struct fixture f;
	const char *words[SANDBOX_WORDS];

	(void)state;
	make_tree();
	struct sandbox_config cfg = config(0);
	cfg.mode = SANDBOX_OFF;
	start(&f, &cfg);
	shell(&f, "echo x >$O/new && cat $HOME/.ssh/id", CONFINE_TOOL);
	assert_string_equal(f.out, "secret");
	assert_false(sandbox_is_whole(f.box));
	sandbox_enforced(f.box, words);
	assert_null(words[0]);
	sandbox_missing(f.box, words);
	assert_null(words[0]);
	stop(&f);
	remove_tree();
}

/* Whoever takes the supervisor for its tracer would stop for ever. */
static void test_traced_by_supervisor(void **state)
{
	struct fixture f;

	(void)state;
	if (!have("python3"))
		return;
	make_tree();
	struct sandbox_config cfg = config(0);
	start(&f, &cfg);
	shell(&f,
	      "exec python3 -c 'import ctypes, os; ctypes.CDLL(None).ptrace(0, 0, 0, 0); os.execv(\"/bin/true\", "
	      "[\"true\"])'",
	      CONFINE_TOOL);
	assert_int_equal(f.status, 256 + SIGKILL);
	shell(&f, "echo goes on", CONFINE_TOOL);
	assert_string_equal(f.out, "goes on\n");
	stop(&f);
	remove_tree();
}

#ifdef __x86_64__
static void test_foreign_calls(void **state)
{
	struct fixture f;

	(void)state;
	if (!have("cc"))
		return;
	make_tree();
	struct sandbox_config cfg = config(0);
	start(&f, &cfg);
	/* getpid by the 32-bit door, and by x32's */
	put("work/f.c",
	    "int main(void) { int r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); return r > 0; }");
	shell(&f, "cc -o f f.c && exec ./f", CONFINE_TOOL);
	assert_true(f.status == 256 + SIGSYS || f.status == 256 + SIGSEGV);
	put("work/f.c",
	    "#include <unistd.h>\n#include <errno.h>\nint main(void) { return syscall(0x40000000 + 39) == -1 && "
	    "errno == ENOSYS ? 0 : 1; }");
	shell(&f, "cc -o f f.c && exec ./f", CONFINE_TOOL);
	assert_int_equal(f.status, 0);
	stop(&f);
	remove_tree();
}
#endif

/* ---- opening ---- */

static void refuses(struct sandbox_config cfg, const char *why)
{
	struct error e = ERROR_INIT;

	assert_null(sandbox_open(&cfg, &e));
	assert_int_equal(e.code, ERR_INPUT);
	if (!strstr(e.msg, why))
		fail_msg("'%s' lacks '%s'", e.msg, why);
}

static void test_places(void **state)
{
	struct fixture f;
	struct error e = ERROR_INIT;
	const char *words[SANDBOX_WORDS];

	(void)state;
	make_tree();
	struct sandbox_config cfg = config(0);
	const char *roots[] = { at("home"), NULL };
	cfg.roots = roots;
	refuses(cfg, "home/.ssh', it lies in");
	cfg.best_effort = true;
	struct sandbox *s = sandbox_open(&cfg, &e);
	assert_non_null(s);
	sandbox_missing(s, words);
	assert_string_equal(words[0], "read_deny");
	assert_false(sandbox_is_whole(s));
	sandbox_free(s);

	cfg = config(0);
	const char *write[] = { at("nowhere"), NULL };
	cfg.write = write;
	refuses(cfg, "sandbox.write");
	write[0] = "~/.config";
	start(&f, &cfg);
	shell(&f, "echo x >$HOME/.config/f && cat $HOME/.config/f; ! echo x >$HOME/f", CONFINE_TOOL);
	assert_int_equal(f.status, 0);
	stop(&f);
	cfg.write = NULL;
	cfg.home = NULL;
	refuses(cfg, "sandbox.read_deny: '~/denied'");
	const char *deny[] = { "/", NULL };
	cfg.read_deny = deny;
	refuses(cfg, "root directory");
	deny[0] = "/nowhere/../x";
	refuses(cfg, "sandbox.read_deny");
	remove_tree();
}

/* HOME may be missing, or lead elsewhere: the user's own secrets are hidden all the same. */
static void test_account_home(void **state)
{
	const char *const homes[] = { NULL, "/nowhere", T };
	struct fixture f;

	(void)state;
	make_tree();
	for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
		struct sandbox_config cfg = config(0);
		cfg.account_home = cfg.home;
		cfg.home = homes[i];
		cfg.read_deny = NULL;
		start(&f, &cfg);
		shell(&f, "cat $HOME/.ssh/id; cat $HOME/.profile", CONFINE_TOOL);
		assert_non_null(strstr(f.out, "plain"));
		assert_null(strstr(f.out, "secret"));
		stop(&f);
	}
	remove_tree();
}

/* A directory above the workspace may be hidden: what is writable stays readable. */
static void test_hidden_above(void **state)
{
	struct fixture f;

	(void)state;
	make_tree();
	struct sandbox_config cfg = config(0);
	const char *deny[] = { T, NULL };
	cfg.read_deny = deny;
	start(&f, &cfg);
	shell(&f, "echo x >f && cat f; cat $O/file", CONFINE_TOOL);
	assert_non_null(strstr(f.out, "x\n"));
	assert_non_null(strstr(f.out, "Permission denied"));
	stop(&f);
	remove_tree();
}

static void test_readable(void **state)
{
	struct fixture f;
	struct error e = ERROR_INIT;

	(void)state;
	make_tree();
	struct sandbox_config cfg = config(0);
	const char *deny[] = { at("out"), NULL };
	cfg.read_deny = deny;
	memset(&f, 0, sizeof f);
	f.box = sandbox_open(&cfg, &e);
	assert_non_null(f.box);
	assert_int_equal(mkdir(at("out/run"), 0700), 0);
	put("out/run/file", "spilled");
	assert_int_equal(sandbox_add_readable(f.box, at("out/run")), 0);
	f.r = reactor_open(&e);
	start_others(&f);
	f.s = supervisor_start(&(struct supervisor_config){ .sandbox = f.box }, f.r, &e);
	assert_non_null(f.s);
	shell(&f, "cat $O/run/file; cat $O/file", CONFINE_TOOL);
	assert_non_null(strstr(f.out, "spilled"));
	assert_null(strstr(f.out, "precious"));
	stop(&f);
	remove_tree();
}

/* Each neighbour of a hidden file costs every child a little: there is a limit, and it is told. */
static void test_too_many(void **state)
{
	struct fixture f;
	char name[32];

	(void)state;
	make_tree();
	for (int i = 0; i < 4200; i++) {
		snprintf(name, sizeof name, "home/f%d", i);
		put(name, "");
	}
	struct sandbox_config cfg = config(0);
	start(&f, &cfg);
	shell(&f, "echo through", CONFINE_TOOL);
	assert_non_null(strstr(f.out, "too many files"));
	assert_null(strstr(f.out, "through"));
	stop(&f);
	remove_tree();
}

static void test_words(void **state)
{
	struct error e = ERROR_INIT;
	struct buf text = BUF_INIT(65536), told = BUF_INIT(65536);
	const char *words[SANDBOX_WORDS];

	(void)state;
	make_tree();
	for (int abi = 1; abi <= 3; abi++) {
		struct sandbox_config cfg = config(abi);
		struct sandbox *s = sandbox_open(&cfg, &e);
		assert_non_null(s);
		assert_int_equal(sandbox_abi(s), abi < landlock_abi() ? abi : landlock_abi());
		sandbox_missing(s, words);
		if (abi == 1)
			assert_string_equal(words[0], "write");
		else
			assert_null(words[0]);
		assert_int_equal(sandbox_is_whole(s), abi > 1);
		sandbox_enforced(s, words);
		assert_string_equal(words[0], abi == 1 ? "truncate" : "write");
		sandbox_describe(s, &text);
		sandbox_tell(s, &told);
		sandbox_free(s);
	}
	/* What the oldest cannot enforce is not said of it. */
	const char *oldest =
	        "Commands run in a sandbox: they have no network, read no stored credentials, gain no rights";
	assert_int_equal(strncmp(buf_str(&told), oldest, strlen(oldest)), 0);
	assert_non_null(strstr(buf_str(&told), "they write only in /tmp/test-sandbox-"));
	buf_release(&told);
	assert_non_null(strstr(buf_str(&text), "# sandbox: workspace-write, network off, Landlock ABI 2\n"));
	assert_non_null(strstr(buf_str(&text), "# sandbox: not enforced by this kernel: write\n"));
	assert_non_null(strstr(buf_str(&text), "/home/.ssh"));
	buf_release(&text);
	remove_tree();
}

/* ---- the loop process's own limits ---- */

static int confined_self(void)
{
	const char *write[] = { at("tmp"), NULL }, *parents[] = { at("work"), NULL };
	struct error e = ERROR_INIT;

	if (sandbox_confine_self(write, parents, &e) != 1)
		return 1;
	if (opens(at("out/file"), O_WRONLY) == 0 || opens(at("work/new"), O_WRONLY | O_CREAT) == 0)
		return 2;
	if (opens(at("tmp/new"), O_WRONLY | O_CREAT) || mkdir(at("tmp/d"), 0700) ||
	    rename(at("tmp/new"), at("tmp/d/new")) || unlink(at("tmp/d/new")) || rmdir(at("tmp/d")))
		return 3;
	if (opens(at("home/.ssh/id"), O_RDONLY) || rmdir(at("work/empty")))
		return 4;
	if (execl("/bin/true", "true", (char *)NULL) == 0 || errno != EPERM)
		return 5;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || kill(getppid(), 0))
		return 6;
	return 0;
}

static void test_self(void **state)
{
	int status;

	(void)state;
	make_tree();
	assert_int_equal(mkdir(at("work/empty"), 0700), 0);
	pid_t pid = fork();
	if (pid == 0)
		_exit(confined_self());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	remove_tree();
}

/* What was opened before stays open; by name there is nothing but the place. */
static int confined_call(void)
{
	const struct sandbox_place places[] = {
		{ open(at("tmp"), O_PATH | O_CLOEXEC), REACH_WRITE },
		{ open(at("home"), O_PATH | O_CLOEXEC), REACH_READ },
		{ open(at("work"), O_PATH | O_CLOEXEC), REACH_NAMES },
		{ -1, REACH_WRITE },
	};
	struct error e = ERROR_INIT;
	int out = open(at("out/file"), O_RDONLY | O_CLOEXEC);
	char c;

	if (out < 0 || sandbox_confine_call(places, 4, &e) != 1)
		return 1;
	if (opens(at("out/file"), O_RDONLY) == 0 || opens(at("work/new"), O_WRONLY | O_CREAT) == 0 ||
	    opens("/etc/passwd", O_RDONLY) == 0)
		return 2;
	if (opens(at("home/.profile"), O_RDONLY) || opens(at("home/.profile"), O_WRONLY) == 0 ||
	    rename(at("work/named"), at("work/other")) || opens(at("work/other"), O_RDONLY) == 0 ||
	    unlink(at("work/other")))
		return 8;
	if (opens(at("tmp/new"), O_WRONLY | O_CREAT) || mkdir(at("tmp/d"), 0700) ||
	    link(at("tmp/new"), at("tmp/d/new")) || symlink("new", at("tmp/l")) || unlink(at("tmp/l")) ||
	    unlink(at("tmp/d/new")) || rmdir(at("tmp/d")) || opens(at("tmp/new"), O_RDONLY))
		return 3;
	if (link(at("out/file"), at("tmp/o")) == 0 || rename(at("tmp/new"), at("work/new")) == 0)
		return 4;
	if (execl("/bin/true", "true", (char *)NULL) == 0 || socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0)
		return 5;
	if (kill(getppid(), 0) == 0)
		return 6;
	return read(out, &c, 1) < 0 ? 7 : 0;
}

static void test_call(void **state)
{
	int status;

	(void)state;
	make_tree();
	put("work/named", "");
	pid_t pid = fork();
	if (pid == 0)
		_exit(confined_call());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	remove_tree();
}

/* ---- a machine that cannot ---- */

static void test_not_here(void **state)
{
	const struct sandbox_config cfg = { .mode = SANDBOX_WORKSPACE_WRITE };
	struct error e = ERROR_INIT;
	struct sandbox *s = sandbox_open(&cfg, &e);

	(void)state;
	assert_non_null(s);
	assert_false(sandbox_is_whole(s));
	print_message("# this kernel cannot enforce the sandbox: the tests of it are left out\n");
	sandbox_free(s);
}

int main(void)
{
	const struct CMUnitTest here[] = {
		cmocka_unit_test(test_attacks),
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_kill_across_calls),
		cmocka_unit_test(test_kill_outside),
		cmocka_unit_test(test_stopped_before_exec),
		cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_traced_by_supervisor),
#ifdef __x86_64__
		cmocka_unit_test(test_foreign_calls),
#endif
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_hidden_above),
		cmocka_unit_test(test_account_home),
		cmocka_unit_test(test_readable),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_call),
	};
	const struct CMUnitTest elsewhere[] = { cmocka_unit_test(test_not_here) };

	if (landlock_abi() < DEBIAN12 || !filter_possible())
		return cmocka_run_group_tests(elsewhere, NULL, NULL);
	return cmocka_run_group_tests(here, NULL, NULL);
}
