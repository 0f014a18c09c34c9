/*
 * The functions of PCRE2 that we call, found at run time: only a schema with a pattern in it needs the library, and
 * loading it is a third of what a bare start costs.
 */
#ifndef QUERN_BASE_PCRE2_API_H
#define QUERN_BASE_PCRE2_API_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"

#define PCRE2_API_FUNCTIONS(F)                                                                                         \
	F(compile)                                                                                                     \
	F(code_free)                                                                                                   \
	F(match)                                                                                                       \
	F(match_context_create)                                                                                        \
	F(match_context_free)                                                                                          \
	F(match_data_create)                                                                                           \
	F(match_data_free)                                                                                             \
	F(set_match_limit)                                                                                             \
	F(set_depth_limit)                                                                                             \
	F(set_heap_limit)                                                                                              \
	F(get_error_message)

#define PCRE2_API_MEMBER(name)                                                                                         \
	__typeof__(pcre2_##name##_8) *name; /* NOLINT(bugprone-macro-parentheses): a declaration */

struct pcre2_api {
	PCRE2_API_FUNCTIONS(PCRE2_API_MEMBER)
};

/* Loads the library, which stays loaded, and fills the table; -1 with *e if it is not there or too old. */
int pcre2_api_load(struct pcre2_api *api, struct error *e);

#endif
