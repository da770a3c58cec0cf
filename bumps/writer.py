"""Renders a session's journal into asv's result files, through asv's own Results class.

A row's file is a pure function of the journal and of what the file holds besides: rendering again after a crash gives
the same. Samples of a session replace those that the file has of the same items; other items stay.
"""

import copy
import itertools
import math
import os
import pathlib
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import filelock
from asv.benchmarks import Benchmarks
from asv.results import Results
from asv.runner import BenchmarkResult
from asv.util import UserError

from bumps import files
from bumps.journal import Session, item_of

LOCK_FILE = ".writing.lock"
LOCK_TIMEOUT = 120
DAMAGED_SUFFIX = ".damaged"
# What asv raises of a file that is not what it wrote, when it is read or when results are added to it.
DAMAGE = (UserError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


@dataclass(frozen=True)
class RowFacts:
    """What asv's result file says of a row. `params` are asv's machine facts with the row's Python and requirements,
    `date` is the commit's, in asv's milliseconds."""

    env_name: str
    python: str
    requirements: dict[str, str]
    env_vars: dict[str, str]
    params: dict
    commit: str
    date: int


def add_session(results: Results, session: Session, env_name: str, benchmarks: dict[str, dict]) -> None:
    """Add what a session measured in one row to asv's results. Pure."""
    entries: dict[str, dict[int, list[dict]]] = defaultdict(lambda: defaultdict(list))
    started: dict[str, str] = {}
    seconds: dict[str, float] = defaultdict(float)
    for process, entry in session.entries(env_name):
        item = item_of(entry)
        if item.benchmark in benchmarks:
            entries[item.benchmark][item.index].append(entry)
            started.setdefault(item.benchmark, process["started"])
            seconds[item.benchmark] += entry.get("seconds", 0.0)
    for name, by_index in entries.items():
        benchmark = benchmarks[name]
        count = math.prod(len(values) for values in benchmark["params"])
        columns = [_value(by_index[index]) if index in by_index else _NOT_SELECTED for index in range(count)]
        values, samples, numbers = (list(column) for column in zip(*columns, strict=True))
        failed = any(value is None for value in values)
        results.add_result(
            benchmark,
            BenchmarkResult(values, samples, numbers, int(failed), "", None),
            started_at=datetime.fromisoformat(started[name]),
            duration=seconds[name],
            record_samples=True,
            selected_idx=set(by_index),
        )


# asv's marks: null failed, NaN skipped or not selected. Figures are (value, samples, number).
_NOT_SELECTED = (math.nan, None, None)
_FAILED = (None, None, None)


def _value(entries: Sequence[dict]) -> tuple:
    measured = [entry for entry in entries if entry.get("samples")]
    if not measured:
        skipped = all(entry.get("status") == "skipped" for entry in entries)
        return _NOT_SELECTED if skipped else _FAILED
    samples = [sample for entry in measured for sample in entry["samples"]]
    number = measured[0]["number"]
    if number is None:
        # A tracked value, of which asv keeps one: one that was seen, not a mean of two.
        return statistics.median_low(samples), None, None
    return samples[0], samples, number


def render(results_dir: pathlib.Path, row: RowFacts, session: Session, benchmarks: dict[str, dict]) -> str | None:
    """Write a row's result file; return what to tell the user about the file that was there, if anything.

    Raises UserError when it cannot be written.
    """
    results, remark = _new(row), None
    path = results_dir / results._filename
    try:
        with exclusive(results_dir):
            try:
                results.load_data(str(results_dir))
                add_session(results, session, row.env_name, benchmarks)
            except DAMAGE:
                if not path.exists():
                    raise
                kept = _free(path.with_name(path.name + DAMAGED_SUFFIX))
                os.replace(path, kept)
                remark = f"{path} was damaged; it is kept as {kept.name}"
                results = _new(row)
                add_session(results, session, row.env_name, benchmarks)
            save_whole(results_dir, results.save, results._filename)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None
    return remark


def _new(row: RowFacts) -> Results:
    return Results(row.params, row.requirements, row.commit, row.date, row.python, row.env_name, row.env_vars)


def _free(path: pathlib.Path) -> pathlib.Path:
    """Return a path that names nothing yet: this one, or this one with a number."""
    names = itertools.chain([path], (path.with_name(f"{path.name}.{number}") for number in itertools.count(2)))
    return next(each for each in names if not os.path.lexists(each))


def save_benchmarks(benchmarks: Benchmarks, results_dir: pathlib.Path) -> None:
    """Write benchmarks.json as asv does. Raises UserError when it cannot be written."""

    def save(folder: str) -> None:
        elsewhere = copy.copy(benchmarks)
        elsewhere._conf = copy.copy(benchmarks._conf)
        elsewhere._conf.results_dir = folder
        elsewhere.save()

    try:
        results_dir.mkdir(parents=True, exist_ok=True)
        with exclusive(results_dir):
            save_whole(results_dir, save, "benchmarks.json")
    except OSError as error:
        raise UserError(f"{results_dir / 'benchmarks.json'} cannot be written: {error.strerror}") from None


def exclusive(results_dir: pathlib.Path) -> filelock.FileLock:
    """Return the lock under which files of the results folder are read, changed and written back."""
    return filelock.FileLock(results_dir / LOCK_FILE, timeout=LOCK_TIMEOUT)


def remove_leftovers(results_dir: pathlib.Path, machine: str) -> None:
    """Remove what a killed writer left."""
    with exclusive(results_dir):
        for folder in (results_dir, results_dir / machine):
            files.remove_leftovers(folder)


def save_whole(results_dir: pathlib.Path, save, filename: str) -> None:
    """Let asv write a file elsewhere, and put it in its place in one step."""
    with tempfile.TemporaryDirectory(prefix="bumps-") as folder:
        save(folder)
        content = (pathlib.Path(folder) / filename).read_bytes()
    target = results_dir / filename
    target.parent.mkdir(parents=True, exist_ok=True)
    files.write_whole(target, content)
