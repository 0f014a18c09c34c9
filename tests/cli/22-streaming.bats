#!/usr/bin/env bats
# Calls that start while the answer still comes in: what becomes of them when it ends well, breaks, is declined or aborted.

load ../lib/helpers

# answer JSON-OF-MORE BLOCK...: an answer of blocks, three events each behind the first one
answer() {
	local more=$1
	shift
	printf '%s\n' "$@" | jq -cs --argjson more "$more" '{piece: 1000, content: .} + $more'
}
# The server waits for a file before it sends the N-th event: the call that makes the file has run by then.
lines_of() { if [ -e "$1" ]; then wc -l <"$1"; else echo 0; fi; }
events() { ev 'select(.type != "system" or .subtype == "quern_transition") | .type'; }
# All that an answer and its results say, without what differs from run to run.
gist() {
	jq -c 'select(.type == "assistant" or .type == "user" or .subtype == "quern_transition")
		| [.type, .message.content, .message.stop_reason, .reason]' "$T/out"
}

@test "a command runs while the answer still comes in" {
	serve "$(script "$(answer '{"hold":[[5,"work/ran"]]}' "$(bash_call 'echo once >>ran')" "$(say "and so on")")" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0 completed
	is "$(cat ran)" once
	is "$(transitions)" next_turn
	is "$(events | tr '\n' ' ')" "assistant assistant user system assistant result "
}

@test "commands and reads run in their order while the answer comes in" {
	echo one >a
	serve "$(script "$(answer '{"hold":[[11,"work/second"]]}' "$(bash_call 'touch first')" "$(call Read '{"file_path":"a"}')" \
		"$(bash_call 'touch second')" "$(say more)")" "$(say end)")"
	q -p go --allowedTools Bash,Read
	exits 0 completed
	[ -e first ]
	[ -e second ]
	has "$(result_text 2 1)" one
	is "$(jq -r '[.messages[-1].content[] | select(.type=="tool_result").tool_use_id] | join(" ")' "$(request 2)")" \
		"$(jq -r '[.messages[-2].content[] | select(.type=="tool_use").id] | join(" ")' "$(request 2)")"
}

@test "the last call starts when the answer has stopped, before its end is seen" {
	serve "$(script "$(answer '{"hold":[[5,"work/ran"]]}' "$(bash_call 'echo once >>ran')")" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0 completed
	is "$(cat ran)" once
}

@test "batch: nothing starts before the answer is complete" {
	serve "$(script "$(answer '{}' "$(bash_call 'ls >seen; echo once >>ran')" "$(say more)")" "$(say end)")"
	q -p go --allowedTools Bash --set tools.executor=batch
	exits 0 completed
	is "$(cat ran)" once
	run -0 "$QUERN" --check -p go --set tools.executor=batch
	has "$output" 'executor: "batch"'
	rc=0
	"$QUERN" --check -p go --set tools.executor=eager >"$T/out" 2>"$T/err" || rc=$?
	is "$rc" 2
	err_has "tools.executor"
}

@test "both executors show the same" {
	local how s
	s=$(script "$(answer '{"split":"events","delay":0.02}' "$(call Read '{"file_path":"a"}' r1)" "$(say x)" "$(call Bash '{"command":"cat a"}' b1)" \
		"$(call Grep '{"pattern":"one"}' g1)" "$(call Nothing '{}' n1)" "$(call Bash '{"command":"exit 3"}' b2)" \
		"$(say y)" "$(call Read '{"file_path":"a"}' r2)" "$(call Bash '{"command":"echo no >no"}' b3)")" "$(say end)")
	for how in streaming batch; do
		rm -rf "$T/work/"* "$T/log"; mkdir "$T/log"
		echo one >a
		serve "$s"
		q -p go --allowedTools Bash --set tools.executor=$how
		exits 0 completed
		gist >"$T/$how"
		cp "$(request 2)" "$T/$how.request"
		[ ! -e no ]
		stop_server
	done
	cmp "$T/streaming" "$T/batch"
	cmp "$T/streaming.request" "$T/batch.request"
	[ "$(wc -l <"$T/batch")" -gt 15 ]
}

@test "a stream cut after a command had started is salvaged: it is done once" {
	serve "$(script "$(answer '{"stop_after":5,"no_end":true,"then":"close","hold":[[5,"work/ran"]]}' \
		"$(bash_call 'echo once >>ran')" "$(say "lost words")")" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0 completed
	is "$(transitions)" salvaged_stream
	is "$(lines_of ran)" 1
	is "$(requests)" 2
	is "$(ev 'select(.subtype=="api_retry" or .type=="tombstone") | .type' | wc -l)" 0
	is "$(ev 'select(.subtype=="quern_notice").code')" stream_salvaged
	err_has "is kept"
	is "$(jq -r '[.messages[1].content[].type] | join(" ")' "$(request 2)")" tool_use
	is "$(result .num_turns)" 2
}

@test "salvage runs the calls that were complete and waits for those that run" {
	serve "$(script "$(answer '{"stop_after":8,"hold":[[8,"work/began"]],"then_error":{"type":"overloaded_error","message":"Overloaded"}}' \
		"$(bash_call 'touch began; until [ -e go ]; do sleep 0.02; done; echo a >>ran')" "$(bash_call 'echo b >>ran')" "$(say lost)")" "$(say end)")"
	(wait_for test -e began && wait_for grep -q stream_salvaged "$T/out" && touch go) 3>&- &
	local helper=$!
	q -p go --allowedTools Bash
	wait $helper
	exits 0 completed
	is "$(transitions)" salvaged_stream
	is "$(tr '\n' ' ' <ran)" "a b "
	is "$(jq '[.messages[-1].content[] | select(.type=="tool_result")] | length' "$(request 2)")" 2
}

@test "the third answer in a row that breaks after a command had started ends the run" {
	local n answers=()
	for n in 1 2 3; do
		answers+=("$(answer '{"stop_after":5,"no_end":true,"then":"close","hold":[[5,"work/ran'$n'"]]}' \
			"$(bash_call "echo again >>ran; touch ran$n")" "$(say "lost words")")")
	done
	serve "$(script "${answers[@]}")"
	q -p go --allowedTools Bash
	exits 75 model_error
	is "$(transitions)" "salvaged_stream salvaged_stream"
	is "$(requests)" 3
	is "$(lines_of ran)" 3
	is "$(ev 'select(.type=="user") | .message.content[].type' | wc -l)" 3
}

@test "silence after a command had started is salvaged too" {
	serve "$(script "$(answer '{"stop_after":5,"no_end":true,"then":"hang","hold":[[5,"work/ran"]]}' \
		"$(bash_call 'echo once >>ran')" "$(say "lost words")")" "$(say end)")"
	q -p go --allowedTools Bash --set model.idle_timeout=1s
	exits 0 completed
	is "$(transitions)" salvaged_stream
	is "$(lines_of ran)" 1
}

@test "a stream cut while only reads run is withdrawn, and the same ids may come again" {
	local read
	echo text >a
	read=$(call Grep '{"pattern":"text","path":"."}' toolu_same)
	serve "$(script "$(answer '{"stop_after":5,"no_end":true,"then":"close"}' "$read" "$(say "lost words")")" \
		"$(answer '{}' "$read")" "$(say end)")"
	q -p go
	exits 0 completed
	is "$(requests)" 3
	is "$(transitions)" next_turn
	is "$(ev 'select(.subtype=="api_retry").attempt')" 1
	is "$(ev 'select(.type=="user") | .message.content[].tool_use_id')" toolu_same
	is "$(jq '.messages | length' "$(request 2)")" 1
	has "$(result_text 3)" a
}

@test "refusal after a command had started: it is ended and named" {
	serve "$(script "$(answer '{"stop_reason":"refusal","hold":[[5,"work/ran"]]}' \
		"$(call Bash '{"command":"echo once >>ran; sleep 300"}' toolu_9)" "$(say no)")")"
	q -p go --allowedTools Bash
	exits 22 refusal
	is "$(result '.side_effects | join(",")')" "Bash toolu_9"
	is "$(lines_of ran)" 1
	is "$(ev 'select(.type=="user") | .type' | wc -l)" 0
	is "$(result '.num_turns')" 0
}

@test "an answer cut at the limit: what was complete has run, its last call has not" {
	serve "$(script "$(answer '{"stop_reason":"max_tokens","hold":[[5,"work/ran"]]}' \
		"$(bash_call 'echo once >>ran')" "$(bash_call 'echo never >never')")" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0 completed
	is "$(transitions)" next_turn
	is "$(lines_of ran)" 1
	[ ! -e never ]
	is "$(ev 'select(.type=="user") | .type' | wc -l)" 1
}

@test "a signal while a command runs in the stream: it is answered, named and gone" {
	serve "$(script "$(answer '{"hold":[[5,"work/never"]]}' "$(call Bash '{"command":"echo $$ >pid; exec sleep 300"}' toolu_7)" "$(say no)")")"
	"$QUERN" --base-url "$BASE" -p go --allowedTools Bash <"/dev/null" >"$T/out" 2>"$T/err" 3>&- &
	local pid=$!
	wait_for test -s pid
	kill -TERM $pid
	rc=0
	wait $pid || rc=$?
	stop_server
	is "$rc" 143
	valid_stream
	is "$(result .terminal_reason)" aborted_streaming
	is "$(result '.side_effects | join(",")')" "Bash toolu_7"
	is "$(ev 'select(.type=="user") | .message.content[] | [.tool_use_id, .is_error] | join(" ")')" "toolu_7 true"
	is "$(result .num_turns)" 1
	gone pid
	rm -f "$T/log/violations" # the file that the server waited for was not to come
}
