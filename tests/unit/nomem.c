#include "nomem.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

struct nomem nomem = { .left = -1 };

bool nomem_fails(void)
{
	if (nomem.let_through || nomem.left < 0 || nomem.left-- > 0)
		return false;
	nomem.failed = true;
	return true;
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
char *__wrap_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t n)
{
	return nomem_fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return nomem_fails() ? NULL : __real_calloc(n, size);
}

/* Giving back what is not needed is no allocation: that it fails is nothing to see. */
void *__wrap_realloc(void *p, size_t n)
{
	if (p && n <= malloc_usable_size(p))
		return __real_realloc(p, n);
	return nomem_fails() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
	return nomem_fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return nomem_fails() ? NULL : __real_strndup(s, n);
}
