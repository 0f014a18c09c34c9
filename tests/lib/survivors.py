"""Ends runs at random moments and looks for what is left of them.

usage: survivors.py QUERN WHAT ROUNDS [--seed N] [--jobs N] [--within SECONDS] [-- ARGUMENT...]

WHAT:
  quern       SIGKILL to the program: nothing that it started is left
  supervisor  SIGKILL to its second process: the result says internal_error, exit 1, nothing is left
  signals     INT or TERM to all that can be reached, as a terminal or a batch system does it, once or more often:
              the result is the last line, the process dies by that signal, nothing is left when it is gone

What a run starts is found by two ways: by a mark in arguments or environment, and by its parents, since each round is a
subreaper and inherits what was orphaned. SECONDS (default 30) is how long things may take to go; the longest time that
was needed is printed. Further arguments go to the program.
"""
import argparse
import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
SPAN = 1.2  # seconds after the start in which the end comes

BACKGROUND = [
    "trap '' TERM INT HUP; while :; do sleep 971; done",
    "setsid sleep 971 & nohup sleep 971 >/dev/null 2>&1 & env -i sleep 971 & sleep 971",
    "(setsid sh -c '(sleep 971 & trap \"\" TERM; sleep 971 &) & sleep 971' &) & exit 0",
    "sleep 971 & kill -STOP $!; kill -STOP $$",
    "for i in $(seq 40); do sleep 971 & done; wait",
    "sh ./relay.sh",
    "yes & cat /dev/zero & wait",
]
FOREGROUND = [
    "sleep 971",
    "trap '' TERM; setsid sleep 971 & sleep 971; sleep 971",
    "exec sleep 971",
    "find / -name nothing -exec sleep 971 \\; 2>/dev/null; sleep 971",
    "(sleep 971 & sleep 971 &); for i in 1 2 3; do (setsid sleep 971 &); done; kill -STOP $$",
]
# Short lives one after the other, each in a session of its own: none is there long enough to be looked at.
RELAY = "#!/bin/sh\nsleep 0.02\nsetsid sh ./relay.sh &\n"


def use(name, n, **value):
    return {"tool_use": {"name": name, "input": value, "id": f"t{n}"}}


def make_tape(rng):
    n = iter(range(1000))
    reading = lambda: [use("Grep", next(n), pattern="(a|b|c)+x{3,}nothing"), use("Read", next(n), file_path="f0.txt"),
                       use("Glob", next(n), pattern="**/*.txt")]
    shapes = [use("Bash", next(n), command=c, run_in_background=True) for c in BACKGROUND]
    rng.shuffle(shapes)
    last = use("outside", next(n)) if rng.random() < 0.3 else use("Bash", next(n), command=rng.choice(FOREGROUND))
    answers = [shapes[:4] + reading(), reading() + reading(), shapes[4:], reading() + [last]]
    return json.dumps({"tape": 1, "answers": [{"content": a} for a in answers] + [{"text": "end"}]})


def make_workspace(at):
    os.mkdir(at)
    for d in range(30):
        os.mkdir(f"{at}/d{d}")
        for f in range(20):
            with open(f"{at}/d{d}/f{f}.txt", "w") as out:
                out.write("abcabcabc xx abx\n" * 400)
    shutil.copy(f"{at}/d0/f0.txt", f"{at}/f0.txt")
    with open(f"{at}/relay.sh", "w") as out:
        out.write(RELAY)
    with open(f"{at}/../job.yaml", "w") as out:
        json.dump({"version": 1, "prompt": "go", "permissions": {"allow": ["Bash", "outside"]},
                   "tools": {"external": [{"name": "outside", "description": "Sleeps.", "command": ["sleep", "971"],
                                           "input_schema": {"type": "object"}, "timeout": "10m"}]}}, out)


def default_signals():
    """A test run in the background has interrupts ignored, and so would have what it starts."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def children_of(pid):
    return [int(p) for p in read(f"/proc/{pid}/task/{pid}/children").split()]


def marked(mark):
    """Live processes that bear the mark, but this one and its parents."""
    found = []
    for p in os.listdir("/proc"):
        if p.isdigit() and int(p) != os.getpid() and (
                mark in read(f"/proc/{p}/cmdline") or mark in read(f"/proc/{p}/environ")):
            found.append(int(p))
    return found


def name_of(pid):
    return f"{pid} " + read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace")[:100]


class Round:
    def __init__(self, options, n, top):
        self.options, self.rng = options, random.Random(f"{options.seed} {options.what} {n}")
        self.dir = tempfile.mkdtemp(prefix=f"round{n}-", dir=top)
        self.mark = f"survivor-mark-{os.getpid()}-{n}-{self.rng.random()}"
        self.workspace = f"{top}/work"
        self.problems, self.seen, self.took = [], 0, 0.0

    def start(self):
        os.mkdir(f"{self.dir}/tmp")
        with open(f"{self.dir}/{self.mark}.tape", "w") as out:
            out.write(make_tape(self.rng))
        env = dict(os.environ, TMPDIR=f"{self.dir}/tmp", HOME=self.dir, XDG_STATE_HOME=f"{self.dir}/state",
                   SURVIVOR=self.mark)
        self.out = open(f"{self.dir}/out", "wb")
        self.process = subprocess.Popen(
            [self.options.quern, f"{self.dir}/../job.yaml", "-C", self.workspace, "--replay",
             f"{self.dir}/{self.mark}.tape", "--set", "sandbox.best_effort=true", *self.options.arguments],
            stdin=subprocess.DEVNULL, stdout=self.out, stderr=open(f"{self.dir}/err", "wb"), env=env,
            start_new_session=True, preexec_fn=default_signals)

    def supervisor(self):
        for pid in children_of(self.process.pid):
            if read(f"/proc/{pid}/comm").startswith(b"quern-superv"):
                return pid
        return None

    def leave_nothing(self, since):
        """Waits until all is gone; what is orphaned has come to us."""
        end = since + self.options.within
        while True:
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
                left = children_of(os.getpid()) or [-1]
            except ChildProcessError:
                left = []
            if not left:
                left = marked(self.mark.encode())
            if not left:
                break
            if time.monotonic() > end:
                self.problems.append("left: " + "; ".join(name_of(p) for p in left))
                for p in left:
                    if p > 1:
                        os.kill(p, signal.SIGKILL)
                break
            time.sleep(0.02)
        self.took = max(self.took, time.monotonic() - since)

    def expect_result(self, code, reason):
        text = read(f"{self.dir}/out").decode(errors="replace").splitlines()
        try:
            last = json.loads(text[-1])
        except (ValueError, IndexError):
            last = {}
        if last.get("type") != "result":
            self.problems.append(f"the last line is no result: {text[-1:]}")
        elif last["exit_code"] != code or reason not in last["terminal_reason"]:
            self.problems.append(f"{last['terminal_reason']}, exit_code {last['exit_code']}, expected {reason}, {code}")

    def kill_quern(self):
        time.sleep(self.rng.random() * self.options.span)
        self.seen = len(marked(self.mark.encode()))
        self.process.kill()
        since = time.monotonic()
        self.process.wait()
        self.leave_nothing(since)

    def kill_supervisor(self):
        pid = None
        while pid is None and self.process.poll() is None:
            time.sleep(0.005)
            pid = self.supervisor()
        time.sleep(self.rng.random() * self.options.span)
        self.seen = len(marked(self.mark.encode()))
        if pid is None:
            self.problems.append("there was no supervisor")
            return
        os.kill(pid, signal.SIGKILL)
        since = time.monotonic()
        self.wait()
        if self.process.returncode != 1:
            self.problems.append(f"exit {self.process.returncode}, expected 1")
        self.expect_result(1, "internal_error")
        self.leave_nothing(since)

    def wait(self):
        try:
            self.process.wait(self.options.within)
        except subprocess.TimeoutExpired:
            self.problems.append(f"still there after {self.options.within} s")
            self.process.kill()
            self.process.wait()

    def signal_all(self):
        while self.supervisor() is None and self.process.poll() is None:
            time.sleep(0.005)
        time.sleep(0.1 + self.rng.random() * self.options.span)
        first = self.rng.choice([signal.SIGINT, signal.SIGTERM])
        self.seen = len(marked(self.mark.encode()))
        targets = marked(self.mark.encode()) if self.rng.random() < 0.5 else []
        since = time.monotonic()
        os.killpg(self.process.pid, first)
        for pid in targets:  # a batch system knows all processes of a job
            try:
                os.kill(pid, first)
            except ProcessLookupError:
                pass
        for _ in range(self.rng.choice([0, 0, 1, 3])):
            time.sleep(0.15)
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGTERM)
        self.wait()
        self.took = time.monotonic() - since
        if self.process.returncode != -first:
            self.problems.append(f"exit {self.process.returncode}, expected {-first}")
        self.expect_result(128 + first, "aborted")
        left = [p for p in children_of(os.getpid()) if not read(f"/proc/{p}/stat").split(b")")[-1].startswith(b" Z")]
        if left:
            self.problems.append("alive when the program was gone: " + "; ".join(name_of(p) for p in left))
        self.leave_nothing(since)

    def run(self):
        self.start()
        {"quern": self.kill_quern, "supervisor": self.kill_supervisor, "signals": self.signal_all}[self.options.what]()
        if self.problems:
            self.problems.append("stderr: " + read(f"{self.dir}/err").decode(errors="replace")[-500:])
        shutil.rmtree(self.dir, ignore_errors=True)
        return {"problems": self.problems, "seen": self.seen, "took": self.took}


def run_round(options, n, top):
    """In a process of its own, since it becomes the parent of all orphans. Returns what to wait for."""
    r, w = os.pipe()
    pid = os.fork()
    if pid:
        os.close(w)
        return pid, r
    try:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        result = Round(options, n, top).run()
    except BaseException as e:  # whatever it was: the round has failed
        result = {"problems": [repr(e)], "seen": 0, "took": 0.0}
    os.write(w, json.dumps(result)[:60000].encode())
    os._exit(0)


def main():
    argv, more = sys.argv[1:], []
    if "--" in argv:
        argv, more = argv[:argv.index("--")], argv[argv.index("--") + 1:]
    p = argparse.ArgumentParser()
    p.add_argument("quern")
    p.add_argument("what", choices=["quern", "supervisor", "signals"])
    p.add_argument("rounds", type=int)
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--jobs", type=int, default=4)
    p.add_argument("--within", type=float, default=30)
    options = p.parse_args(argv)
    options.arguments, options.span = more, SPAN
    top = tempfile.mkdtemp(prefix="survivors-")
    make_workspace(f"{top}/work")
    running, n, bad, seen, took = [], 0, 0, 0, 0.0
    while n < options.rounds or running:
        while n < options.rounds and len(running) < options.jobs:
            running.append((n, *run_round(options, n, top)))
            n += 1
        number, pid, r = running.pop(0)
        with os.fdopen(r) as f:
            result = json.loads(f.read() or '{"problems": ["no report"], "seen": 0, "took": 0}')
        os.waitpid(pid, 0)
        seen, took = max(seen, result["seen"]), max(took, result["took"])
        if result["problems"]:
            bad += 1
            print(f"round {number} of seed {options.seed}: " + "\n  ".join(result["problems"]))
        if n == options.rounds and not running and seen < 10 and options.span < 8 * SPAN:
            # a machine so busy that they do not come to much: later, then
            options.span, options.rounds = 2 * options.span, n + 8
    shutil.rmtree(top, ignore_errors=True)
    print(f"{options.what}: {options.rounds} rounds, {bad} bad; at most {seen} processes at the moment; "
          f"all were gone after at most {took:.1f} s (seed {options.seed})")
    if seen < 10:
        print("too few processes were running for this to mean anything")
        return 1
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
