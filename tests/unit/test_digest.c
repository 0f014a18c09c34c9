/* SHA-256 by the vectors of FIPS 180-4's examples, in one piece and in many. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

static const struct {
	const char *text;
	const char *hex;
} vectors[] = {
	{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopq"
	  "rs"
	  "tu",
	  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
};

static void test_vectors(void **state)
{
	char hex[DIGEST_HEX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		digest_of(vectors[i].text, strlen(vectors[i].text), hex);
		assert_string_equal(hex, vectors[i].hex);
	}
}

/* In two pieces, cut at each place; and what was counted up to there can be had in between. */
static void test_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		size_t n = strlen(vectors[i].text);
		for (size_t cut = 0; cut <= n; cut++) {
			char hex[DIGEST_HEX + 1], part[DIGEST_HEX + 1];
			struct digest d, copy;
			digest_init(&d);
			digest_add(&d, vectors[i].text, cut);
			digest_hex(&d, hex);
			digest_of(vectors[i].text, cut, part);
			assert_string_equal(hex, part);
			copy = d;
			digest_add(&copy, "something else", 14);
			digest_add(&d, vectors[i].text + cut, n - cut);
			digest_hex(&d, hex);
			assert_string_equal(hex, vectors[i].hex);
		}
	}
}

static void test_a_million(void **state)
{
	static const unsigned char first[] = { 0xcd, 0xc7, 0x6e, 0x5c };
	unsigned char bytes[DIGEST_BYTES];
	char hex[DIGEST_HEX + 1], a[997];
	struct digest d;

	(void)state;
	memset(a, 'a', sizeof a);
	digest_init(&d);
	for (size_t left = 1000000; left;) {
		size_t n = left < sizeof a ? left : sizeof a;
		digest_add(&d, a, n);
		left -= n;
	}
	digest_hex(&d, hex);
	assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	digest_bytes(&d, bytes);
	assert_memory_equal(bytes, first, sizeof first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_a_million),
	};

	return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
