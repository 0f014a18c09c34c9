/*
 * The functions of libcurl that we call, found at run time: loading the library costs milliseconds and megabytes that
 * --version, --check, a replay and the supervisor need not pay.
 */
#ifndef QUERN_MODEL_CURL_API_H
#define QUERN_MODEL_CURL_API_H

#include <curl/curl.h>

#include "base/error.h"

#define CURL_API_FUNCTIONS(F)                                                                                          \
	F(global_init)                                                                                                 \
	F(global_cleanup)                                                                                              \
	F(version_info)                                                                                                \
	F(slist_append)                                                                                                \
	F(slist_free_all)                                                                                              \
	F(easy_init)                                                                                                   \
	F(easy_setopt)                                                                                                 \
	F(easy_getinfo)                                                                                                \
	F(easy_header)                                                                                                 \
	F(easy_pause)                                                                                                  \
	F(easy_reset)                                                                                                  \
	F(easy_strerror)                                                                                               \
	F(easy_cleanup)                                                                                                \
	F(multi_init)                                                                                                  \
	F(multi_setopt)                                                                                                \
	F(multi_add_handle)                                                                                            \
	F(multi_remove_handle)                                                                                         \
	F(multi_socket_action)                                                                                         \
	F(multi_info_read)                                                                                             \
	F(multi_strerror)                                                                                              \
	F(multi_cleanup)

#define CURL_API_MEMBER(name) __typeof__(curl_##name) *name; /* NOLINT(bugprone-macro-parentheses): a declaration */

struct curl_api {
	CURL_API_FUNCTIONS(CURL_API_MEMBER)
};

/* Loads the library and fills the table; -1 with *e if it is not there or too old. The library stays loaded: its TLS
 * part registers functions that run at exit. */
int curl_api_load(struct curl_api *api, struct error *e);

#endif
