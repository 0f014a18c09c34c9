/*
 * The one place that includes jsmn: its switches change the token struct, so every file must see
 * the same ones. json.c alone defines JSMN_BODIES and gets the functions.
 *
 * STRICT refuses more; PARENT_LINKS makes closing brackets linear. Neither makes jsmn a validator
 * or bounds its cost on deep nesting: json_scan runs first.
 */
#ifndef QUERN_BASE_JSMN_WRAP_H
#define QUERN_BASE_JSMN_WRAP_H

#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#ifdef JSMN_BODIES
#define JSMN_STATIC
#else
#define JSMN_HEADER
#endif
#include <jsmn.h>

#endif
