/*
 * Tools that the job brings along: a program without a shell, the call's input on its stdin, its stdout the result.
 * Its stderr is for people; the model sees it when the program failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard/path.h"
#include "tool/internal.h"

#define KEEP_BYTES       ((size_t)64 << 10) /* of each end of an output */
#define MAX_CHARS        50000
#define MAX_FAILED_CHARS 10000
#define MAX_STDERR_CHARS 5000

static const char no_parameters[] = "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}";

static int plan(struct call *c, struct tool_result *now, struct error *e)
{
	const struct job_tool *tool = c->row->external;

	(void)now;
	for (const char *const *word = tool->command; *word; word++)
		if (call_arg(c, "%s", *word) < 0)
			return error_nomem(e);
	buf_addc(&c->input, '\n'); /* a program that reads a line gets one */
	if (buf_check(&c->input, "the tool's input", e) < 0)
		return -1;
	c->spec.cwd_fd = roots_first(c->t->roots);
	c->spec.envp = c->row->envp ? c->row->envp : c->t->bash_env;
	c->spec.input = c->input.data;
	c->spec.input_len = c->input.len;
	c->spec.separate_stderr = true;
	c->spec.keep_head = KEEP_BYTES;
	c->spec.keep_tail = KEEP_BYTES;
	c->spill_room = result_spill_room(c->t);
	c->spec.max_spill = c->spill_room;
	c->spec.spill_open = result_spill_open;
	c->spec.timeout_ms = tool->timeout_ms;
	c->spec.confine = tool->network ? CONFINE_TOOL_NET : CONFINE_TOOL;
	return 1;
}

static void say_timeout(struct buf *b, const char *name, int64_t ms)
{
	if (ms >= 60000)
		buf_addf(b, "%s timed out after %lldm %llds\n", name, (long long)(ms / 60000),
		         (long long)(ms / 1000 % 60));
	else if (ms >= 1000)
		buf_addf(b, "%s timed out after %llds\n", name, (long long)(ms / 1000));
	else
		buf_addf(b, "%s timed out after %lldms\n", name, (long long)ms);
}

/* How it ended, then its stderr; its stdout follows. */
static void failure_text(struct call *c, const struct child_result *res, struct buf *b)
{
	if (res->killed)
		buf_adds(b, "[Request interrupted by user for tool use]\n");
	else if (res->timed_out)
		say_timeout(b, c->row->name, c->spec.timeout_ms);
	else if (res->exited)
		buf_addf(b, "Exit code %d\n", res->status);
	else
		buf_addf(b, "Exit code %d\nThe program was ended by signal %d (%s).\n", 128 + res->signal, res->signal,
		         strsignal(res->signal));
	if (res->err.total == 0)
		return;
	buf_adds(b, "stderr:\n");
	result_excerpt(c->t, b, &res->err, MAX_STDERR_CHARS);
	if (b->len > 0 && b->data[b->len - 1] != '\n')
		buf_addc(b, '\n');
	if (res->out.total > 0)
		buf_adds(b, "stdout:\n");
}

static void structured(struct call *c, const struct child_result *res, struct tool_result *out)
{
	struct buf info = BUF_INIT((size_t)1 << 20), err = BUF_INIT((size_t)1 << 20);
	struct json_out o;

	json_out_init(&o, &info);
	jo_object(&o);
	if (res->exited)
		jo_kint(&o, "exitCode", res->status);
	else
		jo_kint(&o, "signal", res->signal);
	result_excerpt(c->t, &err, &res->err, MAX_FAILED_CHARS);
	jo_key(&o, "stderr");
	jo_strn(&o, buf_str(&err), err.len);
	jo_kbool(&o, "interrupted", res->killed || res->timed_out);
	if (res->timed_out)
		jo_kint(&o, "timedOutAfterMs", c->spec.timeout_ms);
	if (out->file) {
		jo_kstr(&o, "persistedOutputPath", out->file);
		jo_kint(&o, "persistedOutputSize", (int64_t)res->out.total);
	}
	jo_end(&o);
	result_structured(c->t, out, &info);
	buf_release(&err);
}

static void finish(struct call *c, struct child_result *res, struct tool_result *out)
{
	struct buf prefix = BUF_INIT((size_t)1 << 20);
	bool failed = !res->exited || res->status != 0 || res->timed_out || res->killed;

	if (res->error) {
		result_child_failed(c, res, out);
		return;
	}
	if (failed)
		failure_text(c, res, &prefix);
	else if (res->out.total == 0)
		buf_addf(&prefix, "(%s completed with no output)", c->row->name);
	result_output(c, out, buf_str(&prefix), &res->out, failed ? MAX_FAILED_CHARS : MAX_CHARS, failed);
	structured(c, res, out);
	buf_release(&prefix);
}

struct tool_row external_row(const struct job_tool *tool)
{
	return (struct tool_row){
		.name = tool->name,
		.description = tool->description,
		.program = tool->command[0],
		.schema = tool->input_schema ? tool->input_schema : no_parameters,
		.external = tool,
		.read_only = tool->read_only,
		.max_result_chars = MAX_CHARS,
		.plan = plan,
		.finish = finish,
	};
}

/* What no program does without. */
static bool is_basic(const char *assignment, size_t n)
{
	static const char *const names[] = { "PATH", "HOME", "LANG", "TMPDIR", NULL };

	for (const char *const *name = names; *name; name++)
		if (strlen(*name) == n && strncmp(*name, assignment, n) == 0)
			return true;
	return strncmp(assignment, "LC_", 3) == 0;
}

static bool is_named(const struct job_tool *tool, const char *assignment, size_t n)
{
	for (const char *const *name = tool->env; *name; name++)
		if (strlen(*name) == n && strncmp(*name, assignment, n) == 0)
			return true;
	return false;
}

const char **external_env(const struct toolbox_config *cfg, const struct job_tool *tool)
{
	const char *const *const from[] = { cfg->child_env, cfg->named_env };
	size_t n = 0;

	for (size_t i = 0; i < 2; i++)
		for (const char *const *v = from[i]; v && *v; v++)
			n++;
	const char **env = calloc(n + 1, sizeof *env);
	n = 0;
	for (size_t i = 0; i < 2 && env; i++)
		for (const char *const *v = from[i]; v && *v; v++) {
			size_t len = strcspn(*v, "=");
			if ((i == 0 && is_basic(*v, len)) || is_named(tool, *v, len))
				env[n++] = *v;
		}
	return env;
}
