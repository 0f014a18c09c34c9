/* report/: text of others as HTML, and differences between files. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "report/html.h"
#include "report/story.h"

#define C(s) "<i class=\"c\">" s "</i>"

static void text_is(const char *in, size_t n, const char *expected)
{
	struct buf out = BUF_INIT(BUF_HUGE);

	html_text(&out, in, n);
	assert_string_equal(buf_str(&out), expected);
	buf_release(&out);
}

static void hostile_text_is_shown_not_obeyed(void **state)
{
	static const struct {
		const char *in;
		size_t n; /* 0: its length */
		const char *out;
	} rows[] = {
		{ "plain text, é 漢 🦉", 0, "plain text, é 漢 🦉" },
		{ "</script><b a=\"x\" b='y'>&amp;", 0,
		  "&lt;/script&gt;&lt;b a=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;" },
		{ "a\0b", 3, "a" C("␀") "b" },
		{ "a\r\nb\rc\td", 0, "a\nb" C("␍") "c\td" },
		{ "\x1b[31;1mred\x1b[0m", 0, "red" },                                  /* colours are left out */
		{ "\x1b[2J\x1b]0;title\a", 0, C("␛") "[2J" C("␛") "]0;title" C("␇") }, /* all else is shown */
		{ "\x1b[", 0, C("␛") "[" },
		{ "a\x7f", 0, "a" C("␡") },
		{ "abc\xe2\x80\xae"
		  "cba",
		  0, "abc" C("U+202E") "cba" },                                  /* right-to-left override */
		{ "\xe2\x81\xa6x\xe2\x81\xa9", 0, C("U+2066") "x" C("U+2069") }, /* isolates */
		{ "a\xe2\x80\x8b"
		  "b\xef\xbb\xbf",
		  0, "a" C("U+200B") "b" C("U+FEFF") },
		{ "\xf3\xa0\x81\x81", 0, C("U+E0041") }, /* tags: text that nobody sees */
		{ "\xc2\x9b"
		  "31m",
		  0, C("U+009B") "31m" },
		{ "a\xff\xc3(\xe2\x82", 0, "a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd" },
		{ "\xed\xa0\x80", 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* a lone surrogate */
		{ "", 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		text_is(rows[i].in, rows[i].n ? rows[i].n : strlen(rows[i].in), rows[i].out);
}

static void a_line_stands_in_attributes_too(void **state)
{
	static const struct {
		const char *in;
		size_t most;
		const char *out;
	} rows[] = {
		{ "  one\n\ttwo  ", 100, "one  two" },
		{ "x\" onload=\"y", 100, "x&quot; onload=&quot;y" },
		{ "\x1b[1mbold\x1b[m \x1b]", 100, "bold ␛]" },
		{ "a\xe2\x80\xae"
		  "b",
		  100, "a[U+202E]b" },
		{ "abcdef", 3, "abc…" },
		{ "aéz", 2, "a…" }, /* not in the middle of a character */
		{ "\xff", 9, "\xef\xbf\xbd" },
		{ "", 9, "" },
	};
	struct buf out = BUF_INIT(BUF_HUGE);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_clear(&out);
		html_line(&out, rows[i].in, strlen(rows[i].in), rows[i].most);
		assert_string_equal(buf_str(&out), rows[i].out);
	}
	buf_release(&out);
}

static void long_texts_keep_head_and_tail(void **state)
{
	struct buf in = BUF_INIT(BUF_HUGE), out = BUF_INIT(BUF_HUGE);

	(void)state;
	buf_adds(&in, "first");
	for (int i = 0; i < 100000; i++)
		buf_adds(&in, "é");
	buf_adds(&in, "last");
	html_cut(&out, in.data, in.len, 1000);
	assert_memory_equal(out.data, "first", 5);
	assert_string_equal(out.data + out.len - 4, "last");
	assert_non_null(strstr(out.data, "194.3 KiB are left out of this page"));
	assert_null(strstr(out.data, "\xef\xbf\xbd"));
	assert_true(out.len < 1200);
	buf_clear(&out);
	html_cut(&out, "short", 5, 1000);
	assert_string_equal(buf_str(&out), "short");
	buf_release(&in);
	buf_release(&out);
}

static void numbers_for_people(void **state)
{
	static const struct {
		void (*put)(struct buf *out, int64_t n);
		int64_t n;
		const char *out;
	} rows[] = {
		{ html_count, 0, "0" },
		{ html_count, 999, "999" },
		{ html_count, 1000, "1,000" },
		{ html_count, -1234567, "-1,234,567" },
		{ html_short_count, 999, "999" },
		{ html_short_count, 1234, "1.2k" },
		{ html_short_count, 456789, "457k" },
		{ html_short_count, 12345678, "12.3M" },
		{ html_duration, 0, "0 ms" },
		{ html_duration, 999, "999 ms" },
		{ html_duration, 1234, "1.2 s" },
		{ html_duration, 59400, "59 s" },
		{ html_duration, 59600, "1 min 0 s" },
		{ html_duration, 83000, "1 min 23 s" },
		{ html_duration, 3 * 3600000 + 60000, "3 h 1 min" },
		{ html_duration, INT64_MAX, "2562047788015 h 12 min" },
		{ html_bytes, 1023, "1023 B" },
		{ html_bytes, 1536, "1.5 KiB" },
		{ html_bytes, 3 << 20, "3.0 MiB" },
	};
	struct buf out = BUF_INIT(BUF_HUGE);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_clear(&out);
		rows[i].put(&out, rows[i].n);
		assert_string_equal(buf_str(&out), rows[i].out);
	}
	buf_release(&out);
}

static void prose_knows_a_little_markdown(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>" },
		{ "# Head\ntext", "<p class=\"h\">Head</p><p>text</p>" },
		{ "a `b<c` **d** e", "<p>a <code>b&lt;c</code> <strong>d</strong> e</p>" },
		{ "a `b **c", "<p>a `b **c</p>" }, /* what is not closed stays */
		{ "`` ****", "<p>`` ****</p>" },
		{ "**a `b** c` **d** `e`", "<p><strong>a `b</strong> c<code> **d** </code>e`</p>" },
		{ "`a **b` c **d**", "<p><code>a **b</code> c <strong>d</strong></p>" },
		{ "- x\n  - y", "<ul><li class=\"dot\" style=\"margin-left:0em\">x</li><li class=\"dot\" "
		                "style=\"margin-left:1em\">y</li></ul>" },
		{ "1. x", "<ul><li class=\"no\" style=\"margin-left:0em\">1. x</li></ul>" },
		{ "```c\n<b>\n\n- no list\n```\nend", "<pre>\n&lt;b&gt;\n\n- no list\n</pre><p>end</p>" },
		{ "```\nnever closed", "<pre>\nnever closed\n</pre>" },
		{ "| a | b |\n|---|", "<pre>\n| a | b |\n|---|\n</pre>" },
		{ "[x](javascript:alert(1)) <img src=x>", "<p>[x](javascript:alert(1)) &lt;img src=x&gt;</p>" },
		{ "", "" },
		{ "\n\n", "" },
	};
	struct buf out = BUF_INIT(BUF_HUGE);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_clear(&out);
		html_prose(&out, rows[i].in, strlen(rows[i].in));
		assert_string_equal(buf_str(&out), rows[i].out);
	}
	buf_release(&out);
}

static void a_unified_diff_is_read_by_its_counts(void **state)
{
	static const char in[] =
	        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ f()\n"
	        "--- it was a comment\n same\n+++ <new>\n"
	        "diff --git a/y b/y\nBinary files differ\n@@ -3 +3 @@\n-a\n+b\n\\ No newline at end of file\n";
	static const char expected[] =
	        "<em>diff --git a/x b/x\n</em><em>--- a/x\n</em><em>+++ b/x\n</em><b>@@ -1,2 +1,2 @@ f()\n</b>"
	        "<del>--- it was a comment\n</del><span> same\n</span><ins>+++ &lt;new&gt;\n</ins>"
	        "<em>diff --git a/y b/y\n</em><em>Binary files differ\n</em><b>@@ -3 +3 "
	        "@@\n</b><del>-a\n</del><ins>+b\n</ins>"
	        "<em>\\ No newline at end of file\n</em>";
	struct buf out = BUF_INIT(BUF_HUGE);

	(void)state;
	patch_unified(&out, in, sizeof in - 1);
	assert_string_equal(buf_str(&out), expected);
	buf_release(&out);
}

static void hunks_of_an_edit(void **state)
{
	static const char in[] = "[{\"oldStart\":7,\"oldLines\":1,\"newStart\":7,\"newLines\":2,"
	                         "\"lines\":[\" a\",\"-b<\",\"+c\",\"+d\",7,\"\"]},{},3]";
	struct json doc = JSON_INIT;
	struct buf out = BUF_INIT(BUF_HUGE);
	struct error e = ERROR_INIT;
	int added = 0, removed = 0;

	(void)state;
	assert_int_equal(json_parse(&doc, in, sizeof in - 1, 0, &e), 0);
	assert_true(patch_hunks(&out, &doc, json_root(&doc), &added, &removed));
	assert_int_equal(added, 2);
	assert_int_equal(removed, 1);
	assert_string_equal(out.data, "<b>@@ -7,1 +7,2 @@\n</b><span> a\n</span><del>-b&lt;\n</del><ins>+c\n</ins>"
	                              "<ins>+d\n</ins><b>@@ -0,0 +0,0 @@\n</b><b>@@ -0,0 +0,0 @@\n</b>");
	assert_false(patch_hunks(&out, &doc, -1, &added, &removed));
	json_release(&doc);
	buf_release(&out);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_text_is_shown_not_obeyed),
		cmocka_unit_test(a_line_stands_in_attributes_too),
		cmocka_unit_test(long_texts_keep_head_and_tail),
		cmocka_unit_test(numbers_for_people),
		cmocka_unit_test(prose_knows_a_little_markdown),
		cmocka_unit_test(a_unified_diff_is_read_by_its_counts),
		cmocka_unit_test(hunks_of_an_edit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
