"""The timing policy with a fake framework: what a timed step contains, and what is refused."""

import contextlib
import functools
import time

import numpy
import pytest
from asv_runner.discovery import _get_benchmark

from benchmarks import device_clock, frameworks, sidecar, workload

STEP_SECONDS = 0.02


class FakeAdapter:
    """A framework whose work is a sleep, done by `wait` as a device would; building takes far longer than a step."""

    name = "torch"
    on_gpu = False
    module = None

    def __init__(self):
        self.waits = True
        self.pending = False
        self.compiled = 0
        self.compiles_at_every_step = False

    def why_not(self, mode, precision):
        return None

    def set_precision(self, precision):
        self.precision = precision

    def put(self, array, precision):
        return array

    def leaves(self, result):
        return [result] if isinstance(result, numpy.ndarray) else list(result or [])

    def forward(self, function, mode, inputs):
        time.sleep(5 * STEP_SECONDS)
        self.compiled += mode == "compiled"

        def step():
            self.pending = True
            self.compiled += self.compiles_at_every_step
            return numpy.zeros(1, numpy.float32)

        return step

    def result_like(self, function, inputs):
        return next(iter(inputs.values()))

    def grad(self, function, mode, inputs, differentiate, cotangent):
        return self.forward(function, mode, inputs)

    def cast_like(self, array, value):
        return array

    def wait(self, result):
        if self.pending and self.waits:
            time.sleep(STEP_SECONDS)
            self.pending = False
        return result

    def is_ready(self, result):
        return not self.pending

    def is_on_device(self, array):
        return True

    def is_floating(self, array):
        return True

    def all_finite(self, arrays):
        return all(bool(numpy.isfinite(array).all()) for array in arrays)

    def dtype(self, precision):
        return numpy.dtype("float32")

    def compilation_counts(self):
        return {"graphs": self.compiled}

    def release(self):
        pass

    def device_name(self):
        return "fake"

    def threads(self):
        return frameworks.available_cpus()


class Sleep(workload.Workload):
    """A step that sleeps."""

    sizes = {"small": workload.Size("overhead", n=1)}
    differentiate = ("x",)

    def inputs(self, rng, n):
        return {"x": numpy.zeros(n, numpy.float32)}

    def torch(self, torch, x):
        raise AssertionError("the fake framework computes nothing")

    jax = numpy = torch

    def flops(self, pass_, n):
        return n

    def bytes_moved(self, pass_, itemsize, n):
        return n


@pytest.fixture
def adapter(monkeypatch):
    fake = FakeAdapter()
    monkeypatch.setattr(frameworks, "get", lambda framework: fake)
    # Audits compute with a real framework; they have tests of their own.
    monkeypatch.setattr(workload.audits, "examine", lambda prepared: None)
    yield fake
    workload._READY.clear()


def benchmark(name, **attributes):
    """Return asv's own benchmark object for a method of Sleep."""
    found = _get_benchmark(name, workload, Sleep, getattr(Sleep, name))
    found.set_param_idx(Sleep.precisions.index("fp32"))
    for key, value in attributes.items():
        setattr(found.func.__self__, key, value)
    return found


@pytest.mark.parametrize(
    "name", ["time_eager_forward", "time_eager_grad", "time_compiled_forward", "time_compiled_grad"]
)
def test_a_sample_is_the_synchronised_step_and_nothing_else(adapter, name):
    timed = benchmark(name, repeat=5, warmup_time=0.01)
    assert not timed.do_setup()
    samples = timed.do_run()["samples"]
    assert len(samples) == 5
    # A sleep is never shorter than asked; on a busy machine it may be longer, so the shortest sample counts.
    assert STEP_SECONDS <= min(samples) <= 1.1 * STEP_SECONDS


def test_building_and_setup_happen_once_a_process(adapter, monkeypatch):
    built = []
    original = Sleep.build
    monkeypatch.setattr(Sleep, "build", lambda self, *args: built.append(args) or original(self, *args))
    timed = benchmark("time_compiled_forward", repeat=4, warmup_time=0.01)
    timed.do_setup()
    timed.do_run()
    assert len(built) == 1


def test_a_step_that_does_not_wait_for_its_result_is_refused(adapter):
    adapter.waits = False
    with pytest.raises(RuntimeError, match="returned before the device had finished"):
        benchmark("time_eager_forward").do_setup()


def test_a_step_that_compiles_while_it_is_timed_is_refused(adapter):
    timed = benchmark("time_compiled_forward", repeat=3, warmup_time=0.01)
    timed.do_setup()
    adapter.compiles_at_every_step = True
    with pytest.raises(RuntimeError, match="compiled again while it was timed"):
        timed.do_run()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (numpy.full(1, numpy.nan, numpy.float32), "not finite"),
        (numpy.zeros(1, numpy.float64), "is float64, not float32"),
    ],
)
def test_a_result_that_is_wrong_fails_and_is_never_timed(adapter, monkeypatch, value, message):
    monkeypatch.setattr(FakeAdapter, "forward", lambda self, function, mode, inputs: lambda: value)
    with pytest.raises((ValueError, TypeError), match=message):
        benchmark("time_eager_forward").do_setup()


def test_a_result_on_another_device_fails(adapter, monkeypatch):
    monkeypatch.setattr(FakeAdapter, "is_on_device", lambda self, array: False)
    with pytest.raises(ValueError, match="the result is not on fake"):
        benchmark("time_eager_forward").do_setup()


def test_skips_and_failures_are_recorded_with_their_reason(adapter, monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_SIDECAR", str(tmp_path / "row.jsonl"))
    monkeypatch.setattr(FakeAdapter, "why_not", lambda self, mode, precision: "no such unit")
    assert benchmark("time_eager_forward").do_setup()
    monkeypatch.setattr(FakeAdapter, "why_not", lambda self, mode, precision: None)
    adapter.waits = False
    with contextlib.suppress(RuntimeError):
        benchmark("time_eager_forward").do_setup()
    statuses = [(each["status"], each["reason"]) for each in sidecar.records("status")]
    assert statuses == [
        ("skipped", "no such unit"),
        ("failed", "RuntimeError: the step returned before the device had finished"),
    ]


def test_wall_device_and_kernel_figures_of_a_step_are_told_apart_by_their_clock():
    clocks = {
        name: (getattr(Sleep, name).clock, getattr(Sleep, name).mode, vars(getattr(Sleep, name))["pass"])
        for name in dir(Sleep)
        if name.startswith(("time_eager_grad", "track_eager_grad"))
    }
    assert clocks == {
        "time_eager_grad": ("wall", "eager", "grad"),
        "time_eager_grad_device": ("device", "eager", "grad"),
        "track_eager_grad_kernels": ("kernels", "eager", "grad"),
    }


class CountingClock:
    """A device clock that says how many steps were run while it recorded."""

    def __init__(self, adapter):
        self._adapter = adapter
        self.recording = False
        self.recorded = 0
        self._before = adapter.steps

    def start(self):
        self.recording, self._before = True, self._adapter.steps

    def stop(self):
        self.recording = False

    def __call__(self):
        self.recorded = self._adapter.steps - self._before
        return self.recorded


@pytest.mark.parametrize("after_wall", [False, True])
def test_the_device_clock_records_no_step_of_warming_up(adapter, monkeypatch, after_wall):
    adapter.steps = 0
    original = FakeAdapter.wait
    monkeypatch.setattr(
        FakeAdapter, "wait", lambda self, result: setattr(self, "steps", self.steps + 1) or original(self, result)
    )
    clock = CountingClock(adapter)
    monkeypatch.setattr(device_clock, "get", functools.cache(lambda: clock))
    monkeypatch.setattr(device_clock, "why_not", lambda: None)
    if after_wall:
        wall = benchmark("time_eager_forward", repeat=2, warmup_time=0.05)
        wall.do_setup()
        wall.do_run()
    prepared = adapter.steps
    timed = benchmark("time_eager_forward_device", repeat=4)
    timed.do_setup()
    assert clock.recording
    # Another step of the same process that has not been warm has to be warmed up first.
    assert (adapter.steps - prepared > workload.UNTIMED_STEPS + 1) == (not after_wall)
    assert timed.do_run()["samples"] == [1] * 4
    assert clock.recorded == 4


@pytest.mark.parametrize("figure", ["time_eager_forward_device", "track_eager_forward_kernels"])
@pytest.mark.parametrize("released", [False, True])
def test_nothing_is_recorded_once_the_next_step_is_prepared(adapter, monkeypatch, figure, released):
    recorded = []
    original = FakeAdapter.wait
    monkeypatch.setattr(
        FakeAdapter, "wait", lambda self, result: recorded.append(clock.recording) or original(self, result)
    )
    adapter.steps = 0
    clock = CountingClock(adapter)
    clock.kernels, clock.names = 1, {"sleep"}
    monkeypatch.setattr(device_clock, "get", functools.cache(lambda: clock))
    monkeypatch.setattr(device_clock, "why_not", lambda: None)
    first = benchmark(figure, repeat=1)
    first.do_setup()
    first.do_run()
    assert clock.recording
    assert recorded[-1]
    recorded.clear()
    if released:
        # As the worker does, which may measure a probe next.
        first.func.__self__.release()
        assert not clock.recording
    benchmark("time_eager_grad", repeat=1).do_setup()
    assert recorded
    assert not any(recorded)
