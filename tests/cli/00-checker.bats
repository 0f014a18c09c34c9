#!/usr/bin/env bats
# What judges every request of the tests is itself held to account first.

load ../lib/helpers

@test "the checker of requests notices each rule that is broken once, and nothing else" {
	run env PYTHONDONTWRITEBYTECODE=1 python3 "$QUERN_SRC/tests/lib/check_request_test.py"
	[ "$output" = "" ] || { echo "$output"; return 1; }
	[ "$status" = 0 ]
}

@test "the companion's answer is waited for where the last one's writer closes the pipe late" {
	kill -STOP "$COMPANION"
	(
		exec 7<>"$SCHEMA.answer" && : >held
		sleep 0.2
		exec 7>&-
		sleep 0.1
		kill -CONT "$COMPANION"
	) 3>&- &
	while [ ! -e held ]; do sleep 0.01; done
	serve '[]'
	[ "$PORT" -gt 0 ]
}
