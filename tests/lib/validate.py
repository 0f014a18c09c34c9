#!/usr/bin/env python3
"""Checks the events of one run: quern ... | validate.py SCHEMA.json

Every line against the schema, and what holds between lines. Prints nothing and exits 0 when all is well, else
one line a problem and exits 1.

A path with a + in front holds a session (--input-format stream-json): an init and a result for each message, and
between them nothing but answers to control requests and messages that are shown again.
"""
import json
import sys

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

MAX_LINE = 1 << 20


def make_validators(schema):
    """A line is held against its own kind's branch, so that an error names the member that is wrong."""
    validators = {}
    for branch in schema["oneOf"]:
        props = branch["properties"]
        key = (props["type"]["const"], props.get("subtype", {}).get("const"))
        validators[key] = Draft202012Validator({**branch, "$defs": schema["$defs"]})
    return validators


class Checker:
    def __init__(self, validators, session):
        self.validators = validators
        self.session = session
        self.problems = []
        self.line = 0
        self.uuids = set()
        self.sessions = set()
        self.open_calls = {}  # tool_use id -> uuid of its line
        self.asked = set()
        self.withdrawn = set()  # uuids
        self.messages = {}  # message id -> [last usage, accepted, uuids]
        self.init = self.begun = False
        self.inits = 0
        self.result = None
        self.result_lines = 0

    def problem(self, text):
        self.problems.append(f"line {self.line}: {text}")

    def kind(self, event):
        kind = event.get("type")
        return (kind, event.get("subtype") if kind == "system" else None)

    def schema_check(self, event):
        validator = self.validators.get(self.kind(event))
        if validator is None:
            self.problem(f"unknown event {self.kind(event)}")
            return False
        error = best_match(validator.iter_errors(event))
        if error:
            where = "/".join(str(p) for p in error.absolute_path) or "(line)"
            self.problem(f"{where}: {error.message[:300]}")
        return error is None

    def feed(self, raw):
        self.line += 1
        if not raw.endswith(b"\n"):
            self.problem("does not end in a line feed")
        if len(raw) > MAX_LINE:
            self.problem(f"{len(raw)} bytes, more than {MAX_LINE}")
        try:
            event = json.loads(raw.decode("utf-8"), parse_constant=lambda c: self.problem(f"{c} is no JSON"))
        except ValueError as e:
            self.problem(f"no JSON in UTF-8: {e}")
            return
        if not isinstance(event, dict):
            self.problem("no object")
            return
        between = event.get("type") == "control_response" or event.get("isReplay", False)
        if self.result is not None and not (self.session and (between or event.get("subtype") == "init")):
            self.problem("stands behind the result")
        if self.session and event.get("subtype") == "init":
            self.init, self.result = False, None
        if self.schema_check(event) and event["type"] != "control_response":
            self.relations(event)
        elif event.get("type") == "result":
            self.result = event
            self.result_lines += 1

    def relations(self, event):
        if event["uuid"] in self.uuids:
            self.problem(f"uuid {event['uuid']} is not unique")
        self.uuids.add(event["uuid"])
        self.sessions.add(event["session_id"])
        if len(self.sessions) == 2:
            self.problem("session_id changes within the run")
        handler = getattr(self, "on_" + (event["subtype"] if event["type"] == "system" else event["type"]), None)
        hook = event.get("hook_event") == "SessionStart" or event.get("subtype") == "informational"
        first = not self.begun and not event.get("isReplay", False) and not hook
        self.begun = self.begun or first
        if first and event["type"] not in ("result",) and event.get("subtype") != "init":
            self.problem("the first line is no init")
        if handler:
            handler(event)

    def on_init(self, _):
        if self.init:
            self.problem("a second init")
        self.init = True
        self.inits += 1

    def on_assistant(self, event):
        message = event["message"]
        for block in message["content"]:
            if block["type"] == "tool_use":
                if block["id"] in self.asked:
                    self.problem(f"tool_use id {block['id']} is used twice")
                self.asked.add(block["id"])
                self.open_calls[block["id"]] = event["uuid"]
        if message["model"] == "<synthetic>":
            return
        entry = self.messages.setdefault(message["id"], [None, False, []])
        entry[0] = message["usage"]
        entry[1] = entry[1] or message["stop_reason"] is not None
        entry[2].append(event["uuid"])

    def on_user(self, event):
        for block in event["message"]["content"]:
            if block["type"] != "tool_result":
                continue
            if self.open_calls.pop(block["tool_use_id"], None) is None:
                self.problem(f"a tool_result for {block['tool_use_id']}, which is not waiting for one")

    def on_quern_resume(self, event):
        """Calls of a run before, whose results stand behind it."""
        self.open_calls.update({i: event["uuid"] for i in event["interrupted"]})

    def on_quern_tombstone(self, event):
        for uuid in event["uuids"]:
            if uuid not in self.uuids:
                self.problem(f"withdraws {uuid}, which no line has")
        self.withdrawn.update(event["uuids"])
        self.asked -= {i for i, uuid in self.open_calls.items() if uuid in self.withdrawn}
        self.open_calls = {i: u for i, u in self.open_calls.items() if u not in self.withdrawn}

    def on_result(self, event):
        self.result = event
        self.result_lines += 1
        early = "startup_failure_reason" in event or event["terminal_reason"].startswith("aborted_")
        if event.get("resumed_result"):
            return  # an old one, given again: nothing was done
        if not self.init and not early:
            self.problem("a result without an init that is no start-up failure")
        for call in self.open_calls:
            self.problem(f"tool_use {call} was never answered")
        self.check_usage(event)

    def check_usage(self, event):
        """Adding up each message's last line gives what the result says."""
        live = [m for m in self.messages.values() if not set(m[2]) <= self.withdrawn]
        if not live or not all(accepted for _, accepted, _ in live):
            return  # an answer that was salvaged or given up: its count is not final
        for key in ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"):
            total = sum(usage[key] for usage, _, _ in live)
            if total != event["usage"][key]:
                self.problem(f"usage.{key} is {event['usage'][key]}, the messages add up to {total}")

    def finish(self):
        if self.line == 0:
            self.problem("no events")
        early = self.result is not None and not self.inits
        if self.result_lines != (max(self.inits, early) if self.session else 1):
            self.problems.append(f"{self.result_lines} result lines for {self.inits} init lines")
        return self.problems


def check(validators, lines, session=False):
    checker = Checker(validators, session)
    for raw in lines:
        checker.feed(raw)
    return checker.finish(), checker.result


def check_file(validators, path):
    try:
        with open(path.removeprefix("+"), "rb") as lines:
            problems, result = check(validators, lines, path.startswith("+"))
        said = [result[key] for key in ("exit_code", "is_error", "terminal_reason")] if result else []
        return problems, " ".join(str(value).lower() for value in said)
    except Exception as error:  # whoever asked waits for an answer
        return [f"{path}: {error!r}"], ""


def load(path):
    with open(path, encoding="utf-8") as f:
        return make_validators(json.load(f))


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} SCHEMA.json <EVENTS")
    problems, _ = check(load(sys.argv[1]), sys.stdin.buffer)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
