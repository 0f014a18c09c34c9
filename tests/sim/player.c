/* An answer of the model, written as a line of parts, becomes events on the clock (the language: sim.h). */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

struct player {
	struct sim *s;
	enum model_kind call;
	const struct model_request *req;
	int64_t count; /* -1: none */
	int64_t when;
	int64_t pace; /* between two events of the stream */
	int index;
	bool started, any_use, hang, open;
	char stop[64];
	struct usage usage;
	struct model_end end;
	char error_type[64], message[256];
};

static void start_message(struct player *p)
{
	if (p->started)
		return;
	p->started = true;
	struct sim_event *q = sim_model_event(p->s, p->call, p->when, MODEL_EV_MESSAGE_START);
	char id[32];
	snprintf(id, sizeof id, "msg_%d", p->s->requests);
	q->ev.model.message_id = sim_text(q, id);
	q->ev.model.model = sim_text(q, p->req->model);
	q->ev.model.usage = (struct usage){ .input = p->usage.input, .output = p->usage.output < 0 ? -1 : 1 };
}

static void add_block(struct player *p, struct block *b)
{
	start_message(p);
	p->when += p->pace;
	struct sim_event *q = sim_model_event(p->s, p->call, p->when, MODEL_EV_BLOCK_START);
	q->ev.model.index = p->index;
	q->ev.model.block_kind = b->kind;
	p->when += p->pace;
	q = sim_model_event(p->s, p->call, p->when, MODEL_EV_BLOCK);
	q->ev.model.index = p->index++;
	q->ev.model.block = b;
	p->end.had_content = true;
}

static void part_open(struct player *p, char *rest)
{
	(void)rest;
	start_message(p);
	p->when += p->pace;
	sim_model_event(p->s, p->call, p->when, MODEL_EV_BLOCK_START)->ev.model.index = p->index++;
	p->end.had_content = true;
	p->open = true;
}

static void part_burst(struct player *p, char *rest)
{
	(void)rest;
	p->pace = 0;
}

static void part_ping(struct player *p, char *rest)
{
	(void)rest;
	p->when += p->pace;
	sim_model_event(p->s, p->call, p->when, MODEL_EV_ALIVE)->ev.model.phase = PHASE_BYTES;
}

/* A call of a tool that runs at the server. */
static void part_server(struct player *p, char *rest)
{
	char json[256];
	struct error e = ERROR_INIT;

	snprintf(json, sizeof json, "{\"type\":\"server_tool_use\",\"id\":\"%s\",\"name\":\"web_search\",\"input\":{}}",
	         rest);
	add_block(p, block_from_json(json, strlen(json), &e));
}

/* And the results of all of the last answer that have none. */
static void part_served(struct player *p, char *rest)
{
	char ids[8][64], json[256];
	struct error e = ERROR_INIT;
	const struct history *h = p->req->messages;
	size_t n = h->n > 1 ? sim_open_server_calls(h, h->n - 1 - h->n % 2, ids, 8) : 0;

	(void)rest;
	for (size_t i = 0; i < n; i++) {
		snprintf(json, sizeof json,
		         "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"%s\",\"content\":[]}", ids[i]);
		add_block(p, block_from_json(json, strlen(json), &e));
	}
}

static void part_text(struct player *p, char *rest)
{
	add_block(p, block_new_text(rest, strlen(rest)));
}

static void part_big(struct player *p, char *rest)
{
	size_t n = strtoul(rest, NULL, 10);
	char *text = malloc(n + 1);

	memset(text, 'x', n);
	add_block(p, block_new_text(text, n));
	free(text);
}

static void part_redacted(struct player *p, char *rest)
{
	static const char json[] = "{\"type\":\"redacted_thinking\",\"data\":\"c2VjcmV0\"}";
	struct error e = ERROR_INIT;

	(void)rest;
	add_block(p, block_from_json(json, sizeof json - 1, &e));
}

static void part_count(struct player *p, char *rest)
{
	p->count = atoll(rest);
}

static void thinking(struct player *p, const char *words, const char *signature)
{
	char json[512];
	struct error e = ERROR_INIT;

	snprintf(json, sizeof json, "{\"type\":\"thinking\",\"thinking\":\"%s\",\"signature\":\"%s\"}", words,
	         signature);
	add_block(p, block_from_json(json, strlen(json), &e));
}

static void part_thinking(struct player *p, char *rest)
{
	thinking(p, rest, "sig");
}

static void part_unsigned(struct player *p, char *rest)
{
	thinking(p, rest, "");
}

static void part_use(struct player *p, char *rest)
{
	char name[64] = "", id[64] = "", input[256] = "{}";

	sscanf(rest, "%63s %63s %255[^\n]", name, id, input);
	p->any_use = true;
	add_block(p, block_new_tool_use(id, name, input, strlen(input)));
}

static void part_bad(struct player *p, char *rest)
{
	char name[64] = "", id[64] = "", raw[256] = "";

	sscanf(rest, "%63s %63s %255[^\n]", name, id, raw);
	struct block *b = block_new_tool_use(id, name, "{}", 2);
	b->bad_input = strdup(raw);
	p->any_use = true;
	add_block(p, b);
}

static void part_stop(struct player *p, char *rest)
{
	snprintf(p->stop, sizeof p->stop, "%s", rest);
}

static void part_usage(struct player *p, char *rest)
{
	long long in = 0, out = 0;

	sscanf(rest, "%lld %lld", &in, &out);
	p->usage.input = in;
	p->usage.output = out;
}

static void part_after(struct player *p, char *rest)
{
	p->when += atoi(rest);
}

static void part_cut(struct player *p, char *rest)
{
	(void)rest;
	start_message(p);
	p->end.failure = MODEL_STREAM_CUT;
	snprintf(p->message, sizeof p->message, "the stream was cut");
}

static void part_hang(struct player *p, char *rest)
{
	(void)rest;
	p->hang = true;
}

static void part_http(struct player *p, char *rest)
{
	sscanf(rest, "%d %63s %255[^\n]", &p->end.http_status, p->error_type, p->message);
	p->end.failure = MODEL_HTTP;
}

static void part_stream(struct player *p, char *rest)
{
	start_message(p);
	sscanf(rest, "%63s %255[^\n]", p->error_type, p->message);
	p->end.failure = MODEL_STREAM_ERROR;
	p->end.http_status = 200;
}

static void part_refused(struct player *p, char *rest)
{
	(void)rest;
	p->end.failure = MODEL_NETWORK;
	p->end.net = NET_CONNECT_REFUSED;
	snprintf(p->message, sizeof p->message, "connection refused");
}

static void part_net(struct player *p, char *rest)
{
	static const struct {
		const char *name;
		enum model_net net;
	} nets[] = {
		{ "unknown", NET_UNKNOWN_HOST }, { "dead", NET_DEAD_REUSED }, { "tls", NET_TLS }, { "other", NET_OTHER }
	};

	p->end.failure = MODEL_NETWORK;
	for (size_t i = 0; i < LENGTH(nets); i++)
		if (!strcmp(nets[i].name, rest))
			p->end.net = nets[i].net;
	snprintf(p->message, sizeof p->message, "network: %s", rest);
}

static void part_mismatch(struct player *p, char *rest)
{
	(void)rest;
	p->end.failure = MODEL_MISMATCH;
	snprintf(p->message, sizeof p->message, "the tape does not hold that");
}

static void part_html(struct player *p, char *rest)
{
	(void)rest;
	p->end.failure = MODEL_NOT_STREAM;
	p->end.http_status = 200;
	snprintf(p->message, sizeof p->message, "no event stream");
}

static void part_retry_after(struct player *p, char *rest)
{
	p->end.retry_after_ms = atoll(rest);
}

static const struct {
	const char *name;
	void (*fn)(struct player *p, char *rest);
} parts[] = {
	{ "text", part_text },         { "thinking", part_thinking }, { "unsigned", part_unsigned },
	{ "use", part_use },           { "bad", part_bad },           { "stop", part_stop },
	{ "usage", part_usage },       { "after", part_after },       { "cut", part_cut },
	{ "hang", part_hang },         { "http", part_http },         { "stream", part_stream },
	{ "refused", part_refused },   { "html", part_html },         { "retry-after", part_retry_after },
	{ "burst", part_burst },       { "ping", part_ping },         { "open", part_open },
	{ "server", part_server },     { "served", part_served },     { "big", part_big },
	{ "redacted", part_redacted }, { "count", part_count },       { "net", part_net },
	{ "mismatch", part_mismatch },
};

static void play_part(struct player *p, char *part)
{
	size_t n = strcspn(part, " ");
	char *rest = part + n + (part[n] == ' ');

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strlen(parts[i].name) == n && !strncmp(parts[i].name, part, n)) {
			parts[i].fn(p, rest);
			return;
		}
	sim_problem(p->s, "script: unknown part '%s'", part);
}

/* The message_delta that tells how the answer ended, if it came that far. */
static void stop_answer(struct player *p)
{
	bool fine = p->end.failure == MODEL_FINE && !p->hang;

	if (!*p->stop && fine)
		snprintf(p->stop, sizeof p->stop, "%s", p->any_use ? "tool_use" : "end_turn");
	if (!*p->stop)
		return;
	start_message(p);
	p->when += p->pace;
	struct sim_event *q = sim_model_event(p->s, p->call, p->when, MODEL_EV_STOP);
	q->ev.model.end.stop_reason = sim_text(q, p->stop);
	q->ev.model.end.usage = p->usage;
	p->end.complete = !p->open;
}

static void end_answer(struct player *p)
{
	struct sim *s = p->s;

	if (p->count < 0)
		stop_answer(p);
	if (p->hang)
		return;
	struct sim_event *q = sim_model_event(s, p->call, p->when + p->pace, MODEL_EV_END);
	struct model_end *end = &q->ev.model.end;
	*end = p->end;
	end->usage = (struct usage)USAGE_UNKNOWN;
	if (*p->error_type)
		end->error_type = sim_text(q, p->error_type);
	if (*p->message)
		end->message = sim_text(q, p->message);
	if (*p->stop)
		end->stop_reason = sim_text(q, p->stop);
	if (p->started)
		end->usage = (struct usage){ .input = p->usage.input, .output = p->usage.output < 0 ? -1 : 1 };
	if (p->count >= 0) {
		end->complete = true;
		end->http_status = 200;
		end->usage.input = p->count;
	} else if (end->complete) {
		end->failure = MODEL_FINE;
		end->http_status = 200;
		end->usage = p->usage;
	}
}

void sim_play(struct sim *s, const struct model_request *req, const char *line)
{
	char copy[8192], *at_part = copy;
	struct player p = { .s = s,
		            .call = req->kind,
		            .req = req,
		            .count = -1,
		            .when = s->clock + 10,
		            .pace = 5,
		            .usage = { 100, 10, 0, 0, 0, 0, 0, false },
		            .end = { .retry_after_ms = -1, .should_retry = -1 } };

	if (s->window)
		p.usage.input = sim_count_tokens(s, req);
	snprintf(copy, sizeof copy, "%s", line);
	while (at_part) {
		char *sep = strstr(at_part, " | ");
		if (sep)
			*sep = '\0';
		play_part(&p, at_part);
		at_part = sep ? sep + 3 : NULL;
	}
	end_answer(&p);
}
