/* What is made from the schema table: help, schema, check, the man page's list, the completions. */
#include "job_try.h"

#include <fcntl.h>

#include "base/io.h"
#include "base/json.h"
#include "base/suggest.h"
#include "job/docs.h"
#include "job/schema.h"
#include "job/value.h"
#include "record/reason.h"

static void test_help(void **state)
{
	struct buf b = BUF_INIT(1 << 16);

	(void)state;
	job_print_help(&b);
	assert_int_equal(b.failed, 0);
	assert_int_equal(strncmp(buf_str(&b), "usage: quern [OPTION]... [JOB.yaml]\n", 36), 0);
	assert_non_null(
	        strstr(b.data, "\nLimits:\n  -t, --max-turns N           most answers of the model (default 100)\n"));
	assert_non_null(strstr(b.data, "\n      --allowedTools, --allowed-tools RULES\n"
	                               "                              what may run, such as Bash(make *)\n"));
	assert_non_null(strstr(b.data, "\n  -                           read stdin to its end"));
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		char text[64];
		snprintf(text, sizeof text, "--%s", k->option ? k->option : "set");
		assert_non_null(strstr(b.data, text));
	}
	for (const char *line = b.data; *line;) {
		size_t n = strcspn(line, "\n");
		assert_in_range(n, 0, 80);
		line += n + 1;
	}
	buf_release(&b);
}

static void test_schema(void **state)
{
	struct buf b = BUF_INIT(1 << 18);
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;
	bool yes = true;
	int64_t n = 0;

	(void)state;
	job_print_schema(&b);
	assert_int_equal(json_parse(&doc, buf_str(&b), b.len, JSON_UNIQUE, &e), 0);
	int root = json_root(&doc);
	assert_true(json_eq(&doc, json_get(&doc, root, "$schema"), "https://json-schema.org/draft/2020-12/schema"));
	assert_true(json_bool(&doc, json_get(&doc, root, "additionalProperties"), &yes));
	assert_false(yes);
	int turns = json_path(&doc, root, "properties.limits.properties.max_turns");
	assert_true(json_int(&doc, json_get(&doc, turns, "minimum"), &n));
	assert_int_equal(n, 1);
	assert_true(json_int(&doc, json_get(&doc, turns, "default"), &n));
	assert_int_equal(n, 100);
	assert_int_equal(json_size(&doc, json_path(&doc, root, "properties.model.properties.effort.enum")), 5);
	assert_int_equal(json_size(&doc, json_path(&doc, root, "properties.tools.properties.builtin.default")), 6);
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		const char *dot = k->path ? strchr(k->path, '.') : NULL;
		char path[128];
		if (!k->path)
			continue;
		snprintf(path, sizeof path, "properties.%.*s%s%s.description", (int)(dot ? dot - k->path : 0), k->path,
		         dot ? ".properties." : "", schema_leaf(k->path));
		assert_true(json_eq(&doc, json_path(&doc, root, path), k->help));
	}
	json_release(&doc);
	buf_release(&b);
}

/* What --check prints is a job that means the same, and holds no secret. */
static void test_check_can_be_run_again(void **state)
{
	struct buf one = BUF_INIT(1 << 16), two = BUF_INIT(1 << 16);
	struct trial t;

	(void)state;
	try_begin(&t,
	          "--check|-p|a \"b\"\nc|-|-m|m1|--fallback-model|m2 "
	          "m3|--set|context.window=12k|--set|context.collapse_at=9000|-b|1500k|--max-budget-usd|0.000000001|--"
	          "wall-time|90s|--tools|Read|"
	          "--set|env.A=no|--set|model.thinking={a: [1, .5]}|--set|permissions.allow=[Read, Bash]|--add-dir|x y",
	          NULL, NULL);
	assert_string_equal(buf_str(&t.errs.text), "");
	job_print_check(&t.job, &one);
	try_end(&t);
	assert_non_null(strstr(one.data, "\n  token_budget: 1500k\n"));
	assert_non_null(strstr(one.data, "\n  fallback: [\"m2\", \"m3\"]\n"));
	assert_non_null(strstr(one.data, "\n  window: 12k\n  microcompact_at: 60%\n"));
	assert_non_null(strstr(one.data, "\n  collapse_at: 9k\n  snip_at: off\n"));
	assert_non_null(strstr(one.data, "\n  blocking_at: auto\n  # compact_model: the model that answers\n"));
	assert_non_null(strstr(one.data, "\n  max_cost_usd: 0.000000001\n"));
	assert_non_null(strstr(one.data, "\n  wall_time: 90s\n"));
	try_begin(&t, "@", one.data, NULL);
	assert_string_equal(buf_str(&t.errs.text), "");
	job_print_check(&t.job, &two);
	try_end(&t);
	assert_string_equal(one.data, two.data);
	buf_release(&one);
	buf_release(&two);
}

static void test_check_hides_secrets(void **state)
{
	struct buf b = BUF_INIT(1 << 16);
	struct trial t;

	(void)state;
	try_begin(&t, "--check|--set|env.GH_TOKEN=hunter2|--set|env.A=b|--set|model.headers.X-Pass=hunter2", NULL,
	          NULL);
	job_print_check(&t.job, &b);
	try_end(&t);
	assert_null(strstr(b.data, "hunter2"));
	assert_non_null(strstr(b.data, "\nenv: {\"A\": \"b\"} # values not shown: \"GH_TOKEN\"\n"));
	buf_release(&b);
}

static void test_completions_are_current(void **state)
{
	static const char *const shells[] = { "bash", "zsh", "fish" };
	const char *src = getenv("srcdir");
	struct error e = ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct buf made = BUF_INIT(1 << 16), kept = BUF_INIT(1 << 16);
		char path[512];
		snprintf(path, sizeof path, "%s/completions/quern.%s", src ? src : ".", shells[i]);
		assert_int_equal(job_print_completion(shells[i], &made), 0);
		if (io_read_file(AT_FDCWD, path, &kept, &e))
			fail_msg("%s", e.msg);
		if (strcmp(buf_str(&made), buf_str(&kept)))
			fail_msg("%s is stale: run make update-docs", path);
		buf_release(&made);
		buf_release(&kept);
	}
	struct buf b = BUF_INIT(16);
	assert_int_equal(job_print_completion("tcsh", &b), -1);
}

static void test_man(void **state)
{
	struct buf b = BUF_INIT(1 << 16);

	(void)state;
	job_print_man(&b);
	assert_non_null(strstr(buf_str(&b), ".It Fl o , Fl -output-format Ar FORMAT\n"
	                                    "Events as they come, the result alone, or the answer's text.\n"
	                                    "One of\n.Cm stream-json ,\n.Cm json\nor\n.Cm text .\n"
	                                    "See OUTPUT.\nKey\n.Cm output.format ;\ndefault\n.Cm stream-json .\n"));
	assert_non_null(strstr(buf_str(&b), "\n.It Cm -\n"));
	assert_non_null(
	        strstr(buf_str(&b), ".Cm claude-sonnet-5-5 ;\nvariables\n.Ev QUERN_MODEL , ANTHROPIC_MODEL .\n"));
	assert_non_null(strstr(buf_str(&b), ": write \\-\\-prompt=TEXT.\n"));
	buf_release(&b);
}

/* "tools.external.name": a member of what stands in a list or a map. */
static bool is_member(const char *name)
{
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		const struct job_members *m = schema_members(k->type);
		size_t n = k->path ? strlen(k->path) : 0;
		if (!m || strncmp(name, k->path, n) != 0 || name[n] != '.')
			continue;
		for (size_t i = 0; i < m->n; i++)
			if (!strcmp(m->v[i].path, name + n + 1))
				return true;
	}
	return false;
}

static void test_man_notes_have_keys(void **state)
{
	(void)state;
	for (size_t i = 0; i < job_note_count; i++) {
		const char *name = job_notes[i].name;
		bool there = name[0] != '-' ? schema_by_path(name) || is_member(name)
		             : name[1]      ? schema_by_option(name + 2, strlen(name + 2)) != NULL
		                            : schema_by_letter('-') != NULL;
		if (!there)
			fail_msg("notes.c tells of %s, which is no key and no option", name);
	}
}

static void test_man_keys(void **state)
{
	struct buf b = BUF_INIT(1 << 16);

	(void)state;
	job_print_man_keys(&b);
	assert_non_null(
	        strstr(buf_str(&b), ".It Cm limits.max_requests : Ar number\nMost requests, retries included.\n"));
	assert_non_null(strstr(buf_str(&b), "Default\n.Cm 256MiB .\n"));
	assert_null(strstr(buf_str(&b), "limits.max_turns"));
	buf_release(&b);
}

/* The part of the page between its two marks is what is made now. */
static void assert_current(const char *page, const char *name, void (*print)(struct buf *out))
{
	struct buf made = BUF_INIT(1 << 16);

	buf_addf(&made, "\n.\\\" begin %s\n", name);
	print(&made);
	buf_addf(&made, ".\\\" end %s\n", name);
	if (!strstr(page, buf_str(&made)))
		fail_msg("the %s of man/quern.1 are stale: run make update-docs", name);
	buf_release(&made);
}

static void test_man_page_is_current(void **state)
{
	const char *src = getenv("srcdir");
	struct buf page = BUF_INIT(1 << 20);
	struct error e = ERROR_INIT;
	char path[512];

	(void)state;
	snprintf(path, sizeof path, "%s/man/quern.1", src ? src : ".");
	if (io_read_file(AT_FDCWD, path, &page, &e))
		fail_msg("%s", e.msg);
	assert_current(buf_str(&page), "options", job_print_man);
	assert_current(buf_str(&page), "keys", job_print_man_keys);
	assert_current(buf_str(&page), "exit codes", reason_print_man);
	buf_release(&page);
}

static void test_table_is_sound(void **state)
{
	(void)state;
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		assert_non_null(k->help);
		assert_true(k->path || k->option);
		if (k->path)
			assert_ptr_equal(schema_by_path(k->path), k);
		if (k->option && k->option[0])
			assert_ptr_equal(schema_by_option(k->option, strlen(k->option)), k);
		if (k->letter)
			assert_ptr_equal(schema_by_letter(k->letter), k);
		if (k->act == ACT_SETS)
			assert_non_null(schema_by_path(k->sets));
		if (k->path && strchr(k->path, '.')) {
			char section[64];
			snprintf(section, sizeof section, "%.*s", (int)strcspn(k->path, "."), k->path);
			assert_non_null(schema_section(section));
		}
	}
}

static void test_numbers(void **state)
{
	static const struct {
		enum key_type type;
		const char *text;
		enum value_status status;
		int64_t value;
	} rows[] = {
		{ KEY_INT, "0", VALUE_OK, 0 },
		{ KEY_INT, "9223372036854775807", VALUE_OK, INT64_MAX },
		{ KEY_INT, "00", VALUE_FORM, 0 },
		{ KEY_INT, "+1", VALUE_FORM, 0 },
		{ KEY_INT, " 1", VALUE_FORM, 0 },
		{ KEY_INT, "1 ", VALUE_FORM, 0 },
		{ KEY_INT, "", VALUE_FORM, 0 },
		{ KEY_INT, "0x1", VALUE_FORM, 0 },
		{ KEY_TOKENS, "500k", VALUE_OK, 500000 },
		{ KEY_TOKENS, "5M", VALUE_OK, 5000000 },
		{ KEY_TOKENS, "5K", VALUE_FORM, 0 },
		{ KEY_TOKENS, "5m", VALUE_FORM, 0 },
		{ KEY_TOKENS, "1.5M", VALUE_FORM, 0 },
		{ KEY_BYTES, "10MiB", VALUE_OK, 10 << 20 },
		{ KEY_BYTES, "10MB", VALUE_FORM, 0 },
		{ KEY_BYTES, "4096", VALUE_OK, 4096 },
		{ KEY_DURATION, "0", VALUE_OK, 0 },
		{ KEY_DURATION, "250ms", VALUE_OK, 250 },
		{ KEY_DURATION, "2h", VALUE_OK, 7200000 },
		{ KEY_DURATION, "1h30m", VALUE_FORM, 0 },
		{ KEY_DURATION, "9", VALUE_FORM, 0 },
		{ KEY_USD, "2", VALUE_OK, 2000000000 },
		{ KEY_USD, "0.123456789", VALUE_OK, 123456789 },
		{ KEY_USD, "0.1234567890", VALUE_FORM, 0 },
		{ KEY_USD, ".5", VALUE_FORM, 0 },
		{ KEY_USD, "1.", VALUE_FORM, 0 },
		{ KEY_USD, "00.5", VALUE_FORM, 0 },
		{ KEY_USD, "1e3", VALUE_FORM, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct job_key k = { .type = rows[i].type, .min = 0, .max = INT64_MAX };
		int64_t v = 0;
		enum value_status st = value_number(&k, rows[i].text, &v);
		if (st != rows[i].status || (st == VALUE_OK && v != rows[i].value))
			fail_msg("'%s': status %d, value %lld", rows[i].text, (int)st, (long long)v);
	}
	struct job_key small = { .type = KEY_DURATION, .min = 0, .max = 1000 };
	int64_t v;
	assert_int_equal(value_number(&small, "2s", &v), VALUE_RANGE);
	assert_int_equal(value_number(&small, "9999999999999999h", &v), VALUE_RANGE);
}

static void test_marks(void **state)
{
	static const struct {
		const char *text;
		enum value_status status;
		struct job_mark mark;
		const char *printed;
	} rows[] = {
		{ "60%", VALUE_OK, { MARK_PERCENT, 60 }, "60%" },
		{ "100%", VALUE_OK, { MARK_PERCENT, 100 }, "100%" },
		{ "101%", VALUE_RANGE, { MARK_OFF, 0 }, NULL },
		{ "0%", VALUE_RANGE, { MARK_OFF, 0 }, NULL },
		{ "06%", VALUE_FORM, { MARK_OFF, 0 }, NULL },
		{ "60 %", VALUE_FORM, { MARK_OFF, 0 }, NULL },
		{ "60.5%", VALUE_FORM, { MARK_OFF, 0 }, NULL },
		{ "%", VALUE_FORM, { MARK_OFF, 0 }, NULL },
		{ "150000", VALUE_OK, { MARK_TOKENS, 150000 }, "150k" },
		{ "1M", VALUE_OK, { MARK_TOKENS, 1000000 }, "1M" },
		{ "0", VALUE_RANGE, { MARK_OFF, 0 }, NULL },
		{ "off", VALUE_OK, { MARK_OFF, 0 }, "off" },
		{ "Off", VALUE_FORM, { MARK_OFF, 0 }, NULL },
		{ "auto", VALUE_OK, { MARK_AUTO, 0 }, "auto" },
		{ "", VALUE_FORM, { MARK_OFF, 0 }, NULL },
	};
	struct job_key k = { .type = KEY_MARK, .min = 1, .max = 1000000, .flags = KF_AUTO };
	struct job_mark m;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct buf b = BUF_INIT(100);
		enum value_status st = value_mark(&k, rows[i].text, &m);
		if (st != rows[i].status)
			fail_msg("'%s': status %d", rows[i].text, (int)st);
		if (st == VALUE_OK) {
			assert_int_equal(m.kind, rows[i].mark.kind);
			assert_int_equal(m.value, rows[i].mark.value);
			value_print_mark(&k, &m, &b);
			assert_string_equal(buf_str(&b), rows[i].printed);
		}
		buf_release(&b);
	}
	k.flags = 0; /* auto is not for every mark */
	assert_int_equal(value_mark(&k, "auto", &m), VALUE_FORM);
}

static void test_suggestions(void **state)
{
	static const struct {
		const char *word, *offer;
		bool near;
	} rows[] = {
		{ "max_turn", "max_turns", true },
		{ "max-turns", "max_turns", true },
		{ "mxa_turns", "max_turns", true },
		{ "read", "Read", true },
		{ "raed", "Read", true },
		{ "memory", "model", false },
		{ "a", "b", false },
		{ "", "b", false },
		{ "prompt", "print", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct suggest s;
		suggest_init(&s, rows[i].word, strlen(rows[i].word));
		suggest_offer(&s, rows[i].offer);
		if ((s.best != NULL) != rows[i].near)
			fail_msg("%s, %s", rows[i].word, rows[i].offer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_schema),
		cmocka_unit_test(test_check_can_be_run_again),
		cmocka_unit_test(test_check_hides_secrets),
		cmocka_unit_test(test_completions_are_current),
		cmocka_unit_test(test_man),
		cmocka_unit_test(test_man_notes_have_keys),
		cmocka_unit_test(test_man_keys),
		cmocka_unit_test(test_man_page_is_current),
		cmocka_unit_test(test_table_is_sound),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_suggestions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
