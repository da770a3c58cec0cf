"""Appends what asv does not keep (status, audits, telemetry) to the row's sidecar; see docs/architecture.md."""

import contextlib
import datetime
import json
import os

LONGEST_REASON = 500


def append(record: str, **fields) -> None:
    """Append one record to the file that `BENCH_SIDECAR` names; without that variable, do nothing."""
    path = os.environ.get("BENCH_SIDECAR")
    if not path:
        return
    line = {
        "record": record,
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        "env_name": os.environ.get("ASV_ENV_NAME"),
        **fields,
    }
    os.makedirs(os.path.dirname(path), exist_ok=True)
    # One write of one line in append mode: processes of a parallel run do not interleave within a line.
    with open(path, "a+b") as stream:
        stream.write((_line_end(stream) + json.dumps(line, default=str) + "\n").encode())


def _line_end(stream):
    """Return what ends a last line that a crash cut short: what is appended must start a line of its own."""
    if stream.seek(0, os.SEEK_END) == 0:
        return ""
    stream.seek(-1, os.SEEK_END)
    return "" if stream.read() == b"\n" else "\n"


def records(record: str, path: str | None = None) -> list:
    """Return the records of one kind in a sidecar, this row's by default.

    Lines that a crash cut short are passed over.
    """
    path = path or os.environ.get("BENCH_SIDECAR")
    found = []
    if not path or not os.path.exists(path):
        return found
    with open(path, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict) and entry.get("record") == record:
                found.append(entry)
    return found


@contextlib.contextmanager
def reported(benchmark: str, params: tuple):
    """Append a `status` record of what is raised within, with its reason, and let it go on: skipped, else failed."""
    try:
        yield
    except Exception as error:
        # What asv skips for, too.
        skipped = isinstance(error, NotImplementedError)
        first_line = (str(error).strip().splitlines() or [""])[0]
        append(
            "status",
            benchmark=benchmark,
            params=[str(each) for each in params],
            status="skipped" if skipped else "failed",
            reason=(first_line if skipped else f"{type(error).__name__}: {first_line}")[:LONGEST_REASON],
        )
        raise
