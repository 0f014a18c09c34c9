/* Landlock rulesets: what is granted, and the walk that grants everything but the hidden places. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guard/sandbox_kernel.h"

/* Each is copied into each child's domain: a hundred nanoseconds apiece. */
#define RULES_MAX 4096
#define PATH_ROOM 4096
#define DEPTH_MAX 64

/* The kernel's structures, newer than the headers may be. What an ABI does not know is cut off. */
struct ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* ABI 4 */
	uint64_t scoped;             /* ABI 6 */
};

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, 1U /* LANDLOCK_CREATE_RULESET_VERSION */);

	return abi > 0 ? (int)abi : 0;
}

static uint64_t known_rights(int abi)
{
	uint64_t known = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

	if (abi >= 2)
		known |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= ABI_TRUNCATE)
		known |= ACCESS_TRUNCATE;
	if (abi >= 5)
		known |= ACCESS_IOCTL_DEV;
	return known;
}

int ruleset_open(struct ruleset *r, int abi, uint64_t rights, bool deny_net, bool scoped)
{
	struct ruleset_attr attr = { .handled_access_fs = rights & known_rights(abi) };
	size_t size = sizeof attr.handled_access_fs;

	if (abi >= 4) {
		attr.handled_access_net = deny_net ? ACCESS_NET_TCP : 0;
		size = offsetof(struct ruleset_attr, scoped);
	}
	if (abi >= ABI_SCOPES) {
		attr.scoped = scoped ? SCOPE_ABSTRACT | SCOPE_SIGNAL : 0;
		size = sizeof attr;
	}
	*r = (struct ruleset){ .handled = attr.handled_access_fs };
	r->fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0U);
	return r->fd < 0 ? -1 : 0;
}

int ruleset_grant(struct ruleset *r, int fd, uint64_t rights)
{
	struct landlock_path_beneath_attr attr = { .allowed_access = rights & r->handled, .parent_fd = fd };
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	if (!S_ISDIR(st.st_mode))
		attr.allowed_access &= ACCESS_OF_FILE;
	if (!attr.allowed_access || S_ISLNK(st.st_mode))
		return 0;
	if (r->rules++ == RULES_MAX) {
		errno = E2BIG;
		return -1;
	}
	long rc = syscall(SYS_landlock_add_rule, r->fd, LANDLOCK_RULE_PATH_BENEATH, &attr, 0U);
	/* What lies on a file system inside the kernel (a pipe, a memfd) cannot have a rule and needs none. */
	return rc && errno != EBADFD ? -1 : 0;
}

static int grant_at(struct ruleset *r, int dir, const char *name, uint64_t rights)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0) /* gone meanwhile, or not for us either */
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -1 : 0;
	int rc = ruleset_grant(r, fd, rights), saved = errno;
	close(fd);
	errno = saved;
	return rc;
}

int ruleset_grant_path(struct ruleset *r, const char *path, uint64_t rights)
{
	return grant_at(r, AT_FDCWD, path, rights);
}

/* ---- all but the hidden ---- */

struct walk {
	struct ruleset *r;
	const char *const *hidden;
	char path[PATH_ROOM]; /* of the directory; "" is the root */
	size_t len;
	int depth;
};

enum kind { OPEN, HIDDEN, ON_THE_WAY };

/* Is the entry at w->path hidden, or does a hidden place lie beneath? */
static enum kind kind_of(const struct walk *w)
{
	enum kind kind = OPEN;

	for (const char *const *h = w->hidden; *h; h++) {
		if (strncmp(*h, w->path, w->len) != 0)
			continue;
		if ((*h)[w->len] == '\0')
			return HIDDEN;
		if ((*h)[w->len] == '/')
			kind = ON_THE_WAY;
	}
	return kind;
}

static int grant_entries(struct walk *w, int fd);

static int grant_entry(struct walk *w, int dir, const char *name)
{
	size_t old = w->len, n = strlen(name);
	int rc = 0;

	if (old + n + 2 > sizeof w->path)
		return 0; /* a hidden place never has so long a path: not granted, nothing more */
	w->path[w->len++] = '/';
	memcpy(w->path + w->len, name, n + 1);
	w->len += n;
	enum kind kind = kind_of(w);
	if (kind == OPEN) {
		rc = grant_at(w->r, dir, name, LANDLOCK_ACCESS_FS_READ_FILE);
	} else if (kind == ON_THE_WAY) {
		int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			rc = grant_entries(w, fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			rc = -1; /* else: what we cannot list stays closed */
	}
	w->path[old] = '\0';
	w->len = old;
	return rc;
}

/* Takes fd over. */
static int grant_entries(struct walk *w, int fd)
{
	DIR *d = w->depth < DEPTH_MAX ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	int rc = 0;

	if (!d) {
		close(fd);
		errno = ENOMEM;
		return -1;
	}
	w->depth++;
	while (rc == 0 && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = grant_entry(w, dirfd(d), entry->d_name);
	w->depth--;
	int saved = errno;
	closedir(d);
	errno = saved;
	return rc;
}

int ruleset_grant_reading(struct ruleset *r, const char *const *hidden)
{
	struct walk w = { .r = r, .hidden = hidden };

	if (ruleset_grant_path(r, "/", LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_DIR))
		return -1;
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -1 : grant_entries(&w, fd);
}

int ruleset_enter(int fd)
{
	return (int)syscall(SYS_landlock_restrict_self, fd, 0U);
}
