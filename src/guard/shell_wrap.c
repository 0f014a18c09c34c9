/* What stands in front of the command that counts: programs that run other programs. */
#include <string.h>

#include "guard/shell_private.h"

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define STEPS_MAX  32 /* programs in front of each other */
#define CLAUSE_BIT 8  /* the place in the views: the -exec of find above, the step below */

enum wrap_kind {
	WRAP_PLAIN,
	WRAP_ENV,   /* NAME=value may stand before the command */
	WRAP_XARGS, /* more arguments follow than the text shows */
	WRAP_FLOCK, /* -c TEXT in place of a command */
	WRAP_QUERY  /* an option that is not known makes it something else than a wrapper */
};

struct wrapper {
	const char *name;
	bool allow, deny;
	enum wrap_kind kind;
	int operands;       /* words before the command */
	const char *shorts; /* as getopt has them */
	const char *longs;  /* with = where a value follows; a space behind each */
};

static const struct wrapper wrappers[] = {
	{ "timeout", true, true, WRAP_PLAIN, 1, "k:s:vfp", "foreground kill-after= signal= verbose preserve-status " },
	{ "time", true, false, WRAP_PLAIN, 0, "p", "" },
	{ "time", false, true, WRAP_PLAIN, 0, "pqvao:f:", "portability format= output= append quiet verbose " },
	{ "nice", true, true, WRAP_PLAIN, 0, "n:0123456789", "adjustment= " },
	{ "nohup", true, true, WRAP_PLAIN, 0, "", "" },
	{ "stdbuf", true, true, WRAP_PLAIN, 0, "i:o:e:", "input= output= error= " },
	{ "command", true, true, WRAP_QUERY, 0, "p", "" },
	{ "builtin", true, true, WRAP_PLAIN, 0, "", "" },
	{ "noglob", true, true, WRAP_PLAIN, 0, "", "" },
	{ "xargs", true, false, WRAP_XARGS, 0, "", "" },
	{ "xargs", false, true, WRAP_XARGS, 0, "0rtpxod:a:E:I:L:n:P:s:",
	  "null no-run-if-empty verbose interactive exit open-tty delimiter= arg-file= max-args= max-lines= max-procs= "
	  "max-chars= process-slot-var= show-limits " },
	{ "exec", false, true, WRAP_PLAIN, 0, "cla:", "" },
	{ "env", false, true, WRAP_ENV, 0, "iu:C:v0",
	  "ignore-environment unset= chdir= null debug block-signal default-signal ignore-signal "
	  "list-signal-handling " },
	{ "sudo", false, true, WRAP_ENV, 0, "AbEHiKknPSsVvC:D:g:h:p:R:r:T:t:U:u:",
	  "askpass background preserve-env set-home login non-interactive preserve-groups stdin shell close-from= "
	  "chdir= "
	  "group= host= prompt= chroot= role= type= command-timeout= other-user= user= reset-timestamp bell " },
	{ "doas", false, true, WRAP_PLAIN, 0, "nsa:C:u:", "" },
	{ "busybox", false, true, WRAP_PLAIN, 0, "", "" },
	{ "toybox", false, true, WRAP_PLAIN, 0, "", "" },
	{ "setsid", false, true, WRAP_PLAIN, 0, "cfw", "ctty fork wait " },
	{ "ionice", false, true, WRAP_PLAIN, 0, "c:n:t", "class= classdata= ignore " },
	{ "flock", false, true, WRAP_FLOCK, 1, "sxeunoFvE:w:",
	  "shared exclusive unlock nonblock nb close no-fork verbose conflict-exit-code= timeout= wait= " },
	{ "chroot", false, true, WRAP_PLAIN, 1, "", "userspec= groups= skip-chdir " },
	{ "strace", false, true, WRAP_PLAIN, 0,
	  "cCdfFhiknqrtTvVwxyYZzDa:b:e:E:I:o:O:p:P:s:S:u:X:U:", "follow-forks output-separately seccomp-bpf " },
	{ "ltrace", false, true, WRAP_PLAIN, 0, "bcCfhiLrStTVa:A:D:e:l:n:o:p:s:u:w:x:F:", "" },
	{ "unbuffer", false, true, WRAP_PLAIN, 0, "p", "" },
	{ "taskset", false, true, WRAP_PLAIN, 1, "ac", "all-tasks cpu-list " },
	{ "chrt", false, true, WRAP_PLAIN, 1, "abfiorRdT:P:D:v", "batch deadline fifo idle other rr verbose " },
	{ "fakeroot", false, true, WRAP_PLAIN, 0, "ub:i:s:l:f:", "" },
	{ "unshare", false, true, WRAP_PLAIN, 0, "fimnpuUCTrcR:w:S:G:",
	  "fork mount ipc net pid uts user cgroup time map-root-user map-current-user mount-proc kill-child root= wd= "
	  "setuid= setgid= propagation= " },
	{ "setpriv", false, true, WRAP_PLAIN, 0, "d",
	  "no-new-privs reuid= regid= init-groups keep-groups clear-groups groups= inh-caps= ambient-caps= "
	  "bounding-set= "
	  "reset-env " },
	{ "prlimit", false, true, WRAP_PLAIN, 0, "", "as= core= cpu= data= fsize= nofile= nproc= rss= stack= " },
	{ "pkexec", false, true, WRAP_PLAIN, 0, "u:", "user= disable-internal-agent keep-cwd " },
	{ "systemd-run", false, true, WRAP_PLAIN, 0, "qrtPpGdSE:H:M:p:u:",
	  "user system scope pty pipe wait collect quiet same-dir shell remain-after-exit unit= property= "
	  "description= slice= uid= gid= nice= working-directory= setenv= " },
	{ "nsenter", false, true, WRAP_PLAIN, 0, "at:F", "all target= no-fork preserve-credentials " },
	{ "valgrind", false, true, WRAP_PLAIN, 0, "qv", "quiet verbose tool= leak-check= log-file= error-exitcode= " },
	{ "numactl", false, true, WRAP_PLAIN, 0, "lC:m:N:i:p:", "localalloc cpunodebind= membind= physcpubind= " },
	{ "cpulimit", false, true, WRAP_PLAIN, 0, "l:fmqz", "limit= foreground " },
	{ "dbus-run-session", false, true, WRAP_PLAIN, 0, "", "config-file= dbus-daemon= " },
	{ "dbus-launch", false, true, WRAP_PLAIN, 0, "", "exit-with-session " },
	{ "xvfb-run", false, true, WRAP_PLAIN, 0,
	  "an:e:f:s:lp:w:", "auto-servernum server-num= server-args= error-file= auth-file= listen-tcp wait= " },
	{ "ssh-agent", false, true, WRAP_PLAIN, 0, "a:E:t:P:csDd", "" },
	{ "faketime", false, true, WRAP_PLAIN, 1, "fm", "" },
	{ "eatmydata", false, true, WRAP_PLAIN, 0, "", "" },
	{ "torsocks", false, true, WRAP_PLAIN, 0, "", "" },
	{ "proxychains", false, true, WRAP_PLAIN, 0, "qf:", "" },
	{ "proxychains4", false, true, WRAP_PLAIN, 0, "qf:", "" },
	{ "rlwrap", false, true, WRAP_PLAIN, 0, "acn", "" },
	{ "entr", false, true, WRAP_PLAIN, 0, "acdnprsz", "" },
	{ "perf", false, true, WRAP_PLAIN, 1, "", "" },
	{ "ld.so", false, true, WRAP_PLAIN, 0, "", "library-path= preload= argv0= " },
	{ "ld-linux-x86-64.so.2", false, true, WRAP_PLAIN, 0, "", "library-path= preload= argv0= " },
	{ "ld-linux-aarch64.so.1", false, true, WRAP_PLAIN, 0, "", "library-path= preload= argv0= " },
	{ "linux32", false, true, WRAP_PLAIN, 0, "R", "addr-no-randomize " },
	{ "linux64", false, true, WRAP_PLAIN, 0, "R", "addr-no-randomize " },
};

const char *shell_base_name(const char *command)
{
	const char *slash = strrchr(command, '/');

	return slash && slash[1] ? slash + 1 : command;
}

static bool is(const struct shell_word *w, const char *text)
{
	return w->literal && !strcmp(w->text, text);
}

static bool listed(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* ---- options ---- */

/* 1: a long option without, 2: with a value in the next word, 0: not known. */
static int long_option(const char *text, const char *longs)
{
	size_t n = strcspn(text, "=");

	for (const char *p = longs; *p; p += strcspn(p, " ") + 1) {
		size_t m = strcspn(p, "= ");
		if (m == n && !memcmp(p, text, n))
			return p[m] == '=' && !text[n] ? 2 : 1;
	}
	return 0;
}

static int short_options(const char *text, const char *shorts)
{
	for (; *text; text++) {
		const char *p = *text == ':' ? NULL : strchr(shorts, *text);
		if (!p)
			return 0;
		if (p[1] == ':')
			return text[1] ? 1 : 2;
	}
	return 1;
}

long shell_skip_options(const struct shell_word *w, size_t n, const char *shorts, const char *longs)
{
	size_t i = 0;

	while (i < n && w[i].text[0] == '-' && w[i].text[1]) {
		if (!w[i].literal)
			return -1;
		if (!strcmp(w[i].text, "--"))
			return (long)i + 1;
		int step = w[i].text[1] == '-' ? long_option(w[i].text + 2, longs)
		                               : short_options(w[i].text + 1, shorts);
		if (!step || (step == 2 && (i + 1 >= n || w[i + 1].splits || w[i + 1].glob)))
			return -1;
		i += (size_t)step;
	}
	return (long)i;
}

/* ---- one wrapper ---- */

enum strip { STRIP_DONE, STRIP_NONE, STRIP_UNKNOWN };

static const struct wrapper *find_wrapper(const struct shell_word *w, enum shell_for purpose)
{
	if (!w->literal)
		return NULL;
	const char *name = purpose == SHELL_FOR_DENY ? shell_base_name(w->text) : w->text;
	for (size_t i = 0; i < COUNT(wrappers); i++)
		if (!strcmp(name, wrappers[i].name) &&
		    (purpose == SHELL_FOR_DENY ? wrappers[i].deny : wrappers[i].allow))
			return &wrappers[i];
	return NULL;
}

static bool assigns(const struct shell_word *w)
{
	size_t n = 0;

	while (shell_is_name((unsigned char)w->text[n], n == 0))
		n++;
	return n && w->text[n] == '=' && !w->splits;
}

static enum strip strip_wrapper(struct shell_view *v, const struct wrapper *wr)
{
	long opts = shell_skip_options(v->word + 1, v->nwords - 1, wr->shorts, wr->longs);
	if (opts < 0)
		return wr->kind == WRAP_QUERY ? STRIP_NONE : STRIP_UNKNOWN;

	size_t at = 1 + (size_t)opts;
	if (wr->kind == WRAP_ENV) {
		at += at < v->nwords && is(&v->word[at], "-");
		while (at < v->nwords && assigns(&v->word[at]))
			at++;
	}
	for (int i = 0; i < wr->operands && at < v->nwords; i++, at++)
		if (v->word[at].splits || v->word[at].glob)
			return STRIP_UNKNOWN;
	if (at >= v->nwords)
		return STRIP_NONE;
	if (wr->kind == WRAP_FLOCK && (is(&v->word[at], "-c") || is(&v->word[at], "--command")))
		return STRIP_NONE;
	v->more |= wr->kind == WRAP_XARGS;
	v->word += at;
	v->nwords -= at;
	return STRIP_DONE;
}

/* The clause-th -exec of find. *n: how many there are. */
static enum strip strip_find(struct shell_view *v, size_t clause, size_t *n)
{
	static const char *const names[] = { "-exec", "-execdir", "-ok", "-okdir" };
	struct shell_view inner = *v;
	enum strip done = STRIP_NONE;

	*n = 0;
	for (size_t i = 1; i < v->nwords; i++) {
		if (v->word[i].text[0] != '-' || !listed(v->word[i].text, names, COUNT(names)))
			continue;
		size_t from = ++i;
		while (i < v->nwords && !is(&v->word[i], ";") && !(is(&v->word[i], "+") && is(&v->word[i - 1], "{}")))
			i++;
		if (i > from && (*n)++ == clause) {
			inner.word = v->word + from;
			inner.nwords = i - from;
			done = STRIP_DONE;
		}
	}
	*v = inner;
	return done;
}

static bool named(const struct shell_view *v, const char *name)
{
	return v->nwords && v->word[0].literal && !strcmp(shell_base_name(v->word[0].text), name);
}

static enum strip strip(struct shell_view *v, enum shell_for purpose, size_t clause, size_t *clauses)
{
	if (!v->nwords || !v->word[0].literal)
		return STRIP_NONE;
	if (purpose == SHELL_FOR_DENY && named(v, "find"))
		return strip_find(v, clause, clauses);
	const struct wrapper *wr = find_wrapper(&v->word[0], purpose);
	return wr ? strip_wrapper(v, wr) : STRIP_NONE;
}

/* ---- assignments ---- */

static bool safe_name(const char *text, size_t n)
{
	static const char *const names[] = {
		"NODE_ENV",
		"LANG",
		"LANGUAGE",
		"NO_COLOR",
		"FORCE_COLOR",
		"CLICOLOR",
		"CLICOLOR_FORCE",
		"TERM",
		"COLORTERM",
		"TZ",
		"CI",
		"DEBUG",
		"RUST_BACKTRACE",
		"RUST_LOG",
		"CARGO_TERM_COLOR",
		"GOOS",
		"GOARCH",
		"CGO_ENABLED",
		"PYTHONUNBUFFERED",
		"PYTHONDONTWRITEBYTECODE",
		"COLUMNS",
		"LINES",
		"DEBIAN_FRONTEND",
		"LC_ALL",
		"LC_CTYPE",
		"LC_COLLATE",
		"LC_MESSAGES",
		"LC_NUMERIC",
		"LC_TIME",
		"LC_MONETARY",
		"GREP_COLORS",
		"LS_COLORS",
	};

	for (size_t i = 0; i < COUNT(names); i++)
		if (strlen(names[i]) == n && !memcmp(names[i], text, n))
			return true;
	return false;
}

/* A variable of the command's own: the programs and the shell itself give no meaning to it. */
static bool private_name(const char *text, size_t n)
{
	static const char *const names[] = { "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy",
		                             "histchars",  "auto_resume", "npm_",      NULL };
	bool lower = false;

	for (size_t i = 0; names[i]; i++)
		if (n >= strlen(names[i]) && !memcmp(names[i], text, strlen(names[i])))
			return false;
	for (size_t i = 0; i < n; i++)
		lower |= text[i] >= 'a' && text[i] <= 'z';
	return lower;
}

static bool assigns_safely(const struct shell_word *w, bool alone)
{
	size_t n = 0;

	while (shell_is_name((unsigned char)w->text[n], n == 0))
		n++;
	if (w->text[n] != '=' && !(w->text[n] == '+' && w->text[n + 1] == '='))
		return false;
	return safe_name(w->text, n) || (alone && private_name(w->text, n));
}

/* ---- texts and standard input that are run ---- */

/* Words of a shell that is not bash, or not surely, may mean something else to it. */
static bool portable(const char *text)
{
	return !strstr(text, "$'") && !strstr(text, "((") && !strstr(text, "[[") && !strstr(text, "&>");
}

/* A script by its name, or standard input by one of its own. */
static enum shell_runs script(const struct shell_word *w)
{
	static const char *const inputs[] = { "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-" };

	if (!w->literal)
		return w->tilde && !w->expands && !w->glob ? RUNS_NOTHING : RUNS_UNKNOWN;
	return listed(w->text, inputs, COUNT(inputs)) ? RUNS_INPUT : RUNS_NOTHING;
}

static enum shell_runs shell_program(const struct shell_view *v, size_t *first, size_t *count)
{
	static const char *const longs[] = {
		"--norc", "--noprofile", "--posix", "--login", "--verbose", "--noediting"
	};
	bool text = false, input = false;
	size_t i = 1;

	for (; i < v->nwords && strchr("-+", v->word[i].text[0]) && v->word[i].text[0] && v->word[i].text[1]; i++) {
		const char *opt = v->word[i].text;
		if (!v->word[i].literal)
			return RUNS_UNKNOWN;
		if (!strcmp(opt, "--")) {
			i++;
			break;
		}
		if (opt[1] == '-' ? !listed(opt, longs, COUNT(longs))
		                  : opt[strspn(opt, "-abefhklmnpruvxBCHPitcso")] != '\0')
			return RUNS_UNKNOWN;
		text |= opt[0] == '-' && opt[1] != '-' && strchr(opt, 'c');
		input |= opt[0] == '-' && opt[1] != '-' && strchr(opt, 's');
		i += opt[1] != '-' && strchr(opt, 'o');
	}
	if (!text)
		return i >= v->nwords || input ? RUNS_INPUT : script(&v->word[i]);
	if (i >= v->nwords || (v->word[i].text[0] == '+' && v->word[i].text[1]))
		return RUNS_UNKNOWN;
	*first = i;
	*count = 1;
	return named(v, "bash") || portable(v->word[i].text) ? RUNS_WORDS : RUNS_UNKNOWN;
}

/* The value of an option that holds a text: -c TEXT, -cTEXT is not known. */
static enum shell_runs option_text(const struct shell_view *v, const char *opt, const char *long_opt, size_t *first,
                                   size_t *count)
{
	for (size_t i = 1; i < v->nwords; i++) {
		const char *t = v->word[i].text;
		if (!strcmp(t, "--"))
			break;
		bool here = !strcmp(t, long_opt) || (t[0] == '-' && t[1] != '-' && t[1] && strchr(t + 1, opt[1]));
		if (here && (t[0] != '-' || t[1] == '-' || t[strlen(t) - 1] == opt[1]) && i + 1 < v->nwords) {
			*first = i + 1;
			*count = 1;
			return portable(v->word[i + 1].text) ? RUNS_WORDS : RUNS_UNKNOWN;
		}
		if (here || !strncmp(t, long_opt, strlen(long_opt)))
			return RUNS_UNKNOWN;
	}
	return RUNS_NOTHING;
}

static enum shell_runs rest(const struct shell_view *v, size_t from, size_t *first, size_t *count)
{
	*first = from;
	*count = v->nwords - from;
	return *count ? RUNS_WORDS : RUNS_NOTHING;
}

static enum shell_runs after_options(const struct shell_view *v, const char *shorts, const char *longs, size_t *first,
                                     size_t *count)
{
	long opts = shell_skip_options(v->word + 1, v->nwords - 1, shorts, longs);

	return opts < 0 ? RUNS_UNKNOWN : rest(v, 1 + (size_t)opts, first, count);
}

static enum shell_runs trap_text(const struct shell_view *v, size_t *first, size_t *count)
{
	size_t i = v->nwords > 1 && is(&v->word[1], "--") ? 2 : 1;

	if (i >= v->nwords || is(&v->word[i], "-p") || is(&v->word[i], "-l") || is(&v->word[i], "-"))
		return RUNS_NOTHING;
	*first = i;
	*count = 1;
	return RUNS_WORDS;
}

enum shell_runs shell_runs(const struct shell_view *v, size_t *first, size_t *count)
{
	static const char *const shells[] = { "sh", "bash", "dash", "ash", "rbash" };
	static const char *const others[] = { "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "yash" };

	if (!v->nwords || !v->word[0].literal)
		return RUNS_NOTHING;
	const char *name = shell_base_name(v->word[0].text);
	if (listed(name, shells, COUNT(shells)))
		return shell_program(v, first, count);
	if (listed(name, others, COUNT(others)))
		return v->nwords > 1 && v->word[1].text[0] != '-' ? RUNS_NOTHING : RUNS_UNKNOWN;
	if (!strcmp(name, "source") || !strcmp(name, "."))
		return v->nwords > 1 ? script(&v->word[is(&v->word[1], "--") && v->nwords > 2 ? 2 : 1]) : RUNS_NOTHING;
	if (!strcmp(name, "at") || !strcmp(name, "batch"))
		return RUNS_INPUT;
	if (!strcmp(name, "eval"))
		return after_options(v, "", "", first, count);
	if (!strcmp(name, "trap"))
		return trap_text(v, first, count);
	if (!strcmp(name, "watch"))
		return after_options(v, "bcCdegn:pqtwxr",
		                     "beep color no-color differences errexit chgexit interval= precise no-title exec "
		                     "no-linewrap no-rerun ",
		                     first, count);
	if (!strcmp(name, "parallel"))
		return v->nwords == 1 ? RUNS_INPUT
		       : is(&v->word[1], ":::")
		               ? rest(v, 2, first, count)
		               : after_options(v, "0kuXmj:n:N:L:l:I:d:a:P:S:",
		                               "jobs= keep-order dry-run bar verbose max-args= ", first, count);
	if (!strcmp(name, "script"))
		return option_text(v, "-c", "--command", first, count);
	if (!strcmp(name, "su") || !strcmp(name, "runuser") || !strcmp(name, "flock"))
		return option_text(v, "-c", "--command", first, count);
	if (!strcmp(name, "env"))
		return option_text(v, "-S", "--split-string", first, count);
	return RUNS_NOTHING;
}

/* Does the command's standard input say what it runs, in a text that is known? */
static bool input_known(const struct shell_command *c)
{
	const struct shell_redirect *last = NULL;

	for (size_t i = 0; i < c->nredirects; i++)
		if (c->redirect[i].fd == 0)
			last = &c->redirect[i];
	if (last)
		return last->kind == REDIRECT_TEXT && last->target.literal;
	return !c->piped && !c->nested;
}

static bool runs_unknown(const struct shell_command *c, const struct shell_view *v)
{
	size_t first = 0, count = 0;

	switch (shell_runs(v, &first, &count)) {
	case RUNS_UNKNOWN:
		return true;
	case RUNS_INPUT:
		return !input_known(c);
	case RUNS_WORDS:
		for (size_t i = first; i < first + count; i++)
			if (!v->word[i].literal)
				return true;
		return false;
	case RUNS_NOTHING:
		break;
	}
	return false;
}

/* ---- views ---- */

static bool find_acts(const struct shell_view *v)
{
	static const char *const names[] = { "-exec",   "-execdir", "-ok",      "-okdir",  "-delete",
		                             "-fprint", "-fls",     "-fprint0", "-fprintf" };

	for (size_t i = 1; i < v->nwords; i++)
		if (listed(v->word[i].text, names, COUNT(names)) || !v->word[i].literal)
			return true;
	return false;
}

static void judge_allow(const struct shell_command *c, struct shell_view *v)
{
	static const char *const hidden[] = { "((", "function", "alias", "shopt" };
	static const char *const exact[] = { "watch", "setsid", "ionice", "flock", "source", ".",
		                             "exec",  "eval",   "trap",   "hash",  "enable" };

	for (size_t i = 0; i < c->nassign; i++)
		v->opaque |= !assigns_safely(&c->assign[i], c->nwords == 0);
	if (!v->nwords)
		return;
	const char *name = shell_base_name(v->word[0].text);
	v->opaque |= listed(name, hidden, COUNT(hidden));
	v->exact_only |= listed(name, exact, COUNT(exact)) || (named(v, "find") && find_acts(v));
}

/* Does it run a text of its options that is not known? */
static bool texts_unknown(const struct shell_command *c, const struct shell_view *v)
{
	struct shell_texts t;

	shell_texts_init(&t, c, v);
	while (shell_texts_next(&t)) {
		t.opaque |= !t.text && !t.rest;
		for (size_t i = t.rest; t.rest && i < v->nwords; i++)
			t.opaque |= !v->word[i].literal;
	}
	return t.opaque;
}

static void judge(const struct shell_command *c, enum shell_for purpose, struct shell_view *v)
{
	if (purpose == SHELL_FOR_ALLOW)
		judge_allow(c, v);
	if (purpose == SHELL_FOR_DENY)
		v->opaque |= texts_unknown(c, v);
	if (!v->nwords)
		return;
	struct shell_view inner = *v;
	size_t clauses;
	v->opaque |= !v->word[0].literal || runs_unknown(c, v) || (v->more && strstr(v->word[0].text, "{}"));
	if (purpose == SHELL_FOR_DENY)
		v->opaque |= strip(&inner, purpose, 0, &clauses) == STRIP_UNKNOWN;
}

/* The view after so many steps, through the clause-th -exec. False: there are not so many. *found: the step at which a
 * find was looked through, or past all. */
static bool walk(const struct shell_command *c, enum shell_for purpose, size_t clause, size_t steps,
                 struct shell_view *v, size_t *found, size_t *clauses)
{
	*v = (struct shell_view){ .word = c->word, .nwords = c->nwords };
	*found = STEPS_MAX;
	*clauses = 0;
	for (size_t i = 0; i < steps; i++) {
		size_t n = 0;
		bool find = named(v, "find");
		if (strip(v, purpose, *clauses ? 0 : clause, &n) != STRIP_DONE)
			return false;
		if (find && n && !*clauses) {
			*clauses = n;
			*found = i;
		}
	}
	return true;
}

bool shell_view_next(const struct shell_command *c, enum shell_for purpose, size_t *at, struct shell_view *view)
{
	const size_t last = (size_t)-1;
	size_t clause = *at >> CLAUSE_BIT, step = *at & ((1u << CLAUSE_BIT) - 1), found, clauses;

	if (*at == last)
		return false;
	if (step < STEPS_MAX && walk(c, purpose, clause, step, view, &found, &clauses)) {
		++*at;
		judge(c, purpose, view);
		view->opaque |= step == STEPS_MAX - 1;
		return true;
	}
	/* the next -exec of the find that this way led through: from the command behind it on */
	for (; step; step--)
		if (walk(c, purpose, clause, step, view, &found, &clauses))
			break;
	if (step && clause + 1 < clauses) {
		*at = (clause + 1) << CLAUSE_BIT | (found + 1);
		return shell_view_next(c, purpose, at, view);
	}
	*at = last;
	if (!c->nplain || (purpose == SHELL_FOR_ALLOW && !c->plain_safe))
		return false;
	*view = (struct shell_view){ .word = c->plain, .nwords = c->nplain, .shortened = true };
	judge(c, purpose, view);
	return true;
}
