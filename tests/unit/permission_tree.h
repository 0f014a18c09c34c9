/* A directory of its own, with what the tests of permissions want in it. */
#ifndef TEST_PERMISSION_TREE_H
#define TEST_PERMISSION_TREE_H

struct permission_tree {
	const char *const *dirs, *const *files; /* each up to NULL */
	const char *const *links;               /* likewise: what a link points to, then its name */
};

/* Makes it the current directory; top: its real path. 0 or -1. */
int permission_tree_make(const struct permission_tree *tree, char top[256]);
int permission_tree_remove(const char *top);

#endif
