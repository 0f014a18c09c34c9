#!/usr/bin/env bats
# Hooks of the loop with real scripts: what they are told, and what becomes of what they say.

load ../lib/helpers

# job EVENT COMMAND [EVENT COMMAND]...: a job with these hooks; $KEYS is further text of it
job() {
	local all='{}'
	while [ $# -gt 0 ]; do
		all=$(jq -c --arg e "$1" --arg c "$2" '.[$e] += [{hooks: [{type: "command", command: $c}]}]' <<<"$all")
		shift 2
	done
	printf 'version: 1\nprompt: do it\npermissions: {allow: [Bash]}\nhooks: %s\n%s\n' "$all" "${KEYS:-}" >"$T/job.yaml"
}
said() { jq -r '.messages[-1].content[] | .text // .type' "$(request "$1")"; }

@test "SessionStart: plain text is context behind the prompt" {
	job SessionStart 'cat >start.json; echo know this'
	serve "$(script "$(say hi)")"
	q "$T/job.yaml"
	exits 0 completed
	is "$(jq -r '.hook_event_name + " " + .source' start.json)" "SessionStart startup"
	has "$(said 1)" "do it"
	has "$(said 1)" "know this"
}

@test "SessionStart: initialUserMessage stands in front of the task" {
	job SessionStart 'jq -n "{hookSpecificOutput: {hookEventName: \"SessionStart\", initialUserMessage: \"first this\"}}"'
	serve "$(script "$(say hi)")"
	q "$T/job.yaml"
	exits 0 completed
	is "$(said 1 | head -n 1)" "first this"
}

@test "UserPromptSubmit: a prompt that is refused is not sent" {
	job UserPromptSubmit 'cat >prompt.json; echo "there is a secret in it" >&2; exit 2'
	serve '[]'
	q "$T/job.yaml"
	exits 30 hook_stopped
	is "$(requests)" 0
	is "$(jq -r .prompt prompt.json)" "do it"
	has "$(result '.errors[0]')" "there is a secret in it"
}

@test "UserPromptSubmit: what is told in front of the task is not the prompt" {
	echo 'mind the gap' >AGENTS.md
	KEYS='memory: auto' job UserPromptSubmit 'jq -r .prompt >prompt; echo hello'
	serve "$(script "$(say hi)")"
	q "$T/job.yaml"
	exits 0 completed
	is "$(cat prompt)" "do it"
	has "$(said 1)" "mind the gap"
	has "$(said 1 | tail -n 2)" "hello"
}

@test "PostToolBatch: all calls of an answer, and a block ends the run" {
	job PostToolBatch 'cat >>batch.json; [ ! -e stop ] || { echo enough >&2; exit 2; }'
	serve "$(script "$(jq -cn '{content: [{tool_use: {name: "Bash", input: {command: "echo one"}, id: "a"}},
		{tool_use: {name: "Bash", input: {command: "echo two"}, id: "b"}}]}')" "$(bash_call 'touch stop')")"
	q "$T/job.yaml"
	exits 30 hook_stopped
	is "$(requests)" 2
	is "$(jq -r '.tool_calls | map(.tool_name + " " + .tool_input.command) | join(", ")' batch.json | tr '\n' ';')" \
		"Bash echo one, Bash echo two;Bash touch stop;"
	has "$(result '.errors[0]')" "enough"
}

@test "Stop: an objection is the next instruction, context keeps the run going too" {
	# shellcheck disable=SC2016
	job Stop 'n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) >n; case $n in
		0) echo "run the tests" >&2; exit 2;;
		1) jq -n "{hookSpecificOutput: {hookEventName: \"Stop\", additionalContext: \"and the docs\"}}";; esac'
	serve "$(script "$(say a)" "$(say b)" "$(say c)")"
	q "$T/job.yaml"
	exits 0 completed
	is "$(ev 'select(.subtype=="quern_transition") | .reason + " " + .source' | tr '\n' ' ')" \
		"stop_hook_blocking hook stop_hook_blocking hook "
	is "$(said 2)" "run the tests"
	has "$(said 3)" "and the docs"
	is "$(result .result)" c
}

@test "SessionEnd: told before the result, also behind a failure and a refused prompt" {
	job SessionEnd 'jq -r .reason >>ended; exit 2' UserPromptSubmit '[ ! -e refuse ] || exit 2'
	serve "$(script "$(say hi)" '{"status":400,"error":{"type":"invalid_request_error","message":"bad"}}')"
	q "$T/job.yaml"
	exits 0 completed
	q "$T/job.yaml"
	exits 20 model_error
	touch refuse
	q "$T/job.yaml"
	exits 30 hook_stopped
	is "$(grep -c other ended)" 3
}

@test "continue: false ends the run, but not of those that come too late" {
	local no='echo "{\"continue\": false, \"stopReason\": \"enough\"}"'
	job SessionEnd "$no"
	serve "$(script "$(say hi)" "$(say hi)")"
	q "$T/job.yaml"
	exits 0 completed
	job Stop "$no"
	q "$T/job.yaml"
	exits 31 stop_hook_prevented
	job SessionStart "$no"
	q "$T/job.yaml"
	exits 30 hook_stopped
	is "$(requests)" 2
}

@test "PreCompact and PostCompact where the API refuses a prompt: an objection leaves its error as it is" {
	local script
	script=$(jq -cn '{window: 12000, player: {rounds: 12, text: "Step {n}.", answer: "all is done",
		calls: [{name: "Bash", input: {command: "seq 1000 1700"}}]}}')
	KEYS='model: {name: tiny}'
	job PreCompact 'jq -r "\"\(.hook_event_name) \(.trigger)\"" >>told' PostCompact 'jq -r "\"\(.hook_event_name) \(.compact_summary != \"\")\"" >>told'
	serve "$script"
	q "$T/job.yaml" --system-prompt "You work." --set context.collapse_at=off
	exits 0 completed
	is "$(ev 'select(.subtype=="compact_boundary").quern_reactive' | head -n 1)" true
	is "$(sort -u told | tr '\n' ,)" "PostCompact true,PreCompact auto,"
	stop_server
	rm -rf "$T/log"; mkdir "$T/log"
	job PreCompact 'echo not now >&2; exit 2' PostCompact 'touch made'
	serve "$script"
	q "$T/job.yaml" --system-prompt "You work." --set context.collapse_at=off
	exits 11 prompt_too_long
	is "$(awk '$2=="compact"' "$T/log/kinds" | wc -l) $(ev 'select(.subtype=="compact_boundary").type' | wc -l)" "0 0"
	[ ! -e made ]
	is "$(ev 'select(.subtype=="quern_notice" and .code=="compact_blocked").text')" "a PreCompact hook forbade to make the conversation shorter: not now"
	has "$(result '.errors | join(" ")')" "prompt is too long"
	has "$(result '.errors | join(" ")')" "not now"
}
