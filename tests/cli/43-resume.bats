#!/usr/bin/env bats
# A run that goes on from its record: the requests are those that it would have sent, and nothing is done twice.

load ../lib/helpers

extra_setup() { F=$T/run.ndjson RETRIES=0; }

# The server refuses a request: with retries the run goes on by itself, without it ends there and is gone on with.
hiccup='{"status":500,"error":{"type":"api_error","message":"hiccup"}}'

# both SCRIPT ARGUMENT...: the script is played to a run that tries again, and to one that ends at each hiccup and is
# gone on with. All requests are the same, byte for byte, and so is the end.
both() {
	local s=$1 i
	shift
	rm -rf "$T/work" "$T/log.straight"
	mkdir -p "$T/work"
	cd "$T/work" || return 1
	before
	serve "$s"
	q -p "Do it" "$@"
	exits 0 completed
	stop_server
	result .result >"$T/result.straight"
	mv "$T/log" "$T/log.straight"
	mkdir "$T/log"
	find "$T/work" -mindepth 1 -delete
	before
	serve "$s"
	q -p "Do it" "$@" --events "$F" --set model.max_retries=$RETRIES
	exits 75 model_error
	for ((i = 0; rc == 75 && i < 9; i++)); do
		q -p "Do it" "$@" --resume "$F" --events "$F" --set model.max_retries=$RETRIES
	done
	exits 0 completed
	is "$(result .result)" "$(cat "$T/result.straight")"
	same_requests
}
before() { :; } # what the workspace holds at first

same_requests() {
	local f n=0
	for f in "$T"/log.straight/[0-9]*.json; do
		cmp "$f" "$T/log/${f##*/}" || { diff <(jq . "$f") <(jq . "$T/log/${f##*/}"); return 1; }
		n=$((n + 1))
	done
	is "$n" "$(requests)"
}
lines() { jq -r "$1" "$F"; }

@test "the requests are the same: Read and Edit, the directory of Bash, the list" {
	before() { mkdir sub && echo "one two" >sub/a.txt; }
	both "$(script "$(call Read '{"file_path":"sub/a.txt"}' r1)" "$(bash_call 'cd sub')" "$hiccup" \
		"$(call Edit '{"file_path":"sub/a.txt","old_string":"one","new_string":"three"}' e1)" "$(bash_call 'pwd; cat a.txt')" \
		"$(call TodoWrite '{"todos":[{"content":"x","status":"pending","activeForm":"x"}]}' w1)" "$hiccup" \
		"$(call Read '{"file_path":"sub/a.txt"}' r2)" "$(say done)")" --tools Read,Edit,Bash,TodoWrite --allowedTools 'Edit,Bash'
	is "$(cat "$T/work/sub/a.txt")" "three two"
	is "$(lines 'select(.subtype=="quern_resume") | "\(.from_reason) \(.interrupted|length) \(.torn)"' | uniq)" "model_error 0 false"
	is "$(lines 'select(.subtype=="init").session_id' | sort -u | wc -l)" 1
	is "$(result .session_totals.runs)" 3
	is "$(result .session_totals.turns)" 7
	is "$(result .num_turns)" 2
}

@test "the requests are the same: memory files and attachments are told once" {
	before() {
		mkdir deep
		echo "Be brief." >AGENTS.md
		echo "Deep rules." >deep/AGENTS.md
		echo x >deep/x.txt
		echo attached >at.txt
	}
	both "$(script "$(call Read '{"file_path":"deep/x.txt"}' r1)" "$hiccup" "$(call Read '{"file_path":"deep/x.txt","offset":1}' r2)" "$(say done)")" \
		--memory auto --attach at.txt
	is "$(grep -o 'Deep rules' "$(request 3)" | wc -l)" 1
	is "$(grep -o 'Be brief' "$(request 4)" | wc -l)" 1
}

small=(-m tiny --set context.window=12000 --system-prompt "You work." --allowedTools Bash -t 200)
rounds() { # ROUNDS HICCUP-AT...
	local n=$1 at
	shift
	at=$(printf '"%s":{"status":500,"error":{"type":"api_error","message":"hiccup"}},' "$@")
	printf '{"window":12000,"player":{"rounds":%d,"text":"Step {n}.","answer":"all is done","at":{%s},"calls":[
		{"name":"Bash","input":{"command":"echo {n} >>ledger; seq 1000 1400"}},
		{"name":"Read","input":{"file_path":"notes.txt"}}]}}' "$n" "${at%,}"
}

@test "the requests are the same: results that are cleared, rounds that are folded" {
	before() { seq -f 'line %g of the notes' 200 >notes.txt; }
	both "$(rounds 40 9 17 23 30)" "${small[@]}"
	is "$(lines 'select(.subtype=="quern_context").step' | sort -u | tr '\n' ' ')" "collapse microcompact "
	is "$(sort -n ledger | uniq -d | wc -l)" 0
}

@test "the requests are the same: summaries in the place of rounds" {
	before() { seq -f 'line %g of the notes' 200 >notes.txt; }
	both "$(rounds 30 9 14 19 24)" "${small[@]}" --set context.microcompact_at=off --set context.collapse_at=off
	[ "$(lines 'select(.subtype=="compact_boundary").subtype' | wc -l)" -ge 2 ]
}

@test "the requests are the same: the model that was fallen back on is asked" {
	local busy='{"status":529,"headers":{"retry-after":"0.02"},"error":{"type":"overloaded_error","message":"busy"}}'
	local no='{"status":500,"headers":{"retry-after":"0.02"},"error":{"type":"api_error","message":"hiccup"}}'
	RETRIES=2
	both "$(script "$(bash_call 'echo a')" "$busy" "$busy" "$busy" "$(bash_call 'echo b')" "$no" "$no" "$no" "$(say done)")" \
		-m claude-opus-5 --fallback-model claude-sonnet-5 --allowedTools Bash
	is "$(jq -r .model "$(request 9)")" claude-sonnet-5
	is "$(lines 'select(.subtype=="quern_model_switch").to')" claude-sonnet-5
}

@test "the requests are the same: how little each nudge towards the token target has brought" {
	both "$(script '{"text":"a","usage":{"output_tokens":600}}' "$(say b)" "$hiccup" "$(say c)" "$(say d)")" \
		--set limits.token_target=5000
	is "$(jq -s '[.[] | select(.subtype=="quern_transition" and .reason=="token_budget_continuation")] | length' "$F")" 3
}

@test "the requests are the same: memory files that stand in the conversation yet when a summary has come" {
	before() {
		seq -f 'line %g of the notes' 200 >notes.txt
		mkdir deep
		seq -f 'deep %g' 200 >deep/notes.txt
		echo "Be brief." >AGENTS.md
		echo "Deep rules." >deep/AGENTS.md
	}
	RETRIES=0
	both '{"window":12000,"player":{"rounds":24,"text":"Step {n}.","answer":"all is done","at":{"12":'"$hiccup"',"17":'"$hiccup"'},"calls":[
		{"name":"Bash","input":{"command":"seq 1000 1400"}},{"name":"Read","input":{"file_path":"notes.txt"}},
		{"name":"Read","input":{"file_path":"deep/notes.txt"}}]}}' \
		"${small[@]}" --set context.microcompact_at=off --set context.collapse_at=off --memory auto
	[ "$(lines 'select(.subtype=="compact_boundary").subtype' | wc -l)" -ge 2 ]
	is "$(grep -o 'Be brief' "$(request 24)" | wc -l)" 1
}

@test "a torn last line, in the file that is appended to" {
	serve "$(script "$(bash_call 'echo hi')" "$hiccup" "$(say done)")"
	q -p go --allowedTools Bash --set model.max_retries=0
	exits 75
	cp "$T/out" "$F"
	printf '{"type":"assist' >>"$F"
	QUIET_OUT=$T/out
	timeout 30 "$QUERN" --base-url "$BASE" -p go --allowedTools Bash --resume "$F" </dev/null >>"$F" 2>"$T/err"
	tail -n +1 "$F" | grep -v '^{"type":"assist$' >"$T/out"
	is "$(result .result)" done
	is "$(ev 'select(.subtype=="quern_resume") | "\(.torn) \(.changed)"')" 'true ["job"]'
	is "$(requests)" 3
	cmp "$(request 2)" "$(request 3)"
}

@test "a call without a result is told as interrupted, and not made again" {
	serve "$(script "$(bash_call 'echo x >>count; echo hi')" "$(say done)" "$(say again)")"
	q -p go --allowedTools Bash --events "$F"
	exits 0
	# killed while the command ran
	sed -i '/"type":"user"/,$d' "$F"
	q -p go --allowedTools Bash --resume "$F" --events "$F"
	exits 0 completed
	is "$(wc -l <count)" 1
	has "$(result_text 3)" "not known"
	is "$(result_is_error 3)" true
	is "$(ev 'select(.subtype=="quern_resume").interrupted | length')" 1
	is "$(ev 'select(.type=="user").message.content[0].is_error')" true
	q -p go --allowedTools Bash --resume "$F" --events "$F" # and the record is whole
	exits 0 completed
	is "$(result .resumed_result)" true
}

@test "missing and empty: a fresh run" {
	serve "$(script "$(say one)" "$(say two)")"
	q -p go --resume "$F"
	exits 0 completed
	is "$(ev 'select(.subtype=="quern_resume").type')" ""
	: >"$F"
	q -p go --resume "$F" --events "$F"
	exits 0 completed
	is "$(result .session_totals.runs)" 1
}

@test "completed: the old result, without a request, a key or stdin" {
	serve "$(script "$(say "the answer")" "$(say other)")"
	q -p go --events "$F"
	exits 0 completed
	for p in "-p go" "-n" ""; do
		# shellcheck disable=SC2086
		env -u ANTHROPIC_API_KEY timeout 20 "$QUERN" $p --resume "$F" --base-url http://127.0.0.1:1 <&- >"$T/out" 2>"$T/err"
		is "$(wc -l <"$T/out")" 1
		is "$(result '"\(.result) \(.resumed_result) \(.exit_code)"')" "the answer true 0"
	done
	is "$("$QUERN" --resume "$F" -o text </dev/null)" "the answer"
	is "$("$QUERN" --resume "$F" -o json </dev/null | jq -r .result)" "the answer"
	is "$(requests)" 1
	q -p "and now" --resume "$F" --events "$F"
	exits 0 completed
	is "$(result .result)" other
	is "$(jq -c '[.messages[] | .role]' "$(request 2)")" '["user","assistant","user"]'
	is "$(jq -r '.messages[-1].content[-1].text' "$(request 2)")" "and now"
	q --resume "$F"
	exits 0 completed
	is "$(result '"\(.result) \(.resumed_result)"')" "other true"
	is "$(requests)" 2
}

@test "a job that is another one is said" {
	serve "$(script "$hiccup" "$(say done)")"
	q -p go --set model.max_retries=0 --events "$F"
	exits 75
	mkdir other
	q -p go --set model.max_retries=0 --resume "$F" --events "$F" -C other --append-system-prompt "Be kind."
	exits 0 completed
	is "$(ev 'select(.subtype=="quern_resume").changed | join(",")')" job,system,tools,cwd
	err_has "not as it was"
}

@test "an answer at the end of a record that did not complete is gone on from" {
	serve "$(script '{"text":"cut","stop_reason":"max_tokens"}' "$(say done)")"
	q -p go --set model.max_output_tokens=100 --set limits.max_turns=1 --events "$F"
	[ "$rc" != 0 ]
	q -p go --resume "$F" --events "$F"
	exits 0 completed
	is "$(jq -r '.messages[-1].role' "$(request 2)")" user
}

@test "budgets of tokens count over the session, turns do not" {
	serve "$(script "$(bash_call 'echo a')" "$(bash_call 'echo b')" "$(say done)")"
	q -p go --allowedTools Bash -t 1 --events "$F"
	exits 10 max_turns
	used=$(result '.session_totals.models | map(.usage.input_tokens + .usage.output_tokens) | add')
	[ "$used" -gt 0 ]
	q -p go --allowedTools Bash -t 1 --resume "$F" --events "$F" --token-budget "$used"
	exits 13 budget_exhausted
	is "$(requests)" 1
	q -p go --allowedTools Bash -t 1 --resume "$F" --events "$F"
	exits 10 max_turns
	is "$(requests)" 2
	is "$(result .session_totals.runs)" 3
	is "$(result .session_totals.turns)" 2
}

@test "what is no record is refused" {
	echo hello >"$F"
	q -p go --resume "$F"
	exits 2 turn_setup_failed
	is "$(result .startup_failure_reason)" resume_unavailable
	err_has "run.ndjson:1:"
}

@test "--check says what would be gone on with" {
	serve "$(script "$hiccup")"
	q -p go --set model.max_retries=0 --events "$F"
	"$QUERN" --check --resume "$F" -p go >"$T/out" 2>"$T/err"
	has "$(cat "$T/out")" "# resume: session "
	has "$(cat "$T/out")" "it ended with model_error"
	"$QUERN" --check --resume "$T/none" -p go >"$T/out"
	has "$(cat "$T/out")" "a fresh run"
}

@test "what a killed run left in the temporary directory is removed" {
	serve "$(script "$hiccup" "$(say done)")"
	q -p go --set model.max_retries=0 --events "$F"
	s=$(lines .session_id | head -n 1)
	mkdir -m 700 "$T/tmp/quern-tmp-$s"
	echo x >"$T/tmp/quern-tmp-$s/left"
	q -p go --resume "$F"
	exits 0 completed
	[ ! -e "$T/tmp/quern-tmp-$s" ]
}

@test "a session of messages on stdin goes on" {
	serve "$(script "$(say one)" "$(say two)")"
	SESSION=+
	printf '%s\n' '{"type":"user","message":{"role":"user","content":"first"}}' >"$T/in"
	q_in "$T/in" --input-format stream-json --events "$F"
	exits 0 completed
	printf '%s\n' '{"type":"user","message":{"role":"user","content":"second"}}' >"$T/in"
	q_in "$T/in" --input-format stream-json --resume "$F" --events "$F"
	exits 0 completed
	is "$(jq -c '[.messages[].content[0].text]' "$(request 2)")" '["first","one","second"]'
}

@test "with a tape, too" {
	printf 'tape: 1\nanswers:\n  - {content: [{tool_use: {name: Glob, input: {pattern: "*"}, id: g}}]}\n' >"$T/t.yaml"
	q -p go --replay "$T/t.yaml" --events "$F"
	exits 50 replay_mismatch
	printf 'tape: 1\nanswers:\n  - {expect: {results: [g]}, text: done}\n' >"$T/t.yaml"
	q --replay "$T/t.yaml" --resume "$F" --events "$F"
	exits 0 completed
	is "$(result .result)" done
}

@test "an archive is not unpacked again: the run goes on in the directory where it was" {
	mkdir in && echo one >in/a.txt && tar -cf "$T/in.tar" -C in .
	serve "$(script "$(bash_call 'echo two >>a.txt')" "$hiccup" "$(bash_call 'cat a.txt')" "$(say done)")"
	q -p go --allowedTools Bash --set "workspace.archive=$T/in.tar" --set model.max_retries=0 --events "$F"
	exits 75
	q -p go --allowedTools Bash --set "workspace.archive=$T/in.tar" --set model.max_retries=0 --resume "$F" --events "$F"
	exits 0 completed
	is "$(result_text 4)" $'one\ntwo'
	is "$(lines 'select(.subtype=="init").cwd' | sort -u | wc -l)" 1
	rm -rf "$(lines 'select(.subtype=="init").cwd' | head -n 1)"
}
