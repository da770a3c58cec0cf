"""How much of the step is the framework's own cost of doing anything at all."""

import functools
import statistics
import time

import numpy

BOUND_BELOW = 5
REPEATS = 50


def examine(prepared):
    """Flag `overhead-bound` where the step takes under five no-op dispatches of the same framework and mode."""
    no_op = no_op_seconds(prepared.adapter, prepared.mode)
    ratio = prepared.step_seconds / no_op
    detail = {"no_op_seconds": no_op, "ratio": ratio}
    return ("overhead-bound" if ratio < BOUND_BELOW else "ok"), detail


@functools.cache
def no_op_seconds(adapter, mode):
    """Return the median seconds of a synchronised step that copies one number."""
    number = adapter.put(numpy.ones((1,), numpy.float32), "fp32")
    mode = mode if mode == "eager" else "compiled"
    step = adapter.forward(lambda number: number + 0, mode, {"number": number})
    for _ in range(3):
        adapter.wait(step())
    samples = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        adapter.wait(step())
        samples.append(time.perf_counter() - started)
    return statistics.median(samples)
