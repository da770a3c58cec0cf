"""Brings results trees together: what another machine or shard measured is added to what is here.

Names and contents of the tree that is brought are untrusted: nothing in it is followed, run, or written outside the
machine's own folder.
"""

import json
import pathlib
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from asv.results import Results
from asv.runner import BenchmarkResult
from asv.util import UserError

from bumps import cutting, files, journals, received, thinning, writer
from bumps.journals import Journals
from bumps.machine import safe_name
from bumps.results import fixed_repeat

MACHINE = "machine.json"
SUITE = "benchmarks.json"
SESSIONS = "sessions"
# What makes two machines of one name two machines.
IDENTIFYING = ("arch", "cpu", "gpu", "num_cpu")
# What reading a file raises that is no result file, or cannot be read.
UNREADABLE = (UserError, OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)
# asv's own tables of what it holds by benchmark, apart from `_results` itself.
TABLES = (
    *("_samples", "_stats", "_benchmark_params", "_profiles", "_started_at", "_duration"),
    *("_benchmark_version", "_stderr", "_errcode"),
)


@dataclass
class Merged:
    """What a merge did: `machines` it brought, `files` it wrote, `figures` it added or lengthened, `conflicts` it named
    and left as they are here, one line each."""

    machines: list[str] = field(default_factory=list)
    files: int = 0
    figures: int = 0
    conflicts: list[str] = field(default_factory=list)


def merge(source: pathlib.Path, target: pathlib.Path, replace: bool = False) -> Merged:
    """Add a results tree to another. Doing it twice adds nothing the second time.

    The same row at the same commit: samples that are not here yet are appended. With `replace` they take the place of
    those that are here, as a new session's do where it is measured, and so does the list of benchmarks. Raises
    UserError when the source holds no machine's results, and OSError when the target cannot be written.
    """
    found = Merged()
    folders = list(_machines(source))
    if not folders:
        raise UserError(f"{source} holds no machine's results (a folder with {MACHINE})")
    target.mkdir(parents=True, exist_ok=True)
    with writer.exclusive(target):
        _bring_suite(source / SUITE, target / SUITE, replace, found)
        for folder in folders:
            _bring_machine(folder, target, replace, found)
    return found


class _Tree:
    """What tells the processes of one machine's samples apart."""

    def __init__(self, folder: pathlib.Path):
        self._journals: Journals = journals.read(folder)
        self._suite = _json(folder.parent / SUITE) or {}

    @property
    def spans(self) -> list[tuple[float, float]]:
        return self._journals.spans()

    def is_told(self, results: Results, name: str, index: int) -> bool:
        version = results.benchmark_version.get(name)
        return bool(self._journals.belonging((results.env_name, name, index), results.commit_hash, version))

    def processes(self, results: Results, name: str, index: int) -> list[tuple[float | None, list[float]]] | None:
        """Return (start, samples) of each process of a figure, None where nothing tells one from the next.

        Of processes that no journal tells of, which are the first, the start is None.
        """
        samples, version = _samples(results, name, index), results.benchmark_version.get(name)
        if not journals.are_numbers(samples):
            return None
        key = results.env_name, name, index
        measured = [each for each in self._journals.belonging(key, results.commit_hash, version) if each.count]
        suite = {name: self._suite[name]} if isinstance(self._suite.get(name), dict) else {}
        repeat = fixed_repeat(suite, name, version)
        pieces = cutting.cut(samples, measured, repeat, self._journals.thinned.get(key, ()))
        if pieces is None:
            return None
        return [
            (piece.entry and (piece.entry.process.started or 0.0), samples[piece.start : piece.end]) for piece in pieces
        ]


class Processes:
    """What is here already of a figure: sample for sample, or as the medians that a prune left of them."""

    def __init__(self, there: _Tree, here: _Tree):
        self._there, self._here = there, here

    def hold(self, known: Results, brought: Results, name: str, index: int) -> bool:
        """Whether all of a figure's samples are here."""
        if _contains(_samples(known, name, index), _samples(brought, name, index)):
            return True
        had, new = self._here.processes(known, name, index), self._there.processes(brought, name, index)
        return had is not None and new is not None and _contains(_medians(had), _medians(new))

    def is_told(self, brought: Results, name: str, index: int) -> bool:
        """Whether a journal that is brought says anything of a figure: asv writes the same of one that was skipped and
        of one that was not selected."""
        return self._there.is_told(brought, name, index)

    def joined(self, known: Results, brought: Results, name: str, index: int) -> list[float] | None:
        """Return a figure's samples of both, those of each process once; None where all that is brought is here.

        Journalled processes stand in the order measured: only so are they recognised again.
        """
        if self.hold(known, brought, name, index):
            return None
        here, there = self._here.processes(known, name, index), self._there.processes(brought, name, index)
        if here is None or there is None:
            # A later state of the same samples begins as what is here ends.
            had, new = _samples(known, name, index), _samples(brought, name, index)
            shared = max(count for count in range(len(new) + 1) if had[len(had) - count :] == new[:count])
            return had + new[shared:]
        unseen, added = list(here), []
        for process in there:
            same = next((each for each in unseen if _is_same(each[1], process[1])), None)
            if same is None:
                added.append(process)
            else:
                unseen.remove(same)
        if not added:
            return None
        together = sorted([*here, *added], key=lambda each: float("-inf") if each[0] is None else each[0])
        return [sample for _, samples in together for sample in samples]


def _medians(processes: list[tuple[float | None, list[float]]]) -> list[float]:
    return [float(statistics.median(samples)) for _, samples in processes]


def _is_same(samples: list[float], others: list[float]) -> bool:
    """Whether two processes are one, of which a prune may have left the median."""
    return samples == others or (
        1 in (len(samples), len(others)) and statistics.median(samples) == statistics.median(others)
    )


def _samples(results: Results, name: str, index: int) -> list[float]:
    return results.get_result_samples(name, results.get_result_params(name))[index] or []


def _is_file(path: pathlib.Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _machines(source: pathlib.Path) -> Iterator[pathlib.Path]:
    if source.is_symlink() or not source.is_dir():
        return
    for folder in sorted(source.iterdir()):
        if not folder.is_symlink() and folder.name == safe_name(folder.name) and _is_file(folder / MACHINE):
            yield folder


def _bring_suite(source: pathlib.Path, target: pathlib.Path, replace: bool, found: Merged) -> None:
    """Bring the list of benchmarks where there is none, or a newer one is brought: else it describes the suite here."""
    if not _is_file(source) or _json(source) is None:
        return
    content = source.read_bytes()
    if not target.exists() or (replace and target.read_bytes() != content):
        files.write_whole(target, content)
        found.files += 1


def _bring_machine(folder: pathlib.Path, target: pathlib.Path, replace: bool, found: Merged) -> None:
    here = target / folder.name
    brought, known = _json(folder / MACHINE), _json(here / MACHINE) if here.exists() else None
    if brought is None:
        found.conflicts.append(f"{folder / MACHINE}: not readable; nothing of this machine is taken")
        return
    unlike = [name for name in IDENTIFYING if known is not None and known.get(name) != brought.get(name)]
    if unlike:
        told = ", ".join(f"{name} {known.get(name)!r} here, {brought.get(name)!r} there" for name in unlike)
        found.conflicts.append(f"{folder}: another machine has this name ({told}); nothing of it is taken")
        return
    (here / SESSIONS).mkdir(parents=True, exist_ok=True)
    found.machines.append(folder.name)
    there_tree, here_tree = _Tree(folder), _Tree(here)
    processes = Processes(there_tree, here_tree)
    if known is None:
        files.write_whole(here / MACHINE, (folder / MACHINE).read_bytes())
        found.files += 1
    for file in sorted(folder.iterdir()):
        if not _is_file(file) or file.name == MACHINE:
            continue
        if file.suffix == ".json":
            _bring_results(file, target, processes, replace, found)
        elif file.suffix == ".jsonl":
            _bring_lines(file, here / file.name, [*there_tree.spans, *here_tree.spans], found)
    sessions = folder / SESSIONS
    if sessions.is_dir() and not sessions.is_symlink():
        for file in sorted(sessions.glob("*.jsonl")):
            if _is_file(file):
                _bring_journal(file, here / SESSIONS / file.name, found)


def _json(path: pathlib.Path) -> dict | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _bring_results(
    file: pathlib.Path, target: pathlib.Path, processes: Processes, replace: bool, found: Merged
) -> None:
    path = target / file.parent.name / file.name
    try:
        brought, damaged = _load(file)
        if brought.params.get("machine") != file.parent.name:
            raise ValueError("it says that it is of another machine")
    except UNREADABLE as error:
        found.conflicts.append(f"{file}: not readable as a result file ({_reason(error)}); not taken")
        return
    if not path.exists():
        files.write_whole(path, file.read_bytes())
        found.files += 1
        found.figures += len(brought.get_all_result_keys())
        return
    try:
        known, damaged_here = _load(path)
    except UNREADABLE as error:
        found.conflicts.append(f"{path}: not readable as a result file ({_reason(error)}); nothing is added to it")
        return
    added = 0
    for name in sorted(brought.get_all_result_keys()):
        if name in damaged:
            count, conflict = 0, f"damaged ({damaged[name]})"
        elif name in damaged_here and not replace:
            count, conflict = 0, f"what is here of it is damaged ({damaged_here[name]})"
        elif name in damaged_here:
            _take(known, brought, name)
            count, conflict = 1, None
        elif replace:
            count, conflict = replace_benchmark(known, brought, name, processes), None
        else:
            count, conflict = merge_benchmark(known, brought, name, processes.joined)
        added += count
        if conflict:
            found.conflicts.append(f"{file}: {name}: {conflict}")
    if added:
        writer.save_whole(target, known.save, known._filename)
        found.files += 1
        found.figures += added


def _load(path: pathlib.Path) -> tuple[Results, dict[str, str]]:
    """Return a result file, and of its benchmarks those whose columns do not belong together: name -> why.

    Raises one of UNREADABLE.
    """
    content = received.parse(path.read_bytes(), path.name)
    results = Results.load(str(path))
    damaged = {}
    for name, values in content["results"].items():
        try:
            received.check(dict(zip(content["result_columns"], values, strict=False)))
        except ValueError as error:
            damaged[name] = str(error)
    return results, damaged


def _reason(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def merge_benchmark(
    known: Results, brought: Results, name: str, joined: Callable[[Results, Results, str, int], list[float] | None]
) -> tuple[int, str | None]:
    """Add one benchmark of asv's results to others of the same row and commit.

    `joined(known, brought, name, index)` returns a figure's samples of both, None where none are to be added. Returns
    (figures added or lengthened, why some were left as they are). Pure.
    """
    if name not in known.get_all_result_keys():
        _take(known, brought, name)
        return 1, None
    versions = known.benchmark_version.get(name), brought.benchmark_version.get(name)
    if versions[0] != versions[1]:
        return 0, f"measured from another source (version {versions[0]} here, {versions[1]} there)"
    params = brought.get_result_params(name)
    if params != known.get_result_params(name):
        return 0, "its parameters are others"
    values, samples = brought.get_result_value(name, params), brought.get_result_samples(name, params)
    stats = brought.get_result_stats(name, params)
    had, had_samples = known.get_result_value(name, params), known.get_result_samples(name, params)
    chosen, unlike = set(), 0
    for index, value in enumerate(values):
        if value is None or value != value:
            continue
        if samples[index] and had_samples[index]:
            together = joined(known, brought, name, index)
            if together is not None:
                samples[index] = together
                chosen.add(index)
        elif had[index] is None or had[index] != had[index]:
            chosen.add(index)
        else:
            unlike += had[index] != value
    if chosen:
        # asv's first format may be without it.
        numbers = [((each or {}).get("number") or 1) if samples[index] else None for index, each in enumerate(stats)]
        known.add_result(
            {"name": name, "version": versions[0], "params": params},
            BenchmarkResult(values, samples, numbers, 0, "", None),
            started_at=_time(brought.started_at.get(name)),
            duration=brought.duration.get(name),
            record_samples=True,
            selected_idx=chosen,
        )
    return len(chosen), f"{unlike} values differ and have no samples to add" if unlike else None


def replace_benchmark(known: Results, brought: Results, name: str, processes: Processes) -> int:
    """Put one benchmark of asv's results in the place of what others of the same row and commit say of it.

    What is here already, if only as a prune left it, stays, and so do figures of parameters that were not measured.
    Returns how many benchmarks changed, 0 or 1.
    """
    if name in known.get_all_result_keys():
        params = brought.get_result_params(name)
        versions = known.benchmark_version.get(name), brought.benchmark_version.get(name)
        if versions[0] == versions[1] and params == known.get_result_params(name):
            _keep_unmeasured(known, brought, name, processes)
            count = len(brought.get_result_value(name, params))
            same = all(processes.hold(known, brought, name, index) for index in range(count))
            if same and _without_samples(known, name) == _without_samples(brought, name):
                return 0
    _take(known, brought, name)
    return 1


def _keep_unmeasured(known: Results, brought: Results, name: str, processes: Processes) -> None:
    """Give what is brought the figures that are here of those parameters that it was not measured with."""
    params = brought.get_result_params(name)
    columns = [
        (table, getter(known, name, params), getter(brought, name, params))
        for table, getter in (
            ("_results", Results.get_result_value),
            ("_samples", Results.get_result_samples),
            ("_stats", Results.get_result_stats),
        )
    ]
    values = columns[0][2]
    kept = [
        index
        for index, value in enumerate(values)
        if value is not None and value != value and not processes.is_told(brought, name, index)
    ]
    if not kept:
        return
    for table, had, new in columns:
        getattr(brought, table)[name] = [had[index] if index in kept else each for index, each in enumerate(new)]


def _without_samples(results: Results, name: str) -> str:
    """Return the values of those figures of which no samples were kept; NaN is like NaN."""
    params = results.get_result_params(name)
    pairs = zip(results.get_result_value(name, params), results.get_result_samples(name, params), strict=True)
    return repr([value for value, samples in pairs if not samples])


def _take(known: Results, brought: Results, name: str) -> None:
    known._results[name] = brought._results[name]
    for table in TABLES:
        getattr(known, table).pop(name, None)
        if name in getattr(brought, table):
            getattr(known, table)[name] = getattr(brought, table)[name]


def _time(milliseconds: float | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)


def _contains(samples: list[float], part: list[float]) -> bool:
    """Whether `part` stands somewhere in `samples`, in one piece."""
    return any(samples[start : start + len(part)] == part for start in range(len(samples) - len(part) + 1))


def _bring_lines(source: pathlib.Path, target: pathlib.Path, spans: list[tuple[float, float]], found: Merged) -> None:
    """Add the records of a sidecar that say something new here."""
    had = target.read_bytes().splitlines() if target.exists() else []
    lines = thinning.merged_lines(had, source.read_bytes().splitlines(), spans)
    if lines != had:
        files.write_whole(target, b"".join(line + b"\n" for line in lines))
        found.files += 1


def _bring_journal(source: pathlib.Path, target: pathlib.Path, found: Merged) -> None:
    """Bring a session's journal, or the longer of two states of it."""
    lines, known = _whole_lines(source), _whole_lines(target) if target.exists() else []
    brought, had = thinning.journal_statements(lines), thinning.journal_statements(known)
    shared = min(len(brought), len(had))
    if brought[:shared] != had[:shared]:
        found.conflicts.append(f"{source}: another session has this name; not taken")
    elif len(brought) > shared:
        files.write_whole(target, b"".join(lines))
        found.files += 1


def _whole_lines(path: pathlib.Path) -> list[bytes]:
    """Return a journal's lines without a last one that a kill cut short."""
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
