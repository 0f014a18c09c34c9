#!/usr/bin/env bats
# INT, TERM and HUP: the result is written, children are gone, and the process dies by that same signal.

load ../lib/helpers

# Shells start background jobs with INT and QUIT ignored; the program must get a plain start.
q_bg() {
	env --default-signal=INT,HUP,TERM,QUIT "$QUERN" --base-url "$BASE" "$@" </dev/null >"$T/out" 2>"$T/err" 3>&- &
	pid=$!
}
reap() { rc=0; wait "$pid" || rc=$?; no_sanitizer_report; }
ran() { [ -s "$T/work/started" ]; }

@test "TERM, INT and HUP while waiting for the model" {
	local s n
	while read -r s n; do
		serve '[{"silent":true}]'
		q_bg -p hi
		wait_for got_requests 1
		kill "-$s" "$pid"
		reap
		is "$s $rc" "$s $((128 + n))"
		exits $((128 + n)) aborted_streaming
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
	done <<-LIST
		TERM 15
		INT 2
		HUP 1
	LIST
}

@test "the process dies by the signal, not by an exit that looks like it" {
	serve '[{"silent":true}]'
	"$PY" - "$QUERN" "$BASE" "$T" <<-'PYTHON'
		import os, signal, subprocess, sys, time
		quern, base, t = sys.argv[1:]
		p = subprocess.Popen([quern, "--base-url", base, "-p", "hi"], stdin=subprocess.DEVNULL,
		                     stdout=open(t + "/out", "wb"), stderr=open(t + "/err", "wb"))
		end = time.time() + 10
		while not os.path.exists(t + "/log/001.json") and time.time() < end:
		    time.sleep(0.02)
		p.send_signal(signal.SIGTERM)
		sys.exit(0 if p.wait(15) == -signal.SIGTERM else 1)
	PYTHON
	is "$(result .exit_code)" 143
}

@test "TERM while a tool runs: the call is answered, its process gone, within seconds" {
	serve "$(script "$(bash_call 'echo $$ >started; sleep 300')")"
	q_bg -p hi --allowedTools Bash
	wait_for ran
	kill -TERM "$pid"
	reap
	exits 143 aborted_tools
	is "$(ev 'select(.type=="user").message.content[0].is_error')" true
	gone started
}

@test "TERM ends children that ignore it, and what they left in the background" {
	serve "$(script "$(bash_call 'trap "" TERM; setsid sleep 301 & echo $! >daemon; echo $$ >started; sleep 302; sleep 303')")"
	q_bg -p hi --allowedTools Bash
	wait_for ran
	kill -TERM "$pid"
	reap
	exits 143
	gone started
	gone daemon
}

# twice COMMAND: two signals while a call of it runs end it before its grace of two seconds is over. (Or do at the next
# try: a busy machine may show it the two as one, or take its time.)
twice() {
	local t0 took
	for _ in 1 2 3 4 5; do
		rm -rf started "$T/log"; mkdir "$T/log"
		serve "$(script "$(bash_call "$1")")"
		q_bg -p hi --allowedTools Bash
		wait_for ran
		t0=$(date +%s%N)
		kill -TERM "$pid"
		sleep 0.2
		kill -TERM "$pid" 2>/dev/null || true
		reap
		took=$((($(date +%s%N) - t0) / 1000000))
		exits 143
		stop_server
		[ $took -gt 1800 ] || return 0
	done
	echo "it took $took ms"
	return 1
}

@test "a second signal skips the grace period" {
	twice 'trap "" TERM; echo $$ >started; sleep 302; sleep 303'
}

@test "TERM in a backoff ends at once" {
	serve '[{"status":529,"error":{"type":"overloaded_error","message":"x"},"headers":{"retry-after":"30"},"repeat":true}]'
	q_bg -p hi
	wait_for grep -q api_retry "$T/out"
	kill -TERM "$pid"
	reap
	exits 143 aborted_streaming
	[ "$(result .duration_ms)" -lt 25000 ]
}

@test "TERM works although it was inherited ignored or blocked" {
	serve '[{"silent":true},{"silent":true}]'
	bash -c 'trap "" TERM; exec "$@"' x "$QUERN" --base-url "$BASE" -p hi </dev/null >"$T/out" 2>"$T/err" 3>&- &
	pid=$!
	wait_for got_requests 1
	kill -TERM "$pid"
	reap
	exits 143
	"$PY" -c 'import os,signal,sys; signal.pthread_sigmask(signal.SIG_BLOCK, range(1,32)); os.execvp(sys.argv[1], sys.argv[1:])' \
		"$QUERN" --base-url "$BASE" -p hi </dev/null >"$T/out" 2>"$T/err" 3>&- &
	pid=$!
	wait_for got_requests 2
	kill -TERM "$pid"
	reap
	exits 143
}

@test "HUP and INT inherited ignored stay ignored" {
	serve '[{"text":"end","wait":1.5}]'
	bash -c 'trap "" HUP INT; exec "$@"' x "$QUERN" --base-url "$BASE" -p hi </dev/null >"$T/out" 2>"$T/err" 3>&- &
	pid=$!
	wait_for got_requests 1
	kill -HUP "$pid"
	kill -INT "$pid"
	reap
	exits 0 completed
}

@test "when the program is killed its children end too" {
	serve "$(script "$(bash_call 'echo $$ >started; sleep 304')")"
	q_bg -p hi --allowedTools Bash
	wait_for ran
	kill -KILL "$pid"
	rc=0
	wait "$pid" || rc=$?
	is "$rc" 137
	gone started
	# Nobody was left to remove the tools' directory.
	rm -rf "$T"/tmp/*
}

@test "stopped and continued in the middle of a stream: no watchdog misfires" {
	serve '[{"text":"a slow but steady answer, event by event","split":"events","delay":0.3}]'
	q_bg -p hi --set model.idle_timeout=2s
	wait_for got_requests 1
	sleep 0.5
	kill -STOP "$pid"
	sleep 3
	kill -CONT "$pid"
	reap
	exits 0 completed
	is "$(requests)" 1
}

@test "a signal while the end waits for a slow reader: the process does not wait on" {
	serve "$(script "$(jq -cn '{text: ("x" * 900000)}')")"
	mkfifo pipe
	exec {hold}<>pipe
	env --default-signal=INT,HUP,TERM,QUIT "$QUERN" --base-url "$BASE" -p hi -o text </dev/null >pipe 2>"$T/err" 3>&- {hold}>&- &
	pid=$!
	wait_for got_requests 1
	sleep 1
	t0=$(date +%s)
	kill -TERM "$pid"
	sleep 0.2
	kill -TERM "$pid" 2>/dev/null || true
	reap
	is "$rc" 143
	[ $(($(date +%s) - t0)) -le 20 ]
	exec {hold}>&-
}

@test "a second signal skips the grace of what was left in the background, too" {
	twice 'trap "" TERM; setsid sleep 305 & echo $$ >started; sleep 306'
}

@test "when a call kills the supervisor the run ends, and every call has its answer on stdout" {
	serve "$(script "$(jq -cn --argjson a "$(bash_call 'kill -KILL $PPID; sleep 307')" --argjson b "$(bash_call 'touch ran')" '{content: [$a, $b]}')")"
	q -p hi --allowedTools Bash --sandbox off
	exits 1 internal_error
	is "$(ev 'select(.type=="user").message.content[0].is_error' | tr '\n' ' ')" 'true true '
	[ ! -e ran ]
	err_has 'supervisor'
}
