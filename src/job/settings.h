/*
 * Settings files of Claude Code, as far as they bind a run: hooks, permissions, the tools' variables. The one named by
 * --settings, and those that --setting-sources lets in.
 */
#ifndef QUERN_JOB_SETTINGS_H
#define QUERN_JOB_SETTINGS_H

#include "job/set.h"

/* Reads them, the strongest first; job file and options have been read. home may be NULL. Errors and warnings go to the
 * setter. */
void settings_read(struct setter *s, const char *home);

/* json_tree.c: strict JSON as the tree that YAML makes, so that what reads job files reads it too. NULL with *line and
 * *col (1-based) and *e. Nodes live in the arena. */
struct yaml_node *json_tree(struct arena *a, const char *text, size_t n, int *line, int *col, struct error *e);

#endif
