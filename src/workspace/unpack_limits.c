/* What an archive is refused for, and how much may come out of it. */
#include "workspace/unpack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

#define SHOWN_NAME  200                /* bytes of a name in an error */
#define RATIO_EVERY ((int64_t)1 << 20) /* bytes between two looks at what was read for them */

int unpack_refuse(struct unpacking *u, const char *what)
{
	struct buf b = BUF_INIT(4096);

	utf8_name(&b, u->name, strlen(u->name), SHOWN_NAME);
	error_set(u->e, ERR_INPUT, "'%s': %s", buf_str(&b), what);
	buf_release(&b);
	return -1;
}

int unpack_refuse_sys(struct unpacking *u)
{
	return unpack_refuse(u, strerror(errno));
}

int unpack_refuse_archive(struct unpacking *u)
{
	const char *why = u->la->error_string(u->a);
	struct buf b = BUF_INIT(4096);

	if (!why)
		why = "no reason is known";
	if (!u->entries)
		buf_adds(&b, "it cannot be read as tar, zip or 7z: ");
	utf8_name(&b, why, strlen(why), SHOWN_NAME);
	if (u->name)
		unpack_refuse(u, buf_str(&b));
	else
		error_set(u->e, ERR_INPUT, "%s", buf_str(&b));
	buf_release(&b);
	return -1;
}

/* ---- limits ---- */

int unpack_count_entry(struct unpacking *u)
{
	if (++u->entries <= u->limits->entries)
		return 0;
	return error_set(u->e, ERR_LIMIT, "more than %lld entries (limits.archive_entries)",
	                 (long long)u->limits->entries);
}

/* How much of the archive was read for what has come out. A zip may have several entries share what it has. */
static int64_t bytes_in(const struct unpacking *u)
{
	off_t at = lseek(u->fd, 0, SEEK_CUR);

	return at >= 0 && at < u->archive_size ? at : u->archive_size;
}

static int refuse_bytes(struct unpacking *u)
{
	return error_set(u->e, ERR_LIMIT, "its files have more than %lld bytes (limits.archive_bytes)",
	                 (long long)u->limits->bytes);
}

static int refuse_ratio(struct unpacking *u, const char *how, int64_t out, int64_t in)
{
	return error_set(u->e, ERR_LIMIT, "it grows to more than %lld times its size: %lld bytes %s of %lld",
	                 (long long)u->limits->ratio, (long long)out, how, (long long)in);
}

int unpack_refuse_large(struct unpacking *u)
{
	char why[96];

	snprintf(why, sizeof why, "a file may have %lld bytes here (ulimit -f), and it has more",
	         (long long)u->file_most);
	return unpack_refuse(u, why);
}

int unpack_count_bytes(struct unpacking *u, int64_t n)
{
	if (n > u->limits->bytes - u->bytes)
		return refuse_bytes(u);
	u->bytes += n;
	if (u->bytes < u->ratio_at)
		return 0;
	u->ratio_at = u->bytes + RATIO_EVERY;
	if (u->bytes / u->limits->ratio <= bytes_in(u))
		return 0;
	return refuse_ratio(u, "came out", u->bytes, bytes_in(u));
}

int unpack_check_size(struct unpacking *u)
{
	const int64_t size = u->la->entry_size_is_set(u->entry) ? u->la->entry_size(u->entry) : 0;

	if (size > u->limits->bytes - u->bytes)
		return refuse_bytes(u);
	if (u->bytes + size >= RATIO_FREE && (u->bytes + size) / u->limits->ratio > u->archive_size)
		return refuse_ratio(u, "are to come out", u->bytes + size, u->archive_size);
	return size > u->file_most ? unpack_refuse_large(u) : 0;
}
