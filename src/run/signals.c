#include "run/world.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static const int ours[] = { SIGTERM, SIGINT, SIGHUP };

bool world_catches(int64_t signo)
{
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (signo == ours[i])
			return true;
	return false;
}

static bool inherited_ignored(int signo)
{
	struct sigaction old;

	return sigaction(signo, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
}

/*
 * TERM always ends the run in order, even if it came blocked or ignored; INT and HUP stay ignored if they were
 * inherited so (nohup, a background job of a shell). A gone reader and a full file limit are errors of the
 * write, not the end of the process; children must be waited for whatever the parent thought of SIGCHLD.
 */
int world_catch_signals(struct world *w, struct error *e)
{
	int caught[sizeof ours / sizeof *ours];
	int n = 0;
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
		if (ours[i] != SIGTERM && inherited_ignored(ours[i]))
			continue;
		signal(ours[i], SIG_DFL);
		sigaddset(&held, ours[i]);
		caught[n++] = ours[i];
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	/* never open in between: one that came blocked and is pending would kill us before it can be taken */
	sigprocmask(SIG_SETMASK, &held, NULL);
	return reactor_signals(w->reactor, caught, n, world_on_signal, w, e);
}

void world_die_by(int signo)
{
	sigset_t others;

	/* The first one that came counts, and the result has named it: those that came behind it stay pending. */
	signal(signo, SIG_DFL);
	sigfillset(&others);
	sigdelset(&others, signo);
	sigprocmask(SIG_SETMASK, &others, NULL);
	kill(getpid(), signo);
	_exit(128 + signo); /* PID 1 of a container does not die of it */
}
