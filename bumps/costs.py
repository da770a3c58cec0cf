"""What steps cost beyond themselves, by row: where the wall time of a session's processes went."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from bumps import journals

# The sidecar's `cost` fields, in the order of what happens.
PARTS = ("import", "device", "setup", "first_step", "audit")
HEADINGS = ("import", "device", "set-up", "first step", "audits")


@dataclass(frozen=True)
class Cost:
    """Seconds of a row's processes: `parts` in the order of PARTS, `timed` inside timed calls, `wall` altogether."""

    processes: int
    parts: tuple[float, ...]
    timed: float
    wall: float

    @property
    def rest(self) -> float:
        """Seconds of what nobody states: the interpreter, warming up, checking, and benchmarks that failed."""
        return max(0.0, self.wall - self.timed - sum(self.parts))

    @property
    def audits(self) -> float:
        return self.parts[PARTS.index("audit")]

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.processes + other.processes,
            tuple(map(sum, zip(self.parts, other.parts, strict=True))),
            self.timed + other.timed,
            self.wall + other.wall,
        )


NOTHING = Cost(0, (0.0,) * len(PARTS), 0.0, 0.0)


def of_row(processes: Sequence[dict], records: Iterable[dict]) -> Cost:
    """Return the Cost of one row from its journal's `process` and its sidecar's `cost` records.

    A record belongs to the process that it was written in, by the time; those of other sessions to none.
    """
    spans = sorted(
        (started, ended)
        for each in processes
        if (started := journals.seconds(each.get("started"))) is not None
        and (ended := journals.seconds(each.get("ended"))) is not None
    )
    parts = [0.0] * len(PARTS)
    for record in records:
        time = journals.seconds(record.get("time"))
        if record.get("record") != "cost" or time is None or not _is_within(time, spans):
            continue
        for index, part in enumerate(PARTS):
            seconds = record.get(f"{part}_seconds")
            parts[index] += seconds if journals.are_numbers([seconds]) else 0.0
    return Cost(
        len(processes),
        tuple(parts),
        sum(each.get("timed_seconds", 0.0) for each in processes),
        sum(each.get("python_seconds", 0.0) for each in processes),
    )


def _is_within(time: float, spans: Sequence[tuple[float, float]]) -> bool:
    index = bisect.bisect_right(spans, (time, float("inf"))) - 1
    return index >= 0 and time <= spans[index][1]


def table(costs: dict[str, Cost]) -> Table:
    """Return seconds as a table, one line a row."""
    found = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", title="seconds", title_justify="left")
    found.add_column("row")
    for heading in ("processes", *HEADINGS, "timed", "rest", "wall"):
        found.add_column(heading, justify="right", no_wrap=True)
    for row, cost in costs.items():
        seconds = (*cost.parts, cost.timed, cost.rest, cost.wall)
        found.add_row(Text(row), str(cost.processes), *(f"{each:.1f}" for each in seconds))
    return found
