/* Where a run was, what it was given, and whether the record is that of its result. */
#include "report/chapter.h"
#include "report/html.h"

static void strings(struct buf *out, const char *title, const struct json *doc, int list)
{
	int n = 0;

	if (json_size(doc, list) < 1)
		return;
	buf_addf(out, "<div><dt>%s</dt><dd>", title);
	for (int x = json_first(doc, list); x >= 0 && n < (int)SHOWN_MOST; x = json_next(doc, list, x)) {
		buf_adds(out, n++ ? ", " : "");
		html_value_line(out, doc, x, SHOW_LINE);
	}
	buf_adds(out, "</dd></div>");
}

static void audit(struct buf *out, const struct chapter *c)
{
	static const char *const names[] = { "job", "system", "tools" };
	const struct json *doc = &c->result;
	int told = chapter_result(c, "audit.events_sha256");

	for (size_t i = 0; i < 3; i++) {
		struct buf key = BUF_INIT(64), title = BUF_INIT(64);
		buf_addf(&key, "audit.%s_sha256", names[i]);
		buf_addf(&title, "SHA-256 of the %s", i == 1 ? "system prompt" : names[i]);
		fact_value(out, buf_str(&title), doc, chapter_result(c, buf_str(&key)));
		buf_release(&key);
		buf_release(&title);
	}
	if (json_absent(doc, told))
		return;
	fact_begin(out, "SHA-256 of the events");
	html_value_line(out, doc, told, SHOW_LINE);
	buf_adds(out, json_eq(doc, told, c->events_sha) ? " <b class=\"ok\">✓ that of this record</b>"
	                                                : " <b class=\"no\">not that of this record</b>");
	fact_end(out);
}

/* The plain members of an object, as "name value, name value". */
static void object_fact(struct buf *out, const char *name, const struct json *doc, int object)
{
	double usd = 0;
	int n = 0;

	if (json_size(doc, object) < 1 || json_type(doc, object) != JSON_OBJECT)
		return;
	fact_begin(out, name);
	for (int k = json_first(doc, object); k >= 0; k = json_next(doc, object, k)) {
		int v = json_value_of(doc, k);
		enum json_type type = json_type(doc, v);
		if (type == JSON_OBJECT || type == JSON_ARRAY || type == JSON_NULL)
			continue;
		buf_adds(out, n++ ? ", " : "");
		html_value_line(out, doc, k, SHOW_LINE);
		buf_adds(out, " <b>");
		if (json_eq(doc, k, "total_cost_usd") && json_double(doc, v, &usd))
			html_usd(out, usd);
		else if (json_eq(doc, k, "duration_ms"))
			html_duration(out, json_int_or(doc, v, 0));
		else if (type == JSON_NUMBER)
			html_count(out, json_int_or(doc, v, 0));
		else
			html_value_line(out, doc, v, SHOW_LINE);
		buf_adds(out, "</b>");
	}
	fact_end(out);
}

void show_details(struct buf *out, const struct chapter *c)
{
	static const struct {
		const char *name, *key;
	} rows[] = { { "Model", "model" },
		     { "Workspace", "cwd" },
		     { "Session", "session_id" },
		     { "Began", "quern_started" },
		     { "Permission mode", "permissionMode" },
		     { "Sandbox", "quern_sandbox.mode" },
		     { "Provider", "quern_provider" },
		     { "Version", "quern_version" } };

	buf_adds(out, "<section><h2>Details</h2><dl class=\"rows2\">");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		fact_value(out, rows[i].name, &c->init, chapter_init(c, rows[i].key));
	strings(out, "Tools", &c->init, chapter_init(c, "tools"));
	strings(out, "Withheld", &c->init, chapter_init(c, "tools_withheld"));
	strings(out, "In front of the task", &c->init, chapter_init(c, "quern_attached"));
	strings(out, "Effects not known", &c->result, chapter_result(c, "side_effects"));
	fact_value(out, "Run directory", &c->result, chapter_result(c, "run_dir"));
	object_fact(out, "Verification", &c->result, chapter_result(c, "verification"));
	object_fact(out, "Files of the workspace", &c->result, chapter_result(c, "workspace"));
	object_fact(out, "The whole session", &c->result, chapter_result(c, "session_totals"));
	if (c->again) {
		fact_begin(out, "Result given again");
		buf_addf(out, c->again == 1 ? "once" : "%d times", c->again);
		fact_end(out);
	}
	audit(out, c);
	buf_adds(out, "</dl>");
	if (!json_absent(&c->init, chapter_init(c, "quern_environment"))) {
		buf_adds(
		        out,
		        "<details class=\"more\"><summary>What the model was told of its environment</summary><pre>\n");
		html_value(out, &c->init, chapter_init(c, "quern_environment"), SHOW_OUTPUT);
		buf_adds(out, "</pre></details>");
	}
	buf_adds(out, "</section>\n");
}
