"""A job that is drawn, played straight through and played again with an end by SIGKILL at random moments: behind each
resume the requests must be, byte for byte, those of the straight run.

usage: goes_on.py QUERN ROUNDS [--seed N] [--only ROUND] [--keep] [-v]

What is drawn: calls that look, write, and change directory, several in one answer; thinking; answers that are cut,
paused, broken, refused for now; a small window with each of the layers on or off; memory files, hooks that speak or
object, a target of tokens; models that are overloaded, and others that take over; answers that fill the window. A kill
falls on a request, before its answer or behind any of its events that starts no call with effects: nothing is in flight
then that would have to be told as interrupted. Of the lines that were not waited for the last ones may be missing.
Each round ends with session_totals that are what the server counted.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_request import Judge  # noqa: E402
from mock_model import content_of, is_stream, stream_events  # noqa: E402
from server import InThread  # noqa: E402
from survivors import read  # noqa: E402

LOOKS = {"Read", "Grep", "Glob", "TodoWrite"}
BUSY = {"status": 500, "headers": {"retry-after-ms": "1"}, "error": {"type": "api_error", "message": "hiccup"}}
OVERLOADED = {"status": 529, "headers": {"retry-after-ms": "1"}, "error": {"type": "overloaded_error", "message": "busy"}, "repeat": 3}
PATIENCE = 60  # seconds that a run may take


# ---------------------------------------------------------------- what is drawn

class Draw:
    def __init__(self, rng):
        self.rng, self.calls = rng, 0

    def one_of(self, *what):
        return self.rng.choice(what)

    def maybe(self, chance):
        return self.rng.random() < chance

    def path(self):
        return self.one_of("a.txt", "b.txt", "deep/c.txt", "deep/down/d.txt", "deep/down/e.txt", "other/f.txt")

    def use(self, name, **value):
        self.calls += 1
        return {"tool_use": {"name": name, "input": value, "id": f"toolu_{self.calls}"}}

    def look(self):
        kind = self.rng.randrange(6)
        if kind < 3:
            more = {"offset": self.rng.randrange(1, 40), "limit": self.rng.randrange(1, 60)} if self.maybe(0.3) else {}
            return self.use("Read", file_path=self.path(), **more)
        if kind == 3:
            return self.use("Grep", pattern=self.one_of("line 1", "word", "[3-5]$"), output_mode="content")
        if kind == 4:
            return self.use("Glob", pattern=self.one_of("**/*.txt", "deep/*"))
        return self.use("TodoWrite", todos=[{"content": f"thing {self.rng.randrange(9)}", "status": "pending", "activeForm": "x"}])

    def change(self):
        kind, n = self.rng.randrange(7), self.calls
        if kind < 2:
            return self.use("Bash", command=f"echo word {n} >>{self.path()}; seq {self.rng.randrange(1, 900)}")
        if kind == 2:
            return self.use("Bash", command=f"cd {self.one_of('deep', 'deep/down', 'other', '..', '.')} && pwd")
        if kind == 3:
            return self.use("Bash", command=self.one_of("false", "ls nothing", "exit 3"))
        if kind == 4:
            return self.use("Write", file_path=self.one_of(f"new{n}.txt", self.path()), content=f"line {n}\nword\n" * 5)
        return self.use("Edit", file_path=self.path(), old_string=f"line {self.rng.randrange(1, 9)}\n",
                        new_string=f"row {n}\n")

    def calls_of(self):
        looks = [self.look() for _ in range(self.rng.randrange(0, 4))]
        # what is read twice at once may be told twice or once, as it comes
        out = [u for i, u in enumerate(looks) if u["tool_use"]["name"] != "Read" or
               u["tool_use"]["input"]["file_path"] not in [v["tool_use"]["input"].get("file_path") for v in looks[:i]]]
        for _ in range(self.rng.randrange(0, 3) if out else 1):
            out.insert(self.rng.randrange(len(out) + 1), self.change())
        if self.maybe(0.05):
            out.append(self.use("Nonesuch", x=1))
        return out

    def answer(self, n):
        content = []
        if self.maybe(0.4):
            content.append({"thinking": f"thought {n} " * self.rng.randrange(1, 9), "signature": f"sig{n}"})
        if self.maybe(0.6):
            content.append({"text": f"Step {n}. " + "word " * self.rng.randrange(0, 60)})
        how = self.rng.random()
        if how < 0.72 or n < 2:
            return {"content": content + self.calls_of()}
        if how < 0.79:
            return {"content": content + [{"text": f"half {n}"}] + ([self.look()] if self.maybe(0.4) else []), "stop_reason": "max_tokens"}
        if how < 0.83:
            return {"content": [{"text": f"wait {n}"}], "stop_reason": "pause_turn"}
        if how < 0.87:
            return {"content": [], "stop_reason": "end_turn"}
        if how < 0.90:
            return BUSY
        if how < 0.93 and self.others:
            return OVERLOADED
        if how < 0.95 and self.full:
            return {"content": content + [{"text": f"full {n}"}], "stop_reason": "model_context_window_exceeded"}
        return {"content": content + [self.look(), {"text": "and more"}], "stop_after": self.rng.randrange(1, 6),
                "no_end": True, "then": "close"}

    def job(self):
        window = self.one_of(None, None, 12000, 16000, 30000)
        self.full = bool(window)
        self.others = self.one_of([], [], ["claude-sonnet-5"], ["claude-sonnet-5", "claude-haiku-4-5"])
        count = self.rng.randrange(5, 14) if not window else self.rng.randrange(14, 40)
        script = {"answers": [self.answer(n) for n in range(count)] + [{"text": "all done"}] * 12}
        job = {"version": 1, "prompt": "Do the steps.", "permissions": {"allow": ["Bash", "Edit", "Write"]},
               "sandbox": {"best_effort": True}, "limits": {"max_turns": 300},
               "model": {"name": self.one_of("tiny", "claude-sonnet-4-5", "claude-opus-5"), "max_retries": 5},
               "tools": {"builtin": ["Read", "Grep", "Glob", "Edit", "Write", "Bash", "TodoWrite"]}}
        if self.others:
            job["model"]["fallback"] = self.others
        if window:
            script["window"] = window
            job["system"] = "You work."
            job["context"] = {"window": window}
            for layer in ("microcompact_at", "collapse_at"):
                if self.maybe(0.4):
                    job["context"][layer] = "off"
            if self.maybe(0.3):
                job["context"]["snip_at"] = "80%"
        if self.maybe(0.5):
            job["memory"] = ["auto"]
        if self.maybe(0.3):
            job["limits"]["token_target"] = self.rng.randrange(100, 3000)
        hooks = {}
        if self.maybe(0.3):
            hooks["UserPromptSubmit"] = "echo about the prompt"
        if self.maybe(0.3):
            hooks["PostToolUse"] = """echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"seen"}}'"""
        if self.maybe(0.2):
            hooks["PostToolBatch"] = """echo '{"hookSpecificOutput":{"hookEventName":"PostToolBatch","additionalContext":"all seen"}}'"""
        if self.maybe(0.3):
            hooks["Stop"] = """grep -q '"stop_hook_active":true' || { echo once more >&2; exit 2; }"""
        if hooks:
            job["hooks"] = {k: [{"hooks": [{"type": "command", "command": v}]}] for k, v in hooks.items()}
        return script, job


# ---------------------------------------------------------------- the server's part

def tokens_of(answer, serial, events=None):
    """What an answer, or the first so many events of it, cost."""
    usage = {}
    if not is_stream(answer):
        return 0
    for event in stream_events({**answer, **({"stop_after": min(events, answer.get("stop_after", events))} if events is not None else {})}, serial, "m"):
        data = json.loads(event.split("data: ", 1)[1])
        usage.update(data.get("usage") or data.get("message", {}).get("usage") or {})
    return sum(v for k, v in usage.items() if k in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))


def safe_events(answer, serial):
    """So many events of an answer may be sent without that a call with effects starts."""
    if not is_stream(answer):
        return 0
    events = stream_events(answer, serial, "m")
    uses = [i for i, b in enumerate(content_of(answer)) if "tool_use" in b and b["tool_use"]["name"] not in LOOKS]
    if not uses:
        return len(events)
    for at, event in enumerate(events):
        if event.startswith("event: content_block_stop") and f'"index": {uses[0]}' in event:
            return at + 1
    return len(events)


class Model(InThread):
    """Straight: plays the script, and keeps each request with its answer. Again: each request must be the next one of
    these, or one that was sent when the run before was killed."""

    def __init__(self, script, problem):
        super().__init__(script, None, None, True)
        self.problem, self.session = problem, lambda: ""
        self.tape, self.at, self.again = [], 0, False
        self.judge = Judge()
        self.kill_at = None   # (request, events)
        self.on_kill = lambda: None
        self.requests, self.tokens, self.unsure = 0, 0, 0

    def violation(self, serial, text):
        self.problem(f"request {serial}: {text}")

    def next_run(self):
        self.at, self.again, self.requests, self.tokens, self.unsure = 0, True, 0, 0, 0
        self.judge = Judge()

    def find(self, text):
        for i in [self.at, *range(self.at - 1, -1, -1)]:
            if i < len(self.tape) and self.tape[i]["text"] == text:
                return i
        return None

    def decide(self, head, body):
        count = head.split(" ")[1].split("?")[0].endswith("/count_tokens")
        with self.lock:
            text = body.decode().replace(self.session(), "SESSION")
            if not self.again:
                may_end = self.judge.may_end_with_assistant
                serial, answer, model = super().decide(head, body)
                if "no_end" in answer or not is_stream(answer) or answer.get("stop_reason") == "max_tokens":
                    self.judge.may_end_with_assistant = may_end
                if isinstance(serial, int) and "content" in answer:  # ids do not depend on how often it is asked
                    answer = {"id": f"msg_{serial}", **answer}
                self.tape.append({"text": text, "answer": answer, "model": model, "count": count})
                return serial, answer, model
            i = self.find(text)
            if i is None:
                self.tell_difference(text)
                return len(self.tape), {"status": 400, "error": {"type": "invalid_request_error", "message": "not that of the straight run"}}, "m"
            self.at = i + 1
            entry = self.tape[i]
            self.requests += 1
            killed = self.kill_at and self.kill_at[0] == i
            if killed:
                self.unsure += tokens_of(entry["answer"], i, self.kill_at[1]) if self.kill_at[1] else 0
            else:
                self.tokens += tokens_of(entry["answer"], i)
            return i, entry["answer"], entry["model"]

    def tell_difference(self, text):
        if self.at >= len(self.tape):
            self.problem("a request that the straight run does not have")
            return
        was = self.tape[self.at]["text"]
        n = next((k for k, (a, b) in enumerate(zip(was, text)) if a != b), min(len(was), len(text)))
        self.problem(f"request {self.at} differs at byte {n}:\n  straight: ...{was[max(0, n - 120):n + 200]}\n  resumed:  ...{text[max(0, n - 120):n + 200]}")

    def send_answer(self, conn, answer, serial, model):
        kill = self.again and self.kill_at and self.kill_at[0] == serial
        if not kill:
            return super().send_answer(conn, answer, serial, model)
        _, events, pause = self.kill_at
        self.kill_at = None
        if events:
            answer = json.loads(json.dumps(answer).replace('"toolu_', '"gone_'))  # as a model's next try has other ids
            cut = {**answer, "split": "events", "stop_after": min(events, answer.get("stop_after", events)), "no_end": True}
            super().send_answer(conn, cut, serial, model)
        time.sleep(pause)
        self.on_kill()
        return False


# ---------------------------------------------------------------- one round

class Round:
    def __init__(self, quern, rng, top):
        self.quern, self.rng = os.path.abspath(quern), rng
        self.dir = tempfile.mkdtemp(prefix="round-", dir=top)
        self.record = f"{self.dir}/run.ndjson"
        self.problems, self.kills, self.cuts, self.ends = [], 0, 0, None
        self.script, self.job = Draw(rng).job()
        self.model = Model(self.script, self.problems.append)
        self.model.session = self.session
        self.job["model"]["base_url"] = f"http://127.0.0.1:{self.model.listen()}"
        with open(f"{self.dir}/job.yaml", "w") as out:
            json.dump(self.job, out)
        self.env = dict(os.environ, TMPDIR=f"{self.dir}/tmp", HOME=f"{self.dir}/home", XDG_STATE_HOME=f"{self.dir}/state")

    def session(self):
        found = re.search(rb'"session_id":"([0-9a-f-]{36})"', read(self.record)[:20000])
        return found.group(1).decode() if found else "no session yet"

    def fresh(self):
        for name in ("tmp", "home", "state", "work"):
            shutil.rmtree(f"{self.dir}/{name}", ignore_errors=True)
            os.mkdir(f"{self.dir}/{name}")
        os.makedirs(f"{self.dir}/work/deep/down")
        os.mkdir(f"{self.dir}/work/other")
        for n, path in enumerate(("a.txt", "b.txt", "deep/c.txt", "deep/down/d.txt", "deep/down/e.txt", "other/f.txt")):
            with open(f"{self.dir}/work/{path}", "w") as f:
                f.write("".join(f"line {k} {path}\nline {k}\nword {k}\n" for k in range(30 * n)))
        for path in ("AGENTS.md", "deep/AGENTS.md", "deep/down/CLAUDE.md", "other/AGENTS.md"):
            with open(f"{self.dir}/work/{path}", "w") as f:
                f.write(f"Rules of {path}.\n")
        for f in ("run.ndjson",):
            if os.path.exists(f"{self.dir}/{f}"):
                os.rename(f"{self.dir}/{f}", f"{self.dir}/{f}.straight")

    def start(self):
        self.killed = False
        command = [self.quern, "-C", "work", "--resume", "run.ndjson", "--events", "run.ndjson", "job.yaml"]
        with open(f"{self.dir}/out", "ab") as out, open(f"{self.dir}/err", "ab") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.dir,
                                            env=self.env, start_new_session=True)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.problems.append(f"still there after {PATIENCE} s")
            return self.process.wait()

    def kill(self):
        self.killed = True
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def tear(self):
        """Lines that nobody waited for may be missing."""
        text = read(self.record)
        lines = text.split(b"\n")[:-1]
        keep = len(lines)
        while keep:
            try:
                line = json.loads(lines[keep - 1])
            except ValueError:
                break
            kind = line.get("subtype") or line["type"]
            if kind in ("user", "quern_tool_start", "quern_history", "init", "quern_resume", "result", "compact_boundary"):
                break
            if kind == "assistant" and line["message"].get("stop_reason"):
                break
            if kind == "quern_tombstone":
                break
            keep -= 1
        sure = sum(len(line) + 1 for line in lines[:keep])
        if sure < len(text):
            os.truncate(self.record, self.rng.randrange(sure, len(text) + 1))
            self.cuts += 1

    def end_of_record(self):
        for line in reversed(read(self.record).split(b"\n")):
            try:
                return json.loads(line)
            except ValueError:
                continue
        return {}

    def interrupted(self):
        return any(b'"subtype":"quern_resume"' in line and not b'"interrupted":[]' in line
                   for line in read(self.record).split(b"\n"))

    def run(self):
        self.fresh()
        code = self.start()
        if self.problems:
            return
        straight = self.end_of_record()
        self.straight_code = code
        self.ends = straight.get("terminal_reason")
        tape = self.model.tape
        moments = []
        for _ in range(self.rng.randrange(1, 4)):
            n = self.rng.randrange(len(tape))
            if tape[n]["count"]:
                continue
            most = safe_events(tape[n]["answer"], n)
            moments.append((n, self.rng.choice([0, self.rng.randrange(most + 1)]), self.rng.choice([0, 0.003, 0.02])))
        self.fresh()
        self.model.next_run()
        tears = self.rng.random() < 0.5
        for moment in sorted(moments):
            if moment[0] < self.model.at - 1:
                continue
            self.model.kill_at, self.model.on_kill = moment, self.kill
            self.moment = moment
            again = self.start()
            if self.problems or not self.killed:
                break
            self.kills += 1
            if tears:
                self.tear()
        if not self.problems and (self.killed or not self.kills):
            self.model.kill_at = None
            again = self.start()
        if self.interrupted():
            self.problems.clear()
            self.ends = "interrupted"
            return
        if self.problems:
            return
        last = self.end_of_record()
        if again != code or last.get("terminal_reason") != self.ends or last.get("result") != straight.get("result"):
            self.problems.append(f"straight {code} {self.ends} {straight.get('result')!r}, resumed {again} "
                                 f"{last.get('terminal_reason')} {last.get('result')!r}")
        if self.model.at != len(tape):
            self.problems.append(f"the straight run sent {len(tape)} requests, the resumed one came to {self.model.at}")
        if not self.cuts:
            self.check_totals(last)

    def check_totals(self, last):
        totals = last.get("session_totals", {})
        sent, models = totals.get("requests"), totals.get("models", {})
        lost = sum(e["answer"].get("then") == "close" for e in self.model.tape)  # a connection that was closed just then
        if not self.model.requests <= sent <= self.model.requests + lost:
            self.problems.append(f"the server had {self.model.requests} requests, session_totals tells of {sent}")
        paid = sum(m["usage"].get(k) or 0 for m in models.values() for k in
                   ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
        least, most = self.model.tokens, self.model.tokens + self.model.unsure
        if not least <= paid <= most or (paid < most and not totals.get("cost_lower_bound")):
            self.problems.append(f"the server counted {least} to {most} tokens, session_totals has {paid} ({totals.get('cost_lower_bound')})")
        if set(models) - {self.job["model"]["name"], *self.job["model"].get("fallback", [])}:
            self.problems.append(f"models: {list(models)}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("quern")
    p.add_argument("rounds", type=int)
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--only", type=int)
    p.add_argument("--keep", action="store_true")
    p.add_argument("-v", action="store_true")
    options = p.parse_args()
    top = tempfile.mkdtemp(prefix="goes-on-")
    bad = kills = lost = 0
    for n in range(options.rounds) if options.only is None else [options.only]:
        r = Round(options.quern, random.Random(f"{options.seed} {n}"), top)
        r.run()
        r.model.ear.close()
        kills, lost = kills + r.kills, lost + (r.ends == "interrupted")
        if options.v:
            print(f"round {n}: {len(r.model.tape)} requests, {r.kills} kills, {r.cuts} cuts, {r.ends}", flush=True)
        if r.problems:
            bad += 1
            print(f"seed {options.seed}, round {n} ({getattr(r, 'moment', None)}): " + "\n  ".join(r.problems[:4]), flush=True)
        if r.problems and options.keep:
            print(f"  kept: {r.dir}")
        else:
            shutil.rmtree(r.dir, ignore_errors=True)
    if not (options.keep and bad):
        shutil.rmtree(top, ignore_errors=True)
    print(f"{options.rounds} rounds, {kills} kills, {bad} bad, {lost} with a call in flight (seed {options.seed})")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
