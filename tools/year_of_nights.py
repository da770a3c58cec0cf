"""What nightly results weigh, before and after a prune: `python tools/year_of_nights.py [--nights 365] [--folder DIR]`.

Each night measures the default selection of both frameworks on a GPU as .github/workflows/nightly.yml does: old, new
and a control, five processes a row, every benchmark's own number of samples. Which benchmarks there are, and how long a
record of each kind is, is taken from the stored H200 results; the samples are random, and as long as measured ones.
Nights at one commit have one result file a row, the newest; of each night the journal stays.
"""

import argparse
import datetime
import itertools
import json
import pathlib
import random
import re
import shutil
import tempfile
import time

from asv.results import Results

from bumps import core, pruning, writer
from bumps.journal import Session

ROOT = pathlib.Path(__file__).resolve().parents[1]
MEASURED = ROOT / "results" / "h200"
RELEASES = {"torch": ("2.14.1", "2.15.0"), "jax": ("0.11.2", "0.12.0.1")}
ACCELERATOR = "cuda13"
ROUNDS = 5
FIRST_NIGHT = datetime.datetime(2025, 1, 1, 2, tzinfo=datetime.UTC)
# Of each prepared step a process writes so many records.
PER_STEP = {"audit": 3, "telemetry": 1, "cost": 1, "kernels": 1}


def selection(benchmarks: dict[str, dict], framework: str) -> list[tuple[str, int]]:
    """Return the items of benchmarks/core.txt of one framework on a GPU."""
    text = (ROOT / "benchmarks" / "core.txt").read_text()
    patterns = [re.compile(line) for line in core.patterns(text, [ACCELERATOR])]
    found = []
    for name, benchmark in sorted(benchmarks.items()):
        for index, values in enumerate(itertools.product(*benchmark["params"])):
            full = f"{name}({', '.join(values)})"
            if repr(framework) in values and any(pattern.search(full) for pattern in patterns):
                found.append((name, index))
    return found


def typical_records() -> dict[str, dict]:
    """Return a record of each kind that a sidecar holds: of the stored ones the one of median length."""
    by_kind: dict[str, list[str]] = {}
    for path in sorted(MEASURED.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if "names" not in record:
                by_kind.setdefault(record["record"], []).append(line)
    return {kind: json.loads(sorted(lines, key=len)[len(lines) // 2]) for kind, lines in by_kind.items()}


def samples_of(benchmark: dict, chance: random.Random) -> list[float]:
    if benchmark["type"] == "track":
        return [40]
    level = 10 ** chance.uniform(-5, -1)
    return [level * chance.uniform(0.95, 1.05) for _ in range(benchmark.get("repeat") or 20)]


def write_night(folder: pathlib.Path, night: int, commit: str, benchmarks: dict, records: dict) -> None:
    """Write one night's sessions, result files and sidecar records."""
    chance = random.Random(night)
    started = FIRST_NIGHT + datetime.timedelta(days=night)
    facts = json.loads((MEASURED / "machine.json").read_text())
    for framework, (old, new) in RELEASES.items():
        items = selection(benchmarks, framework)
        rows = {
            f"pinned-py3.12-{framework}{release}-BENCH_ACCELERATOR{ACCELERATOR}{suffix}": release
            for release, suffix in ((old, ""), (new, ""), (new, "-REPLICAcontrol"))
        }
        name = f"{started:%Y%m%dT%H%M%SZ}-{framework}"
        head = {
            "record": "session",
            "id": name,
            "schema": 1,
            "commit": commit,
            "plan": {"framework": framework, "selection": dict.fromkeys(rows, items), "rounds": ROUNDS},
            "versions": {benchmark: benchmarks[benchmark]["version"] for benchmark, _ in items},
            "started": started.isoformat(timespec="milliseconds"),
            "seed": night,
        }
        session = Session(head)
        for round_, env_name in itertools.product(range(ROUNDS), rows):
            ended = started + datetime.timedelta(minutes=2)
            session.processes.append(
                {
                    "record": "process",
                    "env_name": env_name,
                    "stage": 0,
                    "round": round_,
                    "started": started.isoformat(timespec="milliseconds"),
                    "ended": ended.isoformat(timespec="milliseconds"),
                    "entries": [_entry(benchmark, index, benchmarks[benchmark], chance) for benchmark, index in items],
                    "timed_seconds": chance.random(),
                    "python_seconds": chance.random(),
                    "disturbed": [],
                }
            )
            _append_sidecar(folder / "h200" / f"{env_name}.jsonl", env_name, started, items, benchmarks, records)
            started = ended
        journal = [head, *session.processes, {"record": "finished", "ended": head["started"]}]
        path = folder / "h200" / "sessions" / f"{name}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in journal))
        for env_name, release in rows.items():
            params = {**facts, "python": "3.12", framework: release}
            at = int(started.timestamp() * 1000)
            results = Results(params, {framework: release}, commit, at, "3.12", env_name, {})
            writer.add_session(results, session, env_name, benchmarks)
            results.save(str(folder))


def _entry(name: str, index: int, benchmark: dict, chance: random.Random) -> dict:
    number = None if benchmark["type"] == "track" else 1
    samples = samples_of(benchmark, chance)
    return {"benchmark": name, "index": index, "seconds": chance.random(), "samples": samples, "number": number}


def _append_sidecar(path, env_name, started, items, benchmarks, records) -> None:
    at = (started + datetime.timedelta(seconds=30)).isoformat(timespec="milliseconds")
    with open(path, "a", encoding="utf-8") as stream:
        for name, index in items:
            # Device time and kernels share the preparation of the wall time's step.
            if benchmarks[name].get("clock") in ("device", "kernels"):
                continue
            values = next(itertools.islice(itertools.product(*benchmarks[name]["params"]), index, None))
            for kind, count in PER_STEP.items():
                for number in range(count):
                    own = {"time": at, "env_name": env_name, "benchmark": name, "params": list(values)}
                    record = {**records[kind], **own} | ({"audit": str(number)} if kind == "audit" else {})
                    stream.write(json.dumps(record) + "\n")


def write(folder: pathlib.Path, nights: int, nights_a_commit: int) -> float:
    """Write that many nights; return the time of the last, in seconds since the epoch."""
    (folder / "h200" / "sessions").mkdir(parents=True)
    shutil.copyfile(ROOT / "results" / "benchmarks.json", folder / "benchmarks.json")
    shutil.copyfile(MEASURED / "machine.json", folder / "h200" / "machine.json")
    content = json.loads((folder / "benchmarks.json").read_text())
    benchmarks = {name: value for name, value in content.items() if isinstance(value, dict)}
    records = typical_records()
    for night in range(nights):
        write_night(folder, night, f"{night // nights_a_commit:08x}" * 5, benchmarks, records)
    return (FIRST_NIGHT + datetime.timedelta(days=nights)).timestamp()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--nights-a-commit", type=int, default=7)
    parser.add_argument("--keep-days", type=float, default=7)
    parser.add_argument("--folder", type=pathlib.Path, help="keep the tree here (default: it is removed)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or pathlib.Path(temporary) / "results"
        end = write(folder, args.nights, args.nights_a_commit)
        began = time.monotonic()
        done = pruning.prune(folder, args.keep_days, end)
        seconds = time.monotonic() - began
    print(
        f"{args.nights} nights: {done.before / 1e6:.1f} MB, after a prune that keeps {args.keep_days:g} days whole "
        f"{done.after / 1e6:.1f} MB; the prune took {seconds:.0f} s; left: {done.left}, whole: {done.whole}"
    )


if __name__ == "__main__":
    main()
