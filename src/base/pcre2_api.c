#include "base/pcre2_api.h"

#include <stddef.h>

#include "base/library.h"

#define SONAME "libpcre2-8.so.0"

LIBRARY_NOTE("pattern", "Patterns in JSON Schemas", "recommended", SONAME);

#define ROW(function) { "pcre2_" #function "_8", offsetof(struct pcre2_api, function) },

static const struct library_function functions[] = { PCRE2_API_FUNCTIONS(ROW) };

int pcre2_api_load(struct pcre2_api *api, struct error *e)
{
	return library_load(SONAME, "matches patterns", functions, sizeof functions / sizeof functions[0], api, e);
}
