#!/usr/bin/env bats
# Help, man pages, README, schemas and completions say what the program does.

load ../lib/helpers

MAN=$QUERN_SRC/man/quern.1

# page [WIDTH]: the man page as plain text, without the overstriking of bold and underlined letters.
page() { mandoc -T ascii -O "width=${1:-78}" "$MAN" | sed $'s/.\b//g'; }
section() { page "${2:-78}" | sed -n "/^$1/,/^[A-Z]/p"; }

options_of_help() { "$QUERN" --help | grep -oE -- '--[a-zA-Z][a-zA-Z-]+' | sort -u; }
options_of_man() { section OPTIONS | grep -oE -- '--[a-zA-Z][a-zA-Z-]+' | sort -u; }

@test "--help goes to stdout, ends with the exit codes, and fits a terminal" {
	"$QUERN" --help >"$T/help" 2>"$T/err"
	is "$(cat "$T/err")" ""
	[ "$(wc -L <"$T/help")" -le 110 ]
	tail -n 30 "$T/help" | grep -q '^ *75 '
	"$QUERN" -h | cmp - "$T/help"
}

@test "--version is one line: name and version" {
	is "$("$QUERN" --version)" "$("$QUERN" -V)"
	"$QUERN" --version | grep -qE '^quern [0-9]+\.[0-9]+\.[0-9]+$'
	is "$("$QUERN" -v | head -n 1)" "$("$QUERN" --version)"
}

@test "every option of --help is in the man page and the other way round" {
	diff <(options_of_help) <(options_of_man)
}

@test "every option of --help is understood" {
	local o
	for o in $(options_of_help); do
		"$QUERN" "$o" --check </dev/null >"$T/out" 2>"$T/err" || true
		! grep -qi 'unknown option' "$T/err" || { echo "$o"; cat "$T/err"; false; }
	done
}

@test "the exit codes of help and man page are the same table" {
	codes() { grep -oE '^ *[0-9]+ +[a-z_]+' | awk '{print $1, $2}' | sort -u; }
	"$QUERN" --help | sed -n '/[Ee]xit codes/,$p' | codes >"$T/h"
	section 'EXIT STATUS' 200 | codes >"$T/m"
	[ -s "$T/h" ]
	diff "$T/h" "$T/m"
}

@test "every member of an event is in the man page" {
	section EVENTS >"$T/events"
	"$QUERN" --print-schema events | jq -r '.oneOf[].properties | keys[]' | sort -u >"$T/members"
	[ "$(wc -l <"$T/members")" -gt 50 ]
	while read -r m; do
		grep -qw -- "$m" "$T/events" || { echo "$m is not among the events of the man page"; false; }
	done <"$T/members"
}

@test "every reason why a run did not start is in the man page" {
	section EVENTS >"$T/events"
	sed -n '/setup_names/,/};/s/.*= "\(.*\)",/\1/p' "$QUERN_SRC/src/run/run.c" >"$T/reasons"
	[ "$(wc -l <"$T/reasons")" -gt 10 ]
	while read -r m; do
		grep -qw -- "$m" "$T/events" || { echo "$m is not in the man page"; false; }
	done <"$T/reasons"
}

@test "every key of the job schema is in the man page" {
	page >"$T/man"
	"$QUERN" --print-schema job | jq -r '
		.properties | to_entries[] | .key as $k | .value.properties // {"": 0} | keys[] |
		if . == "" then $k else "\($k).\(.)" end' >"$T/keys"
	[ "$(wc -l <"$T/keys")" -gt 30 ]
	while read -r k; do
		grep -qwF -- "$k" "$T/man" || { echo "$k is not in the man page"; false; }
	done <"$T/keys"
}

@test "the man pages are clean" {
	local m
	for m in "$QUERN_SRC"/man/*.[1-8]; do
		[ -e "$m" ] || continue
		mandoc -T lint -W warning "$m"
	done
}

# A bracket that stands alone is a delimiter to mdoc, which takes away the blank beside it.
@test "what the man page shows of a shell can be typed" {
	section EXAMPLES 120 >"$T/examples"
	grep -qF -- '; [ $? -ne 75 ] || exit 75' "$T/examples"
	sed -n 's/^  *\(.*quern.*\)/\1/p' "$T/examples" | bash -n
}

@test "the schemas are valid JSON Schema" {
	"$QUERN" --print-schema job >"$T/job.json"
	"$QUERN" --print-schema events >"$T/events.json"
	"$PY" -c '
import json, sys, jsonschema
for f in sys.argv[1:]:
    jsonschema.validators.validator_for(json.load(open(f))).check_schema(json.load(open(f)))
' "$T/job.json" "$T/events.json"
}

@test "the terminal reasons of the event schema are the table's" {
	"$QUERN" --print-schema events | grep -q replay_mismatch
	"$QUERN" --print-schema events | grep -q turn_setup_failed
}

@test "README: its two commands are there, its links point at files" {
	grep -q '\./bootstrap demo' "$QUERN_SRC/README.md"
	grep -q '\./bootstrap check' "$QUERN_SRC/README.md"
	grep -oE '\]\([^)#:]+\)' "$QUERN_SRC/README.md" | sed 's/](\(.*\))/\1/' | while read -r f; do
		[ -e "$QUERN_SRC/$f" ] || { echo "README names $f"; exit 1; }
	done
}

# The tour's commands, each behind "$ ", in one shell, with what they print.
@test "README: the tour prints what it says" {
	sed -n '/^## A tour/,/^With a model/s/^    //p' "$QUERN_SRC/README.md" >"$T/said"
	[ "$(grep -c '^\$ ' "$T/said")" -ge 6 ]
	cp -R "$QUERN_SRC/examples" "$T/examples"
	mkdir "$T/build"
	ln -s "$QUERN" "$T/build/quern"
	ln -s "$QUERN_BUILD/quern-report" "$T/build/quern-report"
	cat >"$T/tour" <<-'END'
		cd "$T"
		while IFS= read -r line; do
			[[ $line == '$ '* ]] || continue
			printf '%s\n' "$line"
			eval "${line#'$ '}"
		done <"$T/said"
		rm -rf "$out"
	END
	env "T=$T" bash "$T/tour" >"$T/done" 2>&1
	diff "$T/said" "$T/done"
}

@test "options named in README and examples exist" {
	grep -rhoE -- 'quern[^|`]*' "$QUERN_SRC/README.md" | grep -oE -- ' --[a-zA-Z][a-zA-Z-]+' | tr -d ' ' | sort -u | while read -r o; do
		options_of_help | grep -qx -- "$o" || { echo "README: $o"; exit 1; }
	done
}

@test "completions offer the options of --help" {
	# shellcheck disable=SC1091
	source "$QUERN_SRC/completions/quern.bash"
	PATH=$(dirname "$QUERN"):$PATH
	COMP_WORDS=(quern --max-t) COMP_CWORD=1 COMPREPLY=()
	_quern
	is "${COMPREPLY[*]}" --max-turns
}
