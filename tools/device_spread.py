#!/usr/bin/env python
"""Prints how far processes of a row lie apart: wall clock, device clock, device clock within one set of kernels.

    .venv/bin/python tools/device_spread.py results/MACHINE/sessions/SESSION.jsonl [--with-controls]

The spread is the standard deviation of the logarithm of process medians. An autotuner that chooses other kernels in
other processes makes the device clock spread; within one set of kernels it says how steady the instrument is.
"""

import argparse
import collections
import functools
import json
import math
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from bumps import journals
from bumps.driver import combinations_of

CLOCKS = ("wall", "device", "device, one set")
CONTROL = "-REPLICAcontrol"


def spread(medians: list[float]) -> float | None:
    """Return the standard deviation of the logarithms; None for fewer than two."""
    return statistics.stdev(map(math.log, medians)) if len(medians) > 1 else None


def pooled(groups: list[list[float]]) -> float | None:
    """Return the standard deviation of the logarithms about the mean of their group; None without a group of two."""
    groups = [[math.log(value) for value in group] for group in groups if len(group) > 1]
    if not groups:
        return None
    squares = sum(sum((value - statistics.fmean(group)) ** 2 for value in group) for group in groups)
    return math.sqrt(squares / sum(len(group) - 1 for group in groups))


@functools.cache
def kernel_sets(sidecar: pathlib.Path) -> dict[tuple, list[tuple[float, str]]]:
    """Return (benchmark, parameters) -> (time, set of kernels) of each process."""
    found = collections.defaultdict(list)
    for record in journals.records(sidecar):
        if record["record"] == "kernels":
            when = journals.seconds(record["time"])
            found[record["benchmark"], tuple(record["params"])].append((when, record["set"]))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("session", type=pathlib.Path)
    parser.add_argument(
        "--with-controls", action="store_true", help="take a row and its control, which are the same, together"
    )
    arguments = parser.parse_args()
    session = arguments.session
    machine = session.parent.parent
    benchmarks = json.loads((machine.parent / "benchmarks.json").read_text())
    figures = collections.defaultdict(dict)
    for process in journals.records(session):
        if process["record"] != "process":
            continue
        started, ended = journals.seconds(process["started"]), journals.seconds(process["ended"])
        for entry in process["entries"]:
            benchmark = benchmarks.get(entry["benchmark"], {})
            if entry.get("samples") and benchmark.get("clock") in ("wall", "device"):
                params = combinations_of(benchmark)[entry["index"]]
                clock, name, row = benchmark["clock"], entry["benchmark"], process["env_name"]
                name = name.removesuffix("_device") if clock == "device" else name
                median = statistics.median(entry["samples"])
                found = row, started, ended, median
                row = row.removesuffix(CONTROL) if arguments.with_controls else row
                figures[row, name, params].setdefault(clock, []).append(found)

    by_row = collections.defaultdict(lambda: collections.defaultdict(list))
    for (env_name, name, params), clocks in sorted(figures.items()):
        sets = collections.defaultdict(list)
        for measured, started, ended, median in clocks.get("device", []):
            for when, chosen in kernel_sets(machine / f"{measured}.jsonl").get((name, params), []):
                if started <= when <= ended:
                    sets[chosen].append(median)
        values = (
            spread([median for *_, median in clocks.get("wall", [])]),
            spread([median for *_, median in clocks.get("device", [])]),
            pooled(list(sets.values())),
        )
        row = env_name, params[0]
        print(f"{env_name[-40:]}  {name}({', '.join(params)})", end="")
        for clock, value in zip(CLOCKS, values, strict=True):
            if value is not None:
                by_row[row][clock].append(value)
                print(f"  {clock} {100 * value:.2f} %", end="")
        print(f"  sets {len(sets)}")
    for (env_name, framework), clocks in by_row.items():
        for clock, values in clocks.items():
            ninth = sorted(values)[math.ceil(0.9 * len(values)) - 1]
            print(
                f"{framework} in {env_name[-40:]}: {clock}: nine in ten of {len(values)} at most {100 * ninth:.2f} %, "
                f"worst {100 * max(values):.2f} %"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
