"""Starts the processes of a row and takes what they measure. One benchmark that crashes, hangs or runs out of memory
costs only itself: it is recorded as failed, and a fresh process carries on with the rest."""

import contextlib
import json
import os
import pathlib
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bumps.plan import Item

GUARD = pathlib.Path(__file__).with_name("guard.py")
WORKER = pathlib.Path(__file__).with_name("worker.py")
# Seconds for what comes between benchmarks: an interpreter's start, freeing memory.
START_TIMEOUT = 300.0
# Interpreters that end before their first benchmark, in a row, before the rest is given up.
ATTEMPTS = 2
LONGEST_LINE = 200
# The kernel waits for whole days at most; a benchmark's timeout may be longer, or infinite.
LONGEST_WAIT = 3600.0


@dataclass(frozen=True)
class Interpreter:
    """A row's Python and the whole environment of its processes."""

    executable: str
    variables: dict[str, str]


@dataclass(frozen=True)
class Task:
    """A benchmark to measure. `number` is what the row's earlier processes chose, `timeout` in seconds."""

    item: Item
    has_params: bool
    timeout: float
    number: int | None = None


@dataclass
class Measured:
    """What one process measured: the journal's entries in the order measured. Times are ISO 8601, UTC."""

    started: str
    ended: str = ""
    entries: list[dict] = field(default_factory=list)
    python_seconds: float = 0.0
    output: str = ""

    @property
    def timed_seconds(self) -> float:
        """Seconds inside timed calls."""
        timed = [entry for entry in self.entries if entry.get("number")]
        return sum(sum(entry["samples"]) * entry["number"] for entry in timed)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@contextlib.contextmanager
def guarded(command: Sequence[str], variables: dict[str, str], cwd: str, output, descriptors: Sequence[int] = ()):
    """Run a command in a group of its own, which dies with this process and at the end of the context."""
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", str(GUARD), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=output,
        env=variables,
        cwd=cwd,
        pass_fds=descriptors,
        start_new_session=True,
    )
    try:
        yield guard
    finally:
        end(guard)
        guard.wait()
        guard.stdin.close()
        guard.stdout.close()


def end(guard: subprocess.Popen) -> None:
    """End a guarded command with all that it started."""
    # Where nobody has waited for it yet, the number still is the group's.
    if guard.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(guard.pid, signal.SIGKILL)


def status_of(guard: subprocess.Popen) -> int | None:
    """Wait for a guarded command; return its exit status (negative: the signal), None where its guard died with it."""
    text = guard.stdout.readline().strip()
    return int(text) if text else None


def measure(
    interpreter: Interpreter,
    benchmark_dir: str,
    groups: Sequence[Sequence[Task]],
    tell: Callable[[dict], None] = lambda entry: None,
) -> Iterator[Measured]:
    """Measure all groups in as few processes as it takes; yield each process when it is finished.

    `tell` hears of each entry at once.
    """
    remaining, attempts = [list(group) for group in groups if group], 0
    while remaining:
        found = _Run(interpreter, benchmark_dir, remaining, tell).run()
        attempts = 0 if found.entries else attempts + 1
        if attempts == ATTEMPTS:
            reason = f"the row's Python did not start a benchmark: {_last_line(found.output) or 'it said nothing'}"
            found.entries = [_entry(task, status="failed", reason=reason) for group in remaining for task in group]
        if found.entries:
            yield found
        remaining = _rest(remaining, len(found.entries))


def _rest(groups: list[list[Task]], count: int) -> list[list[Task]]:
    """Return the groups without their first tasks."""
    left = []
    for group in groups:
        kept = group[count:]
        count = max(0, count - len(group))
        if kept:
            left.append(kept)
    return left


def _entry(task: Task, **fields) -> dict:
    return {"benchmark": task.item.benchmark, "index": task.item.index, **fields}


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:LONGEST_LINE] if lines else ""


class _Run:
    """One process, from its start to its end."""

    def __init__(
        self, interpreter: Interpreter, benchmark_dir: str, groups: list[list[Task]], tell: Callable[[dict], None]
    ):
        self._interpreter, self._tell = interpreter, tell
        self._tasks = [task for group in groups for task in group]
        self._request = {
            "benchmark_dir": os.path.abspath(benchmark_dir),
            "groups": [
                [{**task.item._asdict(), "has_params": task.has_params, "number": task.number} for task in group]
                for group in groups
            ],
        }
        self._measured = Measured(now())
        # The task that is being measured, and when it, or what comes before the next one, must be over.
        self._current: Task | None = None
        self._deadline = time.monotonic() + START_TIMEOUT

    def run(self) -> Measured:
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="bumps-", ignore_cleanup_errors=True) as folder:
            log = pathlib.Path(folder) / "output"
            request = pathlib.Path(folder) / "request.json"
            request.write_text(json.dumps(self._request), encoding="utf-8")
            cwd = pathlib.Path(folder) / "cwd"
            cwd.mkdir()
            with open(log, "wb") as output:
                status = self._follow(str(request), str(cwd), output)
            self._measured.output = log.read_text(encoding="utf-8", errors="replace")
        if self._current is not None:
            self._record(status="failed", reason=self._death(status))
        self._measured.ended = now()
        self._measured.python_seconds = time.monotonic() - started
        return self._measured

    def _follow(self, request: str, cwd: str, output) -> int | None:
        """Start the process and take its records until it ends or must be ended; return its exit status, None where
        it was ended."""
        reader, writer = os.pipe()
        command = [self._interpreter.executable, str(WORKER), request, str(writer)]
        try:
            with guarded(command, self._interpreter.variables, cwd, output, [writer]) as guard:
                os.close(writer)
                writer = None
                if self._take_records(reader):
                    return status_of(guard)
                return None
        finally:
            os.close(reader)
            if writer is not None:
                os.close(writer)

    def _take_records(self, reader: int) -> bool:
        """Return whether the process ended by itself; where not, it said that it is done or must be ended."""
        selector = selectors.DefaultSelector()
        selector.register(reader, selectors.EVENT_READ)
        buffer = b""
        with selector:
            while True:
                left = max(0.0, self._deadline - time.monotonic())
                if not selector.select(min(left, LONGEST_WAIT)):
                    if left > LONGEST_WAIT:
                        continue
                    self._too_late()
                    return False
                data = os.read(reader, 1 << 16)
                if not data:
                    return True
                *lines, buffer = (buffer + data).split(b"\n")
                for line in lines:
                    if not self._take(line):
                        return False

    def _too_late(self) -> None:
        if self._current is not None:
            self._record(status="timeout", reason=f"took over {self._current.timeout:g} s and was stopped")

    def _take(self, line: bytes) -> bool:
        """Take one record; return whether the process is to be listened to any longer."""
        try:
            record = json.loads(line)
            event = record.pop("event")
            if event == "done":
                # Nothing is lost by ending it. On an H200 its own exit takes 12 s (torch and jax in one process).
                return False
            if event == "begin":
                self._current = self._tasks[len(self._measured.entries)]
                self._deadline = time.monotonic() + self._current.timeout
                return record["position"] == len(self._measured.entries)
            if event == "end":
                if record.pop("position") != len(self._measured.entries) or self._current is None:
                    raise ValueError("out of turn")
                self._record(**record)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            if self._current is not None:
                self._record(status="failed", reason="the process wrote something that is no record of ours")
            return False
        self._deadline = time.monotonic() + START_TIMEOUT
        return True

    def _record(self, **fields) -> None:
        entry = _entry(self._current, **fields)
        self._measured.entries.append(entry)
        self._tell(entry)
        self._current = None

    def _death(self, status: int | None) -> str:
        if status is None:
            text = "the process was killed together with its guard: out of memory?"
        elif status == -signal.SIGKILL:
            text = "the process was killed (signal 9): out of memory?"
        elif status < 0:
            names = {int(each): each.name for each in signal.Signals}
            text = f"the process died of signal {-status} ({names.get(-status, 'unknown')})"
        else:
            text = f"the process ended with status {status} in the middle of it"
        last = _last_line(self._measured.output)
        return f"{text}: {last}" if last else text
