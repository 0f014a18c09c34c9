#!/usr/bin/env bats
# What was recorded is played again: the same events but for ids and times, and the first difference is named.

load ../lib/helpers

export ANTHROPIC_API_KEY=sk-ant-not-asked-for

# record ARGUMENT...: a run that is kept
record() { q -p go "$@" --record "$T/run.tar.zst"; }

# replay ARGUMENT...: plays it again, with neither server nor key
replay() {
	stop_server
	BASE=''
	cp "$T/out" "$T/recorded"
	unset ANTHROPIC_API_KEY
	q --replay "$T/run.tar.zst" "$@"
}
same() { "$PY" "$LIB/same_events.py" "$T/recorded" "$T/out" || { cat "$T/err"; return 1; }; }

# same_again CODE: a replay of what was just recorded has the same events, also where not a byte may differ
same_again() {
	[ "$rc" = "$1" ] || { show; return 1; }
	replay --replay-strict
	exits "$1"
	same
}

same_again_without() {
	[ "$rc" = "$1" ] || { show; return 1; }
	replay --replay-tools --replay-strict
	exits "$1"
	same
}

@test "tools run again, and all events are the same but for ids and times" {
	serve "$(script "$(bash_call 'echo little')" \
		'{"content":[{"text":"two"},{"tool_use":{"name":"Write","input":{"file_path":"a","content":"new\n"}}},{"tool_use":{"name":"Read","input":{"file_path":"/etc/passwd"}}}]}' \
		"$(call Glob '{"pattern":"*"}')" "$(say end)")"
	record --allowedTools Bash,Write
	rm a
	same_again 0
	is "$(cat a)" new
	is "$(result .session_id)" "$(tail -n 1 "$T/recorded" | jq -r .session_id)"
}

@test "neither a key nor a network is needed, and no HTTP library is loaded" {
	serve "$(script "$(say end)")"
	record
	stop_server
	unset ANTHROPIC_API_KEY
	BASE=''
	LD_DEBUG=files LD_DEBUG_OUTPUT="$T/ld" "$QUERN" --replay "$T/run.tar.zst" </dev/null >"$T/out" 2>"$T/err"
	rc=0
	exits 0 completed
	run ! grep -l libcurl "$T"/ld.*
	grep -q -l libarchive "$T"/ld.*
}

@test "overloads and their waits" {
	serve '[{"status":529,"error":{"type":"overloaded_error","message":"busy"}},
		{"status":429,"error":{"type":"rate_limit_error","message":"slow"},"headers":{"retry-after-ms":"20"}},
		{"text":"at last"}]'
	record --set model.max_retry_wait=1m
	is "$(ev 'select(.subtype=="api_retry")' | jq -s length)" 2
	same_again 0
}

@test "a stream that breaks, in front of content and behind it" {
	serve '[{"text":"half","stop_after":2,"no_end":true,"then":"close","headers":{"retry-after-ms":"5"}},
		{"content":[{"text":"half"},{"text":"of it"},{"text":"here"}],"stop_after":8,"piece":100,"no_end":true,"then":"close"},
		{"text":"whole"}]'
	record
	has "$(ev .subtype)" tombstone
	same_again 0
}

@test "an error event in the stream" {
	serve '[{"text":"half","stop_after":3,"then_error":{"type":"overloaded_error","message":"Overloaded"}},{"text":"whole"}]'
	record
	same_again 0
}

@test "a stream that stalls is ended by the watchdog, then and now" {
	serve '[{"text":"half","stop_after":3,"no_end":true,"then":"hang"},{"text":"whole"}]'
	record --set model.idle_timeout=1s
	has "$(ev 'select(.subtype=="api_retry").error')" ""
	same_again 0
}

@test "a server that is not there" {
	BASE=http://127.0.0.1:9
	record --set model.max_retries=1
	same_again 75
}

@test "an answer that is cut is asked for again, and then gone on with" {
	serve '[{"text":"part","stop_reason":"max_tokens"},{"text":"more","stop_reason":"max_tokens"},{"text":"whole"}]'
	record
	has "$(transitions)" max_output_tokens_recovery
	same_again 0
}

@test "another model takes over" {
	local busy='{"status":529,"error":{"type":"overloaded_error","message":"busy"},"headers":{"retry-after-ms":"5"}}'
	serve "[$busy,$busy,$busy,{\"text\":\"here I am\"}]"
	record -m claude-opus-5 --fallback-model claude-sonnet-5
	has "$(transitions)" model_fallback
	same_again 0
}

@test "a conversation that is compacted" {
	serve '{"window": 16000, "player": {"rounds": 12, "text": "Step {n}.", "answer": "all is done",
		"calls": [[{"name": "Bash", "input": {"command": "seq 1 1500; echo {n}"}}]]}}'
	record -m tiny --allowedTools Bash -t 200 --set context.window=16k --set context.microcompact_at=off \
		--set context.collapse_at=off
	has "$(ev .subtype)" compact_boundary
	same_again 0
	# a summary that is asked for at another time ends the replay, too
	replay --set context.autocompact_at=30%
	exits 50 replay_mismatch
	has "$(result '.errors[0]')" "request 1 (compact): "
}

@test "a run that failed for good, and one whose calls are denied" {
	serve '[{"tool_use":{"name":"Write","input":{"file_path":"a","content":"b"}}},
		{"status":401,"error":{"type":"authentication_error","message":"no such key"}}]'
	record
	same_again 20
}

@test "hooks run again" {
	serve "$(script "$(bash_call 'echo one')" "$(say end)" "$(say 'now really')")"
	cat >stop.sh <<-'SH'
		[ -e stopped ] || { touch stopped; echo "not yet" >&2; exit 2; }
	SH
	record --allowedTools Bash --settings '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"sh stop.sh"}]}],
		"UserPromptSubmit":[{"hooks":[{"type":"command","command":"echo and be brief"}]}]}}'
	has "$(transitions)" stop_hook_blocking
	rm stopped
	same_again 0
}

@test "a message that a hook put in front of the task is put there once, behind what was told" {
	serve "$(script "$(say end)")"
	echo remember >CLAUDE.md
	record --memory auto --settings '{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"echo \"{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"SessionStart\\\",\\\"initialUserMessage\\\":\\\"first this\\\"}}\""}]}]}}'
	is "$(jq -r '.messages[0].content[1:][].text' "$(request 1)" | tr '\n' ,)" "first this,go,"
	same_again 0
	replay --replay-tools --replay-strict
	exits 0 completed
}

@test "the task may have come from stdin and from files: it comes from the record" {
	serve "$(script "$(say end)")"
	echo remember >CLAUDE.md
	echo attached >file.txt
	echo 'from stdin' >"$T/in"
	q_in "$T/in" --memory auto -p "look at @file.txt" --record "$T/run.tar.zst"
	rm CLAUDE.md file.txt
	same_again 0
}

@test "a replay can be recorded, and that replayed" {
	serve "$(script "$(bash_call 'echo x')" "$(say end)")"
	record --allowedTools Bash
	exits 0
	replay --record "$T/again"
	exits 0
	same
	mv "$T/again" "$T/run.tar.zst"
	same_again 0
}

@test "a server that gives all calls the same id" {
	printf 'tape: 1\nanswers:\n' >"$T/same.yaml"
	for i in 1 2 3 4 5 6; do
		printf '  - {content: [{tool_use: {name: Bash, input: {command: "echo %s"}, id: call_0}}]}\n' $i >>"$T/same.yaml"
	done
	printf '  - {text: done}\n' >>"$T/same.yaml"
	q -p go --allowedTools Bash --replay "$T/same.yaml" --record "$T/same.tar.zst"
	exits 0 completed
	is "$(ev 'select(.type=="assistant").message.content[] | select(.type=="tool_use").id' | tr '\n' ' ')" \
		"call_0 call_0_2 call_0_3 call_0_4 call_0_5 call_0_6 "
	q --replay "$T/same.tar.zst" --replay-strict
	exits 0 completed
}

@test "another directory will do" {
	serve "$(script "$(bash_call 'pwd >/dev/null; echo x')" "$(say end)")"
	record --allowedTools Bash
	exits 0
	mkdir "$T/elsewhere"
	cd "$T/elsewhere"
	replay
	exits 0
	is "$(result .result)" end
	is "$(ev 'select(.subtype=="init").cwd')" "$T/elsewhere"
}

@test "another result is a notice, told once" {
	serve "$(script "$(bash_call 'cat f' b1)" "$(bash_call 'echo more')" "$(say end)")"
	echo then >f
	record --allowedTools Bash
	exits 0
	echo now >f
	replay
	exits 0
	is "$(ev 'select(.code=="replay_result_differs").text' | wc -l)" 1
	has "$(ev 'select(.code=="replay_result_differs").text')" "'then' was recorded, 'now' is asked"
	replay --replay-strict
	exits 50 replay_mismatch
	has "$(result '.errors[0]')" "request 2 (main): messages[2].content[0].content: 'then' was recorded, 'now' is asked"
}

@test "another request ends it, and the first difference is named" {
	serve "$(script "$(bash_call 'echo x')" "$(say end)")"
	record --allowedTools Bash
	exits 0
	replay -p stop
	exits 50 replay_mismatch
	has "$(result '.errors[0]')" "request 1 (main): messages[0].content[0].text: 'go' was recorded, 'stop' is asked"
	is "$(result .num_turns)" 0
	replay -m claude-opus-5
	exits 50 replay_mismatch
	has "$(result '.errors[0]')" "request 1 (main): model: '"
	replay --tools Bash --append-system-prompt "Be brief."
	exits 50 replay_mismatch
	replay -t 1
	exits 10 max_turns
	is "$(ev 'select(.code=="replay_unused").text')" "the record holds 1 exchange that the replay did not ask for"
}

@test "a bundle that is cut off is played as far as it goes" {
	serve "$(script "$(bash_call 'echo x')" "$(bash_call 'echo y')" "$(say end)")"
	record --allowedTools Bash
	exits 0
	head -c $(($(stat -c %s "$T/run.tar.zst") * 2 / 3)) "$T/run.tar.zst" >"$T/cut"
	mv "$T/cut" "$T/run.tar.zst"
	replay
	exits 50 replay_mismatch
	err_has "cut off"
	has "$(result '.errors[0]')" "the record holds"
}

@test "tools that are not run return what the record says" {
	serve "$(script "$(bash_call 'echo x >>ran; cat f' b1)" "$(call Read '{"file_path":"nothing"}' b2)" \
		"$(call Write '{"file_path":"w","content":"w"}' b3)" "$(bash_call 'seq 1 20000; exit 3' b4)" "$(say end)")"
	echo then >f
	record --allowedTools Bash
	exits 0
	is "$(ev 'select(.subtype=="permission_denied").tool_use_id')" b3
	rm f ran
	replay --replay-tools --replay-strict
	exits 0 completed
	same
	[ ! -e ran ]
}

@test "without tools their hooks are not run either, what they said is said" {
	serve "$(script "$(bash_call 'echo x' b1)" "$(say end)")"
	cat >hook.json <<-'JSON'
		{"hooks":{"PostToolUse":[{"hooks":[{"type":"command","command":"echo >>ran; echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"well done\"}}'"}]}],
		"Stop":[{"hooks":[{"type":"command","command":"echo >>ran"}]}]}}
	JSON
	record --allowedTools Bash --settings hook.json
	exits 0
	has "$(jq -c '.messages[2].content[1]' "$(request 2)")" "well done"
	rm ran
	replay --replay-tools --replay-strict
	exits 0
	same
	[ ! -e ran ]
}

@test "the job of a bundle can be looked at" {
	serve "$(script "$(say end)")"
	record -t 7
	replay --check
	is "$rc" 0
	has "$(cat "$T/out")" "max_turns: 7"
	has "$(cat "$T/out")" 'prompt: "go"'
}

@test "what is no bundle, or not whole, is exit 2" {
	serve "$(script "$(say end)")"
	record
	exits 0
	head -c 100 "$T/run.tar.zst" >"$T/x"
	mv "$T/x" "$T/run.tar.zst"
	replay
	is "$rc" 2
	err_has run.tar.zst
	rm "$T/run.tar.zst"
	q --replay "$T/run.tar.zst" -p x
	exits 2
	err_has run.tar.zst
	q -p x --replay-strict
	exits 2
	err_has "replay_strict"
}

@test "a file of another kind is said to be that, whoever is to read it" {
	echo words >"$T/words"
	tar -C "$T" --zstd -cf "$T/other.tar.zst" words
	tar -C "$T" -cf "$T/other.tar" words
	q --replay "$T/other.tar.zst" -p go
	is "$rc" 2
	err_has "this is an archive, but not the record of a run: it begins with 'words'"
	q --resume "$T/other.tar.zst" -p go
	exits 2
	err_has "resume: '$T/other.tar.zst' is an archive, but not the record of a run"
	q --replay "$T/other.tar" -p go
	exits 2
	err_has "replay: '$T/other.tar' is no text: it is neither a tape nor a record of a run"
	q --replay "$T/missing" -p go
	exits 2
	err_has "replay: cannot open '$T/missing'"
}

@test "without tools nothing runs and no file is read, and not a byte of the requests is another one" {
	mkdir -p sub
	echo 'in sub: be brief' >sub/CLAUDE.md
	echo text >sub/f
	cat >hook.json <<-'JSON'
		{"hooks":{"PostToolUse":[{"hooks":[{"type":"command","command":"echo >>ran; echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"well done\"}}'"}]}],
		"UserPromptSubmit":[{"hooks":[{"type":"command","command":"echo >>ran; echo and be brief"}]}],
		"Stop":[{"hooks":[{"type":"command","command":"echo >>ran; [ -e stopped ] || { touch stopped; echo not yet >&2; exit 2; }"}]}]}}
	JSON
	serve "$(script "$(call Read '{"file_path":"sub/f"}' r1)" "$(bash_call 'exit 3' b1)" "$(say end)" "$(say 'now really')")"
	record --allowedTools Bash --settings hook.json --memory auto
	exits 0
	has "$(jq -c .messages "$(request 2)")" "in sub: be brief"
	has "$(transitions)" stop_hook_blocking
	stop_server
	cp "$T/out" "$T/recorded"
	mkdir "$T/elsewhere"
	cd "$T/elsewhere"
	BASE=''
	q --replay "$T/run.tar.zst" --replay-tools --replay-strict
	exits 0
	is "$(result .result)" "now really"
	is "$(transitions)" "$(jq -r 'select(.subtype=="quern_transition").reason' "$T/recorded" | tr '\n' ' ' | sed 's/ $//')"
	lacks "$(ev 'select(.subtype=="quern_notice").code')" replay_
	is "$(ls -A)" ''
}

@test "memory of a directory that is touched is told again, and no file that was attached need be there" {
	mkdir -p sub
	echo 'be brief' >CLAUDE.md
	echo 'in sub: be kind' >sub/CLAUDE.md
	echo text >sub/f
	echo spec >spec
	serve "$(script "$(call Read '{"file_path":"sub/f"}')" "$(say end)")"
	record --memory auto --attach spec
	has "$(jq -c .messages "$(request 2)")" "in sub: be kind"
	rm spec
	same_again 0
}

@test "without tools their programs need not be there" {
	printf '#!/bin/sh\necho looked\n' >lookup.sh
	chmod +x lookup.sh
	cat >"$T/job.yaml" <<-'YAML'
		prompt: go
		tools:
		  external:
		    - {name: lookup, description: Looks it up., command: [./lookup.sh], read_only: true, input_schema: {type: object}}
	YAML
	serve "$(script "$(call lookup '{}')" "$(say end)")"
	q "$T/job.yaml" --record "$T/run.tar.zst"
	exits 0
	is "$(result_text 2)" looked
	rm lookup.sh
	same_again_without 0
	# with tools it is missed, by name
	q --replay "$T/run.tar.zst"
	exits 2
	err_has "lookup cannot be offered: './lookup.sh' is no executable file in the workspace"
}

@test "without tools: files behind a summary, results that are cut, and limits of calls" {
	for n in 1 2 3; do seq 1 300 >"f$n"; done
	serve '{"window": 16000, "player": {"rounds": 12, "text": "Step {n}.", "answer": "all is done",
		"calls": [[{"name": "Read", "input": {"file_path": "f1"}}, {"name": "Read", "input": {"file_path": "f2"}}], [{"name": "Bash", "input": {"command": "seq 1 1500; echo {n}"}}]]}}'
	record -m tiny --allowedTools Bash -t 200 --set context.window=16k --set context.microcompact_at=off --set context.collapse_at=off
	has "$(ev .subtype)" compact_boundary
	rm f1 f2
	same_again_without 0
	serve "$(script "$(call Glob '{"pattern":"*"}')" "$(call Glob '{"pattern":"*"}')" "$(say end)")"
	record --set limits.max_tool_calls=1
	same_again_without 13
}

@test "without tools: a result comes where it came, in the answer or behind it" {
	serve "[{\"content\":[$(bash_call 'echo quick' b1),$(bash_call "touch begun; until grep -q '\"stop_reason\":\"tool_use\"' $T/out; do sleep 0.02; done" b2),$(bash_call 'echo more' b3),{\"text\":\"and so on\"}],\"piece\":10000,\"hold\":[[13,\"$T/work/begun\"]]},$(say end)]"
	record --allowedTools Bash
	is "$(ev 'select(.subtype=="quern_tool_start" or .message.stop_reason=="tool_use") | .tool_use_id // "accepted"' | tr '\n' ' ')" "toolu_1_0 toolu_1_1 accepted toolu_1_2 "
	is "$(tar --zstd -xOf "$T/run.tar.zst" --wildcards 'answers/*' | jq -r 'select(.what=="tool") | "\(.key) \(.lines > 0) \(.bytes > 0)"' | tr '\n' ,)" \
		"toolu_1_0 true true,toolu_1_1 true false,toolu_1_2 true false,"
	same_again_without 0
	# records of before do not tell it
	"$PY" - "$T/run.tar.zst" "$T/before" "$LIB" <<-'PY'
		import sys
		sys.path.insert(0, sys.argv[3])
		from odd_records import lines, load, save
		less = lines("answers/", lambda a: {k: v for k, v in a.items() if k not in ("lines", "bytes")})
		save(f"{sys.argv[2]}.tar.zst", less(load(sys.argv[1])))
	PY
	q --replay "$T/before.tar.zst" --replay-tools --replay-strict
	exits 0 completed
}

@test "without tools: of calls side by side each comes in front of the lines that it came in front of" {
	cat >slow <<-SH
		#!/bin/sh
		until grep -q tool_result $T/out; do sleep 0.02; done
		echo at last
	SH
	chmod +x slow
	cat >"$T/job.yaml" <<-'YAML'
		prompt: go
		permissions: {allow: [Bash]}
		tools:
		  builtin: [Glob, Bash]
		  external:
		    - {name: slow, description: Waits., command: [./slow], read_only: true, input_schema: {type: object}}
	YAML
	serve "$(script "{\"content\":[$(call Glob '{"pattern":"*"}' g1),$(call slow '{}' s1),$(bash_call 'echo x' b1)]}" "$(say end)")"
	q "$T/job.yaml" --record "$T/run.tar.zst"
	is "$(ev 'select(.subtype=="quern_tool_start" or .type=="user") | .tool_use_id // .message.content[0].tool_use_id' | tr '\n' ' ')" "g1 toolu_1_2 s1 toolu_1_2 "
	same_again_without 0
}

@test "without tools: that a call starts is told when its hooks had been asked" {
	echo "cat >input; ! grep -q second input || until grep -q tool_result $T/out; do sleep 0.02; done" >ask.sh
	serve "$(script "{\"content\":[$(bash_call 'echo first'),$(bash_call 'echo second')]}" "$(say end)")"
	record --allowedTools Bash --settings '{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"sh ask.sh"}]}]}}'
	is "$(ev 'select(.subtype=="quern_tool_start" or .type=="user") | .tool_use_id // "result"' | tr '\n' ' ')" \
		"toolu_1_0 result toolu_1_1 result "
	same_again_without 0
}

@test "of several runs in a record the first is replayed, and that is said; one that went on is refused" {
	serve "$(script "$(say one)" "$(say two)")"
	local f=$T/run.tar.zst
	q -p go --record "$f"
	q -p more --resume "$f" --record "$T/b2"
	exits 0
	cp "$f" "$T/both"
	serve "$(script "$(say two)")"
	q -p more --resume "$T/both" --record "$T/both"
	exits 0
	stop_server
	BASE=''
	q --replay "$T/both"
	exits 0
	is "$(result .result)" one
	err_has "holds 2 runs, each of which goes on from the one before: the first is replayed"
	q --replay "$T/b2"
	is "$rc" 2
	err_has "the run in it went on from another record, and cannot be replayed without its beginning"
}

# on_another_machine ARGUMENT...: nothing that the run had is there: no key, no file, no program, no home, nor, if that can
# be, the user; what stands for the others is in $M
on_another_machine() {
	local as=()
	M=$(mktemp -d "${BATS_TMPDIR:-/tmp}/another.XXXXXX")
	chmod 755 "$M"
	mkdir "$M/tmp" "$M/here"
	cp "$QUERN" "$M/quern"
	cp "$T/run.tar.zst" "$M/b"
	if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
		chown -R 65534:65534 "$M"
		as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	fi
	stop_server
	cp "$T/out" "$T/recorded"
	rc=0
	(cd "$M/here" && "${as[@]}" env -i PATH=/nowhere TMPDIR="$M/tmp" ASAN_OPTIONS="$ASAN_OPTIONS" \
		"$M/quern" --replay "$M/b" "$@" </dev/null >"$T/out" 2>"$T/err") || rc=$?
}

@test "on another machine the bundle is all that is needed" {
	mkdir repo more keys
	echo old >repo/f
	echo 'be brief' >repo/AGENTS.md
	echo more >more/f
	echo spec >spec
	echo sk-ant-0123456789abcdef >keys/key
	chmod 600 keys/key
	printf '#!/bin/sh\necho looked\n' >repo/lookup
	chmod +x repo/lookup
	tar -C repo -cf repo.tar .
	cat >"$T/job.yaml" <<-YAML
		prompt: go
		memory: auto
		attach: [spec]
		model: {api_key_file: keys/key}
		workspace: {archive: repo.tar, add_dirs: [more], save: changed.tar.zst, patch: out.patch}
		permissions: {allow: [Bash, Write]}
		sandbox: {write: [$T/work/more]}
		tools:
		  builtin: [Bash, Read, Grep, Write]
		  external:
		    - {name: lookup, description: Looks it up., command: [./lookup], read_only: true, input_schema: {type: object}}
		hooks: {Stop: [{hooks: [{type: command, command: "echo >>asked"}]}]}
		verify: {command: [test, -e, new]}
	YAML
	serve "$(script "{\"content\":[$(call lookup '{}'),$(call Grep '{"pattern":"ol"}')]}" \
		"$(call Write '{"file_path":"new","content":"n\n"}')" "$(bash_call 'rg --version >/dev/null; cat f; seq 20000')" "$(say end)")"
	q "$T/job.yaml" --record "$T/run.tar.zst"
	exits 0
	is "$(result '.workspace | [.added, .saved != null, .patch != null] | join(" ")')" "2 true true"
	rm -rf repo more keys spec repo.tar changed.tar.zst out.patch
	on_another_machine --replay-tools --replay-strict
	local left
	left=$(ls -A "$M/here" "$M/tmp")
	rm -rf "$M"
	exits 0 completed
	is "$left" "$M/here:

$M/tmp:"
	is "$(ls -A)" ''
	is "$(ev 'select(.code=="replay_workspace").code')" replay_workspace
	lacks "$(result keys)" workspace
	local was is
	was=$(head -n 1 "$T/recorded" | jq -r .cwd) is=$(head -n 1 "$T/out" | jq -r .cwd)
	jq -c --arg was "$was" --arg is "$is" 'if .type=="result" then del(.workspace, .run_dir) else . end
		| if .cwd == $was then .cwd = $is else . end' "$T/recorded" >"$T/wanted"
	jq -c 'if .type=="result" then del(.run_dir) else . end' "$T/out" >"$T/got"
	"$PY" "$LIB/same_events.py" "$T/wanted" "$T/got" no-hooks
}

@test "records that nobody wrote so end in one line, and neither crash nor hang" {
	serve "$(script "$(bash_call 'cat f' b1)" "$(call Read '{"file_path":"f"}' r1)" "$(say end)")"
	echo then >f
	record --allowedTools Bash --settings '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}'
	exits 0
	stop_server
	BASE='' LIMIT=20
	mkdir "$T/odd"
	for name in $("$PY" "$LIB/odd_records.py" "$T/run.tar.zst" "$T/odd"); do
		for how in '' --replay-tools; do
			# shellcheck disable=SC2086 # one word or none
			q --replay "$T/odd/$name.tar.zst" -v $how --set limits.wall_time=10s
			case $rc in
			0 | 2 | 20 | 50 | 75) ;;
			30) [ $name = answers-odd ] || { echo "$name $how"; show; return 1; } ;;
			143) case $name in interrupt-*) ;; *) echo "$name $how"; show; return 1 ;; esac ;;
			*) echo "$name $how"; show; return 1 ;;
			esac
			[ "$rc" = 0 ] || [ -s "$T/err" ] || { echo "$name $how: says nothing"; return 1; }
			run ! grep -q $'\x1b' "$T/err"
			echo "$name: $rc: $(tail -n 1 "$T/err")" >>"$T/told"
		done
	done
	for line in "session-of-path: 2: " "interrupt-kill: 2: " "name-up: 2: " "negative-ordinal: 2: " "request-of-none: 2: " \
		"prompt-behind: 2: " "interrupt-early: 143: " "no-responses: 50: " "place-late: 0: " "place-bytes: 0: " \
		"place-minus: 0: "; do
		is "$(grep -c "^$line" "$T/told")" 2
	done
	has "$(cat "$T/told")" "quern.json: 'session_id' is no UUID"
	has "$(cat "$T/told")" "the first request of the bundle: offset 0"
}
