/* Inside this room: the places that a sandbox names, as absolute, real paths. */
#ifndef QUERN_GUARD_SANDBOX_PATHS_H
#define QUERN_GUARD_SANDBOX_PATHS_H

#include "guard/sandbox.h"

/* A list of owned strings, always NULL terminated once something is in it. */
struct places {
	char **v;
	size_t n;
};

void places_release(struct places *p);
int places_add(struct places *p, const char *path); /* a copy; -1: no memory */
/* Does path lie in `dir`, or is it that? */
bool place_beneath(const char *path, const char *dir);
/* The first of the places that path lies in, or NULL. */
const char *places_holding(const struct places *p, const char *path);

/* Where tools may write, by mode. -1 with *e naming what is not there. */
int places_writable(struct places *p, const struct sandbox_config *cfg, struct error *e);
/* What is hidden: the default secret places that exist, and those of the job whether they exist or not; without those
 * that lie in a writable place, which is an error, or *passed_over with best_effort. -1 with *e. */
int places_hidden(struct places *p, const struct sandbox_config *cfg, const struct places *writable, bool *passed_over,
                  struct error *e);

#endif
