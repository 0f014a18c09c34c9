#include "model/anthropic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/answer.h"
#include "model/header_list.h"
#include "model/http.h"
#include "model/request.h"
#include "model/tap.h"

/* Accepted by every server and gateway; newer versions change nothing that we use. */
#define API_VERSION "2023-06-01"
#define ENDPOINT    "/v1/messages"
#define COUNT       "/count_tokens" /* behind it */

struct anthropic {
	struct model model; /* the common head, first */
	const struct model_config *config;
	model_sink sink;
	void *ctx;
	struct http *http;
	char *url, *count_url;
	struct header_list headers;
	struct attempt *attempt; /* the current one, NULL when none is */
};

/* Belongs to its HTTP request, which frees it; `owner` is NULL once it was cancelled or has ended. */
struct attempt {
	struct anthropic *owner;
	struct request_body body;
	struct request_cursor cursor;
	struct answer answer;
};

/* ---- one attempt */

/* No event comes after a cancel, not even from a stream event that is being taken apart. */
static void to_sink(void *ctx, const struct model_event *ev)
{
	struct attempt *at = ctx;
	struct anthropic *m = at->owner;

	if (!m)
		return;
	if (ev->kind == MODEL_EV_END) {
		at->owner = NULL;
		m->attempt = NULL;
	}
	m->sink(m->ctx, ev);
}

static size_t on_read(void *ctx, char *out, size_t max)
{
	struct attempt *at = ctx;

	return request_read(&at->body, &at->cursor, out, max);
}

static void on_phase(void *ctx, enum model_phase phase)
{
	struct attempt *at = ctx;
	struct model_event ev = { .kind = MODEL_EV_ALIVE, .phase = phase };
	const struct model_tap *tap = at->answer.tap;

	if (tap && (phase == PHASE_CONNECTED || phase == PHASE_SENT))
		tap->phase(tap->ctx, at->answer.kind_asked, phase);
	if (phase == PHASE_BYTES && at->answer.assembly.progress) {
		at->answer.assembly.progress = false;
		ev.phase = PHASE_CONTENT;
	}
	to_sink(at, &ev);
}

static void on_head(void *ctx, struct http *h, int status)
{
	struct attempt *at = ctx;
	struct answer_headers headers = {
		.content_type = http_header(h, "content-type"),
		.content_encoding = http_header(h, "content-encoding"),
		.retry_after = http_header(h, "retry-after"),
		.retry_after_ms = http_header(h, "retry-after-ms"),
		.should_retry = http_header(h, "x-should-retry"),
		.request_id = http_header(h, "request-id"),
	};

	if (!headers.request_id)
		headers.request_id = http_header(h, "x-request-id");
	answer_head(&at->answer, status, &headers);
}

static int on_body(void *ctx, const char *p, size_t n)
{
	struct attempt *at = ctx;

	return answer_body(&at->answer, p, n);
}

static void on_done(void *ctx, const struct http_done *done)
{
	struct attempt *at = ctx;

	answer_end(&at->answer, done);
}

static void attempt_free(void *ctx)
{
	struct attempt *at = ctx;

	if (at->owner && at->owner->attempt == at)
		at->owner->attempt = NULL;
	request_release(&at->body);
	answer_release(&at->answer);
	free(at);
}

static const struct http_handler handler = { on_read, on_phase, on_head, on_body, on_done, attempt_free };

static struct attempt *attempt_new(struct anthropic *m, const struct model_request *req, struct error *e)
{
	struct attempt *at = calloc(1, sizeof *at);

	if (!at) {
		error_nomem(e);
		return NULL;
	}
	at->owner = m;
	answer_init(&at->answer, m->config->partial, to_sink, at);
	at->answer.tap = m->config->tap;
	at->answer.kind_asked = req->kind;
	at->answer.count = req->kind == MODEL_COUNT;
	if (!request_build(&at->body, req, e))
		return at;
	attempt_free(at);
	return NULL;
}

/* ---- the wire's operations */

static void cancel(struct model *model)
{
	struct anthropic *m = (struct anthropic *)model;

	if (!m->attempt)
		return;
	if (m->config->tap)
		m->config->tap->cancelled(m->config->tap->ctx, m->attempt->answer.kind_asked);
	m->attempt->owner = NULL;
	m->attempt = NULL;
	http_cancel(m->http);
}

static int set_betas(struct anthropic *m, const struct model_request *req, struct error *e)
{
	static const char header[] = "anthropic-beta", between[] = " ,";
	const char *betas = m->config->betas ? m->config->betas : "";
	struct buf kept = BUF_INIT(BUF_HUGE);
	int rc = 0;

	for (const char *p = betas + strspn(betas, between); *p; p += strspn(p, between)) {
		size_t n = strcspn(p, between);
		if (!request_is_refused(req, p, n)) {
			buf_adds(&kept, kept.len ? "," : "");
			buf_add(&kept, p, n);
		}
		p += n;
	}
	if (kept.failed)
		rc = error_nomem(e);
	else if (kept.len && !(req->without & WITHOUT_BETAS))
		rc = header_list_set(&m->headers, header, kept.data, e);
	else if (*betas || req->without & WITHOUT_BETAS)
		header_list_remove(&m->headers, header);
	buf_release(&kept);
	return rc;
}

static int start(struct model *model, const struct model_request *req, struct error *e)
{
	struct anthropic *m = (struct anthropic *)model;

	cancel(model);
	if (set_betas(m, req, e))
		return -1;
	struct attempt *at = attempt_new(m, req, e);
	if (!at)
		return -1;
	const struct http_request http = { req->kind == MODEL_COUNT ? m->count_url : m->url,
		                           (const char *const *)m->headers.v, at->body.length };
	if (http_start(m->http, &http, &handler, at, e)) {
		attempt_free(at);
		return -1;
	}
	m->attempt = at;
	if (m->config->tap)
		m->config->tap->sent(m->config->tap->ctx, req, &at->body);
	return 0;
}

static void set_pause(struct model *model, bool on)
{
	struct anthropic *m = (struct anthropic *)model;

	http_pause(m->http, on);
}

static void forget_url(char *url)
{
	if (url)
		explicit_bzero(url, strlen(url));
	free(url);
}

static void anthropic_free(struct model *model)
{
	struct anthropic *m = (struct anthropic *)model;

	cancel(model);
	http_free(m->http);
	header_list_release(&m->headers);
	forget_url(m->url);
	forget_url(m->count_url);
	free(m);
}

/* ---- opening */

char *anthropic_url(const char *base_url, struct error *e)
{
	static const char *const schemes[] = { "http://", "https://" };
	size_t n = base_url ? strlen(base_url) : 0, host = 0;
	char *url = NULL;

	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
		if (base_url && !strncasecmp(base_url, schemes[i], strlen(schemes[i])))
			host = strlen(schemes[i]);
	while (n > host && base_url[n - 1] == '/')
		n--;
	if (n > host + 3 && !strncmp(base_url + n - 3, "/v1", 3))
		n -= 3;
	while (n > host && base_url[n - 1] == '/')
		n--;
	if (!host)
		error_set(e, ERR_INPUT, "the base URL of the model must begin with http:// or https://");
	else if (n == host || strchr("/?#:@", base_url[host]))
		error_set(e, ERR_INPUT, "the base URL of the model names no host");
	else if (strcspn(base_url, "?# \t\r\n\v\f\"\\<>") < n)
		error_set(e, ERR_INPUT, "the base URL of the model must be without blanks, quotes, '?' and '#'");
	else if (asprintf(&url, "%.*s%s", (int)n, base_url, ENDPOINT) < 0)
		url = NULL, error_nomem(e);
	return url;
}

static int set_key(struct header_list *l, const struct model_config *cfg, struct error *e)
{
	if (!cfg->api_key)
		return 0;
	if (!cfg->bearer)
		return header_list_set(l, "x-api-key", cfg->api_key, e);
	size_t size = strlen("Bearer ") + strlen(cfg->api_key) + 1;
	char *value = malloc(size);
	if (!value)
		return error_nomem(e);
	snprintf(value, size, "Bearer %s", cfg->api_key);
	int r = header_list_set(l, "Authorization", value, e);
	explicit_bzero(value, size);
	free(value);
	return r;
}

/* The job's own headers come last, so that they win. */
static int set_headers(struct header_list *l, const struct model_config *cfg, struct error *e)
{
	if (header_list_set(l, "Content-Type", "application/json", e) ||
	    header_list_set(l, "Accept", "text/event-stream", e) ||
	    header_list_set(l, "User-Agent", cfg->user_agent ? cfg->user_agent : "quern", e) ||
	    header_list_set(l, "anthropic-version", API_VERSION, e) || set_key(l, cfg, e))
		return -1;
	for (size_t i = 0; cfg->headers && cfg->headers[i]; i++)
		if (header_list_set_line(l, cfg->headers[i], e))
			return -1;
	return 0;
}

static const struct model_ops ops = { start, cancel, set_pause, anthropic_free };

static struct model *anthropic_open(const struct model_config *cfg, struct reactor *r, model_sink sink, void *ctx,
                                    struct error *e)
{
	const char *base = cfg->base_url ? cfg->base_url : anthropic_wire.default_base_url;
	struct anthropic *m = calloc(1, sizeof *m);

	if (!m) {
		error_nomem(e);
		return NULL;
	}
	m->model.ops = &ops;
	m->config = cfg;
	m->sink = sink;
	m->ctx = ctx;
	m->url = anthropic_url(base, e);
	if (m->url && asprintf(&m->count_url, "%s" COUNT, m->url) < 0)
		m->count_url = NULL, error_nomem(e);
	if (m->count_url && !set_headers(&m->headers, cfg, e))
		m->http = http_open(r, cfg->connect_timeout_ms, e);
	if (m->http)
		return &m->model;
	anthropic_free(&m->model);
	return NULL;
}

const struct wire anthropic_wire = {
	.name = "anthropic",
	.default_base_url = "https://api.anthropic.com",
	.needs_key = true,
	.open = anthropic_open,
};
