"""Appends records to a row's sidecar beside the results; docs/architecture.md says what they hold."""

import datetime
import json
import os
import pathlib
from collections.abc import Iterator
from typing import BinaryIO

from asv.results import get_filename


def path_of(results_dir: str, machine: str, env_name: str) -> pathlib.Path:
    """Return the sidecar of a row on a machine, under asv's own rule for long names."""
    result_file = pathlib.Path(get_filename(machine, "", env_name))
    return pathlib.Path(results_dir).absolute() / machine / (result_file.stem.removeprefix("-") + ".jsonl")


def append(path: pathlib.Path, record: str, env_name: str, **fields) -> None:
    """Append one record."""
    time = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"record": record, "time": time, "env_name": env_name, **fields}) + "\n"
    with open(path, "a+b") as stream:
        stream.write((_line_end(stream) + line).encode())
        stream.flush()
        os.fsync(stream.fileno())


def _line_end(stream: BinaryIO) -> str:
    """Return what ends a last line that a crash cut short: what is appended must start a line of its own."""
    if stream.seek(0, os.SEEK_END) == 0:
        return ""
    stream.seek(-1, os.SEEK_END)
    return "" if stream.read() == b"\n" else "\n"


def size(path: pathlib.Path) -> int:
    """Return the length of a sidecar in bytes, 0 where there is none."""
    return path.stat().st_size if path.exists() else 0


def records(path: pathlib.Path, start: int = 0) -> Iterator[dict]:
    """Yield the records of a sidecar from a byte onwards; lines that a crash cut short are passed over."""
    if not path.exists():
        return
    with open(path, "rb") as stream:
        stream.seek(start)
        for line in stream:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                yield record
