"""The machine's own peak, and whether the step claims to beat it."""

import functools
import time

import numpy

IMPOSSIBLE_ABOVE = 1.05
# Seconds for each product of one measurement: on a busy CPU the fastest of many counts.
SECONDS = 0.03
LEAST_REPEATS = 3
# A product that the narrower one says takes longer is left out: eager fp16 on a CPU may do 1 GFLOP/s.
LONGEST_SECONDS = 0.5
# A step above the peak has it measured again this often: so much sooner did something else slow the peak down than the
# step is impossible. A GPU is nobody else's.
MEASUREMENTS_ON_GPU, MEASUREMENTS_ON_CPU = 3, 20
# Widths of the square products, and how many run for one synchronisation. On a GPU fewer or narrower ones would
# measure the launch. On a CPU the fastest depends on caches and library; the narrow ones fit between two interruptions.
ON_GPU, ON_CPU = ((8192, 8),), ((256, 4), (384, 2), (512, 1), (1024, 1))
# Inputs of a wide product repeat a block that is quickly drawn.
BLOCK = 128


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
    peak = peak_of(prepared.adapter, prepared.precision)
    rate = flops / prepared.step_seconds
    most = MEASUREMENTS_ON_GPU if prepared.adapter.on_gpu else MEASUREMENTS_ON_CPU
    while not peak.explains(rate) and peak.measurements < most:
        peak.measure()
    detail.update(peak_flops_per_second=peak.rate, share_of_peak=rate / peak.rate, peak_measurements=peak.measurements)
    return ("ok" if peak.explains(rate) else "impossible"), detail


@functools.cache
def peak_of(adapter, precision):
    """Return the process's Peak of a precision, measured once."""
    peak = Peak(adapter, precision)
    peak.measure()
    return peak


class Peak:
    """The best FLOP/s seen of square products; each measurement can only raise it.

    A CPU may compute a narrow type in float32, compiled code more cleverly than the library does: there the rate in
    fp32 counts, too.
    """

    def __init__(self, adapter, precision):
        self._adapter = adapter
        self._precisions = (precision,)
        if not adapter.on_gpu and precision in ("bf16", "fp16"):
            self._precisions += ("fp32",)
        self.rate = 0.0
        self.measurements = 0

    def explains(self, rate):
        return rate <= IMPOSSIBLE_ABOVE * self.rate

    def measure(self):
        self.measurements += 1
        for precision in self._precisions:
            best = 0.0
            for width, products in ON_GPU if self._adapter.on_gpu else ON_CPU:
                flops = products * 2 * width**3
                if best and flops / best > LONGEST_SECONDS:
                    continue
                rate = flops / self._fastest(precision, width, products)
                best = max(best, rate)
            self.rate = max(self.rate, best)

    def _fastest(self, precision, width, products):
        """Return the least seconds that so many products of that width took."""
        adapter = self._adapter
        square = numpy.random.default_rng(0).standard_normal((BLOCK, BLOCK), numpy.float32)
        square = numpy.tile(square, (width // BLOCK, width // BLOCK))
        inputs = {name: adapter.put(square, precision) for name in ("left", "right")}
        product = adapter.forward(lambda left, right: left @ right, "eager", inputs)
        adapter.wait(product())
        seconds, started = [], time.perf_counter()
        while len(seconds) < LEAST_REPEATS or time.perf_counter() - started < SECONDS:
            seconds.append(_seconds(adapter, product, products))
        return min(seconds)


def _seconds(adapter, step, count):
    started = time.perf_counter()
    for _ in range(count):
        result = step()
    adapter.wait(result)
    return time.perf_counter() - started
