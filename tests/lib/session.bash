# A session that the test writes to: --input-format stream-json. Loaded behind helpers.bash.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are the tests' and the helpers'

extra_setup() { SESSION=+ IN=''; }

# open ARGUMENT...: a session that this test writes to
open() {
	mkfifo "$T/in"
	printf 'session' >"$T/log/run"
	env --default-signal=INT,HUP,TERM,QUIT timeout --foreground -k 5 60 "$QUERN" --base-url "$BASE" \
		--input-format stream-json "$@" <"$T/in" >"$T/out" 2>"$T/err" 3>&- &
	waited=$!
	exec {IN}>"$T/in"
}
send() { printf '%s\n' "$@" >&"$IN"; }
# message TEXT [MEMBERS]: a line of type user; user ...: sends it
message() {
	jq -cn --arg t "$1" --argjson m "${2:-{\}}" \
		'{type: "user", session_id: "", message: {role: "user", content: $t}, parent_tool_use_id: null} + $m'
}
user() { send "$(message "$@")"; }
# request ID SUBTYPE [MEMBERS]
ask() {
	send "$(jq -cn --arg id "$1" --arg s "$2" --argjson m "${3:-{\}}" \
		'{type: "control_request", request_id: $id, request: ({subtype: $s} + $m)}')"
}
end_of_input() { exec {IN}>&-; IN=''; }
# close: no more input, and the end of it. Sets rc.
close() {
	[ -z "$IN" ] || end_of_input
	rc=0
	wait "$waited" || rc=$?
	: >"$T/log/run"
	no_sanitizer_report && unexplained session "$T/out" && valid_stream || { show; return 1; }
}
pid_of_it() { pgrep -P "$waited" -x quern | head -n 1; }

results() { grep -c '"type":"result"' "$T/out"; }
got_results() { [ "$(results)" -ge "$1" ]; }
started() { [ -s started ]; }
# nth N FILTER: of the N-th result
nth() { grep '"type":"result"' "$T/out" | sed -n "$1p" | jq -r "$2"; }
# answer ID FILTER: of the response to a control request
answer() { ev "select(.type==\"control_response\" and .response.request_id==\"$1\") | .response | $2"; }
answered() { [ -n "$(answer "$1" .subtype)" ]; }
