#!/usr/bin/env python
"""Checks on a GPU what only a GPU can show of the suite; run by an interpreter with a framework and asv_runner.

    python tools/gpu_selftest.py torch|jax [CHECK…]

Prints one line a check; exit status 1 when one fails.
"""

import functools
import multiprocessing
import pathlib
import statistics
import subprocess
import sys
import time
import traceback

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import correctness, frameworks, matmul_chain, workload  # noqa: E402  (the suite is no installed package)
from benchmarks.audits import ceiling  # noqa: E402

WIDTH = 4096
MEBIBYTE = 2**20


def square(adapter, width, precision):
    rng = numpy.random.default_rng(0)
    return [adapter.put(rng.standard_normal((width, width), numpy.float32), precision) for _ in range(2)]


def product(adapter, width, precision):
    adapter.set_precision(precision)
    left, right = square(adapter, width, precision)
    return adapter.forward(lambda left, right: left @ right, "compiled", {"left": left, "right": right})


def check_missing_synchronisation_is_caught(adapter):
    """A step that does not wait for its result is refused."""
    step = product(adapter, WIDTH, "fp32")
    adapter.wait(step())
    original = type(adapter).wait
    type(adapter).wait = lambda self, result: result
    try:
        workload.run_synchronised(adapter, lambda: [step() for _ in range(8)])
    except RuntimeError as error:
        return f"refused: {error}"
    finally:
        type(adapter).wait = original
        adapter.wait(step())
    raise AssertionError("a step without a wait was taken")


def check_a_result_on_the_host_is_refused(adapter):
    """A CPU time is never stored as a GPU time."""
    if adapter.name == "torch":
        host = adapter.module.zeros(4)
    else:
        host = adapter.module.device_put(numpy.zeros(4, numpy.float32), adapter.module.devices("cpu")[0])
    try:
        workload.check_result(adapter, "fp32", host)
    except ValueError as error:
        return f"refused: {error}"
    raise AssertionError("a result on the host was taken")


def check_fp32_is_not_tf32_and_tf32_is(adapter):
    """The relative error of a product says what it was computed in."""
    errors = {}
    for precision in ("fp32", "tf32"):
        adapter.set_precision(precision)
        left, right = square(adapter, 1024, precision)
        step = adapter.forward(lambda left, right: left @ right, "compiled", {"left": left, "right": right})
        wanted = adapter.fetch(left) @ adapter.fetch(right)
        errors[precision] = correctness.relative_error(adapter.fetch(adapter.wait(step())), wanted)
    assert errors["fp32"] < 1e-5 < errors["tf32"] < 1e-2, errors
    return f"relative errors {errors['fp32']:.1e} and {errors['tf32']:.1e}"


def _child(framework):
    adapter = frameworks.get(framework)
    step = product(adapter, 256, "fp32")
    adapter.wait(step())
    return adapter.on_gpu


def check_children_start_the_device_cleanly(adapter):
    """Children that asv spawns, or forks from a server that has only imported the framework, use the GPU."""
    name = adapter.name
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_child, (name,)), "a spawned child saw no GPU"
    # A process that imports and then forks, as asv's fork server does; this one has used the device already.
    code = (
        f"import sys, os; sys.path.insert(0, {str(ROOT)!r}); import {name}\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        f"    from benchmarks import frameworks; a = frameworks.get({name!r}); import numpy\n"
        "    x = a.put(numpy.ones((64, 64), 'float32'), 'fp32')\n"
        "    a.wait(a.forward(lambda x: x @ x, 'eager', {'x': x})())\n"
        "    os._exit(0 if a.on_gpu else 3)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-300:]
    return "spawned and forked"


def check_memory_figures_match_a_known_allocation(adapter):
    """The allocator's peak grows by what was allocated, within 2 %."""
    before = peak_bytes(adapter)
    known = 512 * MEBIBYTE
    if adapter.name == "torch":
        kept = adapter.module.zeros(known // 4, device=adapter.device)
    else:
        kept = adapter.module.device_put(numpy.zeros(known // 4, numpy.float32), adapter.device)
    adapter.wait(kept)
    grown = in_use_bytes(adapter) - before
    assert abs(grown / known - 1) <= 0.02, grown / known
    return f"{grown / MEBIBYTE:.1f} MiB for {known / MEBIBYTE:.0f} MiB"


def peak_bytes(adapter):
    return in_use_bytes(adapter)


def in_use_bytes(adapter):
    if adapter.name == "torch":
        return adapter.module.cuda.memory_allocated()
    return adapter.device.memory_stats()["bytes_in_use"]


def check_the_ceiling_is_a_large_product(adapter):
    """The audit's peak is within 5 % of the best of a plain loop over a large bf16 product."""
    adapter.set_precision("bf16")
    peak = ceiling.peak_of(adapter, "bf16").rate
    step = product(adapter, 8192, "bf16")
    adapter.wait(step())
    rates = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(20):
            result = step()
        adapter.wait(result)
        rates.append(20 * 2 * 8192**3 / (time.perf_counter() - started))
    plain = max(rates)
    assert abs(peak / plain - 1) <= 0.05, (peak / 1e12, plain / 1e12)
    return f"{peak / 1e12:.0f} TFLOP/s, plain loop {plain / 1e12:.0f}"


def check_the_harness_costs_no_speed(adapter):
    """Recorded medians agree with other instruments on a step of several milliseconds, run in turn."""
    from asv_runner.discovery import get_benchmark_from_name

    chain = matmul_chain.MatmulChain
    axes = [
        (name, precision, size) for name in chain.params[0] for precision in chain.params[1] for size in chain.params[2]
    ]
    name = f"matmul_chain.MatmulChain.time_compiled_forward-{axes.index((adapter.name, 'bf16', 'article'))}"
    benchmark = get_benchmark_from_name(str(ROOT / "benchmarks"), name)
    assert not benchmark.do_setup()
    step = benchmark.func.__self__.step
    instruments = {"recorded": lambda: statistics.median(benchmark.do_run()["samples"]), "loop": lambda: loop(step)}
    if adapter.name == "torch":
        instruments["torch.utils.benchmark"] = functools.partial(torch_timer, step)
        instruments["do_bench"] = functools.partial(do_bench, step)
    found = {each: [] for each in instruments}
    for _ in range(3):
        for each, measure in instruments.items():
            found[each].append(measure())
    medians = {each: statistics.median(values) for each, values in found.items()}
    tflops = chain().flops("forward", **chain.sizes["article"].dimensions) / medians["recorded"] / 1e12
    text = ", ".join(f"{each} {1e3 * value:.3f} ms" for each, value in medians.items()) + f": {tflops:.0f} TFLOP/s"
    allowed = {"loop": 0.02, "torch.utils.benchmark": 0.02, "do_bench": 0.03}
    for each, limit in allowed.items():
        if each in medians:
            ratio = medians["recorded"] / medians[each]
            assert abs(ratio - 1) <= limit, f"recorded/{each} {ratio:.3f}; {text}"
    return text


def loop(step, count=20, warm=30):
    for _ in range(warm):
        step()
    samples = []
    for _ in range(count):
        started = time.perf_counter()
        step()
        samples.append(time.perf_counter() - started)
    return statistics.median(samples)


def torch_timer(step):
    from torch import get_num_threads
    from torch.utils.benchmark import Timer

    for _ in range(30):
        step()
    return Timer("step()", globals={"step": step}, num_threads=get_num_threads()).timeit(20).median


def do_bench(step):
    from triton.testing import do_bench as triton_do_bench

    return triton_do_bench(step, warmup=200, rep=150, return_mode="median") / 1e3


CHECKS = {name.removeprefix("check_"): value for name, value in list(globals().items()) if name.startswith("check_")}


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in frameworks.FRAMEWORKS or set(sys.argv[2:]) - set(CHECKS):
        print(__doc__, *CHECKS, sep="\n", file=sys.stderr)
        return 2
    adapter = frameworks.get(sys.argv[1])
    if not adapter.on_gpu:
        print(f"{adapter.name} sees no GPU here", file=sys.stderr)
        return 2
    failed = 0
    for name in sys.argv[2:] or CHECKS:
        try:
            print(f"ok      {adapter.name} {name}: {CHECKS[name](adapter)}", flush=True)
        except Exception as error:
            failed += 1
            where = "" if isinstance(error, AssertionError) else traceback.format_exc().strip().splitlines()[-3].strip()
            print(f"FAILED  {adapter.name} {name}: {type(error).__name__}: {str(error)[:400]} {where}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
