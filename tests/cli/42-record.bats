#!/usr/bin/env bats
# --record: a run in one file.

load ../lib/helpers

bundle() { tar --zstd -tf "$T/run.tar.zst"; }
entry() { tar --zstd -xOf "$T/run.tar.zst" "$1"; }
entries() { bundle | grep -E "$1"; }
# All events in it, in order.
events() { entries '^events/' | while read -r name; do entry "$name"; done; }
# The bodies of the requests of a kind, put together again, as body.N in $T
bodies() {
	local name n=0 json prefix
	: >"$T/body.0"
	for name in $(entries '^exchanges/.*json$'); do
		json=$(entry "$name")
		[ "$(jq -r .kind <<<"$json")" = "$1" ] || continue
		n=$((n + 1))
		prefix=$(jq -r .request.prefix <<<"$json")
		head -c "$prefix" "$T/body.$((n - 1))" >"$T/body.$n"
		[ "$prefix" = 0 ] || is "$(sha256sum <"$T/body.$n" | cut -d' ' -f1)" "$(jq -r .request.prefix_sha256 <<<"$json")"
		entry "${name%json}request" >>"$T/body.$n"
		is "$(stat -c %s "$T/body.$n")" "$(jq -r .request.bytes <<<"$json")"
	done
	echo "$n"
}

@test "events, job, requests and answers are in it, and it is the owner's alone" {
	serve "$(script "$(bash_call 'echo little')" "$(bash_call 'echo more')" "$(say end)")"
	umask 000
	q -p go --allowedTools Bash --record "$T/run.tar.zst"
	exits 0
	is "$(stat -c %a "$T/run.tar.zst")" 600
	events | cmp - "$T/out"
	is "$(bundle | head -n 2 | tr '\n' ' ')" "quern.json job.yaml "
	is "$(entry quern.json | jq -r '[.version, .session_id, .cwd] | join(" ")')" "1 $(result .session_id) $PWD"
	has "$(entry quern.json | jq -r .environment)" "$PWD"
	"$QUERN" --base-url "$BASE" -p go --allowedTools Bash --record "$T/run.tar.zst" --check | grep -v '^# ' >"$T/check"
	entry job.yaml | grep -v '^# ' | diff - "$T/check"
	is "$(bodies main)" 3
	for n in 1 2 3; do cmp "$T/body.$n" "$(request $n)"; done
	json=$(entry "$(entries '^exchanges/.*json$' | tail -n 1)")
	is "$(jq -r '[.kind, .run, .ordinal, .attempt, .status, .end] | join(" ")' <<<"$json")" "main 1 3 1 200 done"
	[ "$(jq -r .request.prefix <<<"$json")" -gt 1000 ]
	is "$(jq -r .headers.\"content-type\" <<<"$json")" text/event-stream
	answer=$(entry "$(entries '^exchanges/.*response$' | tail -n 1)")
	has "$answer" message_start
	has "$answer" message_stop
	is "$(jq -r '[.bytes, ([.chunks[][1]] | add)] | join(" ")' <<<"$json")" "$(($(wc -c <<<"$answer") + 1)) $(($(wc -c <<<"$answer") + 1))"
}

@test "what a line names is in it" {
	serve "$(script "$(bash_call 'seq 1 20000')" "$(say end)")"
	q -p go --allowedTools Bash --record "$T/run.tar.zst"
	exits 0
	file=$(jq -r 'select(.quern_output_file) | .quern_output_file' "$T/out")
	is "$(entries '^files/')" "files/${file##*/}"
	entry "files/${file##*/}" | cmp - "$file"
}

@test "failed attempts are in it, too" {
	serve "[{\"status\":529,\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"},\"headers\":{\"retry-after-ms\":\"10\"}},$(say end)]"
	q -p go --record "$T/run.tar.zst"
	exits 0
	is "$(bodies main)" 2
	cmp "$T/body.1" "$T/body.2"
	first=$(entry "$(entries '^exchanges/.*json$' | head -n 1)")
	is "$(jq -r '[.ordinal, .attempt, .status] | join(" ")' <<<"$first")" "1 1 529"
	has "$(entry "$(entries '^exchanges/.*response$' | head -n 1)")" overloaded_error
}

@test "the key is nowhere in it" {
	serve "$(script "$(bash_call 'cat key')" "$(say end)")"
	printf '%s' sk-ant-very-secret-value-12345 >key
	ANTHROPIC_API_KEY=sk-ant-very-secret-value-12345 q -p 'my key is sk-ant-very-secret-value-12345' \
		--allowedTools Bash --record "$T/run.tar.zst"
	exits 0
	mkdir "$T/all"
	tar --zstd -C "$T/all" -xf "$T/run.tar.zst"
	run ! grep -r very-secret "$T/all"
	grep -qr '\[secret\]' "$T/all"/exchanges/*.request
	is "$(bodies main)" 2
}

@test "whatever ends the run, the bundle can be read up to there" {
	serve "$(script "$(bash_call 'echo one')" "$(bash_call 'touch begun; sleep 300')" "$(say end)")"
	"$QUERN" --base-url "$BASE" -p go --allowedTools Bash --sandbox off --record "$T/run.tar.zst" </dev/null >"$T/out" 2>"$T/err" 3>&- &
	pid=$!
	wait_for test -e begun
	kill -9 "$pid"
	wait "$pid" || true
	rm -r "$T"/tmp/quern-tmp-*
	events >"$T/events"
	[ "$(wc -l <"$T/events")" -ge 5 ]
	head -c "$(stat -c %s "$T/events")" "$T/out" | cmp - "$T/events"
}

@test "a bundle that cannot be written ends the run" {
	serve "$(script "$(bash_call 'echo one')" "$(say end)")"
	q -p go --allowedTools Bash --record /dev/full
	exits 2
	err_has "No space left on device"
	is "$(grep -c "No space" "$T/err")" 1 # said once
	q -p go --allowedTools Bash --record /nonexistent/run.tar.zst
	exits 2
	err_has "cannot create the bundle '/nonexistent/run.tar.zst'"
	is "$(requests)" 0
}

@test "a run that does not begin leaves what was there" {
	echo precious >"$T/run.tar.zst"
	q -p go --base-url http://:8 --record "$T/run.tar.zst"
	exits 2
	is "$(result .startup_failure_reason)" model_unavailable
	is "$(cat "$T/run.tar.zst")" precious
	is "$(find "$T" -name 'run.tar.zst*' | wc -l)" 1
}

@test "a disk that is full behind the bundle ends the run" {
	serve "$(script "$(bash_call 'head -c 20000 /dev/urandom | base64 -w 0')" "$(bash_call 'touch never')" "$(say end)")"
	QUERN_REAL=$QUERN QUERN=$T/limited
	# shellcheck disable=SC2016 # the inner shell's
	printf '#!/bin/bash\n(ulimit -f 20; trap "" XFSZ; exec "%s" "$@") | cat\nexit "${PIPESTATUS[0]}"\n' "$QUERN_REAL" >"$QUERN"
	chmod +x "$QUERN"
	q -p go --allowedTools Bash --record "$T/run.tar.zst"
	exits 1 internal_error
	err_has "cannot write the bundle '$T/run.tar.zst': File too large"
	[ ! -e never ]
	is "$(events | jq -r .type | grep -v system | tail -n 1)" assistant
}

@test "without it no library for archives is loaded" {
	serve "$(script "$(say one)" "$(say two)")"
	LD_DEBUG=files LD_DEBUG_OUTPUT="$T/ld" q -p go
	exits 0
	run ! grep -l libarchive "$T"/ld.*
	rm "$T"/ld.*
	LD_DEBUG=files LD_DEBUG_OUTPUT="$T/ld" q -p go --record "$T/run.tar.zst"
	exits 0
	grep -q libarchive "$T"/ld.*
}

@test "answers of a tape are recorded as those of a server are" {
	tape t.yaml <<-'YAML'
		tape: 1
		answers:
		  - {status: 503, error: {type: api_error, message: busy}, headers: {retry-after-ms: "10"}}
		  - content: [{tool_use: {name: Bash, input: {command: echo little}, id: b1}}]
		  - text: end
	YAML
	q -p go --allowedTools Bash --replay "$T/t.yaml" --record "$T/run.tar.zst"
	exits 0
	is "$(bodies main)" 3
	is "$(entries '^exchanges/.*json$' | while read -r name; do entry "$name" | jq -r '[.ordinal, .attempt, .status, .end] | join(" ")'; done)" \
		"1 1 503 done
1 2 200 done
2 1 200 done"
	has "$(cat "$T/body.3")" tool_result
	has "$(entry "$(entries '^exchanges/.*response$' | tail -n 1)")" message_stop
}

@test "a bundle is gone on with: one command, until it is done" {
	serve "$(script "$(bash_call 'echo one >>effects')" "$(bash_call 'touch begun; sleep 300')" "$(bash_call 'echo two >>effects')" "$(say end)")"
	local f=$T/run.tar.zst
	exchanges() { [ "$(entries '^exchanges/.*json$' 2>/dev/null | wc -l)" -ge "$1" ]; }
	again() { q -p go --allowedTools Bash --resume "$f" --record "$f"; }
	"$QUERN" --base-url "$BASE" -p go --allowedTools Bash --resume "$f" --record "$f" </dev/null >"$T/first" 2>"$T/err" 3>&- &
	pid=$!
	wait_for test -e begun
	wait_for exchanges 2
	kill -9 "$pid"
	wait "$pid" || true
	rm -r "$T"/tmp/quern-tmp-*
	again
	[ "$rc" = 0 ] || { show; return 1; }
	is "$(cat effects)" "one
two"
	is "$(ev 'select(.subtype == "quern_resume") | .interrupted | length')" 1
	is "$(result .session_totals.runs)" 2
	is "$(result .session_id)" "$(head -n 1 "$T/first" | jq -r .session_id)"
	head -c "$(($(events | wc -c) - $(wc -c <"$T/out")))" "$T/first" >"$T/both"
	cat "$T/out" >>"$T/both"
	events | cmp - "$T/both"
	is "$(entries '^quern.json' | wc -l)" 2
	is "$(entries '^exchanges/.*json$' | while read -r name; do entry "$name" | jq -r '[.run, .ordinal] | join(" ")'; done | sort -u | tr '\n' ',')" "1 1,1 2,2 1,2 2,"
	before=$(sha256sum "$f")
	again
	[ "$rc" = 0 ] || { show; return 1; }
	is "$(result .resumed_result)" true
	is "$(sha256sum "$f")" "$before"
	is "$(requests)" 4
}

@test "a record does not take the place of what else is read or written" {
	echo 'tape: 1' >"$T/t.yaml"
	q -p go --replay "$T/t.yaml" --record "$T/t.yaml"
	exits 2
	err_has "record: must not be what is replayed"
	q -p go --events "$T/run" --record "$T/run"
	exits 2
	err_has "record: must not be the file of the events"
	[ ! -e "$T/run" ]
	printf '\x28\xb5\x2f\xfd' >"$T/b.tar.zst"
	q -p go --resume "$T/b.tar.zst" --events "$T/b.tar.zst"
	exits 2
	err_has "events: must not be what is resumed"
	is "$(wc -c <"$T/b.tar.zst")" 4
	ln "$T/t.yaml" "$T/other.yaml"
	q -p go --replay "$T/t.yaml" --events "$T/other.yaml"
	exits 2
	err_has "events: must not be what is replayed"
	is "$(cat "$T/t.yaml")" "tape: 1"
	printf 'version: 1\nprompt: go\n' >"$T/job.yaml"
	q --events "$T/job.yaml" "$T/job.yaml"
	exits 2
	err_has "events: must not be the job file"
	is "$(wc -l <"$T/job.yaml")" 2
}

@test "each kind of request is put together again, whatever made the conversation smaller" {
	serve '{"window": 12000, "summary_models": ["notes"], "player": {"rounds": 16, "text": "Step {n}.", "answer": "done",
		"calls": [{"name": "Bash", "input": {"command": "echo {n}; seq 1000 1500"}}]}}'
	q -p go -m tiny --set context.window=12000 --set context.summary_model=notes --set context.microcompact_at=off \
		--set context.collapse_at=off --allowedTools Bash -t 200 --record "$T/run.tar.zst"
	exits 0 completed
	local kind n sent
	for kind in main compact summary; do
		n=$(bodies "$kind")
		sent=$(awk -v k="$kind" '$2==k {print $1}' "$T/log/kinds")
		is "$n" "$(wc -l <<<"$sent")"
		[ "$n" -ge 1 ]
		for i in $(seq "$n"); do
			cmp "$T/body.$i" "$(request "$(sed -n "${i}p" <<<"$sent")")"
		done
	done
}
