"""Results trees brought together: nothing lost, nothing doubled, nothing outside the tree."""

import json
import subprocess
import sys

import pytest
from archive import (
    EPOCH,
    MACHINE,
    NAN,
    benchmark,
    iso,
    samples_of,
    write_journal,
    write_row,
    write_sidecar,
    write_suite,
)
from asv.results import Results
from asv.util import UserError

from bumps import merging, pruning
from bumps.results import Archive

STEP = benchmark("chain.time_it", [["'a'", "'b'"]], ["letter"])
COUNT = benchmark("chain.track_it", type="track", unit="kernels")
JAX = {"jax": "0.10.2"}


def tree(folder, *values, machine=MACHINE, requirements=JAX, step=STEP):
    write_suite(folder, [STEP, COUNT])
    return write_row(folder, requirements, [(step, list(values))], machine=machine)[0]


def samples(path, name="chain.time_it"):
    found = Results.load(str(path))
    return found.get_result_samples(name, found.get_result_params(name))


def test_a_tree_that_is_not_there_is_brought_whole(tmp_path):
    path = tree(tmp_path / "there", [1.0, 2.0], [3.0])
    write_journal(tmp_path / "there", "s1", [])
    write_sidecar(tmp_path / "there", "row", [{"record": "status"}])
    found = merging.merge(tmp_path / "there", tmp_path / "here")
    assert found.machines == ["box"]
    assert found.conflicts == []
    there = {each.relative_to(tmp_path / "there") for each in (tmp_path / "there").rglob("*.json*")}
    here = {each.relative_to(tmp_path / "here") for each in (tmp_path / "here").rglob("*.json*")}
    assert here == there
    assert samples(tmp_path / "here" / "box" / path.name) == [[1.0, 2.0], [3.0]]


def test_samples_are_appended_once(tmp_path):
    path = tree(tmp_path / "here", [1.0, 2.0], [3.0])
    tree(tmp_path / "there", [7.0, 8.0], [3.0])
    first = merging.merge(tmp_path / "there", tmp_path / "here")
    assert (first.figures, first.conflicts) == (1, [])
    assert samples(path) == [[1.0, 2.0, 7.0, 8.0], [3.0]]
    found = Results.load(str(path))
    assert found.get_result_value("chain.time_it", found.get_result_params("chain.time_it")) == [4.5, 3.0]
    before = path.read_bytes()
    second = merging.merge(tmp_path / "there", tmp_path / "here")
    assert (second.figures, second.files, second.conflicts) == (0, 0, [])
    assert path.read_bytes() == before


@pytest.mark.parametrize("repeat", [2, [1, 10, 20.0]])
def test_a_later_state_of_the_same_samples_doubles_none(tmp_path, repeat):
    step = {**STEP, "repeat": repeat}
    for folder, values in (("here", [1.0, 1.5, 2.0, 2.5]), ("there", [1.0, 1.5, 2.0, 2.5, 3.0, 3.5])):
        write_suite(tmp_path / folder, [step])
        path, _ = write_row(tmp_path / folder, JAX, [(step, [values, values])])
    found = merging.merge(tmp_path / "there", tmp_path / "here")
    assert (found.figures, found.conflicts) == (2, [])
    assert samples(tmp_path / "here/box" / path.name) == [[1.0, 1.5, 2.0, 2.5, 3.0, 3.5]] * 2
    assert merging.merge(tmp_path / "there", tmp_path / "here").figures == 0


@pytest.mark.parametrize("repeat", [2, [1, 10, 20.0]])
@pytest.mark.parametrize(("first", "second"), [("earlier", "later"), ("later", "earlier")])
def test_journalled_processes_are_recognised_whichever_tree_is_brought(tmp_path, first, second, repeat):
    step = {**STEP, "repeat": repeat}
    for folder, started, values in (("earlier", EPOCH, [1.0, 1.5]), ("later", EPOCH + 900, [2.0, 2.5])):
        write_suite(tmp_path / folder, [step])
        _, env_name = write_row(tmp_path / folder, JAX, [(step, [values, NAN])])
        entry = {"benchmark": "chain.time_it", "index": 0, "samples": values, "number": 1}
        write_journal(tmp_path / folder, folder, [(env_name, 0, 0, started, [entry])])
    assert merging.merge(tmp_path / second, tmp_path / first).figures == 1
    (row,) = Archive(tmp_path / first).rows
    (figure,) = row.figures["chain.time_it", ("'a'",)]
    assert figure.medians == (1.25, 2.25)
    assert [process.session for process in figure.processes] == ["earlier", "later"]


def test_what_failed_or_was_skipped_here_is_filled_and_never_the_other_way_round(tmp_path):
    path = tree(tmp_path / "here", None, [3.0])
    tree(tmp_path / "there", [1.0], NAN)
    merging.merge(tmp_path / "there", tmp_path / "here")
    assert samples(path) == [[1.0], [3.0]]


def test_a_benchmark_that_is_new_here_is_added_and_the_others_stay(tmp_path):
    path = tree(tmp_path / "here", [1.0], [2.0])
    write_suite(tmp_path / "there", [COUNT])
    write_row(tmp_path / "there", JAX, [(COUNT, [40])])
    merging.merge(tmp_path / "there", tmp_path / "here")
    found = Results.load(str(path))
    assert found.get_result_value("chain.track_it", []) == [40]
    assert samples(path) == [[1.0], [2.0]]


def test_what_is_newer_replaces_what_is_here_once(tmp_path):
    path = tree(tmp_path / "here", [1.0], [2.0])
    tree(tmp_path / "there", [3.0], [4.0], step={**STEP, "version": "2"})
    (tmp_path / "there" / "benchmarks.json").write_text('{"version": 2}')
    found = merging.merge(tmp_path / "there", tmp_path / "here", replace=True)
    assert (found.figures, found.files, found.conflicts) == (1, 2, [])
    assert samples(path) == [[3.0], [4.0]]
    assert Results.load(str(path)).benchmark_version["chain.time_it"] == "2"
    assert (tmp_path / "here" / "benchmarks.json").read_text() == '{"version": 2}'
    before = path.read_bytes()
    found = merging.merge(tmp_path / "there", tmp_path / "here", replace=True)
    assert (found.figures, found.files, found.conflicts) == (0, 0, [])
    assert path.read_bytes() == before


def test_what_is_newer_replaces_only_what_it_measured(tmp_path):
    path = tree(tmp_path / "here", [1.0, 1.5], [2.0, 2.5])
    tree(tmp_path / "there", [3.0, 3.5], NAN)
    for figures in (1, 0):
        assert merging.merge(tmp_path / "there", tmp_path / "here", replace=True).figures == figures
        assert samples(path) == [[3.0, 3.5], [2.0, 2.5]]
    # A journal tells what was skipped from what was not selected.
    env_name = json.loads(path.read_text())["env_name"]
    skipped = {"benchmark": "chain.time_it", "index": 1, "status": "skipped", "reason": "not here"}
    write_journal(tmp_path / "there", "s1", [(env_name, 0, 0, EPOCH, [skipped])])
    merging.merge(tmp_path / "there", tmp_path / "here", replace=True)
    assert samples(path) == [[3.0, 3.5], None]


def test_values_without_samples_that_differ_are_a_conflict(tmp_path):
    for folder, value in (("here", 40), ("there", 59)):
        write_suite(tmp_path / folder, [COUNT])
        path, _ = write_row(tmp_path / folder, JAX, [(COUNT, [value])])
    found = merging.merge(tmp_path / "there", tmp_path / "here")
    assert found.conflicts == [f"{path}: chain.track_it: 1 values differ and have no samples to add"]


def test_another_source_is_a_conflict(tmp_path):
    path = tree(tmp_path / "here", [1.0], [2.0])
    tree(tmp_path / "there", [7.0], [8.0], step={**STEP, "version": "2"})
    (conflict,) = merging.merge(tmp_path / "there", tmp_path / "here").conflicts
    assert conflict.endswith("chain.time_it: measured from another source (version 1 here, 2 there)")
    assert samples(path) == [[1.0], [2.0]]


def test_another_machine_of_the_same_name_is_a_conflict(tmp_path):
    path = tree(tmp_path / "here", [1.0], [2.0])
    tree(tmp_path / "there", [7.0], [8.0], machine={**MACHINE, "num_cpu": "64"})
    (conflict,) = merging.merge(tmp_path / "there", tmp_path / "here").conflicts
    assert "another machine has this name (num_cpu '2' here, '64' there)" in conflict
    assert samples(path) == [[1.0], [2.0]]


def test_sidecars_and_journals_grow_and_are_never_doubled(tmp_path):
    tree(tmp_path / "here", [1.0], [2.0])
    tree(tmp_path / "there", [1.0], [2.0])
    write_sidecar(tmp_path / "here", "row", [{"record": "status", "status": "failed"}])
    write_sidecar(
        tmp_path / "there",
        "row",
        [{"record": "status", "status": "failed"}, {"record": "telemetry", "time": iso(EPOCH + 1)}],
    )
    write_journal(tmp_path / "here", "s1", [])
    write_journal(tmp_path / "there", "s1", [("row", 0, 0, 1_700_000_000, [])])
    for _ in range(2):
        merging.merge(tmp_path / "there", tmp_path / "here")
        kinds = [json.loads(line)["record"] for line in (tmp_path / "here/box/row.jsonl").read_text().splitlines()]
        assert kinds == ["status", "telemetry"]
        journal = tmp_path / "here/box/sessions/s1.jsonl"
        assert [json.loads(line)["record"] for line in journal.read_text().splitlines()] == ["session", "process"]
    # The shorter of two states takes nothing away.
    write_journal(tmp_path / "there", "s1", [])
    merging.merge(tmp_path / "there", tmp_path / "here")
    assert len(journal.read_text().splitlines()) == 2


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"results": 3}', "[" * 100_000, '{"version": 99}'])
def test_a_damaged_file_is_named_and_the_rest_is_merged(tmp_path, content):
    path = tree(tmp_path / "there", [1.0], [2.0])
    bad = path.with_name("0000aaaa-bad.json")
    bad.write_text(content)
    found = merging.merge(tmp_path / "there", tmp_path / "here")
    (conflict,) = found.conflicts
    assert conflict.startswith(f"{bad}: not readable as a result file")
    assert samples(tmp_path / "here/box" / path.name) == [[1.0], [2.0]]
    assert not (tmp_path / "here/box" / bad.name).exists()


def damage(path, name="chain.time_it", **columns):
    content = json.loads(path.read_text())
    row = content["results"][name]
    row += [None] * (len(content["result_columns"]) - len(row))
    for column, value in columns.items():
        row[content["result_columns"].index(column)] = value
    path.write_text(json.dumps(content))


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    "columns",
    [
        {"result": 5},
        {"result": ["x", 2.0]},
        {"samples": "x"},
        {"samples": [[1.0]]},
        {"samples": [["x"], [2.0]]},
        {"started_at": "now"},
        {"started_at": 10**30},
        {"duration": 10**400},
        {"stats_number": ["x", "y"]},
    ],
)
def test_a_damaged_benchmark_is_named_and_takes_no_place(tmp_path, columns, replace):
    for folder, values in (("here", [1.0, 2.0]), ("there", [3.0, 4.0])):
        write_suite(tmp_path / folder, [STEP, COUNT])
        measured = [(STEP, [values, values]), *([(COUNT, [40])] if folder == "there" else [])]
        path, _ = write_row(tmp_path / folder, JAX, measured)
    damage(path, **columns)
    found = merging.merge(tmp_path / "there", tmp_path / "here", replace)
    (conflict,) = found.conflicts
    assert conflict.startswith(f"{path}: chain.time_it: damaged (")
    here = tmp_path / "here/box" / path.name
    assert samples(here) == [[1.0, 2.0], [1.0, 2.0]]
    assert "chain.track_it" in Results.load(str(here)).get_all_result_keys()


def test_a_damaged_benchmark_here_is_named_and_replaced_where_that_is_asked_for(tmp_path):
    path = tree(tmp_path / "here", [1.0], [2.0])
    tree(tmp_path / "there", [3.0], [4.0])
    damage(path, samples="x")
    before = path.read_bytes()
    (conflict,) = merging.merge(tmp_path / "there", tmp_path / "here").conflicts
    assert "chain.time_it: what is here of it is damaged (samples is no list of 2 lists of numbers)" in conflict
    assert path.read_bytes() == before
    assert merging.merge(tmp_path / "there", tmp_path / "here", replace=True).conflicts == []
    assert samples(path) == [[3.0], [4.0]]


def test_a_file_here_that_cannot_be_read_is_the_one_that_is_named(tmp_path):
    path = tree(tmp_path / "here", [1.0], [2.0])
    tree(tmp_path / "there", [3.0], [4.0])
    path.write_text("{")
    (conflict,) = merging.merge(tmp_path / "there", tmp_path / "here").conflicts
    assert conflict.startswith(f"{path}: not readable as a result file")


def test_samples_without_asvs_statistics_are_added(tmp_path):
    path = tree(tmp_path / "here", [1.0, 2.0], [2.0])
    damage(tree(tmp_path / "there", [7.0, 8.0], [2.0]), stats_number=None)
    assert merging.merge(tmp_path / "there", tmp_path / "here").conflicts == []
    assert samples(path) == [[1.0, 2.0, 7.0, 8.0], [2.0]]


def test_a_file_of_another_machine_is_not_taken(tmp_path):
    path = tree(tmp_path / "there", [1.0], [2.0])
    content = json.loads(path.read_text())
    content["params"]["machine"] = "../../outside"
    path.write_text(json.dumps(content))
    (conflict,) = merging.merge(tmp_path / "there", tmp_path / "here").conflicts
    assert "it says that it is of another machine" in conflict
    assert not (tmp_path / "outside").exists()


def test_links_are_not_followed(tmp_path):
    tree(tmp_path / "secret", [1.0], [2.0])
    (tmp_path / "there").mkdir()
    (tmp_path / "there/box").symlink_to(tmp_path / "secret/box")
    with pytest.raises(UserError, match="holds no machine's results"):
        merging.merge(tmp_path / "there", tmp_path / "here")
    tree(tmp_path / "other", [1.0], [2.0])
    (tmp_path / "other/box/row.jsonl").symlink_to("/etc/passwd")
    merging.merge(tmp_path / "other", tmp_path / "here")
    assert not (tmp_path / "here/box/row.jsonl").exists()


def command(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "bumps", "results", "merge", *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(merging.pathlib.Path(merging.__file__).parent.parent), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_says_what_it_did_and_its_status_whether_all_was_merged(tmp_path):
    tree(tmp_path / "results", [1.0], [2.0])
    tree(tmp_path / "there", [7.0], [8.0])
    done = command(tmp_path, "there")
    assert (done.returncode, done.stdout, done.stderr) == (0, "there: box: 2 figures, 1 files\n", "")
    tree(tmp_path / "later", [7.0], [8.0], step={**STEP, "version": "2"})
    done = command(tmp_path, "later")
    assert done.returncode == 1
    assert done.stdout.startswith("left out: later/box/")
    done = command(tmp_path, "nowhere")
    assert done.returncode == 2
    assert done.stderr == "bumps: nowhere holds no machine's results (a folder with machine.json)\n"
    assert command(tmp_path, "results").returncode == 2


def test_what_a_prune_left_of_samples_is_recognised(tmp_path):
    from_asv_run, journalled = samples_of([5.0, 6.0]), samples_of([7.0])
    entry = {"benchmark": "chain.time_it", "index": 1, "samples": journalled, "number": 1}
    for folder in ("here", "there"):
        path = tree(tmp_path / folder, from_asv_run, journalled)
        env_name = json.loads(path.read_text())["env_name"]
        write_journal(tmp_path / folder, "s1", [(env_name, 0, 0, EPOCH, [entry])])
    pruning.prune(tmp_path / "here", 30, EPOCH + 365 * 86400)
    path = tmp_path / "here/box" / path.name
    assert samples(path) == [[5.0, 6.0], [7.0]]
    for source, target in (("there", "here"), ("here", "there")):
        found = merging.merge(tmp_path / source, tmp_path / target)
        assert (found.figures, found.conflicts) == (0, [])
    assert samples(path) == [[5.0, 6.0], [7.0]]
    tree(tmp_path / "later", samples_of([8.0]), journalled)
    assert merging.merge(tmp_path / "later", tmp_path / "here").figures == 1
    assert samples(path) == [[5.0, 6.0, *samples_of([8.0])], [7.0]]
    (row,) = Archive(tmp_path / "here").rows
    assert [figure.medians for found in row.figures.values() for figure in found] == [(5.0, 6.0, 8.0), (7.0,)]


def test_records_that_a_prune_took_away_do_not_come_back(tmp_path):
    audit = {"record": "audit", "benchmark": "chain.time_it", "params": ["'a'"], "audit": "work", "version": "1"}
    first, second = ({**audit, "time": f"2026-01-01T00:00:0{second}+00:00"} for second in (1, 2))
    for folder in ("here", "there"):
        tree(tmp_path / folder, [1.0], [2.0])
        write_sidecar(tmp_path / folder, "row", [first, second])
    sidecar = tmp_path / "here/box/row.jsonl"
    pruning.prune(tmp_path / "here", 30, EPOCH + 365 * 86400)
    pruned = sidecar.read_text()
    assert json.loads(pruned)["time"] == second["time"]
    assert merging.merge(tmp_path / "there", tmp_path / "here").files == 0
    assert sidecar.read_text() == pruned


def test_brought_records_stand_where_their_times_put_them(tmp_path):
    status = {"record": "status", "benchmark": "chain.time_it", "params": ["'a'"], "index": 0, "status": "failed"}
    early, late = ({**status, "time": f"2026-01-0{day}T00:00:00+00:00", "reason": str(day)} for day in (1, 3))
    between = {**status, "time": "2026-01-02T00:00:00+00:00", "status": "skipped"}
    for folder, records in (("here", [early, late]), ("there", [between])):
        tree(tmp_path / folder, [1.0], [2.0])
        write_sidecar(tmp_path / folder, "row", records)
    merging.merge(tmp_path / "there", tmp_path / "here")
    lines = (tmp_path / "here/box/row.jsonl").read_text().splitlines()
    assert [json.loads(line)["time"] for line in lines] == [each["time"] for each in (early, between, late)]
