#include "workspace_world.h"

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/tree.h"

int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof *p);

	if (!p)
		return -1;
	log_set_level(LOG_QUIET);
	umask(022);
	snprintf(p->top, sizeof p->top, "/tmp/quern-test-workspace-XXXXXX");
	p->random = 88172645463325252ULL;
	*state = p;
	return mkdtemp(p->top) && chdir(p->top) == 0 ? 0 : -1;
}

int place_teardown(void **state)
{
	struct place *p = *state;

	modes_held();
	int rc = sh("chmod -R u+rwx %s", p->top);

	if (chdir("/") || tree_remove(p->top))
		rc = -1;
	free(p);
	return rc;
}

static void set_effective(bool all)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &head, caps))
		return;
	caps[0].effective = all ? caps[0].permitted
	                        : caps[0].permitted & ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
	(void)syscall(SYS_capset, &head, caps);
}

void modes_hold(void)
{
	set_effective(false);
}

void modes_held(void)
{
	set_effective(true);
}

int give_access(const char *path, bool is_default)
{
	/* the kernel's form: version 2; then tag, permission, id: owner, user 12345, group, mask, others */
	static const unsigned char list[] = { 2,       0,       0,      0, /**/ 1, 0,    6,    0,    0xff,
		                              0xff,    0xff,    0xff,   2, 0,      4,    0,    0x39, 0x30,
		                              0,       0,       /**/ 4, 0, 4,      0,    0xff, 0xff, 0xff,
		                              0xff,    /**/ 16, 0,      4, 0,      0xff, 0xff, 0xff, 0xff,
		                              /**/ 32, 0,       4,      0, 0xff,   0xff, 0xff, 0xff };

	return setxattr(path, is_default ? "system.posix_acl_default" : "system.posix_acl_access", list, sizeof list,
	                0);
}

int sh(const char *fmt, ...)
{
	char text[2000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return system(text);
}

void put_bytes(const char *path, const void *p, size_t n, unsigned mode)
{
	char dir[4096];

	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(dir, sizeof dir, "%.*s", (int)(at - path), path);
		if (mkdir(dir, 0755))
			assert_int_equal(errno, EEXIST);
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, p, n), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

void put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text), 0644);
}

bool holds(const char *path, const char *text)
{
	struct buf b = BUF_INIT(1 << 20);
	struct error e = ERROR_INIT;
	bool same = !io_read_file(AT_FDCWD, path, &b, &e) && !strcmp(buf_str(&b), text);

	buf_release(&b);
	return same;
}

int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

int open_out(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

void scan_of(const char *dir, struct scan *out)
{
	struct error e = ERROR_INIT;
	int fd = open_dir(dir);

	if (workspace_scan(fd, NULL, NULL, out, &e))
		fail_msg("%s", e.msg);
	close(fd);
}

/* What is not to be compared is made alike. */
static void level(struct scan *s, unsigned how)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].kind == FILE_DIRECTORY && (how & SAME_FILES)) {
			free(s->v[i].name);
			continue;
		}
		if (how & SAME_GIT)
			s->v[i].mode &= 0100;
		s->v[n++] = s->v[i];
	}
	s->n = n;
}

void same_trees(const char *a, const char *b, unsigned how)
{
	struct scan one, two;
	struct error e = ERROR_INIT;
	struct changes c;

	scan_of(a, &one);
	scan_of(b, &two);
	level(&one, how);
	level(&two, how);
	assert_int_equal(scan_compare(&one, &two, &c, &e), 0);
	if (c.n) {
		const struct change *d = &c.v[0];
		fail_msg("%zu differ between %s and %s, the first: '%s' (%s)", c.n, a, b,
		         (d->before ? d->before : d->after)->name,
		         !d->before                          ? "only in the second"
		         : !d->after                         ? "only in the first"
		         : d->before->kind != d->after->kind ? "another kind"
		         : d->before->mode != d->after->mode ? "another mode"
		                                             : "another content");
	}
	for (size_t i = 0; (how & SAME_TIMES) && i < one.n; i++)
		assert_int_equal(one.v[i].mtime_ns, two.v[i].mtime_ns);
	changes_release(&c);
	scan_release(&one);
	scan_release(&two);
}

unsigned below(struct place *p, unsigned n)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return (unsigned)(p->random >> 20) % n;
}

/* ---- trees ---- */

static const char *const names[] = { "a",          "b.c",      "with space", "tab\there", "line\nbreak", "quote\"d",
	                             "back\\sl",   "\303\251", "\377\1byte", "-dash",     "a.b",         "end ",
	                             "trailing\t", "z",        " lead",      "#x",        "%s%n",        "\x7f" };

static void random_path(struct place *p, const char *dir, char *out, size_t n)
{
	char part[200] = "";

	for (unsigned depth = below(p, 3); depth-- > 0;) {
		size_t len = strlen(part);
		snprintf(part + len, sizeof part - len, "d%u/", below(p, 3));
	}
	snprintf(out, n, "%s/%s%s", dir, part, names[below(p, sizeof names / sizeof *names)]);
}

/* Lines out of few, so that much is alike. */
static void random_text(struct place *p, struct buf *b, unsigned lines)
{
	for (unsigned i = 0; i < lines; i++)
		buf_addf(b, "%s%u\n", below(p, 4) ? "line " : "", below(p, 12));
	if (b->len && below(p, 4) == 0)
		buf_cut(b, b->len - 1);
}

static void random_file(struct place *p, const char *path)
{
	struct buf b = BUF_INIT(1 << 20);
	unsigned kind = below(p, 12), mode = below(p, 3) ? 0644 : 0755;

	if (kind == 0) {
		for (unsigned i = 0, n = below(p, 300); i < n; i++)
			buf_addc(&b, (char)below(p, 256));
	} else if (kind == 1) { /* more than a stored block holds, and no text */
		for (unsigned i = 0, n = 65000 + below(p, 2000); i < n; i++)
			buf_addc(&b, (char)(i % 251));
	} else if (kind > 2) {
		random_text(p, &b, below(p, 60));
	}
	unlink(path);
	put_bytes(path, buf_str(&b), b.len, mode);
	buf_release(&b);
}

/* Nothing if the place is taken by a directory, or lies beneath what is none. */
static void random_entry(struct place *p, const char *dir)
{
	char path[400], target[16];

	random_path(p, dir, path, sizeof path);
	if (below(p, 6)) {
		random_file(p, path);
		return;
	}
	put(path, "");
	unlink(path);
	snprintf(target, sizeof target, "to %u", below(p, 5));
	assert_int_equal(symlink(target, path), 0);
}

void random_tree(struct place *p, const char *dir)
{
	assert_int_equal(mkdir(dir, 0755), 0);
	for (unsigned i = 0; i < 40; i++)
		random_entry(p, dir);
}

/* Some lines put in, taken out and changed. */
static void edit(struct place *p, const char *path)
{
	struct buf old = BUF_INIT(1 << 20), b = BUF_INIT(1 << 20);
	struct error e = ERROR_INIT;
	struct stat st;

	if (lstat(path, &st) || !S_ISREG(st.st_mode) || io_read_file(AT_FDCWD, path, &old, &e))
		return;
	for (size_t i = 0; i < old.len;) {
		const char *nl = memchr(old.data + i, '\n', old.len - i);
		size_t end = nl ? (size_t)(nl - old.data) + 1 : old.len;
		unsigned what = below(p, 20);
		if (what != 0)
			buf_add(&b, old.data + i, end - i);
		if (what == 1)
			random_text(p, &b, 1 + below(p, 4));
		i = end;
	}
	put_bytes(path, buf_str(&b), b.len, below(p, 5) ? st.st_mode & 0777 : 0755);
	buf_release(&old);
	buf_release(&b);
}

void change_tree(struct place *p, const char *dir)
{
	char path[400];
	struct stat st;

	for (unsigned i = 0; i < 25; i++) {
		random_path(p, dir, path, sizeof path);
		edit(p, path);
	}
	for (unsigned i = 0; i < 8; i++) {
		random_path(p, dir, path, sizeof path);
		unlink(path);
	}
	for (unsigned i = 0; i < 8; i++)
		random_entry(p, dir);
	/* a directory becomes a file, a file a directory */
	snprintf(path, sizeof path, "%s/d%u", dir, below(p, 3));
	if (below(p, 3) == 0 && lstat(path, &st) == 0) {
		assert_int_equal(tree_remove(path), 0);
		random_file(p, path);
	}
	snprintf(path, sizeof path, "%s/a", dir);
	if (below(p, 3) == 0 && lstat(path, &st) == 0) {
		unlink(path);
		snprintf(path, sizeof path, "%s/a/x", dir);
		random_file(p, path);
	}
}
