"""The article's table: the figures it published, and the same cells as measured here.

Published on an NVIDIA RTX 4070, bf16, seconds a step: forward, forward compiled, grad, grad compiled.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from packaging.version import Version

from bumps import controls, estimate
from bumps.results import Archive, Figure, Row, releases

CELLS = (("eager", "forward"), ("compiled", "forward"), ("eager", "grad"), ("compiled", "grad"))
PUBLISHED = (
    ("2024", "torch", "2.2.0", (0.0693, 0.0684, 0.1347, 0.1346)),
    ("2024", "jax", "0.4.24", (0.1023, 0.0703, 0.1763, 0.0686)),
    ("2025", "torch", "2.8.0", (0.0703, 0.0693, 0.1355, 0.0667)),
    ("2025", "jax", "0.7.1", (0.1204, 0.0743, 0.1892, 0.0663)),
)
WORKLOADS = ("ArticleChain", "MatmulChain")
# Best first: the article's own precision and size, then what a CPU can afford.
SETTINGS = (("bf16", "article"), ("fp32", "article"), ("bf16", "small"), ("fp32", "small"))
# The chain's gradient is a product for each of the forward pass, after that pass: twice its time. Much less was not
# done whole.
SMALLEST_GRADIENT = 1.2


@dataclass(frozen=True)
class Line:
    """One line of the table: `seconds` and `flags` are in the order of CELLS, None where not measured."""

    workload: str
    framework: str
    release: str
    seconds: tuple[float | None, ...]
    flags: tuple[tuple[str, ...], ...]
    where: str = ""


def published() -> list[Line]:
    """Return the article's lines, the gradients marked that took no longer than their own forward pass."""
    return [
        Line(
            WORKLOADS[0],
            framework,
            release,
            seconds,
            tuple(("elided",) if _is_elided(cell, seconds) else () for cell in CELLS),
            f"published {year}",
        )
        for year, framework, release, seconds in PUBLISHED
    ]


def _is_elided(cell: tuple[str, str], seconds: tuple[float, ...]) -> bool:
    mode, pass_ = cell
    times = dict(zip(CELLS, seconds, strict=True))
    return pass_ == "grad" and times[cell] < SMALLEST_GRADIENT * times[mode, "forward"]


def measured(
    archive: Archive, machine: str, flags_of: Callable[..., Iterable[str]]
) -> tuple[tuple[str, str] | None, list[Line]]:
    """Return ((precision, size), lines) of a machine for its best setting; (None, []) where nothing was measured.

    The lines are those of the article's releases and of the newest. `flags_of(row, benchmark, params, version)` gives
    the audits' flags of a figure.
    """
    rows = [row for row in archive.rows if row.machine == machine and not row.replica and not row.override]
    steps = {workload: _steps(archive, workload) for workload in WORKLOADS}
    for setting in SETTINGS:
        lines = [
            line
            for workload in WORKLOADS
            for framework in ("torch", "jax")
            for line in _chosen(archive, rows, framework, workload, steps[workload], setting, flags_of)
        ]
        if lines:
            return setting, lines
    return None, []


def _steps(archive: Archive, workload: str) -> dict[tuple[str, str], str]:
    """Return cell -> the benchmark that times it, of one workload."""
    found = {}
    for benchmark in archive.benchmarks:
        kind, clock, *cell = (archive.attribute(benchmark, name) for name in ("workload", "clock", "mode", "pass"))
        if (kind, clock) == (workload, "wall"):
            found[tuple(cell)] = benchmark
    return found


def _chosen(
    archive: Archive, rows: list[Row], framework: str, workload: str, steps: dict, setting, flags_of
) -> list[Line]:
    """Return the lines of the article's two releases and of the newest measured one, each from its newest row."""
    found: dict[str, tuple[float, Line]] = {}
    for release, row in releases(rows, framework):
        line = _line(archive, row, framework, workload, steps, setting, flags_of)
        if line and row.measured >= found.get(str(release), (0.0, line))[0]:
            found[str(release)] = row.measured, line
    articles = {release for _, name, release, _ in PUBLISHED if name == framework}
    newest = max(found, key=Version, default=None)
    return [line for release, (_, line) in found.items() if release in articles or release == newest]


def _line(archive: Archive, row: Row, framework: str, workload: str, steps: dict, setting, flags_of) -> Line | None:
    cells = []
    for cell in CELLS:
        benchmark, params = steps.get(cell), (framework, *setting)
        key = benchmark, tuple(map(repr, params))
        figure = _newest_measured(row.figures.get(key, ()))
        flags = tuple(flags_of(row, benchmark, params, figure.version)) if figure else ()
        cells.append((_seconds(archive, row, key, figure) if figure else None, flags))
    if all(seconds is None for seconds, _ in cells):
        return None
    seconds, flags = zip(*cells, strict=True)
    return Line(workload, framework, str(row.release(framework)), seconds, flags)


def _newest_measured(figures: Sequence[Figure]) -> Figure | None:
    """Return the newest figure with a time: a session may have measured the other framework only."""
    return next((figure for figure in reversed(figures) if figure.medians or figure.value is not None), None)


def _seconds(archive: Archive, row: Row, key: tuple, figure: Figure) -> float | None:
    """Return the time of a figure's version, of all that the row and its controls measured, as the page's other table
    does."""
    medians = [
        median
        for each in (row, *controls.replicas_of(archive, row))
        for other in each.figures.get(key, ())
        if other.version == figure.version
        for median in other.medians
    ]
    return estimate.centre(medians) if medians else figure.value
