/*
 * Checks JSON values against a JSON Schema (draft 2020-12, and draft 7's spellings `definitions` and a list of
 * `items`), with words that whoever made the value can act on:
 *
 *   limit: expected integer, got string "ten"; query: required but missing
 *
 * Covered: type, properties, patternProperties, additionalProperties, propertyNames, required, dependentRequired,
 * dependentSchemas, min/maxProperties, items, prefixItems, additionalItems, contains, min/maxContains, min/maxItems,
 * uniqueItems, enum, const, minimum, maximum, exclusiveMinimum/Maximum, multipleOf, min/maxLength (characters),
 * pattern (by PCRE2, with bounds), anyOf, oneOf, allOf, not, if/then/else, $ref inside the document, true and false.
 * Annotations (title, description, default, format, x-...) mean nothing. Any other keyword is an error of the schema: a
 * misspelt `requierd` must not pass for a schema that asks for nothing.
 *
 * Life cycle: json_schema_compile -> json_schema_check... -> json_schema_free. A schema is not changed by checks.
 * Work and memory are bounded: linear memory in schema and value; a value whose check takes too many steps, or is too
 * deep for it, does not fit.
 */
#ifndef QUERN_BASE_JSON_SCHEMA_H
#define QUERN_BASE_JSON_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

#define JSON_SCHEMA_MAX_BYTES ((size_t)1 << 20)

struct json_schema;

/* NULL with *e: ERR_INPUT "at /properties/limit/type: what is wrong" (a JSON pointer into the schema), "offset N: ..."
 * for a text that is no JSON; ERR_LIMIT, ERR_NOMEM, ERR_SYS (a pattern, but no PCRE2). The text is copied. */
struct json_schema *json_schema_compile(const char *text, size_t len, struct error *e);
void json_schema_free(struct json_schema *s);

/* True if the value fits. If not, what is wrong is appended to *why (NULL: not wanted), at most 10 problems parted by
 * "; ". `root` names the value as a whole ("input"); its parts go by their paths ("files[2].name"). */
bool json_schema_check(const struct json_schema *s, const struct json *doc, int tok, const char *root, struct buf *why);

#endif
