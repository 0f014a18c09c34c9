/*
 * Everything in a directory, a directory before what is in it (private to workspace/). Nothing is followed, nothing is
 * on the stack: the directories that are still to be read are a list of names.
 */
#ifndef QUERN_WORKSPACE_WALK_H
#define QUERN_WORKSPACE_WALK_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "workspace/beneath.h"

struct walk {
	struct beneath at;
	DIR *dir;        /* that is being read; NULL = none */
	struct buf name; /* of what was found last, relative */
	size_t dir_len;  /* of the part of it that is the directory's, the '/' included */
	char **pending;  /* directories */
	size_t n, cap;
	const char *const *skip;
};

struct walk_entry {
	const char *name, *base; /* relative to the root; relative to the directory. Good until the next call */
	int dir_fd;              /* likewise */
	struct stat st;
	bool too_long; /* the name is longer than can be worked with: nothing else is known */
	int unread;    /* 0, or why the directory of that name, which was found before, cannot be read: its errno */
};

void walk_init(struct walk *w, int root_fd, const char *const *skip);
/* 1: *found is the next, 0: that was all, -1: *e. What vanishes meanwhile is left out. */
int walk_next(struct walk *w, struct walk_entry *found, struct error *e);
void walk_release(struct walk *w);

/* The content of a link beneath dir_fd into out; *n is its length. -1 with errno. */
#define LINK_LONGEST 4096
int walk_read_link(int dir_fd, const char *base, char out[LINK_LONGEST], size_t *n);
/* Opens a file that is to be regular for reading, without waiting for what is none; *st, unless NULL, is what
 * it is. -1 with errno. */
int walk_open_file(int dir_fd, const char *base, struct stat *st);
/* Times in ns since 1970. */
int64_t walk_ns(const struct timespec *t);
/* A name for an error text: what is not printable is escaped, and it is cut. Returns out. */
#define SHOWN_NAME 200
const char *walk_show(const char *name, char out[SHOWN_NAME]);

#endif
