#include "model/tape.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/json.h"

int tape_fail(struct error *e, const struct yaml_node *at, const char *fmt, ...)
{
	char text[sizeof((struct error *)0)->msg];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return error_set(e, ERR_INPUT, "%d:%d: %s", at->line, at->col, text);
}

static int check_version(const struct yaml_node *root, struct error *e)
{
	const struct yaml_node *v = root->kind == YAML_MAP ? yaml_get(root, "tape") : NULL;

	if (!v)
		return tape_fail(e, root, "this is no tape: the key 'tape: %d' is missing", TAPE_VERSION);
	if (v->kind != YAML_SCALAR || strcmp(v->text, "1") != 0)
		return tape_fail(e, v, "tape must be %d, the version of the format that is known here", TAPE_VERSION);
	return 0;
}

static int read_name(struct tape *t, const struct yaml_node *v, struct error *e)
{
	if (v->kind != YAML_SCALAR)
		return tape_fail(e, v, "name must be a text");
	t->name = v->text;
	return 0;
}

/* The head of both forms. A tape of JSON lines has its answers on the lines that follow. */
static int read_head(struct tape *t, const struct yaml_node *root, const struct yaml_node **answers, struct error *e)
{
	if (check_version(root, e))
		return -1;
	for (const struct yaml_node *v = root->first; v; v = v->next) {
		if (!strcmp(v->key->text, "name")) {
			if (read_name(t, v, e))
				return -1;
		} else if (!strcmp(v->key->text, "answers") && answers) {
			*answers = v;
		} else if (strcmp(v->key->text, "tape") != 0) {
			return tape_fail(e, v->key, "unknown key '%s': a tape has tape, name%s", v->key->text,
			                 answers ? " and answers" : "; its answers follow, one a line");
		}
	}
	return 0;
}

static int parse_yaml(struct tape *t, const char *text, size_t n, struct error *e)
{
	struct yaml_node *root = NULL;
	const struct yaml_node *answers = NULL;
	int line = 1, col = 1;

	if (yaml_parse(&t->arena, text, n, &root, &line, &col, e))
		return error_prefix(e, "%d:%d", line, col);
	if (!root)
		return error_set(e, ERR_INPUT, "1:1: the tape is empty");
	if (read_head(t, root, &answers, e))
		return -1;
	if (!answers || answers->kind != YAML_SEQ)
		return tape_fail(e, answers ? answers : root, "answers must be a list");
	size_t count = 0;
	for (const struct yaml_node *v = answers->first; v; v = v->next)
		count++;
	t->answers = arena_alloc(&t->arena, (count + 1) * sizeof *t->answers);
	if (!t->answers)
		return error_nomem(e);
	for (const struct yaml_node *v = answers->first; v; v = v->next)
		if (tape_read_answer(&t->arena, v, &t->answers[t->n++], e))
			return -1;
	return 0;
}

bool tape_next_line(const char **at, const char *end, struct tape_line *l)
{
	if (*at == end)
		return false;
	const char *nl = memchr(*at, '\n', (size_t)(end - *at));
	l->p = *at;
	l->n = (size_t)((nl ? nl : end) - *at);
	l->no++;
	*at = nl ? nl + 1 : end;
	while (l->n && (l->p[l->n - 1] == '\r' || l->p[l->n - 1] == ' ' || l->p[l->n - 1] == '\t'))
		l->n--;
	return true;
}

enum form { FORM_YAML, FORM_LINES, FORM_RECORD };

/* JSON lines begin with a line that is an object by itself; a YAML tape in flow style has its answers inside. */
static enum form form_of(const char *text, size_t n)
{
	const char *at = text;
	struct tape_line head = { NULL, 0, 0 };
	struct json doc = JSON_INIT;

	if (!tape_next_line(&at, text + n, &head) || !head.n || head.p[0] != '{')
		return FORM_YAML;
	if (tape_is_record(head.p, head.n))
		return FORM_RECORD;
	if (json_parse(&doc, head.p, head.n, JSON_BORROW, NULL))
		return FORM_YAML;
	int root = json_root(&doc);
	bool lines = json_get(&doc, root, "tape") >= 0 && json_get(&doc, root, "answers") < 0;
	json_release(&doc);
	return lines ? FORM_LINES : FORM_YAML;
}

static int parse_lines(struct tape *t, const char *text, size_t n, struct error *e)
{
	const char *at = text, *end = text + n;
	struct tape_line l = { NULL, 0, 0 };

	for (bool head = true; tape_next_line(&at, end, &l); head = false) {
		if (!l.n)
			continue;
		const struct yaml_node *root = tape_json_tree(&t->arena, l.p, l.n, l.no, e);
		if (!root)
			return -1;
		if (head ? read_head(t, root, NULL, e) : tape_read_answer(&t->arena, root, &t->answers[t->n++], e))
			return -1;
	}
	return 0;
}

static int parse(struct tape *t, const char *text, size_t n, struct error *e)
{
	enum form form = form_of(text, n);
	size_t lines = 1;

	if (form == FORM_YAML)
		return parse_yaml(t, text, n, e);
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	t->answers = arena_alloc(&t->arena, lines * sizeof *t->answers);
	if (!t->answers)
		return error_nomem(e);
	return form == FORM_LINES ? parse_lines(t, text, n, e) : tape_read_record(t, text, n, e);
}

int tape_parse(struct tape *t, const char *path, const char *text, size_t n, struct error *e)
{
	static const char bom[] = "\xef\xbb\xbf";

	*t = (struct tape)TAPE_INIT;
	if (n >= 3 && !memcmp(text, bom, 3)) {
		text += 3;
		n -= 3;
	}
	if (parse(t, text, n, e)) {
		tape_release(t);
		/* Every message so far begins with LINE:COLUMN, unless memory ran out. */
		if (e && e->code == ERR_NOMEM)
			return -1;
		char rest[sizeof e->msg];
		snprintf(rest, sizeof rest, "%s", e ? e->msg : "");
		return error_set(e, e ? e->code : ERR_INPUT, "%s:%s", path, rest);
	}
	return 0;
}

int tape_load(struct tape *t, const char *path, struct error *e)
{
	struct buf text = BUF_INIT(TAPE_MAX_BYTES);

	*t = (struct tape)TAPE_INIT;
	int rc = io_read_file(AT_FDCWD, path, &text, e);
	if (rc)
		error_prefix(e, "replay");
	else if (text.len && memchr(text.data, '\0', text.len))
		rc = error_set(e, ERR_INPUT, "replay: '%s' is no text: it is neither a tape nor a record of a run",
		               path);
	else
		rc = tape_parse(t, path, buf_str(&text), text.len, e);
	buf_release(&text);
	return rc;
}

void tape_release(struct tape *t)
{
	arena_release(&t->arena);
	*t = (struct tape)TAPE_INIT;
}

size_t tape_plays(const struct tape *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += (size_t)t->answers[i].repeat;
	return n;
}
