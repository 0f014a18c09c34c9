/* From lines to a page. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/story.h"

struct report *report_open(const struct report_config *cfg, struct error *e)
{
	struct report *r = calloc(1, sizeof *r);
	static const struct spool empty = SPOOL_INIT;

	if (!r) {
		error_nomem(e);
		return NULL;
	}
	r->cfg = *cfg;
	r->talk = r->done = empty;
	turn_release(&r->c.turn);
	buf_init(&r->out, BUF_HUGE);
	buf_init(&r->job, BUF_HUGE);
	buf_init(&r->patch, BUF_HUGE);
	buf_init(&r->title, 4096);
	buf_init(&r->last_head, 4096);
	buf_init(&r->nav, (size_t)1 << 20);
	digest_init(&r->process);
	digest_init(&r->since);
	return r;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	chapter_release(&r->c);
	spool_release(&r->talk);
	spool_release(&r->done);
	buf_release(&r->out);
	buf_release(&r->job);
	buf_release(&r->patch);
	buf_release(&r->title);
	buf_release(&r->last_head);
	buf_release(&r->nav);
	free(r);
}

/* What the run's own digest counts: all its lines in front of the result, from the first that its process wrote. */
static void count_line(struct report *r, const struct json *doc, const char *p, size_t n)
{
	int root = json_root(doc), type = json_get(doc, root, "type");
	char started[sizeof r->started] = "";
	char *told = json_strdup(doc, json_get(doc, root, "quern_started"), NULL);

	if (told && strlen(told) < sizeof started)
		memcpy(started, told, strlen(told) + 1);
	free(told);
	if (*started && strcmp(started, r->started) != 0) {
		memcpy(r->started, started, sizeof started);
		r->process = r->since;
	}
	if (json_eq(doc, type, "result"))
		digest_hex(&r->process, r->c.events_sha);
	digest_add(&r->process, p, n);
	digest_add(&r->process, "\n", 1);
	digest_add(&r->since, p, n);
	digest_add(&r->since, "\n", 1);
	if (json_eq(doc, type, "result"))
		digest_init(&r->since);
}

/* A run that had been completed gives its result again when it is to be gone on with. That is not another run. */
static bool is_old_result(const struct report *r, const struct json *doc)
{
	bool again = false;

	return r->c.result.ntokens > 0 && json_eq(doc, json_get(doc, json_root(doc), "type"), "result") &&
	       json_bool(doc, json_get(doc, json_root(doc), "resumed_result"), &again) && again;
}

int report_line(struct report *r, const char *p, size_t n, bool whole, struct error *e)
{
	struct json doc = JSON_INIT;

	if (!n)
		return 0;
	r->lines++;
	struct error why = ERROR_INIT;
	if (json_parse(&doc, p, n, JSON_REPAIR | JSON_BORROW, &why)) {
		if (why.code == ERR_NOMEM)
			return error_nomem(e);
		if (whole)
			r->unreadable++;
		else
			r->torn = true;
		return 0;
	}
	int rc = 0;
	if (is_old_result(r, &doc)) {
		r->events++;
		r->c.again++;
	} else if ((rc = story_event(r, &doc, e)) == 0) {
		count_line(r, &doc, p, n);
	}
	json_release(&doc);
	return rc;
}

int report_patch(struct report *r, const char *p, size_t n, struct error *e)
{
	buf_clear(&r->patch);
	patch_unified(&r->patch, p, n);
	return buf_check(&r->patch, "the changes", e);
}

int report_job(struct report *r, const char *p, size_t n, struct error *e)
{
	buf_clear(&r->job);
	html_cut(&r->job, p, n, SHOW_TEXT);
	return buf_check(&r->job, "the job", e);
}

void report_cut(struct report *r)
{
	r->cut = true;
}

int report_finish(struct report *r, int fd, struct error *e)
{
	if (!r->events)
		return error_set(e, ERR_INPUT, "there is no event of a run in it");
	if (chapter_end(r, e))
		return -1;
	return page_write(r, fd, e);
}
