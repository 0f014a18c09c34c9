#include "job/check.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "guard/rule.h"

static int bad(struct error *e, const char *why)
{
	return error_set(e, ERR_INPUT, "%s", why);
}

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7F;
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if (is_control(*s))
			return true;
	return false;
}

int check_text(const char *name, const char *text, struct error *e)
{
	size_t at;

	(void)name;
	if (!utf8_valid(text, strlen(text), &at))
		return error_set(e, ERR_INPUT, "invalid UTF-8 at byte %zu", at);
	return 0;
}

int check_prompt(const char *name, const char *text, struct error *e)
{
	if (!text[strspn(text, " \t\r\n\f\v")])
		return bad(e, "is empty");
	return check_text(name, text, e);
}

int check_title(const char *name, const char *text, struct error *e)
{
	if (!*text)
		return bad(e, "is empty");
	if (has_control(text))
		return bad(e, "must not hold control characters");
	return check_text(name, text, e);
}

int check_word(const char *name, const char *text, struct error *e)
{
	if (strpbrk(text, " "))
		return bad(e, "must not hold spaces");
	return check_title(name, text, e);
}

int check_place(const char *name, const char *text, struct error *e)
{
	(void)name;
	return *text ? 0 : bad(e, "is empty");
}

int check_path(const char *name, const char *text, struct error *e)
{
	(void)name;
	if (!*text)
		return bad(e, "is empty");
	if (!strncmp(text, "~/", 2) || !strcmp(text, "~"))
		return bad(e, "'~' is not expanded here: write the directory out (./~ is a file of that name)");
	return 0;
}

int check_record_path(const char *name, const char *text, struct error *e)
{
	if (!strcmp(text, "-"))
		return bad(e, "is not read from stdin: name the file (./- is a file of that name)");
	return check_path(name, text, e);
}

int check_url(const char *name, const char *text, struct error *e)
{
	(void)name;
	const char *host = !strncasecmp(text, "https://", 8)  ? text + 8
	                   : !strncasecmp(text, "http://", 7) ? text + 7
	                                                      : NULL;
	if (!host)
		return bad(e, "must begin with https:// or http://");
	size_t authority = strcspn(host, "/?#");
	if (!authority)
		return bad(e, "names no host");
	if (memchr(host, '@', authority))
		return bad(e,
		           "must not hold a user or password: give the key by model.api_key_env or model.api_key_file");
	if (strpbrk(text, " ?#") || has_control(text))
		return bad(e, "must not hold spaces, '?' or '#'");
	return check_text(NULL, text, e);
}

int check_env_name(const char *name, const char *text, struct error *e)
{
	(void)name;
	if (!*text)
		return bad(e, "a variable's name is empty");
	if (strchr(text, '=') || has_control(text))
		return bad(e, "a variable's name must not hold '=' or control characters");
	return 0;
}

int check_env(const char *name, const char *text, struct error *e)
{
	(void)text; /* any bytes will do: YAML let no NUL through */
	return check_env_name(NULL, name, e);
}

/* The headers by which a key travels have their own keys, so that no key stands in a job file, and those
 * that frame the request are made by the transport. */
static const char *const auth_headers[] = { "authorization", "proxy-authorization", "x-api-key", "api-key", NULL };
static const char *const framing_headers[] = { "content-length",    "content-type", "connection",
	                                       "transfer-encoding", "expect",       NULL };

static bool listed(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (!strcasecmp(*names, name))
			return true;
	return false;
}

int check_header(const char *name, const char *text, struct error *e)
{
	if (!*name)
		return bad(e, "a header's name is empty");
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("!#$%&'*+-.^_`|~", *p))
			return bad(e, "a header's name takes letters, digits and !#$%&'*+-.^_`|~");
	if (listed(auth_headers, name))
		return bad(e, "auth headers are not set here: use model.api_key_env or model.api_key_file");
	if (listed(framing_headers, name))
		return bad(e, "this header is made by quern itself");
	for (const char *p = text; *p; p++)
		if (is_control(*p) && *p != '\t')
			return bad(e, "a header's value must not hold line breaks or control characters");
	return check_text(NULL, text, e);
}

int check_extra(const char *name, const char *text, struct error *e)
{
	static const char *const owned[] = { "model", "messages", "stream", "system", "tools", "max_tokens", NULL };

	(void)text;
	if (listed(owned, name))
		return bad(e, "quern sets this field of the request itself");
	return 0;
}

static int check_rule(enum rule_effect effect, const char *text, struct error *e)
{
	struct arena arena = ARENA_INIT;
	struct rule rule;
	int rc = check_text(NULL, text, e) || rule_parse(&rule, effect, text, &arena, e) ? -1 : 0;

	arena_release(&arena);
	return rc;
}

int check_allow_rule(const char *name, const char *text, struct error *e)
{
	(void)name;
	return check_rule(RULE_ALLOW, text, e);
}

int check_ask_rule(const char *name, const char *text, struct error *e)
{
	(void)name;
	return check_rule(RULE_ASK, text, e);
}

int check_deny_rule(const char *name, const char *text, struct error *e)
{
	(void)name;
	return check_rule(RULE_DENY, text, e);
}
