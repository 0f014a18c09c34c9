#!/usr/bin/env bats
# One task to one result: what goes out, what comes back.

load ../lib/helpers

@test "an answer without tools completes in one turn" {
	serve "$(script "$(say 'Hello, filter.')")"
	q -p "Say hello"
	exits 0 completed
	is "$(result .result)" "Hello, filter."
	is "$(result .num_turns)" 1
	is "$(result .subtype)" success
	is "$(requests)" 1
}

@test "the init event comes first and names model, directory, tools and mode" {
	serve "$(script "$(say hi)")"
	q -p hi -m some-model
	exits 0
	is "$(head -n 1 "$T/out" | jq -r '.type + "/" + .subtype')" system/init
	is "$(ev 'select(.subtype=="init").model')" some-model
	is "$(ev 'select(.subtype=="init").cwd')" "$PWD"
	is "$(ev 'select(.subtype=="init").permissionMode')" default
	is "$(jq -r .model "$(request 1)")" some-model
}

@test "a tool call runs, its result goes back, the loop goes on" {
	serve "$(script "$(bash_call 'echo from-the-tool')" "$(say 'It said so.')")"
	q -p "Run it" --allowedTools Bash
	exits 0 completed
	is "$(transitions)" next_turn
	is "$(result .num_turns)" 2
	has "$(result_text 2)" from-the-tool
	is "$(ev 'select(.type=="user").message.content[0].tool_use_id')" toolu_1_0
	is "$(result '.transitions.next_turn')" 1
}

@test "events hold the blocks that were sent and received, in order" {
	serve "$(script '{"content":[{"text":"First."},{"tool_use":{"name":"Bash","input":{"command":"true"},"id":"t1"}}]}' "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(ev 'select(.type=="assistant" or .type=="user") | .message.content[0].type' | tr '\n' ' ')" "text tool_use tool_result text "
}

@test "the last block's line alone carries the stop reason" {
	serve "$(script '{"content":[{"text":"First."},{"text":"Second."}],"usage":{"output_tokens":7}}')"
	q -p go
	exits 0
	is "$(ev 'select(.type=="assistant").message.stop_reason' | tr '\n' ' ')" "null end_turn "
	is "$(ev 'select(.type=="assistant" and .message.stop_reason!=null).message.usage.output_tokens')" 7
	is "$(ev 'select(.type=="assistant").message.id' | sort -u | wc -l)" 1
}

@test "every line but none has its own uuid, all share the session" {
	serve "$(script "$(bash_call true)" "$(say hi)")"
	q -p hi --allowedTools Bash
	exits 0
	is "$(ev .uuid | sort | uniq -d)" ""
	is "$(ev .session_id | sort -u | wc -l)" 1
}

@test "read-only tools are offered, others withheld unless a rule allows them" {
	serve "$(script "$(say hi)" "$(say hi)")"
	q -p hi
	exits 0
	is "$(jq -r '[.tools[].name] | sort | join(" ")' "$(request 1)")" "Bash Glob Grep Read TaskStop"
	has "$(ev 'select(.subtype=="init").tools_withheld | join(" ")')" Edit
	err_has "Edit, Write"
	q -p hi --allowedTools Bash,Edit,Write
	exits 0
	is "$(jq -r '[.tools[].name] | sort | join(" ")' "$(request 2)")" "Bash Edit Glob Grep Read TaskStop Write"
}

@test "a tool asked for by name that no rule allows is an error" {
	serve '[]'
	q -p hi --tools Edit
	exits 2 turn_setup_failed
	err_has Edit
	is "$(requests)" 0
}

@test "--tools limits the tools; an unknown name is an error" {
	serve "$(script "$(say hi)")"
	q -p hi --tools Read,Glob
	exits 0
	is "$(jq -r '[.tools[].name] | sort | join(" ")' "$(request 1)")" "Glob Read"
	q -p hi --tools Read,Glop
	is "$rc" 2
	err_has Glop
}

@test "--tools with nothing sends no tools key" {
	serve "$(script "$(say hi)")"
	q -p hi --tools ''
	exits 0
	is "$(jq 'has("tools")' "$(request 1)")" false
}

@test "the system prompt: built in, own, none, appended" {
	serve "$(script "$(say 1)" "$(say 2)" "$(say 3)" "$(say 4)")"
	q -p hi && exits 0
	q -p hi --system-prompt 'Be brief.' && exits 0
	q -p hi --system-prompt '' && exits 0
	q -p hi --append-system-prompt 'Never shout.' && exits 0
	sys() { jq -r '.system // "" | if type=="array" then map(.text) | join("|") else . end' "$(request "$1")"; }
	[ -n "$(sys 1)" ]
	is "$(sys 2)" "Be brief."
	is "$(jq 'has("system")' "$(request 3)")" false
	has "$(sys 4)" "Never shout."
	has "$(sys 4)" "$(sys 1 | head -c 20)"
}

@test "the same task by option, stdin and job file makes the same request" {
	serve "$(script "$(say 1)" "$(say 2)" "$(say 3)")"
	printf 'Explain\nthis.' >"$T/task"
	printf 'version: 1\nprompt: "Explain\\nthis."\n' >job.yaml
	q -p "$(cat "$T/task")" && exits 0
	q_in "$T/task" && exits 0
	q job.yaml && exits 0
	cmp "$(request 1)" "$(request 2)"
	cmp "$(request 1)" "$(request 3)"
}

@test "both --flag value and --flag=value" {
	serve "$(script "$(say hi)" "$(say hi)")"
	q --prompt=hi --model=m-a --max-turns=3 && exits 0
	is "$(result '.limits.max_turns.left')" 2
	q --prompt hi --model m-a --max-turns 3 && exits 0
	cmp "$(request 1)" "$(request 2)"
}

@test "--print alone is accepted and means nothing" {
	serve "$(script "$(say hi)")"
	printf hi >"$T/task"
	q_in "$T/task" --print
	exits 0
}

@test "text format: the answer and a line feed, nothing else" {
	serve "$(script "$(bash_call true)" "$(say 'Only this.')")"
	q -p hi --output-format text --allowedTools Bash
	is "$rc" 0
	is "$(od -An -c "$T/out" | tr -d ' \n')" 'Onlythis.\n'
}

@test "json format: the result object alone" {
	serve "$(script "$(bash_call true)" "$(say done)")"
	q -p hi -o json --allowedTools Bash
	is "$rc" 0
	is "$(wc -l <"$T/out")" 1
	is "$(jq -r '.type + " " + .terminal_reason + " " + .result' "$T/out")" "result completed done"
}

@test "partial messages come as stream events only when asked for" {
	serve "$(script "$(say 'a text of some length, in more than one piece')" "$(say short)")"
	q -p hi --include-partial-messages
	exits 0
	[ "$(ev 'select(.type=="stream_event" and .event.delta.type?=="text_delta").event.delta.text' | tr -d '\n')" = 'a text of some length, in more than one piece' ]
	is "$(ev 'select(.type=="stream_event").event.type' | head -n 1)" message_start
	q -p hi
	exits 0
	is "$(ev 'select(.type=="stream_event").type')" ""
}

@test "--check prints what would run, sends nothing and needs no key" {
	serve '[]'
	BASE='' q -p hi --check --max-turns 7
	is "$rc" 0
	is "$(requests)" 0
	has "$(cat "$T/out" "$T/err")" max_turns
	has "$(cat "$T/out" "$T/err")" 7
	run ! grep -q '"type":"result"' "$T/out"
}

@test "--check of a faulty job is exit 2 and sends nothing" {
	serve '[]'
	printf 'version: 1\nlimits: {max_turn: 3}\n' >job.yaml
	q --check job.yaml
	is "$rc" 2
	err_has 'job.yaml:2'
}

@test "usage is the accepted answers', modelUsage all that was paid" {
	serve "$(script '{"content":[{"tool_use":{"name":"Bash","input":{"command":"true"}}}],"usage":{"input_tokens":100,"output_tokens":40,"cache_read_input_tokens":7}}' \
		'{"text":"x","usage":{"input_tokens":25,"output_tokens":5}}')"
	q -p hi --allowedTools Bash -m m-1
	exits 0
	is "$(result '[.usage.input_tokens, .usage.output_tokens, .usage.cache_read_input_tokens] | join(" ")')" "125 45 7"
	is "$(result '.modelUsage["m-1"] | [.inputTokens, .outputTokens] | join(" ")')" "125 45"
}

@test "a model without a known price has no cost, and says so" {
	serve "$(script "$(say hi)")"
	q -p hi -m nobody-knows-it
	exits 0
	is "$(result .total_cost_usd)" null
	is "$(result '.modelUsage["nobody-knows-it"].costBasis')" unknown
}

@test "a model with a known price has a cost above zero" {
	serve "$(script '{"text":"x","usage":{"input_tokens":1000,"output_tokens":1000}}')"
	q -p hi
	exits 0
	[ "$(result '.total_cost_usd > 0')" = true ]
}

@test "the conversation grows by appending: what was sent is sent again" {
	serve "$(script "$(bash_call 'echo 1')" "$(bash_call 'echo 2')" "$(bash_call 'echo 3')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	# The server compares each request with the one before; here, that there were four to compare.
	is "$(requests)" 4
	is "$(jq '.messages | length' "$(request 4)")" 7
}

@test "cache marks: on the last message, never more than four" {
	serve "$(script "$(bash_call 'echo 1')" "$(bash_call 'echo 2')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	[ "$(jq '[.. | objects | select(has("cache_control"))] | length' "$(request 3)")" -ge 1 ]
	is "$(jq '.messages[-1].content[-1] | has("cache_control")' "$(request 3)")" true
}

@test "-q is quiet, -v says more, neither touches stdout" {
	serve "$(script "$(say hi)" "$(say hi)")"
	q -p hi -q && exits 0
	is "$(cat "$T/err")" ""
	q -p hi -m m-1 --verbose && exits 0
	[ -s "$T/err" ]
}

@test "the workspace is where -C says" {
	mkdir sub && echo inside >sub/f.txt
	serve "$(script "$(call Read '{"file_path":"f.txt"}')" "$(say end)")"
	q -p go -C sub
	exits 0
	has "$(result_text 2)" inside
}

@test "a run leaves no child behind" {
	serve "$(script "$(bash_call 'sleep 300 & echo $!')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	result_text 2 | grep -o '[0-9]*' | head -n 1 >pid
	gone pid
}

@test "a terminal on stderr shows progress while the events go elsewhere, and nothing is left of it" {
	serve "$(script "$(call Glob '{"pattern":"*"}')" "$(say end)" "$(say end)")"
	command script -qec "$QUERN --base-url $BASE -p hi >$T/out </dev/null" /dev/null >"$T/tty" </dev/null
	grep -q 'quern: Glob' "$T/tty"
	is "$(tail -c 4 "$T/tty" | od -An -c | tr -d ' \n')" '\r033[K'
	"$PY" "$LIB/validate.py" "$SCHEMA" <"$T/out"
	q -p hi
	run ! grep -q 'quern: Glob' "$T/err"
}
