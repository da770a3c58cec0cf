"""Real processes of a suite with planted faults, on the interpreter that runs the tests."""

import os
import sys
import time

import pytest

from bumps import process
from bumps.plan import Item
from bumps.process import Interpreter, Task

SUITE = """
import atexit
import ctypes
import faulthandler
import gc
import os
import signal
import subprocess
import sys
import time
import weakref

HERE = os.path.dirname(os.path.abspath(__file__))


class Fine:
    number, repeat, warmup_time = 1, 3, 0

    def time_it(self):
        time.sleep(0.01)

    def track_it(self):
        return 41

    def time_prints(self):
        print("some output", flush=True)
        os.write(1, b'{"event": "end", "position": 0}\\n')

    def release(self):
        with open(os.environ["RELEASED"], "a") as stream:
            stream.write("released\\n")


class Parameters:
    params = [[1, 2], ["a", "b"]]
    number, repeat, warmup_time = 1, 1, 0

    def setup(self, number, letter):
        if number == 2:
            raise NotImplementedError("two is too many")

    def track_them(self, number, letter):
        return 10 * number + ord(letter)


class Faults:
    number, repeat, warmup_time = 1, 1, 0
    timeout = 1

    def track_exit(self):
        os._exit(3)

    def track_segfault(self):
        ctypes.string_at(0)

    def track_killed(self):
        print("the last line", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    def track_memory(self):
        return len(bytearray(1 << 60))

    def track_raises(self):
        raise ValueError("no such luck\\nand more")

    def track_exits_politely(self):
        sys.exit("bye")

    def track_nan(self):
        return float("nan")

    def track_text(self):
        return {"not": object}

    def track_true(self):
        return True

    def track_nothing(self):
        return None

    def time_hangs(self):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        with open(os.environ["CHILD"], "w") as stream:
            stream.write(str(child.pid))
        while True:
            pass


class BadSetup:
    def setup(self):
        raise RuntimeError("cannot set up")

    def track_it(self):
        return 1


class SlowExit:
    def track_it(self):
        atexit.register(time.sleep, 60)
        return 7


class BadRelease:
    def track_it(self):
        return 7

    def release(self):
        os._exit(9)


class Big:
    # In a cycle with itself, which reference counts do not free.

    alive = []

    def __init__(self):
        self.myself = self
        self.alive.append(weakref.ref(self))


class Cyclic:
    # How many of the things that it made live on when the next benchmark starts.

    params = [0, 1, 2]

    def setup(self, number):
        self.living = sum(each() is not None for each in Big.alive)
        self.big = Big()

    def track_living(self, number):
        return self.living


class Collecting:
    # The objects that a full collection has to look at.

    def track_objects(self):
        gc.collect()
        return len(gc.get_objects())


class Cached:
    def setup_cache(self):
        with open(os.environ["RELEASED"], "a") as stream:
            stream.write("cached\\n")
        return {"value": 5}

    def track_one(self, cache):
        return cache["value"]

    def track_two(self, cache):
        return cache["value"] + 1


class Number:
    repeat, warmup_time, sample_time = 1, 0, 0.005

    def time_it(self):
        time.sleep(0.001)
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "suite.py").write_text(SUITE)
    monkeypatch.setenv("RELEASED", str(tmp_path / "released"))
    monkeypatch.setenv("CHILD", str(tmp_path / "child"))
    return folder


def task(name, index=0, has_params=False, timeout=20.0, number=None):
    return Task(Item(f"suite.{name}", index), has_params, timeout, number)


def measure(suite, *tasks, executable=sys.executable):
    interpreter = Interpreter(executable, {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    return list(process.measure(interpreter, str(suite), [[each] for each in tasks]))


def outcome(found, position=0, entry=0):
    """Return an entry without its name and its duration."""
    given = dict(found[position].entries[entry])
    assert given.pop("benchmark").startswith("suite.")
    given.pop("index")
    if given.get("status") not in ("failed", "timeout"):
        assert given.pop("seconds") >= 0
    given.pop("seconds", None)
    return given


def is_running(pid):
    """Whether a process runs; one that is dead and was not waited for does not."""
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_one_process_measures_all(suite, tmp_path):
    found = measure(suite, task("Fine.time_it"), task("Fine.track_it"), task("Parameters.track_them", 1, True))
    assert len(found) == 1
    timed = outcome(found)
    assert timed["number"] == 1
    assert len(timed["samples"]) == 3
    assert all(0.01 <= sample < 0.1 for sample in timed["samples"])
    assert outcome(found, 0, 1) == {"samples": [41], "number": None}
    assert outcome(found, 0, 2) == {"samples": [10 + ord("b")], "number": None}
    assert found[0].timed_seconds == pytest.approx(sum(timed["samples"]))
    assert found[0].python_seconds > found[0].timed_seconds
    assert (tmp_path / "released").read_text() == "released\n" * 2


def test_what_a_benchmark_made_is_gone_before_the_next_one(suite):
    found = measure(suite, *(task("Cyclic.track_living", number, True) for number in range(3)))
    assert [outcome(found, 0, number)["samples"] for number in range(3)] == [[0], [0], [0]]


def test_a_collection_looks_at_what_is_new_alone(suite):
    found = measure(suite, task("Collecting.track_objects"), task("Collecting.track_objects"))
    before, after = (outcome(found, 0, entry)["samples"][0] for entry in (0, 1))
    assert before > 1000
    assert after < before / 10


def test_figures_of_a_group_are_released_together(suite, tmp_path):
    interpreter = Interpreter(sys.executable, dict(os.environ))
    list(process.measure(interpreter, str(suite), [[task("Fine.time_it"), task("Fine.track_it")]]))
    assert (tmp_path / "released").read_text() == "released\n"


def test_skip_keeps_its_reason_and_the_process(suite):
    found = measure(suite, task("Parameters.track_them", 2, True), task("Fine.track_it"))
    assert len(found) == 1
    assert outcome(found) == {"status": "skipped", "reason": "two is too many"}


def test_what_a_benchmark_prints_is_no_record(suite):
    found = measure(suite, task("Fine.time_prints"), task("Fine.track_it"))
    assert len(found) == 1
    assert len(outcome(found)["samples"]) == 3
    assert "some output" in found[0].output


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Faults.track_exit", "the process ended with status 3 in the middle of it"),
        ("Faults.track_killed", "the process was killed (signal 9): out of memory?: the last line"),
        ("Faults.track_raises", "ValueError: no such luck"),
        ("Faults.track_exits_politely", "raised SystemExit: bye"),
        ("Faults.track_nan", "ValueError: gave nan, which is no finite number"),
        ("Faults.track_text", "ValueError: gave {'not': <class 'object'>}, which is no finite number"),
        ("Faults.track_true", "ValueError: gave True, which is no finite number"),
        ("Faults.track_nothing", "ValueError: gave None, which is no finite number"),
        ("BadSetup.track_it", "RuntimeError: cannot set up"),
        ("Missing.track_it", "ValueError: Could not find benchmark 'suite.Missing.track_it'"),
    ],
)
def test_a_fault_costs_itself_only(suite, name, reason):
    found = measure(suite, task("Fine.track_it"), task(name), task("Fine.track_it"))
    assert [len(each.entries) for each in found] == [2, 1]
    assert outcome(found, 0, 0) == {"samples": [41], "number": None}
    assert outcome(found, 0, 1) == {"status": "failed", "reason": reason}
    assert outcome(found, 1, 0) == {"samples": [41], "number": None}


def test_segfault(suite):
    found = measure(suite, task("Faults.track_segfault"), task("Fine.track_it"))
    assert outcome(found)["reason"].startswith("the process died of signal 11 (SIGSEGV)")
    assert outcome(found, 1) == {"samples": [41], "number": None}


def test_out_of_memory(suite):
    found = measure(suite, task("Faults.track_memory"), task("Fine.track_it"))
    assert outcome(found)["reason"].startswith("MemoryError")
    assert outcome(found, 1) == {"samples": [41], "number": None}


@pytest.mark.parametrize("timeout", [float("inf"), 1e9, 3e6])
def test_timeout_may_be_longer_than_the_kernel_waits(suite, timeout):
    assert outcome(measure(suite, task("Fine.track_it", timeout=timeout))) == {"samples": [41], "number": None}


def test_timeout_longer_than_one_wait_is_kept(suite, monkeypatch):
    monkeypatch.setattr(process, "LONGEST_WAIT", 0.1)
    found = measure(suite, task("Faults.time_hangs", timeout=1.5))
    assert outcome(found) == {"status": "timeout", "reason": "took over 1.5 s and was stopped"}


def test_hang_is_stopped_with_all_it_started(suite, tmp_path):
    started = time.monotonic()
    found = measure(suite, task("Faults.time_hangs", timeout=1.5), task("Fine.track_it"))
    assert time.monotonic() - started < 15
    assert outcome(found) == {"status": "timeout", "reason": "took over 1.5 s and was stopped"}
    assert outcome(found, 1) == {"samples": [41], "number": None}
    assert not is_running(int((tmp_path / "child").read_text()))


def test_death_between_benchmarks_costs_none(suite):
    found = measure(suite, task("BadRelease.track_it"), task("Fine.track_it"))
    assert outcome(found, 0) == {"samples": [7], "number": None}
    assert outcome(found, 1) == {"samples": [41], "number": None}


def test_a_process_that_is_done_is_not_waited_for(suite):
    started = time.monotonic()
    (found,) = measure(suite, task("SlowExit.track_it"))
    assert found.entries[0]["samples"] == [7]
    assert time.monotonic() - started < 30


def test_setup_cache_is_made_once_a_process(suite, tmp_path):
    found = measure(suite, task("Cached.track_one"), task("Cached.track_two"))
    assert [outcome(found, 0, entry)["samples"] for entry in (0, 1)] == [[5], [6]]
    assert (tmp_path / "released").read_text() == "cached\n"


def test_number_of_earlier_processes_is_kept(suite):
    chosen = outcome(measure(suite, task("Number.time_it")))["number"]
    assert chosen >= 2
    assert outcome(measure(suite, task("Number.time_it", number=3)))["number"] == 3


def test_python_that_does_not_start_fails_all_once(suite, tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no such interpreter >&2\nexit 127\n")
    broken.chmod(0o755)
    found = measure(suite, task("Fine.track_it"), task("Fine.time_it"), executable=str(broken))
    assert len(found) == 1
    reason = "the row's Python did not start a benchmark: no such interpreter"
    assert [outcome(found, 0, entry) for entry in (0, 1)] == [{"status": "failed", "reason": reason}] * 2


def test_listener_hears_of_each_entry_at_once(suite):
    heard = []
    interpreter = Interpreter(sys.executable, dict(os.environ))
    run = process.measure(interpreter, str(suite), [[task("Fine.track_it")], [task("Fine.time_it")]], heard.append)
    list(run)
    assert [entry["benchmark"] for entry in heard] == ["suite.Fine.track_it", "suite.Fine.time_it"]


@pytest.mark.parametrize(
    ("code", "status"), [("raise SystemExit(5)", 5), ("import os; os.kill(os.getpid(), 11)", -11), ("pass", 0)]
)
def test_guard_tells_how_the_command_ended(tmp_path, code, status):
    with (
        open(tmp_path / "output", "wb") as output,
        process.guarded([sys.executable, "-c", code], dict(os.environ), str(tmp_path), output) as guard,
    ):
        assert process.status_of(guard) == status


def test_guard_ends_what_the_command_left(tmp_path):
    code = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True)"
    with (
        open(tmp_path / "output", "wb") as output,
        process.guarded([sys.executable, "-c", code], dict(os.environ), str(tmp_path), output) as guard,
    ):
        assert process.status_of(guard) == 0
    assert not is_running(int((tmp_path / "output").read_text()))
