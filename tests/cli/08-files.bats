#!/usr/bin/env bats
# Read, Write, Edit: bytes outside the change stay as they are, and nothing leaves the workspace.

load ../lib/helpers

edit() { jq -cn --arg f "$1" --arg o "$2" --arg n "$3" --argjson all "${4:-false}" '{tool_use: {name: "Edit", input: {file_path: $f, old_string: $o, new_string: $n, replace_all: $all}}}'; }
read_() { jq -cn --arg f "$1" '{tool_use: {name: "Read", input: {file_path: $f}}}'; }
write() { jq -cn --arg f "$1" --arg c "$2" '{tool_use: {name: "Write", input: {file_path: $f, content: $c}}}'; }
hex() { od -An -v -tx1 "$1" | tr -d ' \n'; }
# play CALL...: a turn each, then the end
play() { serve "$(script "$@" "$(say end)")"; q -p go --allowedTools Edit,Write; exits 0; }

@test "Read: numbered lines, offset and limit, notices for nothing and too far" {
	printf 'one\ntwo\nthree\n' >f; : >empty
	play "$(read_ f)" "$(call Read '{"file_path":"f","offset":2,"limit":1}')" "$(read_ empty)" "$(call Read '{"file_path":"f","offset":9}')" "$(read_ missing)" "$(read_ .)"
	has "$(result_text 2)" "     1	one"
	has "$(result_text 2)" "     3	three"
	has "$(result_text 3)" "     2	two"
	lacks "$(result_text 3)" three
	[ -n "$(result_text 4)" ]
	[ -n "$(result_text 5)" ]
	is "$(result_is_error 6)" true
	has "$(result_text 6)" "does not exist"
	is "$(result_is_error 7)" true
}

@test "Read: 2,000 lines at first, long lines cut, the rest by offset" {
	seq 1 3000 >many
	head -c 5000 /dev/zero | tr '\0' z >long; echo >>long
	play "$(read_ many)" "$(call Read '{"file_path":"many","offset":2500,"limit":2}')" "$(read_ long)"
	has "$(result_text 2)" "2000	2000"
	lacks "$(result_text 2)" "2001	2001"
	has "$(result_text 3)" "2501	2501"
	[ "$(result_text 4 | wc -c)" -lt 4000 ]
}

@test "Edit: one match replaced; none, two, same and empty old text leave the file alone" {
	printf 'foo bar foo\n' >f; cp f orig
	play "$(read_ f)" "$(edit f foo x)" "$(edit f nowhere x)" "$(edit f bar bar)" "$(edit f '' x)"
	cmp f orig
	local n
	for n in 3 4 5 6; do is "$n $(result_is_error $n)" "$n true"; done
	has "$(result_text 3)" 2
	has "$(result_text 4)" "not found"
	stop_server; rm -rf "$T/log"; mkdir "$T/log"
	play "$(read_ f)" "$(edit f bar baz)" "$(edit f foo X true)"
	is "$(cat f)" "X baz X"
}

@test "Edit: new text is taken byte for byte" {
	printf 'log("done");\n' >f
	# shellcheck disable=SC2016
	play "$(read_ f)" "$(edit f 'log("done");' 'log("$& $1 $$ \1 %s `x`");')"
	# shellcheck disable=SC2016
	is "$(cat f)" 'log("$& $1 $$ \1 %s `x`");'
}

@test "Edit: line ends, BOM and a missing last line feed stay" {
	printf 'alpha\r\nbeta\r\ngamma\r\n' >crlf
	printf 'one\r\ntwo\nthree\r\n' >mixed
	printf 'first\nlast' >nonl
	printf '\357\273\277name: caf\303\251\nvalue: 1\n' >bom
	play "$(read_ crlf)" "$(edit crlf $'alpha\nbeta' $'ALPHA\nBETA')" "$(read_ mixed)" "$(edit mixed two TWO)" "$(read_ nonl)" "$(edit nonl last LAST)" "$(read_ bom)" "$(edit bom 'name: café' 'name: tea')"
	is "$(hex crlf)" "$(printf 'ALPHA\r\nBETA\r\ngamma\r\n' | od -An -v -tx1 | tr -d ' \n')"
	is "$(hex mixed)" "$(printf 'one\r\nTWO\nthree\r\n' | od -An -v -tx1 | tr -d ' \n')"
	is "$(cat nonl | od -An -c | tr -d ' ')" "$(printf 'first\nLAST' | od -An -c | tr -d ' ')"
	is "$(hex bom)" "$(printf '\357\273\277name: tea\nvalue: 1\n' | od -An -v -tx1 | tr -d ' \n')"
}

@test "Edit: bytes that are no UTF-8 are kept, or the file is refused and untouched" {
	printf 'const x = 1; // caf\351 \251\n' >latin1
	printf 'flag = 0 \342\202' >cut
	printf 'flag = 0\0after nul\n' >nul
	printf 'flag = 0 \357\277\275\n' >fffd
	local f new old
	for f in latin1 cut nul fffd; do
		cp "$f" "$f.orig"
		old='flag = 0' new='flag = 1'
		[ "$f" != latin1 ] || { old='x = 1' new='x = 2'; }
		play "$(read_ "$f")" "$(edit "$f" "$old" "$new")"
		if [ "$(result_is_error 3)" = true ]; then
			cmp "$f" "$f.orig"
		else
			cmp "$f" <(LC_ALL=C sed "s/$old/$new/" "$f.orig")
		fi
		stop_server; rm -rf "$T/log"; mkdir "$T/log"
	done
}

@test "Edit: composed and decomposed letters are different text" {
	printf 'cafe\314\201\n' >nfd; cp nfd orig
	play "$(read_ nfd)" "$(edit nfd 'café' tea)"
	is "$(result_is_error 3)" true
	cmp nfd orig
}

@test "Edit twice after one Read; another's change in between is noticed by the text" {
	printf 'a 1\nb 2\n' >f
	play "$(read_ f)" "$(edit f 'a 1' 'a 3')" "$(edit f 'b 2' 'b 4')"
	is "$(tr '\n' ' ' <f)" "a 3 b 4 "
	stop_server
	rm -rf "$T/log"
	mkdir "$T/log"
	serve "$(script "$(read_ f)" "$(bash_call 'echo c >>f')" "$(edit f 'b 4' 'b 5')" "$(say end)")"
	q -p go --allowedTools Edit,Bash
	has "$(result_text 4)" "modified since it was read"
	is "$(tr '\n' ' ' <f)" "a 3 b 5 c "
}

@test "Write over a file that was not read is refused; a new file is made, with its directories" {
	echo old >f
	play "$(write f new)" "$(write a/b/new.txt $'x\n')"
	is "$(cat f)" old
	is "$(result_is_error 2)" true
	has "$(result_text 2)" "not been read"
	is "$(cat a/b/new.txt)" x
}

@test "Write after a change behind our back is refused" {
	echo one >f
	serve "$(script "$(read_ f)" "$(bash_call 'echo changed >f')" "$(write f new)" "$(say end)")"
	q -p go --allowedTools Edit,Write,Bash
	exits 0
	is "$(result_is_error 4)" true
	is "$(cat f)" changed
}

@test "mode, link and hard link survive an edit or are handled as stated" {
	printf '#!/bin/sh\nx=1\n' >s; chmod 755 s
	printf 'v=1\n' >real; ln -s real link
	play "$(read_ s)" "$(edit s x=1 x=2)" "$(read_ link)" "$(edit link v=1 v=2)"
	is "$(stat -c %a s)" 755
	[ -L link ]
	is "$(cat real)" v=2
	is "$(find . -name '*.tmp*' -o -name '.quern*' | wc -l)" 0
}

make_escape() {
	mkdir -p sub ../outside ../work-evil
	echo original >../outside/victim.txt; echo top-secret >../outside/secret.txt; echo inner >sub/inner.txt
	ln -s ../outside dir-out; ln -s ../outside/victim.txt file-out; ln -s ../outside/not-yet.txt dangling-out
	ln -s sub dir-in; ln -s sub/inner.txt file-in; ln -s "$PWD/sub/inner.txt" abs-in
	ln -s chain2 chain1; ln -s ../outside/victim.txt chain2
	ln -s loop-b loop-a; ln -s loop-a loop-b
	ln -s /proc/self/root/etc root-out; ln -s /dev/fd/0 stdin-link
	cp -a ../outside ../outside.orig
}

@test "links that lead out of the workspace are refused, for reading and writing" {
	make_escape
	local p calls=()
	for p in file-out dir-out/secret.txt chain1 root-out/hostname ../outside/secret.txt /etc/passwd loop-a stdin-link; do calls+=("$(read_ "$p")"); done
	for p in file-out dir-out/new.txt dangling-out chain1 ../outside/x ../work-evil/x sub/../../outside/x "$PWD-evil/x" dir-out/../x; do calls+=("$(write "$p" hacked)"); done
	for p in file-out chain1; do calls+=("$(edit "$p" original hacked)"); done
	play "${calls[@]}"
	local n
	for n in $(seq 2 $((${#calls[@]} + 1))); do
		is "$n ${calls[n - 2]} $(result_is_error "$n")" "$n ${calls[n - 2]} true"
		lacks "$(result_text "$n")" top-secret
	done
	diff -r ../outside ../outside.orig
	is "$(ls ../work-evil)" ""
}

@test "links that stay inside work, also when the workspace itself is named by a link" {
	make_escape
	ln -s work ../work-link
	serve "$(script "$(read_ file-in)" "$(read_ dir-in/inner.txt)" "$(read_ abs-in)" "$(edit file-in inner INNER)" "$(write dir-in/new.txt new)" "$(say end)")"
	q -p go -C ../work-link --allowedTools Edit,Write
	exits 0
	local n
	for n in 2 3 4 5 6; do is "$n $(result_is_error "$n")" "$n false"; done
	is "$(cat sub/inner.txt)" INNER
	is "$(cat sub/new.txt)" new
	[ -L file-in ]
}

@test "a path spelled through the link that names the workspace or an added directory lies in it" {
	make_escape
	mkdir "$T/real-more"
	echo extra >"$T/real-more/e.txt"
	ln -s work ../work-link
	ln -s real-more ../more-link
	ln -s "$T/work-link/sub/inner.txt" through-link
	serve "$(script "$(read_ "$T/work-link/sub/inner.txt")" "$(write "$T/work-link/sub/new.txt" new)" "$(read_ "$T/more-link/e.txt")" \
		"$(call Grep "{\"pattern\":\"inner\",\"path\":\"$T/work-link/sub\"}")" "$(read_ through-link)" "$(read_ "$T/work-link/../outside/secret.txt")" "$(say end)")"
	q -p go -C ../work-link --add-dir ../more-link --allowedTools Write
	exits 0
	local n
	for n in 2 3 4 5 6; do is "$n $(result_is_error "$n")" "$n false"; done
	is "$(cat sub/new.txt)" new
	has "$(result_text 4)" extra
	is "$(result_is_error 7)" true
	stop_server
	rm -rf "$T/log"
	mkdir "$T/log"
	serve "$(script "$(read_ "$T/work-link/sub/inner.txt")" "$(say end)")"
	cd ../work-link
	q -p go
	is "$(result_is_error 2)" false
}

@test "Grep: a line feed in a file name does not part the line, nor does a binary file behind it" {
	printf 'needle\n' >$'new\nline.txt'
	{ echo needle; seq 1 30000; printf 'a\0b\n'; } >bin
	echo needle >z
	play "$(call Grep '{"pattern":"needle","output_mode":"content"}')" "$(call Grep '{"pattern":"needle","output_mode":"count"}')"
	is "$(result_text 2 | grep -v -e WARNING -e '^$' | LC_ALL=C sort | tr '\n' ' ')" 'bin:1:needle new\nline.txt:1:needle z:1:needle '
	has "$(result_text 3)" 'new\nline.txt:1'
}

@test "Glob and Grep show nothing from outside, and end" {
	make_escape
	play "$(call Glob '{"pattern":"**/*"}')" "$(call Grep '{"pattern":"top-secret"}')" "$(call Grep '{"pattern":"top-secret","path":"../outside"}')" "$(call Glob '{"pattern":"*","path":"/etc"}')"
	lacks "$(result_text 2)" secret.txt
	lacks "$(result_text 3)" secret.txt
	is "$(result_is_error 4)" true
	is "$(result_is_error 5)" true
}

@test "--add-dir opens another directory, which the model is told" {
	mkdir ../more; echo extra >../more/e.txt
	serve "$(script "$(read_ "$T/more/e.txt")" "$(say end)")"
	q -p go --add-dir ../more
	exits 0
	has "$(result_text 2)" extra
	has "$(jq -r '.system[0].text' "$(request 1)")" "Added directory: $(cd ../more && pwd -P)"
}

@test "a FIFO and a device never block" {
	mkfifo pipe
	LIMIT=20 play "$(read_ pipe)" "$(edit pipe a b)"
	is "$(result_is_error 2)" true
	is "$(result_is_error 3)" true
}

@test "bytes of every bad kind: stdout and requests stay valid, the marks are all there" {
	printf '[0](\303(\n[1]\200\n[2]\300\257\n[3]\340\200\257\n[4]\355\240\200\n[5]\360\200\200\257\n[6]\364\220\200\200\n[7]\365\200\200\200\n[8]\377\376\n[9]\342\202\n[10]\360\237\230\n' >bad
	serve "$(script "$(read_ bad)" "$(bash_call 'cat bad')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	iconv -f UTF-8 -t UTF-8 "$T/out" >/dev/null
	local n
	for n in 0 1 2 3 4 5 6 7 8 9 10; do has "$(result_text 2)" "[$n]"; has "$(result_text 3)" "[$n]"; done
}

@test "NUL in a path is refused, NUL in content is written or refused, never cut" {
	serve "$(script '{"tool_use":{"name":"Write","input":{},"raw":"{\"file_path\":\"o.txt\\u0000.png\",\"content\":\"a\"}"}}' '{"tool_use":{"name":"Write","input":{},"raw":"{\"file_path\":\"p.txt\",\"content\":\"a\\u0000b\"}"}}' "$(say end)")"
	q -p go --allowedTools Write
	exits 0
	is "$(result_is_error 2)" true
	[ ! -e o.txt ]
	[ ! -e p.txt ] || is "$(hex p.txt)" 610062
}

@test "a wall of four-byte characters is cut between them" {
	"$PY" -c "open('wall','w').write('\U0001F600' * 20000)"
	serve "$(script "$(bash_call 'cat wall')" "$(bash_call 'printf x; cat wall')" "$(bash_call 'printf xx; cat wall')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	local n
	for n in 2 3 4; do ! result_text $n | grep -q "$(printf '\357\277\275')"; done
}

@test "a file size limit: old content or new, no temporary file, the run goes on" {
	"$PY" -c "open('target.txt','w').write('first line\n' + 'old line\n' * 120000)"
	cp target.txt "$T/orig"
	local large
	large=$(jq -cn '{file_path: "new.txt", content: ("x" * 900000)}')
	printf '[%s,%s,%s,%s]' "$(call Read '{"file_path":"target.txt","limit":5}')" "$(edit target.txt 'first line' 'other line')" \
		"{\"tool_use\":{\"name\":\"Write\",\"input\":$large}}" "$(say end)" >"$T/answers"
	serve "$(cat "$T/answers")"
	(ulimit -f 256; exec timeout 30 "$QUERN" --base-url "$BASE" -p go --allowedTools Edit,Write) </dev/null 2>"$T/err" | cat >"$T/out"
	rc=${PIPESTATUS[0]}
	exits 0
	is "$(result_is_error 3)" true
	has "$(result_text 4)" "larger than files may be: ulimit -f"
	cmp target.txt "$T/orig"
	is "$(ls -A)" target.txt
}

@test "a file that did not change is not shown twice; one that did is" {
	printf 'one\ntwo\n' >f
	local again; again=$(call Read '{"file_path":"f"}')
	serve "$(script "$again" "$again" "$(bash_call 'touch f')" "$again" "$(bash_call 'echo three >>f')" "$again" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	has "$(result_text 2)" "one"
	has "$(result_text 3)" "has not changed since it was read"
	lacks "$(result_text 3)" "one"
	has "$(result_text 5)" "has not changed since it was read"
	has "$(result_text 7)" "three"
	is "$(ev 'select(.type=="user").tool_use_result.type? // empty' | tr '\n' ' ')" "text file_unchanged file_unchanged text "
}
