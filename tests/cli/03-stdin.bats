#!/usr/bin/env bats
# Where the task comes from, and what happens to a stdin that is not it.

load ../lib/helpers

task_of() { jq -r '.messages[0].content | if type=="array" then map(.text) | join("\n") else . end' "$(request "${1:-1}")"; }

@test "without -p the whole of stdin is the task" {
	serve "$(script "$(say hi)")"
	printf 'line one\nline two' >"$T/task"
	q_in "$T/task"
	exits 0
	has "$(task_of)" "line one
line two"
}

@test "a pipe as the task" {
	serve "$(script "$(say hi)")"
	rc=0
	(sleep 0.3; printf 'late '; sleep 0.3; printf 'task') | timeout 20 "$QUERN" --base-url "$BASE" >"$T/out" 2>"$T/err" || rc=$?
	exits 0
	is "$(task_of)" "late task"
}

@test "empty and blank stdin are an error" {
	serve '[]'
	q
	exits 2 turn_setup_failed
	printf ' \n\t \n' >"$T/task"
	q_in "$T/task"
	exits 2
	is "$(requests)" 0
}

@test "-p with a pipe: its text is added as context, marked" {
	serve "$(script "$(say hi)")"
	rc=0
	printf 'diff --git a b\n' | timeout 20 "$QUERN" --base-url "$BASE" -p "Review this" >"$T/out" 2>"$T/err" || rc=$?
	exits 0
	has "$(task_of)" "Review this"
	has "$(task_of)" "diff --git a b"
	[ "$(task_of | tr '\n' ' ')" != "Review this diff --git a b " ]
}

@test "-p with a file at its start: context as well; -n leaves it alone" {
	serve "$(script "$(say hi)" "$(say hi)")"
	echo "file context" >"$T/ctx"
	q_in "$T/ctx" -p "Task"
	exits 0
	has "$(task_of 1)" "file context"
	q_in "$T/ctx" -p "Task" -n
	exits 0
	lacks "$(task_of 2)" "file context"
}

@test "-p with an empty pipe and with /dev/null is the task alone" {
	serve "$(script "$(say hi)" "$(say hi)")"
	q -p "Task" && exits 0
	rc=0
	true | timeout 20 "$QUERN" --base-url "$BASE" -p "Task" >"$T/out" 2>"$T/err" || rc=$?
	exits 0
	cmp "$(request 1)" "$(request 2)"
}

@test "the list of a while-read loop is not eaten: exit 2 names -n and -" {
	serve "$(script "$(say hi)" "$(say hi)" "$(say hi)")"
	printf 'a\nb\nc\n' >"$T/list"
	rc=0
	{ read -r _; timeout 20 "$QUERN" --base-url "$BASE" -p x >"$T/out" 2>"$T/err" || rc=$?; read -r next; } <"$T/list"
	exits 2 turn_setup_failed
	err_has -n
	err_has "- reads"
	is "$next" b
	is "$(requests)" 0
	# -n: the loop goes round three times.
	n=0
	while read -r _; do
		timeout 20 "$QUERN" --base-url "$BASE" -n -p x >"$T/out" 2>"$T/err"
		n=$((n + 1))
	done <"$T/list"
	is "$n" 3
}

@test "- reads it all the same" {
	serve "$(script "$(say hi)")"
	printf 'a\nb\nc\n' >"$T/list"
	rc=0
	{ read -r _; timeout 20 "$QUERN" --base-url "$BASE" -p x - >"$T/out" 2>"$T/err" || rc=$?; } <"$T/list"
	exits 0
	has "$(task_of)" "b
c"
}

@test "prompt in a job file: stdin is not touched" {
	serve "$(script "$(say hi)")"
	printf 'version: 1\nprompt: From the job\n' >job.yaml
	printf 'a\nb\n' >"$T/list"
	rc=0
	{ timeout 20 "$QUERN" --base-url "$BASE" job.yaml >"$T/out" 2>"$T/err" || rc=$?; read -r next; } <"$T/list"
	exits 0
	is "$next" a
	is "$(task_of)" "From the job"
}

@test "prompt in a job file with a pipe that never ends: not waited for" {
	serve "$(script "$(say hi)")"
	printf 'version: 1\nprompt: From the job\n' >job.yaml
	mkfifo "$T/fifo"
	sleep 300 3>&- >"$T/fifo" &
	sleeper=$!
	q_in "$T/fifo" job.yaml
	kill "$sleeper"
	exits 0
}

@test "stdin: context in a job, and - beside a job, read it" {
	serve "$(script "$(say hi)" "$(say hi)")"
	echo "extra context" >"$T/ctx"
	printf 'version: 1\nprompt: From the job\nstdin: context\n' >job.yaml
	q_in "$T/ctx" job.yaml && exits 0
	has "$(task_of 1)" "extra context"
	printf 'version: 1\nprompt: From the job\n' >job.yaml
	q_in "$T/ctx" job.yaml - && exits 0
	cmp "$(request 1)" "$(request 2)"
}

@test "NUL bytes and invalid UTF-8 are errors with the offset, nothing is sent" {
	serve '[]'
	printf 'abc\0def' >"$T/task"
	q_in "$T/task"
	exits 2
	err_has 3
	printf 'abcde\377' >"$T/task"
	q_in "$T/task"
	exits 2
	err_has 5
	q_in "$T/task" -p task
	exits 2
	is "$(requests)" 0
}

@test "more than limits.stdin_bytes is an error" {
	serve '[]'
	head -c 3000 /dev/zero | tr '\0' x >"$T/task"
	q_in "$T/task" --set limits.stdin_bytes=2000
	exits 2
	err_has stdin
	is "$(requests)" 0
}

@test "a task of some megabytes goes through" {
	serve "$(script "$(say hi)")"
	head -c 3000000 /dev/zero | tr '\0' y >"$T/task"
	q_in "$T/task"
	exits 0
	is "$(task_of | tr -d '\n' | wc -c)" 3000000
}

@test "no task and a terminal: exit 2 with the usage line, at once" {
	cat >"$T/run.sh" <<-SH
		"$QUERN" >"$T/out" 2>"$T/err"; echo \$? >"$T/rc"
	SH
	timeout 20 script -qec "bash $T/run.sh" /dev/null </dev/null >/dev/null 2>&1 3>&-
	is "$(cat "$T/rc")" 2
	err_has sage
}

@test "-p on a terminal does not read it" {
	serve "$(script "$(say hi)")"
	cat >"$T/run.sh" <<-SH
		timeout 15 "$QUERN" --base-url "$BASE" -p hi >"$T/out" 2>"$T/err"; echo \$? >"$T/rc"
	SH
	timeout 20 script -qec "bash $T/run.sh" /dev/null </dev/null >/dev/null 2>&1 3>&-
	is "$(cat "$T/rc")" 0
}

@test "a slow pipe is waited for, with one line that names -n" {
	serve "$(script "$(say hi)")"
	rc=0
	(sleep 4; echo late) | timeout 20 "$QUERN" --base-url "$BASE" -p x >"$T/out" 2>"$T/err" || rc=$?
	exits 0
	err_has -n
	is "$(grep -c -- '-n' "$T/err")" 1
	has "$(task_of)" late
}

@test "a pipe that never ends is ended by the wall time" {
	serve '[]'
	mkfifo "$T/fifo"
	sleep 300 3>&- >"$T/fifo" &
	sleeper=$!
	q_in "$T/fifo" -p x --wall-time 1s
	kill "$sleeper"
	[ "$rc" = 2 ] || [ "$rc" = 41 ] || { show; false; }
	is "$(requests)" 0
}

@test "a socket without a first byte is exit 2 after ten seconds, naming -n and -" {
	serve '[]'
	"$PY" - "$QUERN" "$BASE" "$T" <<-'PYTHON'
		import socket, subprocess, sys, time
		quern, base, t = sys.argv[1:]
		ours, theirs = socket.socketpair()
		began = time.time()
		rc = subprocess.call([quern, "--base-url", base, "-p", "hi"], stdin=theirs, timeout=90,
		                     stdout=open(t + "/out", "wb"), stderr=open(t + "/err", "wb"))
		sys.exit(0 if rc == 2 and time.time() - began > 9 else 1)
	PYTHON
	err_has -n
}

@test "stdin closed altogether" {
	serve "$(script "$(say hi)")"
	rc=0
	timeout 20 "$QUERN" --base-url "$BASE" -p x <&- >"$T/out" 2>"$T/err" || rc=$?
	exits 0
}
