#!/usr/bin/env bats
# Tools that the job brings along, TodoWrite, and the schema check behind them.

load ../lib/helpers

@test "another checker of JSON Schemas comes to the same verdicts" {
	"$PY" "$LIB/schema_rows.py" "$QUERN_SRC/tests/unit/json_schema.json"
}
