"""The small lines of asv's grid of benchmarks, which asv makes from all lines of a benchmark together."""

import math
import pathlib
from collections import defaultdict
from collections.abc import Iterable

from asv.graph import Graph
from asv.util import load_json, write_json

SUMMARY = "summary"


def index(series: list[dict[int, float]]) -> list[tuple[int, float]]:
    """Return one line, 1 at the first revision: from each revision to the next, the mean change of all series.

    `series` map revisions to values. asv's mean of the values would jump between the levels of the two frameworks,
    since at a revision only one of them has a value: here a series without a value has not changed, and one that
    begins has changed nothing (a chained index of geometric means).
    """
    known: dict[int, float] = {}
    line, level = [], 1.0
    for revision in sorted({revision for each in series for revision in each}):
        changes = []
        for number, each in enumerate(series):
            value = each.get(revision)
            if number in known:
                changes.append(math.log(value / known[number]) if value is not None else 0.0)
            if value is not None:
                known[number] = value
        level *= math.exp(sum(changes) / len(changes)) if changes else 1.0
        line.append((revision, level))
    return line


def fill(html_dir: str | pathlib.Path, names: Iterable[str]) -> None:
    """Write an empty line for each benchmark that has none: asv's page asks for every benchmark's."""
    for name in names:
        path = pathlib.Path(html_dir) / (Graph.get_file_path({SUMMARY: ""}, name) + ".json")
        if not path.exists():
            write_json(str(path), [], compact=True)


def replace(html_dir: pathlib.Path) -> None:
    """Replace asv's lines, of a site over releases, by their indices."""
    graphs = html_dir / "graphs"
    series: dict[str, list[dict[int, float]]] = defaultdict(list)
    for path in graphs.rglob("*.json"):
        if path.parent.name != SUMMARY and path.stem != SUMMARY:
            series[path.name] += _series(load_json(str(path)))
    for path in (graphs / SUMMARY).glob("*.json"):
        write_json(str(path), index(series.get(path.name, [])), compact=True)


def _series(points: list) -> list[dict[int, float]]:
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for revision, values in points:
        for number, value in enumerate(values if isinstance(values, list) else [values]):
            if isinstance(value, int | float) and math.isfinite(value) and value > 0:
                found[number][revision] = value
    return list(found.values())
