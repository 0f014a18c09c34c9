#include "test.h"

#include <string.h>

#include "model/retry.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static struct model_end refused(int status, const char *message)
{
	return (struct model_end){ .failure = MODEL_HTTP,
		                   .http_status = status,
		                   .error_type = "invalid_request_error",
		                   .message = message,
		                   .retry_after_ms = -1,
		                   .should_retry = -1 };
}

static const struct {
	const char *message;
	enum request_fault fault;
	int64_t tokens, limit;
} texts[] = {
	{ "prompt is too long: 213462 tokens > 200000 maximum", FAULT_PROMPT_TOO_LONG, 213462, 200000 },
	{ "prompt is too long: 213,462 tokens > 200,000 maximum", FAULT_PROMPT_TOO_LONG, 213462, 200000 },
	{ "prompt is too long: 5 tokens > 12000 maximum", FAULT_PROMPT_TOO_LONG, -1, 12000 },
	{ "Prompt is too long", FAULT_PROMPT_TOO_LONG, -1, -1 },
	{ "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or "
	  "`max_tokens` and try again",
	  FAULT_INPUT_PLUS_MAX, 178959, 200000 },
	{ "input length and max_tokens exceed context limit: 178959 + 64000 > 200000", FAULT_INPUT_PLUS_MAX, 178959,
	  200000 },
	{ "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for some-model",
	  FAULT_MAX_TOKENS, 128000, 64000 },
	{ "This model supports at most 4096 completion tokens", FAULT_MAX_TOKENS, -1, 4096 },
	{ "the valid range of max_tokens is [1, 8192]", FAULT_MAX_TOKENS, -1, 8192 },
	{ "Input is too long for requested model", FAULT_PROMPT_TOO_LONG, -1, -1 },
	{ "capability_rejected: prompt_too_long", FAULT_PROMPT_TOO_LONG, -1, -1 },
	{ "context_length_exceeded", FAULT_PROMPT_TOO_LONG, -1, -1 },
	{ "litellm.ContextWindowExceededError: no", FAULT_PROMPT_TOO_LONG, -1, -1 },
	{ "model_context_window_exceeded", FAULT_PROMPT_TOO_LONG, -1, -1 },
	{ "request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it",
	  FAULT_PROMPT_TOO_LONG, 13392, 8192 },
	{ "This model's maximum context length is 40960 tokens. However, you requested 8000 output tokens and your "
	  "prompt "
	  "contains at least 35000 input tokens",
	  FAULT_INPUT_PLUS_MAX, 35000, 40960 },
	{ "This model's maximum context length is 40960 tokens. However, you requested 8000 output tokens and your "
	  "prompt "
	  "contains at least 50000 input tokens",
	  FAULT_PROMPT_TOO_LONG, 50000, 40960 },
	{ "This endpoint's maximum context length is 4096 tokens. However, you requested about 5000 tokens (4000 of "
	  "text "
	  "input, 1000 in the output)",
	  FAULT_INPUT_PLUS_MAX, 4000, 4096 },
	{ "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
	  FAULT_PROMPT_TOO_LONG, 9001, 8192 },
	{ "Your input exceeds the context window of this model", FAULT_PROMPT_TOO_LONG, -1, -1 },
	{ "prompt too long; exceeded max context length by 12 tokens", FAULT_PROMPT_TOO_LONG, -1, -1 },
	{ "prompt is too long: 99999999999999999999999 tokens > 200000 maximum", FAULT_PROMPT_TOO_LONG, TOKENS_MOST,
	  200000 },

	{ "messages.7.content.2.image.source.base64.data: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
	  FAULT_IMAGE, -1, -1 },
	{ "At least one of the image dimensions exceed max allowed size: 8000 pixels", FAULT_IMAGE, -1, -1 },
	{ "messages.1.content.0: At least one of the image dimensions exceed max allowed size for many-image requests: "
	  "2000 pixels",
	  FAULT_IMAGE, -1, -1 },
	{ "Could not process image", FAULT_IMAGE, -1, -1 },
	{ "Image does not match the provided media type", FAULT_IMAGE, -1, -1 },

	{ "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
	  "modified.",
	  FAULT_THINKING_BLOCKS, -1, -1 },
	{ "messages.3.content.0: Invalid `signature` in `thinking` block", FAULT_THINKING_BLOCKS, -1, -1 },
	{ "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Set it with the "
	  "`anthropic-beta` header: Unexpected value",
	  FAULT_THINKING_BLOCKS, -1, -1 },
	{ "\"thinking.type.enabled\" is not supported for this model", FAULT_THINKING, -1, -1 },
	{ "\"thinking.type.disabled\" is not supported", FAULT_THINKING, -1, -1 },
	{ "adaptive thinking is not supported on this model", FAULT_THINKING, -1, -1 },
	{ "To turn thinking off on this model, send \"thinking\": {\"type\": \"between_tools\"}", FAULT_THINKING, -1,
	  -1 },
	{ "thinking.display: Extra inputs are not permitted", FAULT_THINKING, -1, -1 },
	{ "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`", FAULT_THINKING, -1,
	  -1 },

	{ "Unexpected value(s) `foo-2026` for the `anthropic-beta` header", FAULT_BETA, -1, -1 },
	{ "A maximum of 4 blocks with cache_control may be provided. Found 5.", FAULT_CACHE, -1, -1 },
	{ "messages.0.content.0.text: cache_control cannot be set for empty text blocks", FAULT_CACHE, -1, -1 },
	{ "cache_control: Extra inputs are not permitted", FAULT_CACHE, -1, -1 },
	{ "tools.0.custom.cache_control: Extra inputs are not permitted", FAULT_CACHE, -1, -1 },
	{ "output_config.effort: Extra inputs are not permitted", FAULT_EFFORT, -1, -1 },
	{ "This model does not support the effort parameter.", FAULT_EFFORT, -1, -1 },
	{ "temperature: Extra inputs are not permitted", FAULT_EXTRA, -1, -1 },
	{ "`temperature` may only be set to 1 on this model", FAULT_EXTRA, -1, -1 },
	{ "context_management: Extra inputs are not permitted", FAULT_EXTRA, -1, -1 },
	{ "tool_choice: type \"tool\" and \"any\" are not supported for this model.", FAULT_EXTRA, -1, -1 },

	{ "This model does not support assistant message prefill. The conversation must end with a user message.",
	  FAULT_PREFILL, -1, -1 },

	/* Nothing that could be left out: asking again the same way would only fail again. */
	{ "messages.3.content.0.foo: Extra inputs are not permitted", FAULT_NONE, -1, -1 },
	{ "tools.1.custom.input_schema: JSON schema is invalid", FAULT_NONE, -1, -1 },
	{ "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after", FAULT_NONE, -1, -1 },
	{ "The request body is not valid JSON: no low surrogate in string", FAULT_NONE, -1, -1 },
	{ "rate limit: prompt is too long for your tokens per minute", FAULT_NONE, -1, -1 },
	{ ": Extra inputs are not permitted", FAULT_NONE, -1, -1 },
	{ "", FAULT_NONE, -1, -1 },
	{ NULL, FAULT_NONE, -1, -1 },
};

static void known_texts_are_recognised(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		struct model_end end = refused(400, texts[i].message);
		struct request_fault_info info = retry_request_fault(&end);
		if (info.fault != texts[i].fault || info.tokens != texts[i].tokens || info.limit != texts[i].limit)
			print_error("text: %s\n", texts[i].message ? texts[i].message : "(null)");
		assert_int_equal(info.fault, texts[i].fault);
		assert_int_equal(info.tokens, texts[i].tokens);
		assert_int_equal(info.limit, texts[i].limit);
	}
}

static void what_is_minded_is_named(void **state)
{
	static const struct {
		const char *message, *name;
	} cases[] = {
		{ "temperature: Extra inputs are not permitted", "temperature" },
		{ "context_management.edits: Extra inputs are not permitted", "context_management" },
		{ "output_config.format: Extra inputs are not permitted", "output_config" },
		{ "output_config.effort: Extra inputs are not permitted", "" },
		{ "`temperature` may only be set to 1 on this model", "temperature" },
		{ "`top_p` is not supported", "top_p" },
		{ "tool_choice: type \"tool\" and \"any\" are not supported for this model.", "tool_choice" },
		{ "Unexpected value(s) `Foo-2026-01-01` for the `anthropic-beta` header. See the docs for more.",
		  "foo-2026-01-01" },
		{ "Unexpected value(s) `a-1`, `b-2` for the `anthropic-beta` header", "a-1, b-2" },
		{ "Unexpected value in the `anthropic-beta` header", "" },
		{ "a_name_of_a_member_that_is_by_far_too_long_to_be_kept_in_the_room_there_is: Extra inputs are not "
		  "permitted",
		  "" },
		{ "prompt is too long", "" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct model_end end = refused(400, cases[i].message);
		assert_string_equal(retry_request_fault(&end).name, cases[i].name);
	}
}

static void case_of_letters_does_not_matter(void **state)
{
	struct model_end end = refused(400, "PROMPT IS TOO LONG: 10 TOKENS > 5 MAXIMUM");
	(void)state;
	struct request_fault_info info = retry_request_fault(&end);
	assert_int_equal(info.fault, FAULT_PROMPT_TOO_LONG);
	assert_int_equal(info.tokens, 10);
	assert_int_equal(info.limit, 5);
}

static void codes_and_types_count_as_well(void **state)
{
	struct model_end end = refused(400, "no");
	(void)state;
	end.error_code = "image_dimensions_too_large";
	assert_int_equal(retry_request_fault(&end).fault, FAULT_IMAGE);
	end.error_code = "context_length_exceeded";
	assert_int_equal(retry_request_fault(&end).fault, FAULT_PROMPT_TOO_LONG);
	end.error_code = NULL;
	end.error_type = "exceed_context_size_error";
	assert_int_equal(retry_request_fault(&end).fault, FAULT_PROMPT_TOO_LONG);
}

static void a_413_is_too_long_whatever_it_says(void **state)
{
	struct model_end end = refused(413, "<html>Request Entity Too Large</html>");
	(void)state;
	end.error_type = NULL;
	assert_int_equal(retry_request_fault(&end).fault, FAULT_PROMPT_TOO_LONG);
	end.message = "image exceeds 5 MB maximum";
	assert_int_equal(retry_request_fault(&end).fault, FAULT_IMAGE);
}

static void other_ends_are_no_faults_of_the_request(void **state)
{
	static const int others[] = { 401, 403, 404, 408, 429, 500, 529 };
	(void)state;
	for (size_t i = 0; i < LENGTH(others); i++) {
		struct model_end end = refused(others[i], "prompt is too long");
		assert_int_equal(retry_request_fault(&end).fault, FAULT_NONE);
	}
	struct model_end end = refused(0, "prompt is too long");
	end.failure = MODEL_NETWORK;
	assert_int_equal(retry_request_fault(&end).fault, FAULT_NONE);
	end.failure = MODEL_STREAM_ERROR; /* some servers find out after their 200 */
	assert_int_equal(retry_request_fault(&end).fault, FAULT_PROMPT_TOO_LONG);
}

static void long_texts_are_read_up_to_a_bound(void **state)
{
	static char text[200000];
	(void)state;
	memset(text, 'x', sizeof text - 1);
	struct model_end end = refused(400, text);
	assert_int_equal(retry_request_fault(&end).fault, FAULT_NONE);
	memcpy(text, "prompt is too long", 18);
	assert_int_equal(retry_request_fault(&end).fault, FAULT_PROMPT_TOO_LONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_texts_are_recognised),
		cmocka_unit_test(what_is_minded_is_named),
		cmocka_unit_test(case_of_letters_does_not_matter),
		cmocka_unit_test(codes_and_types_count_as_well),
		cmocka_unit_test(a_413_is_too_long_whatever_it_says),
		cmocka_unit_test(other_ends_are_no_faults_of_the_request),
		cmocka_unit_test(long_texts_are_read_up_to_a_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
