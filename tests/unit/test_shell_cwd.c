/* Bash from call to call: the directory stays, nothing else does, and a command cannot tell that it is watched. */
#include "tool_world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_out.h"
#include "tool/internal.h"

static const char *bash(struct tool_world *w, const char *command)
{
	struct buf b = BUF_INIT(65536);
	struct json_out o;

	json_out_init(&o, &b);
	jo_object(&o);
	jo_kstr(&o, "command", command);
	jo_end(&o);
	const char *text = tool_world_call(w, "Bash", "%s", buf_str(&b));
	buf_release(&b);
	return text;
}

static bool followed(void)
{
	return !getenv("QUERN_VALGRIND"); /* see supervisor/follow.c */
}

/* pwd of the next call, and what the toolbox says beforehand, are both the workspace or a directory below it. */
static void assert_stands(struct tool_world *w, const char *below)
{
	char want[700];

	snprintf(want, sizeof want, "%s%s%s", w->work, *below ? "/" : "", below);
	assert_string_equal(w->toolbox->bash_cwd, want);
	strcat(want, "\n");
	assert_string_equal(bash(w, "pwd"), want);
}

static void directory_stays(void **state)
{
	struct tool_world *w = *state;

	if (!followed())
		skip();
	tool_world_sh(w, "mkdir -p sub/deep other; ln -s sub/deep link");
	assert_stands(w, "");
	assert_string_equal(bash(w, "cd sub/deep"), "(Bash completed with no output)");
	assert_stands(w, "sub/deep");
	bash(w, "cd ..; false");
	assert_stands(w, "sub");
	bash(w, "cd /; cd \"$OLDPWD\"");
	assert_stands(w, "sub");
	bash(w, "(cd deep); cd deep | cat; bash -c 'cd deep'; x=$(cd deep; pwd)");
	assert_stands(w, "sub");
	bash(w, "cd ../link");
	assert_stands(w, "sub/deep");
	bash(w, "cd ../../other && kill -9 $$");
	assert_stands(w, "other");
	bash(w, "cd ..");
	assert_stands(w, "");
}

static void nothing_else_stays(void **state)
{
	struct tool_world *w = *state;
	char before[32];

	snprintf(before, sizeof before, "%s", bash(w, "umask"));
	bash(w, "export FOO=1; umask 0777; shopt -s dotglob; f() { :; }; ulimit -n 20; alias x=y; BAR=2");
	assert_string_equal(bash(w, "echo \"$FOO$BAR\"; type f 2>/dev/null; shopt dotglob"),
	                    "Exit code 1\n\ndotglob        \toff\n");
	assert_string_equal(bash(w, "umask"), before);
}

static void outside_is_reset(void **state)
{
	struct tool_world *w = *state;
	char note[700];

	if (!followed())
		skip();
	snprintf(note, sizeof note, "Shell cwd was reset to %s", w->work);
	assert_contains(bash(w, "cd /"), note);
	assert_string_equal(w->result.text + strlen(w->result.text) - strlen(note), note);
	assert_false(w->result.is_error);
	assert_stands(w, "");
	assert_contains(bash(w, "printf x; cd /tmp; exit 3"), note);
	assert_true(w->result.is_error);
	assert_contains(w->result.text, "Exit code 3\nx\n");
	/* a name that only begins like the workspace */
	tool_world_sh(w, "mkdir -p '%s-2'", w->work);
	assert_contains(bash(w, "cd ../work-2"), note);
	assert_stands(w, "");
}

static void added_directories_count(void **state)
{
	struct tool_world *w = *state;
	char dir[400], want[420], command[900];
	const char *dirs[] = { dir, NULL };

	if (!followed())
		skip();
	snprintf(dir, sizeof dir, "%s/added", w->dir);
	assert_int_equal(mkdir(dir, 0755), 0);
	w->cfg.add_dirs = dirs;
	tool_world_reopen(w);
	snprintf(command, sizeof command, "mkdir -p '%s/in'; cd '%s/in'", dir, dir);
	bash(w, command);
	snprintf(want, sizeof want, "%s/in\n", dir);
	assert_string_equal(bash(w, "pwd"), want);
	/* the run directory may be read, but it is no place to stand */
	snprintf(command, sizeof command, "cd '%s'", w->run_dir);
	assert_contains(bash(w, command), "Shell cwd was reset to");
	w->cfg.add_dirs = NULL;
	tool_world_reopen(w);
}

static void directory_that_goes(void **state)
{
	struct tool_world *w = *state;

	if (!followed())
		skip();
	assert_contains(bash(w, "mkdir gone && cd gone && rmdir ../gone"), "Shell cwd was reset to");
	assert_stands(w, "");
	bash(w, "mkdir a && cd a");
	tool_world_sh(w, "rmdir a");
	assert_contains(bash(w, "touch ../made"), "was moved or deleted, so the command was not run");
	assert_true(w->result.is_error);
	assert_false(w->result.ran || w->result.cancels_siblings);
	tool_world_sh(w, "test ! -e made");
	assert_stands(w, "");
	bash(w, "mkdir b && cd b");
	tool_world_sh(w, "mv b c; mkdir b");
	assert_contains(bash(w, "pwd"), "was moved or deleted");
	assert_stands(w, "");
}

static void cancelled_and_timed_out_do_not_move(void **state)
{
	struct tool_world *w = *state;

	if (!followed())
		skip();
	tool_world_sh(w, "mkdir t");
	tool_world_call(w, "Bash", "{\"command\":\"cd t; sleep 303\",\"timeout\":300}");
	assert_true(w->result.is_error);
	assert_stands(w, "");
	assert_true(tool_world_start(w, "Bash", "{\"command\":\"cd t; touch here; sleep 303\"}"));
	char id[32], path[400];
	snprintf(id, sizeof id, "toolu_%d", w->calls);
	snprintf(path, sizeof path, "%s/t/here", w->work);
	while (access(path, F_OK))
		assert_true(reactor_wait(w->reactor, clock_mono_ms() + 20, NULL) >= 0);
	toolbox_cancel(w->toolbox, id, 100);
	tool_world_wait(w);
	assert_stands(w, "");
}

/* ---- the same as without us ---- */

/* What `bash -c` itself says to it: "status\noutput". */
static void plain_bash(const struct tool_world *w, const char *command, struct buf *out)
{
	int p[2], status;
	char chunk[4096];
	ssize_t n;

	assert_int_equal(pipe(p), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char *argv[] = { "bash", "--norc", "--noprofile", "-c", (char *)(uintptr_t)command, NULL };
		if (chdir(w->work) || dup2(p[1], 1) < 0 || dup2(p[1], 2) < 0 || !freopen("/dev/null", "r", stdin))
			_exit(99);
		closefrom(3);
		/* As the tool's: whoever started the tests may ignore some. */
		for (int signo = 1; signo < NSIG; signo++)
			signal(signo, SIG_DFL);
		execvpe("bash", argv, (char *const *)(uintptr_t)w->cfg.child_env);
		_exit(99);
	}
	close(p[1]);
	while ((n = read(p[0], chunk, sizeof chunk)) > 0)
		buf_add(out, chunk, (size_t)n);
	close(p[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	struct buf text = BUF_INIT(65536);
	if (status) /* as the tool words it */
		buf_addf(&text, "Exit code %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	if (WIFSIGNALED(status))
		buf_addf(&text, "The shell was ended by signal %d (%s).\n", WTERMSIG(status),
		         strsignal(WTERMSIG(status)));
	buf_add(&text, out->data, out->len);
	if (!text.len)
		buf_adds(&text, "(Bash completed with no output)");
	buf_release(out);
	*out = text;
}

static const struct {
	const char *command, *stands; /* stands: below the workspace */
} commands[] = {
	{ "cd d", "d" },
	{ "cd d; exit 7", "d" },
	{ "cd d && trap 'echo bye; cd e' EXIT", "d/e" },
	{ "trap 'exit 9' EXIT; cd d", "d" },
	{ "trap 'echo t; trap - EXIT; exit 4' TERM; cd d; kill -TERM $$; echo no", "d" },
	{ "cd d; exec sh -c 'cd e; echo $0; exit 5' name", "d/e" },
	{ "exec ls d", "" },
	{ "exec /nonexistent/program", "" },
	{ "cd d; exec 3>&-; exec 3>/dev/null 4>&3; echo x >&3; exec 3>&-; echo done", "d" },
	{ "ls /proc/self/fd", "" },
	{ "if true", "" },
	{ "cd d; )", "" },
	{ "cd d\necho one\nfi", "d" },
	{ "echo 'never closed", "" },
	{ "echo \"never closed", "" },
	{ "echo $(never closed", "" },
	{ "set -e; cd d; false; echo unreached", "d" },
	{ "set -eu; cd d; echo $UNSET_NAME; echo unreached", "d" },
	{ "set -u; echo ${UNSET_NAME:?is not set}", "" },
	{ "set -o pipefail; cd d; false | true", "d" },
	{ "cat <<E\nin $((1 + 1))\nE", "" },
	{ "cd d; cat <<'E'\n$raw\nE\n", "d" },
	{ "cat <<E\nno end", "" },
	{ "cat <<-E\n\ttabs\n\tE", "" },
	{ "cd d # and nothing else", "d" },
	{ "echo a # trap", "" },
	{ "echo a \\", "" },
	{ "echo a\\", "" },
	{ "echo a \\\n", "" },
	{ "\n\n\necho $LINENO; nosuchcommand", "" },
	{ "", "" },
	{ ":", "" },
	{ "# nothing", "" },
	{ "nosuchcommand --x", "" },
	{ "./d", "" },
	{ "cd nosuchdir", "" },
	{ "cd nosuchdir || cd d", "d" },
	{ "echo $0 $# $-; echo ${BASH_SOURCE[0]}", "" },
	{ "echo $BASH_COMMAND $BASH_SUBSHELL $SHLVL", "" },
	{ "f() { cd d; return 6; }; f", "d" },
	{ "pushd d >/dev/null; pushd e >/dev/null; popd", "d" },
	{ "cd d; kill -TERM $$", "d" },
	{ "cd d; kill -9 $$", "d" },
	{ "ulimit -c; ulimit -t", "" },
	{ "cd -P l; pwd; pwd -L", "d/e" },
	{ "PWD=/nowhere; cd d; echo ${#PWD} >/dev/null; true", "d" },
	{ "unset PWD OLDPWD HOME; cd d", "d" },
	{ "cd; echo no home", "" },
	{ "jobs; wait; cd d & wait", "" },
	{ "{ cd d; } 2>&1; ( cd e; exit 2 )", "d" },
	{ "TIMEFORMAT=took; time true; cd d", "d" },
	{ "read x; echo \"$? [$x]\"", "" },
	{ "eval 'cd d; exit 3'", "d" },
	{ "exit 256", "" },
	{ "exit -1", "" },
	{ "exit abc", "" },
	{ "return 3", "" },
	{ "declare -r R=1; R=2; cd d", "" },
	{ "a=(1 2; cd d", "" },
	{ "shopt -s extglob; cd d\necho !(x)", "d" },
	{ "cd $'d'; printf '%s\\n' \"$(basename \"$PWD\")\"", "d" },
	{ "coproc cat; cd d; kill $COPROC_PID; wait 2>/dev/null; true", "d" },
	{ "disown -a; cd d", "d" },
	{ "set -m; cd d; sleep 0 & wait %1; echo $?", "d" },
	{ "trap -p; cd d; trap", "d" },
};

/* What cannot be parsed is not run, so there is nothing to compare. */
#define REFUSED_MOST 12

static void a_command_cannot_tell(void **state)
{
	struct tool_world *w = *state;
	int refused = 0;

	tool_world_sh(w, "mkdir -p d/e; ln -s d/e l");
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		struct buf want = BUF_INIT(65536);
		plain_bash(w, commands[i].command, &want);
		if (*commands[i].command) /* the tool refuses an empty one */
			bash(w, commands[i].command);
		if (w->result.denied)
			refused++;
		else if (*commands[i].command && strcmp(w->result.text, buf_str(&want)) != 0)
			fail_msg("%s\nbash -c: %s\nthe tool: %s", commands[i].command, buf_str(&want), w->result.text);
		buf_release(&want);
		char path[700];
		snprintf(path, sizeof path, "%s%s%s", w->work, *commands[i].stands ? "/" : "", commands[i].stands);
		if (followed() && !w->result.denied && strcmp(w->toolbox->bash_cwd, path) != 0)
			fail_msg("%s\nleft the shell in %s", commands[i].command, w->toolbox->bash_cwd);
		tool_world_reopen(w);
	}
	assert_in_range(refused, 0, REFUSED_MOST);
}

#define world_test(f) cmocka_unit_test_setup_teardown(f, tool_world_setup, tool_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(directory_stays),       world_test(nothing_else_stays),
		world_test(outside_is_reset),      world_test(added_directories_count),
		world_test(directory_that_goes),   world_test(cancelled_and_timed_out_do_not_move),
		world_test(a_command_cannot_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
