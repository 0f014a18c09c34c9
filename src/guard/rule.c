#include "guard/rule.h"

#include <ctype.h>
#include <string.h>

#include "guard/path_rule.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define RULE_MAX  4096

/* What a specifier means, by tool. Others take none, or a parameter's value. */
static const struct {
	const char *tool;
	enum rule_kind kind;
	const char *params;  /* "a|b": what may stand before a ':' so that it is a rule on a parameter */
	const char *instead; /* a path here does nothing: the rule to write */
} kinds[] = {
	{ "Bash", RULE_COMMAND, "timeout|description|run_in_background", NULL },
	{ "Read", RULE_PATH, "offset|limit|pages", NULL },
	{ "Edit", RULE_PATH, "replace_all", NULL },
	{ "Write", RULE_NOTHING, NULL, "Edit" },
	{ "NotebookEdit", RULE_NOTHING, NULL, "Edit" },
	{ "MultiEdit", RULE_NOTHING, NULL, "Edit" },
	{ "Glob", RULE_NOTHING, NULL, "Read" },
	{ "Grep", RULE_NOTHING, NULL, "Read" },
	{ "WebFetch", RULE_DOMAIN, NULL, NULL },
	{ "Agent", RULE_NAME, NULL, NULL },
	{ "Skill", RULE_NAME, NULL, NULL },
};

/* The texts of these have rules of their own, or must not be matched as plain text. */
static const char *const not_params[] = { "command", "file_path", "notebook_path", "path", "url" };

const char *rule_effect_name(enum rule_effect effect)
{
	static const char *const names[] = { [RULE_ALLOW] = "allow", [RULE_ASK] = "ask", [RULE_DENY] = "deny" };

	return names[effect];
}

static int malformed(struct error *e, const char *text, const char *how)
{
	return error_set(e, ERR_INPUT, "the rule '%.120s' is malformed: %s", text, how);
}

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* The length of the word at s, if '|'-separated list holds it. */
static bool in_list(const char *list, const char *word, size_t n)
{
	while (list && *list) {
		size_t len = strcspn(list, "|");
		if (len == n && memcmp(list, word, n) == 0)
			return true;
		list += len;
		list += *list == '|';
	}
	return false;
}

/* ---- command patterns ---- */

static const char quotes[] = "'\"";

/* Shell words: blanks outside quotes are borders, quotes are dropped, '*' is a wildcard everywhere but behind '\'. A
 * quote without its partner is a character. */
static size_t compile_words(const char *s, size_t n, glob_sym *out)
{
	size_t k = 0;
	char quote = 0;

	for (size_t i = 0; i < n; i++) {
		char c = s[i];
		if (c == '\\' && i + 1 < n && strchr("()\\* '\"", s[i + 1])) {
			out[k++] = (unsigned char)s[++i];
		} else if (quote && c == quote) {
			quote = 0;
		} else if (!quote && c && strchr(quotes, c) && memchr(s + i + 1, c, n - i - 1)) {
			quote = c;
		} else if (!quote && (c == ' ' || c == '\t')) {
			if (k > 0 && out[k - 1] != '\0')
				out[k++] = '\0';
		} else if (c == '*') {
			if (k == 0 || out[k - 1] != GLOB_ANY)
				out[k++] = GLOB_ANY;
		} else {
			out[k++] = (unsigned char)c;
		}
	}
	while (k > 0 && out[k - 1] == '\0')
		k--;
	return k;
}

static int compile_command(struct rule *r, const char *spec, size_t n, struct arena *arena, struct error *e)
{
	bool prefix = n >= 2 && memcmp(spec + n - 2, ":*", 2) == 0 && (n < 3 || spec[n - 3] != '\\');

	if (prefix)
		n -= 2;
	glob_sym *s = arena_alloc(arena, (n + 2) * sizeof *s);
	if (!s)
		return error_nomem(e);
	size_t k = compile_words(spec, n, s);
	if (prefix && k == 0)
		return malformed(e, r->text, "':*' has no command in front; write Bash for every command");
	if (prefix) {
		s[k++] = '\0';
		s[k++] = GLOB_ANY;
	}
	if (!prefix && memmem(spec, n, ":*", 2))
		r->warning = "':*' counts at the end only; here it is a ':' and anything";
	r->command = (struct glob){ s, k, NULL };
	r->tail = k > 2 && s[k - 1] == GLOB_ANY && s[k - 2] == '\0';
	return 0;
}

static struct glob without_tail(const struct rule *r)
{
	return (struct glob){ r->command.s, r->command.n - 2, NULL };
}

bool rule_covers_command(const struct rule *r, struct glob command)
{
	return glob_covers(r->command, command) || (r->tail && glob_covers(without_tail(r), command));
}

int rule_meets_command(const struct rule *r, struct glob command)
{
	int met = glob_meets(r->command, command);

	return met == 0 && r->tail ? glob_meets(without_tail(r), command) : met;
}

bool rule_is_exact(const struct rule *r)
{
	return !glob_is_open(r->command);
}

/* ---- hosts ---- */

/* '*' stays inside one label; "*.x" is any depth of subdomains of x, "*" alone every host. */
static bool host_fits(const char *pattern, const char *host)
{
	if (strcmp(pattern, "*") == 0)
		return *host != '\0';
	if (strncmp(pattern, "*.", 2) == 0) {
		for (const char *dot = strchr(host, '.'); dot; dot = strchr(dot + 1, '.'))
			if (dot > host && host_fits(pattern + 2, dot + 1))
				return true;
		return false;
	}
	for (;;) {
		char want[256], have[256];
		size_t n = strcspn(pattern, "."), m = strcspn(host, ".");
		if (n >= sizeof want || m >= sizeof have)
			return false;
		memcpy(want, pattern, n);
		want[n] = '\0';
		memcpy(have, host, m);
		have[m] = '\0';
		if (!glob_text(want, have, true))
			return false;
		if (!pattern[n] || !host[m])
			return !pattern[n] && !host[m];
		pattern += n + 1;
		host += m + 1;
	}
}

bool rule_covers_url(const struct rule *r, const char *url)
{
	const char *host = strstr(url, "://");
	char name[256];

	host = host ? host + 3 : url;
	size_t n = strcspn(host, "/?#\\");
	const char *at = memrchr(host, '@', n);
	if (at) {
		n -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	const char *port = *host == '[' ? memchr(host, ']', n) : memchr(host, ':', n);
	if (port)
		n = (size_t)(port - host) + (*host == '[');
	if (n > 0 && host[n - 1] == '.')
		n--;
	if (n == 0 || n >= sizeof name)
		return false;
	memcpy(name, host, n);
	name[n] = '\0';
	return host_fits(r->spec, name);
}

/* ---- parsing ---- */

bool rule_names(const struct rule *r, const char *tool)
{
	return glob_text(r->tool, tool, false);
}

/* A copy with the escapes of the grammar resolved: a backslash before a parenthesis or a backslash. */
static char *unescape(const char *s, size_t n, struct arena *arena)
{
	char *out = arena_alloc(arena, n + 1);
	size_t k = 0;

	for (size_t i = 0; out && i < n; i++) {
		if (s[i] == '\\' && i + 1 < n && strchr("()\\", s[i + 1]))
			i++;
		out[k++] = s[i];
	}
	return out;
}

/* "mcp__srv" names all tools of the server; in allow a glob must name the server. */
static int take_tool(struct rule *r, const char *text, size_t n, struct arena *arena, struct error *e)
{
	if (n == 0)
		return malformed(e, text, "it should read Tool or Tool(specifier)");
	for (size_t i = 0; i < n; i++)
		if (!name_char(text[i]) && text[i] != '*')
			return malformed(e, text, "it should read Tool or Tool(specifier), such as Bash(make *)");
	char *tool = arena_alloc(arena, n + 4);
	if (!tool)
		return error_nomem(e);
	memcpy(tool, text, n);
	if (strncmp(tool, "mcp__", 5) == 0 && tool[5] && !strstr(tool + 5, "__") && !strchr(tool, '*'))
		memcpy(tool + n, "__*", 4);
	r->tool = tool;
	const char *star = strchr(tool, '*');
	const char *server_end = strncmp(tool, "mcp__", 5) == 0 && tool[5] ? strstr(tool + 6, "__") : NULL;
	if (star && r->effect == RULE_ALLOW && (!server_end || star < server_end)) {
		r->kind = RULE_NOTHING;
		r->warning = "an allow rule may use '*' in a tool's name only behind mcp__SERVER__";
	}
	return 0;
}

/* The specifier is what stands between the first '(' and the last character, which must be a ')' of its own. */
static int find_spec(const char *text, const char *open, const char **spec, size_t *n, struct error *e)
{
	size_t i = 0;
	const char *s = open + 1;
	int depth = 0;

	for (; s[i]; i++) {
		if (s[i] == '\\' && s[i + 1]) {
			i++;
		} else if (s[i] == '(') {
			depth++;
		} else if (s[i] == ')' && depth-- == 0) {
			break;
		}
	}
	if (!s[i])
		return malformed(e, text, "a ')' is missing at the end; write \\( and \\) for single parentheses");
	if (s[i + 1])
		return malformed(e, text, "nothing may stand behind the ')'; write \\( and \\) for single parentheses");
	while (i > 0 && (*s == ' ' || *s == '\t')) {
		s++;
		i--;
	}
	while (i > 0 && (s[i - 1] == ' ' || s[i - 1] == '\t') && (i < 2 || s[i - 2] != '\\'))
		i--;
	if (i == 0)
		return malformed(e, text, "the parentheses are empty; leave them out for every use of the tool");
	*spec = s;
	*n = i;
	return 0;
}

static bool is_word(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_')
			return false;
	return n > 0;
}

/* "param:value". 1: it is one, 0: it is none, -1 with *e. */
static int take_param(struct rule *r, const char *spec, size_t n, const char *params, bool any, struct arena *arena,
                      struct error *e)
{
	const char *colon = memchr(spec, ':', n);
	size_t len = colon ? (size_t)(colon - spec) : 0;

	if (!colon || !is_word(spec, len) || (!any && !in_list(params, spec, len)))
		return 0;
	if (params && n == len + 2 && colon[1] == '*')
		return 0; /* the prefix form of a command */
	if (r->effect == RULE_ALLOW)
		return malformed(e, r->text, "a rule on a parameter works in deny and ask only");
	if (n == len + 1)
		return malformed(e, r->text, "the value is missing: it should read Tool(param:value)");
	for (size_t i = 0; i < LENGTH(not_params); i++) {
		if (strlen(not_params[i]) == len && memcmp(not_params[i], spec, len) == 0) {
			r->kind = RULE_NOTHING;
			r->warning = "this parameter cannot be matched as text; use Bash(command), Read(path), "
			             "Edit(path) or WebFetch(domain:host)";
			return 1;
		}
	}
	r->kind = RULE_PARAM;
	r->param = arena_strndup(arena, spec, len);
	r->spec = unescape(colon + 1, n - len - 1, arena);
	return r->param && r->spec ? 1 : error_nomem(e);
}

static int take_domain(struct rule *r, const char *spec, size_t n, struct arena *arena, struct error *e)
{
	if (n < 8 || memcmp(spec, "domain:", 7) != 0)
		return malformed(e, r->text, "it should read WebFetch(domain:example.com)");
	n -= 7;
	if (n > 1 && spec[7 + n - 1] == '.')
		n--;
	char *host = arena_strndup(arena, spec + 7, n);
	if (!host)
		return error_nomem(e);
	if (strpbrk(host, "/:@?# "))
		return malformed(e, r->text, "a domain is a host name alone, such as WebFetch(domain:example.com)");
	r->kind = RULE_DOMAIN;
	r->spec = host;
	return 0;
}

static int take_spec(struct rule *r, const char *spec, size_t n, struct arena *arena, struct error *e)
{
	size_t i = 0;

	while (i < LENGTH(kinds) && strcmp(kinds[i].tool, r->tool) != 0)
		i++;
	bool known = i < LENGTH(kinds);
	if (known && kinds[i].kind == RULE_COMMAND && n > 8 && memcmp(spec, "command:", 8) == 0 &&
	    !(n == 9 && spec[8] == '*')) {
		r->kind = RULE_NOTHING;
		r->warning = "it names the parameter; write the command alone, such as Bash(make *)";
		return 0;
	}
	int rc = take_param(r, spec, n, known ? kinds[i].params : NULL, !known || kinds[i].kind == RULE_NOTHING, arena,
	                    e);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (!known)
		return malformed(e, r->text,
		                 "this tool takes no specifier but (param:value), and that in deny and ask");
	r->kind = kinds[i].kind;
	if (r->kind == RULE_NOTHING) {
		const char *instead = kinds[i].instead;
		r->warning = strcmp(instead, "Edit") == 0 ? "paths that are written are named by Edit(path)"
		                                          : "paths that are read are named by Read(path)";
		return 0;
	}
	if (r->kind == RULE_DOMAIN)
		return take_domain(r, spec, n, arena, e);
	r->spec = r->kind == RULE_PATH ? arena_strndup(arena, spec, n) : unescape(spec, n, arena);
	if (!r->spec)
		return error_nomem(e);
	if (r->kind == RULE_COMMAND)
		return compile_command(r, spec, n, arena, e);
	const char *bad = r->kind == RULE_PATH ? path_rule_fault(r->spec) : NULL;
	return bad ? malformed(e, r->text, bad) : 0;
}

int rule_parse(struct rule *r, enum rule_effect effect, const char *text, struct arena *arena, struct error *e)
{
	const char *open = strchr(text, '('), *spec = NULL;
	size_t n = 0;

	memset(r, 0, sizeof *r);
	r->effect = effect;
	if (strlen(text) > RULE_MAX)
		return malformed(e, text, "it is longer than 4096 bytes");
	r->text = arena_strdup(arena, text);
	if (!r->text)
		return error_nomem(e);
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' && *p != '\t')
			return malformed(e, text, "it must not hold control characters");
	if (!open && strchr(text, ')'))
		return malformed(e, text, "a '(' is missing: it should read Tool or Tool(specifier)");
	if (open && find_spec(text, open, &spec, &n, e) < 0)
		return -1;
	if (take_tool(r, text, open ? (size_t)(open - text) : strlen(text), arena, e) < 0)
		return -1;
	if (r->kind == RULE_NOTHING || !spec || (n == 1 && *spec == '*'))
		return 0;
	if (strchr(r->tool, '*'))
		return malformed(e, text, "a rule for several tools takes no specifier");
	return take_spec(r, spec, n, arena, e);
}
