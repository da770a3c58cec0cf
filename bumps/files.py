"""Files that are written whole or not at all."""

import contextlib
import os
import pathlib

# No `.json` at the end: asv would parse what a crash left.
TEMPORARY_SUFFIX = ".part"


def write_whole(path: pathlib.Path, content: bytes) -> None:
    """Write a file in one step and wait until it is on the disk.

    A full disk, a crash or a kill leaves the file that was there, and at most a temporary one beside it, which
    `remove_leftovers` removes. Raises OSError.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
    try:
        with open(temporary, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def sync_folder(folder: pathlib.Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(folder: pathlib.Path) -> None:
    """Remove the temporary files of processes that were killed while they wrote; only where nobody else writes."""
    for leftover in folder.glob(f"*{TEMPORARY_SUFFIX}"):
        with contextlib.suppress(OSError):
            leftover.unlink()
