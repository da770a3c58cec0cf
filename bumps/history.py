"""One benchmark over all measured releases: its figure in each, the verdict between neighbours, what was repaired."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from asv.util import UserError

from bumps import check
from bumps.report import short_name
from bumps.results import Archive
from bumps.selection import Bump


@dataclass(frozen=True)
class Point:
    """One release: its figure (in the benchmark's unit, None without one) and the verdict on the bump into it.

    `verdict`, `ratio`, `low`, `high` and `why` are None for the oldest release and where the two were not compared.
    """

    release: str
    figure: float | None
    verdict: str | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class Regression:
    """A regression: the release that brought it and the later one that repaired it, None while it lasts.

    `ratio` is what is left of it at the newest release: the product of the bumps' ratios since.
    """

    release: str
    repaired: str | None
    ratio: float | None


@dataclass(frozen=True)
class History:
    """One benchmark with one set of parameters in one context, oldest release first."""

    name: str
    unit: str | None
    machine: str
    python: str
    accelerator: str | None
    points: tuple[Point, ...]
    regressions: tuple[Regression, ...]


def histories(
    archive: Archive,
    config: object | None,
    framework: str,
    bench: str | None = None,
    machine: str | None = None,
    python: str | None = None,
    accelerator: str | None = None,
    assume_interleaved: bool = False,
) -> tuple[list[History], list[str]]:
    """Return the histories of the benchmarks whose `name(parameters)` the expression `bench` finds, and of each pair of
    releases that cannot be judged a line that says why.

    Raises UserError when nothing was measured at two releases with these choices, or when nothing matches.
    """
    try:
        pattern = re.compile(bench or "")
    except re.error as error:
        raise UserError(f"--bench {bench!r} is no regular expression: {error}") from None
    bumps = [
        bump
        for bump in check.bumps(archive, [framework])
        if machine in (None, bump.machine) and python in (None, bump.python) and accelerator in (None, bump.accelerator)
    ]
    if not bumps:
        raise UserError(f"no two releases of {framework} were measured in one place with these choices")
    found: dict[tuple, list[tuple[Bump, dict]]] = {}
    reports, problems = check.reports(
        archive, config, bumps, assume_interleaved=assume_interleaved, acknowledgements=()
    )
    for bump, report in reports:
        for row in report["benchmarks"]:
            name = short_name(row)
            if pattern.search(name) or pattern.search(row["name"]):
                found.setdefault((bump.machine, bump.python, bump.accelerator or "", name), []).append((bump, row))
    if not reports:
        raise UserError("; ".join(problems))
    if not found:
        raise UserError(f"no measured benchmark of {framework} matches {bench!r}")
    return [_history(name, rows) for (*_, name), rows in sorted(found.items())], problems


def _history(name: str, rows: list[tuple[Bump, dict]]) -> History:
    points: list[Point] = []
    for bump, row in rows:
        if not points or points[-1].release != bump.old:
            points.append(Point(bump.old, row["figure_old"]))
        points.append(
            Point(bump.new, row["figure_new"], row["verdict"], row["ratio"], row["low"], row["high"], row["why"])
        )
    bump, row = rows[-1]
    margin = row["margin"]
    return History(
        name, row["unit"], bump.machine, bump.python, bump.accelerator, tuple(points), regressions(points, margin)
    )


def regressions(points: Sequence[Point], margin: float) -> tuple[Regression, ...]:
    """Return every regression and breakage with the release that repaired it.

    A slowdown is repaired at the first later release that `improved` and after which the product of the ratios since
    is back within the margin; a breakage at the first one that is `fixed`.
    """
    found = []
    for position, point in enumerate(points):
        if point.verdict == "regressed":
            found.append(_slowdown(points, position, margin))
        elif point.verdict == "broken":
            repaired = next((later.release for later in points[position + 1 :] if later.verdict == "fixed"), None)
            found.append(Regression(point.release, repaired, None))
    return tuple(found)


def _slowdown(points: Sequence[Point], position: int, margin: float) -> Regression:
    left, repaired = points[position].ratio, None
    for later in points[position + 1 :]:
        if left is None or later.ratio is None:
            # Not compared: the chain is broken, and nothing can be said of what is left.
            left = None
            continue
        left *= later.ratio
        if repaired is None and later.verdict == "improved" and left <= 1 + margin:
            repaired = later.release
    return Regression(points[position].release, repaired, left)
