/* The page as a whole. */
#include <string.h>

#include "base/io.h"
#include "report/html.h"
#include "report/story.h"

static void head(struct buf *out, struct report *r)
{
	buf_adds(
	        out,
	        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
	        "img-src data:; base-uri 'none'; form-action 'none'\">\n"
	        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	        "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" "
	        "content=\"no-referrer\">\n"
	        "<link rel=\"icon\" href=\"data:,\">\n<title>");
	buf_add(out, buf_str(&r->title), r->title.len);
	buf_adds(out, r->title.len ? " · " : "");
	html_line(out, r->cfg.name, strlen(r->cfg.name), SHOW_LINE);
	buf_adds(out, "</title>\n<style>\n");
	for (size_t i = 0; page_style[i]; i++) {
		buf_adds(out, page_style[i]);
		buf_addc(out, '\n');
	}
	buf_addf(out, "</style></head>\n<body class=\"%s\"><main>\n<header><p class=\"brand\">quern<span>",
	         r->chapters > 1 ? "many" : "one");
	html_line(out, r->cfg.name, strlen(r->cfg.name), SHOW_LINE);
	buf_adds(out, "</span></p><h1>");
	buf_adds(out, r->title.len ? buf_str(&r->title) : "A run");
	buf_adds(out, "</h1>");
	if (r->chapters > 1)
		buf_addf(out, "<nav aria-label=\"Runs\"><ol class=\"nav\">%s</ol></nav>", buf_str(&r->nav));
	if (r->nav_over)
		buf_addf(out, "<p class=\"cut\">%zu more runs follow</p>", r->nav_over);
	buf_adds(out, "</header>\n");
}

static void extras(struct buf *out, const struct report *r)
{
	if (r->patch.len) {
		buf_adds(out, "<section><h2>What changed in the workspace</h2><pre class=\"diff\">");
		buf_add(out, buf_str(&r->patch), r->patch.len);
		buf_adds(out, "</pre></section>\n");
	}
	if (r->job.len) {
		buf_adds(out, "<section><h2>Job</h2><details class=\"more\"><summary>The job as it was "
		              "resolved</summary><pre>\n");
		buf_add(out, buf_str(&r->job), r->job.len);
		buf_adds(out, "</pre></details></section>\n");
	}
}

static void foot(struct buf *out, const struct report *r)
{
	buf_adds(out, "<footer>");
	html_count(out, (int64_t)r->lines);
	buf_adds(out, r->lines == 1 ? " line, " : " lines, ");
	html_count(out, (int64_t)r->events);
	buf_adds(out, r->events == 1 ? " event" : " events");
	if (r->unreadable) {
		buf_adds(out, ", <b class=\"no\">");
		html_count(out, (int64_t)r->unreadable);
		buf_addf(out, " %s</b>", r->unreadable == 1 ? "line that is no event" : "lines that are no events");
	}
	if (r->cut)
		buf_adds(out, ", <b class=\"no\">the bundle ends early</b>");
	if (r->torn)
		buf_adds(out, ", the last line is torn");
	buf_adds(out, ".</footer></main></body></html>\n");
}

int page_write(struct report *r, int fd, struct error *e)
{
	struct buf out = BUF_INIT((size_t)64 << 20);

	head(&out, r);
	int rc = buf_check(&out, "the page", e);
	if (rc == 0 && io_write_all(fd, out.data, out.len))
		rc = error_sys(e, "cannot write the page");
	if (rc == 0)
		rc = spool_copy(&r->done, fd, e);
	buf_clear(&out);
	extras(&out, r);
	foot(&out, r);
	if (rc == 0)
		rc = buf_check(&out, "the page", e);
	if (rc == 0 && io_write_all(fd, out.data, out.len))
		rc = error_sys(e, "cannot write the page");
	buf_release(&out);
	return rc;
}
