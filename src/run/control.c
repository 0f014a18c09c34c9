/*
 * Control requests of whoever writes to stdin (the Agent SDKs do): each is answered at once, whatever the run is doing.
 * What is not listed here is refused with the words that those programs know.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/log.h"
#include "base/utf8.h"
#include "run/session.h"
#include "run/world.h"

/* A request while it is answered. */
struct request {
	struct session *s;
	const struct json *doc;
	int body;          /* its "request" */
	struct buf answer; /* a JSON object; nothing = none */
	struct json_out out;
	struct error e; /* why it failed, as the other side is told */
	bool interrupts;
};

static int refuse(struct request *r, const char *why)
{
	return error_set(&r->e, ERR_INPUT, "%s", why);
}

/* ---- initialize ---- */

/* What a session may bring along and we have no use for: not to be left out in silence. */
static const char *const unsupported[] = { "hooks",      "jsonSchema",  "sdkMcpServers",
	                                   "mcpServers", "agents",      "skills",
	                                   "plugins",    "toolAliases", "excludeDynamicSections" };

static bool asks_for(const struct json *doc, int tok)
{
	bool on = true;

	if (json_absent(doc, tok) || (json_type(doc, tok) == JSON_BOOL && json_bool(doc, tok, &on) && !on))
		return false;
	return (json_type(doc, tok) != JSON_ARRAY && json_type(doc, tok) != JSON_OBJECT) || json_size(doc, tok) > 0;
}

static void tell_unsupported(struct request *r)
{
	struct buf names = BUF_INIT(1000);

	for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
		if (asks_for(r->doc, json_get(r->doc, r->body, unsupported[i])))
			buf_addf(&names, "%s%s", names.len ? ", " : "", unsupported[i]);
	if (names.len) {
		struct buf text = BUF_INIT(2000);
		buf_addf(&text, "initialize: %s: not supported, without effect", buf_str(&names));
		session_notice(r->s, "control_unsupported", buf_str(&text));
		buf_release(&text);
	}
	buf_release(&names);
}

/* A text, or texts that stand one under the other. NULL without *failed: it says nothing of it. */
static const char *read_texts(struct request *r, const char *key, bool *failed)
{
	int tok = json_get(r->doc, r->body, key);
	struct buf text = BUF_INIT(BUF_HUGE);
	int rc = 0;

	if (json_absent(r->doc, tok))
		return NULL;
	if (json_type(r->doc, tok) != JSON_ARRAY)
		rc = json_str(r->doc, tok, &text);
	for (int at = rc ? -1 : json_first(r->doc, tok); at >= 0; at = json_next(r->doc, tok, at)) {
		if (text.len)
			buf_adds(&text, "\n\n");
		rc |= json_str(r->doc, at, &text);
	}
	const char *kept = rc || text.failed || strlen(buf_str(&text)) != text.len
	                           ? NULL
	                           : arena_strndup(&r->s->w->arena, buf_str(&text), text.len);
	buf_release(&text);
	*failed = *failed || !kept;
	return kept;
}

/* What the session's requests change is not the job itself, which others hold too. */
static struct job *own_job(struct session *s)
{
	if (s->w->job != &s->job) {
		s->job = *s->w->job;
		s->w->job = &s->job;
	}
	return &s->job;
}

static int set_prompts(struct request *r)
{
	bool failed = false;
	const char *system = read_texts(r, "systemPrompt", &failed);
	const char *append = read_texts(r, "appendSystemPrompt", &failed);

	if (failed)
		return refuse(r, "systemPrompt and appendSystemPrompt must be texts");
	if (!system && !append)
		return 0;
	if (r->s->loop) {
		session_notice(r->s, "control_unsupported",
		               "initialize: systemPrompt and appendSystemPrompt come behind the first message, without "
		               "effect");
		return 0;
	}
	struct job *job = own_job(r->s);
	if (system) {
		job->environment = job->environment && job->system; /* as with --system-prompt */
		job->system = system;
	}
	if (append)
		job->system_append = append;
	return 0;
}

static const char *const nothing[] = { NULL };

static void key_list(struct json_out *o, const char *key, const char *const *v)
{
	jo_key(o, key);
	jo_array(o);
	for (; *v; v++)
		jo_str(o, *v);
	jo_end(o);
}

static int initialize(struct request *r)
{
	static const char *const styles[] = { "default", NULL };

	if (r->s->initialized)
		return refuse(r, "the session is initialized already");
	if (set_prompts(r))
		return -1;
	r->s->initialized = true;
	tell_unsupported(r);
	key_list(&r->out, "commands", nothing);
	key_list(&r->out, "agents", nothing);
	key_list(&r->out, "models", nothing);
	jo_key(&r->out, "account");
	jo_object(&r->out);
	jo_end(&r->out);
	jo_kstr(&r->out, "output_style", "default");
	key_list(&r->out, "available_output_styles", styles);
	return 0;
}

/* ---- the others ---- */

static void key_uuids(struct json_out *o, const char *key, const struct input_message *m)
{
	jo_key(o, key);
	jo_array(o);
	for (; m; m = m->next)
		if (m->uuid[0])
			jo_str(o, m->uuid);
	jo_end(o);
}

static int interrupt(struct request *r)
{
	struct input *input = r->s->input;
	bool cancel = false;

	json_bool(r->doc, json_get(r->doc, r->body, "cancel_queued"), &cancel);
	if (cancel) {
		key_uuids(&r->out, "cancelled", input_waiting(input));
		input_drop_waiting(input);
	}
	key_uuids(&r->out, "still_queued", input_waiting(input));
	r->interrupts = r->s->working;
	return 0;
}

static int set_model(struct request *r)
{
	struct world *w = r->s->w;
	int tok = json_get(r->doc, r->body, "model");
	struct error why = ERROR_INIT;
	char *name = json_strdup(r->doc, tok, NULL);

	if (json_absent(r->doc, tok) || (name && !strcmp(name, w->job->model))) {
		free(name);
		return 0;
	}
	const char *kept = name && *name && !strpbrk(name, " \t\r\n") ? arena_strdup(&w->arena, name) : NULL;
	free(name);
	if (!kept)
		return refuse(r, "model must be a name");
	if (r->s->loop)
		return refuse(r, "the model cannot change once a message was worked on");
	struct job *job = own_job(r->s);
	const char *was = job->model;
	job->model = kept;
	if (world_models(w, &why)) {
		job->model = was;
		(void)world_models(w, NULL);
		return refuse(r, why.msg);
	}
	return 0;
}

static int set_permission_mode(struct request *r)
{
	enum permission_mode mode, now = permissions_mode(r->s->w->permissions);
	char *name = json_strdup(r->doc, json_get(r->doc, r->body, "mode"), NULL);
	bool known = name && permission_mode_find(name, &mode);

	free(name);
	if (!known)
		return refuse(r, "mode: there is no such permission mode");
	if (mode != now)
		return refuse(r, "the permission mode cannot change: the tools on offer follow from it "
		                 "(--permission-mode)");
	jo_kstr(&r->out, "mode", permission_mode_name(mode));
	return 0;
}

static int mcp_status(struct request *r)
{
	key_list(&r->out, "mcpServers", nothing);
	return 0;
}

static const struct {
	const char *subtype;
	int (*answer)(struct request *r);
} requests[] = {
	{ "initialize", initialize }, { "interrupt", interrupt },
	{ "set_model", set_model },   { "set_permission_mode", set_permission_mode },
	{ "mcp_status", mcp_status },
};

static int answer(struct request *r)
{
	int subtype = json_get(r->doc, r->body, "subtype");

	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
		if (json_eq(r->doc, subtype, requests[i].subtype))
			return requests[i].answer(r);
	struct buf name = BUF_INIT(300);
	json_str(r->doc, subtype, &name);
	error_set(&r->e, ERR_INPUT, "Unsupported control request subtype: %s", buf_str(&name));
	buf_release(&name);
	return -1;
}

void world_answer_control(struct world *w, const struct json *doc)
{
	struct request r = { .s = w->session, .doc = doc, .answer = BUF_INIT(BUF_HUGE), .e = ERROR_INIT };
	struct event ev = { .kind = EVENT_CONTROL_RESPONSE };
	char *id = json_strdup(doc, json_get(doc, json_root(doc), "request_id"), NULL);

	r.body = json_get(doc, json_root(doc), "request");
	json_out_init(&r.out, &r.answer);
	jo_object(&r.out);
	int rc = answer(&r);
	jo_end(&r.out);
	if (!rc && r.answer.failed)
		rc = error_nomem(&r.e);
	ev.u.control = (struct event_control){
		.request_id = id,
		.error = rc ? r.e.msg : NULL,
		.response = rc ? NULL : buf_str(&r.answer),
	};
	if (id)
		(void)recorder_emit(w->recorder, &ev, NULL);
	if (r.interrupts) /* behind the answer, and so before the result */
		world_session_interrupt(w);
	free(id);
	buf_release(&r.answer);
}
