#!/usr/bin/env bats
# A run that was killed behind the results of calls, or between two attempts: what had followed follows.

load ../lib/helpers

extra_setup() { F=$T/run.ndjson; }

# The lines behind which the run is killed, with the number of answers that were there: from the last result of an
# answer's calls on, until the next request is told of; and those between the attempts of one.
between() {
	jq -rn 'foreach inputs as $l ({n: 0, line: 0, calls: 0, in: false};
		.line += 1
		| if $l.type == "assistant" and ($l.error | not)
			then .in = false | .calls += ([$l.message.content[] | select(.type == "tool_use")] | length)
			| if $l.message.stop_reason then .n += 1 else . end
		elif $l.type == "user" and $l.message.content[0].type == "tool_result" then .calls -= 1 | .in = (.calls == 0)
		elif $l.subtype == "api_retry" or $l.subtype == "quern_model_switch" then .in = true | .n += 1
		elif $l.type == "result" or $l.sends then .in = false
		else . end;
		if .in then "\(.line) \(.n) \($l.subtype // $l.type)" else empty end)' "$1"
}

# at_each ANSWERS ARGUMENT...: the run is killed there, each time, and gone on with: it sends what it had sent.
at_each() {
	local s=$1 line n what i was straight_rc
	shift
	rm -rf "$T/log.straight" "$F"
	serve_from 0
	q "$@" --events "$F"
	stop_server
	straight_rc=$rc
	cp "$F" "$T/straight.ndjson"
	mv "$T/log" "$T/log.straight"
	between "$F" >"$T/moments"
	[ -s "$T/moments" ]
	while read -r line n what; do
		head -n "$line" "$T/straight.ndjson" >"$F"
		serve_from "$n"
		q "$@" --resume "$F" --events "$F"
		stop_server
		echo "behind line $line ($what), answer $n"
		is "$rc" "$straight_rc" || { show; return 1; }
		for ((i = 1; i <= $(requests); i++)); do
			was=$(printf '%s/log.straight/%03d.json' "$T" $((n + i)))
			cmp "$(request $i)" "$was" || { diff <(jq . "$was") <(jq . "$(request $i)"); return 1; }
		done
		is "$((n + $(requests)))" "$(find "$T/log.straight" -name '[0-9]*.json' | wc -l)"
	done <"$T/moments"
}
serve_from() {
	rm -rf "$T/log"
	mkdir "$T/log"
	jq -c ".[$1:]" <<<"$s" >"$T/script.json"
	serve_file --no-check
}
on_call() { # the event of a hook about a call, and a filter that makes its answer
	printf '%s: [{hooks: [{type: command, command: "jq -c %s"}]}]' "$1" "'$2'"
}

@test "what hooks of the calls, and of all of them, say; memory files of the directories" {
	mkdir -p deep/down
	echo "rules of deep" >deep/AGENTS.md
	echo "rules of down" >deep/down/AGENTS.md
	echo text | tee a deep/b deep/down/c >/dev/null
	cat >job.yaml <<-EOT
		version: 1
		prompt: Do it
		memory: [auto]
		hooks:
		  $(on_call PostToolUse '{hookSpecificOutput: {hookEventName: .hook_event_name, additionalContext: (.tool_use_id + \" was seen\")}}')
		  $(on_call PostToolBatch '{hookSpecificOutput: {hookEventName: .hook_event_name, additionalContext: \"all were seen\"}}')
	EOT
	at_each "$(script "{\"content\":[$(call Read '{"file_path":"a"}' r1),$(call Read '{"file_path":"deep/b"}' r2)]}" \
		"$(call Read '{"file_path":"deep/down/c"}' r3)" "$(say done)")" job.yaml
	is "$rc" 0
	text=$(jq -c '.messages[2]' "$(request 1)")
	for what in "r1 was seen" "r2 was seen" "all were seen" "rules of deep"; do has "$text" "$what"; done
}

@test "a hook of a call has ended the run" {
	echo text >a
	cat >job.yaml <<-EOT
		version: 1
		prompt: Do it
		hooks: {$(on_call PostToolUse '{continue: false, stopReason: \"enough\"}')}
	EOT
	at_each "$(script "$(call Read '{"file_path":"a"}' r1)" "$(say never)")" job.yaml
	exits 30 hook_stopped
	has "$(result '.errors | tojson')" enough
}

@test "the guards of a message: nudges, and answers that could not be understood" {
	at_each "$(script "$(call Nonesuch '{}' n1)" '{"content":[],"stop_reason":"end_turn"}' "$(call Nonesuch '{}' n2)" \
		'{"content":[],"stop_reason":"end_turn"}' "$(say end)")" -p "Do it"
	is "$rc" 0
	at_each "$(script "$(call Nonesuch '{}' n1)" "$(call Nonesuch '{}' n2)" "$(call Nonesuch '{}' n3)" \
		"$(call Nonesuch '{}' n4)" "$(call Nonesuch '{}' n5)" "$(say never)")" -p "Do it"
	exits 17 malformed_tool_use_exhausted
}

@test "overloads in a row count on, and the next model is asked" {
	busy='{"status":529,"headers":{"retry-after":"0.02"},"error":{"type":"overloaded_error","message":"busy"}}'
	no='{"status":500,"headers":{"retry-after":"0.02"},"error":{"type":"api_error","message":"hiccup"}}'
	set -- -p "Do it" -m claude-opus-5 --fallback-model claude-sonnet-5
	at_each "$(script "$busy" "$busy" "$busy" "$(say done)")" "$@"
	is "$(jq -r .model "$(request 1)")" claude-sonnet-5
	at_each "$(script "$busy" "$busy" "$no" "$busy" "$busy" "$(say done)")" "$@"
	is "$(jq -r .model "$(request 1)")" claude-opus-5
}
