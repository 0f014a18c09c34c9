#!/usr/bin/env bats
# What a conversation meets that outgrows a window which nobody knew, or whose helpers are wrong.

load ../lib/helpers

BASIC=(-p "Do the steps" -m tiny --system-prompt "You work." --allowedTools Bash -t 200)

# steps WINDOW ROUNDS CALLS [JQ-FILTER]: CALLS is a list of commands for each round
steps() {
	jq -cn --argjson w "$1" --argjson n "$2" --argjson c "$3" '{window: $w, player: {rounds: $n, text: "Step {n}.", answer: "all is done",
		calls: [$c | map({name: "Bash", input: {command: .}})]}} | '"${4:-.}"
}
of_step() { ev "select(.subtype==\"quern_context\" and .step==\"$1\").tokens_freed" | wc -l; }
notices() { ev 'select(.subtype=="quern_notice").code' | tr '\n' ' '; }
over() { [ ! -e "$T/log/over" ] || wc -l <"$T/log/over"; }
kinds() { awk -v k="$1" '$2==k' "$T/log/kinds" | wc -l; }

@test "a first result that is too much for a window nobody knew is cut, and the run goes on" {
	serve "$(steps 8192 3 '["seq 1 5500; echo {n} >>ledger"]')"
	q "${BASIC[@]}"
	exits 0 completed
	is "$(over)" 1
	is "$(wc -l <ledger)" 3
	has "$(transitions)" "next_turn reactive_compact_retry"
	is "$(of_step result_cut)" 1
	is "$(ev 'select(.type=="assistant" and .message.model=="<synthetic>")')" ""
	# The whole of it can still be read.
	local text path
	text=$(result_text 3)
	has "$text" "Output is too large"
	path=$(sed -n 's/.* is saved in \([^;]*\);.*/\1/p' <<<"$text")
	is "$(tail -n 1 "$path")" 5500
}

@test "many results at once in a window that is smaller than we were told" {
	serve "$(steps 32000 3 "$(jq -cn '[range(8) | "seq 1 5500; echo \(.)"]')")"
	q "${BASIC[@]}" --set context.window=200k
	exits 0 completed
	is "$(over)" 1
	is "$(of_step result_cut)" 1
}

@test "without numbers in the refusal half of it goes, once" {
	serve "$(steps 8192 8 '["seq 1 5800"]' '. + {too_long: {status: 413, text: "Request too large"}}')"
	q "${BASIC[@]}" --set context.autocompact=false --set context.collapse_at=off
	exits 11 prompt_too_long
	[ "$(of_step result_cut)" -ge 1 ]
	lacks "$(transitions)" "reactive_compact_retry reactive_compact_retry"
	is "$(result .num_turns)" "$(kinds main | awk -v o="$(over)" '{print $1 - o}')"
}

@test "a hundred results in a small window say where they are, and no more" {
	serve "$(steps 16000 1 "$(jq -cn '[range(100) | "seq 1 500; echo \(.)"]')")"
	q "${BASIC[@]}" --set context.window=16k
	exits 0 completed
	is "$(over)" ""
	is "$(result .num_turns)" 2
	has "$(result_text 2 7)" "[There is no room for it here: Read or Grep $T/state/"
	is "$(jq '[.messages[-1].content[] | select(.type=="tool_result")] | length' "$(request 2)")" 100
}

@test "pictures that one answer asks for and that do not fit: notes stand for the last ones" {
	local n
	for n in 1 2 3 4 5 6; do # nothing but the head, which tells the size
		printf '\211PNG\r\n\032\n\0\0\0\rIHDR\0\0\004\0\0\0\004\0\b\0\0\0\0%d' $n >$n.png
	done
	serve "$(steps 12000 1 "$(jq -cn '[range(6)]')" '.player.calls = [[range(1; 7) | {name: "Read", input: {file_path: "\(.).png"}}]]')"
	q "${BASIC[@]}" --set context.window=8k
	exits 0 completed
	is "$(of_step result_budget)" 1
	is "$(jq -c '[.messages[-1].content[] | select(.type=="tool_result").content | if type=="array" then .[0].type else . end | .[:29]]' "$(request 2)")" \
		'["image","[There was no room for this i","[There was no room for this i","[There was no room for this i","[There was no room for this i","[There was no room for this i"]'
}

@test "what a blocked run says can be understood from stderr alone" {
	serve "$(steps 12000 60 '["seq 1000 1080"]' '. + {compact: ["refused*"]}')"
	q "${BASIC[@]}" --set context.window=12k --set context.microcompact_at=off --set context.collapse_at=off -o text
	is "$rc" 12
	err_has "may take 8718 of the window of 12000; nothing was sent (making the conversation shorter failed: the model declined to write the summary)"
	is "$(cat "$T/out")" ""
}

@test "a model for summaries that is not there: the one that answers writes them, and is not misled again" {
	serve "$(steps 12000 30 '["seq 1000 1300; echo {n} >>ledger"]' '. + {compact: [{status: 404, error: {type: "not_found_error", message: "model: nonesuch"}}, "good*"]}')"
	q "${BASIC[@]}" --set context.window=12k --set context.microcompact_at=off --set context.collapse_at=off --set context.compact_model=nonesuch
	exits 0 completed
	is "$(wc -l <ledger)" 30
	has "$(notices)" compact_model
	err_has "nonesuch cannot write the summary"
	[ "$(kinds compact)" -ge 3 ]
	is "$(ev 'select(.subtype=="compact_boundary").quern_model' | sort -u)" tiny
	is "$(jq -r .model "$T"/log/[0-9]*.json | grep -c nonesuch)" 1
}

@test "a refusal that names more than the prompt has does not mislead the count" {
	serve "$(steps 12000 25 '["seq 1000 1300"]' '. + {too_long: {status: 400, text: "prompt is too long: 5 tokens > 12,000 maximum"}}')"
	q "${BASIC[@]}" --set context.collapse_at=off
	exits 0 completed
	is "$(over)" 1
	[ "$(ev 'select(.subtype=="compact_boundary").compact_metadata.pre_tokens' | sort -n | head -n 1)" -gt 5000 ]
}
