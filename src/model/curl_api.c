#include "model/curl_api.h"

#include <stddef.h>
#include <stdint.h>

#include "base/library.h"

#define SONAME "libcurl.so.4"

/*
 * Tells packagers what is loaded behind the linker's back, in the format of the UAPI group's ELF dlopen metadata (read
 * by dpkg and rpm dependency generators as systemd's own notes are).
 */
#define NOTE_OWNER "FDO"
#define NOTE_TYPE  0x407c0c0aU
#define NOTE_JSON                                                                                                      \
	"[{\"feature\":\"http\",\"description\":\"Talking to a model server\",\"priority\":\"required\","              \
	"\"soname\":[\"" SONAME "\"]}]"

static const struct {
	uint32_t owner_size, text_size, type;
	char owner[sizeof NOTE_OWNER];
	_Alignas(uint32_t) char text[sizeof NOTE_JSON];
} dlopen_note __attribute__((used, aligned(4), section(".note.dlopen"))) = {
	sizeof NOTE_OWNER, sizeof NOTE_JSON, NOTE_TYPE, NOTE_OWNER, NOTE_JSON,
};

#define ROW(function) { "curl_" #function, offsetof(struct curl_api, function) },

static const struct library_function functions[] = { CURL_API_FUNCTIONS(ROW) };

int curl_api_load(struct curl_api *api, struct error *e)
{
	return library_load(SONAME, "talks to the model server", functions, sizeof functions / sizeof functions[0], api,
	                    e);
}
