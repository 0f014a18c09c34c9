#!/usr/bin/env bats
# Runs that are killed, or cannot write their record: the same command again, and it is as if nothing had happened.

load ../lib/helpers

# Many more in `make torture`.
crash() { "$PY" "$LIB/crash.py" "$QUERN" "$@"; }

@test "killed 24 times at random moments, a job with effects comes to its end, with each of them once" {
	crash 24
}

# Fifty of these are drawn anew in `make torture`.
@test "jobs that are drawn, killed and gone on with, send the requests that they would have sent, and count them" {
	"$PY" "$LIB/goes_on.py" "$QUERN" 6 --seed 1
}

@test "a record that may not grow ends the run, and the next one goes on" {
	crash 4 --variant events --variant bundle --fault fsize
}

@test "a record that cannot be written or synced ends the run, and the next one goes on" {
	command -v strace >/dev/null || skip "no strace"
	strace -qq -o /dev/null true || skip "nothing may be traced here"
	! sanitized || skip "a sanitized program says at its end that it was traced"
	crash 16 --variant events --variant stdout --variant bundle --variant transaction --fault write --fault fsync
}

@test "a device that is full: nothing is sent" {
	serve "$(script "$(bash_call 'touch EFFECT')" "$(say end)")"
	q -p go --allowedTools Bash --events /dev/full
	is "$rc" 1
	err_has /dev/full
	is "$(requests)" 0
	[ ! -e EFFECT ]
}

# A real one, so small that some of the record finds room in it.
@test "a file system that is full ends the run, and when it has room the next one goes on" {
	serve "$(script "$(bash_call 'echo one >>lines')" "$(bash_call 'echo two >>lines')" "$(bash_call 'echo three >>lines')" "$(say end)")"
	mkdir "$T/disk"
	cat >"$T/full.sh" <<-'EOS'
		mount -t tmpfs -o size=8k none "$T/disk" 2>/dev/null || exit 77
		"$@" --events "$T/disk/run.ndjson" >"$T/out" 2>"$T/err" </dev/null 3>&-
		rc=$?
		cp "$T/disk/run.ndjson" "$T/run.ndjson"
		exit $rc
	EOS
	rc=0
	unshare -m sh "$T/full.sh" "$QUERN" --base-url "$BASE" -p go --allowedTools Bash 2>/dev/null || rc=$?
	[ "$rc" = 1 ] || skip "no file system may be mounted here ($rc)"
	err_has run.ndjson
	result .terminal_reason | grep -qx internal_error
	# What was done was told before.
	[ "$(grep -c quern_tool_start "$T/run.ndjson")" -ge "$(cat lines | wc -l)" ]
	q -p go --allowedTools Bash --resume "$T/run.ndjson" --events "$T/run.ndjson"
	exits 0 completed
	is "$(result .result)" end
}
