"""Measures many benchmarks in one process of a row; `bumps.process` starts it in the row's own interpreter.

A script of its own that imports the standard library and asv_runner only, and runs on whatever Python the row has.
Arguments: a JSON file {benchmark_dir, groups: [[{benchmark, index, has_params, number}]]} and a descriptor that takes
one JSON object a line: {"event": "ready"}, then for each benchmark {"event": "begin", "position"} and
{"event": "end", "position", …}, and {"event": "done"}. What a benchmark prints is its own affair.
"""

import gc
import json
import math
import os
import sys
import time
import traceback

# A script's folder comes first on the path, where modules of ours would shadow others.
if sys.path and os.path.abspath(sys.path[0] or ".") == os.path.dirname(os.path.abspath(__file__)):
    del sys.path[0]

LONGEST_REASON = 500
INTERPRETER = (KeyboardInterrupt, SystemExit)


class Stream:
    """Where the records go; no process that a benchmark starts inherits it."""

    def __init__(self, descriptor):
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor

    def write(self, **record):
        data = (json.dumps(record) + "\n").encode()
        while data:
            data = data[os.write(self._descriptor, data) :]


def reason_of(error):
    lines = str(error).strip().splitlines() or [""]
    text = f"{type(error).__name__}: {lines[0]}" if lines[0] else type(error).__name__
    return text[:LONGEST_REASON]


def set_up(benchmark):
    """Run the benchmark's setup; return why it is skipped, None when it is not.

    asv_runner's own method prints the reason and drops it.
    """
    reasons = []

    def remembering(setup):
        def call(*params):
            try:
                return setup(*params)
            except NotImplementedError as error:
                reasons.append(str(error).strip() or type(error).__name__)
                raise

        return call

    setups = benchmark._setups
    benchmark._setups = [remembering(setup) for setup in setups]
    try:
        skipped = benchmark.do_setup()
    finally:
        benchmark._setups = setups
    if not skipped:
        return None
    return reasons[0][:LONGEST_REASON] if reasons else "these parameters are in skip_params"


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def figure_of(result):
    """Return {samples, number} of what a benchmark gave; raises ValueError when that is no finite number."""
    if isinstance(result, dict) and "samples" in result:
        samples, number = [float(sample) for sample in result["samples"]], result["number"]
    else:
        if hasattr(result, "item") and not isinstance(result, (int, float)):
            result = result.item()
        samples, number = [result], None
    if not samples or not all(map(is_number, samples)):
        raise ValueError(f"gave {samples[0] if samples else 'nothing'!r:.100}, which is no finite number")
    return {"samples": samples, "number": number}


class Suite:
    """The benchmarks of one folder, as asv_runner makes them."""

    def __init__(self, benchmark_dir):
        from asv_runner.discovery import get_benchmark_from_name

        self._folder, self._get = benchmark_dir, get_benchmark_from_name
        self._caches = {}

    def benchmark(self, item):
        name = f"{item['benchmark']}-{item['index']}" if item["has_params"] else item["benchmark"]
        extra = {} if item["number"] is None else {"number": item["number"]}
        benchmark = self._get(self._folder, name, extra_params=extra)
        key = benchmark.setup_cache_key
        if key is not None:
            if key not in self._caches:
                self._caches[key] = benchmark.do_setup_cache()
            # asv_runner before 0.3 has no set_cache.
            getattr(benchmark, "set_cache", benchmark.insert_param)(self._caches[key])
        return benchmark


def measure(suite, item):
    """Measure one benchmark; return (its outcome, its instance or None, whether the process is fit to go on)."""
    from asv_runner.benchmarks.mark import SkipNotImplemented

    instance = None
    try:
        benchmark = suite.benchmark(item)
        instance = getattr(benchmark.func, "__self__", None)
        reason = set_up(benchmark)
        if reason is not None:
            return {"status": "skipped", "reason": reason}, instance, True
        try:
            return figure_of(benchmark.do_run()), instance, True
        except SkipNotImplemented as error:
            return {"status": "skipped", "reason": str(error) or "not implemented"}, instance, True
        finally:
            benchmark.do_teardown()
    except BaseException as error:
        # A device error or a memory error outlives the benchmark that raised it: others get a fresh process.
        traceback.print_exc()
        interrupted = isinstance(error, INTERPRETER)
        reason = f"raised {reason_of(error)}" if interrupted else reason_of(error)
        return {"status": "failed", "reason": reason}, instance, False


def release(instance):
    """Let a benchmark's instance free what it holds before the next one is measured."""
    free = getattr(instance, "release", None)
    if callable(free):
        free()


def collect():
    """Collect what was let go; what is left stays, and no later collection looks at it again.

    It would take a quarter of a second for the millions of objects of a framework, more than once a benchmark.
    """
    gc.collect()
    gc.freeze()


def main():
    request_file, descriptor = sys.argv[1:]
    stream = Stream(int(descriptor))
    with open(request_file, encoding="utf-8") as file:
        request = json.load(file)
    try:
        # Where memory runs out, this process goes and not the driver.
        with open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
            file.write("1000")
    except OSError:
        pass
    suite = Suite(request["benchmark_dir"])
    stream.write(event="ready", pid=os.getpid())
    position = 0
    for group in request["groups"]:
        instance = None
        for item in group:
            stream.write(event="begin", position=position)
            started = time.perf_counter()
            outcome, instance, fit = measure(suite, item)
            seconds = time.perf_counter() - started
            sys.stdout.flush()
            sys.stderr.flush()
            stream.write(event="end", position=position, seconds=seconds, **outcome)
            if not fit:
                return
            position += 1
        release(instance)
        instance = None
        collect()
    stream.write(event="done")


if __name__ == "__main__":
    main()
