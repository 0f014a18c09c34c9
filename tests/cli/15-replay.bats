#!/usr/bin/env bats
# A tape in place of a server: no network, the same loop.

load ../lib/helpers

@test "answers of a tape drive real tools" {
	tape t.yaml <<-'YAML'
		tape: 1
		answers:
		  - content:
		      - text: I will write it.
		      - tool_use: {name: Write, input: {file_path: out.txt, content: "taped\n"}, id: w1}
		  - text: Written.
	YAML
	q -p go --replay "$T/t.yaml" --allowedTools Write
	exits 0 completed
	is "$(cat out.txt)" taped
	is "$(result .result)" Written.
	is "$(transitions)" next_turn
}

@test "what a tape expects of a request is checked" {
	tape t.yaml <<-'YAML'
		tape: 1
		answers:
		  - content:
		      - tool_use: {name: Bash, input: {command: echo a-b-c}, id: b1}
		  - expect: {result_contains: a-b-c, results: [b1]}
		    text: Good.
	YAML
	q -p go --replay "$T/t.yaml" --allowedTools Bash
	exits 0 completed
	sed -i 's/result_contains: a-b-c/result_contains: something-else/' "$T/t.yaml"
	q -p go --replay "$T/t.yaml" --allowedTools Bash
	exits 50 replay_mismatch
	has "$(result '.errors|join(" ")')" something-else
}

@test "a tape that has answers left is no mismatch for a run that is done; one that is used up is" {
	printf 'tape: 1\nanswers:\n  - text: one\n  - text: two\n' >"$T/t.yaml"
	q -p go --replay "$T/t.yaml"
	[ "$rc" = 0 ] || [ "$rc" = 50 ]
	exits "$rc"
	printf 'tape: 1\nanswers:\n  - {content: [{tool_use: {name: Glob, input: {pattern: "*"}, id: g}}]}\n' >"$T/t.yaml"
	q -p go --replay "$T/t.yaml"
	exits 50 replay_mismatch
}

@test "errors on the tape are met like a server's" {
	cat >"$T/t.yaml" <<-'YAML'
		tape: 1
		answers:
		  - {status: 401, error: {type: authentication_error, message: no such key}}
	YAML
	q -p go --replay "$T/t.yaml"
	exits 20 model_error
	is "$(result .api_error_status)" 401
	cat >"$T/t.yaml" <<-'YAML'
		tape: 1
		answers:
		  - {status: 529, error: {type: overloaded_error, message: busy}}
	YAML
	q -p go --replay "$T/t.yaml" --set model.max_retries=0
	exits 75 model_error
}

@test "a replay needs no key and no network, and loads no HTTP library" {
	printf 'tape: 1\nanswers:\n  - text: offline\n' >"$T/t.yaml"
	env -u ANTHROPIC_API_KEY LD_DEBUG=files LD_DEBUG_OUTPUT="$T/ld" "$QUERN" -p go --replay "$T/t.yaml" </dev/null >"$T/out" 2>"$T/err"
	rc=0
	exits 0 completed
	run ! grep -l libcurl "$T"/ld.*
}

@test "--version, --check and --help load no HTTP library either" {
	local o
	for o in --version '-p hi --check --base-url http://127.0.0.1:9' --help; do
		# shellcheck disable=SC2086
		LD_DEBUG=files LD_DEBUG_OUTPUT="$T/ld" "$QUERN" $o </dev/null >"$T/out" 2>"$T/err"
	done
	run ! grep -l libcurl "$T"/ld.*
}

@test "a tape that is none is exit 2 with its line, nothing runs" {
	printf 'tape: 1\nanswers:\n  - {txt: hi}\n' >"$T/t.yaml"
	q -p go --replay "$T/t.yaml"
	exits 2
	err_has t.yaml:3
	q -p go --replay "$T/missing.yaml"
	exits 2
	err_has missing.yaml
	printf 'answers: []\n' >"$T/t.yaml"
	q -p go --replay "$T/t.yaml"
	exits 2
}

@test "the same tape twice: the same events but for ids and times" {
	cat >"$T/t.yaml" <<-'YAML'
		tape: 1
		answers:
		  - content:
		      - tool_use: {name: Bash, input: {command: echo same}, id: b1}
		  - text: End.
	YAML
	strip() { command jq -cS 'walk(if type=="object" then del(.uuid,.session_id,.quern_ms,.quern_started,.events_sha256,.events_bytes,.timestamp,.duration_ms,.duration_api_ms,.run_dir,.durationMs) else . end) | if .limits? then del(.limits.wall_time) else . end' "$T/out"; }
	q -p go --replay "$T/t.yaml" --allowedTools Bash && exits 0
	strip >"$T/one"
	q -p go --replay "$T/t.yaml" --allowedTools Bash && exits 0
	strip >"$T/two"
	cmp "$T/one" "$T/two"
}

@test "cut, refused and declined answers on a tape" {
	printf 'tape: 1\nanswers:\n  - {text: part, stop_reason: max_tokens}\n  - {text: whole}\n' >"$T/t.yaml"
	q -p go --replay "$T/t.yaml"
	exits 0
	is "$(transitions)" max_output_tokens_escalate
	printf 'tape: 1\nanswers:\n  - {text: no, stop_reason: refusal}\n' >"$T/t.yaml"
	q -p go --replay "$T/t.yaml"
	exits 22 refusal
}
