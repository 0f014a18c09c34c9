#include "model/curl_api.h"

#include <stddef.h>

#include "base/library.h"

#define SONAME "libcurl.so.4"

LIBRARY_NOTE("http", "Talking to a model server", "required", SONAME);

#define ROW(function) { "curl_" #function, offsetof(struct curl_api, function) },

static const struct library_function functions[] = { CURL_API_FUNCTIONS(ROW) };

int curl_api_load(struct curl_api *api, struct error *e)
{
	return library_load(SONAME, "talks to the model server", functions, sizeof functions / sizeof functions[0], api,
	                    e);
}
