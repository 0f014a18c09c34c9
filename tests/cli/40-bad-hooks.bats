#!/usr/bin/env bats
# Hooks that misbehave, before a call, behind it and at a stop; told little and told 2 MB; where what breaks counts and
# where it does not. After each run nothing is left, and it needed no more memory than its conversation asks for.

load ../lib/helpers

# What each comes to. objects: that is its word. passes: nothing is told. talks: it says what nobody asked for, which is
# told. breaks: it is told, and counts where that is declared.
KINDS='
always objects
always-json objects
exit2-unread objects
exit0-unread passes
background passes
daemon passes
echoes passes
closes-stdin passes
garbage talks
flood talks
exit7-unread breaks
killed breaks
not-found breaks
not-executable breaks
missing breaks
half-json breaks
two-json breaks
same-key-twice breaks
nul breaks
endless-json breaks
sleeps breaks
ignores-term breaks
'
# Those that are told apart by the policy: where what breaks counts, the others are what they are where it does not.
# What ignores TERM is waited for, and ends as what sleeps: it is asked once. Of 2 MB those are told that take them in ways
# of their own.
asked() { awk -v p="$1" -v few="$([ "$2" -lt 2000000 ] || echo "$HANDFUL")" '
	NF && (p == "open" || $2 == "breaks" && $1 != "ignores-term") && (few == "" || index(few, " " $1 " ")) {print $1}' <<<"$KINDS"; }
HANDFUL=' exit0-unread exit2-unread exit7-unread echoes closes-stdin sleeps flood '
kind_of() { awk -v n="$1" '$1 == n {print $2}' <<<"$KINDS"; }

# bad NAME: the script from stdin, its first line put in front of it
bad() { { echo '#!/bin/sh'; cat; } >"bad/$1"; chmod +x "bad/$1"; }
extra_setup() {
	mkdir bad
	bad always <<<'cat >/dev/null; echo "no good" >&2; exit 2'
	bad always-json <<<"cat >/dev/null; printf '{\"decision\":\"block\",\"reason\":\"no good\"}'"
	bad exit2-unread <<<'exit 2'
	bad exit0-unread <<<'exit 0'
	bad exit7-unread <<<'exit 7'
	bad background <<<'cat >/dev/null; sleep 300 & exit 0'
	bad daemon <<<'(setsid sh -c "trap \"\" TERM HUP; sleep 300; sleep 300" >/dev/null 2>&1 </dev/null &); exit 0'
	bad echoes <<<'cat'
	bad closes-stdin <<<'exec 0<&-; sleep 0.1; exit 0'
	bad garbage <<<'cat >/dev/null; echo "hello {not json"'
	bad flood <<<'cat >/dev/null; head -c 10000000 /dev/zero | tr "\0" x'
	bad killed <<<'kill -9 $$'
	bad half-json <<<"cat >/dev/null; printf '{\"decision\":\"bl'"
	bad two-json <<<"cat >/dev/null; printf '{\"decision\":\"approve\"}\n{\"decision\":\"block\"}\n'"
	bad same-key-twice <<<"cat >/dev/null; printf '{\"decision\":\"block\",\"decision\":\"approve\"}'"
	bad nul <<<"cat >/dev/null; printf '{\"decision\":\"approve\"}\0{\"decision\":\"block\"}'"
	bad endless-json <<<"cat >/dev/null; printf '{\"decision\":\"block\",\"reason\":\"'; head -c 10000000 /dev/zero | tr '\0' x; printf '\"}'"
	bad sleeps <<<'exec sleep 300'
	bad ignores-term <<<'trap "" TERM; sleep 300 & wait; sleep 300'
	bad not-executable <<<'exit 2'
	chmod -x bad/not-executable
	printf '#!/nonexistent/interpreter\n' >bad/not-found
	chmod +x bad/not-found
	# Every run is watched.
	printf '#!/bin/sh\nexec %s %s %s %s "$@"\n' "$PY" "$LIB/alone.py" "$T/alone" "$QUERN" >"$T/quern"
	chmod +x "$T/quern"
	QUERN=$T/quern
}

# left_nothing MIB: of the last run; it needed less than that
left_nothing() {
	local peak left
	read -r peak left <"$T/alone"
	is "$left" 0 || return 1
	sanitized || [ "$peak" -lt $(($1 << 10)) ] || { echo "needed $peak KiB"; return 1; }
}

# handler NAME [MEMBERS]: as JSON; what sleeps is given little time
handler() {
	local timeout=20
	case $1 in sleeps | ignores-term) timeout=0.2 ;; esac
	printf '{"type":"command","command":"./bad/%s","timeout":%s%s}' "$1" $timeout "${2:+,$2}"
}
# handlers NAME...: of each, between commas
handlers() { local n all=''; for n; do all+=",$(handler "$n")"; done; printf '%s' "${all#,}"; }

# job POLICY HOOKS: HOOKS is the JSON of `hooks`
job() { printf 'version: 1\nprompt: go\nhook_failure: %s\nhooks: %s\nlimits: {max_stop_blocks: 2}\n' "$1" "$2" >"$T/job.yaml"; }

# payload BYTES
payload() { head -c "$1" /dev/zero | tr '\0' y; }

# ---------------------------------------------------------------- calls

# calls EVENT POLICY BYTES: each script is asked about a call of its own that writes a file of that name. Those with a
# time of their own are found by a rule; for all others one handler becomes the next script of the list.
calls() {
	local event=$1 policy=$2 bytes=$3 n kind hooks='' told='' got
	for n in sleeps ignores-term; do hooks+="$(handler "$n" "\"if\":\"Edit(out/$n)\""),"; done
	asked "$policy" "$bytes" >order
	echo 0 >count
	ln -sf exit0-unread bad/none
	cat >bad/next <<-'SH'
		#!/bin/sh
		n=$(($(cat count) + 1)); echo $n >count; n=$(sed -n ${n}p order)
		case $n in sleeps | ignores-term) n=none ;; esac
		exec ./bad/$n
	SH
	chmod +x bad/next
	hooks="[$hooks$(handler next)]"
	job "$policy" "{\"$event\": [{\"matcher\": \"Write\", \"hooks\": $hooks}]}"
	rm -rf out "$T/log"; mkdir "$T/log"
	payload "$bytes" >"$T/payload"
	jq -Rcn --rawfile p "$T/payload" '[inputs] | [{piece: 100000, content: map({tool_use: {name: "Write", id: ., input: {file_path: "out/\(.)", content: $p}}})}, {text: "end"}]' <order >"$T/script.json"
	serve_file
	q "$T/job.yaml" --permission-mode acceptEdits
	stop_server
	exits 0 completed || return 1
	# What became of each call, and what the model was told of it.
	jq -r '.messages[-1].content[] | if .type == "text" then .text else
		.tool_use_id + "\t" + (.content | if type=="array" then map(.text // "") | join("") else . end | gsub("\n"; " ")) end' "$(request 2)" >"$T/said"
	for n in $(cat order); do
		kind=$(kind_of "$n")
		[ $policy$kind != blockbreaks ] || kind=counts
		got=$(awk -F'\t' -v n="$n" '$1 == n {print $2}' "$T/said")
		case $event$kind in
		PreToolUseobjects) has "$got" 'denied by a hook' ;;
		PreToolUsecounts) has "$got" "the hook '" && has "$got" "' broke: " ;;
		*) has "$got" "has been created" && is "$(stat -c %s "out/$n")" "$bytes" ;;
		esac || { echo "$n"; return 1; }
		case $event$kind in
		PreToolUseobjects | PreToolUsecounts) [ ! -e "out/$n" ] ;;
		PostToolUseobjects) grep -A1 "call $n of Write" "$T/said" | grep -qE 'PostToolUse: (no good|a hook objects)' ;;
		PostToolUsecounts) grep -A1 "call $n of Write" "$T/said" | grep -q "PostToolUse: the hook '.*' broke: " ;;
		*) ! grep -q "call $n of Write" "$T/said" ;;
		esac || { echo "$event, $policy: $n is $kind"; head -c 3000 "$T/said"; return 1; }
		case $kind in
		objects) told+="objects " ;;
		talks) told+="success " ;;
		breaks | counts) told+="broke " ;;
		esac
	done
	is "$(ev 'select(.subtype=="hook_response") | if .quern_error then "broke" elif .outcome == "success" and .exit_code == 0 and (.stdout | startswith("{") | not) then "success" else "objects" end' | tr '\n' ' ')" "$told"
	is "$(ev 'select(.subtype=="hook_response") | select((.stdout + .stderr | length) > 20000).hook_id')" ""
}

@test "before a call of some bytes" {
	calls PreToolUse open 300
	left_nothing 64
	calls PreToolUse block 300
	left_nothing 64
}

@test "before a call of 2 MB" {
	calls PreToolUse open 2000000
	left_nothing 600
	calls PreToolUse block 2000000
	left_nothing 600
}

@test "behind a call of some bytes" {
	calls PostToolUse open 300
	left_nothing 64
	calls PostToolUse block 300
	left_nothing 64
}

@test "behind a call of 2 MB" {
	calls PostToolUse open 2000000
	left_nothing 600
	calls PostToolUse block 2000000
	left_nothing 600
}

# ---------------------------------------------------------------- stops

# stops BYTES MIB: each script is asked whether the run may stop, behind an answer of that length: those that object, those
# that do not, both together; and where what breaks counts, each of those that do by itself
stops() {
	local bytes=$1 mib=$2 n kind all=() told=''
	payload "$bytes" >"$T/payload"
	serve "$(jq -cn --rawfile p "$T/payload" '[{piece: 100000, text: $p, repeat: 200}]')"
	for n in $(asked open "$bytes"); do
		kind=$(kind_of "$n")
		[ "$kind" != objects ] || continue
		all+=("$n")
		case $kind in
		talks) told+="hook_${#all[@]} success," ;;
		breaks) told+="hook_${#all[@]} broke," ;;
		esac
	done
	job open "{\"Stop\": [{\"hooks\": [$(handlers "${all[@]}")]}]}"
	q "$T/job.yaml"
	exits 0 completed
	is "$(responses)" "$told" || { echo "of ${all[*]}"; return 1; }
	left_nothing "$mib"
	told=''
	for n in $(asked open "$bytes"); do
		[ "$(kind_of "$n")" = objects ] || continue
		job open "{\"Stop\": [{\"hooks\": [$(handler "$n")]}]}"
		q "$T/job.yaml"
		exits 34 stop_blocks_exhausted
		is "$(responses)" "hook_1 objects,hook_2 objects,hook_3 objects,"
		left_nothing "$mib" || { echo "$n"; return 1; }
	done
	for n in $(asked block "$bytes"); do
		job block "{\"Stop\": [{\"hooks\": [$(handler "$n")]}]}"
		q "$T/job.yaml"
		exits 31 stop_hook_prevented || { echo "$n"; return 1; }
		grep -qF "a stop hook ended the run: the hook './bad/$n' broke: " "$T/out" || { echo "$n"; show; return 1; }
		left_nothing "$mib" || { echo "$n"; return 1; }
	done
}
# Of all hooks that say something, in the order in which they were started.
responses() {
	ev 'select(.subtype=="hook_response") | .hook_id + " " + if .quern_error then "broke"
		elif .outcome == "success" and (.stdout | startswith("{") | not) then "success" else "objects" end' | sort -t_ -k2n | tr '\n' ','
}

@test "at a stop, behind an answer of some bytes" {
	stops 300 64
}

@test "at a stop, behind an answer of 2 MB" {
	stops 2000000 150
}

# ---------------------------------------------------------------- and worse

# A GB where the time is given (make torture); what is kept of it is the same either way.
FLOOD=100000000
[ -z "${QUERN_TORTURE:-}" ] || FLOOD=1000000000

@test "endless text on stdout, on stderr, as JSON and as context of a prompt: read to its end, hardly kept" {
	bad out <<<"head -c $FLOOD /dev/zero | tr '\\0' x"
	bad err <<<"head -c $FLOOD /dev/zero >&2; exit 2"
	bad json <<<"printf '{\"decision\":\"block\",\"reason\":\"'; head -c $FLOOD /dev/zero"
	job open "{\"PostToolUse\": [{\"hooks\": [$(handlers out json)]}]}"
	serve "$(script "$(call Read '{"file_path":"bad/out"}')" "$(say end)")"
	q "$T/job.yaml"
	exits 0 completed
	is "$(ev 'select(.subtype=="hook_response") | "\(.outcome) \(.quern_error)"' | sort)" \
		'error gave JSON that cannot be used: it is longer than 4194304 bytes
success null'
	left_nothing 64
	stop_server
	job open "{\"UserPromptSubmit\": [{\"hooks\": [$(handler out)]}], \"Stop\": [{\"hooks\": [$(handler err)]}]}"
	rm -rf "$T/log"; mkdir "$T/log"
	serve "$(script "$(say a)" "$(say b)" "$(say c)")"
	q "$T/job.yaml" --run-dir "$T/run"
	exits 34 stop_blocks_exhausted
	has "$(jq -r '.messages | tostring' "$(request 1)")" "$FLOOD bytes in all; the beginning is in $T/run/hook_1.txt"
	[ "$(stat -c %s "$(request 3)")" -lt 200000 ]
	left_nothing 150
}

@test "reads no stdin and is never heard: ended at its time, with 2 MB that nobody took" {
	job open "{\"Stop\": [{\"hooks\": [$(handler sleeps)]}]}"
	payload 2000000 >"$T/payload"
	serve "$(jq -cn --rawfile p "$T/payload" '[{piece: 100000, text: $p}]')"
	q "$T/job.yaml"
	exits 0 completed
	is "$(ev 'select(.subtype=="hook_response") | "\(.outcome) \(.quern_error)"')" "cancelled took longer than 200 ms and was ended"
	left_nothing 150
}

@test "many processes that ignore what they are told are gone with the hook that left them" {
	bad many <<<'trap "" TERM HUP INT; for i in 1 2 3 4 5 6 7 8; do (setsid sleep 300 >/dev/null 2>&1 &); done; exit 0'
	job open "{\"SessionStart\": [{\"hooks\": [$(handler many)]}], \"SessionEnd\": [{\"hooks\": [$(handler many)]}]}"
	serve "$(script "$(say end)")"
	q "$T/job.yaml"
	exits 0 completed
	left_nothing 64
}

@test "what breaks is broken each time: an objection that the model could meet never comes of it" {
	job block "{\"Stop\": [{\"hooks\": [$(handler exit7-unread)]}]}"
	serve "$(script '{"text":"end","repeat":9}')"
	q "$T/job.yaml"
	exits 31 stop_hook_prevented
	is "$(requests)" 1
	has "$(result '.errors | join("|")')" "broke: ended with exit status 7"
	job block "{\"UserPromptSubmit\": [{\"hooks\": [$(handler killed)]}]}"
	q "$T/job.yaml"
	exits 30 hook_stopped
	is "$(requests)" 1
	left_nothing 64
}
