/*
 * What a child may touch, enforced by the kernel: Landlock for files, seccomp for system calls.
 *
 * Writing: only beneath the writable places, /dev/null, /dev/zero, /dev/full and /dev/tty. Reading: everything but the
 * hidden places and the other devices. Landlock can only grant, so what stands beside a hidden place is granted entry
 * by entry, all along its path: what is made there later, outside the writable places, is not readable. Names can be
 * listed everywhere, and metadata (stat, chmod, utimes) are not covered. Network: no socket but socketpair's; with it,
 * the internet families alone, since services behind local sockets would act outside for whoever asks.
 *
 * Life cycle: sandbox_open (looks at the kernel and the places) -> in the process that starts children:
 * sandbox_prepare [-> sandbox_share] -> in each child: sandbox_enter; in the end sandbox_free.
 */
#ifndef QUERN_GUARD_SANDBOX_H
#define QUERN_GUARD_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

enum sandbox_mode {
	SANDBOX_WORKSPACE_WRITE,
	SANDBOX_READ_ONLY, /* nothing but what sandbox_add_writable adds */
	SANDBOX_OFF
};

/* Lists are NULL terminated, or NULL. All is copied. */
struct sandbox_config {
	enum sandbox_mode mode;
	const char *const *roots; /* workspace, added directories: absolute, real */
	const char *const *write; /* further writable files and directories, as the user wrote them: absolute, or ~ */
	const char *const *read_deny; /* to be hidden beside the default secret places, likewise; may be missing yet */
	const char *key_file;         /* hidden too if it lies in no writable place; NULL = none */
	const char *home;             /* "~" and where the default secret places are; NULL = not known */
	const char *account_home; /* the system's own entry for the user: secret places are there too; NULL likewise */
	bool network;
	bool best_effort; /* a hidden place inside a writable one is passed over */
	int max_abi;      /* 0: Landlock as new as the kernel has it; tests: no newer */
};

struct sandbox;
/* NULL with *e: ERR_INPUT for a place that cannot be used, or that cannot be hidden. */
struct sandbox *sandbox_open(const struct sandbox_config *cfg, struct error *e);
void sandbox_free(struct sandbox *s);
/* A directory made meanwhile that children may read, or write in every mode (their TMPDIR), wherever it lies; before
 * sandbox_prepare. -1: no memory. */
int sandbox_add_readable(struct sandbox *s, const char *dir);
int sandbox_add_writable(struct sandbox *s, const char *dir);

/* The places where children can write, absolute and real; NULL terminated, the sandbox's. Without one: none are named,
 * since they can write wherever the user can. */
const char *const *sandbox_writable(const struct sandbox *s);

/* What holds, as words; NULL terminated, static. Nothing is missing in mode off. */
enum { SANDBOX_WORDS = 8 };
void sandbox_enforced(const struct sandbox *s, const char *words[SANDBOX_WORDS]);
void sandbox_missing(const struct sandbox *s, const char *words[SANDBOX_WORDS]);
/* True if the mode is not off and the kernel enforces all of it. */
bool sandbox_is_whole(const struct sandbox *s);
enum sandbox_mode sandbox_mode(const struct sandbox *s);
const char *sandbox_mode_name(enum sandbox_mode mode);
int sandbox_abi(const struct sandbox *s); /* of Landlock, as it is used; 0 = none */
/* For --check: lines that begin with '#'. */
void sandbox_describe(const struct sandbox *s, struct buf *out);
/* For the model, so that it does not try in ten ways what the kernel refuses in each: sentences on what commands cannot
 * do. Only what holds is told, so nothing in mode off. What sandbox_add_writable added is not named. */
void sandbox_tell(const struct sandbox *s, struct buf *out);

/* Processes that no child may signal; 0 = none. */
enum { SANDBOX_SHIELDED = 3 };
struct sandbox_shield {
	pid_t pid[SANDBOX_SHIELDED];
};

/* Makes what sandbox_enter needs, once, in the process that starts the children; its descriptors are close-on-exec.
 * -1 with errno. */
int sandbox_prepare(struct sandbox *s, bool network, const struct sandbox_shield *shield);
/* In the same process, prepared and without a child: confines its signals, and by inheritance those of all children to
 * come, to itself and them. They can then signal each other, as a command does that ends a server which an earlier one
 * began; without it each could signal only what it started itself. Nothing where the kernel has no such limit (before
 * Landlock ABI 6: what the filter shields is safe all the same). New privileges are over for this process. -1 with
 * errno. */
int sandbox_share(struct sandbox *s);
/* In the child: puts it on, for good. Async-signal-safe, changes nothing in memory. -1 with errno. */
int sandbox_enter(const struct sandbox *s, bool network);

/*
 * The loop process's own limits, once it is set up: it executes nothing and writes only beneath `write`; of `parents`
 * it may remove empty directories. Reading and the network stay. All or nothing where the kernel can, else nothing.
 * Returns 1: it holds, 0: the kernel cannot, -1 with *e.
 */
int sandbox_confine_self(const char *const *write, const char *const *parents, struct error *e);
/* What a call may do by name in an open directory and beneath. */
enum sandbox_reach {
	REACH_READ,
	REACH_WRITE,  /* and read */
	REACH_FILES,  /* make files, rename and remove them, and write, but not read */
	REACH_NAMES,  /* make empty files, rename and remove them: what is written was opened before */
	REACH_REMOVE, /* remove directories that are empty */
};
struct sandbox_place {
	int fd; /* negative: none */
	enum sandbox_reach reach;
};
/* A call's own limits, in a child that has opened what else it needs: of all names it has those in these places alone,
 * it executes nothing, has no sockets and signals none of ours. What is put on a second time holds beside the first.
 * Returns as the above. */
int sandbox_confine_call(const struct sandbox_place *places, size_t n, struct error *e);
/* Would the first limit writing? */
bool sandbox_can_confine_self(void);

#endif
