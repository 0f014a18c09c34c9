/* The content of a user message from outside: what is taken, how it is written anew, what is refused in which words. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "message/user_json.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct message *read_content(const char *json, struct error *e)
{
	struct json doc;

	assert_int_equal(json_parse(&doc, json, strlen(json), 0, e), 0);
	struct message *m = user_json_read(&doc, json_root(&doc), e);
	json_release(&doc);
	return m;
}

/* The blocks, one behind the other. */
static void content_becomes(const char *json, const char *expected)
{
	struct error e = ERROR_INIT;
	struct message *m = read_content(json, &e);
	struct buf all = BUF_INIT(100000);

	if (!m)
		fail_msg("%s: %s", json, e.msg);
	assert_int_equal(m->role, ROLE_USER);
	for (size_t i = 0; i < m->n; i++)
		buf_add(&all, m->blocks[i]->json, m->blocks[i]->json_len);
	assert_string_equal(buf_str(&all), expected);
	buf_release(&all);
	message_unref(m);
}

static void what_is_taken(void **state)
{
	(void)state;
	content_becomes("\"a \\\"task\\\"\\n\"", "{\"type\":\"text\",\"text\":\"a \\\"task\\\"\\n\"}");
	content_becomes("[{\"type\":\"text\",\"text\":\"a\"},{\"text\":\"b\",\"type\":\"text\"}]",
	                "{\"type\":\"text\",\"text\":\"a\"}{\"type\":\"text\",\"text\":\"b\"}");
	content_becomes("[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":"
	                "\"iVBORw==\"}}]",
	                "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":"
	                "\"iVBORw==\"}}");
	/* an escaped slash is one in base64 too */
	content_becomes("[{\"type\":\"document\",\"title\":\"T\",\"context\":null,\"source\":{\"type\":\"base64\","
	                "\"media_type\":\"application/pdf\",\"data\":\"JVBE\\/w==\"}}]",
	                "{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":\"application/pdf\","
	                "\"data\":\"JVBE/w==\"},\"title\":\"T\"}");
	content_becomes("[{\"type\":\"document\",\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":"
	                "\"x\"}}]",
	                "{\"type\":\"document\",\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":"
	                "\"x\"}}");
	content_becomes("[{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https://h/i.png\"}}]",
	                "{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https://h/i.png\"}}");
}

static void members_of_others_are_left_out(void **state)
{
	(void)state;
	content_becomes("[{\"type\":\"text\",\"text\":\"a\",\"cache_control\":{\"type\":\"ephemeral\"},\"id\":7}]",
	                "{\"type\":\"text\",\"text\":\"a\"}");
	content_becomes("[{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"http://h/\",\"extra\":1},"
	                "\"cache_control\":{}}]",
	                "{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"http://h/\"}}");
}

static void blank_text_is_nothing(void **state)
{
	(void)state;
	content_becomes("\"\"", "");
	content_becomes("\" \\n\\t\\u00a0\"", "");
	content_becomes("[]", "");
	content_becomes("[{\"type\":\"text\",\"text\":\" \"},{\"type\":\"text\",\"text\":\"b\"}]",
	                "{\"type\":\"text\",\"text\":\"b\"}");
}

static void what_is_refused(void **state)
{
	static const struct {
		const char *json, *why;
	} cases[] = {
		{ "7", "message.content: must be a string or an array of blocks" },
		{ "null", "message.content: must be a string or an array of blocks" },
		{ "\"a\\u0000b\"", "message.content: holds a NUL character" },
		{ "[{\"type\":\"text\",\"text\":\"a\"},\"b\"]", "message.content[1]: must be an object" },
		{ "[{\"type\":\"tool_result\",\"tool_use_id\":\"t\"}]",
		  "message.content[0].type: must be text, image or document" },
		{ "[{\"type\":\"text\"}]", "message.content[0].text: is missing" },
		{ "[{\"type\":\"text\",\"text\":1}]", "message.content[0].text: must be a string" },
		{ "[{\"type\":\"text\",\"text\":\"\\u0000\"}]", "message.content[0].text: holds a NUL character" },
		{ "[{\"type\":\"image\"}]", "message.content[0].source: must be an object" },
		{ "[{\"type\":\"image\",\"source\":{\"type\":\"file\",\"file_id\":\"f\"}}]",
		  "message.content[0].source.type: is none that is taken here (base64, url; text of a document)" },
		{ "[{\"type\":\"image\",\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":\"a\"}}]",
		  "message.content[0].source.type: is none that is taken here (base64, url; text of a document)" },
		{ "[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"data\":\"AAAA\"}}]",
		  "message.content[0].source.media_type: is missing" },
		{ "[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/tiff\",\"data\":"
		  "\"AAAA\"}}]",
		  "message.content[0].source.media_type: is none that a model can see" },
		{ "[{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"file:///etc/passwd\"}}]",
		  "message.content[0].source.url: is no address that begins with https://" },
		{ "[{\"type\":\"document\",\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":\" "
		  "\"}}]",
		  "message.content[0].source.data: is empty" },
		{ "[{\"type\":\"document\",\"title\":[],\"source\":{\"type\":\"url\",\"url\":\"https://h\"}}]",
		  "message.content[0].title: must be a string" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct error e = ERROR_INIT;
		struct message *m = read_content(cases[i].json, &e);
		if (m)
			fail_msg("%s is taken", cases[i].json);
		assert_string_equal(e.msg, cases[i].why);
		assert_int_equal(e.code, ERR_INPUT);
	}
}

static void base64_is_looked_at(void **state)
{
	static const char *const bad[] = { "", "AAA", "AAAAA", "A===", "====", "AA=A", "AA A", "AA\\nAA==", "AA-_" };
	static const char *const good[] = { "AAAA", "AAA=", "AA==", "+/09azAZ" };

	(void)state;
	for (size_t i = 0; i < COUNT(bad) + COUNT(good); i++) {
		struct buf json = BUF_INIT(1000);
		struct error e = ERROR_INIT;
		bool is_good = i >= COUNT(bad);
		buf_addf(&json,
		         "[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/gif\",\"data\":"
		         "\"%s\"}}]",
		         is_good ? good[i - COUNT(bad)] : bad[i]);
		struct message *m = read_content(buf_str(&json), &e);
		if (is_good != (m != NULL))
			fail_msg("%s: %s", buf_str(&json), m ? "taken" : e.msg);
		if (!m)
			assert_string_equal(e.msg, "message.content[0].source.data: is no base64");
		message_unref(m);
		buf_release(&json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_taken),         cmocka_unit_test(members_of_others_are_left_out),
		cmocka_unit_test(blank_text_is_nothing), cmocka_unit_test(what_is_refused),
		cmocka_unit_test(base64_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
