#!/usr/bin/env python3
"""Stands by the tests of one file: companion.py SCHEMA.json ASK ANSWER

To start an interpreter costs more than most of what the tests want of it: this one is started once a file, and forks.
A line that comes through the named pipe ASK has fields with \\x1f between them:
  check PATH                      the events of a run, see validate.py. Answer: the result's exit code, is_error and
                                  terminal reason, then a line a problem
  serve DIRECTORY STDERR ARG...   a model server, started there; ARGs as for server.py. Answer: "PORT <n> <pid>", or
                                  nothing (why is in STDERR)
An answer in the named pipe ANSWER ends with a zero byte. (Not where it is closed: whoever reads the next one may have
opened the pipe before the last one's writer closed it, and would find an end before a beginning.)
"""
import contextlib
import ctypes
import gc
import os
import signal
import sys

import server

PR_SET_PDEATHSIG = 1


class Companion:
    def __init__(self, schema, answer):
        self.schema, self.answer = schema, answer
        self.validators = None

    @contextlib.contextmanager
    def open_answer(self):
        with open(self.answer, "w", encoding="utf-8") as out:
            try:
                yield out
            finally:
                out.write("\0")

    def check(self, path):
        import validate  # takes longer than all the rest: only where it is wanted
        if self.validators is None:
            self.validators = validate.load(self.schema)
        problems, said = validate.check_file(self.validators, path)
        with self.open_answer() as out:
            out.write(f"{said}\n")
            out.writelines(f"{problem}\n" for problem in problems)

    def serve(self, directory, stderr, *args):
        if os.fork() == 0:
            try:
                with self.open_answer() as out:  # first: whoever asked waits for its end
                    os.chdir(directory)
                    os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    listening = server.listen(args)
                    print("PORT", listening.port, os.getpid(), file=out)
                listening.run()
            except BaseException:  # nothing of the parent's may go on in the child
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(1)

    def obey(self, line):
        what, *fields = line.split("\x1f")
        {"check": self.check, "serve": self.serve}[what](*fields)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a server
    companion = Companion(sys.argv[1], sys.argv[3])
    gc.freeze()  # what is here now stays shared
    with open(os.open(sys.argv[2], os.O_RDWR), encoding="utf-8") as asked:  # as a writer, too: it never ends
        for line in iter(asked.readline, ""):
            companion.obey(line.rstrip("\n"))


if __name__ == "__main__":
    main()
