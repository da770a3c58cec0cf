import json
import math

import pytest
from archive import COMMIT, MACHINE, benchmark

from bumps import journal, writer
from bumps.journal import Session
from bumps.results import Archive
from bumps.writer import RowFacts

CHAIN = benchmark("chain.time_it", [["'a'", "'b'"]], ["letter"])
TRACK = {**benchmark("chain.track_it"), "type": "track", "unit": "kernels", "number": None}
BENCHMARKS = {each["name"]: each for each in (CHAIN, TRACK)}
ROW = RowFacts("row", "3.11", {"jax": "0.10.2"}, {}, {**MACHINE, "python": "3.11"}, COMMIT, 1_700_000_000_000)


def entry(index=0, samples=None, name="chain.time_it", number=1, **fields):
    found = {"benchmark": name, "index": index, "seconds": 2.0, **fields}
    return {**found, "samples": samples, "number": number} if samples else found


def session(*processes, identifier="s0"):
    records = [
        {
            "env_name": "row",
            "stage": 0,
            "round": number,
            "started": f"2026-01-01T00:00:0{number}+00:00",
            "ended": f"2026-01-01T00:00:0{number + 1}+00:00",
            "entries": list(entries),
        }
        for number, entries in enumerate(processes)
    ]
    return Session({"id": identifier, "commit": COMMIT, "versions": {}}, records)


def stored(folder, name="chain.time_it"):
    content = json.loads((folder / "box" / f"{COMMIT[:8]}-row.json").read_text())
    return dict(zip(content["result_columns"], content["results"][name], strict=False))


def test_samples_of_all_processes_follow_each_other(tmp_path):
    found = session([entry(0, [1.0, 3.0]), entry(1, [5.0])], [entry(0, [2.0, 2.5])])
    writer.render(tmp_path, ROW, found, BENCHMARKS)
    columns = stored(tmp_path)
    assert columns["samples"] == [[1.0, 3.0, 2.0, 2.5], [5.0]]
    assert columns["result"] == [2.25, 5.0]
    assert columns["version"] == "1"
    assert columns["duration"] == 6.0
    assert columns["started_at"] == 1_767_225_600_000


def test_rendering_again_changes_nothing(tmp_path):
    found = session([entry(0, [1.0]), entry(1, [5.0])], [entry(0, [2.0])])
    writer.render(tmp_path, ROW, found, BENCHMARKS)
    path = tmp_path / "box" / f"{COMMIT[:8]}-row.json"
    before = path.read_bytes()
    writer.render(tmp_path, ROW, found, BENCHMARKS)
    assert path.read_bytes() == before


def test_a_session_replaces_its_own_items_and_leaves_the_others(tmp_path):
    writer.render(tmp_path, ROW, session([entry(0, [1.0]), entry(1, [5.0])]), BENCHMARKS)
    writer.render(tmp_path, ROW, session([entry(0, [9.0])], identifier="s1"), BENCHMARKS)
    assert stored(tmp_path)["samples"] == [[9.0], [5.0]]


def test_another_version_of_the_benchmark_drops_the_old_samples(tmp_path):
    writer.render(tmp_path, ROW, session([entry(0, [1.0]), entry(1, [5.0])]), BENCHMARKS)
    newer = {**BENCHMARKS, "chain.time_it": {**CHAIN, "version": "2"}}
    writer.render(tmp_path, ROW, session([entry(0, [9.0])], identifier="s1"), newer)
    columns = stored(tmp_path)
    assert columns["samples"] == [[9.0], None]
    assert columns["result"][0] == 9.0
    assert math.isnan(columns["result"][1])


def test_failed_and_skipped_are_null_and_nan(tmp_path):
    failed = entry(0, status="failed", reason="boom")
    skipped = entry(1, status="skipped", reason="not here")
    writer.render(tmp_path, ROW, session([failed, skipped], [failed]), BENCHMARKS)
    result = stored(tmp_path)["result"]
    assert result[0] is None
    assert math.isnan(result[1])


def test_one_failure_among_figures_leaves_the_figures(tmp_path):
    failed = entry(0, status="failed", reason="boom")
    writer.render(tmp_path, ROW, session([failed], [entry(0, [4.0])]), BENCHMARKS)
    assert stored(tmp_path)["samples"] == [[4.0], None]


def test_a_tracked_value_is_one_that_was_seen(tmp_path):
    values = [[entry(0, [value], name="chain.track_it", number=None)] for value in (41, 61)]
    writer.render(tmp_path, ROW, session(*values), BENCHMARKS)
    columns = stored(tmp_path, "chain.track_it")
    assert columns["result"] == [41]
    assert "samples" not in columns


def test_judging_reads_the_very_processes(tmp_path):
    """What the writer writes, the reader cuts back into the journal's processes."""
    (tmp_path / "benchmarks.json").write_text(json.dumps({**BENCHMARKS, "version": 2}))
    plan, versions = {"rounds": 2}, {"chain.time_it": "1"}
    open_journal = journal.Journal.start(tmp_path / "box", COMMIT, plan, versions)
    for process in session([entry(0, [1.0, 3.0, 3.0])], [entry(0, [2.0, 2.5])]).processes:
        open_journal.append_process(process)
    open_journal.close()
    (tmp_path / "box" / "machine.json").write_text(json.dumps({**MACHINE, "version": 1}))
    writer.render(tmp_path, ROW, open_journal.session, BENCHMARKS)
    (row,) = Archive(tmp_path).rows
    (figure,) = row.figures["chain.time_it", ("'a'",)]
    assert figure.medians == (3.0, 2.25)
    assert [process.round for process in figure.processes] == [0, 1]
    assert {process.session for process in figure.processes} == {open_journal.session.id}


@pytest.mark.parametrize(
    "content", ["", "{", '{"version": 2}', "[]", '{"version": 99}', pytest.param("[" * 100_000, id="deep")]
)
def test_damaged_result_file_is_put_aside(tmp_path, content):
    path = tmp_path / "box" / f"{COMMIT[:8]}-row.json"
    path.parent.mkdir()
    path.write_text(content)
    remark = writer.render(tmp_path, ROW, session([entry(0, [1.0])]), BENCHMARKS)
    assert remark.startswith(f"{path} was damaged")
    assert stored(tmp_path)["samples"] == [[1.0], None]
    assert path.with_name(path.name + ".damaged").read_text() == content


@pytest.mark.parametrize(
    ("column", "value"), [(0, 5), (0, {}), (1, None), (1, [[[]]]), (1, [5]), (11, True), (11, {})], ids=str
)
def test_result_file_with_values_of_the_wrong_shape_is_put_aside(tmp_path, column, value):
    found = session([entry(0, [1.0])])
    writer.render(tmp_path, ROW, found, BENCHMARKS)
    path = tmp_path / "box" / f"{COMMIT[:8]}-row.json"
    content = json.loads(path.read_text())
    content["results"]["chain.time_it"][column] = value
    path.write_text(json.dumps(content))
    writer.render(tmp_path, ROW, found, BENCHMARKS)
    assert stored(tmp_path)["samples"] == [[1.0], None]


def test_each_damaged_result_file_is_kept(tmp_path):
    path = tmp_path / "box" / f"{COMMIT[:8]}-row.json"
    path.parent.mkdir()
    for number in range(3):
        path.write_text(f"damaged {number}")
        assert writer.render(tmp_path, ROW, session([entry(0, [1.0])]), BENCHMARKS)
    kept = [path.with_name(path.name + ending).read_text() for ending in (".damaged", ".damaged.2", ".damaged.3")]
    assert kept == ["damaged 0", "damaged 1", "damaged 2"]


def test_leftovers_of_a_killed_writer_go(tmp_path):
    (tmp_path / "box").mkdir()
    leftover = tmp_path / "box" / "x.json.1234.part"
    leftover.touch()
    writer.remove_leftovers(tmp_path, "box")
    assert not leftover.exists()
