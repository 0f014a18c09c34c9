#include "base/libarchive_api.h"

#include "base/library.h"

#define SONAME "libarchive.so.13"

LIBRARY_NOTE("archives", "Archives: attached, recorded, unpacked and saved", "suggested", SONAME);

#define ROW(type, name, args) { "archive_" #name, offsetof(struct libarchive_api, name) },

static const struct library_function functions[] = { LIBARCHIVE_FUNCTIONS(ROW) };

int libarchive_api_load(struct libarchive_api *api, struct error *e)
{
	return library_load(SONAME, "reads and writes archives", functions, sizeof functions / sizeof functions[0], api,
	                    e);
}
