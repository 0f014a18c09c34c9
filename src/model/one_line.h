/* Text of unknown origin as one line for people. */
#ifndef QUERN_MODEL_ONE_LINE_H
#define QUERN_MODEL_ONE_LINE_H

#include <stddef.h>

/* Most of what a server says that an error message repeats. */
#define ONE_LINE_MAX ((size_t)500)

/* At most max bytes of valid UTF-8 ("..." added where it was cut): white space runs are one space, other control
 * characters are \xNN. malloc'ed, the caller owns it; NULL when out of memory. */
char *one_line(const char *p, size_t n, size_t max);

#endif
