/* Write: bytes as given, only over what was read, and old or new content whatever goes wrong. */
#include "tool_world.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_out.h"
#include "tool/file.h"

#define S(literal) literal, sizeof(literal) - 1

static const char *write_it(struct tool_world *w, const char *path, const char *content, size_t n)
{
	struct buf b = BUF_INIT(BUF_HUGE);
	struct json_out o;

	json_out_init(&o, &b);
	jo_object(&o);
	jo_kstr(&o, "file_path", path);
	jo_key(&o, "content");
	jo_strn(&o, content, n);
	jo_end(&o);
	const char *text = tool_world_call(w, "Write", "%s", buf_str(&b));
	buf_release(&b);
	return text;
}

static void new_files_and_directories(void **state)
{
	struct tool_world *w = *state;

	assert_contains(write_it(w, "a/b/c/new.txt", S("x\r\ny\nz")), "created");
	assert_false(w->result.is_error);
	assert_true(w->result.ran);
	assert_contains(w->result.structured, "\"type\":\"create\"");
	tool_world_expect(w, "a/b/c/new.txt", S("x\r\ny\nz"));
	write_it(w, "nul", S("a\0b"));
	tool_world_expect(w, "nul", S("a\0b"));
	write_it(w, "empty", S(""));
	tool_world_expect(w, "empty", S(""));
	char path[400];
	snprintf(path, sizeof path, "%s/abs.txt", w->work);
	assert_contains(write_it(w, path, S("abs")), "created");
	tool_world_expect(w, "abs.txt", S("abs"));
}

static void a_file_must_have_been_read(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "f", S("old\n"));
	assert_string_equal(
	        write_it(w, "f", S("new\n")),
	        "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>");
	assert_true(w->result.is_error);
	tool_world_expect(w, "f", S("old\n"));
	tool_world_call(w, "Read", "{\"file_path\":\"f\"}");
	tool_world_put(w, "f", S("other\n"));
	assert_string_equal(write_it(w, "f", S("new\n")),
	                    "<tool_use_error>File has been unexpectedly modified. Read it again "
	                    "before attempting to write it.</tool_use_error>");
	tool_world_expect(w, "f", S("other\n"));
	tool_world_call(w, "Read", "{\"file_path\":\"./f\"}");
	tool_world_sh(w, "touch -d 2001-01-01 f");
	assert_contains(write_it(w, "f", S("new\n")), "replaced");
	assert_contains(write_it(w, "f", S("newer\n")), "replaced");
	tool_world_expect(w, "f", S("newer\n"));
	assert_contains(write_it(w, "made", S("1")), "created");
	assert_contains(write_it(w, "made", S("2")), "replaced");
}

/* A Read whose answer was withdrawn was never shown to the model. */
static void a_withdrawn_read_does_not_count(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "kept", S("old\n"));
	tool_world_put(w, "f", S("old\n"));
	toolbox_answer_begins(w->toolbox);
	tool_world_call(w, "Read", "{\"file_path\":\"kept\"}");
	toolbox_answer_begins(w->toolbox);
	tool_world_call(w, "Read", "{\"file_path\":\"f\"}");
	toolbox_answer_withdrawn(w->toolbox);
	assert_contains(write_it(w, "f", S("new\n")), "has not been read yet");
	assert_contains(write_it(w, "kept", S("new\n")), "has been replaced");
	toolbox_answer_begins(w->toolbox);
	tool_world_call(w, "Read", "{\"file_path\":\"f\"}");
	assert_contains(write_it(w, "f", S("new\n")), "has been replaced");
}

static void a_part_is_not_enough_but_pages_add_up(void **state)
{
	struct tool_world *w = *state;

	tool_world_sh(w, "seq 1 3000 >f");
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"f\"}"), "PARTIAL view: lines 1-2000 of 3000");
	assert_contains(write_it(w, "f", S("x")), "Only a part of it was read");
	tool_world_call(w, "Read", "{\"file_path\":\"f\",\"offset\":2001}");
	assert_contains(write_it(w, "f", S("x")), "replaced");
	/* After an edit of a part the rest is still unseen. */
	tool_world_sh(w, "seq 1 3000 >g");
	tool_world_call(w, "Read", "{\"file_path\":\"g\",\"limit\":5}");
	tool_world_call(w, "Edit", "{\"file_path\":\"g\",\"old_string\":\"\\n3\\n\",\"new_string\":\"\\nthree\\n\"}");
	assert_false(w->result.is_error);
	assert_contains(write_it(w, "g", S("x")), "not been read");
	/* After an edit of a file that is known, it is known. */
	tool_world_put(w, "h", S("a\n"));
	tool_world_call(w, "Read", "{\"file_path\":\"h\"}");
	tool_world_call(w, "Edit", "{\"file_path\":\"h\",\"old_string\":\"a\",\"new_string\":\"b\"}");
	assert_contains(write_it(w, "h", S("x")), "replaced");
}

static void a_byte_order_mark_is_kept(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "bom", S("\xEF\xBB\xBFold\r\n"));
	tool_world_call(w, "Read", "{\"file_path\":\"bom\"}");
	write_it(w, "bom", S("new\n"));
	tool_world_expect(w, "bom", S("\xEF\xBB\xBFnew\n"));
	write_it(w, "bom", S("\xEF\xBB\xBFnewer\n"));
	tool_world_expect(w, "bom", S("\xEF\xBB\xBFnewer\n"));
}

static void links_lead_nowhere_outside(void **state)
{
	static const char *const refused[] = {
		"file-out",       "dir-out/new.txt",     "dangling-out",     "chain1", "../outside/x",
		"../work-evil/x", "sub/../../outside/x", "dir-out/../x.txt", "loop-a"
	};
	struct tool_world *w = *state;

	tool_world_sh(
	        w,
	        "mkdir -p sub ../outside ../work-evil; echo original >../outside/victim.txt; ln -s ../outside dir-out;"
	        "ln -s ../outside/victim.txt file-out; ln -s ../outside/not-yet.txt dangling-out; ln -s file-out "
	        "chain1;"
	        "ln -s loop-b loop-a; ln -s loop-a loop-b; ln -s sub dir-in; cp -a ../outside ../copy");
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		write_it(w, refused[i], S("bad"));
		if (!w->result.is_error)
			fail_msg("%s was written", refused[i]);
	}
	tool_world_sh(w, "diff -r ../outside ../copy && test -z \"$(ls ../work-evil)\" && test ! -e ../x.txt");
	assert_contains(write_it(w, "dir-in/new.txt", S("fine")), "created");
	tool_world_expect(w, "sub/new.txt", S("fine"));
}

static void modes_and_kinds(void **state)
{
	struct tool_world *w = *state;

	tool_world_sh(w, "echo x >s; chmod 751 s; mkdir d");
	tool_world_call(w, "Read", "{\"file_path\":\"s\"}");
	write_it(w, "s", S("y"));
	tool_world_sh(w, "test $(stat -c %%a s) = 751");
	assert_contains(write_it(w, "d", S("y")), "not a regular file");
	assert_contains(write_it(w, "s/x", S("y")), "Not a directory");
}

/* The replacing itself, under limits that a supervisor's child cannot be given from here. Returns the exit status. */
static int in_child(struct tool_world *w, void (*limit)(void))
{
	static char big[600 * 1024];
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0) {
		int status;
		waitpid(pid, &status, 0);
		return status;
	}
	struct error e = ERROR_INIT;
	struct stat old, now;
	const char *dirs[] = { w->work, NULL };
	enum path_verdict why;
	char name[256];
	struct roots *r = roots_open(dirs, &e);
	int dir = path_open_parent(r, "target", false, name, &why, &e);
	roots_free(r);
	if (dir < 0 || fstatat(dir, name, &old, 0) < 0)
		_exit(9);
	memset(big, 'n', sizeof big);
	limit();
	_exit(file_replace(dir, name, &old, big, sizeof big, &now, &e) == 0 ? 0 : strstr(e.msg, "unchanged") ? 1 : 2);
}

static void limit_size(void)
{
	struct rlimit l = { 256 * 1024, 256 * 1024 };

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &l);
}

static void die_in_the_write(void)
{
	struct rlimit l = { 256 * 1024, 256 * 1024 }, no_core = { 0, 0 };

	signal(SIGXFSZ, SIG_DFL);
	setrlimit(RLIMIT_CORE, &no_core);
	setrlimit(RLIMIT_FSIZE, &l);
}

static void become_nobody(void)
{
	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0))
		_exit(9);
}

static void term_pending(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGTERM);
}

static void failures_leave_the_old_content(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "target", S("old\n"));
	assert_int_equal(in_child(w, limit_size), 1 << 8);
	tool_world_expect(w, "target", S("old\n"));
	assert_int_equal(in_child(w, term_pending), 1 << 8);
	tool_world_expect(w, "target", S("old\n"));
	/* A directory that may not be written, a file that may not be written. */
	tool_world_sh(w, "chmod 755 .. ; chmod 666 target; chmod 555 .");
	assert_int_equal(in_child(w, become_nobody), 1 << 8);
	tool_world_sh(w, "chmod 777 .; chmod 444 target");
	assert_int_equal(in_child(w, become_nobody), 1 << 8);
	tool_world_expect(w, "target", S("old\n"));
	tool_world_sh(w, "test \"$(ls -A)\" = target");
}

/* Killed while it writes: the old content, and nothing beside it where files without a name exist. */
static void a_kill_leaves_the_old_content(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "target", S("old\n"));
	int status = in_child(w, die_in_the_write);
	assert_true(WIFSIGNALED(status));
	tool_world_expect(w, "target", S("old\n"));
	int fd = open(w->work, O_WRONLY | O_TMPFILE, 0600);
	if (fd >= 0) {
		close(fd);
		tool_world_sh(w, "test \"$(ls -A)\" = target");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(new_files_and_directories, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(a_file_must_have_been_read, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(a_withdrawn_read_does_not_count, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(a_part_is_not_enough_but_pages_add_up, tool_world_setup,
		                                tool_world_teardown),
		cmocka_unit_test_setup_teardown(a_byte_order_mark_is_kept, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(links_lead_nowhere_outside, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(modes_and_kinds, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(failures_leave_the_old_content, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(a_kill_leaves_the_old_content, tool_world_setup, tool_world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
