"""Measures rows: builds them, runs their processes interleaved, journals each, writes asv's results, and asks the
judgement what needs fresh processes."""

import itertools
import math
import os
import pathlib
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from asv.benchmarks import Benchmarks
from asv.config import Config
from asv.repo import NoSuchNameError, get_repo
from asv.util import ProcessError, UserError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bumps import building, cpu, gpu, lock, looks, machine, plan, process, writer
from bumps.console import Console
from bumps.journal import Journal, Session, Stage, item_of
from bumps.plan import Item, Plan, PlannedBump, PlannedRow
from bumps.process import Measured, Task
from bumps.results import Archive, unquote
from bumps.rows import Bump, Row
from bumps.verdict import MOST_PROCESSES
from bumps.writer import RowFacts

# After so many failures and no figure in a stage, a benchmark is not tried again in that row.
FAILURES_BEFORE_GIVING_UP = 2
GPU_SETTLES_SECONDS = 5.0
SHOWN_OUTPUT_LINES = 30
AS_ASV_WRITES = (
    "names are searched as asv writes them, like matmul_chain.MatmulChain.time_eager_grad('jax', 'fp32', 'small')"
)


@dataclass(frozen=True)
class Options:
    """How to measure.

    `rounds` is the number of processes a row in each stage; `budget` ends measuring after so many seconds of it;
    `confirm` measures again what is not settled; `one_by_one` gives every benchmark a process of its own; `shared`
    measures on a GPU that others use; `wait` waits for another measurement to end.
    """

    patterns: Sequence[str]
    rounds: int = 5
    budget: float | None = None
    confirm: bool = True
    one_by_one: bool = False
    shared: bool = False
    wait: bool = True
    show_output: bool = False
    jobs: int = 2
    machine: str | None = None
    purpose: str = "bumps run"


@dataclass
class Outcome:
    """What was measured: `rows` those that could be, `left_out` the others with the reason, `seconds` wall time of this
    run's measuring, `timed_seconds` those inside timed calls, `failures` entries that failed."""

    machine: str
    commit: str
    benchmarks: Benchmarks
    plan: Plan
    session: Session
    rows: list[Row]
    left_out: dict[Row, str]
    seconds: float
    timed_seconds: float
    failures: int = 0
    forced: dict[PlannedBump, tuple[str, ...]] = field(default_factory=dict)


class Nothing(Exception):
    """Nothing could be measured; the text says why."""


def measure(config: Config, rows: Sequence[Row], bumps: Sequence[Bump], options: Options, console: Console) -> Outcome:
    """Measure rows, interleaved, and judge and measure again the bumps among them until they are settled.

    Works in the configuration's folder. Progress goes to the console. Raises UserError, and Nothing when no row can
    be built or nothing is selected.
    """
    return _Driver(config, rows, bumps, options, console).run()


class _Driver:
    def __init__(self, config: Config, rows: Sequence[Row], bumps: Sequence[Bump], options: Options, console: Console):
        self._config, self._rows, self._bumps = config, list(rows), list(bumps)
        self._options, self._console = options, console
        self._results_dir = pathlib.Path(config.results_dir)
        self._device: gpu.Gpu | None = None
        self._left_out: dict[Row, str] = {}
        self._failures = 0
        self._timed_seconds = 0.0

    def run(self) -> Outcome:
        self._choose_device()
        self._machine = machine.register(self._results_dir, self._options.machine, self._device)
        os.environ["BENCH_MACHINE"] = self._machine["machine"]
        writer.remove_leftovers(self._results_dir, self._machine["machine"])
        building.build(self._rows, self._options.jobs, self._say)
        self._drop_unbuildable()
        repo = get_repo(self._config)
        try:
            self._commit = repo.get_hash_from_name("HEAD")
        except NoSuchNameError:
            raise UserError("the project has no commit yet; results belong to one: git commit") from None
        self._date = repo.get_date(self._commit)
        for row in self._rows:
            row.environment.install_project(self._config, repo, self._commit)
        self._benchmarks = self._discover(repo)
        writer.save_benchmarks(self._benchmarks, self._results_dir)
        self._plan = self._make_plan()
        self._facts = {row.env_name: self._facts_of(row) for row in self._rows}
        self._by_name = {row.env_name: row for row in self._rows}
        # Who waits has no session yet: one that is measured meanwhile is taken up where it is interrupted.
        with self._exclusively():
            self._journal = self._open_journal()
            try:
                started = time.monotonic()
                self._render_all()
                self._measure_stages()
                self._render_all()
                self._journal.finish()
                seconds = time.monotonic() - started
            finally:
                self._journal.close()
        return Outcome(
            self._machine["machine"],
            self._commit,
            self._benchmarks,
            self._plan,
            self._journal.session,
            self._rows,
            self._left_out,
            seconds,
            self._timed_seconds,
            self._failures,
        )

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False)

    # Before measuring.

    def _choose_device(self) -> None:
        if not any((row.accelerator or "").startswith("cuda") for row in self._rows):
            return
        # The first GPU is then the same to NVML, to CUDA and to whoever reads CUDA_VISIBLE_DEVICES.
        os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        self._device = gpu.chosen()
        if self._device is not None:
            visible = os.environ.get("CUDA_VISIBLE_DEVICES", str(self._device.index))
            os.environ["CUDA_VISIBLE_DEVICES"] = visible.split(",")[0].strip()

    def _drop_unbuildable(self) -> None:
        self._left_out = {row: row.unbuildable for row in self._rows if row.unbuildable}
        for row, reason in self._left_out.items():
            if not row.is_control:
                self._say(f"left out: {row} cannot be built: {reason}")
        self._rows = [row for row in self._rows if row not in self._left_out]
        if self._bumps:
            self._bumps = [bump for bump in self._bumps if not self._left_out.keys() & set(bump.rows)]
            needed = [row for bump in self._bumps for row in bump.rows]
            self._rows = [row for row in self._rows if row in needed]
        if not self._rows:
            raise Nothing("nothing was measured: " + "; ".join(sorted(set(self._left_out.values()))))

    def _discover(self, repo) -> Benchmarks:
        environments = [row.environment for row in self._rows]
        for pattern in self._options.patterns:
            _check_pattern(pattern)
        try:
            found = Benchmarks.discover(
                self._config, repo, environments, [self._commit], regex=list(self._options.patterns)
            )
        except ProcessError as error:
            raise UserError(f"the benchmarks cannot be discovered: {error.stderr or error}") from None
        if not found:
            wanted = " or ".join(map(repr, self._options.patterns))
            raise UserError(f"no benchmark matches {wanted}: {AS_ASV_WRITES}")
        for benchmark in found.values():
            self._timeout(benchmark)
        for pattern in self._options.patterns:
            if not self._is_matched(found, pattern):
                self._say(f"no benchmark matches {pattern!r}: {AS_ASV_WRITES}")
        return found

    @staticmethod
    def _is_matched(found: Benchmarks, pattern: str) -> bool:
        return any(
            re.search(pattern, f"{name}({', '.join(values)})" if benchmark["params"] else name)
            for name, benchmark in found.items()
            for values in itertools.product(*benchmark["params"])
        )

    def _make_plan(self) -> Plan:
        known = self._benchmarks
        items = [
            Item(name, index)
            for name in known
            for index in (known.benchmark_selection[name] if known[name]["params"] else [0])
        ]
        # An interpreter that holds both frameworks is one environment, and may stand for a row of either.
        frameworks: dict[str, set[str]] = {}
        for row in self._rows:
            frameworks.setdefault(row.env_name, set()).add(row.framework)
        selection = {
            env_name: plan.select_for_row(items, known, names, combinations_of)
            for env_name, names in frameworks.items()
        }
        if not any(selection.values()):
            raise Nothing("the selection has no benchmark for these rows")
        roles = {bump.old: "old" for bump in self._bumps} | {bump.new: "new" for bump in self._bumps}
        roles |= {row: "control" for row in self._rows if row.is_control}
        return Plan(
            rows=tuple(
                PlannedRow(
                    row.env_name, row.framework, row.release, "control" if row.is_control else roles.get(row, "row")
                )
                for row in self._rows
            ),
            bumps=tuple(
                PlannedBump(
                    bump.framework,
                    bump.old.env_name,
                    bump.new.env_name,
                    ((bump.new.env_name, bump.control.env_name),) if bump.control else (),
                )
                for bump in self._bumps
            ),
            selection=selection,
            rounds=self._options.rounds,
        )

    def _facts_of(self, row: Row) -> RowFacts:
        environment = row.environment
        return RowFacts(
            env_name=environment.name,
            python=environment.python,
            requirements=environment.requirements,
            env_vars=environment.env_vars,
            params={**self._machine, "python": environment.python, **environment.requirements},
            commit=self._commit,
            date=self._date,
        )

    def _open_journal(self) -> Journal:
        folder = self._results_dir / self._machine["machine"]
        record = self._plan.as_record()
        versions = {name: benchmark["version"] for name, benchmark in self._benchmarks.items()}
        try:
            found = Journal.resume(folder, self._commit, record, versions)
            if found is None:
                self._say_what_gives_way(versions)
                return Journal.start(folder, self._commit, record, versions)
        except OSError as error:
            raise UserError(f"the journal {error.filename} cannot be written: {error.strerror}") from None
        count = len(found.session.processes)
        self._say(f"resuming session {found.session.id}: {count} finished processes are kept")
        return found

    def _say_what_gives_way(self, versions: dict[str, str]) -> None:
        """Say when figures that more processes measured give way to this session's: verdicts are of the newest one."""
        selected = {env_name: set(items) for env_name, items in self._plan.selection.items()}
        counts = [
            len(figure.medians)
            for row in Archive(self._results_dir, self._machine["machine"]).rows
            if row.env_name in selected
            for (benchmark, _), figures in row.figures.items()
            for figure in figures[-1:]
            if figure.version == versions.get(benchmark) and Item(benchmark, figure.index) in selected[row.env_name]
        ]
        more = [count for count in counts if count > self._options.rounds]
        if more:
            self._say(
                f"{len(more)} figures of up to {max(more)} processes give way to this session's of "
                f"{self._options.rounds}; --rounds {max(more)} measures as many"
            )

    def _exclusively(self):
        resource = self._device.uuid if self._device else "cpu"
        return lock.measuring(resource, self._options.purpose, self._options.wait, self._say)

    # Measuring.

    def _measure_stages(self) -> None:
        if self._device is not None:
            lock.refuse_busy(self._device, self._options.shared)
        elif (share := cpu.busy_share()) is not None and share > cpu.BUSY:
            self._say(
                f"the CPU is {share:.0%} busy with other work: figures will be noisy; python -m env_matrix doctor"
            )
        stage = Stage(0, self._options.rounds, dict(self._plan.selection))
        last = 2 * math.ceil(MOST_PROCESSES / self._options.rounds)
        within_budget = self._measure_stage(stage)
        while self._bumps and self._options.confirm and stage.number < last:
            stage = self._next_stage(stage.number + 1)
            if stage is None:
                return
            unsettled = len({item for items in stage.selection.values() for item in items})
            if not within_budget:
                self._say(f"the budget is used up: {unsettled} benchmarks stay unsettled")
                return
            self._say(f"measuring {unsettled} unsettled benchmarks again, with fresh processes")
            within_budget = self._measure_stage(stage)

    def _next_stage(self, number: int) -> Stage | None:
        """Return the stage that a resumed session was in, else the one that the judgement asks for, None for none."""
        for stage in self._session.stages:
            if stage.number == number:
                return stage
        archive = Archive(self._results_dir)
        selection: dict[str, set[Item]] = {}
        for bump in self._plan.bumps:
            pair = looks.pair_of(archive, self._machine["machine"], self._plan, bump, self._benchmarks)
            if pair is None:
                continue
            items = set(looks.wanted(archive, self._config, pair, self._benchmarks))
            for env_name in bump.rows:
                selection.setdefault(env_name, set()).update(items & set(self._plan.selection[env_name]))
        chosen = {env_name: tuple(sorted(items)) for env_name, items in selection.items() if items}
        if not chosen:
            return None
        stage = Stage(number, self._options.rounds, chosen)
        self._journal.append_stage(stage)
        return stage

    @property
    def _session(self) -> Session:
        return self._journal.session

    def _measure_stage(self, stage: Stage) -> bool:
        """Measure what a stage lacks; return whether the budget lasted."""
        env_names = [name for name in self._by_name if stage.selection.get(name)]
        total = sum(
            len(self._missing(stage, round_, env_name)) for round_ in range(stage.rounds) for env_name in env_names
        )
        with self._progress() as progress:
            task = progress.add_task("", total=total)
            for round_ in range(stage.rounds):
                if self._over_budget(stage, round_, env_names):
                    return False
                for env_name in plan.order(env_names, round_):
                    items = self._missing(stage, round_, env_name)
                    row = self._by_name[env_name]
                    labels = " and ".join(str(each) for each in self._rows if each.env_name == env_name)
                    title = f"{_stage_name(stage)} {round_ + 1}/{stage.rounds}  {labels}"
                    progress.update(task, description=title, refresh=True)
                    for found in self._processes(stage, round_, row, items, lambda entry: _advance(progress, task)):
                        self._keep(stage, round_, row, found, title)
        return True

    def _missing(self, stage: Stage, round_: int, env_name: str) -> list[Item]:
        """Return the items that a row lacks in a round, without those whose outcome would be the same again."""
        outcomes: dict[Item, Counter] = {}
        for measured, entry in self._session.entries(env_name):
            status = "measured" if entry.get("samples") else entry.get("status")
            if status == "skipped" or measured["stage"] == stage.number:
                outcomes.setdefault(item_of(entry), Counter())[status] += 1
        had = self._session.measured(stage.number, round_, env_name)
        return [
            item
            for item in stage.selection.get(env_name, ())
            if item not in had and not _is_settled(outcomes.get(item, Counter()))
        ]

    def _processes(self, stage: Stage, round_: int, row: Row, items: list[Item], tell) -> Iterator[Measured]:
        seed = (self._session.head["seed"], stage.number, round_, row.env_name)
        groups, isolated = plan.batches(items, self._benchmarks, *seed)
        if self._options.one_by_one:
            groups, isolated = [], [*itertools.chain.from_iterable(groups), *isolated]
        numbers = {
            item_of(entry): entry["number"]
            for _, entry in self._session.entries(row.env_name)
            if entry.get("number") is not None
        }
        interpreter = row.interpreter
        for batch in [groups, *([[item]] for item in isolated)]:
            tasks = [[self._task(item, numbers.get(item)) for item in group] for group in batch]
            yield from process.measure(interpreter, self._config.benchmark_dir, tasks, tell)

    def _task(self, item: Item, number: int | None) -> Task:
        benchmark = self._benchmarks[item.benchmark]
        return Task(item, bool(benchmark["params"]), self._timeout(benchmark), number)

    def _timeout(self, benchmark: dict) -> float:
        """Return a benchmark's timeout in seconds. Raises UserError when it is none."""
        timeout = benchmark.get("timeout") or self._config.default_benchmark_timeout
        if not isinstance(timeout, int | float) or not timeout > 0:
            raise UserError(f"the timeout of {benchmark['name']}, {timeout!r}, is no positive number of seconds")
        return float(timeout)

    def _keep(self, stage: Stage, round_: int, row: Row, found: Measured, title: str) -> None:
        """Journal a finished process, write its results, and say so."""
        self._journal.append_process(
            {
                "env_name": row.env_name,
                "stage": stage.number,
                "round": round_,
                "started": found.started,
                "ended": found.ended,
                "entries": found.entries,
                "timed_seconds": found.timed_seconds,
                "python_seconds": found.python_seconds,
                "disturbed": self._disturbed(),
            }
        )
        self._render(row.env_name)
        self._timed_seconds += found.timed_seconds
        self._report_process(found, title)

    def _report_process(self, found: Measured, title: str) -> None:
        counts = Counter(entry.get("status", "measured") for entry in found.entries)
        said = ", ".join(f"{count} {status}" for status, count in counts.items())
        self._say(f"{title}  {said}  {found.python_seconds:.1f} s")
        failed = [entry for entry in found.entries if entry.get("status") in ("failed", "timeout")]
        self._failures += len(failed)
        for entry in failed:
            self._say(f"  {self._name_of(item_of(entry))}: {entry['reason']}")
        if failed and self._options.show_output:
            for line in found.output.strip().splitlines()[-SHOWN_OUTPUT_LINES:]:
                self._say(f"    {line}")

    def _name_of(self, item: Item) -> str:
        values = combinations_of(self._benchmarks[item.benchmark])[item.index]
        return f"{item.benchmark}({', '.join(values)})" if values else item.benchmark

    def _disturbed(self) -> list[str]:
        """Return why the process that just ended was disturbed: no process of ours is on the GPU now."""
        if self._device is None:
            return []
        deadline = time.monotonic() + GPU_SETTLES_SECONDS
        while (count := gpu.compute_processes(self._device)) and time.monotonic() < deadline:
            time.sleep(0.1)
        return [f"{count} other processes on the GPU"] if count else []

    def _over_budget(self, stage: Stage, round_: int, env_names: Sequence[str]) -> bool:
        budget = self._options.budget
        if budget is None or not self._session.processes:
            return False
        return self._session.seconds + self._expected_seconds(stage, round_, env_names) > budget

    def _expected_seconds(self, stage: Stage, round_: int, env_names: Sequence[str]) -> float:
        """Return what a round will take, judged by the processes so far."""
        seconds: dict[Item, list[float]] = {}
        for measured in self._session.processes:
            for entry in measured["entries"]:
                seconds.setdefault(item_of(entry), []).append(entry.get("seconds", 0.0))
        usual = statistics.fmean(itertools.chain.from_iterable(seconds.values()))
        inside = sum(sum(entry.get("seconds", 0.0) for entry in each["entries"]) for each in self._session.processes)
        overhead = max(0.0, self._session.seconds - inside) / len(self._session.processes)
        expected = 0.0
        for env_name in env_names:
            items = self._missing(stage, round_, env_name)
            if items:
                expected += overhead + sum(statistics.fmean(seconds.get(item, [usual])) for item in items)
        return expected

    def _render_all(self) -> None:
        for env_name in {measured["env_name"] for measured in self._session.processes}:
            self._render(env_name)

    def _render(self, env_name: str) -> None:
        remark = writer.render(self._results_dir, self._facts[env_name], self._session, self._benchmarks)
        if remark:
            self._say(remark)

    def _progress(self) -> Progress:
        # Drawn only between benchmarks: a thread that draws would take a core from what is measured.
        return Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            auto_refresh=False,
            transient=True,
            disable=not self._console.is_terminal,
        )


def _advance(progress: Progress, task) -> None:
    progress.advance(task)
    progress.refresh()


def _stage_name(stage: Stage) -> str:
    return "round" if stage.number == 0 else f"again ({stage.number}), round"


def _is_settled(outcomes: Counter) -> bool:
    failures = outcomes["failed"] + outcomes["timeout"]
    return bool(outcomes["skipped"]) or (failures >= FAILURES_BEFORE_GIVING_UP and not outcomes["measured"])


def combinations_of(benchmark: Mapping) -> list[tuple[str, ...]]:
    """Return a benchmark's parameter combinations in asv's order, without quotes."""
    return list(itertools.product(*([unquote(value) for value in values] for values in benchmark["params"])))


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise UserError(f"--bench {pattern!r} is no regular expression: {error}") from None
