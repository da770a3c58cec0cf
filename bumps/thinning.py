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


def journal_lines(lines: Sequence[bytes]) -> list[bytes]:
    """Return a journal in which each process's median stands for its samples.

    One that is finished, which nobody takes up again, is packed besides: its items stand once, in an `items` record,
    and its processes have `medians` of them (docs/architecture.md).
    """
    told = [record_of(line) for line in lines]
    kinds = [record.get("record") if record else None for record in told]
    if "items" in kinds:
        return list(lines)
    if kinds[:1] != ["session"] or "finished" not in kinds or not isinstance(told[0].get("plan", {}), dict):
        return [_shortened(line, record) for line, record in zip(lines, told, strict=True)]
    items: dict[tuple, int] = {}
    kept = [_packed(line, record, items) for line, record in zip(lines[1:], told[1:], strict=True)]
    head = {**told[0], "plan": {name: value for name, value in told[0].get("plan", {}).items() if name != "selection"}}
    return [_line(head), _line({"record": "items", "items": [list(item) for item in items]}), *kept]


def journal_statements(lines: Sequence[bytes]) -> list[str]:
    """Return what a journal says, one statement a record, alike for whole, thinned and packed ones."""
    items, found = [], []
    for line in lines:
        record = record_of(line)
        kind = record.get("record") if record else None
        if kind == "items":
            items = record.get("items") or []
        elif kind == "session":
            names = ("id", "commit", "started", "seed", "versions")
            found.append(json.dumps([record.get(name) for name in names], sort_keys=True))
        elif kind == "process":
            known = {name: value for name, value in record.items() if name not in ("entries", "medians")}
            told = [
                [entry["benchmark"], entry["index"], entry.get("number"), median]
                for entry in _entries(record)
                if (median := _median(entry)) is not None
            ]
            told += [[*item, median] for item, median in journals.unpacked(items, record)]
            others = [entry for entry in _entries(record) if _median(entry) is None]
            found.append(json.dumps([known, sorted(told, key=repr), others], sort_keys=True))
        elif line.strip():
            found.append(line.decode(errors="replace").strip())
    return found


def _entries(record: dict) -> list:
    entries = record.get("entries")
    return entries if isinstance(entries, list) else []


def _median(entry: object) -> float | None:
    """Return the median of an entry's samples; None of one that is not as `bumps run` writes it, or has none."""
    if (
        not isinstance(entry, dict)
        or not isinstance(entry.get("benchmark"), str)
        or type(entry.get("index")) is not int
        or type(entry.get("number")) not in (int, type(None))
    ):
        return None
    values = entry.get("samples")
    return statistics.median(values) if values and journals.are_numbers(values) else None


def _shortened(line: bytes, record: dict | None) -> bytes:
    if record is None or record.get("record") != "process":
        return line
    shortened = False
    for entry in _entries(record):
        median = _median(entry)
        if median is not None and len(entry["samples"]) > 1:
            entry["samples"] = [median]
            shortened = True
    return _line(record) if shortened else line


def _packed(line: bytes, record: dict | None, items: dict[tuple, int]) -> bytes:
    """Return a process's record with numbers of items, which are added to `items`, in place of entries."""
    if record is None or record.get("record") != "process":
        return line
    others, medians = [], []
    for entry in _entries(record):
        median = _median(entry)
        if median is None:
            others.append(entry)
        else:
            item = entry["benchmark"], entry["index"], entry.get("number")
            medians.append([items.setdefault(item, len(items)), median])
    return _line({**record, "entries": others, "medians": medians})


def _line(record: dict) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()


def sidecar_lines(lines: Sequence[bytes], spans: Iterable[tuple[float, float]]) -> list[bytes]:
    """Return the lines of a sidecar that stay: of those that say the same the newest.

    `spans` are when journalled processes began and ended, in seconds since the epoch: of all other processes the
    sidecar alone knows the times.
    """
    ordered = sorted(spans)
    kept, said = [], set()
    for line in reversed(lines):
        record = record_of(line)
        identity = None if record is None else _identity(record, ordered)
        if identity is not None:
            if identity in said:
                continue
            said.add(identity)
        kept.append(line)
    return kept[::-1]


def merged_lines(had: Sequence[bytes], brought: Iterable[bytes], spans: Iterable[tuple[float, float]]) -> list[bytes]:
    """Return a sidecar's lines with those that are brought and say something new, in the order of their times.

    Every line of `had` stays. A brought line is left out where a newer one says the same, as `sidecar_lines` has it: a
    prune may have taken it away here. Lines have no line ends.
    """
    known = set(had)
    new = [line for line in dict.fromkeys(brought) if line.strip() and line not in known]
    # Of two written at the same time the one that was here counts as the newer: a prune has chosen it.
    together = [line for _, line in sorted([*_timed(new), *_timed(had)], key=lambda pair: pair[0])]
    telling = set(sidecar_lines(together, spans))
    return [line for line in together if line in known or line in telling]


def _timed(lines: Iterable[bytes]) -> list[tuple[float, bytes]]:
    """Return lines with their times; one that has none was written when the one before it was."""
    time, found = float("-inf"), []
    for line in lines:
        own = journals.seconds((record_of(line) or {}).get("time"))
        time = time if own is None else own
        found.append((time, line))
    return found


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
