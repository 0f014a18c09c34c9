/* The verification: a command that must succeed before the run counts as completed. What it prints is for the model. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "hook/internal.h"

#define UTF8_LONGEST 4

static void add_command(struct buf *b, const char *const *word)
{
	for (size_t i = 0; word[i]; i++)
		buf_addf(b, "%s%s", i ? " " : "", word[i]);
}

/* No cut falls inside a character. */
static void add_output(struct buf *b, const struct output *o)
{
	const char *head = buf_str(&o->head), *tail = buf_str(&o->tail);
	size_t n = o->head.len, from = 0;

	if (o->tail.len) {
		n = utf8_floor(head, n, n - UTF8_LONGEST);
		while (from < UTF8_LONGEST - 1 && ((unsigned char)tail[from] & 0xC0) == 0x80)
			from++;
	}
	size_t left_out = (size_t)o->total - n - (o->tail.len - from);
	if (o->total)
		buf_adds(b, " Its output:\n");
	buf_add(b, head, n);
	if (left_out)
		buf_addf(b, "\n[... %zu bytes left out ...]\n", left_out);
	buf_add(b, tail + from, o->tail.len - from);
}

void judge_verify(struct run *run, const struct child_result *res, struct said *said)
{
	struct buf b = BUF_INIT(BUF_HUGE);
	char end[400];

	if (!hook_end(run, res, end, sizeof end)) {
		if (res->status == 0)
			return;
		snprintf(end, sizeof end, "ended with exit status %d", res->status);
	}
	run->cancelled = res->timed_out;
	said->verdict = HOOK_SAYS_BLOCK;
	buf_addf(&b, "The work is not done%s: the verification `", run->asking->call.attempt ? " yet" : "");
	add_command(&b, run->h->cfg.verify->command);
	buf_addf(&b, "` %s.", end);
	add_output(&b, &res->out);
	if (b.failed)
		hooks_nomem(run->h);
	else
		said->text = text_clean(run->h, b.data, b.len);
	buf_release(&b);
}
