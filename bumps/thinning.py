"""What old records can do without: a process's samples become their median, and of records that say the same thing
again the newest stays. Pure."""

import bisect
import json
import statistics
from collections.abc import Callable, Iterable, Sequence

from bumps import journals
from bumps.cutting import Piece

# When an inventory was taken and how long that took is not what it says.
INCIDENTAL = ("time", "build_seconds")


def samples(whole: Sequence[float], pieces: Sequence[Piece], is_old: Callable[[Piece], bool]) -> list[float]:
    """Return samples in which the old processes' medians stand for theirs."""
    thinned: list[float] = []
    for piece in pieces:
        own = list(whole[piece.start : piece.end])
        thinned += [statistics.median(own)] if is_old(piece) and len(own) > 1 else own
    return thinned


def journal_line(line: bytes) -> bytes:
    """Return a journal's line with the median of each entry in place of its samples; other lines as they are."""
    record = record_of(line)
    if record is None or record.get("record") != "process" or not isinstance(record.get("entries"), list):
        return line
    shortened = False
    for entry in record["entries"]:
        values = entry.get("samples") if isinstance(entry, dict) else None
        if values and journals.are_numbers(values) and len(values) > 1:
            entry["samples"] = [statistics.median(values)]
            shortened = True
    return json.dumps(record, allow_nan=True).encode() if shortened else line


def sidecar_lines(lines: Sequence[bytes], before: float, spans: Iterable[tuple[float, float]]) -> list[bytes]:
    """Return the lines of a sidecar that stay: all since `before` (seconds since the epoch), and of the older ones the
    newest of those that say the same.

    `spans` are when journalled processes began and ended: the sidecar alone knows the times of all others.
    """
    ordered = sorted(spans)
    kept, said = [], set()
    for line in reversed(lines):
        record = record_of(line)
        identity = None if record is None else _identity(record, ordered)
        if identity is not None:
            time = journals.seconds(record.get("time"))
            if identity in said and time is not None and time < before:
                continue
            said.add(identity)
        kept.append(line)
    return kept[::-1]


def record_of(line: bytes) -> dict | None:
    """Return a line's record, None where it holds none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _identity(record: dict, spans: Sequence[tuple[float, float]]) -> str | None:
    """Return what two records have in common of which the newer makes the older needless; None for one that stays."""
    kind = record.get("record")
    names = {
        "audit": ("benchmark", "params", "audit", "version"),
        "status": ("benchmark", "params", "index", "status"),
        "telemetry": ("benchmark", "params"),
        "kernels": ("benchmark", "params", "set"),
        "cost": ("framework", "benchmark", "params"),
        "unbuildable": ("reason",),
    }.get(kind if isinstance(kind, str) else "")
    if kind == "environment":
        names = tuple(sorted(name for name in record if name not in INCIDENTAL))
    if (
        names is None
        # Which process was disturbed changes verdicts, and names are written once a row.
        or (kind == "telemetry" and record.get("disturbed"))
        or (kind == "kernels" and "names" in record)
        or (kind == "cost" and "benchmark" in record and not _is_within(record, spans))
    ):
        return None
    return json.dumps([kind, [[name, record.get(name)] for name in names]], sort_keys=True)


def _is_within(record: dict, spans: Sequence[tuple[float, float]]) -> bool:
    time = journals.seconds(record.get("time"))
    if time is None:
        return False
    index = bisect.bisect_right(spans, (time, float("inf"))) - 1
    return index >= 0 and time <= spans[index][1]
