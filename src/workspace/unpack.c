/* An archive becomes a directory: entry by entry, to its end mark. */
#include "workspace/unpack.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define PATH_MOST 65536 /* of a name as a whole; the file system limits its parts */
#define TAR_MASK  0xff0000
#define TAR       0x30000

static int make_entry(struct unpacking *u)
{
	const char *link = u->la->entry_hardlink(u->entry);
	const mode_t type = u->la->entry_filetype(u->entry);

	u->name = u->la->entry_pathname(u->entry);
	if (!u->name)
		u->name = u->la->entry_pathname_utf8(u->entry);
	if (!u->name)
		return error_set(u->e, ERR_INPUT, "entry %lld has no name that can be read", (long long)u->entries);
	if (unpack_clean(u, u->name, &u->path))
		return -1;
	if (!u->path.len) /* the directory itself */
		return type == S_IFDIR && !link ? 0 : unpack_refuse(u, "it has no name");
	if (unpack_enter_dir(u))
		return -1;
	const char *base = u->path.data + unpack_base(&u->path);
	if (link)
		return unpack_link(u, link, base);
	switch (type) {
	case S_IFREG:
		return unpack_file(u, base);
	case S_IFDIR:
		return unpack_directory(u, base);
	case S_IFLNK:
		return unpack_symlink(u, base);
	default:
		return unpack_refuse(u, "neither a file nor a directory nor a link");
	}
}

/* Without its end mark a tar was cut off, between two entries by chance. `before`: how much of it was read by then. */
static int check_end(struct unpacking *u, int64_t before)
{
	u->name = NULL;
	if (u->entries == 0)
		return error_set(u->e, ERR_INPUT, "nothing is in it");
	if ((u->la->format(u->a) & TAR_MASK) == TAR && u->la->filter_bytes(u->a, 0) == before)
		return error_set(u->e, ERR_INPUT, "it is cut off: its end mark is missing");
	return 0;
}

static int unpack_entries(struct unpacking *u)
{
	int rc = libarchive_read_fd(u->la, u->a, u->fd);

	while (rc >= LIBARCHIVE_WARN) {
		int64_t before = u->la->filter_bytes(u->a, 0);
		u->name = NULL; /* it is the entry's */
		rc = u->la->read_next_header(u->a, &u->entry);
		if (rc == LIBARCHIVE_EOF)
			return check_end(u, before);
		if (rc >= LIBARCHIVE_WARN && (unpack_count_entry(u) || make_entry(u)))
			return -1;
	}
	return unpack_refuse_archive(u);
}

/* The largest file that this process may write. */
static int64_t file_most(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur;
}

int workspace_unpack(int fd, int dir_fd, const struct unpack_limits *limits, struct error *e)
{
	struct libarchive_api la;
	struct stat st;
	struct unpacking u = { .la = &la,
		               .fd = fd,
		               .file_most = file_most(),
		               .limits = limits,
		               .ratio_at = RATIO_FREE,
		               .path = BUF_INIT(PATH_MOST),
		               .target = BUF_INIT(PATH_MOST),
		               .dir = BUF_INIT(PATH_MOST),
		               .root = dir_fd,
		               .at = dir_fd,
		               .e = e };

	if (fstat(fd, &st))
		return error_sys(e, "cannot look at the archive");
	if (!S_ISREG(st.st_mode))
		return error_set(e, ERR_INPUT, "it is no regular file");
	if (st.st_size == 0)
		return error_set(e, ERR_INPUT, "it is empty");
	u.archive_size = st.st_size;
	if (libarchive_api_load(&la, e))
		return -1;
	u.a = la.read_new();
	if (!u.a)
		return error_nomem(e);
	int rc = unpack_entries(&u);
	la.read_free(u.a);
	unpack_leave_dir(&u);
	buf_release(&u.path);
	buf_release(&u.target);
	buf_release(&u.dir);
	return rc;
}
