"""From the figures of two rows to the cases that are judged: which processes count on which side, and in what order."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bumps import sidecars
from bumps.journals import Process
from bumps.margins import Margins
from bumps.results import FAILED_UNSAID, Archive, Excluded, Figure, Row, name_with_params, unquote
from bumps.selection import Pair
from bumps.sidecars import Sidecar
from bumps.verdict import Case, Side

Key = tuple[str, tuple[str, ...]]
NOT_MEASURED = "not measured in this row"


@dataclass
class Measured:
    """One side of a case before it is judged: (session and stage, time, median) of each process that counts.

    Where no journal says more, the file's commit stands for the session, and the time is the file's. `sessions` are
    those whose journal is known. `earlier` are processes of sessions that later ones replaced in the result file;
    `failed` are (session or None, reason).
    """

    processes: list[tuple[tuple[str, int], float, float]] = field(default_factory=list)
    earlier: list[tuple[tuple[str, int], float, float]] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)
    failed: list[tuple[str | None, str]] = field(default_factory=list)
    skipped: str | None = None
    disturbed: str | None = None
    interval: tuple[float, float] | None = None
    value: float | None = None
    file: str = ""
    commit: str = ""
    measured: float = 0.0

    @property
    def failures(self) -> tuple[str, ...]:
        return tuple(reason for session, reason in self.failed if session is None or session in self.sessions)

    @property
    def all_sessions(self) -> set[str]:
        return self.sessions | {stage[0] for stage, _, _ in self.earlier}

    @property
    def times(self) -> list[float]:
        return [time for _, time, _ in self.processes]

    def within(self, sessions: set[str]) -> "Measured":
        """Return the same of some sessions alone, those that were replaced included."""
        foreign = self.earlier or self.failed or {stage[0] for stage, _, _ in self.processes} != sessions
        if self.sessions == sessions and not foreign:
            return self
        kept = [process for process in [*self.earlier, *self.processes] if process[0][0] in sessions]
        # A failure of no known session is another run's, unless nothing else is known of these.
        failed = [each for each in self.failed if each[0] is not None] if kept else self.failed
        return dataclasses.replace(self, processes=kept, earlier=[], sessions=sessions, failed=failed, interval=None)

    def side(self, stages: Sequence[tuple[str, int]]) -> Side:
        """Return what is judged: one batch for each of the stages, empty where this side missed it."""
        batches: dict[tuple[str, int], list[float]] = {stage: [] for stage in stages}
        for stage, _, median in sorted(self.processes, key=_time):
            batches.setdefault(stage, []).append(median)
        interval = None if self.processes else self.interval
        return Side(
            tuple(map(tuple, batches.values())) if self.processes else (), self.failures, self.skipped, interval
        )


@dataclass
class Compared:
    """One case with what the report needs besides; `old_replica` and `new_replica` are the process medians of the same
    row under its second name."""

    case: Case
    benchmark: str
    params: dict[str, str]
    old: Measured
    new: Measured
    old_replica: tuple[float, ...]
    new_replica: tuple[float, ...]
    flags: list[str]


class Comparison:
    """All cases of one pair of rows, and what was left out of them and why."""

    def __init__(self, archive: Archive, pair: Pair, margins: Margins, assume_interleaved: bool = False):
        self._archive, self.pair, self._margins = archive, pair, margins
        self._assume_interleaved = assume_interleaved
        self.excluded: list[Excluded] = []
        # What is stored and was not needed: older sources, sessions that measured one side alone.
        self.superseded: list[Excluded] = []
        self.not_selected = 0
        self._steps = _steps(archive)
        self._step_of = {name: names for names in self._steps.values() for name in names}
        self._hardware = self._reference_hardware()
        self._said: set[tuple] = set()

    def sidecar(self, row: Row) -> Sidecar:
        return sidecars.of(self._archive, row)

    def compare(self, stored_only: bool = True) -> list[Compared]:
        """Return every case, in the order of asv's names."""
        keys = sorted(self.pair.old.figures.keys() | self.pair.new.figures.keys())
        return [found for key in keys if (found := self._compare(key, stored_only)) is not None]

    def _compare(self, key: Key, stored_only: bool) -> Compared | None:
        benchmark, combination = key
        names = self._archive.param_names(benchmark, len(combination))
        params = {name: unquote(value) for name, value in zip(names, combination, strict=True)}
        if params.get("framework", self.pair.framework) != self.pair.framework:
            return None
        rows = (self.pair.old, self.pair.new)
        figures = [self._usable(row, key) for row in rows]
        if not _share_a_version(figures):
            newest = max((figure for figure in figures[1] if figure.selected), key=_started)
            self._exclude(newest.file.path, benchmark, "its source differs between the two releases' results")
            return None
        version = _newest_common_version(figures)
        of_version = [self._of_version(benchmark, found, version) for found in figures]
        old, new = (self._measured(row, key, found) for row, found in zip(rows, of_version, strict=True))
        if old.skipped == new.skipped == NOT_MEASURED:
            self.not_selected += 1
            return None
        controls = [
            tuple(
                self._measured(row, key, self._of_version(benchmark, self._usable(row, key), version))
                for row in control
            )
            for control in self.pair.controls
        ]
        shared = old.sessions & new.sessions or old.all_sessions & new.all_sessions
        if shared:
            for side, row in ((old, self.pair.old), (new, self.pair.new)):
                for session in side.sessions - shared:
                    what = f"session {session} did not measure the other release"
                    self._supersede(f"{row.folder.name}/{row.env_name}", None, what)
            old, new = old.within(shared), new.within(shared)
            controls = [tuple(side.within(shared) for side in control) for control in controls]
        name = name_with_params(benchmark, combination)
        stages = common_stages(old, new)
        case = Case(
            key=key,
            old=old.side(stages),
            new=new.side(stages),
            controls=tuple(
                (row.side(stages), replica.side(stages))
                for row, replica in controls
                if row.processes and replica.processes
            ),
            margin=self._margins.of(name),
            interleaved=self._assume_interleaved
            or alternate(old.times, new.times)
            or any(bracket(row.times, replica.times, old.times, new.times) for row, replica in controls),
            stored_only=stored_only,
            exact=self._archive.attribute(benchmark, "clock") == "kernels",
        )
        flags = self._flags(key, version)
        replicas: dict[Row, list[float]] = {self.pair.old: [], self.pair.new: []}
        for (row, _), (_, replica) in zip(self.pair.controls, controls, strict=True):
            replicas[row] += [median for _, _, median in sorted(replica.processes, key=_time)]
        return Compared(case, benchmark, params, old, new, *map(tuple, replicas.values()), flags)

    def _usable(self, row: Row, key: Key) -> list[Figure]:
        found = []
        for figure in row.figures.get(key, ()):
            difference = _differing(self._hardware, figure.file.hardware)
            if difference:
                self._exclude(figure.file.path, None, f"was measured on another machine: {difference}")
            else:
                found.append(figure)
        return found

    def _reference_hardware(self) -> dict[str, str]:
        rows = (self.pair.new, self.pair.old)
        for row in rows:
            newest = max(row.files, key=lambda file: self._last_start(row, file), default=None)
            if newest is not None:
                return dict(newest.hardware)
        return {}

    def _last_start(self, row: Row, file) -> float:
        starts = (figure.started or 0.0 for found in row.figures.values() for figure in found if figure.file is file)
        return max(starts, default=0.0)

    def _of_version(self, benchmark: str, figures: list[Figure], version: str | None) -> list[Figure]:
        kept = [figure for figure in figures if version is None or figure.version in (version, None)]
        for figure in figures:
            if figure.selected and figure not in kept:
                self._supersede(figure.file.path, benchmark, "measured with another source of the benchmark")
        return kept

    def _measured(self, row: Row, key: Key, figures: list[Figure]) -> Measured:
        sidecar = self.sidecar(row)
        plain = key[0], tuple(map(unquote, key[1]))
        found = Measured()
        skipped: str | None = None
        for figure in figures:
            if figure.selected or not found.file:
                found.file, found.commit = figure.file.path, figure.file.commit
            if not figure.selected or figure.skipped:
                skipped = figure.skipped or sidecar.skipped(plain) or skipped
                continue
            found.measured = max(found.measured, figure.started or 0.0)
            found.failed += [
                (process and process.session, self._reason(row, sidecar, plain, figure, reason))
                for process, reason in figure.failed
            ]
            found.sessions |= figure.sessions
            self._add_processes(found, sidecar, plain, key, figure)
        if found.processes and not found.sessions and len({stage for stage, _, _ in found.processes}) == 1:
            self._take_times(found, sidecar, plain)
        has_figure = found.processes or found.failures or found.interval
        if not has_figure:
            found.skipped = found.disturbed or skipped or NOT_MEASURED
        if found.processes and found.interval:
            self._supersede(found.file, name_with_params(*key), "samples that cannot be cut into processes")
        return found

    def _reason(self, row: Row, sidecar: Sidecar, plain: Key, figure: Figure, reason: str) -> str:
        if reason is not FAILED_UNSAID:
            return reason
        if row.unbuildable:
            return f"the row could not be built: {sidecar.unbuildable or 'no reason was recorded'}"
        return sidecar.failed(plain, figure.index) or reason

    def _add_processes(self, found: Measured, sidecar: Sidecar, plain: Key, key: Key, figure: Figure) -> None:
        if not figure.processes:
            if not figure.medians:
                found.interval, found.value = figure.interval, figure.value
            medians = figure.medians
            if not medians and figure.interval is None and figure.value is not None:
                # Neither samples nor an interval: as much as one process says.
                medians = (figure.value,)
            stage, time = (figure.file.commit, 0), figure.started or 0.0
            found.processes += [(stage, time, median) for median in medians]
            return
        disturbed: dict[str, int] = {}
        for process, median in zip(figure.processes, figure.medians, strict=True):
            if reasons := self._disturbed(sidecar, plain, process):
                said = ", ".join(reasons)
                disturbed[said] = disturbed.get(said, 0) + 1
                continue
            found.processes.append(_placed(process, median, figure))
            if process.ended and process.ended > found.measured:
                found.measured = process.ended
        found.earlier += [
            _placed(process, median, figure)
            for process, median in figure.earlier
            if not self._disturbed(sidecar, plain, process)
        ]
        for reasons, count in disturbed.items():
            name = name_with_params(*key)
            self._exclude(
                figure.file.path, name, f"{count} of {len(figure.medians)} processes were disturbed: {reasons}"
            )
            found.disturbed = f"every process was disturbed: {reasons}"

    def _disturbed(self, sidecar: Sidecar, plain: Key, process: Process) -> tuple[str, ...]:
        if process.disturbed or not sidecar.disturbances or process.started is None or process.ended is None:
            return process.disturbed
        siblings = [(name, plain[1]) for name in self._step_of.get(plain[0], (plain[0],))]
        return sidecar.disturbed(siblings, process.started, process.ended)

    def _take_times(self, found: Measured, sidecar: Sidecar, plain: Key) -> None:
        """Take the times of the newest processes from the sidecar: asv's file has one time for all of them."""
        siblings = self._step_of.get(plain[0], (plain[0],))
        times = max((sidecar.prepared.get((name, plain[1]), []) for name in siblings), key=len)
        if len(times) >= len(found.processes):
            newest = sorted(times)[-len(found.processes) :]
            found.processes = [
                (stage, time, median) for time, (stage, _, median) in zip(newest, found.processes, strict=True)
            ]

    def _flags(self, key: Key, version: str | None) -> list[str]:
        benchmark, combination = key
        plain = tuple(map(unquote, combination))
        flags = set()
        for row in (self.pair.old, self.pair.new):
            sidecar = self.sidecar(row)
            for name in self._step_of.get(benchmark, (benchmark,)):
                flags.update(sidecar.flags((name, plain), version))
                if (name, plain) in sidecar.disturbances:
                    flags.add("disturbed")
        return sorted(flags)

    def _exclude(self, file: str, benchmark: str | None, why: str) -> None:
        self._say(self.excluded, file, benchmark, why)

    def _supersede(self, file: str, benchmark: str | None, why: str) -> None:
        self._say(self.superseded, file, benchmark, why)

    def _say(self, where: list[Excluded], *what) -> None:
        if what not in self._said:
            self._said.add(what)
            where.append(Excluded(*what))


def _placed(process: Process, median: float, figure: Figure) -> tuple[tuple[str, int], float, float]:
    return (process.session, process.stage), process.started or figure.started or 0.0, median


def _versions(figures: Sequence[list[Figure]]) -> list[set[str | None]]:
    return [{figure.version for figure in found if figure.selected} for found in figures]


def _share_a_version(figures: Sequence[list[Figure]]) -> bool:
    """Whether both sides' figures belong to one source of the benchmark; no version (old files) fits any."""
    old, new = _versions(figures)
    return not (old and new) or None in old | new or bool(old & new)


def _newest_common_version(figures: Sequence[list[Figure]]) -> str | None:
    """Return the version to judge: the newest that both sides have, or that one has where the other has nothing."""
    old, new = _versions(figures)
    if None in old | new:
        return None
    usable = old & new or old | new
    both = [figure for found in figures for figure in found]
    # A file in which the benchmark was not selected says nothing about when its version was last measured.
    candidates = [figure for figure in both if figure.selected and figure.version in usable] if usable else both
    newest = max(candidates, key=_started, default=None)
    return newest.version if newest else None


def common_stages(old: Measured, new: Measured) -> list[tuple[str, int]]:
    """Return the stages of both sides in the order of time; none where no stage has both sides: then the first of one
    belongs with the first of the other."""
    starts: dict[tuple[str, int], float] = {}
    for stage, time, _ in [*old.processes, *new.processes]:
        starts[stage] = min(time, starts.get(stage, time))
    both = {stage for stage, _, _ in old.processes} & {stage for stage, _, _ in new.processes}
    return sorted(starts, key=lambda stage: (starts[stage], stage)) if both else []


def _steps(archive: Archive) -> dict[tuple, tuple[str, ...]]:
    """Group the benchmarks that measure figures of one and the same step: wall time, device time, kernels."""
    groups: dict[tuple, list[str]] = {}
    for name, attributes in archive.benchmarks.items():
        if attributes.get("workload") and attributes.get("clock"):
            step = name.rpartition(".")[0], str(attributes.get("mode")), str(attributes.get("pass"))
            groups.setdefault(step, []).append(name)
    return {step: tuple(names) for step, names in groups.items()}


def _started(figure: Figure) -> float:
    return figure.started or 0.0


def _time(process: tuple) -> float:
    return process[1]


def _differing(reference: dict[str, str], hardware: Iterable[tuple[str, str]]) -> str | None:
    return next(
        (
            f"{name} is {value}, and {reference[name]} where the newest result was"
            for name, value in hardware
            if reference.get(name, value) != value
        ),
        None,
    )


def alternate(old: Sequence[float], new: Sequence[float]) -> bool:
    """Whether processes measured at these times alternated between two rows, so that drift falls on both alike.

    They count as interleaved when the row changes at least as often as with rounds whose order alternates
    (old new, new old, old new …): one change a round.
    """
    if min(len(set(old)), len(set(new))) < 2:
        return False
    order = [side for _, side in sorted([(time, 0) for time in old] + [(time, 1) for time in new])]
    changes = sum(before != after for before, after in itertools.pairwise(order))
    return changes >= max(2, min(len(old), len(new)))


def bracket(row: Sequence[float], replica: Sequence[float], old: Sequence[float], new: Sequence[float]) -> bool:
    """Whether a control, measured at two times, has everything of both sides between or at these times."""
    if not (row and replica and old and new):
        return False
    apart = max(row) < min(replica) or max(replica) < min(row)
    times = [*row, *replica]
    return apart and min(times) <= min(*old, *new) and max(times) >= max(*old, *new)
