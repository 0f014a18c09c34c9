# What every command-line test stands on: a private home, a model server, the program, and ways to ask about its output.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are read by the tests; bats sets its own

bats_require_minimum_version 1.5.0

: "${QUERN_SRC:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"
: "${QUERN:=$QUERN_SRC/build/quern}"
LIB=$QUERN_SRC/tests/lib

# The same language, started in a tenth of the time; a suite starts it hundreds of times. Its keys are always sorted:
# where their order matters, or a lookahead, the test says `command jq`.
if command -v gojq >/dev/null; then jq() { gojq "$@"; }; fi

# The interpreter itself: shims in front of it cost more than the tests they serve.
find_python() {
	local p
	for p in /usr/bin/python3 python3; do
		"$p" -c 'import sys, importlib.util as u; u.find_spec("jsonschema") or sys.exit(1); print(sys.executable)' 2>/dev/null && return
	done
	echo python3
}

setup_file() {
	trap - DEBUG
	PY=$(find_python)
	export PY QUERN QUERN_SRC
	# Once a file: the schema that all lines of stdout obey, and one that holds them against it and starts the servers.
	export SCHEMA=$BATS_FILE_TMPDIR/events.json
	"$QUERN" --print-schema events >"$SCHEMA"
	mkfifo "$SCHEMA.ask" "$SCHEMA.answer"
	PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=${QUERN_BUILD:-$BATS_RUN_TMPDIR}/tests/pyc \
		"$PY" "$LIB/companion.py" "$SCHEMA" "$SCHEMA.ask" "$SCHEMA.answer" </dev/null >/dev/null 2>"$SCHEMA.err" 3>&- &
	export COMPANION=$!
}

teardown_file() { kill "$COMPANION" 2>/dev/null || true; }

# companion FIELD...: a line to the companion; its answer is in ANSWER
companion() {
	local IFS=$'\x1f'
	kill -0 "$COMPANION" || { cat "$SCHEMA.err"; return 1; }
	printf '%s\n' "$*" >"$SCHEMA.ask"
	IFS= read -r -d '' -t 60 ANSWER <>"$SCHEMA.answer" || { echo "no answer: $*"; cat "$SCHEMA.err"; return 1; }
}

# Bats notes the stack before each command of a test, for the message when one fails: that costs more than the commands.
# Noted where one fails, it says the same.
cheap_traps() {
	[ "$(type -t bats_capture_stack_trace)" = function ] || return 0
	trap - DEBUG
	BATS_DEBUG_LAST_STACK_TRACE=() BATS_DEBUG_LASTLAST_STACK_TRACE=() BATS_DEBUG_LAST_LINENO=()
	trap 'bats_error_trap; note_failure' ERR
}
note_failure() { bats_capture_stack_trace; }

setup() {
	cheap_traps
	T=$BATS_TEST_TMPDIR
	mkdir -p "$T/home" "$T/tmp" "$T/state" "$T/work" "$T/log"
	local v
	for v in $(compgen -e); do
		case $v in
		ANTHROPIC_* | OPENAI_* | SSL_CERT_* | CURL_CA_BUNDLE | *_proxy | *_PROXY | GIT_* | EDITOR | VISUAL | PAGER) unset "$v" ;;
		QUERN | QUERN_SRC | QUERN_BUILD | QUERN_SANITIZED) ;;
		QUERN_*) unset "$v" ;;
		esac
	done
	export HOME=$T/home TMPDIR=$T/tmp XDG_STATE_HOME=$T/state
	export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=99
	cd "$T/work" || return 1
	SERVERS='' SERVER_PID='' PORT='' BASE='' NO_CHECK='' LIMIT=90 RUNS=0
	extra_setup
}

# For the file's own needs; a test file may define it again.
extra_setup() { :; }

teardown() {
	stop_server
	# A request that is wrong fails the test whatever the test itself looked at.
	[ ! -s "$T/log/violations" ] || { cat "$T/log/violations"; return 1; }
	# So does one that does not go on from the one before, in a run whose events were not looked at by q_in.
	unexplained ''
	# The tools' private directory is gone; nothing but the run directory outlives a run.
	[ -z "$(ls -A "$T/tmp")" ] || { echo "left in TMPDIR:"; ls -lA "$T/tmp"; return 1; }
}

# ---------------------------------------------------------------- the server

# serve SCRIPT [SERVER-OPTION]...: a list of answers as JSON (see tests/lib/server.py)
serve() {
	printf '%s' "$1" >"$T/script.json"
	serve_file "${@:2}"
}

# serve_file [SERVER-OPTION]...: the same, of answers that stand in $T/script.json already
serve_file() {
	# shellcheck disable=SC2086 # one word or none
	companion serve "$PWD" "$T/server.err" --log "$T/log" $NO_CHECK "$@" "$T/script.json" || return 1
	read -r _ PORT SERVER_PID <<<"$ANSWER"
	[ -n "$SERVER_PID" ] || { cat "$T/server.err"; return 1; }
	SERVERS+=" $SERVER_PID"
	BASE=http://127.0.0.1:$PORT
}

stop_server() {
	[ -n "$SERVERS" ] || return 0
	# shellcheck disable=SC2086 # words
	kill $SERVERS 2>/dev/null || true
	SERVERS=''
}

# The same answers in a tape, for a run without a server: tape NAME < YAML
tape() { cat >"$T/$1"; }

requests() { find "$T/log" -name '[0-9]*.json' | wc -l; }
request() { printf '%s/log/%03d.json' "$T" "$1"; }
head_of() { printf '%s/log/%03d.head' "$T" "$1"; }
connections() { wc -l <"$T/log/connections"; }

# wait_for COMMAND...: until it is true, at most a minute
wait_for() {
	local end=$((SECONDS + 60))
	until "$@"; do
		[ $SECONDS -lt $end ] || { echo "waited in vain for: $*"; return 1; }
		sleep 0.05
	done
}
# gone FILE: the process whose number is in the file is no more, or soon
gone() {
	[ -s "$1" ] || { echo "no number in $1"; return 1; }
	wait_for no_process "$(cat "$1")"
}
no_process() { ! kill -0 "$1" 2>/dev/null; }
got_requests() { [ "$(requests)" -ge "$1" ]; }

# ---------------------------------------------------------------- the program

# q ARGUMENT...: one run against the server, nothing on stdin. Sets rc; stdout in $T/out, stderr in $T/err.
q() { q_in /dev/null "$@"; }

# reaching FILE COMMAND...: the command (`q` and what it is given) with a wall time behind it within which it fills the
# file: a second, or what a busy machine needs
reaching() {
	local file=$1 wall
	shift
	for wall in 1s 4s 16s; do
		"$@" --wall-time $wall
		[ ! -s "$file" ] || return 0
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
		serve_file
	done
	echo "not within 16 s: $file"
	return 1
}

# q_in FILE ARGUMENT...: the same with FILE as stdin
q_in() {
	local in=$1
	shift
	rc=0 RUNS=$((RUNS + 1))
	printf 'q%d' "$RUNS" >"$T/log/run"
	timeout -k 5 "$LIMIT" "$QUERN" ${BASE:+--base-url "$BASE"} "$@" \
		<"$in" >"$T/out" 2>"$T/err" 3>&- || rc=$?
	: >"$T/log/run"
	no_sanitizer_report && unexplained "q$RUNS" "$T/out"
}

# unexplained RUN [EVENTS]: no request of the run breaks off from the one before without an event that says why
unexplained() { [ ! -s "$T/log/breaks" ] || "$PY" "$LIB/breaks.py" "$T/log/breaks" "$@"; }

no_sanitizer_report() {
	! grep -E -q 'AddressSanitizer|LeakSanitizer|runtime error:' "$T/err" || { cat "$T/err"; return 1; }
}

show() { echo "--- exit $rc, stdout:"; head -c 6000 "$T/out"; echo "--- stderr:"; head -c 3000 "$T/err"; }

# exits CODE [TERMINAL_REASON]: the status, a stream that obeys the schema, a result that agrees with the status
exits() {
	[ "$rc" = "$1" ] || { echo "expected exit $1"; show; return 1; }
	valid_stream || { show; return 1; }
	local code is_error reason # the validator has said them: a start of jq costs more than the rest of this
	read -r code is_error reason <<<"$RESULT"
	[ "$code" = "$1" ] || { echo "result.exit_code disagrees"; show; return 1; }
	[ "$is_error" = "$([ "$1" = 0 ] && echo false || echo true)" ] || { echo "is_error"; show; return 1; }
	[ $# -lt 2 ] || [ "$reason" = "$2" ] || { echo "expected $2"; show; return 1; }
	[ "$1" = 0 ] || [ -s "$T/err" ] || { echo "nothing on stderr"; show; return 1; }
}

# Every line obeys the schema; exactly one result, the last line (SESSION=+: for each message that was worked on). Sets
# RESULT: the last result's exit code, is_error and terminal reason.
valid_stream() {
	local problems
	companion check "${SESSION:-}$T/out" || return 1
	RESULT=${ANSWER%%$'\n'*} problems=${ANSWER#*$'\n'}
	[ -z "$problems" ] || { printf '%s\n' "$problems"; return 1; }
}

# result FILTER: of the result line;  ev FILTER: of every line, raw
result() { tail -n 1 "$T/out" | jq -r "$1"; }
ev() { jq -r "$1" "$T/out"; }
transitions() { ev 'select(.subtype=="quern_transition").reason' | tr '\n' ' ' | sed 's/ $//'; }

# err_has TEXT / err_lacks TEXT, fixed strings
err_has() { grep -qF -- "$1" "$T/err" || { echo "stderr lacks: $1"; cat "$T/err"; return 1; }; }
err_lacks() { ! grep -qF -- "$1" "$T/err" || { echo "stderr has: $1"; cat "$T/err"; return 1; }; }
is() { [ "$1" = "$2" ] || { echo "is:       $1"; echo "expected: $2"; return 1; }; }
has() { case $1 in *"$2"*) ;; *) echo "'$1' lacks '$2'"; return 1 ;; esac; }
lacks() { case $1 in *"$2"*) echo "'$1' has '$2'"; return 1 ;; esac; }

# Plain text and compact JSON are put together here: a start of jq costs as much as a run of the program.
plain() { case $1 in *[\"\\[:cntrl:]]*) return 1 ;; esac; }
# A call as the server's shorthand: call NAME INPUT [ID]
call() { printf '{"tool_use":{"name":"%s","input":%s%s}}\n' "$1" "$2" "${3:+,\"id\":\"$3\"}"; }
bash_call() { if plain "$1"; then call Bash "{\"command\":\"$1\"}"; else call Bash "$(jq -cn --arg c "$1" '{command: $c}')"; fi; }
# script ANSWER...: the list
script() {
	case $* in
	*$'\n'*) printf '%s\n' "$@" | jq -cs . ;;
	*) local IFS=,; printf '[%s]\n' "$*" ;;
	esac
}
say() { if plain "$1"; then printf '{"text":"%s"}\n' "$1"; else jq -cn --arg t "$1" '{text: $t}'; fi; }
# The text of the N-th tool result in the N-th... request: result_text REQUEST [INDEX]
result_text() {
	jq -r --argjson k "${2:-0}" '[.messages[-1].content[] | select(.type=="tool_result")][$k].content
		| if type=="array" then map(.text // "") | join("") else . end' "$(request "$1")"
}
result_is_error() {
	jq -r --argjson k "${2:-0}" '[.messages[-1].content[] | select(.type=="tool_result")][$k].is_error // false' "$(request "$1")"
}

# one_call CALL ARGUMENT...: one tool call, then "done"; the result is in result_text 2
one_call() {
	local c=$1
	shift
	serve "$(script "$c" "$(say "done")")"
	q -p go "$@"
}

sanitized() { [ -n "${QUERN_SANITIZED:-}" ]; }
