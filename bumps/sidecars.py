"""A row's sidecar: what was installed, what audits found, why something was skipped, which processes were disturbed.

docs/architecture.md describes the records. Whatever is missing or malformed counts as not said.
"""

import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field

from bumps import journals
from bumps.results import Archive, Row, sidecar_of, unquote

Key = tuple[str, tuple[str, ...]]


@dataclass
class Sidecar:
    """The records of one row, newest last.

    `environment` is the newest inventory; keys are (benchmark, parameters without quotes). `audits` maps a key to
    audit -> (outcome, version, detail); `reasons` to the newest reason why it was skipped or failed; `disturbances` to
    (seconds since the epoch, reasons), in order of time; `prepared` to the times when a process had made the step
    ready, one a process; `clocks` to the GPU's SM clock before and after measuring, in MHz.
    """

    file: str | None = None
    environment: dict = field(default_factory=dict)
    unbuildable: str | None = None
    audits: dict[Key, dict[str, tuple[str, str | None, dict]]] = field(default_factory=dict)
    reasons: dict[Key, dict[str, str]] = field(default_factory=dict)
    disturbances: dict[Key, list[tuple[float, tuple[str, ...]]]] = field(default_factory=dict)
    prepared: dict[Key, list[float]] = field(default_factory=dict)
    clocks: set[float] = field(default_factory=set)

    def skipped(self, key: Key) -> str | None:
        return self.reasons.get(key, {}).get("skipped")

    def failed(self, key: Key, index: int) -> str | None:
        """Return why a benchmark failed; a crash is recorded by asv's number of the parameters."""
        reasons = self.reasons.get(key) or self.reasons.get((key[0], (f"#{index}",)), {})
        return reasons.get("failed") or reasons.get("timeout")

    def flags(self, key: Key, version: str | None) -> list[str]:
        """Return the flags that audits raised of this version of a benchmark."""
        return sorted(
            outcome
            for outcome, audited, _ in self.audits.get(key, {}).values()
            if outcome != "ok" and (audited is None or version is None or audited == version)
        )

    def disturbed(self, keys: Iterable[Key], started: float, ended: float) -> tuple[str, ...]:
        """Return the reasons why something between two times was disturbed while one of the keys was measured."""
        found: set[str] = set()
        for key in keys:
            times = self.disturbances.get(key, ())
            for time, reasons in times[bisect.bisect_left(times, (started, ())) :]:
                if time > ended:
                    break
                found.update(reasons)
        return tuple(sorted(found))


def of(archive: Archive, row: Row) -> Sidecar:
    """Return a row's sidecar, read once for an archive."""
    if row not in archive.sidecars:
        archive.sidecars[row] = read(row)
    return archive.sidecars[row]


def read(row: Row) -> Sidecar:
    """Read a row's sidecar; an empty one where there is none."""
    found = Sidecar()
    path = sidecar_of(row)
    if path is None:
        return found
    found.file = f"{row.folder.name}/{path.name}"
    readers = {
        "environment": _read_environment,
        "unbuildable": _read_unbuildable,
        "audit": _read_audit,
        "status": _read_status,
        "telemetry": _read_telemetry,
        "cost": _read_cost,
    }
    for record in journals.records(path):
        reader = readers.get(record["record"])
        if reader is not None:
            reader(found, record)
    for times in found.disturbances.values():
        times.sort()
    return found


def _key(record: dict) -> Key | None:
    benchmark, params = record.get("benchmark"), record.get("params")
    if not isinstance(benchmark, str) or not isinstance(params, list):
        return None
    return benchmark, tuple(unquote(str(value)) for value in params)


def _read_environment(found: Sidecar, record: dict) -> None:
    found.environment = record
    found.unbuildable = None


def _read_unbuildable(found: Sidecar, record: dict) -> None:
    found.unbuildable = str(record.get("reason") or "no reason was recorded")


def _read_audit(found: Sidecar, record: dict) -> None:
    key, audit, outcome = _key(record), record.get("audit"), record.get("outcome")
    if key is None or not isinstance(audit, str) or not isinstance(outcome, str):
        return
    version, detail = record.get("version"), record.get("detail")
    found.audits.setdefault(key, {})[audit] = (
        outcome,
        None if version is None else str(version),
        detail if isinstance(detail, dict) else {},
    )


def _read_status(found: Sidecar, record: dict) -> None:
    key, status = _key(record), record.get("status")
    if key is None and isinstance(record.get("benchmark"), str) and isinstance(record.get("index"), int):
        key = record["benchmark"], (f"#{record['index']}",)
    if key is not None and status in ("skipped", "failed", "timeout"):
        found.reasons.setdefault(key, {})[status] = str(record.get("reason") or status)


def _read_telemetry(found: Sidecar, record: dict) -> None:
    key, reasons, time = _key(record), record.get("disturbed"), journals.seconds(record.get("time"))
    if key is not None and time is not None and isinstance(reasons, list) and reasons:
        found.disturbances.setdefault(key, []).append((time, tuple(map(str, reasons))))
    for state in (record.get("before"), record.get("after")):
        if isinstance(state, dict) and journals.are_numbers([state.get("sm_clock")]):
            found.clocks.add(state["sm_clock"])


def _read_cost(found: Sidecar, record: dict) -> None:
    key, time = _key(record), journals.seconds(record.get("time"))
    if key is not None and time is not None:
        found.prepared.setdefault(key, []).append(time)
