"""Times reading and judging a large archive: `python tools/time_check.py [--releases 50] [--benchmarks 2000]`.

The archive is synthetic and lies in a temporary folder: interleaved sessions with journals, all samples recorded.
Prints seconds and peak memory of a process that reads it and judges every neighbouring pair.
"""

import argparse
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

REPEAT = 20
COMMIT = "0123456789abcdef0123456789abcdef01234567"
PARAMETERS = 20
COLUMNS = ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25"]
COLUMNS += ["stats_q_75", "stats_number", "stats_repeat", "samples"]


def write(folder: pathlib.Path, releases: int, benchmarks: int, processes: int, journals: bool) -> None:
    """Write the archive: `benchmarks` counts benchmarks with their parameters, `PARAMETERS` of each name."""
    generator = random.Random(0)
    names = [f"module_{number}.Suite.time_step" for number in range(benchmarks // PARAMETERS)]
    params = [[str(number) for number in range(PARAMETERS)]]
    suite = {
        name: {
            "name": name,
            "params": params,
            "param_names": ["n"],
            "version": "1",
            "repeat": REPEAT,
            "unit": "seconds",
        }
        for name in names
    }
    machine = folder / "box"
    (machine / "sessions").mkdir(parents=True)
    (folder / "benchmarks.json").write_text(json.dumps({**suite, "version": 2}))
    (machine / "machine.json").write_text('{"machine": "box", "version": 1}')
    for release in range(releases):
        version = f"1.{release}.0"
        env_name = f"pinned-py3.11-torch{version}"
        noise = generator.gauss
        figures = {
            name: [
                [[level * (1 + noise(0, 0.01)) for _ in range(REPEAT)] for _ in range(processes)]
                for level in (1e-3 * (1 + index) for index in range(PARAMETERS))
            ]
            for name in names
        }
        results = {}
        for name, combinations in figures.items():
            samples = [[value for part in parts for value in part] for parts in combinations]
            middle = [sorted(each)[len(each) // 2] for each in samples]
            stats = [middle] * 4 + [[1] * PARAMETERS, [REPEAT * processes] * PARAMETERS]
            results[name] = [middle, params, "1", 1_700_000_000_000, 9.0, *stats, samples]
        content = {
            "commit_hash": COMMIT, "env_name": env_name, "date": 0, "params": {"machine": "box"}, "python": "3.11",
            "requirements": {"torch": version}, "env_vars": {}, "result_columns": COLUMNS, "results": results,
            "durations": {}, "version": 2,
        }  # fmt: skip
        (machine / f"{COMMIT[:8]}-{env_name}.json").write_text(json.dumps(content))
        if journals:
            write_journal(machine / "sessions" / "one.jsonl", env_name, release, figures, processes)


def write_journal(path: pathlib.Path, env_name: str, release: int, figures: dict, processes: int) -> None:
    new = not path.exists()
    with open(path, "a") as stream:
        if new:
            session = {"record": "session", "id": "one", "commit": COMMIT, "versions": dict.fromkeys(figures, "1")}
            stream.write(json.dumps(session) + "\n")
        for number in range(processes):
            entries = [
                {"benchmark": name, "index": index, "samples": parts[number], "number": 1}
                for name, combinations in figures.items()
                for index, parts in enumerate(combinations)
            ]
            started = 1_700_000_000 + 1000 * number + release
            record = {"record": "process", "env_name": env_name, "stage": 0, "round": number, "started": started}
            stream.write(json.dumps({**record, "ended": started + 1, "entries": entries}) + "\n")


def judge(folder: pathlib.Path) -> None:
    """Judge every neighbouring pair of the archive and print what it took."""
    from bumps import check
    from bumps.results import Archive

    started = time.perf_counter()
    archive = Archive(folder)
    read = time.perf_counter()
    pairs = check.bumps(archive)
    judged = sum(
        check.report(archive, None, pair.framework, pair.old, pair.new, acknowledgements=())["summary"]["judged"]
        for pair in pairs
    )
    ended = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{len(pairs)} bumps, {judged} benchmarks judged: {ended - started:.1f} s (reading {read - started:.1f} s, "
        f"judging {ended - read:.1f} s), {peak:.2f} GiB at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=50)
    parser.add_argument("--benchmarks", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--without-journals", action="store_true", help="as `asv run --record-samples` leaves it")
    parser.add_argument("--folder", type=pathlib.Path, help="judge this archive instead")
    args = parser.parse_args()
    if args.folder:
        judge(args.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        write(pathlib.Path(folder), args.releases, args.benchmarks, args.processes, not args.without_journals)
        size = sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*") if path.is_file()) / 2**20
        print(f"{args.releases} releases × {args.benchmarks} benchmarks × {args.processes} processes, {size:.0f} MiB")
        # A process of its own, on one core: what writing the archive took is not counted.
        command = [sys.executable, __file__, "--folder", folder]
        subprocess.run(["taskset", "-c", "0", *command], check=True)


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
    main()
