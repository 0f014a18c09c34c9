/* What the model is told beside the task: the system prompt, memory files, attachments. */
#include "run/replay.h"
#include "run/world.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/utf8.h"
#include "prompt/mention.h"
#include "prompt/system.h"

const char *world_environment(struct world *w)
{
	struct buf b = BUF_INIT(65536);

	if (!w->job->environment) /* a session may have asked for none */
		return NULL;
	if (w->environment)
		return w->environment;
	if (w->record.environment) {
		w->environment = w->record.environment;
		return w->environment;
	}
	system_environment(&w->place, &b);
	w->environment = b.failed ? NULL : arena_strdup(&w->arena, buf_str(&b));
	buf_release(&b);
	return w->environment;
}

const char *world_system_prompt(struct world *w)
{
	struct buf b = BUF_INIT((size_t)4 << 20);

	system_prompt(w->job, &w->place, world_environment(w), &b);
	const char *text = b.len ? arena_strndup(&w->arena, buf_str(&b), b.len) : NULL;
	buf_release(&b);
	return text;
}

int world_find_attachments(struct world *w, struct error *e)
{
	char here[PLACE_PATH];

	w->place = (struct place){ .workspace = w->workspace,
		                   .add_dirs = w->add_dirs,
		                   .spelled = w->spelled,
		                   .permissions = w->permissions,
		                   .mask = w->secrets ? world_mask : NULL,
		                   .ctx = w,
		                   .environment = world_replayed_environment(w) };
	attachments_init(&w->attachments, &w->place);
	told_init(&w->told, &w->place);
	if (world_replays_task(w) || world_replays_input(w))
		return 0; /* they are told as the record tells them */
	if (memory_check(w->job->memory_files, e))
		return -1;
	if (*w->job->attach && !getcwd(here, sizeof here))
		return error_sys(e, "attach: the current directory");
	for (const char *const *name = w->job->attach; *name; name++)
		if (attach_find(&w->attachments, here, *name, e))
			return -1;
	return 0;
}

/* What came on stdin beside a prompt is somebody else's text: an "@" in it names nothing. */
static size_t own_words(const struct job *job, const struct block *b)
{
	const char *data = job->prompt ? strstr(b->text, "\n\n<stdin>\n") : NULL;

	return data ? (size_t)(data - b->text) : b->text_len;
}

static int find_mentions(struct world *w, const struct message *m, struct error *e)
{
	for (size_t i = 0; w->job->mentions && i < m->n; i++) {
		const struct block *b = m->blocks[i];
		if (b->kind == BLOCK_TEXT && mention_find(&w->attachments, b->text, own_words(w->job, b), e))
			return -1;
	}
	return 0;
}

static int tell_memory(struct world *w, struct error *e)
{
	struct told *t = &w->told;
	struct buf text = BUF_INIT(8 * MEMORY_BYTES), name = BUF_INIT(PLACE_PATH);
	int rc = 1;

	while (rc > 0 && (rc = memory_next(w->memory, &text, &name, &t->notes, e)) > 0) {
		utf8_name(&t->names, buf_str(&name), name.len, PLACE_PATH);
		buf_addf(&t->names, ": memory, %zu bytes", text.len);
		buf_addc(&t->names, '\0');
		if (told_text(t, &text))
			rc = error_nomem(e);
		buf_clear(&text);
	}
	buf_release(&text);
	buf_release(&name);
	return rc;
}

int world_open_memory(struct world *w, struct error *e)
{
	const struct job *job = w->job;

	if (w->memory || (!job->memory_auto && !(job->memory_files && *job->memory_files)))
		return 0;
	w->memory = memory_open(&w->place, job->memory_auto ? NULL : job->memory_files);
	return w->memory ? 0 : error_nomem(e);
}

int world_tell_first(struct world *w, const struct message *first, struct error *e)
{
	const struct archive_wait wait = { w->reactor, w->supervisor, &w->signo, w->deadline };

	if (w->told_first)
		return 0;
	if (world_replays_input(w))
		return world_replay_told(w, e);
	w->told_first = true;
	if (world_open_memory(w, e) || find_mentions(w, first, e) || tell_memory(w, e) ||
	    attach_tell(&w->attachments, &wait, &w->told, e))
		return -1;
	attachments_release(&w->attachments);
	struct message *m = w->told.message;
	w->told.message = NULL;
	return m && history_add(&w->history, m) ? error_nomem(e) : 0;
}

const char *const *world_told(struct world *w)
{
	const struct buf *names = &w->told.names;
	size_t n = 0;

	for (size_t i = 0; i < names->len; i++)
		n += names->data[i] == '\0';
	const char **v = n ? arena_alloc(&w->arena, (n + 1) * sizeof *v) : NULL;
	const char *at = buf_str(names);
	for (size_t i = 0; v && i < n; i++) {
		v[i] = at;
		at += strlen(at) + 1;
	}
	return v;
}

static int notice(struct world *w, const char *text, struct error *e)
{
	struct event ev = { .kind = EVENT_NOTICE };

	ev.u.notice = (struct event_notice){ .code = "attachment_cut", .text = text };
	log_warn("%s", text);
	return recorder_emit(w->recorder, &ev, e);
}

int world_tell_notes(struct world *w, struct error *e)
{
	int rc = w->told.notes.len ? notice(w, buf_str(&w->told.notes), e) : 0;

	buf_clear(&w->told.notes);
	return rc;
}

/* What was told in front of the task, or when a directory was touched, is not told again as long as it stands in the
 * conversation: so a run that goes on from its record and one that was never ended tell the same. */
int world_recall_memory(struct world *w)
{
	const struct history *h = &w->history;

	memory_forgotten(w->memory);
	w->memory_edits = h->edits;
	for (size_t i = 0; w->memory && i < h->n; i++)
		for (size_t k = 0; h->v[i]->role == ROLE_USER && k < h->v[i]->n; k++) {
			const struct block *b = h->v[i]->blocks[k];
			if (b->kind == BLOCK_TEXT && memory_told(w->memory, b->text, b->text_len))
				return -1;
		}
	return 0;
}

int world_attachment(void *ctx, struct buf *out, struct error *e)
{
	struct world *w = ctx;
	struct buf name = BUF_INIT(PLACE_PATH);
	const char *dir;
	int rc = 0;

	if (w->memory && w->history.edits != w->memory_edits && world_recall_memory(w))
		rc = error_nomem(e);
	while (w->memory && rc == 0 && (dir = toolbox_touched(w->toolbox)))
		rc = memory_touch(w->memory, dir) ? error_nomem(e) : 0;
	if (rc == 0)
		rc = memory_next(w->memory, out, &name, &w->told.notes, e);
	if (rc >= 0 && world_tell_notes(w, e))
		rc = -1;
	buf_release(&name);
	return rc;
}
