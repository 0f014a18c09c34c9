#!/usr/bin/env bats
# What a run changed: committed from a copy or not at all, saved as an archive, written as a patch.

load ../lib/helpers

# The original files, and what the model does to them.
extra_setup() {
	printf 'one\ntwo\nthree\n' >text
	printf 'gone\n' >gone
	printf 'a\0b' >bin
	mkdir dir
	printf 'x\n' >"dir/with space"
	ln -s text link
	cp -a "$T/work" "$T/was"
}
WORK='printf "one\\n2\\nthree\\n" >text; rm gone; printf "a\\0c" >bin; chmod +x "dir/with space"; mkdir -p new/deep; echo n >new/deep/file; ln -sf bin link'
# The same elsewhere: what the workspace is to be.
expected() { rm -rf "$T/expected" && cp -a "$T/was" "$T/expected" && (cd "$T/expected" && bash -c "$WORK"); }
job() { printf 'workspace:\n' >"$T/job.yaml" && printf '  %s\n' "$@" >>"$T/job.yaml"; }
# same DIR DIR: names, contents, kinds and modes
listing() { (cd "$1" && find . -mindepth 1 -printf '%y %m %p %l\n' | LC_ALL=C sort && find . -type f -exec sha256sum {} + | LC_ALL=C sort); }
same() { is "$(listing "$1")" "$(listing "$2")"; }
nothing_beside() { is "$(find "$T" -maxdepth 1 -name '.*.quern-*')" '' && is "$(find "$T/work" -name '.quern-*')" ''; }
started() { [ -e "$(copy)/started" ]; }
copy() { head -n 1 "$T/out" | jq -r .cwd; }

@test "a run that completes changes the workspace at its end" {
	serve "$(script "$(bash_call "$WORK; pwd; cat $T/work/gone")" "$(say done)")"
	job 'transaction: true'
	q "$T/job.yaml" -p go --allowedTools Bash
	exits 0 completed
	is "$(copy | sed 's/quern-....../quern-X/')" "$T/.work.quern-X/work"
	has "$(result_text 2)" "$(copy)"
	has "$(result_text 2)" gone # the original still had it
	expected
	same "$T/work" "$T/expected"
	is "$(result '.workspace | "\(.changed) \(.added) \(.deleted) \(.committed)"')" '4 1 1 true'
	nothing_beside
}

@test "the changes are there where no lines are kept, and it is said where" {
	local kept
	job 'transaction: true'
	serve "$(script "$(bash_call "$WORK")" "$(say done)")"
	q "$T/job.yaml" -p go --allowedTools Bash --max-turns 1 -o json
	is "$rc" 10
	kept=$(jq -r .workspace.changes "$T/out")
	tar -tf "$kept" >"$T/list"
	serve "$(script "$(bash_call "$WORK")" "$(say done)")"
	q "$T/job.yaml" -p go --allowedTools Bash --max-turns 1 -o text
	is "$rc" 10
	kept=$(sed -n "s/^quern: what the run did is in '\(.*\)'$/\1/p" "$T/err")
	tar -tf "$kept" | cmp - "$T/list"
	same "$T/work" "$T/was"
}

@test "any other end leaves the workspace as it was, and the changes in the run directory" {
	serve "$(script "$(bash_call "$WORK")" "$(say done)")"
	job 'transaction: true'
	q "$T/job.yaml" -p go --allowedTools Bash --max-turns 1
	exits 10 max_turns
	same "$T/work" "$T/was"
	is "$(result .workspace.committed)" false
	is "$(result .workspace.changes)" "$(result .run_dir)/changes.tar.zst"
	is "$(stat -c %a "$(result .workspace.changes)")" 600
	nothing_beside
	cd "$T/was"
	tar -xf "$(result .workspace.changes)" .quern-deleted
	xargs -0 rm -df -- <.quern-deleted
	tar -xpf "$(result .workspace.changes)" --exclude .quern-deleted
	rm .quern-deleted
	expected_dir=$T/other
	cp -a "$T/work" "$expected_dir"
	(cd "$expected_dir" && bash -c "$WORK")
	same "$T/was" "$expected_dir"
}

@test "a run that changed nothing leaves nothing behind, however it ends" {
	serve "$(script "$(bash_call true)" "$(say done)")"
	job 'transaction: true'
	q "$T/job.yaml" -p go --allowedTools Bash --max-turns 1
	exits 10 max_turns
	is "$(result '.workspace | [.changed, .added, .deleted, .changes] | tojson')" '[0,0,0,null]'
	same "$T/work" "$T/was"
	nothing_beside
}

@test "a file that somebody else changed meanwhile: nothing is committed, and the copy stays" {
	serve "$(script "$(bash_call "$WORK; echo other >'$T/work/bin'")" "$(say done)")"
	job 'transaction: true'
	q "$T/job.yaml" -p go --allowedTools Bash --sandbox off
	exits 1 internal_error
	has "$(result '.errors | join("|")')" "'bin' has changed"
	is "$(result .workspace.committed)" false
	is "$(result .workspace.copy)" "$(copy)"
	echo other >"$T/was/bin"
	same "$T/work" "$T/was"
	[ -x "$(copy)/dir/with space" ]
	rm -rf "$T"/.work.quern-*
}

@test "a commit waits for that of another run, and sees what it did" {
	serve "$(script "$(bash_call 'echo x >bin; echo 1 >new')" "$(say done)")"
	job 'transaction: true'
	# The other one: it has the lock until it has changed a file, some time after this run is at its end.
	flock "$T/work" sh -c "touch '$T/held'; until ls '$T'/.work.quern-*/work/new; do sleep 0.02; done; sleep 0.5; echo other >'$T/work/bin'" \
		>/dev/null 2>&1 3>&- &
	wait_for [ -e "$T/held" ]
	q "$T/job.yaml" -p go --allowedTools Bash
	exits 1 internal_error
	err_has "'bin' has changed"
	is "$(cat bin)" other
	[ ! -e new ]
	rm -rf "$T"/.work.quern-*
}

@test "the sandbox keeps tools out of the original" {
	serve "$(script "$(bash_call "echo x >'$T/work/text'; echo x >'$T/work/more'; true")" "$(say done)")"
	job 'transaction: true'
	q "$T/job.yaml" -p go --allowedTools Bash
	exits 0
	same "$T/work" "$T/was"
}

@test "patch and archive make the same of the files as they were" {
	serve "$(script "$(bash_call "$WORK")" "$(say done)")"
	job "save: $T/changed.tar.zst" "patch: $T/out.patch"
	q "$T/job.yaml" -p go --allowedTools Bash
	exits 0
	expected
	same "$T/work" "$T/expected"
	is "$(result '.workspace | "\(.changed) \(.added) \(.deleted) \(.saved) \(.patch) \(.committed)"')" \
		"4 1 1 $T/changed.tar.zst $T/out.patch null"
	is "$(stat -c %a "$T/changed.tar.zst" "$T/out.patch" | tr '\n' ' ')" '600 600 '
	nothing_beside
	cp -a "$T/was" "$T/patched"
	cd "$T/patched"
	GIT_CEILING_DIRECTORIES=$T git apply "$T/out.patch"
	same "$T/patched" "$T/expected"
	cd "$T/was"
	tar -xf "$T/changed.tar.zst" .quern-deleted
	xargs -0 rm -df -- <.quern-deleted
	tar -xpf "$T/changed.tar.zst" --exclude .quern-deleted
	rm .quern-deleted
	same "$T/was" "$T/expected"
}

@test "a signal: the workspace is as it was, the changes are written" {
	serve "$(script "$(bash_call "$WORK; touch started; sleep 300")")"
	job 'transaction: true' "save: $T/changed.tar.zst" "patch: $T/out.patch"
	env --default-signal=TERM "$QUERN" --base-url "$BASE" "$T/job.yaml" -p go --allowedTools Bash \
		</dev/null >"$T/out" 2>"$T/err" 3>&- &
	local pid=$!
	wait_for started
	kill -TERM $pid
	rc=0
	wait $pid || rc=$?
	exits 143 aborted_tools
	same "$T/work" "$T/was"
	is "$(result '.workspace | "\(.saved) \(.patch) \(.committed) \(.changes)"')" \
		"$T/changed.tar.zst $T/out.patch false $(result .run_dir)/changes.tar.zst"
	has "$(cat "$T/out.patch")" '+++ b/new/deep/file'
	has "$(tar -tf "$T/changed.tar.zst")" 'new/deep/file'
	nothing_beside
}

@test "a file that is mostly holes is neither copied, saved nor committed as what it would be without" {
	truncate -s 10G big
	serve "$(script "$(bash_call 'printf x | dd of=big bs=1 seek=3000000000 conv=notrunc status=none')" "$(say done)")"
	job 'transaction: true' "save: $T/save.tar.zst" "patch: $T/out.patch"
	q "$T/job.yaml" -p go --allowedTools Bash
	exits 0 completed
	is "$(stat -c %s big)" $((10 << 30))
	is "$(tail -c +3000000001 big | head -c 1)" x
	[ "$(stat -c %b big)" -lt 1000 ]
	[ "$(stat -c %s "$T/save.tar.zst")" -lt 10000 ]
	mkdir "$T/back"
	tar -xSf "$T/save.tar.zst" -C "$T/back"
	is "$(tail -c +3000000001 "$T/back/big" | head -c 1)" x
	[ "$(stat -c %b "$T/back/big")" -lt 1000 ]
	is "$(cat "$T/out.patch")" "# too large for a patch: big"
	is "$(result .workspace.patch_left_out)" 1
}

@test "the run's own files are no changes" {
	serve "$(script "$(bash_call 'echo 1 >mine')" "$(say done)")"
	job "save: $T/work/sub/changed.tar.zst" 'patch: out.patch'
	mkdir sub
	echo old >sub/changed.tar.zst
	q "$T/job.yaml" -p go --allowedTools Bash --events events.ndjson
	exits 0
	is "$(tar -tf sub/changed.tar.zst)" mine
	is "$(grep ^diff out.patch)" 'diff --git a/mine b/mine'
	is "$(result '.workspace | "\(.changed) \(.added) \(.deleted)"')" '0 1 0'
}

@test "what cannot be written is told before anything is sent" {
	job "save: $T/nowhere/x.tar.zst"
	q "$T/job.yaml" -p go --base-url http://127.0.0.1:1
	exits 2 turn_setup_failed
	err_has 'workspace.save'
	job 'transaction: true'
	q "$T/job.yaml" -p go --base-url http://127.0.0.1:1 --tools Nothing
	[ "$rc" = 2 ]
	q "$T/job.yaml" --base-url http://127.0.0.1:1 --append-system-prompt x
	[ "$rc" = 2 ]
	nothing_beside
}

@test "a workspace that nothing can be committed to is told of before anything is sent" {
	local w=/usr
	if [ "$(id -u)" = 0 ]; then
		w=$T/fixed
		mkdir "$w"
		mount -t tmpfs -o ro none "$w" || skip "nothing may be mounted here"
	fi
	serve "$(script "$(say never)")"
	job 'transaction: true'
	q "$T/job.yaml" -p go --allowedTools Bash -C "$w"
	[ "$w" = /usr ] || umount "$w"
	exits 2 turn_setup_failed
	err_has "'$w' could not be changed at the end"
	is "$(requests)" 0
}

@test "an archive that its disk has no room for says so" {
	[ -c /dev/full ] || skip "no full disk"
	serve "$(script "$(bash_call 'echo x >>text')" "$(say done)")"
	job 'save: /dev/full'
	q "$T/job.yaml" -p go --allowedTools Bash
	exits 1 internal_error
	err_has "cannot write the archive: No space left on device"
}

@test "git applies a patch of names with blanks at their ends" {
	serve "$(script "$(bash_call 'mkdir "a "; printf "\\0" >"a /b"; printf "\\0" >"c "; echo 1 >"a / d"')" "$(say done)")"
	job "patch: $T/out.patch"
	q "$T/job.yaml" -p go --allowedTools Bash
	exits 0
	(cd "$T/was" && git apply "$T/out.patch")
	same "$T/was" "$T/work"
}

@test "an output that may not be that large leaves no part of it, and the run says so" {
	serve "$(script "$(bash_call 'head -c 200000 /dev/urandom >a; head -c 200000 /dev/urandom >b')" "$(say done)")"
	mkdir "$T/outs"
	printf '#!/bin/sh\nulimit -f 500\nexec %s "$@"\n' "$QUERN" >"$T/limited"
	chmod +x "$T/limited"
	job "save: $T/outs/s.tar.zst"
	QUERN=$T/limited q "$T/job.yaml" -p go --allowedTools Bash
	exits 1 internal_error
	err_has 'workspace.save: cannot write'
	is "$(ls -A "$T/outs")" ''
}

@test "an output file is one of its own, and none is a directory" {
	job 'save: out' 'patch: out'
	q "$T/job.yaml" -p go --base-url http://127.0.0.1:1
	exits 2 turn_setup_failed
	err_has 'workspace.patch' 'is written by this run already'
	job 'save: ../events'
	q "$T/job.yaml" -p go --base-url http://127.0.0.1:1 --events "$T/events"
	exits 2 turn_setup_failed
	err_has 'workspace.save' 'is written by this run already'
	q "$T/job.yaml" -p go --base-url http://127.0.0.1:1 --record "$T/events"
	exits 2 turn_setup_failed
	job "patch: /proc/self/fd/1"
	q "$T/job.yaml" -p go --base-url http://127.0.0.1:1
	exits 2 turn_setup_failed
	job 'save: dir'
	q "$T/job.yaml" -p go --base-url http://127.0.0.1:1
	exits 2 turn_setup_failed
	err_has 'Is a directory'
}

@test "a directory on the way to an output file that has become a link is not followed" {
	mkdir out "$T/elsewhere"
	serve "$(script "$(bash_call "mv out was; ln -s $T/elsewhere out; echo 1 >new")" "$(say done)")"
	job 'save: out/changed.tar.zst'
	q "$T/job.yaml" -p go --allowedTools Bash
	exits 1 internal_error
	err_has 'workspace.save'
	is "$(ls -A "$T/elsewhere")" ''
	is "$(readlink out)" "$T/elsewhere"
}

@test "a copy that has become a link is none" {
	mkdir "$T/elsewhere"
	serve "$(script "$(bash_call "cd ..; mv work was; ln -s $T/elsewhere work")" "$(say done)")"
	job 'transaction: true'
	q "$T/job.yaml" -p go --allowedTools Bash --sandbox off
	exits 1 internal_error
	same "$T/work" "$T/was"
	rm -r "$T"/.work.quern-*
}

@test "a workspace that has become a link is another one: nothing is committed to where that leads" {
	serve "$(script "$(bash_call "cd ..; mv $T/work $T/moved; cp -a $T/moved $T/elsewhere; ln -s elsewhere $T/work; cd -; echo 2 >text")" "$(say done)")"
	job 'transaction: true'
	q "$T/job.yaml" -p go --allowedTools Bash --sandbox off
	exits 1 internal_error
	same "$T/elsewhere" "$T/was"
	same "$T/moved" "$T/was"
	rm "$T/work"
	mkdir "$T/work"
	rm -r "$T"/.work.quern-*
}

@test "what is new and cannot be kept is not lost: the copy stays" {
	serve "$(script "$(bash_call 'n=$(printf "%0200d" 1); for i in $(seq 21); do mkdir $n; cd $n; done; echo 1 >new')" "$(say done)")"
	job 'transaction: true'
	q "$T/job.yaml" -p go --allowedTools Bash
	exits 1 internal_error
	err_has 'File name too long'
	same "$T/work" "$T/was"
	[ -d "$(result .workspace.copy)" ]
	rm -rf "$T"/.work.quern-*
}

@test "a copy is not made within what it is a copy of" {
	job 'transaction: true'
	mkdir tmp
	# Nothing can be made beside a workspace with that name.
	local name
	name=$(printf 'n%.0s' {1..250})
	mv "$T/work" "$T/$name"
	cd "$T/$name"
	TMPDIR=$PWD/tmp q "$T/job.yaml" -p go --base-url http://127.0.0.1:1
	exits 2 turn_setup_failed
	err_has 'TMPDIR must be elsewhere'
	is "$(ls -A tmp)" ''
}

results() { [ "$(grep -c '"type":"result"' "$T/out")" -ge "$1" ]; }
say_to_it() { printf '{"type":"user","message":{"role":"user","content":"%s"}}\n' "$1" >&"$IN"; }

@test "of a session the changes count together, at its end, though that comes behind the last result" {
	SESSION=+
	serve "$(script "$(bash_call 'echo 1 >first')" "$(say one)" "$(bash_call "echo 2 >second; ls '$T/work'")" "$(say two)")"
	job 'transaction: true' "patch: $T/out.patch"
	mkfifo "$T/in"
	timeout 60 "$QUERN" --base-url "$BASE" "$T/job.yaml" --input-format stream-json --allowedTools Bash \
		<"$T/in" >"$T/out" 2>"$T/err" 3>&- &
	local pid=$!
	exec {IN}>"$T/in"
	say_to_it a
	wait_for results 1
	[ ! -e first ]
	say_to_it b
	wait_for results 2
	[ ! -e first ]
	[ ! -e second ]
	exec {IN}>&-
	rc=0
	wait $pid || rc=$?
	exits 0
	[ -e first ]
	[ -e second ]
	is "$(grep -c '^diff' "$T/out.patch")" 2
	is "$(ev 'select(.type=="result") | .workspace' | tr '\n' ' ')" 'null null '
	nothing_beside
}

@test "of a session whose last message did not complete nothing is committed" {
	SESSION=+
	serve "$(script "$(bash_call 'echo 1 >first')" "$(say one)" "$(bash_call 'echo 2 >second')")"
	job 'transaction: true'
	printf '{"type":"user","message":{"role":"user","content":"a"}}\n' >"$T/in"
	q_in "$T/in" "$T/job.yaml" --input-format stream-json --allowedTools Bash --max-turns 1
	[ "$rc" = 10 ]
	is "$(result .workspace.committed)" false
	same "$T/work" "$T/was"
	nothing_beside
}

# children ARGUMENT...: how many processes the program has while it waits for an answer
children() {
	serve '[{"silent":true}]'
	env --default-signal=TERM "$QUERN" --base-url "$BASE" -p go "$@" </dev/null >"$T/out" 2>"$T/err" 3>&- &
	local pid=$!
	wait_for got_requests 1
	n=$(pgrep -c -P $pid)
	kill -TERM $pid
	wait $pid || true
	stop_server
	rm -rf "$T/log"
	mkdir "$T/log"
}

@test "only a run that asks for something of it has a keeper" {
	children
	is "$n" 1
	children --set "workspace.save=$T/x.tar.zst"
	is "$n" 2
}

@test "a bundle has the sums of all files before and after" {
	serve "$(script "$(bash_call "$WORK")" "$(say done)")"
	q -p go --allowedTools Bash --record "$T/run.tar.zst"
	exits 0
	is "$(result .workspace)" null
	tar -xOf "$T/run.tar.zst" before.sha256 >"$T/before"
	tar -xOf "$T/run.tar.zst" after.sha256 >"$T/after"
	(cd "$T/was" && sha256sum --quiet --strict -c "$T/before")
	(cd "$T/work" && sha256sum --quiet --strict -c "$T/after")
	grep -q '  gone$' "$T/before"
	is "$(grep -c '  gone$' "$T/after")" 0
}

@test "where the bundle alone holds the changes and cannot be written, the copy stays and is named" {
	serve "$(script "$(bash_call "$WORK; head -c 20000 /dev/urandom | base64 -w 0")" "$(say done)")"
	job 'transaction: true'
	QUERN_REAL=$QUERN QUERN=$T/limited
	# shellcheck disable=SC2016 # the inner shell's
	printf '#!/bin/bash\n(ulimit -f 20; trap "" XFSZ; exec "%s" "$@") | cat\nexit "${PIPESTATUS[0]}"\n' "$QUERN_REAL" >"$QUERN"
	chmod +x "$QUERN"
	q "$T/job.yaml" -p go --allowedTools Bash --record "$T/run.tar.zst"
	exits 1 internal_error
	same "$T/work" "$T/was"
	err_has "$(copy)"
	expected
	same "$(copy)" "$T/expected"
	rm -rf "$(dirname "$(copy)")"
}

# A run with a record, killed when its command has made the file `started`.
killed_at_work() {
	"$QUERN" --base-url "$BASE" "$T/job.yaml" -p go --allowedTools Bash --events "$T/events" </dev/null >"$T/out" 2>"$T/err" 3>&- &
	local pid=$!
	wait_for started
	kill -KILL $pid
	wait $pid || true
}

@test "a run that was killed goes on in its copy" {
	serve "$(script "$(bash_call "$WORK; touch started; sleep 300")" "$(bash_call 'rm -f started')" "$(say done)")"
	job 'transaction: true'
	killed_at_work
	local copy
	copy=$(copy)
	same "$T/work" "$T/was"
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events" --events "$T/events"
	[ "$rc" = 0 ] || { show; return 1; } # its lines go on from those of the first
	is "$(copy)" "$copy"
	expected
	same "$T/work" "$T/expected"
	nothing_beside
	rm -rf "$T"/tmp/*
}

@test "a copy in whose place a link stands is not taken" {
	serve "$(script "$(bash_call "touch started; sleep 300")" "$(bash_call 'echo x >made')" "$(say done)")"
	job 'transaction: true'
	killed_at_work
	local copy
	copy=$(copy)
	mkdir "$T/elsewhere"
	rm -rf "$copy"
	ln -s "$T/elsewhere" "$copy"
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events" --events "$T/events"
	[ "$rc" = 0 ] || { show; return 1; }
	[ "$(copy)" != "$copy" ]
	is "$(cat "$T/work/made")" x
	is "$(ls -A "$T/elsewhere")" ''
	rm -rf "$T"/.work.quern-* "$T"/tmp/*
}

@test "another workspace does not take the copy" {
	serve "$(script "$(bash_call "touch started; sleep 300")" "$(say done)")"
	job 'transaction: true'
	killed_at_work
	local copy
	copy=$(copy)
	cp -a "$T/was" "$T/there"
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events" --set "workspace.dir=$T/there"
	[ "$rc" = 0 ] || { show; return 1; } # its lines go on from those of the first
	[ "$(copy)" != "$copy" ]
	[ -e "$copy/started" ]
	[ ! -e "$T/there/started" ]
	rm -rf "$T"/.work.quern-* "$T"/tmp/*
}

@test "a run that did not complete goes on with what it had done" {
	serve "$(script "$(bash_call "$WORK")" "$(bash_call 'echo more >more')" "$(say done)")"
	job 'transaction: true'
	q "$T/job.yaml" -p go --allowedTools Bash --max-turns 1 --events "$T/events"
	exits 10
	same "$T/work" "$T/was"
	echo other >"$T/work/other"
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events" --events "$T/events"
	exits 0
	expected
	echo more >"$T/expected/more"
	echo other >"$T/expected/other"
	same "$T/work" "$T/expected"
	nothing_beside
}

@test "and finds what somebody else changed in between" {
	serve "$(script "$(bash_call "$WORK")" "$(say done)")"
	job 'transaction: true'
	q "$T/job.yaml" -p go --allowedTools Bash --max-turns 1 --events "$T/events"
	exits 10
	echo other >"$T/work/bin"
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events" --events "$T/events"
	exits 1 internal_error
	has "$(result '.errors | join("|")')" "'bin' has changed"
	rm -rf "$T"/.work.quern-*
}

all_old_or_new() { is "$(cat "$T"/work/f* | sort -u | tr '\n' ' ' | sed -E 's/^(new |old )+$/fine/')" fine; }
committing() { compgen -G "$T/work/.quern-commit-*" >/dev/null; }

@test "a run that is killed while it commits: each file is old or new, and the next one finishes it" {
	local i n pid
	for ((i = 0; i < 1500; i++)); do echo old; done | split -l 1 -a 4 - f
	serve "$(script "$(bash_call 'for i in f*; do echo new >$i; done; rm -r dir')" "$(say done)" "$(say done)" "$(say done)" "$(say done)" "$(say done)" "$(say done)")"
	job 'transaction: true'
	for n in 1 2 3; do
		"$QUERN" --base-url "$BASE" "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events" --events "$T/events" \
			</dev/null >"$T/out" 2>"$T/err" 3>&- &
		pid=$!
		while kill -0 $pid 2>/dev/null && ! committing; do :; done
		sleep 0.0$((RANDOM % 10))
		kill -KILL $pid 2>/dev/null || true
		wait $pid || true
		all_old_or_new
	done
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events" --events "$T/events"
	[ "$rc" = 0 ] || { show; return 1; }
	is "$(cat "$T"/work/f* | sort | uniq -c | sed 's/^ *//')" '1500 new'
	[ ! -e dir ]
	nothing_beside
	is "$(cat "$T/err" | grep 'cannot remove')" ''
}

@test "directories of ours that may not be written get their modes back" {
	serve "$(script "$(bash_call 'echo new >"dir/with space"; echo 2 >text')" "$(say done)")"
	job 'transaction: true'
	local as=() quern=$QUERN
	if [ "$(id -u)" = 0 ]; then
		chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR"
		chmod 1777 "$T/tmp" "$T/state" "$T/home" "$T"
		chown -R 54321:54321 "$T/work"
		quern=$T/quern
		cp "$QUERN" "$quern" && chmod 755 "$quern"
		as=(setpriv --reuid 54321 --regid 54321 --clear-groups)
		"${as[@]}" "$quern" --version >/dev/null || skip "another user cannot come here"
	fi
	chmod 555 dir .
	rc=0
	"${as[@]}" "$quern" --base-url "$BASE" "$T/job.yaml" -p go --allowedTools Bash </dev/null >"$T/out" 2>"$T/err" || rc=$?
	local modes
	modes=$(stat -c %a . dir | tr '\n' ' ')
	chmod 755 . dir
	exits 0 completed
	is "$modes" '555 555 '
	is "$(result .workspace.committed)" true
	is "$(cat "dir/with space" text | tr '\n' ' ')" 'new 2 '
	nothing_beside
}

# What the session changed, whatever run of it did: put over the files as they were, it makes the workspace.
saved_all() {
	(cd "$T/was" && git -c core.autocrlf=false apply "$T/out.patch")
	is "$(cat "$T/was/a" "$T/was/b" "$T/was/text")" "$(printf 'a\nb\none\ntwo\nthree\na\nb\n')"
	is "$(tar -tf "$T/changed.tar.zst" | tr '\n' ' ')" '.quern-deleted a b text '
	is "$(tar -xOf "$T/changed.tar.zst" text | tail -n 2)" "$(printf 'a\nb\n')"
	nothing_beside
}

@test "archive and patch hold what all runs of the session changed" {
	for extra in 'dir: .' 'transaction: true'; do
		cd "$T/work"
		rm -rf "$T/events" "$T/was" a b && printf 'one\ntwo\nthree\n' >text && printf 'gone\n' >gone && cp -a . "$T/was"
		serve "$(script "$(bash_call 'echo a >a; echo a >>text; rm gone')" "$(bash_call 'echo b >b; echo b >>text')" "$(say done)")"
		job "$extra" "save: $T/changed.tar.zst" "patch: $T/out.patch"
		for want in 10 10 0; do
			q "$T/job.yaml" -p go --allowedTools Bash --max-turns 1 --resume "$T/events" --events "$T/events"
			is "$rc" "$want"
		done
		saved_all
		is "$(tail -n 1 "$T/events" | jq -c '.workspace | [.changed, .added, .deleted]')" '[1,2,1]'
	done
}

@test "also where a run was killed, and where there is an archive alone" {
	for keys in 'save patch' save; do
		rm -rf "$T/events" a b started && printf 'one\ntwo\nthree\n' >text && printf 'gone\n' >gone
		rm -rf "$T/was" && cp -a . "$T/was"
		serve "$(script "$(bash_call 'echo a >a; echo a >>text; rm gone')" "$(bash_call 'touch started; sleep 300')" \
			"$(bash_call 'rm started; echo b >b; echo b >>text')" "$(say done)")"
		job "save: $T/changed.tar.zst"
		[ "$keys" = save ] || echo "  patch: $T/out.patch" >>"$T/job.yaml"
		killed_at_work
		for want in 10 0; do
			q "$T/job.yaml" -p go --allowedTools Bash --max-turns 1 --resume "$T/events" --events "$T/events"
			is "$rc" "$want"
		done
		[ "$keys" = save ] || saved_all
		is "$(tar -tf "$T/changed.tar.zst" | tr '\n' ' ')" '.quern-deleted a b text '
		nothing_beside
	done
	rm -rf "$T"/tmp/*
}

@test "an unpacked workspace stays until what all runs changed is saved" {
	tar -C "$T/work" -cf "$T/a.tar" .
	serve "$(script "$(bash_call 'echo a >a')" "$(say done)")"
	job "archive: $T/a.tar" "save: $T/changed.tar.zst"
	q "$T/job.yaml" -p go --allowedTools Bash --max-turns 1 --events "$T/events"
	is "$rc" 10
	local dir
	dir=$(copy)
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events" --events "$T/events"
	is "$rc" 0
	is "$(tar -tf "$T/changed.tar.zst")" a
	[ ! -e "$dir" ]
	# what the first run has kept is gone: then it is said, and the directory stays
	rm -f "$T/events"
	serve "$(script "$(bash_call 'echo a >a')" "$(say done)")"
	q "$T/job.yaml" -p go --allowedTools Bash --max-turns 1 --events "$T/events"
	dir=$(copy)
	rm "$(tail -n 1 "$T/events" | jq -r .workspace.before)"
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events" --events "$T/events"
	is "$rc" 0
	has "$(cat "$T/err")" 'what the run changed before is not there any more'
	[ -e "$dir/a" ]
	rm -rf "$dir"
}

# killed_in COMMAND FILE: a run that is killed when its command has made that file
killed_in() {
	serve "$(script "$(bash_call "$1; sleep 300")")"
	"$QUERN" --base-url "$BASE" "$T/job.yaml" -p go --allowedTools Bash --sandbox off </dev/null >"$T/out" 2>"$T/err" 3>&- &
	local pid=$!
	wait_for [ -e "$2" ]
	kill -KILL $pid
	wait $pid || true
	stop_server
	rm -rf "$T/log"
	mkdir "$T/log"
}
# left NAME [ORIGINAL]: as a run leaves it that is killed while it copies
left() { mkdir -m 700 "$T/$1" && mkdir "$T/$1/work" && echo part >"$T/$1/work/text" && ln -s "${2:-$T/work}" "$T/$1/original"; }
beside() { (cd "$T" && ls -d .work.quern-* | sed "s/$(basename "$(dirname "$1")")/MINE/" | LC_ALL=C sort | tr '\n' ' '); }

@test "what killed runs have left goes, unless there is work in it that is nowhere else" {
	local mine
	job "save: $T/changed.tar.zst"
	killed_in "touch $T/looked" "$T/looked" # of an unchanged workspace
	job 'transaction: true'
	killed_in "touch $T/idle" "$T/idle" # in an unchanged copy
	killed_in "$WORK; touch $T/worked" "$T/worked"
	mine=$(copy)
	left .work.quern-aaaaaa
	left .work.quern-bbbbbb "$T/other"
	left .work.quern-cccccc
	mkdir -m 700 "$T/.work.quern-dddddd" "$T/work/.quern-commit-1-2"
	left .work.quern-eeeeeeee
	left tmp/quern-aaaaaa
	left tmp/quern-bbbbbb "$T/other"
	flock "$T/.work.quern-cccccc" sh -c "touch '$T/held'; sleep 300" >/dev/null 2>&1 3>&- &
	local pid=$!
	wait_for [ -e "$T/held" ]
	serve "$(script "$(bash_call 'ls -A')" "$(say done)")"
	q "$T/job.yaml" -p go --allowedTools Bash -v
	kill $pid
	pkill -P $pid || true
	exits 0 completed
	is "$(beside "$mine")" '.work.quern-bbbbbb .work.quern-cccccc .work.quern-eeeeeeee MINE '
	is "$(cd "$T/tmp" && ls -d quern-??????)" quern-bbbbbb
	is "$(grep -c "of a run that was killed is removed" "$T/err")" 2 # the idle one went with the second run
	is "$(grep -c "$(basename "$(dirname "$mine")").*stays: what it has is nowhere else" "$T/err")" 1
	same "$T/work" "$T/was"
	# Somebody does by hand what the run did: now it is somewhere else.
	bash -c "$WORK"
	serve "$(script "$(say done)")"
	q "$T/job.yaml" -p go
	exits 0 completed
	[ ! -e "$mine" ]
	rm -rf "$T"/.work.quern-* "$T"/tmp/*
}

@test "a copy that a run works in is not gone on with by another" {
	serve "$(script "$(bash_call "touch started; sleep 300")" "$(say done)")"
	job 'transaction: true'
	"$QUERN" --base-url "$BASE" "$T/job.yaml" -p go --allowedTools Bash </dev/null >"$T/out" 2>"$T/err" 3>&- &
	local pid=$!
	wait_for started
	cp "$T/out" "$T/first"
	cp "$T/out" "$T/events"
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events"
	[ "$rc" = 2 ]
	err_has 'another run works where'
	kill -KILL $pid
	wait $pid || true
	q "$T/job.yaml" -p go --allowedTools Bash --resume "$T/events"
	exits 0 completed
	[ -e started ]
	nothing_beside
	rm -rf "$T"/tmp/*
}
