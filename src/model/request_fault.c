/*
 * What a refused request was about. Servers promise no wording, so each row asks for the shortest stable
 * pieces of the texts seen, compared without case, quotes and backticks.
 */
#include <ctype.h>
#include <string.h>

#include "message/message.h"
#include "model/retry.h"

#define TEXT_MAX 4096

struct fault_row {
	const char *a, *b; /* both must be in the text; b may be NULL */
	enum request_fault fault;
	const char *tokens, *limit; /* where the numbers stand: '#' is the number; NULL = not told */
};

/* The first row that fits decides: the special texts stand before those that mention them in passing. */
static const struct fault_row rows[] = {
	{ "image_dimensions_too_large", NULL, FAULT_IMAGE, NULL, NULL },
	{ "image exceeds", NULL, FAULT_IMAGE, NULL, NULL },
	{ "image dimensions exceed", NULL, FAULT_IMAGE, NULL, NULL },
	{ "could not process image", NULL, FAULT_IMAGE, NULL, NULL },
	{ "image does not match", NULL, FAULT_IMAGE, NULL, NULL },

	/* Stands before the beta row: the text about bound thinking names the beta header too. */
	{ "invalid signature in thinking block", NULL, FAULT_THINKING_BLOCKS, NULL, NULL },
	{ "bound to a different conversation", NULL, FAULT_THINKING_BLOCKS, NULL, NULL },
	{ "latest assistant message cannot be modified", NULL, FAULT_THINKING_BLOCKS, NULL, NULL },
	{ "thinking.type", "is not supported", FAULT_THINKING, NULL, NULL },
	{ "adaptive thinking is not supported", NULL, FAULT_THINKING, NULL, NULL },
	{ "to turn thinking off on this model", NULL, FAULT_THINKING, NULL, NULL },
	{ "expected thinking or redacted_thinking", NULL, FAULT_THINKING, NULL, NULL },

	{ "unexpected value", "anthropic-beta", FAULT_BETA, NULL, NULL },
	{ "blocks with cache_control", NULL, FAULT_CACHE, NULL, NULL },
	{ "cache_control cannot be set", NULL, FAULT_CACHE, NULL, NULL },
	{ "effort", "not support", FAULT_EFFORT, NULL, NULL },

	{ "input length", "exceed context limit", FAULT_INPUT_PLUS_MAX, "context limit: #", "> #" },
	{ "maximum allowed number of output tokens", NULL, FAULT_MAX_TOKENS, "max_tokens: #", "> #" },
	{ "supports at most", "completion tokens", FAULT_MAX_TOKENS, NULL, "at most #" },
	{ "valid range of max_tokens", NULL, FAULT_MAX_TOKENS, NULL, ", #" },

	{ "maximum context length", "prompt contains at least", FAULT_INPUT_PLUS_MAX, "contains at least #",
	  "length is #" },
	{ "maximum context length", "of text input", FAULT_INPUT_PLUS_MAX, "(# of text input", "length is #" },
	{ "maximum context length", "in the messages", FAULT_INPUT_PLUS_MAX, "(# in the messages", "length is #" },
	{ "maximum context length", "resulted in", FAULT_PROMPT_TOO_LONG, "resulted in #", "length is #" },
	{ "maximum context length", NULL, FAULT_PROMPT_TOO_LONG, NULL, "length is #" },
	{ "prompt is too long", NULL, FAULT_PROMPT_TOO_LONG, "too long: #", "> #" },
	{ "available context size", NULL, FAULT_PROMPT_TOO_LONG, "request (# tokens", "context size (#" },
	{ "prompt_too_long", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "prompt too long", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "input is too long", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "context_length_exceeded", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "contextwindowexceeded", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "model_context_window_exceeded", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "exceed_context_size", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "exceeds the context window", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "exceeds the context length", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "context size has been exceeded", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "context the overflows", NULL, FAULT_PROMPT_TOO_LONG, "first # tokens", "context length of only #" },
	{ "greater than the context length", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "longer than the models context length", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "reduce the length of the messages", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "maximum prompt length is", NULL, FAULT_PROMPT_TOO_LONG, NULL, "prompt length is #" },
	{ "input token count", "exceeds the maximum", FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "context window exceeds limit", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "exceeded model token limit", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },
	{ "too large for model with", NULL, FAULT_PROMPT_TOO_LONG, NULL, NULL },

	{ "not support assistant message prefill", NULL, FAULT_PREFILL, NULL, NULL },
	{ "tool_choice", "are not supported", FAULT_EXTRA, NULL, NULL },
	{ "temperature", "may only be set", FAULT_EXTRA, NULL, NULL },
	{ "temperature", "not support", FAULT_EXTRA, NULL, NULL },
	{ "temperature", "cannot both be", FAULT_EXTRA, NULL, NULL },
	{ "top_p", "not support", FAULT_EXTRA, NULL, NULL },
	{ "top_k", "not support", FAULT_EXTRA, NULL, NULL },
};

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* Lower case, no quotes or backticks, single spaces: what the rows are written for. */
static void add_plain(char *out, size_t *len, const char *s)
{
	for (; s && *s && *len < TEXT_MAX - 1; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '`' || c == '"' || c == '\'' || c == '\\')
			continue;
		bool space = c <= ' ';
		if (space && (*len == 0 || out[*len - 1] == ' '))
			continue;
		out[(*len)++] = space ? ' ' : (char)(c < 0x80 ? tolower(c) : c);
	}
	out[*len] = '\0';
}

/* Some write 12,345. */
static bool is_group(const char *p)
{
	size_t n = 0;

	while (n < 4 && isdigit((unsigned char)p[n]))
		n++;
	return n == 3;
}

static int64_t read_number(const char **p)
{
	int64_t v = 0;

	for (;; ++*p) {
		if (**p == ',' && is_group(*p + 1))
			continue;
		if (!isdigit((unsigned char)**p))
			return v;
		v = v > TOKENS_MOST / 10 - 1 ? TOKENS_MOST : v * 10 + (**p - '0');
	}
}

/* The number that stands at '#' in the first place where `where` fits the text; -1 if there is none. */
static int64_t number_at(const char *text, const char *where)
{
	if (!where)
		return -1;
	const char *hash = strchr(where, '#');
	char before[64];
	size_t n = (size_t)(hash - where);

	memcpy(before, where, n);
	before[n] = '\0';
	for (const char *p = strstr(text, before); p; p = strstr(p + 1, before)) {
		const char *q = p + n;
		if (!isdigit((unsigned char)*q))
			continue;
		int64_t v = read_number(&q);
		if (!strncmp(q, hash + 1, strlen(hash + 1))) /* NOLINT(bugprone-not-null-terminated-result) */
			return v;
	}
	return -1;
}

static bool path_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* Nothing, rather than a part, if it is too long. */
static void set_name(struct request_fault_info *info, const char *name, size_t n)
{
	if (n < sizeof info->name) {
		memcpy(info->name, name, n);
		info->name[n] = '\0';
	}
}

/* "NAME: Extra inputs are not permitted": which repair leaves NAME out? */
static enum request_fault unknown_field(const char *text, struct request_fault_info *info)
{
	static const struct {
		const char *head;
		enum request_fault fault;
	} heads[] = {
		{ "thinking", FAULT_THINKING },
		{ "output_config.effort", FAULT_EFFORT },
		{ "effort", FAULT_EFFORT },
		{ "reasoning", FAULT_EFFORT },
		{ "betas", FAULT_BETA },
		/* What stands in these is ours or history's; nothing that could simply be left out. */
		{ "messages", FAULT_NONE },
		{ "tools", FAULT_NONE },
		{ "system", FAULT_NONE },
	};
	const char *colon = strstr(text, ": extra inputs are not permitted");
	const char *name = colon;

	if (!colon)
		return FAULT_NONE;
	while (name > text && path_char(name[-1]))
		name--;
	if (name == colon)
		return FAULT_NONE;
	static const char mark[] = "cache_control";
	for (const char *p = strstr(name, mark); p && p < colon; p = strstr(p + 1, mark))
		return FAULT_CACHE;
	for (size_t i = 0; i < LENGTH(heads); i++)
		if (!strncmp(name, heads[i].head, strlen(heads[i].head)))
			return heads[i].fault;
	set_name(info, name, strcspn(name, ".:"));
	return FAULT_EXTRA;
}

/* Rate limits speak of tokens and lengths as well. */
static bool about_rate(const char *text)
{
	static const char *const words[] = { "rate limit", "rate_limit", "too many requests", "throttl", "per minute" };

	for (size_t i = 0; i < LENGTH(words); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

static bool may_be_repaired(const struct model_end *end)
{
	if (end->failure == MODEL_STREAM_ERROR)
		return true;
	return end->failure == MODEL_HTTP &&
	       (end->http_status == 400 || end->http_status == 413 || end->http_status == 422);
}

/* "unexpected value(s) A, B for the anthropic-beta header" */
static void name_betas(struct request_fault_info *info, const char *text)
{
	const char *begin = strstr(text, "value(s) ");
	const char *end = begin ? strstr(begin, " for ") : NULL;

	if (end)
		set_name(info, begin + strlen("value(s) "), (size_t)(end - begin) - strlen("value(s) "));
}

static struct request_fault_info from_row(const struct fault_row *row, const char *text)
{
	struct request_fault_info info = { row->fault, number_at(text, row->tokens), number_at(text, row->limit), "" };

	if (info.fault == FAULT_EXTRA)
		set_name(&info, row->a, strlen(row->a));
	if (info.fault == FAULT_BETA)
		name_betas(&info, text);
	/* A smaller max_tokens cannot help a prompt that alone fills the window. */
	if (info.fault == FAULT_INPUT_PLUS_MAX && info.limit >= 0 && info.tokens >= info.limit)
		info.fault = FAULT_PROMPT_TOO_LONG;
	/* who refuses a prompt that fits has counted something else */
	if (info.fault == FAULT_PROMPT_TOO_LONG && info.tokens < info.limit)
		info.tokens = -1;
	return info;
}

struct request_fault_info retry_request_fault(const struct model_end *end)
{
	struct request_fault_info none = { FAULT_NONE, -1, -1, "" };
	char text[TEXT_MAX];
	size_t len = 0;

	if (!may_be_repaired(end))
		return none;
	add_plain(text, &len, end->error_type);
	add_plain(text, &len, " ");
	add_plain(text, &len, end->error_code);
	add_plain(text, &len, " ");
	add_plain(text, &len, end->message);
	if (!about_rate(text)) {
		for (size_t i = 0; i < LENGTH(rows); i++)
			if (strstr(text, rows[i].a) && (!rows[i].b || strstr(text, rows[i].b)))
				return from_row(&rows[i], text);
		none.fault = unknown_field(text, &none);
	}
	if (none.fault == FAULT_NONE && end->failure == MODEL_HTTP && end->http_status == 413)
		none.fault = FAULT_PROMPT_TOO_LONG;
	return none;
}
