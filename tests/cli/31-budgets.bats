#!/usr/bin/env bats
# Budgets under random limits, the wrap-up note, and the token target.

load ../lib/helpers

@test "on 200 random runs no request leaves after a limit was reached, and used + left = limit" {
	local n=200
	sanitized && n=40
	serve "$("$PY" "$LIB/budgets.py" make $n)"
	"$PY" "$LIB/budgets.py" run $n "$T/script.json" "$T/log" "$QUERN" --base-url "$BASE" -p go --tools Glob \
		--output-format stream-json --set model.max_output_tokens=8000 --set 'model.price={input: 2, output: 10}'
	: >"$T/log/breaks"
}

@test "near the last turn the model is told" {
	serve "$(script "$(jq -cn '{tool_use: {name: "Bash", input: {command: "true"}}, repeat: 9}')" "$(say end)")"
	q -p go --allowedTools Bash --max-turns 10
	exits 0 completed
	is "$(ev 'select(.type=="user" and .isSynthetic).message.content[0].text' | grep -c 'nearly used up')" 1
	has "$(jq -r '.messages[-1].content[-1].text' "$(request 10)")" "nearly used up"
}

@test "a token target: the model is nudged until it has little more to say" {
	serve "$(script '{"text":"a","usage":{"output_tokens":700}}' '{"text":"b","usage":{"output_tokens":700}}' \
		'{"text":"c","usage":{"output_tokens":10},"repeat":2}')"
	q -p go --set limits.token_target=100k
	exits 0 completed
	is "$(transitions)" "token_budget_continuation token_budget_continuation token_budget_continuation"
	is "$(result .result)" c
	has "$(jq -r '.messages[-1].content[-1].text' "$(request 3)")" "1400 are used"
}

@test "an empty answer to the nudge does not undo the one before" {
	serve "$(script '{"text":"a","usage":{"output_tokens":700}}' '{"usage":{"output_tokens":1},"repeat":4}')"
	q -p go --set limits.token_target=100k
	exits 0 completed
	is "$(result .result)" a
}

@test "a limit on the way of the nudge does not undo the answer" {
	serve "$(script '{"text":"a","usage":{"output_tokens":700}}')"
	q -p go --set limits.token_target=100k --set limits.max_requests=1
	exits 0 completed
	is "$(result .result)" a
}
