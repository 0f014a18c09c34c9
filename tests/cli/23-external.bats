#!/usr/bin/env bats
# Tools that the job brings along, TodoWrite, and the schema check behind them.

load ../lib/helpers

@test "another checker of JSON Schemas comes to the same verdicts" {
	"$PY" "$LIB/schema_rows.py" "$QUERN_SRC/tests/unit/json_schema.json"
}

# job_with TOOL-AS-JSON [MORE-YAML]: a job file with one tool of its own
job_with() {
	{ printf 'prompt: go\ntools: {external: [%s]}\n' "$1"; [ $# = 1 ] || printf '%s\n' "$2"; } >"$T/job.yaml"
}

LOOKUP='{"name":"lookup","description":"Looks something up.","command":["./lookup.sh"],"read_only":true,"input_schema":{"type":"object","properties":{"word":{"type":"string","minLength":1}},"required":["word"],"additionalProperties":false}}'
lookup_script() { printf '#!/bin/sh\n%s\n' "$1" >lookup.sh; chmod +x lookup.sh; }

@test "an external tool is offered, called and answered" {
	lookup_script 'read -r input; echo "got $input"; echo noise >&2'
	job_with "$LOOKUP"
	serve "$(script "$(call lookup '{"word":"a b"}')" "$(say end)")"
	q "$T/job.yaml"
	exits 0
	is "$(result_text 2)" 'got {"word": "a b"}'
	is "$(jq -c '.tools[] | select(.name=="lookup") | [.description, .input_schema.required]' "$(request 1)")" '["Looks something up.",["word"]]'
	has "$(ev 'select(.subtype=="init").tools[]')" lookup
	is "$(ev 'select(.type=="user").tool_use_result | "\(.exitCode) \(.stderr)"')" "0 noise"
}

@test "input that does not fit is told, and nothing runs" {
	lookup_script 'echo x >ran'
	job_with "$LOOKUP"
	serve "$(script "$(call lookup '{"wrd":"x"}')" "$(call lookup '{"word":["x"]}')" "$(say end)")"
	q "$T/job.yaml"
	exits 0
	is "$(result_is_error 2)" true
	has "$(result_text 2)" 'unknown property "wrd" (did you mean "word"?); input: property "word" is required but missing'
	has "$(result_text 3)" "word: expected string, got array"
	[ ! -e ran ]
}

@test "a failed external tool: the status, then stderr, then stdout; the calls behind it run" {
	lookup_script 'cat >/dev/null; echo out; echo why >&2; exit 4'
	job_with "$LOOKUP"
	serve "$(script "$(jq -cn --argjson a "$(call lookup '{"word":"x"}')" --argjson b "$(call Glob '{"pattern":"*.sh"}')" '{content: [$a, $b]}')" "$(say end)")"
	q "$T/job.yaml"
	exits 0
	is "$(result_is_error 2)" true
	is "$(result_text 2)" "Exit code 4"$'\n'"stderr:"$'\n'"why"$'\n'"stdout:"$'\n'"out"
	has "$(result_text 2 1)" lookup.sh
}

@test "an external tool that changes things needs a rule, else exit 2 names it" {
	lookup_script 'echo ran >ran'
	job_with "${LOOKUP/true/false}"
	serve "$(script "$(call lookup '{"word":"x"}')" "$(say end)")"
	q "$T/job.yaml"
	exits 2
	err_has "lookup"
	err_has "permissions.allow"
	is "$(requests)" 0
	q "$T/job.yaml" --allowedTools lookup
	exits 0
	is "$(cat ran)" ran
	q -p go --allowedTools lokup "$T/job.yaml"
	is "$rc" 2
	err_has "lokup"
}

@test "a program that is not there is exit 2" {
	job_with "$LOOKUP"
	serve '[]'
	q "$T/job.yaml"
	exits 2
	err_has "./lookup.sh"
}

@test "env names what the tool gets, also what others do not" {
	lookup_script 'echo "${DEPLOY_TOKEN-none} ${FOO-none} ${BAR-none}"'
	job_with "${LOOKUP/\"read_only\"/\"env\":[\"DEPLOY_TOKEN\",\"FOO\"],\"read_only\"}"
	serve "$(script "$(call lookup '{"word":"x"}')" "$(bash_call 'echo "${DEPLOY_TOKEN-none} ${FOO-none} ${BAR-none}"')" "$(say end)")"
	DEPLOY_TOKEN=tok-123456789 FOO=foo BAR=bar q "$T/job.yaml" --allowedTools Bash
	exits 0
	has "$(result_text 2)" " foo none"
	lacks "$(result_text 2)" "none foo"
	is "$(result_text 3)" "none foo bar"
	! grep -q tok-123456789 "$T/out" || false
}

@test "errors of a tool in the job file have their place" {
	printf 'prompt: go\ntools:\n  external:\n    - name: x\n      descripton: y\n      command: [true]\n      input_schema: {type: object, properties: {a: {typ: string}}}\n' >"$T/job.yaml"
	serve '[]'
	q "$T/job.yaml"
	is "$rc" 2
	err_has "job.yaml:5:7: tools.external[0].descripton: unknown key (did you mean description?)"
	err_has "job.yaml:7:52: tools.external[0].input_schema: at /properties/a: unknown keyword 'typ' (did you mean type?)"
	err_has "description is missing"
}

@test "--check prints a job with tools that is understood again" {
	lookup_script 'true'
	job_with "$LOOKUP"
	"$QUERN" --check "$T/job.yaml" >"$T/again.yaml"
	"$QUERN" --check "$T/again.yaml" | cmp - "$T/again.yaml"
	grep -q '"name":"lookup"' "$T/again.yaml"
}

@test "TodoWrite is offered where it is named, and keeps the list" {
	serve "$(script "$(call TodoWrite '{"todos":[{"content":"a","status":"pending","activeForm":"doing a"}]}')" "$(call TodoWrite '{"todos":[{"content":"a","status":"completed","activeForm":"doing a"}]}')" "$(call TodoWrite '{"todos":[{"content":"a","status":"ready"}]}')" "$(say end)")"
	q -p go --tools TodoWrite
	exits 0
	is "$(result_is_error 2)" false
	is "$(ev 'select(.type=="user").tool_use_result.oldTodos? | select(. != null) | map(.status) | join(",")' | tr '\n' '|')" "|pending|"
	has "$(result_text 4)" 'todos[0].status: expected one of "pending", "in_progress", "completed", got string "ready"'
	lacks "$("$QUERN" --check -p x | grep builtin)" TodoWrite
}

@test "an external tool runs in the sandbox; network: true opens the network for it alone" {
	! "$QUERN" --check -p x | grep -q '^# sandbox: not enforced' || skip "this kernel cannot enforce the sandbox"
	lookup_script 'cd ..; echo x >outside; exec bash -c "exec 3<>/dev/tcp/127.0.0.1/$1 && echo connected"'
	local both
	serve "$(script "$(call lookup '{"word":"x"}')" "$(say end)")"
	both=${LOOKUP/'["./lookup.sh"]'/"[\"./lookup.sh\",\"$PORT\"]"}
	job_with "$both"
	q "$T/job.yaml"
	exits 0
	has "$(result_text 2)" "Permission denied"
	lacks "$(result_text 2)" connected
	[ ! -e ../outside ]
	stop_server; rm -rf "$T/log"; mkdir "$T/log"
	serve "$(script "$(call lookup '{"word":"x"}')" "$(say end)")"
	both=${LOOKUP/'["./lookup.sh"]'/"[\"./lookup.sh\",\"$PORT\"]"}
	job_with "${both/'"read_only"'/'"network":true,"read_only"'}"
	q "$T/job.yaml"
	exits 0
	has "$(result_text 2)" connected
	[ ! -e ../outside ]
}

@test "what a tool puts out may be any bytes" {
	lookup_script 'printf "a\0b\377\360\237\230"; printf "\0\200" >&2'
	job_with "$LOOKUP"
	serve "$(script "$(call lookup '{"word":"x"}')" "$(say end)")"
	q "$T/job.yaml"
	exits 0
	is "$(result_text 2 | od -An -c | tr -d ' \n')" 'a357277275b357277275357277275\n'
}

# The first one waits for what the second one writes.
@test "external tools that change nothing run side by side, others wait for each other" {
	mkfifo meet
	lookup_script 'read -r input; case $input in *first*) read -r word <meet; echo "met $word" ;; *) echo second >meet ;; esac'
	job_with "$LOOKUP"
	serve "$(script "$(jq -cn --argjson a "$(call lookup '{"word":"first"}')" --argjson b "$(call lookup '{"word":"second"}')" '{content: [$a, $b]}')" "$(say end)")"
	q "$T/job.yaml"
	exits 0
	is "$(result_text 2 0)" "met second"
	lookup_script 'read -r input; case $input in *first*) sleep 0.2; echo first >>order ;; *) echo second >>order ;; esac'
	stop_server; rm -rf "$T/log"; mkdir "$T/log"
	job_with "${LOOKUP/true/false}" 'permissions: {allow: [lookup]}'
	serve "$(script "$(jq -cn --argjson a "$(call lookup '{"word":"first"}')" --argjson b "$(call lookup '{"word":"second"}')" '{content: [$a, $b]}')" "$(say end)")"
	q "$T/job.yaml"
	exits 0
	is "$(tr '\n' ' ' <order)" "first second "
}
