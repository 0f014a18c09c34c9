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
