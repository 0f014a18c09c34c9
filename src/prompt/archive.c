#include "prompt/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/libarchive_read.h"
#include "base/utf8.h"

#define LIST_BYTES   ((size_t)32 << 10) /* of names that are shown */
#define ENTRIES_MOST 1000000            /* that are counted */
#define COUNT_MS     5000               /* that long */
#define CHILD_MS     15000              /* if one entry takes longer than it should */
#define NAME_MOST    400

bool archive_is(const char *head, size_t n)
{
	static const struct {
		size_t at, n;
		const char *magic;
	} magics[] = {
		{ 0, 2, "\x1F\x8B" },
		{ 0, 4, "\x28\xB5\x2F\xFD" },
		{ 0, 6,
		  "\xFD"
		  "7zXZ\0" },
		{ 4, 6, "1AY&SY" }, /* of bzip2: what stands before it may begin a text */
		{ 0, 4, "\x04\x22\x4D\x18" },
		{ 0, 3, "]\0\0" }, /* lzma */
		{ 0, 4, "LZIP" },
		{ 0, 2, "\x1F\x9D" }, /* compress */
		{ 0, 4, "PK\3\4" },
		{ 0, 4, "PK\5\6" },
		{ 0, 6, "7z\xBC\xAF\x27\x1C" },
		{ 257, 5, "ustar" },
	};

	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if (n >= magics[i].at + magics[i].n && !memcmp(head + magics[i].at, magics[i].magic, magics[i].n))
			return true;
	return false;
}

/* ---- the child ---- */

static void add_entry(const struct libarchive_api *la, struct archive_entry *entry, struct buf *out)
{
	const char *name = la->entry_pathname(entry);
	const char *link = la->entry_hardlink(entry);
	mode_t type = la->entry_filetype(entry);

	if (!name)
		name = la->entry_pathname_utf8(entry);
	if (!link && type == S_IFLNK)
		link = la->entry_symlink(entry);
	if (!link && type == S_IFREG && la->entry_size_is_set(entry))
		buf_addf(out, "%10lld ", (long long)la->entry_size(entry));
	else
		buf_adds(out, "         - ");
	utf8_name(out, name ? name : "?", name ? strlen(name) : 1, NAME_MOST);
	if (link) {
		buf_adds(out, " -> ");
		utf8_name(out, link, strlen(link), NAME_MOST);
	} else if (type != S_IFREG && type != S_IFDIR && type) {
		buf_adds(out, " (no regular file)");
	}
	buf_addc(out, '\n');
}

static void list_entries(const struct libarchive_api *la, struct archive *a, int fd, struct buf *out)
{
	int64_t until = clock_mono_ms() + COUNT_MS;
	struct archive_entry *entry;
	size_t n = 0, shown = 0;
	int rc = libarchive_read_fd(la, a, fd);

	while (rc >= LIBARCHIVE_WARN && (rc = la->read_next_header(a, &entry)) >= LIBARCHIVE_WARN &&
	       rc != LIBARCHIVE_EOF) {
		if (out->len < LIST_BYTES) {
			add_entry(la, entry, out);
			shown++;
		}
		if (++n == ENTRIES_MOST || clock_mono_ms() >= until)
			break;
	}
	if (rc < LIBARCHIVE_WARN) {
		const char *why = la->error_string(a);
		buf_addf(out, n ? "[%zu entries, then it cannot be read: " : "[it cannot be read as an archive: ", n);
		utf8_name(out, why ? why : "?", why ? strlen(why) : 1, NAME_MOST);
		buf_adds(out, "]\n");
	} else if (rc != LIBARCHIVE_EOF) {
		buf_addf(out, "[more than %zu entries, the first %zu are listed]\n", n, shown);
	} else if (shown < n) {
		buf_addf(out, "[%zu entries, the first %zu are listed]\n", n, shown);
	} else {
		buf_addf(out, "[%zu entries]\n", n);
	}
}

static int archive_child(const char *in, size_t in_len, int result_fd)
{
	struct buf out = BUF_INIT(4 * LIST_BYTES);
	struct error e = ERROR_INIT;
	struct libarchive_api la;
	int fd = open(in, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	(void)in_len;
	(void)result_fd;
	if (fd < 0) {
		buf_addf(&out, "[it cannot be opened: %s]\n", strerror(errno));
	} else if (libarchive_api_load(&la, &e)) {
		buf_addf(&out, "[it is not listed: %s]\n", e.msg);
	} else {
		libarchive_utf8_names();
		libarchive_limit_memory();
		struct archive *a = la.read_new();
		if (a)
			list_entries(&la, a, fd, &out);
		if (a)
			la.read_free(a);
	}
	if (fd >= 0)
		close(fd);
	int rc = io_write_all(1, buf_str(&out), out.len);
	buf_release(&out);
	return rc ? 1 : 0;
}

const struct child_call archive_child_call = { "archive", archive_child };

/* ---- the run's side ---- */

struct listing {
	bool done;
	struct buf *out;
};

static void on_done(void *ctx, int id, struct child_result *res)
{
	struct listing *l = ctx;

	(void)id;
	l->done = true;
	buf_add(l->out, buf_str(&res->out.head), res->out.head.len);
	if (res->timed_out)
		buf_adds(l->out, "[it takes too long to look into it]\n");
	else if (res->error || !res->exited || res->status)
		buf_adds(l->out, "[it could not be looked into to its end]\n");
}

int archive_list(const struct archive_wait *wait, const char *path, struct buf *out, struct error *e)
{
	static const char *const no_env[] = { NULL };
	struct listing l = { false, out };
	const struct spawn spec = { .call = archive_child_call.name,
		                    .envp = no_env,
		                    .cwd_fd = -1,
		                    .input = path,
		                    .input_len = strlen(path),
		                    .keep_head = 4 * LIST_BYTES,
		                    .timeout_ms = CHILD_MS };
	int id = supervisor_spawn(wait->supervisor, &spec, on_done, &l, e), rc = id > 0 ? 0 : -1;
	bool ended = false;

	while (rc == 0 && !l.done) { /* to its end in any case: on_done must find l */
		if (!ended && (*wait->stop || clock_mono_ms() >= wait->deadline)) {
			supervisor_kill(wait->supervisor, id, 0);
			ended = true;
		}
		if (reactor_wait(wait->reactor, ended ? CLOCK_NEVER : wait->deadline, e) < 0)
			rc = -1;
		else if (!l.done && supervisor_lost(wait->supervisor))
			rc = error_set(e, ERR_GONE, "the supervisor process is lost");
	}
	if (rc == 0 && ended)
		rc = error_set(e, ERR_GONE, "the run ended while '%s' was looked into", path);
	return rc;
}
