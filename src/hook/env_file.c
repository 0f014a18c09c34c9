/*
 * CLAUDE_ENV_FILE: what SessionStart hooks leave for the environment of commands. They write into a file of their own;
 * when they have answered its text is taken to where no tool can write, and that is what commands source. Otherwise
 * whatever may write among the tools' temporary files could have code run by the next command, past the rules.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "hook/internal.h"

/* A new file at a path that no tool could know or prepare. A hook outside the sandbox writes where tools cannot put a
 * link in its place; one inside, where it can write at all. */
static int create(const struct hooks *h, char **assignment)
{
	const char *path = NULL, *tmp = NULL;
	int fd = -1;

	if (h->cfg.unconfined)
		fd = run_dir_file(h->cfg.run_dir, "hook-env", &path, NULL);
	else
		tmp = run_dir_tmp(h->cfg.run_dir, NULL);
	if (!path && !tmp)
		return -1;
	if (asprintf(assignment, ENV_FILE "%s%s", path ? path : tmp, path ? "" : "/hook-env-XXXXXX") < 0) {
		*assignment = NULL;
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return path ? fd : mkostemp(*assignment + sizeof ENV_FILE - 1, O_CLOEXEC);
}

void env_file_offer(struct hooks *h)
{
	const struct buf *text = &h->env_text;

	free(h->file_env);
	h->file_env = NULL;
	int fd = h->cfg.run_dir ? create(h, &h->file_env) : -1;
	bool made = fd >= 0 && io_write_all(fd, buf_str(text), text->len) == 0;
	if (fd >= 0)
		close(fd);
	if (made)
		return;
	free(h->file_env);
	h->file_env = NULL;
}

/* Whatever hooks put there: only a file that has no other name is read. */
static int read_text(const char *path, struct buf *text, struct error *e)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int rc;

	if (fd < 0)
		return error_sys(e, "cannot open '%s'", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink > 1)
		rc = error_set(e, ERR_INPUT, "'%s' is no regular file with one name", path);
	else
		rc = io_read_fd(fd, text, e);
	close(fd);
	return rc;
}

static void forget(struct hooks *h)
{
	if (h->env_kept)
		unlink(h->env_kept);
	free(h->env_kept);
	h->env_kept = NULL;
}

/* Takes the text. */
static int keep(struct hooks *h, struct buf *text, struct error *e)
{
	char *owned = NULL;

	if (text->len == h->env_text.len && memcmp(buf_str(text), buf_str(&h->env_text), text->len) == 0)
		return 0;
	if (text->len) {
		const char *path = run_dir_store(h->cfg.run_dir, "hook-env.sh", buf_str(text), text->len, e);
		if (!path)
			return -1;
		owned = strdup(path);
		if (!owned)
			return error_nomem(e);
	}
	forget(h);
	h->env_kept = owned;
	buf_release(&h->env_text);
	h->env_text = *text;
	buf_init(text, ENV_TEXT_MAX);
	return 0;
}

void env_file_take(struct hooks *h)
{
	struct buf text = BUF_INIT(ENV_TEXT_MAX);
	struct error e = ERROR_INIT;

	if (!h->file_env)
		return;
	if (read_text(h->file_env + sizeof ENV_FILE - 1, &text, &e) || keep(h, &text, &e)) {
		if (e.code == ERR_NOMEM)
			hooks_nomem(h);
		log_warn("what SessionStart hooks left for commands (CLAUDE_ENV_FILE) is not used: %s", e.msg);
	}
	buf_release(&text);
}

void env_file_release(struct hooks *h)
{
	forget(h); /* the directory may stay */
	buf_release(&h->env_text);
	free(h->file_env);
}

const char *hooks_env_file(const struct hooks *h)
{
	return h ? h->env_kept : NULL;
}
