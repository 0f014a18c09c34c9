/* Read: numbers, windows, limits, bytes that are no text, images, and what may not be read. */
#include "tool_world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

#define S(literal) literal, sizeof(literal) - 1

static const char *read_it(struct tool_world *w, const char *path)
{
	return tool_world_call(w, "Read", "{\"file_path\":\"%s\"}", path);
}

static void lines_have_numbers(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "f", S("first\n\nthird, no end"));
	assert_string_equal(read_it(w, "f"), "     1\tfirst\n     2\t\n     3\tthird, no end\n");
	assert_false(w->result.is_error);
	assert_string_equal(w->result.structured,
	                    "{\"type\":\"text\",\"file\":{\"filePath\":\"f\",\"content\":\"first\\n\\nthird, "
	                    "no end\\n\",\"numLines\":3,\"startLine\":1,\"totalLines\":3}}");
	tool_world_put(w, "crlf",
	               S("\xEF\xBB\xBF"
	                 "a\r\nb\rc\r\n"));
	assert_string_equal(read_it(w, "crlf"), "     1\ta\n     2\tb\rc\n");
	tool_world_put(w, "sep", S("flag = 0\nls:\xE2\x80\xA8ps:\xE2\x80\xA9nel:\xC2\x85vt:\vff:\fend\n"));
	assert_contains(read_it(w, "sep"), "     2\tls:");
	assert_contains(w->result.structured, "\"totalLines\":2");
}

static void windows(void **state)
{
	struct tool_world *w = *state;

	tool_world_sh(w, "seq 1 10 >f; seq 1 2500 >long");
	assert_string_equal(tool_world_call(w, "Read", "{\"file_path\":\"f\",\"offset\":4,\"limit\":2}"),
	                    "     4\t4\n     5\t5\n");
	assert_string_equal(tool_world_call(w, "Read", "{\"file_path\":\"f\",\"offset\":\"9\"}"),
	                    "     9\t9\n    10\t10\n");
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"f\",\"offset\":11}"),
	                "past the end: the file has 10 lines");
	assert_false(w->result.is_error);
	assert_contains(read_it(w, "long"), "[PARTIAL view: lines 1-2000 of 2500. Use offset 2001 to go on");
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"long\",\"offset\":2001}"), "  2500\t2500\n");
}

static void limits(void **state)
{
	struct tool_world *w = *state;

	tool_world_sh(w, "python3 -c \"print('\\U0001F600'*3000); print('tail')\" >wide; yes 0123456789abcdef | head "
	                 "-20000 | tr -d '\\n' "
	                 ">one; yes $(printf '%%0200d' 7) | head -1500 >big");
	const char *text = read_it(w, "wide");
	assert_contains(text, "... [line cut]\n     2\ttail\n");
	assert_true(utf8_valid(text, w->result.text_len, NULL));
	assert_int_equal(strstr(text, "...") - (text + 7), 8000);
	assert_true(strlen(read_it(w, "one")) < 2100);
	text = read_it(w, "big");
	assert_contains(text, "[PARTIAL view: lines 1-");
	assert_contains(w->result.structured, "\"truncatedByTokenCap\":true");
	assert_true(w->result.text_len < 101000);
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"big\",\"limit\":1400}"),
	                "Use a smaller limit, or Grep");
	assert_true(w->result.is_error);
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"big\",\"limit\":100}"), "   100\t0000");
}

static void bytes_that_are_no_text(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "latin1", S("caf\xE9 \xA9\nnext\n"));
	const char *text = read_it(w, "latin1");
	assert_contains(text, "     1\tcaf\xEF\xBF\xBD \xEF\xBF\xBD\n     2\tnext\n");
	assert_contains(text, "not valid UTF-8: 2 byte sequences");
	tool_world_put(w, "nul", S("a\0b\n"));
	assert_contains(read_it(w, "nul"), "     1\ta\xEF\xBF\xBD"
	                                   "b\n");
	tool_world_put(w, "cut", S("euro \xE2\x82"));
	assert_contains(read_it(w, "cut"), "euro \xEF\xBF\xBD\n");
	tool_world_put(w, "fffd", S("real \xEF\xBF\xBD\n"));
	assert_string_equal(read_it(w, "fffd"), "     1\treal \xEF\xBF\xBD\n");
	tool_world_put(w, "malformed", S("[0]\xC0\xAF[1]\x80[2]\xF5[3]\xED\xA0\x80[4]\xF4\x90\x80\x80[5]"));
	text = read_it(w, "malformed");
	assert_true(utf8_valid(text, w->result.text_len, NULL));
	for (int i = 0; i < 6; i++) {
		char mark[8];
		snprintf(mark, sizeof mark, "[%d]", i);
		assert_contains(text, mark);
	}
}

static void notices_and_refusals(void **state)
{
	struct tool_world *w = *state;

	tool_world_sh(w, ": >empty; mkdir d ../outside; echo secret >../outside/s; ln -s ../outside/s out; mkfifo "
	                 "fifo; ln -s /dev/fd/0 "
	                 "stdin; echo inner >in; ln -s in link; ln -s b a; ln -s a b");
	assert_contains(read_it(w, "empty"), "exists but is empty");
	assert_false(w->result.is_error);
	assert_contains(read_it(w, "d"), "EISDIR");
	assert_contains(read_it(w, "nothing"), "File does not exist: nothing (relative paths start at /");
	assert_false(w->result.denied);
	static const char *const outside[] = { "out", "../outside/s", "/etc/passwd", "stdin" };
	for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
		assert_contains(read_it(w, outside[i]), "denied by your permission settings");
		assert_true(w->result.is_error && w->result.denied);
	}
	assert_contains(read_it(w, "fifo"), "not a regular file");
	assert_contains(read_it(w, "a"), "too many symbolic links");
	assert_string_equal(read_it(w, "link"), "     1\tinner\n");
}

static void images(void **state)
{
	struct tool_world *w = *state;
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;

	tool_world_put(w, "p.png", S("\x89PNG\r\n\x1a\n...."));
	assert_string_equal(read_it(w, "p.png"), "Image (image/png, 12 bytes)");
	assert_string_equal(w->result.content_json,
	                    "[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\","
	                    "\"data\":\"iVBORw0KGgouLi4u\"}}]");
	assert_int_equal(json_parse(&doc, w->result.content_json, strlen(w->result.content_json), 0, &e), 0);
	json_release(&doc);
	tool_world_put(w, "j", S("\xFF\xD8\xFF\xE0"));
	read_it(w, "j");
	assert_contains(w->result.content_json, "image/jpeg\",\"data\":\"/9j/4A==\"");
	tool_world_put(w, "g", S("GIF89a."));
	read_it(w, "g");
	assert_contains(w->result.content_json, "image/gif");
	tool_world_put(w, "w", S("RIFF0000WEBP"));
	read_it(w, "w");
	assert_contains(w->result.content_json, "image/webp");
	tool_world_sh(w, "{ printf '\\211PNG\\r\\n\\032\\n'; head -c 4000000 /dev/zero; } >big.png");
	assert_contains(read_it(w, "big.png"), "too large");
	assert_true(w->result.is_error);
	assert_null(w->result.content_json);
}

static void secrets_are_masked(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "f", S("key=canary-key;\n"));
	assert_string_equal(read_it(w, "f"), "     1\tkey=[secret]..;\n");
	assert_null(strstr(w->result.structured, "canary"));
}

static void added_directories(void **state)
{
	struct tool_world *w = *state;
	char added[400];

	tool_world_sh(w, "mkdir ../added; echo there >../added/f; ln -s ../added/f cross");
	snprintf(added, sizeof added, "%s/added", w->dir);
	const char *dirs[] = { added, NULL };
	w->cfg.add_dirs = dirs;
	tool_world_reopen(w);
	assert_string_equal(tool_world_call(w, "Read", "{\"file_path\":\"%s/f\"}", added), "     1\tthere\n");
	assert_string_equal(read_it(w, "cross"), "     1\tthere\n");
}

static const char unchanged[] =
        "(The file has not changed since it was read; the earlier result of Read still holds: f)";

static void what_was_shown_is_not_shown_again(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "f", S("one\ntwo\n"));
	read_it(w, "f");
	assert_string_equal(read_it(w, "f"), unchanged);
	assert_false(w->result.is_error);
	assert_string_equal(w->result.structured, "{\"type\":\"file_unchanged\",\"file\":{\"filePath\":\"f\"}}");
	assert_string_equal(tool_world_call(w, "Read", "{\"file_path\":\"f\",\"offset\":1,\"limit\":null}"), unchanged);
	/* by another name the model might not know that it is the same */
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"%s/f\"}", w->work), "     1\tone\n");
}

/* By its bytes: a new time or another file of the same content is no change, the same size and time is no proof. */
static void only_the_same_content_is_unchanged(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "f", S("one\ntwo\n"));
	read_it(w, "f");
	tool_world_sh(w, "cp f g; mv g f; touch -d @1000 f");
	assert_string_equal(read_it(w, "f"), unchanged);
	tool_world_sh(w, "printf 'one\\ntwi\\n' >f; touch -d @1000 f");
	assert_string_equal(read_it(w, "f"), "     1\tone\n     2\ttwi\n");
	assert_string_equal(read_it(w, "f"), unchanged);
	tool_world_call(w, "Edit", "{\"file_path\":\"f\",\"old_string\":\"twi\",\"new_string\":\"two\"}");
	assert_contains(read_it(w, "f"), "     2\ttwo\n");
	tool_world_call(w, "Edit", "{\"file_path\":\"f\",\"old_string\":\"two\",\"new_string\":\"twi\"}");
	tool_world_call(w, "Edit", "{\"file_path\":\"f\",\"old_string\":\"twi\",\"new_string\":\"two\"}");
	assert_contains(read_it(w, "f"),
	                "     2\ttwo\n"); /* the content of that Read, but there were results in between */
	tool_world_call(w, "Write", "{\"file_path\":\"f\",\"content\":\"one\\ntwo\\n\"}");
	assert_contains(read_it(w, "f"), "     2\ttwo\n");
}

static void another_view_is_shown(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "f", S("one\ntwo\n"));
	read_it(w, "f");
	assert_string_equal(tool_world_call(w, "Read", "{\"file_path\":\"f\",\"offset\":2}"), "     2\ttwo\n");
	assert_contains(read_it(w, "f"), "     1\tone\n");
	tool_world_sh(w, "seq 3000 >f");
	assert_contains(read_it(w, "f"), "PARTIAL view");
	assert_contains(read_it(w, "f"), "PARTIAL view"); /* never seen whole */
}

static void what_left_the_conversation_is_shown(void **state)
{
	struct tool_world *w = *state;
	char id[32];

	tool_world_put(w, "f", S("one\ntwo\n"));
	read_it(w, "f");
	snprintf(id, sizeof id, "toolu_%d", w->calls);
	toolbox_forget(w->toolbox, "toolu_another");
	assert_string_equal(read_it(w, "f"), unchanged);
	toolbox_forget(w->toolbox, id);
	assert_contains(tool_world_call(w, "Write", "{\"file_path\":\"f\",\"content\":\"x\"}"),
	                "has not been read yet");
	assert_contains(read_it(w, "f"), "     1\tone\n");
	toolbox_forget(w->toolbox, NULL);
	assert_contains(read_it(w, "f"), "     1\tone\n");
}

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void descriptors_stay_flat(void **state)
{
	struct tool_world *w = *state;
	int before = open_descriptors();

	tool_world_sh(w, "echo x >f; ln -s /etc/passwd out");
	for (int i = 0; i < 20; i++) {
		read_it(w, "f");
		read_it(w, "out");
		tool_world_call(w, "Bash", "{\"command\":\"true\"}");
		tool_world_call(w, "Glob", "{\"pattern\":\"*\"}");
		tool_world_call(w, "Grep", "{\"pattern\":\"x\",\"path\":\"f\"}");
		tool_world_call(w, "Grep", "{\"pattern\":\"x\",\"path\":\"out\"}");
	}
	assert_int_equal(open_descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_have_numbers, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(windows, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(limits, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(bytes_that_are_no_text, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(notices_and_refusals, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(images, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(secrets_are_masked, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(added_directories, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(what_was_shown_is_not_shown_again, tool_world_setup,
		                                tool_world_teardown),
		cmocka_unit_test_setup_teardown(only_the_same_content_is_unchanged, tool_world_setup,
		                                tool_world_teardown),
		cmocka_unit_test_setup_teardown(another_view_is_shown, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(what_left_the_conversation_is_shown, tool_world_setup,
		                                tool_world_teardown),
		cmocka_unit_test_setup_teardown(descriptors_stay_flat, tool_world_setup, tool_world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
