#!/usr/bin/env python3
"""Measures quern against programs that do only the unavoidable part of the same work, all in one run.

usage: run.py --build DIR --source DIR [--quick]; prints one table. Ratios are of minima, where times are compared:
the machine's other load falls out of them.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

rows = []


def row(what, ours, theirs="", ratio=""):
    rows.append((what, ours, theirs, ratio))


def ms(us):
    return f"{us / 1000:.2f} ms"


def mib(kib):
    return f"{kib / 1024:.1f} MiB"


def times(a, b):
    return f"{a / b:.2f} x"


class Bench:
    def __init__(self, build, source, quick):
        self.build, self.source = os.path.abspath(build), os.path.abspath(source)
        self.runs = 10 if quick else 40
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
        out = subprocess.run([self.tool("timeit"), str(runs), *command], cwd=self.work, env={**self.env, **env},
                             stdout=subprocess.PIPE, check=True, text=True).stdout
        return [int(x) for x in out.split()]

    def serve(self, script, *options):
        """Starts a model server; returns its port and its log."""
        n = len(self.servers)
        path, log = os.path.join(self.dir, f"script{n}.json"), os.path.join(self.dir, f"log{n}")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(script, f)
        server = subprocess.Popen([sys.executable, os.path.join(self.source, "tests/lib/server.py"), "--log", log,
                                   *options, path], stdout=subprocess.PIPE, text=True)
        self.servers.append(server)
        return int(server.stdout.readline().split()[1]), log

    def ask(self, base, *more, **kw):
        """One run; its events as objects and its stdout's length."""
        p = subprocess.run([self.quern, "--base-url", base, "-p", "go", *more], cwd=self.work,
                           env={**self.env, **kw}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        return [json.loads(line) for line in p.stdout.splitlines()], len(p.stdout)

    def close(self):
        for s in self.servers:
            s.kill()
            s.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---------------------------------------------------------------- what is measured

    def size(self):
        row("binary, stripped", f"{os.path.getsize(self.quern) / 1024:.0f} KiB")

    def startup(self):
        floor = self.timeit(self.runs * 5, self.tool("nothing"))[0]
        for option in (["--version"], ["--check", "-p", "go", "--base-url", "http://127.0.0.1:9"]):
            ours = self.timeit(self.runs * 5, self.quern, *option)[0]
            row(f"start: quern {option[0]} / a program that does nothing", ms(ours), ms(floor), times(ours, floor))

    def plain_request(self):
        port, log = self.serve([{"text": "fine", "repeat": True}])
        self.ask(f"http://127.0.0.1:{port}", "--allowedTools", "Bash,Edit,Write")
        self.body = os.path.join(log, "001.json")
        with open(self.body, encoding="utf-8") as f:
            tools = len(json.load(f)["tools"])
        with open(os.path.join(log, "connections"), encoding="utf-8") as f:
            connections = len(f.readlines())
        requests = len([n for n in os.listdir(log) if n.endswith(".json")])
        row(f"request of a plain task, {tools} tools", f"{os.path.getsize(self.body)} bytes", "6144 at most")
        row("requests, connections of a plain task", f"{requests}, {connections}", "1, 1")

    def one_turn(self, what, url, options, **env):
        data = ["--data-binary", f"@{self.body}", "-H", "content-type: application/json",
                "-H", "anthropic-version: 2023-06-01"]
        ours = self.timeit(self.runs, self.quern, "--base-url", url, "-p", "go", "--allowedTools", "Bash,Edit,Write", **env)
        theirs = self.timeit(self.runs, "curl", "-q", "-sS", *options, *data, f"{url}/v1/messages")
        row(f"one turn{what}: quern / curl", ms(ours[0]), ms(theirs[0]), times(ours[0], theirs[0]))
        row(f"one turn{what}: largest process", mib(ours[2]), mib(theirs[2]), times(ours[2], theirs[2]))

    def plain_turn(self):
        port, _ = self.serve([{"text": "fine", "repeat": True}], "--no-check")
        self.one_turn("", f"http://127.0.0.1:{port}", [])

    def tls_turn(self):
        d = os.path.join(self.dir, "tls")
        os.makedirs(os.path.join(d, "ca"))
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
        ca = os.path.join(d, "ca")
        self.one_turn(" over TLS", f"https://127.0.0.1:{port}", ["--capath", ca, "--cacert", os.path.join(ca, "ca.pem")], SSL_CERT_DIR=ca)

    def many_turns(self):
        turns = 200
        call = {"tool_use": {"name": "Bash", "input": {"command": "echo hi"}}}
        script = [{**call, "tool_use": {**call["tool_use"], "id": f"b{i}"}} for i in range(turns)] + [{"text": "done"}]
        best, ratios = None, []
        for _ in range(1 if self.runs < 40 else 3):
            port, log = self.serve(script, "--no-check")
            took = self.timeit(1, self.quern, "--base-url", f"http://127.0.0.1:{port}", "-p", "go", "--allowedTools", "Bash",
                               "--max-turns", str(turns + 1))
            best = took if best is None or took[0] < best[0] else best
            at = [os.stat(os.path.join(log, f"{n:03d}.head")).st_mtime_ns for n in range(1, turns + 2)]
            steps = [b - a for a, b in zip(at, at[1:])]
            early, late = min(steps[4:14]), min(steps[-10:])
            ratios.append((late / early, late, early))
        port, _ = self.serve([{**call, "repeat": True}], "--no-check")
        # One curl, one connection, as many posts of the same bodies.
        config = os.path.join(self.dir, "posts")
        with open(config, "w", encoding="utf-8") as f:
            for n in range(1, turns + 2):
                f.write(f'{"next" if n > 1 else ""}\nurl = "http://127.0.0.1:{port}/v1/messages"\n'
                        f'data-binary = "@{os.path.join(log, f"{n:03d}.json")}"\nheader = "content-type: application/json"\n'
                        'header = "anthropic-version: 2023-06-01"\nheader = "Expect:"\nsilent\nshow-error\noutput = "/dev/null"\n')
        posts = self.timeit(1 if self.runs < 40 else 3, "curl", "-q", "-K", config)[0]
        forks = self.timeit(turns, "bash", "-c", "echo hi")[1] * turns
        row(f"{turns} tool turns: quern / curl's posts + as many bash", ms(best[0]), ms(posts + forks), times(best[0], posts + forks))
        ratio, late, early = min(ratios)
        row("a turn near the 200th / near the 10th", ms(late / 1000), ms(early / 1000), f"{ratio:.2f} x")

    def deltas(self):
        port, _ = self.serve([{"text": "word " * 5000, "piece": 5}])
        _, size = self.ask(f"http://127.0.0.1:{port}")
        row("stdout for 5,000 text deltas", f"{size} bytes", "110000 at most")

    def memory(self):
        # The call looks at its parent, the supervisor, and at the supervisor's parent, the loop.
        look = ("for p in $PPID $(sed -n 's/^PPid:[^0-9]*//p' /proc/$PPID/status); do "
                "sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$p/status; done")
        port, _ = self.serve([{"tool_use": {"name": "Bash", "input": {"command": look}}}, {"text": "done"}])
        events, _ = self.ask(f"http://127.0.0.1:{port}", "--allowedTools", "Bash")
        text = next(e["message"]["content"][0]["content"] for e in events if e["type"] == "user")
        text = text if isinstance(text, str) else text[0]["text"]
        supervisor, loop = [int(x) for x in text.split()[:2]]
        port, _ = self.serve([{"text": "fine", "repeat": True}], "--no-check")
        theirs = self.timeit(3, self.tool("onepost"), f"http://127.0.0.1:{port}/v1/messages", self.body)[2]
        row("peak memory: loop process / a C program with one POST", mib(loop), mib(theirs), times(loop, theirs))
        row("peak memory: loop + supervisor / the same", mib(loop + supervisor), mib(theirs), times(loop + supervisor, theirs))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--source", required=True)
    p.add_argument("--quick", action="store_true")
    args = p.parse_args()
    bench = Bench(args.build, args.source, args.quick)
    try:
        for part in (bench.size, bench.startup, bench.plain_request, bench.plain_turn, bench.tls_turn, bench.many_turns,
                     bench.deltas, bench.memory):
            part()
    finally:
        bench.close()
    widths = [max(len(r[i]) for r in rows) for i in range(4)]
    for r in rows:
        print(f"{r[0]:<{widths[0]}}  {r[1]:>{widths[1]}}  {r[2]:>{widths[2]}}  {r[3]:>{widths[3]}}")


if __name__ == "__main__":
    main()
