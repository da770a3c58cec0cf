"""One build of an environment at a time, whoever builds it."""

import contextlib
import fcntl
import os
import pathlib
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def exclusive(path: pathlib.Path, on_wait: Callable[[], None]) -> Iterator[int]:
    """Hold the lock file; yield its descriptor. `on_wait` is called when somebody else holds it.

    An installer that inherits the descriptor holds the lock too: when the builder is killed, the next one waits until
    the installer that was left behind no longer writes into the folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)
