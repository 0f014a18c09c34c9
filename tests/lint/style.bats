#!/usr/bin/env bats
# The house rules hold, and the checker sees what it is there to see.

: "${QUERN_SRC:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"

setup() { cd "$BATS_TEST_TMPDIR" && mkdir -p src/base src/tool src/supervisor src/record tests/cli; }

# The interpreter itself: a shim in front of it takes longer than a check.
setup_file() {
	PY=$(python3 -c 'import sys; print(sys.executable)')
	export PY
}

style() { "$PY" "$QUERN_SRC/tests/lint/style.py" "$@"; }

# finds NAME FILE LINE...: the file made of these lines has that one finding
finds() {
	local name=$1 file=$2
	shift 2
	printf '%s\n' "$@" >"$file"
	run style .
	rm "$file"
	[ "$status" = 1 ] && [ "${#lines[@]}" = 1 ] && [[ ${lines[0]} == "$file:"*": $name: "* ]] || { printf '%s\n' "$name" "${lines[@]}"; return 1; }
}

clean() {
	local file=$1
	shift
	printf '%s\n' "$@" >"$file"
	run style .
	rm "$file"
	[ "$status" = 0 ] || { printf '%s\n' "${lines[@]}"; return 1; }
}

@test "the source keeps the house rules" {
	cd "$QUERN_SRC"
	style .
}

@test "each rule finds what it is about" {
	finds banned src/base/a.c 'void f(void) { strcpy(a, b); }'
	finds process src/tool/a.c 'int f(void) { return fork(); }'
	finds wait src/tool/a.c 'int f(void) { return poll(p, 1, 0); }'
	finds stdout src/tool/a.c 'void f(void) { printf("x"); }'
	finds stdout src/tool/a.c 'void f(void) { write(1, "x", 1); }'
	finds exit src/tool/a.c 'void f(void) { exit(1); }'
	finds space src/base/a.c 'int a; '
	finds line src/base/a.c "int $(printf 'a%.0s' {1..120});"
	finds later src/base/a.c "/* $(printf 'TO%s' DO): later */"
	finds path src/base/a.c "/* /$(printf 'ho%s' me)/somebody/x */"
	finds quiet tests/cli/a.bats $'\t[ -e a ] && [ -e b ]'
	finds quiet tests/cli/a.bats $'\t! grep -q a b'
	finds include src/base/a.c '#include "tool/tool.h"'
	finds include src/record/a.c '#include "job/job.h"'
}

@test "what is allowed where it belongs" {
	clean src/supervisor/a.c 'int f(void) { return fork(); }'
	clean src/base/reactor.c 'int f(void) { return poll(p, 1, 0); }'
	clean src/record/out.c 'void f(void) { write(1, "x", 1); }'
	clean src/tool/a.c '#include "base/buf.h"' '#include "message/message.h"'
	clean src/record/a.c '#include "message/message.h"'
	clean tests/cli/a.bats $'\t[ -e a ] && [ -e b ] || false' $'\t! grep -q a b || false'
}

@test "comments, strings and longer names are no calls" {
	clean src/base/a.c '/* strcpy(a, b) */ const char *s = "strcpy(";' 'void f(void) { my_strcpy(a); snprintf(a, 1, "x"); }'
}

@test "exceptions: with a reason, for this line or the next, and no unused ones" {
	clean src/tool/a.c 'int f(void) { return poll(p, 1, 0); } /* style: allow wait - never blocks */'
	clean src/tool/a.c '/* style: allow wait - never blocks */' 'int f(void) { return poll(p, 1, 0); }'
	finds allow src/tool/a.c 'int a; /* style: allow wait - for nothing */'
	finds allow src/tool/a.c '/* style: allow no-such-rule - why */'
	printf 'int f(void) { return poll(p, 1, 0); } /* style: allow wait */\n' >src/tool/a.c
	run style .
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 2 ]
}

@test "the map in CONTRIBUTING.md names every room, and files that are there" {
	cd "$QUERN_SRC"
	for room in src/*/; do
		grep -qF "| \`$room\` |" CONTRIBUTING.md || { echo "$room is not in the map"; return 1; }
	done
	while IFS='|' read -r _ room _ begin _; do
		room=${room//[ \`]/}
		for file in $(grep -o '`[^`]*`' <<<"$begin" | tr -d '`'); do
			[ -e "$room$file" ] || { echo "$room$file is not there"; return 1; }
		done
	done < <(grep -E '^\| `(src|tests)/' CONTRIBUTING.md)
}

@test "each mutation of the simulator fits the file that it changes" {
	run env SRC="$QUERN_SRC" "$PY" "$QUERN_SRC/tests/sim/mutants.py" --fit
	[ "$status" = 0 ] || { printf '%s\n' "${lines[@]}"; return 1; }
}

@test "an empty tree is an error, not a pass" {
	mkdir empty
	run style empty
	[ "$status" = 1 ]
}
