"""One build of an environment at a time, whoever builds it."""

import contextlib
import fcntl
import os
import pathlib
from collections.abc import Callable, Iterator


def of(folder: pathlib.Path) -> pathlib.Path:
    """Return the lock file of an environment's folder."""
    return pathlib.Path(f"{folder}.lock")


@contextlib.contextmanager
def at_once(path: pathlib.Path) -> Iterator[None]:
    """Hold a lock file that is there, whose lack means that nobody holds it; raises BlockingIOError where somebody else
    does."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


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
