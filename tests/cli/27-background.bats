#!/usr/bin/env bats
# Lines about rounds from a small model, asked for in the background.

load ../lib/helpers

# script ROUNDS [JQ-FILTER]: so many rounds of a command in a window of 12,000 tokens; "small" writes the lines.
script() {
	jq -cn --argjson n "$1" '{window: 12000, summary_models: ["small"],
		player: {rounds: $n, text: "Step {n}.", answer: "all is done",
			calls: [{name: "Bash", input: {command: "echo {n} >>ledger; seq 1000 1300"}}]}} | '"${2:-.}"
}
go() {
	q -p "Do the steps" -m tiny --set context.window=12000 --system-prompt "You work." --allowedTools Bash -t 200 \
		--set context.summary_model=small "$@"
}
kinds() { awk -v k="$1" '$2==k' "$T/log/kinds" | wc -l; }
requests_of() { awk -v k="$1" '$2==k {print $1}' "$T/log/kinds"; }
notices() { ev 'select(.subtype=="quern_notice").code' | tr '\n' ' '; }

@test "rounds are folded in the words of a small model" {
	serve "$(script 20 '.summary = [{text: "It counted past a thousand.", repeat: true}]')"
	go --set context.microcompact_at=off
	exits 0 completed
	is "$(wc -l <ledger)" 20
	[ "$(kinds summary)" -ge 15 ]
	last=$(requests_of main | tail -1)
	has "$(jq -r '.messages[0].content[-1].text' "$(request "$last")")" "It counted past a thousand."
	# It is a small question: one text, no tools, no thinking, nothing to be kept in a cache.
	small=$(request "$(requests_of summary | head -1)")
	is "$(jq -r '[(.messages | length), (.messages[0].content | length), has("tools"), has("thinking"), has("system"), .max_tokens] | map(tostring) | join(" ")' "$small")" "1 1 false false false 200"
	lacks "$(cat "$small")" cache_control
	is "$(result '.modelUsage | keys | join(" ")')" "small tiny"
	is "$(ev 'select(.type=="assistant") | .message.content[].text? | select(. == "It counted past a thousand.")')" ""
	is "$(result .num_turns)" 21
}

@test "a line that never comes delays nothing, and ends with the run" {
	serve "$(script 5 '.summary = [{text: "late", delay: 300, split: "events", repeat: true}]')"
	LIMIT=30 go
	exits 0 completed
	is "$(kinds summary)" 1
	is "$(result .num_turns)" 6
}

@test "lines that go wrong are nobody's trouble" {
	serve "$(script 8 '.summary = [{status: 404, error: {type: "not_found_error", message: "model: small"}, repeat: true}]')"
	go
	exits 0 completed
	is "$(kinds summary)" 3
	is "$(notices)" "summaries_off "
	is "$(ev 'select(.subtype=="api_retry").error')" ""
	is "$(result '.errors | length')" 0
}

@test "without the key no line is asked for" {
	serve "$(script 3)"
	q -p go -m tiny --set context.window=12000 --allowedTools Bash
	exits 0 completed
	is "$(kinds summary)" 0
}
