#!/usr/bin/env bats
# HTTP around the stream: what is sent, and answers that are no stream at all.

load ../lib/helpers

header() { grep -i "^$2:" "$(head_of "$1")" | tr -d '\r' | sed 's/^[^:]*: *//'; }

@test "the request line and headers" {
	export QUERN_API_KEY=sk-test-0123456789
	serve "$(script "$(say hi)")"
	q -p hi
	exits 0
	is "$(head -n 1 "$(head_of 1)" | tr -d '\r')" "POST /v1/messages HTTP/1.1"
	is "$(header 1 content-type)" application/json
	[ -n "$(header 1 anthropic-version)" ]
	is "$(header 1 x-api-key)" sk-test-0123456789
	has "$(header 1 user-agent)" quern/
	is "$(header 1 accept-encoding)" ""
}

@test "no key elsewhere than at the vendor: no auth header" {
	serve "$(script "$(say hi)")"
	q -p hi
	exits 0
	is "$(header 1 x-api-key)$(header 1 authorization)" ""
}

@test "a base URL with a path, and with a slash at its end" {
	serve "$(script "$(say 1)" "$(say 2)")"
	BASE=$BASE/gate/way q -p hi && exits 0
	is "$(head -n 1 "$(head_of 1)" | cut -d ' ' -f 2)" /gate/way/v1/messages
	BASE=$BASE/ q -p hi && exits 0
	is "$(head -n 1 "$(head_of 2)" | cut -d ' ' -f 2)" /v1/messages
}

@test "headers and betas of the job" {
	serve "$(script "$(say hi)")"
	printf 'version: 1\nprompt: hi\nmodel: {headers: {X-Team: build}, betas: [a-1, b-2]}\n' >job.yaml
	q job.yaml
	exits 0
	is "$(header 1 x-team)" build
	is "$(header 1 anthropic-beta)" a-1,b-2
}

@test "extra members of the job join the body" {
	serve "$(script "$(say hi)")"
	printf 'version: 1\nprompt: hi\nmodel: {extra: {metadata: {user_id: u1}, service_tier: auto}}\n' >job.yaml
	q job.yaml
	exits 0
	is "$(jq -r .metadata.user_id "$(request 1)")" u1
}

@test "all turns go over one connection" {
	serve "$(script "$(bash_call 'echo 1')" "$(bash_call 'echo 2')" "$(bash_call 'echo 3')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(requests)" 4
	is "$(connections)" 1
}

@test "a server that closes after each answer: a fresh connection each time, no retry event" {
	# the calls take so long that the end of the connection has arrived before it would be used again
	serve '[{"tool_use":{"name":"Bash","input":{"command":"sleep 0.3; echo 1"}},"then":"close","headers":{"Connection":null}},{"tool_use":{"name":"Bash","input":{"command":"sleep 0.3; echo 2"}},"then":"close","headers":{"Connection":null}},{"text":"end"}]'
	q -p go --allowedTools Bash
	exits 0
	is "$(requests)" 3
	is "$(connections)" 3
	is "$(ev 'select(.subtype=="api_retry").type')" ""
}

@test "a request is never sent twice behind our back" {
	# The connection dies while the second answer is awaited: two requests and a retry that is told, no more.
	serve '[{"tool_use":{"name":"Bash","input":{"command":"echo 1"}}},{"raw":"","then":"reset"},{"text":"end"}]'
	q -p go --allowedTools Bash
	exits 0 completed
	is "$(requests)" 3
	is "$(ls "$T"/log/*.json | wc -l)" 3
}

@test "answers that are no stream: what came is named, tried twice at most, never an answer" {
	local name raw
	while IFS=$'\t' read -r name raw; do
		serve "$(jq -cn --arg r "$(printf '%b_' "$raw")" '[{raw: ($r | .[:-1]), repeat: true}]')"
		LIMIT=30 q -p hi --set model.max_retries=2
		[ "$rc" = 20 ] || [ "$rc" = 75 ] || { echo "$name: $rc"; show; false; }
		exits "$rc" model_error
		[ "$(requests)" -le 3 ]
		is "$name $(result '.result // "none"')" "$name none"
		stop_server
		rm -rf "$T/log"; mkdir "$T/log"
	done <<-'LIST'
		html	HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 25\r\n\r\n<html>please log in</html
		empty	HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 0\r\n\r\n
		no-content	HTTP/1.1 204 No Content\r\n\r\n
		redirect	HTTP/1.1 302 Found\r\nLocation: https://login.example.invalid/\r\nContent-Length: 0\r\n\r\n
		nonsense	HELLO THERE\r\n\r\n
	LIST
}

@test "an HTML page from a proxy is named by status, type and first bytes" {
	serve '[{"body":"<html><title>Sign in</title></html>","headers":{"Content-Type":"text/html"},"repeat":true}]'
	q -p hi --set model.max_retries=1
	exits 20 model_error
	has "$(result '.errors|join(" ")')" 200
	has "$(result '.errors|join(" ")')" text/html
	has "$(result '.errors|join(" ")')" "Sign in"
}

@test "a redirect is not followed" {
	serve '[{"status":302,"headers":{"Location":"/elsewhere"},"body":"","repeat":true}]'
	q -p hi --set model.max_retries=0
	exits 20 model_error
	run ! grep -q elsewhere "$T"/log/*.head
}

@test "a 200 with an error body is that error" {
	serve '[{"body":{"type":"error","error":{"type":"overloaded_error","message":"Overloaded here"}}},{"text":"end"}]'
	q -p hi
	exits 0 completed
	is "$(requests)" 2
	is "$(ev 'select(.subtype=="api_retry").error')" overloaded
}

@test "error bodies: chunked, with a length, and shorter than promised" {
	serve '[{"status":400,"error":{"type":"invalid_request_error","message":"the words"},"length":null},
		{"status":400,"error":{"type":"invalid_request_error","message":"the words"}},
		{"status":400,"error":{"type":"invalid_request_error","message":"the words"},"length":4000,"then":"close"}]'
	local n
	for n in 1 2 3; do
		q -p "hi $n"
		exits 20 model_error
		has "$n $(result '.errors|join(" ")')" "the words"
	done
}

@test "control characters of a server never reach the terminal" {
	serve '[{"status":400,"error":{"type":"invalid_request_error","message":"bad \u001b[31mred\u0007"}}]'
	q -p hi
	exits 20
	run ! grep -q "$(printf '\033')" "$T/err"
	run ! grep -q "$(printf '\033')" "$T/out"
}

@test "huge headers are bounded: an answer or an error, no crash" {
	serve "$(jq -cn '[{raw: ("HTTP/1.1 200 OK\r\nX-Big: " + ("x" * 200000) + "\r\nContent-Length: 0\r\n\r\n"), repeat: true}]')"
	LIMIT=30 q -p hi --set model.max_retries=0
	[ "$rc" = 20 ] || [ "$rc" = 75 ] || { show; false; }
}

@test "a head that comes byte by byte" {
	serve '[{"text":"end","split_head":true,"delay":0.002}]'
	q -p hi
	exits 0 completed
}

# A CA of our own and a certificate for 127.0.0.1 in $T/tls.
make_tls() {
	mkdir -p "$T/tls/ca"
	(
		cd "$T/tls" || exit 1
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca/ca.pem -days 2 -subj '/CN=test CA' 2>/dev/null
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out csr.pem -subj '/CN=127.0.0.1' 2>/dev/null
		printf 'subjectAltName=IP:127.0.0.1\n' >ext
		openssl x509 -req -in csr.pem -CA ca/ca.pem -CAkey ca.key -CAcreateserial -out cert.pem -days 2 -extfile ext 2>/dev/null
		openssl rehash ca
	)
}

@test "TLS: a certificate that nobody vouches for is refused, once, and said" {
	make_tls
	serve "$(script "$(say hi)")" --tls "$T/tls/cert.pem" "$T/tls/key.pem"
	BASE=https://127.0.0.1:$PORT q -p hi
	exits 20 model_error
	is "$(requests)" 0
	err_has certificate
}

@test "TLS: with the CA in a directory or a file that the environment names" {
	make_tls
	serve "$(script "$(say hi)" "$(say hi)")" --tls "$T/tls/cert.pem" "$T/tls/key.pem"
	SSL_CERT_DIR=$T/tls/ca BASE=https://127.0.0.1:$PORT q -p hi
	exits 0 completed
	SSL_CERT_FILE=$T/tls/ca/ca.pem BASE=https://127.0.0.1:$PORT q -p hi
	exits 0 completed
}

@test "a dead proxy is used unless no_proxy names the host" {
	serve "$(script "$(say hi)")"
	http_proxy=http://127.0.0.1:9 no_proxy=127.0.0.1 q -p hi
	exits 0 completed
	http_proxy=http://127.0.0.1:9 q -p hi --set model.max_retries=0
	exits 75 model_error
}

@test "a base URL that is none is exit 2" {
	BASE='' q -p hi --base-url 'ftp://127.0.0.1/'
	is "$rc" 2
	BASE='' q -p hi --base-url 'not a url'
	is "$rc" 2
}
