#!/usr/bin/env bats
# What a run was given, and what it said, in sums that others can make for themselves.

load ../lib/helpers

# The system prompt tells the day.
extra_setup() { export SOURCE_DATE_EPOCH=1000000000; }

sum() { sha256sum | cut -d' ' -f1; }
init() { jq -r "select(.type == \"system\" and .subtype == \"init\") | $1" "$T/out"; }
# The job as --check prints it, without comments and without where the run is kept.
job_sum() { "$QUERN" "$@" --check | grep -Ev '^ *#|^(events|record|replay(_tools|_strict)?|resume|run_dir):' | sum; }
# In the request's body the tools stand as they are written, in front of the messages.
tools_of() { "$PY" -c 'import re, sys; b = open(sys.argv[1], "rb").read()
sys.stdout.buffer.write(re.search(rb"\"tools\":(\[.*?\]),\"messages\":", b, re.S).group(1))' "$1"; }

@test "job, system prompt, tools and events can be summed up by others" {
	serve "$(script "$(bash_call 'echo little')" "$(say end)")"
	q -p go --allowedTools Bash --events "$T/run.ndjson"
	exits 0
	is "$(init .quern_audit.job_sha256)" "$(job_sum --base-url "$BASE" -p go --allowedTools Bash)"
	is "$(init .quern_audit.system_sha256)" "$(jq -j '.system[0].text' "$(request 1)" | sum)"
	is "$(init .quern_audit.tools_sha256)" "$(tools_of "$(request 1)" | sum)"
	is "$(result '.audit | [.job_sha256, .system_sha256, .tools_sha256] | join(" ")')" \
		"$(init '.quern_audit | [.job_sha256, .system_sha256, .tools_sha256] | join(" ")')"
	is "$(result .audit.events_sha256)" "$(head -n -1 "$T/out" | sum)"
	is "$(result .audit.events_bytes)" "$(head -n -1 "$T/out" | wc -c)"
	cmp "$T/out" "$T/run.ndjson"
	is "$(stat -c %a "$T/run.ndjson")" 600
}

@test "where a run is kept is no part of its job; all else is" {
	serve "$(script "$(say one)" "$(say two)" "$(say three)")"
	q -p go --events "$T/one" --run-dir "$T/rd"
	exits 0
	first=$(result '[.audit.job_sha256, .audit.system_sha256] | join(" ")')
	q -p go
	exits 0
	is "$(result '[.audit.job_sha256, .audit.system_sha256] | join(" ")')" "$first"
	q -p go --max-turns 7 --append-system-prompt 'Be brief.'
	exits 0
	[ "$(result .audit.job_sha256)" != "${first% *}" ]
	[ "$(result .audit.system_sha256)" != "${first#* }" ]
}

@test "with the result alone the sum is that of the lines in the events file; without one there are no lines" {
	serve "$(script "$(say one)" "$(say two)")"
	q -p go --output-format json --events "$T/run.ndjson"
	[ "$rc" = 0 ]
	is "$(jq -r .audit.events_sha256 "$T/out")" "$(head -n -1 "$T/run.ndjson" | sum)"
	is "$(jq -r .audit.events_sha256 "$T/out")" "$(tail -n 1 "$T/run.ndjson" | jq -r .audit.events_sha256)"
	q -p go --output-format json
	[ "$rc" = 0 ]
	is "$(jq -r '.audit | has("events_sha256")' "$T/out")" false
	is "$(jq -r '.audit.tools_sha256 | length' "$T/out")" 64
}
