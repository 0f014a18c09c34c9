#!/usr/bin/env python3
"""Compares the verdicts in json_schema.json with those of python3-jsonschema. usage: schema_rows.py FILE

Exits 1 if any differs, 77 without the module. Rows with a fourth element are ours alone.
"""
import json
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("no jsonschema module")
    sys.exit(77)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        rows = [r for r in json.load(f) if len(r) == 3]
    bad = 0
    for row in rows:
        schema, value, says = row
        fits = Draft202012Validator(schema).is_valid(value)
        if fits != (says == ""):
            print(f"{json.dumps(schema)} with {json.dumps(value)}: {'fits' if fits else 'does not fit'} there")
            bad += 1
    print(f"{len(rows)} rows, {bad} seen otherwise")
    return 1 if bad else 0


sys.exit(main())
