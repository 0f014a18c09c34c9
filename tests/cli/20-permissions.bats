#!/usr/bin/env bats
# Permission rules through the whole program: what runs, what is denied, and how that is told.

load ../lib/helpers

denials() { ev 'select(.subtype=="permission_denied").tool_name' | tr '\n' ' ' | sed 's/ $//'; }
offered() { jq -r '[.tools[].name] | join(" ")' "$(request "${1:-1}")"; }
read_call() { call Read "$(jq -cn --arg p "$1" '{file_path: $p}')"; }

@test "a scoped rule lets its command run, and no other" {
	serve "$(script "$(bash_call 'mkdir made')" "$(bash_call 'mkdir made && touch also')" "$(say end)")"
	q -p go --allowedTools 'Bash(mkdir *)'
	exits 0
	[ -d made ]
	[ ! -e also ]
	is "$(result_is_error 2)" false
	has "$(result_text 3)" 'no rule allows `touch also`'
	is "$(denials)" Bash
	is "$(ev 'select(.subtype=="permission_denied").decision_reason_type')" command
	is "$(result '.permission_denials[0].tool_input.command')" 'mkdir made && touch also'
}

@test "rules of an option are parted by commas and blanks outside parentheses" {
	serve "$(script "$(bash_call 'mkdir a,b')" "$(call Write '{"file_path":"src/x","content":"y"}')" "$(say end)")"
	q -p go --allowedTools 'Bash(mkdir a,b:*),Edit(src/**) Read'
	exits 0
	[ -d a,b ]
	is "$(cat src/x)" y
	is "$(denials)" ''
}

@test "deny stands above allow and ask, in every mode, and looks through wrappers" {
	serve "$(script "$(bash_call 'mkdir x; touch y')" "$(bash_call 'timeout 5 env A=1 /usr/bin/touch y')" "$(bash_call "sh -c 'touch y'")" "$(bash_call 'mkdir x')" "$(say end)")"
	q -p go --allowedTools Bash --disallowedTools 'Bash(touch *)'
	exits 0
	[ ! -e y ]
	[ -d x ]
	is "$(result '.permission_denials | length')" 3
	has "$(result_text 2)" "the deny rule Bash(touch *)"
	is "$(ev 'select(.subtype=="permission_denied").decision_reason_type' | sort -u)" rule
}

@test "ask with nobody to ask is denied" {
	serve "$(script "$(bash_call 'touch y')" "$(say end)")"
	q -p go --allowedTools Bash --set 'permissions.ask=[Bash(touch *)]'
	exits 0
	[ ! -e y ]
	has "$(result_text 2)" "the ask rule Bash(touch *)"
	is "$(denials)" Bash
}

@test "default: what only reads runs in Bash, the rest does not" {
	echo one >f
	serve "$(script "$(bash_call 'cat f | wc -l')" "$(bash_call 'touch y')" "$(bash_call 'cat /etc/passwd')" "$(say end)")"
	q -p go
	exits 0
	has "$(offered)" Bash
	is "$(result_text 2)" 1
	[ ! -e y ]
	is "$(result '.permission_denials | length')" 2
	has "$(result_text 4)" "outside the workspace"
}

@test "dontAsk runs what rules allow, plan changes nothing" {
	serve "$(script "$(call Write '{"file_path":"src/x","content":"y"}')" "$(call Write '{"file_path":"x","content":"y"}')" "$(say end)")"
	q -p go --permission-mode dontAsk --allowedTools 'Edit(src/**)'
	exits 0
	is "$(cat src/x)" y
	[ ! -e x ]
	is "$(denials)" Write
	is "$(ev 'select(.subtype=="init").permissionMode')" dontAsk
	stop_server
	rm -rf "$T/log" && mkdir "$T/log"
	serve "$(script "$(bash_call 'mkdir new')" "$(say end)")"
	q -p go --permission-mode plan --allowedTools 'Bash(mkdir *)'
	exits 0
	[ ! -e new ]
	is "$(denials)" Bash
}

@test "a bare deny takes the tool out of the request, a scoped one does not" {
	serve "$(script "$(say end)" "$(say end)")"
	q -p go --disallowedTools 'Read,Bash(rm *)'
	exits 0
	lacks " $(offered) " ' Read '
	has " $(offered) " ' Bash '
	err_has "Read: denied by a rule"
	ev 'select(.subtype=="init").tools_withheld[]' >withheld
	grep -q '^Read: ' withheld
}

@test "on_denied: fail ends the run with 32 after the results, and withholds nothing" {
	serve "$(script "$(call Write '{"file_path":"x","content":"y"}')" "$(say never)")"
	q -p go --set permissions.on_denied=fail
	exits 32 permission_denied
	is "$(requests)" 1
	has " $(offered) " ' Write '
	is "$(ev 'select(.type=="user").message.content[0].is_error')" true
	is "$(result '.permission_denials[0].tool_name')" Write
	has "$(result '.errors[0]')" "a call of Write was denied"
	err_has on_denied
}

@test "Read rules hold for every way to read, links too" {
	echo secret-word >.env
	mkdir sub && echo secret-word >sub/.env
	ln -s .env innocent
	echo secret-word >plain
	serve "$(script "$(read_call .env)" "$(read_call innocent)" "$(bash_call 'cat innocent')" "$(bash_call 'grep -r secret .')" \
		"$(call Grep '{"pattern":"secret","output_mode":"content"}')" "$(call Grep '{"pattern":"secret"}')" \
		"$(call Grep '{"pattern":"secret","output_mode":"count","path":"sub"}')" "$(call Glob '{"pattern":"**/.env"}')" \
		"$(call Grep '{"pattern":"secret","path":"sub/.env"}')" "$(say end)")"
	q -p go --allowedTools Bash --disallowedTools 'Read(.env)'
	exits 0
	local i
	for i in 2 3 4 5 10; do
		is "$(result_is_error $i)" true
		lacks "$(result_text $i)" secret-word
	done
	is "$(result_text 6)" "plain:1:secret-word"
	is "$(result_text 7)" plain
	is "$(result_text 8)" "No matches found"
	is "$(result_text 9)" "No files found"
	is "$(result '.permission_denials | length')" 5
}

@test "what a search must leave out does not use up its output" {
	mkdir conf
	yes secret-word-secret-word-secret-word-secret-word | head -100000 | tee .env conf/key >a.env
	echo secret-word >z
	serve "$(script "$(call Grep '{"pattern":"secret","output_mode":"content"}')" "$(say end)")"
	q -p go --disallowedTools 'Read(*.env),Read(/conf/**)'
	exits 0
	is "$(result_text 2)" "z:1:secret-word"
}

@test "a wildcard does not lead through a link of the repository to what lies outside" {
	echo far >"$T/far"
	ln -s "$T/far" note.txt
	echo near >near.md
	serve "$(script "$(bash_call 'cat *.txt')" "$(bash_call 'cat *.md')" "$(say end)")"
	q -p go
	exits 0
	is "$(result_is_error 2)" true
	has "$(result_text 2)" "outside the workspace"
	is "$(result_text 3)" near
	is "$(result '.permission_denials | length')" 1
}

@test "a path outside is read if a rule names it, and only read" {
	mkdir "$T/outside" && echo far >"$T/outside/f" && echo no >"$T/other"
	ln -s "$T/other" "$T/outside/link"
	serve "$(script "$(read_call "$T/outside/f")" "$(call Grep "{\"pattern\":\"far\",\"path\":\"$T/outside\"}")" "$(read_call "$T/other")" \
		"$(read_call "$T/outside/link")" "$(call Write "{\"file_path\":\"$T/outside/new\",\"content\":\"x\"}")" "$(say end)")"
	q -p go --permission-mode acceptEdits --allowedTools "Read(/$T/outside/**),Edit(/$T/outside/**)"
	exits 0
	has "$(result_text 2)" far
	has "$(result_text 3)" "$T/outside/f"
	is "$(result_is_error 4)" true
	is "$(result_is_error 5)" true
	is "$(result_is_error 6)" true
	[ ! -e "$T/outside/new" ]
	err_has "see --add-dir"
}

@test "protected places are not written, whatever a rule says" {
	mkdir .git && echo a >.git/config
	serve "$(script "$(call Write '{"file_path":".git/hooks/x","content":"y"}')" "$(bash_call 'echo x >.git/config')" "$(say end)")"
	q -p go --allowedTools 'Edit,Write,Bash'
	exits 0
	is "$(cat .git/config)" a
	[ ! -e .git/hooks/x ]
	is "$(ev 'select(.subtype=="permission_denied").decision_reason_type' | sort -u)" safetyCheck
}

@test "what cannot be understood is not run" {
	serve "$(script "$(bash_call 'echo "x')" "$(bash_call 'x=touch; $x y')" "$(bash_call "$(printf 'true %09999d; touch y' 0)")" "$(say end)")"
	q -p go --allowedTools Bash --disallowedTools 'Bash(rm *)'
	exits 0
	[ ! -e y ]
	is "$(result '.permission_denials | length')" 3
}

@test "critical removals are refused in every mode" {
	mkdir keep
	serve "$(script "$(bash_call 'rm -rf "$PWD"')" "$(bash_call 'rm -rf *')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	[ -d keep ]
	is "$(ev 'select(.subtype=="permission_denied").decision_reason_type' | sort -u)" safetyCheck
}

@test "rules that do nothing are warned of, once each, and the run goes on" {
	serve "$(script "$(say end)")"
	q -p go --allowedTools 'Write(x),*' --disallowedTools 'Bsh(rm:x),Bash(command:rm)'
	exits 0
	err_has "the allow rule Write(x) does nothing: paths that are written are named by Edit(path)"
	err_has "the allow rule * does nothing"
	err_has "there is no tool 'Bsh' (did you mean Bash?)"
	err_has "the deny rule Bash(command:rm) does nothing"
}

@test "a malformed rule is exit 2 at its place, and says how it should read" {
	cat >"$T/job.yaml" <<-'YAML'
		prompt: x
		permissions:
		  allow: ["Bash(make *)", "Bash(x"]
		  ask: ["Read()"]
		  deny: ["WebFetch(example.com)"]
	YAML
	q "$T/job.yaml"
	is "$rc" 2
	err_has "job.yaml:3:27: permissions.allow: the rule 'Bash(x' is malformed: a ')' is missing at the end"
	err_has "job.yaml:4:9: permissions.ask: the rule 'Read()' is malformed: the parentheses are empty"
	err_has "it should read WebFetch(domain:example.com)"
}

@test "--check says how each rule was understood, as comments in a job that runs again" {
	q --check -p x --allowedTools 'Bash(make *),Edit(src/**)' --disallowedTools 'Read(.env),Write(x)'
	is "$rc" 0
	has "$(cat "$T/out")" '# rule: allow Bash(make *): the command `make` with any arguments or none; every command of a line must be allowed'
	has "$(cat "$T/out")" "# rule: allow Edit(src/**): changing all beneath $PWD/src"
	has "$(cat "$T/out")" "# rule: deny Read(.env): reading and searching .env at any depth in $PWD"
	has "$(cat "$T/out")" "# rule: deny Write(x): does nothing"
	err_has "the deny rule Write(x) does nothing"
	cp "$T/out" "$T/again.yaml"
	q --check "$T/again.yaml"
	is "$rc" 0
	diff "$T/out" "$T/again.yaml"
}
