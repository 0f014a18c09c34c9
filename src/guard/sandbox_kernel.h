/* Inside this room: the kernel's interfaces behind the sandbox. */
#ifndef QUERN_GUARD_SANDBOX_KERNEL_H
#define QUERN_GUARD_SANDBOX_KERNEL_H

#include <linux/filter.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guard/sandbox.h"

/* What Debian 12's headers do not have yet. */
#define ACCESS_TRUNCATE  (UINT64_C(1) << 14) /* ABI 3 */
#define ACCESS_IOCTL_DEV (UINT64_C(1) << 15) /* ABI 5 */
#define ACCESS_NET_TCP   UINT64_C(3)         /* bind and connect, ABI 4 */
#define SCOPE_ABSTRACT   UINT64_C(1)         /* ABI 6 */
#define SCOPE_SIGNAL     UINT64_C(2)
#define ABI_NEEDED       2 /* with less, nothing can be moved between directories */
#define ABI_TRUNCATE     3
#define ABI_SCOPES       6

#define ACCESS_READ (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ACCESS_CHANGE                                                                                                  \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |              \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |                    \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER | ACCESS_TRUNCATE)
#define ACCESS_DEVICES (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)
/* What a rule on a file may name. */
#define ACCESS_OF_FILE                                                                                                 \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | ACCESS_TRUNCATE | \
	 ACCESS_IOCTL_DEV)

/* A ruleset in the making. */
struct ruleset {
	int fd;
	uint64_t handled; /* rights that are taken away unless a rule gives them */
	size_t rules;
};

int landlock_abi(void); /* 0 = the kernel has none, or it is off */
/* Opens a ruleset that handles those of `rights` which the ABI knows. -1 with errno. */
int ruleset_open(struct ruleset *r, int abi, uint64_t rights, bool deny_net, bool scoped);
/* Grants `rights` on the file behind fd and, for a directory, all beneath. 0, or -1 with errno: E2BIG for a rule too
 * many. */
int ruleset_grant(struct ruleset *r, int fd, uint64_t rights);
/* The same by name; a name that is not there, or is a link, is passed over. */
int ruleset_grant_path(struct ruleset *r, const char *path, uint64_t rights);
/* Read access to all but the hidden places (absolute, real paths), and to no device. -1 with errno. */
int ruleset_grant_reading(struct ruleset *r, const char *const *hidden);
int ruleset_enter(int fd); /* async-signal-safe; -1 with errno */

/* ---- seccomp ---- */

struct filter {
	struct sock_filter *insns; /* owned */
	size_t n;
};

struct filter_options {
	bool network;  /* sockets of the internet */
	bool loop;     /* for the loop process: nothing may be executed; the network and signals stay */
	bool landlock; /* Landlock keeps tracers apart, so that debuggers may work inside */
	bool truncate; /* Landlock knows truncation */
	const struct sandbox_shield *shield; /* NULL = nobody */
};

bool filter_possible(void); /* the kernel has seccomp filters, and we know its system calls on this machine */
int filter_make(struct filter *f, const struct filter_options *o); /* -1 with errno */
int filter_enter(const struct filter *f);                          /* async-signal-safe; -1 with errno */
void filter_release(struct filter *f);

#endif
