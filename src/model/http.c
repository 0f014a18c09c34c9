#include "model/http.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "model/curl_api.h"
#include "model/http_error.h"
#include "model/http_tls.h"

/* What comes behind an answer's end is read for so long and so much, so that its connection can be used again. */
#define DRAIN_MS    1000
#define DRAIN_BYTES ((size_t)64 << 10)

/* So long of that time the next request waits for it, or it would need a connection of its own. */
#define JOIN_MS 50

/* For "off": libcurl takes 0 as its own default. */
#define CONNECT_TIMEOUT_OFF_MS (24L * 3600 * 1000)

/* One request. It lives in the list until libcurl and the handler are both done with it. */
struct transfer {
	struct http *http;
	struct transfer *next;
	CURL *easy;
	struct curl_slist *headers;
	struct http_handler handler;
	void *ctx;
	bool added; /* to the multi handle; later, if started from inside one of its callbacks */
	bool dead;  /* cancelled: no handler is called any more */
	bool told_head;
	bool enough;                     /* the handler wants no more bytes */
	bool reported;                   /* done was called; what is left is draining */
	bool ended;                      /* libcurl is done; code is its result */
	bool sent, connected, got_bytes; /* signs of life that the handler was not told yet */
	bool paused;                     /* libcurl holds data back for us */
	bool head_complete;
	size_t unsent; /* bytes of the request's body */
	size_t head_bytes, drained;
	int64_t reported_at;
	CURLcode code;
	char error[CURL_ERROR_SIZE];
};

struct http {
	struct curl_api api;
	struct http_tls tls;
	struct reactor *reactor;
	CURLM *multi;
	CURL *spare; /* of a request that went well: the next one finds its buffers there */
	struct transfer *transfers;
	struct transfer *current;    /* in the list, or NULL */
	struct reactor_timer timer;  /* libcurl's */
	struct reactor_timer wakeup; /* ours: unpause, end of draining, deferred work */
	long connect_timeout_ms;
	unsigned inside; /* depth of calls into libcurl and handlers: no transfer may be freed there */
	bool pause;
	bool global;
};

static void wake(struct http *h, int64_t at)
{
	if (!h->wakeup.armed || at < h->wakeup.at)
		reactor_timer_set(h->reactor, &h->wakeup, at);
}

/* ---- callbacks of one transfer, from inside libcurl */

static void tell_phase(struct transfer *t, bool *sign, enum model_phase phase)
{
	if (!*sign || t->dead || t->reported)
		return;
	*sign = false;
	t->handler.phase(t->ctx, phase);
}

/* What came before any byte of the answer. */
static void tell_request_phases(struct transfer *t)
{
	tell_phase(t, &t->connected, PHASE_CONNECTED);
	tell_phase(t, &t->sent, PHASE_SENT);
}

static void tell_head(struct transfer *t)
{
	long status = 0;

	if (t->told_head || t->dead)
		return;
	t->told_head = true;
	tell_request_phases(t);
	if (t->dead)
		return;
	t->http->api.easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	t->handler.head(t->ctx, t->http, (int)status);
}

static size_t on_read(char *out, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;

	if (t->dead || t->reported)
		return CURL_READFUNC_ABORT;
	size_t got = t->handler.read(t->ctx, out, size * n);
	/* It asks no more once it has what the length promised. */
	t->unsent -= got < t->unsent ? got : t->unsent;
	if (!t->unsent)
		t->sent = true;
	return got;
}

static size_t on_header(char *line, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	size_t len = size * n;

	t->got_bytes = true;
	t->head_bytes += len;
	/* A status line begins a head, a blank line ends it; there is one for each interim answer too. */
	if (len >= 5 && !memcmp(line, "HTTP/", 5))
		t->head_complete = false;
	else if (len <= 2)
		t->head_complete = true;
	return t->dead || t->head_bytes > HTTP_MAX_HEAD ? 0 : len;
}

static size_t drain(struct transfer *t, size_t n)
{
	t->drained += n;
	return t->drained > DRAIN_BYTES ? 0 : n;
}

static size_t on_write(char *p, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	size_t len = size * n;

	if (t->dead)
		return 0;
	if (t->enough)
		return drain(t, len);
	if (t->http->pause) {
		t->paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	t->got_bytes = true;
	tell_head(t);
	if (!t->dead && t->handler.body(t->ctx, p, len))
		t->enough = true;
	return t->dead ? 0 : len;
}

static int on_connected(void *ctx, char *ip, char *local_ip, int port, int local_port)
{
	struct transfer *t = ctx;

	(void)ip;
	(void)local_ip;
	(void)port;
	(void)local_port;
	t->connected = true;
	return t->dead ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* No child may inherit a connection. */
static curl_socket_t on_open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
	(void)ctx;
	(void)purpose;
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* ---- transfers */

static void forget_headers(const struct curl_api *api, struct curl_slist *list)
{
	for (struct curl_slist *s = list; s; s = s->next)
		explicit_bzero(s->data, strlen(s->data));
	api->slist_free_all(list);
}

static void give_back(struct transfer *t)
{
	struct http *h = t->http;

	if (t->added)
		h->api.multi_remove_handle(h->multi, t->easy);
	if (h->spare || !t->ended || t->code) {
		h->api.easy_cleanup(t->easy);
		return;
	}
	h->api.easy_reset(t->easy);
	h->spare = t->easy;
}

static void transfer_free(struct transfer *t)
{
	struct http *h = t->http;

	if (h->current == t)
		h->current = NULL;
	if (t->easy)
		give_back(t);
	forget_headers(&h->api, t->headers);
	if (t->ctx)
		t->handler.free(t->ctx);
	free(t);
}

static void unlink_and_free(struct http *h, struct transfer *t)
{
	struct transfer **p = &h->transfers;

	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	transfer_free(t);
}

/* Without a SEEKFUNCTION libcurl cannot send the body a second time: a dead connection is our retry policy's to judge.
 */
static CURLcode set_options(struct transfer *t, const struct http_request *req)
{
	struct http *h = t->http;
	CURLcode r = CURLE_OK;

#define SET(option, value) r = r ? r : h->api.easy_setopt(t->easy, CURLOPT_##option, value)
	SET(ERRORBUFFER, t->error);
	SET(PRIVATE, t);
	SET(URL, req->url);
	SET(PROTOCOLS_STR, "http,https");
	SET(FOLLOWLOCATION, 0L);
	SET(NOSIGNAL, 1L);
	SET(TCP_KEEPALIVE, 1L);
	SET(CONNECTTIMEOUT_MS, h->connect_timeout_ms);
	/* A server without a status line is our error to report, with what it said. */
	SET(HTTP09_ALLOWED, 1L);
	SET(SUPPRESS_CONNECT_HEADERS, 1L);
	SET(POST, 1L);
	SET(POSTFIELDSIZE_LARGE, (curl_off_t)req->body_length);
	SET(HTTPHEADER, t->headers);
	SET(HEADEROPT, (long)CURLHEADER_SEPARATE);
	SET(OPENSOCKETFUNCTION, on_open_socket);
	SET(PREREQFUNCTION, on_connected);
	SET(PREREQDATA, t);
	SET(READFUNCTION, on_read);
	SET(READDATA, t);
	SET(HEADERFUNCTION, on_header);
	SET(HEADERDATA, t);
	SET(WRITEFUNCTION, on_write);
	SET(WRITEDATA, t);
#undef SET
	return r ? r : http_tls_set(&h->tls, &h->api, t->easy, req->url);
}

/* -1: out of memory. The empty Expect header keeps large bodies from waiting for a "100 Continue". */
static int copy_headers(struct transfer *t, const char *const *lines)
{
	static const char *const ours[] = { "Expect:", NULL };
	const char *const *lists[] = { ours, lines };

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; lists[k] && lists[k][i]; i++) {
			struct curl_slist *list = t->http->api.slist_append(t->headers, lists[k][i]);
			if (!list)
				return -1;
			t->headers = list;
		}
	return 0;
}

static struct transfer *transfer_new(struct http *h, const struct http_request *req, struct error *e)
{
	struct transfer *t = calloc(1, sizeof *t);
	CURLcode r = CURLE_OUT_OF_MEMORY;

	if (!t) {
		error_nomem(e);
		return NULL;
	}
	t->http = h;
	t->unsent = req->body_length;
	t->easy = h->spare ? h->spare : h->api.easy_init();
	h->spare = NULL;
	if (t->easy && !copy_headers(t, req->headers))
		r = set_options(t, req);
	if (!r)
		return t;
	transfer_free(t);
	if (r == CURLE_OUT_OF_MEMORY)
		error_nomem(e);
	else
		error_set(e, ERR_SYS, "cannot prepare a request: %s", h->api.easy_strerror(r));
	return NULL;
}

/* ---- between libcurl and the reactor */

static void report(struct transfer *t)
{
	struct http_done done = { .failure = MODEL_FINE, .net = NET_NONE };
	struct http *h = t->http;
	char *message = NULL;

	h->inside++;
	/* libcurl takes a head without its end for an answer without a body. */
	if (t->ended && !t->code && t->head_bytes && !t->head_complete) {
		t->code = CURLE_PARTIAL_FILE;
		snprintf(t->error, sizeof t->error, "the connection was closed inside the head of the answer");
	}
	if (t->ended && t->code && !t->enough) {
		struct http_trouble trouble = { .code = t->code, .text = t->error };
		trouble.code_text = h->api.easy_strerror(t->code);
		trouble.in_head = t->head_bytes > 0 && !t->head_complete;
		h->api.easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &trouble.os_errno);
		h->api.easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &trouble.connect_status);
		message = http_error_judge(&trouble, &done);
		done.message = message ? message : "out of memory";
	}
	if (!done.failure || t->head_complete)
		tell_head(t);
	t->reported = true;
	if (h->current == t)
		h->current = NULL;
	if (!t->dead)
		t->handler.done(t->ctx, &done);
	h->inside--;
	free(message);
	t->reported_at = clock_mono_ms();
	wake(h, t->reported_at + DRAIN_MS);
}

static void tell_signs(struct transfer *t)
{
	t->http->inside++;
	tell_request_phases(t);
	tell_phase(t, &t->got_bytes, PHASE_BYTES);
	t->http->inside--;
}

static bool has_signs(const struct transfer *t)
{
	return !t->dead && !t->reported && (t->connected || t->sent || t->got_bytes);
}

static bool is_over(const struct transfer *t)
{
	return t->dead || (t->reported && (t->ended || clock_mono_ms() >= t->reported_at + DRAIN_MS));
}

/* The end of an answer comes right behind its last event, and then its connection is free. */
static bool waits_for_connection(struct http *h)
{
	for (const struct transfer *t = h->transfers; t; t = t->next) {
		if (!t->reported || t->ended || clock_mono_ms() >= t->reported_at + JOIN_MS)
			continue;
		wake(h, t->reported_at + JOIN_MS);
		return true;
	}
	return false;
}

/* Does one thing that is due; false if nothing is. Handlers may change the list, so the caller starts again. */
static bool settle_one(struct http *h)
{
	for (struct transfer *t = h->transfers; t; t = t->next) {
		if (is_over(t)) {
			unlink_and_free(h, t);
			return true;
		}
		if (!t->added) {
			if (waits_for_connection(h))
				continue;
			t->added = true;
			if (h->api.multi_add_handle(h->multi, t->easy)) {
				t->added = false;
				t->ended = true;
				t->code = CURLE_FAILED_INIT;
			}
			return true;
		}
		if (has_signs(t)) {
			tell_signs(t);
			return true;
		}
		if (!t->reported && (t->ended || t->enough)) {
			report(t);
			return true;
		}
	}
	return false;
}

static void settle(struct http *h)
{
	CURLMsg *msg;
	int left;

	while ((msg = h->api.multi_info_read(h->multi, &left))) {
		struct transfer *t = NULL;
		if (msg->msg != CURLMSG_DONE)
			continue;
		h->api.easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &t);
		t->ended = true;
		t->code = msg->data.result;
	}
	while (settle_one(h))
		;
}

static void fail_all(struct http *h)
{
	for (struct transfer *t = h->transfers; t; t = t->next) {
		if (t->ended)
			continue;
		t->ended = true;
		t->code = CURLE_OUT_OF_MEMORY;
	}
}

static void act(struct http *h, curl_socket_t fd, int what)
{
	int running;

	h->inside++;
	CURLMcode code = h->api.multi_socket_action(h->multi, fd, what, &running);
	h->inside--;
	if (code) /* out of memory, or a bug: no transfer will get on by itself */
		fail_all(h);
	settle(h);
}

static void on_fd(void *ctx, int fd, short revents)
{
	int what = 0;

	if (revents & (POLLIN | POLLHUP))
		what |= CURL_CSELECT_IN;
	if (revents & POLLOUT)
		what |= CURL_CSELECT_OUT;
	if (revents & (POLLERR | POLLNVAL))
		what |= CURL_CSELECT_ERR;
	act(ctx, fd, what);
}

static void on_timer(void *ctx)
{
	act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

/* Unpausing delivers what was held back from inside the call, so it is done here, where events may be delivered. */
static void unpause(struct http *h)
{
	struct transfer *t = h->current;

	if (h->pause || !t || !t->paused)
		return;
	t->paused = false;
	h->inside++;
	h->api.easy_pause(t->easy, CURLPAUSE_CONT);
	h->inside--;
}

static void on_wakeup(void *ctx)
{
	struct http *h = ctx;

	unpause(h);
	settle(h);
	for (struct transfer *t = h->transfers; t; t = t->next)
		if (t->reported)
			wake(h, t->reported_at + DRAIN_MS);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *of_socket)
{
	struct http *h = ctx;
	short events = 0;

	(void)easy;
	(void)of_socket;
	if (what == CURL_POLL_REMOVE) {
		reactor_fd_remove(h->reactor, fd);
		return 0;
	}
	if (what & CURL_POLL_IN)
		events |= POLLIN;
	if (what & CURL_POLL_OUT)
		events |= POLLOUT;
	return reactor_fd_set(h->reactor, fd, events, on_fd, h);
}

static int on_timeout(CURLM *multi, long ms, void *ctx)
{
	struct http *h = ctx;

	(void)multi;
	if (ms < 0)
		reactor_timer_cancel(h->reactor, &h->timer);
	else
		reactor_timer_set(h->reactor, &h->timer, clock_mono_ms() + ms);
	return 0;
}

/* ---- the face */

static int set_up(struct http *h, struct error *e)
{
	if (curl_api_load(&h->api, e))
		return -1;
	if (h->api.global_init(CURL_GLOBAL_DEFAULT))
		return error_set(e, ERR_SYS, "cannot initialise libcurl");
	h->global = true;
	h->multi = h->api.multi_init();
	if (!h->multi)
		return error_nomem(e);
	if (h->api.multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_socket) ||
	    h->api.multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h) ||
	    h->api.multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, on_timeout) ||
	    h->api.multi_setopt(h->multi, CURLMOPT_TIMERDATA, h))
		return error_set(e, ERR_SYS, "cannot set libcurl up");
	return 0;
}

struct http *http_open(struct reactor *r, int64_t connect_timeout_ms, struct error *e)
{
	struct http *h = calloc(1, sizeof *h);

	if (!h) {
		error_nomem(e);
		return NULL;
	}
	h->reactor = r;
	h->timer.fn = on_timer;
	h->timer.ctx = h;
	h->wakeup.fn = on_wakeup;
	h->wakeup.ctx = h;
	h->connect_timeout_ms = CONNECT_TIMEOUT_OFF_MS;
	if (connect_timeout_ms > 0 && connect_timeout_ms < CONNECT_TIMEOUT_OFF_MS)
		h->connect_timeout_ms = (long)connect_timeout_ms;
	if (!set_up(h, e))
		return h;
	http_free(h);
	return NULL;
}

int http_start(struct http *h, const struct http_request *req, const struct http_handler *handler, void *ctx,
               struct error *e)
{
	struct transfer *t = transfer_new(h, req, e);

	if (!t)
		return -1;
	http_cancel(h);
	t->handler = *handler;
	t->ctx = ctx;
	t->next = h->transfers;
	h->transfers = t;
	h->current = t;
	/* It joins the multi handle from the wakeup, as we may be inside one of libcurl's callbacks. */
	wake(h, clock_mono_ms());
	return 0;
}

const char *http_header(struct http *h, const char *name)
{
	struct curl_header *header;

	if (!h->current || h->api.easy_header(h->current->easy, name, 0, CURLH_HEADER, -1, &header))
		return NULL;
	return header->value;
}

void http_cancel(struct http *h)
{
	struct transfer *t = h->current;

	if (!t)
		return;
	h->current = NULL;
	t->dead = true;
	if (h->inside)
		wake(h, clock_mono_ms());
	else
		unlink_and_free(h, t);
}

void http_pause(struct http *h, bool on)
{
	h->pause = on;
	if (!on && h->current && h->current->paused)
		wake(h, clock_mono_ms());
}

void http_free(struct http *h)
{
	if (!h)
		return;
	while (h->transfers)
		unlink_and_free(h, h->transfers);
	if (h->spare)
		h->api.easy_cleanup(h->spare);
	if (h->multi)
		h->api.multi_cleanup(h->multi);
	reactor_timer_cancel(h->reactor, &h->timer);
	reactor_timer_cancel(h->reactor, &h->wakeup);
	if (h->global)
		h->api.global_cleanup();
	free(h);
}
