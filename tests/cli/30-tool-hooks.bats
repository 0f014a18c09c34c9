#!/usr/bin/env bats
# Hooks of calls through the whole program: what they see, what their word is worth, and how that is told.

load ../lib/helpers

# hooks EVENT MATCHER SCRIPT [EVENT MATCHER SCRIPT]...: job.yaml with them; further lines come from $JOB
hooks() {
	local all='{}'
	while [ $# -gt 0 ]; do
		all=$(jq -c --arg e "$1" --arg m "$2" --arg c "$3" '.[$e] += [{matcher: $m, hooks: [{type: "command", command: $c}]}]' <<<"$all")
		shift 3
	done
	printf 'version: 1\nprompt: go\nhooks: %s\n%s\n' "$all" "${JOB:-}" >"$T/job.yaml"
}
# decide WORD [REASON]: what a PreToolUse hook says
decide() { printf "echo '%s'" "$(jq -cn --arg d "$1" --arg r "${2:-}" '{hookSpecificOutput: ({hookEventName: "PreToolUse", permissionDecision: $d} + (if $r == "" then {} else {permissionDecisionReason: $r} end))}')"; }
says() { printf "echo '%s'" "$(jq -cn --arg e "$1" --argjson o "$2" '{hookSpecificOutput: ({hookEventName: $e} + $o)}')"; }
j() { q "$T/job.yaml" "$@"; }
denials() { ev 'select(.subtype=="permission_denied") | "\(.tool_name) \(.decision_reason_type)"'; }
offered() { jq -r '[.tools[].name] | join(" ")' "$(request 1)"; }
# The text that stands behind the results in the N-th request
said() { jq -r '[.messages[-1].content[] | select(.type=="text").text] | join("|")' "$(request "$1")"; }
touch_call() { bash_call "touch ${1:-made}"; }

@test "the sample scripts of the documentation work" {
	cat >guard.sh <<-'EOF'
		#!/bin/sh
		cmd=$(jq -r .tool_input.command)
		case $cmd in *"rm -rf"*) echo "rm -rf is not allowed here" >&2; exit 2;; esac
	EOF
	chmod +x guard.sh
	mkdir kept
	hooks PreToolUse Bash '$CLAUDE_PROJECT_DIR/guard.sh'
	serve "$(script "$(bash_call 'rm -rf kept')" "$(touch_call)" "$(say end)")"
	j --allowedTools Bash
	exits 0
	[ -d kept ]
	[ -e made ]
	has "$(result_text 2)" 'denied by a hook: rm -rf is not allowed here'
	is "$(result_is_error 2)" true
	is "$(denials)" 'Bash hook'
	is "$(result '.permission_denials[0].tool_input.command')" 'rm -rf kept'
}

@test "what a hook reads: absolute paths, the id, the output, how long it took" {
	echo one >f
	hooks PreToolUse '*' 'cat >pre' PostToolUse '' 'cat >post' PostToolUseFailure '' 'cat >failure'
	serve "$(script "$(call Read '{"file_path":"f"}' toolu_x)" "$(say end)")"
	j
	exits 0
	is "$(jq -r '.hook_event_name, .tool_name, .tool_use_id, .permission_mode' pre | tr '\n' ' ')" 'PreToolUse Read toolu_x default '
	is "$(jq -r .tool_input.file_path pre)" "$PWD/f"
	is "$(jq -r .tool_input.file_path post)" "$PWD/f"
	is "$(jq -r .tool_response.file.content post)" "$(ev 'select(.tool_use_result).tool_use_result.file.content')"
	is "$(jq -r '.duration_ms | type' post)" number
	[ ! -e failure ]
}

@test "a failure: the first line names the exit code, and it is no interrupt" {
	hooks PostToolUseFailure Bash 'cat >failure'
	serve "$(script "$(bash_call 'echo out; exit 3')" "$(say end)")"
	j --allowedTools Bash
	exits 0
	is "$(jq -r .error failure)" $'Exit code 3\nout'
	is "$(jq -r .is_interrupt failure)" false
}

@test "an input that cannot be used, and a tool that there is not, are told to no hook" {
	hooks PreToolUse '' 'touch asked' PostToolUseFailure '' 'touch asked'
	serve "$(script "$(call Read '{"path":"f"}')" "$(call None '{}')" "$(say end)")"
	j
	exits 0
	[ ! -e asked ]
}

@test "deny over ask over allow, whoever says it first" {
	hooks PreToolUse '' "$(decide allow)" PreToolUse Bash "sleep 0.1; $(decide deny 'not here')" PreToolUse '' "$(decide ask 'hm')"
	serve "$(script "$(touch_call)" "$(say end)")"
	j --allowedTools Bash
	exits 0
	[ ! -e made ]
	has "$(result_text 2)" 'denied by a hook: not here'
}

@test "defer is a denial, and the user is told" {
	hooks PreToolUse Bash "$(decide defer later)"
	serve "$(script "$(touch_call)" "$(say end)")"
	j --allowedTools Bash
	exits 0
	[ ! -e made ]
	is "$(denials)" "Bash hook"
	has "$(result_text 2)" 'a hook deferred this call, and nobody is there who could decide it later: later'
	is "$(ev 'select(.subtype=="informational").content')" "a hook deferred this call, and nobody is there who could decide it later"
}

@test "allow: what no rule allows runs, what a rule denies or asks about does not, nor what is critical" {
	hooks PreToolUse '' "$(decide allow)"
	serve "$(script "$(touch_call)" "$(touch_call denied)" "$(touch_call asked)" "$(bash_call 'rm -rf ..')" \
		"$(call Write '{"file_path":".git/x","content":"y"}')" "$(call Write '{"file_path":"written","content":"y"}')" "$(say end)")"
	j --disallowedTools 'Bash(touch denied)' --set 'permissions.ask=[Bash(touch asked)]'
	exits 0
	[ -e made ]
	[ -e written ]
	[ ! -e denied ]
	[ ! -e asked ]
	[ ! -e .git ]
	is "$(denials | tr '\n' ,)" 'Bash rule,Bash rule,Bash safetyCheck,Write safetyCheck,'
}

@test "allow in plan mode changes nothing" {
	hooks PreToolUse '' "$(decide allow)" PermissionRequest '' "$(says PermissionRequest '{"decision":{"behavior":"allow"}}')"
	serve "$(script "$(touch_call)" "$(call Write '{"file_path":"w","content":"y"}')" "$(say end)")"
	j --permission-mode plan
	exits 0
	[ ! -e made ]
	[ ! -e w ]
	lacks "$(offered)" Write
}

@test "ask is a question to PermissionRequest hooks, else a denial" {
	hooks PreToolUse '' "$(decide ask 'sure?')"
	serve "$(script "$(touch_call)" "$(say end)")"
	j --allowedTools Bash
	exits 0
	has "$(result_text 2)" 'sure?'
	is "$(denials)" 'Bash hook'
	stop_server
	rm -rf "$T"/log/*
	hooks PreToolUse '' "$(decide ask)" PermissionRequest Bash "cat >question; $(says PermissionRequest '{"decision":{"behavior":"allow"}}')"
	serve "$(script "$(touch_call)" "$(say end)")"
	j --allowedTools Bash
	exits 0
	[ -e made ]
	is "$(jq -r 'has("tool_use_id"), .tool_input.command' question | tr '\n' ' ')" 'false touch made '
	is "$(denials)" ''
}

@test "PermissionRequest: yes, no, and no that ends the run" {
	hooks PermissionRequest '' "$(says PermissionRequest '{"decision":{"behavior":"allow","updatedInput":{"command":"touch other"}}}')"
	serve "$(script "$(touch_call)" "$(say end)")"
	j
	exits 0
	[ -e other ]
	[ ! -e made ]
	stop_server
	rm -rf "$T"/log/*
	hooks PermissionRequest '' "$(says PermissionRequest '{"decision":{"behavior":"deny","message":"too late"}}')"
	serve "$(script "$(touch_call)" "$(say end)")"
	j
	exits 0
	has "$(result_text 2)" 'denied by a hook: too late'
	stop_server
	rm -rf "$T"/log/*
	hooks PermissionRequest '' "$(says PermissionRequest '{"decision":{"behavior":"deny","message":"stop it","interrupt":true}}')"
	serve "$(script "$(touch_call)" "$(say never)")"
	j
	exits 30 hook_stopped
	is "$(requests)" 1
	has "$(result '.errors[0]')" 'stop it'
	is "$(result '.permission_denials | length')" 1
}

@test "another input: the call runs with it, history keeps the model's, an event tells" {
	hooks PreToolUse '' "$(says PreToolUse '{"updatedInput":{"command":"touch other"}}')"
	serve "$(script "$(touch_call)" "$(say end)")"
	j --allowedTools Bash
	exits 0
	[ -e other ]
	[ ! -e made ]
	is "$(jq -r '.messages[1].content[0].input.command' "$(request 2)")" 'touch made'
	has "$(ev 'select(.subtype=="quern_notice" and .code=="hook_input").text')" 'touch other'
}

@test "another input is checked and judged" {
	hooks PreToolUse '' "$(says PreToolUse '{"permissionDecision":"allow","updatedInput":{"command":"touch other"}}')"
	serve "$(script "$(touch_call)" "$(say end)")"
	j --allowedTools Bash --disallowedTools 'Bash(touch other)'
	exits 0
	is "$(denials)" 'Bash rule'
	stop_server
	rm -rf "$T"/log/*
	hooks PreToolUse '' "$(says PreToolUse '{"updatedInput":{"cmd":"x"}}')"
	serve "$(script "$(touch_call)" "$(say end)")"
	j --allowedTools Bash
	exits 0
	has "$(result_text 2)" 'a PreToolUse hook replaced the input of Bash by one that cannot be used'
	[ ! -e made ]
}

@test "another output: a string, or the tool's own object; else it is ignored with a notice" {
	hooks PostToolUse Bash "$(says PostToolUse '{"updatedToolOutput":"short"}')" PostToolUse Read "$(says PostToolUse '{"updatedToolOutput":[1]}')"
	echo long >f
	serve "$(script "$(bash_call 'echo long')" "$(call Read '{"file_path":"f"}')" "$(say end)")"
	j --allowedTools Bash
	exits 0
	is "$(result_text 2)" short
	has "$(result_text 3)" long
	has "$(ev 'select(.code=="hook_output").text')" 'is ignored'
}

@test "what hooks say stands behind all results of the message" {
	hooks PreToolUse Bash "$(says PreToolUse '{"additionalContext":"before"}')" PostToolUse Bash 'echo mend it >&2; exit 2' \
		PostToolUse Read "echo '{\"decision\":\"block\",\"reason\":\"look again\"}'"
	echo one >f
	serve "$(script "$(jq -cn '{content: [{tool_use: {name: "Bash", id: "toolu_1", input: {command: "echo b"}}}, {tool_use: {name: "Read", id: "toolu_2", input: {file_path: "f"}}}]}')" "$(say end)")"
	j --allowedTools Bash
	exits 0
	is "$(jq -r '[.messages[-1].content[].type] | join(" ")' "$(request 2)")" 'tool_result tool_result text'
	is "$(said 2)" '<system-reminder>
Hooks of the call toolu_1 of Bash:
PreToolUse: before
PostToolUse: mend it
</system-reminder>
<system-reminder>
Hooks of the call toolu_2 of Read:
PostToolUse: look again
</system-reminder>'
	is "$(result_is_error 2 0)" false
}

@test "continue:false before a call: it is not run, nor are those behind it, and no request goes out" {
	hooks PreToolUse Bash "echo '{\"continue\":false,\"stopReason\":\"enough\"}'"
	serve "$(script "$(jq -cn '{content: [{tool_use: {name: "Bash", input: {command: "touch made"}}}, {tool_use: {name: "Bash", input: {command: "touch also"}}}]}')" "$(say never)")"
	j --allowedTools Bash
	exits 30 hook_stopped
	[ ! -e made ]
	[ ! -e also ]
	is "$(requests)" 1
	is "$(ev 'select(.type=="user").message.content[0].content' | grep -c 'a hook ended the run')" 2
	has "$(result '.errors[0]')" enough
	err_has enough
}

@test "continue:false behind a call: it has run" {
	hooks PostToolUse Bash "echo '{\"continue\":false,\"stopReason\":\"enough\"}'"
	serve "$(script "$(touch_call)" "$(say never)")"
	j --allowedTools Bash
	exits 30 hook_stopped
	[ -e made ]
	is "$(requests)" 1
}

@test "an edit and its formatter: the next call finds what the hook made of the file" {
	hooks PostToolUse Write 'sleep 0.3; tr a-z A-Z <f >f.new && mv f.new f'
	serve "$(script "$(jq -cn '{content: [{tool_use: {name: "Write", input: {file_path: "f", content: "one\n"}}}, {tool_use: {name: "Read", input: {file_path: "f"}}}]}')" "$(say end)")"
	j --allowedTools Write
	exits 0
	has "$(result_text 2 1)" ONE
}

@test "a tool that a hook could allow is offered, and no other" {
	hooks PreToolUse Write true
	serve "$(script "$(say end)")"
	j
	exits 0
	has "$(offered)" Write
	lacks "$(offered)" Edit
	has "$(ev 'select(.subtype=="init").tools_withheld | join(" ")')" 'Edit: not allowed'
}

@test "a tool of the job's own that only hooks allow" {
	printf '#!/bin/sh\ncat >got\n' >own.sh
	chmod +x own.sh
	JOB='tools: {external: [{name: own, description: mine, command: [./own.sh]}]}'
	hooks PreToolUse own "$(decide allow)"
	serve "$(script "$(call own '{}')" "$(say end)")"
	j
	exits 0
	is "$(cat got)" '{}'
	j --check
	is "$rc" 0
	hooks PostToolUse own true
	j
	exits 2
	err_has 'no rule allows own'
}

@test "a call that a hook denied is not counted as one" {
	hooks PreToolUse Bash 'grep -q denied && exit 2; exit 0'
	serve "$(script "$(touch_call denied)" "$(touch_call)" "$(say end)")"
	j --allowedTools Bash --set limits.max_tool_calls=1
	exits 0
	[ -e made ]
	is "$(result .limits.max_tool_calls.used)" 1
}

@test "on_denied: fail counts a hook's denial" {
	hooks PreToolUse Bash 'exit 2'
	serve "$(script "$(touch_call)" "$(say never)")"
	j --allowedTools Bash --set permissions.on_denied=fail
	exits 32 permission_denied
}

@test "if: one of several commands is enough, and what cannot be told counts" {
	cat >"$T/job.yaml" <<-'EOF'
		version: 1
		prompt: go
		hooks: {PreToolUse: [{matcher: Bash, hooks: [{type: command, if: "Bash(git push *)", command: "exit 2"}]}]}
	EOF
	serve "$(script "$(bash_call 'git status')" "$(bash_call 'true && git push')" "$(bash_call 'eval "$x"')" "$(say end)")"
	j --permission-mode bypassPermissions --set limits.wall_time=60s
	exits 0
	is "$(result '[.permission_denials[].tool_input.command] | join("|")')" 'true && git push|eval "$x"'
}

@test "a signal ends the hooks of a call: nothing is left, one result" {
	for event in PreToolUse PostToolUse; do
		rm -rf asked "$T"/log/*
		hooks $event Bash 'trap "" TERM; touch asked; sleep 60 & wait'
		serve "$(script "$(bash_call 'true')" "$(say never)")"
		"$QUERN" --base-url "$BASE" "$T/job.yaml" --allowedTools Bash </dev/null >"$T/out" 2>"$T/err" 3>&- &
		local pid=$!
		wait_for [ -e asked ]
		kill -TERM $pid
		rc=0
		wait $pid || rc=$?
		exits 143
		is "$(requests)" 1
		stop_server
	done
}

@test "the deadline ends the hooks of a call" {
	hooks PreToolUse Bash 'echo >begun; sleep 300'
	serve "$(script "$(touch_call)" "$(say never)")"
	reaching begun j --allowedTools Bash
	exits 41 aborted_tools
	[ ! -e made ]
	is "$(result '.side_effects // [] | length')" 0
}

@test "what a session's hooks leave for commands is read before each of them" {
	hooks SessionStart '' 'echo "export GREETING=\"hello you\"" >>"$CLAUDE_ENV_FILE"'
	serve "$(script "$(bash_call 'echo "$GREETING"')" "$(say end)")"
	j --allowedTools Bash
	exits 0
	is "$(result_text 2)" 'hello you'
	stop_server
	rm -rf "$T"/log/*
	hooks SessionStart '' 'echo "exit 0" >>"$CLAUDE_ENV_FILE"'
	serve "$(script "$(bash_call 'echo run')" "$(say end)")"
	j --allowedTools Bash
	exits 0
	has "$(result_text 2)" '(CLAUDE_ENV_FILE) ended the shell'
}
