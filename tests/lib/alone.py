"""Runs a command and says what it needed and what it left.

usage: alone.py REPORT COMMAND [ARGUMENT]...

REPORT gets one line: the largest resident set of the command and all that it waited for, in KiB, and the number of
processes that were still alive behind it (they are ended). What the command orphans comes to this process.
"""
import ctypes
import os
import resource
import signal
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36


def left_behind():
    n = 0
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return n
        if pid:
            continue
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as f:
            alive = [int(p) for p in f.read().split()]
        for p in alive:
            print(f"alone: left behind: {p}", file=sys.stderr)
            os.kill(p, signal.SIGKILL)
            os.waitpid(p, 0)
        n += len(alive)


def main():
    report, command = sys.argv[1], sys.argv[2:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    status = subprocess.call(command)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with open(report, "w", encoding="ascii") as f:
        print(peak, left_behind(), file=f)
    sys.exit(status if status >= 0 else 128 - status)


main()
