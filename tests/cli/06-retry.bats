#!/usr/bin/env bats
# What is tried again, when, how often, and what is told about it.

load ../lib/helpers

over='{"status":529,"error":{"type":"overloaded_error","message":"Overloaded"}'

# Both are in ms.
delay() { ev 'select(.subtype=="api_retry").retry_delay_ms' | head -n 1; }
between() { [ "$2" -le "$1" ] && [ "$1" -le "$3" ] || { echo "$1 is not in $2..$3"; return 1; }; }

@test "statuses that are tried again" {
	local status
	for status in 408 409 429 500 502 503 504; do
		serve "[{\"status\":$status,\"error\":{\"type\":\"api_error\",\"message\":\"x\"},\"headers\":{\"retry-after-ms\":\"10\"}},{\"text\":\"end\"}]"
		q -p hi
		exits 0 completed
		is "$status $(requests)" "$status 2"
		is "$(ev 'select(.subtype=="api_retry") | [.attempt,.max_retries,.error_status] | join(" ")')" "1 10 $status"
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
	done
}

@test "501 is not" {
	serve '[{"status":501,"error":{"type":"api_error","message":"x"}}]'
	q -p hi
	exits 20 model_error
	is "$(requests)" 1
}

@test "own backoff: a second, jittered by a quarter, then two" {
	serve '[{"status":500,"error":{"type":"api_error","message":"x"},"repeat":2},{"text":"end"}]'
	q -p hi
	exits 0
	between "$(ev 'select(.subtype=="api_retry" and .attempt==1).retry_delay_ms')" 750 1250
	between "$(ev 'select(.subtype=="api_retry" and .attempt==2).retry_delay_ms')" 1500 2500
	is "$(ev 'select(.subtype=="api_retry").error' | sort -u)" server_error
}

@test "overload waits longer from the start" {
	serve "[$over},{\"text\":\"end\"}]"
	q -p hi
	exits 0
	between "$(delay)" 3750 6250
}

@test "retry-after in seconds, fractions, milliseconds and dates is obeyed" {
	local value low high
	while read -r low high value; do
		serve "[$over,\"headers\":{${value%%=*}:\"${value#*=}\"}},{\"text\":\"end\"}]"
		q -p hi
		exits 0
		between "$(delay)" "$low" "$high"
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
	done <<-LIST
		2000 3000 "retry-after"=2
		1500 2300 "retry-after"=1.5
		1000 4000 "retry-after"=@+3s
		50 300 "retry-after-ms"=50
		2000 3000 "retry-after"=  2
	LIST
}

@test "junk in retry-after means our own backoff, and is said" {
	local value
	for value in soon '' 0x10 '1, 5' 99999999999999999999 1790000000 'Wed, 99 Foo 2026 07:28:00 GMT' 'Wed, 21 Oct 2099 07:28:00 GMT' -5; do
		serve "[{\"status\":500,\"error\":{\"type\":\"api_error\",\"message\":\"x\"},\"headers\":{\"retry-after\":\"$value\"}},{\"text\":\"end\"}]"
		q -p hi
		exits 0
		between "$(delay)" 0 1250
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
	done
}

@test "x-should-retry: false ends it, true does not open what is final" {
	serve "[$over,\"headers\":{\"x-should-retry\":\"false\"}},{\"status\":401,\"error\":{\"type\":\"authentication_error\",\"message\":\"x\"},\"headers\":{\"x-should-retry\":\"true\"}}]"
	q -p hi
	[ "$rc" = 75 ] || [ "$rc" = 20 ]
	exits "$rc" model_error
	is "$(requests)" 1
	q -p hi
	exits 20 model_error
	is "$(requests)" 2
}

@test "spent credit is not tried again" {
	serve '[{"status":400,"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}},
		{"status":429,"error":{"type":"rate_limit_error","message":"limit","details":{"error_code":"enforced_spend_limit_reached"}}}]'
	q -p hi
	exits 20 model_error
	q -p hi
	exits 20 model_error
	is "$(requests)" 2
}

@test "the number of retries is what was asked for, the last error is kept" {
	serve "[$over,\"headers\":{\"retry-after-ms\":\"5\"},\"repeat\":2},{\"status\":503,\"error\":{\"type\":\"api_error\",\"message\":\"the last words\"}}]"
	q -p hi --set model.max_retries=2
	exits 75 model_error
	is "$(requests)" 3
	is "$(ev 'select(.subtype=="api_retry").attempt' | tr '\n' ' ')" "1 2 "
	is "$(result .api_error_status)" 503
	has "$(result '.errors|join(" ")')" "the last words"
}

@test "a refused connection is tried three times more" {
	serve '[]'
	stop_server
	LIMIT=60 q -p hi
	exits 75 model_error
	is "$(ev 'select(.subtype=="api_retry").error_status' | sort -u)" null
	is "$(ev 'select(.subtype=="api_retry").type' | wc -l)" 3
}

@test "an attempt that had content is made three times in all" {
	serve '[{"text":"costs money","stop_after":3,"no_end":true,"then":"close","repeat":true}]'
	LIMIT=60 q -p hi
	exits 75 model_error
	is "$(requests)" 3
}

@test "a prompt that waits past the deadline ends at once, transient" {
	serve "[$over,\"headers\":{\"retry-after\":\"30\"},\"repeat\":true}]"
	q -p hi --wall-time 25s
	exits 75 model_error
	is "$(result .retry_after_ms)" 30000
	[ "$(result .duration_ms)" -lt 20000 ]
}

@test "a request is repeated as it was, byte for byte" {
	serve "[$over,\"headers\":{\"retry-after-ms\":\"5\"}},{\"text\":\"end\"}]"
	q -p hi
	exits 0
	cmp "$(request 1)" "$(request 2)"
}

@test "one-time repairs: max_tokens clamped, thinking dropped, each once and told" {
	serve '[{"status":400,"error":{"type":"invalid_request_error","message":"max_tokens: 32000 > 4096, which is the maximum allowed number of output tokens for m"}},{"text":"end"}]'
	q -p hi
	exits 0 completed
	is "$(jq .max_tokens "$(request 2)")" 4096
	[ -n "$(ev 'select(.subtype=="quern_notice").code')" ]
	stop_server
	rm -rf "$T/log"; mkdir "$T/log"
	serve '[{"status":400,"error":{"type":"invalid_request_error","message":"\"thinking.type.enabled\" is not supported for this model"}},{"text":"end"}]'
	printf 'version: 1\nprompt: hi\nmodel: {thinking: {type: enabled, budget_tokens: 2000}}\n' >job.yaml
	q job.yaml
	exits 0 completed
	is "$(jq 'has("thinking")' "$(request 1)")" true
	is "$(jq 'has("thinking")' "$(request 2)")" false
}

# What a server may mind | what of the request (or its beta header) is gone or changed in the next one, and nothing else
@test "each text that servers refuse a request with, and what is sent instead" {
	local text want n=0
	cat >job.yaml <<-'YAML'
		version: 1
		prompt: hi
		model:
		  name: claude-opus-4-6
		  thinking: {type: enabled, budget_tokens: 2000}
		  effort: low
		  betas: [a-2026-01-01, b-2026-02-02]
		  extra: {temperature: 0.5, top_k: 3, metadata: {user_id: "7"}, context_management: {edits: []}, tool_choice: {type: any}, output_config: {format: {}}}
	YAML
	cat >list <<-'LIST'
		max_tokens: 8000 > 4096, which is the maximum allowed number of output tokens for m|max_tokens=4096
		input length and `max_tokens` exceed context limit: 195000 + 8000 > 200000, decrease input length or `max_tokens` and try again|max_tokens=4000
		input length and max_tokens exceed context limit: 195000 + 8000 > 200000|max_tokens=4000
		"thinking.type.enabled" is not supported for this model|-thinking
		"thinking.type.disabled" is not supported|-thinking
		adaptive thinking is not supported on this model|-thinking
		To turn thinking off on this model, send "thinking": {"type": "between_tools"}|-thinking
		temperature: Extra inputs are not permitted|-temperature
		`temperature` may only be set to 1 when thinking is enabled|-temperature
		top_k: Extra inputs are not permitted|-top_k
		context_management: Extra inputs are not permitted|-context_management
		metadata.user_id: Extra inputs are not permitted|-metadata
		output_config.effort: Extra inputs are not permitted|output_config={"format":{}}
		output_config: Extra inputs are not permitted|-output_config
		thinking.block_binding: Extra inputs are not permitted|-thinking
		tool_choice: type "tool" and "any" are not supported for this model|-tool_choice
		A maximum of 4 blocks with cache_control may be provided. Found 5.|0 marks
		messages.0.content.0.text: cache_control cannot be set for empty text blocks|0 marks
		Unexpected value(s) `a-2026-01-01` for the `anthropic-beta` header. Please consult the docs.| anthropic-beta: b-2026-02-02
	LIST
	# one server for all of them: to start it costs more than what it answers
	NO_CHECK=--no-check serve "$(jq -cRn '[inputs | split("|")[0] | {status: 400, error: {type: "invalid_request_error", message: .}}, {text: "end"}]' <list)"
	while IFS='|' read -r text want; do
		n=$((n + 1))
		q job.yaml
		exits 0 completed
		is "$(requests)" $((2 * n))
		is "$(ev 'select(.subtype=="quern_notice").code')" request_repaired
		is "$text: $(jq -rn --slurpfile a "$(request $((2 * n - 1)))" --slurpfile b "$(request $((2 * n)))" '[$a[0], $b[0] | del(.messages)]
			| . as [$a, $b] | [$a | keys[] | select($a[.] != $b[.]) | if $b[.] == null then "-" + . elif . == "system" then "\([$b | .. | .cache_control? // empty] | length) marks" else . + "=" + ($b[.] | tostring) end]
			| join(" ")')$(diff <(grep -i '^anthropic-beta' "$(head_of $((2 * n - 1)))") <(grep -i '^anthropic-beta' "$(head_of $((2 * n)))") | tr -d '\r' | sed -n 's/^> / /p')" "$text: $want"
	done <list
	is "$n" 19
}

@test "a name that the server minds again, and one that is not ours, end the run" {
	local text
	for text in "temperature: Extra inputs are not permitted" "novelty: Extra inputs are not permitted"; do
		NO_CHECK=--no-check serve "$(jq -cn --arg m "$text" '[{status: 400, error: {type: "invalid_request_error", message: $m}, repeat: true}]')"
		printf 'version: 1\nprompt: hi\nmodel: {extra: {temperature: 0.5}}\n' >job.yaml
		q job.yaml
		exits 20 model_error
		is "$(requests)" 3
		is "$(jq -c .temperature "$(request 3)")" null
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
	done
}

@test "texts of which nothing follows end the run at once" {
	local text
	while read -r text; do
		serve "$(jq -cn --arg m "$text" '[{status: 400, error: {type: "invalid_request_error", message: $m}, repeat: true}]')"
		q -p hi
		exits 20 model_error
		is "$(requests)" 1
		has "$(result '.errors[0]')" "${text:0:20}"
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
	done <<-'LIST'
		messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: t1
		messages.2: unexpected `tool_use_id` found in `tool_result` blocks: t1
		The request body is not valid JSON: no low surrogate in string: line 1 column 3
		Your credit balance is too low to access the API
		something that nobody has heard of
	LIST
}

@test "the same refusal after its repair ends the run" {
	serve '[{"status":400,"error":{"type":"invalid_request_error","message":"max_tokens: 32000 > 4096, which is the maximum allowed number of output tokens for m"},"repeat":true}]'
	q -p hi
	exits 20 model_error
	is "$(requests)" 2
}

@test "a failure is told with status, type, request id, attempts and the wait that was asked for" {
	serve '[{"status":404,"error":{"type":"not_found_error","message":"model: none"},"headers":{"request-id":"req_7"}},
		{"status":500,"body":"{\"type\":\"error\",\"error\":{\"ty","headers":{"retry-after-ms":"5"},"repeat":2},
		{"status":429,"error":{"type":"rate_limit_error","message":"slow down"},"headers":{"retry-after":"90"}}]'
	q -p hi
	exits 20 model_error
	is "$(result '.errors[0]')" "HTTP 404 not_found_error: model: none (request id req_7)"
	err_has "model_error: HTTP 404 not_found_error: model: none (request id req_7)"
	q -p hi --set model.max_retries=1
	exits 75 model_error
	has "$(result '.errors[0]')" 'HTTP 500 api_error: {"type":"error","error":{"ty ('
	has "$(result '.errors[0]')" '; 2 attempts)'
	q -p hi --set model.max_retry_wait=1m
	exits 75 model_error
	has "$(result '.errors[0]')" "; the server asks for a wait of 90 s, longer than this run waits)"
}

@test "a wait that looks like a hang is told without -v, and a signal ends it at once" {
	serve "[$over,\"headers\":{\"retry-after\":\"20\"},\"repeat\":true}]"
	"$QUERN" --base-url "$BASE" -p hi </dev/null >"$T/out" 2>"$T/err" 3>&- &
	local pid=$!
	told() { grep -q "Overloaded; next in 2[0-9][0-9][0-9][0-9] ms" "$T/err"; }
	wait_for told
	kill -TERM "$pid"
	rc=0
	wait "$pid" || rc=$?
	is "$rc" 143
	is "$(result .terminal_reason)" aborted_streaming
}
