/* Names that other programs execute or obey without being asked: nothing writes them unasked. One table for all. */
#ifndef QUERN_GUARD_PROTECTED_H
#define QUERN_GUARD_PROTECTED_H

#include <stdbool.h>

/* Is there a protected name in the path, as a directory anywhere in it or as its last part? path: below a working
 * directory, without links; a leading slash does not count. */
bool path_is_protected(const char *path);

#endif
