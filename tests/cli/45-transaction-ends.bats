#!/usr/bin/env bats
# The end of a run that changes its workspace, cut short: what was written stays, and nothing of ours does.

load ../lib/helpers

extra_setup() {
	printf 'one\ntwo\n' >text
	printf 'gone\n' >gone
	cp -a "$T/work" "$T/was"
	WORK='echo 2 >text; rm gone; mkdir -p new; echo n >new/file'
}
job() { printf 'workspace:\n' >"$T/job.yaml" && printf '  %s\n' "$@" >>"$T/job.yaml"; }
nothing_beside() { is "$(find "$T" -maxdepth 1 -name '.*.quern-*')" '' && is "$(find "$T/work" "$T/tmp" -name '*quern-*')" ''; }
long() { say "$(printf '%012000d' 1)"; } # an answer that makes the result's line longer than a pipe
cwds() { jq -r 'select(.subtype=="init").cwd' "$1" | sort -u | wc -l; }
numbers() { tail -n 1 "$1" | jq -c '.workspace | [.changed, .added, .deleted, .committed, .patch, .saved]'; }
go_on() { q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events" "$@" && cat "$T/out" >>"$T/events"; }
# whole: what was written is what it was when the run was killed, and makes the workspace of the files as they were
keep_written() { cp "$T/out.patch" "$T/kept.patch" && tar -tf "$T/changed.tar.zst" >"$T/kept.list"; }
written_stands() {
	cmp "$T/out.patch" "$T/kept.patch"
	tar -tf "$T/changed.tar.zst" | cmp - "$T/kept.list"
	(cd "$T/was" && GIT_CEILING_DIRECTORIES=$T git apply "$T/out.patch" && diff -r . "$T/work")
}

@test "killed behind all it did, before the result: the next one tells the same, and takes nothing back" {
	local how committed
	for how in 'transaction: true' 'dir: .'; do
		(cd "$T/work" && rm -rf ./* && printf 'one\ntwo\n' >text && echo gone >gone && rm -rf "$T/was" && cp -a . "$T/was")
		rm -f "$T/events" "$T/out.patch" "$T/changed.tar.zst"
		committed=$([ "$how" = 'dir: .' ] && echo null || echo true)
		job "$how" "save: $T/changed.tar.zst" "patch: $T/out.patch"
		serve "$(script "$(bash_call "$WORK")" "$(long)")"
		AT_END="[ -e '$T/work/new/file' ] && ls '$T'/.work.quern-*/before.sums" "$PY" "$LIB/until_result.py" "$T/events" \
			"$QUERN" --base-url "$BASE" "$T/job.yaml" -p go --allowedTools Bash 2>"$T/err" 3>&-
		keep_written
		go_on
		is "$rc" 0 || { show; return 1; }
		is "$(numbers "$T/out")" "[1,1,1,$committed,\"$T/out.patch\",\"$T/changed.tar.zst\"]"
		written_stands
		nothing_beside
		is "$(cwds "$T/events")" 1
	done
}

@test "killed like that where nothing but an archive is saved" {
	job "save: $T/changed.tar.zst"
	serve "$(script "$(bash_call "$WORK")" "$(long)")"
	"$PY" "$LIB/until_result.py" "$T/events" \
		"$QUERN" --base-url "$BASE" "$T/job.yaml" -p go --allowedTools Bash 2>"$T/err" 3>&-
	tar -tf "$T/changed.tar.zst" >"$T/kept.list"
	go_on
	is "$rc" 0 || { show; return 1; }
	tar -tf "$T/changed.tar.zst" | cmp - "$T/kept.list"
	is "$(tail -n 1 "$T/out" | jq -c '.workspace | [.changed, .added, .deleted]')" '[1,1,1]'
	nothing_beside
}

@test "killed before the result of an end without a commit: what it did is told and kept" {
	job 'transaction: true'
	serve "$(script "$(bash_call 'echo a >a')" "$(say never)")"
	# A hook's word makes the line long.
	cat >>"$T/job.yaml" <<-'EOT'
		hooks: {PostToolUse: [{hooks: [{type: command, command: "printf '{\"continue\":false,\"stopReason\":\"%012000d\"}' 1"}]}]}
	EOT
	AT_END="ls '$T'/.work.quern-*/work/a" "$PY" "$LIB/until_result.py" "$T/events" \
		"$QUERN" --base-url "$BASE" "$T/job.yaml" -p go --allowedTools Bash 2>"$T/err" 3>&-
	[ ! -e "$T/work/a" ]
	go_on
	is "$rc" 30 || { show; return 1; }
	is "$(result .workspace.added)" 1
	is "$(tar -tf "$(result .workspace.changes)" 2>/dev/null)" a
	is "$(cwds "$T/events")" 1
	rm -rf "$T"/tmp/*
	nothing_beside
}

# Somebody holds the lock of the workspace, so that the run waits with its commit; it is killed there.
killed_before_commit() {
	flock "$T/work" sh -c "touch '$T/held'; exec sleep 300" >/dev/null 2>&1 3>&- &
	local lock=$!
	wait_for [ -e "$T/held" ]
	"$QUERN" --base-url "$BASE" "$T/job.yaml" -p go --allowedTools Bash </dev/null >"$T/events" 2>"$T/err" 3>&- &
	local pid=$!
	wait_for compgen -G "$T/.work.quern-*/committed.sums"
	kill -KILL $pid
	wait $pid || true
	pkill -P $lock || true
	wait $lock || true
	rm -rf "$T"/tmp/*
}

@test "killed in its commit: the next one finishes it before it changes more, and both are committed" {
	job 'transaction: true' "save: $T/changed.tar.zst" "patch: $T/out.patch"
	serve "$(script "$(bash_call "$WORK")" "$(say done)" "$(bash_call 'echo 3 >text; echo more >more')" "$(say 'done again')")"
	killed_before_commit
	keep_written
	# what it has come to: of the changes one is made
	echo 2 >"$T/work/text"
	q "$T/job.yaml" -p more --allowedTools Bash --resume "$T/events"
	is "$rc" 0 || { show; return 1; }
	is "$(cat text more new/file | tr '\n' ' ')" '3 more n '
	[ ! -e gone ]
	is "$(tail -n 1 "$T/out" | jq -c '.workspace | [.changed, .added, .deleted, .committed]')" '[1,2,1,true]'
	cmp "$T/out.patch" "$T/kept.patch"
	err_has 'without what has changed since'
	has "$(tar -tf "$T/changed.tar.zst")" more
	nothing_beside
}

@test "killed in its commit, and nothing more is to be done: archive and patch are those that were written" {
	job 'transaction: true' "save: $T/changed.tar.zst" "patch: $T/out.patch"
	serve "$(script "$(bash_call "$WORK")" "$(say done)")"
	killed_before_commit
	keep_written
	echo 2 >"$T/work/text"
	go_on
	is "$rc" 0 || { show; return 1; }
	is "$(numbers "$T/out")" "[1,1,1,true,\"$T/out.patch\",\"$T/changed.tar.zst\"]"
	written_stands
	err_lacks workspace.patch
	nothing_beside
}

@test "killed behind its result: the run that has nothing to do takes the rest away" {
	job 'transaction: true'
	serve "$(script "$(bash_call "$WORK")" "$(say done)")"
	q "$T/job.yaml" -p go --allowedTools Bash
	exits 0 completed
	cp "$T/out" "$T/events"
	local copy ours
	copy=$(head -n 1 "$T/out" | jq -r .cwd)
	ours=$(dirname "$copy")
	mkdir -m 700 "$ours" && mkdir "$copy" && ln -s "$T/work" "$ours/original"
	ln -s "$(head -n 1 "$T/out" | jq -r .session_id)" "$ours/session"
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events"
	is "$(result .resumed_result)" true
	nothing_beside
	# of another session's nothing is taken
	mkdir -m 700 "$ours" && mkdir "$copy" && ln -s "$T/work" "$ours/original" && ln -s other "$ours/session"
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events"
	[ -d "$copy" ]
	rm -r "$ours"
}

@test "a run that did not complete goes on in a copy of the same name, and what is sent begins as it did" {
	job 'transaction: true'
	serve "$(script '{"content":[{"thinking":"hm","signature":"c2ln"},{"tool_use":{"name":"Bash","input":{"command":"pwd; echo a >a"},"id":"t1"}}]}' \
		"$(bash_call 'cat a; pwd; echo b >b')" "$(say done)")"
	q "$T/job.yaml" -p go --allowedTools Bash --max-turns 1
	exits 10 max_turns
	nothing_beside
	cp "$T/out" "$T/events"
	go_on --max-turns 9
	is "$rc" 0 || { show; return 1; }
	is "$(cwds "$T/events")" 1
	is "$(jq -c 'select(.subtype=="quern_resume").changed - ["job"]' "$T/out")" '[]'
	local of='[.system, .tools, (.messages[0] | del(.. | .cache_control?))]'
	is "$(jq -c "$of" "$(request 2)")" "$(jq -c "$of" "$(request 1)")"
	is "$(jq -c '.messages[1].content[0].thinking' "$(request 2)")" '"hm"'
	has "$(result_text 3)" "$(head -n 1 "$T/events" | jq -r .cwd)"
	is "$(cat "$T/work/a" "$T/work/b" | tr '\n' ' ')" 'a b '
	nothing_beside
}

@test "a name that is taken, or is none of ours, is not taken" {
	job 'transaction: true'
	serve "$(script "$(bash_call 'echo a >a')" "$(say done)" "$(say done)")"
	q "$T/job.yaml" -p go --allowedTools Bash --max-turns 1
	exits 10 max_turns
	cp "$T/out" "$T/first"
	local copy
	copy=$(head -n 1 "$T/out" | jq -r .cwd)
	mkdir -m 700 "$(dirname "$copy")"
	touch "$(dirname "$copy")/mine"
	cp "$T/first" "$T/events"
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events" --max-turns 9
	is "$rc" 0 || { show; return 1; }
	[ -e "$(dirname "$copy")/mine" ]
	rm -r "$(dirname "$copy")"
	rm a
	sed "s|$(dirname "$copy")|$T/.work.quern-../../x|g" "$T/first" >"$T/events"
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events" --max-turns 9
	[ "$(head -n 1 "$T/out" | jq -r .cwd | sed 's/quern-....../quern-X/')" = "$T/.work.quern-X/work" ]
	nothing_beside
}
