/* `pattern`: JavaScript's expressions by PCRE2, as near as its options bring them, and never for long. */
#include <string.h>

#include "base/json_schema_private.h"

#define MATCH_LIMIT 100000 /* backtracking points: some milliseconds */
#define DEPTH_LIMIT 10000
#define HEAP_KIB    16384

#define OPTIONS                                                                                                        \
	(PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS |     \
	 PCRE2_NEVER_BACKSLASH_C)

static int load(struct json_schema *s, struct error *e)
{
	if (s->has_pcre2)
		return 0;
	if (pcre2_api_load(&s->pcre2, e) < 0)
		return -1;
	s->has_pcre2 = true;
	s->limits = s->pcre2.match_context_create(NULL);
	s->match = s->pcre2.match_data_create(1, NULL);
	if (!s->limits || !s->match)
		return error_nomem(e);
	s->pcre2.set_match_limit(s->limits, MATCH_LIMIT);
	s->pcre2.set_depth_limit(s->limits, DEPTH_LIMIT);
	s->pcre2.set_heap_limit(s->limits, HEAP_KIB);
	return 0;
}

int schema_regex_compile(struct json_schema *s, struct schema_regex *r, struct error *e)
{
	int code = 0;
	PCRE2_SIZE at = 0;

	if (load(s, e) < 0)
		return -1;
	r->code = s->pcre2.compile((PCRE2_SPTR)r->text, strlen(r->text), OPTIONS, &code, &at, NULL);
	if (!r->code) {
		unsigned char text[200] = "";
		s->pcre2.get_error_message(code, text, sizeof text);
		return error_set(e, ERR_INPUT, "not a regular expression: %s at byte %zu of '%.80s'", (char *)text, at,
		                 r->text);
	}
	r->next_made = s->regexes;
	s->regexes = r;
	return 0;
}

int schema_regex_match(const struct json_schema *s, const struct schema_regex *r, const char *p, size_t n)
{
	int rc = s->pcre2.match(r->code, (PCRE2_SPTR)(n ? p : ""), n, 0, 0, s->match, s->limits);

	return rc >= 0 ? 1 : rc == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

void schema_regex_release(struct json_schema *s)
{
	for (struct schema_regex *r = s->regexes; r; r = r->next_made)
		s->pcre2.code_free(r->code);
	if (s->match)
		s->pcre2.match_data_free(s->match);
	if (s->limits)
		s->pcre2.match_context_free(s->limits);
}
