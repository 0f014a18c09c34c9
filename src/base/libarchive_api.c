#include "base/libarchive_api.h"

#include "base/library.h"

#define SONAME "libarchive.so.13"

/* For packagers: see model/curl_api.c. */
#define NOTE_OWNER "FDO"
#define NOTE_TYPE  0x407c0c0aU
#define NOTE_JSON                                                                                                      \
	"[{\"feature\":\"archives\",\"description\":\"Archives: attached, recorded, unpacked and saved\","             \
	"\"priority\":\"suggested\",\"soname\":[\"" SONAME "\"]}]"

static const struct {
	uint32_t owner_size, text_size, type;
	char owner[sizeof NOTE_OWNER];
	_Alignas(uint32_t) char text[sizeof NOTE_JSON];
} dlopen_note __attribute__((used, aligned(4), section(".note.dlopen"))) = {
	sizeof NOTE_OWNER, sizeof NOTE_JSON, NOTE_TYPE, NOTE_OWNER, NOTE_JSON,
};

#define ROW(type, name, args) { "archive_" #name, offsetof(struct libarchive_api, name) },

static const struct library_function functions[] = { LIBARCHIVE_FUNCTIONS(ROW) };

int libarchive_api_load(struct libarchive_api *api, struct error *e)
{
	return library_load(SONAME, "reads and writes archives", functions, sizeof functions / sizeof functions[0], api,
	                    e);
}
