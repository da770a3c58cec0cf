"""Stored results, this suite's or any other's that asv 0.6 wrote: asv's result files as figures of rows.

A figure is what one result file says of one benchmark with one set of parameters, reduced to process medians: the
samples of a large archive do not fit in memory. What cannot be used is named in `Archive.excluded`, and the rest is
read all the same.
"""

import functools
import itertools
import json
import pathlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from asv.results import Results, get_filename
from asv.util import UserError
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from bumps import cutting, journals
from bumps.journals import Process

ASV_FORMAT = Results.api_version
FAILED = ("failed", "timeout")
NOT_RESULTS = ("machine.json", "benchmarks.json")
# What tells one machine from another under the same name. The driver's version and the kernel's may change; they are
# components of a bump.
HARDWARE = ("arch", "cpu", "num_cpu", "gpu")
UNBUILDABLE_SUFFIX = "-unbuildable"
QUOTED = re.compile(r"^u?'(.*)'$|^u?\"(.*)\"$|^<class '(.+)'>$", re.DOTALL)
# asv's marks among the values: null ran and gave no figure, NaN was skipped or not selected.
# Of null, where neither a journal nor a sidecar says more.
FAILED_UNSAID = "failed; asv keeps no reason"


@dataclass(frozen=True, slots=True)
class Excluded:
    """Something that was not used: the file under the results folder, the benchmark (None: the whole file), why."""

    file: str
    benchmark: str | None
    why: str


@dataclass(frozen=True, slots=True)
class File:
    """One result file; `hardware` maps the names in HARDWARE to what asv recorded of them."""

    path: str
    commit: str
    hardware: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Figure:
    """One benchmark with one set of parameters in one result file.

    `medians` are process medians in the order measured, `processes` the journal's processes that they belong to (empty
    where no journal tells). `value` is asv's own median, `interval` asv's interval of it where the samples cannot be
    cut into processes, `failed` the processes (None: not known) without a figure and their reasons. `earlier` are
    journalled processes of the same benchmark that the file does not hold any more: a later session replaced them.
    `sessions` are those that the file reflects. `selected` is false where asv's NaN is all
    there is: skipped, or never asked for. `index` is asv's number of the parameter combination; times are seconds
    since the epoch.
    """

    file: File
    version: str | None
    started: float | None
    index: int = 0
    value: float | None = None
    medians: tuple[float, ...] = ()
    processes: tuple[Process, ...] = ()
    interval: tuple[float, float] | None = None
    failed: tuple[tuple[Process | None, str], ...] = ()
    earlier: tuple[tuple[Process, float], ...] = ()
    sessions: frozenset[str] = frozenset()
    skipped: str | None = None
    selected: bool = True

    @property
    def failures(self) -> tuple[str, ...]:
        """The reasons of the failures that the file reflects."""
        return tuple(reason for process, reason in self.failed if process is None or process.session in self.sessions)


@dataclass(eq=False, slots=True)
class Row:
    """One row on one machine, all commits together; `folder` is the machine's.

    `requirements` maps canonical names to versions as asv stored them; `figures` maps (benchmark, asv's parameter
    strings) to the figures of each file, in the order measured.
    """

    folder: pathlib.Path
    machine: str
    env_name: str
    python: str
    requirements: dict[str, str]
    env_vars: dict[str, str]
    files: list[File] = field(default_factory=list)
    figures: dict[tuple[str, tuple[str, ...]], list[Figure]] = field(default_factory=dict)
    measured: float = 0.0

    @property
    def accelerator(self) -> str | None:
        return self.env_vars.get("BENCH_ACCELERATOR")

    @property
    def replica(self) -> str | None:
        return self.env_vars.get("REPLICA")

    @property
    def override(self) -> str | None:
        return self.env_vars.get("BENCH_OVERRIDE")

    @property
    def unbuildable(self) -> bool:
        return self.env_name.endswith(UNBUILDABLE_SUFFIX)

    def release(self, framework: str) -> Version | None:
        """Return the release of a requirement, None where the row has none or does not pin it to one version."""
        return parse_version(self.requirements.get(canonicalize_name(framework)))


def parse_version(text: object) -> Version | None:
    """Return a pinned requirement's version, None for anything else."""
    try:
        return Version(str(text).strip().removeprefix("=="))
    except InvalidVersion:
        return None


@functools.lru_cache(maxsize=65536)
def unquote(text: str) -> str:
    """Return a parameter without the quotes that asv's repr puts around it."""
    match = QUOTED.match(text)
    return next((group for group in match.groups() if group is not None), "") if match else text


def name_with_params(benchmark: str, params: Sequence[str]) -> str:
    """Return asv's name of one benchmark with one set of parameters."""
    return f"{benchmark}({', '.join(params)})" if params else benchmark


class Archive:
    """All results under one folder. Reading costs time and memory once; every judgement shares it."""

    def __init__(self, results_dir: str | pathlib.Path, machine: str | None = None):
        """Read everything, or what is in one machine's folder; raises UserError when there is no such folder."""
        self.folder = pathlib.Path(results_dir)
        if not self.folder.is_dir():
            raise UserError(f"there is no results folder {results_dir}; name one with --results")
        self.excluded: list[Excluded] = []
        self.rows: list[Row] = []
        # Filled by bumps.sidecars as they are asked for.
        self.sidecars: dict[Row, object] = {}
        self.benchmarks = self._read_benchmarks()
        for folder in sorted(path for path in self.folder.iterdir() if path.is_dir()):
            if machine in (None, folder.name):
                self._read_machine(folder)

    def param_names(self, benchmark: str, count: int) -> list[str]:
        """Return the names of a benchmark's parameters, asv's default names where benchmarks.json has none that fit."""
        names = self.benchmarks.get(benchmark, {}).get("param_names")
        if isinstance(names, list) and len(names) == count:
            return [str(name) for name in names]
        return [f"param{number}" for number in range(1, count + 1)]

    def attribute(self, benchmark: str, name: str) -> str | None:
        """Return a benchmark's attribute in words (workload, mode, unit …) as benchmarks.json has it, or None."""
        value = self.benchmarks.get(benchmark, {}).get(name)
        return value if isinstance(value, str) else None

    def _read_benchmarks(self) -> dict[str, dict]:
        path = self.folder / "benchmarks.json"
        if not path.exists():
            return {}
        content = self._load(path, "benchmarks.json")
        if content is None:
            return {}
        return {name: value for name, value in content.items() if isinstance(value, dict)}

    def _load(self, path: pathlib.Path, name: str) -> dict | None:
        """Return a JSON object, or None after saying why there is none."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not UTF-8"
            self._exclude(name, None, f"cannot be read: {why}")
            return None
        if not text.strip():
            self._exclude(name, None, "is empty")
            return None
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            self._exclude(name, None, f"is no JSON (cut short?): {error}")
            return None
        if not isinstance(content, dict):
            self._exclude(name, None, "is not asv's format: no JSON object")
            return None
        return content

    def _exclude(self, file: str, benchmark: str | None, why: str) -> None:
        self.excluded.append(Excluded(file, benchmark, why))

    def _read_machine(self, folder: pathlib.Path) -> None:
        paths = sorted(path for path in folder.glob("*.json") if path.name not in NOT_RESULTS)
        if not paths:
            return
        machine = self._machine_name(folder)
        journal = journals.read(folder)
        for name, why in journal.unread:
            self._exclude(f"{folder.name}/{name}", None, why)
        rows: dict[str, Row] = {}
        for path in paths:
            name = f"{folder.name}/{path.name}"
            content = self._load(path, name)
            if content is None:
                continue
            try:
                content = in_current_format(content)
                head = _Head(content, name)
            except ValueError as problem:
                self._exclude(name, None, str(problem))
                continue
            if head.machine != machine:
                self._exclude(name, None, f"was measured on machine {head.machine}, not {machine}")
                continue
            row = rows.setdefault(head.env_name, head.row(folder))
            _Reader(self, row, head, journal).read(content)
        for row in rows.values():
            for figures in row.figures.values():
                figures.sort(key=lambda figure: figure.started or 0.0)
        self.rows += rows.values()

    def _machine_name(self, folder: pathlib.Path) -> str:
        path = folder / "machine.json"
        if path.exists():
            content = self._load(path, f"{folder.name}/machine.json")
            if content and isinstance(content.get("machine"), str):
                return content["machine"]
        return folder.name


def in_current_format(content: dict) -> dict:
    """Return the content of a result file in asv's format 2; raises ValueError for another that it is not."""
    version = content.get("version")
    if not isinstance(version, int):
        raise ValueError("is not asv's format: no version")
    if version > ASV_FORMAT:
        raise ValueError(f"was written by a newer asv (format {version}; this is {ASV_FORMAT})")
    if version == ASV_FORMAT:
        return content
    try:
        return Results.update_to_2(content)
    except (UserError, KeyError, TypeError, AttributeError, IndexError):
        raise ValueError(f"is not asv's format {version}") from None


class _Head:
    """What a result file says of its row. Raises ValueError for a content that is not asv's."""

    def __init__(self, content: dict, name: str):
        for key, kind in (("params", dict), ("results", dict), ("result_columns", list), ("env_name", str)):
            if not isinstance(content.get(key), kind):
                raise ValueError(f"is not asv's format: {key} is missing or no {kind.__name__}")
        params, requirements = content["params"], content.get("requirements")
        if not isinstance(requirements, dict):
            raise ValueError("is not asv's format: requirements is missing or no dict")
        self.columns = content["result_columns"]
        if not all(isinstance(column, str) for column in self.columns):
            raise ValueError("is not asv's format: result_columns are not all names")
        if not {"result", "params"} <= set(self.columns):
            raise ValueError("is not asv's format: result_columns lacks result or params")
        self.machine = str(params.get("machine"))
        self.env_name = content["env_name"]
        self.python = str(content.get("python") or params.get("python") or "")
        self.requirements = {
            canonicalize_name(str(key).removeprefix("pip+")): str(value or "") for key, value in requirements.items()
        }
        variables = content.get("env_vars") or {}
        if not isinstance(variables, dict):
            raise ValueError("is not asv's format: env_vars is no dict")
        self.env_vars = {str(key): str(value) for key, value in variables.items()}
        hardware = tuple((key, str(params[key])) for key in HARDWARE if params.get(key) not in (None, ""))
        self.file = File(name, str(content.get("commit_hash") or ""), hardware)

    def row(self, folder: pathlib.Path) -> Row:
        return Row(folder, self.machine, self.env_name, self.python, self.requirements, self.env_vars)


class _Reader:
    """Reads the benchmarks of one result file into its row."""

    def __init__(self, archive: Archive, row: Row, head: _Head, journal: journals.Journals):
        self._archive, self._row, self._head, self._journal = archive, row, head, journal

    def read(self, content: dict) -> None:
        self._row.files.append(self._head.file)
        for benchmark, values in content["results"].items():
            if not isinstance(values, list):
                self._exclude(benchmark, "is not asv's format: no list of columns")
                continue
            columns = dict(zip(self._head.columns, values, strict=False))
            try:
                self._read_benchmark(benchmark, columns)
            except ValueError as problem:
                self._exclude(benchmark, str(problem))

    def _exclude(self, benchmark: str, why: str) -> None:
        self._archive._exclude(self._head.file.path, benchmark, why)

    def _read_benchmark(self, benchmark: str, columns: dict) -> None:
        params = columns.get("params") or []
        if not (isinstance(params, list) and all(isinstance(values, list) for values in params)):
            raise ValueError("params is no list of lists")
        combinations = _combinations(tuple(tuple(str(value) for value in values) for values in params))
        results = columns.get("result")
        if results is None:
            results = [None] * len(combinations)
        if not isinstance(results, list):
            results = [results]
        if len(results) != len(combinations):
            raise ValueError(f"has {len(results)} results for {len(combinations)} parameter combinations")
        version = columns.get("version")
        version = None if version is None else str(version)
        started = columns.get("started_at")
        # asv's time stamps are JavaScript's: milliseconds.
        started = journals.seconds(started)
        started = None if started is None else started / 1000
        if started:
            self._row.measured = max(self._row.measured, started)
        per_combination = {
            name: self._column(columns, name, len(results)) for name in ("samples", "stats_ci_99_a", "stats_ci_99_b")
        }
        repeat = fixed_repeat(self._archive.benchmarks, benchmark, version)
        is_timing = per_combination["stats_ci_99_a"] is not None or per_combination["samples"] is not None
        for index, (combination, value) in enumerate(zip(combinations, results, strict=True)):
            samples, low, high = (values[index] if values else None for values in per_combination.values())
            figure = Figure(self._head.file, version, started, index)
            try:
                self._fill(figure, benchmark, index, value, samples, (low, high), repeat, is_timing)
            except ValueError as problem:
                self._exclude(name_with_params(benchmark, combination), str(problem))
                continue
            self._row.figures.setdefault((benchmark, combination), []).append(figure)

    def _column(self, columns: dict, name: str, count: int) -> list | None:
        values = columns.get(name)
        if values is None:
            return None
        if not isinstance(values, list) or len(values) != count:
            raise ValueError(f"{name} does not belong to the {count} results")
        return values

    def _fill(self, figure: Figure, benchmark, index, value, samples, interval, repeat, is_timing) -> None:
        key = self._row.env_name, benchmark, index
        entries = self._journal.belonging(key, figure.file.commit, figure.version)
        figure.failed = tuple((entry.process, entry.reason) for entry in entries if entry.status in FAILED)
        newest = frozenset(entry.process.session for entry in entries[-1:])
        skipped = [entry.reason for entry in entries if entry.status == "skipped"]
        if value is None:
            figure.sessions = newest
            if not figure.failures:
                figure.failed = ((None, FAILED_UNSAID),)
            return
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{json.dumps(value)[:60]} is no number")
        if value != value:
            figure.sessions = newest
            figure.selected = bool(figure.failures)
            if skipped:
                figure.skipped, figure.selected = skipped[-1], True
            return
        if not journals.are_numbers([value]):
            raise ValueError("the result is infinite")
        figure.value = float(value)
        measured = [entry for entry in entries if entry.count]
        if samples is None:
            self._without_samples(figure, measured, interval, is_timing)
            return
        if not journals.are_numbers(samples) or not samples:
            raise ValueError("its samples are not all numbers")
        self._cut(figure, benchmark, samples, measured, interval, repeat)

    def _without_samples(self, figure: Figure, measured, interval, is_timing) -> None:
        if len(measured) > 0 and not is_timing:
            # A tracked value: asv's file holds one, the journal one a process.
            figure.medians = tuple(entry.median for entry in measured)
            figure.processes = tuple(entry.process for entry in measured)
            figure.sessions = frozenset(process.session for process in figure.processes)
        elif not is_timing:
            figure.medians = (figure.value,)
        else:
            figure.interval = _interval(interval)

    def _cut(self, figure: Figure, benchmark: str, samples: list, measured, interval, repeat: int | None) -> None:
        thinned = self._journal.thinned.get((self._row.env_name, benchmark, figure.index), ())
        pieces = cutting.cut(samples, measured, repeat, thinned)
        if pieces is None:
            figure.interval = _interval(interval)
            return
        figure.medians = tuple(cutting.medians(samples, pieces))
        if all(piece.entry for piece in pieces):
            figure.processes = tuple(piece.entry.process for piece in pieces)
            figure.sessions = frozenset(process.session for process in figure.processes)
            replaced = measured[: len(measured) - len(pieces)]
            figure.earlier = tuple((entry.process, entry.median) for entry in replaced)


def fixed_repeat(benchmarks: dict[str, dict], benchmark: str, version: str | None) -> int | None:
    """Return how many samples each process took, as benchmarks.json has it of this version; None where that varies."""
    known = benchmarks.get(benchmark, {})
    repeat = known.get("repeat")
    if isinstance(repeat, list) and len(repeat) == 3 and repeat[0] == repeat[1]:
        repeat = repeat[0]
    fixed = type(repeat) is int and repeat > 0
    return repeat if fixed and version is not None and str(known.get("version")) == version else None


def _interval(limits: tuple) -> tuple[float, float] | None:
    low, high = limits
    return (float(low), float(high)) if journals.are_numbers([low, high]) else None


@functools.lru_cache(maxsize=4096)
def _combinations(params: tuple[tuple[str, ...], ...]) -> list[tuple[str, ...]]:
    return list(itertools.product(*params))


def sidecar_of(row: Row) -> pathlib.Path | None:
    """Return the sidecar beside a row's result files, None without one."""
    file = get_filename("", "", row.env_name.removesuffix(UNBUILDABLE_SUFFIX))
    name = file.removeprefix("-").removesuffix(".json") + ".jsonl"
    # Looked for among what is there: a row's name is not trusted to make a path.
    return next((path for path in row.folder.glob("*.jsonl") if path.name == name), None)


def releases(rows: Sequence[Row], framework: str) -> Iterator[tuple[Version, Row]]:
    """Yield (release, row) of every row that pins the framework, in the order of the releases."""
    found = [(version, row) for row in rows if (version := row.release(framework)) is not None]
    yield from sorted(found, key=lambda pair: (pair[0], pair[1].env_name))
