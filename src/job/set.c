#include "job/set.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/json_out.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "job/value.h"

#define PATH_MAX_TEXT 160
#define LIST_MAX      1000
#define WARNINGS_MAX  100

static const char *const no_items[] = { NULL };

/* The row being set, where its value comes from and which struct takes it. */
struct slot {
	struct setter *s;
	const struct job_key *k;
	const struct origin *o;
	void *into;       /* the struct that the row's offset is in */
	const char *path; /* of a member of a tool, NULL = the row's */
	bool fresh;       /* the first value from this source: a list starts anew */
};

void setter_init(struct setter *s, struct job *job, struct job_errors *errs)
{
	static const struct job_price unknown = { -1, -1, -1, -1 };

	memset(s, 0, sizeof *s);
	s->job = job;
	s->errs = errs;
	job->warnings = no_items;
	job->price = s->shadow.price = unknown;
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		if (!k->path || k->type != KEY_LIST)
			continue;
		*(const char *const **)((char *)job + k->at) = no_items;
		*(const char *const **)((char *)&s->shadow + k->at) = no_items;
	}
}

/* Text of the user's may hold anything: an error stays one line. */
static void flatten(struct buf *b, size_t from)
{
	for (size_t i = from; i < b->len; i++)
		if ((unsigned char)b->data[i] < 0x20 || b->data[i] == 0x7F)
			b->data[i] = '?';
}

/* One line: "label:line:col: " for files, "label: " else, then path and ": " if there is a path. */
static void compose(struct buf *b, const struct origin *o, const struct yaml_node *at, const char *path,
                    const char *fmt, va_list ap)
{
	struct error e = ERROR_INIT;
	size_t start = b->len;

	vsnprintf(e.msg, sizeof e.msg, fmt, ap);
	if (o->label)
		buf_adds(b, o->label);
	if (at && at->line && origin_is_file(o))
		buf_addf(b, ":%d:%d", at->line, at->col);
	if (o->label)
		buf_adds(b, ": ");
	if (path)
		buf_addf(b, "%s: ", path);
	buf_add(b, e.msg, utf8_floor(e.msg, strlen(e.msg), sizeof e.msg - 1));
	flatten(b, start);
}

static int fail(struct setter *s, const struct origin *o, const struct yaml_node *at, const char *path, const char *fmt,
                va_list ap)
{
	struct buf *b = &s->errs->text;
	size_t start = b->len;

	s->errs->n++;
	compose(b, o, at, path, fmt, ap);
	buf_addc(b, '\n');
	if (b->failed)
		buf_cut(b, start);
	return -1;
}

int setter_fail(struct setter *s, const struct origin *o, const struct yaml_node *at, const char *path, const char *fmt,
                ...)
{
	va_list ap;

	va_start(ap, fmt);
	int rc = fail(s, o, at, origin_is_file(o) ? path : NULL, fmt, ap);
	va_end(ap);
	return rc;
}

int setter_fail_in(struct setter *s, const struct origin *o, const struct yaml_node *at, const char *path,
                   const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int rc = fail(s, o, at, path, fmt, ap);
	va_end(ap);
	return rc;
}

int setter_warn(struct setter *s, const struct origin *o, const struct yaml_node *at, const char *path, const char *fmt,
                ...)
{
	struct buf b = BUF_INIT(2 * PATH_MAX_TEXT + 1000);
	size_t n = s->nwarnings;
	va_list ap;

	if (n >= WARNINGS_MAX)
		return 0;
	va_start(ap, fmt);
	compose(&b, o, at, path, fmt, ap);
	va_end(ap);
	const char **v = arena_alloc(&s->job->arena, (n + 2) * sizeof(*v));
	char *line = arena_strndup(&s->job->arena, buf_str(&b), b.len);
	buf_release(&b);
	if (!v || !line)
		return 0;
	memcpy(v, s->job->warnings, n * sizeof(*v));
	v[n] = line;
	s->job->warnings = v;
	s->nwarnings++;
	return 0;
}

static int fail_row(const struct slot *t, const struct yaml_node *at, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

static int fail_row(const struct slot *t, const struct yaml_node *at, const char *fmt, ...)
{
	struct error e;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.msg, sizeof e.msg, fmt, ap);
	va_end(ap);
	if (t->path)
		return setter_fail_in(t->s, t->o, at, t->path, "%s", e.msg);
	return setter_fail(t->s, t->o, at, t->k->path, "%s", e.msg);
}

static int fail_memory(const struct slot *t)
{
	return fail_row(t, NULL, "out of memory");
}

static void *field(const struct slot *t)
{
	return (char *)t->into + t->k->at;
}

/* At most 40 bytes of a text for an error, never half a character. */
static int shown(const char *text)
{
	return (int)utf8_floor(text, strlen(text), 40);
}

static int set_string(const struct slot *t, const struct yaml_node *v)
{
	const struct job_key *k = t->k;
	struct error e = ERROR_INIT;

	if (v->kind != YAML_SCALAR || (v->plain && t->o->source == SOURCE_SETTINGS)) /* JSON's null is no word */
		return fail_row(t, v, "must be a string");
	if (k->check && k->check(NULL, v->text, &e))
		return fail_row(t, v, "%s", e.msg);
	if (k->flags & KF_NOT_KEPT)
		return 0;
	char *copy = arena_strndup(&t->s->job->arena, v->text, v->len);
	if (!copy)
		return fail_memory(t);
	*(const char **)field(t) = copy;
	return 0;
}

/* What the row takes, and what stands there instead. */
static int fail_number(const struct slot *t, const struct yaml_node *v)
{
	struct buf expect;

	buf_init(&expect, 512);
	value_expectation(t->k, &expect);
	int rc = v->kind == YAML_SCALAR ? fail_row(t, v, "%s, not '%.*s'", buf_str(&expect), shown(v->text), v->text)
	                                : fail_row(t, v, "%s", buf_str(&expect));
	buf_release(&expect);
	return rc;
}

static int set_number(const struct slot *t, const struct yaml_node *v)
{
	int64_t n = 0;
	enum value_status st = v->kind == YAML_SCALAR ? value_number(t->k, v->text, &n) : VALUE_FORM;
	bool has_unit = v->kind == YAML_SCALAR && v->len && strchr("0123456789", v->text[v->len - 1]) == NULL;

	if (st == VALUE_OK && (v->plain || has_unit)) {
		if (!(t->k->flags & KF_NOT_KEPT))
			*(int64_t *)field(t) = n;
		return 0;
	}
	if (st == VALUE_OK)
		return fail_row(t, v, "a number must not be quoted");
	if (st == VALUE_RANGE && n == 0 && !t->k->fallback && !t->k->fallback_text)
		return fail_row(t, v, "0 is not allowed: leave the key out for no limit");
	return fail_number(t, v);
}

static int set_mark(const struct slot *t, const struct yaml_node *v)
{
	struct job_mark m;

	if (v->kind != YAML_SCALAR || value_mark(t->k, v->text, &m) != VALUE_OK)
		return fail_number(t, v);
	*(struct job_mark *)field(t) = m;
	return 0;
}

static int set_bool(const struct slot *t, const struct yaml_node *v)
{
	bool yes = v->kind == YAML_SCALAR && !strcmp(v->text, "true");

	if (v->kind != YAML_SCALAR || !v->plain || (!yes && strcmp(v->text, "false") != 0))
		return fail_row(t, v, "must be true or false, without quotes");
	*(bool *)field(t) = yes;
	return 0;
}

static int choice_of(const char *const *choices, const char *text)
{
	for (int i = 0; choices[i]; i++)
		if (!strcmp(choices[i], text))
			return i;
	return -1;
}

/* "must be a, b or c, not 'x' (did you mean b?)" */
static int fail_choice(const struct slot *t, const struct yaml_node *v)
{
	const char *const *c = t->k->choices;
	struct suggest near;
	struct buf b;

	buf_init(&b, 400);
	for (int i = 0; c[i]; i++)
		buf_addf(&b, "%s%s", !i ? "" : c[i + 1] ? ", " : " or ", c[i]);
	if (v->kind != YAML_SCALAR) {
		fail_row(t, v, "must be %s", buf_str(&b));
		buf_release(&b);
		return -1;
	}
	suggest_init(&near, v->text, v->len);
	for (int i = 0; c[i]; i++)
		suggest_offer(&near, c[i]);
	fail_row(t, v, "must be %s, not '%.*s'%s%s%s", buf_str(&b), shown(v->text), v->text,
	         near.best ? " (did you mean " : "", near.best ? near.best : "", near.best ? "?)" : "");
	buf_release(&b);
	return -1;
}

static int set_enum(const struct slot *t, const struct yaml_node *v)
{
	int i = v->kind == YAML_SCALAR ? choice_of(t->k->choices, v->text) : -1;

	if (i < 0)
		return fail_choice(t, v);
	if (t->k->flags & KF_INDEX)
		*(enum stdin_mode *)field(t) = (enum stdin_mode)(i + 1);
	else
		*(const char **)field(t) = t->k->choices[i];
	return 0;
}

static int check_item(const struct slot *t, const struct yaml_node *v)
{
	const struct job_key *k = t->k;
	struct error e = ERROR_INIT;

	if (v->kind != YAML_SCALAR)
		return fail_row(t, v, "each item must be a string");
	if (k->check && k->check(NULL, v->text, &e))
		return fail_row(t, v, "%s", e.msg);
	if (k->choices && choice_of(k->choices, v->text) < 0)
		return fail_choice(t, v);
	return 0;
}

static bool in_list(const char *const *list, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], text))
			return true;
	return false;
}

static int fail_list(const struct slot *t, const struct yaml_node *v)
{
	bool command = t->k->flags & KF_COMMAND;

	return fail_row(t, v, "must be a list, as in [%s]",
	                command         ? "make, check"
	                : t->k->choices ? t->k->choices[0]
	                                : "a, b");
}

static int set_list(const struct slot *t, const struct yaml_node *v)
{
	struct arena *a = &t->s->job->arena;
	const char *const **at = field(t);
	const char *const *old = t->fresh ? no_items : *at;
	struct yaml_node word = *v, one = { .kind = YAML_SEQ, .line = v->line, .col = v->col, .first = &word };
	size_t n = array_count(old), more = 0;
	int rc = 0;

	if ((t->k->flags & KF_WORD) && v->kind == YAML_SCALAR) {
		word.next = NULL;
		if (v->plain && !v->len)
			one.first = NULL;
		v = &one;
	}
	if (v->kind != YAML_SEQ)
		return fail_list(t, v);
	if ((t->k->flags & KF_COMMAND) && (!v->first || (v->first->kind == YAML_SCALAR && !v->first->len)))
		return fail_row(t, v, "must begin with the name of a program");
	for (const struct yaml_node *i = v->first; i; i = i->next)
		more++;
	if (n + more > LIST_MAX)
		return fail_row(t, v, "more than %d items", LIST_MAX);
	const char **list = arena_alloc(a, (n + more + 1) * sizeof(*list));
	if (!list)
		return fail_memory(t);
	for (size_t i = 0; i < n; i++)
		list[i] = old[i];
	for (const struct yaml_node *i = v->first; i; i = i->next) {
		if (check_item(t, i)) {
			rc = -1;
			continue;
		}
		if (!(t->k->flags & KF_REPEATS) && in_list(list, n, i->text))
			continue; /* naming a thing twice means it once */
		list[n] = arena_strndup(a, i->text, i->len);
		if (!list[n])
			return fail_memory(t);
		n++;
	}
	*at = list;
	return rc;
}

struct map_field {
	struct job_pair **pairs;
	size_t *n;
};

static struct map_field map_of(const struct slot *t)
{
	struct job *j = t->into;

	if (t->k->at == offsetof(struct job, env))
		return (struct map_field){ &j->env, &j->nenv };
	return (struct map_field){ &j->headers, &j->nheaders };
}

static struct job_pair *pair_named(const struct map_field *m, const char *name)
{
	for (size_t i = 0; i < *m->n; i++)
		if (!strcmp((*m->pairs)[i].name, name))
			return &(*m->pairs)[i];
	return NULL;
}

static int check_member(const struct slot *t, const struct yaml_node *v)
{
	char path[PATH_MAX_TEXT];
	struct error e = ERROR_INIT;

	int n = snprintf(path, sizeof path, "%s.%.80s", t->k->path, v->key->text);
	path[utf8_floor(path, strlen(path), (size_t)n < sizeof path ? (size_t)n : sizeof path - 1)] = '\0';
	if (v->kind != YAML_SCALAR && t->k->type == KEY_MAP)
		return setter_fail(t->s, t->o, v, path, "must be a string");
	if (t->k->check && t->k->check(v->key->text, v->kind == YAML_SCALAR ? v->text : "", &e))
		return setter_fail(t->s, t->o, v->key, path, "%s", e.msg);
	return 0;
}

/* Maps are merged name by name: a stronger source has its say about the names it gives, no more. */
static int set_map(const struct slot *t, const struct yaml_node *v)
{
	struct arena *a = &t->s->job->arena;
	struct map_field m = map_of(t);
	size_t more = 0, old = *m.n;
	int rc = 0;

	if (v->kind == YAML_SCALAR && v->plain && !v->len)
		return 0;
	if (v->kind != YAML_MAP)
		return fail_row(t, v, "must be a map of names to strings");
	for (const struct yaml_node *i = v->first; i; i = i->next)
		more++;
	if (old + more > LIST_MAX)
		return fail_row(t, v, "more than %d names", LIST_MAX);
	struct job_pair *pairs = arena_alloc(a, (old + more + 1) * sizeof *pairs);
	if (!pairs)
		return fail_memory(t);
	if (old)
		memcpy(pairs, *m.pairs, old * sizeof *pairs);
	*m.pairs = pairs;
	for (const struct yaml_node *i = v->first; i; i = i->next) {
		if (check_member(t, i)) {
			rc = -1;
			continue;
		}
		struct job_pair *p = pair_named(&m, i->key->text);
		if (p && t->o->source != SOURCE_OPTION)
			continue;
		char *name = arena_strndup(a, i->key->text, i->key->len);
		char *value = arena_strndup(a, i->text, i->len);
		if (!name || !value)
			return fail_memory(t);
		if (!p)
			p = &pairs[(*m.n)++];
		*p = (struct job_pair){ name, value };
	}
	return rc;
}

static int set_json(const struct slot *t, const struct yaml_node *v)
{
	struct error e = ERROR_INIT;
	struct json_out out;
	struct buf b;
	int rc = 0;

	if (v->kind != YAML_MAP)
		return fail_row(t, v, "must be an object");
	for (const struct yaml_node *i = v->first; i; i = i->next)
		rc |= check_member(t, i);
	if (rc)
		return -1;
	buf_init(&b, 8 * YAML_MAX_BYTES);
	json_out_init(&out, &b);
	rc = yaml_to_json(v, &out, &e);
	if (!rc)
		rc = buf_check(&b, "the object", &e);
	char *copy = rc ? NULL : arena_strndup(&t->s->job->arena, buf_str(&b), b.len);
	buf_release(&b);
	if (rc)
		return fail_row(t, v, "%s", e.msg);
	if (!copy)
		return fail_memory(t);
	*(const char **)field(t) = copy;
	return 0;
}

static int set_tools(const struct slot *t, const struct yaml_node *v)
{
	return setter_tools(t->s, t->into, v, t->o);
}

static int set_hooks(const struct slot *t, const struct yaml_node *v)
{
	struct job *into = t->into;

	if (t->fresh)
		into->nhooks = 0;
	return setter_hooks(t->s, into, v, t->o);
}

static int set_price(const struct slot *t, const struct yaml_node *v)
{
	return setter_price(t->s, t->into, v, t->o);
}

static int (*const setters[KEY_TYPES])(const struct slot *, const struct yaml_node *) = {
	[KEY_STRING] = set_string,   [KEY_INT] = set_number,  [KEY_TOKENS] = set_number, [KEY_BYTES] = set_number,
	[KEY_DURATION] = set_number, [KEY_USD] = set_number,  [KEY_BOOL] = set_bool,     [KEY_ENUM] = set_enum,
	[KEY_LIST] = set_list,       [KEY_MAP] = set_map,     [KEY_JSON] = set_json,     [KEY_TOOLS] = set_tools,
	[KEY_MARK] = set_mark,       [KEY_HOOKS] = set_hooks, [KEY_PRICE] = set_price,
};

int setter_member(struct setter *s, const struct job_key *k, const char *path, void *into, const struct yaml_node *v,
                  const struct origin *o)
{
	struct slot t = { .s = s, .k = k, .o = o, .into = into, .path = path, .fresh = true };

	return setters[k->type](&t, v);
}

int setter_value(struct setter *s, const struct job_key *k, const struct yaml_node *v, const struct origin *o)
{
	unsigned char *level = &s->level[schema_index(k)];
	bool weaker = *level > o->source;
	struct slot t = { .s = s, .k = k, .o = o, .into = s->job, .fresh = *level < o->source };

	/* Maps merge, so they always go to the job. */
	if (weaker && k->type != KEY_MAP)
		t.into = &s->shadow;
	int errors = s->errs->n;
	int rc = setters[k->type](&t, v);
	if (k->at != offsetof(struct job, output_format))
		s->plain += s->errs->n - errors;
	if (!rc && !weaker)
		*level = (unsigned char)o->source;
	return rc;
}

int setter_add(struct setter *s, const struct job_key *k, const struct yaml_node *v, const struct origin *o)
{
	unsigned char *level = &s->level[schema_index(k)];
	bool adds = k->type == KEY_LIST || k->type == KEY_MAP || k->type == KEY_HOOKS;
	bool said = !adds && *level >= o->source;
	struct slot t = { .s = s, .k = k, .o = o, .into = said ? &s->shadow : s->job };
	int rc = setters[k->type](&t, v);

	if (!rc && !adds && !said)
		*level = (unsigned char)o->source;
	return rc;
}

/* The next piece of a list option: commas and white space part, but not inside parentheses, where a backslash takes the
 * next one literally. */
static const char *next_piece(const char *p, size_t *n)
{
	int depth = 0;
	const char *start;

	p += strspn(p, ", \t\n");
	start = p;
	for (; *p && (depth > 0 || !strchr(", \t\n", *p)); p++) {
		if (depth > 0 && *p == '\\' && p[1])
			p++;
		else if (*p == '(')
			depth++;
		else if (*p == ')')
			depth--;
	}
	*n = (size_t)(p - start);
	return *n ? start : NULL;
}

static int add_piece(struct arena *a, struct yaml_node ***tail, const char *text, size_t n)
{
	struct yaml_node *item = arena_alloc(a, sizeof *item);

	if (!item)
		return -1;
	item->text = arena_strndup(a, text, n);
	if (!item->text)
		return -1;
	item->len = n;
	item->plain = true;
	**tail = item;
	*tail = &item->next;
	return 0;
}

int setter_text(struct setter *s, const struct job_key *k, const char *text, const struct origin *o)
{
	struct arena *a = &s->job->arena;
	struct yaml_node v = { .kind = YAML_SCALAR, .text = text, .len = strlen(text), .plain = true };

	if (k->type != KEY_LIST)
		return setter_value(s, k, &v, o);
	struct yaml_node **tail = &v.first;
	const char *piece = text;
	size_t n = v.len;
	v.kind = YAML_SEQ;
	if (k->flags & KF_WHOLE) {
		if (add_piece(a, &tail, text, n))
			return setter_fail(s, o, NULL, NULL, "out of memory");
	} else {
		while ((piece = next_piece(piece, &n))) {
			if (add_piece(a, &tail, piece, n))
				return setter_fail(s, o, NULL, NULL, "out of memory");
			piece += n;
		}
	}
	return setter_value(s, k, &v, o);
}
