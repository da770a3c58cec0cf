#!/usr/bin/env python
"""Compare recorded medians with other timers on CPU steps of 5 ms and more, in turn; run by a row's own interpreter.

    env/<row>/bin/python tools/compare_timers.py torch|jax

Prints the ratio of asv's recorded median to a hand-written loop, and for torch to torch.utils.benchmark.Timer. Exit
status 1 when a ratio is off by more than 5 %.
"""

import functools
import itertools
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from asv_runner.discovery import get_benchmark_from_name  # noqa: E402

from benchmarks import frameworks, matmul_chain  # noqa: E402  (the suite is no installed package)

ALLOWED = 0.05
TURNS = 5
STEPS = 20
STEPS_OF_INTEREST = (("compiled", "grad", "fp32"), ("eager", "forward", "fp64"), ("compiled", "forward", "fp64"))


def main():
    if sys.argv[1:] not in (["torch"], ["jax"]):
        print(__doc__, file=sys.stderr)
        return 2
    failed = False
    for mode, pass_, precision in STEPS_OF_INTEREST:
        benchmark = prepared(sys.argv[1], mode, pass_, precision)
        step = benchmark.func.__self__.step
        timers = {"recorded": lambda b=benchmark: statistics.median(b.do_run()["samples"])}
        timers["loop"] = functools.partial(loop, step)
        if sys.argv[1] == "torch":
            timers["torch.utils.benchmark"] = functools.partial(torch_timer, step)
        seconds = {name: [] for name in timers}
        for _ in range(TURNS):
            for name, measure in timers.items():
                seconds[name].append(measure())
        # Ratios of neighbours in time: the machine's drift is in both.
        for name in list(timers)[1:]:
            ratio = statistics.median(a / b for a, b in zip(seconds["recorded"], seconds[name], strict=True))
            failed |= abs(ratio - 1) > ALLOWED
            print(
                f"{sys.argv[1]} MatmulChain {mode} {pass_} {precision}: recorded "
                f"{1e3 * statistics.median(seconds['recorded']):.2f} ms, recorded/{name} {ratio:.3f}",
                flush=True,
            )
    return int(failed)


def prepared(framework, mode, pass_, precision):
    chain = matmul_chain.MatmulChain
    index = list(itertools.product(*chain.params)).index((framework, precision, "small"))
    name = f"matmul_chain.MatmulChain.time_{mode}_{pass_}-{index}"
    benchmark = get_benchmark_from_name(str(ROOT / "benchmarks"), name)
    if benchmark.do_setup():
        sys.exit(2)
    return benchmark


def loop(step):
    samples = []
    for _ in range(STEPS):
        started = time.perf_counter()
        step()
        samples.append(time.perf_counter() - started)
    return statistics.median(samples)


def torch_timer(step):
    from torch.utils.benchmark import Timer

    # Its own default of one thread would compile the step again for that.
    timer = Timer("step()", globals={"step": step}, num_threads=frameworks.available_cpus())
    return statistics.median(timer.timeit(1).median for _ in range(STEPS))


if __name__ == "__main__":
    sys.exit(main())
