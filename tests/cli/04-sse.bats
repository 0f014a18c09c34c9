#!/usr/bin/env bats
# The event stream in every shape that servers give it.

load ../lib/helpers

mixed='{"content":[{"thinking":"hm","signature":"c2ln"},{"text":"gr\u00fc\u00dfe \ud83d\ude00 and more text"},{"tool_use":{"name":"Bash","input":{"command":"echo \u00fc\ud83d\ude00"},"id":"t1"}}]'

@test "split into single bytes: the same events as in one piece" {
	serve "[$mixed},{\"text\":\"end\"},$mixed,\"split\":1},{\"text\":\"end\"}]"
	q -p go --allowedTools Bash && exits 0
	jq -c 'select(.type=="assistant").message.content' "$T/out" >"$T/whole"
	q -p go --allowedTools Bash && exits 0
	jq -c 'select(.type=="assistant").message.content' "$T/out" >"$T/bytes"
	cmp "$T/whole" "$T/bytes"
	cmp "$(request 2)" "$(request 4)"
}

@test "thinking is kept with its signature and sent back byte for byte" {
	serve "[$mixed},{\"text\":\"end\"}]"
	q -p go --allowedTools Bash
	exits 0
	is "$(jq -c '.messages[1].content[0] | [.type, .thinking, .signature]' "$(request 2)")" '["thinking","hm","c2ln"]'
}

sse() { # events on stdin, one "name data" a line, into an answer
	local name data out=''
	while read -r name data; do
		out+="event: $name
data: $data

"
	done
	jq -cn --arg s "$out" '{sse: $s}'
}
start='message_start {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}'
stop='message_stop {"type":"message_stop"}'

@test "unknown events, blocks and deltas are survived" {
	answer=$(sse <<-SSE
		$start
		hello {"type":"hello","x":[1,2]}
		ping {"type":"ping"}
		content_block_start {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
		content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"future_delta","x":1}}
		content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"fine"}}
		content_block_stop {"type":"content_block_stop","index":0}
		message_delta {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}
		$stop
	SSE
	)
	serve "[$answer]"
	q -p go
	exits 0
	is "$(result .result)" fine
}

@test "blocks whose events overlap are put together by index" {
	answer=$(sse <<-SSE
		$start
		content_block_start {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
		content_block_start {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}
		content_block_delta {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"two"}}
		content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one"}}
		content_block_stop {"type":"content_block_stop","index":1}
		content_block_stop {"type":"content_block_stop","index":0}
		message_delta {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}
		$stop
	SSE
	)
	serve "[$answer]"
	q -p go
	exits 0
	has "$(result .result)" one
	has "$(result .result)" two
}

@test "an answer with a stop reason and all block ends is complete, whatever follows" {
	serve '[{"text":"whole","stop_after":6,"piece":100,"no_end":true,"then":"close"},{"text":"whole","stop_after":5,"piece":100,"no_end":true,"then":"reset"}]'
	q -p go
	exits 0 completed
	is "$(result .result)" whole
	is "$(requests)" 1
	q -p go
	exits 0 completed
	is "$(requests)" 2
}

@test "without a stop reason it is incomplete, even after a clean end: the attempt is made again" {
	serve '[{"text":"half an ans","stop_after":4,"piece":100},{"text":"whole"}]'
	q -p go
	exits 0 completed
	is "$(result .result)" whole
	is "$(requests)" 2
	is "$(ev 'select(.subtype=="api_retry").attempt')" 1
}

@test "a stream cut after content: its lines are withdrawn by a tombstone, then repeated" {
	serve '[{"content":[{"text":"first"},{"text":"second"},{"text":"third"}],"stop_after":8,"piece":100,"no_end":true,"then":"close"},{"text":"whole"}]'
	q -p go
	exits 0 completed
	uuid=$(ev 'select(.type=="assistant" and .message.content[0].text=="first").uuid')
	[ -n "$uuid" ]
	has "$(ev 'select(.subtype=="quern_tombstone").uuids[]')" "$uuid"
	is "$(jq '.messages | length' "$(request 2)")" 1
	is "$(result .num_turns)" 1
}

@test "an error event in a good stream: before any block, after text, after a whole call" {
	serve '[{"text":"x","stop_after":1,"then_error":{"type":"overloaded_error","message":"Overloaded"}},{"text":"done"},
		{"text":"partial","stop_after":3,"then_error":{"type":"api_error","message":"Internal server error"}},{"text":"done"},
		{"tool_use":{"name":"Bash","input":{"command":"echo ran >>counter"}},"stop_after":4,"piece":200,"then_error":{"type":"api_error","message":"Internal server error"}},{"text":"done"}]'
	local n
	for n in 1 2 3; do
		q -p "go $n" --allowedTools Bash
		exits 0 completed
		is "$n: $(result .result)" "$n: done"
		is "$n: $(ev 'select(.subtype=="api_retry").type' | wc -l)" "$n: 1"
	done
	is "$(requests)" 6
}

@test "a call of a withdrawn answer is not run when its block was the last one seen" {
	serve '[{"tool_use":{"name":"Bash","input":{"command":"echo ran >>counter"}},"stop_after":4,"piece":200,"then_error":{"type":"api_error","message":"x"}},{"text":"done"}]'
	q -p go --allowedTools Bash
	exits 0 completed
	[ ! -e counter ]
	is "$(jq '.messages | length' "$(request 2)")" 1
}

@test "a permanent error event is not tried again, and its status is not shown as 200" {
	serve '[{"text":"x","stop_after":1,"then_error":{"type":"invalid_request_error","message":"never"}}]'
	q -p go
	exits 20 model_error
	is "$(requests)" 1
	lacks "$(result .api_error_status)" 200
	has "$(result '.errors|join(" ")')" never
}

@test "an error without a type, and raw JSON lines between events, are errors to try again" {
	one=$(sse <<-SSE
		$start
		error {"error":{"message":"upstream went away","type":"stream_error"}}
	SSE
	)
	two=$(jq -cn --arg s "event: message_start
data: ${start#message_start }

{\"error\":{\"code\":503}}
" '{sse: $s}')
	serve "[$one,{\"text\":\"done\"},$two,{\"text\":\"done\"}]"
	q -p one && exits 0 completed
	q -p two && exits 0 completed
	is "$(requests)" 4
}

@test "usage is cumulative: the last word counts, not the sum" {
	serve '[{"text":"x","first_usage":{"input_tokens":100,"output_tokens":1,"cache_read_input_tokens":7,"cache_creation_input_tokens":3},"delta_usage":[{"output_tokens":10}],"usage":{"input_tokens":100,"output_tokens":42,"cache_read_input_tokens":7,"cache_creation_input_tokens":3}}]'
	q -p go
	exits 0
	is "$(result -c '.usage' >/dev/null; result '[.usage.input_tokens,.usage.output_tokens,.usage.cache_read_input_tokens,.usage.cache_creation_input_tokens]|join(" ")')" "100 42 7 3"
}

@test "missing and absurd usage: no crash, no negative cost, valid JSON" {
	one=$(sse <<-SSE
		message_start {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"x","content":[]}}
		content_block_start {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
		content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}
		content_block_stop {"type":"content_block_stop","index":0}
		message_delta {"type":"message_delta","delta":{"stop_reason":"end_turn"}}
		$stop
	SSE
	)
	two=${one/'"stop_reason\":\"end_turn\"}'/'"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":-1,\"input_tokens\":1e308}'}
	serve "[$one,$two]"
	q -p go && exits 0
	q -p go && exits 0
	is "$(result '.total_cost_usd == null or .total_cost_usd >= 0')" true
	is "$(result '.usage.output_tokens >= 0')" true
}

@test "an end without any content: one nudge, then an empty result is a success" {
	serve '[{"content":[]},{"content":[]}]'
	q -p go
	exits 0 completed
	is "$(transitions)" empty_answer_nudge
	is "$(result .result)" ""
	is "$(requests)" 2
}

@test "empty and blank text blocks never go back to the server" {
	serve '[{"content":[{"text":""},{"text":" \n"},{"tool_use":{"name":"Bash","input":{"command":"true"}}}]},{"text":"end"}]'
	q -p go --allowedTools Bash
	exits 0
	is "$(jq '.messages[1].content | length' "$(request 2)")" 1
}

@test "escapes: pairs joined, lone halves repaired, whatever the split" {
	serve '[{"tool_use":{"name":"Bash","id":"a","input":{},"raw":"{\"command\":\"printf %s \\ud83d\\ude00 >pair\"}"},"piece":3},
		{"tool_use":{"name":"Bash","id":"b","input":{},"raw":"{\"command\":\"printf %s x\\ud83dy >lone\"}"}},{"text":"end"}]'
	q -p go --allowedTools Bash
	exits 0
	is "$(od -An -tx1 pair | tr -d ' ')" f09f9880
	[ ! -e lone ] || is "$(od -An -tx1 lone | tr -d ' ')" 78efbfbd79
}

@test "a whole JSON answer instead of a stream is accepted" {
	serve '[{"body":{"id":"m1","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"not streamed"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2}}}]'
	q -p go
	exits 0 completed
	is "$(result .result)" "not streamed"
}

@test "an answer with call blocks but end_turn: the calls are run" {
	serve '[{"tool_use":{"name":"Bash","input":{"command":"echo ran >>counter"}},"stop_reason":"end_turn"},{"text":"end"}]'
	q -p go --allowedTools Bash
	exits 0
	is "$(cat counter)" ran
}

@test "tool_use without a call ends the run; an unknown stop reason too" {
	serve '[{"text":"fine","stop_reason":"tool_use"},{"text":"fine","stop_reason":"new_reason"}]'
	q -p go && exits 0 completed
	q -p go && exits 0 completed
}

@test "pause_turn is continued as is, at most five times in a row" {
	serve '[{"text":"wait","stop_reason":"pause_turn"},{"text":"end"}]'
	q -p go
	exits 0 completed
	is "$(transitions)" pause_turn
	is "$(result .num_turns)" 1
	stop_server
	rm -rf "$T/log"; mkdir "$T/log"
	serve '[{"text":"wait","stop_reason":"pause_turn","repeat":true}]'
	q -p go
	exits 20 model_error
	is "$(requests)" 6
}

@test "a call id that is already in history is renamed in call and result alike" {
	serve "$(script "$(call Bash '{"command":"echo 1"}' same)" "$(call Bash '{"command":"echo 2"}' same)" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(jq -r '[.messages[].content[]? | objects | select(.type=="tool_use").id] | unique | length' "$(request 3)")" 2
}

@test "5,000 small deltas: few bytes on stdout without partial" {
	serve "$(jq -cn '[{text: ("word " * 5000), piece: 5}]')"
	q -p go
	exits 0
	[ "$(wc -c <"$T/out")" -lt 110000 ]
}

@test "watchdogs: silence before the head, after it, and in the middle" {
	serve '[{"silent":true},{"text":"a"},{"head_only":true},{"text":"b"},{"text":"half","stop_after":2,"no_end":true,"delay":0.001,"split":"events","then":"hang"},{"text":"c"}]'
	q -p a --set model.first_byte_timeout=500ms --set model.idle_timeout=500ms && exits 0
	is "$(result .result)" a
	q -p b --set model.first_byte_timeout=500ms --set model.idle_timeout=500ms && exits 0
	is "$(result .result)" b
	q -p c --set model.first_byte_timeout=500ms --set model.idle_timeout=500ms && exits 0
	is "$(result .result)" c
	is "$(requests)" 6
}

@test "pings keep a stream alive, but not for ever" {
	serve '[{"text":"end","lead":"event: ping\ndata: {\"type\":\"ping\"}\n\n","lead_every":0.3,"lead_count":5},{"text":"x","lead":": keepalive\n\n","lead_every":0.2,"lead_count":50,"repeat":true}]'
	q -p go --set model.idle_timeout=1s --set model.progress_timeout=5s
	exits 0
	q -p go --set model.idle_timeout=1s --set model.progress_timeout=1s --set model.max_retries=0
	exits 75 model_error
}
