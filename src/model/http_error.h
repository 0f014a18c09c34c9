/* What libcurl's result codes mean for a model call. Private to http.c. */
#ifndef QUERN_MODEL_HTTP_ERROR_H
#define QUERN_MODEL_HTTP_ERROR_H

#include <curl/curl.h>

#include "model/http.h"

/* What is known beside the code. */
struct http_trouble {
	CURLcode code;
	const char *text;      /* libcurl's words, may be "" */
	const char *code_text; /* its words for the code alone */
	long os_errno;
	long connect_status; /* of a proxy's answer to CONNECT, 0 = none */
	bool in_head;        /* the answer had begun, its head had not ended */
};

/* Fills *done but for the message, which is malloc'ed and returned (NULL: no memory). */
char *http_error_judge(const struct http_trouble *t, struct http_done *done);

#endif
