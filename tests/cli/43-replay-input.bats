#!/usr/bin/env bats
# What came over stdin while a run was recorded comes from the record when it is replayed, at the same places; and so do
# the signals behind the first.

load ../lib/helpers
load ../lib/session

# record ARGUMENT...: a session that is kept
record() { open "$@" --record "$T/run.tar.zst"; }

# again ARGUMENT...: the same events and the same end, with neither stdin nor server nor key, in another directory
again() {
	local want=$rc
	[ -e "$T/recorded" ] || cp "$T/out" "$T/recorded"
	stop_server
	rm -rf "$T/elsewhere"
	mkdir "$T/elsewhere"
	cd "$T/elsewhere"
	BASE=''
	q_in /dev/null --replay "$T/run.tar.zst" --replay-strict "$@"
	[ "$rc" = "$want" ] || { show; return 1; }
	[ "$*" != --replay-tools ] || set -- no-hooks
	sed -i "s#\"cwd\":\"$T/work\"#\"cwd\":\"$T/elsewhere\"#" "$T/recorded"
	"$PY" "$LIB/same_events.py" "$T/recorded" "$T/out" "$@" || { cat "$T/err"; return 1; }
}
again_without() {
	again --replay-tools
	is "$(ls -A)" ''
}
entries() { tar --zstd -xOf "$T/run.tar.zst" --wildcards "$1"; }

@test "messages that came before, beside and behind the work, to be told at once, later or not at all" {
	serve "$(script "$(bash_call 'echo >started; [ -e "$HOME/go" ] || until [ -e go ]; do sleep 0.05; done')" "$(say one)" "$(say two)" "$(say three)")"
	record --allowedTools Bash --replay-user-messages
	user "a fact" '{"shouldQuery":false}'
	user first
	wait_for started
	user "for later" '{"priority":"later"}'
	user meanwhile '{"uuid":"11111111-2222-4333-8444-555555555555"}'
	ask r1 mcp_status # read behind them: both wait now
	wait_for answered r1
	touch go "$HOME/go"
	wait_for got_results 2
	user last
	wait_for got_results 3
	close
	is "$rc $(results)" "0 3"
	is "$(entries 'input/*' | jq -c '[.line != null, .end // false]' | tr '\n' ' ')" \
		"[true,false] [true,false] [true,false] [true,false] [true,false] [true,false] [false,true] "
	again_without
	is "$(ev 'select(.isReplay).message.content[0].text' | tr '\n' ,)" "a fact,first,meanwhile,for later,last,"
	again
}

@test "an interrupt in an answer, one while a call runs, a message that ends the work: and the session goes on" {
	serve "[{\"content\":[{\"text\":\"one\"},{\"text\":\"two\"}],\"stop_after\":5,\"no_end\":true,\"then\":\"hang\"},
		{\"content\":[$(bash_call 'echo >started; sleep 300' b1)]},
		{\"content\":[$(bash_call 'touch again; sleep 300' b2)]},{\"text\":\"hurried\"}]"
	record --allowedTools Bash --include-partial-messages
	user first
	wait_for grep -q one "$T/out"
	ask r1 interrupt
	wait_for got_results 1
	user second
	wait_for started
	ask r2 interrupt
	wait_for got_results 2
	user third
	wait_for test -e again
	user hurry '{"priority":"now"}'
	wait_for got_results 4
	close
	is "$rc" 0
	is "$(ev 'select(.type=="result").terminal_reason' | tr '\n' ' ')" "aborted_streaming aborted_tools aborted_tools completed "
	is "$(entries 'input/*' | jq -c 'select(.ends) | .running')" $'[]\n["toolu_2_0"]\n["toolu_3_0"]'
	again_without
	again
}

@test "an interrupt while hooks are asked, and the next message's hooks have their answers" {
	serve "$(script "$(say one)" "$(say two)" "$(say three)")"
	cat >stop.sh <<-'SH'
		[ -e asked ] || { touch asked; sleep 300; }
		[ -e blocked ] || { touch blocked; echo "go on" >&2; exit 2; }
	SH
	record --settings '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"sh stop.sh"}]}]}}'
	user first
	wait_for test -e asked
	ask r1 interrupt
	wait_for got_results 1
	user second
	wait_for got_results 2
	close
	is "$(nth 1 .terminal_reason) $(nth 2 .terminal_reason) $(nth 2 .result)" "aborted_tools completed three"
	again_without
}

@test "lines that were not understood, and requests that changed the session" {
	serve "$(script "$(say one)" "$(say two)")"
	record
	ask a set_model '{"model":"claude-haiku-4-5"}'
	ask b initialize '{"systemPrompt":[""],"appendSystemPrompt":"be brief"}'
	user first
	wait_for got_results 1
	printf 'nonsense\n{"type":"user","message":{"role":"user","content":"\xff"}}\n' >&"$IN"
	ask c set_model '{"model":"claude-opus-4-5"}'
	user second
	wait_for got_results 2
	close
	is "$rc" 0
	is "$(jq -r .model "$(request 1)")" claude-haiku-4-5
	lacks "$(jq -c .system "$(request 1)")" "Working directory"
	again
	is "$(ev 'select(.code=="input_line").text' | wc -l)" 2
}

@test "a file of lines, and what was told beside the first: none of it is needed" {
	serve "$(script "$(say one)" "$(say two)")"
	echo 'be brief' >CLAUDE.md
	echo attached >also.txt
	{ message first; message second '{"priority":"later"}'; } >"$T/lines"
	q_in "$T/lines" --input-format stream-json --memory auto --attach also.txt --record "$T/run.tar.zst"
	exits 0 completed
	is "$(jq '.messages[0].content | length' "$(request 1)")" 3
	again_without
	again
}

@test "a signal between two messages, and one before there was any" {
	serve "$(script "$(say one)")"
	record
	user first
	wait_for got_results 1
	kill -TERM "$(pid_of_it)"
	close
	is "$rc $(results)" "143 1"
	again
	rm "$T/in" "$T/recorded"
	cd "$T/work"
	serve '[]'
	record
	ask r initialize
	wait_for answered r
	kill -TERM "$(pid_of_it)"
	close
	is "$rc $(nth 1 .terminal_reason)" "143 aborted_tools"
	again
}

@test "the wall time that ends between two messages" {
	serve "$(script "$(say one)")"
	record --wall-time 2s
	user first
	wait_for got_results 1
	rc=0
	wait "$waited" || rc=$?
	end_of_input
	is "$rc" 41
	again
}

@test "a second signal comes where it came" {
	serve "$(script "$(bash_call 'trap "echo still here" TERM; echo >started; while :; do sleep 0.1; done' b1)")"
	record --allowedTools Bash --settings '{"hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"touch asked; sleep 300"}]}]}}'
	user first
	wait_for started
	kill -TERM "$(pid_of_it)"
	wait_for test -e asked
	kill -TERM "$(pid_of_it)"
	close
	is "$rc" 143
	is "$(entries 'interrupts/*' | jq -c '[.signal, .running, .asking]' | tr '\n' ' ')" '[15,["toolu_1_0"],false] [15,[],true] '
	again_without
}
