#!/usr/bin/env bats
# The order of calls, who may run, and what goes wrong in them.

load ../lib/helpers

two_calls() { jq -cn --argjson a "$1" --argjson b "$2" '{content: [$a, $b]}'; }

@test "read-only calls run side by side, unsafe ones alone and in order" {
	mkfifo gate
	# Two reads of a FIFO would wait for each other; files are enough to see order in the results.
	echo a >a.txt; echo b >b.txt
	serve "$(script "$(jq -cn --argjson a "$(call Read '{"file_path":"a.txt"}' r1)" --argjson b "$(bash_call 'echo one >>log; sleep 0.3; echo one-end >>log')" --argjson c "$(bash_call 'echo two >>log')" --argjson d "$(call Read '{"file_path":"b.txt"}' r2)" '{content: [$a, $b, $c, $d]}')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(tr '\n' ' ' <log)" "one one-end two "
	is "$(ev 'select(.type=="user").message.content[0].tool_use_id' | tr '\n' ' ')" "r1 toolu_1_1 toolu_1_2 r2 "
	is "$(jq -r '[.messages[-1].content[].tool_use_id] | join(" ")' "$(request 2)")" "r1 toolu_1_1 toolu_1_2 r2"
}

@test "an unknown tool is a result the model can act on" {
	one_call "$(call Fly '{"to":"moon"}')"
	exits 0
	is "$(result_is_error 2)" true
	has "$(result_text 2)" "No such tool"
	has "$(result_text 2)" Fly
}

@test "input that does not fit the schema names the parameter, and nothing runs" {
	serve "$(script "$(call Bash '{"cmd":"echo x >ran"}')" "$(call Bash '{"command":7}')" "$(call Read '{"file_path":"a","limit":"many"}')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	local n
	for n in 2 3 4; do is "$n $(result_is_error $n)" "$n true"; done
	has "$(result_text 2)" command
	has "$(result_text 3)" command
	has "$(result_text 4)" limit
	[ ! -e ran ]
}

@test "input that is no JSON: an error result, the call goes back as an empty object" {
	serve "$(script '{"tool_use":{"name":"Bash","input":{},"raw":"{\"command\": \"echo x"}}' "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(result_is_error 2)" true
	is "$(jq -c '.messages[1].content[0].input' "$(request 2)")" '{}'
}

@test "duplicate keys in a call's input are refused" {
	serve "$(script '{"tool_use":{"name":"Bash","input":{},"raw":"{\"command\":\"true\",\"command\":\"echo x >ran\"}"}}' "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(result_is_error 2)" true
	has "$(result_text 2)" 'the key "command" occurs twice'
	is "$(jq -c '.messages[1].content[0].input' "$(request 2)")" '{}'
	[ ! -e ran ]
}

@test "a tool that was not offered is denied: event, result, denial list" {
	one_call "$(bash_call 'echo x >ran')"
	exits 0
	[ ! -e ran ]
	is "$(result_is_error 2)" true
	is "$(ev 'select(.subtype=="permission_denied").tool_name')" Bash
	is "$(result '.permission_denials[0].tool_name')" Bash
	is "$(result '.permission_denials[0].tool_input.command')" 'echo x >ran'
}

@test "deny wins over allow" {
	serve "$(script "$(bash_call 'echo x >ran')" "$(say end)")"
	q -p go --allowedTools Bash,Edit --disallowedTools Bash
	exits 0
	[ ! -e ran ]
	is "$(jq '[.tools[] | select(.name=="Bash")] | length' "$(request 1)")" 0
}

@test "rules that are none are exit 2" {
	serve '[]'
	q -p go --allowedTools 'Bash('
	is "$rc" 2
	err_has "the rule 'Bash(' is malformed: a ')' is missing"
	q -p go --disallowedTools 'Read(!x)'
	is "$rc" 2
	is "$(requests)" 0
}

@test "acceptEdits lets Edit and Write run, not every command" {
	serve "$(script "$(call Write '{"file_path":"new.txt","content":"x\n"}')" "$(bash_call 'perl -e 1 >ran')" "$(say end)")"
	q -p go --permission-mode acceptEdits
	exits 0
	is "$(cat new.txt)" x
	[ ! -e ran ]
}

@test "bypassPermissions as root needs a sandbox: exit 2" {
	[ "$(id -u)" = 0 ] || return 0
	serve '[]'
	q -p go --permission-mode bypassPermissions --sandbox off
	is "$rc" 2
	is "$(result .startup_failure_reason)" bypass_root
}

@test "a failed Bash call cancels the later calls of its message, and says why" {
	serve "$(script "$(two_calls "$(bash_call 'echo no; exit 3')" "$(bash_call 'echo x >ran')")" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	[ ! -e ran ]
	is "$(result_is_error 2 0)" true
	is "$(result_is_error 2 1)" true
	has "$(result_text 2 0)" "Exit code 3"
	[ -n "$(result_text 2 1)" ]
}

@test "denied and invalid calls, and failures of other tools, do not" {
	serve "$(script "$(two_calls "$(call Read '{"file_path":"missing"}')" "$(bash_call 'echo x >>ran')")" "$(two_calls "$(call Fly '{}')" "$(bash_call 'echo y >>ran')")" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(tr -d '\n' <ran)" xy
}

@test "exit 1 of grep, diff and test is an answer, not a failure" {
	local c
	for c in 'grep x /dev/null' 'diff /dev/null /etc/passwd >/dev/null' 'test 1 = 2' '[ 1 = 2 ]'; do
		one_call "$(bash_call "$c")" --allowedTools Bash
		exits 0
		is "$c $(result_is_error 2)" "$c false"
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
	done
}

@test "Glob and Grep: what is found, what is not, bad patterns" {
	mkdir -p sub/.hidden
	echo 'int needle;' >sub/a.c; echo 'int other;' >sub/b.c; echo needle >sub/.hidden/c.txt
	serve "$(script "$(call Glob '{"pattern":"**/*.c"}')" "$(call Grep '{"pattern":"needle"}')" "$(call Grep '{"pattern":"needle","output_mode":"content","glob":"*.c"}')" "$(call Grep '{"pattern":"nowhere-at-all"}')" "$(call Grep '{"pattern":"("}')" "$(call Glob '{"pattern":"*.nothing"}')" "$(say end)")"
	q -p go
	exits 0
	has "$(result_text 2)" a.c
	has "$(result_text 2)" b.c
	has "$(result_text 3)" a.c
	lacks "$(result_text 3)" b.c
	has "$(result_text 4)" "int needle;"
	has "$(result_text 5)" "No "
	is "$(result_is_error 5)" false
	is "$(result_is_error 6)" true
	has "$(result_text 7)" "No files found"
}

@test "Grep: a pattern that looks like an option, counts, limits, context" {
	printf 'one\n--files\ntwo\none\n' >f.txt
	serve "$(script "$(call Grep '{"pattern":"--files","output_mode":"content"}')" "$(call Grep '{"pattern":"one","output_mode":"count"}')" "$(call Grep '{"pattern":"one","output_mode":"content","head_limit":1}')" "$(call Grep '{"pattern":"two","output_mode":"content","-B":1}')" "$(call Grep '{"pattern":"ONE","-i":true}')" "$(say end)")"
	q -p go
	exits 0
	has "$(result_text 2)" "--files"
	has "$(result_text 3)" 2
	is "$(result_text 4 | grep -c one)" 1
	has "$(result_text 5)" "--files"
	has "$(result_text 6)" f.txt
}

@test "searches leave out our own output files" {
	serve "$(script "$(call Grep '{"pattern":"distinctive-word"}')" "$(call Grep '{"pattern":"distinctive-word"}')" "$(say end)")"
	rc=0
	timeout 30 "$QUERN" --base-url "$BASE" -p "find the distinctive-word" --events events.ndjson </dev/null >"$T/out" 2>"$T/err" || rc=$?
	exits 0
	lacks "$(result_text 2)" events.ndjson
	lacks "$(result_text 3)" events.ndjson
}

@test "a result over its limit enters as head and tail, the whole is in the run directory" {
	serve "$(script "$(bash_call 'seq 1 20000')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	[ "$(result_text 2 | wc -c)" -lt 40000 ]
	has "$(result_text 2)" "
1
2
"
	has "$(result_text 2)" 20000
	f=$(find "$T/state" -type f | head -n 1)
	[ -n "$f" ]
	has "$(result_text 2)" "$f"
	is "$(wc -l <"$f")" 20000
	is "$(stat -c %a "$(dirname "$f")")" 700
	[ "$(result .run_dir)" != null ]
}

@test "the model may search the spilled output by path, nobody writes there" {
	serve "$(script "$(bash_call 'seq 1 20000')" "$(call Grep "{\"pattern\":\"^19876$\",\"path\":\"$T/rd\",\"output_mode\":\"content\"}")" "$(call Write "{\"file_path\":\"$T/rd/new\",\"content\":\"x\"}")" "$(say end)")"
	q -p go --allowedTools Bash,Write --run-dir "$T/rd"
	exits 0
	has "$(result_text 3)" 19876
	is "$(result_is_error 4)" true
	[ ! -e "$T/rd/new" ]
}

@test "ten reads at once, in the order of the calls" {
	local n
	for n in 0 1 2 3 4 5 6 7 8 9; do echo "file $n" >"f$n"; done
	serve "$(script "$(jq -cn '{content: [range(10) | {tool_use: {name: "Read", input: {file_path: "f\(.)"}, id: "r\(.)"}}]}')" "$(say end)")"
	q -p go
	exits 0
	is "$(jq -r '[.messages[-1].content[].tool_use_id] | join("")' "$(request 2)")" r0r1r2r3r4r5r6r7r8r9
	for n in 0 9; do has "$(result_text 2 "$n")" "file $n"; done
}

@test "batch of sixty calls in one answer" {
	serve "$(script "$(jq -cn '{content: [range(60) | {tool_use: {name: "Bash", input: {command: "echo \(.) >>log"}, id: "b\(.)"}}]}')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(tr '\n' ' ' <log)" "$(seq -s ' ' 0 59) "
}
