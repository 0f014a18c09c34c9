#!/usr/bin/env python3
"""The house rules that no compiler checks. usage: style.py [TOP]; prints "file:line: NAME: text", exits 1 if any.

An exception is written in the code, on the line itself or alone on the line above it:
    /* style: allow NAME - why */
One without a reason, of an unknown name, or that nothing needs, is an error too.
"""
import os
import re
import sys

FLOORS = {"base": 1, "message": 2, "job": 2, "record": 2, "guard": 2, "supervisor": 2, "workspace": 2,
          "model": 3, "tool": 3, "context": 3, "hook": 3, "prompt": 3, "report": 3, "loop": 4, "run": 5}
# Which room may look at another one on its own floor.
SIDEWAYS = {("record", "message"), ("job", "guard"), ("supervisor", "guard"), ("tool", "hook"),
            ("workspace", "supervisor"), ("workspace", "guard")}

WIDTH, TAB = 120, 8

# A name behind '.' or '->' is a member of ours, not the library's function.
CALL = r"(?<![.>])\b(%s)\s*\("
BANNED = CALL % "strcpy|strcat|sprintf|vsprintf|strncpy|strncat|strtok|gets|atoi|atol|atof|alloca|setjmp|longjmp"
SHELL = CALL % "system|popen"
PROCESS = CALL % "fork|vfork|clone|execve?|execvpe?|execl[pe]?|fexecve|posix_spawnp?|daemon"
WAIT = CALL % "poll|ppoll|select|pselect|epoll_wait|sleep|usleep|nanosleep|clock_nanosleep|pause|sigwait|sigsuspend"
STDOUT = (CALL % "printf|vprintf|puts|putchar") + r"|\bstdout\b|\b(write|dprintf|send|sendmsg|writev)\s*\(\s*(1|STDOUT_FILENO)\s*,"
EXIT = CALL % "exit|abort|quick_exit"
# Split, so that this file does not find itself.
LATER = r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b"
MACHINE = r"/(?:(?<![\w$}@]/)(?:(ho[m]e|U[s]ers)/\w+/|(ro[o]t|wor[k]/(main|shared))/\w)|tm[p]/w/)"


class Rule:
    def __init__(self, name, pattern, text, where, code=True, rooms=None, exempt=()):
        self.name, self.pattern, self.text = name, re.compile(pattern, re.M), text
        self.where, self.code, self.exempt = where, code, exempt


# where: the first folders a rule holds in. code: comments and strings do not count.
RULES = [
    Rule("banned", BANNED, "unbounded, unchecked or not re-entrant: use buf, snprintf or strtoll", ("src", "bench", "fuzz")),
    Rule("shell", SHELL, "start programs by the supervisor, with an argument list", ("src", "bench", "fuzz")),
    Rule("process", PROCESS, "only supervisor/ starts a process", ("src",), exempt=("src/supervisor/",)),
    Rule("wait", WAIT, "only base/reactor waits", ("src",), exempt=("src/base/reactor.c",)),
    Rule("stdout", STDOUT, "only record/out.c writes to stdout", ("src",), exempt=("src/record/out.c",)),
    Rule("exit", EXIT, "only main.c exits", ("src",), exempt=("src/main.c",)),
    Rule("later", LATER, "do it, or say what is missing in the README", ("",), code=False),
    Rule("path", MACHINE, "a path of somebody's machine", ("",), code=False),
    Rule("quiet", r"^\t+(\[ [^|\n]*\] && [^|\n]*|! [^|\n]*)$", "a test goes on behind it: a line each, or '|| false'", ("tests",),
         code=False),
    Rule("space", r"[ \t]$", "trailing white space", ("",), code=False),
]
NAMES = {r.name for r in RULES} | {"line", "include"}

C_FILE = re.compile(r"\.[ch]$")
TEXT_FILE = re.compile(r"\.([ch]|am|ac|py|sh|bash|bats|md|yaml|yml|json|[1-8]|fish)$|^(bootstrap|run|_quern)$")
SKIPPED = {"build-aux", "autom4te.cache", ".git", ".deps", "__pycache__", "corpus", "fixtures"}
ALLOW = re.compile(r"/\*\s*style: allow (\S+)(?:\s+-\s+(.*?))?\s*\*/")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def code_of(text):
    """The text with comments, strings and character constants blanked, line for line."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def in_folder(path, folders):
    return any(f == "" or path.startswith(f + "/") for f in folders)


def room_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def include_problem(path, line):
    room = room_of(path)
    m = re.match(r'\s*#\s*include\s+"([a-z_]+)/', line)
    if not room or not m:
        return None
    other = m.group(1)
    if room not in FLOORS or other not in FLOORS:
        return f"unknown room in {room} -> {other}"
    if other == room or FLOORS[other] < FLOORS[room] or (room, other) in SIDEWAYS:
        return None
    return f"{room} (floor {FLOORS[room]}) must not look at {other} (floor {FLOORS[other]})"


def findings(path, text):
    """(line number, rule name, text) before exceptions are taken off."""
    is_c = bool(C_FILE.search(path))
    lines = text.split("\n")
    code = code_of(text) if is_c else text
    code_lines = code.split("\n")
    # Most rules find nothing in most files: one look at the whole says so.
    rules = [r for r in RULES if (is_c or not r.code) and in_folder(path, r.where) and
             not path.startswith(tuple(r.exempt) or "\0") and r.pattern.search(code if r.code else text)]
    for n, line in enumerate(lines):
        for rule in rules:
            if rule.pattern.search(code_lines[n] if rule.code else line):
                yield n + 1, rule.name, rule.text
        if is_c:
            width = len(line.expandtabs(TAB)) if len(line) + (TAB - 1) * line.count("\t") > WIDTH else 0
            if width > WIDTH:
                yield n + 1, "line", f"{width} columns, more than {WIDTH}"
            problem = "#" in line and include_problem(path, line)
            if problem:
                yield n + 1, "include", problem


def allowances(path, text):
    """{line number it is for: {name: line number it stands on}}, and the problems of its form."""
    out, problems = {}, []
    if not C_FILE.search(path):
        return out, problems
    lines = text.split("\n")
    for n, line in enumerate(lines):
        for m in ALLOW.finditer(line):
            alone = line.strip() == m.group(0)
            if m.group(1) not in NAMES:
                problems.append((n + 1, "allow", f"there is no rule '{m.group(1)}'"))
            elif not m.group(2):
                problems.append((n + 1, "allow", "an exception needs its reason: /* style: allow NAME - why */"))
            else:
                out.setdefault(n + 2 if alone else n + 1, {})[m.group(1)] = n + 1
    return out, problems


def check(path, text):
    allowed, problems = allowances(path, text)
    used = set()
    for n, name, what in findings(path, text):
        if name in allowed.get(n, {}):
            used.add((n, name))
        else:
            problems.append((n, name, what))
    for n, names in allowed.items():
        problems += [(at, "allow", f"nothing here needs 'allow {name}'") for name, at in names.items() if (n, name) not in used]
    return sorted(problems)


def files_of(top):
    for folder, dirs, names in os.walk(top):
        rel = os.path.relpath(folder, top)
        dirs[:] = [d for d in sorted(dirs) if d not in SKIPPED and not (rel == "." and (d.startswith("build") or d.startswith("quern-")))]
        for name in sorted(names):
            path = os.path.normpath(os.path.join(rel, name))
            generated = "/" not in path and name in ("config.h", "config.h.in", "aclocal.m4")
            if TEXT_FILE.search(name) and not generated:
                yield path


def main():
    top = sys.argv[1] if len(sys.argv) > 1 else "."
    count = bad = 0
    for path in files_of(top):
        with open(os.path.join(top, path), encoding="utf-8", errors="replace") as f:
            text = f.read()
        count += 1
        for n, name, what in check(path, text):
            bad += 1
            print(f"{path}:{n}: {name}: {what}")
    if not count:
        sys.exit(f"style.py: nothing to check in {top}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
