#!/usr/bin/env bats
# A run that was killed between the acceptance of an answer and what follows it: what follows is what had followed.

load ../lib/helpers

extra_setup() { F=$T/run.ndjson; }

# The lines behind which the run is killed: of an answer's end, and what stands behind it until the next request is
# told of. With the number of answers that were there.
ends() {
	jq -rn '[inputs] | to_entries | reduce .[] as {key: $i, value: $l} ({n: 0, in: false, out: []};
		if $l.type == "assistant" and $l.message.model != "<synthetic>"
			then .in = ($l.message.stop_reason != null and $l.message.content[0].type != "tool_use")
			| if $l.message.stop_reason then .n += 1 else . end
		elif $l.type == "result" or $l.sends then .in = false
		elif $l.subtype == "quern_tombstone" or $l.subtype == "compact_boundary" then .n += 1 | .in = false
		else . end
		| if .in then .out += ["\($i + 1) \(.n) \($l.subtype // $l.type)"] else . end) | .out[]' "$1"
}

# at_each_end ANSWERS ARGUMENT...: the run is killed there, each time, and gone on with: it sends what it had sent, and
# ends as it had.
at_each_end() {
	local s=$1 line n='' i what=''
	shift
	rm -rf "$F" "$T/log" "$T/log.straight"
	mkdir "$T/log"
	serve "$s"
	straight "$@"
	stop_server
	cp "$F" "$T/straight.ndjson"
	mv "$T/log" "$T/log.straight"
	ends "$T/straight.ndjson" >"$T/ends"
	[ -s "$T/ends" ]
	while read -r line n what; do
		head -n "$line" "$T/straight.ndjson" >"$F"
		go_on "$F" "$F" "$@"
		[ -z "$twice" ] || killed_again "$@"
	done <"$T/ends"
}
# go_on FROM TO ARGUMENT...: what is left of the script, as it was
go_on() {
	local from=$1 to=$2
	shift 2
	rm -rf "$T/log"
	mkdir "$T/log"
	jq -c ".[$n:]" <<<"$s" >"$T/script.json"
	serve_file --no-check
	before
	q "$@" --resume "$from" --events "$to"
	stop_server
	echo "behind line $line ($what), answer $n"
	same_end || { show; return 1; }
	for ((i = 1; i <= $(requests); i++)); do
		cmp "$(request $i)" "$(printf '%s/log.straight/%03d.json' "$T" $((n + i)))"
	done
	is "$((n + $(requests)))" "$(find "$T/log.straight" -name '[0-9]*.json' | wc -l)"
}
# Gone on with in another file, and killed there, before the next request is told of, too.
killed_again() {
	local first last k
	[ "$what" != quern_transition ] || return 0 # one request more or less: it is counted once
	head -n "$line" "$T/straight.ndjson" >"$F"
	rm -f "$T/other"
	go_on "$F" "$T/other" "$@"
	cp "$T/other" "$T/other.whole"
	first=$(jq -sr 'map(.subtype == "quern_history" and (.more | not)) | (index(true) // error("none")) + 1' "$T/other.whole")
	last=$(jq -sr 'map(.sends or .type == "result") | (index(true) // error("none")) + 1' "$T/other.whole")
	[ "$first" -lt "$last" ]
	for ((k = first; k < last; k++)); do
		head -n "$k" "$T/other.whole" >"$T/other"
		what=$(tail -n 1 "$T/other" | jq -r '.subtype // .type')
		echo "and behind line $k of the other file"
		go_on "$T/other" "$T/other" "$@"
	done
}
twice=''
before() { :; }
straight() {
	before
	q "$@" --events "$F"
	STRAIGHT=$(result "$said")
	straight_rc=$rc requests=$(result .session_totals.requests)
}
said='[.terminal_reason, .result, .errors, .stop_reason, (.session_totals | .turns, .usage)] | tojson'
# Of a transition alone it is not known whether the request behind it was sent.
same_end() {
	is "$(result .session_totals.requests)" "$([ $what = quern_transition ] && echo $((requests + 1)) || echo "$requests")" || return 1
	exits "$straight_rc" && is "$(result "$said")" "$STRAIGHT"
}

@test "the last answer is the result, and nothing is sent" {
	at_each_end "$(script "$(say 'all done')")" -p "Do it"
	is "$(wc -l <"$T/ends")" 2
	is "$(result .num_turns)" 0
	at_each_end "$(script "$(bash_call 'echo a')" '{"content":[{"thinking":"hm","signature":"s"},{"text":"all"},{"text":" done"}],"stop_reason":"stop_sequence"}')" \
		-p "Do it" --allowedTools Bash
	is "$(result .result)" "all done"
}

@test "no key is needed where nothing is sent, and is missed where something is" {
	serve "$(script "$(say 'all done')")"
	q -p "Do it" --events "$F"
	exits 0 completed
	stop_server
	head -n "$(ends "$F" | sed -n '1s/ .*//p')" "$F" >"$T/cut.ndjson"
	cp "$T/cut.ndjson" "$F"
	BASE='' ANTHROPIC_API_KEY='' q -p "Do it" --resume "$F" --events "$F"
	exits 0 completed
	is "$(result .result)" "all done"
	cp "$T/cut.ndjson" "$F"
	cat >obj.yaml <<-'EOT'
		version: 1
		prompt: Do it
		hooks: {Stop: [{hooks: [{type: command, command: "echo no >&2; exit 2"}]}]}
	EOT
	BASE='' ANTHROPIC_API_KEY='' q --resume "$F" --events "$F" obj.yaml
	exits 20 model_error
	err_has "no API key"
}

@test "another prompt is another message" {
	serve "$(script "$(say one)" "$(say two)")"
	q -p "Do it" --events "$F"
	head -n "$(ends "$F" | sed -n '1s/ .*//p')" "$F" >"$T/cut.ndjson"
	cp "$T/cut.ndjson" "$F"
	q -p "And that" --resume "$F" --events "$F"
	exits 0 completed
	is "$(result .result)" two
	is "$(result '.session_totals | "\(.turns) \(.requests)"')" "2 2"
	is "$(jq -c '[.messages[].role]' "$(request 2)")" '["user","assistant","user"]'
}

@test "killed again and again behind the same answer" {
	serve "$(script "$(say 'all done')")"
	q -p "Do it" --events "$F"
	stop_server
	head -n "$(ends "$F" | sed -n '1s/ .*//p')" "$F" >"$T/cut.ndjson"
	cp "$T/cut.ndjson" "$F"
	for _ in 1 2 3; do
		q -p "Do it" --resume "$F" --events "$F"
		exits 0 completed
		is "$(result '[.result, .num_turns, .session_totals.turns, .session_totals.requests] | tojson')" '["all done",0,1,1]'
		sed -i '$d' "$F"
	done
	q -p "Do it" --resume "$F" --events "$T/other.ndjson"
	exits 0 completed
	is "$(result .result)" "all done"
	q -p "Do it" --resume "$T/other.ndjson"
	exits 0 completed
	is "$(result .resumed_result)" true
}

cut() { printf '{"text":"%s","stop_reason":"max_tokens"}' "$1"; }

@test "a cut answer is resumed as it had been, and counted" {
	at_each_end "$(script "$(cut half)" "$(cut one)" "$(cut two)" "$(cut three)" "$(say end)")" -p "Do it"
	at_each_end "$(script "$(cut one)" "$(cut two)" "$(cut three)" "$(cut four)")" -p "Do it" --set model.max_output_tokens=100
	is "$rc" 14
}

@test "a turn that was paused goes on as it is" {
	at_each_end "$(script '{"text":"wait","stop_reason":"pause_turn"}' '{"text":"and wait","stop_reason":"pause_turn"}' "$(say end)")" -p "Do it"
	is "$(result .result)" "end"
}

@test "an answer that filled the window, behind the summary that made room for it" {
	NO_CHECK=--no-check
	seq 1000 1400 >a
	at_each_end "$(script "$(call Read '{"file_path":"a"}' r1)" "$(bash_call 'cat a a')" "$(bash_call 'cat a a')" \
		'{"content":[{"thinking":"hm","signature":"s"},{"text":"par"},{"text":"t"}],"stop_reason":"model_context_window_exceeded"}' "$(say 'a summary')" "$(say end)")" -p "Do it" \
		-m tiny --set context.window=12000 --allowedTools Bash
	is "$(result .result)" end
}

@test "gone on with in another file and killed there: what had followed from the answer follows" {
	twice=1
	at_each_end "$(script "$(say 'all done')")" -p "Do it"
	at_each_end "$(script "$(cut one)" "$(say end)")" -p "Do it" --set model.max_output_tokens=100
	at_each_end "$(script '{"text":"wait","stop_reason":"pause_turn"}' "$(say end)")" -p "Do it"
	at_each_end "$(script '{"text":"a","usage":{"output_tokens":600}}' '{"text":"b","usage":{"output_tokens":100}}')" \
		-p "Do it" --set limits.token_target=700
}

@test "an empty answer is nudged once" {
	at_each_end "$(script '{"content":[],"stop_reason":"end_turn"}' "$(say end)")" -p "Do it"
	at_each_end "$(script '{"content":[],"stop_reason":"end_turn"}' '{"content":[],"stop_reason":"end_turn"}')" -p "Do it"
}

@test "the token target's nudges" {
	at_each_end "$(script '{"text":"a","usage":{"output_tokens":600}}' "$(say b)" "$(say c)" "$(say d)")" \
		-p "Do it" --set limits.token_target=5000
}

@test "stop hooks and the verification are asked, and what they had said is not said again" {
	cat >job.yaml <<-'EOT'
		version: 1
		prompt: Do it
		hooks: {Stop: [{hooks: [{type: command, command: "grep -q '\"stop_hook_active\":true' || { echo once more >&2; exit 2; }"}]}]}
		verify: {command: [sh, -c, "echo x >>tries; [ $(wc -l <tries) -gt 1 ] || { echo not yet; exit 1; }"]}
	EOT
	before() { # it was tried when words of the last but one answer tell of it
		rm -f tries
		case ${n:-}$what in 2user | 2quern_transition | 3*) echo x >tries ;; esac
	}
	at_each_end "$(script "$(say one)" "$(say two)" "$(say three)")" job.yaml
	is "$(result .result)" three
}

@test "a refusal is no answer: it is asked for again" {
	serve "$(script '{"text":"no","stop_reason":"refusal"}' "$(say yes)")"
	q -p "Do it" --events "$F"
	exits 22 refusal
	sed -i '$d' "$F"
	q -p "Do it" --resume "$F" --events "$F"
	exits 0 completed
	is "$(result .result)" yes
	cmp "$(request 1)" "$(request 2)"
}
