"""What `method.html` says: the machines, what their controls show, what was left out and what failed."""

import statistics
from collections import defaultdict
from dataclasses import dataclass

from scipy import stats

from bumps import check, controls, noise, sidecars, verdict
from bumps.results import Archive, Excluded, Row, name_with_params
from bumps.site import machine_facts

# Names of benchmarks to list for one reason; the rest are counted.
LISTED = 5
BOUND = 0.95


@dataclass(frozen=True)
class Control:
    """One benchmark's controls on one machine, over all its parameters and measured rows.

    `alarms` of the `judged` identical pairs came out changed; `spread` is the median sd of log process medians;
    `smallest`, `median` and `largest` are the slowdowns that a bump measured like these controls would have found, as
    a share, over the parameters (None for counts and where a pair has too few processes).
    """

    benchmark: str
    judged: int
    alarms: int
    spread: float | None
    smallest: float | None
    median: float | None
    largest: float | None


@dataclass(frozen=True)
class Machine:
    """One machine: its recorded facts, and its controls. `bound` is the one-sided 95 % upper bound of the rate of false
    alarms (Clopper & Pearson, Biometrika 26, 1934), None without controls."""

    name: str
    facts: machine_facts.Facts
    controls: list[Control]
    judged: int
    alarms: int
    bound: float | None


def machines(archive: Archive, conf) -> list[Machine]:
    """Return every machine that has results, by name."""
    found = []
    for name in sorted({row.machine for row in archive.rows}):
        listed = _controls(archive, conf, name)
        judged, alarms = (sum(getattr(each, field) for each in listed) for field in ("judged", "alarms"))
        bound = stats.beta.ppf(BOUND, alarms + 1, judged - alarms) if judged > alarms else 1.0 if judged else None
        found.append(
            Machine(
                name, machine_facts.of(archive, name), listed, judged, alarms, None if bound is None else float(bound)
            )
        )
    return found


def _controls(archive: Archive, conf, machine: str) -> list[Control]:
    margins = check.margins_of(conf)
    # Counts have no noise that could raise a false alarm.
    stored = [each for each in controls.stored(archive, machine) if not each.exact]
    cases = [
        verdict.Case(
            number,
            each.row,
            each.replica,
            margin=margins.of(name_with_params(each.benchmark, each.params)),
            stored_only=True,
        )
        for number, each in enumerate(stored)
    ]
    by_benchmark = defaultdict(list)
    for each, judgement in zip(stored, verdict.judge(cases), strict=True):
        by_benchmark[each.benchmark].append((each, judgement))
    return [_control(benchmark, pairs) for benchmark, pairs in sorted(by_benchmark.items())]


def _control(benchmark: str, pairs: list) -> Control:
    counted = verdict.control_alarms(judgement for _, judgement in pairs)
    changes = [judgement.smallest_detectable for _, judgement in pairs if judgement.smallest_detectable is not None]
    spreads = [noise.level((each.row.medians, each.replica.medians)) for each, _ in pairs]
    known = [spread for spread in spreads if spread is not None]
    return Control(
        benchmark,
        counted.judged,
        counted.alarms,
        statistics.median(known) if known else None,
        min(changes, default=None),
        statistics.median(changes) if changes else None,
        max(changes, default=None),
    )


def rows(archive: Archive) -> list[dict]:
    """Return every row with what was installed, and what failed in it and why."""
    return [_row(archive, row) for row in sorted(archive.rows, key=lambda row: (row.machine, row.env_name))]


def _row(archive: Archive, row: Row) -> dict:
    found = sidecars.of(archive, row)
    failures = {
        name_with_params(*key): why.get("failed") or why.get("timeout")
        for key, why in found.reasons.items()
        if why.get("failed") or why.get("timeout")
    }
    for key, figures in row.figures.items():
        newest = next((figure for figure in reversed(figures) if figure.selected), None)
        if newest and newest.failures:
            failures.setdefault(name_with_params(*key), newest.failures[0])
    return {
        "machine": row.machine,
        "name": row.env_name,
        "environment": found.environment,
        "unbuildable": found.unbuildable,
        "failures": sorted(failures.items()),
    }


def excluded(archive: Archive, reports: list[dict]) -> list[tuple[str, str, str, int]]:
    """Return (file, why, benchmarks in words, their number; 0 for the whole file) of everything that was not used."""
    everything = list(archive.excluded)
    everything += [Excluded(**each) for report in reports for each in report["excluded"]]
    grouped: dict[tuple[str, str], list[str]] = {}
    for each in dict.fromkeys(everything):
        names = grouped.setdefault((each.file, each.why), [])
        if each.benchmark is not None:
            names.append(each.benchmark)
    return [
        (file, why, ", ".join(names[:LISTED]) + (", …" if len(names) > LISTED else ""), len(names))
        for (file, why), names in sorted(grouped.items())
    ]
