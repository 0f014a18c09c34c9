#include "model/curl_api.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

static const struct {
	const char *name;
	size_t offset;
} functions[] = { CURL_API_FUNCTIONS(ROW) };

int curl_api_load(struct curl_api *api, struct error *e)
{
	/* Lazy: libcurl and what it needs have thousands of functions, of which a request calls some hundred. */
	void *library = dlopen(SONAME, RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		return error_set(e, ERR_SYS, "cannot load %s, which talks to the model server: %s", SONAME, dlerror());
	for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
		void *address = dlsym(library, functions[i].name);
		if (!address)
			return error_set(e, ERR_SYS, "%s is too old: it has no %s", SONAME, functions[i].name);
		memcpy((char *)api + functions[i].offset, &address, sizeof address);
	}
	return 0;
}
