/* Libraries that are loaded when they are needed: most runs of the program do not, and would pay for them. */
#ifndef QUERN_BASE_LIBRARY_H
#define QUERN_BASE_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Tells packagers what is loaded behind the linker's back, in the format of the UAPI group's ELF dlopen metadata (read
 * by dpkg and rpm dependency generators as systemd's own notes are). Once a file, with string literals: what is done
 * with it, in words; "required", "recommended" or "suggested".
 */
#define LIBRARY_NOTE(feature, description, priority, soname)                                                           \
	static const struct {                                                                                          \
		uint32_t owner_size, text_size, type;                                                                  \
		char owner[sizeof LIBRARY_NOTE_OWNER];                                                                 \
		_Alignas(uint32_t) char text[sizeof LIBRARY_NOTE_JSON(feature, description, priority, soname)];        \
	} dlopen_note __attribute__((used, aligned(4), section(".note.dlopen"))) = {                                   \
		sizeof LIBRARY_NOTE_OWNER,                                                                             \
		sizeof LIBRARY_NOTE_JSON(feature, description, priority, soname),                                      \
		LIBRARY_NOTE_TYPE,                                                                                     \
		LIBRARY_NOTE_OWNER,                                                                                    \
		LIBRARY_NOTE_JSON(feature, description, priority, soname),                                             \
	}
#define LIBRARY_NOTE_OWNER "FDO"
#define LIBRARY_NOTE_TYPE  0x407c0c0aU
#define LIBRARY_NOTE_JSON(feature, description, priority, soname)                                                      \
	"[{\"feature\":\"" feature "\",\"description\":\"" description "\",\"priority\":\"" priority "\","             \
	"\"soname\":[\"" soname "\"]}]"

struct library_function {
	const char *name;
	size_t offset; /* of the pointer in the table */
};

/* Loads the library, which stays loaded, and fills the table of pointers; -1 with *e if it is not there or too old.
 * purpose: what it does, for the error's text. */
int library_load(const char *soname, const char *purpose, const struct library_function *functions, size_t n,
                 void *table, struct error *e);

#endif
