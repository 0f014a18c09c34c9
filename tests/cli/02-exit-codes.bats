#!/usr/bin/env bats
# Every exit code that a run of this version can end with, and the reason that goes with it.

load ../lib/helpers

@test "0: completed" {
	serve "$(script "$(say hi)")"
	q -p hi
	exits 0 completed
}

@test "2: no task" {
	q
	exits 2 turn_setup_failed
	is "$(result .num_turns)" 0
	[ -n "$(result '.startup_failure_reason // empty')" ]
}

@test "2: unknown option" {
	q -p hi --max-turn 3
	is "$rc" 2
	err_has --max-turn
	err_has --max-turns
}

@test "2: missing job file" {
	q nothing.yaml
	is "$rc" 2
	err_has nothing.yaml
}

@test "2: a positional that is no file hints at -p" {
	q "Explain this"
	is "$rc" 2
	err_has -p
}

@test "2: option value that starts with a dash" {
	q -p --verbose
	is "$rc" 2
	err_has --prompt=
	serve "$(script "$(say hi)")"
	q --prompt=--verbose
	exits 0
	has "$(jq -r '.messages[0].content | if type=="array" then .[0].text else . end' "$(request 1)")" --verbose
}

@test "2: numbers out of range" {
	local bad
	for bad in --max-turns=0 --max-turns=-1 --max-turns=1.5 --max-turns=x --max-turns= --max-turns=99999999999999999999 \
		--token-budget=0 --token-budget=-5 --token-budget=5Q --max-budget-usd=0 --max-budget-usd=5,00 '--max-budget-usd=$5' \
		--max-budget-usd=nan --max-budget-usd=1e309 --max-budget-usd=-1 --wall-time=x --wall-time=-1s --wall-time=10x; do
		q -p hi "$bad"
		is "$bad $rc" "$bad 2"
		err_has "${bad%%=*}"
	done
}

@test "2: no key for the vendor's own host" {
	BASE='' q -p hi
	exits 2 turn_setup_failed
	err_has ANTHROPIC_API_KEY
	is "$(result .startup_failure_reason)" api_key_unavailable
}

@test "2: workspace that is not there" {
	serve '[]'
	q -p hi -C nowhere
	exits 2 turn_setup_failed
	err_has nowhere
}

@test "2: unknown provider, format and permission mode name what there is" {
	q -p hi --provider nobody
	is "$rc" 2
	err_has nobody
	q -p hi -o xml
	is "$rc" 2
	err_has stream-json
	q -p hi --permission-mode maybe
	is "$rc" 2
	err_has maybe
}

@test "10: the model wants more turns than it may have" {
	serve "$(script "$(bash_call 'echo ran >>ran.txt')")"
	q -p go --max-turns 1 --allowedTools Bash
	exits 10 max_turns
	is "$(result .subtype)" error_max_turns
	is "$(result .num_turns)" 1
	# The last allowed answer's tools are run and their results are in the events.
	is "$(cat ran.txt)" ran
	is "$(ev 'select(.type=="user").message.content[0].type')" tool_result
	is "$(requests)" 1
}

@test "10: the limit is not reached by an answer that completes" {
	serve "$(script "$(bash_call true)" "$(say end)")"
	q -p go --max-turns 2 --allowedTools Bash
	exits 0 completed
}

@test "11: the prompt is too long" {
	serve '[{"status":400,"error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}]'
	q -p hi
	exits 11 prompt_too_long
	is "$(requests)" 1
	# The withheld error comes out exactly once, as a synthetic line before the result and in errors.
	is "$(ev 'select(.type=="assistant" and .message.model=="<synthetic>").type' | wc -l)" 1
	has "$(result '.errors | join(" ")')" "too long"
	is "$(result '.result // "none"')" none
}

@test "11: status 413 means the same" {
	serve '[{"status":413,"body":"<html>Request Entity Too Large</html>","headers":{"Content-Type":"text/html"}}]'
	q -p hi
	exits 11 prompt_too_long
}

@test "13: tokens" {
	serve "$(script "$(bash_call 'echo 1')" "$(bash_call 'echo 2')")"
	q -p go --allowedTools Bash --token-budget 20
	exits 13 budget_exhausted
	is "$(result .subtype)" error_max_budget_usd
	is "$(requests)" 2
}

@test "13: requests" {
	serve "$(script "$(bash_call 'echo 1')")"
	q -p go --allowedTools Bash --set limits.max_requests=1
	exits 13 budget_exhausted
	is "$(requests)" 1
}

@test "13: tool calls" {
	serve "$(script '{"content":[{"tool_use":{"name":"Bash","input":{"command":"echo a >>ran"},"id":"a"}},{"tool_use":{"name":"Bash","input":{"command":"echo b >>ran"},"id":"b"}}]}')"
	q -p go --allowedTools Bash --set limits.max_tool_calls=1
	exits 13 budget_exhausted
	is "$(cat ran)" a
	is "$(ev 'select(.type=="user") | .message.content[0].tool_use_id' | tr '\n' ' ')" "a b "
}

@test "13: cost" {
	serve "$(script '{"tool_use":{"name":"Bash","input":{"command":"true"}},"usage":{"input_tokens":500000,"output_tokens":20000}}')"
	q -p go --allowedTools Bash --max-budget-usd 0.01
	exits 13 budget_exhausted
	is "$(requests)" 1
	[ "$(result '.limits.max_cost_usd | .left < 0')" = true ]
}

@test "14: cut answers: raised once, resumed three times, then the cut answer is the result" {
	serve '[{"text":"part 1","stop_reason":"max_tokens"},{"text":"part 2","stop_reason":"max_tokens","repeat":true}]'
	q -p go
	exits 14 max_output_tokens
	is "$(requests)" 5
	is "$(transitions)" "max_output_tokens_escalate max_output_tokens_recovery max_output_tokens_recovery max_output_tokens_recovery"
	has "$(result .result)" "part 2"
	[ "$(jq .max_tokens "$(request 2)")" -gt "$(jq .max_tokens "$(request 1)")" ]
	# The escalated attempt is the same request again, its first try withdrawn.
	is "$(jq '.messages | length' "$(request 2)")" 1
	is "$(ev 'select(.subtype=="quern_tombstone").type' | wc -l)" 1
}

@test "14: a cap set by the user is not raised" {
	serve '[{"text":"part","stop_reason":"max_tokens","repeat":true}]'
	q -p go --set model.max_output_tokens=1000 -o text
	is "$rc" 14
	is "$(requests)" 4
	has "$(cat "$T/out")" part
	is "$(jq -s -c 'map(.max_tokens) | unique' "$T"/log/00*.json)" '[1000]'
}

@test "14: a recovery that works is a success" {
	serve '[{"text":"Begin","stop_reason":"max_tokens"},{"text":"Begin","stop_reason":"max_tokens"},{"text":" end."}]'
	q -p go
	exits 0 completed
	is "$(transitions)" "max_output_tokens_escalate max_output_tokens_recovery"
	is "$(jq -r '[.messages[].role] | join(" ")' "$(request 3)")" "user assistant user"
}

@test "14: a cut answer with a complete call is accepted, the incomplete call never run" {
	serve "$(script '{"content":[{"tool_use":{"name":"Bash","input":{"command":"echo whole >>ran"},"id":"a"}},{"tool_use":{"name":"Bash","input":{},"raw":"{\"command\":\"echo cut >>ran\"","id":"b"}}],"stop_reason":"max_tokens"}' "$(say end)")"
	q -p go --allowedTools Bash
	exits 0 completed
	is "$(cat ran)" whole
	is "$(transitions)" next_turn
	is "$(jq '[.messages[1].content[] | select(.type=="tool_use")] | length' "$(request 2)")" 1
}

@test "17: five answers in a row with nothing but unknown or unusable calls" {
	serve '[{"tool_use":{"name":"Fly","input":{}},"repeat":true}]'
	q -p go
	exits 17 malformed_tool_use_exhausted
	is "$(result .num_turns)" 5
}

@test "17: a usable call in between starts the count again" {
	serve '[{"tool_use":{"name":"Fly","input":{}},"repeat":4},{"tool_use":{"name":"Glob","input":{"pattern":"*"}}},{"tool_use":{"name":"Fly","input":{}},"repeat":4},{"text":"end"}]'
	q -p go
	exits 0 completed
}

@test "20: what no retry can mend" {
	local status type
	while read -r status type; do
		serve "[{\"status\":$status,\"error\":{\"type\":\"$type\",\"message\":\"the words of $status\"}}]"
		q -p hi
		exits 20 model_error
		is "$status: $(requests)" "$status: 1"
		is "$(result .api_error_status)" "$status"
		is "$(result .transient)" false
		has "$(result '.errors | join(" ")')" "the words of $status"
		err_has "the words of $status"
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
	done <<-LIST
		400 invalid_request_error
		401 authentication_error
		402 billing_error
		403 permission_error
		404 not_found_error
	LIST
}

@test "21: an image that the server refuses, and refuses still" {
	printf '\211PNG\r\n\032\n\0\0\0\rIHDR\0\0\0\001\0\0\0\001\b\0\0\0\0:~\233U\0\0\0\nIDATx\234c`\0\0\0\002\0\001H\257\244q\0\0\0\0IEND\256B`\202' >dot.png
	# The note takes the place of what was sent: the one edit of history that there is.
	NO_CHECK=--no-check serve "$(script "$(call Read '{"file_path":"dot.png"}')" '{"status":400,"error":{"type":"invalid_request_error","message":"messages.2.content.0.content.0: Could not process image"},"repeat":true}')"
	q -p go
	exits 21 image_error
	[ "$(requests)" -le 4 ]
}

@test "21: an image that the server refuses once is replaced by a note" {
	printf '\211PNG\r\n\032\n\0\0\0\rIHDR\0\0\0\001\0\0\0\001\b\0\0\0\0:~\233U\0\0\0\nIDATx\234c`\0\0\0\002\0\001H\257\244q\0\0\0\0IEND\256B`\202' >dot.png
	NO_CHECK=--no-check serve "$(script "$(call Read '{"file_path":"dot.png"}')" '{"status":400,"error":{"type":"invalid_request_error","message":"messages.2.content.0.content.0: Could not process image"}}' "$(say end)")"
	q -p go
	exits 0 completed
	is "$(jq '[.. | objects | select(.type=="image")] | length' "$(request 2)")" 1
	is "$(jq '[.. | objects | select(.type=="image")] | length' "$(request 3)")" 0
}

@test "21: of two images the one that the server names is replaced" {
	printf '\211PNG\r\n\032\n\0\0\0\rIHDR\0\0\0\001\0\0\0\001\b\0\0\0\0:~\233U\0\0\0\nIDATx\234c`\0\0\0\002\0\001H\257\244q\0\0\0\0IEND\256B`\202' >dot.png
	cp dot.png dash.png
	NO_CHECK=--no-check serve "$(script "$(call Read '{"file_path":"dot.png"}')" "$(call Read '{"file_path":"dash.png"}')" \
		'{"status":400,"error":{"type":"invalid_request_error","message":"messages.2.content.0.content.0.image.source.base64.data: image exceeds 5 MB maximum: 6 bytes > 5 bytes"}}' "$(say end)")"
	q -p go
	exits 0 completed
	is "$(jq -c '[.messages[] | [.. | objects | select(.type=="image")] | length]' "$(request 4)")" "[0,0,0,0,1]"
}

@test "22: the model declines" {
	serve '[{"text":"I would rather","stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"no"}}]'
	q -p hi
	exits 22 refusal
	is "$(result .stop_reason)" refusal
	is "$(requests)" 1
}

@test "40: wall time while waiting for the model" {
	serve '[{"silent":true}]'
	reaching "$(request 1)" q -p hi
	exits 40 aborted_streaming
}

@test "75: the server asks for more patience than we have" {
	serve '[{"status":529,"error":{"type":"overloaded_error","message":"x"},"headers":{"retry-after":"20"},"repeat":true}]'
	q -p hi --set model.max_retry_wait=10s
	exits 75 model_error
	is "$(result .retry_after_ms)" 20000
}

@test "41: wall time while a tool runs" {
	serve "$(script "$(bash_call 'echo >begun; sleep 300')")"
	reaching begun q -p hi --allowedTools Bash
	exits 41 aborted_tools
	# The call is answered all the same, so that the history stays valid.
	is "$(ev 'select(.type=="user").message.content[0].is_error')" true
	is "$(requests)" 1
}

@test "50: a replay that asks for more than the tape holds" {
	tape one.yaml <<-YAML
		tape: 1
		answers:
		  - content:
		      - tool_use: {name: Bash, input: {command: "true"}, id: t1}
	YAML
	BASE='' q -p go --replay "$T/one.yaml" --allowedTools Bash
	exits 50 replay_mismatch
}

@test "75: overload to the end of patience" {
	serve '[{"status":529,"error":{"type":"overloaded_error","message":"Overloaded"},"repeat":true}]'
	q -p hi --set model.max_retries=0
	exits 75 model_error
	is "$(result .transient)" true
	is "$(result .api_error_status)" 529
	is "$(requests)" 1
	has "$(result '.errors | join(" ")')" Overloaded
}

@test "75: nobody listens" {
	serve '[]'
	stop_server
	q -p hi --set model.max_retries=0
	exits 75 model_error
	is "$(result .api_error_status)" null
}

@test "failures never look like an answer: text format keeps stdout empty" {
	serve '[{"status":401,"error":{"type":"authentication_error","message":"invalid x-api-key"}}]'
	q -p hi -o text
	is "$rc" 20
	is "$(cat "$T/out")" ""
	err_has "invalid x-api-key"
}

@test "start-up failures write a result in the format that was asked for" {
	q -p hi -o json --max-turns 0
	is "$rc" 2
	is "$(jq -r '.type + " " + (.exit_code|tostring) + " " + .terminal_reason' "$T/out")" "result 2 turn_setup_failed"
	q -p hi -o text --max-turns 0
	is "$rc" 2
	is "$(cat "$T/out")" ""
}
