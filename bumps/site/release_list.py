"""The list of releases behind asv's site over releases: what a click on a point leads to."""

import datetime
from dataclasses import dataclass

from packaging.version import Version

from bumps.results import Archive
from bumps.site.release_results import Release

NOTES = {
    "torch": "https://github.com/pytorch/pytorch/releases/tag/v{version}",
    "jax": "https://github.com/jax-ml/jax/releases/tag/jax-v{version}",
}


@dataclass(frozen=True)
class Entry:
    """One measured release; `name` is its tag (`torch-2.13.0`), `rows` where it was measured."""

    name: str
    framework: str
    version: str
    released: datetime.date
    notes: str | None
    rows: tuple[str, ...]


def entries(archive: Archive, dates: dict[tuple[str, Version], datetime.date]) -> list[Entry]:
    """Return the measured releases that have a date, newest first."""
    measured: dict[tuple[str, Version], set[str]] = {}
    for row in archive.rows:
        if row.replica or row.override or row.unbuildable or not row.figures:
            continue
        for framework in {framework for framework, _ in dates}:
            version = row.release(framework)
            if version is not None:
                place = f"{row.machine}, Python {row.python}" + (f", {row.accelerator}" if row.accelerator else "")
                measured.setdefault((framework, Version(version.public)), set()).add(place)
    return [
        _entry(*key, dates[key], rows)
        for key, rows in sorted(
            measured.items(), key=lambda each: (dates.get(each[0], datetime.date.min), each[0]), reverse=True
        )
        if key in dates
    ]


def _entry(framework: str, version: Version, released: datetime.date, rows: set[str]) -> Entry:
    notes = NOTES.get(framework)
    return Entry(
        Release(framework, version).name,
        framework,
        str(version),
        released,
        notes and notes.format(version=version),
        tuple(sorted(rows)),
    )
