#!/usr/bin/env bats
# The Bash tool: its own shell, no terminal, no stdin, bounded in time and output.

load ../lib/helpers

bash_run() { one_call "$(bash_call "$1")" --allowedTools Bash; exits 0; }
again() { stop_server; rm -rf "$T/log"; mkdir "$T/log"; }

@test "stdout and stderr come interleaved; a failure starts with its exit code" {
	bash_run 'echo out; echo err >&2; exit 4'
	is "$(result_text 2 | head -n 1)" "Exit code 4"
	has "$(result_text 2)" "out
err"
	is "$(result_is_error 2)" true
}

@test "no output is a short note, not an empty text" {
	bash_run true
	[ -n "$(result_text 2)" ]
}

@test "a signal is told" {
	bash_run 'kill -9 $$'
	is "$(result_is_error 2)" true
	has "$(result_text 2)" 9
}

@test "stdin is empty: what reads it gets end of file at once" {
	local c
	for c in 'cat /dev/stdin; echo end' 'read -r x; echo "x=$x end"' 'printf "Continue? "; read a; echo "a=$a end"'; do
		bash_run "$c"
		has "$(result_text 2)" end
		again
	done
}

@test "the program's own stdin is not eaten by a tool" {
	serve "$(script "$(bash_call 'cat')" "$(say end)")"
	printf 'a\nb\n' >"$T/list"
	rc=0
	{ timeout 20 "$QUERN" --base-url "$BASE" -n -p x --allowedTools Bash >"$T/out" 2>"$T/err" || rc=$?; read -r next; } <"$T/list"
	exits 0
	is "$next" a
}

@test "no terminal, with or without one of ours" {
	serve "$(script "$(bash_call 'read x </dev/tty; echo "got $x"')" "$(say end)")"
	cat >"$T/run.sh" <<-SH
		timeout 20 "$QUERN" --base-url "$BASE" -p hi --allowedTools Bash >"$T/out" 2>"$T/err"; echo \$? >"$T/rc"
	SH
	timeout 25 script -qec "bash $T/run.sh" /dev/null </dev/null >/dev/null 2>&1 3>&-
	is "$(cat "$T/rc")" 0
	has "$(result_text 2)" "/dev/tty"
}

@test "pagers and editors do not wait" {
	serve "$(script "$(bash_call 'git init -q r && cd r && git config user.email a@example.invalid && git config user.name a && for i in 1 2 3; do echo $i >f; git add f; git commit -qm "c $i"; done; git log --format=%s')" "$(bash_call 'cd r && echo y >f && git add f && git commit')" "$(bash_call 'echo "$PAGER|$GIT_PAGER|$GIT_TERMINAL_PROMPT|$DEBIAN_FRONTEND"')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	has "$(result_text 2)" "c 1"
	is "$(result_text 4 | head -n 1)" "cat|cat|0|noninteractive"
}

@test "where a program ends is not where the shell ends" {
	serve "$(script "$(bash_call 'mkdir -p d/e && printf "all:\n\t@true\n" >d/Makefile && git init -q d; pwd')" "$(bash_call 'mkdir -p d/f/g')" \
		"$(bash_call 'pwd; make -s -C d')" "$(bash_call 'pwd; git -C d status --short')" "$(bash_call 'pwd; cd d/e && make -s -C ..')" \
		"$(bash_call 'pwd')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(result_text 2)" "$(result_text 4 | head -n 1)"
	is "$(result_text 4 | head -n 1)" "$(result_text 5 | head -n 1)"
	is "$(result_text 5 | head -n 1)" "$(result_text 6 | head -n 1)"
	is "$(result_text 7)" "$(result_text 6 | head -n 1)/d/e"
}

@test "a timeout ends the group and says how long it was" {
	one_call "$(call Bash '{"command":"echo begun; sleep 301 & echo $! >child; sleep 302","timeout":1500}')" --allowedTools Bash
	exits 0
	is "$(result_is_error 2)" true
	has "$(result_text 2)" begun
	has "$(result_text 2)" "timed out"
	gone child
}

@test "a child that keeps the pipe open is not waited for" {
	t0=$(date +%s)
	bash_run 'sleep 305 & echo parent-done'
	[ $(($(date +%s) - t0)) -lt 60 ]
	has "$(result_text 2)" parent-done
}

@test "environment: names that look like secrets are kept back, env and env_keep let through" {
	export MY_TOKEN=tok-12345678 PLAIN=seen DB_PASSWORD=pw-12345678 KEEP_TOKEN=keep-12345678
	printf 'version: 1\nprompt: go\nenv: {EXTRA: yes, NUM: 1.10}\ntools: {env_keep: [KEEP_TOKEN]}\npermissions: {allow: [Bash]}\n' >job.yaml
	serve "$(script "$(bash_call 'echo "[$MY_TOKEN][$PLAIN][$DB_PASSWORD][$EXTRA][$NUM][${KEEP_TOKEN:+kept}]"')" "$(say end)")"
	q job.yaml
	exits 0
	is "$(result_text 2 | head -n 1)" "[][seen][][yes][1.10][kept]"
}

@test "TMPDIR is private, 0700, shared by the calls, and removed" {
	serve "$(script "$(bash_call 'stat -c %a "$TMPDIR"; echo x >"$TMPDIR/f"; echo "$TMPDIR" >dir')" "$(bash_call 'cat "$TMPDIR/f"')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(result_text 2 | head -n 1)" 700
	is "$(result_text 3 | head -n 1)" x
	[ ! -e "$(cat dir)" ]
}

@test "a link that a tool put in the place of TMPDIR goes, what it points to stays" {
	one_call "$(bash_call 'mkdir keep && touch keep/file && rmdir "$TMPDIR" && ln -s "$PWD/keep" "$TMPDIR"')" --allowedTools Bash
	exits 0
	[ -e keep/file ]
	[ -z "$(ls -A "$T/tmp")" ]
}

@test "endless output is bounded while it is read" {
	one_call "$(call Bash '{"command":"yes 0123456789","timeout":1500}')" --allowedTools Bash --set tools.max_spill=1MiB
	exits 0
	[ "$(result_text 2 | wc -c)" -lt 40000 ]
	[ "$(du -sk "$T/state" | cut -f 1)" -lt 3000 ]
	[ "$(wc -c <"$T/out")" -lt 200000 ]
}

@test "descriptors: a child sees 0, 1 and 2 only" {
	serve "$(script "$(bash_call 'ls /proc/self/fd | tr "\n" " "')" "$(say end)")"
	rc=0
	bash -c 'for i in $(seq 3 20); do eval "exec $i</dev/null"; done; exec "$@"' x timeout 20 "$QUERN" --base-url "$BASE" -p go --allowedTools Bash </dev/null >"$T/out" 2>"$T/err" || rc=$?
	exits 0
	# ls itself opens one more for the directory.
	is "$(result_text 2 | head -n 1)" "0 1 2 3 "
}

@test "signals are as at birth for a child" {
	serve "$(script "$(bash_call 'grep -E "Sig(Blk|Ign)" /proc/self/status')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(result_text 2 | awk '/SigBlk/ {print $2}')" 0000000000000000
	is "$(result_text 2 | awk '/SigIgn/ {print $2}')" 0000000000000000
}

@test "many calls: descriptors do not leak" {
	sanitized && return 0
	serve "$(jq -cn '[range(80) | {tool_use: {name: "Bash", input: {command: "echo \(.)"}, id: "b\(.)"}}] + [{text: "end"}]')"
	rc=0
	(ulimit -n 40; exec timeout 60 "$QUERN" --base-url "$BASE" -p go --allowedTools Bash) </dev/null >"$T/out" 2>"$T/err" || rc=$?
	exits 0
	is "$(result .num_turns)" 81
	is "$(ev 'select(.type=="user" and .message.content[0].is_error==true).type')" ""
}

@test "a person's editors and pagers are not inherited; the job's are" {
	export EDITOR=vi VISUAL=vi GIT_EDITOR=vi GIT_SEQUENCE_EDITOR=vi PAGER=more GIT_PAGER=more MANPAGER=more
	# shellcheck disable=SC2016
	serve "$(script "$(bash_call 'echo "$EDITOR,$VISUAL,$GIT_EDITOR,$GIT_SEQUENCE_EDITOR,$PAGER,$GIT_PAGER,$MANPAGER"')" "$(say end)")"
	printf 'version: 1\nprompt: go\nenv: {GIT_EDITOR: ed}\ntools: {env_keep: [PAGER]}\n' >"$T/job.yaml"
	q "$T/job.yaml" --allowedTools Bash
	exits 0
	is "$(result_text 2)" "false,,ed,false,more,cat,"
}
