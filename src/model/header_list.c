#include "model/header_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The body's length and framing are the transport's; another value would break the request. */
static const char *const reserved[] = { "Content-Length", "Transfer-Encoding", "Expect", "Connection" };

static bool is_token(const char *s, size_t n)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < n; i++) {
		char c = s[i];
		bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!alnum && (!c || !strchr(marks, c)))
			return false;
	}
	return n > 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7F)
			return true;
	return false;
}

static int check(const char *name, size_t name_len, const char *value, struct error *e)
{
	size_t n = strlen(value);

	if (!is_token(name, name_len))
		return error_set(e, ERR_INPUT, "a request header has no valid name");
	for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
		if (strlen(reserved[i]) == name_len && !strncasecmp(reserved[i], name, name_len))
			return error_set(e, ERR_INPUT, "the request header '%s' cannot be set", reserved[i]);
	if (has_control(value))
		return error_set(e, ERR_INPUT,
		                 "the value of the request header '%.*s' holds a line end or another control character",
		                 (int)name_len, name);
	if (n && (is_blank(value[0]) || is_blank(value[n - 1])))
		return error_set(e, ERR_INPUT, "the value of the request header '%.*s' begins or ends with a blank",
		                 (int)name_len, name);
	return 0;
}

static bool has_name(const char *line, const char *name, size_t name_len)
{
	return !strncasecmp(line, name, name_len) && (line[name_len] == ':' || line[name_len] == ';');
}

static void forget(char *line)
{
	explicit_bzero(line, strlen(line));
	free(line);
}

static void remove_name(struct header_list *l, const char *name, size_t name_len)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (has_name(l->v[i], name, name_len))
			forget(l->v[i]);
		else
			l->v[kept++] = l->v[i];
	}
	l->n = kept;
	if (l->v)
		l->v[kept] = NULL;
}

static int set(struct header_list *l, const char *name, size_t name_len, const char *value, struct error *e)
{
	if (check(name, name_len, value, e))
		return -1;
	remove_name(l, name, name_len);
	char **v = reallocarray(l->v, l->n + 2, sizeof *v);
	if (!v)
		return error_nomem(e);
	l->v = v;
	v[l->n] = NULL;
	size_t size = name_len + strlen(value) + 3;
	char *line = malloc(size);
	if (!line)
		return error_nomem(e);
	/* libcurl sends "Name;" as a header without a value and takes "Name:" as one not to send. */
	snprintf(line, size, *value ? "%.*s: %s" : "%.*s;%s", (int)name_len, name, value);
	v[l->n++] = line;
	v[l->n] = NULL;
	return 0;
}

int header_list_set(struct header_list *l, const char *name, const char *value, struct error *e)
{
	return set(l, name, strlen(name), value, e);
}

int header_list_set_line(struct header_list *l, const char *line, struct error *e)
{
	size_t name_len = strcspn(line, ":");
	const char *value = line + name_len;

	if (!*value)
		return error_set(e, ERR_INPUT, "a request header has no colon behind its name");
	value++;
	return set(l, line, name_len, value + strspn(value, " \t"), e);
}

void header_list_remove(struct header_list *l, const char *name)
{
	remove_name(l, name, strlen(name));
}

void header_list_release(struct header_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		forget(l->v[i]);
	free(l->v);
	*l = (struct header_list)HEADER_LIST_INIT;
}
