#include "base/libarchive_read.h"

#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define READ_BLOCK  65536
#define MEMORY_MOST ((rlim_t)1 << 30)

int libarchive_read_fd(const struct libarchive_api *la, struct archive *a, int fd)
{
	la->read_support_filter_gzip(a);
	la->read_support_filter_bzip2(a);
	la->read_support_filter_xz(a);
	la->read_support_filter_zstd(a);
	la->read_support_filter_lz4(a);
	la->read_support_filter_lzma(a);
	la->read_support_filter_lzip(a);
	la->read_support_filter_compress(a);
	la->read_support_format_tar(a);
	la->read_support_format_zip(a);
	la->read_support_format_7zip(a);
	la->read_set_options(a, "hdrcharset=BINARY");
	return la->read_open_fd(a, fd, READ_BLOCK);
}

void libarchive_utf8_names(void)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);

	if (utf8)
		(void)uselocale(utf8);
}

/* Relative to what is mapped already, which some builds have much of. */
void libarchive_limit_memory(void)
{
	struct rlimit r;
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	unsigned long long pages;

	if (fd >= 0 && read(fd, text, sizeof text - 1) > 0 && (pages = strtoull(text, NULL, 10)) > 0 &&
	    getrlimit(RLIMIT_AS, &r) == 0) {
		rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_MOST;
		if (r.rlim_max == RLIM_INFINITY || most < r.rlim_max)
			r.rlim_cur = r.rlim_max = most;
		(void)setrlimit(RLIMIT_AS, &r);
	}
	if (fd >= 0)
		close(fd);
}
