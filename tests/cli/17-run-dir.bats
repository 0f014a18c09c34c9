#!/usr/bin/env bats
# Where spilled outputs go, and what is left afterwards.

load ../lib/helpers

spill() { serve "$(script "$(bash_call 'seq 1 20000')" "$(say end)")"; }
quiet() { serve "$(script "$(bash_call 'echo little')" "$(say end)")"; }

@test "nothing is made when nothing is needed" {
	quiet
	q -p go --allowedTools Bash
	exits 0
	is "$(find "$T/state" "$T/home" -mindepth 1 | wc -l)" 0
	is "$(result '.run_dir // "none"')" none
}

@test "XDG_STATE_HOME, then HOME/.local/state" {
	spill
	q -p go --allowedTools Bash
	exits 0
	has "$(result .run_dir)" "$T/state/quern/"
	stop_server; rm -rf "$T/log"; mkdir "$T/log"
	spill
	unset XDG_STATE_HOME
	q -p go --allowedTools Bash
	exits 0
	has "$(result .run_dir)" "$T/home/.local/state/quern/"
	has "$(result .run_dir)" "$(result .session_id)"
}

@test "QUERN_STATE_DIR and --run-dir come first" {
	spill
	QUERN_STATE_DIR=$T/qsd q -p go --allowedTools Bash
	exits 0
	has "$(result .run_dir)" "$T/qsd"
	stop_server; rm -rf "$T/log"; mkdir "$T/log"
	spill
	QUERN_STATE_DIR=$T/qsd q -p go --allowedTools Bash --run-dir "$T/rd"
	exits 0
	is "$(result .run_dir)" "$T/rd"
	is "$(stat -c %a "$T/rd")" 700
}

@test "no home at all: TMPDIR, said once" {
	spill
	unset XDG_STATE_HOME HOME
	q -p go --allowedTools Bash
	exits 0
	d=$(result .run_dir)
	has "$d" "$T/tmp/"
	err_has "$T/tmp"
	rm -rf "$d"
	rm -rf "$T"/tmp/quern*
}

@test "a candidate inside the workspace is passed over, given explicitly it is exit 2" {
	spill
	XDG_STATE_HOME=$PWD/state q -p go --allowedTools Bash
	exits 0
	lacks "$(result .run_dir)" "$PWD"
	[ ! -e state ]
	q -p go --run-dir "$PWD/rd"
	is "$rc" 2
	err_has rd
	[ ! -e rd ]
}

@test "two runs at once share nothing" {
	serve "$(jq -cn '[range(8) | {tool_use: {name: "Bash", input: {command: "seq 1 20000"}, id: "b\(.)"}}] + [{text: "end", repeat: true}]')" --no-check
	local n pids=()
	for n in 1 2 3 4; do
		timeout 60 "$QUERN" --base-url "$BASE" -p "go $n" --allowedTools Bash </dev/null >"$T/out.$n" 2>"$T/err.$n" 3>&- &
		pids+=($!)
	done
	for n in "${pids[@]}"; do wait "$n"; done
	is "$(for n in 1 2 3 4; do tail -n 1 "$T/out.$n" | jq -r .session_id; done | sort -u | wc -l)" 4
}

@test "the limit on the run directory is kept, and the run goes on" {
	serve "$(script "$(bash_call 'seq 1 300000')" "$(bash_call 'seq 1 300000')" "$(say end)")"
	q -p go --allowedTools Bash --set limits.run_dir_bytes=1MiB
	exits 0
	[ "$(du -sk "$T/state" | cut -f 1)" -le 1200 ]
}
