"""Are the events of two runs the same but for ids and times? same_events.py ONE TWO [no-hooks]: prints where they
differ. no-hooks: what hooks say of themselves does not count, as they do not run in a replay without tools.

Ids are told apart by the order in which they come; times, and sums of lines that hold either, do not count.
"""
import difflib
import json
import re
import sys

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"(_ms|Ms|mtime_ns|timestamp)$")
TIMES = {"quern_started", "quern_source", "events_sha256", "events_bytes", "wall_time", "durationSeconds", "duration", "elapsed"}
# What is said of the replay itself.
OWN = {"replay_result_differs", "replay_unused", "replay_hooks", "replay_workspace"}
HOOKS = {"hook_started", "hook_response", "informational"}


def load(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


class Plain:
    """A file's lines without what may differ."""

    def __init__(self):
        self.ids = {}

    def text(self, s):
        return UUID.sub(lambda m: self.ids.setdefault(m[0], f"id-{len(self.ids) + 1}"), s)

    def value(self, v):
        if isinstance(v, dict):
            return {k: self.value(x) for k, x in v.items() if not TIME.search(k) and k not in TIMES}
        if isinstance(v, list):
            return [self.value(x) for x in v]
        return self.text(v) if isinstance(v, str) else v

    def line(self, event):
        if event.get("subtype") == "quern_notice" and event.get("code") in OWN:
            return None
        if "no-hooks" in sys.argv[3:] and event.get("subtype") in HOOKS:
            return None
        if event.get("type") == "result":
            event.get("audit", {}).pop("bytes", None)
        return json.dumps(self.value(event), sort_keys=True, ensure_ascii=False)


def plain(path):
    p = Plain()
    return [line for line in map(p.line, load(path)) if line is not None]


def main():
    one, two = plain(sys.argv[1]), plain(sys.argv[2])
    for line in difflib.unified_diff(one, two, "recorded", "replayed", lineterm="", n=0):
        print(line[:1500])
    return one != two


if __name__ == "__main__":
    sys.exit(main())
