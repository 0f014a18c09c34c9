#!/usr/bin/env bats
# Limits are checked before each request, overshoot is at most one request, and the result says what is left.

load ../lib/helpers

limit() { result ".limits.$1 | $2"; }

@test "the result lists each limit with what is used and left" {
	serve "$(script "$(bash_call true)" '{"text":"end","usage":{"input_tokens":30,"output_tokens":10}}')"
	q -p go --allowedTools Bash --max-turns 5 --token-budget 1k --set limits.max_requests=9 --set limits.max_tool_calls=8
	exits 0
	is "$(limit max_turns '[.used,.left]|join(" ")')" "2 3"
	is "$(limit token_budget '[.used,.left]|join(" ")')" "55 945"
	is "$(limit max_requests '[.used,.left]|join(" ")')" "2 7"
	is "$(limit max_tool_calls '[.used,.left]|join(" ")')" "1 7"
}

@test "tokens count input, output, cache writes and cache reads" {
	serve '[{"tool_use":{"name":"Bash","input":{"command":"true"}},"usage":{"input_tokens":10,"output_tokens":10,"cache_read_input_tokens":50,"cache_creation_input_tokens":30}}]'
	q -p go --allowedTools Bash --token-budget 100
	exits 13 budget_exhausted
	is "$(limit token_budget '[.used,.left]|join(" ")')" "100 0"
}

@test "used below the limit goes on, whatever the next request will cost" {
	serve '[{"tool_use":{"name":"Bash","input":{"command":"true"}},"usage":{"input_tokens":90,"output_tokens":9}},{"text":"end","usage":{"input_tokens":900,"output_tokens":9}}]'
	q -p go --allowedTools Bash --token-budget 100
	exits 0 completed
	[ "$(limit token_budget .left)" -lt 0 ]
}

@test "a cost limit needs a price: the catalog's, or the job's" {
	q -p go -m m-1 --max-budget-usd 1
	exits 2 turn_setup_failed
	err_has "limits.max_cost_usd: the price of model 'm-1' is not known: give model.price"
	serve '[{"text":"end","usage":{"input_tokens":1000,"output_tokens":100,"cache_read_input_tokens":2000}}]'
	q -p go -m m-1 --max-budget-usd 1 --set 'model.price={input: 3, output: 15, cache_read: 0.3}'
	exits 0 completed
	is "$(result '.total_cost_usd, .costBasis, .modelUsage["m-1"].costBasis, .limits.max_cost_usd.left' | tr '\n' ' ')" "0.0051 managed managed 0.9949 "
}

@test "the job's price wins over the catalog's for its model, and is for others whose price is not known" {
	local usage='"usage":{"input_tokens":1000000,"output_tokens":0}'
	serve "[{\"text\":\"end\",$usage}]"
	q -p go -m claude-haiku-4-5 --set 'model.price={input: 2, output: 0}'
	exits 0 completed
	is "$(result .total_cost_usd)" 2
	stop_server
	serve "[{\"status\":529,\"headers\":{\"retry-after\":\"0\"},\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"},\"repeat\":3},{\"text\":\"end\",$usage}]"
	q -p go -m m-1 --fallback-model claude-haiku-4-5 --max-budget-usd 9 --set 'model.price={input: 2, output: 0}'
	exits 0 completed
	is "$(result .total_cost_usd,.costBasis | tr '\n' ' ')" "1 managed "
	stop_server
	serve "[{\"status\":529,\"headers\":{\"retry-after\":\"0\"},\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"},\"repeat\":3},{\"text\":\"end\",$usage}]"
	q -p go -m m-1 --fallback-model m-2 --max-budget-usd 9 --set 'model.price={input: 2, output: 0}'
	exits 0 completed
	is "$(result .total_cost_usd)" 2
}

@test "a failed attempt that was billed counts" {
	serve '[{"text":"some words here","stop_after":3,"first_usage":{"input_tokens":500,"output_tokens":1},"no_end":true,"then":"close"},{"text":"end"}]'
	q -p go --token-budget 400 -m m-1
	exits 13 budget_exhausted
	is "$(requests)" 1
	[ "$(result '.modelUsage["m-1"].inputTokens')" -ge 500 ]
	is "$(result '.usage.input_tokens')" 0
}

@test "retries count as requests" {
	serve '[{"status":529,"error":{"type":"overloaded_error","message":"x"},"headers":{"retry-after-ms":"5"},"repeat":true}]'
	q -p go --set limits.max_requests=3
	is "$(requests)" 3
	exits "$rc"
	[ "$rc" = 13 ] || [ "$rc" = 75 ]
}

@test "the cost budget stops before a third request" {
	serve '[{"tool_use":{"name":"Bash","input":{"command":"true"},"id":"a"},"usage":{"input_tokens":100000,"output_tokens":1000}},{"tool_use":{"name":"Bash","input":{"command":"true"},"id":"b"},"usage":{"input_tokens":1000,"output_tokens":10}}]'
	q -p go --allowedTools Bash --max-budget-usd 0.000001
	exits 13 budget_exhausted
	is "$(requests)" 1
	is "$(result .subtype)" error_max_budget_usd
}

@test "a cost budget with a model of unknown price is never silently free" {
	serve "$(script "$(say hi)")"
	q -p go -m nobody-knows-it --max-budget-usd 1
	if [ "$rc" = 2 ]; then is "$(requests)" 0; else exits 0; is "$(result .total_cost_usd)" null; [ -s "$T/err" ]; fi
}

@test "at 90 % of a hard budget the model is told once" {
	serve '[{"tool_use":{"name":"Bash","input":{"command":"true"},"id":"a"},"usage":{"input_tokens":900,"output_tokens":50}},{"tool_use":{"name":"Bash","input":{"command":"true"},"id":"b"},"usage":{"input_tokens":5,"output_tokens":5}},{"text":"end","usage":{"input_tokens":5,"output_tokens":5}}]'
	q -p go --allowedTools Bash --token-budget 1000
	exits 0 completed
	is "$(jq '[.messages[-1].content[] | select(.type=="text")] | length' "$(request 2)")" 1
	is "$(jq '[.messages[-1].content[] | select(.type=="text")] | length' "$(request 3)")" 0
	is "$(ev 'select(.type=="user" and .isSynthetic==true).type' | wc -l)" 1
}

@test "excess calls of one answer get an error result" {
	serve "$(script "$(jq -cn '{content: [range(5) | {tool_use: {name: "Bash", input: {command: "echo \(.) >>ran"}, id: "b\(.)"}}]}')")"
	q -p go --allowedTools Bash --set limits.max_tool_calls=3
	exits 13 budget_exhausted
	is "$(tr -d '\n' <ran)" 012
	is "$(ev 'select(.type=="user") | .message.content[0].is_error // false' | tr '\n' ' ')" "false false false true true "
}

@test "usage lines summed by message id equal the result" {
	serve '[{"content":[{"text":"a"},{"text":"b"},{"tool_use":{"name":"Bash","input":{"command":"true"}}}],"usage":{"input_tokens":100,"output_tokens":42}},{"text":"end","usage":{"input_tokens":25,"output_tokens":5}}]'
	q -p go --allowedTools Bash
	exits 0
	is "$(jq -s '[map(select(.type=="assistant")) | group_by(.message.id)[] | last.message.usage.output_tokens] | add' "$T/out")" 47
	is "$(result .usage.output_tokens)" 47
}

@test "an answer without usage is not free: the cost is a lower bound, and a budget that cannot be kept is told once" {
	local answer
	answer=$(jq -cn '{sse: (
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"x\",\"content\":[]}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Glob\",\"input\":{\"pattern\":\"x\"}}}\n\n" +
		"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")}')
	serve "$(script "$answer" "$answer" "$(say end)")"
	q -p go --token-budget 1M
	exits 0 completed
	is "$(result .cost_lower_bound)" true
	is "$(ev 'select(.subtype=="quern_notice").code')" usage_missing
	err_has "does not tell"
}
