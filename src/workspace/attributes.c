#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "workspace/private.h"

#define ACL         "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"
#define VALUE_MOST  65536 /* what the kernel takes; of all names together, too */

static bool is_kept(const char *name)
{
	return !strncmp(name, "user.", 5) || !strcmp(name, ACL) || !strcmp(name, ACL_DEFAULT);
}

static bool is_no_loss(void)
{
	return errno == ENOTSUP || errno == EPERM || errno == ENODATA;
}

static int copy_one(int from, int to, const char *name, char *value)
{
	ssize_t n = fgetxattr(from, name, value, VALUE_MOST);

	return n < 0 || fsetxattr(to, name, value, (size_t)n, 0) ? (is_no_loss() ? 0 : -1) : 0;
}

int copy_attributes(int from, int to)
{
	ssize_t n = flistxattr(from, NULL, 0), had = flistxattr(to, NULL, 0);
	int rc = 0;

	if (had > 0) { /* what the directory gave it */
		(void)!fremovexattr(to, ACL);
		(void)!fremovexattr(to, ACL_DEFAULT);
	}
	if (n <= 0)
		return n < 0 && !is_no_loss() ? -1 : 0;
	char *names = malloc((size_t)2 * VALUE_MOST);
	if (!names)
		return -1;
	n = flistxattr(from, names, VALUE_MOST);
	for (ssize_t at = 0; !rc && at < n; at += (ssize_t)strlen(names + at) + 1)
		if (is_kept(names + at))
			rc = copy_one(from, to, names + at, names + VALUE_MOST);
	int saved = errno;
	free(names);
	errno = saved;
	return rc;
}
