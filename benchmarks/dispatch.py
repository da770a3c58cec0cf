"""What a framework costs the host before any work is done."""

import functools
import time

import numpy

from . import correctness, frameworks, probe, workload

OPERATIONS = 100
SHAPE = (2, 4)


def reshaped(x):
    return x.reshape(SHAPE)


def added(x, y):
    return x + y


def added_again_and_again(x, y):
    for _ in range(OPERATIONS):
        x = x + y
    return x


# The same Python for both frameworks and for the float64 reference.
OPERATION = {"no-op": reshaped, "add": added, "chain": added_again_and_again}


class Dispatch(probe.Probe):
    """Seconds an operation on eight numbers: the host's cost of asking for it, since the device has nothing to do.

    A sample is a hundred operations, and what it shows is divided by them. `no-op` reshapes, which moves no data, and
    `add` adds, a hundred times the same from the same inputs; `chain` is one call of a hundred additions, each of the
    result of the one before. *Waiting* ends every operation (or the chain) by a synchronisation: the latency. *Asking*
    takes the time until the host is free again, and waits outside the sample: the rate at which a device can be kept
    busy. On a CPU torch computes before it returns, so both are the same there. Bound by overhead: Python, dispatch
    and launches.
    """

    parameters = {"kind": tuple(OPERATION)}

    def __init__(self):
        super().__init__()
        self._pending = None

    def timer(self):
        """asv's clock, in seconds an operation."""
        return time.perf_counter() / OPERATIONS

    @probe.figure("eager")
    def time_eager_waiting(self, framework, kind):
        self._wait_for_each()

    @probe.figure("eager")
    def time_eager_asking(self, framework, kind):
        self._ask_for_all()

    @probe.figure("compiled")
    def time_compiled_waiting(self, framework, kind):
        self._wait_for_each()

    @probe.figure("compiled")
    def time_compiled_asking(self, framework, kind):
        self._ask_for_all()

    def _wait_for_each(self):
        step, wait = self._step, self._adapter.wait
        for _ in range(self._calls):
            wait(step())

    def _ask_for_all(self):
        step = self._step
        for _ in range(self._calls):
            result = step()
        self._pending = result

    def before_sample(self):
        self._adapter.wait(self._pending)
        self._pending = None

    def make_ready(self, declared, adapter, kind):
        error, allowed = self.check(declared, adapter, kind)
        if not error <= allowed:
            raise correctness.Disagreement(f"relative error {error:.2g} against float64, {allowed:.2g} is explained")
        before = adapter.compilation_counts()
        for _ in range(workload.UNTIMED_STEPS):
            workload.run_synchronised(adapter, self._step)
        if adapter.compilation_counts() != before:
            raise RuntimeError("the operation is compiled again at every call")

    def check(self, declared, adapter, kind):
        reason = adapter.why_not(declared.mode, "fp32")
        if kind == "chain" and declared.mode != "eager":
            reason = "a compiled chain is one program, not a hundred operations"
        if reason:
            raise frameworks.Unsupported(reason)
        adapter.release()
        adapter.set_precision("fp32")
        inputs = workload.put_all(adapter, self.arrays(kind), "fp32")
        self._adapter, self._calls = adapter, 1 if kind == "chain" else OPERATIONS
        self._step = self.build(adapter, declared.mode, kind, inputs)
        result = workload.run_synchronised(adapter, self._step)
        workload.check_result(adapter, "fp32", result)
        wanted = OPERATION[kind](**correctness.fetch_all(adapter, inputs))
        roundings = OPERATIONS if kind == "chain" else 1
        return correctness.relative_error(adapter.fetch(result), wanted), correctness.tolerance("fp32", roundings)

    def arrays(self, kind):
        """Return the NumPy inputs of a kind."""
        rng = numpy.random.default_rng(0)
        names = ("x",) if kind == "no-op" else ("x", "y")
        return {name: rng.standard_normal(SHAPE[0] * SHAPE[1], "float32") for name in names}

    def build(self, adapter, mode, kind, inputs):
        """Return one operation, or the chain, as a callable that does not wait; arguments go by position."""
        function = OPERATION[kind] if mode == "eager" else adapter.compile(OPERATION[kind], mode)
        return functools.partial(function, *inputs.values())

    def release(self):
        self._pending = self._step = None
        super().release()
