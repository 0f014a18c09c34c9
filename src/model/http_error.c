#include "model/http_error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "model/one_line.h"

/* Every code that is not here is a broken network. `text` stands in for libcurl's words, where those may hold a
 * secret or say little. */
static const struct row {
	CURLcode code;
	enum model_failure failure;
	enum model_net net;
	const char *text;
} rows[] = {
	{ CURLE_COULDNT_RESOLVE_HOST, MODEL_NETWORK, NET_UNKNOWN_HOST, NULL },
	{ CURLE_COULDNT_RESOLVE_PROXY, MODEL_NETWORK, NET_UNKNOWN_HOST,
	  "the proxy that the environment names is unknown or not usable" },
	{ CURLE_SSL_CONNECT_ERROR, MODEL_NETWORK, NET_TLS, NULL },
	{ CURLE_SEND_FAIL_REWIND, MODEL_NETWORK, NET_DEAD_REUSED,
	  "the kept connection was closed by the server before it answered" },
	/* Trying again cannot help. */
	{ CURLE_PEER_FAILED_VERIFICATION, MODEL_REFUSED_REQUEST, NET_TLS, NULL },
	{ CURLE_SSL_CACERT_BADFILE, MODEL_REFUSED_REQUEST, NET_TLS, NULL },
	{ CURLE_SSL_ISSUER_ERROR, MODEL_REFUSED_REQUEST, NET_TLS, NULL },
	{ CURLE_SSL_CERTPROBLEM, MODEL_REFUSED_REQUEST, NET_TLS, NULL },
	{ CURLE_SSL_CIPHER, MODEL_REFUSED_REQUEST, NET_TLS, NULL },
	{ CURLE_SSL_PINNEDPUBKEYNOTMATCH, MODEL_REFUSED_REQUEST, NET_TLS, NULL },
	{ CURLE_SSL_INVALIDCERTSTATUS, MODEL_REFUSED_REQUEST, NET_TLS, NULL },
	{ CURLE_SSL_ENGINE_NOTFOUND, MODEL_REFUSED_REQUEST, NET_TLS, NULL },
	{ CURLE_URL_MALFORMAT, MODEL_REFUSED_REQUEST, NET_OTHER, "the URL of the model server is malformed" },
	{ CURLE_UNSUPPORTED_PROTOCOL, MODEL_REFUSED_REQUEST, NET_OTHER, /* the URL's scheme was checked at the start */
	  "the server's answer is not of a version of HTTP that is understood" },
	{ CURLE_NOT_BUILT_IN, MODEL_REFUSED_REQUEST, NET_OTHER, NULL },
	{ CURLE_BAD_FUNCTION_ARGUMENT, MODEL_REFUSED_REQUEST, NET_OTHER, NULL },
	/* A server that speaks something else. */
	{ CURLE_WEIRD_SERVER_REPLY, MODEL_NOT_STREAM, NET_OTHER, NULL },
};

static const struct row other = { CURLE_OK, MODEL_NETWORK, NET_OTHER, NULL };

static const struct row *row_of(CURLcode code)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (rows[i].code == code)
			return &rows[i];
	return &other;
}

/* libcurl quotes a proxy URL that it cannot use; what stands before an @ in any URL is nobody's business. */
static void hide_userinfo(char *text)
{
	for (char *p = text; (p = strstr(p, "://"));) {
		p += 3;
		size_t n = strcspn(p, "/ '\"<>");
		char *at = memrchr(p, '@', n);
		if (at)
			memset(p, '*', (size_t)(at - p));
		p += n;
	}
}

/* CURLE_TOO_LARGE, which the headers of older versions do not name; those say "out of memory" instead. */
#define TOO_LARGE 100

static bool head_too_large(const struct http_trouble *t)
{
	return t->in_head &&
	       (t->code == CURLE_OUT_OF_MEMORY || (int)t->code == TOO_LARGE || t->code == CURLE_WRITE_ERROR);
}

/* A proxy that wants a password or forbids the way will do so again. */
static bool refused_by_proxy(const struct http_trouble *t)
{
	return t->connect_status == 401 || t->connect_status == 403 || t->connect_status == 407;
}

/* libcurl says no more of a socket that could not be made than that there is no connection. */
static bool out_of_descriptors(const struct http_trouble *t)
{
	if (t->code != CURLE_COULDNT_CONNECT || (t->os_errno && t->os_errno != EMFILE && t->os_errno != ENFILE))
		return false;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	bool none = fd < 0 && (errno == EMFILE || errno == ENFILE);
	if (fd >= 0)
		close(fd);
	return none;
}

char *http_error_judge(const struct http_trouble *t, struct http_done *done)
{
	const struct row *row = row_of(t->code);
	const char *text = row->text ? row->text : *t->text ? t->text : t->code_text;

	done->failure = row->failure;
	done->net = row->net;
	if (t->code == CURLE_COULDNT_CONNECT && t->os_errno == ECONNREFUSED)
		done->net = NET_CONNECT_REFUSED;
	if (refused_by_proxy(t))
		done->failure = MODEL_REFUSED_REQUEST;
	if (head_too_large(t)) {
		done->failure = MODEL_NOT_STREAM;
		text = "the head of the server's answer is too large";
	}
	if (out_of_descriptors(t))
		text = "too many files are open for a connection (ulimit -n)";
	char *line = one_line(text, strlen(text), ONE_LINE_MAX);
	if (line)
		hide_userinfo(line);
	return line;
}
