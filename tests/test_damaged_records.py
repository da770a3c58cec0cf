"""Whatever stands in a record, in place of what belongs there: no command that reads stored results falls over."""

import io
import json
import shutil
import sys

import pytest
from archive import EPOCH, benchmark, iso, samples_of, write_journal, write_row, write_sidecar, write_suite

from bumps import cli

STEPS = benchmark("suite.Steps.time_it")
WRONG = [None, True, -1, 2**63, float("inf"), "\ud800", [], [None], {"a": []}]
READING = [
    ["check", "--framework", "jax", "--old", "0.9.2", "--new", "0.10.2", "--json"],
    ["history", "jax"],
    ["export", "--csv", "out.csv"],
    ["results", "prune", "--keep-days", "0", "--dry-run"],
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree") / "results"
    write_suite(folder, [STEPS])
    for release, medians in (("0.9.2", [1.0, 1.01]), ("0.10.2", [1.5, 1.51])):
        _, env_name = write_row(folder, {"jax": release}, [(STEPS, [samples_of(medians)])])
        entry = {"benchmark": STEPS["name"], "index": 0, "samples": samples_of(medians), "number": 1, "seconds": 1.0}
        failed = {"benchmark": STEPS["name"], "index": 0, "status": "failed", "reason": "it did"}
        processes = [(env_name, 0, 0, EPOCH, [entry]), (env_name, 0, 1, EPOCH + 60, [failed])]
        write_journal(folder, release, processes)
        with open(folder / "box" / "sessions" / f"{release}.jsonl", "a") as stream:
            stream.write(json.dumps({"record": "finished", "ended": iso(EPOCH)}) + "\n")
        common = {"benchmark": STEPS["name"], "params": [], "version": "1"}
        records = [
            {"record": "environment", "devices": ["GPU"], "packages": {"jax": release}, "driver": "580"},
            {"record": "audit", "audit": "work", "result": "elided", "details": {"share": 0.5}, **common},
            {"record": "kernels", "kernels": 3, "set": "abc", **common},
            {"record": "telemetry", "before": {"sm_clock": 1980}, "after": {}, "disturbed": ["other"], **common},
            {"record": "cost", "framework": "jax", "import_seconds": 1.0, "device_seconds": 1.0},
            {"record": "status", "status": "skipped", "reason": "no GPU", "index": 0, **common},
        ]
        write_sidecar(folder, env_name, records)
    return folder


def places(value, above=()):
    yield above
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*above, key))


def damaged(record, place, wrong):
    if not place:
        return wrong
    copied = json.loads(json.dumps(record))
    at = copied
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = wrong
    return copied


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
@pytest.mark.parametrize("pattern", ["sessions/0.10.2.jsonl", "*0.10.2*.jsonl", "*0.10.2*.json", "machine.json"])
def test_a_wrong_value_anywhere_ends_no_command_in_a_traceback(tree, tmp_path, monkeypatch, pattern, wrong):
    monkeypatch.chdir(tmp_path)
    said = {name: io.TextIOWrapper(io.BytesIO(), errors="backslashreplace") for name in ("stdout", "stderr")}
    for name, stream in said.items():
        monkeypatch.setattr(sys, name, stream)

    def run(*command):
        assert cli.main([*command]) != cli.DEFECT, (place, wrong, said["stderr"].buffer.getvalue().decode())

    (path,) = (tree / "box").glob(pattern)
    whole = path.read_text()
    lines = whole.splitlines() if path.suffix == ".jsonl" else [whole]
    cases = [(number, place) for number, line in enumerate(lines) for place in places(json.loads(line))]
    # All of them take minutes: each value has its own share of the places.
    for number, place in cases[WRONG.index(wrong) % 3 :: 3]:
        results = tmp_path / "results"
        shutil.rmtree(results, ignore_errors=True)
        shutil.copytree(tree, results)
        changed = [*lines]
        changed[number] = json.dumps(damaged(json.loads(lines[number]), place, wrong))
        (results / path.relative_to(tree)).write_text("\n".join(changed) + "\n")
        for command in READING:
            run(*command, "--results", "results")
        run("results", "merge", "results", "--results", "merged")
        shutil.rmtree("merged", ignore_errors=True)
