"""Appends what asv does not keep (status, audits, telemetry) to the row's sidecar; see docs/architecture.md."""

import datetime
import json
import os


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
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(json.dumps(line, default=str) + "\n")


def records(record: str) -> list:
    """Return this row's records of one kind; lines that a crash cut short are passed over."""
    path = os.environ.get("BENCH_SIDECAR")
    found = []
    if not path or not os.path.exists(path):
        return found
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and entry.get("record") == record:
                found.append(entry)
    return found
