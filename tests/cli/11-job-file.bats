#!/usr/bin/env bats
# The job file: what it says, what it may not say, who wins over whom.

load ../lib/helpers

job() { cat >job.yaml; }
bad() { # bad TEXT...: the job on stdin is exit 2 and stderr has each TEXT
	job
	q --check job.yaml
	[ "$rc" = 2 ] || { cat job.yaml; show; return 1; }
	local t
	for t in "$@"; do err_has "$t" || return 1; done
}

@test "keys of the job are obeyed" {
	serve "$(script "$(say hi)")"
	job <<-'YAML'
		version: 1
		name: a-job
		model: {name: m-job, max_output_tokens: 1234}
		prompt: |
		  Two lines
		  of task.
		limits: {max_turns: 7, wall_time: 2m}
		tools: {builtin: [Read]}
	YAML
	q job.yaml
	exits 0
	is "$(jq -r '.model, .max_tokens, .tools[0].name' "$(request 1)" | tr '\n' ' ')" "m-job 1234 Read "
	is "$(result '.limits.max_turns.left')" 6
}

@test "option > QUERN_ variable > job file > vendor variable > default" {
	serve '[{"text":"hi","repeat":true}]'
	printf 'version: 1\nprompt: hi\nmodel: {name: from-job}\n' >job.yaml
	printf 'version: 1\nprompt: hi\n' >plain.yaml
	model() { jq -r .model "$(request "$1")"; }
	q job.yaml -m from-option && exits 0
	QUERN_MODEL=from-quern q job.yaml && exits 0
	ANTHROPIC_MODEL=from-vendor q job.yaml && exits 0
	ANTHROPIC_MODEL=from-vendor q plain.yaml && exits 0
	q plain.yaml && exits 0
	is "$(model 1) $(model 2) $(model 3) $(model 4)" "from-option from-quern from-job from-vendor"
	case $(model 5) in claude-*) ;; *) false ;; esac
}

@test "a shell's base URL does not redirect a job that names its own" {
	serve "$(script "$(say hi)")"
	printf 'version: 1\nprompt: hi\nmodel: {base_url: "%s"}\n' "$BASE" >job.yaml
	ANTHROPIC_BASE_URL=http://127.0.0.1:9 BASE='' q job.yaml
	exits 0
	is "$(requests)" 1
}

@test "--set overrides any key, and is checked like one" {
	serve "$(script "$(say hi)")"
	printf 'version: 1\nprompt: hi\nlimits: {max_turns: 3}\n' >job.yaml
	q job.yaml --set limits.max_turns=9
	exits 0
	is "$(result '.limits.max_turns.left')" 8
	q job.yaml --set limits.max_turn=9
	is "$rc" 2
	err_has max_turns
	q job.yaml --set limits.max_turns=many
	is "$rc" 2
	q job.yaml --set nonsense
	is "$rc" 2
}

@test "every error of the file, each with line and column" {
	bad 'job.yaml:3:' 'max_turn:' 'max_turns' 'job.yaml:4:' 'job.yaml:5:' <<-'YAML'
		version: 1
		prompt: hi
		limits: {max_turn: 5}
		modl: x
		output: {format: xml}
	YAML
	is "$(grep -c job.yaml "$T/err")" 3
}

@test "numbers of the wrong type, range or form are never read as something else" {
	local v
	for v in 0 -1 1.5 1_000 99999999999999999999 seven '""' '[]' '{}' 10s '5 turns' true; do
		printf 'version: 1\nprompt: hi\nlimits: {max_turns: %s}\n' "$v" >job.yaml
		q --check job.yaml
		is "$v $rc" "$v 2"
	done
	for v in '5,00' '$5' .nan .inf 1e309 -1 0 nan ''; do
		printf "version: 1\nprompt: hi\nlimits: {max_cost_usd: '%s'}\n" "$v" >job.yaml
		q --check job.yaml
		is "'$v' $rc" "'$v' 2"
		[ -n "$v" ] || continue
		printf 'version: 1\nprompt: hi\nlimits:\n  max_cost_usd: %s\n' "$v" >job.yaml
		q --check job.yaml
		is "$v $rc" "$v 2"
	done
}

@test "units: durations, counts, sizes; a comma never is a decimal point" {
	local v
	for v in 'wall_time: 90s' 'wall_time: 15m' 'wall_time: 2h' 'token_budget: 500k' 'token_budget: 5M' 'max_cost_usd: 2.50' 'stdin_bytes: 1MiB'; do
		printf 'version: 1\nprompt: hi\nlimits: {%s}\n' "$v" >job.yaml
		LC_ALL=de_DE.UTF-8 LC_NUMERIC=de_DE.UTF-8 q --check job.yaml
		is "$v $rc" "$v 0"
	done
}

@test "booleans are true and false, lists are lists" {
	bad partial <<-'YAML'
		version: 1
		prompt: hi
		output: {partial: yes}
	YAML
	bad builtin <<-'YAML'
		version: 1
		prompt: hi
		tools: {builtin: [Read, 1, null]}
	YAML
	bad model <<-'YAML'
		version: 1
		prompt: hi
		model: []
	YAML
}

@test "strings are taken as written: no, on, 1.10, 01234, 12:30:45 stay what they are" {
	serve "$(script "$(bash_call 'echo "$COUNTRY|$SWITCH|$YES|$VERSION|$ZIP|$HEX|$EXP|$TIME|$DATE|$TRUE|$QUOTED"')" "$(say end)")"
	job <<-'YAML'
		version: 1
		prompt: go
		permissions: {allow: [Bash]}
		env:
		  COUNTRY: no
		  SWITCH: on
		  YES: yes
		  VERSION: 1.10
		  ZIP: 01234
		  HEX: 0x1F
		  EXP: 1e3
		  TIME: 12:30:45
		  DATE: 2026-01-02
		  TRUE: true
		  QUOTED: "no"
	YAML
	q job.yaml
	exits 0
	is "$(result_text 2 | head -n 1)" "no|on|yes|1.10|01234|0x1F|1e3|12:30:45|2026-01-02|true|no"
}

@test "free-form JSON places use the core schema" {
	serve "$(script "$(say hi)")"
	job <<-'YAML'
		version: 1
		prompt: hi
		model: {extra: {metadata: {user_id: "7"}, output_config: {n: 1, b: true, s: yes, z: null, f: 1.5}}}
	YAML
	q job.yaml
	exits 0
	is "$(command jq -c .output_config "$(request 1)")" '{"n":1,"b":true,"s":"yes","z":null,"f":1.5}'
}

@test "what a job file may not hold: anchors, aliases, tags, merge keys, two documents, duplicate keys" {
	bad 'job.yaml:2:' <<-'YAML'
		version: 1
		prompt: &a hi
	YAML
	bad 'job.yaml:2:' <<-'YAML'
		version: 1
		prompt: !!str hi
	YAML
	bad 'job.yaml:3:' <<-'YAML'
		version: 1
		prompt: hi
		<<: {name: x}
	YAML
	bad <<-'YAML'
		version: 1
		prompt: hi
		---
		version: 1
	YAML
	bad 'job.yaml:3:' prompt <<-'YAML'
		version: 1
		prompt: hi
		prompt: again
	YAML
}

@test "depth, size, bad bytes and broken syntax are one clear line each" {
	printf 'version: 1\nprompt: hi\nmodel: {extra: %s%s}\n' "$(printf '[%.0s' {1..100})" "$(printf ']%.0s' {1..100})" >job.yaml
	q --check job.yaml
	is "$rc" 2
	{ printf 'version: 1\nprompt: hi\n# '; head -c 1100000 /dev/zero | tr '\0' x; } >job.yaml
	q --check job.yaml
	is "$rc" 2
	printf 'version: 1\nprompt: h\377i\n' >job.yaml
	q --check job.yaml
	is "$rc" 2
	err_has job.yaml
	printf 'version: 1\nprompt: [hi\n' >job.yaml
	q --check job.yaml
	is "$rc" 2
	err_has job.yaml:
}

@test "an empty job file and a wrong version" {
	: >job.yaml
	q job.yaml
	is "$rc" 2
	printf 'version: 2\nprompt: hi\n' >job.yaml
	q job.yaml
	is "$rc" 2
	err_has version
}

@test "files of the job resolve from where quern was started" {
	mkdir sub
	serve "$(script "$(say hi)")"
	printf 'version: 1\nprompt: hi\nworkspace: {dir: sub}\nevents: out.ndjson\n' >job.yaml
	q job.yaml
	exits 0
	is "$(ev 'select(.subtype=="init").cwd')" "$PWD/sub"
	[ -s out.ndjson ]
}

@test "two positionals, an option twice, a value missing" {
	printf 'version: 1\nprompt: hi\n' >a.yaml; cp a.yaml b.yaml
	q a.yaml b.yaml
	is "$rc" 2
	q a.yaml --max-turns
	is "$rc" 2
	err_has --max-turns
}

@test "keys of a later version are refused, not ignored" {
	bad agents <<-'YAML'
		version: 1
		prompt: hi
		agents: {helper: {prompt: Help.}}
	YAML
}

@test "a pipe as job file: read to its end, or an error if nobody writes to it" {
	mkfifo "$T/pipe"
	serve "$(script "$(say end)" "$(say end)")"
	q "$T/pipe"
	is "$rc" 2
	err_has "nobody writes to the pipe '$T/pipe'"
	exec {writer}<>"$T/pipe" # there from now on, until the last word is written
	(sleep 0.2; printf 'version: 1\n'; sleep 0.2; printf 'prompt: from a pipe\n') >&"$writer" 3>&- &
	exec {writer}>&-
	q "$T/pipe"
	exits 0
	q <(printf 'prompt: from another pipe\n')
	exits 0
	is "$(jq -r '.messages[0].content[0].text' "$(request 2)")" "from another pipe"
}

marks_of() { sed -n "s/^# context of $1: //p" "$T/out"; }

@test "--check prints the marks of the window in tokens, for each model of the job" {
	BASE=''
	q --check -p x -m claude-haiku-4-5 --fallback-model weird,claude-sonnet-4-6
	is "$rc" 0
	is "$(marks_of claude-haiku-4-5)" "window 200000 tokens, usable 192000, microcompact at 115200, collapse at 144000, snip off, autocompact at 179000, blocking at 189000"
	has "$(marks_of claude-sonnet-4-6)" "window 1000000 tokens, "
	has "$(marks_of weird)" "not known"
	q --check -p x -m weird --set context.window=12k --set context.microcompact_at=off --set context.collapse_at=4000 \
		--set context.snip_at=80% --set context.autocompact=false --set model.max_output_tokens=2000
	is "$(marks_of weird)" "window 12000 tokens, usable 10000, microcompact off, collapse at 4000, snip at 8000, autocompact off, blocking at 9688"
}

@test "marks that do not ascend are refused at the start, by the key's name" {
	BASE=''
	q -p x --replay /dev/null --set context.window=12k --set context.snip_at=70%
	exits 2
	err_has "context.snip_at: 6300 tokens are not above context.collapse_at, 6750 tokens"
	is "$(result .startup_failure_reason)" config_invalid
	# fine for the one, not for the other
	q --check -p x -m claude-sonnet-5-5 --set context.snip_at=750k
	is "$rc" 0
	q --check -p x -m claude-sonnet-5-5 --fallback-model claude-haiku-4-5 --set context.snip_at=750k
	is "$rc" 2
	err_has "claude-haiku-4-5: context.snip_at: 750000 tokens are more than the 192000"
}

@test "a cost budget needs the price of every model that is named" {
	BASE=''
	local o
	for o in '-m weird' '--fallback-model weird' '--set context.compact_model=weird' '--set context.summary_model=weird'; do
		# shellcheck disable=SC2086 # words
		q --check -p x --max-budget-usd 1 $o
		is "$rc" 2
		err_has "limits.max_cost_usd: the price of model 'weird' is not known"
	done
	q --check -p x --max-budget-usd 1 --fallback-model claude-haiku-4-5 --set context.summary_model=claude-haiku-4-5
	is "$rc" 0
}
