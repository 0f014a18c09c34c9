#!/usr/bin/env python3
"""Measures quern against programs that do only the unavoidable part of the same work, all in one run.

usage: run.py --build DIR --source DIR [--quick]; prints one table: ours, the reference, their ratio, and the bound that
the figure is to keep. Where times are compared they are minima of many runs, taken in turns with the reference's, so
that the machine's other load falls out; of the long job of 200 turns it is the round with the median ratio. What is
measured how:

start            wall time of `quern --version` and `quern --check JOB` (posix_spawn to wait4) / of a C program that does
                 nothing
plain task       the body of the first request, and requests and connections of a one-turn job, from the server's log
first byte       from the start of the process until the server reads the first byte / the same of curl posting that body
one turn         wall time and largest resident set of a one-turn job / of curl posting that body to the same server
                 (tests/lib/server.py), plain and over TLS with an authority in a directory of hash links
200 tool turns   wall time of 200 calls of Bash `echo hi` / curl posting the same 201 bodies over one connection, plus as
                 many `bash -c "echo hi"`; with the sandbox off, as the reference's children are not confined, and in it;
                 the server (bench/server) does not look at what it gets
turn 200 / 10    from one request's first byte to the next one's, near the end and near the beginning of that job
child            `bash -c "echo hi"` from the request until its output and end are known: by the supervisor, and by it in
                 the sandbox / by posix_spawn
overlap          a turn whose call, read-only or not, is complete 0.5 s after the beginning of an answer of 2 s and runs for
                 1.2 s / curl that takes the same answer; and the same with tools.executor: batch, whose results must be the same
deltas           bytes of stdout for an answer of 5,000 text deltas
long talk        what the context pipeline costs a turn in a conversation of 10 MB / of 1 MB, while nothing is over a mark
replay           wall time of a bundle of 200 calls played again with --replay-tools / of one of 100
archive          100,000 small files, in memory where there is room (/dev/shm): unpacked by workspace.archive / `bsdtar -x`;
                 and unpacked, all renamed by a call, and saved by workspace.save, which looks at all files before and after /
                 `bsdtar -x` and `bsdtar -c` with zstd. Each time the whole run of quern; the best of three, in turns.
memory           peak resident set (VmHWM) at the end of a job of 200 tool turns, of the loop process and of both processes
                 together, beyond that of a C program that made one POST with libcurl. A forked process counts the pages
                 that it shares; the proportional set (Pss) counts them once, and is shown where it may be read.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

TURNS = 200
rows = []


def row(what, ours, theirs="", ratio="", bound=""):
    rows.append((what, ours, theirs, ratio, bound))


def ms(us):
    return f"{us / 1000:.2f} ms"


def mib(kib):
    return f"{kib / 1024:.1f} MiB"


def times(a, b):
    return f"{a / b:.2f} x"


def status(pid, field):
    """A field of /proc/PID/status, in KiB; of smaps_rollup if it is Pss, None if that may not be read."""
    try:
        with open(f"/proc/{pid}/{'smaps_rollup' if field == 'Pss' else 'status'}", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(field + ":"))
    except OSError:
        return None


class Bench:
    def __init__(self, build, source, quick):
        self.build, self.source = os.path.abspath(build), os.path.abspath(source)
        self.quick = quick
        self.runs = 10 if quick else 40
        self.rounds = 1 if quick else 5
        self.overlaps = 1 if quick else 3
        self.dir = tempfile.mkdtemp(prefix="quern-bench.")
        self.quern = os.path.join(self.dir, "quern")
        shutil.copy(os.path.join(self.build, "quern"), self.quern)
        subprocess.run(["strip", self.quern], check=True)
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("ANTHROPIC_", "QUERN_", "MAKE", "SSL_CERT_", "CURL_CA_")) and not k.lower().endswith("_proxy")}
        self.env.update(HOME=self.dir, XDG_STATE_HOME=self.dir, TMPDIR=self.dir)
        self.work = os.path.join(self.dir, "work")
        os.mkdir(self.work)
        self.servers = []

    def tool(self, name):
        return os.path.join(self.build, "bench", name)

    def timeit(self, runs, *command, **env):
        """Microseconds: shortest, median; KiB: largest process; microseconds: when each run began."""
        out = subprocess.run([self.tool("timeit"), str(runs), *command], cwd=self.work, env={**self.env, **env},
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if out.returncode:
            sys.exit(f"run.py: {' '.join(command)}: {out.stderr}")
        first, *began = out.stdout.splitlines()
        return [int(x) for x in first.split()] + [[int(x) for x in began]]

    def start_server(self, *command):
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.servers.append(server)
        return int(server.stdout.readline().split()[1])

    def serve(self, script, *options):
        """Starts a model server that plays a script; returns its port and its log."""
        n = len(self.servers)
        path, log = os.path.join(self.dir, f"script{n}.json"), os.path.join(self.dir, f"log{n}")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(script, f)
        return self.start_server(sys.executable, os.path.join(self.source, "tests/lib/server.py"), "--log", log, *options, path), log

    def serve_blindly(self, turns):
        """Starts the server that does not look at what it gets; returns its port and a function that waits until its log
        tells of that many requests, and returns when they arrived."""
        log = os.path.join(self.dir, f"log{len(self.servers)}")
        port = self.start_server(self.tool("server"), str(turns), log)

        def arrivals(count):
            while True:
                with open(log, encoding="ascii") as f:
                    lines = f.read().splitlines(keepends=True)
                if len(lines) >= count and lines[-1].endswith("\n"):
                    return [int(line.split()[0]) for line in lines]
                time.sleep(0.01)
        return port, arrivals

    def command(self, base, *options):
        return [self.quern, "--base-url", base, "-p", "go", *options]

    def curl(self, url, body, *options):
        return ["curl", "-q", "-sS", *options, "--data-binary", f"@{body}", "-H", "content-type: application/json",
                "-H", "anthropic-version: 2023-06-01", f"{url}/v1/messages"]

    def ask(self, base, *more):
        """One run's stdout."""
        return subprocess.run(self.command(base, *more), cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout

    def close(self):
        for s in self.servers:
            s.kill()
            s.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---------------------------------------------------------------- what is measured

    def size(self):
        row("binary, stripped", f"{os.path.getsize(self.quern) / 1024:.0f} KiB", bound="500 KB")

    def startup(self):
        job = os.path.join(self.dir, "job.yaml")
        with open(job, "w", encoding="utf-8") as f:
            f.write("prompt: go\nmodel:\n  base_url: http://127.0.0.1:9\nlimits:\n  max_turns: 3\n")
        for option in (["--version"], ["--check", job]):
            floor, ours = [], []
            for _ in range(self.rounds):
                floor.append(self.timeit(self.runs, self.tool("nothing"))[0])
                ours.append(self.timeit(self.runs, self.quern, *option)[0])
            row(f"start: quern {option[0]} / a program that does nothing", ms(min(ours)), ms(min(floor)),
                times(min(ours), min(floor)), "3 x")

    def plain_task(self):
        port, log = self.serve([{"text": "fine", "repeat": True}])
        self.ask(f"http://127.0.0.1:{port}", "--allowedTools", "Bash,Edit,Write")
        self.body = os.path.join(log, "001.json")
        with open(self.body, encoding="utf-8") as f:
            tools = len(json.load(f)["tools"])
        with open(os.path.join(log, "connections"), encoding="utf-8") as f:
            connections = len(f.readlines())
        requests = len([n for n in os.listdir(log) if n.endswith(".json")])
        row(f"plain task: request with {tools} tools", f"{os.path.getsize(self.body)} bytes", bound="6144")
        row("plain task: requests, connections", f"{requests}, {connections}", bound="1, 1")

    def first_byte(self):
        port, arrivals = self.serve_blindly(0)
        url = f"http://127.0.0.1:{port}"
        commands = self.command(url, "--allowedTools", "Bash,Edit,Write"), self.curl(url, self.body)
        waits, seen = ([], []), 0
        for _ in range(self.rounds):
            for command, wait in zip(commands, waits):
                began = self.timeit(self.runs // 2, *command)[3]
                wait += [at - start for at, start in zip(arrivals(seen + len(began))[seen:], began)]
                seen += len(began)
        ours, theirs = [min(w) for w in waits]
        row("start to first byte: quern / curl", ms(ours), ms(theirs), times(ours, theirs), "1.5 x")

    def one_turn(self, what, url, options, **env):
        ours, theirs = [], []
        for _ in range(self.rounds):
            ours.append(self.timeit(self.runs // 2, *self.command(url, "--allowedTools", "Bash,Edit,Write"), **env)[:3])
            theirs.append(self.timeit(self.runs // 2, *self.curl(url, self.body, *options))[:3])
        fast, slow = min(r[0] for r in ours), min(r[0] for r in theirs)
        row(f"one turn{what}: quern / curl", ms(fast), ms(slow), times(fast, slow), "1.5 x")
        large, small = max(r[2] for r in ours), max(r[2] for r in theirs)
        row(f"one turn{what}: largest process", mib(large), mib(small), times(large, small), "1.3 x")

    def plain_turn(self):
        port, _ = self.serve([{"text": "fine", "repeat": True}], "--no-check")
        self.one_turn("", f"http://127.0.0.1:{port}", [])

    def tls_turn(self):
        d = os.path.join(self.dir, "tls")
        ca = os.path.join(d, "ca")
        os.makedirs(ca)
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

        def openssl(*args):
            subprocess.run(["openssl", *args], cwd=d, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        openssl("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca/ca.pem", "-days", "2", "-subj", "/CN=bench CA")
        openssl("req", *new_key, "-keyout", "key.pem", "-out", "csr.pem", "-subj", "/CN=127.0.0.1")
        with open(os.path.join(d, "ext"), "w", encoding="utf-8") as f:
            f.write("subjectAltName=IP:127.0.0.1\n")
        openssl("x509", "-req", "-in", "csr.pem", "-CA", "ca/ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                "-out", "cert.pem", "-days", "2", "-extfile", "ext")
        openssl("rehash", "ca")
        port, _ = self.serve([{"text": "fine", "repeat": True}], "--no-check", "--tls",
                             os.path.join(d, "cert.pem"), os.path.join(d, "key.pem"))
        # The tool reads its built-in bundle beside a directory, so it gets the one certificate as its bundle.
        self.one_turn(" over TLS", f"https://127.0.0.1:{port}", ["--cacert", os.path.join(ca, "ca.pem")], SSL_CERT_DIR=ca)

    def record_bodies(self):
        """The bodies of a job of many turns, in files for curl."""
        call = {"name": "Bash", "input": {"command": "echo hi"}}
        script = [{"tool_use": {**call, "id": f"call{i}"}} for i in range(TURNS)] + [{"text": "fine"}]
        port, log = self.serve(script, "--no-check")
        self.ask(f"http://127.0.0.1:{port}", "--allowedTools", "Bash", "--max-turns", str(TURNS + 1))
        with open(os.path.join(log, "connections"), encoding="utf-8") as f:
            row(f"{TURNS} tool turns: connections", str(len(f.readlines())), bound="1")
        return [os.path.join(log, f"{n:03d}.json") for n in range(1, TURNS + 2)]

    def posts(self, port, bodies):
        """One curl that posts them all, over one connection."""
        config = os.path.join(self.dir, "posts")
        with open(config, "w", encoding="utf-8") as f:
            for n, body in enumerate(bodies):
                f.write(f'{"next" if n else ""}\nurl = "http://127.0.0.1:{port}/v1/messages"\ndata-binary = "@{body}"\n'
                        'header = "content-type: application/json"\nheader = "anthropic-version: 2023-06-01"\n'
                        'header = "Expect:"\nsilent\nshow-error\noutput = "/dev/null"\n')
        return ["curl", "-q", "-K", config]

    def many_turns(self):
        bodies = self.record_bodies()
        port, arrivals = self.serve_blindly(TURNS)
        job = self.command(f"http://127.0.0.1:{port}", "--allowedTools", "Bash", "--max-turns", str(TURNS + 1))
        # The reference's children are not confined, so neither are ours in the row that has a bound.
        jobs = ([*job, "--sandbox", "off"], self.posts(port, bodies), job)
        took, early, late, forks, seen = ([], [], []), ([], [], []), ([], [], []), [], 0
        for _ in range(2 * self.rounds):
            for k, command in enumerate(jobs):
                took[k].append(self.timeit(1, *command)[0])
                at = arrivals(seen + TURNS + 1)[seen:]
                seen += len(at)
                steps = [b - a for a, b in zip(at, at[1:])]
                early[k].append(min(steps[4:14]))
                late[k].append(min(steps[-10:]))
            began = self.timeit(TURNS + 1, "bash", "-c", "echo hi")[3]
            forks.append(began[-1] - began[0])
        # Too long for a quiet moment: of the rounds, in which all see about the same load, the one in the middle.
        for k, how, bound in ((0, "", "1.25 x"), (2, " in the sandbox", "")):
            middle = sorted((a / (b + c), a, b + c) for a, b, c in zip(took[k], took[1], forks))[self.rounds]
            _, ours, theirs = middle
            row(f"{TURNS} tool turns{how}: quern / curl's posts + as many bash", ms(ours), ms(theirs), times(ours, theirs),
                bound)
        late, early = [min(v) for v in late], [min(v) for v in early]
        row(f"turn {TURNS} / turn 10: quern", ms(late[0]), ms(early[0]), times(late[0], early[0]), "1.5 x")
        row(f"turn {TURNS} / turn 10: curl's post alone", ms(late[1]), ms(early[1]), times(late[1], early[1]))

    def child(self):
        out = subprocess.run([self.tool("children"), str(self.runs * self.rounds)], cwd=self.work, env=self.env,
                             stdout=subprocess.PIPE, check=True, text=True).stdout
        ours, _, confined, _, theirs, _ = [int(x) for x in out.split()]
        row("a child: supervisor / posix_spawn", ms(ours), ms(theirs), times(ours, theirs))
        row("a child in the sandbox / posix_spawn", ms(confined), ms(theirs), f"+ {ms(confined - theirs)}", "+ 0.70 ms")

    def overlap(self):
        job = os.path.join(self.dir, "overlap.yaml")
        with open(job, "w", encoding="utf-8") as f:
            f.write("prompt: go\npermissions: {allow: [Bash]}\ntools:\n  external:\n    - name: look\n      description: Looks.\n"
                    "      command: [sleep, '1.2']\n      read_only: true\n      input_schema: {type: object}\n")
        for what, call in (("read-only", {"name": "look", "input": {}, "id": "call"}),
                           ("unsafe", {"name": "Bash", "input": {"command": "sleep 1.2"}, "id": "call"})):
            # 17 events, the fifth of which shows that the call is complete
            answer = {"content": [{"tool_use": call}, {"text": "w" * 9 * 40}], "piece": 40, "split": "events", "delay": 0.125}
            port, _ = self.serve([answer, {"text": "fine"}] * (2 * self.overlaps + 2), "--no-check")
            command = [self.quern, job, "--base-url", f"http://127.0.0.1:{port}"]
            batch = [*command, "--set", "tools.executor=batch"]
            ours, waiting = [min(self.timeit(1, *c)[0] for _ in range(self.overlaps)) for c in (command, batch)]
            if self.told(command) != self.told(batch):
                sys.exit("run.py: the batch executor shows something else")
            port, _ = self.serve([{**answer, "repeat": True}], "--no-check")
            theirs = min(self.timeit(1, *self.curl(f"http://127.0.0.1:{port}", self.body))[0] for _ in range(self.overlaps))
            row(f"overlap, {what} call: quern / curl", ms(ours), ms(theirs), times(ours, theirs), "1.05 x")
            row(f"overlap, {what} call: batch / curl", ms(waiting), ms(theirs), times(waiting, theirs))

    def told(self, command):
        """What a run shows of answers and results."""
        out = subprocess.run(command, cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, check=True).stdout
        return [e["message"]["content"] for e in map(json.loads, out.splitlines()) if "message" in e]

    def deltas(self):
        port, _ = self.serve([{"text": "word " * 5000, "piece": 5}])
        row("stdout for 5,000 text deltas", f"{len(self.ask(f'http://127.0.0.1:{port}'))} bytes", bound="110000")

    def long_talk(self):
        out = subprocess.run([self.tool("context")], stdout=subprocess.PIPE, text=True, check=True).stdout
        small, large = [int(x) for x in out.split()]
        row("context pipeline, a turn of a 10 MB / a 1 MB talk", f"{large / 1000:.2f} us", f"{small / 1000:.2f} us",
            times(large, small), "1.2 x")

    def replay(self):
        def bundle(turns):
            call = {"name": "Bash", "input": {"command": "seq 1 500"}}
            port, _ = self.serve([{"tool_use": {**call, "id": f"call{i}"}} for i in range(turns)] + [{"text": "fine"}], "--no-check")
            path = os.path.join(self.dir, f"{turns}.tar.zst")
            self.ask(f"http://127.0.0.1:{port}", "--allowedTools", "Bash", "-t", str(turns + 1), "--record", path)
            return path
        long, short = [self.timeit(self.rounds, self.quern, "--replay", bundle(n), "--replay-tools")[0] for n in (TURNS, TURNS // 2)]
        row(f"replay without tools, {TURNS} / {TURNS // 2} turns", ms(long), ms(short), times(long, short), "1 s")

    def memory(self):
        """The last call waits until both processes were looked at."""
        call = {"name": "Bash", "input": {"command": "echo hi"}}
        last = {"name": "Bash", "input": {"command": "touch here; until [ -e go ]; do sleep 0.01; done"}}
        script = [{"tool_use": {**call, "id": f"call{i}"}} for i in range(TURNS - 1)] + [{"tool_use": last}, {"text": "fine"}]
        port, log = self.serve(script, "--no-check")
        here = os.path.join(self.work, "here")
        loop = subprocess.Popen(self.command(f"http://127.0.0.1:{port}", "--allowedTools", "Bash", "--max-turns", str(TURNS + 1)),
                                cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        while not os.path.exists(here) and loop.poll() is None:
            time.sleep(0.01)
        with open(f"/proc/{loop.pid}/task/{loop.pid}/children", encoding="ascii") as f:
            supervisor = int(f.read().split()[0])
        peak = [status(pid, "VmHWM") for pid in (loop.pid, supervisor)]
        pss = [status(pid, "Pss") for pid in (loop.pid, supervisor)]
        with open(os.path.join(self.work, "go"), "w", encoding="ascii"):
            loop.wait()
        talk = os.path.getsize(os.path.join(log, f"{TURNS + 1:03d}.json")) / 1024
        port, _ = self.serve([{"text": "fine", "repeat": True}], "--no-check")
        post = self.timeit(3, self.tool("onepost"), f"http://127.0.0.1:{port}/v1/messages", self.body)[2]
        bound = f"+ {mib(2048 + 2 * talk)}"
        row(f"peak memory, {TURNS} turns: loop / one POST in C", mib(peak[0]), mib(post), f"+ {mib(peak[0] - post)}", bound)
        row(f"peak memory, {TURNS} turns: both processes", mib(sum(peak)), mib(post), f"+ {mib(sum(peak) - post)}", bound)
        if None not in pss:
            row(f"Pss, {TURNS} turns: loop, supervisor", mib(pss[0]), mib(pss[1]))


    def archives(self):
        if not shutil.which("bsdtar"):
            row("100,000 small files", "bsdtar is not there (libarchive-tools)")
            return
        count = 5000 if self.quick else 100000
        top = tempfile.mkdtemp(prefix="quern-bench.", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        try:
            self.in_and_out(top, count)
        finally:
            shutil.rmtree(top)

    def in_and_out(self, top, count):
        def path(name):
            return os.path.join(top, name)

        for i in range(count):
            if i % 100 == 0:
                os.makedirs(path(f"src/d{i // 2000}/e{i}"))
            with open(path(f"src/d{i // 2000}/e{i // 100 * 100}/f{i}.c"), "w", encoding="utf-8") as f:
                f.write(f"int main(void) {{ return {i % 99}; }}\n" * (1 + i * 7 % 60))
        subprocess.run(["bsdtar", "--zstd", "-cf", path("src.tar.zst"), "-C", path("src"), "."], check=True)
        rename = "for i in d*; do mv $i x$i; done"
        with open(path("tape"), "w", encoding="utf-8") as f:
            json.dump({"tape": 1, "answers": [{"content": [{"tool_use": {"name": "Bash", "input": {"command": rename}, "id": "c"}}]},
                                              {"text": "done"}]}, f)
        with open(path("say"), "w", encoding="utf-8") as f:
            json.dump({"tape": 1, "answers": [{"text": "done"}]}, f)
        unpack = [self.quern, "-p", "go", "-C", path("w"), "--set", f"workspace.archive={path('src.tar.zst')}", "--replay"]
        save = ["--allowedTools", "Bash", "--set", f"workspace.save={path('out.tar.zst')}"]
        theirs = ["bsdtar", "-xf", path("src.tar.zst"), "-C", path("w")]
        pack = ["bsdtar", "--zstd", "--options", "zstd:compression-level=1", "-cf", path("out.tar.zst"), "-C", path("w"), "."]
        works = {"ours in": [unpack + [path("say")]], "theirs in": [theirs],
                 "ours in and out": [unpack + [path("tape")] + save], "theirs in and out": [theirs, pack]}
        best = {}
        for _ in range(3):
            for name, commands in works.items():
                os.mkdir(path("w"))
                begin = time.perf_counter()
                for c in commands:
                    subprocess.run(c, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   check=True)
                us = (time.perf_counter() - begin) * 1e6
                best[name] = min(us, best.get(name, us))
                shutil.rmtree(path("w"))
        for what in ("in", "in and out"):
            ours, ref = best[f"ours {what}"], best[f"theirs {what}"]
            row(f"{count} small files {what}: quern / bsdtar", ms(ours), ms(ref), times(ours, ref), "1.30 x")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--source", required=True)
    p.add_argument("--quick", action="store_true")
    args = p.parse_args()
    bench = Bench(args.build, args.source, args.quick)
    try:
        for part in (bench.size, bench.startup, bench.plain_task, bench.first_byte, bench.plain_turn, bench.tls_turn,
                     bench.many_turns, bench.child, bench.overlap, bench.deltas, bench.long_talk, bench.archives, bench.replay,
                     bench.memory):
            part()
    finally:
        bench.close()
    rows.insert(0, ("", "ours", "reference", "", "at most"))
    widths = [max(len(r[i]) for r in rows) for i in range(5)]
    for r in rows:
        print("  ".join([f"{r[0]:<{widths[0]}}"] + [f"{r[i]:>{widths[i]}}" for i in range(1, 5)]))


if __name__ == "__main__":
    main()
