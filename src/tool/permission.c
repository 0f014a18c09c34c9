/* A call before the rules, and what was judged opened as just that. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "tool/internal.h"

static bool in_roots(const struct toolbox *t, const char *path)
{
	enum path_verdict why;
	struct error e;
	int fd = path_open(t->roots, path, O_PATH, 0, &why, &e);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || why != PATH_OUTSIDE;
}

bool call_permitted(struct call *c, const char *input, struct tool_result *now)
{
	struct toolbox *t = c->t;
	const struct tool_row *row = c->row;
	struct permission_call call = {
		.tool = row->name,
		.read_only = row->read_only,
		.subject = row->subject,
		.text = row->subject == SUBJECT_NONE ? NULL : c->in.v[row->subject_at].s,
		.cwd = row->subject == SUBJECT_COMMAND ? t->bash_cwd : NULL,
		.input = input,
		.lift = c->lift,
	};
	struct permission_verdict v;
	bool permitted;

	permissions_judge(t->cfg.permissions, &call, &v);
	permitted = v.permit == PERMIT_ALLOW;
	c->may_ask = v.may_ask;
	if (permitted) {
		free(c->allowed);
		c->allowed = v.path;
		v.path = NULL;
		c->outside = v.explicit_allow && row->subject == SUBJECT_READ && c->allowed && !in_roots(t, c->allowed);
	} else {
		const char *why = v.why ? v.why : "Permission has been denied: out of memory";
		if (strcmp(v.reason_type, "path") == 0)
			result_use_error(t, now, "%s", why);
		else
			result_textf(t, now, true, "%s", why);
		now->denied = true;
		now->denied_reason = v.reason_type;
	}
	permission_verdict_release(&v);
	return permitted;
}

int call_open(struct call *c, const char *path, int flags, enum path_verdict *why, struct error *e)
{
	char real[4096];
	struct stat st;
	int fd = c->outside ? open(c->allowed, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
	                    : path_open(c->t->roots, path, flags, 0, why, e);

	if (c->outside && fd < 0) {
		*why = errno == ENOENT ? PATH_MISSING : PATH_ERROR;
		return error_sys(e, "cannot open '%s'", path);
	}
	if (fd < 0 || !c->allowed)
		return fd;
	bool kind = fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
	if (kind && path_of_fd(fd, real) == 0 && strcmp(real, c->allowed) == 0)
		return fd;
	close(fd);
	*why = kind ? PATH_DENIED : PATH_BAD;
	return error_set(e, ERR_INPUT,
	                 kind ? "'%s' was changed while it was judged" : "'%s' is not a regular file or a directory",
	                 path);
}

bool toolbox_meets(const struct toolbox *t, const char *rule, const char *name, const char *input)
{
	const struct tool_row *row = toolbox_row(t, name);
	struct permission_call call = { .tool = name, .input = input };
	struct json doc = JSON_INIT;
	struct error e;
	char *text = NULL;

	if (row) {
		call.read_only = row->read_only;
		call.subject = row->subject;
	}
	if (row && row->subject != SUBJECT_NONE && json_parse(&doc, input, strlen(input), JSON_BORROW, &e) == 0)
		text = json_strdup(&doc, json_get(&doc, json_root(&doc), row->params[row->subject_at].key), NULL);
	call.text = text;
	bool met = permissions_meets(t->cfg.permissions, rule, &call);
	free(text);
	json_release(&doc);
	return met;
}
