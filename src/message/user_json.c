#include "message/user_json.h"

#include <string.h>

#include "base/json_out.h"
#include "base/utf8.h"

/* One block while it is read and written anew. */
struct rewrite {
	const struct json *doc;
	size_t index; /* of the block */
	struct buf json, text;
	struct json_out out;
	struct error *e;
};

static int fault(const struct rewrite *r, const char *member, const char *what)
{
	return error_set(r->e, ERR_INPUT, "message.content[%zu]%s: %s", r->index, member, what);
}

/* A required string: decoded into r->text. */
static int take(struct rewrite *r, int obj, const char *key, const char *member)
{
	int tok = json_get(r->doc, obj, key);

	buf_clear(&r->text);
	if (json_type(r->doc, tok) != JSON_STRING)
		return fault(r, member, tok < 0 ? "is missing" : "must be a string");
	if (json_str(r->doc, tok, &r->text))
		return error_nomem(r->e);
	if (r->text.len && memchr(r->text.data, '\0', r->text.len))
		return fault(r, member, "holds a NUL character");
	return 0;
}

static void put(struct rewrite *r, const char *key)
{
	jo_key(&r->out, key);
	jo_strn(&r->out, buf_str(&r->text), r->text.len);
}

static bool is_base64(const struct buf *b)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = b->len;

	if (!n || n % 4)
		return false;
	for (int pad = 0; pad < 2 && b->data[n - 1] == '='; pad++)
		n--;
	return strspn(b->data, digits) == n;
}

/* What a block of that type may be made of. */
struct source_kind {
	const char *type;           /* of the source */
	const char *key;            /* where its content is */
	const char *media_types[5]; /* none: it has no such member */
};

static const struct source_kind image_sources[] = {
	{ "base64", "data", { "image/png", "image/jpeg", "image/gif", "image/webp", NULL } },
	{ "url", "url", { NULL } },
	{ NULL, NULL, { NULL } },
};
static const struct source_kind document_sources[] = {
	{ "base64", "data", { "application/pdf", NULL } },
	{ "text", "data", { "text/plain", NULL } },
	{ "url", "url", { NULL } },
	{ NULL, NULL, { NULL } },
};

static int put_media_type(struct rewrite *r, int source, const char *const *allowed)
{
	static const char member[] = ".source.media_type";

	if (!*allowed)
		return 0;
	if (take(r, source, "media_type", member))
		return -1;
	for (; *allowed; allowed++) {
		if (!strcmp(*allowed, buf_str(&r->text))) {
			put(r, "media_type");
			return 0;
		}
	}
	return fault(r, member, "is none that a model can see");
}

static int put_content(struct rewrite *r, int source, const struct source_kind *kind)
{
	bool url = !strcmp(kind->type, "url");
	const char *member = url ? ".source.url" : ".source.data";

	if (take(r, source, kind->key, member))
		return -1;
	if (!strcmp(kind->type, "base64") && !is_base64(&r->text))
		return fault(r, member, "is no base64");
	if (url && strncmp(buf_str(&r->text), "https://", 8) != 0 && strncmp(buf_str(&r->text), "http://", 7) != 0)
		return fault(r, member, "is no address that begins with https://");
	if (utf8_is_blank(buf_str(&r->text), r->text.len))
		return fault(r, member, "is empty");
	put(r, kind->key);
	return 0;
}

static int put_source(struct rewrite *r, int block, const struct source_kind *kind)
{
	int source = json_get(r->doc, block, "source");
	int type = json_get(r->doc, source, "type");

	if (json_type(r->doc, source) != JSON_OBJECT)
		return fault(r, ".source", "must be an object");
	while (kind->type && !json_eq(r->doc, type, kind->type))
		kind++;
	if (!kind->type)
		return fault(r, ".source.type", "is none that is taken here (base64, url; text of a document)");
	jo_key(&r->out, "source");
	jo_object(&r->out);
	jo_kstr(&r->out, "type", kind->type);
	if (put_media_type(r, source, kind->media_types) || put_content(r, source, kind))
		return -1;
	jo_end(&r->out);
	return 0;
}

/* 1: there is nothing in it. */
static int put_text(struct rewrite *r, int block)
{
	if (take(r, block, "text", ".text"))
		return -1;
	if (utf8_is_blank(buf_str(&r->text), r->text.len))
		return 1;
	put(r, "text");
	return 0;
}

static int put_image(struct rewrite *r, int block)
{
	return put_source(r, block, image_sources);
}

static int put_document(struct rewrite *r, int block)
{
	static const struct {
		const char *key, *member;
	} names[] = { { "title", ".title" }, { "context", ".context" } };

	if (put_source(r, block, document_sources))
		return -1;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (json_absent(r->doc, json_get(r->doc, block, names[i].key)))
			continue;
		if (take(r, block, names[i].key, names[i].member))
			return -1;
		put(r, names[i].key);
	}
	return 0;
}

static const struct {
	const char *type;
	int (*put)(struct rewrite *r, int block);
} kinds[] = { { "text", put_text }, { "image", put_image }, { "document", put_document } };

static int add_written(struct rewrite *r, struct message *m)
{
	if (buf_check(&r->json, "a content block", r->e))
		return -1;
	struct block *b = block_from_json(buf_str(&r->json), r->json.len, r->e);
	return b && !message_add(m, b) ? 0 : error_nomem(r->e);
}

static int add_block(struct rewrite *r, struct message *m, int block)
{
	int type = json_get(r->doc, block, "type");
	size_t i = 0, n = sizeof kinds / sizeof *kinds;

	if (json_type(r->doc, block) != JSON_OBJECT)
		return fault(r, "", "must be an object");
	while (i < n && !json_eq(r->doc, type, kinds[i].type))
		i++;
	if (i == n)
		return fault(r, ".type", "must be text, image or document");
	buf_clear(&r->json);
	json_out_init(&r->out, &r->json);
	jo_object(&r->out);
	jo_kstr(&r->out, "type", kinds[i].type);
	int rc = kinds[i].put(r, block);
	if (rc)
		return rc < 0 ? -1 : 0;
	jo_end(&r->out);
	return add_written(r, m);
}

static int add_text(struct rewrite *r, struct message *m, int content)
{
	if (json_str(r->doc, content, &r->text))
		return error_nomem(r->e);
	if (r->text.len && memchr(r->text.data, '\0', r->text.len))
		return error_set(r->e, ERR_INPUT, "message.content: holds a NUL character");
	if (utf8_is_blank(buf_str(&r->text), r->text.len))
		return 0;
	struct block *b = block_new_text(buf_str(&r->text), r->text.len);
	return b && !message_add(m, b) ? 0 : error_nomem(r->e);
}

static int add_content(struct rewrite *r, struct message *m, int content)
{
	if (json_type(r->doc, content) == JSON_STRING)
		return add_text(r, m, content);
	if (json_type(r->doc, content) != JSON_ARRAY)
		return error_set(r->e, ERR_INPUT, "message.content: must be a string or an array of blocks");
	for (int tok = json_first(r->doc, content); tok >= 0; tok = json_next(r->doc, content, tok), r->index++) {
		if (add_block(r, m, tok))
			return -1;
	}
	return 0;
}

struct message *user_json_read(const struct json *doc, int content, struct error *e)
{
	struct rewrite r = { .doc = doc, .json = BUF_INIT(BUF_HUGE), .text = BUF_INIT(BUF_HUGE), .e = e };
	struct message *m = message_new(ROLE_USER);

	if (!m)
		error_nomem(e);
	if (m && add_content(&r, m, content)) {
		message_unref(m);
		m = NULL;
	}
	buf_release(&r.json);
	buf_release(&r.text);
	return m;
}
