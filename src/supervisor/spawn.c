#include "supervisor/spawn.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static void pack_strings(struct buf *out, const char *const *strings, uint32_t *count)
{
	*count = 0;
	for (; strings && *strings; strings++, ++*count)
		buf_add(out, *strings, strlen(*strings) + 1);
}

int spawn_pack(struct buf *out, struct wire_spawn *head, const char *const *argv, const char *const *envp)
{
	buf_add(out, head, sizeof *head);
	pack_strings(out, argv, &head->argc);
	pack_strings(out, envp, &head->envc);
	if (out->failed)
		return -1;
	memcpy(out->data, head, sizeof *head);
	return 0;
}

/* Points the n slots of `to` at the next n strings of [*at, end); NULL behind them. */
static bool point(char **to, size_t n, char **at, const char *end)
{
	for (size_t i = 0; i < n; i++) {
		char *nul = *at < end ? memchr(*at, '\0', (size_t)(end - *at)) : NULL;
		if (!nul)
			return false;
		to[i] = *at;
		*at = nul + 1;
	}
	to[n] = NULL;
	return true;
}

static const char *find_path(char *const *envp)
{
	for (; *envp; envp++)
		if (strncmp(*envp, "PATH=", 5) == 0)
			return *envp + 5;
	return DEFAULT_PATH;
}

/* argv + NULL, sh and path + argv[1...] + NULL, envp + NULL: one block. */
static enum child_step point_strings(struct spawn_request *q, const struct frame *f)
{
	size_t argc = q->head.argc, envc = q->head.envc;
	char *at = f->data + sizeof q->head;

	if (argc > f->head.len || envc > f->head.len)
		return CHILD_RECEIVE;
	char **block = calloc(2 * argc + envc + 5, sizeof *block);
	if (!block)
		return CHILD_MEMORY;
	q->pointers = block;
	q->plan.argv = block;
	q->plan.sh_argv = block + argc + 1;
	q->plan.envp = q->plan.sh_argv + argc + 2;
	if (!point(q->plan.argv, argc, &at, f->data + f->head.len) ||
	    !point(q->plan.envp, envc, &at, f->data + f->head.len))
		return CHILD_RECEIVE;
	static char sh[] = "/bin/sh";
	q->plan.sh_argv[0] = sh;
	for (size_t i = 1; i < argc; i++)
		q->plan.sh_argv[i + 1] = q->plan.argv[i];
	q->plan.path = find_path(q->plan.envp);
	return CHILD_STARTED;
}

static bool hand_out_fds(struct spawn_request *q, const struct frame *f)
{
	int *slots[WIRE_FD_COUNT] = { [WIRE_FD_OUT] = &q->plan.out,
		                      [WIRE_FD_ERR] = &q->plan.err,
		                      [WIRE_FD_RESULT] = &q->plan.result,
		                      [WIRE_FD_INPUT] = &q->plan.in,
		                      [WIRE_FD_CWD] = &q->plan.cwd };
	size_t used = 0;

	for (int i = 0; i < WIRE_FD_COUNT; i++) {
		bool there = q->head.fd_mask & (1U << i);
		if (there && used == f->nfds)
			return false;
		*slots[i] = there ? f->fds[used++] : -1;
	}
	return q->plan.out >= 0;
}

enum child_step spawn_unpack(struct spawn_request *q, const struct frame *f, const struct child_call *calls,
                             size_t ncalls)
{
	memset(q, 0, sizeof *q);
	q->plan.status = -1;
	if (f->head.len < sizeof q->head)
		return CHILD_RECEIVE;
	memcpy(&q->head, f->data, sizeof q->head);
	if (!hand_out_fds(q, f))
		return CHILD_RECEIVE;
	q->plan.input_len = (size_t)q->head.input_len;
	if (q->head.call >= 0) {
		if ((size_t)q->head.call >= ncalls)
			return CHILD_RECEIVE;
		q->plan.call = &calls[q->head.call];
	} else if (!q->head.argc) {
		return CHILD_RECEIVE;
	}
	return point_strings(q, f);
}

void spawn_release(struct spawn_request *q)
{
	free(q->pointers);
	q->pointers = NULL;
}
