/* TodoWrite: the model's own list of what is to be done. It lives here; nothing else is changed by it. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tool/internal.h"

static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"todos\":{\"type\":\"array\",\"maxItems\":200,\"items\":{\"type\":"
        "\"object\",\"properties\":{\"content\":{\"type\":\"string\",\"minLength\":1,\"description\":\"What is to be "
        "done\"},\"status\":{\"type\":\"string\",\"enum\":[\"pending\",\"in_progress\",\"completed\"]},\"activeForm\":{"
        "\"type\":\"string\",\"description\":\"The same as an activity: Running the "
        "tests\"}},\"required\":[\"content\","
        "\"status\"],\"additionalProperties\":false}}},\"required\":[\"todos\"],\"additionalProperties\":false}";

static void copy_text(struct json_out *o, const struct json *doc, int item, const char *key)
{
	size_t n;
	char *s = json_strdup(doc, json_get(doc, item, key), &n);

	if (s) {
		jo_key(o, key);
		jo_strn(o, s, n);
	}
	free(s);
}

/* The list in our own spelling, one line whatever the model's was. NULL: no memory. */
static char *write_list(const struct json *doc, int list)
{
	struct buf b = BUF_INIT((size_t)16 << 20);
	struct json_out o;

	json_out_init(&o, &b);
	jo_array(&o);
	for (int i = json_first(doc, list); i >= 0; i = json_next(doc, list, i)) {
		jo_object(&o);
		copy_text(&o, doc, i, "content");
		copy_text(&o, doc, i, "status");
		copy_text(&o, doc, i, "activeForm");
		jo_end(&o);
	}
	jo_end(&o);
	char *text = b.failed ? NULL : buf_take(&b, NULL);
	buf_release(&b);
	return text;
}

static void structured(struct toolbox *t, const char *todos, struct tool_result *now)
{
	struct buf info = BUF_INIT((size_t)48 << 20);
	const char *old = t->todos ? t->todos : "[]";
	struct json_out o;

	json_out_init(&o, &info);
	jo_object(&o);
	jo_key(&o, "oldTodos");
	jo_raw(&o, old, strlen(old));
	jo_key(&o, "newTodos");
	jo_raw(&o, todos, strlen(todos));
	jo_end(&o);
	result_structured(t, now, &info);
}

static int count(const struct json *doc, int list, const char *status)
{
	int n = 0;

	for (int i = json_first(doc, list); i >= 0; i = json_next(doc, list, i))
		n += json_eq(doc, json_get(doc, i, "status"), status);
	return n;
}

static int plan(struct call *c, struct tool_result *now, struct error *e)
{
	struct toolbox *t = c->t;
	struct json doc = JSON_INIT;

	if (json_parse(&doc, buf_str(&c->input), c->input.len, JSON_BORROW, e) < 0)
		return -1;
	int list = json_get(&doc, json_root(&doc), "todos");
	char *todos = write_list(&doc, list);
	if (!todos) {
		json_release(&doc);
		return error_nomem(e);
	}
	result_textf(t, now, false, "The todo list has %d items: %d completed, %d in progress, %d pending.",
	             json_size(&doc, list), count(&doc, list, "completed"), count(&doc, list, "in_progress"),
	             count(&doc, list, "pending"));
	structured(t, todos, now);
	free(t->todos);
	t->todos = todos;
	t->todos_changed = true;
	json_release(&doc);
	return 0;
}

const struct tool_row tool_todo = {
	.name = "TodoWrite",
	.description =
	        "Replaces your list of what is to be done in this task; give all of it each time. Use it for work of "
	        "several steps: one item in_progress at a time, completed as soon as it is.",
	.schema = schema,
	.read_only = true,
	.serial = true,
	.plan = plan,
};
