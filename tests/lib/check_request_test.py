#!/usr/bin/env python3
"""The checker of requests, checked: each rule is broken once, in a request that is right otherwise.

Prints a line for each rule that was broken and not noticed (or that a right request was held to break), exits 1 if any.
"""
import copy
import json
import sys

from breaks import explained
from check_request import Judge, Request, Violation, prefix_break
from mock_model import Script

HEAD = ("POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1\r\n"
        "anthropic-version: 2023-06-01\r\nx-api-key: k")
MARK = {"type": "ephemeral"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s1"}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
TOOL = {"name": "Bash", "input_schema": {"type": "object", "properties": {"cache_control": {}}}}
BASE = {
    "model": "claude-sonnet-5", "max_tokens": 4000, "stream": True,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
    "tools": [TOOL],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [
            THOUGHT,
            {"type": "tool_use", "id": "a", "name": "Bash", "input": {"cache_control": 1}},
            {"type": "tool_use", "id": "b", "name": "Bash", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "one"},
            {"type": "tool_result", "tool_use_id": "b", "content": "two", "is_error": True, "cache_control": MARK},
            {"type": "text", "text": "and now"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "so"}]},
        {"role": "user", "content": [{"type": "text", "text": "more"}, PICTURE]},
    ],
}


def encode(doc):
    return json.dumps(doc, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def judge_of(said=True):
    judge = Judge()
    if said:
        first = copy.deepcopy(BASE)
        first["messages"] = first["messages"][:1]
        judge.said.note(THOUGHT, Request(encode(first)))
    return judge


def fault(doc, judge=None, head=HEAD, body=None, count=False):
    """What the checker minds, or None."""
    try:
        (judge or judge_of()).check(head, Request(body or encode(doc)), count)
        return None
    except Violation as e:
        return str(e)
    except (KeyError, TypeError, AttributeError, IndexError) as e:  # noted as a violation, too
        return repr(e)


def block(m, k):
    return lambda d: d["messages"][m]["content"][k]


def put(where, **members):
    return lambda d: where(d).update(members)


def drop(where, *names):
    return lambda d: [where(d).pop(n) for n in names]


def content(m):
    return lambda d: d["messages"][m]["content"]


def last_is_results(d):
    del d["messages"][3:]


def ordered_last(d, name, value):
    messages = d.pop("messages")
    d[name] = value
    d["messages"] = messages


def budget(d, tokens=2000, **more):
    d.update(more)
    ordered_last(d, "thinking", {"type": "enabled", "budget_tokens": tokens})


# (the rule, how it is broken); the edit gets a copy of BASE
RULES = [
    ("model", lambda d: d.update(model=" ")),
    ("max_tokens", lambda d: d.update(max_tokens=0)),
    ("stream", lambda d: d.update(stream=False)),
    ("unknown key", lambda d: ordered_last(d, "temperatur", 1)),
    ("messages last", lambda d: d.update(metadata={})),
    ("empty system", lambda d: d.update(system=[])),
    ("blank system", lambda d: d["system"][0].update(text=" ")),
    ("blank stop sequence", lambda d: ordered_last(d, "stop_sequences", [" "])),
    ("no tools in tools", lambda d: d.update(tools=[])),
    ("two tools of one name", lambda d: d["tools"].append(copy.deepcopy(TOOL))),
    ("tool name", lambda d: d["tools"][0].update(name="a b")),
    ("tool schema", lambda d: d["tools"][0]["input_schema"].update(type="array")),
    ("tool_choice type", lambda d: ordered_last(d, "tool_choice", {"type": "some"})),
    ("tool_choice name", lambda d: ordered_last(d, "tool_choice", {"type": "tool"})),
    ("tool_choice without tools", lambda d: (d.pop("tools"), ordered_last(d, "tool_choice", {"type": "none"}))),
    ("no messages", lambda d: d.update(messages=[])),
    ("first is the assistant's", lambda d: d["messages"].pop(0)),
    ("last is the assistant's", lambda d: d["messages"].pop()),
    ("roles alternate", lambda d: d["messages"].insert(1, copy.deepcopy(d["messages"][0]))),
    ("system as a role", lambda d: d["messages"].append({"role": "system", "content": "x"})),
    ("key of a message", lambda d: d["messages"][3].update(id="msg_1")),
    ("no content", lambda d: d["messages"][3].pop("content")),
    ("empty content", lambda d: d["messages"][3].update(content=[])),
    ("empty string", lambda d: d["messages"][3].update(content="")),
    ("blank text", put(block(3, 0), text=" \n")),
    ("no text", drop(block(3, 0), "text")),
    ("block without a type", drop(block(3, 0), "type")),
    ("no result", lambda d: content(2)(d).pop(0)),
    ("two results", lambda d: content(2)(d).insert(0, copy.deepcopy(content(2)(d)[0]))),
    ("stray result", lambda d: content(4)(d).insert(0, {"type": "tool_result", "tool_use_id": "a", "content": "x"})),
    ("result of another call", put(block(2, 0), tool_use_id="c")),
    ("result behind text", lambda d: content(2)(d).insert(0, content(2)(d).pop())),
    ("result a message late", lambda d: d["messages"].insert(2, {"role": "user", "content": "x"}) or
     d["messages"].insert(3, {"role": "assistant", "content": "y"})),
    ("calls at the end", lambda d: d["messages"].append({"role": "assistant", "content": [
        {"type": "tool_use", "id": "z", "name": "Bash", "input": {}}]}) or
     d["messages"].append({"role": "user", "content": "x"})),
    ("id used twice", lambda d: (put(block(1, 2), id="a")(d), put(block(2, 1), tool_use_id="a")(d))),
    ("id used again later", lambda d: content(3)(d).append({"type": "tool_use", "id": "a", "name": "Bash", "input": {}}) or
     content(4)(d).insert(0, {"type": "tool_result", "tool_use_id": "a"})),
    ("form of an id", lambda d: (put(block(1, 1), id="a b")(d), put(block(2, 0), tool_use_id="a b")(d))),
    ("call without a name", put(block(1, 1), name="")),
    ("input is no object", put(block(1, 1), input=[])),
    ("key of a call", put(block(1, 1), index=1)),
    ("key of a result", put(block(2, 0), name="Bash")),
    ("is_error no boolean", put(block(2, 0), is_error=1)),
    ("error with a picture", put(block(2, 1), content=[{"type": "text", "text": "x"}, PICTURE])),
    ("error without words", put(block(2, 1), content="")),
    ("blank text in a result", put(block(2, 0), content=[{"type": "text", "text": ""}])),
    ("call inside a result", put(block(2, 0), content=[{"type": "tool_use"}])),
    ("mark inside a result", put(block(2, 0), content=[{"type": "text", "text": "x", "cache_control": MARK}])),
    ("result of the assistant's", lambda d: content(3)(d).append({"type": "tool_result", "tool_use_id": "a"})),
    ("call of the user's", lambda d: content(4)(d).append({"type": "tool_use", "id": "q", "name": "Bash", "input": {}})),
    ("picture of the assistant's", lambda d: content(3)(d).append(copy.deepcopy(PICTURE))),
    ("picture without a source", drop(block(4, 1), "source")),
    ("media type", lambda d: block(4, 1)(d)["source"].update(media_type="image/bmp")),
    ("base64", lambda d: block(4, 1)(d)["source"].update(data="data:x")),
    ("five marks", lambda d: [content(4)(d).append({"type": "text", "text": "x", "cache_control": MARK}) for _ in range(3)]),
    ("mark on thinking", put(block(1, 0), cache_control=MARK)),
    ("form of a mark", put(block(4, 0), cache_control={})),
    ("thinking unsigned", put(block(1, 0), signature="")),
    ("thinking changed", put(block(1, 0), thinking="hmm")),
    ("signature changed", put(block(1, 0), signature="s2")),
    ("thinking of the user's", lambda d: content(4)(d).append(copy.deepcopy(THOUGHT))),
    ("redacted thinking without data", lambda d: content(3)(d).insert(0, {"type": "redacted_thinking"})),
    ("redacted thinking made up", lambda d: content(3)(d).insert(0, {"type": "redacted_thinking", "data": "x"})),
    ("thinking of another model", lambda d: d.update(model="claude-opus-5")),
    ("budget too small", lambda d: budget(d, tokens=10)),
    ("budget over the cap", lambda d: budget(d, max_tokens=1500)),
    ("forced tool while thinking", lambda d: budget(d, tool_choice={"type": "any"})),
    ("thinking first in a tool loop", lambda d: (last_is_results(d), content(1)(d).pop(0), budget(d))),
    ("lone surrogate", put(block(4, 0), text="\ud83d")),
]


def wrong_bytes():
    """Bodies that are wrong below the level of the document."""
    good = encode(BASE)
    yield "not UTF-8", good.replace(b"more", b"mo\xff\xfe")
    yield "not JSON", good[:-1]
    yield "more behind it", good + b"{}"
    yield "comma too many", good.replace(b'"stream":true,', b'"stream":true,,')
    yield "comma before the end", good[:-1] + b",}"
    yield "no object", b"[1]"
    yield "key twice", good.replace(b'"stream":true', b'"stream":true,"stream":true')
    yield "key twice, deep down", good.replace(b'"type":"ephemeral"', b'"type":"ephemeral","type":"ephemeral"', 1)
    yield "NaN", good.replace(b'"max_tokens":4000', b'"max_tokens":NaN')
    yield "escaped lone surrogate", good.replace(b'"more"', b'"\\ud83d x"')


def wrong_heads():
    yield "two keys", HEAD + "\r\nauthorization: Bearer x"
    yield "no version", HEAD.replace("anthropic-version: 2023-06-01\r\n", "")
    yield "GET", HEAD.replace("POST", "GET")
    yield "another path", HEAD.replace("/v1/messages", "/v1/complete")
    yield "Expect", HEAD + "\r\nExpect: 100-continue"


def edited(edit, base=BASE):
    doc = copy.deepcopy(base)
    edit(doc)
    return doc


def check_rules(say):
    say(fault(BASE), None, "the right request")
    for name, edit in RULES:
        found = fault(edited(edit))
        say(bool(found), True, name)
        say("last key" in str(found), name == "messages last", f"{name}: {found}")  # it hides what it is about
    for name, body in wrong_bytes():
        say(bool(fault(None, body=body)), True, name)
    for name, head in wrong_heads():
        say(bool(fault(BASE, head=head)), True, name)
    say(fault(edited(budget)), None, "a right budget")
    say(fault(edited(lambda d: content(1)(d).pop(0))), None, "thinking left out")
    say(fault(edited(put(block(4, 0), text="\U0001f600"))), None, "a character beyond 16 bits")
    paused = judge_of()
    paused.may_end_with_assistant = True
    say(fault(edited(lambda d: d["messages"].pop()), paused), None, "a paused turn goes on")
    count = edited(drop(lambda d: d, "max_tokens", "stream"))
    say(fault(count, head=HEAD.replace("messages", "messages/count_tokens"), count=True), None, "a count")
    say(bool(fault(BASE, head=HEAD.replace("messages", "messages/count_tokens"), count=True)), True, "a count's keys")


def check_bound(say):
    """Thinking of the newest models is good only behind what it was made behind."""
    for model, bound in (("claude-sonnet-5", False), ("claude-sonnet-5-5", True), ("claude-opus-9", True), ("gpt", False)):
        judge = Judge()
        first = edited(lambda d: d.update(model=model, messages=d["messages"][:1]))
        judge.said.note(THOUGHT, Request(encode(first)))
        say(fault(edited(lambda d: d.update(model=model)), judge), None, f"{model}: same prefix")
        for name, edit in (("messages", put(block(0, 0), text="went")), ("system", lambda d: d["system"][0].update(text="x")),
                           ("tools", lambda d: d["tools"][0].update(description="x"))):
            doc = edited(lambda d: (d.update(model=model), edit(d)))
            say(bool(fault(doc, judge)), bound, f"{model}: other {name}")
        say(fault(edited(lambda d: (d.update(model=model), put(block(2, 0), content="later")(d))), judge), None,
            f"{model}: an edit behind it")


def check_prefix(say):
    one = Request(encode(BASE))
    moved = edited(lambda d: (put(block(4, 0), cache_control=MARK)(d), drop(block(2, 1), "cache_control")(d)))
    say(prefix_break(one, Request(encode(moved))), None, "a mark that moves")
    longer = edited(lambda d: d["messages"].append({"role": "assistant", "content": [{"type": "text", "text": "x"}]}))
    say(prefix_break(one, Request(encode(longer))), None, "something behind it")
    breaks = [
        ("system", lambda d: d["system"][0].update(text="x")),
        ("tools", lambda d: d["tools"][0].update(description="x")),
        ("a block", put(block(2, 0), content="x")),
        ("an order of keys", lambda d: d["messages"][0]["content"].__setitem__(0, {"text": "go", "type": "text"})),
        ("a role", lambda d: d["messages"][3].update(role="user")),
        ("an end", lambda d: content(4)(d).pop()),
    ]
    for name, edit in breaks:
        say(bool(prefix_break(one, Request(encode(edited(edit))))), True, f"prefix: {name}")
    say(bool(prefix_break(one, Request(encode(BASE).replace(b'"one"', b'"\\u006fne"')))), True, "prefix: bytes of one meaning")


def followed(first, second, run="q1", retry=False):
    judge = judge_of()
    judge.follow(Request(encode(first)), 1, "q1")
    judge.retry = retry
    try:
        return bool(judge.follow(Request(encode(second)), 2, run))
    except Violation:
        return "violation"


def check_runs(say):
    other = edited(put(block(0, 0), text="another"))
    say(followed(BASE, other), True, "a break within a run")
    say(followed(BASE, other, run="q2"), False, "another run")
    again = edited(lambda d: d.update(max_tokens=5000))
    say(followed(BASE, again, retry=True), "violation", "a retry with other bytes")
    say(followed(BASE, BASE, retry=True), False, "a retry")
    say(followed(BASE, again), False, "a raised cap")


def check_breaks(say):
    def line(n):
        return {"type": "assistant", "message": {"id": f"msg_{n}"}}
    edit = {"type": "system", "subtype": "quern_context", "step": "microcompact"}
    entered = {"type": "system", "subtype": "quern_context", "step": "result_budget"}
    repair = {"type": "system", "subtype": "quern_notice", "code": "request_repaired"}
    remark = {"type": "system", "subtype": "quern_notice", "code": "stream_salvaged"}
    broken = {"before": 2, "request": 3}
    held = {**broken, "cut": True}
    say(explained(held, [line(1), edit, line(2), line(3)]), True, "explained: lines that were held back")
    say(explained(held, [edit, line(1), line(2), line(3)]), False, "explained: held back, and too early")
    for name, events, good in (
            ("between", [line(1), line(2), edit, line(3)], True), ("repair", [line(2), repair, line(3)], True),
            ("too early", [line(1), edit, line(2), line(3)], False), ("too late", [line(2), line(3), edit], False),
            ("a step that edits nothing", [line(2), entered, line(3)], False), ("a remark", [line(2), remark, line(3)], False),
            ("none at all", [], False), ("before the end", [line(2), edit], True)):
        say(explained(broken, events), good, f"explained: {name}")


def check_window(say):
    """The model that has a window counts and cuts as it says."""
    request = Request(encode(edited(lambda d: d.update(max_tokens=50))))
    tokens = request.size // 4
    script = Script({"window": tokens - 1, "answers": [{"text": "x"}]})
    answer, _ = script.answer("main", request)
    say(answer["error"]["message"], f"prompt is too long: {tokens} tokens > {tokens - 1} maximum", "too long")
    for window, reason, n in ((tokens + 10, "model_context_window_exceeded", 40), (tokens + 1000, "max_tokens", 200)):
        answer, _ = Script({"window": window, "answers": [{"text": "x" * 300}]}).answer("main", request)
        say((answer.get("stop_reason"), len(answer["content"][0]["text"])), (reason, n), f"cut by {reason}")
    usage = answer["usage"]
    strict = Script({"window": tokens + 49, "with_answer": True, "answers": [{"text": "x"}]})
    say(f"{tokens} + 50 > {tokens + 49}," in strict.answer("main", request)[0]["error"]["message"], True, "no room for the answer")
    say(usage["input_tokens"] + usage["cache_read_input_tokens"], tokens, "usage is true")
    say(Script({"window": tokens}).answer("count", request)[0]["body"]["input_tokens"], tokens, "count")
    say(Script([]).answer("count", request)[0]["status"], 404, "no count without a window")
    player = Script({"player": {"rounds": 2, "calls": [{"name": "Bash", "input": {"command": "{n}"}}]}})
    commands = [player.answer("main", request)[0].get("content", [{}])[-1] for _ in range(3)]
    say([c.get("tool_use", {}).get("input", {}).get("command") for c in commands], ["1", "2", None], "player")
    say(player.answer("main", request)[1] is None, False, "beyond the player's end")
    busy = Script({"overloaded": {BASE["model"]: 1}, "answers": [{"text": "x"}]})
    say([busy.answer("main", request)[0].get("status") for _ in range(2)], [529, None], "overloaded once")
    late = Script({"overloaded": {BASE["model"]: {"after": 1, "times": True}}, "answers": [{"text": "x"}]})
    say([late.answer("main", request)[0].get("status") for _ in range(3)], [None, 529, 529], "overloaded from then on")


def main():
    problems = []

    def say(got, expected, name):
        if got != expected:
            problems.append(f"{name}: {got!r}, expected {expected!r}")

    for part in (check_rules, check_bound, check_prefix, check_runs, check_breaks, check_window):
        part(say)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
