#!/usr/bin/env bats
# The system prompt, plan mode, and which tools there are.

load ../lib/helpers

system_of() { jq -r '[.system[].text] | join("")' "$(request "${1:-1}")"; }
offered() { jq -r '[.tools[]?.name] | join(" ")' "$(request 1)"; }
again() { stop_server; rm -rf "$T/log"; mkdir "$T/log"; }

@test "the built-in system prompt says where and when it works, the same in every request" {
	export SOURCE_DATE_EPOCH=86400
	mkdir .git "$T/more"
	serve "$(script "$(call Glob '{"pattern":"*"}')" "$(say end)")"
	q -p go --add-dir "$T/more"
	exits 0
	has "$(system_of)" "You are quern"
	has "$(system_of)" "Working directory: $(pwd -P) (in a git repository)
Added directory: $(cd "$T/more" && pwd -P)
Platform: $(uname -s) $(uname -m)
Date: 1970-01-02"
	is "$(system_of 2)" "$(system_of)"
}

@test "one's own system prompt takes its place, text can be appended, and there can be none" {
	serve "$(script "$(say a)" "$(say b)" "$(say c)" "$(say d)")"
	q -p go --system-prompt "You are a parrot."
	exits 0
	is "$(system_of 1)" "You are a parrot."
	q -p go --system-prompt "You are a parrot." --append-system-prompt "Say nothing."
	exits 0
	is "$(system_of 2)" "You are a parrot.

Say nothing."
	q -p go --append-system-prompt "Answer in verse."
	exits 0
	has "$(system_of 3)" "You are quern"
	has "$(system_of 3)" "

Answer in verse.

Working directory: "
	q -p go --system-prompt ""
	exits 0
	is "$(jq 'has("system")' "$(request 4)")" false
}

@test "plan mode reads and says that it must not change anything" {
	echo content >a.txt
	serve "$(script "$(call Read "{\"file_path\":\"$PWD/a.txt\"}")" "$(bash_call 'ls; cat a.txt')" "$(bash_call 'rm a.txt')" "$(bash_call 'echo x >a.txt')" "$(call Write "{\"file_path\":\"$PWD/b.txt\",\"content\":\"x\"}")" "$(say "the plan")")"
	q -p go --permission-mode plan --allowedTools 'Edit,Bash(rm *)'
	exits 0
	is "$(result .result)" "the plan"
	has "$(system_of)" "This run is for planning"
	has "$(result_text 2)" content
	is "$(result_text 3)" "a.txt
content"
	is "$(result_is_error 4)" true
	is "$(result_is_error 5)" true
	is "$(result_is_error 6)" true
	is "$(cat a.txt)" content
	[ ! -e b.txt ]
	is "$(result '[.permission_denials[].tool_name] | join(" ")')" "Bash Bash Write"
}

@test "plan mode with one's own system prompt is told all the same, unless there is to be none" {
	serve "$(script "$(say a)" "$(say b)")"
	q -p go --permission-mode plan --system-prompt Mine.
	exits 0
	has "$(system_of)" "Mine.

This run is for planning"
	q -p go --permission-mode plan --system-prompt ""
	exits 0
	is "$(jq 'has("system")' "$(request 2)")" false
}

@test "plan mode with tools that only read, and with tools that could never run" {
	serve "$(script "$(say a)")"
	q -p go --permission-mode plan --tools Read,Grep
	exits 0
	is "$(offered)" "Read Grep"
	again
	q -p go --permission-mode plan --tools Read,Write
	exits 2 turn_setup_failed
	err_has Write
	is "$(requests)" 0
}

@test "--tools says which tools there are: one, none, unknown" {
	serve "$(script "$(call Grep '{"pattern":"x"}')" "$(say end)" "$(say end)")"
	q -p go --tools Read
	exits 0
	is "$(offered)" "Read"
	has "$(result_text 2)" "No such tool available: Grep"
	q -p go --tools ""
	exits 0
	is "$(jq 'has("tools")' "$(request 3)")" false
	q -p go --tools Reed
	exits 2 turn_setup_failed
	err_has Read
}
