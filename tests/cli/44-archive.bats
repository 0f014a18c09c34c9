#!/usr/bin/env bats
# workspace.archive: the workspace is unpacked before the run, and no archive does anything but fill it.

load ../lib/helpers

# From a tape: nothing here is about the model. A directory named box is the neighbourhood that must not change.
extra_setup() {
	tape say.yaml <<-'YAML'
		tape: 1
		answers: [{text: done}]
	YAML
	mkdir -p "$T/box/outside"
	echo victim >"$T/box/victim"
}

pack() { "$PY" "$LIB/hostile_archives.py" "$T/a" "$@"; }
# unpack NAME ARGUMENT...: a run whose workspace is $T/box/w
unpack() {
	local name=$1
	shift
	q -p go --replay "$T/say.yaml" -C "$T/box/w" --set workspace.archive="$T/a/$name" "$@"
}
reason() { result .startup_failure_reason; }
neighbours() { (cd "$T/box" && find . ! -path './w/*' ! -name w | LC_ALL=C sort | tr '\n' ' '; cat victim); }
tree() { (cd "$1" && find . -mindepth 1 -printf '%y %m %P\0' | LC_ALL=C sort -z -k3 | tr '\0' ';'); }
no_escape() {
	is "$(neighbours)" ". ./outside ./victim victim"
	[ ! -e /tmp/quern-case-escaped ]
}
# refused NAME TEXT: exit 2 with that text, nothing left
refused() {
	exits 2 turn_setup_failed
	is "$(reason)" workspace_unavailable
	err_has "workspace.archive '$T/a/$1': $2"
	has "$(result '.errors[0]')" "$2"
	[ ! -e "$T/box/w" ] || { echo "$1 left something"; return 1; }
	no_escape
}

@test "each archive of ill will is refused, says which entry, and leaves nothing behind" {
	local name text
	pack
	while IFS='|' read -r name text; do
		unpack "$name"
		echo "archive: $name"
		refused "$name" "$text" # by itself: as one of a list it would go on behind what fails in it
	done <<-'END'
		dotdot.tar|'../escaped': a name with ".."
		dotdot-inside.tar|'a/../b': a name with ".."
		dotdot.zip|'../escaped': a name with ".."
		backslash.zip|'../escaped': a name with ".."
		absolute.tar|'/tmp/quern-case-escaped': an absolute name
		pax-name.tar|'../escaped': a name with ".."
		control.tar|'..': a name with ".."
		no-name.tar|entry 2 has no name that can be read
		no-name-link.tar|'./': it has no name
		long-name.tar|'dddddddddd
		endless-name.tar|'dddddddddd
		twice.tar|'f': the name comes twice
		file-over-link.tar|'a': the name comes twice
		link-over-file.tar|'a': the name comes twice
		directory-over-link.tar|'a/': the name comes twice
		file-over-directory.tar|'d': the name comes twice
		below-a-file.tar|'a/b': its directory is a link or a file
		link-then-file.tar|'door': a link that may lead out
		link-absolute.tar|'door': a link that may lead out
		link-out.tar|'a/b/l': a link that may lead out
		link-out.zip|'door': a link that may lead out
		link-out-by-link.tar|'y': a link that may lead out
		link-inside-then-file.tar|'door/f': its directory is a link or a file
		hard-out.tar|'h': a hard link to something that is no file of the archive's
		hard-absolute.tar|'h': a hard link to something that is no file of the archive's
		hard-to-link.tar|'h': a hard link to something that is no file of the archive's
		hard-through-link.tar|'h': a hard link to something that is no file of the archive's
		hard-to-nothing.tar|'h': a hard link to something that is no file of the archive's
		hard-to-directory.tar|'h': a hard link to something that is no file of the archive's
		hard-below-later-link.tar|'door/h': a hard link to something that is no file of the archive's
		fifo.tar|'f': neither a file nor a directory nor a link
		device.tar|'n': neither a file nor a directory nor a link
		empty.tar|it is empty
		no-archive.tar|it cannot be read as tar, zip or 7z
		nothing-in-it.tar|nothing is in it
		cut-in-data.tar|'f': Truncated tar archive
		cut-in-header.tar|it cannot be read as tar, zip or 7z
		cut.tar.gz|it cannot be read as tar, zip or 7z: truncated gzip input
		no-end.tar|it is cut off
		no-end.tar.gz|it is cut off
		sparse-overlap.tar|'f': its content is not what its header says
		sparse-back.tar|'f': its content is not what its header says
		sparse-beyond.tar|'f': its content is not what its header says
		sparse-far.tar|'f': its content is not what its header says
		sparse-endless.tar|its files have more than 17179869184 bytes
		sparse-negative.tar|it cannot be read as tar, zip or 7z: no reason is known
		size-lie.tar|it grows to more than 1000 times its size
		size-lie.zip|'f': its content is not what its header says
		bad-checksum.tar|it cannot be read as tar, zip or 7z
		bad-crc.zip|'d/f': ZIP bad CRC
		bomb-many.zip|it grows to more than 1000 times its size
		bomb.tar.xz|it grows to more than 1000 times its size
	END
	unpack endless-name.tar
	err_has ": the name is too long"
	unpack long-name.tar
	err_has ": File name too long"
}

@test "what means no harm is unpacked: names as they are, modes without privileges, links that stay inside" {
	local name text
	umask 022
	pack odd-names.tar latin1.tar modes.tar links.tar directory-twice.tar sparse.tar deep.tar many-directories.tar
	while IFS=: read -r name text; do
		unpack "$name"
		exits 0 completed
		no_escape
		is "$(tree "$T/box/w" | tr '\n' '|')" "$text" || { echo "archive: $name"; return 1; }
		rm -rf "$T/box/w"
	done <<-END
		odd-names.tar:f 644 ...;f 644 a;d 755 b;f 644 b/c;f 644 d\\e;f 644 esc$(printf '\033')[31m;f 644 new|line;
		latin1.tar:f 644 caf$(printf '\351');
		modes.tar:d 700 d;f 644 d/f;f 400 none;f 755 su;
		links.tar:d 755 a;d 755 a/b;f 644 a/b/f;l 777 a/b/up;l 777 a/l;l 777 gone;f 644 h;
		directory-twice.tar:d 755 d;f 644 d/f;
		sparse.tar:f 644 f;
	END
	for name in deep.tar many-directories.tar; do
		unpack "$name"
		exits 0 completed
		no_escape
		is "$(find "$T/box/w" -name f -printf x)" x
		rm -rf "$T/box/w"
	done
}

@test "the formats and compressions" {
	local name
	for name in good.tar good.tar.gz good.tar.bz2 good.tar.xz good.tar.zst good.tar.lz4 good.tar.lzma good.tar.lz good.tar.Z \
		good.zip good.7z; do
		pack "$name"
		unpack "$name"
		exits 0 completed
		is "$(find "$T/box/w" -name f -size 3600c | wc -l) $name" "1 $name"
		rm -rf "$T/box/w"
	done
	unpack good.zip
	[ -x "$T/box/w/d/run" ]
	[ ! -x "$T/box/w/d/f" ]
	is "$(date -u -r "$T/box/w/d/f" +%s)" "$(TZ=${TZ:-} date -d '2001-09-09 01:46:40' +%s)"
}

@test "names in Unicode are those that the archive has, in any locale" {
	mkdir "$T/a"
	"$PY" -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w").writestr("\u00e4 \U0001f600", "x")' "$T/a/u.zip"
	LC_ALL=C unpack u.zip
	exits 0 completed
	is "$(tree "$T/box/w")" $'f 600 \xc3\xa4 \xf0\x9f\x98\x80;'
}

@test "a bomb of 10 GB is refused before it has grown, with little memory" {
	pack bomb-10g.zip
	cat >"$T/measured" <<-END
		#!$PY
		import os, resource, subprocess, sys
		rc = subprocess.call(["$QUERN"] + sys.argv[1:])
		print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=open("$T/rss", "w"))
		sys.exit(rc)
	END
	chmod +x "$T/measured"
	QUERN=$T/measured unpack bomb-10g.zip
	refused bomb-10g.zip "it grows to more than 1000 times its size"
	sanitized || [ "$(cat "$T/rss")" -lt 40000 ] || { echo "$(cat "$T/rss") kB"; return 1; }
}

@test "holes stay holes, and count as what they stand for" {
	mkdir "$T/a" "$T/sparse"
	truncate -s 50M "$T/sparse/file"
	printf x | dd of="$T/sparse/file" bs=1 seek=30000000 conv=notrunc status=none
	for format in pax gnu; do
		tar --format=$format -cSf "$T/a/$format.tar" -C "$T/sparse" file
		unpack $format.tar
		exits 0 completed
		cmp "$T/sparse/file" "$T/box/w/file"
		[ "$(stat -c %b "$T/box/w/file")" -lt 1000 ]
		rm -r "$T/box/w"
		unpack $format.tar --set limits.archive_bytes=49MiB
		refused $format.tar "its files have more than 51380224 bytes"
	done
	truncate -s 10G "$T/sparse/file"
	tar -cSf "$T/a/large.tar" -C "$T/sparse" file
	unpack large.tar
	refused large.tar "it grows to more than 1000 times its size"
}

@test "the limits of bytes and entries are keys" {
	pack many.tar good.tar many-directories.tar
	unpack many.tar --set limits.archive_entries=2000
	refused many.tar "more than 2000 entries (limits.archive_entries)"
	unpack many-directories.tar --set limits.archive_entries=500
	refused many-directories.tar "more than 500 entries"
	unpack good.tar --set limits.archive_bytes=3599
	refused good.tar "its files have more than 3599 bytes (limits.archive_bytes)"
	unpack good.tar --set limits.archive_bytes=3600
	exits 0
}

@test "the directory must be new or empty, is the workspace, and stays" {
	pack good.tar
	mkdir "$T/box/w"
	unpack good.tar
	exits 0
	is "$(ev 'select(.subtype=="init").cwd')" "$(cd "$T/box/w" && pwd -P)"
	is "$(ls -A "$T/box/w")" f
	unpack good.tar
	exits 2 turn_setup_failed
	err_has "is not empty"
	is "$(ls -A "$T/box/w")" f # and what was there is not touched
	q -p go --replay "$T/say.yaml" -C "$T/none/w" --set workspace.archive="$T/a/good.tar"
	exits 2 turn_setup_failed
	q -p go --replay "$T/say.yaml" -C "$T/box/victim" --set workspace.archive="$T/a/good.tar"
	exits 2 turn_setup_failed
	no_escape
}

@test "what fails in a directory that was there leaves it there, empty" {
	pack cut-in-data.tar many-directories.tar
	mkdir "$T/box/w"
	unpack cut-in-data.tar
	exits 2
	is "$(ls -A "$T/box/w")" ""
	unpack many-directories.tar --set limits.archive_entries=400
	exits 2
	is "$(ls -A "$T/box/w")" ""
}

@test "without a directory a new one in TMPDIR is the workspace, and is kept" {
	pack good.tar
	q -p go --replay "$T/say.yaml" --set workspace.archive="$T/a/good.tar" --output-format text
	[ "$rc" = 0 ]
	err_has "$T/tmp/quern-workspace-"
	rm -rf "$T"/tmp/quern-workspace-*
	q -p go --replay "$T/say.yaml" --set workspace.archive="$T/a/good.tar"
	exits 0
	local dir
	dir=$(ev 'select(.subtype=="init").cwd')
	is "$(dirname "$dir")" "$(cd "$T/tmp" && pwd -P)"
	is "$(stat -c %a "$dir")" 700
	is "$(ls -A "$dir") $(ls -A .)" "f "
	rm -rf "$dir"
}

@test "a run that could not begin takes back what it unpacked" {
	pack good.tar
	q -p go --set workspace.archive="$T/a/good.tar" --base-url https://api.anthropic.com
	exits 2 turn_setup_failed
	is "$(reason)" api_key_unavailable
	is "$(ls -A "$T/tmp")" ""
}

@test "the tools work in what was unpacked" {
	pack good.zip
	serve "$(script "$(bash_call "cat d/run; echo new >e; pwd")" "$(say end)")"
	q -p go -C "$T/box/w" --set workspace.archive="$T/a/good.zip" --allowedTools Bash
	exits 0
	has "$(result_text 2)" "x"
	has "$(result_text 2)" "$(cd "$T/box/w" && pwd -P)"
	is "$(cat "$T/box/w/e")" new
}

# A tape whose answer makes a file, and one turn only: there is something to go on with.
begin() {
	tape begin.yaml <<-'YAML'
		tape: 1
		answers:
		  - content: [{tool_use: {name: Bash, input: {command: "echo new >e; pwd"}, id: b1}}]
	YAML
	q -p go --replay "$T/begin.yaml" --allowedTools Bash --max-turns 1 --set workspace.archive="$T/a/good.tar" "$@"
	exits 10 max_turns
	cp "$T/out" "$T/rec"
}
go_on() {
	q -p go --replay "$T/say.yaml" --resume "$T/rec" --set workspace.archive="$T/a/good.tar" "$@"
	exits 0 completed
}
cwd() { ev 'select(.subtype=="init").cwd'; }

@test "a run that goes on works where it worked; what is gone is unpacked again" {
	local dir
	pack good.tar
	begin -C "$T/box/w"
	go_on -C "$T/box/w"
	is "$(cd "$T/box/w" && echo *)" "e f"
	err_lacks "unpacked again"
	begin
	dir=$(cwd)
	go_on
	is "$(cwd)" "$dir"
	is "$(cd "$dir" && echo *)" "e f"
	rm -rf "$dir"
	go_on
	err_has "unpacked again"
	dir=$(cwd)
	is "$(cd "$dir" && echo *)" f
	rm -rf "$dir"
}

@test "a new directory goes when the run has completed and its changes are saved" {
	pack good.tar
	serve "$(script "$(bash_call "echo new >e")" "$(say end)" "$(bash_call "echo new >e")")"
	q -p go --set workspace.archive="$T/a/good.tar" --set workspace.save="$T/c.tar.zst" --allowedTools Bash
	exits 0
	is "$(tar --zstd -tf "$T/c.tar.zst")" e
	is "$(ls -A "$T/tmp")" ""
	q -p go --set workspace.archive="$T/a/good.tar" --set workspace.save="$T/c.tar.zst" --allowedTools Bash --max-turns 1
	exits 10 max_turns
	rm -r "$T"/tmp/quern-workspace-* # kept: it can be gone on with
}

@test "an archive that is not there, or is no file" {
	q -p go --replay "$T/say.yaml" --set workspace.archive=none.tar
	exits 2 turn_setup_failed
	err_has "workspace.archive '$PWD/none.tar': "
	mkfifo fifo
	q -p go --replay "$T/say.yaml" --set workspace.archive=fifo
	exits 2 turn_setup_failed
	err_has "workspace.archive '$PWD/fifo': it is no regular file"
	q -p go --replay "$T/say.yaml" --set workspace.archive=.
	exits 2 turn_setup_failed
}

@test "a signal ends the run while it unpacks, and what was unpacked goes" {
	"$PY" - "$T/slow.tar" <<-'END'
		import sys, tarfile
		with tarfile.open(sys.argv[1], "w") as t:
		    for i in range(60000):
		        t.addfile(tarfile.TarInfo("%d/%d" % (i % 7, i)))
	END
	"$QUERN" -p go --replay "$T/say.yaml" -C "$T/box/w" --set workspace.archive="$T/slow.tar" >"$T/out" 2>"$T/err" 3>&- &
	local pid=$!
	wait_for compgen -G "$T/box/.w.quern-*/0/*" >/dev/null
	kill -TERM "$pid"
	rc=0
	wait "$pid" || rc=$?
	is "$rc" 143
	is "$(result .terminal_reason)" aborted_tools
	no_escape
	[ ! -e "$T/box/w" ]
}

@test "--check looks at the head alone" {
	pack good.tar cut-in-data.tar
	q --check -p go -C "$T/box/w" --set workspace.archive="$T/a/cut-in-data.tar"
	[ "$rc" = 0 ]
	[ ! -e "$T/box/w" ]
	is "$(ls -A "$T/tmp")" ""
	q --check -p go --set workspace.archive=none.tar
	[ "$rc" = 2 ]
	: >empty
	q --check -p go --set workspace.archive=empty
	[ "$rc" = 2 ]
	err_has "it is empty"
	echo text >text
	q --check -p go --set workspace.archive=text
	[ "$rc" = 0 ]
	err_has "does not begin as archives do"
	is "$(ls -A "$T/tmp")" ""
}
