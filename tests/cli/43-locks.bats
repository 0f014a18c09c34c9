#!/usr/bin/env bats
# Who may go on from a record, and when: not while another run works on it, nor while anything of a killed one is alive.

load ../lib/helpers

extra_setup() { F=$T/run.ndjson G=$T/second.ndjson; }

run_q() { timeout -k 5 "$LIMIT" "$QUERN" --base-url "$BASE" -p go --allowedTools Bash "$@" </dev/null 2>"$T/err" 3>&-; }
holds='touch begun; while [ ! -e go ]; do sleep 0.05; done'

# begin COMMAND...: in the background, until its tool runs
begin() {
	rm -f begun go
	"$@" &
	first=$!
	wait_for test -e begun
}

# refused COMMAND...: exit 2, the file and its holder are named, nothing was sent
refused() {
	local n
	n=$(requests) rc=0
	"$@" || rc=$?
	is "$rc" 2
	err_has "'$F' is in use by another run (process "
	is "$(requests)" "$n"
}

to() { local out=$1; shift; run_q "$@" >"$out"; }
behind() { local out=$1; shift; run_q "$@" >>"$out"; }
piped() { local out=$1; shift; run_q "$@" | tee "$out" >/dev/null; return "${PIPESTATUS[0]}"; }

# Each in turn, of a run that lives.
all_refused() {
	refused behind "$F" --resume "$F"
	refused to "$G" --resume "$F"
	refused to "$G" --resume "$F" --events "$F"
	refused to "$G" --resume "$F" --events "$T/third.ndjson"
	refused piped "$G" --resume "$F"
}

@test "nothing of a killed run has effects behind the first of the one that goes on, also where TERM is ignored" {
	local old='trap \"\" TERM; while :; do echo old >>effects; sleep 0.01; done'
	for to in stdout events record; do
		rm -f effects "$F"
		serve "$(script "$(call Bash "{\"command\":\"$old\",\"run_in_background\":true}")" "$(call Bash "{\"command\":\"touch begun; $old\"}")" \
			"$(bash_call 'echo new >>effects; sleep 0.2')" "$(say done)")" --no-check
		set -- "--$to" "$F"
		[ $to != stdout ] || set --
		rm -f begun
		"$QUERN" --base-url "$BASE" -p go --allowedTools Bash "$@" </dev/null >"$([ $to = stdout ] && echo "$F" || echo /dev/null)" 2>/dev/null 3>&- &
		first=$!
		wait_for test -e begun
		wait_for test -s effects
		kill -KILL $first
		to "$T/out" "$@" --resume "$F"
		wait $first || true
		is "$(result .result)" done
		is "$(sed '1,/new/d' effects)" ""
		has "$(cat effects)" old
		stop_server
		rm -rf "$T"/log/*
	done
}

@test "a run that lives is the only one of its record, wherever the other would write; readers are welcome" {
	serve "$(script "$(bash_call "$holds")" "$(say done)")"
	mkdir other
	for form in to behind piped_events; do
		case $form in
		piped_events) begin piped "$T/first" --events "$F" ;;
		*) begin $form "$F" ;;
		esac
		all_refused
		timeout 5 tail -n 1 -f "$F" >"$T/tail" 3>&- &
		wait_for test -s "$T/tail"
		kill $!
		[ ! -x "${QUERN%/*}/quern-report" ] || "${QUERN%/*}/quern-report" "$F" >"$T/page"
		touch other/go
		(cd other && timeout 20 "$QUERN" --replay "$F" -p go --allowedTools Bash </dev/null >"$T/replayed" 2>"$T/err" 3>&-) || true
		err_lacks "in use"
		has "$(grep -c tool_result "$T/replayed")" 1
		touch go
		wait $first
		to "$T/out" --resume "$F"
		is "$(result .resumed_result)" true
		rm "$F"
		stop_server
		rm -rf "$T"/log/*
		serve_file
	done
}

@test "a bundle has one writer, too, from the time on when it is read" {
	serve "$(script "$(bash_call "$holds")" "$(say done)")"
	begin to "$T/first" --record "$F"
	refused to "$G" --record "$F"
	refused to "$G" --record "$F" --resume "$F"
	refused to "$G" --record "$T/third" --resume "$F"
	touch go
	wait $first
	to "$T/out" --record "$F" --resume "$F"
	is "$(result .resumed_result)" true
}

@test "two may go on from one record into files of their own; who writes to it waits for neither" {
	serve "$(script '{"status":500,"error":{"type":"api_error","message":"hiccup"}}' "$(bash_call "$holds")" "$(say B)" "$(say A)" "$(say never)")"
	to "$F" --set model.max_retries=0 || true
	begin to "$T/a" --resume "$F"
	to "$T/out" --resume "$F"
	is "$(result .result)" B
	refused behind "$F" --resume "$F"
	touch go
	wait $first
	is "$(tail -n 1 "$T/a" | jq -r .result)" A
}

@test "fresh runs may share one file as stdout: it is said" {
	serve "$(script "$(bash_call "$holds")" "$(say second)" "$(say first)")"
	begin behind "$F"
	behind "$F"
	err_has "neither can be gone on with"
	touch go
	wait $first
	is "$(jq -r 'select(.type=="result").result' "$F" | tr '\n' ' ')" "second first "
}

@test "a file system without locks is a notice" {
	command -v strace >/dev/null || skip "no strace"
	strace -qq -o /dev/null true || skip "nothing may be traced here"
	! sanitized || skip "a sanitized program says at its end that it was traced"
	serve "$(script "$(say done)")"
	for error in ENOLCK EOPNOTSUPP; do
		timeout 30 strace -qq -o /dev/null -e trace=flock -e inject=flock:error=$error "$QUERN" --base-url "$BASE" -p go \
			--resume "$F" --events "$F" </dev/null >"$T/out" 2>"$T/err" 3>&-
		is "$(result .result)" done
		err_has "'$F' cannot be locked"
	done
}
