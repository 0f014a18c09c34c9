"""until_result.py RECORD COMMAND...: runs it and copies its stdout to RECORD, until the result line begins; what is left
of that finds no room, and the process waits for its reader. Then it is killed: all of its end was done, and whoever reads
the record does not know of it. Exit status 0: so it was, and before that AT_END (a shell command, if it is set) held."""
import fcntl
import os
import signal
import subprocess
import sys

SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, which this Python may not know


def main(record, *command):
    r, w = os.pipe()
    fcntl.fcntl(w, SET_PIPE_SIZE, 4096)
    run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=w)
    os.close(w)
    with open(record, "ab") as out:
        told = b""
        while b'"type":"result"' not in told:
            piece = os.read(r, 1024)
            if not piece:
                sys.exit("it ended without a result, or the result found room")
            told = told[-100:] + piece
            out.write(piece)
    held = subprocess.run(["bash", "-c", os.environ.get("AT_END", ":")], check=False).returncode
    alive = run.poll() is None
    run.send_signal(signal.SIGKILL)
    run.wait()
    sys.exit(0 if alive and held == 0 else f"alive: {alive}, what was to hold: {held}")


main(*sys.argv[1:])
