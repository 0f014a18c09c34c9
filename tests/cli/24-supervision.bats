#!/usr/bin/env bats
# What a tool starts cannot harm the run, and does not outlive it.

load ../lib/helpers

# Everything that a tool starts here has the mark in its environment.
extra_setup() {
	MARK="MARK_$$_$BATS_TEST_NUMBER=$RANDOM$RANDOM"
	export "${MARK?}"
}

# Processes that bear the mark and are not of this test itself; zombies have no environment any more.
marked() {
	local p n=0
	for p in /proc/[0-9]*; do
		[ "$(head -c 200 "$p/cmdline" 2>/dev/null | tr '\0' ' ')" != "" ] || continue
		tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qxF "$MARK" || continue
		case $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null) in *sleep\ 98[0-9][0-9]*|*bomb*|*yes*) n=$((n + 1)) ;; esac
	done
	echo $n
}
none_left() { [ "$(marked)" = 0 ]; }

@test "a fork bomb is an error result, nothing of it is left, and the run goes on" {
	serve "$(script "$(bash_call 'b() { [ $1 -gt 0 ] || exec sleep 9800; b $(($1 - 1)) | b $(($1 - 1)) & }; b 10; sleep 9800')" "$(bash_call 'echo alive')" "$(say end)")"
	q -p go --allowedTools Bash --set sandbox.max_processes=200
	exits 0
	is "$(result_is_error 2)" true
	has "$(result_text 2)" "more than 200"
	is "$(result_text 3)" alive
	wait_for none_left
}

# It would end at a thousand by itself: a machine must survive a test that fails.
@test "a bomb whose parts leave session and parents is ended too" {
	cat >bomb.sh <<-'SH'
		[ "$1" -gt 0 ] || exec sleep 9801
		for i in 1 2 3; do (setsid sh ./bomb.sh $(($1 - 1)) >/dev/null 2>&1 &); done
		exec sleep 9801
	SH
	serve "$(script "$(bash_call 'sh ./bomb.sh 6; sleep 9802')" "$(bash_call 'echo alive')" "$(say end)")"
	q -p go --allowedTools Bash --set sandbox.max_processes=200
	exits 0
	is "$(result_is_error 2)" true
	has "$(result_text 2)" "more than 200"
	is "$(result_text 3)" alive
	wait_for none_left
}

@test "many processes below the limit are nobody's business" {
	one_call "$(bash_call 'for i in $(seq 100); do sleep 0.6 & done; wait; echo all')" --allowedTools Bash --set sandbox.max_processes=150
	exits 0
	is "$(result_text 2)" all
}

@test "a file over 4 GiB is an error result" {
	one_call "$(bash_call 'trap "rm -f big" EXIT; truncate -s 10G big; echo $?')" --allowedTools Bash
	exits 0
	has "$(result_text 2)" "File size limit exceeded"
	is "$(result_text 2 | sed "/^$/d" | tail -n 1)" 153
	stop_server && rm -rf "$T/log" && mkdir "$T/log"
	one_call "$(bash_call 'dd if=/dev/zero of=big bs=1 count=1 seek=10G status=none')" --allowedTools Bash
	exits 0
	is "$(result_is_error 2)" true
	[ ! -e big ] || [ "$(stat -c %s big)" -le 4294967296 ]
}

@test "a shell begins where the last one ended, within the working directories" {
	mkdir -p sub "$T/other/in"
	serve "$(script "$(bash_call 'cd sub; export FOO=1')" "$(bash_call 'pwd; echo "foo=$FOO"')" \
		"$(bash_call "cd '$T/other/in'")" "$(bash_call 'pwd; cd /')" "$(bash_call pwd)" "$(say end)")"
	q -p go --allowedTools Bash --add-dir "$T/other"
	exits 0
	is "$(result_text 3 | head -n 2 | paste -sd ' ')" "$PWD/sub foo="
	is "$(result_text 5 | tail -n 1)" "Shell cwd was reset to $PWD"
	has "$(result_text 5)" "$T/other/in"
	is "$(result_text 6)" "$PWD"
}

@test "files that a person's shells run first are not run by tools" {
	echo 'echo intruder' >"$T/start.sh"
	export BASH_ENV=$T/start.sh ENV=$T/start.sh
	one_call "$(bash_call 'echo "[$BASH_ENV$ENV]"; sh -c "echo sh"')" --allowedTools Bash
	exits 0
	is "$(result_text 2)" "$(printf '[]\nsh')"
}

@test "a background command is answered at once, writes to a file, and is ended with the run" {
	serve "$(script "$(call Bash "$(jq -cn '{command: "echo begun; setsid sleep 9803 & sleep 9804", run_in_background: true}')")" \
		"$(bash_call 'echo front')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	has "$(result_text 2)" bash_1
	is "$(result_text 3)" front
	local file
	file=$(ev 'select(.type=="user").quern_output_file // empty')
	has "$(cat "$file")" "[bash_1: ended with the run]"
	is "$(ev 'select(.type=="user").tool_use_result.backgroundTaskId // empty')" bash_1
	has "$(ev 'select(.subtype=="quern_notice").text')" "bash_1 (echo begun; setsid sleep"
	err_has "background commands were ended with the run: bash_1"
	none_left
	is "$(result .run_dir)" "$(dirname "$file")"
}

@test "TaskStop ends a background command; it is offered with Bash and not without" {
	serve "$(script "$(call Bash '{"command":"sleep 9805","run_in_background":true}')" \
		"$(call TaskStop '{"task_id":"bash_1"}')" "$(say end)")"
	q -p go --tools Bash --allowedTools Bash
	exits 0
	has "$(result_text 3)" "bash_1 is being ended"
	is "$(jq -c '[.tools[].name]' "$(request 1)")" '["Bash","TaskStop"]'
	stop_server && rm -rf "$T/log" && mkdir "$T/log"
	serve "$(script "$(say end)")"
	q -p go --disallowedTools Bash
	exits 0
	is "$(ev 'select(.subtype=="init").tools | index("TaskStop")')" null
}

survivors() { "$PY" "$LIB/survivors.py" "$QUERN" "$@"; }

@test "killed at a random moment, twenty times: nothing that it started is left" {
	survivors quern 20
}

@test "its second process killed at a random moment: internal_error, and nothing is left" {
	survivors supervisor 8
}

@test "interrupted like a terminal and a batch system do it: a result, and nothing is left" {
	survivors signals 8
}

@test "without a sandbox a command may be a set-user-ID program" {
	[ "$(id -u)" = 0 ] || skip "only root can make one"
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" 2>/dev/null
	chmod 1777 "$T/tmp" "$T/work" "$T/state" "$T/home"
	cp "$(command -v id)" who && chmod 4755 who
	cp "$QUERN" "$T/quern" && chmod 755 "$T/quern"
	as_user() { setpriv --reuid 54321 --regid 54321 --clear-groups "$@"; }
	as_user "$T/quern" --version >/dev/null && as_user ./who -u || skip "another user cannot come here"
	[ "$(as_user ./who -u)" = 0 ] || skip "no set-user-ID programs here"
	serve "$(script "$(bash_call './who -u')" "$(bash_call 'true && ./who -u')" "$(say end)")"
	rc=0
	as_user "$T/quern" --base-url "$BASE" -p go --allowedTools Bash --sandbox off </dev/null >"$T/out" 2>"$T/err" || rc=$?
	exits 0
	is "$(result_text 2)" 0
	is "$(result_text 3)" 0
}
