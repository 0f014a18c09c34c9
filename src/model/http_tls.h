/* Where the certificates of authorities are. Private to http.c. */
#ifndef QUERN_MODEL_HTTP_TLS_H
#define QUERN_MODEL_HTTP_TLS_H

#include <stdbool.h>

#include "model/curl_api.h"

struct http_tls {
	bool known; /* the rest was found out */
	const char *file, *dir;
};

/* Sets them on the handle of a request to an https URL; looks for them once, and only if such a URL comes: the
 * environment's (CURL_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR, as the curl tool reads them), else the system's directory
 * of hash links, else the system's bundle. */
CURLcode http_tls_set(struct http_tls *tls, const struct curl_api *api, CURL *easy, const char *url);

#endif
