"""Runs a command to its end, within a time, and leaves nothing of it running."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence


class TimedOut(Exception):
    """The command took too long and was ended."""


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    timeout: float,
    on_line: Callable[[str], None] = lambda line: None,
    keep_open: Sequence[int] = (),
    folder: str | None = None,
) -> tuple[int, list[str]]:
    """Return (exit status, lines of output); `on_line` is told each line as it comes.

    `keep_open` are descriptors that the command, and whatever it starts, inherits. Raises TimedOut after `timeout`
    seconds, and OSError when the command cannot be started.
    """
    process = subprocess.Popen(
        command,
        env=dict(environment),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        pass_fds=keep_open,
        # A group of its own: an installer's helpers end with it.
        start_new_session=True,
    )
    late = threading.Event()

    def stop() -> None:
        late.set()
        _end(process)

    timer = threading.Timer(timeout, stop)
    timer.start()
    lines = []
    try:
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            on_line(lines[-1])
        status = process.wait()
    finally:
        timer.cancel()
        _end(process)
        process.wait()
        process.stdout.close()
    if late.is_set():
        raise TimedOut
    return status, lines


def _end(process: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
