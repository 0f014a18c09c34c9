#include "supervisor/caps.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(cap) ((uint64_t)1 << (cap))

/* Files, and what package managers and archivers need with them: apt unpacks as root, chowns, and steps down
 * to its own user. Changing the user or killing opens nothing here: neither gives a process the right to look
 * into one of root's that is not dumpable. CAP_MKNOD would (a device is the memory), so it is not here. */
static const uint64_t kept = BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER) |
                             BIT(CAP_FSETID) | BIT(CAP_SETFCAP) | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL);

int caps_limit(void)
{
	int rc = 0;

	if (getuid() != 0 && geteuid() != 0)
		return 0;
	for (unsigned long cap = 0; cap < 64; cap++) {
		int there = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);
		if (there < 0)
			break; /* behind the last one this kernel knows */
		if (there && !(kept & BIT(cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			rc = -1;
	}
	return rc;
}

int caps_drop(int no_new_privileges)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (syscall(SYS_capget, &head, data))
		return -1;
	for (int i = 0; i < 2; i++) {
		uint32_t mask = (uint32_t)(kept >> (32 * i));
		data[i].permitted &= mask;
		data[i].effective &= mask;
		data[i].inheritable = 0;
	}
	return (int)syscall(SYS_capset, &head, data);
}
