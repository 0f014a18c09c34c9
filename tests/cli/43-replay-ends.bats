#!/usr/bin/env bats
# Whatever a recorded run ended with, it is what its replay ends with, at the same place.

load ../lib/helpers

export ANTHROPIC_API_KEY=sk-ant-not-asked-for

# record ARGUMENT...: a run that is kept
record() { q -p go "$@" --record "$T/run.tar.zst"; }

# record_until COMMAND SIGNAL ARGUMENT...: a run that gets the signal when the command is true
record_until() {
	local cond=$1 signal=$2
	shift 2
	rc=0
	"$QUERN" --base-url "$BASE" -p go "$@" --record "$T/run.tar.zst" </dev/null >"$T/out" 2>"$T/err" 3>&- &
	local pid=$!
	wait_for eval "$cond"
	kill -s "$signal" "$pid"
	wait "$pid" || rc=$?
}

# again CODE REASON ARGUMENT...: the same events and the same end, also where not a byte may differ
again() {
	local code=$1 reason=$2
	shift 2
	exits "$code" "$reason"
	stop_server
	BASE=''
	cp "$T/out" "$T/recorded"
	q --replay "$T/run.tar.zst" --replay-strict "$@"
	exits "$code" "$reason"
	[ "$*" != --replay-tools ] || set -- no-hooks
	"$PY" "$LIB/same_events.py" "$T/recorded" "$T/out" "$@" || { cat "$T/err"; return 1; }
}
entry() { tar --zstd -xOf "$T/run.tar.zst" --wildcards "$1"; }

@test "a signal in the middle of an answer" {
	serve '[{"content":[{"text":"one"},{"text":"two"}],"stop_after":5,"no_end":true,"then":"hang"}]'
	record_until 'grep -q one "$T/out"' TERM
	is "$(entry 'interrupts/*' | jq -c '[.signal, .exchange.ordinal, .running]')" '[15,1,[]]'
	again 143 aborted_streaming
	again 143 aborted_streaming --replay-tools
}

@test "a signal before an answer begins, and while a request is tried again" {
	serve '[{"silent":true}]'
	record_until 'got_requests 1 && sleep 0.3' TERM
	again 143 aborted_streaming
	serve '[{"status":529,"error":{"type":"overloaded_error","message":"busy"},"headers":{"retry-after":"20"}}]'
	record_until 'grep -q api_retry "$T/out"' HUP
	again 129 aborted_streaming
}

@test "a signal while a call runs, and one beside it is done" {
	serve "$(script "{\"content\":[$(call Glob '{"pattern":"*"}' g1),$(bash_call 'echo x >>ran; sleep 30' b1)]}")"
	record_until '[ -e ran ]' TERM --allowedTools Bash
	is "$(entry 'interrupts/*' | jq -c '.running | length')" 1
	rm ran
	again 143 aborted_tools
	rm -f ran
	again 143 aborted_tools --replay-tools
	[ ! -e ran ]
}

@test "what has no result in the record has none in the replay, however fast it is there" {
	serve "$(script "$(bash_call 'echo x >>ran; [ -e fast ] || sleep 30' b1)")"
	record_until '[ -e ran ]' TERM --allowedTools Bash
	touch fast
	again 143 aborted_tools
}

@test "a signal while a call runs and its answer still comes" {
	serve "[{\"content\":[$(bash_call 'echo x >>ran; sleep 30' b1),{\"text\":\"more\"}],\"piece\":100,\"stop_after\":6,\"no_end\":true,\"then\":\"hang\"}]"
	record_until '[ -e ran ]' TERM --allowedTools Bash
	is "$(entry 'interrupts/*' | jq -c '[.running, .exchange.kind]')" '[["toolu_1_0"],"main"]'
	again 143 aborted_streaming
	again 143 aborted_streaming --replay-tools
}

@test "a signal while a hook is asked" {
	serve "$(script "$(say end)")"
	record_until '[ -e asked ]' TERM --settings '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"touch asked; sleep 30"}]}]}}'
	is "$(entry 'interrupts/*' | jq -c '[.hooks, .asking]')" '[1,true]'
	again 143 aborted_tools
}

@test "the wall time ends it in an answer, in a call, and in a backoff" {
	serve '[{"content":[{"text":"one"},{"text":"two"}],"stop_after":5,"no_end":true,"then":"hang"}]'
	reaching "$(request 1)" record
	is "$(entry 'interrupts/*' | jq -c '[.wall_time, .exchange.ordinal]')" '[true,1]'
	again 40 aborted_streaming
	stop_server
	serve "$(script "$(bash_call 'echo >begun; sleep 300' b1)")"
	reaching begun record --allowedTools Bash
	again 41 aborted_tools
	again 41 aborted_tools --replay-tools
	serve "$(script "$(bash_call 'echo >ran; [ -e fast ] || sleep 300' b1)")"
	reaching ran record --allowedTools Bash
	touch fast
	again 41 aborted_tools
	serve '[{"status":503,"error":{"type":"api_error","message":"busy"},"headers":{"retry-after":"1"}},{"status":503,"error":{"type":"api_error","message":"busy"},"headers":{"retry-after":"30"}},{"text":"never"}]'
	record --set limits.wall_time=20s
	again 75 model_error
}

# ends ANSWERS CODE REASON ARGUMENT...: a run with that end, and its replays
ends() {
	local answers=$1 code=$2 reason=$3
	shift 3
	serve "$answers"
	record "$@"
	again "$code" "$reason"
	again "$code" "$reason" --replay-tools
	stop_server
}

@test "each named end, that is in the table, is the replay's, with tools and without" {
	local glob bad cut
	glob=$(call Glob '{"pattern":"*"}')
	bad=$(call Nonsense '{}')
	cut='{"text":"part","stop_reason":"max_tokens"}'
	ends "$(script "$glob" "$(say end)")" 0 completed
	ends "$(script "$glob" "$glob")" 10 max_turns -t 1
	ends "$(script "$glob" "$glob")" 13 budget_exhausted --set limits.max_requests=1
	ends "$(script "$glob" "$glob")" 13 budget_exhausted --set limits.token_budget=10
	ends "$(script "$glob" "$glob" "$(say end)")" 13 budget_exhausted --set limits.max_tool_calls=1
	ends '[{"status":400,"error":{"type":"invalid_request_error","message":"prompt is too long: 300000 tokens > 200000 maximum"}}]' 11 prompt_too_long
	ends "[$cut,$cut,$cut,$cut,$cut,$cut]" 14 max_output_tokens
	ends "[$bad,$bad,$bad,$bad,$bad]" 17 malformed_tool_use_exhausted
	ends '[{"status":401,"error":{"type":"authentication_error","message":"no such key"}}]' 20 model_error
	ends '[{"status":529,"error":{"type":"overloaded_error","message":"busy"}}]' 75 model_error --set model.max_retries=0
	ends '[{"text":"no","stop_reason":"refusal"}]' 22 refusal
	ends "$(script "$(call Write '{"file_path":"a","content":"b"}')")" 32 permission_denied --set permissions.on_denied=fail
}

@test "the ends that hooks and the verification bring are the replay's" {
	echo 'echo no >&2; exit 2' >no.sh
	echo 'echo "{\"continue\":false,\"stopReason\":\"enough\"}"' >stop.sh
	hook() { printf '{"hooks":{"%s":[{"hooks":[{"type":"command","command":"sh %s.sh"}]}]}}' "$1" "$2"; }
	ends "$(script "$(say end)")" 30 hook_stopped --settings "$(hook UserPromptSubmit no)"
	ends "$(script "$(bash_call 'echo x')")" 30 hook_stopped --allowedTools Bash --settings "$(hook PostToolUse stop)"
	ends "$(script "$(bash_call 'echo x')")" 30 hook_stopped --allowedTools Bash --settings "$(hook PostToolBatch stop)"
	ends "$(script "$(say end)")" 31 stop_hook_prevented --settings "$(hook Stop stop)"
	ends "$(script "$(say end)" "$(say end)")" 34 stop_blocks_exhausted --set limits.max_stop_blocks=1 --settings "$(hook Stop no)"
	ends "$(script "$(say end)" "$(say end)")" 33 verify_failed --set 'verify.command=["false"]' --set verify.max_repairs=1
}
