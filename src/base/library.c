#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

int library_load(const char *soname, const char *purpose, const struct library_function *functions, size_t n,
                 void *table, struct error *e)
{
	/* Lazy: such libraries have hundreds of functions, of which we call some. */
	void *library = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		return error_set(e, ERR_SYS, "cannot load %s, which %s: %s", soname, purpose, dlerror());
	for (size_t i = 0; i < n; i++) {
		void *address = dlsym(library, functions[i].name);
		if (!address)
			return error_set(e, ERR_SYS, "%s is too old: it has no %s", soname, functions[i].name);
		memcpy((char *)table + functions[i].offset, &address, sizeof address);
	}
	return 0;
}
