"""Records that nobody wrote so: odd_records.py BUNDLE DIR makes one of each kind from a good one, as DIR/NAME.tar.zst."""
import io
import json
import subprocess
import sys
import tarfile


def load(path):
    raw = subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(raw), ignore_zeros=True) as tar:
        return [(m.name, tar.extractfile(m).read()) for m in tar if m.isfile()]


def save(path, entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in entries:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    subprocess.run(["zstd", "-qf", "-", "-o", path], check=True, input=out.getvalue())


def without(part):
    return lambda es: [e for e in es if part not in e[0]]


def changed(part, change, which=0):
    """The which-th entry whose name holds the part gets other bytes."""
    def do(es):
        hits = [i for i, e in enumerate(es) if part in e[0]]
        i = hits[which]
        return es[:i] + [(es[i][0], change(es[i][1]))] + es[i + 1:]
    return do


def lines(part, change):
    """Each line of such entries, as JSON."""
    def each(data):
        return b"".join(json.dumps(change(json.loads(x))).encode() + b"\n" for x in data.splitlines())
    return lambda es: [(n, each(d) if part in n else d) for n, d in es]


def with_member(**more):
    return lambda data: json.dumps({**json.loads(data), **more}).encode()


def result_for(other):
    def change(line):
        for block in line.get("message", {}).get("content", []) if line.get("type") == "user" else []:
            if block.get("type") == "tool_result":
                block["tool_use_id"] = other
        return line
    return change


def interrupt(**place):
    base = {"run": 1, "signal": 15, "lines": 2, "asks": 0, "calls": 0, "running": [], "hooks": 0, "asking": False}
    return lambda es: es + [("interrupts/000900.json", json.dumps({**base, **place}).encode())]


def came(**what):
    base = {"run": 1, "lines": 2, "asks": 0, "calls": 0, "running": [], "hooks": 0, "asking": False}
    return lambda es: es + [("input/000900.json", json.dumps({**base, **what}).encode())]


def answers(*more):
    return lambda es: es + [("answers/000900.ndjson", b"".join(json.dumps(m).encode() + b"\n" for m in more))]


def prompt_behind(es):
    """The user's words would stand where the first message has none, behind more words of hooks than it has."""
    words = b'{"type":"user","isSynthetic":true,"message":{"role":"user","content":[{"type":"text","text":"x"}]}}\n'
    return [(n, words * 9 + d.replace(b'"prompt":[0,1]', b'"prompt":[5,6]') if "events/" in n else d) for n, d in es]


ODD = {
    "no-events": without("events/"),
    "no-exchanges": without("exchanges/"),
    "no-requests": without(".request"),
    "no-responses": without(".response"),
    "no-description": without("quern.json"),
    "no-job": without("job.yaml"),
    "no-answers": without("answers/"),
    "twice": lambda es: es + es[2:],
    "backwards": lambda es: es[:2] + es[:1:-1],
    "negative-ordinal": changed(".json", with_member(ordinal=-1), 1),
    "huge-ordinal": changed(".json", with_member(ordinal=2 ** 31 - 1), 1),
    "ordinal-of-text": changed(".json", with_member(ordinal="first"), 1),
    "kind-of-none": changed(".json", with_member(kind="other"), 1),
    "run-of-none": changed(".json", with_member(run=0), 1),
    "chunks-of-none": changed(".json", with_member(chunks={"a": 1}), 1),
    "chunks-of-too-much": changed(".json", with_member(chunks=[[1, 2 ** 62], [1, 2 ** 62]]), 1),
    "end-of-none": changed(".json", with_member(end="never"), 1),
    "time-that-is-past": changed(".json", with_member(head_ms=-5), 1),
    "times-without-end": changed(".json", with_member(end_ms=2 ** 63 - 1, head_ms=2 ** 63 - 1), 1),
    "request-of-none": changed(".request", lambda _: b"\xff\xfe\0 no JSON"),
    "request-is-list": changed(".request", lambda _: b"[]"),
    "request-deep": changed(".request", lambda _: b"[" * 100000),
    "response-of-none": changed(".response", lambda d: b"\xff\0" * (len(d) // 2 + 1)),
    "description-of-none": changed("quern.json", lambda _: b"[1]"),
    "description-types": changed("quern.json", with_member(session_id=[1], environment={"a": 1})),
    "session-of-path": changed("quern.json", with_member(session_id="../../../../../../etc/passwd-0000000")),
    "job-of-none": changed("job.yaml", lambda _: b"\xff\xfe: [\0"),
    "events-of-none": changed("events/", lambda _: b"\xff\n{\n[]\n3\nnull\n{\"type\":3,\"message\":[]}\n"),
    "events-other-result": lines("events/", result_for("toolu_other")),
    "events-types": lines("events/", lambda e: {**e, "message": {"content": {"type": "tool_result"}}, "tool_use_id": 7}),
    "prompt-behind": prompt_behind,
    "name-number": lambda es: es + [("exchanges/99999999999999999999.json", b"{}")],
    "name-minus": lambda es: es + [("exchanges/-1.json", b"{}"), ("exchanges/ 7.json", b"{}")],
    "name-up": lambda es: es + [("exchanges/../../x", b"x")],
    "name-root": lambda es: es + [("/etc/x", b"x")],
    "name-odd": lambda es: es + [("events/\n\x1b[31m", b"{}\n"), ("answers/" + "x" * 3000, b"{}\n")],
    "interrupt-early": interrupt(),
    "interrupt-late": interrupt(lines=10 ** 9),
    "interrupt-kill": interrupt(signal=9),
    "interrupt-minus": interrupt(lines=-1),
    "interrupt-list": interrupt(running=[1, {}]),
    "interrupt-running": interrupt(running=["nothing"] * 900),
    "interrupt-exchange": interrupt(exchange={"kind": "main", "ordinal": 9, "attempt": 9, "bytes": 2 ** 62}),
    "interrupt-of-none": lambda es: es + [("interrupts/1.json", b"\xff")],
    "place-late": lines("answers/", lambda a: {**a, "lines": 10 ** 9}),
    "place-bytes": lines("answers/", lambda a: {**a, "bytes": 2 ** 62}),
    "place-minus": lines("answers/", lambda a: {**a, "lines": -(2 ** 62), "bytes": -7}),
    "place-types": lines("answers/", lambda a: {**a, "lines": [1], "bytes": "all"}),
    "input-line": came(line='{"type":"user","message":{"content":"more"}}', ends=True),
    "input-types": came(line=[1], problem=2, end="yes"),
    "answers-odd": answers({"run": 1, "what": "hook", "key": "Stop", "verdict": 99, "text": 4},
                           {"run": 1, "what": 3, "key": []}, {"run": 1, "what": "whole", "key": "b1", "text": "\0" * 100},
                           {"run": 1, "what": "tool", "key": "b1", "later": "yes", "ends_run": "now"}, [], 3),
}


def main():
    entries = load(sys.argv[1])
    for name, change in ODD.items():
        save(f"{sys.argv[2]}/{name}.tar.zst", change(entries))
        print(name)


if __name__ == "__main__":
    main()
