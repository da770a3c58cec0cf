"""The article's table: the figures it published, and the same cells as measured here.

Published on an NVIDIA RTX 4070, bf16, seconds a step: forward, forward compiled, grad, grad compiled.
"""

import statistics
from dataclasses import dataclass

from bumps.results import Archive, Row, unquote

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


@dataclass(frozen=True)
class Line:
    """One line of the measured table: `seconds` and `flags` are in the order of CELLS, None where not measured."""

    workload: str
    framework: str
    release: str
    seconds: tuple[float | None, ...]
    flags: tuple[tuple[str, ...], ...]


def measured(archive: Archive, machine: str, flags_of) -> tuple[tuple[str, str] | None, list[Line]]:
    """Return ((precision, size), lines) of a machine for its best setting; (None, []) where nothing was measured.

    `flags_of(row, benchmark, params, version)` gives the audits' flags of a figure.
    """
    for setting in SETTINGS:
        lines = [
            line
            for workload in WORKLOADS
            for row in _by_release(archive, machine)
            for line in _lines(archive, row, workload, setting, flags_of)
        ]
        if lines:
            return setting, lines
    return None, []


def _by_release(archive: Archive, machine: str) -> list[Row]:
    rows = [row for row in archive.rows if row.machine == machine and not row.replica and not row.override]
    return sorted(rows, key=lambda row: sorted(row.requirements.items()))


def _lines(archive: Archive, row: Row, workload: str, setting: tuple[str, str], flags_of) -> list[Line]:
    found: dict[str, dict] = {}
    for (benchmark, quoted), figures in row.figures.items():
        params = tuple(unquote(value) for value in quoted)
        attribute = [archive.attribute(benchmark, name) for name in ("workload", "clock", "mode", "pass")]
        if attribute[:2] != [workload, "wall"] or len(params) != 3 or params[1:] != setting:
            continue
        figure = figures[-1]
        seconds = statistics.median(figure.medians) if figure.medians else figure.value
        if seconds is not None:
            flags = tuple(flags_of(row, benchmark, params, figure.version))
            found.setdefault(params[0], {})[tuple(attribute[2:])] = (seconds, flags)
    lines = []
    for framework, cells in sorted(found.items(), reverse=True):
        seconds = tuple(cells.get(cell, (None, ()))[0] for cell in CELLS)
        flags = tuple(cells.get(cell, (None, ()))[1] for cell in CELLS)
        lines.append(Line(workload, framework, str(row.release(framework)), seconds, flags))
    return lines
