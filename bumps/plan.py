"""What a session measures, and in what order. Pure: no files, no environments, no clock."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# A step's figures in the order measured: the wall clock first, while nothing records the device's activity.
CLOCKS = ("wall", "device", "kernels")


class Item(NamedTuple):
    """One benchmark with one set of parameters, by asv's name and asv's number of the combination."""

    benchmark: str
    index: int


@dataclass(frozen=True)
class PlannedRow:
    """A row of the plan. `role` is `old`, `new` or `control` of a bump, or `row` where nothing is judged."""

    env_name: str
    framework: str
    release: str
    role: str


@dataclass(frozen=True)
class PlannedBump:
    """The rows of one bump, by their env_name; `controls` are (row, the same row under its second name)."""

    framework: str
    old: str
    new: str
    controls: tuple[tuple[str, str], ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        return (self.old, self.new, *(replica for _, replica in self.controls))


@dataclass(frozen=True)
class Plan:
    """A session: every row of `selection` (by env_name) is measured in `rounds` rounds, the rows interleaved."""

    rows: tuple[PlannedRow, ...]
    bumps: tuple[PlannedBump, ...]
    selection: Mapping[str, tuple[Item, ...]]
    rounds: int

    def as_record(self) -> dict:
        """Return the plan as the journal holds it."""
        frameworks = sorted({row.framework for row in self.rows})
        return {
            "framework": frameworks[0] if len(frameworks) == 1 else None,
            "rows": [vars(row) for row in self.rows],
            "bumps": [
                {
                    "framework": bump.framework,
                    "old": bump.old,
                    "new": bump.new,
                    "controls": [list(pair) for pair in bump.controls],
                }
                for bump in self.bumps
            ],
            "selection": {env_name: [list(item) for item in items] for env_name, items in self.selection.items()},
            "rounds": self.rounds,
        }


def select_for_row(
    items: Iterable[Item], benchmarks: Mapping[str, dict], frameworks: Iterable[str], combinations: Callable
) -> tuple[Item, ...]:
    """Return the items that a row measures: a benchmark with a `framework` parameter only for these frameworks.

    `combinations` maps a benchmark to its parameter combinations, without quotes, in asv's order.
    """
    wanted = set(frameworks)
    kept = []
    for item in items:
        benchmark = benchmarks[item.benchmark]
        names = benchmark["param_names"]
        if "framework" in names:
            framework = combinations(benchmark)[item.index][names.index("framework")]
            if framework not in wanted:
                continue
        kept.append(item)
    return tuple(kept)


def order(rows: Sequence[str], round_: int) -> list[str]:
    """Return the rows in the order of one round: rotated from round to round, and reversed after each full turn.

    Every row takes every place, and which of two rows comes first alternates, so that drift falls on all alike.
    """
    turn, shift = divmod(round_, len(rows))
    rotated = [*rows[shift:], *rows[:shift]]
    return rotated[::-1] if turn % 2 else rotated


def batches(
    items: Iterable[Item], benchmarks: Mapping[str, dict], *seed: object
) -> tuple[list[list[Item]], list[Item]]:
    """Return (groups, isolated): what one process measures, in shuffled order, and what needs a process each.

    A group holds the figures of one step (its wall time, its device time, its kernels), which share one preparation.
    The order is a function of the items and the seed.
    """
    groups: dict[tuple, list[Item]] = {}
    isolated = []
    for item in sorted(items):
        benchmark = benchmarks[item.benchmark]
        if benchmark.get("isolated"):
            isolated.append(item)
        else:
            groups.setdefault(_step(item, benchmark), []).append(item)
    shuffled = [sorted(group, key=lambda item: _clock(benchmarks[item.benchmark])) for group in groups.values()]
    generator = random.Random("/".join(map(str, seed)))
    generator.shuffle(shuffled)
    generator.shuffle(isolated)
    return shuffled, isolated


def _step(item: Item, benchmark: dict) -> tuple:
    if benchmark.get("workload") and benchmark.get("clock"):
        return item.benchmark.rpartition(".")[0], str(benchmark.get("mode")), str(benchmark.get("pass")), item.index
    return item


def _clock(benchmark: dict) -> int:
    clock = benchmark.get("clock")
    return CLOCKS.index(clock) if clock in CLOCKS else len(CLOCKS)
