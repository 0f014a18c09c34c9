#!/usr/bin/env bats
# The verification: the run is completed only if its command succeeds.

load ../lib/helpers

# verify COMMAND [KEYS]: a job with that verification
verify() {
	printf 'version: 1\nprompt: go\npermissions: {allow: [Bash]}\nverify: {command: [sh, -c, %s]%s}\n' \
		"$(jq -cn --arg c "$1" '$c')" "${2:+, $2}" >"$T/job.yaml"
}
sources() { ev 'select(.subtype=="quern_transition") | "\(.reason) \(.source // "-")"' | tr '\n' ' ' | sed 's/ $//'; }

@test "it fails, the model repairs the workspace, it passes" {
	verify 'cat built || { echo nothing is built; exit 1; }'
	serve "$(script "$(say 'done')" "$(bash_call 'echo yes >built')" "$(say repaired)")"
	q "$T/job.yaml"
	exits 0 completed
	is "$(cat built)" yes
	is "$(sources)" "stop_hook_blocking verify next_turn -"
	is "$(result '.verification | "\(.runs) \(.failures) \(.passed)"')" "2 1 true"
	is "$(result .result)" repaired
	has "$(jq -r '.messages[-1].content[-1].text' "$(request 2)")" "nothing is built"
}

@test "it never passes: 33, and the result says why" {
	verify 'echo "no rule to make it"; echo second line >&2; exit 2' 'max_repairs: 2'
	serve "$(script "$(jq -cn '{text: "done", repeat: 3}')")"
	q "$T/job.yaml"
	exits 33 verify_failed
	is "$(requests)" 3
	is "$(result '.verification | "\(.runs) \(.failures) \(.passed)"')" "3 3 false"
	has "$(result '.errors | join("\n")')" "the verification failed 3 times, and no repair is left"
	has "$(result '.errors | join("\n")')" "no rule to make it"
	err_has "the verification failed 3 times, and no repair is left (The work is not done"
	err_has 'ended with exit status 2.)'
	is "$(result .result)" null
}

@test "it passes at once" {
	verify true
	serve "$(script "$(say 'done')")"
	q "$T/job.yaml"
	exits 0 completed
	is "$(result '.verification | "\(.runs) \(.failures) \(.passed)"')" "1 0 true"
}

@test "without one the result has no word of it" {
	serve "$(script "$(say 'done')")"
	q -p go
	exits 0 completed
	is "$(result .verification)" null
}

@test "neither a limit nor an API error is verified" {
	verify 'touch asked'
	serve "$(script "$(bash_call true)" '{"status":400,"error":{"type":"invalid_request_error","message":"bad"}}')"
	q "$T/job.yaml" --max-turns 1
	exits 10 max_turns
	is "$(result '.verification.runs')" 0
	q "$T/job.yaml"
	exits 20 model_error
	[ ! -e asked ]
}

@test "a repair for which no turn is left ends as the limit does" {
	verify 'exit 1'
	serve "$(script "$(say 'done')")"
	q "$T/job.yaml" --max-turns 1
	exits 10 max_turns
	is "$(sources)" "stop_hook_blocking verify"
}

@test "without a time limit it is waited for" {
	verify 'sleep 0.2'
	serve "$(script "$(say 'done')")"
	q "$T/job.yaml" --set verify.timeout=0
	exits 0 completed
	is "$(result '.verification | "\(.runs) \(.passed)"')" "1 true"
}

@test "a signal while it runs: one result, and no child stays" {
	verify 'echo $$ >pid; exec sleep 300'
	serve "$(script "$(say 'done')")"
	timeout 60 "$QUERN" --base-url "$BASE" "$T/job.yaml" >"$T/out" 2>"$T/err" 3>&- &
	local waited=$!
	wait_for test -s pid
	pkill -TERM -P "$waited" -x quern
	rc=0
	wait "$waited" || rc=$?
	is "$(result .terminal_reason)" aborted_tools
	is "$(ev 'select(.type=="result").type' | wc -l)" 1
	gone pid
}

@test "in a small window what the verification says is cut to head and tail" {
	verify 'seq 1 2000; exit 1' 'max_repairs: 1'
	serve "$(script "$(say one)" "$(say two)")"
	q "$T/job.yaml" --set context.window=8k
	exits 33 verify_failed
	local said
	said=$(jq -r '.messages[-1].content[-1].text' "$(request 2)")
	has "$said" "ended with exit status 1."
	has "$said" "bytes left out ...]"
	is "$(tail -n 1 <<<"$said")" 2000
	[ "${#said}" -lt 6200 ] # a quarter of the window less the room for an answer
}
