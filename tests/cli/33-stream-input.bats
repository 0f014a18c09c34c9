#!/usr/bin/env bats
# --input-format stream-json: user messages and control requests on stdin, several turns in one process.

load ../lib/helpers
load ../lib/session

out_has() { grep -qF -- "$1" "$T/out"; }
# texts REQUEST: of the last message, joined by |
texts() { jq -r '[.messages[-1].content | if type=="string" then . else .[] | .text // .type end] | join("|")' "$(request "$1")"; }
system_of() { jq -r '.system | if type=="array" then map(.text) | join("\n") else . // "" end' "$(request 1)"; }
kinds() { ev 'select(.subtype!="quern_history") | [.type, .subtype // empty] | join("/")' | tr '\n' ' ' | sed 's/ $//'; }
# The same, with all of stdin in a file.
session_in() { q_in "$1" --input-format stream-json "${@:2}"; }

@test "what the TypeScript SDK sends: both lines at once, end of file behind the result" {
	serve "$(script "$(say hi)")"
	open --output-format stream-json --verbose
	send '{"request_id":"7591e52f","type":"control_request","request":{"subtype":"initialize","systemPrompt":[""]}}' \
		'{"type":"user","session_id":"","message":{"role":"user","content":[{"type":"text","text":"hello"}]},"parent_tool_use_id":null}'
	wait_for got_results 1
	close
	is "$rc" 0
	is "$(kinds)" "control_response system/init assistant result/success"
	is "$(head -n 1 "$T/out")" '{"type":"control_response","response":{"subtype":"success","request_id":"7591e52f","response":{"commands":[],"agents":[],"models":[],"account":{},"output_style":"default","available_output_styles":["default"]}}}'
	is "$(texts 1)" hello
	is "$(system_of)" ""
	is "$(nth 1 .result)" hi
}

@test "what the Python SDK sends: it waits for the answer, then a text, then end of file before the model is asked" {
	serve '[{"text":"hi","wait":0.5}]'
	open --output-format stream-json --verbose --system-prompt ""
	ask req_1 initialize '{"hooks":null}'
	wait_for answered req_1
	is "$(requests)" 0
	user hello
	end_of_input
	close
	is "$rc" 0
	is "$(kinds)" "control_response system/init assistant result/success"
	is "$(ev .type | tail -n 1)" result
}

@test "several messages: one session, an init and a result for each, one conversation, costs in all" {
	serve "$(script "$(say one)" "$(bash_call 'echo x')" "$(say two)" "$(say three)")"
	open --allowedTools Bash
	user first
	wait_for got_results 1
	user second
	wait_for got_results 2
	user third
	wait_for got_results 3
	close
	is "$rc" 0
	is "$(results)" 3
	is "$(ev 'select(.subtype=="init").session_id' | wc -l)" 3
	is "$(ev 'select(.session_id).session_id' | sort -u | wc -l)" 1
	is "$(nth 1 .num_turns) $(nth 2 .num_turns) $(nth 3 .num_turns)" "1 2 1"
	is "$(nth 1 .usage.input_tokens) $(nth 2 .usage.input_tokens) $(nth 3 .usage.input_tokens)" "10 30 40"
	is "$(nth 3 .result)" three
	is "$(jq -c '[.messages[].role]' "$(request 4)")" '["user","assistant","user","assistant","user","assistant","user"]'
	is "$(texts 4)" third
}

@test "a message that comes while tools run stands behind their results; a later one waits" {
	serve "$(script "$(bash_call 'echo >started; until [ -e go ]; do sleep 0.05; done')" "$(say one)" "$(say two)")"
	open --allowedTools Bash --replay-user-messages
	user first
	wait_for started
	user "for later" '{"priority":"later"}'
	user meanwhile '{"uuid":"11111111-2222-4333-8444-555555555555"}'
	ask r1 interrupted_not # read behind them: both wait now
	wait_for answered r1
	touch go
	wait_for got_results 2
	close
	is "$rc" 0
	is "$(texts 2)" "tool_result|meanwhile"
	is "$(texts 3)" "for later"
	is "$(results)" 2
	is "$(ev 'select(.isReplay).message.content[0].text' | tr '\n' ,)" "first,meanwhile,for later,"
	is "$(ev 'select(.type=="user").message.content[0] | select(.type=="text").text' | tr '\n' ,)" "first,meanwhile,for later,"
	is "$(ev 'select(.uuid=="11111111-2222-4333-8444-555555555555").message.content[0].text')" meanwhile
}

@test "priority now ends the work at hand and goes first" {
	serve "$(script "$(bash_call 'echo $$ >started; sleep 300')" "$(say urgent)" "$(say rest)")"
	open --allowedTools Bash
	user first
	wait_for started
	user patient '{"priority":"later"}'
	user hurry '{"priority":"now"}'
	wait_for got_results 3
	close
	is "$rc" 0
	is "$(nth 1 .terminal_reason) $(nth 1 .subtype) $(nth 1 .is_error)" "aborted_tools error_during_execution true"
	has "$(texts 2)" hurry
	is "$(nth 2 .result)" urgent
	is "$(texts 3)" patient
	gone started
}

@test "shouldQuery false is said and asks for nothing" {
	serve "$(script "$(say one)")"
	{ message "a fact" '{"shouldQuery":false}'; message question; message "too late" '{"shouldQuery":false}'; } >"$T/lines"
	session_in "$T/lines" --replay-user-messages
	exits 0 completed
	is "$(requests)" 1
	is "$(texts 1)" "a fact|question"
	is "$(results)" 1
}

@test "interrupt while the model is waited for: answered, one result, and the session goes on" {
	serve '[{"silent":true},{"text":"back"}]'
	open
	user first
	wait_for got_requests 1
	user second '{"uuid":"11111111-2222-4333-8444-555555555555","priority":"later"}'
	ask r1 interrupt
	wait_for got_results 2
	close
	is "$rc" 0
	is "$(answer r1 .subtype)" success
	is "$(answer r1 '.response.still_queued | join(",")')" 11111111-2222-4333-8444-555555555555
	is "$(nth 1 '[.subtype, .terminal_reason, .is_error, .exit_code] | join(" ")')" "error_during_execution aborted_streaming true 40"
	is "$(texts 2)" "first|second"
	is "$(nth 2 .result)" back
	# the answer stands before the result that it leads to
	is "$(ev 'select(.type=="control_response" or .type=="result").type' | head -n 2 | tr '\n' ' ')" "control_response result "
}

@test "interrupt while a tool runs: its process is gone, the call is answered; with nothing at work it is only answered" {
	serve "$(script "$(bash_call 'trap "" TERM; echo $$ >started; sleep 300; sleep 300')" "$(say two)")"
	open --allowedTools Bash
	ask r0 interrupt
	wait_for answered r0
	user first
	wait_for started
	ask r1 interrupt
	wait_for got_results 1
	gone started
	is "$(ev 'select(.type=="user").message.content[0].is_error')" true
	ask r2 interrupt
	wait_for answered r2
	user second
	wait_for got_results 2
	close
	is "$rc" 0
	is "$(results)" 2
	is "$(nth 1 .terminal_reason)" aborted_tools
	is "$(answer r0 .subtype) $(answer r2 .subtype)" "success success"
}

@test "the exit status is the last result's" {
	serve '[{"text":"one"},{"silent":true}]'
	open
	user first
	wait_for got_results 1
	user second
	wait_for got_requests 2
	ask r1 interrupt
	wait_for got_results 2
	close
	is "$rc" 40
	err_has "interrupted"
}

@test "interrupt with cancel_queued drops what waits" {
	serve '[{"silent":true}]'
	open
	user first
	wait_for got_requests 1
	user second '{"uuid":"11111111-2222-4333-8444-555555555555"}'
	ask r1 interrupt '{"cancel_queued":true}'
	wait_for got_results 1
	close
	is "$(results)" 1
	is "$(answer r1 '.response | "\(.cancelled) \(.still_queued)"')" '["11111111-2222-4333-8444-555555555555"] []'
}

@test "a line that is not understood is told with its number, and the session goes on" {
	serve "$(script "$(say one)" "$(say two)")"
	open
	user first
	wait_for got_results 1
	printf 'nonsense\n\n{"type":"user","message":{"role":"user","content":"\xff"}}\n{"type":"user","message":{"role":"user","content":"a\0b"}}\n' >&"$IN"
	send '{"type":"surprise"}'
	user " "
	send '{"type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"no base64"}}]}}'
	user second
	wait_for got_results 2
	close
	is "$rc" 0
	is "$(texts 2)" second
	is "$(requests)" 2
	is "$(ev 'select(.code=="input_line").text | capture("line (?<n>[0-9]+)").n' | tr '\n' ' ')" "2 4 5 6 7 8 "
	has "$(ev 'select(.code=="input_line").text' | sed -n 2p)" "offset 51: a string is not valid UTF-8"
	err_has "stdin: line 2: it is no JSON"
	err_has "stdin: line 5: it is no JSON: offset 52: "
	err_has 'line 6: type: "surprise"'
	err_has "line 7: the message is blank"
	err_has "line 8: message.content[0].source.data: is no base64"
}

@test "a first line that is no JSON object: exit 2, nothing is asked" {
	serve '[]'
	echo "Please fix the tests" >"$T/lines"
	message hello >>"$T/lines"
	session_in "$T/lines"
	exits 2 turn_setup_failed
	is "$(result .startup_failure_reason)" prompt_unavailable
	err_has "stdin: line 1: it is no JSON"
	is "$(requests)" 0
}

@test "a line longer than limits.stdin_bytes is refused, the next one is read" {
	serve "$(script "$(say one)")"
	{ message "$(head -c 3000 /dev/zero | tr '\0' x)"; message second; } >"$T/lines"
	session_in "$T/lines" --set limits.stdin_bytes=2000
	exits 0
	err_has "line 1: it is longer than limits.stdin_bytes allows (2000 bytes)"
	is "$(texts 1)" second
}

@test "no message at all is exit 2; a session that was only opened and closed is none" {
	serve '[]'
	local lines
	for lines in '' '\n \r\n' '{"type":"keep_alive"}\n' '{"type":"user","message":{"role":"user","content":" "}}\n'; do
		# shellcheck disable=SC2059 # the escapes are meant
		printf "$lines" >"$T/lines"
		session_in "$T/lines"
		exits 2 turn_setup_failed
		err_has "no user message came on stdin"
	done
	echo '{"type":"control_request","request_id":"r","request":{"subtype":"initialize"}}' >"$T/lines"
	session_in "$T/lines"
	is "$rc" 0
	is "$(kinds)" control_response
	valid_stream
}

@test "--replay-user-messages shows what was taken, with its uuid" {
	serve "$(script "$(say one)" "$(say two)")"
	{ message one '{"uuid":"ABCDEF00-2222-4333-8444-555555555555"}'; message two '{"uuid":"no uuid"}'; } >"$T/lines"
	session_in "$T/lines" --replay-user-messages
	exits 0
	is "$(ev 'select(.isReplay) | "\(.uuid[0:8]) \(.message.content[0].text)"' | head -n 1)" "abcdef00 one"
	is "$(ev 'select(.isReplay)' | jq -s length)" 2
	is "$(kinds)" "system/init user assistant result/success system/init user assistant result/success"
}

@test "-p is the first message" {
	serve "$(script "$(say one)" "$(say two)")"
	message "from stdin" >"$T/lines"
	session_in "$T/lines" -p "from the option"
	exits 0
	is "$(texts 1)" "from the option"
	is "$(texts 2)" "from stdin"
	is "$(results)" 2
}

@test "pictures and documents reach the model, with nothing but what belongs to them" {
	serve "$(script "$(say one)")"
	cat >"$T/lines" <<-'LINES'
		{"type":"user","message":{"role":"user","content":[{"type":"text","text":"look","cache_control":{"type":"ephemeral"}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"}}]}}
	LINES
	session_in "$T/lines"
	exits 0
	is "$(command jq -c '[.messages[0].content[] | del(.cache_control)]' "$(request 1)")" '[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"}}]'
}

@test "control requests: what is known, what is not, and what comes too late" {
	serve "$(script "$(say one)")"
	open
	ask a set_model '{"model":"claude-haiku-4-5"}'
	ask b set_permission_mode '{"mode":"default"}'
	ask c set_permission_mode '{"mode":"bypassPermissions"}'
	ask d mcp_status
	ask e rewind_files
	ask f initialize '{"systemPrompt":["be brief","be kind"],"appendSystemPrompt":"and on time","hooks":{"PreToolUse":[{"matcher":"Bash","hookCallbackIds":["h"]}]},"agents":{}}'
	ask g initialize
	send '{"type":"control_response","response":{"subtype":"success","request_id":"x","response":{}}}' '{"type":"control_cancel_request","request_id":"x"}'
	user go
	wait_for got_results 1
	ask h set_model '{"model":"claude-opus-4-5"}'
	ask i set_model '{"model":"claude-haiku-4-5"}'
	wait_for answered i
	close
	is "$(answer a .subtype) $(jq -r .model "$(request 1)")" "success claude-haiku-4-5"
	is "$(ev 'select(.subtype=="init").model')" claude-haiku-4-5
	is "$(answer b .response.mode)" default
	is "$(answer c .subtype)" error
	is "$(answer d '.response | tojson')" '{"mcpServers":[]}'
	is "$(answer e .error)" "Unsupported control request subtype: rewind_files"
	is "$(answer f '.response | has("hook_on_failure_supported")')" false
	is "$(system_of)" "be brief

be kind

and on time"
	is "$(ev 'select(.code=="control_unsupported").text')" "initialize: hooks: not supported, without effect"
	is "$(answer g .subtype) $(answer h .subtype) $(answer i .subtype)" "error error success"
}

@test "a system prompt that is none is refused, and the one there is stays" {
	serve "$(script "$(say one)")"
	open
	ask a initialize '{"systemPrompt":5}'
	ask b initialize '{"systemPrompt":{"type":"preset"}}'
	ask c initialize '{"systemPrompt":["be brief",5]}'
	ask d initialize '{"appendSystemPrompt":false}'
	user go
	wait_for got_results 1
	close
	is "$(for i in a b c d; do answer $i .error; done | uniq)" "systemPrompt and appendSystemPrompt must be texts"
	has "$(system_of)" "You are quern"
}

@test "an interrupt behind many messages that wait is read" {
	serve '[{"silent":true},{"text":"ok","repeat":true}]'
	open
	user first
	wait_for got_requests 1
	local i
	send "$(for i in $(seq 200); do echo '{"type":"user","priority":"later","message":{"content":"m"}}'; done)"
	ask r1 interrupt '{"cancel_queued":true}'
	wait_for got_results 1
	user last
	wait_for got_results 2
	close
	is "$(nth 1 .terminal_reason) $(nth 2 .terminal_reason)" "aborted_streaming completed"
	is "$(texts 2)" "first|last"
}

@test "a control request without what it needs is told, not answered" {
	serve "$(script "$(say one)")"
	open
	send '{"type":"control_request","request":{"subtype":"interrupt"}}' '{"type":"control_request","request_id":"r","request":{}}'
	user go
	wait_for got_results 1
	close
	err_has "line 1: request_id: must be a string"
	err_has "line 2: request.subtype: must be a string"
	is "$(kinds)" "system/init system/quern_notice system/quern_notice assistant result/success"
}

@test "options that do not go with it are exit 2" {
	serve '[]'
	SESSION=''
	q --input-format stream-json --output-format text
	is "$rc" 2
	q --input-format stream-json --output-format json
	is "$rc $(jq -r .terminal_reason "$T/out")" "2 turn_setup_failed"
	q --input-format stream-json -n
	exits 2
	q --input-format stream-json -
	exits 2
	q -p hi --replay-user-messages
	exits 2
}

@test "nobody waits in a loop between two messages" {
	serve "$(script "$(say one)")"
	open
	user first
	wait_for got_results 1
	pid=$(pid_of_it)
	switches() { awk '/ctxt_switches/ {n += $2} END {print n}' "/proc/$pid/status"; }
	settled() { local n; n=$(switches); sleep 0.3; [ "$n" = "$(switches)" ]; }
	wait_for settled
	close
	is "$rc" 0
}

@test "TERM between two messages: the last result stays the last line, what ran in the background is gone" {
	serve "$(script "$(call Bash '{"command":"echo $$ >started; sleep 300","run_in_background":true}')" "$(say one)")"
	open --allowedTools Bash
	user first
	wait_for got_results 1
	wait_for started
	kill -0 "$(cat started)" # it goes on while the next message is waited for
	kill -TERM "$(pid_of_it)"
	close
	is "$rc" 143
	is "$(ev .type | tail -n 1) $(results) $(nth 1 .exit_code)" "result 1 0"
	gone started
}

@test "TERM before any message: a result, and death by the signal" {
	serve '[]'
	open
	ask r initialize
	wait_for answered r
	kill -TERM "$(pid_of_it)"
	close
	is "$rc" 143
	is "$(nth 1 .terminal_reason) $(nth 1 .exit_code)" "aborted_tools 143"
}

@test "TERM while a message is worked on: its result, and no other message is begun" {
	serve '[{"silent":true}]'
	open
	user first
	wait_for got_requests 1
	user second
	kill -TERM "$(pid_of_it)"
	close
	is "$rc" 143
	is "$(results) $(nth 1 .terminal_reason)" "1 aborted_streaming"
	is "$(requests)" 1
}

@test "the wall time holds between messages" {
	serve "$(script "$(say one)")"
	open --wall-time 3s
	user first
	wait_for got_results 1
	rc=0
	wait "$waited" || rc=$?
	is "$rc" 41
	is "$(results) $(nth 1 .exit_code)" "1 0"
	err_has "the wall time ended while a message was waited for"
	close_in() { exec {IN}>&-; IN=''; }
	close_in
	rm "$T/in"
	open --wall-time 1s
	rc=0
	wait "$waited" || rc=$?
	is "$rc" 41
	is "$(nth 1 .terminal_reason)" aborted_tools
	valid_stream
	close_in
}

@test "a file of many messages: each is worked on, in order" {
	local i
	serve '[{"text":"ok","repeat":true}]'
	for i in $(seq 150); do echo "{\"type\":\"user\",\"message\":{\"content\":\"m$i\"}}"; done >"$T/lines"
	session_in "$T/lines"
	exits 0
	is "$(results)" 150
	is "$(texts 150)" m150
}

@test "a reader that goes away ends the session between messages too" {
	serve "$(script "$(say one)")"
	mkfifo "$T/in" "$T/pipe"
	head -n 3 <"$T/pipe" >"$T/out" &
	reader=$!
	rc=0
	timeout -k 5 30 "$QUERN" --base-url "$BASE" --input-format stream-json <"$T/in" >"$T/pipe" 2>"$T/err" 3>&- &
	waited=$!
	exec {IN}>"$T/in"
	user first
	wait "$reader"
	wait "$waited" || rc=$?
	is "$rc" 1
	end_of_input
}

@test "a secret in a message is masked before it goes anywhere" {
	serve "$(script "$(say one)")"
	export NPM_TOKEN=npm-0123456789abcdef
	message "use npm-0123456789abcdef for it" >"$T/lines"
	session_in "$T/lines" --replay-user-messages
	exits 0
	is "$(texts 1)" "use [secret] for it"
	run ! grep -r npm-0123456789 "$T/out" "$T/err" "$T/log"
}

@test "what a session wrote is a tape, for a session too" {
	serve "$(script "$(say one)" "$(say two)")"
	{ echo '{"type":"control_request","request_id":"r","request":{"subtype":"initialize"}}'; message first; message second '{"priority":"later"}'; } >"$T/lines"
	session_in "$T/lines"
	exits 0
	cp "$T/out" "$T/tape"
	session_in "$T/lines" --replay "$T/tape"
	exits 0
	is "$(nth 1 .result) $(nth 2 .result)" "one two"
	is "$(requests)" 2
}
