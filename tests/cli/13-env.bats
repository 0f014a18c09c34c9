#!/usr/bin/env bats
# Odd environments: the same task, the same result.

load ../lib/helpers

extra_setup() {
	serve "$(script "$(bash_call 'echo hi; exit 0')" "$(jq -cn '{tool_use: {name: "Write", input: {file_path: "made.txt", content: "made\n"}}}')" "$(say end)")"
	ARGS=(--base-url "$BASE" -p go --allowedTools Bash,Write)
}

# run_as COMMAND...: a command that starts the program; then what must hold
run_as() {
	rc=0
	timeout 30 "$@" "$QUERN" "${ARGS[@]}" </dev/null >"$T/out" 2>"$T/err" 3>&- || rc=$?
	no_sanitizer_report
}
same_as_plain() {
	exits 0 completed
	is "$(cat made.txt)" made
	is "$(ev 'select(.type=="user").message.content[0].is_error // false' | sort -u)" false
	has "$(result_text 2)" hi
}

@test "plain" { run_as env; same_as_plain; }
@test "empty environment" { run_as env -i; same_as_plain; }
@test "no HOME" { run_as env -u HOME; same_as_plain; }
@test "HOME that is not there" { run_as env -u XDG_STATE_HOME HOME=/nonexistent; same_as_plain; }
@test "HOME=/" { run_as env -u XDG_STATE_HOME HOME=/; same_as_plain; is "$(ls -d /.local 2>/dev/null)" ""; }
@test "HOME relative" { run_as env -u XDG_STATE_HOME HOME=.; same_as_plain; is "$(ls -A)" made.txt; }
@test "no TERM" { run_as env -u TERM; same_as_plain; }
@test "TERM=dumb, NO_COLOR" { run_as env TERM=dumb NO_COLOR=1; same_as_plain; }
@test "LC_ALL=C" { run_as env LC_ALL=C; same_as_plain; }
@test "unknown locale" { run_as env LC_ALL=xx_YY.UTF-8; same_as_plain; }
@test "comma locale" { run_as env LC_ALL=tr_TR.UTF-8 LC_NUMERIC=de_DE.UTF-8; same_as_plain; }
@test "odd time zone" { run_as env TZ=Asia/Kathmandu; same_as_plain; }
@test "TMPDIR that is not there" { run_as env TMPDIR=/nonexistent; same_as_plain; }
@test "huge environment" { run_as env "BIG=$(head -c 120000 /dev/zero | tr '\0' x)"; same_as_plain; }
@test "invalid UTF-8 in the environment" { run_as env "$(printf 'BAD=\377\376')"; same_as_plain; }
@test "proxy set to nothing" { run_as env HTTPS_PROXY= https_proxy= http_proxy=; same_as_plain; }
@test "SIGPIPE ignored" { run_as bash -c 'trap "" PIPE; exec "$@"' x; same_as_plain; }
@test "SIGCHLD ignored" { run_as bash -c 'trap "" CHLD; exec "$@"' x; same_as_plain; }
@test "TERM and HUP ignored" { run_as bash -c 'trap "" HUP TERM; exec "$@"' x; same_as_plain; }
@test "descriptors 3 to 20 inherited open" { run_as bash -c 'for i in $(seq 3 20); do eval "exec $i</dev/null"; done; exec "$@"' x; same_as_plain; }
@test "all signals blocked" {
	run_as "$PY" -c 'import os,signal,sys; signal.pthread_sigmask(signal.SIG_BLOCK, range(1,32)); os.execvp(sys.argv[1], sys.argv[1:])'
	same_as_plain
}
@test "small stack" {
	! sanitized || return 0
	run_as bash -c 'ulimit -s 512; exec "$@"' x
	same_as_plain
}
@test "little memory" {
	! sanitized || return 0
	run_as bash -c 'ulimit -v 400000; exec "$@"' x
	same_as_plain
}
@test "small files, no core" { run_as bash -c 'ulimit -f 2048; exec "$@"' x; same_as_plain; }

# with_files LIMIT COMMAND: so many open files, of which bats and we have none
with_files() { run_as bash -c 'for i in {3..250}; do eval "exec $i>&-"; done; ulimit -n '"$1; $2"' exec "$@"' x; }

@test "few descriptors: the same" { with_files 17; same_as_plain; }

@test "few descriptors, some of them inherited: one clear line before anything is sent" {
	with_files 17 'exec 7</dev/null 8</dev/null;'
	exits 2 turn_setup_failed
	err_has "too few open files are allowed (ulimit -n is 17)"
	is "$(requests)" 0
}

@test "more calls at once than there are descriptors: the error names the limit, the next call works" {
	local read='{"tool_use":{"name":"Read","input":{"file_path":"f"}}}'
	stop_server
	echo content >f
	serve "[{\"content\":[$read,$read,$read,$read,$read,$read]},$read,{\"text\":\"end\"}]"
	ARGS=(--base-url "$BASE" -p go)
	with_files 18
	exits 0 completed
	has "$(jq -r '.messages[-1].content[].content' "$(request 2)")" "Too many open files (ulimit -n)"
	has "$(jq -r '.messages[-1].content[].content' "$(request 2)")" "content"
	is "$(result_is_error 3)" false
}

@test "fewer descriptors than one tool needs: exit 2, said, nothing is sent" {
	run_as bash -c 'ulimit -n 8; exec "$@"' x
	exits 2 turn_setup_failed
	err_has "open files"
	is "$(requests)" 0
}

@test "umask 0777: what a run makes for itself is usable, the workspace follows the umask" {
	[ "$(id -u)" = 0 ] || return 0
	run_as bash -c 'umask 0777; exec "$@"' x
	exits 0 completed
}

@test "no PATH" {
	run_as /usr/bin/env -i
	same_as_plain
}

@test "work directory deleted: exit 2, said" {
	d=$(mktemp -d "$T/gone.XXXX")
	rc=0
	(cd "$d" && rmdir "$d" && exec timeout 30 "$QUERN" "${ARGS[@]}") </dev/null >"$T/out" 2>"$T/err" || rc=$?
	exits 2 turn_setup_failed
}

@test "a user without a passwd entry" {
	[ "$(id -u)" = 0 ] || return 0
	chmod -R a+rwX "$T"
	# The way to the binary and to the test's directory must be open to anybody for this.
	setpriv --reuid 54321 --regid 54321 --clear-groups test -x "$QUERN" || return 0
	setpriv --reuid 54321 --regid 54321 --clear-groups test -w "$T/work" || return 0
	run_as setpriv --reuid 54321 --regid 54321 --clear-groups
	same_as_plain
}

@test "PID 1 in a container: exit status and no zombies" {
	unshare -fp --mount-proc true 2>/dev/null || return 0
	run_as unshare -fp --mount-proc
	same_as_plain
}

@test "in a PID namespace whose session began outside, our own processes are told from the children's" {
	unshare -fp --mount-proc true 2>/dev/null || return 0
	local unit
	unit=$(dirname "$QUERN")/tests/unit
	unshare -fp --mount-proc "$unit/test_frame" </dev/null 3>&-
	unshare -fp --mount-proc "$unit/test_supervisor" </dev/null 3>&-
}

@test "as PID 1 TERM ends it, with 128+15" {
	unshare -fp --mount-proc true 2>/dev/null || return 0
	stop_server; rm -rf "$T/log"; mkdir "$T/log"
	serve '[{"silent":true}]'
	unshare -fp --mount-proc "$QUERN" --base-url "$BASE" -p go </dev/null >"$T/out" 2>"$T/err" 3>&- &
	pid=$!
	wait_for got_requests 1
	kill -TERM "$(pgrep -P "$pid")"
	rc=0
	wait "$pid" || rc=$?
	is "$rc" 143
	is "$(result .exit_code)" 143
}

@test "no network: exit 75, the reason is the model" {
	unshare -n true 2>/dev/null || return 0
	rc=0
	timeout 30 unshare -n "$QUERN" --base-url http://127.0.0.1:9 -p go --set model.max_retries=0 </dev/null >"$T/out" 2>"$T/err" || rc=$?
	exits 75 model_error
}

@test "a read-only workspace" {
	[ "$(id -u)" != 0 ] || return 0
	chmod 555 .
	run_as env
	chmod 755 .
	exits 0
	is "$(result_is_error 3)" true
}
