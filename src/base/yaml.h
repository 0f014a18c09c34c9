/*
 * A safe subset of YAML as a tree with positions (libyaml's event API underneath). Refused, with line and
 * column: tags, anchors, aliases, merge keys, duplicate keys, non-scalar keys, a second document, depth
 * over 64, text over 1 MiB, NUL. Scalars are untyped: the reader decides by what it expects.
 */
#ifndef QUERN_BASE_YAML_H
#define QUERN_BASE_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json_out.h"

#define YAML_MAX_BYTES ((size_t)1 << 20)
#define YAML_MAX_DEPTH 64

enum yaml_kind { YAML_SCALAR, YAML_SEQ, YAML_MAP };

struct yaml_node {
	enum yaml_kind kind;
	int line, col;    /* 1-based */
	const char *text; /* scalar: NUL terminated */
	size_t len;
	bool plain;              /* not quoted, not a block scalar: may be typed */
	struct yaml_node *first; /* seq: items; map: values, each with its key */
	struct yaml_node *next;
	const struct yaml_node *key; /* the key of this value in its map, else NULL */
};

/* *root is NULL for an empty document. On failure *line and *col (1-based) say where. Nodes live in the arena. */
int yaml_parse(struct arena *a, const char *text, size_t n, struct yaml_node **root, int *line, int *col,
               struct error *e);
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);
/* Writes the node as JSON, plain scalars typed by the YAML 1.2 core schema (null, bool, int, float; .inf and .nan are
 * errors). */
int yaml_to_json(const struct yaml_node *n, struct json_out *o, struct error *e);

#endif
