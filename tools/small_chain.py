"""Run by a row's own Python, in the project's folder: steps the small chain once in each mode and prints the medians.

Usage: python tools/small_chain.py FRAMEWORK
"""

import itertools
import json
import statistics
import sys

from asv_runner.discovery import disc_benchmarks, get_benchmark_from_name

BENCHMARKS = "matmul_chain.MatmulChain.time_eager_forward", "matmul_chain.MatmulChain.time_compiled_grad"


def main():
    framework = sys.argv[1]
    medians = {}
    for benchmark in disc_benchmarks("benchmarks"):
        if benchmark.name not in BENCHMARKS:
            continue
        sets = list(itertools.product(*benchmark._params))
        index = next(place for place, chosen in enumerate(sets) if _is_wanted(chosen, framework))
        ready = get_benchmark_from_name("benchmarks", f"{benchmark.name}-{index}")
        skipped = ready.do_setup()
        if skipped:
            raise SystemExit(f"{benchmark.name} was skipped")
        medians[benchmark.name.rpartition(".")[2]] = statistics.median(ready.do_run()["samples"])
    if len(medians) != len(BENCHMARKS):
        raise SystemExit("the chain's benchmarks were not found")
    print(json.dumps(medians))


def _is_wanted(chosen, framework):
    # asv keeps parameters as their reprs.
    text = [str(value).strip("'") for value in chosen]
    return text[0] == framework and "fp32" in text and "small" in text


main()
