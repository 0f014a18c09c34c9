/* The Anthropic wire over real sockets, against a server that a forked child plays. */
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/anthropic.h"
#include "model/http_error.h"

/* ---- the server: the n-th request gets the n-th reply */

enum then { KEEP, CLOSE, HANG, NO_REPLY };

struct reply {
	const char *bytes; /* all of the answer, head included */
	size_t length;     /* 0 = strlen */
	enum then then;
	size_t piece; /* bytes a write, 0 = all at once */
};

struct tally {
	int requests, connections;
	char last[1 << 16];
	size_t body; /* of the last request */
	bool whole;  /* its body is the Content-Length that its head said */
};

struct server {
	pid_t pid;
	int port;
	struct tally *tally;
};

static size_t content_length(const char *head)
{
	const char *p = strcasestr(head, "content-length:");

	return p ? (size_t)strtoul(p + strlen("content-length:"), NULL, 10) : 0;
}

/* Reads one request; false at the end of the connection. */
static bool take_request(int fd, struct tally *t)
{
	static char in[4 << 20];
	size_t n = 0, head = 0, body = 0;

	while (!head || n < head + body) {
		ssize_t got = read(fd, in + n, sizeof in - 1 - n);
		if (got <= 0)
			return false;
		n += (size_t)got;
		in[n] = '\0';
		const char *end = strstr(in, "\r\n\r\n");
		if (end && !head) {
			head = (size_t)(end - in) + 4;
			body = content_length(in);
		}
	}
	t->requests++;
	t->body = n - head;
	t->whole = t->body == body;
	memcpy(t->last, in, n < sizeof t->last ? n + 1 : sizeof t->last - 1);
	return true;
}

static void send_reply(int fd, const struct reply *r)
{
	size_t n = r->length ? r->length : strlen(r->bytes);
	size_t piece = r->piece ? r->piece : n;

	for (size_t i = 0; i < n; i += piece) {
		if (send(fd, r->bytes + i, n - i < piece ? n - i : piece, MSG_NOSIGNAL) < 0)
			return;
		if (r->piece)
			usleep(200);
	}
}

static void serve(int listener, const struct reply *replies, struct tally *t)
{
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		if (fd < 0)
			_exit(1);
		t->connections++;
		while (take_request(fd, t)) {
			const struct reply *r = &replies[t->requests - 1];
			if (r->then != NO_REPLY)
				send_reply(fd, r);
			if (r->then == HANG)
				break;
			if (r->then != KEEP) {
				close(fd);
				break;
			}
		}
	}
}

static void server_start(struct server *s, const struct reply *replies)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	s->port = ntohs(a.sin_port);
	s->tally = mmap(NULL, sizeof *s->tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(s->tally != MAP_FAILED);
	s->pid = fork();
	if (!s->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fd, replies, s->tally);
		_exit(0);
	}
	assert_true(s->pid > 0);
	close(fd);
}

static void server_stop(struct server *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	munmap(s->tally, sizeof *s->tally);
}

/* ---- the client */

struct client {
	struct server server;
	struct reactor *reactor;
	struct model *model;
	struct model_config config;
	struct history history;
	char url[100];
	/* what the sink saw */
	int ends, starts, blocks, stops, alive[4];
	struct model_end end;
	char message[700], text[200];
	void (*on_event)(struct client *c, const struct model_event *ev);
	struct reactor_timer timer;
	bool paused;
};

static void sink(void *ctx, const struct model_event *ev)
{
	struct client *c = ctx;

	if (ev->kind == MODEL_EV_ALIVE)
		c->alive[ev->phase]++;
	c->starts += ev->kind == MODEL_EV_BLOCK_START;
	c->stops += ev->kind == MODEL_EV_STOP;
	if (ev->kind == MODEL_EV_BLOCK) {
		assert_false(c->paused);
		c->blocks++;
		snprintf(c->text, sizeof c->text, "%s", ev->block->json);
	}
	if (ev->kind == MODEL_EV_END) {
		c->ends++;
		c->end = ev->end;
		snprintf(c->message, sizeof c->message, "%s", ev->end.message ? ev->end.message : "-");
	}
	if (c->on_event)
		c->on_event(c, ev);
}

static void client_open(struct client *c, const struct reply *replies)
{
	struct error e = ERROR_INIT;

	memset(c, 0, sizeof *c);
	server_start(&c->server, replies);
	snprintf(c->url, sizeof c->url, "http://127.0.0.1:%d", c->server.port);
	c->config.base_url = c->url;
	c->config.api_key = "sk-canary";
	c->config.user_agent = "quern/test";
	c->config.connect_timeout_ms = 5000;
	c->reactor = reactor_open(&e);
	assert_non_null(c->reactor);
	c->model = anthropic_wire.open(&c->config, c->reactor, sink, c, &e);
	assert_non_null(c->model);
	struct message *m = message_new(ROLE_USER);
	assert_int_equal(message_add(m, block_new_text("hi", 2)), 0);
	assert_int_equal(history_add(&c->history, m), 0);
}

static void client_close(struct client *c)
{
	c->model->ops->free(c->model);
	reactor_free(c->reactor);
	history_release(&c->history);
	server_stop(&c->server);
}

static void start(struct client *c)
{
	struct model_request req = { .model = "m", .max_tokens = 100, .messages = &c->history, .turn = 1 };
	struct error e = ERROR_INIT;

	assert_int_equal(c->model->ops->start(c->model, &req, &e), 0);
}

/* Waits for the n-th end, at most some seconds. */
static void wait_end(struct client *c, int n)
{
	int64_t deadline = clock_mono_ms() + 20000;
	struct error e = ERROR_INIT;

	while (c->ends < n && clock_mono_ms() < deadline)
		assert_true(reactor_wait(c->reactor, deadline, &e) >= 0);
	assert_int_equal(c->ends, n);
}

static void call(struct client *c)
{
	int n = c->ends;

	start(c);
	wait_end(c, n + 1);
}

/* Lets things happen that must not be seen. */
static void idle(struct client *c, int64_t ms)
{
	int64_t deadline = clock_mono_ms() + ms;
	struct error e = ERROR_INIT;

	while (clock_mono_ms() < deadline)
		assert_true(reactor_wait(c->reactor, deadline, &e) >= 0);
}

#define CHUNKED                                                                                                        \
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
#define CHUNK(n, s) n "\r\n" s "\r\n"
#define START_EVENT "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n"
#define OPEN_EVENT                                                                                                     \
	"data: "                                                                                                       \
	"{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"hello\"}}\n\n"
#define CLOSE_EVENT "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
#define DELTA_EVENT "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"
#define STOP_EVENT  "data: {\"type\":\"message_stop\"}\n\n"
#define EVENTS      START_EVENT OPEN_EVENT CLOSE_EVENT DELTA_EVENT STOP_EVENT
/* to the end of the connection */
#define PLAIN "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
/* the length of EVENTS, as a chunk's */
#define GOOD CHUNKED CHUNK("125", EVENTS) "0\r\n\r\n"

static void test_chunk_length(void **state)
{
	(void)state;
	assert_int_equal(strlen(EVENTS), strtoul("125", NULL, 16));
}

static void test_stream_and_reuse(void **state)
{
	const struct reply replies[] = { { GOOD, 0, KEEP, 0 }, { GOOD, 0, KEEP, 1 } };
	struct client c;

	(void)state;
	client_open(&c, replies);
	call(&c);
	assert_true(c.end.complete);
	assert_int_equal(c.end.http_status, 200);
	assert_string_equal(c.text, "{\"type\":\"text\",\"text\":\"hello\"}");
	assert_int_equal(c.alive[PHASE_CONNECTED], 1);
	assert_int_equal(c.alive[PHASE_SENT], 1);
	assert_true(c.alive[PHASE_BYTES] + c.alive[PHASE_CONTENT] > 0);
	const char *sent = c.server.tally->last;
	assert_non_null(strstr(sent, "POST /v1/messages HTTP/1.1\r\n"));
	assert_non_null(strstr(sent, "\r\nx-api-key: sk-canary\r\n"));
	assert_non_null(strstr(sent, "\r\nanthropic-version: 2023-06-01\r\n"));
	assert_non_null(strstr(sent, "\r\nUser-Agent: quern/test\r\n"));
	assert_non_null(strstr(sent, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(sent, "\r\nAccept: text/event-stream\r\n"));
	assert_null(strcasestr(sent, "\r\nexpect:"));
	assert_null(strcasestr(sent, "\r\naccept-encoding:"));
	assert_null(strcasestr(sent, "\r\nauthorization:"));
	assert_null(strcasestr(sent, "\r\nanthropic-beta:"));
	assert_true(c.server.tally->whole);
	assert_non_null(strstr(sent, "\r\n\r\n{\"model\":\"m\",\"max_tokens\":100,\"stream\":true,\"messages\":["));
	/* again, a byte at a time, on the same connection */
	call(&c);
	assert_true(c.end.complete);
	assert_int_equal(c.server.tally->requests, 2);
	assert_int_equal(c.server.tally->connections, 1);
	client_close(&c);
}

#define COUNT_ANSWER                                                                                                   \
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 23\r\n\r\n{\"input_tokens\": 2095 }"

static void test_count(void **state)
{
	const struct reply replies[] = {
		{ COUNT_ANSWER, 0, KEEP, 1 },
		{ "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 0, KEEP, 0 },
		{ GOOD, 0, KEEP, 0 },
	};
	struct client c;
	struct error e = ERROR_INIT;

	(void)state;
	client_open(&c, replies);
	struct model_request req = { .kind = MODEL_COUNT, .model = "m", .messages = &c.history, .turn = 1 };
	assert_int_equal(c.model->ops->start(c.model, &req, &e), 0);
	wait_end(&c, 1);
	assert_int_equal(c.end.failure, MODEL_FINE);
	assert_true(c.end.complete);
	assert_int_equal(c.end.usage.input, 2095);
	assert_int_equal(c.blocks + c.stops, 0);
	assert_non_null(strstr(c.server.tally->last, "POST /v1/messages/count_tokens HTTP/1.1\r\n"));
	assert_non_null(strstr(c.server.tally->last, "\r\nx-api-key: sk-canary\r\n"));
	assert_non_null(strstr(c.server.tally->last, "\r\n\r\n{\"model\":\"m\",\"messages\":["));
	assert_true(c.server.tally->whole);
	/* most compatible servers know no such path; the model answers all the same */
	assert_int_equal(c.model->ops->start(c.model, &req, &e), 0);
	wait_end(&c, 2);
	assert_int_equal(c.end.failure, MODEL_HTTP);
	assert_int_equal(c.end.http_status, 404);
	call(&c);
	assert_true(c.end.complete);
	assert_non_null(strstr(c.server.tally->last, "POST /v1/messages HTTP/1.1\r\n"));
	assert_int_equal(c.server.tally->connections, 1);
	client_close(&c);
}

static void test_large_body(void **state)
{
	const struct reply replies[] = { { GOOD, 0, KEEP, 0 } };
	enum { N = 3 << 20 };
	char *text = malloc(N);
	struct client c;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', N);
	client_open(&c, replies);
	assert_int_equal(history_add_user_block(&c.history, block_new_text(text, N)), 0);
	call(&c);
	assert_true(c.end.complete);
	assert_true(c.server.tally->body > N);
	assert_true(c.server.tally->whole);
	client_close(&c);
	free(text);
}

/* The last chunk comes a byte at a time, when the next request has been asked for already. */
static void test_next_request_waits_for_the_connection(void **state)
{
	const struct reply replies[] = { { GOOD, 0, KEEP, 1 }, { GOOD, 0, KEEP, 1 }, { GOOD, 0, KEEP, 0 } };
	struct client c;

	(void)state;
	client_open(&c, replies);
	for (int i = 0; i < 3; i++) {
		call(&c);
		assert_true(c.end.complete);
	}
	assert_int_equal(c.server.tally->requests, 3);
	assert_int_equal(c.server.tally->connections, 1);
	client_close(&c);
}

/* A kept connection that dies under a request: one request each, and no silent second one. */
static void test_dead_reused_connection(void **state)
{
	const struct reply replies[] = { { GOOD, 0, KEEP, 0 }, { "", 0, NO_REPLY, 0 }, { GOOD, 0, KEEP, 0 } };
	struct client c;

	(void)state;
	client_open(&c, replies);
	call(&c);
	call(&c);
	assert_int_equal(c.end.failure, MODEL_NETWORK);
	assert_int_equal(c.end.net, NET_DEAD_REUSED);
	assert_int_equal(c.server.tally->requests, 2);
	call(&c);
	assert_true(c.end.complete);
	assert_int_equal(c.server.tally->requests, 3);
	client_close(&c);
}

/* A connection that the server closed while it was idle is replaced without trouble. */
static void test_closed_while_idle(void **state)
{
	const struct reply replies[] = { { GOOD, 0, CLOSE, 0 }, { GOOD, 0, KEEP, 0 } };
	struct client c;

	(void)state;
	client_open(&c, replies);
	call(&c);
	idle(&c, 50);
	call(&c);
	assert_true(c.end.complete);
	assert_int_equal(c.server.tally->connections, 2);
	client_close(&c);
}

static void test_no_answer_on_fresh_connection(void **state)
{
	const struct reply replies[] = { { "", 0, NO_REPLY, 0 } };
	struct client c;

	(void)state;
	client_open(&c, replies);
	call(&c);
	assert_int_equal(c.end.failure, MODEL_NETWORK);
	assert_int_equal(c.end.net, NET_OTHER);
	assert_int_equal(c.server.tally->requests, 1);
	client_close(&c);
}

static void test_unreachable(void **state)
{
	const struct reply replies[] = { { GOOD, 0, KEEP, 0 } };
	struct client c;

	(void)state;
	client_open(&c, replies);
	kill(c.server.pid, SIGKILL);
	waitpid(c.server.pid, NULL, 0);
	call(&c);
	assert_int_equal(c.end.failure, MODEL_NETWORK);
	assert_int_equal(c.end.net, NET_CONNECT_REFUSED);
	client_close(&c);
}

#define ERROR_529                                                                                                      \
	"HTTP/1.1 529 \r\nContent-Type: application/json\r\nContent-Length: 69\r\nrequest-id: req_1\r\n"               \
	"Retry-After: 3\r\nx-should-retry: true\r\n\r\n"                                                               \
	"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Busy\"}}"

static const struct {
	const char *bytes;
	enum model_failure failure;
	int status;
	const char *message;
} odd_answers[] = {
	{ "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>", MODEL_NOT_STREAM, 200,
	  "HTTP 200 (text/html), which is no event stream: <html>" },
	{ "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 0\r\n\r\n", MODEL_NOT_STREAM, 200,
	  "empty body" },
	{ "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", MODEL_NOT_STREAM, 204, "HTTP 204" },
	{ "HTTP/1.1 302 Found\r\nLocation: http://login.example.invalid/\r\nContent-Length: 0\r\n\r\n",
	  MODEL_NOT_STREAM, 302, "HTTP 302" },
	{ "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: "
	  "3\r\n\r\nabc",
	  MODEL_NOT_STREAM, 200, "compressed" },
	{ "HELLO THERE\r\n\r\n", MODEL_NOT_STREAM, 0, "HELLO THERE" },
	{ PLAIN START_EVENT, MODEL_STREAM_CUT, 200, "without a stop_reason" },
	{ PLAIN EVENTS, MODEL_FINE, 200, "-" },
	{ CHUNKED "20\r\ndata: {", MODEL_NETWORK, 200, "" },
	{ "HTTP/1.1 200 OK\r\nContent-Ty", MODEL_NETWORK, 0, "inside the head" },
	{ "HTTP/1.1 429 Too Many\r\nContent-Length: 500\r\nContent-Type: application/json\r\n\r\n{\"error", MODEL_HTTP,
	  429, "{\"error" },
	{ ERROR_529, MODEL_HTTP, 529, "Busy" },
};

static void test_odd_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof odd_answers / sizeof odd_answers[0]; i++) {
		const struct reply replies[] = { { odd_answers[i].bytes, 0, CLOSE, 0 } };
		struct client c;
		client_open(&c, replies);
		call(&c);
		assert_int_equal(c.end.failure, odd_answers[i].failure);
		if (odd_answers[i].status)
			assert_int_equal(c.end.http_status, odd_answers[i].status);
		assert_non_null(strstr(c.message, odd_answers[i].message));
		client_close(&c);
	}
}

static void test_error_headers(void **state)
{
	const struct reply replies[] = { { ERROR_529, 0, KEEP, 0 } };
	struct client c;

	(void)state;
	client_open(&c, replies);
	call(&c);
	assert_int_equal(c.end.retry_after_ms, 3000);
	assert_int_equal(c.end.should_retry, 1);
	client_close(&c);
}

/* A head without bounds: one endless line, and endless lines. */
static void test_huge_heads(void **state)
{
	enum { N = 1 << 20 };
	char *head = malloc(N + 1);

	(void)state;
	assert_non_null(head);
	for (int lines = 0; lines < 2; lines++) {
		struct client c;
		memset(head, 'x', N);
		memcpy(head, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX: ", 52);
		for (size_t i = 1000; lines && i + 1000 < N; i += 1000)
			memcpy(head + i, "\r\nX-Y: ", 7);
		memcpy(head + N - 4, "\r\n\r\n", 4);
		head[N] = '\0';
		const struct reply replies[] = { { head, N, CLOSE, 0 } };
		client_open(&c, replies);
		call(&c);
		assert_int_equal(c.end.failure, MODEL_NOT_STREAM);
		assert_non_null(strstr(c.message, "too large"));
		client_close(&c);
	}
	free(head);
}

/* The answer is over with message_stop, whatever the connection does. */
static void test_stream_kept_open(void **state)
{
	const struct reply replies[] = { { CHUNKED CHUNK("125", EVENTS), 0, HANG, 0 }, { GOOD, 0, KEEP, 0 } };
	struct client c;

	(void)state;
	/* one of a few is fast, where a busy machine has a moment for it */
	for (int64_t took = 900, tries = 0; took >= 900; tries++) {
		assert_true(tries < 5);
		if (tries)
			client_close(&c);
		client_open(&c, replies);
		took = -clock_mono_ms();
		call(&c);
		took += clock_mono_ms();
		assert_true(c.end.complete);
	}
	/* the next call does not wait for it either */
	call(&c);
	assert_true(c.end.complete);
	assert_int_equal(c.server.tally->connections, 2);
	idle(&c, 1200);
	assert_int_equal(c.ends, 2);
	client_close(&c);
}

static void cancel_at_block_start(struct client *c, const struct model_event *ev)
{
	if (ev->kind != MODEL_EV_BLOCK_START || c->starts > 1)
		return;
	c->model->ops->cancel(c->model);
	start(c);
}

static void test_cancel_and_start_from_the_sink(void **state)
{
	const struct reply replies[] = { { GOOD, 0, KEEP, 0 }, { GOOD, 0, KEEP, 0 } };
	struct client c;

	(void)state;
	client_open(&c, replies);
	c.on_event = cancel_at_block_start;
	start(&c);
	wait_end(&c, 1);
	idle(&c, 50);
	assert_int_equal(c.ends, 1);
	assert_true(c.end.complete);
	assert_int_equal(c.starts, 2);
	assert_int_equal(c.blocks, 1);
	assert_int_equal(c.stops, 1);
	client_close(&c);
}

static void start_at_end(struct client *c, const struct model_event *ev)
{
	if (ev->kind == MODEL_EV_END && c->ends < 3)
		start(c);
}

static void test_start_from_the_end_event(void **state)
{
	const struct reply replies[] = { { GOOD, 0, KEEP, 0 }, { ERROR_529, 0, KEEP, 0 }, { GOOD, 0, KEEP, 0 } };
	struct client c;

	(void)state;
	client_open(&c, replies);
	c.on_event = start_at_end;
	start(&c);
	wait_end(&c, 3);
	assert_true(c.end.complete);
	assert_int_equal(c.server.tally->requests, 3);
	client_close(&c);
}

static void cancel_when_alive(struct client *c, const struct model_event *ev)
{
	if (ev->kind == MODEL_EV_ALIVE)
		c->model->ops->cancel(c->model);
}

static void test_cancel_at_any_sign(void **state)
{
	const struct reply replies[] = { { GOOD, 0, KEEP, 0 } };
	struct client c;

	(void)state;
	client_open(&c, replies);
	c.on_event = cancel_when_alive;
	start(&c);
	idle(&c, 200);
	assert_int_equal(c.ends, 0);
	assert_int_equal(c.blocks, 0);
	/* a cancel without an attempt is fine, and so is an end in the middle of one */
	c.model->ops->cancel(c.model);
	c.on_event = NULL;
	start(&c);
	client_close(&c);
}

static void resume(void *ctx)
{
	struct client *c = ctx;

	c->paused = false;
	c->model->ops->pause(c->model, false);
}

static void test_pause(void **state)
{
	const struct reply replies[] = { { GOOD, 0, KEEP, 0 } };
	struct client c;

	(void)state;
	client_open(&c, replies);
	c.timer.fn = resume;
	c.timer.ctx = &c;
	c.paused = true;
	c.model->ops->pause(c.model, true);
	reactor_timer_set(c.reactor, &c.timer, clock_mono_ms() + 300);
	call(&c);
	assert_false(c.paused);
	assert_true(c.end.complete);
	client_close(&c);
}

static void test_auth_headers(void **state)
{
	const struct reply replies[] = { { GOOD, 0, CLOSE, 0 }, { GOOD, 0, CLOSE, 0 } };
	static const char *const extra[] = { "X-Team: a", "user-agent: mine", NULL };
	struct model_request req = { .model = "m", .max_tokens = 1, .without = WITHOUT_BETAS };
	struct error e = ERROR_INIT;
	struct client c;

	(void)state;
	client_open(&c, replies);
	c.model->ops->free(c.model);
	c.config.bearer = true;
	c.config.headers = extra;
	c.config.betas = "a-1,b-2";
	c.model = anthropic_wire.open(&c.config, c.reactor, sink, &c, &e);
	call(&c);
	assert_non_null(strstr(c.server.tally->last, "\r\nAuthorization: Bearer sk-canary\r\n"));
	assert_null(strcasestr(c.server.tally->last, "x-api-key"));
	assert_non_null(strstr(c.server.tally->last, "\r\nX-Team: a\r\n"));
	assert_non_null(strstr(c.server.tally->last, "\r\nuser-agent: mine\r\n"));
	assert_null(strstr(c.server.tally->last, "quern/test"));
	assert_non_null(strstr(c.server.tally->last, "\r\nanthropic-beta: a-1,b-2\r\n"));
	c.model->ops->free(c.model);
	/* without a key there is no such header at all, and without betas none of theirs */
	c.config.api_key = NULL;
	c.model = anthropic_wire.open(&c.config, c.reactor, sink, &c, &e);
	req.messages = &c.history;
	assert_int_equal(c.model->ops->start(c.model, &req, &e), 0);
	wait_end(&c, 2);
	assert_null(strcasestr(c.server.tally->last, "authorization"));
	assert_null(strcasestr(c.server.tally->last, "x-api-key"));
	assert_null(strcasestr(c.server.tally->last, "anthropic-beta"));
	client_close(&c);
}

static void test_bad_configuration(void **state)
{
	struct model_config config = { .base_url = "ftp://canary" };
	struct error e = ERROR_INIT;
	struct reactor *r = reactor_open(&e);

	(void)state;
	assert_null(anthropic_wire.open(&config, r, sink, NULL, &e));
	assert_null(strstr(e.msg, "canary"));
	config.base_url = "http://127.0.0.1:1";
	config.api_key = "sk-canary\nX-Injected: 1";
	assert_null(anthropic_wire.open(&config, r, sink, NULL, &e));
	assert_null(strstr(e.msg, "canary"));
	reactor_free(r);
}

static void test_proxy_password_is_not_shown(void **state)
{
	static const char *const proxies[] = { "junk://user:canary@127.0.0.1:1", "http://user:canary@proxy.invalid:1",
		                               "http://user:canary@127.0.0.1:1" };
	const struct reply replies[] = { { GOOD, 0, KEEP, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof proxies / sizeof proxies[0]; i++) {
		struct client c;
		client_open(&c, replies);
		setenv("http_proxy", proxies[i], 1);
		setenv("no_proxy", "", 1);
		call(&c);
		unsetenv("http_proxy");
		unsetenv("no_proxy");
		assert_true(c.end.failure == MODEL_NETWORK || c.end.failure == MODEL_REFUSED_REQUEST);
		assert_null(strstr(c.message, "canary"));
		client_close(&c);
	}
}

/* libcurl does not tell a socket that could not be made from a server that is not there. */
static void too_many_open_files_are_said(void **state)
{
	const struct http_trouble t = { .code = CURLE_COULDNT_CONNECT, .text = "Failed to connect", .code_text = "x" };
	struct http_done done = { 0 };
	struct rlimit old, few;

	(void)state;
	char *text = http_error_judge(&t, &done);
	assert_string_equal(text, "Failed to connect");
	free(text);
	int lowest = dup(0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	close(lowest);
	few = (struct rlimit){ (rlim_t)lowest, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	text = http_error_judge(&t, &done);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_non_null(strstr(text, "too many files are open"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many_open_files_are_said),
		cmocka_unit_test(test_chunk_length),
		cmocka_unit_test(test_stream_and_reuse),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_large_body),
		cmocka_unit_test(test_next_request_waits_for_the_connection),
		cmocka_unit_test(test_dead_reused_connection),
		cmocka_unit_test(test_closed_while_idle),
		cmocka_unit_test(test_no_answer_on_fresh_connection),
		cmocka_unit_test(test_unreachable),
		cmocka_unit_test(test_odd_answers),
		cmocka_unit_test(test_error_headers),
		cmocka_unit_test(test_huge_heads),
		cmocka_unit_test(test_stream_kept_open),
		cmocka_unit_test(test_cancel_and_start_from_the_sink),
		cmocka_unit_test(test_start_from_the_end_event),
		cmocka_unit_test(test_cancel_at_any_sign),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_auth_headers),
		cmocka_unit_test(test_bad_configuration),
		cmocka_unit_test(test_proxy_password_is_not_shown),
	};
	static const char *const proxies[] = { "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY" };

	for (size_t i = 0; i < sizeof proxies / sizeof proxies[0]; i++)
		unsetenv(proxies[i]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
