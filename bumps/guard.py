"""Runs a command and ends it, with all that it started, when the driver that asked for it is gone.

A script of its own, started as the leader of a new process group. Standard input is the life-line: when its other end
closes, the whole group is killed. The command's exit status goes to standard output (negative: the signal it died
of), its own output to standard error. Descriptors that are open stay open for the command. Whatever the command left
running is killed at the end.
"""

import os
import signal
import subprocess
import sys
import threading


def kill_group() -> None:
    os.killpg(0, signal.SIGKILL)


def watch_life_line() -> None:
    while os.read(0, 4096):
        pass
    kill_group()


def main() -> None:
    threading.Thread(target=watch_life_line, daemon=True).start()
    with open(os.devnull, "rb") as nothing:
        status = subprocess.call(sys.argv[1:], stdin=nothing, stdout=2, close_fds=False)
    os.write(1, f"{status}\n".encode())
    kill_group()


if __name__ == "__main__":
    main()
