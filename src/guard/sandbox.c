#include "guard/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "guard/sandbox_kernel.h"
#include "guard/sandbox_paths.h"

/* What a child is given, made once for all children: a ruleset and a program. */
struct profile {
	bool made;
	int ruleset; /* -1 = no Landlock */
	struct filter filter;
};

struct sandbox {
	enum sandbox_mode mode;
	bool network;
	bool passed_over; /* a place stays readable that should not be */
	int abi;
	bool filters;
	int scope;   /* a ruleset that keeps signals inside, -1 = none (yet) */
	bool shared; /* we are inside it ourselves, and so is every child */
	struct places writable, readable, hidden;
	size_t nnamed;              /* writable places that the job named; those behind them were added */
	struct profile profiles[2]; /* without the network, with it */
};

/* ---- opening ---- */

struct sandbox *sandbox_open(const struct sandbox_config *cfg, struct error *e)
{
	struct sandbox *s = calloc(1, sizeof *s);

	if (!s) {
		error_nomem(e);
		return NULL;
	}
	s->mode = cfg->mode;
	s->network = cfg->network;
	s->profiles[0].ruleset = s->profiles[1].ruleset = s->scope = -1;
	if (s->mode == SANDBOX_OFF)
		return s;
	s->abi = landlock_abi();
	if (cfg->max_abi && s->abi > cfg->max_abi)
		s->abi = cfg->max_abi;
	s->filters = filter_possible();
	if (places_writable(&s->writable, cfg, e) || places_hidden(&s->hidden, cfg, &s->writable, &s->passed_over, e)) {
		sandbox_free(s);
		return NULL;
	}
	s->nnamed = s->writable.n;
	return s;
}

void sandbox_free(struct sandbox *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < 2; i++) {
		if (s->profiles[i].ruleset >= 0)
			close(s->profiles[i].ruleset);
		filter_release(&s->profiles[i].filter);
	}
	if (s->scope >= 0)
		close(s->scope);
	places_release(&s->writable);
	places_release(&s->readable);
	places_release(&s->hidden);
	free(s);
}

int sandbox_add_readable(struct sandbox *s, const char *dir)
{
	return places_add(&s->readable, dir);
}

int sandbox_add_writable(struct sandbox *s, const char *dir)
{
	return places_add(&s->writable, dir);
}

const char *const *sandbox_writable(const struct sandbox *s)
{
	static const char *const none[] = { NULL };

	return s->writable.n ? (const char *const *)s->writable.v : none;
}

/* ---- what holds ---- */

static bool has_files(const struct sandbox *s)
{
	return s->abi >= ABI_NEEDED;
}

static bool has_hiding(const struct sandbox *s)
{
	return s->abi >= 1 && !s->passed_over;
}

static bool has_truncate(const struct sandbox *s)
{
	return s->abi >= ABI_TRUNCATE || (s->abi >= 1 && s->filters);
}

static bool has_filter(const struct sandbox *s)
{
	return s->filters;
}

/* The parts of the promise, in the order in which they are told. */
static const struct {
	const char *word;
	bool (*holds)(const struct sandbox *s);
	bool unless_network;
} parts[] = {
	{ "write", has_files, false },        /* only the writable places change */
	{ "truncate", has_truncate, false },  /* files elsewhere are not cut either */
	{ "read_deny", has_hiding, false },   /* the hidden places are not read */
	{ "network", has_filter, true },      /* no sockets */
	{ "signals", has_filter, false },     /* the run's own processes are left alone */
	{ "system_calls", has_filter, false } /* the rest of the filter */
};
_Static_assert(sizeof parts / sizeof *parts < SANDBOX_WORDS, "one more for the NULL");

static void list_parts(const struct sandbox *s, bool holding, const char *words[SANDBOX_WORDS])
{
	size_t n = 0;

	for (size_t i = 0; s->mode != SANDBOX_OFF && i < sizeof parts / sizeof *parts; i++)
		if (!(parts[i].unless_network && s->network) && parts[i].holds(s) == holding)
			words[n++] = parts[i].word;
	words[n] = NULL;
}

void sandbox_enforced(const struct sandbox *s, const char *words[SANDBOX_WORDS])
{
	list_parts(s, true, words);
}

void sandbox_missing(const struct sandbox *s, const char *words[SANDBOX_WORDS])
{
	list_parts(s, false, words);
}

bool sandbox_is_whole(const struct sandbox *s)
{
	const char *missing[SANDBOX_WORDS];

	sandbox_missing(s, missing);
	return s->mode != SANDBOX_OFF && !missing[0];
}

enum sandbox_mode sandbox_mode(const struct sandbox *s)
{
	return s->mode;
}

const char *sandbox_mode_name(enum sandbox_mode mode)
{
	static const char *const names[] = {
		[SANDBOX_WORKSPACE_WRITE] = "workspace-write", [SANDBOX_READ_ONLY] = "read-only", [SANDBOX_OFF] = "off"
	};

	return names[mode];
}

int sandbox_abi(const struct sandbox *s)
{
	return s->abi;
}

static void describe_list(struct buf *out, const char *what, const char *const *v)
{
	buf_addf(out, "# sandbox: %s", what);
	for (; v && *v; v++)
		buf_addf(out, " %s", *v);
	buf_addc(out, '\n');
}

void sandbox_describe(const struct sandbox *s, struct buf *out)
{
	const char *words[SANDBOX_WORDS];

	buf_addf(out, "# sandbox: %s, network %s", sandbox_mode_name(s->mode),
	         s->network || s->mode == SANDBOX_OFF ? "on" : "off");
	if (s->mode == SANDBOX_OFF) {
		buf_addc(out, '\n');
		return;
	}
	buf_addf(out, ", Landlock ABI %d\n", s->abi);
	sandbox_enforced(s, words);
	describe_list(out, "enforced:", words);
	sandbox_missing(s, words);
	if (words[0])
		describe_list(out, "not enforced by this kernel:", words);
	describe_list(out, "writable:", (const char *const *)s->writable.v);
	describe_list(out, "hidden:", (const char *const *)s->hidden.v);
}

void sandbox_tell(const struct sandbox *s, struct buf *out)
{
	if (s->mode == SANDBOX_OFF)
		return;
	buf_adds(out, "Commands run in a sandbox: they ");
	if (has_files(s)) {
		buf_adds(out, "write only in ");
		for (size_t i = 0; i < s->nnamed; i++)
			buf_addf(out, "%s%s", s->writable.v[i], i + 1 < s->nnamed ? ", " : " and ");
		buf_adds(out, "$TMPDIR, ");
	}
	if (has_filter(s) && !s->network)
		buf_adds(out, "have no network, ");
	if (has_hiding(s) && s->hidden.n)
		buf_adds(out, "read no stored credentials, ");
	buf_adds(out,
	         "gain no rights (no sudo). What fails for such a reason (permission denied, cannot connect, cannot "
	         "resolve) fails in other ways too: do without it, or say what is missing.");
}

/* ---- making a profile ---- */

/* Devices that programs take for granted. All others are hidden: a disk or a terminal holds what files may not. */
static const struct {
	const char *path;
	uint64_t rights;
} devices[] = {
	{ "/dev/null",
	  LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV },
	{ "/dev/zero",
	  LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV },
	{ "/dev/full",
	  LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV },
	{ "/dev/tty",
	  LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV },
	{ "/dev/random", LANDLOCK_ACCESS_FS_READ_FILE | ACCESS_IOCTL_DEV },
	{ "/dev/urandom", LANDLOCK_ACCESS_FS_READ_FILE | ACCESS_IOCTL_DEV },
};

static int grant_devices(struct ruleset *r)
{
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		if (ruleset_grant_path(r, devices[i].path, devices[i].rights))
			return -1;
	return 0;
}

static int grant_places(struct ruleset *r, const struct places *p, uint64_t rights)
{
	for (size_t i = 0; i < p->n; i++)
		if (ruleset_grant_path(r, p->v[i], rights))
			return -1;
	return 0;
}

/* The hidden places and the devices. NULL: no memory. */
static const char **closed_places(const struct sandbox *s)
{
	const char **v = calloc(s->hidden.n + 2, sizeof *v);

	if (!v)
		return NULL;
	for (size_t i = 0; i < s->hidden.n; i++)
		v[i] = s->hidden.v[i];
	v[s->hidden.n] = "/dev";
	return v;
}

static int fill_ruleset(const struct sandbox *s, struct ruleset *r)
{
	const char **closed = closed_places(s);
	int rc = closed ? ruleset_grant_reading(r, closed) : -1;

	free(closed);
	if (rc || grant_devices(r))
		return -1;
	if (grant_places(r, &s->readable, ACCESS_READ))
		return -1;
	return grant_places(r, &s->writable, ACCESS_READ | ACCESS_CHANGE | ACCESS_IOCTL_DEV);
}

/* The descriptor, or -1 with errno. */
static int make_ruleset(const struct sandbox *s, bool network)
{
	struct ruleset r;

	if (ruleset_open(&r, s->abi, ACCESS_READ | ACCESS_CHANGE | ACCESS_DEVICES | ACCESS_IOCTL_DEV, !network, false))
		return -1;
	if (fill_ruleset(s, &r) == 0)
		return r.fd;
	int saved = errno;
	close(r.fd);
	errno = saved;
	return -1;
}

/* Signals and abstract sockets, apart from the files: see sandbox_share. A domain that does not handle moving between
 * directories forbids it, so it is handled and given everywhere. */
static int make_scope(struct sandbox *s)
{
	struct ruleset r;

	if (s->abi < ABI_SCOPES || s->scope >= 0)
		return 0;
	if (ruleset_open(&r, s->abi, LANDLOCK_ACCESS_FS_REFER, false, true))
		return -1;
	s->scope = r.fd; /* closed with the sandbox */
	return ruleset_grant_path(&r, "/", LANDLOCK_ACCESS_FS_REFER);
}

int sandbox_prepare(struct sandbox *s, bool network, const struct sandbox_shield *shield)
{
	struct profile *p = &s->profiles[network || s->network];
	const struct filter_options o = { .network = network || s->network,
		                          .landlock = s->abi >= 1,
		                          .truncate = s->abi >= ABI_TRUNCATE || s->abi == 0,
		                          .shield = shield };

	if (p->made || s->mode == SANDBOX_OFF)
		return 0;
	if (s->filters && !p->filter.n && filter_make(&p->filter, &o))
		return -1;
	if (s->abi >= 1 && (p->ruleset = make_ruleset(s, o.network)) < 0)
		return -1;
	if (make_scope(s))
		return -1;
	p->made = true;
	return 0;
}

int sandbox_share(struct sandbox *s)
{
	if (s->shared || s->scope < 0)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || ruleset_enter(s->scope))
		return -1;
	s->shared = true;
	return 0;
}

int sandbox_enter(const struct sandbox *s, bool network)
{
	const struct profile *p = &s->profiles[network || s->network];

	if (s->mode == SANDBOX_OFF)
		return 0;
	if (!p->made) {
		errno = EINVAL;
		return -1;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (s->scope >= 0 && !s->shared && ruleset_enter(s->scope))
		return -1;
	if (p->ruleset >= 0 && ruleset_enter(p->ruleset))
		return -1;
	return p->filter.n ? filter_enter(&p->filter) : 0;
}

/* ---- the loop process ---- */

bool sandbox_can_confine_self(void)
{
	return landlock_abi() >= ABI_NEEDED && filter_possible();
}

static int grant_own(struct ruleset *r, const char *const *write, const char *const *parents)
{
	if (ruleset_grant_path(r, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE))
		return -1;
	for (; *write; write++)
		if (ruleset_grant_path(r, *write, ACCESS_CHANGE))
			return -1;
	for (; *parents; parents++)
		if (ruleset_grant_path(r, *parents, LANDLOCK_ACCESS_FS_REMOVE_DIR))
			return -1;
	return 0;
}

/* Puts on both, whose making has failed if ok is false; ends their life. */
static int confine(bool ok, struct ruleset *r, struct filter *f, struct error *e)
{
	int rc = ok && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !ruleset_enter(r->fd) && !filter_enter(f) ? 1 : -1;

	if (rc < 0)
		error_sys(e, "cannot limit what we may do ourselves");
	if (r->fd >= 0)
		close(r->fd);
	filter_release(f);
	return rc;
}

int sandbox_confine_self(const char *const *write, const char *const *parents, struct error *e)
{
	struct ruleset r = { .fd = -1 };
	struct filter f = { NULL, 0 };

	if (!sandbox_can_confine_self())
		return 0;
	bool ok = !filter_make(&f, &(struct filter_options){ .loop = true }) &&
	          !ruleset_open(&r, landlock_abi(), ACCESS_CHANGE | ACCESS_DEVICES, false, false) &&
	          !grant_own(&r, write, parents);
	return confine(ok, &r, &f, e);
}

int sandbox_confine_call(const struct sandbox_place *places, size_t n, struct error *e)
{
	static const uint64_t names = LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
	static const uint64_t read = ACCESS_READ & ~LANDLOCK_ACCESS_FS_EXECUTE;
	const uint64_t rights[] = { [REACH_READ] = read,
		                    [REACH_WRITE] = read | ACCESS_CHANGE,
		                    [REACH_FILES] = names | LANDLOCK_ACCESS_FS_WRITE_FILE,
		                    [REACH_NAMES] = names,
		                    [REACH_REMOVE] = LANDLOCK_ACCESS_FS_REMOVE_DIR };
	const int abi = landlock_abi();
	const struct sandbox_shield shield = { { getppid() } };
	const struct filter_options o = { .landlock = true, .truncate = abi >= ABI_TRUNCATE, .shield = &shield };
	struct ruleset r = { .fd = -1 };
	struct filter f = { NULL, 0 };

	if (!sandbox_can_confine_self())
		return 0;
	bool ok = !filter_make(&f, &o) &&
	          !ruleset_open(&r, abi, ACCESS_READ | ACCESS_CHANGE | ACCESS_DEVICES | ACCESS_IOCTL_DEV, true,
	                        abi >= ABI_SCOPES);
	for (size_t i = 0; ok && i < n; i++)
		ok = places[i].fd < 0 || !ruleset_grant(&r, places[i].fd, rights[places[i].reach]);
	return confine(ok, &r, &f, e);
}
