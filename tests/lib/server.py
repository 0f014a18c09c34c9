#!/usr/bin/env python3
"""A model server that plays a script: the n-th request gets the n-th answer.

usage: server.py [--port N] [--log DIR] [--tls CERT KEY] [--no-check] SCRIPT.json

Prints "PORT <n>" when it listens on 127.0.0.1, and dies with the process that started it.
SCRIPT is a list of answers. What is asked beyond its end is refused (400) and noted as a violation,
unless the last answer has "repeat": true; "repeat": N plays any answer N times. Or it is an object:
  answers: [...]   that list, for the main requests
  player: {rounds, calls: [{name,input} | [..]], text, text_bytes, thinking, thinking_bytes, answer, at: {"N": ANSWER}}
      instead: so many rounds with these calls in turn ({n} in their strings is the round), then the answer;
      thinking: true or "asked" (if the request has that key)
  compact: [ANSWER | NAME | "NAME*"]   for summaries of the conversation; names: see COMPACTIONS in mock_model.py, with
      a star for ever. Default: good ones.      no_tools: true  such requests are told by their words
  summary_models: [...], summary: [...]     whose requests are background summaries, and what they get
  window: N tokens   of bytes_per_token (4) bytes each. Prompts beyond it are refused, answers end at it, usage is true.
  too_long: {status, text}    how they are refused; {tokens} and {window} in the text
  with_answer: true   max_tokens must fit, too
  overloaded: {MODEL: N or true or {after: N, times: N or true}}   so many requests for that model get 529
  count_tokens: false   that address is not there (it is if there is a window)

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
Log (DIR): NNN.json the request's body, NNN.head its head, NNN.done when the answer was sent in full (cNN: a count of
tokens), connections (a line each), violations (a line for each thing wrong with a request; absent if none), breaks (a
line for each main request that does not go on from the run's one before, see breaks.py), kinds and over (for a SCRIPT
that is an object: each request's kind; those that did not fit the window). DIR/run, if it is there, names the run.
"""
import json
import os
import re
import signal
import socket
import struct
import sys
import threading
import time

from check_request import RETRIED, Judge, Request, Violation
from mock_model import Script, body_of, content_of, is_stream, read_file


def cut_up(data, split):
    if split == "events":
        return [p for p in re.split(rb"(?<=\n\n)", data) if p]
    if isinstance(split, int):
        return [data[i:i + split] for i in range(0, len(data), split)]
    return [data] if data else []


def header_value(value):
    m = re.fullmatch(r"@([+-]\d+)s", str(value))
    if not m:
        return str(value)
    from email.utils import formatdate  # what few tests need is loaded then: the server starts hundreds of times
    return formatdate(time.time() + int(m.group(1)), usegmt=True)


# ---------------------------------------------------------------- serving

class Server:
    def __init__(self, script, base, log, check):
        self.script = Script(script)
        self.base, self.log, self.check = base, log, check
        self.lock = threading.RLock()
        self.judge = Judge()
        self.count = self.counted = 0

    def note(self, name, text):
        if self.log:
            with self.lock, open(os.path.join(self.log, name), "a") as f:
                f.write(text + "\n")

    def keep(self, serial, suffix, data):
        if self.log:
            name = serial if isinstance(serial, str) else f"{serial:03d}"
            with open(os.path.join(self.log, f"{name}.{suffix}"), "wb") as f:
                f.write(data)

    def violation(self, serial, text):
        self.note("violations", f"request {serial}: {text}")

    def run_name(self):
        """The harness names the run that is on, see q_in of helpers.bash; "" = it is not known."""
        try:
            with open(os.path.join(self.log or "", "run"), encoding="utf-8") as f:
                return f.read().strip()
        except OSError:
            return ""

    def number(self, count):
        if count:
            self.counted += 1
            return f"c{self.counted:02d}"
        self.count += 1
        return self.count

    def read(self, serial, head, body, count):
        """The request if all is well with it as far as it goes, or None."""
        if not self.check:
            return None
        try:
            request = Request(body)
            self.judge.check(head, request, count)
            return request
        except (Violation, KeyError, TypeError, AttributeError, IndexError) as e:
            self.violation(serial, f"{type(e).__name__}: {e}")
            return None

    def follow(self, serial, request):
        try:
            broken = self.judge.follow(request, serial, self.run_name())
        except Violation as e:
            self.violation(serial, e)
            return
        if broken:
            self.note("breaks", json.dumps(broken))

    def decide(self, head, body):
        """Looks at the request and takes its answer: in the order in which they came."""
        count = head.split("\r\n", 1)[0].split(" ")[1].split("?")[0].endswith("/count_tokens")
        with self.lock:
            serial = self.number(count)
            self.keep(serial, "head", head.encode("latin-1"))
            self.keep(serial, "json", body)
            request = self.read(serial, head, body, count)
            kind = self.script.kind(request, count)
            if kind == "main" and request:
                self.follow(serial, request)
            if not self.script.ordered:
                self.note("kinds", f"{serial} {kind}")
                if self.script.window and request and self.script.tokens(request) > self.script.window:
                    self.note("over", f"{serial} {kind} {self.script.tokens(request)}")
            answer, wrong = self.script.answer(kind, request)
            if wrong:
                self.violation(serial, wrong)
            if kind == "main":
                self.judge.retry = answer.get("status") in RETRIED
                self.judge.cut = answer.get("stop_reason") == "model_context_window_exceeded"
                self.judge.may_end_with_assistant = answer.get("stop_reason") == "pause_turn"
            self.remember(answer, request)
        return serial, answer, request.doc["model"] if request else "mock"

    def remember(self, answer, request):
        said = self.judge.said
        if not is_stream(answer):
            said.opaque = said.opaque or "error" not in answer
        elif request:
            for block in content_of(answer):
                if "thinking" in block:
                    said.note({"type": "thinking", "signature": "c2ln", **block}, request)
                elif block.get("raw_block", {}).get("type") in ("thinking", "redacted_thinking"):
                    said.note(block["raw_block"], request)

    def hold(self, answer, serial, sent):
        """Waits for the files that must be there before more is sent."""
        for n, name in answer.get("hold", []):
            for _ in range(1000 if n == sent else 0):
                if os.path.exists(os.path.join(self.base, name)):
                    break
                time.sleep(0.02)
            else:
                if n == sent:
                    self.violation(serial, f"{name} did not come while the answer was held")

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
                serial, answer, model = self.decide(head.decode("latin-1"), body)
                if self.send_answer(conn, answer, serial, model):
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
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit(1)


class Listening:
    """A server whose port is open; run() answers until the process ends."""

    def __init__(self, server, port, tls):
        self.server = server
        self.context = None
        if tls:
            import ssl
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*tls)
        self.ear = socket.socket()
        self.ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.ear.bind(("127.0.0.1", port))
        self.ear.listen(128)
        self.port = self.ear.getsockname()[1]

    def talk(self, conn):
        try:
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.context:
                conn = self.context.wrap_socket(conn, server_side=True)
        except OSError as e:
            self.server.note("tls-errors", str(e))
            return
        self.server.serve(conn)

    def run(self):
        while True:
            conn, peer = self.ear.accept()
            self.server.note("connections", f"{peer[1]}")
            threading.Thread(target=self.talk, args=(conn,), daemon=True).start()


class InThread(Server):
    """A server within a program that plays the model itself; closing `ear` ends it."""

    def listen(self):
        """The port on which it answers from now on."""
        ear = socket.socket()
        ear.bind(("127.0.0.1", 0))
        ear.listen(16)

        def accept():
            while True:
                try:
                    conn, _ = ear.accept()
                except OSError:
                    return
                conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        self.ear = ear
        return ear.getsockname()[1]


def listen(args):
    """A server as the arguments want it."""
    args = list(args)
    port, log, tls, check = 0, None, None, True
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
    die_with_parent(os.getppid())
    with open(args[0], encoding="utf-8") as f:
        script = json.load(f)
    if log:
        os.makedirs(log, exist_ok=True)
    return Listening(Server(script, os.path.dirname(os.path.abspath(args[0])), log, check), port, tls)


def main():
    listening = listen(sys.argv[1:])
    print("PORT", listening.port, flush=True)
    listening.run()


if __name__ == "__main__":
    main()
