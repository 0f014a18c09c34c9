"""What the test server's model says: answers in shorthand made into event streams, and a script that tells which answer
a request gets. The formats are described in server.py.
"""
import json
import os
import re

# How a compaction's answer can be called by name in a script. "long" is longer than all that it would replace.
COMPACTIONS = {
    "good": {"text": "<summary>{n}: the task goes on; rounds so far went well. BLUE HERON {n}</summary>"},
    "empty": {"content": []},
    "blank": {"text": " \n "},
    "garbage": {"text": "}{][ \u0000\ufffd %%% \u202e"},
    "refused": {"text": "I would rather not", "stop_reason": "refusal"},
    "cut": {"text": "The task so far", "stop_reason": "max_tokens"},
    "tool_use": {"content": [{"text": "Let me look first."}, {"tool_use": {"name": "Bash", "input": {"command": "touch EVIL"}}}]},
    "long": {"long": True},
    "overloaded": {"status": 529, "error": {"type": "overloaded_error", "message": "Overloaded"}, "headers": {"retry-after-ms": "5"}},
    "too_long": {"status": 400, "error": {"type": "invalid_request_error", "message": "prompt is too long"}},
    "broken": {"text": "half of it", "stop_after": 3, "no_end": True, "then": "close", "headers": {"retry-after-ms": "5"}},
}
TOO_LONG = {"status": 400, "text": "prompt is too long: {tokens} tokens > {window} maximum"}
WITH_ANSWER = ("input length and `max_tokens` exceed context limit: {tokens} + {cap} > {window}, "
               "decrease input length or `max_tokens` and try again")
USED_UP = {"status": 400, "error": {"type": "invalid_request_error", "message": "the test's script is used up"}}
NOT_FOUND = {"status": 404, "error": {"type": "not_found_error", "message": "Not found"}}
OVERLOADED = COMPACTIONS["overloaded"]
# The program's instruction for a summary: without tools nothing else tells the request apart.
INSTRUCTION = re.compile(r"summary", re.I)


# ---------------------------------------------------------------- building answers

def sse_event(kind, **fields):
    data = json.dumps({"type": kind, **fields}, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n"


def pieces_of(text, size):
    return [text[i:i + size] for i in range(0, len(text), size)] or [""]


def raw_input(use):
    return use["raw"] if "raw" in use else json.dumps(use.get("input", {}), ensure_ascii=False)


def block_events(index, block, size, serial):
    """The events of one content block given in shorthand."""
    if "text" in block:
        start = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": p} for p in pieces_of(block["text"], size)] if block["text"] else []
    elif "thinking" in block:
        start = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": p} for p in pieces_of(block["thinking"], size)]
        deltas.append({"type": "signature_delta", "signature": block.get("signature", "c2ln")})
    elif "tool_use" in block:
        use = block["tool_use"]
        start = {"type": "tool_use", "id": use.get("id", f"toolu_{serial}_{index}"), "name": use["name"], "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces_of(raw_input(use), size)]
    else:
        start, deltas = block["raw_block"], []
    out = [sse_event("content_block_start", index=index, content_block=start)]
    out += [sse_event("content_block_delta", index=index, delta=d) for d in deltas]
    out.append(sse_event("content_block_stop", index=index))
    return out


def content_of(answer):
    if "text" in answer:
        return [{"text": answer["text"]}]
    if "tool_use" in answer:
        return [{"tool_use": answer["tool_use"]}]
    return answer.get("content", [])


def is_stream(answer):
    """Is it built from shorthand?"""
    return not {"error", "sse", "sse_file", "body", "body_file", "raw", "raw_file"} & set(answer)


def stream_events(answer, serial, model):
    content = content_of(answer)
    calls = any("tool_use" in b for b in content)
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 5}
    usage.update(answer.get("usage", {}))
    first = answer.get("first_usage", {**usage, "output_tokens": 1})
    out = [sse_event("message_start", message={
        "id": answer.get("id", f"msg_{serial}"), "type": "message", "role": "assistant",
        "model": answer.get("model", model), "content": [], "stop_reason": None, "stop_sequence": None,
        "usage": first})]
    for index, block in enumerate(content):
        out += block_events(index, block, answer.get("piece", 20), serial)
    for early in answer.get("delta_usage", []):
        out.append(sse_event("message_delta", delta={"stop_reason": None, "stop_sequence": None}, usage=early))
    reason = None if answer.get("no_stop_reason") else answer.get("stop_reason", "tool_use" if calls else "end_turn")
    delta = {"stop_reason": reason, "stop_sequence": answer.get("stop_sequence")}
    if "stop_details" in answer:
        delta["stop_details"] = answer["stop_details"]
    out.append(sse_event("message_delta", delta=delta, usage=usage))
    out.append(sse_event("message_stop"))
    if "stop_after" in answer:
        out = out[:answer["stop_after"]]
    if "then_error" in answer:
        out.append(sse_event("error", error=answer["then_error"]))
    return out


def read_file(base, name):
    with open(os.path.join(base, name), "rb") as f:
        return f.read()


def body_of(answer, serial, model, base):
    """The body's bytes and its content type."""
    if "error" in answer:
        body = {"type": "error", "error": answer["error"], "request_id": f"req_{serial}"}
        return json.dumps(body).encode(), "application/json"
    if "sse" in answer:
        return answer["sse"].encode("utf-8", "surrogatepass"), "text/event-stream"
    if "sse_file" in answer:
        return read_file(base, answer["sse_file"]), "text/event-stream"
    if "body_file" in answer:
        return read_file(base, answer["body_file"]), "application/json"
    if "body" in answer:
        body = answer["body"]
        return (body if isinstance(body, str) else json.dumps(body)).encode(), "application/json"
    return "".join(stream_events(answer, serial, model)).encode(), "text/event-stream"


# ---------------------------------------------------------------- a model that has a window

def size_of(block):
    if "text" in block:
        return len(block["text"].encode())
    if "thinking" in block:
        return len(block["thinking"].encode())
    if "tool_use" in block:
        return len(raw_input(block["tool_use"]).encode()) + 40
    return len(json.dumps(block))


def cut_content(content, room):
    """The content as far as `room` bytes reach, and whether that cut anything."""
    out = []
    for block in content:
        size = size_of(block)
        if size <= room:
            out.append(block)
            room -= size
            continue
        if room > 0 and "text" in block:
            out.append({"text": block["text"].encode()[:room].decode(errors="ignore")})
        elif room > 0 and "thinking" in block:
            out.append({"thinking": block["thinking"].encode()[:room].decode(errors="ignore"), "signature": ""})
        elif room > 40 and "tool_use" in block:
            use = block["tool_use"]
            out.append({"tool_use": {**use, "raw": raw_input(use)[:room - 40]}})
        return out, True
    return out, False


def fill_in(value, n):
    """{n} in every string of a template becomes the number."""
    if isinstance(value, str):
        return value.replace("{n}", str(n))
    if isinstance(value, list):
        return [fill_in(v, n) for v in value]
    return {k: fill_in(v, n) for k, v in value.items()} if isinstance(value, dict) else value


class Answers:
    """A list of answers in order; "repeat": N plays one N times, "repeat": true for ever."""

    def __init__(self, script):
        self.answers, self.last, self.next = [], None, 0
        for answer in script:
            if isinstance(answer, str):
                answer = {**COMPACTIONS[answer.rstrip("*")], **({"repeat": True} if answer.endswith("*") else {})}
            repeat = answer.get("repeat", 1)
            if repeat is True:
                self.last = answer
            else:
                self.answers += [answer] * repeat

    def take(self):
        """None: the list is used up."""
        self.next += 1
        return self.answers[self.next - 1] if self.next <= len(self.answers) else self.last


class Player:
    """Goes on for so many rounds with calls in turn, and then answers."""

    def __init__(self, spec):
        self.spec, self.n = spec, 0

    def take(self):
        s = self.spec
        self.n += 1
        if str(self.n) in s.get("at", {}):
            return s["at"][str(self.n)]
        if self.n > s["rounds"] + 1:
            return None
        if self.n == s["rounds"] + 1:
            return {"text": s.get("answer", "all done")}
        content = []
        if s.get("thinking"):
            content.append({"thinking": f"thought {self.n} " + "t" * s.get("thinking_bytes", 0), "signature": f"sig{self.n}"})
        content.append({"text": fill_in(s.get("text", "Step {n}."), self.n) + " word" * (s.get("text_bytes", 0) // 5)})
        calls = s["calls"][(self.n - 1) % len(s["calls"])]
        content += [{"tool_use": fill_in(c, self.n)} for c in (calls if isinstance(calls, list) else [calls])]
        return {"content": content}


class Script:
    """Which answer a request gets. `spec` is a list of answers or an object (see server.py)."""

    def __init__(self, spec):
        self.ordered = isinstance(spec, list)
        self.spec = spec = {"answers": spec} if self.ordered else spec
        self.main = Player(spec["player"]) if "player" in spec else Answers(spec.get("answers", []))
        self.compact = Answers(spec.get("compact", ["good*"]))
        self.summary = Answers(spec.get("summary", [{"text": "did step {n}", "repeat": True}]))
        self.window = spec.get("window", 0)
        self.ratio = spec.get("bytes_per_token", 4)
        self.overloaded = dict(spec.get("overloaded", {}))
        self.taken = {"main": 0, "compact": 0, "summary": 0}
        self.cached = {}  # model -> the blocks of its last request

    def kind(self, request, count):
        if count:
            return "count"
        if self.ordered or not request:
            return "main"
        doc = request.doc
        if doc["model"] in self.spec.get("summary_models", []):
            return "summary"
        last = doc["messages"][-1]["content"][-1]
        if doc.get("tool_choice", {}).get("type") == "none":
            return "compact"
        if "tools" not in doc and self.spec.get("no_tools") and INSTRUCTION.search(last.get("text", "")):
            return "compact"
        return "main"

    def tokens(self, request):
        return request.size // self.ratio

    def answer(self, kind, request):
        """(answer, what is wrong or None)."""
        if kind == "count":
            return self.count_answer(request), None
        model = request.doc["model"] if request else ""
        if self.is_overloaded(model):
            return OVERLOADED, None
        if self.window and request and kind != "summary" and not self.fits(request):
            return self.too_long(request), None
        answer = getattr(self, kind).take()
        if answer is None:
            return USED_UP, f"{'' if kind == 'main' else kind + ' '}request is beyond the script"
        self.taken[kind] += 1
        if answer.get("long"):
            answer = {"text": "word " * (request.size // 4 + 1000), "uncut": True, **answer}
        if kind != "main":
            answer = fill_in(answer, self.taken[kind])
        if request and "thinking" not in request.doc and self.spec.get("player", {}).get("thinking") == "asked":
            answer = {**answer, "content": [b for b in content_of(answer) if "thinking" not in b]}
        if self.window and request and is_stream(answer):
            answer = self.fit(answer, request)
        return answer, None

    def is_overloaded(self, model):
        busy = self.overloaded.get(model)
        if not busy:
            return False
        if not isinstance(busy, dict):
            busy = self.overloaded[model] = {"times": busy}
        if busy.get("after", 0) > 0:
            busy["after"] -= 1
            return False
        left = busy["times"]
        if left is not True:
            busy["times"] = max(left - 1, 0)
        return bool(left)

    def fits(self, request):
        """Older servers want room for the whole answer, too."""
        room = request.doc["max_tokens"] if self.spec.get("with_answer") else 0
        return self.tokens(request) + room <= self.window

    def too_long(self, request):
        how = {**TOO_LONG, **({"text": WITH_ANSWER} if self.spec.get("with_answer") else {}), **self.spec.get("too_long", {})}
        text = how["text"].format(tokens=self.tokens(request), window=self.window, cap=request.doc["max_tokens"])
        kind = "request_too_large" if how["status"] == 413 else "invalid_request_error"
        return {"status": how["status"], "error": {"type": kind, "message": text}}

    def count_answer(self, request):
        if not self.spec.get("count_tokens", bool(self.window)):
            return NOT_FOUND
        return {"body": {"input_tokens": self.tokens(request)}}

    def fit(self, answer, request):
        """Usage is true, and an answer ends where the window or the cap does."""
        tokens, cap = self.tokens(request), request.doc["max_tokens"]
        room = min(cap, self.window - tokens)
        content, cut = content_of(answer), False
        if not answer.get("uncut"):
            content, cut = cut_content(content, room * self.ratio)
        before, same = self.cached.get(request.doc["model"], []), 0
        for a, b in zip(before, request.flat):
            if a != b:
                break
            same += len(a[1].encode())
        self.cached[request.doc["model"]] = request.flat
        read = min(same // self.ratio, tokens)
        out = {k: v for k, v in answer.items() if k not in ("text", "tool_use", "content")}
        out["content"] = content
        out["usage"] = {"input_tokens": tokens - read, "cache_read_input_tokens": read,
                        "output_tokens": sum(map(size_of, content)) // self.ratio + 1, **answer.get("usage", {})}
        if cut:
            out["stop_reason"] = "max_tokens" if room == cap else "model_context_window_exceeded"
        return out
