/* The summary of a conversation: how it is asked for, and the conversation that goes on from it. */
#include <string.h>

#include "base/utf8.h"
#include "context/private.h"

/* Asked as the user's last words, behind the very messages that it is about. */
static const char instruction[] =
        "This conversation is about to exceed what you can be shown at once. Do not go on with the task and do not "
        "call any tool. Write a summary that will stand in place of the messages above: you will go on from it and "
        "from the newest messages, and have nothing else. Be exact: names, paths, numbers, commands and error "
        "messages word for word. Leave out how you thought about it. Use these headings and leave none out:\n"
        "\n"
        "1. Task: what the user wants, and every instruction, limit and prohibition that was given, above all those "
        "about safety and about what must not be touched.\n"
        "2. Facts: what was found out about the code, the machine and the tools, and what was decided and why.\n"
        "3. Files: each file that was read, made or changed, by its full path, with what matters of it; code that "
        "will be needed again word for word.\n"
        "4. Errors: each one met, what caused it, and how it was fixed or that it was not.\n"
        "5. Solutions: the problems that are solved and how, and attempts that failed and should not be repeated.\n"
        "6. User messages: every message of the user that is not a tool result, in order, word for word if short.\n"
        "7. Open: what was asked for and is not done, and commands that still run in the background.\n"
        "8. Now: what was being done when this summary was asked for, to the file and the line.\n"
        "9. Next: the one step that comes next, and the words of the user that it follows from.\n"
        "\n"
        "If an earlier summary stands above, take over what still holds. ";

static const char boundary[] =
        "[The conversation up to here was too long and is replaced by the summary below. What follows it, if "
        "anything, is the newest part as it was. Files may have changed since and are quoted from memory: read one "
        "again when in doubt.]\n\n";

/* ---- the request ---- */

static struct block *instruction_block(const struct context *c)
{
	struct buf text = BUF_INIT(2 * sizeof instruction);

	buf_add(&text, instruction, sizeof instruction - 1);
	/* a word is about 1.3 tokens; cut short it would be worth nothing */
	buf_addf(&text, "Answer with the summary alone, in at most %lld words.", (long long)c->model.marks.summary / 2);
	struct block *b = text.failed ? NULL : block_new_text(buf_str(&text), text.len);
	buf_release(&text);
	return b;
}

static int shown(const struct context *c, const struct history *h, const struct compact_request *how,
                 struct history *out)
{
	struct cut cut = { .rounds = whole_cut(h, how->leave_out) };
	int rc = 0;

	cut.strip = how->strip || (cut.rounds && c->model.thinking_bound);
	if (cut.rounds) {
		rc = fold_draft(c, h, &cut, out);
		block_unref(cut.now);
		return rc;
	}
	for (size_t i = 0; i < h->n && !rc; i++)
		rc = draft_add(out, h->v[i], cut.strip);
	return rc;
}

int context_compact_request(const struct context *c, const struct history *h, const struct compact_request *how,
                            struct history *out)
{
	int rc = shown(c, h, how, out);

	if (!rc && history_drop_server_calls(out) < 0)
		rc = -1;
	if (!rc) {
		struct block *b = instruction_block(c);
		rc = b ? history_add_user_block(out, b) : -1;
	}
	if (rc)
		history_release(out);
	return rc;
}

size_t context_rounds_worth(const struct history *h, size_t already, int64_t tokens, int64_t total)
{
	size_t most = rounds_in(h) ? rounds_in(h) - 1 : 0, gone = 0, freed = 0;

	if (already >= most)
		return 0;
	for (size_t r = 0; r < already; r++)
		gone += round_weight(NULL, h, r);
	double rest = (double)(h->weight - gone);
	/* the server's count tells what a byte of this conversation is worth */
	double wanted = tokens > 0 && total > 0 ? rest * (double)tokens / (double)total : 0;
	size_t n = already;
	do
		freed += round_weight(NULL, h, n++);
	while (n < most && (double)freed < wanted);
	n = whole_cut(h, n);
	return n > already ? n : 0;
}

/* ---- what becomes of the answer ---- */

static bool holds(const struct message *m, const struct block *b)
{
	for (size_t i = 0; i < m->n; i++) {
		if (m->blocks[i] == b)
			return true;
	}
	return false;
}

/* Has the first message taken in something since it was last written: folds, the user's words of rounds that went? */
static bool first_has_more(const struct context *c, const struct history *h)
{
	const struct message *known = c->base ? c->base : c->task;

	for (size_t i = 0; known && h->n && i < h->v[0]->n; i++) {
		if (!holds(known, h->v[0]->blocks[i]))
			return true;
	}
	return false;
}

int context_note_task(struct context *c, const struct history *h)
{
	if (h->n != 1)
		return 0;
	message_unref(c->task);
	message_unref(c->base);
	c->base = NULL;
	c->task = message_copy(h->v[0]);
	return c->task ? 0 : -1;
}

bool context_can_compact(const struct context *c, const struct history *h)
{
	/* a task and what was said behind it since, to which nothing was answered yet: these words are news */
	if (h->n < 2)
		return false;
	/* behind an answer that also waits for a tool of the server's no request may stand: in the next turn */
	if (h->n > 2 && h->n % 2 && message_awaits_server(h->v[h->n - 2]))
		return false;
	return whole_cut(h, rounds_in(h)) || first_has_more(c, h);
}

static size_t whole_weight(const struct history *h, size_t r)
{
	size_t weight = 0;

	for (size_t i = round_begin(r); i < h->n && i <= round_begin(r) + 1; i++) {
		for (size_t k = 0; k < h->v[i]->n; k++)
			weight += h->v[i]->blocks[k]->weight;
	}
	return weight;
}

/* How many of the oldest rounds the summary replaces: all but the newest that fit, and at least half of it all by
 * weight, since tokens are guessed and something must be won. The last one always stays. */
static size_t rounds_to_drop(const struct context *c, const struct history *h)
{
	size_t all = 0, kept = 0, n = rounds_in(h);
	size_t fit = (size_t)(c->model.marks.keep_recent * c->model.marks.bytes_per_token);

	for (size_t r = 0; r < n; r++)
		all += whole_weight(h, r);
	if (fit > all / 2)
		fit = all / 2;
	while (n) {
		kept += whole_weight(h, n - 1);
		if (n < rounds_in(h) && kept > fit)
			break;
		n--;
	}
	return whole_cut(h, n);
}

/* The beginning of a task that is too long to be carried along. */
static struct block *head_of(const struct block *b, size_t room)
{
	size_t n = utf8_floor(b->text, b->text_len, room);
	struct buf text = BUF_INIT(BUF_HUGE);

	buf_add(&text, b->text, n);
	buf_addf(&text,
	         "\n[The task is too long to be shown in full: this is the beginning, %zu of %zu bytes. The summary "
	         "has the rest.]",
	         n, b->text_len);
	struct block *head = text.failed ? NULL : block_new_text(buf_str(&text), text.len);
	buf_release(&text);
	return head;
}

static int add_task(const struct context *c, struct message *to)
{
	const struct context_marks *m = &c->model.marks;
	size_t room = (size_t)((m->usable ? m->usable / 8 : m->keep_recent) * m->bytes_per_token);
	size_t left_out = 0;

	for (size_t i = 0; i < c->task->n; i++) {
		struct block *b = c->task->blocks[i];
		if (b->weight <= room) {
			room -= b->weight;
			b = block_ref(b);
		} else if (b->kind == BLOCK_TEXT && room) {
			b = head_of(b, room);
			room = 0;
		} else {
			left_out++;
			continue;
		}
		if (message_add(to, b))
			return -1;
	}
	if (!left_out)
		return 0;
	struct buf note = BUF_INIT(128);
	buf_addf(&note, "[%zu further part%s of the task did not fit here. The summary says what %s.]", left_out,
	         left_out == 1 ? "" : "s", left_out == 1 ? "it holds" : "they hold");
	struct block *b = note.failed ? NULL : block_new_text(buf_str(&note), note.len);
	buf_release(&note);
	return message_add(to, b);
}

static struct message *first_message(const struct context *c, struct block *told)
{
	struct message *m = message_new(ROLE_USER);

	if (m && (add_task(c, m) || message_add(m, block_ref(told)))) {
		message_unref(m);
		m = NULL;
	}
	return m;
}

static struct block *summary_block(const char *summary, size_t n)
{
	struct buf text = BUF_INIT(BUF_HUGE);

	buf_add(&text, boundary, sizeof boundary - 1);
	buf_add(&text, summary, n);
	struct block *b = text.failed ? NULL : block_new_text(buf_str(&text), text.len);
	buf_release(&text);
	return b;
}

/* The blocks of m, but not the files that an earlier compaction attached. */
static struct message *without_files(const struct context *c, const struct message *m)
{
	struct message *copy = message_new(m->role);

	for (size_t i = 0; copy && i < m->n; i++) {
		if (!is_own_file(c, m->blocks[i]) && message_add(copy, block_ref(m->blocks[i]))) {
			message_unref(copy);
			copy = NULL;
		}
	}
	return copy;
}

static int add_files(struct message *m, const struct message *files)
{
	for (size_t i = 0; i < files->n; i++) {
		if (message_add(m, block_ref(files->blocks[i])))
			return -1;
	}
	return 0;
}

static struct message *file_blocks(const struct buf *files, size_t n)
{
	struct message *m = message_new(ROLE_USER);

	for (size_t i = 0; m && i < n; i++) {
		if (utf8_is_blank(buf_str(&files[i]), files[i].len))
			continue;
		if (message_add(m, block_new_text(buf_str(&files[i]), files[i].len))) {
			message_unref(m);
			m = NULL;
		}
	}
	return m;
}

/* The conversation that goes on from `first`, whose reference is taken (NULL: there was no memory for it): the rounds
 * from `drop` on, and the files in the user's last message. */
static int kept_draft(const struct context *c, const struct history *h, size_t drop, struct message *first,
                      const struct message *files, struct history *draft)
{
	bool strip = c->model.thinking_bound;
	size_t last = h->n - 1 - (h->n % 2 ? 0 : 1); /* the user's last message */

	if (last && message_awaits_server(h->v[last - 1]))
		last = 0; /* nothing but results may stand there */
	if (first && last < round_begin(drop) && add_files(first, files)) {
		message_unref(first);
		return -1;
	}
	int rc = history_add(draft, first);
	for (size_t i = round_begin(drop); i < h->n && !rc; i++) {
		if (h->v[i]->role == ROLE_ASSISTANT) {
			rc = draft_add(draft, h->v[i], strip);
			continue;
		}
		struct message *m = without_files(c, h->v[i]);
		if (m && i == last && add_files(m, files)) {
			message_unref(m);
			m = NULL;
		}
		rc = history_add(draft, m);
	}
	return rc;
}

/* The draft takes the history's place. */
static void compact_commit(struct context *c, struct history *h, struct history *draft, size_t drop)
{
	cut_commit(c, h, draft, drop);
	message_unref(c->base);
	c->base = message_ref(h->v[0]);
	block_unref(c->fold);
	block_unref(c->marker);
	c->fold = c->marker = NULL;
	c->snipped = 0;
}

/* The conversation behind the summary, with these files. 1: it would be too heavy. */
static int replace_by(struct context *c, struct history *h, size_t drop, struct block *told, struct message *files,
                      size_t room, struct context_report *report)
{
	struct history draft = HISTORY_INIT;
	int rc = kept_draft(c, h, drop, first_message(c, told), files, &draft);

	if (!rc && (draft.weight >= h->weight || (files->n && draft.weight > room)))
		rc = 1;
	if (!rc) {
		report->thinking_broken = breaks_thinking(c, h, drop, c->model.thinking_bound);
		compact_commit(c, h, &draft, drop);
		message_unref(c->files);
		c->files = message_ref(files);
	}
	history_release(&draft);
	return rc;
}

int context_compact_apply(struct context *c, struct history *h, const char *summary, size_t n, const struct buf *files,
                          size_t nfiles, size_t room, struct context_report *report)
{
	size_t drop = rounds_to_drop(c, h), left = nfiles + 1;
	struct block *told = summary_block(summary, n);
	int rc = !told || note_task(c, h) ? -1 : 1;

	*report = (struct context_report){ .n = 0 };
	/* with all files, or as many of the first as there is room for */
	while (rc == 1 && left-- > 0) {
		struct message *attached = file_blocks(files, left);
		report->files = left;
		rc = attached ? replace_by(c, h, drop, told, attached, room, report) : -1;
		message_unref(attached);
	}
	block_unref(told);
	return rc;
}
