#include "permission_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int permission_tree_make(const struct permission_tree *tree, char top[256])
{
	const char *tmp = getenv("TMPDIR");
	char made[200];

	snprintf(made, sizeof made, "%s/quern-permission-XXXXXX", tmp ? tmp : "/tmp");
	char *real = mkdtemp(made) ? realpath(made, NULL) : NULL;
	if (!real || chdir(real) < 0) {
		free(real);
		return -1;
	}
	snprintf(top, 256, "%s", real);
	free(real);
	for (size_t i = 0; tree->dirs[i]; i++)
		if (mkdir(tree->dirs[i], 0755) < 0)
			return -1;
	for (size_t i = 0; tree->files[i]; i++) {
		FILE *f = fopen(tree->files[i], "w");
		if (!f || fclose(f) != 0)
			return -1;
	}
	for (size_t i = 0; tree->links[i]; i += 2)
		if (symlink(tree->links[i], tree->links[i + 1]) < 0)
			return -1;
	return 0;
}

int permission_tree_remove(const char *top)
{
	char cmd[400];

	snprintf(cmd, sizeof cmd, "rm -rf '%s'", top);
	return chdir("/") || system(cmd);
}
