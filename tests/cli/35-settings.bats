# Settings files of Claude Code: what a run takes from them, and what it says of the rest.
load ../lib/helpers

extra_setup() { mkdir -p .claude "$HOME/.claude"; }

# settings FILE COMMAND: a Stop hook
settings() { printf '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"%s"}]}]}}' "$2" >"$1"; }

@test "nothing is picked up from a repository unasked" {
	settings .claude/settings.json 'echo no >&2; exit 2'
	echo 'not JSON' >.claude/settings.local.json
	serve "$(script "$(say done)")"
	q -q -p hi
	exits 0 completed
	[ ! -s "$T/err" ]
}

@test "a hook of --settings objects once, and the run goes on" {
	settings s.json 'jq -e .stop_hook_active >/dev/null || { echo more >&2; exit 2; }'
	serve "$(script "$(say first)" "$(say second)")"
	q -p hi --settings s.json
	exits 0 completed
	is "$(result .result)" second
	is "$(requests)" 2
}

@test "--settings takes the text itself" {
	serve "$(script "$(say first)" "$(say second)")"
	q -p hi --settings '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"jq -e .stop_hook_active >/dev/null || exit 2"}]}]}}'
	exits 0 completed
	is "$(requests)" 2
}

@test "the files of the workspace count where they are let in, each handler once" {
	settings .claude/settings.json "echo x >>$T/work/ran"
	settings .claude/settings.local.json "echo x >>$T/work/ran"
	settings "$HOME/.claude/settings.json" "echo home >>$T/work/ran"
	serve "$(script "$(say done)" "$(say done)")"
	q -p hi --setting-sources project,local
	exits 0 completed
	is "$(cat ran)" x
	rm ran
	q -p hi --setting-sources user,project,local
	exits 0 completed
	is "$(sort ran | tr '\n' ' ')" 'home x '
}

@test "a deny rule of a settings file holds beside those of the job" {
	echo secret >.env
	echo '{"permissions":{"deny":["Read(.env)"]}}' >s.json
	serve "$(script "$(call Read '{"file_path":".env"}')" "$(say done)")"
	q -p hi --settings s.json --disallowedTools Write
	exits 0 completed
	is "$(result '.permission_denials | length')" 1
}

@test "variables of a settings file reach tools, the job's own win" {
	echo '{"env":{"FROM":"settings","ALSO":"settings"}}' >s.json
	printf 'prompt: hi\nenv: {FROM: job}\npermissions: {allow: [Bash]}\n' >job.yaml
	# shellcheck disable=SC2016 # the tool's shell reads it
	serve "$(script "$(call Bash '{"command":"echo $FROM $ALSO >out"}')" "$(say done)")"
	q --settings s.json job.yaml
	exits 0 completed
	is "$(cat out)" 'job settings'
}

@test "what cannot be done is an error in the file that was named, else it is told" {
	echo '{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://x"}]}]}}' | tee s.json >.claude/settings.json
	q -p hi --settings s.json
	exits 2 turn_setup_failed
	err_has "s.json:1:37: hooks.Stop[0].hooks[0]: only hooks of type command are run, not 'http'"
	serve "$(script "$(say done)")"
	q -p hi --setting-sources project
	exits 0 completed
	err_has ".claude/settings.json:1:37: hooks.Stop[0].hooks[0]: only hooks of type command are run, not 'http'"
}

@test "a settings file that cannot be read never runs without its guards" {
	echo '{"hooks":' >.claude/settings.json
	q -p hi --setting-sources project
	exits 2 turn_setup_failed
	err_has '.claude/settings.json:2:1: the text ends where a value was expected'
	q -p hi --settings missing.json
	exits 2 turn_setup_failed
	err_has "settings: cannot open 'missing.json'"
}

@test "--check shows what came of them, as a job that needs them no more" {
	settings s.json ./x
	q --check -p hi --settings s.json
	is "$rc" 0
	has "$(cat "$T/out")" '# settings: "s.json"'
	cp "$T/out" job.yaml
	rm s.json
	q --check job.yaml
	is "$rc" 0
	has "$(cat "$T/out")" '"command":"./x"'
}

@test "--check says which tools a matcher is about" {
	cat >job.yaml <<-'YAML'
		prompt: hi
		tools: {external: [{name: run_tests, description: d, command: [true], read_only: true}]}
		hooks:
		  PreToolUse:
		    - {matcher: "Edit|Bash", hooks: [{type: command, command: a}]}
		    - {matcher: "^[A-Z]r|_t", hooks: [{type: command, command: b}]}
		    - {matcher: bash, hooks: [{type: command, command: c}]}
		    - {hooks: [{type: command, command: d}]}
		  Stop: [{matcher: x, hooks: [{type: command, command: e}]}]
	YAML
	q --check job.yaml
	is "$rc" 0
	is "$(grep '^# hook:' "$T/out")" '# hook: PreToolUse of "Edit|Bash": Edit, Bash
# hook: PreToolUse of "^[A-Z]r|_t": Grep, Write, run_tests
# hook: PreToolUse of "bash": none of the tools'
}
