#include "base/pcre2_api.h"

#include <stddef.h>
#include <stdint.h>

#include "base/library.h"

#define SONAME "libpcre2-8.so.0"

/* For packagers: see model/curl_api.c. */
#define NOTE_OWNER "FDO"
#define NOTE_TYPE  0x407c0c0aU
#define NOTE_JSON                                                                                                      \
	"[{\"feature\":\"pattern\",\"description\":\"Patterns in JSON Schemas\",\"priority\":\"recommended\","         \
	"\"soname\":[\"" SONAME "\"]}]"

static const struct {
	uint32_t owner_size, text_size, type;
	char owner[sizeof NOTE_OWNER];
	_Alignas(uint32_t) char text[sizeof NOTE_JSON];
} dlopen_note __attribute__((used, aligned(4), section(".note.dlopen"))) = {
	sizeof NOTE_OWNER, sizeof NOTE_JSON, NOTE_TYPE, NOTE_OWNER, NOTE_JSON,
};

#define ROW(function) { "pcre2_" #function "_8", offsetof(struct pcre2_api, function) },

static const struct library_function functions[] = { PCRE2_API_FUNCTIONS(ROW) };

int pcre2_api_load(struct pcre2_api *api, struct error *e)
{
	return library_load(SONAME, "matches patterns", functions, sizeof functions / sizeof functions[0], api, e);
}
