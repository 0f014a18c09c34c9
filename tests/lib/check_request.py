"""What every request must be, told from its bytes and from what the server said before; no code of the program is used.

read() takes a body apart: the parsed document, and beside it the bytes of system, tools and each content block as they
were sent, without their cache marks. Judge holds a request against the rules of the Messages API, and against the
requests and answers before it. Whatever is wrong is a Violation.
"""
import hashlib
import json
import re

MAIN_KEYS = {
    "model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "stream", "metadata",
    "output_config", "cache_control", "service_tier", "stop_sequences", "context_management",
}
COUNT_KEYS = {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control"}
USER_BLOCKS = {"text", "image", "document", "tool_result", "search_result"}
MARKABLE = {"text", "image", "document", "tool_use", "tool_result"}
THINKING = {"thinking", "redacted_thinking"}
IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
RETRIED = {408, 409, 429, 500, 502, 503, 504, 529}
# Whose thinking holds for any prefix; that of every other Claude model is bound to the one it was made behind.
UNBOUND = re.compile(r"claude-(fable-5|mythos-5|opus-5|sonnet-5|(opus|sonnet|haiku)-4-\d)(-\d{8})?$")


class Violation(Exception):
    pass


def need(ok, text):
    if not ok:
        raise Violation(text)


# ---------------------------------------------------------------- taking a body apart

def no_duplicates(pairs):
    keys = [k for k, _ in pairs]
    if len(keys) != len(set(keys)):
        raise Violation(f"duplicate key in {keys}")
    return dict(pairs)


def no_constant(name):
    raise Violation(f"{name} is no JSON")


scan = json.JSONDecoder(object_pairs_hook=no_duplicates, parse_constant=no_constant).scan_once
space = re.compile(r"[ \t\n\r]*").match


def skip(text, i):
    return space(text, i).end()


def scan_array(text, i, item):
    """item(i) -> (value, end) reads what begins at i."""
    out, i = [], skip(text, i + 1)
    while text[i] != "]":
        value, end = item(i)
        out.append(value)
        i = skip(text, end)
        if text[i] == ",":
            i = skip(text, i + 1)
            need(text[i] != "]", "a comma before ]")
        else:
            need(text[i] == "]", f"neither comma nor ] at {i}")
    return out, i + 1


def scan_object(text, i, value):
    """value(key, i) -> (value, end) reads a member's value. Gives [(key, value, start of member, end)] and the end."""
    out, i = [], skip(text, i + 1)
    while text[i] != "}":
        start = i
        key, i = scan(text, i)
        i = skip(text, i)
        need(isinstance(key, str) and text[i] == ":", f"no member at {start}")
        got, end = value(key, skip(text, i + 1))
        out.append((key, got, start, end))
        i = skip(text, end)
        if text[i] == ",":
            i = skip(text, i + 1)
            need(text[i] != "}", "a comma before }")
        else:
            need(text[i] == "}", f"neither comma nor }} at {i}")
    return out, i + 1


class Marked:
    """An object that may bear a cache mark: what it says, and its bytes without the mark."""

    def __init__(self, text, i):
        self.doc, self.end = scan(text, i)
        self.raw = text[i:self.end]
        if isinstance(self.doc, dict) and "cache_control" in self.doc:
            members, _ = scan_object(self.raw, 0, lambda _, k: scan(self.raw, k))
            self.raw = "{" + ",".join(self.raw[a:b] for key, _, a, b in members if key != "cache_control") + "}"


class Request:
    """doc: parsed. system, tools: bytes without marks, "" if absent. flat: [(role, a block's bytes without marks)];
    starts: the index in flat at which each message begins. size: bytes that the model reads."""

    def __init__(self, body):
        try:
            self.text = body.decode("utf-8")
            self.system = self.tools = ""
            self.flat, self.starts, self.messages_size = [], [], 0
            need(self.text.startswith("{"), "the body is no object")
            members, end = scan_object(self.text, 0, self.member)
        except (UnicodeDecodeError, ValueError, StopIteration, IndexError) as e:
            raise Violation(f"the body is not UTF-8 JSON: {type(e).__name__}: {e}") from e
        need(end == len(self.text), "something stands behind the body")
        self.doc = no_duplicates([(key, value) for key, value, _, _ in members])
        if re.search(r"\\u[dD][89a-fA-F]", self.text):
            need(not any(re.search("[\ud800-\udfff]", s) for s in strings_in(self.doc)), "a lone surrogate in a string")
        self.size = len(self.system.encode()) + len(self.tools.encode()) + self.messages_size

    def marked_list(self, i):
        if self.text[i] != "[":
            value, end = scan(self.text, i)
            return value, self.text[i:end], end
        items, end = scan_array(self.text, i, self.marked)
        return [m.doc for m in items], "[" + ",".join(m.raw for m in items) + "]", end

    def marked(self, i):
        m = Marked(self.text, i)
        return m, m.end

    def member(self, key, i):
        if key == "system":
            value, self.system, end = self.marked_list(i)
        elif key == "tools":
            value, self.tools, end = self.marked_list(i)
        elif key == "messages" and self.text[i] == "[":
            value, end = scan_array(self.text, i, self.message)
        else:
            value, end = scan(self.text, i)
        return value, end

    def message(self, i):
        need(self.text[i] == "{", "a message is no object")
        blocks = []

        def member(key, k):
            if key != "content":
                return scan(self.text, k)
            if self.text[k] == "[":
                items, end = scan_array(self.text, k, self.marked)
                blocks.extend(m.raw for m in items)
                return [m.doc for m in items], end
            value, end = scan(self.text, k)
            blocks.append(self.text[k:end])
            return value, end

        members, end = scan_object(self.text, i, member)
        doc = no_duplicates([(key, value) for key, value, _, _ in members])
        self.starts.append(len(self.flat))
        self.flat += [(doc.get("role"), raw) for raw in blocks]
        self.messages_size += sum(len(raw.encode()) for raw in blocks) + 30
        return doc, end


def read(body):
    return Request(body)


def strings_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for v in value:
            yield from strings_in(v)
    elif isinstance(value, dict):
        for k, v in value.items():
            yield k
            yield from strings_in(v)


# ---------------------------------------------------------------- the API's rules

def check_head(head, count=False):
    lines = head.split("\r\n")
    names = [h.split(":", 1)[0].lower() for h in lines[1:] if h]
    path = lines[0].split(" ")[1].split("?")[0]
    need(lines[0].startswith("POST ") and path.endswith("/v1/messages/count_tokens" if count else "/v1/messages"),
         f"request line: {lines[0]}")
    for name in ("content-type", "anthropic-version", "content-length", "host"):
        need(names.count(name) == 1, f"header {name}: {names.count(name)} times")
    need(names.count("x-api-key") + names.count("authorization") <= 1, "more than one auth header")
    need("expect" not in names, "an Expect header")


def blocks_of(message):
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    need(isinstance(content, list), "content is neither string nor list")
    return content


def is_string(value):
    return isinstance(value, str) and value.strip() != ""


def check_source(where, block):
    source = block.get("source")
    need(isinstance(source, dict), f"{where}: {block['type']} without a source")
    if block["type"] == "image" and source.get("type") == "base64":
        need(source.get("media_type") in IMAGES, f"{where}: media type {source.get('media_type')}")
        need(re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", source.get("data", "")), f"{where}: the image is no plain base64")


def check_tool_result(where, block):
    need(set(block) <= {"type", "tool_use_id", "content", "is_error", "cache_control"}, f"{where}: keys {sorted(block)}")
    need(isinstance(block.get("tool_use_id"), str), f"{where}: no tool_use_id")
    need(isinstance(block.get("is_error", False), bool), f"{where}: is_error is no boolean")
    content = block.get("content", "")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    for part in parts:
        need(part.get("type") in ("text", "image", "document", "search_result"), f"{where}: a {part.get('type')} in a result")
        need("cache_control" not in part, f"{where}: a cache mark inside a result")
        if part["type"] == "text":
            need(isinstance(part.get("text"), str), f"{where}: text in a result is no string")
            need(not isinstance(content, list) or part["text"].strip(), f"{where}: blank text in a result")
        else:
            check_source(where, part)
            need(not block.get("is_error"), f"{where}: an error result may hold text only")
    need(not block.get("is_error") or any(is_string(p["text"]) for p in parts), f"{where}: an error result without words")


def check_tool_use(where, block):
    need(set(block) <= {"type", "id", "name", "input", "caller", "toolset_name", "cache_control"}, f"{where}: keys {sorted(block)}")
    need(isinstance(block.get("id"), str) and re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]), f"{where}: id {block.get('id')!r}")
    need(is_string(block.get("name")), f"{where}: a call without a name")
    need(isinstance(block.get("input"), dict), f"{where}: tool input is no object")


def check_block(where, role, block):
    kind = block.get("type")
    need(isinstance(kind, str), f"{where}: a block without a type")
    if "cache_control" in block:
        mark = block["cache_control"]
        need(kind in MARKABLE, f"{where}: a cache mark on {kind}")
        need(isinstance(mark, dict) and mark.get("type") == "ephemeral", f"{where}: cache mark {mark}")
    if role == "user":
        need(kind in USER_BLOCKS, f"{where}: a {kind} of the user's")
    else:
        need(kind not in ("tool_result", "image", "document"), f"{where}: a {kind} of the assistant's")
    if kind == "text":
        need(is_string(block.get("text")), f"{where}: an empty or blank text block")
    elif kind == "thinking":
        need(is_string(block.get("signature")), f"{where}: thinking without a signature")
        need(isinstance(block.get("thinking"), str), f"{where}: thinking without its text")
    elif kind == "redacted_thinking":
        need(is_string(block.get("data")), f"{where}: redacted thinking without data")
    elif kind == "tool_use":
        check_tool_use(where, block)
    elif kind == "tool_result":
        check_tool_result(where, block)
    elif kind in ("image", "document"):
        check_source(where, block)


def check_pairing(messages):
    open_ids, seen = [], set()
    for n, message in enumerate(messages):
        blocks = blocks_of(message)
        results = [b for b in blocks if b["type"] == "tool_result"]
        if message["role"] == "user":
            need(all(b["type"] == "tool_result" for b in blocks[:len(results)]),
                 f"message {n}: a tool result stands behind something else")
            ids = [b["tool_use_id"] for b in results]
            need(sorted(ids) == sorted(open_ids), f"message {n}: results {ids} do not answer calls {open_ids}")
            open_ids = []
        else:
            open_ids = [b["id"] for b in blocks if b["type"] == "tool_use"]
            need(not seen & set(open_ids) and len(set(open_ids)) == len(open_ids), f"message {n}: a call id is used twice")
            seen |= set(open_ids)
    need(not open_ids, f"calls {open_ids} are not answered")


def check_messages(messages, may_end_with_assistant):
    need(isinstance(messages, list) and messages, "messages is missing or empty")
    for n, message in enumerate(messages):
        need(message.get("role") == ("user", "assistant")[n % 2], f"message {n}: roles do not alternate")
        need(set(message) == {"role", "content"}, f"message {n}: keys {sorted(message)}")
        blocks = blocks_of(message)
        need(blocks, f"message {n} is empty")
        for k, block in enumerate(blocks):
            check_block(f"message {n}, block {k}", message["role"], block)
    need(messages[-1]["role"] == "user" or may_end_with_assistant, "the last message is the assistant's")
    check_pairing(messages)


def count_marks(value):
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(count_marks(v) for v in value.values())
    return sum(count_marks(v) for v in value) if isinstance(value, list) else 0


def check_marks(doc):
    """Inside a tool's schema or a call's input that word is no mark."""
    outer = {k: v for k, v in doc.items() if k not in ("tools", "messages")}
    marks = count_marks(outer) + sum("cache_control" in t for t in doc.get("tools", []))
    marks += sum("cache_control" in b for m in doc["messages"] for b in blocks_of(m))
    need(marks <= 4, f"{marks} cache marks")


def check_tools(doc):
    if "tools" in doc:
        names = [t["name"] for t in doc["tools"]]
        need(names and len(set(names)) == len(names), f"tools: {names}")
        for tool in doc["tools"]:
            need(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["name"]), f"a tool's name: {tool['name']!r}")
            need(tool["input_schema"]["type"] == "object", "a tool schema is no object schema")
    choice = doc.get("tool_choice")
    if choice is not None:
        need("tools" in doc, "tool_choice without tools")
        need(isinstance(choice, dict) and choice.get("type") in ("auto", "any", "tool", "none"), f"tool_choice {choice}")
        need(("name" in choice) == (choice["type"] == "tool"), f"tool_choice {choice}")


def check_thinking_key(doc, count):
    thinking = doc.get("thinking")
    if thinking is None:
        return
    need(isinstance(thinking, dict) and isinstance(thinking.get("type"), str), f"thinking {thinking}")
    if thinking["type"] != "enabled":
        return
    budget = thinking.get("budget_tokens")
    need(isinstance(budget, int) and budget >= 1024, f"thinking budget {budget}")
    need(count or budget < doc["max_tokens"], f"thinking budget {budget}, max_tokens {doc.get('max_tokens')}")
    need(doc.get("tool_choice", {}).get("type", "auto") in ("auto", "none"), "a forced tool while thinking is enabled")
    messages = doc["messages"]
    if len(messages) > 1 and blocks_of(messages[-1])[0]["type"] == "tool_result":
        need(blocks_of(messages[-2])[0]["type"] in THINKING,
             "thinking is enabled, and the last assistant message of a tool loop does not begin with it")


def check_doc(doc, may_end_with_assistant=False, count=False):
    unknown = set(doc) - (COUNT_KEYS if count else MAIN_KEYS)
    need(not unknown, f"unknown keys {sorted(unknown)}")
    need(is_string(doc.get("model")), "no model")
    if not count:
        need(isinstance(doc.get("max_tokens"), int) and doc["max_tokens"] > 0, "no max_tokens")
        need(doc.get("stream") is True, "stream is not true")
    need(doc.get("system") not in ("", []), "an empty system")
    if isinstance(doc.get("system"), list):
        need(all(b.get("type") == "text" and is_string(b.get("text")) for b in doc["system"]), "system is no list of text")
    need(all(is_string(s) for s in doc.get("stop_sequences", [])), "a blank stop sequence")
    need(list(doc)[-1] == "messages", "messages is not the last key")
    check_tools(doc)
    check_messages(doc["messages"], may_end_with_assistant)
    check_marks(doc)
    check_thinking_key(doc, count)


# ---------------------------------------------------------------- against what was said before

def is_bound(model):
    return "claude" in model.lower() and not UNBOUND.match(model)


def digests(request):
    """The digest of all that stands before the n-th block, for each n."""
    h = hashlib.blake2b(f"{request.system}\0{request.tools}".encode())
    out = [h.digest()]
    for role, raw in request.flat:
        h.update(f"\0{role}\0{raw}".encode())
        out.append(h.digest())
    return out


def thinking_key(block):
    return tuple(block.get(k) for k in ("type", "thinking", "signature", "data"))


class Said:
    """The thinking that the server sent: by whom, and behind what."""

    def __init__(self):
        self.blocks = {}
        self.opaque = False  # an answer was sent as bytes: what it said is not known

    def note(self, block, request):
        self.blocks.setdefault(thinking_key(block), []).append((request.doc["model"], digests(request)[-1]))

    def check(self, request):
        if '"thinking"' not in request.text and '"redacted_thinking"' not in request.text:
            return
        before = None
        for n, message in enumerate(request.doc["messages"]):
            for k, block in enumerate(blocks_of(message)):
                if block["type"] not in THINKING:
                    continue
                made = self.blocks.get(thinking_key(block), [])
                if not made and self.opaque:
                    continue
                need(made, f"message {n}: thinking that the server did not send: {thinking_key(block)}")
                model = request.doc["model"]
                need(any(m == model for m, _ in made), f"message {n}: thinking of {made[0][0]} is sent to {model}")
                if is_bound(model):
                    before = before or digests(request)
                    start = request.starts[n]
                    need({d for _, d in made} & set(before[start:start + k + 1]),
                         f"message {n}: the thinking was made behind another conversation than this one")


def prefix_break(before, now):
    """None, or how the second request does not go on from the first."""
    for key in ("system", "tools"):
        if getattr(before, key) != getattr(now, key):
            return f"{key} changed"
    if now.flat[:len(before.flat)] == before.flat:
        return None
    for n, block in enumerate(before.flat):
        if n >= len(now.flat) or now.flat[n] != block:
            return f"block {n} of {len(before.flat)} changed: {block[1][:80]!r}"
    return "unreachable"


class Judge:
    """The requests of one script, in order."""

    def __init__(self):
        self.said = Said()
        self.last = None  # the run's last main request
        self.last_serial = 0
        self.run = None
        self.may_end_with_assistant = False  # the answer before paused its turn
        self.retry = False  # the answer before was a failure that is tried again
        self.cut = False  # it was cut where the window ends: its lines come when the conversation was made shorter

    def check(self, head, request, count=False):
        check_head(head, count)
        check_doc(request.doc, self.may_end_with_assistant, count)
        self.said.check(request)

    def follow(self, request, serial, run):
        """After check, for a main request. None, or {run, before, request, what}: a break of the prefix. `run` names
        the run that it belongs to; "" = not known: then one message alone, another first block or another model begin
        a new one."""
        before, last_serial, same_run = self.last, self.last_serial, run == self.run
        self.last, self.last_serial, self.run = request, serial, run
        if not before or not same_run:
            return None
        if run == "" and (len(request.doc["messages"]) == 1 or request.flat[0] != before.flat[0] or
                          request.doc["model"] != before.doc["model"]):
            return None
        if self.retry and request.doc["model"] == before.doc["model"] and request.flat == before.flat:
            need(request.text == before.text, "a request that is tried again is not the same bytes")
        what = prefix_break(before, request)
        return what and {"run": run, "before": last_serial, "request": serial, "cut": self.cut, "what": what}
