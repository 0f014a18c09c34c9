#!/usr/bin/env bats
# quern-report: the page about a run.

load ../lib/helpers

REPORT=$QUERN_BUILD/quern-report

# report ARG...: exit code in rc, stdout in $T/page, stderr in $T/err.
report() { rc=0; "$REPORT" "$@" >"$T/page" 2>"$T/err" </dev/null || rc=$?; }
page_is_sound() { "$PY" "$LIB/page.py" "${1:-$T/page}"; }
page_has() { grep -qF -- "$1" "$T/page" || { echo "the page lacks: $1"; return 1; }; }
page_lacks() { ! grep -qF -- "$1" "$T/page" || { echo "the page has: $1"; return 1; }; }

# One call as an answer of a tape.
answer() { printf '{"content":[%s]}\n' "$(call "$@")"; }

# A run with a call that works, one that fails, an edit and an answer, into $T/out.
some_run() {
	mkdir -p "$T/ws"
	printf 'one\ntwo\n' >"$T/ws/f"
	{
		printf '{"tape": 1}\n'
		answer Read '{"file_path":"f"}' r1
		answer Edit '{"file_path":"f","old_string":"two","new_string":"<three>"}' e1
		answer Bash '{"command":"echo \"<script>alert(1)</script>\"; printf \"\\\\033[31mred\\\\n\"; exit 3"}' b1
		say 'It is **done**. <img src=x onerror=alert(2)>'
	} >"$T/tape"
	q -p 'Change `f` & tell' --replay "$T/tape" -C "$T/ws" --sandbox off --allowedTools Edit,Bash --events "$T/run.ndjson" "$@"
	exits 0
}

chromium() {
	local c
	for c in chromium-headless-shell chromium chromium-browser; do
		command -v "$c" >/dev/null && { echo "$c"; return; }
	done
	return 1
}

# shot PAGE PNG [FLAG...]: what the browser has to say in $T/console
shot() {
	local page=$1 png=$2
	shift 2
	timeout 60 "$(chromium)" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run \
		--user-data-dir="$T/browser" --enable-logging=stderr --window-size=1000,1400 "$@" \
		--screenshot="$png" "file://$page" >"$T/browser.out" 2>"$T/browser.err"
	grep CONSOLE "$T/browser.err" >"$T/console" || true
	[ -s "$png" ]
}

@test "a run becomes a page" {
	some_run
	report "$T/run.ndjson"
	is "$rc" 0
	is "$(cat "$T/err")" ""
	page_is_sound
	page_has '<p class="verdict good"><b>completed</b>'
	page_has '<strong>done</strong>'
	page_has '<code>f</code> <span class="pm"><ins>+1</ins> <del>−1</del></span>'
	page_has '<ins>+&lt;three&gt;'
	page_has '<mark>failed</mark>'
	page_has '&lt;script&gt;alert(1)&lt;/script&gt;'
	page_has '<rect class="lt"'
	page_lacks '<img src=x'
	page_lacks $'\033'
}

@test "the task is told" {
	some_run
	report "$T/run.ndjson"
	page_has '<h1>Change f &amp; tell</h1>'
	page_has '<p>Change <code>f</code> &amp; tell</p>'
	"$QUERN" -q --replay "$T/tape" -C "$T/ws" --sandbox off --input-format stream-json --replay-user-messages \
		<<<'{"type":"user","message":{"role":"user","content":"What is *in* here?"}}' >"$T/run.ndjson" || true
	report "$T/run.ndjson"
	page_is_sound
	page_has '<h1>What is in here?</h1>'
}

@test "a run that was gone on with is two chapters, and each has the events that its result tells of" {
	mkdir -p "$T/ws"
	{ printf '{"tape": 1}\n'; answer Bash '{"command":"echo one"}' c1; } >"$T/first"
	{ printf '{"tape": 1}\n'; say done; } >"$T/second"
	q -p 'Count' -t 1 --replay "$T/first" -C "$T/ws" --sandbox off --allowedTools Bash --events "$T/run.ndjson"
	exits 10
	q --replay "$T/second" -C "$T/ws" --sandbox off --allowedTools Bash --resume "$T/run.ndjson" --events "$T/run.ndjson"
	exits 0
	report "$T/run.ndjson"
	page_is_sound
	page_has '<a href="#r1">Run 1</a> <b class="no">max_turns</b>'
	page_has '<a href="#r2">Run 2</a> <b class="ok">completed</b>'
	page_has 'which had ended with <b>max_turns</b>'
	page_has '<dt>The whole session</dt><dd>runs <b>2</b>'
	is "$(grep -o '✓ that of this record' "$T/page" | wc -l)" 2
	# once it is completed, it gives its result again, which is no run
	q --resume "$T/run.ndjson"
	exits 0
	cat "$T/run.ndjson" "$T/out" >"$T/again"
	report "$T/again"
	page_is_sound
	is "$(grep -o '<article ' "$T/page" | wc -l)" 2
	page_has '<dt>Result given again</dt><dd>once</dd>'
	is "$(grep -o '✓ that of this record' "$T/page" | wc -l)" 2
	sed '1,/"type":"result"/s/"one/"two/' "$T/run.ndjson" >"$T/changed"
	report "$T/changed"
	is "$(grep -o '✓ that of this record' "$T/page" | wc -l)" 1
	page_has 'not that of this record'
}

@test "stdin, stdout and files give the same page" {
	some_run
	report "$T/run.ndjson"
	"$REPORT" -o "$T/to.html" "$T/run.ndjson"
	cmp "$T/page" "$T/to.html"
	is "$(stat -c %a "$T/to.html")" 600
	[ ! -e "$T/to.html.part" ]
	"$REPORT" - <"$T/run.ndjson" | sed '1,/<h1>/s/stdin/run.ndjson/g' | cmp - "$T/page"
	cat "$T/run.ndjson" | "$REPORT" --output="$T/to2.html" -
	sed '1,/<h1>/s/stdin/run.ndjson/g' "$T/to2.html" | cmp - "$T/page"
	"$REPORT" <"$T/run.ndjson" | sed '1,/<h1>/s/stdin/run.ndjson/g' | cmp - "$T/page"
	"$REPORT" -o - "$T/run.ndjson" | cmp - "$T/page"
	# what is no file stays what it is
	mkfifo "$T/pipe"
	cat "$T/pipe" >"$T/to3.html" &
	"$REPORT" -o "$T/pipe" "$T/run.ndjson"
	wait $!
	cmp "$T/page" "$T/to3.html"
	[ -p "$T/pipe" ]
	[ "$("$REPORT" -o /dev/stdout "$T/run.ndjson" | md5sum)" = "$(md5sum <"$T/page")" ]
}

@test "wrong use is exit 2, what cannot be read or written is exit 1, each with one line" {
	some_run
	local args
	while read -r expected args; do
		# shellcheck disable=SC2086 # a list
		report $args
		[ "$rc" = "$expected" ] || { echo "$args: exit $rc"; false; }
		is "$(wc -l <"$T/err")" 1
		is "$(head -c 14 "$T/err")" "quern-report: "
		is "$(wc -c <"$T/page")" 0
	done <<-END
		2 a b
		2 -o $T/run.ndjson $T/run.ndjson
		2 --no-such-option $T/run.ndjson
		2 -o
		2 /dev/null
		2 $QUERN_SRC/README.md
		1 $T/there-is-none
		1 $T
		1 -o $T/no/such/dir/x.html $T/run.ndjson
		1 -o $T $T/run.ndjson
	END
	# without RUN it is a filter, and stdin was empty here
	report
	is "$rc" 2
	err_has "there is no event of a run in it"
	grep -q '"type":"result"' "$T/run.ndjson"
	rc=0
	"$REPORT" "$T/run.ndjson" >/dev/full 2>"$T/err" || rc=$?
	is "$rc" 1
	err_has "cannot write the page"
}

@test "--help and --version" {
	report --help
	is "$rc" 0
	[ "$(wc -L <"$T/page")" -le 100 ]
	grep -q '^usage: quern-report' "$T/page"
	report -V
	is "$(cat "$T/page")" "quern-report $("$QUERN" -V | cut -d' ' -f2)"
	mandoc -T lint -W warning "$QUERN_SRC/man/quern-report.1"
	for o in output help version; do
		grep -q -- "$o" "$QUERN_SRC/man/quern-report.1"
		grep -q -- "$o" "$QUERN_SRC/completions/quern-report.bash"
		grep -q -- "$o" "$QUERN_SRC/completions/quern-report.zsh"
		grep -q -- "$o" "$QUERN_SRC/completions/quern-report.fish"
	done
}

@test "a record that ends anywhere gives a sound page" {
	some_run
	local size first n
	size=$(stat -c %s "$T/run.ndjson")
	first=$(head -n 1 "$T/run.ndjson" | wc -c)
	for n in $((first + 1)) $((first + 700)) $((first + 1900)) $((size - 900)) $((size - 2)); do
		head -c "$n" "$T/run.ndjson" >"$T/torn"
		report "$T/torn"
		is "$rc" 0
		page_is_sound
		page_has 'the last line is torn'
		page_has '<b>no result</b>'
	done
	{ echo 'no json'; cat "$T/run.ndjson"; printf '\xff\n\n{}\n'; } >"$T/odd"
	report "$T/odd"
	page_is_sound
	page_has '2 lines that are no events'
}

@test "runs one behind the other are chapters" {
	some_run
	cat "$T/run.ndjson" "$T/run.ndjson" >"$T/two"
	report "$T/two"
	page_is_sound
	is "$(grep -o '<article ' "$T/page" | wc -l)" 2
	page_has '<a href="#r2">Run 2</a> <b class="ok">completed</b>'
}

@test "hooks, compaction, retries and other events of real runs" {
	local ex=$QUERN_SRC/examples
	cp -R "$ex/10-hooks-and-verify/project" "$T/p"
	chmod -R u+w "$T/p"
	HOOKS=$ex/10-hooks-and-verify "$QUERN" -q --replay "$ex/10-hooks-and-verify/tape.yaml" -C "$T/p" --sandbox off "$ex/10-hooks-and-verify/job.yaml" >"$T/run" || true
	report "$T/run"
	page_is_sound
	page_has '<h2>Hooks</h2>'
	page_has 'stop_hook_blocking'
	page_has '<rect class="lo"'
}

@test "a bundle has the job beside the events" {
	some_run --record "$T/run.tar.zst"
	cp "$T/run.tar.zst" "$T/run.ndjson"
	report "$T/run.ndjson"
	is "$(cat "$T/err")" ""
	page_is_sound
	page_has '<p class="verdict good"><b>completed</b>'
	page_has 'The job as it was resolved'
	"$REPORT" - <"$T/run.ndjson" | sed '1,/<h1>/s/stdin/run.ndjson/g' | cmp - "$T/page"
	cat "$T/run.ndjson" | "$REPORT" - | sed '1,/<h1>/s/stdin/run.ndjson/g' | cmp - "$T/page"
	# and the patch, if the job makes one
	some_run --record "$T/run2.tar.zst" --set workspace.patch="$T/p"
	tar --zstd -xOf "$T/run2.tar.zst" workspace.patch | cmp - "$T/p"
	report "$T/run2.tar.zst"
	page_is_sound
	page_has '<h2>What changed in the workspace</h2>'
	is "$(grep -c '<ins>+&lt;three&gt;' "$T/page")" 3 # with the call, the file, and here
	# cut off in the middle, it holds what came before
	head -c 3000 "$T/run.tar.zst" >"$T/cut"
	report "$T/cut"
	case $rc in 0) page_is_sound && page_has 'the bundle ends early' ;; 2) ;; *) false ;; esac
}

@test "50 MB are read in memory that does not grow with them" {
	sanitized && skip "the sanitizers take memory of their own"
	some_run
	# the call and the result of a command, with an output of 25 KB, 2,000 times
	head -n 1 "$T/run.ndjson" >"$T/big"
	"$PY" - >>"$T/big" <<-'END'
		import json
		for i in range(2000):
		    print(json.dumps({"type": "assistant", "quern_ms": i * 20, "message": {"id": "m%d" % i, "stop_reason": "tool_use", "content": [
		        {"type": "tool_use", "id": "c%d" % i, "name": "Bash", "input": {"command": "seq %d" % i}}], "usage": {"input_tokens": i}}}))
		    print(json.dumps({"type": "user", "quern_ms": i * 20 + 10, "message": {"content": [
		        {"type": "tool_result", "tool_use_id": "c%d" % i, "content": "x<y\n" * 6500}]}}))
	END
	tail -n 1 "$T/run.ndjson" >>"$T/big"
	[ "$(stat -c %s "$T/big")" -gt 50000000 ]
	(ulimit -v 60000; "$REPORT" -o "$T/big.html" "$T/big")
	"$PY" - "$T/big.html" <<-'END'
		import sys
		text = open(sys.argv[1]).read()
		assert text.count('<section class="turn"') == 2000 and text.endswith("</html>\n")
		assert text.count("are left out of this page") == 2000
		assert len(text) < 30000000
	END
}

@test "the colours are far enough from each other" {
	some_run
	report "$T/run.ndjson"
	"$PY" "$LIB/contrast.py" "$T/page"
	sed 's/--soft:#[0-9a-f]*/--soft:#aaaaaa/' "$T/page" >"$T/pale"
	rc=0
	"$PY" "$LIB/contrast.py" "$T/pale" >"$T/said" || rc=$?
	is "$rc" 1
	grep -q '^light: soft on bg: ' "$T/said"
}

# narrow PAGE WIDTH: how wide it is, and what of it is wider than the window, with everything unfolded
narrow() {
	{
		sed '/Content-Security-Policy/d' "$1"
		cat <<-'END'
			<script>for (const d of document.querySelectorAll("details")) d.open = true;
			let wide = document.documentElement.scrollWidth + " ";
			for (const e of document.querySelectorAll("main *"))
			    if (e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".wide"))
			        wide += e.tagName + "." + e.className + " ";
			document.title = "wide: " + wide;</script>
		END
	} >"$T/narrow.html"
	timeout 60 "$(chromium)" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run \
		--user-data-dir="$T/browser" --window-size="$2,900" --dump-dom "file://$T/narrow.html" 2>/dev/null | sed -n 's/.*<title>wide: \(.*\) <.title>.*/\1/p'
}

@test "nothing is wider than a telephone, however long its words are" {
	chromium >/dev/null || skip "no chromium here"
	mkdir -p "$T/ws"
	local long
	long=$(printf 'W%.0s' {1..700})
	{
		printf '{"tape": 1}\n'
		answer Bash "{\"command\":\"echo $long >&2; exit 1\",\"description\":\"$long\"}" b1
		answer "$long" "{\"$long\":\"$long\"}" b2
		say "$long \`$long\`"
	} >"$T/tape"
	q -p "$long" --replay "$T/tape" -C "$T/ws" --sandbox off --allowedTools Bash --events "$T/run.ndjson"
	"$REPORT" -o "$T/page.html" "$T/run.ndjson"
	is "$(narrow "$T/page.html" 400)" 400
	sed 's/<h1>/<h1 style="min-width:500px">/' "$T/page.html" >"$T/page2.html"
	has "$(narrow "$T/page2.html" 400)" "H1."
}

@test "a browser shows it, light and dark, and has nothing to complain of" {
	chromium >/dev/null || skip "no chromium here"
	some_run
	"$REPORT" -o "$T/page.html" "$T/run.ndjson"
	shot "$T/page.html" "$T/light.png"
	is "$(cat "$T/console")" ""
	shot "$T/page.html" "$T/dark.png" --blink-settings=preferredColorScheme=0
	is "$(cat "$T/console")" ""
	local light dark
	light=$("$PY" "$LIB/pixel.py" "$T/light.png")
	dark=$("$PY" "$LIB/pixel.py" "$T/dark.png")
	has "$light" "1000x1400 251,250,247 "
	has "$dark" "1000x1400 21,21,22 "
	# something is on it
	[ "${light##* }" -gt 300 ] || { echo "$light"; false; }
	# and the console is where complaints would be
	sed 's,</body>,<script>1</script><img src="https://example.invalid/x"></body>,' "$T/page.html" >"$T/bad.html"
	shot "$T/bad.html" "$T/bad.png"
	is "$(wc -l <"$T/console")" 2
	has "$(cat "$T/console")" "script"
}
