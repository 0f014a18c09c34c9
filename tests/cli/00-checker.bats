#!/usr/bin/env bats
# What judges every request of the tests is itself held to account first.

: "${QUERN_SRC:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"

@test "the checker of requests notices each rule that is broken once, and nothing else" {
	run env PYTHONDONTWRITEBYTECODE=1 python3 "$QUERN_SRC/tests/lib/check_request_test.py"
	[ "$output" = "" ] || { echo "$output"; return 1; }
	[ "$status" = 0 ]
}
