#!/usr/bin/env bats
# What Claude Code's documentation of hooks says in tables, row by row and with real scripts: matchers and what they are
# tested against, exit codes and what 2 means to each event, the fields of the output, the guards of the loop.
# Rows that stand elsewhere: permissionDecision, updatedInput, updatedToolOutput, `if`, CLAUDE_ENV_FILE in 30-tool-hooks;
# the stop cap, texts that are too long, async, the sandbox in 29-hooks; what misbehaves in 40-bad-hooks.

load ../lib/helpers

# hook EVENT MATCHER COMMAND [MEMBERS]: one more handler; MATCHER - = none
ROWS=()
hook() { ROWS+=("$1" "$2" "$3" "${4:-{\}}"); }
none() { ROWS=(); }
# The handlers as the JSON of `hooks`, and a job of them; further lines of it come from $JOB.
hooks() {
	jq -cn '[$ARGS.positional as $a | range(0; $a | length; 4) | $a[.:. + 4]] | reduce .[] as $r ({}; .[$r[0]] +=
		[(if $r[1] == "-" then {} else {matcher: $r[1]} end) + {hooks: [{type: "command", command: $r[2]} + ($r[3] | fromjson)]}])' --args -- "${ROWS[@]}"
}
job() { printf 'version: 1\n%s\npermissions: {allow: [%s]}\nhooks: %s\n%s\n' "${PROMPT-prompt: go}" "${ALLOW-Bash}" "$(hooks)" "${JOB:-}" >"$T/job.yaml"; }
# json OBJECT: a command that prints it;  specific EVENT OBJECT: with it in hookSpecificOutput
json() { printf "echo '%s'" "$1"; }
specific() { json "{\"hookSpecificOutput\":{\"hookEventName\":\"$1\",${2#\{}}"; }
# run_it SCRIPT ARGUMENT...: a fresh server, the job
run_it() {
	local s=$1
	shift
	stop_server
	rm -rf "$T/log"; mkdir "$T/log"
	job
	serve "$s"
	q "$T/job.yaml" "$@"
}
# one_round: a call of Bash that leaves a file, and an answer
one_round() { rm -f made; script "$(bash_call "${1:-touch made}")" "$(say end)"; }
said() { jq -r '[.messages[-1].content[] | select(.type=="text").text] | join("|")' "$(request "$1")"; }
response() { ev 'select(.subtype=="hook_response") | '"$1"; }
denied() { result '.permission_denials | length'; }
endings() { ev 'select(.subtype=="quern_transition").reason' | tr '\n' ' '; }

# ---------------------------------------------------------------- matchers

# matchers NAME ROW...: which of these meet a call of that tool; a row is MATCHER, a tab, yes or no
matchers() {
	local name=$1 row n=0
	shift
	none
	rm -f hits
	for row; do
		hook PreToolUse "${row%%$'\t'*}" "cat >/dev/null; echo $n >>hits"
		n=$((n + 1))
	done
	run_it "$(script "$(call "$name" "${INPUT:-{\"command\":\"true\"\}}")" "$(say end)")"
	exits 0
	n=0
	for row; do
		case ${row##*$'\t'} in
		yes) grep -qx $n hits ;;
		no) ! grep -qx $n hits ;;
		esac || { echo "$name: $row"; cat hits; return 1; }
		n=$((n + 1))
	done
}

@test "matcher: none, the empty one and * meet every tool" {
	matchers Bash $'-\tyes' $'\tyes' $'*\tyes'
	INPUT='{"pattern":"x"}' matchers Glob $'-\tyes' $'\tyes' $'*\tyes'
}

@test "matcher: a name is exact, a list is split at | and comma, blanks around a name do not count, case does" {
	matchers Bash $'Bash\tyes' $'bash\tno' $'Bas\tno' $'Bashful\tno' $'Edit|Bash\tyes' $'Edit,Bash\tyes' \
		$'Edit | Bash , Write\tyes' $'Edit|bash\tno' $'Edit, Write\tno' $'B ash\tno'
	JOB='tools: {external: [{name: my-tool_2, description: mine, command: ["true"]}]}' ALLOW='Bash, my-tool_2' INPUT='{}' \
		matchers my-tool_2 $'my-tool_2\tyes' $'my-tool\tno' $'Bash|my-tool_2\tyes'
}

@test "matcher: anything else is an expression that may fit anywhere" {
	matchers Bash $'Ba.*\tyes' $'as.\tyes' $'^ash\tno' $'^Bash$\tyes' $'ba.*\tno' $'^(?:Edit|Bash)$\tyes' $'\\bB\\w+\\b\tyes' \
		$'\\d\tno' $'B.+?h\tyes' $'[[:upper:]]\tyes' $'Edit|B.\tyes' $'^B[^a]\tno'
	INPUT='{"pattern":"x"}' matchers Glob $'G.*|Edit\tyes' $'lo\\w\tyes' $'^(?!Glob)\tno'
}

@test "matcher: the name of a server is not that of its tools" {
	JOB='tools: {external: [{name: mcp__memory__get, description: mine, command: ["true"]}]}' ALLOW='Bash, mcp__memory__get' INPUT='{}' \
		matchers mcp__memory__get $'mcp__memory\tno' $'mcp__memory__get\tyes' $'mcp__memory__.*\tyes' $'mcp__.*__get\tyes'
}

@test "matcher: one that is no expression is told and meets nothing" {
	matchers Bash $'Bash(\tno' $'[\tno' $'*Bash\tno' $'Bash\tyes'
	err_has "the matcher 'Bash(' matches nothing"
	err_has "the matcher '[' matches nothing"
}

@test "matched against: the tool's name, for the four events of a call" {
	local e
	ALLOW=
	for e in PreToolUse PermissionRequest PostToolUse PostToolUseFailure; do
		hook "$e" Bash "cat >/dev/null; echo $e >>hits"
		hook "$e" Write "cat >/dev/null; echo not-$e >>hits"
	done
	hook PermissionRequest Bash "$(specific PermissionRequest '{"decision":{"behavior":"allow"}}')"
	run_it "$(script "$(bash_call 'touch x')" "$(bash_call 'touch x; exit 3')" "$(say end)")"
	exits 0
	is "$(tr '\n' ' ' <hits)" "PreToolUse PermissionRequest PostToolUse PreToolUse PermissionRequest PostToolUseFailure "
}

@test "matched against: how the session starts and ends" {
	hook SessionStart 'startup|compact' 'echo start >>hits'
	hook SessionStart 'resume|clear|fork|compact' 'echo no >>hits'
	hook SessionEnd 'other' 'echo end >>hits'
	hook SessionEnd 'clear|resume|logout|prompt_input_exit' 'echo no >>hits'
	run_it "$(script "$(say end)")"
	exits 0
	is "$(tr '\n' ' ' <hits)" "start end "
}

@test "matched against: the category of an API error" {
	hook StopFailure 'invalid_request' 'jq -r ".error + \" \" + .error_details" >>hits'
	hook StopFailure 'rate_limit|server_error' 'echo no >>hits'
	hook Stop - 'echo no >>hits'
	run_it '[{"status":400,"error":{"type":"invalid_request_error","message":"what is this"}}]'
	exits 20 model_error
	has "$(cat hits)" "invalid_request "
	has "$(cat hits)" "what is this"
	is "$(wc -l <hits)" 1
}

@test "matched against nothing: prompts, stops and batches of calls" {
	local e
	for e in UserPromptSubmit PostToolBatch Stop; do
		hook "$e" 'Nothing' "cat >/dev/null; echo $e >>hits"
	done
	run_it "$(one_round)"
	exits 0
	is "$(tr '\n' ' ' <hits)" "UserPromptSubmit PostToolBatch Stop "
}

@test "events that never fire are told, and so are those that nobody knows; the others run" {
	hook Notification - 'touch never'
	hook SubagentStop - 'touch never'
	hook Setup 'init' 'touch never'
	hook Stop - 'touch ran'
	run_it "$(script "$(say end)")"
	exits 0
	[ -e ran ]
	[ ! -e never ]
	err_has Notification
	err_has SubagentStop
	err_has Setup
	none
	hook Stop - true
	hook Sotp - true
	serve "$(script "$(say end)")"
	q -p go --settings "{\"hooks\":$(hooks)}"
	exits 0
	err_has Sotp
}

# ---------------------------------------------------------------- exit codes

@test "exit 0: what begins with a brace behind blanks is JSON" {
	hook PreToolUse - 'printf "\n \t {\"decision\":\"block\",\"reason\":\"seen\"}"'
	run_it "$(one_round)"
	exits 0
	[ ! -e made ]
	has "$(result_text 2)" seen
}

@test "exit 0: plain text is context of a start and of a prompt, elsewhere it is told to the user alone" {
	local e
	for e in SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolBatch Stop SessionEnd; do
		hook "$e" - "cat >/dev/null; echo text-of-$e; echo err-of-$e >&2"
	done
	run_it "$(one_round)"
	exits 0
	[ -e made ]
	has "$(said 1)" text-of-SessionStart
	has "$(said 1)" text-of-UserPromptSubmit
	is "$(cat "$T"/log/*.json | grep -oE '(text|err)-of-[A-Za-z]*' | sort -u | tr '\n' ' ')" "text-of-SessionStart text-of-UserPromptSubmit "
	is "$(response 'select(.hook_event != "SessionStart") | "\(.hook_event) \(.outcome) \(.exit_code) \(.stdout | rtrimstr("\n"))"')" \
		'PreToolUse success 0 text-of-PreToolUse
PostToolUse success 0 text-of-PostToolUse
PostToolBatch success 0 text-of-PostToolBatch
Stop success 0 text-of-Stop
SessionEnd success 0 text-of-SessionEnd'
	is "$(response .quern_error | sort -u)" null
	is "$(result .result)" end
}

@test "exit 2: no JSON takes it back, its reason is better than stderr" {
	hook PreToolUse - "echo from-stderr >&2; $(specific PreToolUse '{"permissionDecision":"allow"}'); exit 2"
	run_it "$(one_round)"
	exits 0
	[ ! -e made ]
	has "$(result_text 2)" from-stderr
	none
	hook PreToolUse - "echo from-stderr >&2; $(specific PreToolUse '{"permissionDecision":"deny","permissionDecisionReason":"from-json"}'); exit 2"
	run_it "$(one_round)"
	[ ! -e made ]
	has "$(result_text 2)" from-json
	lacks "$(result_text 2)" from-stderr
	none
	hook Stop - "[ -e again ] && exit 0; touch again; echo from-stderr >&2; $(json '{"decision":"approve"}'); exit 2"
	run_it "$(script "$(say one)" "$(say two)")"
	exits 0
	has "$(said 2)" from-stderr
	rm again
	none
	hook Stop - "[ -e again ] && exit 0; touch again; echo from-stderr >&2; $(json '{"decision":"block","reason":"from-json"}'); exit 2"
	run_it "$(script "$(say one)" "$(say two)")"
	exits 0
	is "$(said 2)" from-json
}

@test "exit 2 with JSON that cannot be used blocks all the same" {
	hook PreToolUse - 'printf "{\"decision\":"; echo nevertheless >&2; exit 2'
	run_it "$(one_round)"
	exits 0
	[ ! -e made ]
	has "$(result_text 2)" nevertheless
}

@test "another exit code: told with the first line of stderr, the action proceeds; its JSON counts" {
	hook PreToolUse - 'echo first >&2; echo second >&2; exit 1'
	run_it "$(one_round)"
	exits 0
	[ -e made ]
	is "$(response '"\(.outcome) \(.exit_code) \(.quern_error)"')" "error 1 ended with exit status 1: first"
	none
	hook PreToolUse - './missing'
	run_it "$(one_round)"
	exits 0
	[ -e made ]
	is "$(response '"\(.outcome) \(.exit_code)"')" "error 127"
	none
	hook PreToolUse - "$(json '{"decision":"block","reason":"as if it were 0"}'); exit 1"
	run_it "$(one_round)"
	exits 0
	[ ! -e made ]
	has "$(result_text 2)" "as if it were 0"
	none
	ALLOW=
	hook PreToolUse - "$(json '{"decision":"approve"}'); exit 1"
	run_it "$(one_round)"
	exits 0
	[ -e made ]
	is "$(response '"\(.outcome) \(.exit_code)"')" "error 1"
}

@test "timeout: what it has said by then is dropped, and nothing is decided" {
	hook PreToolUse - "$(json '{"decision":"block","reason":"late"}'); exec sleep 300" '{"timeout":0.2}'
	run_it "$(one_round)"
	exits 0
	[ -e made ]
	is "$(response '"\(.outcome) \(.quern_error)"')" "cancelled took longer than 200 ms and was ended"
	none
	hook UserPromptSubmit - "echo dropped; exec sleep 300" '{"timeout":0.2}'
	run_it "$(script "$(say end)")"
	exits 0
	lacks "$(said 1)" dropped
}

@test "JSON of another shape: told, and nothing of it counts" {
	local n calls=()
	cat >shapes <<-'JSON'
		{"decision":"block","reason":7}
		{"decision":"no"}
		{"decision":"block","continue":"no"}
		{"decision":"block","hookSpecificOutput":{"permissionDecision":"deny"}}
		{"decision":"block","hookSpecificOutput":{"hookEventName":"PostToolUse"}}
		{"decision":"block","hookSpecificOutput":[]}
		{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"never"}}
		{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","updatedInput":"x"}}
	JSON
	hook PreToolUse - 'sed -n "$(sed "s/.*touch made-\([0-9]\).*/\1/")p" shapes'
	for n in 1 2 3 4 5 6 7 8; do calls+=("$(bash_call "touch made-$n")"); done
	run_it "$(script "{\"content\":$(script "${calls[@]}")}" "$(say end)")"
	exits 0
	for n in 1 2 3 4 5 6 7 8; do [ -e made-$n ] || { sed -n ${n}p shapes; return 1; }; done
	is "$(response '"\(.outcome) \(.quern_error[:31])"' | sort | uniq -c | awk '{$1=$1}; 1')" "8 error gave JSON that cannot be used:"
}

# ---------------------------------------------------------------- exit 2, by event

@test "exit 2 of PreToolUse: the call is denied, the model is told stderr" {
	hook PreToolUse - 'echo not today >&2; exit 2'
	run_it "$(one_round)"
	exits 0
	[ ! -e made ]
	has "$(result_text 2)" "not today"
	is "$(result_is_error 2)" true
	is "$(denied)" 1
}

@test "exit 2 of PostToolUse and PostToolUseFailure: the model is told stderr beside what the tool gave" {
	hook PostToolUse - 'echo look again >&2; exit 2'
	hook PostToolUseFailure - 'echo try another way >&2; exit 2'
	run_it "$(script "$(bash_call 'echo good')" "$(bash_call 'echo bad; exit 3')" "$(say end)")"
	exits 0
	has "$(result_text 2)" good
	has "$(said 2)" "PostToolUse: look again"
	has "$(result_text 3)" bad
	has "$(said 3)" "PostToolUseFailure: try another way"
}

@test "exit 2 of PostToolBatch: the loop stops before the model is asked again" {
	hook PostToolBatch - 'echo enough >&2; exit 2'
	run_it "$(one_round)"
	exits 30 hook_stopped
	[ -e made ]
	is "$(requests)" 1
	has "$(result '.errors[0]')" enough
}

@test "exit 2 of UserPromptSubmit: the prompt is erased, stderr is for the user alone" {
	hook UserPromptSubmit - 'grep -q secret || exit 0; echo refused-it >&2; exit 2'
	PROMPT='' job
	printf '{"type":"user","message":{"role":"user","content":"%s"}}\n' "a secret" "another" >"$T/in"
	serve "$(script "$(say end)")"
	q_in "$T/in" "$T/job.yaml" --input-format stream-json
	SESSION=+
	exits 0 completed
	is "$(ev 'select(.type=="result").terminal_reason' | tr '\n' ' ')" "hook_stopped completed "
	has "$(ev 'select(.type=="result").errors // [] | join(" ")')" refused-it
	is "$(requests)" 1
	is "$(grep -cE 'secret|refused-it' "$(request 1)")" 0
}

@test "exit 2 of Stop: stderr is the next instruction" {
	hook Stop - '[ -e again ] && exit 0; touch again; echo run the tests >&2; exit 2'
	run_it "$(script "$(say one)" "$(say two)")"
	exits 0
	is "$(said 2)" "run the tests"
	is "$(endings)" "stop_hook_blocking "
}

@test "exit 2 where nothing can be blocked: told, without effect" {
	local e
	ALLOW=
	for e in PermissionRequest SessionStart SessionEnd; do
		hook "$e" - "cat >/dev/null; echo no-$e >&2; exit 2"
	done
	hook PermissionRequest - "$(specific PermissionRequest '{"decision":{"behavior":"allow"}}')"
	run_it "$(one_round)"
	exits 0 completed
	[ -e made ]
	is "$(response 'select(.exit_code == 2) | "\(.hook_event) \(.outcome) \(.quern_error)"')" \
		'SessionStart error ended with exit status 2: no-SessionStart
PermissionRequest error ended with exit status 2: no-PermissionRequest
SessionEnd error ended with exit status 2: no-SessionEnd'
	is "$(cat "$T"/log/*.json | grep -c no-)" 0
}

@test "exit 2 of PermissionRequest allows nothing, whatever its JSON says" {
	ALLOW=
	hook PermissionRequest - "$(specific PermissionRequest '{"decision":{"behavior":"allow"}}'); exit 2"
	run_it "$(one_round)"
	exits 0
	[ ! -e made ]
	is "$(denied)" 1
}

@test "exit 2 of StopFailure: told, the run ends as it would have, and no request goes out" {
	hook StopFailure - 'echo once more >&2; exit 2'
	hook Stop - 'echo once more >&2; exit 2'
	run_it '[{"status":400,"error":{"type":"invalid_request_error","message":"bad"}}]'
	exits 20 model_error
	is "$(requests)" 1
	is "$(response '"\(.hook_event) \(.exit_code)"')" "StopFailure 2"
}

# ---------------------------------------------------------------- compactions

# A conversation in a small window, of which summaries must be made; $SCRIPT in the place of its own script
compacted() {
	local s
	s=$(jq -cn '{window: 12000, player: {rounds: 12, text: "Step {n}.", answer: "all is done",
		calls: [{name: "Bash", input: {command: "echo {n} >>ledger; seq 1000 1700"}}]}}')
	rm -f ledger
	run_it "${SCRIPT:-$s}" -m tiny --set context.window=12000 --system-prompt "You work." \
		--set context.microcompact_at=off --set context.collapse_at=off
}
boundaries() { ev 'select(.subtype=="compact_boundary").subtype' | wc -l; }
kinds() { awk -v k="$1" '$2==k' "$T/log/kinds" | wc -l; }

@test "matched against: what a compaction is made for; the session starts again behind it" {
	hook PreCompact auto 'jq -r "\"pre \(.trigger) \(.custom_instructions)\"" >>hits'
	hook PreCompact manual 'echo no >>hits'
	hook PostCompact auto 'jq -r "\"post \(.trigger) \(.compact_summary | length > 0)\"" >>hits'
	hook PostCompact manual 'echo no >>hits'
	hook SessionStart compact 'echo "again-$(jq -r .source)"; echo start >>hits'
	compacted
	exits 0 completed
	local n
	n=$(boundaries)
	[ "$n" -ge 1 ]
	is "$(sort hits | uniq -c | awk '{$1=$1}; 1' | tr '\n' ',')" "$n post auto true,$n pre auto,$n start,"
	has "$(jq -r '.messages | tostring' "$(request "$(requests)")")" again-compact
}

@test "exit 2 of PreCompact: none is made" {
	hook PreCompact - 'echo not now >&2; exit 2'
	compacted
	[ "$rc" != 0 ]
	exits "$rc"
	is "$(boundaries)" 0
	is "$(kinds compact)" 0
	[ "$(response 'select(.exit_code == 2).hook_event' | wc -l)" -ge 1 ]
	none
	hook PreCompact - "$(json '{"decision":"block","reason":"not now"}')"
	compacted
	[ "$rc" != 0 ]
	exits "$rc"
	is "$(boundaries)" 0
	is "$(kinds compact)" 0
}

@test "what PreCompact and PostCompact say besides is dropped" {
	hook PreCompact - "$(json '{"continue":false,"stopReason":"no","systemMessage":"pre-said"}')"
	hook PostCompact - "$(json '{"continue":false,"decision":"block","reason":"no"}')"
	hook PostCompact - 'echo post-err >&2; exit 2'
	compacted
	exits 0 completed
	[ "$(boundaries)" -ge 1 ]
	is "$(ev 'select(.subtype=="informational").content')" ""
	is "$(response 'select(.hook_event == "PostCompact") | .exit_code' | sort -u)" 2
}

@test "a call in a summary is not run, though a hook allows everything" {
	hook PreToolUse - "echo x >>asked; $(specific PreToolUse '{"permissionDecision":"allow"}')"
	SCRIPT=$(jq -cn '{window: 12000, compact: [{tool_use: {name: "Bash", input: {command: "touch made-by-summary"}}}, "good*"],
		player: {rounds: 12, text: "Step {n}.", answer: "all is done",
		calls: [{name: "Bash", input: {command: "echo {n} >>ledger; seq 1000 1700"}}]}}') compacted
	exits 0 completed
	[ ! -e made-by-summary ]
	is "$(wc -l <asked)" 12
}

# ---------------------------------------------------------------- fields of the output

@test "continue and stopReason: every event that can end the run, and the reason is not for the model" {
	local e stop
	stop=$(json '{"continue":false,"stopReason":"closed-today","decision":"block","reason":"other"}')
	for e in SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PostToolBatch PermissionRequest; do
		none
		ALLOW=Bash
		[ $e != PermissionRequest ] || ALLOW=
		hook $e - "$stop"
		case $e in
		PostToolUseFailure) run_it "$(one_round false)" ;;
		*) run_it "$(one_round)" ;;
		esac
		exits 30 hook_stopped || { echo $e; return 1; }
		has "$(result '.errors | join("|")')" "closed-today" || { echo $e; return 1; }
		lacks "$(result '.errors | join("|")')" other
		case $e in
		SessionStart | UserPromptSubmit) is "$(requests)" 0 ;;
		*) is "$(requests)" 1 ;;
		esac || { echo $e; return 1; }
		case $e in
		PostToolUse | PostToolBatch) [ -e made ] ;;
		*) [ ! -e made ] ;;
		esac || { echo $e; return 1; }
	done
	none
	hook Stop - "$stop"
	run_it "$(script "$(say end)")"
	exits 31 stop_hook_prevented
	is "$(result '.errors | join("|")')" "a stop hook ended the run: closed-today"
}

@test "continue beats what other hooks say" {
	hook PreToolUse - "$(specific PreToolUse '{"permissionDecision":"allow"}')"
	hook PreToolUse - "$(json '{"continue":false,"stopReason":"enough"}')"
	hook PreToolUse - 'exit 2'
	run_it "$(one_round)"
	exits 30 hook_stopped
	[ ! -e made ]
	none
	hook Stop - 'echo more >&2; exit 2'
	hook Stop - "$(json '{"continue":false,"stopReason":"enough"}')"
	run_it "$(script "$(say end)")"
	exits 31 stop_hook_prevented
}

@test "systemMessage is for the user; suppressOutput and terminalSequence change nothing" {
	local e
	for e in SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolBatch Stop SessionEnd; do
		hook $e - "$(json "{\"systemMessage\":\"mind $e\",\"suppressOutput\":true,\"terminalSequence\":\"\\u001b[2J\"}")"
	done
	run_it "$(one_round)"
	exits 0 completed
	[ -e made ]
	is "$(ev 'select(.subtype=="informational") | "\(.level) \(.content)"')" 'warning mind SessionStart
warning mind UserPromptSubmit
warning mind PreToolUse
warning mind PostToolUse
warning mind PostToolBatch
warning mind Stop
warning mind SessionEnd'
	is "$(cat "$T"/log/*.json | grep -c 'mind ')" 0
	err_has "mind Stop"
	is "$(grep -c $'\033' "$T/err")" 0
}

@test "async: a first line that says so, and nobody waits" {
	hook PreToolUse - 'echo "{\"async\":true,\"asyncTimeout\":5}"; echo $$ >pid; sleep 300'
	run_it "$(script "$(bash_call 'while ! [ -s pid ]; do sleep 0.01; done; touch made')" "$(say end)")"
	exits 0
	[ -e made ]
	gone pid
}

@test "PreToolUse: the older decisions approve and block, and reason" {
	ALLOW=
	hook PreToolUse - "$(json '{"decision":"approve"}')"
	run_it "$(one_round)"
	exits 0
	[ -e made ]
	ALLOW=Bash
	hook PreToolUse - "$(json '{"decision":"block","reason":"no more"}')"
	run_it "$(one_round)"
	exits 0
	[ ! -e made ]
	has "$(result_text 2)" "no more"
}

@test "PreToolUse: deny over defer over ask over allow; exit 2 is a deny" {
	# The first word holds over the second, whichever hook says which: each pair is a call, and both hooks do as its words say.
	local pair n=0 calls=()
	cat >word <<-'SH'
		w=$(sed 's/.*# \([a-z2]*\) \([a-z2]*\)".*/\'"$1"'/')
		echo $w >>asked
		[ $w != exit2 ] || { echo "by exit2" >&2; exit 2; }
		printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"%s","permissionDecisionReason":"by %s"}}' $w $w
	SH
	hook PreToolUse - 'sh ./word 1'
	hook PreToolUse - 'sh ./word 2'
	for pair in 'deny defer' 'defer ask' 'ask allow' 'exit2 defer' 'exit2 allow'; do
		calls+=("$(bash_call "touch made # $pair")" "$(bash_call "touch made # ${pair#* } ${pair% *}")")
	done
	run_it "$(script "{\"content\":$(script "${calls[@]}")}" "$(say end)")"
	exits 0
	[ ! -e made ]
	is "$(command jq -r '.messages[-1].content[] | select(.type=="tool_result") | .content
		| if type=="array" then map(.text // "") | join("") else . end | [scan("by (?!a )[a-z2]+")] | join(" ")' "$(request 2)" | tr '\n' ',')" \
		'by deny,by deny,by defer,by defer,by ask,by ask,by exit2,by exit2,by exit2,by exit2,'
	is "$(wc -l <asked)" 20
}

@test "PreToolUse: defer denies, and says that nobody can decide later" {
	hook PreToolUse - "$(specific PreToolUse '{"permissionDecision":"defer"}')"
	run_it "$(one_round)"
	exits 0
	[ ! -e made ]
	has "$(result_text 2)" "deferred this call"
	is "$(denied)" 1
}

@test "PermissionRequest: allow, with another input, deny with a message, interrupt" {
	ALLOW=
	hook PermissionRequest - "$(specific PermissionRequest '{"decision":{"behavior":"allow","updatedPermissions":[]}}')"
	run_it "$(one_round)"
	exits 0
	[ -e made ]
	hook PermissionRequest - "$(specific PermissionRequest '{"decision":{"behavior":"deny","message":"too late"}}')"
	run_it "$(one_round)"
	exits 0
	[ ! -e made ]
	has "$(result_text 2)" "too late"
	hook PermissionRequest - "$(specific PermissionRequest '{"decision":{"behavior":"deny","interrupt":true}}')"
	run_it "$(one_round)"
	exits 30 hook_stopped
	is "$(requests)" 1
}

@test "PostToolUse: a block with its reason, context, another output for a tool of a server" {
	hook PostToolUse Bash "$(json '{"decision":"block","reason":"mend it","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"line 3"}}')"
	run_it "$(script "$(bash_call 'echo good')" "$(say end)")"
	exits 0
	has "$(result_text 2)" good
	has "$(said 2)" "mend it"
	has "$(said 2)" "line 3"
	none
	printf '#!/bin/sh\necho long\n' >own
	chmod +x own
	JOB='tools: {external: [{name: mcp__x__own, description: d, command: [./own]}]}'
	ALLOW='Bash, mcp__x__own'
	hook PostToolUse - "$(specific PostToolUse '{"updatedMCPToolOutput":"short"}')"
	run_it "$(script "$(call mcp__x__own '{}')" "$(bash_call 'echo whole')" "$(say end)")"
	exits 0
	is "$(result_text 2)" short
	has "$(result_text 3)" whole
}

@test "PostToolUseFailure and PostToolBatch: context; a batch can be blocked" {
	hook PostToolUseFailure - "$(specific PostToolUseFailure '{"additionalContext":"of the failure"}')"
	hook PostToolBatch - "$(specific PostToolBatch '{"additionalContext":"of the batch"}')"
	run_it "$(one_round false)"
	exits 0
	has "$(said 2)" "of the failure"
	has "$(said 2)" "of the batch"
	none
	hook PostToolBatch - "$(json '{"decision":"block","reason":"that will do"}')"
	run_it "$(one_round)"
	exits 30 hook_stopped
	has "$(result '.errors[0]')" "that will do"
	is "$(requests)" 1
}

@test "UserPromptSubmit: a block with its reason, context, and what has no meaning here" {
	hook UserPromptSubmit - "$(json '{"decision":"block","reason":"not that","hookSpecificOutput":{"hookEventName":"UserPromptSubmit","suppressOriginalPrompt":true}}')"
	JOB=
	hook SessionEnd - true
	PROMPT='prompt: the-words' run_it '[]'
	exits 30 hook_stopped
	is "$(requests)" 0
	is "$(result '.errors[0]')" "a UserPromptSubmit hook refused the prompt: not that"
	is "$(grep -c the-words "$T/out" "$T/err" | cut -d: -f2 | tr '\n' ' ')" "0 0 "
	none
	hook UserPromptSubmit - "$(specific UserPromptSubmit '{"additionalContext":"it is Monday","sessionTitle":"t"}')"
	run_it "$(script "$(say end)")"
	exits 0
	has "$(said 1)" "it is Monday"
}

@test "Stop: a block with its reason, one without, context that is no error" {
	hook Stop - "[ -e again ] && exit 0; touch again; $(json '{"decision":"block","reason":"test it"}')"
	run_it "$(script "$(say one)" "$(say two)")"
	exits 0
	is "$(said 2)" "test it"
	rm again
	none
	hook Stop - "[ -e again ] && exit 0; touch again; $(json '{"decision":"block"}')"
	run_it "$(script "$(say one)" "$(say two)")"
	exits 0
	is "$(endings)" "stop_hook_blocking "
	has "$(said 2)" "gave no reason"
	rm again
	none
	hook Stop - "[ -e again ] && exit 0; touch again; $(specific Stop '{"additionalContext":"there is more"}')"
	run_it "$(script "$(say one)" "$(say two)")"
	exits 0
	has "$(said 2)" "there is more"
	has "$(said 2)" "<system-reminder>"
	is "$(response .outcome)" ""
}

@test "SessionStart: context, a first message, and what has no meaning here" {
	hook SessionStart - "$(specific SessionStart '{"additionalContext":"the branch is main","initialUserMessage":"begin","sessionTitle":"t","watchPaths":["/x"],"reloadSkills":true}')"
	run_it "$(script "$(say end)")"
	exits 0
	has "$(said 1)" "begin|go|"
	has "$(said 1)" "the branch is main"
}

@test "SessionEnd and StopFailure: nothing that they say has an effect" {
	local e
	for e in SessionEnd StopFailure; do
		hook $e - "$(json '{"continue":false,"stopReason":"no","decision":"block","reason":"no"}')"
	done
	run_it "$(script "$(say end)")"
	exits 0 completed
	run_it '[{"status":400,"error":{"type":"invalid_request_error","message":"bad"}}]'
	exits 20 model_error
	lacks "$(result '.errors | join("|")')" "no|"
	is "$(requests)" 1
}

@test "context of all hooks is put together, in the order in which they stand, and marked as a reminder" {
	hook PostToolUse - "sleep 0.2; $(specific PostToolUse '{"additionalContext":"first"}')"
	hook PostToolUse - "$(specific PostToolUse '{"additionalContext":"second"}')"
	run_it "$(one_round)"
	exits 0
	has "$(said 2)" 'PostToolUse: first

second'
	has "$(said 2)" "<system-reminder>"
	none
	hook UserPromptSubmit - 'echo first'
	hook UserPromptSubmit - "$(specific UserPromptSubmit '{"additionalContext":"second"}')"
	run_it "$(script "$(say end)")"
	has "$(said 1)" "<system-reminder>"
	has "$(said 1 | tr '\n' ' ')" "first  second"
}

@test "each context that is too long goes to a file of its own, the others stay whole" {
	hook PostToolUse - "n=\$(head -c 10001 /dev/zero | tr '\\0' x); printf '{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"%s\"}}' \$n"
	hook PostToolUse - "n=\$(head -c 10000 /dev/zero | tr '\\0' y); printf '{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"%s\"}}' \$n"
	run_it "$(one_round)" --run-dir "$T/run"
	exits 0
	local text
	text=$(said 2)
	is "$(grep -oE 'y{10000}' <<<"$text" | wc -c)" 10001
	has "$text" "10001 bytes in all; the whole text is in $T/run/hook_1.txt"
	is "$(stat -c %s "$T/run/hook_1.txt")" 10001
}

# ---------------------------------------------------------------- guards of the loop

@test "guard: stop_hook_active is told from the second stop on, calls in between or not" {
	hook Stop - 'jq -r .stop_hook_active >>active; [ $(wc -l <active) -ge 4 ] || { echo more >&2; exit 2; }'
	run_it "$(script "$(say a)" "$(bash_call true)" "$(say b)" "$(say c)" "$(say d)")"
	exits 0
	is "$(tr '\n' ' ' <active)" "false true true true "
}

@test "guard: a stop hook that always objects ends as itself, by default after ten rounds" {
	hook Stop - 'echo again >&2; exit 2'
	run_it "$(script '{"text":"done","repeat":20}')"
	exits 34 stop_blocks_exhausted
	is "$(requests)" 11
	run_it "$(script '{"text":"done","repeat":20}')" --set limits.max_stop_blocks=1
	exits 34 stop_blocks_exhausted
	is "$(requests)" 2
}

@test "guard: a run that is interrupted is not asked whether it may stop" {
	hook Stop - 'touch asked'
	hook StopFailure - 'touch asked'
	reaching begun run_it "$(script "$(bash_call 'echo >begun; sleep 300')" "$(say end)")"
	exits 41 aborted_tools
	[ ! -e asked ]
}

@test "guard: behind an API error StopFailure alone is asked, however often the error comes" {
	hook Stop - 'touch asked; exit 2'
	hook StopFailure - 'jq -r .error >>failures; exit 2'
	run_it '[{"status":529,"error":{"type":"overloaded_error","message":"busy"},"headers":{"retry-after-ms":"10"},"repeat":3}]' --set model.max_retries=2
	exits 75 model_error
	[ ! -e asked ]
	is "$(wc -l <failures)" 1
	is "$(requests)" 3
}

@test "guard: commands that hooks run are nobody's business" {
	hook PreToolUse - 'echo x >>asked; bash -c "touch inner"'
	run_it "$(one_round)"
	exits 0
	[ -e inner ]
	[ -e made ]
	is "$(wc -l <asked)" 1
}

# ---------------------------------------------------------------- scripts as they are found

@test "scripts: what protects, what denies always, what keeps the run until the tests pass" {
	mkdir -p .claude/hooks kept
	cat >.claude/hooks/guard.sh <<-'SH'
		#!/bin/sh
		cmd=$(jq -r .tool_input.command)
		case $cmd in *"rm -rf"*) echo "rm -rf is not allowed here" >&2; exit 2;; esac
	SH
	cat >.claude/hooks/protect.sh <<-'SH'
		#!/bin/sh
		jq -n '{hookSpecificOutput:{hookEventName:"PreToolUse",permissionDecision:"deny",permissionDecisionReason:"protected path"}}'
	SH
	cat >.claude/hooks/tests.sh <<-'SH'
		#!/bin/sh
		in=$(cat); [ "$(printf %s "$in" | jq -r .stop_hook_active)" = true ] && exit 0
		make -s test >/dev/null 2>&1 || { echo '{"decision":"block","reason":"tests fail; fix them"}'; }
	SH
	chmod +x .claude/hooks/*.sh
	printf 'test:\n\ttest -e fixed\n' >Makefile
	jq -n '{hooks: {
		PreToolUse: [{matcher: "Bash", hooks: [{type: "command", command: "$CLAUDE_PROJECT_DIR/.claude/hooks/guard.sh", timeout: 10}]},
			{matcher: "Edit|Write", hooks: [{type: "command", command: "${CLAUDE_PROJECT_DIR}/.claude/hooks/protect.sh", args: []}]}],
		Stop: [{hooks: [{type: "command", command: "./.claude/hooks/tests.sh"}]}]}}' >.claude/settings.json
	serve "$(script "$(bash_call 'rm -rf kept')" "$(call Write '{"file_path":"f","content":"x"}')" "$(say one)" "$(bash_call 'touch fixed')" "$(say two)")"
	q -p go --setting-sources project --allowedTools 'Bash,Write'
	exits 0 completed
	[ -d kept ]
	[ ! -e f ]
	[ -e fixed ]
	has "$(result_text 2)" "rm -rf is not allowed here"
	has "$(result_text 3)" "protected path"
	is "$(said 4)" "tests fail; fix them"
	is "$(result .result)" two
	is "$(response .quern_error | sort -u)" null
}
