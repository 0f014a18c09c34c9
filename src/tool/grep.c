/* Grep: lines, files or counts that fit a regular expression, by ripgrep. */
#include <stdlib.h>
#include <string.h>

#include "tool/search.h"

#define DEFAULT_LIMIT 250

enum {
	P_PATTERN,
	P_PATH,
	P_GLOB,
	P_TYPE,
	P_MODE,
	P_AFTER,
	P_BEFORE,
	P_AROUND,
	P_CONTEXT,
	P_NUMBERS,
	P_IGNORE_CASE,
	P_ONLY,
	P_LIMIT,
	P_OFFSET,
	P_MULTILINE
};

static const struct tool_param params[] = {
	[P_PATTERN] = { "pattern", PARAM_NAME, true, 0, NULL, "Regular expression (ripgrep)" },
	[P_PATH] = { "path", PARAM_NAME, false, 0, NULL, "File or directory (default: the workspace)" },
	[P_GLOB] = { "glob", PARAM_NAME, false, 0, NULL, "Only these files, such as *.{c,h}" },
	[P_TYPE] = { "type", PARAM_NAME, false, 0, NULL, "Only this file type, such as py" },
	[P_MODE] = { "output_mode", PARAM_CHOICE, false, 0, "content|files_with_matches|count",
	             "Default files_with_matches" },
	[P_AFTER] = { "-A", PARAM_INT, false, 0, NULL, "Lines after a match" },
	[P_BEFORE] = { "-B", PARAM_INT, false, 0, NULL, "Lines before" },
	[P_AROUND] = { "-C", PARAM_INT, false, 0, NULL, "Lines around" },
	[P_CONTEXT] = { "context", PARAM_INT, false, 0, NULL, "Same as -C" },
	[P_NUMBERS] = { "-n", PARAM_BOOL, false, 0, NULL, "Line numbers (default true)" },
	[P_IGNORE_CASE] = { "-i", PARAM_BOOL, false, 0, NULL, "Ignore case" },
	[P_ONLY] = { "-o", PARAM_BOOL, false, 0, NULL, "Only the matching parts" },
	[P_LIMIT] = { "head_limit", PARAM_INT, false, 0, NULL, "Entries shown (default 250, 0 = all)" },
	[P_OFFSET] = { "offset", PARAM_INT, false, 0, NULL, "Entries to skip" },
	[P_MULTILINE] = { "multiline", PARAM_BOOL, false, 0, NULL, "Let . match line ends" },
	{ 0 },
};

enum mode { CONTENT, FILES, COUNT };

static enum mode mode_of(const struct call *c)
{
	const char *s = c->in.v[P_MODE].s;

	return !s ? FILES : strcmp(s, "content") == 0 ? CONTENT : strcmp(s, "count") == 0 ? COUNT : FILES;
}

static int add_mode(struct call *c)
{
	const struct input_value *v = c->in.v;

	switch (mode_of(c)) {
	case FILES:
		return call_arg(c, "--files-with-matches");
	case COUNT:
		return call_arg(c, "--count-matches") < 0 || call_arg(c, "--with-filename") < 0
		               ? -1
		               : call_arg(c, "--sort=path");
	case CONTENT:
		break;
	}
	if (call_arg(c, "--no-heading") < 0 || call_arg(c, "--with-filename") < 0 || call_arg(c, "--sort=path") < 0 ||
	    call_arg(c, "--max-columns=500") < 0 || call_arg(c, "--max-columns-preview") < 0 ||
	    call_arg(c, v[P_NUMBERS].set && !v[P_NUMBERS].b ? "--no-line-number" : "--line-number") < 0)
		return -1;
	/* -A and -B stand above -C; rg would drop the other half of -C. */
	const struct input_value *around = v[P_AROUND].set ? &v[P_AROUND] : &v[P_CONTEXT];
	int64_t after = v[P_AFTER].set ? v[P_AFTER].i : around->i, before = v[P_BEFORE].set ? v[P_BEFORE].i : around->i;
	if ((after > 0 && call_arg(c, "--after-context=%lld", (long long)after) < 0) ||
	    (before > 0 && call_arg(c, "--before-context=%lld", (long long)before) < 0))
		return -1;
	return v[P_ONLY].b ? call_arg(c, "--only-matching") : 0;
}

/* A single file is found through its directory too: rg would follow a link that is named as an argument. */
static int add_where(struct call *c)
{
	const struct input_value *v = c->in.v;

	if (c->only_name)
		return call_arg(c, "--max-depth=1") < 0 || call_arg(c, "--no-ignore") < 0
		               ? -1
		               : search_literal_glob(c, "", c->only_name);
	if (v[P_TYPE].set && call_arg(c, "--type=%s", v[P_TYPE].s) < 0)
		return -1;
	return v[P_GLOB].set ? call_arg(c, "--glob=%s", v[P_GLOB].s) : 0;
}

static int plan(struct call *c, struct tool_result *now, struct error *e)
{
	const struct input_value *v = c->in.v;

	if (call_chdir(c, v[P_PATH].s, true, now) < 0)
		return 0;
	if (search_begin(c) < 0 || call_arg(c, "--no-require-git") < 0 || add_mode(c) < 0 || add_where(c) < 0 ||
	    (v[P_IGNORE_CASE].b && call_arg(c, "--ignore-case") < 0) ||
	    (v[P_MULTILINE].b && (call_arg(c, "--multiline") < 0 || call_arg(c, "--multiline-dotall") < 0)) ||
	    call_arg(c, "--regexp=%s", v[P_PATTERN].s) < 0 || search_end(c) < 0)
		return error_nomem(e);
	return 1;
}

/* One entry of rg's output: a path, or a line with a path and a NUL in front, or a separator. */
struct entry {
	const char *path;
	size_t path_n;
	const char *text;
	size_t text_n;
};

/* What rg says of a binary file has its path without a NUL behind it. */
static bool is_remark(const char *p, size_t n)
{
	static const char *const remarks[] = { ": WARNING: stopped searching binary file", ": binary file matches" };

	for (size_t i = 0; i < sizeof remarks / sizeof remarks[0]; i++)
		if (memmem(p, n, remarks[i], strlen(remarks[i])))
			return true;
	return false;
}

static bool next_line(const char **p, const char *end, struct entry *en)
{
	if (*p >= end)
		return false;
	const char *stop = memchr(*p, '\n', (size_t)(end - *p));
	if (!stop)
		stop = end;
	const char *nul = memchr(*p, '\0', (size_t)(stop - *p));
	if (!nul && end - *p > 2 && memcmp(*p, "./", 2) == 0 && !is_remark(*p, (size_t)(stop - *p))) {
		/* a path with a line feed in it */
		nul = memchr(stop, '\0', (size_t)(end - stop));
		stop = nul ? memchr(nul, '\n', (size_t)(end - nul)) : stop;
		if (!stop)
			stop = end;
	}
	en->path = *p;
	en->path_n = nul ? (size_t)(nul - *p) : 0;
	en->text = nul ? nul + 1 : *p;
	en->text_n = (size_t)(stop - en->text);
	*p = stop + 1;
	return true;
}

static const char *const mode_names[] = { "content", "files_with_matches", "count" };

struct tally {
	size_t entries, shown, files;
	int64_t matches;
	size_t limit, offset;
};

static void structured(const struct call *c, struct tool_result *out, const struct tally *n, enum mode mode,
                       struct buf *names, const struct buf *text)
{
	struct buf info = BUF_INIT((size_t)2 << 20);
	struct json_out o;

	json_out_init(&o, &info);
	jo_object(&o);
	jo_kstr(&o, "mode", mode_names[mode]);
	jo_key(&o, "filenames");
	if (mode == FILES) {
		jo_raw(&o, buf_str(names), names->len);
	} else {
		jo_array(&o);
		jo_end(&o);
		jo_key(&o, "content");
		jo_strn(&o, buf_str(text), text->len < 100000 ? text->len : 0);
		if (mode == CONTENT)
			jo_kint(&o, "numLines", (int64_t)n->shown);
		else
			jo_kint(&o, "numMatches", n->matches);
	}
	jo_kint(&o, "numFiles", (int64_t)n->files);
	if (n->limit > 0 && n->entries > n->offset + n->shown)
		jo_kint(&o, "appliedLimit", (int64_t)n->limit);
	if (n->offset > 0)
		jo_kint(&o, "appliedOffset", (int64_t)n->offset);
	jo_end(&o);
	result_structured(c->t, out, &info);
}

/* Counts an entry; true if it lies in the window. */
static bool in_window(struct tally *n)
{
	size_t i = n->entries++;
	bool in = i >= n->offset && (n->limit == 0 || i - n->offset < n->limit);

	n->shown += in;
	return in;
}

static int collect_files(const struct call *c, const struct child_result *res, struct tally *n, struct buf *text,
                         struct json_out *names)
{
	struct found *v;
	size_t found;

	if (search_newest_first(c, &res->out, &v, &found) < 0)
		return -1;
	n->files = found;
	for (size_t i = 0; i < found; i++) {
		size_t before = text->len;
		if (!in_window(n))
			continue;
		search_path(c, text, v[i].rel, v[i].n, true);
		jo_strn(names, buf_str(text) + before, text->len - before);
		buf_addc(text, '\n');
	}
	free(v);
	return 0;
}

static int collect_lines(const struct call *c, const struct child_result *res, bool counting, struct tally *n,
                         struct buf *text)
{
	const char *p = buf_str(&res->out.head), *end = p + res->out.head.len;
	struct entry last = { 0 }, en;
	bool hidden = false; /* the file that the lines come from */

	while (next_line(&p, end, &en)) {
		bool other = en.path_n > 0 && (last.path_n != en.path_n || memcmp(last.path, en.path, en.path_n) != 0);
		if (other)
			hidden = search_hides(c, en.path, en.path_n);
		if (hidden) {
			last = other ? en : last;
			continue;
		}
		if (other) {
			n->files++;
			last = en;
		}
		if (counting)
			n->matches += (int64_t)strtoull(en.text, NULL, 10);
		if (!in_window(n))
			continue;
		if (en.path_n > 0) {
			search_path(c, text, en.path, en.path_n, true);
			buf_addc(text, ':');
		}
		buf_add(text, en.text, en.text_n);
		buf_addc(text, '\n');
	}
	return 0;
}

static void add_summary(struct buf *text, const struct tally *n, enum mode mode, bool cut)
{
	if (n->entries > n->offset + n->shown)
		buf_addf(text,
		         "\n[%zu of %zu entries shown from offset %zu; use offset and head_limit for the others]\n",
		         n->shown, n->entries, n->offset);
	if (mode == COUNT)
		buf_addf(text, "\nFound %lld matches in %zu files.\n", (long long)n->matches, n->files);
	if (cut)
		buf_adds(text, "\n[There was more output than could be kept; use a narrower pattern or path]\n");
}

static void finish(struct call *c, struct child_result *res, struct tool_result *out)
{
	const struct input_value *v = c->in.v;
	struct buf text = BUF_INIT((size_t)16 << 20), names = BUF_INIT((size_t)1 << 20);
	enum mode mode = mode_of(c);
	struct tally n = { .limit = v[P_LIMIT].set ? (size_t)v[P_LIMIT].i : DEFAULT_LIMIT,
		           .offset = (size_t)v[P_OFFSET].i };
	struct json_out o;

	if (search_failed(c, res, out))
		return;
	json_out_init(&o, &names);
	jo_array(&o);
	int rc = mode == FILES ? collect_files(c, res, &n, &text, &o) : collect_lines(c, res, mode == COUNT, &n, &text);
	jo_end(&o);
	if (rc < 0)
		buf_adds(&text, "Grep: out of memory");
	else if (n.entries == 0)
		buf_adds(&text, mode == FILES ? "No files found" : "No matches found");
	else if (n.shown == 0)
		buf_adds(&text, "No entries at this offset");
	else
		add_summary(&text, &n, mode, res->out.total > res->out.head.len);
	result_within(c, out, buf_str(&text), text.len, c->row->max_result_chars, rc < 0);
	structured(c, out, &n, mode, &names, &text);
	buf_release(&text);
	buf_release(&names);
}

const struct tool_row tool_grep = {
	.name = "Grep",
	.description =
	        "Searches file contents with ripgrep; ignored files (.gitignore) are left out. Prefer it to grep in "
	        "Bash.",
	.program = "rg",
	.params = params,
	.subject = SUBJECT_READ,
	.subject_at = P_PATH,
	.read_only = true,
	.max_result_chars = 50000,
	.plan = plan,
	.finish = finish,
};
