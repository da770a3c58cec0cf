"""Session journals as judging needs them: which process measured which samples, and when.

The samples themselves stay on disk: what is kept of each is their number, a digest that recognises them in a result
file, and their median.
"""

import array
import hashlib
import json
import math
import pathlib
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

NUMBERS = {int, float}
THINNED = "thinned.jsonl"


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a session; times are seconds since the epoch."""

    session: str
    stage: int
    round: int
    env_name: str
    started: float | None
    ended: float | None
    disturbed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """What one process says of one benchmark with one set of parameters.

    `count`, `digest` and `median` describe its samples; without samples, `status` and `reason` say why.
    """

    process: Process
    count: int = 0
    digest: bytes = b""
    median: float | None = None
    status: str | None = None
    reason: str | None = None


@dataclass
class Journals:
    """The journals of one machine.

    `entries` maps (env_name, benchmark, index) to what the processes say of it, in the order measured; `versions` and
    `commits` map a session to its benchmarks' versions and its commit. `thinned` maps the same keys as `entries` to
    runs of process medians that stand for samples no session tells of: (how many, their digest). `unread` are (file,
    why).
    """

    entries: dict[tuple[str, str, int], list[Entry]] = field(default_factory=dict)
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    commits: dict[str, str] = field(default_factory=dict)
    thinned: dict[tuple[str, str, int], set[tuple[int, bytes]]] = field(default_factory=dict)
    unread: list[tuple[str, str]] = field(default_factory=list)

    def belonging(self, key: tuple[str, str, int], commit: str, version: str | None) -> list[Entry]:
        """Return the entries of a key (as in `entries`) at a commit and of a benchmark's version."""
        return [entry for entry in self.entries.get(key, ()) if self._belongs(entry, key[1], commit, version)]

    def spans(self) -> list[tuple[float, float]]:
        """Return when the processes began and ended, in seconds since the epoch."""
        processes = {entry.process for entries in self.entries.values() for entry in entries}
        return [(each.started, each.ended) for each in processes if each.started and each.ended]

    def _belongs(self, entry: Entry, benchmark: str, commit: str, version: str | None) -> bool:
        session = entry.process.session
        known = self.versions.get(session, {}).get(benchmark)
        return self.commits.get(session) in (None, "", commit) and known in (None, version)


def records(path: pathlib.Path) -> Iterator[dict]:
    """Yield the records of a JSON-lines file; lines that a crash cut short and lines of other kinds are passed over.

    Raises OSError.
    """
    with open(path, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict) and isinstance(record.get("record"), str):
                yield record


def seconds(time: object) -> float | None:
    """Return an ISO 8601 time (or a number) as seconds since the epoch, None for anything else."""
    if isinstance(time, str):
        try:
            return datetime.fromisoformat(time).timestamp()
        except (ValueError, OverflowError):
            return None
    return float(time) if are_numbers([time]) else None


def utc(time: float | None) -> datetime | None:
    """Return seconds since the epoch as a time, None where there is none or it is out of range."""
    try:
        return None if time is None else datetime.fromtimestamp(int(time), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def digest(samples: Sequence[float]) -> bytes:
    """Return what recognises these samples: the bytes of their doubles, hashed."""
    return hashlib.blake2b(array.array("d", samples).tobytes(), digest_size=16).digest()


def are_numbers(values: object) -> bool:
    """Whether this is a list of finite numbers that fit a double."""
    try:
        return isinstance(values, list) and set(map(type, values)) <= NUMBERS and math.isfinite(math.fsum(values))
    except OverflowError:
        return False


def read(machine_folder: pathlib.Path) -> Journals:
    """Read all journals of one machine's results folder."""
    found = Journals()
    paths = sorted((machine_folder / "sessions").glob("*.jsonl"))
    processes = []
    for path in paths:
        try:
            processes += _read_session(path, found)
        except OSError as error:
            found.unread.append((f"sessions/{path.name}", f"cannot be read: {error.strerror}"))
    # One process after another, whatever the sessions are called.
    processes.sort(key=lambda pair: pair[0].started or 0.0)
    for process, entries in processes:
        for benchmark, index, entry in entries:
            found.entries.setdefault((process.env_name, benchmark, index), []).append(entry)
    try:
        _read_thinned(machine_folder / THINNED, found)
    except OSError as error:
        found.unread.append((THINNED, f"cannot be read: {error.strerror}"))
    return found


def _read_thinned(path: pathlib.Path, found: Journals) -> None:
    for record in records(path) if path.exists() else ():
        count, digested = record.get("count"), record.get("digest")
        if record["record"] != "thinned" or type(count) is not int or not isinstance(digested, str):
            continue
        try:
            run = count, bytes.fromhex(digested)
        except ValueError:
            continue
        key = str(record.get("env_name")), str(record.get("benchmark")), _integer(record.get("index"))
        found.thinned.setdefault(key, set()).add(run)


def _read_session(path: pathlib.Path, found: Journals) -> list:
    session, items, processes = path.stem, [], []
    for record in records(path):
        if record["record"] == "session":
            session = str(record.get("id") or session)
            versions = record.get("versions")
            found.versions[session] = versions if isinstance(versions, dict) else {}
            found.commits[session] = str(record.get("commit") or "")
        elif record["record"] == "items" and isinstance(record.get("items"), list):
            items = record["items"]
        elif record["record"] == "process" and isinstance(record.get("entries"), list):
            disturbed = record.get("disturbed")
            process = Process(
                session=session,
                stage=_integer(record.get("stage")),
                round=_integer(record.get("round")),
                env_name=str(record.get("env_name")),
                started=seconds(record.get("started")),
                ended=seconds(record.get("ended")),
                disturbed=tuple(map(str, disturbed)) if isinstance(disturbed, list) else (),
            )
            entries = [entry for given in record["entries"] if (entry := _entry(process, given))]
            entries += [
                (item[0], item[1], Entry(process, 1, digest([median]), median))
                for item, median in unpacked(items, record)
            ]
            processes.append((process, entries))
    return processes


def unpacked(items: list, record: dict) -> Iterator[tuple[list, float]]:
    """Yield (item, median) of a process whose session a prune packed: item is [benchmark, index, number]."""
    medians = record.get("medians")
    for pair in medians if isinstance(medians, list) else ():
        if not isinstance(pair, list) or len(pair) != 2 or not are_numbers(pair):
            continue
        number, median = pair
        item = items[number] if type(number) is int and 0 <= number < len(items) else None
        if isinstance(item, list) and len(item) == 3 and isinstance(item[0], str) and type(item[1]) is int:
            yield item, median


def _integer(value: object) -> int:
    """Return a number that a stage, a round or an index can have; 0 for anything else."""
    return value if type(value) is int and 0 <= value < 2**31 else 0


def _entry(process: Process, given: object) -> tuple[str, int, Entry] | None:
    if not isinstance(given, dict) or not isinstance(given.get("benchmark"), str):
        return None
    benchmark, index = given["benchmark"], _integer(given.get("index"))
    samples = given.get("samples")
    if samples and are_numbers(samples):
        return benchmark, index, Entry(process, len(samples), digest(samples), statistics.median(samples))
    status = given.get("status")
    if not isinstance(status, str):
        return None
    return benchmark, index, Entry(process, status=status, reason=str(given.get("reason") or status))
