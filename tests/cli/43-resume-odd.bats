#!/usr/bin/env bats
# Records that are gone on with in odd ways: into other files, twice at once, forged, with limits that are others now.

load ../lib/helpers

extra_setup() { F=$T/run.ndjson G=$T/second.ndjson; }

hiccup='{"status":500,"error":{"type":"api_error","message":"hiccup"}}'
lines() { jq -r "$1" "$F"; }
paid() { jq -s '[.[] | select(.type=="result")][-1].session_totals.models | map(.usage.input_tokens + .usage.output_tokens) | add' "$1"; }

@test "into another file, which is gone on with: what tools knew and what was paid is in it" {
	echo "one two" >a.txt
	serve "$(script "$(call Read '{"file_path":"a.txt"}' r1)" "$hiccup" "$hiccup" \
		"$(call Edit '{"file_path":"a.txt","old_string":"one","new_string":"three"}' e1)" "$(say done)" "$(say never)")"
	set -- -p go --tools Read,Edit --allowedTools Edit --set model.max_retries=0
	q "$@" --events "$F"
	exits 75
	q "$@" --resume "$F" --events "$G"
	exits 75
	is "$(jq -r 'select(.subtype=="quern_resume") | "\(.session_totals.runs) \(.states | length)"' "$G")" "1 1"
	# as if it had been killed: no result tells what was paid
	sed -i '/"type":"result"/d' "$G"
	q "$@" --resume "$G" --events "$G"
	exits 0 completed
	is "$(cat a.txt)" "three two"
	is "$(result .session_totals.runs)" 3
	is "$(result .session_totals.turns)" 3
	is "$(result .session_totals.requests)" 5 # the one that was refused, too
	cmp "$(request 2)" "$(request 3)"
	q "$@" --resume "$G" --events "$G" # the words were told there, too
	exits 0 completed
	is "$(result .resumed_result)" true
	is "$(requests)" 5
}

@test "a file that was killed before it told the conversation is no fresh run" {
	serve "$(script "$(bash_call 'echo x >>count')" "$hiccup" "$(say never)")"
	q -p go --allowedTools Bash --set model.max_retries=0 --events "$F"
	exits 75
	q -p go --allowedTools Bash --set model.max_retries=0 --resume "$F" --events "$G"
	sed -i '/quern_history/,$d' "$G"
	n=$(requests)
	q -p go --allowedTools Bash --resume "$G"
	exits 2 turn_setup_failed
	err_has "went on from another record"
	is "$(requests)" "$n"
}

@test "line ends of another system: gone on with, and a result that is given again is one line of JSON" {
	serve "$(script "$(bash_call 'echo x >>count')" "$(say done)" "$(say never)")"
	set -- -p go --allowedTools Bash
	q "$@" --events "$F"
	exits 0 completed
	sed 's/$/ \r/' "$F" >"$G"
	q "$@" --resume "$G"
	exits 0 completed
	is "$(result .resumed_result)" true
	is "$(tr -d '\r' <"$T/out" | cksum)" "$(cksum <"$T/out")"
	grep -v '"type":"result"' "$G" >"$T/cut"
	printf '\r\n' >>"$T/cut"
	q "$@" --resume "$T/cut"
	exits 0 completed
	is "$(result .result)" done
	is "$(cat count)" x
	is "$(requests)" 2
}

@test "two at once: the second is refused, and the file is the first one's" {
	serve "$(script "$(bash_call 'touch begun; while [ ! -e go ]; do sleep 0.05; done')" "$(say done)" "$(say never)")"
	"$QUERN" --base-url "$BASE" -p go --allowedTools Bash --events "$F" >"$T/first" 2>/dev/null </dev/null 3>&- &
	first=$!
	wait_for test -e begun
	n=$(wc -l <"$F")
	q -p go --allowedTools Bash --resume "$F" --events "$F"
	exits 2 turn_setup_failed
	is "$(result .startup_failure_reason)" resume_unavailable
	err_has "is in use by another run"
	q -p other --events "$F"
	exits 2 turn_setup_failed
	is "$(wc -l <"$F")" "$n"
	is "$(requests)" 1
	touch go
	wait $first
	q -p go --allowedTools Bash --resume "$F" --events "$F"
	exits 0 completed
	is "$(result .resumed_result)" true
}

@test "two at once on stdout; the lock goes with the process, not with the shell's descriptor" {
	serve "$(script "$hiccup" "$(bash_call 'touch begun; while [ ! -e go ]; do sleep 0.05; done')" "$(say done)")"
	exec {keep}>>"$F"
	timeout 30 "$QUERN" --base-url "$BASE" -p go --allowedTools Bash --set model.max_retries=0 --resume "$F" </dev/null >&$keep 2>/dev/null 3>&- || true
	"$QUERN" --base-url "$BASE" -p go --allowedTools Bash --resume "$F" </dev/null >&$keep 2>/dev/null 3>&- &
	first=$!
	wait_for test -e begun
	rc=0
	timeout 30 "$QUERN" --base-url "$BASE" -p go --allowedTools Bash --resume "$F" </dev/null >>"$F" 2>"$T/err" 3>&- || rc=$?
	is "$rc" 2
	err_has "is in use by another run"
	kill -KILL $first
	wait $first || true
	timeout 30 "$QUERN" --base-url "$BASE" -p go --allowedTools Bash --resume "$F" </dev/null >>"$F" 2>"$T/err" 3>&-
	exec {keep}>&-
	is "$(tail -n 1 "$F" | jq -r .result)" done
}

@test "hooks of SessionStart are told that it goes on" {
	cat >job.yaml <<-EOF
	hooks:
	  SessionStart:
	    - hooks: [{type: command, command: "cat >>source"}]
	EOF
	serve "$(script "$hiccup" "$(say done)")"
	q -p go job.yaml --set model.max_retries=0 --events "$F"
	exits 75
	q -p go job.yaml --resume "$F" --events "$F"
	exits 0 completed
	is "$(jq -r .source source | tr '\n' ' ')" "startup resume "
}

@test "a session of messages that was killed between two of them, and within one" {
	serve "$(script "$(say one)" "$(bash_call 'echo x >>count; echo hi')" "$(say two)" "$(say "two again")" "$(say three)")"
	SESSION=+
	printf '{"type":"user","message":{"role":"user","content":"%s"}}\n' first second >"$T/in"
	set -- --input-format stream-json --allowedTools Bash
	q_in "$T/in" "$@" --events "$F"
	exits 0 completed
	sed -i '/"tool_result"/,$d' "$F" # within the second
	printf '{"type":"user","message":{"role":"user","content":"third"}}\n' >"$T/in"
	q_in "$T/in" "$@" --resume "$F" --events "$F"
	exits 0 completed
	is "$(wc -l <count)" 1
	is "$(jq -r 'select(.type=="result").result' "$T/out" | tr '\n' ' ')" "two again three "
	is "$(jq -c '[.messages[] | .content[] | select(.type=="text").text]' "$(request 5)")" '["first","one","second","two again","third"]'
	is "$(jq -r '[.messages[] | .content[] | select(.type=="tool_result")] | length' "$(request 5)")" 1
}

@test "that turns are nearly used up is not true of the run that goes on" {
	local ten=() i
	for i in 0 1 2 3 4 5 6 7 8 9; do ten+=("$(bash_call "echo $i")"); done
	serve "$(script "${ten[@]}" "$(bash_call 'echo more')" "$(say done)")"
	q -p go --allowedTools Bash -t 10 --events "$F"
	exits 10 max_turns
	is "$(grep -o 'nearly used up' "$(request 10)" | wc -l)" 1
	q -p go --allowedTools Bash -t 10 --resume "$F" --events "$F"
	exits 0 completed
	has "$(jq -r '.messages[-1].content[-1].text' "$(request 11)")" "does not hold any more"
	is "$(grep -o 'does not hold any more' "$(request 12)" | wc -l)" 1
}

@test "a forged record: no directory of its choice becomes the run's" {
	mkdir -m 700 "$T/home/private"
	echo secret >"$T/home/private/key"
	serve "$(script "$hiccup" "$(bash_call 'seq 100000')" "$(say done)")"
	q -p go --set model.max_retries=0 --events "$F"
	exits 75
	sed -i "s|\"type\":\"result\"|\"type\":\"result\",\"run_dir\":\"$T/home/private\"|" "$F"
	q -p go --allowedTools Bash --resume "$F" --events "$F"
	exits 0 completed
	is "$(ls "$T/home/private")" key
	! grep -q '"run_dir":"[^"]*private' "$T/out" || return 1
}

@test "a forged record: from results that it takes out again nothing follows, and what has another form is not taken" {
	serve "$(script "$(bash_call 'echo x >>count')" "$(say done)" "$(say done)" "$(say done)")"
	set -- -p go --allowedTools Bash
	q "$@" --events "$F"
	exits 0 completed
	sed '/"type":"tool_result"/q' "$F" >"$T/cut"
	local of text='{"type":"text","text":"x"}'
	of='"uuid":"00000000-0000-4000-8000-000000000001","session_id":"'$(result .session_id)'"'
	{
		cat "$T/cut"
		echo "{\"type\":\"system\",\"subtype\":\"quern_history\",$of,\"messages\":[{\"role\":\"user\",\"content\":[$text]},{\"role\":\"assistant\",\"content\":[$text]}]}"
	} >"$G"
	q "$@" --resume "$G" # the server sees to it that no answer stands last
	exits 0 completed
	{
		cat "$T/cut"
		echo "{\"type\":\"system\",\"subtype\":\"quern_history\",$of,\"state\":{\"unsaid\":7,\"said\":-9223372036854775808,\"overloads\":-9,\"requests\":-9}}"
		echo "{\"type\":\"system\",\"subtype\":\"api_retry\",$of,\"overloads\":-9223372036854775808}"
	} >"$G"
	q "$@" --resume "$G"
	exits 0 completed
	is "$(requests)" 4
	is "$(cat count)" x
}

@test "a forged result: no file of its choice is the answer" {
	serve "$(script "$(say done)")"
	q -p go --events "$F"
	exits 0 completed
	echo secret >"$T/home/key"
	sed -i "s|\"type\":\"result\"|\"type\":\"result\",\"result_file\":\"$T/home/key\"|" "$F"
	q -p go --resume "$F" --output-format text
	! grep -q secret "$T/out" || return 1
}

@test "a long answer is given again from the run directory that the job names" {
	serve '[{"text":"'"$(printf 'word %.0s' $(seq 250000))"'"}]'
	set -- -p go --run-dir "$T/rundir" --events "$F"
	q "$@"
	exits 0 completed
	[ "$(lines 'select(.type=="result").result_file')" = "$T/rundir/result.txt" ]
	q "$@" --resume "$F" --output-format text
	is "$rc" 0
	is "$(wc -w <"$T/out")" 250000
}
