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
	q -p hi --wall-time 5s
	exits 75 model_error
	is "$(result .retry_after_ms)" 30000
	[ "$(result .duration_ms)" -lt 4000 ]
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
