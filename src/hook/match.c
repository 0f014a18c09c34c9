/* Whose business a call is: exact names, lists of them, or an expression. */
#include <string.h>

#include "base/log.h"
#include "hook/internal.h"

#define MATCH_LIMIT 100000
#define DEPTH_LIMIT 10000
#define HEAP_KIB    1024

/* As near to JavaScript as the options bring it. */
#define OPTIONS                                                                                                        \
	(PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS |     \
	 PCRE2_NEVER_BACKSLASH_C)

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_- ,|";

static int regex_load(struct regex *x, struct error *e)
{
	if (x->loaded)
		return 0;
	if (pcre2_api_load(&x->api, e))
		return -1;
	x->loaded = true;
	x->limits = x->api.match_context_create(NULL);
	x->data = x->api.match_data_create(1, NULL);
	if (!x->limits || !x->data)
		return error_nomem(e);
	x->api.set_match_limit(x->limits, MATCH_LIMIT);
	x->api.set_depth_limit(x->limits, DEPTH_LIMIT);
	x->api.set_heap_limit(x->limits, HEAP_KIB);
	return 0;
}

void regex_release(struct regex *x)
{
	if (x->data)
		x->api.match_data_free(x->data);
	if (x->limits)
		x->api.match_context_free(x->limits);
}

int matcher_init(struct matcher *m, const struct job_hook *hook, struct regex *regex, struct error *e)
{
	struct error why = ERROR_INIT;
	int code = 0;
	PCRE2_SIZE at = 0;

	*m = (struct matcher){ .text = hook->matcher };
	if (!m->text || !*m->text || !strcmp(m->text, "*"))
		return 0;
	m->kind = MATCH_LIST;
	if (!m->text[strspn(m->text, plain)])
		return 0;
	m->kind = MATCH_NOTHING;
	if (regex_load(regex, &why)) {
		if (why.code == ERR_NOMEM)
			return error_nomem(e);
		*e = why;
		return error_prefix(e, "%s: the matcher '%.80s'", hook->source, m->text);
	}
	m->code = regex->api.compile((PCRE2_SPTR)m->text, strlen(m->text), OPTIONS, &code, &at, NULL);
	if (m->code) {
		m->kind = MATCH_REGEX;
		return 0;
	}
	unsigned char text[200] = "";
	regex->api.get_error_message(code, text, sizeof text);
	log_warn("%s: the matcher '%.200s' matches nothing: %s at byte %zu", hook->source, m->text, (char *)text, at);
	return 0;
}

void matcher_release(struct matcher *m, struct regex *regex)
{
	if (m->code)
		regex->api.code_free(m->code);
}

/* One of the names between | and , with the blanks around it taken off. */
static bool in_list(const char *list, const char *value)
{
	size_t len = strlen(value);

	for (const char *at = list;; at++) {
		at += strspn(at, " ");
		size_t n = strcspn(at, "|,"), end = n;
		while (end > 0 && at[end - 1] == ' ')
			end--;
		if (end == len && !memcmp(at, value, len))
			return true;
		at += n;
		if (!*at)
			return false;
	}
}

bool matcher_meets(const struct matcher *m, const struct regex *regex, const char *value)
{
	if (!value || m->kind == MATCH_ALL)
		return true;
	if (m->kind == MATCH_LIST)
		return in_list(m->text, value);
	/* One that runs into a limit may be a guard: better asked once too often. */
	return m->kind == MATCH_REGEX && regex->api.match(m->code, (PCRE2_SPTR)value, strlen(value), 0, 0, regex->data,
	                                                  regex->limits) != PCRE2_ERROR_NOMATCH;
}

const char *hook_value(const struct hook_call *call)
{
	switch (call->kind) {
	case HOOK_PRE_TOOL_USE:
	case HOOK_PERMISSION_REQUEST:
	case HOOK_POST_TOOL_USE:
	case HOOK_POST_TOOL_USE_FAILURE:
		return call->tool_name;
	case HOOK_SESSION_START:
		return call->source;
	case HOOK_SESSION_END:
		return call->reason;
	case HOOK_PRE_COMPACT:
	case HOOK_POST_COMPACT:
		return call->trigger;
	case HOOK_STOP_FAILURE:
		return call->category;
	default:
		return NULL;
	}
}
