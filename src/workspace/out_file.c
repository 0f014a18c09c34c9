#include "workspace/out_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "workspace/beneath.h"

static int failed(const struct out_file *o, struct error *e)
{
	return error_sys(e, "cannot write '%s'", o->path);
}

int out_file_find(struct out_file *o, const char *path, struct error *e)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct beneath at;

	*o = (struct out_file)OUT_FILE_INIT;
	o->path = path;
	beneath_init(&at, root);
	int dir = beneath_parent(&at, path + strspn(path, "/"), &o->base);
	/* one that can be granted, and that may be searched alone */
	o->dir = dir < 0 ? -1 : openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (o->dir < 0)
		failed(o, e);
	beneath_release(&at);
	if (root >= 0)
		close(root);
	return o->dir < 0 ? -1 : 0;
}

int out_file_open(struct out_file *o, struct error *e)
{
	unsigned char r[4];
	struct stat st;

	random_bytes(r, sizeof r);
	if (fstatat(o->dir, o->base, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) {
		o->fd = openat(o->dir, o->base, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	} else {
		snprintf(o->beside, sizeof o->beside, "%.200s.%02x%02x%02x%02x", o->base, r[0], r[1], r[2], r[3]);
		o->fd = openat(o->dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
		o->unnamed = o->fd >= 0;
		if (!o->unnamed)
			o->fd = openat(o->dir, o->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	return o->fd < 0 ? failed(o, e) : 0;
}

static int give_name(const struct out_file *o)
{
	char self[40];

	snprintf(self, sizeof self, "/proc/self/fd/%d", o->fd);
	return linkat(AT_FDCWD, self, o->dir, o->beside, AT_SYMLINK_FOLLOW);
}

int out_file_close(struct out_file *o, int rc, struct error *e)
{
	if (o->fd < 0) {
		rc = -1;
	} else {
		if (!rc && o->beside[0] && (fchmod(o->fd, 0600) || fsync(o->fd) || (o->unnamed && give_name(o))))
			rc = failed(o, e);
		if (close(o->fd) && !rc)
			rc = failed(o, e);
		if (!rc && o->beside[0] && renameat(o->dir, o->beside, o->dir, o->base))
			rc = failed(o, e);
		if (rc && o->beside[0])
			unlinkat(o->dir, o->beside, 0);
	}
	if (o->dir >= 0)
		close(o->dir);
	*o = (struct out_file)OUT_FILE_INIT;
	return rc;
}
