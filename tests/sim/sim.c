#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Something that will happen at a moment of the virtual clock. */
struct sim_event {
	struct sim_event *next;
	int64_t at;
	struct loop_event ev;
	char *texts[4];
	size_t ntexts;
	struct tool_result result;
	char *call; /* tool events: the id */
	bool safe;
};

static void problem(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	if (*s->problem)
		return;
	va_start(ap, fmt);
	vsnprintf(s->problem, sizeof s->problem, fmt, ap);
	va_end(ap);
}

/* xorshift64*: the same seed is the same world. */
static uint64_t draw(struct sim *s, uint64_t below)
{
	s->rng ^= s->rng >> 12;
	s->rng ^= s->rng << 25;
	s->rng ^= s->rng >> 27;
	return (s->rng * 2685821657736338717ull >> 11) % below;
}

static void event_free(struct sim_event *q)
{
	for (size_t i = 0; i < q->ntexts; i++)
		free(q->texts[i]);
	if (q->ev.kind == LOOP_EV_MODEL)
		block_unref(q->ev.model.block);
	tool_result_release(&q->result);
	free(q->call);
	free(q);
}

static struct sim_event *at(struct sim *s, int64_t when, enum loop_event_kind kind)
{
	struct sim_event *q = calloc(1, sizeof *q), **p = &s->queue;

	q->at = when;
	q->ev.kind = kind;
	while (*p && (*p)->at <= when)
		p = &(*p)->next;
	q->next = *p;
	*p = q;
	return q;
}

static const char *text(struct sim_event *q, const char *t)
{
	return q->texts[q->ntexts++] = strdup(t);
}

static struct sim_event *model_event(struct sim *s, int64_t when, enum model_event_kind kind)
{
	struct sim_event *q = at(s, when, LOOP_EV_MODEL);

	q->ev.model.kind = kind;
	q->ev.model.usage = (struct usage)USAGE_UNKNOWN;
	q->ev.model.end.usage = (struct usage)USAGE_UNKNOWN;
	q->ev.model.end.retry_after_ms = -1;
	q->ev.model.end.should_retry = -1;
	return q;
}

/* ---- answers ---- */

struct player {
	struct sim *s;
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
	struct sim_event *q = model_event(p->s, p->when, MODEL_EV_MESSAGE_START);
	char id[32];
	snprintf(id, sizeof id, "msg_%d", p->s->requests);
	q->ev.model.message_id = text(q, id);
	q->ev.model.model = text(q, "sim");
	q->ev.model.usage = (struct usage){ .input = p->usage.input, .output = 1 };
}

static void add_block(struct player *p, struct block *b)
{
	start_message(p);
	p->when += p->pace;
	struct sim_event *q = model_event(p->s, p->when, MODEL_EV_BLOCK_START);
	q->ev.model.index = p->index;
	q->ev.model.block_kind = b->kind;
	p->when += p->pace;
	q = model_event(p->s, p->when, MODEL_EV_BLOCK);
	q->ev.model.index = p->index++;
	q->ev.model.block = b;
	p->end.had_content = true;
}

static void part_open(struct player *p, char *rest)
{
	(void)rest;
	start_message(p);
	p->when += p->pace;
	model_event(p->s, p->when, MODEL_EV_BLOCK_START)->ev.model.index = p->index++;
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
	model_event(p->s, p->when, MODEL_EV_ALIVE)->ev.model.phase = PHASE_BYTES;
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

static void part_text(struct player *p, char *rest)
{
	add_block(p, block_new_text(rest, strlen(rest)));
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
	{ "text", part_text },       { "thinking", part_thinking }, { "unsigned", part_unsigned },
	{ "use", part_use },         { "bad", part_bad },           { "stop", part_stop },
	{ "usage", part_usage },     { "after", part_after },       { "cut", part_cut },
	{ "hang", part_hang },       { "http", part_http },         { "stream", part_stream },
	{ "refused", part_refused }, { "html", part_html },         { "retry-after", part_retry_after },
	{ "burst", part_burst },     { "ping", part_ping },         { "open", part_open },
	{ "server", part_server },
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
	problem(p->s, "script: unknown part '%s'", part);
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
	struct sim_event *q = model_event(p->s, p->when, MODEL_EV_STOP);
	q->ev.model.end.stop_reason = text(q, p->stop);
	q->ev.model.end.usage = p->usage;
	p->end.complete = !p->open;
}

static void end_answer(struct player *p)
{
	struct sim *s = p->s;

	stop_answer(p);
	if (p->started)
		s->paid += p->usage.input > 0 ? p->usage.input + (p->end.complete ? p->usage.output : 1) : 0;
	if (p->hang)
		return;
	struct sim_event *q = model_event(s, p->when + p->pace, MODEL_EV_END);
	struct model_end *end = &q->ev.model.end;
	*end = p->end;
	end->usage = (struct usage)USAGE_UNKNOWN;
	if (*p->error_type)
		end->error_type = text(q, p->error_type);
	if (*p->message)
		end->message = text(q, p->message);
	if (*p->stop)
		end->stop_reason = text(q, p->stop);
	if (p->started)
		end->usage = (struct usage){ .input = p->usage.input, .output = 1 };
	if (end->complete) {
		end->failure = MODEL_FINE;
		end->http_status = 200;
		end->usage = p->usage;
	}
}

static void play(struct sim *s, const char *line)
{
	char copy[2048], *at_part = copy;
	struct player p = { .s = s,
		            .when = s->clock + 10,
		            .pace = 5,
		            .usage = { 100, 10, 0, 0, 0, 0, 0, false },
		            .end = { .retry_after_ms = -1, .should_retry = -1 } };

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

#define CALM_ENDINGS 9

static void random_answer(struct sim *s, char *line, size_t max)
{
	static const char *const tools[] = { "SafeA", "SafeB", "UnsafeA", "UnsafeB", "Unknown", "Deny", "Fail" };
	static const char *const endings[] = {
		"",
		"",
		"",
		"",
		"",
		" | stop max_tokens",
		" | stop pause_turn",
		" | stop model_context_window_exceeded",
		" | stop odd",
		" | stop refusal", /* from here on they are not calm */
		" | cut",
		" | cut",
		" | open | cut",
		" | open | stop tool_use | cut",
		" | open | stop max_tokens | cut",
		" | open | stop refusal | cut",
		" | open | hang",
		" | stop tool_use | hang",
		" | hang",
		" | stream overloaded_error Overloaded",
		" | stream invalid_request_error no",
	};
	static const char *const failures[] = {
		"http 529 overloaded_error Overloaded",
		"http 500 api_error oops",
		"http 429 rate_limit_error slow | retry-after 2000",
		"http 400 invalid_request_error bad",
		"refused",
		"html",
		"http 400 invalid_request_error prompt is too long: 5 tokens > 4 maximum"
	};
	size_t n = 0;

	if (draw(s, 6) == 0) {
		snprintf(line, max, "%s", failures[draw(s, sizeof failures / sizeof *failures)]);
		return;
	}
	n += (size_t)snprintf(line, max, "usage %d %d", (int)draw(s, 300), (int)draw(s, 50));
	for (uint64_t i = draw(s, 6); i > 0; i--) {
		unsigned kind = (unsigned)draw(s, 8);
		if (draw(s, 4) == 0)
			n += (size_t)snprintf(line + n, max - n, draw(s, 3) ? " | after %u" : " | ping",
			                      (unsigned)draw(s, 4000));
		if (kind < 2)
			n += (size_t)snprintf(line + n, max - n, " | text word%u", (unsigned)draw(s, 100));
		else if (kind == 2)
			n += (size_t)snprintf(line + n, max - n, " | %s hm", draw(s, 2) ? "thinking" : "unsigned");
		else if (kind == 3)
			n += (size_t)snprintf(line + n, max - n, " | bad SafeA b%u {\"x", (unsigned)draw(s, 20));
		else
			n += (size_t)snprintf(line + n, max - n, " | use %s t%u {\"ms\":%u}", tools[draw(s, 7)],
			                      (unsigned)draw(s, 40), (unsigned)draw(s, 3000));
	}
	snprintf(line + n, max - n, "%s", endings[draw(s, s->calm ? CALM_ENDINGS : sizeof endings / sizeof *endings)]);
}

/* ---- checks ---- */

static void check_request(struct sim *s, const struct model_request *req)
{
	struct error e = ERROR_INIT;
	struct buf b = BUF_INIT(BUF_HUGE);
	const struct history *h = req->messages;

	if (s->ended)
		problem(s, "a request after the result");
	if (s->running_safe || s->running_unsafe)
		problem(s, "a request while tools run");
	if (history_check(h, false, &e))
		problem(s, "request %d: %s", s->requests, e.msg);
	if (!h->n || (h->v[h->n - 1]->role != ROLE_USER && !strstr(s->trace, "pause_turn")))
		problem(s, "request %d: the last message is not the user's", s->requests);
	if (s->cfg.max_requests && s->requests > s->cfg.max_requests)
		problem(s, "request %d over the limit", s->requests);
	if (s->cfg.token_budget && s->paid >= s->cfg.token_budget)
		problem(s, "request %d after the token budget was spent", s->requests);
	for (size_t i = 0; i < h->n; i++)
		for (size_t k = 0; k < h->v[i]->n; k++) {
			buf_addf(&b, "%d", h->v[i]->role);
			buf_add(&b, h->v[i]->blocks[k]->json, h->v[i]->blocks[k]->json_len);
		}
	if (!s->history_edited && s->last_request &&
	    (b.len < s->last_request_len || memcmp(b.data, s->last_request, s->last_request_len) != 0))
		problem(s, "request %d does not begin with the one before", s->requests);
	free(s->last_request);
	s->last_request_len = b.len;
	s->last_request = buf_take(&b, NULL);
	s->history_edited = false;
}

static void remember(char **list, size_t *n, size_t max, const char *id)
{
	if (*n < max)
		list[(*n)++] = strdup(id);
}

static bool has(char *const *list, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], id))
			return true;
	return false;
}

static void forget_all(char **list, size_t *n)
{
	while (*n)
		free(list[--*n]);
}

static void add_line(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add_line(struct sim *s, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	if (s->nlines < SIM_MAX_LINES)
		s->lines[s->nlines++] = strdup(line);
}

static void see_assistant(struct sim *s, const struct event_assistant *a)
{
	const struct block *b = a->block;

	if (a->error) {
		add_line(s, "synthetic %s %s", a->error, a->text);
		return;
	}
	if (b && b->kind == BLOCK_TOOL_USE)
		remember(s->open_calls, &s->nopen, 256, b->id);
	add_line(s, "assistant %s %s%s%s",
	         b ? (b->kind == BLOCK_TOOL_USE ? b->name
	              : b->text                 ? b->text
	                                        : "-")
	           : "(empty)",
	         b && b->id ? b->id : "", a->stop_reason ? " =" : "", a->stop_reason ? a->stop_reason : "");
}

static void see_user(struct sim *s, const struct event_user *u)
{
	const struct block *b = u->block;

	if (b->kind == BLOCK_TOOL_RESULT) {
		if (!has(s->open_calls, s->nopen, b->id))
			problem(s, "a result for '%s', which was not called", b->id);
		if (has(s->answered, s->nanswered, b->id))
			problem(s, "two results for '%s'", b->id);
		remember(s->answered, &s->nanswered, 256, b->id);
		add_line(s, "result %s %s%s", b->id, b->is_error ? "error " : "", b->text);
	} else {
		add_line(s, "user %s", b->text);
	}
}

/* What was withdrawn may be asked for again, but not if it has done something: then only the result may tell of it. */
static void see_tombstone(struct sim *s, const struct event_tombstone *t)
{
	if (s->accepted_runs < s->nran && s->withdrawn_runs < s->nran)
		problem(s, "the tools are not told that an answer is withdrawn");
	for (size_t i = s->accepted_runs; i < s->nran; i++)
		s->ran[i].withdrawn = true;
	s->accepted_runs = s->nran;
	forget_all(s->open_calls, &s->nopen);
	forget_all(s->answered, &s->nanswered);
	add_line(s, "tombstone %zu", t->n);
}

static void check_side_effects(struct sim *s, const struct event_result *r)
{
	for (size_t i = 0; i < s->nran; i++) {
		bool named = false;
		for (size_t k = 0; k < r->nside_effects; k++)
			named |= strstr(r->side_effects[k], s->ran[i].id) != NULL;
		if (s->ran[i].withdrawn && !s->ran[i].safe && !named)
			problem(s, "'%s' was run and withdrawn, and nobody is told", s->ran[i].id);
		if (s->ran[i].withdrawn && !s->ran[i].safe && r->reason != TERM_REFUSAL)
			problem(s, "'%s' was run and withdrawn, and the run ends %s", s->ran[i].id,
			        terminal_row(r->reason)->name);
	}
	for (size_t k = 0; k < r->nside_effects; k++)
		add_line(s, "side effect %s", r->side_effects[k]);
}

static void check_ended(struct sim *s, const struct event_result *r)
{
	struct error e = ERROR_INIT;
	const struct terminal_row *row = terminal_row(r->reason);

	s->results++;
	s->ended = true;
	if (!s->starved)
		check_side_effects(s, r);
	for (size_t i = 0; i < s->nopen && !s->starved; i++)
		if (!has(s->answered, s->nanswered, s->open_calls[i]))
			problem(s, "call '%s' has no result", s->open_calls[i]);
	if (s->running_safe || s->running_unsafe)
		problem(s, "the result is written while tools run");
	if (r->num_turns > s->cfg.max_turns)
		problem(s, "%d turns, %lld allowed", r->num_turns, (long long)s->cfg.max_turns);
	if ((r->exit_code == 0) != (r->reason == TERM_COMPLETED))
		problem(s, "exit code %d for %s", r->exit_code, row->name);
	if ((r->reason == TERM_COMPLETED) == (r->nerrors > 0) && !s->starved)
		problem(s, "%zu errors for %s", r->nerrors, row->name);
	if (s->history.n && !s->starved && history_check(&s->history, false, &e))
		problem(s, "at the end: %s", e.msg);
	add_line(s, "end %s %d turns=%d %.*s", row->name, r->exit_code, r->num_turns, (int)r->result_len,
	         r->result ? r->result : "");
	size_t n = strlen(s->trace);
	snprintf(s->trace + n, sizeof s->trace - n, "%s", row->name);
}

/* ---- deps ---- */

static int emit(void *ctx, struct event *ev, struct error *e)
{
	struct sim *s = ctx;
	size_t n = strlen(s->trace);

	if (s->stdout_gone_at && s->clock >= s->stdout_gone_at)
		return error_set(e, ERR_GONE, "stdout is gone");
	if (s->ended)
		problem(s, "an event after the result");
	snprintf(ev->uuid, sizeof ev->uuid, "uuid-%zu", s->nlines);
	switch (ev->kind) {
	case EVENT_INIT:
		if (s->nlines)
			problem(s, "init is not the first line");
		add_line(s, "init");
		break;
	case EVENT_ASSISTANT:
		see_assistant(s, &ev->u.assistant);
		break;
	case EVENT_USER:
		see_user(s, &ev->u.user);
		break;
	case EVENT_API_RETRY:
		add_line(s, "retry %d %lld %d %s", ev->u.retry.attempt, (long long)ev->u.retry.delay_ms,
		         ev->u.retry.error_status, ev->u.retry.category);
		break;
	case EVENT_PERMISSION_DENIED:
		add_line(s, "denied %s", ev->u.denied.tool_name);
		break;
	case EVENT_TRANSITION:
		snprintf(s->trace + n, sizeof s->trace - n, "%s ", ev->u.transition.reason);
		s->accepted_runs = s->nran;
		forget_all(s->open_calls, &s->nopen);
		forget_all(s->answered, &s->nanswered);
		break;
	case EVENT_TOMBSTONE:
		see_tombstone(s, &ev->u.tombstone);
		break;
	case EVENT_NOTICE:
		if (strcmp(ev->u.notice.code, "stream_salvaged") != 0)
			s->history_edited = true;
		add_line(s, "notice %s", ev->u.notice.code);
		break;
	case EVENT_CONTEXT:
		s->history_edited = true;
		add_line(s, "context %s", ev->u.context.step);
		break;
	case EVENT_STATUS:
		add_line(s, "status %s", ev->u.status.status ? ev->u.status.status : "null");
		break;
	case EVENT_COMPACT_BOUNDARY:
		s->history_edited = true;
		add_line(s, "compact %s", ev->u.compact.reactive ? "reactive" : "auto");
		break;
	case EVENT_MODEL_SWITCH:
		s->history_edited = true;
		add_line(s, "switch %s %s", ev->u.model_switch.from, ev->u.model_switch.to);
		break;
	case EVENT_RESULT:
		check_ended(s, &ev->u.result);
		break;
	case EVENT_STREAM:
		break;
	}
	return 0;
}

static int model_start(void *ctx, const struct model_request *req, struct error *e)
{
	struct sim *s = ctx;
	char line[2048];

	(void)e;
	if (s->running_model)
		problem(s, "two model calls at once");
	s->running_model = true;
	if (s->requests < SIM_MAX_LINES)
		s->max_tokens_sent[s->requests] = req->max_tokens;
	s->requests++;
	check_request(s, req);
	if (s->script) {
		const char *next = s->script[s->next_line];
		if (next)
			s->next_line++;
		play(s, next ? next : "text done");
	} else {
		random_answer(s, line, sizeof line);
		play(s, line);
	}
	return 0;
}

static void drop_events(struct sim *s, enum loop_event_kind kind)
{
	struct sim_event **p = &s->queue;

	while (*p) {
		struct sim_event *q = *p;
		if (q->ev.kind != kind) {
			p = &q->next;
			continue;
		}
		*p = q->next;
		event_free(q);
	}
}

static void model_cancel(void *ctx, enum model_kind kind)
{
	(void)kind;
	struct sim *s = ctx;

	s->running_model = false;
	drop_events(s, LOOP_EV_MODEL);
}

static bool begins(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static enum tool_class tool_class(void *ctx, const char *name)
{
	(void)ctx;
	return begins(name, "Unknown") ? TOOL_UNKNOWN : begins(name, "Safe") ? TOOL_READ_ONLY : TOOL_UNSAFE;
}

static void set_text(struct tool_result *r, const char *t, bool is_error)
{
	r->text = strdup(t);
	r->text_len = strlen(t);
	r->is_error = is_error;
}

static bool output_full(void *ctx)
{
	struct sim *s = ctx;

	return s->clock >= s->full_from && s->clock < s->full_until;
}

/* A call of a withdrawn answer may come again if it only looked at something. */
static void note_start(struct sim *s, const char *id, bool safe)
{
	for (size_t i = 0; i < s->nran; i++)
		if (!strcmp(s->ran[i].id, id) && !(s->ran[i].withdrawn && s->ran[i].safe))
			problem(s, "call '%s' was run twice", id);
	if (s->nran < sizeof s->ran / sizeof *s->ran)
		s->ran[s->nran++] = (struct sim_run){ .id = strdup(id), .safe = safe };
	if (s->running_model && s->cfg.calls_wait)
		problem(s, "'%s' starts before its answer is accepted", id);
	size_t n = strlen(s->starts);
	snprintf(s->starts + n, sizeof s->starts - n, "%s%s%s", n ? " " : "", id, s->running_model ? "*" : "");
	if (s->signalled)
		problem(s, "'%s' starts after a signal", id);
	if (s->clock >= s->cfg.deadline)
		problem(s, "'%s' starts after the deadline", id);
	if (output_full(s))
		problem(s, "'%s' starts while the output is full", id);
	if (s->cfg.max_tool_calls && s->tool_runs >= s->cfg.max_tool_calls)
		problem(s, "'%s' is one call too many", id);
}

static int tool_start(void *ctx, const struct block *use, struct tool_result *now, struct error *e)
{
	struct sim *s = ctx;
	const char *ms = strstr(use->input, "\"ms\":");
	bool safe = begins(use->name, "Safe");

	(void)e;
	if (begins(use->name, "Unknown")) {
		set_text(now, "Error: No such tool available", true);
		now->invalid = true;
		return 0;
	}
	if (begins(use->name, "Deny")) {
		set_text(now, "denied", true);
		now->denied = true;
		now->denied_reason = "mode";
		return 0;
	}
	note_start(s, use->id, safe);
	if (s->running_unsafe || (!safe && s->running_safe))
		problem(s, "'%s' overlaps another call", use->name);
	if ((size_t)s->running_safe >= s->cfg.tool_concurrency)
		problem(s, "more than %zu calls at once", s->cfg.tool_concurrency);
	*(safe ? &s->running_safe : &s->running_unsafe) += 1;
	s->tool_runs++;
	int64_t takes = begins(use->name, "Slow") ? 100000 : ms ? atoi(ms + 5) : 10;
	struct sim_event *q = at(s, s->clock + takes, LOOP_EV_TOOL);
	q->call = strdup(use->id);
	q->safe = safe;
	q->ev.tool_use_id = q->call;
	bool fails = begins(use->name, "Fail");
	set_text(&q->result, fails ? "Exit code 1" : "ok", fails);
	q->result.ran = true;
	q->result.cancels_siblings = fails;
	return 1;
}

static void tool_cancel(void *ctx, const char *tool_use_id, int64_t grace_ms)
{
	struct sim *s = ctx;

	for (struct sim_event *q = s->queue; q; q = q->next) {
		if (q->ev.kind != LOOP_EV_TOOL || strcmp(q->call, tool_use_id) != 0)
			continue;
		/* a cancelled child takes half of its grace to go */
		struct sim_event *copy = at(s, s->clock + grace_ms / 2, LOOP_EV_TOOL);
		copy->call = strdup(tool_use_id);
		copy->safe = q->safe;
		copy->ev.tool_use_id = copy->call;
		set_text(&copy->result, "[interrupted]", true);
		q->ev.kind = LOOP_EV_OUTPUT; /* what is left of the old event says nothing */
		return;
	}
	problem(s, "cancel of '%s', which does not run", tool_use_id);
}

static void answer_withdrawn(void *ctx)
{
	struct sim *s = ctx;

	s->withdrawn_runs = s->nran;
}

static void new_id(void *ctx, char out[UUID_LEN + 1])
{
	struct sim *s = ctx;

	snprintf(out, UUID_LEN + 1, "00000000-0000-4000-8000-%012u", ++s->ids);
}

static double random01(void *ctx)
{
	return (double)draw(ctx, 1000) / 1000.0;
}

static int64_t now(void *ctx)
{
	return ((struct sim *)ctx)->clock;
}

static void hand_out(struct sim *s, struct sim_event *q, struct loop_event *ev)
{
	*ev = q->ev;
	for (size_t i = 0; i < q->ntexts; i++)
		s->current[i] = q->texts[i];
	q->ntexts = 0;
	if (q->ev.kind == LOOP_EV_MODEL) {
		s->current_block = q->ev.model.block;
		q->ev.model.block = NULL;
		if (q->ev.model.kind == MODEL_EV_END)
			s->running_model = false;
	}
	s->signalled |= q->ev.kind == LOOP_EV_SIGNAL;
	if (q->ev.kind == LOOP_EV_TOOL) {
		*(q->safe ? &s->running_safe : &s->running_unsafe) -= 1;
		s->current[3] = q->call;
		q->call = NULL;
		s->current_result = q->result;
		q->result = (struct tool_result){ 0 };
		ev->result = &s->current_result;
		ev->tool_use_id = s->current[3];
	}
	event_free(q);
}

static void drop_current(struct sim *s)
{
	for (size_t i = 0; i < 4; i++) {
		free(s->current[i]);
		s->current[i] = NULL;
	}
	tool_result_release(&s->current_result);
	block_unref(s->current_block);
	s->current_block = NULL;
}

static int next_event(void *ctx, int64_t deadline, struct loop_event *ev, struct error *e)
{
	struct sim *s = ctx;

	(void)e;
	drop_current(s);
	*ev = (struct loop_event){ .kind = LOOP_EV_NONE };
	struct sim_event *q = s->queue;
	if (!q || (q->at > deadline && q->at > s->clock)) { /* what is due comes even if nobody would wait for it */
		if (deadline == CLOCK_NEVER) {
			problem(s, "a wait that nothing ends");
			ev->kind = LOOP_EV_BROKEN;
			return 0;
		}
		if (deadline > s->clock)
			s->clock = deadline;
		return 0;
	}
	s->queue = q->next;
	if (q->at > s->clock)
		s->clock = q->at;
	hand_out(s, q, ev);
	return 0;
}

/* ---- life ---- */

void sim_init(struct sim *s, const char *const *script)
{
	static const struct catalog_row row = { "sim", 200000, 64000, { 1000, 1250, 2000, 100, 5000 }, 0, { 0 }, 0 };

	memset(s, 0, sizeof *s);
	s->script = script;
	s->clock = 1000;
	s->rng = 88172645463325252ull;
	s->cfg = (struct loop_config){
		.model = "sim",
		.row = &row,
		.max_turns = 100,
		.started = 1000,
		.deadline = CLOCK_NEVER,
		.retry = { 10, 300000 },
		.watchdog = { 30000, 300000, 300000, 600000 },
		.tool_concurrency = 10,
	};
}

static void plan_signal(struct sim *s, int64_t when)
{
	if (when)
		at(s, when, LOOP_EV_SIGNAL)->ev.signo = 15;
}

void sim_run(struct sim *s, const char *task)
{
	struct loop_deps deps = {
		.ctx = s,
		.model_start = model_start,
		.model_cancel = model_cancel,
		.tool_class = tool_class,
		.tool_start = tool_start,
		.tool_cancel = tool_cancel,
		.answer_withdrawn = answer_withdrawn,
		.emit = emit,
		.output_full = output_full,
		.new_id = new_id,
		.random01 = random01,
		.now = now,
		.next_event = next_event,
	};

	if (s->stand_before)
		s->stand_before(&deps);
	if (s->seed)
		s->rng = s->seed * 0x9E3779B97F4A7C15ull + 1;
	plan_signal(s, s->signal_at);
	plan_signal(s, s->second_signal_at);
	if (s->full_until)
		at(s, s->full_until, LOOP_EV_OUTPUT);
	history_add_user_block(&s->history, block_new_text(task, strlen(task)));
	loop_run(&s->cfg, &deps, &s->history, &s->out);
	if (!s->out.broken && s->results != 1)
		problem(s, "%d results", s->results);
	if (s->running_model)
		problem(s, "a model call runs on");
}

void sim_release(struct sim *s)
{
	drop_current(s);
	while (s->queue) {
		struct sim_event *next = s->queue->next;
		event_free(s->queue);
		s->queue = next;
	}
	for (size_t i = 0; i < s->nlines; i++)
		free(s->lines[i]);
	forget_all(s->open_calls, &s->nopen);
	forget_all(s->answered, &s->nanswered);
	while (s->nran)
		free(s->ran[--s->nran].id);
	free(s->last_request);
	history_release(&s->history);
}

const char *sim_line(const struct sim *s, const char *prefix)
{
	for (size_t i = 0; i < s->nlines; i++)
		if (begins(s->lines[i], prefix))
			return s->lines[i];
	return NULL;
}

int sim_count(const struct sim *s, const char *prefix)
{
	int n = 0;

	for (size_t i = 0; i < s->nlines; i++)
		n += begins(s->lines[i], prefix);
	return n;
}
