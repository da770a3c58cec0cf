"""Times the batched driver against `asv run` (spawn, then forkserver): the same row, benchmarks, rounds and machine.

    .venv/bin/python tools/compare_launch.py --row 'jax==0.10.2' --rounds 5
    .venv/bin/python tools/compare_launch.py --row 'torch installed:/opt/venv/bin/python'

What is compiled is kept: one round in batches, which is not counted, fills the caches for all ways alike. What that
round skips and what is `isolated`, which has a process of its own either way, is left out. Prints wall times with their
ratios, and how far the medians of one and the same benchmark lie apart: between the ways to measure, and between a row
and its control within each (the machine's noise). Results go to .cache/compare_launch and are replaced each time.
"""

import argparse
import contextlib
import copy
import math
import pathlib
import re
import shutil
import statistics
import sys
import time

from asv.commands.run import Run
from asv.config import Config
from asv.console import log
from asv.results import Results, get_filename
from rich.console import Console

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from bumps import driver
from bumps.commands import measuring
from bumps.driver import Options, Outcome
from bumps.plan import Item
from bumps.results import name_with_params
from bumps.rows import CONTROL, INSTALLED, REPLICA, Row, Rows, load_config

FOLDER = pathlib.Path(".cache") / "compare_launch"
WAYS = ("batched", "spawn", "forkserver")
# Two ways are equal within noise when their medians lie no further apart than so many standard deviations of what a
# row and its control differ by.
WITHIN = 3.0


def storing(config: Config, way: str) -> Config:
    """Return the configuration with results of its own."""
    found = copy.copy(config)
    folder = FOLDER / way
    shutil.rmtree(folder, ignore_errors=True)
    found.results_dir = str(folder)
    return found


def measure_batched(config: Config, named: str, patterns: list[str], rounds: int) -> tuple[Outcome, Row, Row, float]:
    """Return what came of it, the row, its control and the wall seconds."""
    # Of this configuration: audits are made once a sidecar, as under `asv run`.
    rows = Rows(config)
    row = rows.parse(named)
    control = rows.control(row)
    console = Console(stderr=True, highlight=False)
    options = Options(patterns=patterns, rounds=rounds, purpose="tools/compare_launch.py")
    started = time.monotonic()
    outcome = driver.measure(config, [row, control], [], options, console)
    return outcome, row, control, time.monotonic() - started


def to_compare(outcome: Outcome, row: Row) -> list[Item]:
    """Return what the warming round measured of the row, without what is isolated."""
    everything = list(outcome.plan.selection[row.env_name])
    return [
        item
        for item, value in zip(everything, medians("warming", outcome, row, everything), strict=True)
        if value is not None and not math.isnan(value) and not outcome.benchmarks[item.benchmark].get("isolated")
    ]


def exactly(items: list[Item], outcome: Outcome) -> list[str]:
    """Return regular expressions that select these items and no others."""
    found = []
    for item in items:
        benchmark = outcome.benchmarks[item.benchmark]
        combination = driver.combinations_of(benchmark)[item.index]
        quoted = [
            next(text for text in texts if driver.unquote(text) == value)
            for texts, value in zip(benchmark["params"], combination, strict=True)
        ]
        found.append(f"^{re.escape(name_with_params(item.benchmark, quoted))}$")
    return found


def measure_with_asv(config: Config, row: Row, chosen: list[str], rounds: int, way: str, machine: str) -> float:
    narrowed = copy.copy(config)
    is_installed = row.named.startswith(f"{INSTALLED}:")
    narrowed.matrix = {
        "req": {} if is_installed else {row.framework: [row.release]},
        "env_nobuild": {REPLICA: [None, CONTROL]},
    }
    narrowed.include, narrowed.exclude = [], []
    specified = row.named if is_installed else f"{config.environment_type}:{row.environment.python}"
    log.enable()
    started = time.monotonic()
    with contextlib.redirect_stdout(sys.stderr):
        Run.run(
            narrowed,
            range_spec="HEAD^!",
            bench=chosen,
            attribute={"rounds": rounds},
            env_spec=[specified],
            machine=machine,
            record_samples=True,
            pull=False,
            interleave_rounds=True,
            launch_method=way,
        )
    return time.monotonic() - started


def medians(way: str, outcome: Outcome, row: Row, items: list) -> list[float]:
    """Return the median of each item in a row as one way measured it."""
    path = FOLDER / way / get_filename(outcome.machine, outcome.commit, row.env_name)
    results = Results.load(str(path))
    return [
        results.get_result_value(item.benchmark, outcome.benchmarks[item.benchmark]["params"])[item.index]
        for item in items
    ]


def logarithms(first: list[float], second: list[float]) -> list[float]:
    return [math.log(one / other) for one, other in zip(first, second, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--row", default="jax==0.10.2")
    parser.add_argument("--bench", metavar="REGEX", action="append", default=[], help="default: benchmarks/core.txt")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ways", nargs="+", choices=WAYS[1:], default=WAYS[1:], help="what to compare with")
    args = parser.parse_args()

    config = load_config("asv.conf.json")
    patterns = args.bench or measuring.core_patterns(config, [Rows(config).parse(args.row)])
    outcome, row, _, _ = measure_batched(storing(config, "warming"), args.row, patterns, rounds=1)
    chosen = exactly(to_compare(outcome, row), outcome)
    outcome, row, control, seconds = measure_batched(storing(config, "batched"), args.row, chosen, args.rounds)
    items = list(outcome.plan.selection[row.env_name])
    wall = {"batched": seconds}
    for way in args.ways:
        wall[way] = measure_with_asv(storing(config, way), row, chosen, args.rounds, way, outcome.machine)

    of_row = {way: medians(way, outcome, row, items) for way in wall}
    of_control = {way: medians(way, outcome, control, items) for way in wall}
    print(f"{row}, {len(items)} benchmarks, {args.rounds} rounds, the row and its control\n")
    print("| way | wall time | against batched | median ratio to batched | row ÷ control, sd | apart beyond noise |")
    print("|---|---|---|---|---|---|")
    for way, taken in wall.items():
        noise = logarithms(of_row[way], of_control[way]) + logarithms(of_row["batched"], of_control["batched"])
        spread = math.sqrt(statistics.fmean(value**2 for value in noise))
        apart = logarithms(of_row[way], of_row["batched"])
        outside = sum(abs(value) > WITHIN * spread for value in apart)
        print(
            f"| {way} | {taken:.0f} s | {taken / seconds:.1f}× | {math.exp(statistics.median(apart)):.3f} | "
            f"{100 * spread:.1f} % | {outside} of {len(items)} |"
        )
    print(f"\nbatched: duty cycle {100 * outcome.timed_seconds / outcome.seconds:.1f} %")


if __name__ == "__main__":
    main()
