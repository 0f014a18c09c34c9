#!/usr/bin/env python3
"""A model server that plays a script: the n-th request gets the n-th answer.

usage: server.py [--port N] [--log DIR] [--tls CERT KEY] [--no-check] SCRIPT.json

Prints "PORT <n>" when it listens on 127.0.0.1, and dies with the process that started it.
SCRIPT is a list of answers. What is asked beyond its end is refused (400) and noted as a violation,
unless the last answer has "repeat": true; "repeat": N plays any answer N times.

What an answer says (one of these; nothing = an empty SSE answer):
  text: "..."                  shorthand for content: [{"text": ...}]
  tool_use: {name,input,id}    shorthand for content: [{"tool_use": ...}]
  content: [{text} | {thinking,signature} | {tool_use: {name,input,id,raw}} | {raw_block}], built into SSE;
           tool_use.raw is streamed instead of the JSON of input
  sse: "..." / sse_file: path  the body of an event stream, exactly
  body: text or JSON value / body_file: path   any other body
  error: {type,message,...}    a JSON error body; goes with status
  raw: "..." / raw_file: path  a whole HTTP answer, bytes as they are (latin-1)
Details of a built stream:
  stop_reason, stop_sequence, stop_details, usage {..}, model, id, piece: characters a delta (20)
  first_usage {..}: of message_start       delta_usage [{..}]: earlier message_delta events
  stop_after: N   only the first N events  then_error: {type,message}   an error event behind them
  no_stop_reason: true
HTTP:
  status (200), reason, headers {..} (null removes one; "@+3s" = an HTTP date 3 s from now)
  length: N or "right"  Content-Length instead of chunks    no_end: true  no last chunk
How it is sent:
  wait: s before the answer   split: N bytes | "events"   delay: s between pieces   split_head: true
  hold: [[N, FILE], ...]   sends event by event; before the N-th (from 0; their number = before the end) it waits until
      FILE, a path from the script's directory, is there
  lead: text, lead_every: s, lead_count: n    sent again and again before the body
  silent: true  nothing at all               head_only: true  the head, then silence
  then: "keep" (default) | "close" | "reset" | "hang"
Log (DIR): NNN.json the request's body, NNN.head its head, NNN.done when the answer was sent in full, connections
(a line each), violations (a line for each thing wrong with a request; absent if none).
"""
import ctypes
import email.utils
import json
import os
import re
import signal
import socket
import ssl
import struct
import sys
import threading
import time

KNOWN_KEYS = {
    "model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "stream", "metadata",
    "output_config", "cache_control", "service_tier", "stop_sequences", "context_management",
}


class Violation(Exception):
    pass


# ---------------------------------------------------------------- building answers

def sse_event(kind, **fields):
    data = json.dumps({"type": kind, **fields}, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n"


def pieces_of(text, size):
    return [text[i:i + size] for i in range(0, len(text), size)] or [""]


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
        raw = use["raw"] if "raw" in use else json.dumps(use.get("input", {}), ensure_ascii=False)
        deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces_of(raw, size)]
    else:
        start, deltas = block["raw_block"], []
    out = [sse_event("content_block_start", index=index, content_block=start)]
    out += [sse_event("content_block_delta", index=index, delta=d) for d in deltas]
    out.append(sse_event("content_block_stop", index=index))
    return out


def stream_events(answer, serial, model):
    content = answer.get("content", [])
    if "text" in answer:
        content = [{"text": answer["text"]}]
    elif "tool_use" in answer:
        content = [{"tool_use": answer["tool_use"]}]
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


def cut_up(data, split):
    if split == "events":
        return [p for p in re.split(rb"(?<=\n\n)", data) if p]
    if isinstance(split, int):
        return [data[i:i + split] for i in range(0, len(data), split)]
    return [data] if data else []


def header_value(value):
    m = re.fullmatch(r"@([+-]\d+)s", str(value))
    return email.utils.formatdate(time.time() + int(m.group(1)), usegmt=True) if m else str(value)


# ---------------------------------------------------------------- checking requests

def no_duplicates(pairs):
    keys = [k for k, _ in pairs]
    if len(keys) != len(set(keys)):
        raise Violation(f"duplicate key in {keys}")
    return dict(pairs)


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


def need(ok, text):
    if not ok:
        raise Violation(text)


def blocks_of(message):
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    need(isinstance(content, list), "content is neither string nor list")
    return content


def check_pairing(messages):
    open_ids, seen = [], set()
    for n, message in enumerate(messages):
        blocks = blocks_of(message)
        results = [b for b in blocks if b["type"] == "tool_result"]
        if message["role"] == "user":
            need([b["type"] for b in blocks[:len(results)]].count("tool_result") == len(results),
                 f"message {n}: a tool result stands behind something else")
            ids = [b["tool_use_id"] for b in results]
            need(sorted(ids) == sorted(open_ids), f"message {n}: results {ids} do not answer calls {open_ids}")
            open_ids = []
        else:
            need(not results, f"message {n}: an assistant message holds a tool result")
            open_ids = [b["id"] for b in blocks if b["type"] == "tool_use"]
            need(not seen & set(open_ids) and len(set(open_ids)) == len(open_ids), f"message {n}: a call id is used twice")
            seen |= set(open_ids)
            for b in blocks:
                if b["type"] == "tool_use":
                    need(isinstance(b["input"], dict), f"message {n}: tool input is no object")
    need(not open_ids, f"calls {open_ids} are not answered")


def check_messages(messages, may_end_with_assistant):
    need(isinstance(messages, list) and messages, "messages is missing or empty")
    for n, message in enumerate(messages):
        need(message.get("role") == ("user", "assistant")[n % 2], f"message {n}: roles do not alternate")
        need(set(message) <= {"role", "content"}, f"message {n}: unknown key in {sorted(message)}")
        blocks = blocks_of(message)
        need(blocks, f"message {n} is empty")
        for b in blocks:
            need(b.get("type") != "text" or b["text"].strip(), f"message {n}: an empty or blank text block")
            if b.get("type") == "tool_result":
                inner = b.get("content", "")
                parts = inner if isinstance(inner, list) else []
                need(all(p.get("type") != "text" or p["text"].strip() for p in parts), f"message {n}: blank text in a result")
    need(messages[-1]["role"] == "user" or may_end_with_assistant, "the last message is the assistant's")
    check_pairing(messages)


def count_marks(value):
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(count_marks(v) for v in value.values())
    return sum(count_marks(v) for v in value) if isinstance(value, list) else 0


def check_head(head, path_seen):
    lines = head.split("\r\n")
    names = [h.split(":", 1)[0].lower() for h in lines[1:] if h]
    need(lines[0].startswith("POST ") and path_seen.split("?")[0].endswith("/v1/messages"), f"request line: {lines[0]}")
    for name in ("content-type", "anthropic-version", "content-length", "host"):
        need(names.count(name) == 1, f"header {name}: {names.count(name)} times")
    need(names.count("x-api-key") + names.count("authorization") <= 1, "more than one auth header")
    need("expect" not in names, "an Expect header")


def check_body(body, may_end_with_assistant):
    try:
        text = body.decode("utf-8")
        doc = json.loads(text, object_pairs_hook=no_duplicates)
    except (UnicodeDecodeError, json.JSONDecodeError) as e:
        raise Violation(f"the body is not UTF-8 JSON: {e}") from e
    need(isinstance(doc, dict), "the body is no object")
    for s in strings_in(doc):
        need(not re.search("[\ud800-\udfff]", s), "a lone surrogate in a string")
    unknown = set(doc) - KNOWN_KEYS
    need(not unknown, f"unknown keys {sorted(unknown)}")
    need(isinstance(doc.get("model"), str) and doc["model"], "no model")
    need(isinstance(doc.get("max_tokens"), int) and doc["max_tokens"] > 0, "no max_tokens")
    need(doc.get("stream") is True, "stream is not true")
    need(doc.get("system") not in ("", []), "an empty system")
    need(list(doc)[-1] == "messages", "messages is not the last key")
    if "tools" in doc:
        names = [t["name"] for t in doc["tools"]]
        need(names and len(set(names)) == len(names), f"tools: {names}")
        need(all(t["input_schema"]["type"] == "object" for t in doc["tools"]), "a tool schema is no object schema")
    need(count_marks(doc) <= 4, f"{count_marks(doc)} cache marks")
    check_messages(doc["messages"], may_end_with_assistant)
    return doc


def unmarked(value):
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [unmarked(v) for v in value] if isinstance(value, list) else value


def check_prefix(doc, before):
    """The cache's rule: what was sent is sent again, byte for byte, and something behind it."""
    for key in ("system", "tools"):
        need(json.dumps(doc.get(key)) == json.dumps(before.get(key)), f"{key} changed between two requests")
    flat = [[(m["role"], json.dumps(unmarked(b))) for m in d["messages"] for b in blocks_of(m)] for d in (before, doc)]
    need(flat[1][:len(flat[0])] == flat[0], "the conversation sent before is not a prefix of this one")


# ---------------------------------------------------------------- serving

class Server:
    def __init__(self, script, base, log, check):
        self.answers = []
        self.last = None
        for answer in script:
            repeat = answer.get("repeat", 1)
            if repeat is True:
                self.last = answer
            else:
                self.answers += [answer] * repeat
        self.base, self.log, self.check = base, log, check
        self.lock = threading.Lock()
        self.count = 0
        self.conversation = None
        self.paused = False

    def note(self, name, text):
        if self.log:
            with self.lock, open(os.path.join(self.log, name), "a") as f:
                f.write(text + "\n")

    def keep(self, serial, suffix, data):
        if self.log:
            with open(os.path.join(self.log, f"{serial:03d}.{suffix}"), "wb") as f:
                f.write(data)

    def judge(self, serial, head, body):
        try:
            check_head(head, head.split(" ", 2)[1])
            doc = check_body(body, self.paused)
            before = self.conversation
            if before and len(doc["messages"]) > 1 and doc["messages"][0] == before["messages"][0] \
                    and doc["model"] == before["model"]:
                check_prefix(doc, before)
            self.conversation = doc
            return doc
        except (Violation, KeyError, TypeError, AttributeError) as e:
            self.note("violations", f"request {serial}: {type(e).__name__}: {e}")
            return None

    def next_answer(self):
        with self.lock:
            self.count += 1
            serial = self.count
        if serial <= len(self.answers):
            return serial, self.answers[serial - 1]
        if self.last is not None:
            return serial, self.last
        self.note("violations", f"request {serial} is beyond the script")
        return serial, {"status": 400, "error": {"type": "invalid_request_error", "message": "the test's script is used up"}}

    def hold(self, answer, serial, sent):
        """Waits for the files that must be there before more is sent."""
        for n, name in answer.get("hold", []):
            for _ in range(1000 if n == sent else 0):
                if os.path.exists(os.path.join(self.base, name)):
                    break
                time.sleep(0.02)
            else:
                if n == sent:
                    self.note("violations", f"request {serial}: {name} did not come while the answer was held")

    def send_answer(self, conn, answer, serial, model):
        """True if the answer was sent in full."""
        time.sleep(answer.get("wait", 0))
        delay = answer.get("delay", 0)

        def send(data, split):
            for n, piece in enumerate(cut_up(data, split)):
                if n and delay:
                    time.sleep(delay)
                conn.sendall(piece)

        if answer.get("silent"):
            return False
        if "raw" in answer or "raw_file" in answer:
            data = answer["raw"].encode("latin-1") if "raw" in answer else read_file(self.base, answer["raw_file"])
            send(data, answer.get("split"))
            return True
        body, kind = body_of(answer, serial, model, self.base)
        length = answer.get("length", None if kind == "text/event-stream" else "right")
        heads = {"Content-Type": kind, "request-id": f"req_{serial}"}
        heads.update(answer.get("headers", {}))
        if length is not None:
            heads["Content-Length"] = len(body) if length == "right" else length
        else:
            heads["Transfer-Encoding"] = "chunked"
        if answer.get("then", "keep") == "close":
            heads.setdefault("Connection", "close")
        status = answer.get("status", 200)
        head = f"HTTP/1.1 {status} {answer.get('reason', 'Any')}\r\n"
        head += "".join(f"{k}: {header_value(v)}\r\n" for k, v in heads.items() if v is not None) + "\r\n"

        def put(data):
            conn.sendall(data if length is not None else b"%x\r\n%s\r\n" % (len(data), data))

        held = "hold" in answer
        pieces = cut_up(body, "events" if held else answer.get("split"))
        last = b"" if length is not None or answer.get("no_end") else b"0\r\n\r\n"
        head = head.encode("latin-1")
        if not (answer.get("split_head") or delay or answer.get("lead") or answer.get("head_only") or held):
            # The common case in one write: the whole answer.
            if length is None:
                pieces = [b"%x\r\n%s\r\n" % (len(p), p) for p in pieces]
            conn.sendall(head + b"".join(pieces[:1]))
            for piece in pieces[1:]:
                conn.sendall(piece)
            conn.sendall(last)
            return True
        send(head, 1 if answer.get("split_head") else None)
        if answer.get("head_only"):
            return False
        for _ in range(answer.get("lead_count", 1 if "lead" in answer else 0)):
            put(answer["lead"].encode())
            time.sleep(answer.get("lead_every", 0))
        for n, piece in enumerate(pieces):
            if n and delay:
                time.sleep(delay)
            self.hold(answer, serial, n)
            put(piece)
        self.hold(answer, serial, len(pieces))
        conn.sendall(last)
        return True

    def serve(self, conn):
        buf = b""
        try:
            while True:
                while b"\r\n\r\n" not in buf:
                    got = conn.recv(1 << 16)
                    if not got:
                        return
                    buf += got
                head, buf = buf.split(b"\r\n\r\n", 1)
                m = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                want = int(m.group(1)) if m else 0
                parts, have = [buf], len(buf)
                while have < want:
                    got = conn.recv(1 << 20)
                    if not got:
                        return
                    parts.append(got)
                    have += len(got)
                buf = b"".join(parts)
                body, buf = buf[:want], buf[want:]
                serial, answer = self.next_answer()
                self.keep(serial, "head", head)
                self.keep(serial, "json", body)
                doc = self.judge(serial, head.decode("latin-1"), body) if self.check else None
                self.paused = answer.get("stop_reason") == "pause_turn"
                if self.send_answer(conn, answer, serial, doc["model"] if doc else "mock"):
                    self.keep(serial, "done", b"")
                then = "hang" if answer.get("silent") or answer.get("head_only") else "keep"
                then = answer.get("then", "close" if "raw" in answer or "raw_file" in answer else then)
                if then == "hang":
                    while conn.recv(1 << 16):
                        pass
                if then == "reset":
                    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if then != "keep":
                    return
        except OSError:
            pass
        finally:
            conn.close()


def die_with_parent(parent):
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit(1)


def main():
    args = sys.argv[1:]
    port, log, tls, check = 0, None, None, True
    parent = os.getppid()
    while args and args[0].startswith("--"):
        option = args.pop(0)
        if option == "--port":
            port = int(args.pop(0))
        elif option == "--log":
            log = args.pop(0)
        elif option == "--tls":
            tls = (args.pop(0), args.pop(0))
        elif option == "--no-check":
            check = False
        else:
            sys.exit(f"server.py: unknown option {option}")
    if len(args) != 1:
        sys.exit(__doc__)
    die_with_parent(parent)
    with open(args[0], encoding="utf-8") as f:
        script = json.load(f)
    if log:
        os.makedirs(log, exist_ok=True)
    server = Server(script, os.path.dirname(os.path.abspath(args[0])), log, check)
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
    ear = socket.socket()
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ear.bind(("127.0.0.1", port))
    ear.listen(128)
    print("PORT", ear.getsockname()[1], flush=True)

    def start(conn):
        try:
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context:
                conn = context.wrap_socket(conn, server_side=True)
        except OSError as e:
            server.note("tls-errors", str(e))
            return
        server.serve(conn)

    while True:
        conn, peer = ear.accept()
        server.note("connections", f"{peer[1]}")
        threading.Thread(target=start, args=(conn,), daemon=True).start()


if __name__ == "__main__":
    main()
