/* What we make for ourselves is the user's alone and usable, whatever the umask: it is put aside while we do. */
#ifndef QUERN_RECORD_PRIVATE_H
#define QUERN_RECORD_PRIVATE_H

#include <stdbool.h>

int private_dir(const char *path);                     /* as mkdir(2), 0700 */
bool private_temp_dir(char *pattern);                  /* as mkdtemp(3) */
int private_file(int at, const char *name);            /* a new file, 0600, to read and write: its descriptor or -1 */
char *private_path(const char *dir, const char *name); /* the path of name in dir; NULL: no memory */

#endif
