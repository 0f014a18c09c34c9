/* quern-report: the page about a run. argv -> report/ -> exit status. */
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "config.h"
#include "model/catalog.h"
#include "record/event.h"
#include "report/report.h"

static const char usage[] =
        "usage: quern-report [-o FILE] [RUN]\n"
        "\n"
        "Writes a page (HTML, one file, no network, no script) about the run whose events are in RUN:\n"
        "the lines that quern wrote, or a bundle of --record. Without RUN, or if it is -: stdin.\n"
        "\n"
        "  -o, --output FILE   write there instead of stdout; - is stdout\n"
        "  -h, --help          this text\n"
        "  -V, --version       the version\n"
        "\n"
        "Exit status: 0; 1: it cannot be read or written; 2: wrong options, or RUN holds no events.\n";

struct options {
	const char *output, *run;
};

/* -1: go on. */
static int parse(struct options *o, int argc, char *argv[])
{
	static const struct option longs[] = { { "output", required_argument, NULL, 'o' },
		                               { "help", no_argument, NULL, 'h' },
		                               { "version", no_argument, NULL, 'V' },
		                               { NULL, 0, NULL, 0 } };
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "o:hV", longs, NULL)) != -1) {
		if (c == 'o') {
			o->output = optarg;
		} else if (c == 'h') {
			return out_print(usage, sizeof usage - 1, NULL) ? 1 : 0;
		} else if (c == 'V') {
			static const char text[] = "quern-report " PACKAGE_VERSION "\n";
			return out_print(text, sizeof text - 1, NULL) ? 1 : 0;
		} else {
			log_error("%s: no such option, or its value is missing (quern-report --help)",
			          argv[optind - 1]);
			return 2;
		}
	}
	if (optind + 1 < argc) {
		log_error("one RUN at a time (quern-report --help)");
		return 2;
	}
	o->run = optind < argc ? argv[optind] : "-";
	if (optind == argc && isatty(STDIN_FILENO)) {
		log_error("RUN is missing: give the file with a run's events, or - (quern-report --help)");
		return 2;
	}
	return -1;
}

static int64_t list_price(const char *model, const struct usage *u)
{
	const struct catalog_row *row = catalog_find(model);

	return row ? catalog_cost(row, u) : -1;
}

/* What is no file of its own, a device or a pipe, is written to and stays what it is. */
static int write_through(struct report *r, const char *path, struct error *e)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return error_sys(e, "cannot write '%s'", path);
	int rc = report_finish(r, fd, e);
	if (close(fd) && rc == 0)
		rc = error_sys(e, "cannot write '%s'", path);
	return rc;
}

/* Into a new file that takes its name when it is whole. */
static int write_file(struct report *r, const struct options *o, struct error *e)
{
	const char *path = o->output;
	struct stat there, run;
	char part[4096];

	if (stat(path, &there) == 0) {
		bool is_stdin = !strcmp(o->run, "-");
		if ((is_stdin ? fstat(STDIN_FILENO, &run) : stat(o->run, &run)) == 0 && S_ISREG(run.st_mode) &&
		    run.st_dev == there.st_dev && run.st_ino == there.st_ino)
			return error_set(e, ERR_INPUT,
			                 "the page would take the place of the record: give -o another name");
		if (!S_ISREG(there.st_mode))
			return write_through(r, path, e);
	}
	if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
		return error_set(e, ERR_INPUT, "'%s': the name is too long", path);
	int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_sys(e, "cannot write '%s'", part);
	int rc = report_finish(r, fd, e);
	if (close(fd) && rc == 0)
		rc = error_sys(e, "cannot write '%s'", part);
	if (rc == 0 && rename(part, path))
		rc = error_sys(e, "cannot write '%s'", path);
	if (rc)
		unlink(part);
	return rc;
}

int main(int argc, char *argv[])
{
	struct options o = { NULL, NULL };
	struct error e = ERROR_INIT;

	log_set_program("quern-report");
	if (io_ensure_std_fds())
		return 1;
	int code = parse(&o, argc, argv);
	if (code >= 0)
		return code;
	const char *base = strrchr(o.run, '/');
	struct report_config cfg = { .name = !strcmp(o.run, "-") ? "stdin"
		                             : base              ? base + 1
		                                                 : o.run,
		                     .price = list_price };
	struct report *r = report_open(&cfg, &e);
	int rc = r ? report_read(r, o.run, &e) : -1;
	if (rc == 0)
		rc = o.output && strcmp(o.output, "-") != 0 ? write_file(r, &o, &e)
		                                            : report_finish(r, STDOUT_FILENO, &e);
	if (rc)
		log_error("%s: %s", o.run, e.msg);
	report_free(r);
	return rc == 0 ? 0 : e.code == ERR_INPUT ? 2 : 1;
}
