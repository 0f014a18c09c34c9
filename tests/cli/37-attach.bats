#!/usr/bin/env bats
# What is told beside the task: memory files, attached and mentioned files.

load ../lib/helpers

# The texts of the first user message of request N, one after the other.
texts() { jq -r '.messages[0].content[] | .text // ("[" + .type + "]")' "$(request "$1")"; }
kinds() { jq -r '[.messages[0].content[].type] | join(" ")' "$(request "$1")"; }
attached() { ev 'select(.subtype=="init") | .quern_attached // [] | join("; ")'; }
job() { cat >job.yaml; }

@test "nothing is told unless it is asked for" {
	echo rules >AGENTS.md
	echo text >a.txt
	serve "$(script "$(say end)")"
	q -p "see @a.txt"
	exits 0
	is "$(texts 1)" "see @a.txt"
	is "$(attached)" ""
}

@test "the workspace's memory file stands in front of the task" {
	echo "use tabs" >AGENTS.md
	echo "not this" >CLAUDE.md
	echo "nor this" >../AGENTS.md
	serve "$(script "$(say end)")"
	q -p "do it" --memory auto
	exits 0
	is "$(kinds 1)" "text text"
	has "$(texts 1)" "<memory path=\"$(pwd -P)/AGENTS.md\">
use tabs
</memory>
do it"
	lacks "$(texts 1)" "this"
	has "$(attached)" "/AGENTS.md: memory, "
	rm ../AGENTS.md
}

@test "the memory file of a directory comes behind the results of what touched it, once" {
	mkdir -p a/b c
	echo "in a" >a/AGENTS.md
	echo "in b" >a/b/CLAUDE.md
	echo "in c" >c/AGENTS.md
	echo x >a/b/f
	serve "$(script "$(call Read "{\"file_path\":\"$PWD/a/b/f\"}")" "$(call Glob '{"pattern":"*","path":"a/b"}')" "$(call Grep '{"pattern":"x","path":"c"}')" "$(say end)")"
	q -p go --memory auto
	exits 0
	is "$(jq -r '[.messages[-1].content[].type] | join(" ")' "$(request 2)")" "tool_result text text"
	has "$(jq -r '.messages[-1].content[1].text' "$(request 2)")" "in a"
	has "$(jq -r '.messages[-1].content[2].text' "$(request 2)")" "in b"
	is "$(jq -r '[.messages[-1].content[].type] | join(" ")' "$(request 3)")" "tool_result"
	has "$(jq -r '.messages[-1].content[1].text' "$(request 4)")" "in c"
}

@test "memory files that the job names are these and no others" {
	mkdir ../rules
	echo ours >../rules/ours.md
	echo not >AGENTS.md
	serve "$(script "$(say end)")"
	q -p go --memory ../rules/ours.md
	exits 0
	has "$(texts 1)" ours
	lacks "$(texts 1)" not
	q -p go --memory none.md
	exits 2 turn_setup_failed
	err_has none.md
	q --check -p go --memory none.md
	is "$rc" 2
	err_has "memory: cannot read '$PWD/none.md'"
	q --check -p go --memory ../rules
	is "$rc" 2
	err_has "is a directory"
}

@test "a long memory file is cut, and that is said to the model and to the user" {
	yes "a line of memory" | head -n 4000 >AGENTS.md
	serve "$(script "$(say end)")"
	q -p go --memory auto
	exits 0
	has "$(texts 1)" "[cut: the first "
	[ "$(texts 1 | wc -c)" -lt 34000 ]
	has "$(ev 'select(.subtype=="quern_notice").text')" "AGENTS.md: only its first "
}

@test "neither a link out of the workspace nor a rule's file is told" {
	echo secret >../outside
	ln -s ../outside AGENTS.md
	echo hidden >CLAUDE.md
	serve "$(script "$(say end)")"
	q -p "see @CLAUDE.md and @../outside" --memory auto --mentions --disallowedTools 'Read(CLAUDE.md)'
	exits 0
	is "$(texts 1)" "see @CLAUDE.md and @../outside"
}

@test "texts, pictures and documents are attached in the order in which they are named" {
	mkdir docs
	printf 'two' >docs/b.md
	printf 'one\n' >docs/a.md
	printf '\211PNG\r\n\032\n' >shot.png
	printf '%%PDF-1.4\n' >spec.pdf
	printf 'x\0y' >prog
	job <<-Y
		version: 1
		prompt: go
		attach: [spec.pdf, docs/*.md, shot.png, prog]
	Y
	serve "$(script "$(say end)")"
	q job.yaml
	exits 0
	is "$(kinds 1)" "text document text text text image text text"
	has "$(texts 1)" "/docs/a.md\">
one
</file>
<file path=\"$(pwd -P)/docs/b.md\">
two
</file>"
	has "$(texts 1)" "/prog is binary (3 bytes) and not shown."
	is "$(jq -r '.messages[0].content[5].source | "\(.media_type) \(.data)"' "$(request 1)")" "image/png $(base64 shot.png)"
	is "$(jq -r '.messages[0].content[1].source | "\(.media_type) \(.data)"' "$(request 1)")" "application/pdf $(base64 spec.pdf)"
	is "$(attached)" "spec.pdf: application/pdf, 9 bytes; docs/a.md: text, 4 bytes; docs/b.md: text, 3 bytes; shot.png: image/png, 8 bytes; prog: binary, 3 bytes"
	has "$(ev 'select(.subtype=="quern_notice").text')" "prog is binary"
}

@test "attached files are looked for from the directory of the start, wherever the workspace is" {
	mkdir -p repo docs
	echo inside >repo/in.md
	echo beside >docs/a.md
	serve "$(script "$(say end)")"
	q -p go -C repo --attach 'docs/*.md' --attach repo/in.md
	exits 0
	is "$(attached)" "docs/a.md: text, 7 bytes; repo/in.md: text, 7 bytes"
	has "$(texts 1)" beside
	has "$(texts 1)" inside
	q -p go -C repo --attach in.md
	exits 2 turn_setup_failed
}

@test "what cannot be attached ends the run before anything is sent" {
	mkdir dir
	serve "$(script "$(say end)")"
	local f
	for f in 'missing.txt' '*.md' dir; do
		q -p go --attach "$f"
		exits 2 turn_setup_failed
		is "$(result .startup_failure_reason)" attachment_unavailable
		err_has "attach: "
		q --check -p go --attach "$f"
		is "$rc" 2
	done
	is "$(requests)" 0
	echo x >dir/x
	q --check -p go --attach 'dir/*'
	is "$rc" 0
	grep -q '^# attached: dir/x: text, 2 bytes$' "$T/out"
}

@test "an archive is listed, whatever it holds" {
	"$PY" - <<-E
		import tarfile, io
		with tarfile.open('a.tar.gz', 'w:gz') as t:
		    for name in ('src/main.c', '../up', 'esc\x1b[31m'):
		        i = tarfile.TarInfo(name)
		        i.size = 3
		        t.addfile(i, io.BytesIO(b'abc'))
	E
	echo hello | gzip >b.gz
	serve "$(script "$(say end)")"
	q -p go --attach a.tar.gz --attach b.gz
	exits 0
	has "$(texts 1)" "<archive path=\"$(pwd -P)/a.tar.gz\">
         3 src/main.c
         3 ../up
         3 esc\\x1b[31m
[3 entries]
</archive>"
	has "$(texts 1)" "/b.gz\">
[it cannot be read as an archive: "
	[ ! -e ../up ]
}

@test "a file that the prompt mentions is attached, only if that is wanted" {
	mkdir src
	echo int >src/a.c
	echo text >'a b'
	serve "$(script "$(say end)")"
	q -p 'mail me@src/a.c about @src/a.c, @"a b" and @none' --mentions
	exits 0
	is "$(attached)" "src/a.c: text, 4 bytes; a b: text, 5 bytes"
	is "$(kinds 1)" "text text text"
	is "$(jq -r '.messages[0].content[-1].text' "$(request 1)")" 'mail me@src/a.c about @src/a.c, @"a b" and @none'
}

@test "what comes on stdin beside a prompt mentions nothing" {
	echo a >a.c
	echo b >b.c
	echo "see @b.c" >"$T/in"
	serve "$(script "$(say end)")"
	q_in "$T/in" -p 'fix @a.c' --mentions
	exits 0
	is "$(attached)" "a.c: text, 2 bytes"
}

@test "a session has them in front of its first message alone" {
	echo rules >AGENTS.md
	echo a >a.c
	printf '%s\n' '{"type":"user","message":{"role":"user","content":"first @a.c"}}' '{"type":"user","message":{"role":"user","content":"second"}}' >"$T/in"
	serve "$(script "$(say one)" "$(say two)")"
	q_in "$T/in" --input-format stream-json --memory auto --mentions
	is "$rc" 0
	is "$(kinds 1)" "text text text"
	is "$(jq -r '[.messages[].content | length] | join(" ")' "$(request 2)")" "3 1 1"
}
