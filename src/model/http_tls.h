/* Where the certificates of authorities are. Private to http.c. */
#ifndef QUERN_MODEL_HTTP_TLS_H
#define QUERN_MODEL_HTTP_TLS_H

#include "model/curl_api.h"

/* Sets them on a handle: the environment's (CURL_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR, as the curl tool reads them),
 * else the system's directory of hash links, else the system's bundle. */
CURLcode http_tls_set(const struct curl_api *api, CURL *easy);

#endif
