/* Removing directories with all that is in them. */
#ifndef QUERN_BASE_TREE_H
#define QUERN_BASE_TREE_H

/* Removes everything in the directory `path` and the directory itself, without following a link; no nesting
 * exhausts stack or descriptors. What cannot be removed stays. 0, or -1 with errno. */
int tree_remove(const char *path);
/* The same of what is in the open directory, which stays. 0, or -1 with errno if anything is left. */
int tree_empty(int dir_fd);
/* But for this name in it, which stays. */
int tree_empty_but(int dir_fd, const char *name);

#endif
