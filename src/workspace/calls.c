/* What the keeper can do: a row each. */
#include "workspace/calls.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/io.h"
#include "base/tree.h"
#include "workspace/workspace.h"

int call_end(int rc, const struct error *e, int result_fd)
{
	if (rc == 0)
		return 0;
	(void)io_write_all(result_fd, e, sizeof *e); /* the exit status tells too */
	return 1;
}

/* "remove": the tree that the input names; without a name all that is in the directory. */
int call_remove(const char *in, size_t in_len, int result_fd)
{
	struct error e = ERROR_INIT;
	int rc = in_len ? tree_remove(in) : tree_empty(AT_FDCWD);

	return call_end(rc ? error_sys(&e, "cannot remove all of '%s'", in_len ? in : ".") : 0, &e, result_fd);
}

const struct child_call workspace_child_calls[] = {
	{ "commit", call_commit },   { "copy", call_copy }, { "patch", call_patch }, { "remove", call_remove },
	{ "restore", call_restore }, { "save", call_save }, { "scan", call_scan },   { "unpack", call_unpack },
};
const size_t workspace_child_ncalls = sizeof workspace_child_calls / sizeof *workspace_child_calls;
