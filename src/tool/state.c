/*
 * What a toolbox remembers of the calls so far, as JSON: each result tells what its call changed, so that a run which
 * goes on from its record knows what the straight one would. Whatever is missing there counts as not seen: then a file
 * has to be read again, which does no harm.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tool/internal.h"

static void put_sha(struct json_out *o, const unsigned char sha[DIGEST_BYTES])
{
	char hex[DIGEST_HEX + 1];

	digest_to_hex(sha, hex);
	jo_kstr(o, "sha256", hex);
}

static void put_record(struct json_out *o, const struct read_record *r)
{
	jo_object(o);
	jo_kstr(o, "key", r->key);
	put_sha(o, r->sha);
	jo_kint(o, "size", (int64_t)r->size);
	jo_kint(o, "mtime_ns", r->mtime_ns);
	jo_kint(o, "seen_to", (int64_t)r->seen_to);
	jo_kint(o, "lines", (int64_t)r->lines);
	jo_kbool(o, "whole", r->whole);
	jo_kint(o, "touched", (int64_t)r->touched);
	jo_kint(o, "noted", (int64_t)r->noted);
	if (r->shown_by) {
		jo_kstr(o, "shown_by", r->shown_by);
		jo_kstr(o, "path", r->view.path);
		jo_kint(o, "first", (int64_t)r->view.first);
		jo_kint(o, "limit", (int64_t)r->view.limit);
		jo_kbool(o, "limit_given", r->view.limit_given);
	}
	jo_key(o, "basis");
	jo_array(o);
	for (size_t i = 0; i < r->nbasis; i++)
		jo_str(o, r->basis[i]);
	jo_end(o);
	jo_end(o);
}

static void put_files(struct json_out *o, struct read_state *s)
{
	if (!s->changed)
		return;
	jo_key(o, "files");
	jo_array(o);
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].changed)
			put_record(o, &s->v[i]);
		s->v[i].changed = false;
	}
	jo_end(o);
	s->changed = false;
}

void state_tell(struct toolbox *t, struct tool_result *out)
{
	struct buf b = BUF_INIT(BUF_HUGE);
	struct json_out o;

	if (!t->state.changed && !t->cwd_changed && !t->todos_changed && !touched_is_new(t))
		return;
	json_out_init(&o, &b);
	jo_object(&o);
	put_files(&o, &t->state);
	if (t->cwd_changed)
		jo_kstr(&o, "cwd", t->bash_cwd);
	if (t->todos_changed && t->todos) {
		jo_key(&o, "todos");
		jo_raw(&o, t->todos, strlen(t->todos));
	}
	touched_tell(t, &o);
	jo_end(&o);
	t->cwd_changed = t->todos_changed = false;
	free(out->state);
	out->state = b.failed ? NULL : buf_take(&b, NULL);
	buf_release(&b);
}

static int restore_touched(struct toolbox *t, const struct json *doc, bool told)
{
	int dirs = json_get(doc, json_root(doc), "touched"), rc = 0;

	for (int d = json_first(doc, dirs); d >= 0 && !rc; d = json_next(doc, dirs, d)) {
		char *dir = json_strdup(doc, d, NULL);
		rc = dir ? touched_restore(t, dir, told) : 0;
		free(dir);
	}
	return rc;
}

/* What it tells of other calls, which were done when it was made, stays told. */
void state_retell(struct toolbox *t, struct tool_result *res)
{
	struct json doc;

	if (json_parse(&doc, res->state, strlen(res->state), JSON_BORROW, NULL))
		return;
	int files = json_get(&doc, json_root(&doc), "files");
	for (int f = json_first(&doc, files); f >= 0; f = json_next(&doc, files, f)) {
		char *key = json_strdup(&doc, json_get(&doc, f, "key"), NULL);
		if (key)
			read_state_tell_again(&t->state, key);
		free(key);
	}
	t->cwd_changed |= json_get(&doc, json_root(&doc), "cwd") >= 0;
	t->todos_changed |= json_get(&doc, json_root(&doc), "todos") >= 0;
	(void)restore_touched(t, &doc, false);
	json_release(&doc);
	state_tell(t, res);
}

/* ---- and back ---- */

static bool read_sha(const char *hex, unsigned char sha[DIGEST_BYTES])
{
	if (strlen(hex) != DIGEST_HEX || hex[strspn(hex, "0123456789abcdef")])
		return false;
	for (size_t i = 0; i < DIGEST_BYTES; i++) {
		char pair[3] = { hex[2 * i], hex[2 * i + 1], '\0' };
		sha[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	return true;
}

static uint64_t number(const struct json *doc, int obj, const char *key)
{
	int64_t n = json_int_or(doc, json_get(doc, obj, key), 0);

	return n > 0 ? (uint64_t)n : 0;
}

static char *text(const struct json *doc, int obj, const char *key)
{
	return json_strdup(doc, json_get(doc, obj, key), NULL);
}

/* *r gets all but its basis; false: there is no such record, or no memory. */
static bool read_record(const struct json *doc, int tok, struct read_record *r)
{
	char *sha = text(doc, tok, "sha256");
	bool shown = false;

	*r = (struct read_record){
		.key = text(doc, tok, "key"),
		.size = number(doc, tok, "size"),
		.mtime_ns = json_int_or(doc, json_get(doc, tok, "mtime_ns"), 0),
		.seen_to = number(doc, tok, "seen_to"),
		.lines = number(doc, tok, "lines"),
		.touched = number(doc, tok, "touched"),
		.noted = number(doc, tok, "noted"),
		.shown_by = text(doc, tok, "shown_by"),
		.view = { .path = text(doc, tok, "path"),
		          .first = number(doc, tok, "first"),
		          .limit = number(doc, tok, "limit") },
	};
	json_bool(doc, json_get(doc, tok, "whole"), &r->whole);
	json_bool(doc, json_get(doc, tok, "limit_given"), &shown);
	r->view.limit_given = shown;
	bool ok = r->key && sha && read_sha(sha, r->sha) && (r->shown_by == NULL) == (r->view.path == NULL);
	free(sha);
	return ok;
}

static int restore_record(struct toolbox *t, const struct json *doc, int tok, struct error *e)
{
	struct read_record r;
	bool ok = read_record(doc, tok, &r);
	int basis = json_get(doc, tok, "basis");

	for (int id = json_first(doc, basis); ok && id >= 0; id = json_next(doc, basis, id)) {
		char *s = json_strdup(doc, id, NULL);
		ok = s && read_record_rests(&r, s) == 0;
		free(s);
	}
	if (ok)
		return read_state_restore(&t->state, &r) ? error_nomem(e) : 0;
	read_record_release(&r);
	return error_set(e, ERR_INPUT, "the record of a file that was read is none");
}

static int restore_todos(struct toolbox *t, const struct json *doc, int tok, struct error *e)
{
	if (tok < 0)
		return 0;
	free(t->todos);
	t->todos = json_rawdup(doc, tok);
	return t->todos ? 0 : error_nomem(e);
}

int toolbox_restore(struct toolbox *t, const char *state, bool newest, struct error *e)
{
	struct json doc;
	int rc;

	if (json_parse(&doc, state, strlen(state), JSON_BORROW, e))
		return -1;
	int files = json_get(&doc, json_root(&doc), "files");
	char *cwd = text(&doc, json_root(&doc), "cwd");
	rc = restore_todos(t, &doc, json_get(&doc, json_root(&doc), "todos"), e);
	for (int f = json_first(&doc, files); f >= 0 && !rc; f = json_next(&doc, files, f))
		rc = restore_record(t, &doc, f, e);
	if (!rc && cwd)
		shell_cwd_restore(t, cwd);
	if (!rc && newest && restore_touched(t, &doc, true))
		rc = error_nomem(e);
	free(cwd);
	json_release(&doc);
	return rc;
}
