#!/usr/bin/env bats
# The key is sent where it belongs and is seen nowhere else.

load ../lib/helpers

canary=sk-canary-1234567890

scan() { # everything the run left, plain and in base64
	local b64
	b64=$(printf %s "$canary" | base64 | cut -c 1-16)
	run ! grep -raIl -e "$canary" -e "$b64" "$T/out" "$T/err" "$T/state" "$T/work" "$T/tmp" "$T/home"
}

@test "the key is in no output at the highest verbosity, also when the server refuses it" {
	export ANTHROPIC_API_KEY=$canary
	serve "[{\"status\":401,\"error\":{\"type\":\"authentication_error\",\"message\":\"invalid key $canary given\"}}]"
	q -p hi -v --verbose --events ev.ndjson
	is "$rc" 20
	grep -qi "x-api-key: $canary" "$(head_of 1)"
	scan
}

@test "a tool sees no key in its environment, nor in the program's" {
	export ANTHROPIC_API_KEY=$canary QUERN_API_KEY=$canary-2 ANTHROPIC_AUTH_TOKEN=$canary-3
	serve "$(script "$(bash_call 'env; for p in $PPID $(ps -o ppid= -p $PPID) ; do tr "\0" "\n" </proc/$p/environ; cat /proc/$p/cmdline; done')" "$(say end)")"
	q -p go --allowedTools Bash --sandbox off # what protects it without one
	exits 0
	lacks "$(cat "$(request 2)")" sk-canary
	scan
}

@test "the key is gone from the program's own environment block" {
	export ANTHROPIC_API_KEY=$canary
	serve "$(script "$(bash_call 'echo >started; until [ -e go ]; do sleep 0.02; done')" "$(say end)")"
	"$QUERN" --base-url "$BASE" -p go --allowedTools Bash </dev/null >"$T/out" 2>"$T/err" 3>&- &
	pid=$!
	started() { [ -e started ]; }
	wait_for started
	for p in $pid $(pgrep -P "$pid"); do
		lacks "$(tr '\0' '\n' <"/proc/$p/environ")" canary
		lacks "$(tr '\0' '\n' <"/proc/$p/cmdline")" canary
	done
	touch go
	rc=0; wait "$pid" || rc=$?
	exits 0
}

@test "a known secret in a tool's output is masked where it enters history" {
	export ANTHROPIC_API_KEY=$canary
	printf 'key=%s\n' "$canary" >"$T/leak"
	cp "$T/leak" leak.txt
	serve "$(script "$(call Read '{"file_path":"leak.txt"}')" "$(bash_call 'cat leak.txt; seq 1 20000; cat leak.txt')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	rm leak.txt
	lacks "$(cat "$(request 3)")" "$canary"
	scan
}

@test "variables kept from tools are masked by value too" {
	export DEPLOY_TOKEN=$canary
	echo "$canary" >leak.txt
	serve "$(script "$(bash_call 'cat leak.txt')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	lacks "$(cat "$(request 2)")" "$canary"
}

@test "what the job gives tools reaches them, and is masked in what they put out" {
	export DEPLOY_TOKEN=$canary-1 ANTHROPIC_API_KEY=$canary-2
	printf 'version: 1\nprompt: go\nmodel: {headers: {X-Gate-Token: %s}}\nenv: {MY_TOKEN: %s}\ntools: {env_keep: [DEPLOY_TOKEN, ANTHROPIC_API_KEY]}\n' \
		"$canary-4" "$canary-3" >"$T/home/job.yaml"
	# shellcheck disable=SC2016
	serve "$(script "$(bash_call 'echo ${#DEPLOY_TOKEN} ${#ANTHROPIC_API_KEY} ${#MY_TOKEN} "<$DEPLOY_TOKEN> <$ANTHROPIC_API_KEY> <$MY_TOKEN>" "<'"$canary-4"'>"')" "$(say end)")"
	q "$T/home/job.yaml" --allowedTools Bash --events "$T/home/ev"
	exits 0
	rm "$T/home/job.yaml"
	is "$(result_text 2)" "22 22 22 <[secret]> <[secret]> <[secret]> <[secret]>"
	grep -q "X-Gate-Token: $canary-4" "$(head_of 1)"
	scan
}

@test "keys with white space are trimmed with a warning, line breaks inside are refused unseen" {
	serve '[{"text":"hi","repeat":true}]'
	local k
	for k in "$canary"$'\n' "$canary"$'\r\n' " $canary"; do
		ANTHROPIC_API_KEY=$k q -p hi
		exits 0
		[ -s "$T/err" ]
		scan
	done
	grep -h -i '^x-api-key' "$T"/log/*.head | tr -d '\r' | sort -u >"$T/keys"
	is "$(cat "$T/keys" | sed 's/^[^:]*: //')" "$canary"
	ANTHROPIC_API_KEY="$canary"$'\nX-Injected: 1' q -p hi
	is "$rc" 2
	scan
	run ! grep -qi injected "$T"/log/*.head
}

@test "empty and very long keys: an error or sent, never a crash" {
	serve '[{"text":"hi","repeat":true}]'
	ANTHROPIC_API_KEY='' q -p hi
	exits 0 completed
	is "$(ev 'select(.subtype=="init").apiKeySource')" none
	printf 'tape: 1\nanswers: [{text: hi}]\n' | tape tape.yaml
	ANTHROPIC_API_KEY='' q -p hi --replay "$T/tape.yaml" --set model.api_key_env=NOT_THERE
	exits 0 completed
	ANTHROPIC_API_KEY=$(head -c 100000 /dev/zero | tr '\0' k) q -p hi
	[ "$rc" = 2 ] || [ "$rc" = 0 ]
}

@test "a key file, with NUL in it refused" {
	serve '[{"text":"hi","repeat":true}]'
	printf '%s\n' "$canary" >"$T/key"
	q -p hi --set "model.api_key_file=$T/key"
	exits 0
	grep -qi "x-api-key: $canary" "$(head_of 1)"
	scan
	printf 'sk-canary\0tail' >"$T/key"
	q -p hi --set "model.api_key_file=$T/key"
	is "$rc" 2
	scan
}

@test "a key in headers of a job is refused or masked" {
	serve '[{"text":"hi","repeat":true}]'
	printf 'version: 1\nprompt: hi\nmodel: {headers: {x-api-key: %s}}\n' "$canary" >"$T/job.yaml"
	q "$T/job.yaml"
	scan
}

@test "--check shows no value that may be secret, of headers, variables or extra fields" {
	cat >job.yaml <<-END
		version: 1
		prompt: go
		env: {MY_TOKEN: $canary, LANG: C}
		model:
		  headers: {X-Gate: $canary}
		  extra: {api_token: $canary, auth: {keys: [{secret_key: [$canary]}]}, max_tokens_to_think: 5, metadata: {user_id: u}}
	END
	"$QUERN" --check job.yaml >"$T/out" 2>"$T/err"
	rm job.yaml
	scan
	grep -qF 'env: {"LANG": "C"} # values not shown: "MY_TOKEN"' "$T/out"
	grep -qF 'extra: {"max_tokens_to_think": 5, "metadata": {"user_id":"u"}} # values not shown: "api_token", "auth"' "$T/out"
	"$QUERN" --check "$T/out" >"$T/again" # what is printed is a job
}

@test "a header's credential that the server quotes is masked" {
	serve "$(jq -cn --arg c "$canary" '[{status: 400, error: {type: "invalid_request_error", message: "bad credential \($c)"}, repeat: true}]')"
	q -p hi -v --verbose --set "model.headers={X-Gateway-Auth: Bearer $canary}"
	is "$rc" 20
	scan
	q -p hi -v --verbose --set "model.headers={X-Gateway-Token: $canary}"
	is "$rc" 20
	scan
}

@test "a proxy's password is not shown" {
	http_proxy=http://user:$canary@127.0.0.1:9 BASE=http://127.0.0.1:8 q -p hi -v --verbose --set model.max_retries=0
	is "$rc" 75
	scan
}

@test "run directory and its files are for the owner only" {
	umask 000
	serve "$(script "$(bash_call 'seq 1 20000')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(find "$T/state" -mindepth 2 -type d -perm /077 | wc -l)" 0
	is "$(find "$T/state" -type f -perm /077 | wc -l)" 0
}
