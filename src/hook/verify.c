/* The verification: a command that must succeed before the run counts as completed. What it prints is for the model. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "hook/internal.h"

static void add_command(struct buf *b, const char *const *word)
{
	for (size_t i = 0; word[i]; i++)
		buf_addf(b, "%s%s", i ? " " : "", word[i]);
}

/* Head and tail, at most that much of each; neither cut falls inside a character. */
static void add_parts(struct buf *b, const struct buf *head, size_t hn, const struct buf *tail, size_t tn,
                      uint64_t total)
{
	size_t n = utf8_floor(buf_str(head), head->len, hn);
	size_t from = utf8_ceil(buf_str(tail), tail->len, tail->len > tn ? tail->len - tn : 0);

	buf_add(b, buf_str(head), n);
	buf_addf(b, "\n[... %" PRIu64 " bytes left out ...]\n", total - n - (tail->len - from));
	buf_add(b, buf_str(tail) + from, tail->len - from);
}

static size_t at_most(size_t n, size_t max)
{
	return n < max ? n : max;
}

/* What was kept beyond what is shown is there for the mask: a secret that the gap cut is not shown in part. */
static void add_output(struct hooks *h, struct buf *b, const struct output *o)
{
	struct buf head = BUF_INIT(BUF_HUGE), tail = BUF_INIT(BUF_HUGE), raw = BUF_INIT(BUF_HUGE);
	bool gap = o->total > o->head.len + o->tail.len;

	buf_add(&raw, buf_str(&o->head), o->head.len);
	if (!gap)
		buf_add(&raw, buf_str(&o->tail), o->tail.len);
	if (raw.failed)
		hooks_nomem(h);
	text_clean_into(h, &head, buf_str(&raw), raw.len);
	text_clean_into(h, &tail, buf_str(&o->tail), o->tail.len);
	if (o->total)
		buf_adds(b, "\nIts output:\n");
	if (gap)
		add_parts(b, &head, at_most(VERIFY_HEAD, head.len - at_most(CUT_SECRET, head.len)), &tail,
		          at_most(VERIFY_TAIL, tail.len - at_most(CUT_SECRET, tail.len)), o->total);
	else if (head.len > VERIFY_HEAD + VERIFY_TAIL)
		add_parts(b, &head, VERIFY_HEAD, &head, VERIFY_TAIL, head.len);
	else
		buf_add(b, buf_str(&head), head.len);
	buf_release(&head);
	buf_release(&tail);
	buf_release(&raw);
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
	add_output(run->h, &b, &res->out);
	if (b.failed)
		hooks_nomem(run->h);
	else
		said->text = text_clean(run->h, b.data, b.len);
	buf_release(&b);
}
