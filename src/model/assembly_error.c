/* What a server says about a failure, in any of the shapes that servers use. */
#include <stdlib.h>
#include <string.h>

#include "model/assembly.h"
#include "model/one_line.h"
#include "model/server_json.h"

/* The status that goes with an error type; the first row with a status names the type of an error that tells its status
 * alone. */
static const struct {
	const char *type;
	int status;
} types[] = {
	{ "invalid_request_error", 400 }, { "authentication_error", 401 }, { "billing_error", 402 },
	{ "permission_error", 403 },      { "not_found_error", 404 },      { "conflict_error", 409 },
	{ "request_too_large", 413 },     { "rate_limit_error", 429 },     { "api_error", 500 },
	{ "timeout_error", 504 },         { "overloaded_error", 529 },
};

static int status_of(const char *type)
{
	for (size_t i = 0; type && i < sizeof types / sizeof types[0]; i++)
		if (!strcmp(type, types[i].type))
			return types[i].status;
	return 0;
}

static const char *type_of(int status)
{
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (types[i].status == status)
			return types[i].type;
	return status >= 500 && status < 600 ? "api_error" : NULL;
}

/* A string as one line, or NULL. */
static char *string_line(const struct json *doc, int tok)
{
	size_t n = 0;
	char *s = json_strdup(doc, tok, &n);
	char *line = s && n ? one_line(s, n, ONE_LINE_MAX) : NULL;

	free(s);
	return line;
}

static void set(char **where, char *value)
{
	free(*where);
	*where = value;
}

static void read_code(struct assembly *a, const struct json *doc, int err, struct model_end *end)
{
	static const char *const status_keys[] = { "code", "status", "status_code" };
	int64_t status;

	set(&a->error_code, string_line(doc, json_path(doc, err, "details.error_code")));
	if (!a->error_code)
		set(&a->error_code, string_line(doc, json_get(doc, err, "code")));
	for (size_t i = 0; i < sizeof status_keys / sizeof status_keys[0]; i++)
		if (!end->http_status && json_int(doc, json_get(doc, err, status_keys[i]), &status) && status >= 400 &&
		    status < 600)
			end->http_status = (int)status;
}

/* FastAPI and friends say "detail", as text or as a list of objects. */
static char *any_message(const struct json *doc, int err)
{
	static const char *const keys[] = { "message", "msg", "detail", "error_description" };
	size_t n = 0;

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		char *line = string_line(doc, json_get(doc, err, keys[i]));
		if (line)
			return line;
	}
	const char *raw = json_raw(doc, err, &n);
	return raw ? one_line(raw, n, ONE_LINE_MAX) : NULL;
}

static void read_object(struct assembly *a, const struct json *doc, struct model_end *end)
{
	int root = json_root(doc);
	int err = json_get(doc, root, "error");

	set(&a->request_id, string_line(doc, json_get(doc, root, "request_id")));
	if (json_type(doc, err) == JSON_STRING) {
		set(&a->message, string_line(doc, err));
		err = root;
	} else {
		if (json_type(doc, err) != JSON_OBJECT)
			err = root;
		set(&a->message, any_message(doc, err));
	}
	if (!json_eq(doc, json_get(doc, err, "type"), "error"))
		set(&a->error_type, string_line(doc, json_get(doc, err, "type")));
	read_code(a, doc, err, end);
}

static void point_at_strings(const struct assembly *a, struct model_end *end)
{
	end->error_type = a->error_type;
	end->error_code = a->error_code;
	end->message = a->message;
	end->quoted = a->message != NULL;
	if (a->request_id)
		end->request_id = a->request_id;
}

void assembly_read_error(struct assembly *a, const char *body, size_t len, struct model_end *end)
{
	struct json doc = JSON_INIT;

	set(&a->error_type, NULL);
	set(&a->error_code, NULL);
	set(&a->message, NULL);
	set(&a->request_id, NULL);
	if (!server_json_parse(&doc, body, len, NULL) && json_type(&doc, json_root(&doc)) == JSON_OBJECT)
		read_object(a, &doc, end);
	json_release(&doc);
	if (!a->message && len)
		set(&a->message, one_line(body, len, ONE_LINE_MAX));
	if (!end->http_status)
		end->http_status = status_of(a->error_type);
	if (!a->error_type && type_of(end->http_status))
		set(&a->error_type, strdup(type_of(end->http_status)));
	point_at_strings(a, end);
}
