/*
 * --check: the job as understood, itself a job file, so that it can be kept, compared and run. Values that
 * may be secret are left out of it: of headers, and of variables and members whose names look like keys, the names
 * alone.
 */
#include <string.h>

#include "base/json.h"
#include "base/json_out.h"
#include "guard/secret.h"
#include "job/job.h"
#include "job/schema.h"
#include "job/value.h"

static const void *field(const struct job *job, const struct job_key *k)
{
	return (const char *)job + k->at;
}

/* Quoted as JSON, which YAML reads alike. */
static void quoted(const char *text, struct buf *out)
{
	json_quote(out, text, strlen(text));
}

static void list(const char *const *items, struct buf *out)
{
	buf_addc(out, '[');
	for (size_t i = 0; items[i]; i++) {
		if (i)
			buf_adds(out, ", ");
		quoted(items[i], out);
	}
	buf_addc(out, ']');
}

static void map(const struct job_key *k, const struct job_pair *pairs, size_t n, struct buf *out)
{
	bool first = true;

	buf_addc(out, '{');
	for (size_t i = 0; i < n; i++) {
		if ((k->flags & KF_HIDE) || secret_env_name(pairs[i].name, strlen(pairs[i].name)))
			continue;
		if (!first)
			buf_adds(out, ", ");
		first = false;
		quoted(pairs[i].name, out);
		buf_adds(out, ": ");
		quoted(pairs[i].value, out);
	}
	buf_addc(out, '}');
	first = true;
	for (size_t i = 0; i < n; i++) {
		if (!(k->flags & KF_HIDE) && !secret_env_name(pairs[i].name, strlen(pairs[i].name)))
			continue;
		buf_addf(out, "%s", first ? " # values not shown: " : ", ");
		first = false;
		quoted(pairs[i].name, out);
	}
}

static void map_field(const struct job *job, const struct job_key *k, struct buf *out)
{
	if (k->at == offsetof(struct job, env))
		map(k, job->env, job->nenv, out);
	else
		map(k, job->headers, job->nheaders, out);
}

/* Is it, or has it at any depth, a string under a name that looks like a key's? */
static bool has_secret(const struct json *doc, int key, int value)
{
	bool members = json_type(doc, value) == JSON_OBJECT;
	const char *name;
	size_t n = 0;

	if (key >= 0 && json_type(doc, value) == JSON_STRING && (name = json_raw(doc, key, &n)))
		return secret_env_name(name, n);
	for (int at = json_first(doc, value); at >= 0; at = json_next(doc, value, at))
		if (members ? has_secret(doc, at, json_value_of(doc, at)) : has_secret(doc, key, at))
			return true;
	return false;
}

static void add_raw(const struct json *doc, int tok, struct buf *out)
{
	size_t n = 0;
	const char *raw = json_raw(doc, tok, &n);

	buf_add(out, raw, n);
}

/* An object without the members that may be secret. */
static void object(const char *text, struct buf *out)
{
	struct json doc = JSON_INIT;
	struct buf hidden = BUF_INIT(strlen(text) + 100);
	bool first = true;

	if (json_parse(&doc, text, strlen(text), JSON_BORROW, NULL)) { /* it was parsed before: no memory */
		out->failed = ERR_NOMEM;
		return;
	}
	buf_addc(out, '{');
	for (int at = json_first(&doc, json_root(&doc)); at >= 0; at = json_next(&doc, json_root(&doc), at)) {
		bool hide = has_secret(&doc, at, json_value_of(&doc, at));
		struct buf *to = hide ? &hidden : out;
		if (!hide && !first)
			buf_adds(to, ", ");
		if (hide)
			buf_adds(to, to->len ? ", " : " # values not shown: ");
		add_raw(&doc, at, to);
		if (hide)
			continue;
		buf_adds(to, ": ");
		add_raw(&doc, json_value_of(&doc, at), to);
		first = false;
	}
	buf_addc(out, '}');
	buf_add(out, buf_str(&hidden), hidden.len);
	if (hidden.failed)
		out->failed = hidden.failed;
	buf_release(&hidden);
	json_release(&doc);
}

static bool member_is_set(const struct job_key *k, const char *at)
{
	switch (k->type) {
	case KEY_BOOL:
	case KEY_USD:
		return true;
	case KEY_DURATION:
		return *(const int64_t *)(const void *)at != 0;
	default:
		return *(const void *const *)(const void *)at != NULL;
	}
}

static void member(const struct job_key *k, const char *at, struct json_out *o)
{
	struct buf number = BUF_INIT(64);
	const char *const *list_at = NULL;

	jo_key(o, k->path);
	switch (k->type) {
	case KEY_BOOL:
		jo_bool(o, *(const bool *)at);
		break;
	case KEY_LIST:
		jo_array(o);
		for (list_at = *(const char *const *const *)(const void *)at; *list_at; list_at++)
			jo_str(o, *list_at);
		jo_end(o);
		break;
	case KEY_DURATION:
		value_print(k, *(const int64_t *)(const void *)at, &number);
		jo_str(o, buf_str(&number));
		break;
	case KEY_USD: /* a price of one token, told as that of a million */
		value_print(k, *(const int64_t *)(const void *)at * 1000000, &number);
		jo_raw(o, buf_str(&number), number.len);
		break;
	case KEY_JSON:
		at = *(const char *const *)(const void *)at;
		jo_raw(o, at, strlen(at));
		break;
	default:
		jo_str(o, *(const char *const *)(const void *)at);
		break;
	}
	buf_release(&number);
}

/* Those that are kept in the `size` bytes at `base`. */
static void members(const struct job_members *m, const void *base, size_t size, struct json_out *o)
{
	for (const struct job_key *k = m->v; k < m->v + m->n; k++) {
		const char *at = (const char *)base + k->at;
		if (k->at < size && !(k->flags & KF_NOT_KEPT) && member_is_set(k, at))
			member(k, at, o);
	}
}

static void tools(const struct job *job, struct buf *out)
{
	struct json_out o;

	json_out_init(&o, out);
	jo_array(&o);
	for (size_t i = 0; i < job->nexternal; i++) {
		jo_object(&o);
		members(&job_tool_members, &job->external[i], sizeof job->external[i], &o);
		jo_end(&o);
	}
	jo_end(&o);
}

static void price(const struct job *job, struct buf *out)
{
	struct json_out o;

	json_out_init(&o, out);
	jo_object(&o);
	members(&job_price_members, &job->price, sizeof job->price, &o);
	jo_end(&o);
}

/* A group of its own, and where it was declared. */
static void hook(const struct job_hook *h, struct buf *out)
{
	struct json_out o;

	buf_adds(out, "\n    - ");
	json_out_init(&o, out);
	jo_object(&o);
	if (h->matcher)
		jo_kstr(&o, "matcher", h->matcher);
	jo_key(&o, "hooks");
	jo_array(&o);
	jo_object(&o);
	jo_kstr(&o, "type", "command");
	members(&job_hook_members, h, sizeof *h, &o);
	if (h->blocks_said)
		jo_kstr(&o, "onFailure", h->blocks ? "block" : "open");
	jo_end(&o);
	jo_end(&o);
	jo_end(&o);
	buf_adds(out, " # ");
	quoted(h->source, out);
}

static void hooks(const struct job *job, struct buf *out)
{
	for (int event = 0; event < HOOK_DECLARED; event++) {
		bool told = false;
		for (size_t i = 0; i < job->nhooks; i++) {
			if (job->hooks[i].event != (enum hook_event)event)
				continue;
			if (!told)
				buf_addf(out, "\n  %s:", hook_event_name((enum hook_event)event));
			told = true;
			hook(&job->hooks[i], out);
		}
	}
}

static const char *text_of(const struct job *job, const struct job_key *k)
{
	if (k->flags & KF_INDEX) {
		enum stdin_mode mode = *(const enum stdin_mode *)field(job, k);
		return mode ? k->choices[mode - 1] : NULL;
	}
	return *(const char *const *)field(job, k);
}

static bool is_set(const struct job *job, const struct job_key *k)
{
	switch (k->type) {
	case KEY_INT:
	case KEY_TOKENS:
	case KEY_BYTES:
	case KEY_DURATION:
	case KEY_USD:
		return (k->flags & KF_NOT_KEPT) || k->fallback || *(const int64_t *)field(job, k);
	case KEY_STRING:
	case KEY_ENUM:
	case KEY_JSON:
		return text_of(job, k) != NULL;
	case KEY_LIST:
		return *(const char *const *const *)field(job, k) != NULL;
	case KEY_HOOKS:
		return job->nhooks > 0;
	case KEY_PRICE:
		return job->price.input >= 0;
	default:
		return true;
	}
}

/* A settings file's text may hold what is secret; what counts of it stands in the keys. */
static void string(const struct job *job, const struct job_key *k, struct buf *out)
{
	const char *text = text_of(job, k);
	bool hidden = text && k->at == offsetof(struct job, settings) && strchr(text, '{');

	if (text)
		quoted(hidden ? "{...}" : text, out);
}

static void value(const struct job *job, const struct job_key *k, struct buf *out)
{
	switch (k->type) {
	case KEY_BOOL:
		buf_adds(out, *(const bool *)field(job, k) ? "true" : "false");
		break;
	case KEY_LIST:
		list(*(const char *const *const *)field(job, k), out);
		break;
	case KEY_MAP:
		map_field(job, k, out);
		break;
	case KEY_JSON:
		object(text_of(job, k), out);
		break;
	case KEY_TOOLS:
		tools(job, out);
		break;
	case KEY_HOOKS:
		hooks(job, out);
		break;
	case KEY_PRICE:
		price(job, out);
		break;
	case KEY_MARK:
		value_print_mark(k, field(job, k), out);
		break;
	case KEY_STRING:
	case KEY_ENUM:
		string(job, k, out);
		break;
	default:
		if (k->flags & KF_NOT_KEPT)
			buf_adds(out, k->fallback);
		else
			value_print(k, *(const int64_t *)field(job, k), out);
		break;
	}
}

/* These mean more when they are given than when they are the default: they are shown, not set. */
static bool is_only_shown(const struct job *job, const struct job_key *k)
{
	return (k->at == offsetof(struct job, tools) && !job->tools_explicit) ||
	       (k->at == offsetof(struct job, base_url) && !job->base_url_given) ||
	       k->at == offsetof(struct job, settings) || k->at == offsetof(struct job, setting_sources) ||
	       (!job->verify.command && schema_in_section(k, "verify"));
}

static void section(const struct job *job, const char *name, const char *indent, struct buf *out)
{
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++) {
		if (!schema_in_section(k, name))
			continue;
		buf_adds(out, indent);
		if (!is_set(job, k)) {
			buf_addf(out, "# %s: %s\n", schema_leaf(k->path), k->fallback_text ? k->fallback_text : "none");
			continue;
		}
		buf_addf(out, "%s%s:%s", is_only_shown(job, k) ? "# " : "", schema_leaf(k->path),
		         k->type == KEY_HOOKS ? "" : " ");
		value(job, k, out);
		buf_addc(out, '\n');
	}
}

void job_print_check(const struct job *job, struct buf *out)
{
	section(job, NULL, "", out);
	for (const struct job_section *s = job_sections; s->name; s++) {
		buf_addf(out, "%s:\n", s->name);
		section(job, s->name, "  ", out);
	}
}
