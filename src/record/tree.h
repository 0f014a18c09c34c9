/* Inside this room: removing what a run leaves in its own directories. */
#ifndef QUERN_RECORD_TREE_H
#define QUERN_RECORD_TREE_H

/* Removes everything in the directory `path` and the directory itself, without following a link and without
 * going deeper than one level at a time (so that no nesting exhausts stack or descriptors). What cannot be
 * removed stays. 0, or -1 with errno. */
int tree_remove(const char *path);

#endif
