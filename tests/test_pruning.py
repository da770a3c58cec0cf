"""A prune: smaller and up to date, and every verdict what it was."""

import fcntl
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from archive import EPOCH, MACHINE, benchmark, samples_of, write_journal, write_row, write_suite

from bumps import check, pruning
from bumps.results import Archive

H200 = pathlib.Path(__file__).parent.parent / "results"
STEP = benchmark("chain.time_it", [["'a'", "'b'"]], ["letter"])
DAY = 86400
LATER = EPOCH + 100 * DAY


def row(folder, *values, **more):
    write_suite(folder, [STEP])
    return write_row(folder, {"jax": "0.10.2"}, [(STEP, list(values))], **more)


def session(folder, name, env_name, started, *processes):
    entries = [
        (env_name, 0, number, started + 10 * number, [{"benchmark": STEP["name"], "index": 0, "samples": samples}])
        for number, samples in enumerate(processes)
    ]
    write_journal(folder, name, entries)


def stored(path):
    content = json.loads(path.read_text())
    return content["results"][STEP["name"]][content["result_columns"].index("samples")]


def medians(folder):
    archive = Archive(folder)
    assert archive.excluded == []
    return [figure.medians for row in archive.rows for found in row.figures.values() for figure in found]


def test_old_sessions_are_thinned_and_new_ones_stay_whole(tmp_path):
    old, new = samples_of([1.0]), samples_of([2.0])
    path, env_name = row(tmp_path, old + new, None)
    session(tmp_path, "s1", env_name, EPOCH, old)
    session(tmp_path, "s2", env_name, LATER, new)
    before = medians(tmp_path)
    done = pruning.prune(tmp_path, 30, LATER + DAY)
    assert (done.thinned, done.migrated, done.whole, done.left) == (2, 0, 0, [])
    assert done.after < done.before
    assert stored(path) == [[1.0, *new], None]
    journal = [json.loads(line) for line in (tmp_path / "box/sessions/s1.jsonl").read_text().splitlines()]
    assert journal[1]["entries"] == [{"benchmark": "chain.time_it", "index": 0, "samples": [1.0]}]
    assert medians(tmp_path) == before == [(1.0, 2.0), ()]
    again = pruning.prune(tmp_path, 30, LATER + DAY)
    assert (again.thinned, again.before, again.after) == (0, done.after, done.after)


def test_samples_of_asv_run_are_thinned_where_a_fixed_repeat_tells_the_processes(tmp_path):
    path, _ = row(tmp_path, samples_of([1.0, 2.0, 3.0]), None)
    pruning.prune(tmp_path, 30, LATER)
    assert stored(path) == [[1.0, 2.0, 3.0], None]
    assert medians(tmp_path) == [(1.0, 2.0, 3.0), ()]
    # asv run --append-samples goes on from there.
    content = json.loads(path.read_text())
    stored_samples = content["results"][STEP["name"]][content["result_columns"].index("samples")]
    stored_samples[0] += samples_of([4.0])
    path.write_text(json.dumps(content))
    assert medians(tmp_path) == [(1.0, 2.0, 3.0, 4.0), ()]
    pruning.prune(tmp_path, 30, LATER)
    assert stored(path) == [[1.0, 2.0, 3.0, 4.0], None]
    assert medians(tmp_path) == [(1.0, 2.0, 3.0, 4.0), ()]


def test_samples_of_which_nothing_tells_the_processes_stay_whole_and_are_counted(tmp_path):
    path, _ = row(tmp_path, samples_of([1.0]), None)
    write_suite(tmp_path, [{**STEP, "version": "2"}])
    done = pruning.prune(tmp_path, 30, LATER)
    assert (done.thinned, done.whole) == (0, 1)
    assert stored(path) == [samples_of([1.0]), None]


def test_a_prune_that_was_killed_half_way_is_read_and_finished(tmp_path, monkeypatch):
    old = samples_of([1.0]), samples_of([2.0])
    path, env_name = row(tmp_path, [*old[0], *old[1]], None)
    session(tmp_path, "s1", env_name, EPOCH, *old)
    write = pruning.files.write_whole

    def killed(target, content):
        if target.suffix == ".jsonl":
            raise KeyboardInterrupt
        write(target, content)

    monkeypatch.setattr(pruning.files, "write_whole", killed)
    with pytest.raises(KeyboardInterrupt):
        pruning.prune(tmp_path, 30, LATER)
    assert stored(path) == [[1.0, 2.0], None]
    assert medians(tmp_path) == [(1.0, 2.0), ()]
    monkeypatch.undo()
    assert pruning.prune(tmp_path, 30, LATER).thinned == 1
    assert medians(tmp_path) == [(1.0, 2.0), ()]


def test_a_dry_run_writes_nothing_and_says_the_same(tmp_path):
    path, _ = row(tmp_path, samples_of([1.0, 2.0]), None)
    before = path.read_bytes()
    dry = pruning.prune(tmp_path, 30, LATER, dry_run=True)
    assert path.read_bytes() == before
    assert not (tmp_path / "box/thinned.jsonl").exists()
    assert pruning.prune(tmp_path, 30, LATER) == dry


def test_a_machine_that_is_being_measured_is_left(tmp_path):
    path, env_name = row(tmp_path, samples_of([1.0]), None)
    session(tmp_path, "s1", env_name, EPOCH, samples_of([1.0]))
    descriptor = os.open(tmp_path / "box/sessions/s1.jsonl", os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    done = pruning.prune(tmp_path, 30, LATER)
    os.close(descriptor)
    assert done.left == [("box", "is being measured; left for another time")]
    assert stored(path) == [samples_of([1.0]), None]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff", b'{"version": 2}', b'{"version": 99}', b'{"version": 1, "results": 7}', b"[" * 100_000],
)
def test_a_damaged_file_is_named_and_stays_and_the_rest_is_pruned(tmp_path, content):
    path, _ = row(tmp_path, samples_of([1.0]), None)
    bad = tmp_path / "box/0000aaaa-bad.json"
    bad.write_bytes(content)
    done = pruning.prune(tmp_path, 30, LATER)
    assert [name for name, _ in done.left] == ["box/0000aaaa-bad.json"]
    assert bad.read_bytes() == content
    assert stored(path) == [[1.0], None]


def test_links_are_not_followed(tmp_path):
    path, _ = row(tmp_path / "elsewhere", samples_of([1.0]), None)
    (tmp_path / "results/box").mkdir(parents=True)
    (tmp_path / "results/box" / path.name).symlink_to(path)
    (tmp_path / "results/other").symlink_to(tmp_path / "elsewhere/box")
    pruning.prune(tmp_path / "results", 30, LATER)
    assert stored(path) == [samples_of([1.0]), None]


def test_files_of_asvs_first_format_are_migrated_and_named_as_asv_looks_for_them(tmp_path):
    long = "virtualenv-py2.7-" + "-".join(f"package{number}" for number in range(15))
    (tmp_path / "box").mkdir()
    first = {
        "version": 1,
        "commit_hash": "0123456789abcdef0123456789abcdef01234567",
        "date": EPOCH * 1000,
        "params": {**MACHINE, "python": "2.7"},
        "python": "2.7",
        "requirements": {},
        "env_name": long,
        "env_vars": {},
        "results": {"plain": 4.5, "timed": {"result": [2.0], "params": [], "stats": [{"ci_99": [1.0, 3.0]}]}},
        "benchmark_version": {"timed": "7"},
    }
    (tmp_path / "box" / f"01234567-{long}.json").write_text(json.dumps(first))
    done = pruning.prune(tmp_path, 30, LATER)
    assert (done.migrated, done.left) == (1, [])
    (path,) = (tmp_path / "box").glob("*.json")
    # MD5 of the environment's name, as asv's own rule has it for long names.
    assert path.name == "01234567-env-f45d17d254c83b172ab3b1cbf5e62a7c.json"
    content = json.loads(path.read_text())
    assert content["version"] == 2
    timed = dict(zip(content["result_columns"], content["results"]["timed"], strict=False))
    assert (timed["result"], timed["version"], timed["stats_ci_99_a"]) == ([2.0], "7", [1.0])
    assert content["results"]["plain"][0] == [4.5]


def test_verdicts_of_a_real_bump_are_byte_for_byte_what_they_were(tmp_path):
    shutil.copytree(H200, tmp_path / "results")
    done = pruning.prune(tmp_path / "results", 0, os.stat(H200).st_mtime + 10 * 365 * DAY)
    assert done.left == []
    assert done.whole == 0
    assert done.after < 0.7 * done.before
    reports = [
        json.dumps(check.report(Archive(folder), None, "jax", "0.9.2", "0.11.2"), default=str)
        for folder in (H200, tmp_path / "results")
    ]
    assert reports[0] == reports[1]


def command(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "bumps", "results", "prune", *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(H200.parent), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_says_what_became_smaller_and_what_was_left(tmp_path):
    path, _ = row(tmp_path / "results", samples_of([1.0]), None)
    done = command(tmp_path, "--dry-run")
    assert done.returncode == 0
    assert done.stdout.endswith("MB after; 1 files thinned, 0 migrated; nothing was written\n")
    (tmp_path / "results/box/\x1b[2J.json").write_text("")
    done = command(tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("left as it is: box/\\x1b[2J.json: is not asv's format\n")
    assert stored(path) == [[1.0], None]


def test_wrong_usage_is_one_line(tmp_path):
    done = command(tmp_path)
    assert (done.returncode, done.stderr) == (2, "bumps: there is no results folder results; name one with --results\n")
    (tmp_path / "results").mkdir()
    for days in ("-1", "nan", "inf"):
        done = command(tmp_path, f"--keep-days={days}")
        assert (done.returncode, done.stderr) == (2, "bumps: --keep-days takes a number of days, 0 or more\n")


def test_a_year_of_nights_stays_under_200_mb(tmp_path):
    spec = importlib.util.spec_from_file_location("year_of_nights", H200.parent / "tools" / "year_of_nights.py")
    year_of_nights = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(year_of_nights)

    def weights(nights):
        """Bytes of so many nights, the suite changing every third: when all are new, and when all are old."""
        end = year_of_nights.write(tmp_path / str(nights), nights, 3)
        new = pruning.prune(tmp_path / str(nights), 365, end)
        old = pruning.prune(tmp_path / str(nights), 0, end)
        assert new.left == old.left == []
        return new.after, old.after

    short, long = weights(3), weights(6)
    new, old = ((more - less) / 3 for less, more in zip(short, long, strict=True))
    once = long[1] - 6 * old
    # `results prune` keeps seven days whole. A year that tools/year_of_nights.py writes out in full agrees.
    assert 50e6 < once + 7 * new + 358 * old < 200e6
