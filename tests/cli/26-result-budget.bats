#!/usr/bin/env bats
# What tools show in a small window: results that are too large enter as head and tail and stay whole in the run
# directory, and files whose content left the conversation count as not seen.

load ../lib/helpers

# usable 6,000 tokens at 3 bytes, of which system prompt and tools take about a quarter: 3,400 bytes a result, 6,800 a
# message
small=(--set context.window=8k --allowedTools Bash)

result_size() { result_text "$@" | tr -d '\n' | wc -c; }
budget_steps() { ev 'select(.subtype=="quern_context" and .step=="result_budget") | "\(.tokens_before > .tokens_freed)"' | wc -l; }
files() { ev 'select(.type=="user") | .quern_output_file // "none"'; }

@test "a result over a quarter of the window is cut, kept whole, and can be read" {
	serve "$(script "$(bash_call 'seq -f "line %05g é" 1 500')" "$(say later)")"
	q -p go "${small[@]}"
	exits 0
	local text path
	text=$(result_text 2)
	[ "${#text}" -le 3750 ]
	has "$text" "line 00001 é"
	has "$text" "line 00500 é"
	has "$text" "Output is too large (7000 bytes). All of it is saved in "
	lacks "$text" "line 00250"
	path=$(files)
	is "$(wc -l <"$path")" 500
	is "$(sed -n 250p "$path")" "line 00250 é"
	is "$(budget_steps)" 1
	is "$(result .run_dir)" "$(dirname "$path")"
	# the model follows the path
	stop_server; rm -rf "$T/log"; mkdir "$T/log"
	serve "$(script "$(call Bash '{"command": "seq -f \"line %05g é\" 1 500"}' big)" \
		"$(call Read '{"file_path": "'"$T"'/rd/big", "offset": 249, "limit": 2}')" "$(say end)")"
	q -p go "${small[@]}" --run-dir "$T/rd"
	exits 0
	is "$(files | head -n 1)" "$T/rd/big"
	has "$(result_text 3)" "250	line 00250 é"
}

@test "all results of a message share half of it: the largest give way, evenly, in the order of the calls" {
	local calls
	calls=$(script "$(bash_call 'seq 1 250')" "$(bash_call 'echo small')" "$(bash_call 'seq 1001 1800')" "$(bash_call 'seq 2001 2850')")
	serve "$(script "{\"content\": $calls}" "$(say end)")"
	q -p go "${small[@]}"
	exits 0
	is "$(result_text 2 0)" "$(seq 1 250)"
	is "$(result_text 2 1)" small
	local all=0 i n
	for i in 0 1 2 3; do
		n=$(result_text 2 $i | wc -c)
		all=$((all + n))
	done
	[ "$all" -le 7500 ] && [ "$all" -gt 4500 ] || { echo "$all bytes"; false; }
	has "$(result_text 2 2)" 1001
	has "$(result_text 2 3)" 2001
	is "$(budget_steps)" 1
	is "$(ev 'select(.type=="user").message.content[0].tool_use_id' | sort | tr '\n' ' ')" "$(ev 'select(.type=="user").message.content[0].tool_use_id' | tr '\n' ' ')"
	is "$(files | grep -c none)" 2
}

@test "in a large window nothing is cut that its tool did not cut" {
	serve "$(script "$(bash_call 'seq 1 5000')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(result_text 2)" "$(seq 1 5000)"
	is "$(budget_steps)" 0
}

@test "without a run directory a result that is too large is cut and says so" {
	mkdir "$T/no"
	serve "$(script "$(bash_call 'seq 1 3000')" "$(say end)")"
	q -p go "${small[@]}" --set limits.run_dir_bytes=10
	exits 0
	has "$(result_text 2)" "could not be saved"
	has "$(result_text 2)" 3000
	is "$(files)" none
}

@test "a file that was shown in part is not written over" {
	seq 1 2000 >f
	serve "$(script "$(call Read '{"file_path": "f"}')" "$(call Write '{"file_path": "f", "content": "x"}')" "$(say end)")"
	q -p go "${small[@]}" --allowedTools Write
	exits 0
	has "$(result_text 2)" "saved in"
	has "$(result_text 3)" "has not been read yet"
	is "$(wc -l <f)" 2000
}

# counted ANSWER...: a script whose server counts what it is sent
counted() { script "$@" | jq -c '{window: 8000, bytes_per_token: 3, answers: .}'; }

@test "a file whose result was cleared is shown again, and is not written over before that" {
	seq 1 400 >f
	local i answers=("$(call Read '{"file_path": "f"}')")
	for i in 1 2; do
		seq "${i}000" "${i}500" >"other$i"
		answers+=("$(call Read '{"file_path": "other'$i'"}')")
	done
	serve "$(counted "${answers[@]}" "$(call Write '{"file_path": "f", "content": "x"}')" "$(call Read '{"file_path": "f"}')" "$(say end)")"
	q -p go "${small[@]}" --allowedTools Write --set context.microcompact_keep=1 --set context.microcompact_at=60%
	exits 0
	is "$(ev 'select(.step=="microcompact").step' | head -n 1)" microcompact
	is "$(jq -r '[.messages[].content[] | select(.type=="tool_result")][0].content | length < 200' "$(request 4)")" true
	has "$(result_text 5)" "has not been read yet"
	has "$(result_text 6)" "   400	400"
}

@test "behind a summary the files used last stand as they are now" {
	seq 1 40 >f
	serve "$(counted "$(call Read '{"file_path": "f"}')" "$(bash_call 'seq 1 850; echo changed >>f')" "$(bash_call 'seq 1 850')" \
		"$(call Write '{"file_path": "f", "content": "new"}')" "$(say end)")"
	q -p go "${small[@]}" --allowedTools Bash,Write --set context.microcompact_at=off --set context.collapse_at=off \
		--set context.autocompact_at=70%
	exits 0
	is "$(ev 'select(.subtype=="compact_boundary").compact_metadata.trigger')" auto
	has "$(jq -r '[.messages[].content[] | select(.type=="text").text] | join("\n")' "$(request 5)")" "The file $PWD/f as it is now:
     1	1"
	has "$(jq -r '[.messages[].content[] | select(.type=="text").text] | join("\n")' "$(request 5)")" "    41	changed"
	# it was seen whole
	is "$(cat f)" new
}
