"""Stored controls: rows that were measured twice under two names."""

from collections.abc import Iterator
from dataclasses import dataclass

from bumps.results import Archive, Figure, Row
from bumps.verdict import Side

REPLICA = "REPLICA"


@dataclass(frozen=True)
class Control:
    """One benchmark with one set of parameters of a row and of the same row under its second name; `exact` where its
    figures are counts."""

    benchmark: str
    params: tuple[str, ...]
    row: Side
    replica: Side
    exact: bool = False


def stored(archive: Archive, machine: str | None = None) -> list[Control]:
    """Return every control with at least two processes on both sides, on one machine or on all."""
    return [
        control
        for row in archive.rows
        if machine in (None, row.machine)
        for replica in replicas_of(archive, row)
        for control in _controls(archive, row, replica)
    ]


def replicas_of(archive: Archive, row: Row) -> list[Row]:
    """Return the rows that are the same row under a second name; none for a row that is one itself."""
    return [replica for replica in archive.rows if replica.replica and _same_but_for_name(row, replica)]


def _same_but_for_name(row: Row, replica: Row) -> bool:
    return (
        row.replica is None
        and row.folder == replica.folder
        and row.python == replica.python
        and row.requirements == replica.requirements
        and row.env_vars == {name: value for name, value in replica.env_vars.items() if name != REPLICA}
    )


def _controls(archive: Archive, row: Row, replica: Row) -> Iterator[Control]:
    for key in sorted(row.figures.keys() & replica.figures.keys()):
        # The newest source of the benchmark that was measured often enough.
        for version in dict.fromkeys(figure.version for figure in reversed(row.figures[key])):
            sides = [_side(found.figures[key], version) for found in (row, replica)]
            if all(len(side.medians) >= 2 for side in sides):
                yield Control(*key, *sides, exact=archive.attribute(key[0], "clock") == "kernels")
                break


def _side(figures: list[Figure], version: str | None) -> Side:
    return Side(tuple(figure.medians for figure in figures if figure.version == version and figure.medians))
