/* What a handler's end means: its exit status, and whatever kept it from having one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "hook/internal.h"

#define OBJECTS (TAKES_CONTEXT | TAKES_BLOCK | TAKES_END | TAKES_MESSAGE)

const struct event_rule *event_rule(enum hook_event kind)
{
	static const struct event_rule rules[HOOK_EVENTS] = {
		[HOOK_SESSION_START] = { TAKES_PLAIN | TAKES_CONTEXT | TAKES_END | TAKES_MESSAGE, BREAK_TOLD, 600000 },
		[HOOK_USER_PROMPT_SUBMIT] = { TAKES_PLAIN | OBJECTS | TWO_BLOCKS, BREAK_ENDS, 30000 },
		[HOOK_PRE_TOOL_USE] = { TAKES_CONTEXT | TAKES_END | TAKES_MESSAGE | TWO_DENIES, BREAK_DENIES, 600000 },
		[HOOK_PERMISSION_REQUEST] = { TAKES_END | TAKES_MESSAGE, BREAK_DENIES, 600000 },
		[HOOK_POST_TOOL_USE] = { OBJECTS | TWO_BLOCKS, BREAK_BLOCKS, 600000 },
		[HOOK_POST_TOOL_USE_FAILURE] = { OBJECTS | TWO_BLOCKS, BREAK_BLOCKS, 600000 },
		[HOOK_POST_TOOL_BATCH] = { OBJECTS | TWO_BLOCKS, BREAK_ENDS, 600000 },
		[HOOK_PRE_COMPACT] = { TAKES_BLOCK | TWO_BLOCKS, BREAK_BLOCKS, 600000 },
		[HOOK_POST_COMPACT] = { TAKES_MESSAGE, BREAK_TOLD, 600000 },
		[HOOK_STOP] = { OBJECTS | TWO_BLOCKS, BREAK_ENDS, 600000 },
		[HOOK_STOP_FAILURE] = { TAKES_MESSAGE, BREAK_TOLD, 600000 },
		[HOOK_SESSION_END] = { TAKES_MESSAGE, BREAK_TOLD, 1500 },
		[HOOK_VERIFY] = { 0, BREAK_BLOCKS, 600000 },
	};

	return &rules[kind];
}

void said_release(struct said *s)
{
	char *texts[] = {
		s->text, s->permit_text, s->context, s->new_input, s->new_output, s->first_message, s->message
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free(texts[i]);
	*s = (struct said){ 0 };
}

const char *hook_end(const struct run *run, const struct child_result *res, char *out, size_t n)
{
	int64_t ms = run->handler->timeout_ms;

	if (res->error)
		snprintf(out, n, "%s", res->error);
	else if (res->too_many)
		snprintf(out, n, "was ended: there were more than %d processes (sandbox.max_processes)", res->too_many);
	else if (res->timed_out && ms % 1000)
		snprintf(out, n, "took longer than %lld ms and was ended", (long long)ms);
	else if (res->timed_out)
		snprintf(out, n, "took longer than %lld s and was ended", (long long)ms / 1000);
	else if (!res->exited)
		snprintf(out, n, "was ended by signal %d (%s)", res->signal, strsignal(res->signal));
	else
		return NULL;
	return out;
}

void judge_broken(struct run *run, struct said *said)
{
	const struct job_hook *decl = run->handler->decl;
	char text[700], command[201] = "";

	said_release(said);
	if (!decl->blocks || event_rule(run->kind)->breaks == BREAK_TOLD)
		return;
	text_short(run->h, decl->command, strlen(decl->command), command, sizeof command);
	snprintf(text, sizeof text, "the hook '%s' broke: %s", command, run->why);
	char *why = text_clean(run->h, text, strlen(text));
	switch (event_rule(run->kind)->breaks) {
	case BREAK_DENIES:
		said->rank = RANK_DENY;
		said->permit_text = why;
		break;
	case BREAK_ENDS:
		said->verdict = HOOK_SAYS_END;
		said->text = why;
		break;
	default:
		said->verdict = HOOK_SAYS_BLOCK;
		said->text = why;
		break;
	}
}

/* Without the blanks at its end; NULL if nothing is left. */
static char *stream_text(struct run *run, const struct output *o)
{
	struct buf b = BUF_INIT(BUF_HUGE);
	char *text = NULL;

	if (text_stream(run->h, &b, o))
		return NULL;
	while (b.len > 0 && strchr(" \t\r\n", b.data[b.len - 1]))
		buf_cut(&b, b.len - 1);
	if (b.len)
		text = text_for_model(run, b.data, b.len, o->total > o->head.len ? o->total : 0);
	buf_release(&b);
	return text;
}

static void say_status(struct run *run, const struct child_result *res)
{
	const char *err = buf_str(&res->err.head);
	size_t n = strspn(err, " \t\r\n");
	char line[201] = "";

	text_short(run->h, err + n, strcspn(err + n, "\r\n"), line, sizeof line);
	snprintf(run->why, sizeof run->why, "ended with exit status %d%s%s", res->status, line[0] ? ": " : "", line);
}

/* No JSON takes it back. Its own reason is better than what stands on stderr. */
static void judge_two(struct run *run, const struct child_result *res, struct said *said)
{
	unsigned takes = event_rule(run->kind)->takes;

	if (takes & TWO_DENIES) {
		if (said->rank != RANK_DENY || !said->permit_text) {
			free(said->permit_text);
			said->permit_text = stream_text(run, &res->err);
		}
		said->rank = RANK_DENY;
	} else if (takes & TWO_BLOCKS) {
		if (said->verdict == HOOK_SAYS_END)
			return;
		if (!said->text)
			said->text = stream_text(run, &res->err);
		said->verdict = HOOK_SAYS_BLOCK;
	} else {
		if (said->rank == RANK_ALLOW) { /* nor does one that ends so allow anything */
			free(said->new_input);
			said->new_input = NULL;
			said->rank = RANK_NONE;
		}
		say_status(run, res);
	}
}

static void judge_status(struct run *run, const struct child_result *res, struct said *said)
{
	char bad[200] = "";
	bool json = output_is_json(&res->out);
	bool good = json && output_read(run, &res->out, said, bad, sizeof bad);

	if (res->status == 2) {
		judge_two(run, res, said);
	} else if (!json && res->status == 0) {
		if (event_rule(run->kind)->takes & TAKES_PLAIN)
			said->context = stream_text(run, &res->out);
		else
			run->idle_text = !utf8_is_blank(buf_str(&res->out.head), res->out.head.len);
	} else if (!good) {
		if (json)
			snprintf(run->why, sizeof run->why, "gave JSON that cannot be used: %s", bad);
		else
			say_status(run, res);
		judge_broken(run, said);
	}
}

void judge(struct run *run, const struct child_result *res, struct said *said)
{
	if (res->error && supervisor_lost(run->h->cfg.supervisor) && !run->h->lost) {
		error_set(&run->h->why, ERR_GONE, "%s", res->error);
		run->h->lost = true;
	}
	if (res->out.head.failed == ERR_NOMEM || res->err.head.failed == ERR_NOMEM)
		hooks_nomem(run->h); /* a part of what it said is missing */
	if (run->kind == HOOK_VERIFY) {
		judge_verify(run, res, said);
	} else if (hook_end(run, res, run->why, sizeof run->why)) {
		run->cancelled = res->timed_out;
		judge_broken(run, said);
	} else {
		judge_status(run, res, said);
	}
}
