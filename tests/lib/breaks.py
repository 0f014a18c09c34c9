#!/usr/bin/env python3
"""Breaks of the prefix that nothing explains: breaks.py BREAKS RUN [EVENTS]

BREAKS is what the server noted; those of the run RUN are held against the run's own EVENTS: between the answer to the
request before and the answer to the one that broke off, an event must say that the conversation was edited. (The lines
of an answer that was cut by the window stand behind the edit that it led to.) Prints a line for each break without
one, and exits 1 if there are any.
"""
import json
import re
import sys

EDITS = {"quern_context", "compact_boundary", "quern_model_switch"}
REPAIRS = {"request_repaired", "image_removed"}


def read_events(path):
    out = []
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                out.append(event)
    return out


def serial_of(event):
    """The number of the request that this line answers, or None."""
    message = event.get("message") if event.get("type") == "assistant" else None
    m = re.fullmatch(r"msg_(\d+)", str((message or {}).get("id")))
    return int(m.group(1)) if m else None


def is_edit(event):
    subtype = event.get("subtype")
    if event.get("type") != "system":
        return False
    if subtype == "quern_notice":
        return event.get("code") in REPAIRS
    return subtype in EDITS and event.get("step") != "result_budget"


def explained(broken, events):
    first, last = 0, len(events)
    for n, event in enumerate(events):
        serial = serial_of(event)
        if serial is not None and serial <= broken["before"] - broken.get("cut", False):
            first = n + 1
        elif serial is not None and serial >= broken["request"] and last == len(events):
            last = n
    return any(is_edit(e) for e in events[first:last])


def main():
    breaks, run = sys.argv[1:3]
    events = read_events(sys.argv[3]) if len(sys.argv) > 3 else []
    with open(breaks, encoding="utf-8") as f:
        found = [json.loads(line) for line in f]
    bad = [b for b in found if b["run"] == run and not explained(b, events)]
    for b in bad:
        print(f"request {b['request']} does not go on from request {b['before']}, and no event says why: {b['what']}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
