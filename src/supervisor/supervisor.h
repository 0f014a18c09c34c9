/*
 * The second process. It starts every child of the program, each in its own process group with
 * no inherited descriptors, stdin from /dev/null, default signals and an empty signal mask; it is
 * the child subreaper, has no key and no network, and ends all that is left when the loop process
 * goes away (end of file on the socket: without a grace) or asks it to.
 *
 * Loop side life cycle: supervisor_start -> supervisor_spawn... -> supervisor_stop.
 * One child: spawn (id) -> [supervisor_kill] -> on_done exactly once, also for a child that could
 * not be started (child_result.error tells why) -> the id is gone.
 */
#ifndef QUERN_SUPERVISOR_SUPERVISOR_H
#define QUERN_SUPERVISOR_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/reactor.h"

struct supervisor;
struct sandbox;

/* Work that a child does by a C function instead of an exec: runs in the forked child, in the
 * child's cwd. `in` is the request's input bytes, a NUL behind them; what it writes to fd 1 is the child's
 * output, what it writes to result_fd its structured result (-1 without max_result). The standard streams'
 * buffers are not written. Returns the exit status. */
typedef int (*child_fn)(const char *in, size_t in_len, int result_fd);
struct child_call {
	const char *name;
	child_fn fn;
};

/* What a child may touch. The zero value is the safe one. */
enum confinement {
	CONFINE_TOOL,     /* the sandbox of the configuration */
	CONFINE_TOOL_NET, /* the same with the network */
	CONFINE_NONE
};

struct spawn {
	const char *const *argv; /* argv[0] is looked up in the child's PATH; NULL for a call */
	const char *call;        /* name of a registered child_call; NULL for an exec */
	const char *const *envp; /* the child's whole environment */
	int cwd_fd;              /* directory to start in; stays the caller's, -1 = the supervisor's own cwd */
	const char *input;       /* a call's input; for an exec: stdin if not NULL, else /dev/null */
	size_t input_len;
	bool separate_stderr;         /* false: stdout and stderr interleave in `out` */
	size_t keep_head, keep_tail;  /* bytes of output kept in memory at most, rest dropped or spilled */
	size_t max_spill;             /* bytes the spill file may hold */
	size_t max_result;            /* bytes of structured result kept at most (0 = no result channel); an exec
	                               * finds the channel on fd 3 */
	int (*spill_open)(void *ctx); /* called once, when the output outgrows head + tail: a fd that then receives
	                               * all of it (supervisor owns and closes it), or -1; NULL = never spill. A
	                               * separate stderr is not spilled. */
	/* Called as often as more of stdout has come, with all of it so far as long as the head holds it; then no more.
	 * May spawn and kill. NULL = the end is soon enough. Gets the same ctx. */
	void (*heard)(void *ctx, const char *p, size_t n);
	int64_t timeout_ms; /* 0 = none; then TERM to the group, grace_ms, KILL */
	int64_t grace_ms;   /* default 2000 when 0 */
	enum confinement confine;
	bool follow_cwd; /* of an exec: the result tells the directory in which the program ended. One child at a time;
	                  * nothing is followed while another one is, under valgrind, or without /proc */
};

struct output {
	struct buf head, tail; /* tail is empty unless bytes were dropped between them */
	uint64_t total;        /* bytes that came */
	bool spilled;          /* the whole (up to max_spill) is in the spill file */
};

struct child_result {
	const char *error; /* NULL, or why the child could not be started ("cannot execute 'x': ...") */
	bool exited;       /* status is its exit code */
	int status;
	int signal; /* 0, or the signal that ended it */
	bool timed_out;
	bool killed;            /* supervisor_kill was called */
	int too_many;           /* 0, or the supervisor's max_processes, which was exceeded: its whole tree was ended */
	int cwd_fd;             /* O_PATH, where a followed child ended by itself (the directory may be deleted);
	                         * -1 = not known. To keep it, set it to -1 */
	struct output out, err; /* err is empty unless separate_stderr */
	struct buf result;      /* the structured result */
	int64_t duration_ms;
};

typedef void (*child_done)(void *ctx, int id,
                           struct child_result *res); /* res may be emptied, is released afterwards */

#define SUPERVISOR_HELD_MAX 4

struct supervisor_config {
	const struct child_call *calls;
	size_t ncalls;
	int max_children; /* more are refused with an error result; 0 = 64 */
	struct sandbox
	        *sandbox; /* for children that are not CONFINE_NONE; prepared before the first of them; NULL = none */
	/* Children that are CONFINE_NONE will come beside others. Else, where signals are confined, the supervisor
	 * shares that limit with all children from the first confined one on, so that they can signal each other; now
	 * each confined child can signal what it started itself, and no more. */
	bool some_unconfined;
	/* Processes that all children and what is below them may be together; 0 = no limit. Over it the child that has
	 * most of them is ended with its whole tree. */
	int max_processes;
	bool large_files; /* children may write what we may; else a file of 4 GiB at most */
	/* Another one of this process, started before: neither ends the other's children when it is lost, and no
	 * confined child may signal it. NULL = none. */
	struct supervisor *beside;
	/* Descriptors, the caller's, of files that it has locked: open in the supervisor, but in no child, until the
	 * last child is gone, also where the caller is killed. At most SUPERVISOR_HELD_MAX; see supervisor_hold. */
	const int *held;
	size_t nheld;
	/* Called in the new process before all else, NULL = not: overwrites what only the caller may know. */
	void (*forget)(void *ctx);
	void *ctx;
};

/* Forks the supervisor. Must happen before libcurl is loaded and after the key left the environment. The caller
 * becomes a child subreaper, so that it can end what is left if the supervisor is killed. */
struct supervisor *supervisor_start(const struct supervisor_config *cfg, struct reactor *r, struct error *e);
/* Starts a child; returns its id (> 0) or -1. on_done runs inside reactor_wait, with ctx; spill_open gets the same ctx.
 */
int supervisor_spawn(struct supervisor *s, const struct spawn *spec, child_done on_done, void *ctx, struct error *e);
/* TERM to the child's group, KILL after grace_ms (0 = KILL at once). on_done still comes. */
void supervisor_kill(struct supervisor *s, int id, int64_t grace_ms);
/* Stop reading children's output (back-pressure from stdout) or go on. */
void supervisor_pause(struct supervisor *s, bool on);
/* Ends everything alive (TERM, grace, KILL), waits for it at most grace + 3 s, reaps the supervisor, frees s.
 * on_done and spill_open are not called any more. Not from inside a callback of the reactor, since it waits.
 * 0, or -1 if something could not be ended. NULL is fine. */
int supervisor_stop(struct supervisor *s, int64_t grace_ms);
/* One more of the descriptors that are held: the caller's own stays its own. -1 with *e. */
int supervisor_hold(struct supervisor *s, int fd, struct error *e);
/* From a callback of the reactor while supervisor_stop waits: the rest of the grace is skipped. */
void supervisor_hurry(struct supervisor *s);
/* True once the supervisor process is lost (the run ends with internal_error). */
bool supervisor_lost(const struct supervisor *s);
int supervisor_pid(const struct supervisor *s);

#endif
