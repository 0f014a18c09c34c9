#!/usr/bin/env bats
# Every example runs, offline, with its tape.

load ../lib/helpers

EX=$QUERN_SRC/examples

example() { # example NAME [ARGUMENT]...
	local name=$1
	shift
	rc=0
	timeout 60 "$EX/$name/run" "$@" </dev/null >"$T/out" 2>"$T/err" 3>&- || rc=$?
	no_sanitizer_report
}

@test "01: the failing test passes at the end, in a scratch directory" {
	before=$(cat "$EX"/01-fix-c-test/project/* | cksum)
	example 01-fix-c-test
	is "$rc" 0
	is "$(tail -n 1 "$T/out")" "all tests passed"
	has "$(cat "$T/err")" "got 3, want 2.5"
	is "$(cat "$EX"/01-fix-c-test/project/* | cksum)" "$before"
}

@test "02: a diff on stdin" {
	example 02-review-diff
	is "$rc" 0
	has "$(cat "$T/out")" "Keep \`>=\`"
}

@test "03: branches on the exit codes" {
	example 03-branch-on-exit
	is "$rc" 0
	is "$(cut -d , -f 1 "$T/out" | tr '\n' '|')" "done: done|long: out of turns|busy: try again later|refused: failed with exit code 20|"
}

@test "04: a CI step with an artifact" {
	QUERN_REPORT=$QUERN_BUILD/quern-report example 04-ci-job "$T/run.ndjson"
	has "$(cat "$T/run.html")" "<b>completed</b>"
	is "$rc" 0
	has "$(head -n 1 "$T/out")" "completed: 2 turns"
	has "$(cat "$T/out")" "exit code 3"
	"$PY" "$LIB/validate.py" "$SCHEMA" <"$T/run.ndjson"
}

@test "05: the result and the stream through jq" {
	example 05-json-jq
	is "$rc" 0
	is "$(head -n 1 "$T/out")" "arith.c: add, subtract"
	is "$(tail -n 1 "$T/out")" "Grep ^int "
}

@test "06: a budget ends the run with 13" {
	example 06-budget
	is "$rc" 13
	is "$(head -n 1 "$T/out")" budget_exhausted
	is "$(tail -n 1 "$T/out")" "tokens used: 3800, left: -800"
}

@test "07: a tool of the job's own" {
	example 07-own-tool
	is "$rc" 0
	is "$(cat "$T/out")" "There are 41 brass hinges; 12 doors need 36, so they are enough."
}

@test "08: rules and the sandbox hold what they should, and let the rest through" {
	"$QUERN" --check -p x | grep -q '^# sandbox: not enforced' && skip "this kernel cannot enforce the sandbox"
	example 08-least-rights
	is "$rc" 0
	has "$(head -n 1 "$T/out")" "the sandbox lets nothing be written outside"
	is "$(tail -n 3 "$T/out" | tr '\n' '|')" "denied: Bash make -s check|denied: Read .env|denied: Bash cat .env && git push origin main|"
	# README shows a part of it
	local line
	while read -r line; do
		line=$(sed 's/ *#.*//' <<<"$line")
		grep -qF -- "$line" "$EX/08-least-rights/job.yaml" || { echo "README has: $line"; return 1; }
	done < <(sed -n '/^    tools:/,/read_deny/p' "$QUERN_SRC/README.md")
}

@test "09: more than fits into the window" {
	example 09-small-window
	is "$rc" 0
	is "$(grep -c '^microcompact: [0-9]* of [0-9]* tokens freed$' "$T/out")" 4
	is "$(grep -c '^summary: [0-9]* tokens became [0-9]*$' "$T/out")" 1
	has "$(tail -n 1 "$T/out")" "Test 191 failed first, on day 3"
}

@test "10: hooks and the verification object, and the work is done at the end" {
	example 10-hooks-and-verify
	is "$rc" 0
	is "$(head -n -1 "$T/out" | tr '\n' '|')" "PreToolUse: error|Stop: success|Verify: error|hook objected|verify objected|"
	is "$(tail -n 1 "$T/out")" "completed: I changed slug. Blanks become hyphens and punctuation goes."
	# README shows a part of it
	local line
	while read -r line; do
		grep -qF -- "$line" "$EX/10-hooks-and-verify/job.yaml" || { echo "README has: $line"; return 1; }
	done < <(sed -n '/^    hooks:/,/^    verify:/p' "$QUERN_SRC/README.md")
}

@test "11: a run in one file, and again from it" {
	example 11-record-and-replay
	is "$rc" 0
	is "$(grep -c "There are 12 words in two files" "$T/out")" 2
	grep -q '3 exchanges/N.response' "$T/out"
	is "$(tail -n 1 "$T/out")" "both directories are alike"
}

@test "each example has its README, a run script and a tape that is checked whole" {
	local d t
	for d in "$EX"/*/; do
		[ -s "$d/README.md" ] && [ -x "$d/run" ] || { echo "$d"; false; }
		for t in "$d"*.yaml; do
			grep -q '^tape:' "$t" || continue
			"$QUERN" --check -p x --replay "$t" >"$T/check" 2>&1 || { cat "$T/check"; false; }
		done
	done
}

@test "without the program each of them fails" {
	local run
	for run in "$EX"/*/run; do
		run=${run%/run}
		QUERN=$T/none example "${run##*/}"
		[ "$rc" != 0 ] || { echo "$run"; return 1; }
	done
}
