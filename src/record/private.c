#include "record/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int private_dir(const char *path)
{
	mode_t old = umask(0);
	int rc = mkdirat(AT_FDCWD, path, 0700), saved = errno;

	umask(old);
	errno = saved;
	return rc;
}

bool private_temp_dir(char *pattern)
{
	mode_t old = umask(0);
	bool made = mkdtemp(pattern) != NULL;
	int saved = errno;

	umask(old);
	errno = saved;
	return made;
}

int private_file(int at, const char *name)
{
	mode_t old = umask(0);
	int fd = openat(at, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int saved = errno;

	umask(old);
	errno = saved;
	return fd;
}

char *private_path(const char *dir, const char *name)
{
	size_t n = strlen(dir);
	size_t size = n + strlen(name) + 2;
	char *p = malloc(size);

	if (p)
		snprintf(p, size, "%s%s%s", dir, n > 0 && dir[n - 1] == '/' ? "" : "/", name);
	return p;
}
