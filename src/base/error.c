#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Cuts a text that vsnprintf may have cut inside a character back to a border. */
static void trim_partial(char *msg)
{
	size_t n = strlen(msg);
	size_t back = 0;

	while (back < 3 && back < n && ((unsigned char)msg[n - 1 - back] & 0xC0) == 0x80)
		back++;
	if (back == n)
		return;
	unsigned char lead = (unsigned char)msg[n - 1 - back];
	size_t want = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
	if (lead >= 0xC0 && back < want)
		msg[n - 1 - back] = '\0';
}

static void vset(struct error *e, enum error_code code, const char *fmt, va_list ap)
{
	e->code = code;
	vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	trim_partial(e->msg);
}

int error_set(struct error *e, enum error_code code, const char *fmt, ...)
{
	if (e) {
		va_list ap;
		va_start(ap, fmt);
		vset(e, code, fmt, ap);
		va_end(ap);
	}
	return -1;
}

int error_sys(struct error *e, const char *fmt, ...)
{
	int saved = errno;

	if (e) {
		va_list ap;
		va_start(ap, fmt);
		vset(e, saved == ENOMEM ? ERR_NOMEM : ERR_SYS, fmt, ap);
		va_end(ap);
		size_t n = strlen(e->msg);
		snprintf(e->msg + n, sizeof e->msg - n, ": %s", strerror(saved));
	}
	errno = saved;
	return -1;
}

int error_nomem(struct error *e)
{
	return error_set(e, ERR_NOMEM, "out of memory");
}

int error_prefix(struct error *e, const char *fmt, ...)
{
	if (e) {
		char old[sizeof e->msg];
		va_list ap;

		memcpy(old, e->msg, sizeof old);
		va_start(ap, fmt);
		vset(e, e->code, fmt, ap);
		va_end(ap);
		size_t n = strlen(e->msg);
		snprintf(e->msg + n, sizeof e->msg - n, ": %s", old);
		trim_partial(e->msg);
	}
	return -1;
}
