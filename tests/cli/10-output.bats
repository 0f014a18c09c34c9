#!/usr/bin/env bats
# Readers that go away, disks that are full, pipes that are slow.

load ../lib/helpers

big='{"text":"'$(printf 'word%.0s ' {1..40})'"}'

# leaves COMMAND...: a reader that goes away, and what a call does that waits until it has
leaves() { "$@" >"$T/out"; exec <&-; echo >left; }
until_left='until [ -s left ]; do sleep 0.02; done'

@test "a reader that goes away ends the run: exit 1, said on stderr, children gone" {
	serve "$(script "$(bash_call "$until_left")" "$(bash_call 'sleep 300')" "$(say end)")"
	set +o pipefail
	{ rc=0; timeout 30 "$QUERN" --base-url "$BASE" -p go --allowedTools Bash </dev/null 2>"$T/err" || rc=$?; echo "$rc" >"$T/rc"; } 3>&- | leaves head -n 1
	is "$(cat "$T/rc")" 1
	[ -s "$T/err" ]
	err_has stdout
	[ "$(requests)" -le 2 ]
}

@test "SIGPIPE inherited ignored makes no difference" {
	serve "$(script "$(bash_call "$until_left")" "$(bash_call 'true')" "$(say end)")"
	{ rc=0; bash -c 'trap "" PIPE; exec "$@"' x timeout 30 "$QUERN" --base-url "$BASE" -p go --allowedTools Bash </dev/null 2>"$T/err" || rc=$?; echo "$rc" >"$T/rc"; } 3>&- | leaves head -c 10
	is "$(cat "$T/rc")" 1
}

@test "a full disk behind stdout is exit 1, in every format" {
	local f
	for f in stream-json json text; do
		serve "$(script "$(say 'the answer')")"
		rc=0
		timeout 30 "$QUERN" --base-url "$BASE" -p go -o $f </dev/null >/dev/full 2>"$T/err" || rc=$?
		is "$f $rc" "$f 1"
		[ -s "$T/err" ]
		stop_server; rm -rf "$T/log"; mkdir "$T/log"
	done
}

@test "--help, --version and --print-schema notice a full disk" {
	local o
	for o in --help --version '--print-schema job' '--print-schema events'; do
		rc=0
		# shellcheck disable=SC2086
		"$QUERN" $o >/dev/full 2>"$T/err" || rc=$?
		[ "$rc" != 0 ] || { echo "$o"; false; }
	done
}

@test "a slow reader does not hold up the deadline" {
	serve "$(script "$(bash_call 'sleep 300')")"
	t0=$(date +%s)
	{ rc=0; timeout 30 "$QUERN" --base-url "$BASE" -p go --allowedTools Bash --wall-time 2s </dev/null 2>"$T/err" || rc=$?; echo "$rc" >"$T/rc"; } 3>&- | { sleep 4; cat; } >"$T/out"
	is "$(cat "$T/rc")" 41
	[ $(($(date +%s) - t0)) -lt 60 ]
	rc=41
	valid_stream
}

@test "two megabytes of answer through a slow pipe arrive whole, as json and as text" {
	"$PY" -c "import json; print(json.dumps([{'text': 'word ' * 420000, 'piece': 20000, 'repeat': 2}]))" >"$T/big.json"
	serve "$(cat "$T/big.json")"
	local slow='import sys, time
while True:
    b = sys.stdin.buffer.read1(30000)
    if not b: break
    sys.stdout.buffer.write(b)
    time.sleep(0.004)'
	timeout 60 "$QUERN" --base-url "$BASE" -p go -o json </dev/null 2>"$T/err" 3>&- | "$PY" -c "$slow" >"$T/out"
	is "$(wc -l <"$T/out")" 1
	is "$(jq -r '.result | length' "$T/out")" 2100000
	timeout 60 "$QUERN" --base-url "$BASE" -p go -o text </dev/null 2>"$T/err" 3>&- | "$PY" -c "$slow" >"$T/out"
	is "$(wc -c <"$T/out")" 2100001
}

@test "a line never exceeds 1 MiB; what is cut is whole in a file that a field names" {
	"$PY" -c "import json; print(json.dumps([{'text': 'word ' * 420000, 'piece': 20000}]))" >"$T/big.json"
	serve "$(cat "$T/big.json")"
	q -p go --run-dir "$T/rd"
	exits 0
	[ "$(awk '{ if (length($0) > m) m = length($0) } END { print m }' "$T/out")" -le 1048576 ]
	f=$(result '.result_file')
	is "$(wc -c <"$f")" 2100000
}

@test "stdout to a file, to a pipe and to a terminal holds the same lines" {
	serve '[{"text":"end","repeat":true}]'
	shape() { jq -c '[.type, .subtype, (.message.content? // null)]' "$1"; }
	q -p go && exits 0
	shape "$T/out" >"$T/file"
	timeout 20 "$QUERN" --base-url "$BASE" -p go </dev/null 2>/dev/null | cat >"$T/out"
	shape "$T/out" >"$T/pipe"
	cmp "$T/file" "$T/pipe"
}

@test "nothing but events on stdout, whatever tools print" {
	serve "$(script "$(bash_call 'echo to-stdout; echo to-stderr >&2; echo sneaky >/proc/$PPID/fd/1 2>/dev/null; true')" "$(say end)")"
	q -p go --allowedTools Bash --sandbox off
	exits 0
	run ! grep -v '^{' "$T/out"
	err_lacks to-stderr
}

@test "--events appends the same lines to a file" {
	serve '[{"text":"end","repeat":true}]'
	q -p go --events "$T/ev.ndjson" && exits 0
	cmp "$T/out" "$T/ev.ndjson"
	q -p go -o text --events "$T/ev.ndjson"
	is "$rc" 0
	is "$(grep -c '"type":"result"' "$T/ev.ndjson")" 2
	is "$(cat "$T/out")" end
}

@test "--events that cannot be written is exit 2 before anything is sent" {
	serve '[]'
	q -p go --events "$T/none/ev.ndjson"
	is "$rc" 2
	err_has none/ev.ndjson
	is "$(requests)" 0
}

@test "U+2028 and control characters are escaped in lines" {
	serve '[{"text":"a\u2028b\u2029c\u0001d\u007f"}]'
	q -p go
	exits 0
	is "$(wc -l <"$T/out")" "$(jq -c . "$T/out" | wc -l)"
	run ! grep -q "$(printf '\342\200\250')" "$T/out"
	is "$(result '.result | explode | map(tostring) | join(",")')" "97,8232,98,8233,99,1,100,127"
}

@test "stdout and stderr closed at the start" {
	serve '[{"text":"end","repeat":true}]'
	rc=0
	timeout 20 "$QUERN" --base-url "$BASE" -p go </dev/null 2>&- >"$T/out" || rc=$?
	: >"$T/err"
	exits 0
	rc=0
	timeout 20 "$QUERN" --base-url "$BASE" -p go </dev/null >&- 2>"$T/err" || rc=$?
	# A stdout that is not there takes no result: that must not look like success.
	is "$rc" 1
	err_has 'cannot write to stdout'
}

@test "a reader that goes away is noticed although nothing is written" {
	serve '[{"silent":true}]'
	start=$SECONDS
	{
		local code=0
		timeout 30 "$QUERN" --base-url "$BASE" -p hi 2>"$T/err" </dev/null || code=$?
		echo $code >"$T/rc"
	} | head -n 1 >"$T/out"
	is "$(cat "$T/rc")" 1
	err_has stdout
	[ $((SECONDS - start)) -lt 15 ]
}
