"""Stored figures turned into results whose commits are releases.

The benchmark's parameter `framework` becomes a parameter of the environment, and the rows' requirements of torch and
jax go away: what is left tells one line of a graph from another, so both frameworks have a line of their own in one
graph, over all their releases.
"""

import html
import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, field

from packaging.version import Version

from bumps.results import Archive, Figure, Row, unquote
from bumps.site import asv_input

FRAMEWORK = "framework"
# An attribute of a converted benchmark: where among its parameters the framework stood, None where it did not.
POSITION = "framework_position"
# Which environment held a release is no part of the line.
OWN_VARIABLES = ("REPLICA", "BENCH_INTERPRETER", "BENCH_OVERRIDE")
INTERPRETER = "BENCH_INTERPRETER"


@dataclass(frozen=True)
class Release:
    framework: str
    version: Version

    @property
    def name(self) -> str:
        """The release as one word: `torch-2.13.0`."""
        return f"{self.framework}-{self.version}"


@dataclass(frozen=True)
class Line:
    """What the figures of one line have in common: the machine's folder and asv's parameters, sorted by name."""

    machine: str
    python: str
    framework: str
    facts: tuple[tuple[str, str], ...]
    variables: tuple[tuple[str, str], ...]


@dataclass
class Point:
    """One release on one line: benchmark → values by parameter combination, and when each was measured.

    None is a failure, NaN what was not measured.
    """

    values: dict[str, list[float | None]] = field(default_factory=dict)
    started: dict[str, float] = field(default_factory=dict)


@dataclass
class Converted:
    """`benchmarks` as benchmarks.json holds them, `points` the figures, `undated` the releases without a date."""

    benchmarks: dict[str, dict]
    points: dict[tuple[Line, Release], Point]
    undated: list[Release]


def convert(archive: Archive, dated: set[tuple[str, Version]]) -> Converted:
    """Return the newest figure of every release on every line; controls and rows with swapped packages stay out."""
    frameworks = sorted({framework for framework, _ in dated})
    benchmarks = {name: _without_framework(each) for name, each in archive.benchmarks.items() if _has_page(name, each)}
    points: dict[tuple[Line, Release], Point] = defaultdict(Point)
    undated = set()
    for row in sorted(archive.rows, key=_precedence):
        if row.replica or row.override or row.unbuildable:
            continue
        for framework in frameworks:
            version = row.release(framework)
            if version is None:
                continue
            release = Release(framework, Version(version.public))
            if (framework, release.version) not in dated:
                undated.add(release)
                continue
            alone = sum(row.release(each) is not None for each in frameworks) == 1
            _add(points, archive, row, release, alone, frameworks)
    measured = {name for point in points.values() for name in point.values}
    benchmarks = {name: benchmark for name, benchmark in benchmarks.items() if name in measured}
    for name, benchmark in benchmarks.items():
        _leave_out_unmeasured(benchmark, [point.values for point in points.values() if name in point.values])
    return Converted(
        benchmarks,
        dict(points),
        sorted(undated, key=lambda each: (each.framework, each.version)),
    )


def _precedence(row: Row) -> tuple:
    # Later rows replace earlier ones: an environment of this project counts more than an interpreter of others.
    return (INTERPRETER not in row.env_vars, row.measured, row.env_name)


def _has_page(name: str, benchmark: dict) -> bool:
    """Whether asv's pages can show a benchmark."""
    params, names = benchmark.get("params"), benchmark.get("param_names")
    is_whole = isinstance(params, list) and isinstance(names, list) and len(params) == len(names)
    return is_whole and not asv_input.is_too_long(name)


def _axis(benchmark: dict) -> int | None:
    names = benchmark["param_names"]
    return names.index(FRAMEWORK) if FRAMEWORK in names else None


def _without_framework(benchmark: dict) -> dict:
    axis = _axis(benchmark)
    changed = {**benchmark, "params": list(benchmark["params"]), "param_names": list(benchmark["param_names"])}
    changed[POSITION] = axis
    if axis is not None:
        del changed["params"][axis], changed["param_names"][axis]
    # asv's pages show it as HTML.
    changed["code"] = html.escape(str(benchmark.get("code", "")))
    return changed


def _add(points, archive: Archive, row: Row, release: Release, alone: bool, frameworks: list[str]) -> None:
    """Add a row's figures of one release. `alone`: the row holds no other framework."""
    by_benchmark: dict[str, list[tuple[tuple[str, ...], Figure]]] = defaultdict(list)
    for (name, params), figures in row.figures.items():
        benchmark = archive.benchmarks.get(name)
        if benchmark is None or not _has_page(name, benchmark):
            continue
        current = [each for each in figures if each.version == str(benchmark.get("version"))]
        axis = _axis(benchmark)
        if not current or (axis is None and not alone):
            continue
        if axis is not None:
            if len(params) <= axis or unquote(params[axis]) != release.framework:
                continue
            params = params[:axis] + params[axis + 1 :]
        newest = {figure.file.hardware: figure for figure in current if _is_known(_value(figure))}
        by_benchmark[name] += [(params, figure) for figure in newest.values()]
    for name, found in by_benchmark.items():
        combinations = _combinations(_without_framework(archive.benchmarks[name]))
        for params, figure in found:
            position = combinations.get(params)
            if position is None:
                continue
            point = points[_line(row, release, figure, frameworks), release]
            point.values.setdefault(name, [math.nan] * len(combinations))[position] = _value(figure)
            point.started[name] = max(figure.started or 0.0, point.started.get(name, 0.0))


def _leave_out_unmeasured(benchmark: dict, figures: list[dict[str, list[float | None]]]) -> None:
    """Take values of parameters away that no release has a figure of: asv's pages begin with the first value of each,
    and list every combination."""
    name = benchmark["name"]
    combinations = list(itertools.product(*map(enumerate, benchmark["params"])))
    measured = {position for each in figures for position, value in enumerate(each[name]) if _is_known(value)}
    used = [{combinations[position][axis][0] for position in measured} for axis in range(len(benchmark["params"]))]
    kept = [
        position
        for position, combination in enumerate(combinations)
        if all(index in used[axis] for axis, (index, _) in enumerate(combination))
    ]
    for each in figures:
        each[name] = [each[name][position] for position in kept]
    benchmark["params"] = [
        [value for index, value in enumerate(values) if index in used[axis]]
        for axis, values in enumerate(benchmark["params"])
    ]


def _combinations(benchmark: dict) -> dict[tuple[str, ...], int]:
    params = [[str(value) for value in values] for values in benchmark["params"]]
    return {combination: position for position, combination in enumerate(itertools.product(*params))}


def _value(figure: Figure) -> float | None:
    if figure.medians:
        ordered = sorted(figure.medians)
        middle = len(ordered) // 2
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    if figure.value is None and figure.failures:
        return None
    return math.nan if figure.value is None else figure.value


def _is_known(value: float | None) -> bool:
    """Whether it is a value or a failure, and not what was not measured."""
    return value is None or not math.isnan(value)


def _line(row: Row, release: Release, figure: Figure, frameworks: list[str]) -> Line:
    facts = {**dict(figure.file.hardware), **{k: v for k, v in row.requirements.items() if k not in frameworks}}
    variables = {name: value for name, value in row.env_vars.items() if name not in OWN_VARIABLES}
    return Line(
        row.folder.name, row.python, release.framework, tuple(sorted(facts.items())), tuple(sorted(variables.items()))
    )
