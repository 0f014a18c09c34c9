/* Bash: one command in a shell of its own, with nobody at the terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard/path.h"
#include "hook/hook.h"
#include "tool/internal.h"
#include "tool/shell_status.h"

#define DEFAULT_TIMEOUT_MS 120000
#define MAX_TIMEOUT_MS     600000
#define KEEP_BYTES         ((size_t)64 << 10) /* of each end of the output */
#define MAX_CHARS          30000
#define MAX_FAILED_CHARS   10000

enum { P_COMMAND, P_DESCRIPTION, P_TIMEOUT, P_BACKGROUND };

static const struct tool_param params[] = {
	[P_COMMAND] = { "command", PARAM_NAME, true, 0, NULL, NULL },
	[P_DESCRIPTION] = { "description", PARAM_TEXT, false, 0, NULL, "What it does, in a few words" },
	[P_TIMEOUT] = { "timeout", PARAM_INT, false, 0, NULL, "ms (default 120000, at most 600000)" },
	[P_BACKGROUND] = { "run_in_background", PARAM_BOOL, false, 0, NULL,
	                   "Do not wait for it: answers with an id and the file of its output" },
	{ 0 },
};

/* Bash becomes the last command of its text, to save a fork; then that one's directory would be followed, and git, make
 * -C or mkdir -p end in another one than the shell's. (Without a sandbox such a program would not get its set-user-ID
 * privileges either, see supervisor/follow.h.) It does not if text follows, and empty lines do no harm but behind a
 * backslash, or where they would belong to a here-document. */
static const char *command_end(const struct call *c)
{
	const struct input_value *command = &c->in.v[P_COMMAND];

	return (command->n && command->s[command->n - 1] == '\\') || strstr(command->s, "<<") ? "" : "\n\n";
}

/* What SessionStart hooks left for the environment of commands is read before each. A file that is broken says so
 * itself; one that ends the shell, which would pass for the command's own end, is named. On the command's line, so that
 * the shell counts lines as the model does. NULL: no memory; "" if there is none. */
static char *prologue(const struct call *c)
{
	const char *file = hooks_env_file(c->t->cfg.hooks);
	struct buf quoted = BUF_INIT(16384), b = BUF_INIT(65536);

	for (const char *p = file ? file : ""; *p; p++) {
		if (*p == '\'')
			buf_adds(&quoted, "'\\'");
		buf_addc(&quoted, *p);
	}
	if (file)
		buf_addf(&b,
		         "trap 'echo \"quern: the file of SessionStart hooks (CLAUDE_ENV_FILE) ended the shell before "
		         "the command\" >&2' EXIT; . '%s'; trap - EXIT; ",
		         buf_str(&quoted));
	char *text = quoted.failed || b.failed ? NULL : strdup(buf_str(&b));
	buf_release(&quoted);
	buf_release(&b);
	return text;
}

static int plan(struct call *c, struct tool_result *now, struct error *e)
{
	const struct input_value *v = c->in.v;
	int64_t timeout = v[P_TIMEOUT].set && v[P_TIMEOUT].i > 0 ? v[P_TIMEOUT].i : DEFAULT_TIMEOUT_MS;

	c->spec.cwd_fd = shell_cwd_open(c->t, now);
	if (c->spec.cwd_fd < 0)
		return 0;
	c->spec.follow_cwd = true;
	c->spec.envp = c->t->bash_env;
	c->spec.keep_head = KEEP_BYTES;
	c->spec.keep_tail = KEEP_BYTES;
	c->spill_room = result_spill_room(c->t);
	c->spec.max_spill = c->spill_room;
	c->spec.spill_open = result_spill_open;
	c->spec.timeout_ms = timeout < MAX_TIMEOUT_MS ? timeout : MAX_TIMEOUT_MS;
	char *before = prologue(c);
	bool made = before && call_arg(c, "bash") == 0 && call_arg(c, "--norc") == 0 &&
	            call_arg(c, "--noprofile") == 0 && call_arg(c, "-c") == 0 &&
	            call_arg(c, "%s%s%s", before, v[P_COMMAND].s, command_end(c)) == 0;
	free(before);
	if (!made)
		return error_nomem(e);
	if (v[P_BACKGROUND].b) /* it may take as long as it likes, unless the call says otherwise */
		return background_plan(c, v[P_COMMAND].s, v[P_TIMEOUT].set ? c->spec.timeout_ms : 0, now, e);
	return 1;
}

/* The first lines of a failure's text. */
static void failure_text(const struct call *c, const struct child_result *res, char *out, size_t n)
{
	int64_t s = c->spec.timeout_ms / 1000;

	if (res->too_many)
		snprintf(out, n,
		         "The command was ended with all its processes: there were more than %d "
		         "(sandbox.max_processes)\n",
		         res->too_many);
	else if (res->killed)
		snprintf(out, n, "[Request interrupted by user for tool use]\n");
	else if (res->timed_out && s >= 60)
		snprintf(out, n, "Command timed out after %lldm %llds\n", (long long)(s / 60), (long long)(s % 60));
	else if (res->timed_out && s > 0)
		snprintf(out, n, "Command timed out after %llds\n", (long long)s);
	else if (res->timed_out)
		snprintf(out, n, "Command timed out after %lldms\n", (long long)c->spec.timeout_ms);
	else if (res->exited)
		snprintf(out, n, "Exit code %d\n", res->status);
	else
		snprintf(out, n, "Exit code %d\nThe shell was ended by signal %d (%s).\n", 128 + res->signal,
		         res->signal, strsignal(res->signal));
}

/* `skip` bytes of the text are ours. */
static void structured(struct call *c, const struct child_result *res, const char *meaning, size_t skip,
                       struct tool_result *out)
{
	struct buf info = BUF_INIT((size_t)2 << 20);
	struct json_out o;

	json_out_init(&o, &info);
	jo_object(&o);
	jo_key(&o, "stdout");
	if (out->text_len >= skip)
		jo_strn(&o, out->text + skip, out->text_len - skip);
	else
		jo_str(&o, "");
	jo_kstr(&o, "stderr", ""); /* the two streams come interleaved */
	jo_kbool(&o, "interrupted", res->killed || res->timed_out);
	jo_kbool(&o, "isImage", false);
	if (res->timed_out)
		jo_kint(&o, "timedOutAfterMs", c->spec.timeout_ms);
	if (meaning)
		jo_kstr(&o, "returnCodeInterpretation", meaning);
	if (out->file) {
		jo_kstr(&o, "persistedOutputPath", out->file);
		jo_kint(&o, "persistedOutputSize", (int64_t)res->out.total);
	}
	jo_end(&o);
	result_structured(c->t, out, &info);
}

static void finish(struct call *c, struct child_result *res, struct tool_result *out)
{
	char prefix[160] = "";
	const char *meaning = NULL;

	if (res->error) {
		result_child_failed(c, res, out);
		return;
	}
	bool clean = res->exited && !res->timed_out && !res->killed && !res->too_many;
	if (clean)
		meaning = shell_status_meaning(c->in.v[P_COMMAND].s, res->status);
	bool failed = !clean || (res->status != 0 && !meaning);
	if (failed)
		failure_text(c, res, prefix, sizeof prefix);
	else if (res->out.total == 0)
		snprintf(prefix, sizeof prefix, "(Bash completed with no output)");
	result_output(c, out, prefix, &res->out, failed ? MAX_FAILED_CHARS : MAX_CHARS, failed);
	structured(c, res, meaning, strlen(prefix), out);
	if (!shell_cwd_take(c->t, &res->cwd_fd))
		result_append_line(c->t, out, "Shell cwd was reset to %s", c->t->bash_cwd);
	background_tell(c->t, out);
	out->cancels_siblings = failed;
}

const struct tool_row tool_bash = {
	.name = "Bash",
	.description = "Runs a bash command. Each call is a new shell without a terminal that begins where the last "
	               "one ended (cd "
	               "outside the working directories does not last); stdin is empty, so use flags that answer "
	               "prompts (-y). "
	               "stdout and stderr come together. Use Read, Edit, Write, "
	               "Grep and Glob for files instead of cat, sed and find.",
	.program = "bash",
	.params = params,
	.subject = SUBJECT_COMMAND,
	.subject_at = P_COMMAND,
	.max_result_chars = MAX_CHARS,
	.plan = plan,
	.finish = finish,
};
