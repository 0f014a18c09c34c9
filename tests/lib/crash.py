"""Ends a run by SIGKILL at random moments, starts it again by the very same command, and so on until it has come to its
end: then it must be as if nothing had happened.

usage: crash.py QUERN ENDS [--variant NAME]... [--fault NAME]... [--seed N] [--keep] [-v]

The job has 20 turns; in each one a tool adds a line to a file. The model is one that answers by what it sees in the
request. It is told when it is not known whether a call had an effect: then it looks at the file first. What must hold:
each line stands in the file once; every request is valid and goes on from the one before; no call is told as done or
undone wrongly; the record can be read; no process and no temporary directory is left.

Variants:
  events       Bash, --resume run.ndjson --events run.ndjson
  stdout       Bash, --resume run.ndjson >>run.ndjson
  parallel     two that only look, and Bash, in one answer
  edit         Write, then Edit, which has to know what was read or written before
  bundle       Bash, --resume run.tar.zst --record run.tar.zst
  transaction  Bash in a copy of the workspace, which takes its place at the end
Each moment is drawn: a time after the start, an event of an answer that is not sent any more, a time behind an answer,
a length of the record. So is who is killed (the program; its process group; all that it started as well), and whether
the last line is torn on top of that, as it can be when a machine goes down.

With --fault runs are not killed: the record cannot be written from some moment on, and they end by themselves. Then it
must also hold that they say so, and that nothing was done that the record does not tell of.
  fsize        the file may not grow any more (RLIMIT_FSIZE)
  write        ENOSPC, once or from then on; by strace
  fsync        EIO, once or from then on; by strace
"""
import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_request import Judge, Violation, blocks_of  # noqa: E402
from server import InThread  # noqa: E402
from survivors import read  # noqa: E402

TURNS = 20
LINES = "".join(f"line {n}\n" for n in range(1, TURNS + 1))
VARIANTS = ["events", "stdout", "parallel", "edit", "bundle", "transaction"]
FAULTS = ["fsize", "write", "fsync"]
PATIENCE = 60  # seconds that a run may take which nobody ends


def use(serial, name, **value):
    return {"tool_use": {"name": name, "input": value, "id": f"call_{serial}"}}


def text_of(result):
    content = result.get("content", "")
    return content if isinstance(content, str) else "".join(p.get("text", "") for p in content)


class Model(InThread):
    """Answers by what stands in the request, so that it does not matter how often the program was started."""

    def __init__(self, variant, problem):
        self.variant, self.problem = variant, problem
        self.check, self.log, self.base = True, None, None
        self.lock, self.judge = threading.RLock(), Judge()
        self.count = self.counted = 0
        self.moves = False  # it may go on in another directory, which changes what stands in front
        self.unknown = self.undone = 0  # calls of which that was told
        self.on_request = self.on_answered = lambda *_: None

    # ---- what the conversation says

    def line_of(self, call):
        """The number of the line that a call adds, or None."""
        words = call["input"].get("command") or call["input"].get("new_string") or call["input"].get("content") or ""
        found = re.search(r"\bline (\d+)", words)
        return int(found.group(1)) if found else None

    def see(self, doc):
        """(number of the next line, is it unknown whether it is there already?)"""
        calls, n, doubt = {}, 1, False
        self.unknown = self.undone = 0
        for message in doc["messages"]:
            for block in blocks_of(message):
                if block["type"] == "tool_use":
                    calls[block["id"]] = block
                if block["type"] != "tool_result":
                    continue
                call, text = calls[block["tool_use_id"]], text_of(block)
                line = self.line_of(call)
                if call["name"] == "Read":
                    if doubt:
                        n += bool(re.search(rf"\bline {n}$", text, re.M))
                        doubt = bool(block.get("is_error")) and "interrupted" in text
                elif line is None:
                    pass
                elif line != n:
                    self.problem(f"line {line} was asked for where {n} is next")
                elif not block.get("is_error"):
                    n += 1
                elif "not known" in text:
                    self.unknown += 1
                    doubt = True
                elif "interrupted" in text:
                    self.undone += 1
                else:
                    self.problem(f"{call['name']} of line {line}: {text[:200]}")
                    doubt = True
        return n, doubt

    def write(self, serial, n):
        if self.variant != "edit":
            return use(serial, "Bash", command=f"sleep 0.00{serial % 10}; echo line {n} >>log.txt; sleep 0.00{serial % 7}")
        if n == 1:
            return use(serial, "Write", file_path="log.txt", content="line 1\nEND\n")
        return use(serial, "Edit", file_path="log.txt", old_string="END\n", new_string=f"line {n}\nEND\n")

    def answer(self, doc, serial):
        n, doubt = self.see(doc)
        look = use(f"{serial}_look", "Read", file_path="log.txt")
        if doubt:
            return {"content": [{"text": "I look first."}, look]}
        if n > TURNS:
            return {"text": "all done"}
        content = [{"thinking": f"thought {serial}", "signature": f"sig{serial}"}, {"text": f"Step {n}."}]
        if self.variant == "parallel":
            content += [look, use(f"{serial}_find", "Grep", pattern="line")]
        return {"content": content + [self.write(serial, n)]}

    # ---- the server's part

    def decide(self, head, body):
        with self.lock:
            self.count += 1
            serial = self.count
            request = self.read(serial, head, body, False)
            if not request:
                return serial, {"status": 500, "error": {"type": "api_error", "message": "see violations"}}, "mock"
            try:
                broken = self.judge.follow(request, serial, "one")
            except Violation as e:
                broken = str(e)
            if broken and not (self.moves and "changed" in str(broken)):
                self.problem(f"request {serial}: {broken}")
            answer = self.answer(request.doc, serial)
            self.remember(answer, request)
            return serial, {**answer, "split": "events", "piece": 12}, request.doc["model"]

    def violation(self, serial, text):
        self.problem(f"request {serial}: {text}")

    def send_answer(self, conn, answer, serial, model):
        at = self.on_request(serial)
        if at is not None:
            cut = {**answer, "stop_after": at, "no_end": True, "then": "hang"}
            if at:
                super().send_answer(conn, cut, serial, model)
                time.sleep(0.003)
            self.on_request(None)
            return False
        done = super().send_answer(conn, answer, serial, model)
        self.on_answered(serial)
        return done


# ---------------------------------------------------------------- one job, however often it is started

def marked(mark):
    """Live processes that bear the mark, but this one."""
    found = []
    for p in os.listdir("/proc"):
        if p.isdigit() and int(p) != os.getpid() and mark in read(f"/proc/{p}/environ"):
            found.append(int(p))
    return found


def name_of(pid):
    return f"{pid} " + read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace")[:100]


class Job:
    def __init__(self, quern, variant, fault, rng, top):
        self.fault, self.limit = fault, None
        self.variant, self.rng = variant, rng
        self.dir = tempfile.mkdtemp(prefix=f"{variant}-", dir=top)
        self.mark = f"crash-mark-{os.getpid()}-{rng.random()}"
        self.record = f"{self.dir}/run." + ("tar.zst" if variant == "bundle" else "ndjson")
        self.problems, self.kills, self.tears, self.starts = [], 0, 0, 0
        self.early = 0  # ends before a line was there: nobody was told where the copy of the workspace is
        self.model = Model(variant, self.problem)
        self.model.moves = variant == "transaction" and fault is not None
        port = self.model.listen()
        for name in ("tmp", "home", "place/work"):
            os.makedirs(f"{self.dir}/{name}")
        with open(f"{self.dir}/job.yaml", "w") as out:
            job = {"version": 1, "prompt": "Write twenty lines.", "model": {"base_url": f"http://127.0.0.1:{port}"},
                   "permissions": {"allow": ["Bash", "Edit", "Write"]}, "sandbox": {"best_effort": True}}
            if variant == "transaction":
                job["workspace"] = {"transaction": True}
            json.dump(job, out)
        name = os.path.basename(self.record)
        self.command = [quern, "--resume", name, *{"bundle": ["--record", name], "stdout": []}.get(
            variant, ["--events", name]), "-C", "place/work", "job.yaml"]
        self.env = dict(os.environ, TMPDIR=f"{self.dir}/tmp", HOME=f"{self.dir}/home",
                        XDG_STATE_HOME=f"{self.dir}/state", CRASH_MARK=self.mark)
        self.env.pop("ANTHROPIC_API_KEY", None)

    def problem(self, text):
        self.problems.append(f"start {self.starts}: {text}")

    def size(self):
        try:
            return os.stat(self.record).st_size
        except OSError:
            return 0

    # ---- ends

    def broken(self):
        """The command under a fault that is drawn."""
        rng = self.rng
        if self.fault == "fsize":
            self.limit = self.size() + rng.randrange(0, 6000)
            return self.command
        calls, error = ("write,writev,pwrite64", "ENOSPC") if self.fault == "write" else ("fsync,fdatasync", "EIO")
        when = f"{rng.randrange(1, 9)}{rng.choice(['', '+'])}"
        return ["strace", "-qq", "-o", f"{self.dir}/trace", "-P", self.record, "-e", f"trace={calls}",
                "-e", f"inject={calls}:error={error}:when={when}", *self.command]

    def limit_files(self):
        if self.limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, self.limit))

    def check_honest(self, code):
        """The run could not write its record: it says so, and has done nothing that the record does not tell of."""
        last = read(f"{self.dir}/out").rsplit(b"\n", 2)[-2:-1]
        said = read(f"{self.dir}/err").decode(errors="replace")
        try:
            result = json.loads(last[0])
        except (ValueError, IndexError):
            result = {}
        if code not in (1, 2) or not said.strip():
            self.problem(f"exit {code} and '{said[-300:]}' where the record cannot be written")
        if self.variant != "stdout" and (result.get("type") != "result" or result.get("exit_code") != code):
            self.problem(f"the last line of stdout is {str(result)[:300]}, the exit code {code}")
        begun = sum(b'"quern_tool_start"' in line and b'"Bash"' in line for line in self.lines())
        done = read(f"{self.dir}/place/work/log.txt").count(b"\n")
        if self.variant == "events" and begun < done:
            self.problem(f"{done} lines were written, {begun} calls were told before")

    def draw_moment(self):
        """What is waited for: (kind, number, more)"""
        rng = self.rng
        kind = rng.choice(["start", "request", "request", "after", "after", "after", "size", "time"])
        turn = rng.choice([1, 1, 2, 2, 3])
        return {"start": (kind, rng.random() * 0.04, None),
                "time": (kind, rng.random() * 0.3, None),
                "request": (kind, turn, rng.randrange(0, 12)),
                "after": (kind, turn, rng.random() * rng.choice([0.005, 0.03])),
                "size": (kind, rng.randrange(1, 9000), None)}[kind]

    def kill(self):
        if self.killed or self.process.poll() is not None:
            return
        self.killed = True
        self.process.kill()
        how = self.rng.randrange(3)
        if how:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if how == 2:  # as when a container goes
            for pid in marked(self.mark.encode()):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def arm(self, moment):
        kind, number, more = moment
        first = self.model.count
        self.due = None  # a time

        def on_request(serial):
            if serial is None:
                self.due = 0
                return None
            return more if kind == "request" and serial == first + number else None

        def on_answered(serial):
            if kind == "after" and serial == first + number:
                self.due = time.monotonic() + more

        self.model.on_request, self.model.on_answered = on_request, on_answered
        if kind in ("start", "time"):
            self.due = time.monotonic() + number
        return self.size() + number if kind == "size" else None

    def tear(self):
        """The end of what was written last may be missing when a machine goes down; not what was waited for."""
        last = read(self.record)[:-1].rsplit(b"\n", 1)[-1]
        waited = b'"quern_tool_start"' in last or b'"quern_history"' in last or b'"result"' in last
        if self.variant == "bundle" or len(last) < 2 or waited or self.rng.random() < 0.7:
            return
        os.truncate(self.record, self.size() - self.rng.randrange(1, len(last) + 1))
        self.tears += 1

    def start(self, moment):
        """One start of the program. True: it came to its end."""
        self.starts += 1
        self.killed = False
        command, self.limit, before = self.command, None, self.size()
        size = self.arm(moment) if moment and not self.fault else None
        if moment and self.fault:
            command = self.broken()
        if not moment or self.fault:
            self.due = None
            self.model.on_request = self.model.on_answered = lambda *_: None
        out = open(self.record if self.variant == "stdout" else f"{self.dir}/out", "ab")
        reader = None
        if self.limit is not None:  # stdout is no file, or it would not grow either
            reader = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=out)
            out.close()
            out = reader.stdin
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, cwd=self.dir, env=self.env,
                                        stderr=open(f"{self.dir}/err", "wb"), start_new_session=True,
                                        preexec_fn=self.limit_files)
        out.close()
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            now = time.monotonic()
            if (self.due is not None and now >= self.due) or (size and self.size() >= size):
                self.kill()
                break
            if now > end:
                self.problem(f"still there after {PATIENCE} s (to be ended at {moment})")
                self.process.kill()
                break
            time.sleep(0.0005)
        code = self.process.wait()
        if reader:
            reader.wait()
        if self.killed:
            self.kills += 1
            self.early += self.size() == before
            self.tear()
            return False
        if self.fault and moment and code != 0:
            self.kills += 1
            self.tears += 1  # the line that had no room
            self.check_honest(code)
            return False
        if code != 0:
            self.problem(f"exit {code}: " + read(f"{self.dir}/err").decode(errors="replace")[-600:])
        return True

    # ---- what holds at the end

    def lines(self):
        text = read(self.record)
        if self.variant == "bundle":
            # tar has a word to say about an end that is missing
            names = subprocess.run(["tar", "--zstd", "-tf", self.record], capture_output=True, text=True, check=False).stdout
            text = b"".join(subprocess.run(["tar", "--zstd", "-xOf", self.record, name], capture_output=True, check=False).stdout
                            for name in dict.fromkeys(names.split()) if name.startswith("events/"))
        return text.split(b"\n")[:-1]

    def check_record(self):
        broken, last, resumes = 0, {}, 0
        for line in self.lines():
            try:
                last = json.loads(line)
                resumes += last.get("subtype") == "quern_resume"
            except ValueError:
                broken += bool(line)
        if broken > self.tears:
            self.problem(f"{broken} lines of the record cannot be read, {self.tears} were torn")
        if last.get("type") != "result" or last.get("result") != "all done":
            self.problem(f"the record ends with {str(last)[:300]}")
        return resumes

    def check_left(self):
        end = time.monotonic() + 30
        while (left := marked(self.mark.encode())) and time.monotonic() < end:
            time.sleep(0.01)
        if left:
            self.problem("left: " + "; ".join(map(name_of, left)))
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        left = os.listdir(f"{self.dir}/tmp")
        if left:
            self.problem(f"left in TMPDIR: {left}")
        left = [n for n in os.listdir(f"{self.dir}/place") if n != "work"]
        if len(left) > self.early:
            self.problem(f"left beside the workspace: {left}")
        left = [n for n in os.listdir(f"{self.dir}/place/work") if n != "log.txt"]
        if left:
            self.problem(f"left in the workspace: {left}")

    def run(self, most):
        """Until it is done; at most so many ends by force."""
        while not self.problems and not self.start(self.draw_moment() if self.kills < most else None):
            pass
        found = read(f"{self.dir}/place/work/log.txt").decode()
        if found != LINES + ("END\n" if self.variant == "edit" else ""):
            self.problem(f"the file is {found!r}")
        if not self.problems:
            self.check_record()
            self.check_left()
        self.model.ear.close()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("quern")
    p.add_argument("ends", type=int)
    p.add_argument("--variant", action="append", choices=VARIANTS)
    p.add_argument("--fault", action="append", choices=FAULTS, default=[])
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--keep", action="store_true")
    p.add_argument("-v", action="store_true")
    options = p.parse_args()
    top = tempfile.mkdtemp(prefix="crash-")
    bad = kills = jobs = unknown = undone = tears = 0
    variants = options.variant or VARIANTS
    kinds = [(v, f) for v in variants for f in options.fault or [None]]
    share = min(25, max(3, -(-options.ends // len(kinds))))
    while kills < options.ends and bad < 3:
        variant, fault = kinds[jobs % len(kinds)]
        job = Job(os.path.abspath(options.quern), variant, fault, random.Random(f"{options.seed} {jobs}"), top)
        job.run(min(share, options.ends - kills))
        kills, jobs = kills + job.kills, jobs + 1
        unknown, undone, tears = unknown + job.model.unknown, undone + job.model.undone, tears + job.tears
        if options.v:
            print(f"{variant} {fault or ''}: {job.starts} starts, {job.kills} ends, {job.model.count} requests, "
                  f"{job.model.unknown} calls unknown, {job.model.undone} undone")
        if job.problems:
            bad += 1
            print(f"{variant} {fault or ''}, seed {options.seed}, job {jobs - 1}: " + "\n  ".join(job.problems[:6]))
            if options.keep:
                print(f"  kept: {job.dir}")
                continue
        shutil.rmtree(job.dir, ignore_errors=True)
    if not options.keep or not bad:
        shutil.rmtree(top, ignore_errors=True)
    print(f"{jobs} jobs, {kills} ends ({tears} with a torn line), {bad} bad; {unknown} calls were told as not known, "
          f"{undone} as not begun (seed {options.seed})")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
