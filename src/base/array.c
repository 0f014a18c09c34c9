#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 4 /* most arrays stay small */

int array_grow(void *v, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap ? 2 * *cap : FIRST;
	void *p;

	if (n < *cap)
		return 0;
	memcpy(&p, v, sizeof p); /* v is the address of a pointer of any type */
	p = more <= SIZE_MAX / size ? realloc(p, more * size) : NULL;
	if (!p)
		return -1;
	memcpy(v, &p, sizeof p);
	*cap = more;
	return 0;
}
