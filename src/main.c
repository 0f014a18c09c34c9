/* argv -> job -> run -> exit status. */
#include "base/io.h"
#include "base/log.h"
#include "job/job.h"
#include "run/run.h"

extern char **environ;

int main(int argc, char *argv[])
{
	struct job job;
	struct job_errors errs = { BUF_INIT((size_t)1 << 20), 0 };
	int code;

	/* a closed stdout must not become the number of a socket */
	if (io_ensure_std_fds()) {
		log_error("a standard descriptor is closed and /dev/null cannot take its place");
		return 1;
	}
	if (job_parse_replay(&job, argc, argv, (const char *const *)environ, run_recorded_job, &errs))
		code = run_refused(&job, &errs);
	else
		code = run_job(&job, environ);
	job_release(&job);
	buf_release(&errs.text);
	return code;
}
