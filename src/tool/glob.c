/* Glob: files whose path fits a pattern, the newest first. */
#include <stdlib.h>
#include <string.h>

#include "tool/search.h"

#define MAX_PATHS 100

enum { P_PATTERN, P_PATH };

static const struct tool_param params[] = {
	[P_PATTERN] = { "pattern", PARAM_NAME, true, 0, NULL, "Such as src/**/*.c" },
	[P_PATH] = { "path", PARAM_NAME, false, 0, NULL, "Directory to search (default: the workspace)" },
	{ 0 },
};

/* The pattern relative to the directory: an absolute one that begins with it, "./" and "/" are cut. */
static const char *relative_pattern(const struct call *c, const char *pattern)
{
	size_t n = strlen(c->base);

	if (strncmp(pattern, c->base, n) == 0 && pattern[n] == '/')
		pattern += n;
	while (*pattern == '/' || (pattern[0] == '.' && pattern[1] == '/'))
		pattern += *pattern == '/' ? 1 : 2;
	return pattern;
}

static int plan(struct call *c, struct tool_result *now, struct error *e)
{
	const struct input_value *v = c->in.v;

	if (call_chdir(c, v[P_PATH].s, false, now) < 0)
		return 0;
	const char *pattern = relative_pattern(c, v[P_PATTERN].s);
	if (v[P_PATTERN].s[0] == '/' && strncmp(v[P_PATTERN].s, c->base, strlen(c->base)) != 0) {
		result_use_error(c->t, now,
		                 "The pattern is an absolute path; give the directory as `path` and a pattern relative "
		                 "to it.");
		return 0;
	}
	/* The leading slash anchors: without it a pattern would match at any depth, and a '!' would exclude. */
	if (search_begin(c) < 0 || call_arg(c, "--files") < 0 || call_arg(c, "--no-ignore") < 0 ||
	    call_arg(c, "--glob=/%s", pattern) < 0 || search_end(c) < 0)
		return error_nomem(e);
	return 1;
}

static void structured(struct call *c, struct tool_result *out, const struct found *v, size_t shown, size_t total,
                       int64_t duration_ms)
{
	struct buf info = BUF_INIT((size_t)1 << 20), name = BUF_INIT(16384);
	struct json_out o;

	json_out_init(&o, &info);
	jo_object(&o);
	jo_key(&o, "filenames");
	jo_array(&o);
	for (size_t i = 0; i < shown; i++) {
		buf_clear(&name);
		search_path(c, &name, v[i].rel, v[i].n, false);
		jo_strn(&o, buf_str(&name), name.len);
	}
	jo_end(&o);
	jo_kint(&o, "numFiles", (int64_t)shown);
	jo_kint(&o, "durationMs", duration_ms);
	jo_kbool(&o, "truncated", total > shown);
	jo_end(&o);
	result_structured(c->t, out, &info);
	buf_release(&name);
}

static void finish(struct call *c, struct child_result *res, struct tool_result *out)
{
	struct buf text = BUF_INIT((size_t)1 << 20);
	struct found *v;
	size_t total, shown;

	if (search_failed(c, res, out))
		return;
	if (search_newest_first(c, &res->out, &v, &total) < 0) {
		result_textf(c->t, out, true, "Glob: out of memory");
		return;
	}
	shown = total < MAX_PATHS ? total : MAX_PATHS;
	for (size_t i = 0; i < shown; i++) {
		search_path(c, &text, v[i].rel, v[i].n, false);
		buf_addc(&text, '\n');
	}
	if (total == 0)
		buf_adds(&text, "No files found");
	else if (res->out.total > res->out.head.len)
		buf_adds(&text, "(There are more files than could be looked at. Use a narrower path or pattern.)\n");
	else if (total > shown)
		buf_addf(&text,
		         "(The newest %zu of %zu files are shown. Use a narrower path or pattern for the others.)\n",
		         shown, total);
	result_within(c, out, buf_str(&text), text.len, c->row->max_result_chars, false);
	structured(c, out, v, shown, total, res->duration_ms);
	buf_release(&text);
	free(v);
}

const struct tool_row tool_glob = {
	.name = "Glob",
	.description =
	        "Finds files by path pattern (*, **, ?, {a,b}), newest first, at most 100. Includes hidden and ignored "
	        "files.",
	.program = "rg",
	.params = params,
	.subject = SUBJECT_READ,
	.subject_at = P_PATH,
	.read_only = true,
	.max_result_chars = 50000,
	.plan = plan,
	.finish = finish,
};
