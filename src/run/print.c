/* What is printed without a run: help, version, schemas, the check of a job. */
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config.h"
#include "model/catalog.h"
#include "model/model.h"
#include "record/event.h"
#include "record/reason.h"
#include "run/world.h"

static void print_help(const struct job *job, struct buf *out)
{
	(void)job;
	job_print_help(out);
	buf_adds(out, "\nExit codes:\n");
	reason_print_exit_codes(out);
}

static void print_version(const struct job *job, struct buf *out)
{
	(void)job;
	buf_adds(out, PACKAGE_NAME " " PACKAGE_VERSION "\n");
}

static void print_schema_job(const struct job *job, struct buf *out)
{
	(void)job;
	job_print_schema(out);
}

static void print_schema_events(const struct job *job, struct buf *out)
{
	(void)job;
	event_print_schema(out);
}

static void print_check(const struct job *job, struct buf *out)
{
	const struct catalog_row *row = catalog_find(job->model);

	job_print_check(job, out);
	if (row)
		buf_addf(out, "# catalog: window %lld tokens, at most %lld output tokens, price known\n",
		         (long long)row->window, (long long)row->max_output);
	else
		buf_addf(out, "# catalog: the model is not in it: its window is not known, its price is %s\n",
		         job->price.input < 0 ? "not known" : "the job's");
}

static void (*const printers[])(const struct job *job, struct buf *out) = {
	[ACTION_HELP] = print_help,
	[ACTION_VERSION] = print_version,
	[ACTION_SCHEMA_JOB] = print_schema_job,
	[ACTION_SCHEMA_EVENTS] = print_schema_events,
	[ACTION_CHECK] = print_check,
};

static int print(const struct job *job, const struct buf *notes)
{
	struct buf out = BUF_INIT((size_t)4 << 20);
	struct error e = ERROR_INIT;

	printers[job->action](job, &out);
	buf_adds(&out, buf_str(notes));
	int rc = buf_check(&out, "the text", &e) || out_print(buf_str(&out), out.len, &e);
	if (rc)
		log_error("%s", e.msg);
	buf_release(&out);
	return rc ? terminal_exit_code(TERM_INTERNAL_ERROR, false) : 0;
}

int run_job(struct job *job, char **envp)
{
	log_set_level(job->quiet ? LOG_QUIET : job->verbose ? LOG_VERBOSE : LOG_NORMAL);
	for (const char *const *line = job->warnings; *line; line++)
		log_warn("%s", *line);
	if (job->action == ACTION_RUN)
		return run_agent(job, envp);
	struct buf notes = BUF_INIT((size_t)1 << 20);
	struct error e = ERROR_INIT;
	int rc = job->action == ACTION_CHECK ? run_check(job, &notes, &e) : 0;
	int code = rc && !notes.len ? 0 : print(job, &notes);
	if (rc && code == 0) {
		log_error("%s", e.msg);
		code = terminal_exit_code(TERM_SETUP_FAILED, false);
	}
	buf_release(&notes);
	return code;
}

#define MAX_LINES 64

int run_refused(const struct job *job, const struct job_errors *errs)
{
	const char *lines[MAX_LINES];
	size_t n = 0;
	int code = terminal_exit_code(TERM_SETUP_FAILED, false);
	struct world w = { .job = job };
	struct recorder_config rec;
	char *text = strdup(buf_str(&errs->text));

	for (char *line = text; line && *line && n < MAX_LINES;) {
		char *end = strchr(line, '\n');
		if (end)
			*end = '\0';
		log_error("%s", line);
		lines[n++] = line;
		line = end ? end + 1 : NULL;
	}
	if (job->output_format_known && job->action == ACTION_RUN) {
		world_new_id(&w, w.session_id);
		world_fill_recorder(&w, &rec);
		recorder_startup_failure(&rec, TERM_SETUP_FAILED, code, "config_invalid", lines, n,
		                         world_drain_deadline(&w));
	}
	free(text);
	return code;
}
