/* model.price: what the user pays, in dollars a million tokens as vendors write it. */
#include "job/set.h"

#define AT(field) offsetof(struct job_price, field)
#define NANO      INT64_C(1000000000)
#define TOKENS    INT64_C(1000000)

/* clang-format off: as the other table */
static const struct job_key members[] = {
	{ .path = "input",
	  .type = KEY_USD,
	  .at = AT(input),
	  .flags = KF_REQUIRED,
	  .max = 1000000 * NANO,
	  .help = "tokens of the prompt" },
	{ .path = "output",
	  .type = KEY_USD,
	  .at = AT(output),
	  .flags = KF_REQUIRED,
	  .max = 1000000 * NANO,
	  .help = "tokens of answers" },
	{ .path = "cache_read",
	  .type = KEY_USD,
	  .at = AT(cache_read),
	  .max = 1000000 * NANO,
	  .fallback_text = "that of input",
	  .help = "tokens of the prompt that the server had kept" },
	{ .path = "cache_write",
	  .type = KEY_USD,
	  .at = AT(cache_write),
	  .max = 1000000 * NANO,
	  .fallback_text = "that of input",
	  .help = "tokens of the prompt that it keeps" },
};
/* clang-format on */

const struct job_members job_price_members = { members, sizeof members / sizeof *members };

/* From dollars a million, in billionths, to billionths a token; what is too fine to be counted is counted whole. */
static int64_t for_one(int64_t million)
{
	return million / TOKENS + (million % TOKENS > 0);
}

int setter_price(struct setter *s, struct job *into, const struct yaml_node *v, const struct origin *o)
{
	struct job_price p = { -1, -1, -1, -1 };

	if (v->kind != YAML_MAP)
		return setter_fail(s, o, v, "model.price", "must be a map, as in {input: 3, output: 15}");
	if (setter_members(s, &job_price_members, "model.price", &p, v, o))
		return -1;
	p.input = for_one(p.input);
	p.output = for_one(p.output);
	p.cache_read = p.cache_read < 0 ? p.input : for_one(p.cache_read);
	p.cache_write = p.cache_write < 0 ? p.input : for_one(p.cache_write);
	into->price = p;
	return 0;
}
