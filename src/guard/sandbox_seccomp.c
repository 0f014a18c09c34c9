/*
 * The system call filter. Calls are allowed unless a row refuses them: the rows are the whole policy. Only what a
 * program could use to get around the rest is refused, not all that is rare, so that builds, tests and debuggers work.
 *
 * The program looks the call up in a binary tree: the kernel runs it for each of its some 460 numbers when it is put
 * on, which is most of its price.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guard/sandbox_kernel.h"

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__i386__)
#define OUR_ARCH AUDIT_ARCH_I386
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#elif defined(__arm__) && defined(__ARM_EABI__) && !defined(__ARMEB__)
#define OUR_ARCH AUDIT_ARCH_ARM
#elif defined(__riscv) && __riscv_xlen == 64
#define OUR_ARCH AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define OUR_ARCH AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define OUR_ARCH AUDIT_ARCH_S390X
#else
#define OUR_ARCH 0 /* such a machine has no filter, and says so */
#endif

#ifdef __x86_64__
#define FOREIGN_CALLS 0x40000000 /* those of x32 come with our architecture's name */
#endif

/* The kernel looks at the low half of what these arguments are: so must we, the other half is the caller's to choose.
 */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define ARG_AT(i) ((uint32_t)(offsetof(struct seccomp_data, args) + 8 * (i) + 4))
#else
#define ARG_AT(i) ((uint32_t)(offsetof(struct seccomp_data, args) + 8 * (i)))
#endif

#ifdef __s390x__
#define CLONE_FLAGS_ARG 1
#else
#define CLONE_FLAGS_ARG 0
#endif

/* Numbers that every architecture shares, for headers that are older than the kernel. */
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif

/* Who a row is for. */
enum {
	TOOL = 1,
	LOOP = 2,
	ALL = TOOL | LOOP,
	NO_NET = 4,       /* a tool without the network */
	NET = 8,          /* a tool with it */
	NO_LANDLOCK = 16, /* a tool where Landlock does not keep tracers apart */
	NO_TRUNCATE = 32  /* a tool where Landlock does not know truncation */
};

enum test {
	ALWAYS,
	EQUAL,   /* argument == value */
	MASK,    /* argument & mask == value */
	ANY_BIT, /* argument & value */
	OTHER,   /* the argument is none of list */
	SHIELDED /* the argument names a process that is not to be signalled, its group, or everybody */
};

/* Small: there are many. */
struct deny {
	int16_t nr;
	uint8_t who;
	uint8_t error; /* errno; ENOSYS where programs know how to do without */
	uint8_t test;  /* enum test */
	uint8_t arg;
	bool if_first; /* only if argument 1 is `value` */
	uint32_t value;
	uint32_t mask;
	const uint32_t *list; /* of OTHER, behind its own length */
};

static const uint32_t internet[] = { 3, AF_INET, AF_INET6, AF_NETLINK }; /* the last one to ask for addresses */
static const uint32_t local_family[] = { 1, AF_UNIX };
static const uint32_t own_process[] = { 1, 0 };
static const uint32_t one_process[] = { 1, PRIO_PROCESS };
static const uint32_t one_process_io[] = { 1, 1 }; /* IOPRIO_WHO_PROCESS: no header of libc's has it */
/* As it is, ask, and without address randomisation (debuggers). */
static const uint32_t personalities[] = { 3, 0, 0xffffffff, 0x0040000 };

#define SOCKET_TYPE 15 /* SOCK_TYPE_MASK of the kernel: the rest of the argument are flags */

#define NAMESPACES                                                                                                     \
	((uint32_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |       \
	            CLONE_NEWNET))
#define NEW_TIME 0x80 /* CLONE_NEWTIME: of unshare, part of the signal number in clone */

#define ASK_STDIN 0x5412 /* TIOCSTI: types into a terminal */
#define ASK_LINUX 0x541c /* TIOCLINUX: pastes into one */
#define ASK_OWNER 0x8901 /* FIOSETOWN: who gets a socket's signals */
#define ASK_GROUP 0x8902 /* SIOCSPGRP: the same */

#define REFUSE(call, for_whom, with)                                                                                   \
	{                                                                                                              \
		.nr = SYS_##call, .who = (for_whom), .error = (with), .test = ALWAYS                                   \
	}
#define REFUSE_IF(call, for_whom, with, ...)                                                                           \
	{                                                                                                              \
		.nr = SYS_##call, .who = (for_whom), .error = (with), __VA_ARGS__                                      \
	}
#define SHIELD_ARG(call, n)                                                                                            \
	{                                                                                                              \
		.nr = SYS_##call, .who = TOOL, .error = EPERM, .test = SHIELDED, .arg = (n)                            \
	}
#define SHIELD(call) SHIELD_ARG(call, 0)

static const struct deny policy[] = {
	/* the network */
	REFUSE(socket, NO_NET, EPERM),
	REFUSE_IF(socket, NET, EPERM, .test = OTHER, .arg = 0, .list = internet),
#ifdef SYS_socketcall
	REFUSE(socketcall, NO_NET, EPERM), /* what it does lies in memory */
#endif

	/* a pair's datagram half could still send to any local socket that has a name; a stream is bound to its peer */
	REFUSE_IF(socketpair, TOOL, EPERM, .test = OTHER, .arg = 0, .list = local_family),
	REFUSE_IF(socketpair, TOOL, EPERM, .test = MASK, .arg = 1, .value = SOCK_DGRAM, .mask = SOCKET_TYPE),
	REFUSE_IF(socketpair, TOOL, EPERM, .test = MASK, .arg = 1, .value = SOCK_RAW, .mask = SOCKET_TYPE),

	/* another way to make calls */
	REFUSE(io_uring_setup, ALL, ENOSYS),
	REFUSE(io_uring_enter, ALL, ENOSYS),
	REFUSE(io_uring_register, ALL, ENOSYS),

	/* the run's own processes are not to be signalled, in whatever way */
	SHIELD(kill),
	SHIELD(tkill),
	SHIELD(tgkill),
	SHIELD(rt_sigqueueinfo),
	SHIELD(rt_tgsigqueueinfo),
	SHIELD(pidfd_open),
	REFUSE(pidfd_send_signal, TOOL, ENOSYS), /* takes a directory of /proc as well */
	REFUSE(pidfd_getfd, ALL, EPERM),
	REFUSE_IF(prlimit64, TOOL, EPERM, .test = OTHER, .arg = 0, .list = own_process),

	/* nor slowed down: rank, processors, memory */
	REFUSE_IF(setpriority, TOOL, EPERM, .test = OTHER, .arg = 0, .list = one_process),
	SHIELD_ARG(setpriority, 1),
	REFUSE_IF(ioprio_set, TOOL, EPERM, .test = OTHER, .arg = 0, .list = one_process_io),
	SHIELD_ARG(ioprio_set, 1),
	SHIELD(sched_setscheduler),
	SHIELD(sched_setparam),
	SHIELD(sched_setattr),
	SHIELD(sched_setaffinity),
	SHIELD(migrate_pages),
	SHIELD(move_pages),

	/* nor by way of a descriptor's owner */
	REFUSE_IF(fcntl, TOOL, EPERM, .test = SHIELDED, .arg = 2, .if_first = true, .value = F_SETOWN),
	REFUSE_IF(fcntl, TOOL, EPERM, .test = EQUAL, .arg = 1, .value = F_SETOWN_EX), /* whom lies in memory */
	REFUSE_IF(fcntl, TOOL, EPERM, .test = EQUAL, .arg = 1, .value = F_SETSIG),
#ifdef SYS_fcntl64
	REFUSE_IF(fcntl64, TOOL, EPERM, .test = SHIELDED, .arg = 2, .if_first = true, .value = F_SETOWN),
	REFUSE_IF(fcntl64, TOOL, EPERM, .test = EQUAL, .arg = 1, .value = F_SETOWN_EX),
	REFUSE_IF(fcntl64, TOOL, EPERM, .test = EQUAL, .arg = 1, .value = F_SETSIG),
#endif
	REFUSE_IF(ioctl, TOOL, EPERM, .test = EQUAL, .arg = 1, .value = ASK_OWNER),
	REFUSE_IF(ioctl, TOOL, EPERM, .test = EQUAL, .arg = 1, .value = ASK_GROUP),

	/* somebody else's terminal */
	REFUSE_IF(ioctl, TOOL, EPERM, .test = EQUAL, .arg = 1, .value = ASK_STDIN),
	REFUSE_IF(ioctl, TOOL, EPERM, .test = EQUAL, .arg = 1, .value = ASK_LINUX),

	/* other processes' memory; Landlock lets nobody at what it does not confine alike */
	REFUSE(ptrace, NO_LANDLOCK, EPERM),
	REFUSE(process_vm_readv, NO_LANDLOCK, EPERM),
	REFUSE(process_vm_writev, NO_LANDLOCK, EPERM),
	REFUSE(kcmp, NO_LANDLOCK, EPERM),

	/* namespaces give capabilities that were taken, and other names to hidden files */
	REFUSE_IF(clone, ALL, EPERM, .test = ANY_BIT, .arg = CLONE_FLAGS_ARG, .value = NAMESPACES),
	REFUSE(clone3, ALL, ENOSYS), /* its flags lie in memory: libc takes clone instead */
	REFUSE_IF(unshare, ALL, EPERM, .test = ANY_BIT, .arg = 0, .value = NAMESPACES | NEW_TIME),
	REFUSE(setns, ALL, EPERM),
	REFUSE(mount, ALL, EPERM),
	REFUSE(umount2, ALL, EPERM),
#ifdef SYS_umount
	REFUSE(umount, ALL, EPERM),
#endif
	REFUSE(pivot_root, ALL, EPERM),
	REFUSE(open_tree, ALL, EPERM),
	REFUSE(open_tree_attr, ALL, EPERM),
	REFUSE(move_mount, ALL, EPERM),
	REFUSE(fsopen, ALL, EPERM),
	REFUSE(fsconfig, ALL, EPERM),
	REFUSE(fsmount, ALL, EPERM),
	REFUSE(fspick, ALL, EPERM),
	REFUSE(mount_setattr, ALL, EPERM),
	REFUSE(open_by_handle_at, ALL, EPERM), /* opens without a path */

	/* where Landlock cannot see that a file is cut */
	REFUSE(truncate, NO_TRUNCATE, EPERM),
#ifdef SYS_truncate64
	REFUSE(truncate64, NO_TRUNCATE, EPERM),
#endif
#ifdef SYS_open
	REFUSE_IF(open, NO_TRUNCATE, EPERM, .test = MASK, .arg = 1, .value = O_TRUNC, .mask = O_TRUNC | O_ACCMODE),
	REFUSE_IF(open, NO_TRUNCATE, EPERM, .test = MASK, .arg = 1, .value = O_TRUNC | O_ACCMODE,
	          .mask = O_TRUNC | O_ACCMODE),
#endif
	REFUSE_IF(openat, NO_TRUNCATE, EPERM, .test = MASK, .arg = 2, .value = O_TRUNC, .mask = O_TRUNC | O_ACCMODE),
	REFUSE_IF(openat, NO_TRUNCATE, EPERM, .test = MASK, .arg = 2, .value = O_TRUNC | O_ACCMODE,
	          .mask = O_TRUNC | O_ACCMODE),
	REFUSE(openat2, NO_TRUNCATE, ENOSYS), /* its flags lie in memory */

	/* the kernel's own settings, and the doors that most holes in it were found behind */
	REFUSE(acct, ALL, EPERM),
	REFUSE(add_key, ALL, EPERM),
	REFUSE(bpf, ALL, EPERM),
	REFUSE(clock_adjtime, ALL, EPERM),
	REFUSE(clock_settime, ALL, EPERM),
	REFUSE(delete_module, ALL, EPERM),
	REFUSE(fanotify_init, ALL, EPERM),
	REFUSE(finit_module, ALL, EPERM),
	REFUSE(init_module, ALL, EPERM),
#ifdef SYS_ioperm
	REFUSE(ioperm, ALL, EPERM),
#endif
#ifdef SYS_iopl
	REFUSE(iopl, ALL, EPERM),
#endif
#ifdef SYS_kexec_file_load
	REFUSE(kexec_file_load, ALL, EPERM),
#endif
	REFUSE(kexec_load, ALL, EPERM),
	REFUSE(keyctl, ALL, EPERM),
	REFUSE(perf_event_open, ALL, EPERM),
	REFUSE_IF(personality, ALL, EPERM, .test = OTHER, .arg = 0, .list = personalities),
	REFUSE(quotactl, ALL, EPERM),
	REFUSE(quotactl_fd, ALL, EPERM),
	REFUSE(reboot, ALL, EPERM),
	REFUSE(request_key, ALL, EPERM),
	REFUSE(setdomainname, ALL, EPERM),
	REFUSE(sethostname, ALL, EPERM),
	REFUSE(settimeofday, ALL, EPERM),
	REFUSE(swapoff, ALL, EPERM),
	REFUSE(swapon, ALL, EPERM),
	REFUSE(syslog, ALL, EPERM),
	REFUSE(userfaultfd, ALL, EPERM),
	REFUSE(vhangup, ALL, EPERM),

	/* the loop process starts nothing */
	REFUSE(execve, LOOP, EPERM),
	REFUSE(execveat, LOOP, EPERM),
};

#define ROWS      (sizeof policy / sizeof *policy)
#define INSNS_MAX 2048 /* the kernel takes 4096 */

/* ---- the program ---- */

struct builder {
	struct sock_filter *insns;
	size_t n;
	bool full;
	const struct deny *rows[ROWS]; /* those that apply, by number */
	size_t nrows;
	uint32_t shielded[4 * SANDBOX_SHIELDED + 1];
	size_t nshielded;
};

static void emit(struct builder *b, unsigned code, uint32_t k, unsigned jt, unsigned jf)
{
	if (b->n == INSNS_MAX || jt > 255 || jf > 255) {
		b->full = true;
		return;
	}
	b->insns[b->n++] = (struct sock_filter){ (uint16_t)code, (uint8_t)jt, (uint8_t)jf, k };
}

static void load(struct builder *b, uint32_t offset)
{
	emit(b, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void give(struct builder *b, uint32_t action)
{
	emit(b, BPF_RET | BPF_K, action, 0, 0);
}

/* A test whose last comparison falls through if the row refuses, and jumps `over` instructions behind it if not. */
static void emit_test(struct builder *b, const struct deny *d)
{
	const unsigned eq = BPF_JMP | BPF_JEQ | BPF_K, over = 1; /* the refusal */

	if (d->test == ALWAYS)
		return;
	load(b, ARG_AT(d->arg));
	switch (d->test) {
	case EQUAL:
		emit(b, eq, d->value, 0, over);
		break;
	case MASK:
		emit(b, BPF_ALU | BPF_AND | BPF_K, d->mask, 0, 0);
		emit(b, eq, d->value, 0, over);
		break;
	case ANY_BIT:
		emit(b, BPF_JMP | BPF_JSET | BPF_K, d->value, 0, over);
		break;
	case OTHER:
		for (uint32_t i = 1; i <= d->list[0]; i++)
			emit(b, eq, d->list[i], d->list[0] - i + over, 0);
		break;
	case SHIELDED:
		for (size_t i = 0; i < b->nshielded; i++) {
			size_t left = b->nshielded - i - 1;
			emit(b, eq, b->shielded[i], (unsigned)left, left ? 0 : over);
		}
		break;
	case ALWAYS:
		break;
	}
}

/* How many instructions emit_test makes. */
static unsigned test_size(const struct builder *b, const struct deny *d)
{
	switch (d->test) {
	case ALWAYS:
		return 0;
	case MASK:
		return 3;
	case OTHER:
		return 1 + d->list[0];
	case SHIELDED:
		return 1 + (unsigned)b->nshielded;
	default:
		return 2;
	}
}

/* All rows of one call, one after the other; then it is allowed. */
static void emit_rows(struct builder *b, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		const struct deny *d = b->rows[i];
		if (d->if_first) {
			load(b, ARG_AT(1));
			emit(b, BPF_JMP | BPF_JEQ | BPF_K, d->value, 0, test_size(b, d) + 1);
		}
		emit_test(b, d);
		give(b, SECCOMP_RET_ERRNO | (uint32_t)d->error);
	}
	if (b->rows[end - 1]->test != ALWAYS)
		give(b, SECCOMP_RET_ALLOW);
}

/* The rows of the call in the middle of [lo, hi), or just before it, begin there. */
static size_t middle(const struct builder *b, size_t lo, size_t hi)
{
	size_t mid = lo + (hi - lo) / 2;

	while (mid > lo && b->rows[mid - 1]->nr == b->rows[mid]->nr)
		mid--;
	if (mid > lo)
		return mid;
	while (mid < hi && b->rows[mid]->nr == b->rows[lo]->nr)
		mid++;
	return mid; /* hi: they are all of one call */
}

static void emit_tree(struct builder *b, size_t lo, size_t hi)
{
	size_t mid = middle(b, lo, hi);

	if (mid == hi) {
		emit(b, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)b->rows[lo]->nr, 1, 0);
		give(b, SECCOMP_RET_ALLOW);
		emit_rows(b, lo, hi);
		return;
	}
	emit(b, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)b->rows[mid]->nr, 0, 1);
	size_t jump = b->n;
	emit(b, BPF_JMP | BPF_JA, 0, 0, 0); /* the only jump without a bound on its length */
	emit_tree(b, lo, mid);
	if (!b->full)
		b->insns[jump].k = (uint32_t)(b->n - jump - 1);
	emit_tree(b, mid, hi);
}

static void emit_program(struct builder *b)
{
	load(b, offsetof(struct seccomp_data, arch));
	emit(b, BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0);
	give(b, SECCOMP_RET_KILL_PROCESS); /* its calls have other numbers */
	load(b, offsetof(struct seccomp_data, nr));
#ifdef FOREIGN_CALLS
	emit(b, BPF_JMP | BPF_JGE | BPF_K, FOREIGN_CALLS, 0, 1);
	give(b, SECCOMP_RET_ERRNO | ENOSYS);
#endif
	emit_tree(b, 0, b->nrows);
}

/* ---- which rows, in which order ---- */

static int by_number(const void *a, const void *b)
{
	const struct deny *x = *(const struct deny *const *)a, *y = *(const struct deny *const *)b;

	/* rows of one call keep their order: the table's */
	return x->nr != y->nr ? (x->nr > y->nr) - (x->nr < y->nr) : (x > y) - (x < y);
}

static unsigned who_is(const struct filter_options *o)
{
	if (o->loop)
		return LOOP;
	return TOOL | (o->network ? NET : NO_NET) | (o->landlock ? 0 : NO_LANDLOCK) | (o->truncate ? 0 : NO_TRUNCATE);
}

static void choose_rows(struct builder *b, const struct filter_options *o)
{
	unsigned who = who_is(o);

	for (size_t i = 0; i < ROWS; i++)
		if (policy[i].who & who)
			b->rows[b->nrows++] = &policy[i];
	qsort(b->rows, b->nrows, sizeof b->rows[0], by_number);
}

static void add_shielded(struct builder *b, pid_t pid)
{
	if (pid == 0) /* our own group, or one that cannot be seen from here: neither can it be named */
		return;
	for (size_t i = 0; i < b->nshielded; i++)
		if (b->shielded[i] == (uint32_t)pid)
			return;
	b->shielded[b->nshielded++] = (uint32_t)pid;
}

/* The processes, their groups as kill names them, and all there are. */
static void choose_shielded(struct builder *b, const struct sandbox_shield *shield)
{
	add_shielded(b, -1);
	for (size_t i = 0; shield && i < SANDBOX_SHIELDED; i++) {
		if (shield->pid[i] <= 0)
			continue;
		pid_t group = getpgid(shield->pid[i]);
		add_shielded(b, shield->pid[i]);
		add_shielded(b, -shield->pid[i]);
		add_shielded(b, group > 0 ? -group : 0);
	}
}

int filter_make(struct filter *f, const struct filter_options *o)
{
	struct builder b = { .insns = calloc(INSNS_MAX, sizeof *b.insns) };

	*f = (struct filter){ NULL, 0 };
	if (!b.insns)
		return -1;
	choose_rows(&b, o);
	choose_shielded(&b, o->shield);
	emit_program(&b);
	if (b.full) {
		free(b.insns);
		errno = E2BIG;
		return -1;
	}
	struct sock_filter *tight = realloc(b.insns, b.n * sizeof *b.insns);
	*f = (struct filter){ tight ? tight : b.insns, b.n };
	return 0;
}

void filter_release(struct filter *f)
{
	free(f->insns);
	*f = (struct filter){ NULL, 0 };
}

bool filter_possible(void)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;

	return OUR_ARCH && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0U, &action) == 0;
}

int filter_enter(const struct filter *f)
{
	struct sock_fprog program = { .len = (unsigned short)f->n, .filter = f->insns };

	/* This task alone, not all threads: a child may still share its parent's memory. */
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0U, &program);
}
