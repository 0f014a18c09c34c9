#!/usr/bin/env bats
# Signals, the wall time and interrupts at every moment at which a run waits for something: one result, no child left,
# every call answered. (While a model or a tool is waited for: 16-signals; a compaction: 25-context; between two
# messages: 33-stream-input.)

load ../lib/helpers

q_bg() {
	env --default-signal=INT,HUP,TERM,QUIT "$QUERN" --base-url "$BASE" "$@" <"${STDIN:-/dev/null}" >"$T/out" 2>"$T/err" 3>&- &
	pid=$!
}
reap() { rc=0; wait "$pid" || rc=$?; no_sanitizer_report; }
hanging() { [ -s "$T/work/hook.pid" ]; }
again() { stop_server; rm -rf "$T/log" "$T"/work/*; mkdir "$T/log"; }

# job EVENT [COMMAND]: a job with one hook for that event, that hangs
job() {
	cat >"$T/job.yaml" <<-YAML
		version: 1
		prompt: go
		permissions: {allow: [Bash]}
		hooks:
		  $1: [{hooks: [{type: command, command: '${2:-echo \$\$ >hook.pid; exec sleep 300}'}]}]
	YAML
}
# Each of these is waited for once in a run of one call and an answer.
EVENTS="SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolBatch Stop"
one_round() { script "$(bash_call 'echo $$ >started')" "$(say "done")"; }

@test "TERM during a hook of each kind" {
	local event
	for event in $EVENTS; do
		job "$event"
		serve "$(one_round)"
		q_bg "$T/job.yaml"
		wait_for hanging
		kill -TERM "$pid"
		reap
		exits 143 aborted_tools || { echo "$event"; return 1; }
		gone hook.pid || { echo "$event"; return 1; }
		again
	done
}

run_it() { q_bg "$T/job.yaml" "$@"; reap; }

@test "the wall time during a hook of each kind" {
	local event
	for event in $EVENTS; do
		job "$event"
		serve "$(one_round)"
		reaching hook.pid run_it
		exits 41 aborted_tools || { echo "$event"; return 1; }
		gone hook.pid || { echo "$event"; return 1; }
		again
	done
}

@test "a hook that ignores TERM and one that left a daemon: nothing is left, within the grace" {
	job PreToolUse 'trap "" TERM; setsid sleep 301 & echo $! >daemon.pid; echo $$ >hook.pid; sleep 302; sleep 303'
	serve "$(one_round)"
	q_bg "$T/job.yaml"
	wait_for hanging
	kill -TERM "$pid"
	reap
	exits 143 aborted_tools
	gone hook.pid
	gone daemon.pid
}

@test "a second signal during a hook skips the grace" {
	job Stop 'trap "" TERM; echo $$ >hook.pid; sleep 302; sleep 303'
	serve "$(one_round)"
	q_bg "$T/job.yaml"
	wait_for hanging
	kill -TERM "$pid"
	kill -INT "$pid"
	reap
	[ "$rc" = 143 ] || [ "$rc" = 130 ] # whichever was taken first
	exits "$rc" aborted_tools
	gone hook.pid
}

@test "TERM while the verification runs" {
	cat >"$T/job.yaml" <<-'YAML'
		version: 1
		prompt: go
		verify: {command: [sh, -c, "echo $$ >hook.pid; exec sleep 300"]}
	YAML
	serve "$(script "$(say "done")")"
	q_bg "$T/job.yaml"
	wait_for hanging
	kill -TERM "$pid"
	reap
	exits 143 aborted_tools
	gone hook.pid
}

@test "a hook of the session's end has little time, and the process still dies by the signal" {
	job SessionEnd
	serve '[{"silent":true}]'
	q_bg "$T/job.yaml"
	wait_for got_requests 1
	kill -TERM "$pid"
	reap
	exits 143 aborted_streaming
	hanging
	gone hook.pid
}

@test "a hook of the session's end behind the last result of a session: no event stands there" {
	job SessionEnd 'echo $$ >hook.pid; echo done; exit 1'
	sed -i /^prompt/d "$T/job.yaml"
	serve "$(script "$(say one)")"
	mkfifo "$T/in"
	STDIN=$T/in q_bg "$T/job.yaml" --input-format stream-json
	exec {IN}>"$T/in"
	echo '{"type":"user","message":{"role":"user","content":"first"}}' >&"$IN"
	told() { grep -q '"type":"result"' "$T/out"; }
	wait_for told
	exec {IN}>&-
	reap
	SESSION=+
	exits 0 completed
	hanging
}

# interrupted EVENT: a session whose first message meets a hook that hangs once, and is interrupted then
interrupted() {
	job "$1" '[ -e hook.pid ] && exit 0; echo $$ >hook.pid; exec sleep 300'
	sed -i /^prompt/d "$T/job.yaml"
	mkfifo "$T/in"
	STDIN=$T/in q_bg "$T/job.yaml" --input-format stream-json
	exec {IN}>"$T/in"
	echo '{"type":"user","message":{"role":"user","content":"first"}}' >&"$IN"
	wait_for hanging
	echo '{"type":"control_request","request_id":"r","request":{"subtype":"interrupt"}}' >&"$IN"
	echo '{"type":"user","message":{"role":"user","content":"second"}}' >&"$IN"
	exec {IN}>&-
	reap
	rm "$T/in"
	SESSION=+
	exits 0 completed
	is "$(ev 'select(.type=="result").terminal_reason' | tr '\n' ' ')" "aborted_tools completed "
	gone hook.pid
}

@test "an interrupt during a hook of each kind ends that message, and the next one is worked on" {
	local event
	for event in $EVENTS; do
		case $event in
		SessionStart | UserPromptSubmit) serve "$(script "$(say "done")")" ;;
		Pre* | Post*) serve "$(one_round)" ;;
		Stop) serve "$(script "$(say "done")" "$(say "done")")" ;;
		esac
		echo "$event"
		interrupted "$event"
		again
	done
}

@test "an interrupt in a backoff ends it at once" {
	serve '[{"status":529,"error":{"type":"overloaded_error","message":"x"},"headers":{"retry-after":"60"}},{"text":"two"}]'
	mkfifo "$T/in"
	STDIN=$T/in q_bg --input-format stream-json
	exec {IN}>"$T/in"
	echo '{"type":"user","message":{"role":"user","content":"first"}}' >&"$IN"
	waits() { grep -q api_retry "$T/out"; }
	wait_for waits
	echo '{"type":"control_request","request_id":"r","request":{"subtype":"interrupt"}}' >&"$IN"
	echo '{"type":"user","message":{"role":"user","content":"second"}}' >&"$IN"
	exec {IN}>&-
	reap
	SESSION=+
	exits 0 completed
	is "$(ev 'select(.type=="result").terminal_reason' | tr '\n' ' ')" "aborted_streaming completed "
}
