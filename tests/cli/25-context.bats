#!/usr/bin/env bats
# A conversation that outgrows its window: the layers, what is done when a prompt is refused, the models to fall back on.
# The server counts what it is sent, refuses what is too long, and judges every request (see tests/lib/server.py).

load ../lib/helpers

# A model of which nothing is known, in a window of 12,000 tokens; marks: 5400, 6750, 7875, 8719 of usable 9000.
SMALL=(-m tiny --set context.window=12000 --system-prompt "You work." --allowedTools Bash -t 200)

# player ROUNDS [JQ-FILTER]: a script of so many rounds of outputs, a file, a search, and every tenth round two outputs
# that take a third of the window. Each round leaves its number in a file.
player() {
	jq -cn --argjson n "$1" '
		def bash(c): {name: "Bash", input: {command: c}};
		{window: 12000, player: {rounds: $n, text: "Step {n}.", answer: "all is done", calls: [
			bash("echo {n} >>ledger; seq 1000 1300"),
			bash("echo {n} >>ledger; seq 10000 10400"),
			[bash("echo {n} >>ledger"), {name: "Read", input: {file_path: "notes.txt"}}],
			bash("echo {n} >>ledger; seq 1000 1300"),
			[bash("echo {n} >>ledger"), {name: "Grep", input: {pattern: "line 1.*", output_mode: "content"}}],
			bash("echo {n} >>ledger; seq 1000 1200"),
			bash("echo {n} >>ledger; seq 1000 1400; false"),
			[bash("echo {n} >>ledger; seq 1 1600"), bash("seq 1 1600")],
			bash("echo {n} >>ledger; seq 1000 1300"),
			bash("echo {n} >>ledger")]}} | '"${2:-.}"
}
# Every round with its first call alone: small steps.
small_steps='.player.calls |= map(if type=="array" then .[0] else . end)'
notes() { seq -f 'line %g of the notes' 80 >notes.txt; }
# Every round was executed, once, in order.
ledger_is() { is "$(tr '\n' ' ' <ledger)" "$(seq -s ' ' "$1") "; }
steps() { ev 'select(.subtype=="quern_context").step' | sort | uniq -c | awk '{print $2}' | tr '\n' ' ' | sed 's/ $//'; }
saw() { local s; for s; do has " $(steps) " " $s "; done; }
saw_not() { local s; for s; do lacks " $(steps) " " $s "; done; }
boundaries() { ev 'select(.subtype=="compact_boundary").subtype' | wc -l; }
kinds() { awk -v k="$1" '$2==k' "$T/log/kinds" | wc -l; }
over() { touch "$T/log/over"; awk -v k="$1" '$2==k' "$T/log/over" | wc -l; }
none_over() { [ ! -s "$T/log/over" ] || { cat "$T/log/over"; return 1; }; }
# request_of KIND N: the file of the N-th request of that kind
request_of() { request "$(awk -v k="$1" '$2==k {print $1}' "$T/log/kinds" | sed -n "$2p")"; }
notices() { ev 'select(.subtype=="quern_notice").code' | tr '\n' ' '; }
models() { for f in "$T"/log/[0-9]*.json; do jq -r .model "$f"; done | uniq -c | awk '{print $1 $2}' | tr '\n' ' ' | sed 's/ $//'; }

# ---------------------------------------------------------------- the layers

@test "sixty rounds in a small window: each layer works, every request fits" {
	notes
	# Each tenth round three outputs that are each over what one result may be, and together over what a message may.
	serve "$(player 60 '.player.calls[7] = [bash("echo {n} >>ledger; seq 1 4000"), bash("seq 1 5000"), bash("seq 1 6000")]')"
	q -p "Do the sixty steps" "${SMALL[@]}"
	exits 0 completed
	is "$(result .result)" "all is done"
	is "$(result .num_turns)" 61
	ledger_is 60
	saw result_budget microcompact collapse
	[ "$(boundaries)" -ge 1 ]
	none_over
	is "$(kinds main)" 61
	is "$(kinds compact)" "$(boundaries)"
	# What each freed is told, and the numbers add up to something.
	is "$(ev 'select(.subtype=="quern_context" and .step!="result_budget" and (.tokens_freed <= 0 or .tokens_freed > .tokens_before)).step')" ""
	is "$(ev 'select(.subtype=="compact_boundary").compact_metadata | select(.post_tokens >= .pre_tokens)')" ""
	# The task is still there at the end, word for word.
	has "$(jq -r '.messages[0].content[0].text' "$(request_of main 61)")" "Do the sixty steps"
}

@test "with snip on, whole rounds go from the front before anything else" {
	notes
	serve "$(player 30)"
	q -p "Do the steps" "${SMALL[@]}" --set context.snip_at=80%
	exits 0 completed
	ledger_is 30
	saw snip
	none_over
	has "$(jq -r '.messages[0].content[0].text' "$(request_of main 31)")" "Do the steps"
}

@test "every layer can do without each of the others" {
	local off
	notes
	for off in microcompact_at=off collapse_at=off autocompact=false blocking_at=off; do
		rm -f ledger
		serve "$(player 30)"
		q -p "Do the steps" "${SMALL[@]}" --set "context.$off"
		[ "$rc" = 0 ] || [ "$off" = autocompact=false ] || { echo "without $off"; show; return 1; }
		case $rc in
		0) exits 0 completed; ledger_is 30 ;;
		*) exits 12 blocking_limit ;;
		esac
		is "$(over main)" 0
		case $off in
		microcompact_at=off) saw_not microcompact ;;
		collapse_at=off) saw_not collapse ;;
		autocompact=false) is "$(boundaries)" 0 ;;
		esac
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
	done
}

@test "autocompact alone carries a conversation" {
	notes
	serve "$(player 40 "$small_steps")"
	q -p "Do the steps" "${SMALL[@]}" --set context.microcompact_at=off --set context.collapse_at=off
	exits 0 completed
	ledger_is 40
	saw_not microcompact collapse snip
	[ "$(boundaries)" -ge 3 ]
	none_over
	# The newest summary stands in the request, earlier ones are covered by it.
	is "$(jq -r '.messages | tostring | [scan("BLUE HERON [0-9]+")] | join(" ")' "$(request_of main 41)")" "BLUE HERON $(boundaries)"
	# What is asked for the summary has the same system, tools and messages, so that the cache serves it.
	local c m
	c=$(awk '$2=="compact" {print $1; exit}' "$T/log/kinds") m=$((c - 1))
	is "$(jq -c '[.system, .tools]' "$(request "$c")")" "$(jq -c '[.system, .tools]' "$(request "$m")")"
	is "$(jq -r .tool_choice.type "$(request "$c")")" none
	is "$(jq -r .model "$(request "$c")")" tiny
	jq -e --slurpfile m "$(request "$m")" 'del(.. | .cache_control?) | .messages as $now
		| ($m[0] | del(.. | .cache_control?).messages) as $old | $now[:($old|length)] == $old' "$(request "$c")"
	# It is paid for, and told.
	is "$(ev 'select(.subtype=="compact_boundary").quern_model' | sort -u)" tiny
	[ "$(result '.modelUsage.tiny.outputTokens')" -gt "$(result .usage.output_tokens)" ]
	is "$(ev 'select(.subtype=="status") | "\(.status) \(.compact_result)"' | sort | uniq -c | awk '{print $2, $3}' | tr '\n' ';')" "compacting null;null success;"
}

@test "all layers off: the blocking limit ends the run before the server has to" {
	notes
	serve "$(player 60)"
	q -p "Do the steps" "${SMALL[@]}" --set context.microcompact_at=off --set context.collapse_at=off --set context.autocompact=false
	exits 12 blocking_limit
	none_over
	# The newest results give way as far as that helps.
	is "$(steps)" result_cut
	is "$(kinds compact)" 0
	# The tools of the last answer were run, and their results are in the events.
	is "$(result .num_turns)" "$(kinds main)"
	ledger_is "$(kinds main)"
}

@test "a first prompt that cannot fit is counted by the server before it is sent, once" {
	seq 1 12000 >task.txt
	serve '{"window":12000,"answers":[{"text":"never"}]}'
	q_in task.txt "${SMALL[@]}"
	exits 12 blocking_limit
	is "$(requests)" 0
	is "$(find "$T/log" -name 'c*.json' | wc -l)" 1
}

@test "where the server cannot count, a first prompt is sent, and refused" {
	seq 1 12000 >task.txt
	serve '{"window":12000,"count_tokens":false,"answers":[{"text":"never"}]}'
	q_in task.txt "${SMALL[@]}"
	exits 11 prompt_too_long
	is "$(requests)" 1
	has "$(result '.errors|join(" ")')" "prompt is too long"
	is "$(ev 'select(.type=="assistant") | .message.model')" "<synthetic>"
	is "$(result .result)" null
}

@test "the keys of a job file" {
	notes
	cat >job.yaml <<-'YAML'
		version: 1
		model: {name: tiny}
		system: You work.
		prompt: Do the steps
		permissions: {allow: [Bash]}
		context:
		  window: 12k
		  microcompact_at: 3000
		  microcompact_keep: 1
		  collapse_at: 40%
		  snip_at: 6000
		  autocompact_at: 7000
		  blocking_at: 95%
		  compact_model: tiny-writer
		  summary_model: tiny-notes
	YAML
	serve "$(player 20 '. + {summary_models: ["tiny-notes"]}')"
	q job.yaml
	exits 0 completed
	ledger_is 20
	saw microcompact
	none_over
	q --check job.yaml
	[ "$rc" = 0 ]
}

# ---------------------------------------------------------------- what becomes of a compaction

@test "files read lately stand in the next request as they are now" {
	notes
	serve "$(player 12)"
	q -p "Do the steps" "${SMALL[@]}" --set context.microcompact_at=off --set context.collapse_at=off
	exits 0 completed
	[ "$(boundaries)" -ge 1 ]
	local c
	c=$(awk '$2=="compact" {print $1; exit}' "$T/log/kinds")
	is "$(jq -r '.messages[-1].role' "$(request $((c + 1)))")" user
	has "$(jq -r '[.messages[-1].content[] | select(.type=="text").text] | join("\n")' "$(request $((c + 1)))")" "line 79 of the notes"
}

@test "another model may write the summary; it never sees the first one's thinking" {
	serve "$(player 20 ".player.thinking = true | $small_steps")"
	q -p "Do the steps" "${SMALL[@]}" -m claude-opus-4-6 --set context.compact_model=writer --set context.microcompact_at=off --set context.collapse_at=off
	exits 0 completed
	[ "$(boundaries)" -ge 1 ]
	is "$(jq -r .model "$(request_of compact 1)")" writer
	is "$(jq '[.messages[].content[] | select(.type=="thinking")] | length' "$(request_of compact 1)")" 0
	is "$(ev 'select(.subtype=="compact_boundary").quern_model' | sort -u)" writer
	is "$(result '.modelUsage | keys | join(" ")')" "claude-opus-4-6 writer"
	# Thinking that is not bound to what stood before it stays with the rounds that are kept.
	[ "$(jq '[.messages[].content[] | select(.type=="thinking")] | length' "$(request_of main 21)")" -ge 1 ]
}

@test "thinking that is bound to what stood before it goes with the first edit" {
	serve "$(player 20 ".bytes_per_token = 3 | .player.thinking = true | $small_steps")"
	q -p "Do the steps" "${SMALL[@]}" -m claude-sonnet-5-5 --set limits.max_turns=50
	exits 0 completed
	ledger_is 20
	[ "$(steps)" != "" ]
	[ "$(jq '[.messages[].content[] | select(.type=="thinking")] | length' "$(request_of main 2)")" = 1 ]
	none_over
}

@test "thinking with a budget goes on where its thinking still stands, and does without where it does not" {
	serve "$(player 20 ".player.thinking = \"asked\" | $small_steps")"
	q -p "Do the steps" "${SMALL[@]}" -m claude-opus-4-5 --set 'model.thinking={type: enabled, budget_tokens: 1024}'
	exits 0 completed
	ledger_is 20
	[ "$(steps)" != "" ]
	is "$(jq -r .thinking.type "$(request_of main 2)")" enabled
	none_over
}

# One line a kind of answer: exit, reason, requests for summaries at most.
@test "a summary that goes wrong ends in a named way, never in a loop" {
	local name code reason most
	while read -r name code reason most; do
		rm -f ledger
		serve "$(player 40 ". + {compact: [\"$name*\"]} | $small_steps")"
		notes
		LIMIT=120 q -p "Do the steps" "${SMALL[@]}" --set context.microcompact_at=off --set context.collapse_at=off --set context.autocompact_at=6000 --set model.max_retries=2
		echo "summary: $name"
		exits "$code" "$reason"
		[ "$(kinds compact)" -le "$most" ] || { echo "$(kinds compact) requests for summaries"; return 1; }
		[ "$(kinds compact)" -ge 1 ]
		is "$(over main)" 0
		if [ "$code" = 12 ]; then
			has "$(notices)" autocompact_off
			is "$(ev 'select(.subtype=="status" and .compact_result=="failed").compact_error | length > 0' | sort | uniq -c | tr -s ' ')" " 3 true"
			ledger_is "$(kinds main)"
		fi
		[ ! -e EVIL ]
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
	done <<-LIST
		garbage 0 completed 40
		empty 12 blocking_limit 3
		blank 12 blocking_limit 3
		refused 12 blocking_limit 3
		cut 12 blocking_limit 3
		tool_use 12 blocking_limit 3
		long 12 blocking_limit 3
		overloaded 12 blocking_limit 9
		broken 12 blocking_limit 9
		too_long 12 blocking_limit 12
	LIST
}

@test "a summary that fails once is made at the next turn" {
	notes
	serve "$(player 30 ". + {compact: [\"empty\", \"good*\"]} | $small_steps")"
	q -p "Do the steps" "${SMALL[@]}" --set context.microcompact_at=off --set context.collapse_at=off
	exits 0 completed
	ledger_is 30
	is "$(ev 'select(.subtype=="status" and .status==null).compact_result' | head -n 2 | tr '\n' ' ')" "failed success "
	lacks "$(notices)" autocompact_off
	# The lines tell all that was paid: answers, and summaries, also the one in vain.
	is "$(ev 'select(.compact_result=="failed").quern_model')" tiny
	is "$(jq -s -c '[(map(select(.type=="assistant")) | group_by(.message.id)[] | last.message.usage), (.[].quern_usage // empty)]
		| [(map(.input_tokens) | add), (map(.output_tokens) | add)]' "$T/out")" "$(result '[.modelUsage.tiny | .inputTokens, .outputTokens] | tojson')"
}

@test "a window that is full again right after each compaction: rapid refill" {
	serve "$(jq -cn '{window: 12000, compact: [{text: ("fact " * 1400), repeat: true}], player: {rounds: 30, answer: "never", calls: [
		[{name: "Bash", input: {command: "echo {n} >>ledger; seq 1 1400"}}, {name: "Bash", input: {command: "seq 1 1400"}}]]}}')"
	q -p "Do the steps" "${SMALL[@]}" --system-prompt "$(seq 1 1150)"
	exits 15 rapid_refill_breaker
	is "$(boundaries)" 3
	is "$(over main)" 0
	ledger_is "$(kinds main)"
	has "$(result '.errors|join(" ")')" "filled the context window again"
}

@test "budgets count what a compaction costs, and stop it" {
	notes
	serve "$(player 40)"
	q -p "Do the steps" "${SMALL[@]}" --set context.microcompact_at=off --set context.collapse_at=off --set limits.max_requests=12
	exits 13 budget_exhausted
	is "$(requests)" 12
	[ "$(kinds compact)" -ge 1 ]
	stop_server; rm -rf "$T/log"; mkdir "$T/log"; rm -f ledger
	serve "$(player 40)"
	q -p "Do the steps" "${SMALL[@]}" --set context.microcompact_at=off --set context.collapse_at=off -b 60k
	exits 13 budget_exhausted
	# All requests together, as the server counted them.
	is "$(result '.limits.token_budget.used')" "$(result '[.modelUsage[] | .inputTokens + .outputTokens + .cacheReadInputTokens + .cacheCreationInputTokens] | add')"
	[ "$(result '.limits.token_budget.used')" -gt "$(result '.usage | .input_tokens + .output_tokens + .cache_read_input_tokens + .cache_creation_input_tokens')" ]
}

@test "a signal while a summary is written ends the run at once" {
	notes
	serve "$(player 40 '. + {compact: [{silent: true}]}')"
	printf 'q%d' 99 >"$T/log/run"
	"$QUERN" --base-url "$BASE" -p "Do the steps" "${SMALL[@]}" --set context.microcompact_at=off --set context.collapse_at=off </dev/null >"$T/out" 2>"$T/err" 3>&- &
	local pid=$!
	compacting() { [ "$(kinds compact 2>/dev/null)" = 1 ]; }
	wait_for compacting
	kill -TERM "$pid"
	rc=0
	wait "$pid" || rc=$?
	exits 143 aborted_streaming
	is "$(boundaries)" 0
}

# ---------------------------------------------------------------- prompts that are refused

# How a server says that a prompt is too long, and whether it tells its window by it.
@test "a prompt that is refused for its length is made shorter, however it is said" {
	local status text learns
	while read -r status learns text; do
		rm -f ledger; notes
		serve "$(player 25 ". + {too_long: {status: $status, text: \"$text\"}}")"
		q -p "Do the steps" -m tiny --system-prompt "You work." --allowedTools Bash --set context.collapse_at=off
		echo "refused with: $text"
		exits 0 completed
		ledger_is 25
		has " $(transitions) " " reactive_compact_retry "
		is "$(ev 'select(.type=="assistant" and .message.model=="<synthetic>")')" ""
		is "$(ev 'select(.subtype=="compact_boundary").quern_reactive' | head -n 1)" true
		[ "$learns" = no ] || [ "$(over main)" = 1 ] || { cat "$T/log/over"; return 1; }
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
	done <<-'LIST'
		400 yes prompt is too long: {tokens} tokens > {window} maximum
		400 no prompt is too long
		413 no Request too large
		400 no Input is too long for requested model
		400 no context_length_exceeded: the request does not fit
	LIST
}

@test "a prompt that is refused and cannot be made shorter: one error, one exit" {
	serve "$(player 100 '. + {compact: ["refused*"]} | .player.calls = [bash("echo {n} >>ledger; seq 1000 1097")]')"
	q -p "Do the steps" -m tiny --system-prompt "You work." --allowedTools Bash --set context.collapse_at=off
	exits 11 prompt_too_long
	is "$(ev 'select(.type=="assistant" and .message.model=="<synthetic>") | .error' | wc -l)" 1
	has "$(result '.errors|join(" ")')" "prompt is too long"
	err_has "making the conversation shorter failed: the model declined to write the summary"
	is "$(over main)" 1
	ledger_is "$(($(kinds main) - 1))"
}

@test "staged folds are committed first when a prompt is refused" {
	notes
	# The server's window is smaller than what we are told: no mark is met before it refuses.
	serve "$(player 25 ".window = 8000 | $small_steps")"
	q -p "Do the steps" -m tiny --system-prompt "You work." --allowedTools Bash --set context.window=100k
	exits 0 completed
	ledger_is 25
	has " $(transitions) " " collapse_drain_retry "
	saw collapse
	# Never twice without progress between.
	lacks "$(transitions)" "collapse_drain_retry collapse_drain_retry"
	lacks "$(transitions)" "reactive_compact_retry reactive_compact_retry"
}

@test "an answer that fills the window is kept as far as it came, and gone on with" {
	serve "$(player 14 "$small_steps | .player.at = {\"9\": {content: [{text: (\"long \" * 9000)}]}}")"
	q -p "Do the steps" "${SMALL[@]}" --set context.microcompact_at=off --set context.collapse_at=off --set model.max_output_tokens=9000
	exits 0 completed
	has " $(transitions) " " reactive_compact_retry "
	is "$(result .result)" "all is done"
}

@test "an answer that fills the window when there is nothing to drop is cut, and kept" {
	serve '{"window": 3000, "answers": [{"text": "'"$(printf 'long %.0s' $(seq 4000))"'"}]}'
	q -p "Do it" -m tiny --system-prompt "You work." --set context.window=3000 --set model.max_output_tokens=9000
	exits 14 max_output_tokens
	is "$(requests)" 1
	has "$(result .result)" "long long"
}

@test "a server that wants room for the whole answer gets a smaller cap, then a shorter prompt" {
	notes
	serve "$(player 25 ".with_answer = true | $small_steps")"
	q -p "Do the steps" -m tiny --system-prompt "You work." --allowedTools Bash
	exits 0 completed
	ledger_is 25
	has "$(notices)" request_repaired
}

# ---------------------------------------------------------------- summaries of rounds, in the background

@test "a small model's words about a round stand in its fold" {
	notes
	serve "$(player 40 '. + {summary_models: ["small"], summary: [{text: "GREY OWL {n}", repeat: true}]}')"
	q -p "Do the steps" "${SMALL[@]}" --set context.summary_model=small
	exits 0 completed
	ledger_is 40
	[ "$(kinds summary)" -ge 5 ]
	is "$(jq -r 'has("tools")' "$(request_of summary 1)")" false
	is "$(jq '.messages | length' "$(request_of summary 1)")" 1
	saw collapse
	has "$(cat "$(request_of main 41)")" "GREY OWL"
	is "$(result '.modelUsage | keys | join(" ")')" "small tiny"
	# They are nobody's answer.
	is "$(result .num_turns)" 41
	lacks "$(ev 'select(.type=="assistant") | .message | tostring')" "GREY OWL"
}

@test "a small model that fails, or never answers, harms nobody" {
	local answer
	for answer in '{"status":500,"error":{"type":"api_error","message":"x"},"repeat":true}' '{"silent":true,"repeat":true}' '{"content":[],"repeat":true}' '{"text":"x","stop_after":2,"no_end":true,"then":"close","repeat":true}'; do
		rm -f ledger
		serve "$(player 12 ". + {summary_models: [\"small\"], summary: [$answer]} | $small_steps")"
		q -p "Do the steps" "${SMALL[@]}" --set context.summary_model=small
		exits 0 completed
		ledger_is 12
		[ "$(kinds summary)" -ge 1 ]
		is "$(ev 'select(.subtype=="api_retry")')" ""
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
	done
}

# ---------------------------------------------------------------- fallback


fallback_script() { # AFTER TIMES of the first model [TIMES of the second]
	jq -cn --argjson a "$1" --argjson t "$2" --argjson u "${3:-0}" '{overloaded: {"claude-opus-5": {after: $a, times: $t}, "claude-sonnet-5": $u},
		answers: [{content: [{thinking: "hm", signature: "s1"}, {tool_use: {name: "Bash", input: {command: "echo hi >>ledger"}}}]}, {text: "end"}]}'
}
switches() { ev 'select(.subtype=="quern_model_switch") | "\(.from)>\(.to)"' | tr '\n' ' ' | sed 's/ $//'; }

@test "three overloads in a row: the next model goes on, without the first one's thinking" {
	serve "$(fallback_script 1 true)"
	q -p go -m claude-opus-5 --fallback-model claude-sonnet-5,claude-opus-4-8 --allowedTools Bash
	exits 0 completed
	is "$(models)" "4claude-opus-5 1claude-sonnet-5"
	is "$(switches)" "claude-opus-5>claude-sonnet-5"
	is "$(transitions)" "next_turn model_fallback"
	is "$(ev 'select(.subtype=="api_retry").error' | sort | uniq -c | tr -s ' ')" " 2 overloaded"
	is "$(jq '[.messages[].content[] | select(.type=="thinking")] | length' "$(request 2)")" 1
	is "$(jq '[.messages[].content[] | select(.type=="thinking")] | length' "$(request 5)")" 0
	is "$(result '.modelUsage | keys | join(" ")')" "claude-opus-5 claude-sonnet-5"
	is "$(result .result)" end
	is "$(result .num_turns)" 2
	is "$(wc -l <ledger)" 1
}

@test "two overloads are no reason to go to another model" {
	serve "$(fallback_script 0 2)"
	q -p go -m claude-opus-5 --fallback-model claude-sonnet-5 --allowedTools Bash
	exits 0 completed
	is "$(models)" "4claude-opus-5"
	is "$(switches)" ""
}

@test "the list is gone through once, and then it is an overload like any other" {
	serve "$(fallback_script 1 true true)"
	q -p go -m claude-opus-5 --fallback-model claude-sonnet-5 --allowedTools Bash --set model.max_retries=4
	exits 75 model_error
	is "$(switches)" "claude-opus-5>claude-sonnet-5"
	is "$(models)" "4claude-opus-5 5claude-sonnet-5"
	is "$(result .transient)" true
	is "$(wc -l <ledger)" 1
}

@test "an overload within an answer: what was shown of it is withdrawn" {
	serve "$(jq -cn '{answers: [{content: [{text: "half an ans"}], stop_after: 3, headers: {"retry-after-ms": "5"}, then_error: {type: "overloaded_error", message: "Overloaded"}, repeat: 3}, {text: "whole"}]}')"
	LIMIT=120 q -p go -m claude-opus-5 --fallback-model claude-sonnet-5
	exits 0 completed
	is "$(models)" "3claude-opus-5 1claude-sonnet-5"
	is "$(switches)" "claude-opus-5>claude-sonnet-5"
	is "$(result .result)" whole
}

@test "a fallback while a call that only reads runs: its line and its end are withdrawn together" {
	echo words >notes.txt
	serve "$(jq -cn '{answers: [{content: [{tool_use: {id: "r1", name: "Read", input: {file_path: "notes.txt"}}}, {text: "and then"}],
		stop_after: 8, headers: {"retry-after-ms": "5"}, then_error: {type: "overloaded_error", message: "Overloaded"}, repeat: 3}, {text: "whole"}]}')"
	LIMIT=120 q -p go -m claude-opus-5 --fallback-model claude-sonnet-5
	exits 0 completed
	is "$(models)" "3claude-opus-5 1claude-sonnet-5"
	is "$(ev 'select(.type=="user") | .message.content[0].content')" "Model fallback triggered"
	is "$(ev 'select(.subtype=="quern_tombstone").uuids[]' | sort)" "$(ev 'select(.type=="user" or (.type=="assistant" and .message.model=="claude-opus-5")).uuid' | sort)"
	is "$(jq '.messages | length' "$(request 4)")" 1
}

@test "work that was begun is kept before the next model is asked" {
	serve "$(jq -cn '{overloaded: {"claude-opus-5": 2}, answers: [{content: [{tool_use: {name: "Bash", input: {command: "echo hi >>ledger"}}}, {text: "and then"}],
		stop_after: 6, delay: 0.3, split: "events", then_error: {type: "overloaded_error", message: "Overloaded"}}, {text: "whole"}]}')"
	q -p go -m claude-opus-5 --fallback-model claude-sonnet-5 --allowedTools Bash
	exits 0 completed
	is "$(models)" "3claude-opus-5 1claude-sonnet-5"
	is "$(transitions)" "salvaged_stream"
	is "$(switches)" "claude-opus-5>claude-sonnet-5"
	is "$(wc -l <ledger)" 1
	is "$(jq -r '.messages[-1].content[0].type' "$(request 4)")" tool_result
}

@test "a fallback in the middle of a tool loop while thinking is enabled" {
	serve "$(jq -cn '{overloaded: {"claude-opus-4-5": {after: 1, times: true}},
		answers: [{content: [{thinking: "hm", signature: "s1"}, {tool_use: {name: "Bash", input: {command: "true"}}}]},
			{tool_use: {name: "Bash", input: {command: "true"}}}, {text: "end"}]}')"
	q -p go -m claude-opus-4-5 --fallback-model claude-sonnet-4-5 --allowedTools Bash --set 'model.thinking={type: enabled, budget_tokens: 2000}'
	exits 0 completed
	is "$(switches)" "claude-opus-4-5>claude-sonnet-4-5"
	is "$(jq -c '.thinking' "$(request 5)")" null
}

@test "a summary is written by the next model if the first is overloaded" {
	notes
	serve "$(player 20 '. + {overloaded: {tiny: {after: 12, times: true}}}')"
	q -p "Do the steps" "${SMALL[@]}" --fallback-model other --set context.microcompact_at=off --set context.collapse_at=off
	exits 0 completed
	ledger_is 20
	is "$(switches)" "tiny>other"
	none_over
}

# ---------------------------------------------------------------- the harness itself

@test "a break of the prefix that no event explains fails the run that made it" {
	printf '{"run":"q1","before":1,"request":2,"what":"system changed"}\n' >"$T/breaks"
	printf '{"type":"assistant","message":{"id":"msg_1"}}\n{"type":"assistant","message":{"id":"msg_2"}}\n' >"$T/events"
	run "$PY" "$LIB/breaks.py" "$T/breaks" q1 "$T/events"
	is "$status" 1
	has "$output" "system changed"
	sed -i '1a {"type":"system","subtype":"compact_boundary"}' "$T/events"
	run "$PY" "$LIB/breaks.py" "$T/breaks" q1 "$T/events"
	is "$status" 0
}
