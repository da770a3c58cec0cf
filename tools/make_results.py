"""Writes a large synthetic archive: `python tools/make_results.py FOLDER [--releases 50] [--steps 500] [--machines 2]`.

Half of the releases are torch's, half jax's, each measured in interleaved sessions with its neighbour as `bumps run`
does it: result files, journals, and the control of each framework's newest release. `steps` counts benchmarks with
their parameters, of one framework. Nothing in it was measured.
"""

import argparse
import datetime
import json
import pathlib
import random

FRAMEWORKS = ("torch", "jax")
PRECISIONS = ("bf16", "fp16", "tf32", "fp32", "fp64")
SIZES = ("small", "large")
CELLS = [(mode, pass_) for mode in ("eager", "compiled") for pass_ in ("forward", "grad")]
PER_BENCHMARK = len(PRECISIONS) * len(SIZES)
PROCESSES, REPEAT = 5, 10
FIRST = datetime.date(2022, 1, 15)
DAYS_APART = 30
# One step in fifty becomes a quarter slower or faster at each release.
CHANGED, CHANGE = 0.02, 1.25
NOISE = 0.01
COLUMNS = ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25"]
COLUMNS += ["stats_q_75", "stats_number", "stats_repeat", "samples"]


def suite(steps: int) -> dict[str, dict]:
    """Return benchmarks.json's content for so many steps of one framework."""
    params = [[repr(value) for value in values] for values in (FRAMEWORKS, PRECISIONS, SIZES)]
    found = {}
    for number in range(steps // PER_BENCHMARK):
        mode, pass_ = CELLS[number % len(CELLS)]
        workload = f"Workload{number // len(CELLS)}"
        name = f"module_{number // len(CELLS)}.{workload}.time_{mode}_{pass_}"
        found[name] = {
            "name": name, "params": params, "param_names": ["framework", "precision", "size"], "version": "1",
            "repeat": REPEAT, "number": 1, "type": "time", "unit": "seconds", "workload": workload, "mode": mode,
            "pass": pass_, "clock": "wall", "code": "", "timeout": 60.0,
        }  # fmt: skip
    return found


def releases(count: int) -> dict[str, list[tuple[str, datetime.date]]]:
    """Return framework -> (release, date), oldest first, the two frameworks in turn."""
    found = {framework: [] for framework in FRAMEWORKS}
    for number in range(count):
        date = FIRST + datetime.timedelta(days=DAYS_APART * number // 2)
        found[FRAMEWORKS[number % 2]].append((f"1.{number // 2}.0", date))
    return found


def write_dates(folder: pathlib.Path, count: int) -> None:
    """Write what the headers of constraints files say of these releases."""
    folder.mkdir(parents=True)
    for framework, listed in releases(count).items():
        for version, date in listed:
            header = f"# release: {framework} {version}\n# released: {date}\n"
            (folder / f"{framework}-{version}.txt").write_text(header)


def write(folder: pathlib.Path, count: int, steps: int, machines: int, commit: str) -> None:
    """Write the archive."""
    chance = random.Random(0)
    benchmarks = suite(steps)
    folder.mkdir(parents=True)
    (folder / "benchmarks.json").write_text(json.dumps({**benchmarks, "version": 2}))
    for number in range(machines):
        machine = folder / f"box{number}"
        (machine / "sessions").mkdir(parents=True)
        facts = {"machine": machine.name, "os": "Linux", "arch": "x86_64", "cpu": "a CPU", "num_cpu": "8", "ram": "9"}
        (machine / "machine.json").write_text(json.dumps({**facts, "version": 1}))
        for framework, listed in releases(count).items():
            _write_framework(machine, facts, framework, [version for version, _ in listed], benchmarks, commit, chance)


def _write_framework(machine, facts, framework, versions, benchmarks, commit, chance) -> None:
    level = {name: [10 ** chance.uniform(-4, -1) for _ in range(PER_BENCHMARK)] for name in benchmarks}
    with open(machine / "sessions" / f"{framework}.jsonl", "w") as journal:
        head = {"record": "session", "id": framework, "schema": 1, "commit": commit}
        journal.write(json.dumps({**head, "versions": dict.fromkeys(benchmarks, "1")}) + "\n")
        for position, version in enumerate(versions):
            for values in level.values():
                for index in range(PER_BENCHMARK):
                    if chance.random() < CHANGED:
                        values[index] *= chance.choice((CHANGE, 1 / CHANGE))
            is_newest = position == len(versions) - 1
            for replica in (False, True) if is_newest else (False,):
                _write_row(machine, facts, framework, version, replica, level, commit, chance, journal, position)


def _write_row(machine, facts, framework, version, replica, level, commit, chance, journal, position) -> None:
    variables = {"BENCH_ACCELERATOR": "cpu"} | ({"REPLICA": "control"} if replica else {})
    env_name = f"pinned-py3.11-{framework}{version}-BENCH_ACCELERATORcpu" + ("-REPLICAcontrol" if replica else "")
    processes = [{name: _samples(values, chance) for name, values in level.items()} for _ in range(PROCESSES)]
    offset = PER_BENCHMARK * FRAMEWORKS.index(framework)
    started = 1_700_000_000 + 20 * position + 10 * replica
    for number, process in enumerate(processes):
        entries = [
            {"benchmark": name, "index": offset + index, "samples": samples, "number": 1}
            for name, parts in process.items()
            for index, samples in enumerate(parts)
        ]
        at = started + 10_000 * number
        record = {"record": "process", "env_name": env_name, "stage": 0, "round": number, "started": _iso(at)}
        journal.write(json.dumps({**record, "ended": _iso(at + 5), "entries": entries}) + "\n")
    skipped = [float("nan")] * PER_BENCHMARK
    results = {}
    for name in level:
        samples = [[value for process in processes for value in process[name][index]] for index in range(PER_BENCHMARK)]
        middle = [sorted(each)[len(each) // 2] for each in samples]

        nothing = [None] * PER_BENCHMARK
        counts = [_both(framework, [value] * PER_BENCHMARK, nothing) for value in (1, REPEAT * PROCESSES)]
        intervals = [
            _both(framework, [factor * value for value in middle], nothing) for factor in (0.99, 1.01, 0.995, 1.005)
        ]
        params = [[repr(value) for value in values] for values in (FRAMEWORKS, PRECISIONS, SIZES)]
        times = [params, "1", started * 1000, 9.0]
        results[name] = [
            _both(framework, middle, skipped),
            *times,
            *intervals,
            *counts,
            _both(framework, samples, nothing),
        ]
    content = {
        "commit_hash": commit, "env_name": env_name, "date": 1_700_000_000_000, "python": "3.11",
        "params": {**facts, "python": "3.11", framework: version}, "requirements": {framework: version},
        "env_vars": variables, "result_columns": COLUMNS, "results": results, "durations": {}, "version": 2,
    }  # fmt: skip
    (machine / f"{commit[:8]}-{env_name}.json").write_text(json.dumps(content))


def _both(framework: str, own: list, other: list) -> list:
    """Return the framework's own values and the other's, in asv's order of the parameters."""
    return own + other if framework == FRAMEWORKS[0] else other + own


def _samples(levels: list[float], chance: random.Random) -> list[list[float]]:
    found = []
    for level in levels:
        centre = level * chance.gauss(1, NOISE)
        found.append([centre * chance.gauss(1, NOISE) for _ in range(REPEAT)])
    return found


def _iso(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--releases", type=int, default=50, help="of both frameworks together (default: 50)")
    parser.add_argument("--steps", type=int, default=500, help="benchmarks with parameters a release (default: 500)")
    parser.add_argument("--machines", type=int, default=2, help="(default: 2)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="the results folder to make")
    parser.add_argument("--commit", default="0" * 40, help="the suite's commit (default: none there is)")
    add_arguments(parser)
    args = parser.parse_args()
    write(args.folder, args.releases, args.steps, args.machines, args.commit)


if __name__ == "__main__":
    main()
