#!/usr/bin/env python3
"""Does the simulator notice when a guard of the loop is gone?

Each mutation of tests/sim/mutations/*.txt is put into a copy of one source file, which is compiled and linked before
the library, and the simulator runs until it notices. A mutation:

    = a name that says what is wrong
    file src/loop/gate.c
    - text that stands in the file exactly once (or "@ N of" before it: the N-th place)
    + what stands there instead
    scripted tests/unit/test_loop: why the simulator cannot see it      (only then: that test must fail instead)

usage: mutants.py [NAME...]   (from the build directory, by make mutants)
       mutants.py --fit        names those whose text does not stand in its file any more
environment: CC, CFLAGS (all flags), LIBS, SRC, SEEDS
"""
import os
import re
import subprocess
import sys
import tempfile

SRC = os.environ["SRC"]
SEEDS = os.environ.get("SEEDS", "300000")
CC = os.environ.get("CC", "cc").split()
CFLAGS = os.environ.get("CFLAGS", "").split()
LIBS = os.environ.get("LIBS", "").split()
LIMIT = 1200  # s: the seeds take a quarter of that on two quiet cores


class Mutation:
    def __init__(self, name):
        self.name, self.file, self.edits, self.scripted = name, None, [], None


def parse(path):
    found, block = [], None
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        kind, text = line[:2], line[2:]
        if kind == "= ":
            found.append(Mutation(text))
            block = None
        elif line.startswith("file "):
            found[-1].file = line[5:]
        elif line.startswith("scripted "):
            found[-1].scripted = line[9:]
        elif kind in ("- ", "+ ") or line in ("-", "+"):
            if kind[0] == "-" and block != "-":
                found[-1].edits.append(([], []))
            block = kind[0]
            found[-1].edits[-1][0 if block == "-" else 1].append(text)
        elif line and not line.startswith("#"):
            raise SystemExit(f"{path}: what is '{line}'?")
    return found


def squeeze(text):
    """White space says nothing: the formatter may move a line break."""
    return r"\s*".join(re.escape(word) for word in re.findall(r"\w+|[^\w\s]", text))


def mutate(m):
    text = open(os.path.join(SRC, m.file), encoding="utf-8").read()
    for old, new in m.edits:
        where = list(re.finditer(squeeze("\n".join(old)), text))
        if len(where) != 1:
            raise ValueError(f"the text stands {len(where)} times in {m.file}")
        text = text[:where[0].start()] + "\n".join(new) + text[where[0].end():]
    return text


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def objects(program):
    return os.environ["OBJECTS_" + os.path.basename(program)].split()


def link(m, tmp, program):
    source = os.path.join(tmp, "mutant.c")
    with open(source, "w", encoding="utf-8") as out:
        out.write(mutate(m))
    here = os.path.join(SRC, os.path.dirname(m.file))
    built = run(CC + CFLAGS + ["-Wno-error", "-w", "-I" + here, "-c", source, "-o", os.path.join(tmp, "mutant.o")])
    if built.returncode:
        raise ValueError("it does not compile:\n" + built.stdout)
    binary = os.path.join(tmp, os.path.basename(program))
    built = run(CC + CFLAGS + ["-o", binary] + objects(program) + [os.path.join(tmp, "mutant.o"), "libquern.a"] + LIBS)
    if built.returncode:
        raise ValueError("it does not link:\n" + built.stdout)
    return binary


def judge(m):
    """(caught?, how)"""
    with tempfile.TemporaryDirectory(prefix="quern-mutant.") as tmp:
        if m.scripted:
            program, why = m.scripted.split(":", 1)
            try:
                done = run([link(m, tmp, program)], timeout=LIMIT, env=dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP"))
            except subprocess.TimeoutExpired:
                return True, f"{program} hangs;{why}"
            failed = re.search(r"^not ok \d+ - (.*)", done.stdout, re.M)
            return done.returncode != 0, f"{program}: {failed.group(1) if failed else '?'};{why}"
        binary = link(m, tmp, "tests/sim/sim")
        try:
            done = run([binary, SEEDS], timeout=LIMIT, env=dict(os.environ, SIM_BRIEF="1"))
        except subprocess.TimeoutExpired:
            return True, "it does not end"
        said = re.search(r"^(?:# )?(seed \d+.*)", done.stdout, re.M)
        return said is not None, said.group(1) if said else f"{SEEDS} seeds noticed nothing"


def unfit(mutations):
    """How many do not fit; says which."""
    n = 0
    for m in mutations:
        try:
            mutate(m)
        except ValueError as e:
            print(f"{m.name}: {e}")
            n += 1
    return n


def main():
    folder = os.path.join(SRC, "tests/sim/mutations")
    mutations = [m for f in sorted(os.listdir(folder)) if f.endswith(".txt") for m in parse(os.path.join(folder, f))]
    wanted = sys.argv[1:]
    if wanted == ["--fit"]:
        return 1 if unfit(mutations) else 0
    alive = 0
    for m in mutations:
        if wanted and not any(w in m.name for w in wanted):
            continue
        try:
            caught, how = judge(m)
        except ValueError as e:
            caught, how = False, str(e)
        alive += not caught
        print(f"{'caught' if caught else 'ALIVE '}  {m.name}: {how}", flush=True)
    print(f"{len(mutations)} mutations, {alive} not caught")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
