"""Whether a folder that came from elsewhere is what a measuring job uploads. Nothing in it is followed or run."""

import os
import pathlib
from collections.abc import Iterator

from asv.util import UserError

from bumps.machine import safe_name

SUITE = "benchmarks.json"
MACHINE = "machine.json"
SESSIONS = "sessions"
MOST_FILES = 10_000
# A whole H200 session with its journal and sidecars takes 4 MB.
MOST_BYTES = 512 * 2**20


def check(folder: pathlib.Path) -> pathlib.Path:
    """Return the folder when it holds results of machines and nothing else, as plain files of a bearable size.

    Raises UserError with the first thing that is otherwise.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise UserError(f"{folder} is no artifact of measured results: there is no such folder")
    count = size = machines = 0
    for entry, parts in _entries(folder):
        why = _why_not(entry, parts)
        if why is None and entry.is_file(follow_symlinks=False):
            count += 1
            size += entry.stat(follow_symlinks=False).st_size
            machines += len(parts) == 2 and parts[1] == MACHINE
            if count > MOST_FILES or size > MOST_BYTES:
                why = f"over {MOST_FILES} files or {MOST_BYTES >> 20} MiB"
        if why:
            raise UserError(f"{folder} is no artifact of measured results: {ascii('/'.join(parts))[:200]}: {why}")
    if not machines:
        raise UserError(f"{folder} is no artifact of measured results: it has no {MACHINE} in a machine's folder")
    return folder


def _entries(folder: pathlib.Path, above: tuple[str, ...] = ()) -> Iterator[tuple[os.DirEntry, tuple[str, ...]]]:
    with os.scandir(folder) as found:
        for entry in found:
            parts = (*above, entry.name)
            yield entry, parts
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(folder / entry.name, parts)


def _why_not(entry: os.DirEntry, parts: tuple[str, ...]) -> str | None:
    if entry.is_symlink():
        return "a link"
    if entry.is_dir(follow_symlinks=False):
        if len(parts) == 1 and parts[0] != safe_name(parts[0]):
            return "no machine's name"
        if (len(parts) == 2 and parts[1] != SESSIONS) or len(parts) > 2:
            return "a folder that no machine has"
        return None
    if not entry.is_file(follow_symlinks=False):
        return "no plain file"
    if len(parts) == 1:
        return None if parts[0] == SUITE else "no result"
    if not parts[-1].endswith(".jsonl" if len(parts) == 3 else (".json", ".jsonl")):
        return "no result"
    return None
