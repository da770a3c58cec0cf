"""Writes small results folders through asv's own classes, for tests of what reads them."""

import itertools
import json
import math
import pathlib
from datetime import UTC, datetime

from asv.results import Results
from asv.runner import BenchmarkResult

COMMIT = "0123456789abcdef0123456789abcdef01234567"
EPOCH = 1_700_000_000
MACHINE = {"machine": "box", "os": "Linux 6", "arch": "x86_64", "cpu": "some CPU", "num_cpu": "2", "ram": "8"}


def benchmark(name, params=(), param_names=(), version="1", repeat=4, **attributes):
    """Return a benchmark as benchmarks.json holds it; `params` are lists of asv's strings."""
    return {
        "name": name,
        "params": [list(values) for values in params],
        "param_names": list(param_names),
        "version": version,
        "repeat": repeat,
        "number": 1,
        "type": "time",
        "unit": "seconds",
        **attributes,
    }


def write_suite(folder, benchmarks):
    """Write benchmarks.json."""
    path = pathlib.Path(folder) / "benchmarks.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**{each["name"]: each for each in benchmarks}, "version": 2}))


def samples_of(medians, repeat=4):
    """Return samples whose cut into processes has these medians."""
    half = repeat // 2
    return [value for median in medians for value in [median * 0.99] * half + [median * 1.01] * (repeat - half)]


def write_row(
    folder,
    requirements,
    values,
    machine=MACHINE,
    commit=COMMIT,
    python="3.11",
    env_vars=None,
    started=EPOCH,
    record_samples=True,
    env_type="pinned",
):
    """Write one result file; return (path, env_name).

    `values` is a list of (benchmark, value of each parameter combination): a list of samples, a number (tracked), None
    (failed) or NaN (skipped).
    """
    env_vars = {"BENCH_ACCELERATOR": "cpu"} if env_vars is None else env_vars
    parts = [env_type, f"py{python}", *(name + version for name, version in requirements.items())]
    env_name = "-".join([*parts, *(name + value for name, value in sorted(env_vars.items()))])
    params = {**machine, "python": python, **requirements}
    results = Results(params, requirements, commit, EPOCH * 1000, python, env_name, env_vars)
    for each, combinations in values:
        count = len(list(itertools.product(*each["params"])))
        assert len(combinations) == count
        timed = [isinstance(value, list) for value in combinations]
        found = BenchmarkResult(
            result=[0.0 if is_timed else value for value, is_timed in zip(combinations, timed, strict=True)],
            samples=[value if is_timed else None for value, is_timed in zip(combinations, timed, strict=True)],
            number=[1 if is_timed else None for is_timed in timed],
            errcode=0,
            stderr="",
            profile=None,
        )
        at = datetime.fromtimestamp(started, UTC)
        results.add_result(each, found, started_at=at, duration=1.0, record_samples=record_samples)
    results.save(str(folder))
    (pathlib.Path(folder) / machine["machine"] / "machine.json").write_text(json.dumps({**machine, "version": 1}))
    return pathlib.Path(folder) / results._filename, env_name


def write_journal(folder, session, processes, commit=COMMIT, versions=None, machine="box"):
    """Write a session's journal. `processes` is a list of (env_name, stage, round, started, entries)."""
    path = pathlib.Path(folder) / machine / "sessions" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"record": "session", "id": session, "schema": 1, "commit": commit, "versions": versions or {}}]
    for env_name, stage, number, started, entries in processes:
        lines.append(
            {
                "record": "process",
                "env_name": env_name,
                "stage": stage,
                "round": number,
                "started": iso(started),
                "ended": iso(started + 5),
                "entries": entries,
            }
        )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_sidecar(folder, env_name, records, machine="box"):
    path = pathlib.Path(folder) / machine / f"{env_name}.jsonl"
    path.write_text("".join(json.dumps({"env_name": env_name, "time": iso(EPOCH), **each}) + "\n" for each in records))


def write_unlike_devices(folder, framework, old, new, benchmark, samples):
    """Write two releases that one machine measured on two GPUs: a bump that cannot be judged."""
    for release, device in ((old, "RTX 4070"), (new, "H200")):
        values = [(benchmark, [samples])]
        _, env_name = write_row(folder, {framework: release}, values, env_vars={"BENCH_ACCELERATOR": "cuda13"})
        write_sidecar(folder, env_name, [{"record": "environment", "devices": [device]}])


def iso(seconds):
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


NAN = math.nan
