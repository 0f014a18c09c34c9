#!/usr/bin/env bats
# Records that are large, and files that are no records: what they cost, and what is said.

load ../lib/helpers

extra_setup() { F=$T/run.ndjson G=$T/second.ndjson; }

# record CALLS BYTES: a run of so many calls, whose results have so many bytes each as JSON; it has no end
record() {
	"$PY" - "$1" "$2" >"$F" <<-'END'
		import json, sys, uuid
		calls, size = int(sys.argv[1]), int(sys.argv[2])
		session = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
		def line(**members):
		    print(json.dumps({**members, "session_id": session, "uuid": str(uuid.uuid4())}))
		def block(role, stop=None, **members):
		    line(type=role, message={"id": "m", "role": role, "model": "m", "content": [members], "stop_reason": stop})
		line(type="system", subtype="init", quern_version="1")
		line(type="system", subtype="quern_history", prompt=[0, 1],
		     messages=[{"role": "user", "content": [{"type": "text", "text": "go"}]}])
		for i in range(calls):
		    block("assistant", "tool_use", type="tool_use", id=f"t{i}", name="Bash", input={"command": f"make {i}"})
		    block("user", type="tool_result", tool_use_id=f"t{i}", content="a line\n" * (size // 8))
	END
}

# peak ARGUMENT...: KiB of a run that goes on with $F
peak() {
	printf '#!/bin/sh\nexec %s %s %s %s "$@"\n' "$PY" "$LIB/alone.py" "$T/alone" "$QUERN" >"$T/quern"
	chmod +x "$T/quern"
	QUERN=$T/quern q -p "${words:-go}" --model claude-test --set context.window=100M --resume "$F" "$@"
	exits 0 completed || return 1
	read -r peak _ <"$T/alone"
}

# refused WHAT REQUESTS: $F is no record, and nothing is asked
refused() {
	q -p go --resume "$F"
	exits 2 turn_setup_failed && is "$(result .startup_failure_reason)" resume_unavailable && err_has "$1" || return 1
	is "$(requests)" "$2"
}

@test "what a run said without its conversation is not gone on with, and not begun anew" {
	serve "$(script "$(say one)" "$(say two)")"
	q -p go --events "$G"
	for format in json text; do
		"$QUERN" --base-url "$BASE" -p go --resume "$G" -o $format >"$F" 2>/dev/null </dev/null
		refused "run.ndjson:1: " 1
	done
	"$QUERN" --base-url "$BASE" -p go -o json >"$F" 2>/dev/null </dev/null
	refused "run.ndjson:1: a result without its conversation" 2
	q -p go --resume "$G" # which is the old result alone
	cp "$T/out" "$F"
	refused "run.ndjson:1: a result without its conversation" 2
	echo '{"type":"system","subtype":"init","session_id":"6ba7b810-9dad-41d1-80b4-00c04fd430c8"}' >"$F"
	refused "run.ndjson:1: this is not the record of a run" 2
}

@test "odd lines within a record are passed over, and counted" {
	record 2 1000
	{
		cat "$F"
		printf '\0\0\0\n\377\376\n'
		printf '{"a":%s%s}\n' "$(printf '%.s[' {1..100000})" "$(printf '%.s]' {1..100000})"
		head -c 70000000 /dev/zero | tr '\0' x
		printf '\n{"type":"x"}\n'
	} >"$G"
	truncate -s +1M "$G" # what a crash of the machine may leave
	serve "$(script "$(say done)")"
	q -p go --model claude-test --resume "$G"
	exits 0 completed
	err_has "lines of '$G' that are no events, and what they told is not known: 4"
	is "$(jq '.messages | length' "$(request 1)")" 5
	for F in "$T" /dev/null; do
		q -p go --resume "$F"
		exits 2 turn_setup_failed
		err_has "is no regular file"
	done
}

@test "a long conversation is held once, whether its record is gone on with or told again in another file" {
	sanitized && skip "the sanitizers take memory of their own"
	serve "$(script "$(say one)" "$(say two)" "$(say three)" "$(say four)" "$(say five)")"
	local peak base whole=$((200 * 50000 >> 10))
	record 1 50000
	peak --events "$G"
	base=$peak
	record 200 50000
	peak --events "$F.other"
	[ $((peak - base)) -lt $((whole * 3 / 2)) ] || { echo "into another file: $peak of $base and $whole KiB"; return 1; }
	is "$(jq -s '[.[] | select(.subtype=="quern_history")] | length > 10 and all(.quern_file == null)' "$F.other")" true
	is "$(jq -s '[.[] | select(.subtype=="quern_history" and .messages) | .more // false] | (.[-1] | not) and all(.[:-1][]; .)' "$F.other")" true
	cp "$F" "$G"
	peak --events "$F"
	[ $((peak - base)) -lt $((whole * 3 / 2)) ] || { echo "appended: $peak of $base and $whole KiB"; return 1; }
	cmp "$(request 2)" "$(request 3)"
	# and the other file is a record as good as the first
	F=$F.other peak --events "$F.other"
	is "$(result .resumed_result)" true
	words=more F=$F.other peak --events "$F.other"
	is "$(jq '.messages | length' "$(request 4)")" 403
}

@test "a bundle on another machine: it is said that the changes of the run before are not known" {
	mkdir ws
	echo one >ws/a
	serve "$(script "$(bash_call 'echo two >>a')" "$(bash_call 'echo three >>a')" "$(say done)")"
	set -- -p go -C ws --allowedTools Bash --set workspace.patch="$T/out.patch" --run-dir "$T/rundir"
	q "$@" -t 1 --record "$T/run.tar.zst"
	exits 10 max_turns
	cp -r ws there
	cp "$T/run.tar.zst" "$T/there.tar.zst"
	q "$@" -t 1 --resume "$T/run.tar.zst" --record "$T/run.tar.zst"
	exits 10 max_turns
	err_lacks "what the run changed before"
	has "$(cat "$T/out.patch")" "+two"
	rm -r "$T/rundir" ws
	mv there ws
	q "$@" --resume "$T/there.tar.zst"
	exits 0 completed
	err_has "what the run changed before is not there any more: '$T/rundir/"
	is "$(cat "$T/out.patch")" ""
}
