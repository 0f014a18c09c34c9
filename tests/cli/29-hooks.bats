#!/usr/bin/env bats
# Hooks through the whole program: the session's own, those that misbehave, and what they may touch.

load ../lib/helpers

# hook EVENT COMMAND [MEMBERS]: one more handler in job.yaml
ALL='{}'
hook() {
	ALL=$(jq -c --arg e "$1" --arg c "$2" --argjson m "${3:-{\}}" '.[$e] += [{hooks: [{type: "command", command: $c} + $m]}]' <<<"$ALL")
	printf 'version: 1\nprompt: go\npermissions: {allow: [Bash]}\nhooks: %s\n%s\n' "$ALL" "${JOB:-}" >"$T/job.yaml"
}
j() { q "$T/job.yaml" "$@"; }
responses() { ev 'select(.subtype=="hook_response") | "\(.hook_name) \(.outcome) \(.exit_code // "-")"' | tr '\n' ';'; }
texts() { jq -r '[.messages[-1].content[] | select(.type=="text").text] | join("|")' "$(request "$1")"; }
run_dirs() { find "$T/state" -mindepth 2 -maxdepth 2 2>/dev/null | wc -l; }

@test "a session's hooks: context before the first request, variables for commands, the last word" {
	hook SessionStart 'echo "export A=from-hook" >>"$CLAUDE_ENV_FILE"; echo "start $(jq -r .source)"'
	hook UserPromptSubmit 'echo "prompt: $(jq -r .prompt)"'
	hook Stop 'jq -r .stop_hook_active >>active; [ -e again ] || { touch again; echo "once more" >&2; exit 2; }'
	hook SessionEnd 'jq -r .reason >end'
	serve "$(script "$(bash_call 'echo $A')" "$(say one)" "$(say two)")"
	j
	exits 0
	has "$(texts 1)" "start startup"
	has "$(texts 1)" "prompt: go"
	is "$(result_text 2)" from-hook
	has "$(texts 3)" "once more"
	is "$(cat active)" "$(printf 'false\ntrue')"
	is "$(cat end)" other
	is "$(result .result)" two
	is "$(responses)" "SessionStart:startup success 0;Stop error 2;"
	is "$(ev 'select(.subtype=="hook_response" or .subtype=="init").subtype' | head -2 | tr '\n' ' ')" "hook_response init "
	is "$(run_dirs)" 0
}

@test "each start and each end is told if that is asked for" {
	hook PreToolUse 'echo {}; echo err >&2'
	serve "$(script "$(bash_call true)" "$(say end)")"
	j
	exits 0
	is "$(ev 'select(.subtype | strings | startswith("hook_")).subtype')" ""
	stop_server
	serve "$(script "$(bash_call true)" "$(say end)")"
	j --include-hook-events
	exits 0
	is "$(ev 'select(.subtype=="hook_started") | "\(.hook_event) \(.hook_name)"')" "PreToolUse PreToolUse:Bash"
	is "$(ev 'select(.subtype=="hook_response") | "\(.stdout)\(.stderr)\(.hook_id)"')" "$(printf '{}\nerr\nhook_1')"
}

@test "the transcript: a file of the run, gone with it, or the events file" {
	hook Stop 'f=$(jq -r .transcript_path); echo "$f" >name; head -n 1 "$f" >first; wc -l <"$f" >lines'
	serve "$(script "$(jq -cn '{text: "done", repeat: 2}')")"
	j
	exits 0
	is "$(jq -r .subtype first)" init
	[ "$(cat lines)" -ge 2 ]
	[ ! -e "$(cat name)" ]
	j --events "$T/events"
	exits 0
	is "$(cat name)" "$(realpath "$T/events")"
	is "$(run_dirs)" 0
}

@test "a hook that ends the run: 30, 31 for one of stop, and no request goes out" {
	hook UserPromptSubmit 'echo "not this" >&2; exit 2'
	serve "$(script "$(jq -cn '{text: "done", repeat: 9}')")"
	j
	exits 30 hook_stopped
	is "$(requests)" 0
	has "$(result '.errors | join("|")')" "not this"
	ALL='{}'
	hook SessionStart "echo '{\"continue\":false,\"stopReason\":\"closed today\"}'"
	j
	exits 30 hook_stopped
	is "$(requests)" 0
	has "$(result '.errors | join("|")')" "closed today"
	ALL='{}'
	hook Stop "echo '{\"continue\":false,\"stopReason\":\"it is enough\"}'"
	j
	exits 31 stop_hook_prevented
	is "$(requests)" 1
	has "$(result '.errors | join("|")')" "it is enough"
}

@test "a stop hook that always objects: bounded, and not a success" {
	hook Stop 'jq -r .stop_hook_active >>active; printf %s "{\"decision\":\"block\",\"reason\":\"again\"}"'
	JOB='limits: {max_stop_blocks: 4}' hook SessionEnd true
	serve "$(script "$(say a)" "$(bash_call true)" "$(say b)" "$(bash_call true)" "$(say c)" "$(say d)" "$(say e)")"
	j
	exits 34 stop_blocks_exhausted
	is "$(sort active | uniq -c | tr -s ' ' | tr '\n' ',')" " 1 false, 4 true,"
	has "$(result '.errors | join("|")')" again
}

@test "a stop hook that breaks is no objection that the model could meet" {
	hook Stop 'exit 7'
	serve "$(script "$(jq -cn '{text: "done", repeat: 9}')")"
	j
	exits 0
	is "$(responses)" "Stop error 7;"
	ALL='{}'
	hook Stop 'echo wrong >&2; exit 7' '{"onFailure":"block"}'
	j
	exits 31 stop_hook_prevented
	is "$(requests)" 2
	has "$(result '.errors | join("|")')" "broke: ended with exit status 7: wrong"
}

@test "a timeout ends all that the hook started, whatever it ignores" {
	hook PreToolUse 'trap "" TERM; (trap "" TERM; exec sleep 300) & echo $! >pid; wait; sleep 300' '{"timeout":0.9}'
	serve "$(script "$(bash_call 'echo x >made')" "$(say end)")"
	j
	exits 0
	[ -e made ]
	gone pid
	is "$(responses)" "PreToolUse:Bash cancelled -;"
	err_has "took longer than 900 ms and was ended"
}

@test "a call with 2 MB: read, left unread, and refused unread" {
	local big
	head -c 2000000 /dev/zero | tr '\0' x >"$T/big"
	big=$(jq -cRs '{tool_use: {name: "Write", input: {file_path: "w", content: .}}}' "$T/big")
	hook PreToolUse 'jq -r ".tool_input.content | length" >len'
	hook PreToolUse 'exit 0'
	printf '[%s,%s]' "$big" "$(say end)" >"$T/long"
	serve "$(cat "$T/long")"
	j --permission-mode acceptEdits
	exits 0
	is "$(cat len)" 2000000
	is "$(stat -c %s w)" 2000000
	rm w
	hook PreToolUse 'echo unread >&2; exit 2'
	stop_server
	serve "$(cat "$T/long")"
	j --permission-mode acceptEdits
	exits 0
	[ ! -e w ]
	has "$(ev 'select(.type=="user").message.content[0].content | strings')" unread
}

@test "a text that is too long goes to a file that the model can read" {
	hook UserPromptSubmit 'echo begun; head -c 20000 /dev/zero | tr "\0" x'
	serve "$(script "$(call Read "{\"file_path\":\"$T/run/hook_1.txt\"}")" "$(bash_call "wc -c <$T/run/hook_1.txt")" "$(say end)")"
	j --run-dir "$T/run"
	exits 0
	local text file
	text=$(texts 1)
	[ ${#text} -lt 4000 ]
	file=$(ev 'select(.subtype=="hook_response").quern_output_file')
	has "$text" "20006 bytes in all; the whole text is in $file]"
	is "$file" "$T/run/hook_1.txt"
	is "$(stat -c %s "$file")" 20006
	has "$(result_text 2)" "begun"
	is "$(result_text 3)" 20006
	is "$(result .run_dir)" "$T/run"
}

@test "in the sandbox as tools are, unless the job says otherwise" {
	hook SessionStart "echo x >$T/outside"
	serve "$(script "$(jq -cn '{text: "done", repeat: 9}')")"
	j
	exits 0
	[ ! -e "$T/outside" ]
	is "$(responses)" "SessionStart:startup error 2;"
	printf '#!/bin/sh\necho x >%s/outside\n' "$T" >"$T/trusted"
	cp "$T/trusted" own
	chmod +x "$T/trusted" own
	ALL='{}'
	JOB='sandbox: {hooks: false}' hook SessionStart "$T/trusted"
	j
	exits 0
	[ -e "$T/outside" ]
	ALL='{}'
	JOB='sandbox: {hooks: false}' hook SessionStart '"$CLAUDE_PROJECT_DIR"/own'
	j
	exits 2 turn_setup_failed
	err_has "tools can write that file"
	JOB='sandbox: {hooks: true}' hook Stop true
	j
	exits 0
}

@test "an unconfined hook ends what it likes, beside commands that cannot" {
	sleep 300 3>&- &
	echo $! >"$T/pid"
	JOB='sandbox: {hooks: false}' hook PostToolUse "kill $! && touch $T/killed"
	serve "$(script "$(bash_call "kill $! || echo cannot")" "$(say end)")"
	j
	exits 0
	has "$(result_text 2)" cannot
	[ -e "$T/killed" ]
	wait "$(cat "$T/pid")" || true
}

@test "nobody waits for an async hook, and it ends with the run" {
	hook SessionStart 'echo $$ >pid; exec sleep 300' '{"async":true}'
	hook SessionStart 'echo "{\"async\":true}"; echo $$ >pid2; exec sleep 300'
	serve "$(script "$(bash_call 'while ! [ -s pid ] || ! [ -s pid2 ]; do sleep 0.01; done')" "$(say end)")"
	j
	exits 0
	gone pid
	gone pid2
}

@test "a signal while a session's hook runs: one result, no child" {
	local event signalled=0
	for event in SessionStart UserPromptSubmit Stop; do
		ALL='{}'
		rm -f pid
		hook "$event" 'echo $$ >pid; trap "" TERM; sleep 300 & wait; sleep 300'
		serve "$(script "$(say end)")"
		env "$QUERN" --base-url "$BASE" "$T/job.yaml" </dev/null >"$T/out" 2>"$T/err" 3>&- &
		wait_for [ -s pid ]
		kill -TERM $!
		rc=0
		wait $! || rc=$?
		stop_server
		is "$rc" 143
		gone pid
		is "$(jq -s '[.[] | select(.type=="result")] | length' "$T/out")" 1
		is "$(result '"\(.exit_code) \(.terminal_reason)"')" "143 aborted_tools"
		signalled=$((signalled + 1))
	done
	is "$signalled" 3
}
