"""The machine's own peak, and whether the step claims to beat it."""

import functools
import time

import numpy

IMPOSSIBLE_ABOVE = 1.05
REPEATS = 10


def examine(prepared):
    """Flag `impossible` above 105 % of a square matrix product's rate in the same process and precision."""
    workload = prepared.workload
    flops = workload.flops(prepared.pass_, **prepared.size.dimensions)
    bytes_moved = workload.bytes_moved(prepared.pass_, prepared.itemsize, **prepared.size.dimensions)
    detail = {
        "flops_analytic": flops,
        "bytes_analytic": bytes_moved,
        "bound": prepared.size.bound,
        "step_seconds": prepared.step_seconds,
    }
    if not workload.work_is_products:
        return "ok", detail
    peak = matmul_rate(prepared.adapter, prepared.precision)
    share = flops / prepared.step_seconds / peak
    detail.update(peak_flops_per_second=peak, share_of_peak=share)
    return ("impossible" if share > IMPOSSIBLE_ABOVE else "ok"), detail


@functools.cache
def matmul_rate(adapter, precision):
    """Return the FLOP/s of the best of a few runs of square products.

    On a GPU the products are 8,192 wide and eight run for one synchronisation: fewer or narrower ones would measure
    the launch. On a CPU they are 1,024 wide and run one at a time.
    """
    width, products = (8192, 8) if adapter.on_gpu else (1024, 1)
    rng = numpy.random.default_rng(0)
    left, right = (adapter.put(rng.standard_normal((width, width), numpy.float32), precision) for _ in range(2))
    product = adapter.forward(lambda left, right: left @ right, "eager", {"left": left, "right": right})
    adapter.wait(product())
    best = min(_seconds(adapter, product, products) for _ in range(REPEATS))
    return products * 2 * width**3 / best


def _seconds(adapter, step, count):
    started = time.perf_counter()
    for _ in range(count):
        result = step()
    adapter.wait(result)
    return time.perf_counter() - started
