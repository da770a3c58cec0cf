import json
import os

import pytest

from bumps import journal
from bumps.journal import Journal, Stage
from bumps.plan import Item

PLAN = {"rows": [], "rounds": 2}
VERSIONS = {"x": "1"}


def process(round_=0, stage=0, env_name="row", entries=None):
    entries = [{"benchmark": "x", "index": 0, "samples": [1.5], "number": 1}] if entries is None else entries
    return {
        "env_name": env_name,
        "stage": stage,
        "round": round_,
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "2026-01-01T00:00:02+00:00",
        "entries": entries,
        "timed_seconds": 1.5,
        "python_seconds": 2.0,
    }


def resume(tmp_path, commit="c0", plan=PLAN, versions=VERSIONS):
    return Journal.resume(tmp_path, commit, plan, versions)


def test_unfinished_session_is_taken_up_with_what_it_has(tmp_path):
    first = Journal.start(tmp_path, "c0", PLAN, VERSIONS)
    first.append_process(process())
    first.append_stage(Stage(1, 2, {"row": (Item("x", 0),)}))
    first.append_process(process(stage=1))
    first.close()
    found = resume(tmp_path)
    assert found.session.id == first.session.id
    assert found.session.processes == [
        {"record": "process", **process()},
        {"record": "process", **process(stage=1)},
    ]
    assert found.session.stages == [Stage(1, 2, {"row": (Item("x", 0),)})]
    assert found.session.measured(0, 0, "row") == {Item("x", 0)}
    assert found.session.measured(0, 1, "row") == set()
    assert (found.session.seconds, found.session.timed_seconds) == (4.0, 3.0)


def test_another_plan_commit_or_version_starts_afresh(tmp_path):
    Journal.start(tmp_path, "c0", PLAN, VERSIONS).close()
    assert resume(tmp_path, commit="c1") is None
    assert resume(tmp_path, plan={**PLAN, "rounds": 3}) is None
    assert resume(tmp_path, versions={"x": "2"}) is None
    assert resume(tmp_path) is not None


def test_finished_session_is_not_taken_up(tmp_path):
    first = Journal.start(tmp_path, "c0", PLAN, VERSIONS)
    first.finish()
    first.close()
    assert resume(tmp_path) is None


def test_open_session_is_not_taken_up(tmp_path):
    first = Journal.start(tmp_path, "c0", PLAN, VERSIONS)
    assert resume(tmp_path) is None
    first.close()
    assert resume(tmp_path) is not None


def test_line_cut_by_a_kill_costs_itself_only(tmp_path):
    first = Journal.start(tmp_path, "c0", PLAN, VERSIONS)
    first.append_process(process(0))
    first.close()
    whole = first.path.read_bytes()
    with open(first.path, "ab") as stream:
        stream.write(json.dumps({"record": "process", **process(1)}).encode()[:-20])
    found = resume(tmp_path)
    assert first.path.read_bytes() == whole
    assert len(found.session.processes) == 1
    found.append_process(process(1))
    found.close()
    assert [each["round"] for each in journal.read(first.path).processes] == [0, 1]


def test_head_cut_by_a_kill_is_no_session(tmp_path):
    first = Journal.start(tmp_path, "c0", PLAN, VERSIONS)
    first.close()
    os.truncate(first.path, 40)
    assert resume(tmp_path) is None


def test_records_of_other_kinds_and_broken_ones_are_passed_over(tmp_path):
    first = Journal.start(tmp_path, "c0", PLAN, VERSIONS)
    first.append_process(process())
    first.close()
    with open(first.path, "a") as stream:
        stream.write('{"record": "weather"}\nnonsense\n{"record": "process", "env_name": "row"}\n[1]\n')
    assert len(resume(tmp_path).session.processes) == 1


@pytest.mark.parametrize(
    "damage",
    [
        {"entries": 5},
        {"entries": [7]},
        {"entries": [{"benchmark": [], "index": 0}]},
        {"entries": [{"benchmark": "x", "index": {}}]},
        {"entries": [{"benchmark": "x", "index": 0, "number": []}]},
        {"entries": [{"benchmark": "x", "index": 0, "status": 3}]},
        {"entries": [{"benchmark": "x", "index": 0, "samples": ["1"]}]},
        {"entries": [{"benchmark": "x", "index": 0, "samples": 5}]},
        {"entries": [{"benchmark": "x", "index": 0, "seconds": "long"}]},
        {"round": float("inf")},
        {"round": "0"},
        {"stage": float("nan")},
        {"env_name": None},
        {"started": 0},
        {"python_seconds": "2"},
        {"timed_seconds": None},
    ],
)
def test_process_that_is_not_what_it_should_be_is_passed_over(tmp_path, damage):
    first = Journal.start(tmp_path, "c0", PLAN, VERSIONS)
    first.append_process(process())
    first.close()
    with open(first.path, "a") as stream:
        stream.write(json.dumps({"record": "process", **process(1), **damage}) + "\n")
    session = resume(tmp_path).session
    assert [each["round"] for each in session.processes] == [0]
    assert session.measured(0, 1, "row") == set()
    assert (session.seconds, session.timed_seconds) == (2.0, 1.5)


@pytest.mark.parametrize(
    "damage",
    [{"stage": float("inf")}, {"rounds": []}, {"selection": 5}, {"selection": {"row": 5}}, {"selection": {"row": [1]}}],
)
def test_stage_that_is_not_what_it_should_be_is_passed_over(tmp_path, damage):
    first = Journal.start(tmp_path, "c0", PLAN, VERSIONS)
    first.close()
    with open(first.path, "a") as stream:
        stream.write(json.dumps({**Stage(1, 2, {}).as_record(), **damage}) + "\n")
    assert resume(tmp_path).session.stages == []


def test_record_that_lacks_its_end_of_line_alone_is_measured_again(tmp_path):
    first = Journal.start(tmp_path, "c0", PLAN, VERSIONS)
    first.append_process(process(0))
    first.close()
    os.truncate(first.path, first.path.stat().st_size - 1)
    found = resume(tmp_path)
    assert found.session.measured(0, 0, "row") == set()
    found.append_process(process(0))
    found.close()
    assert [each["round"] for each in journal.read(first.path).processes] == [0]


def test_what_is_no_journal_is_passed_over(tmp_path):
    Journal.start(tmp_path, "c0", PLAN, VERSIONS).close()
    (tmp_path / "sessions" / "x.jsonl").mkdir()
    (tmp_path / "sessions" / "y.jsonl").symlink_to("nowhere")
    assert resume(tmp_path) is not None


def test_session_of_another_schema_is_left_alone(tmp_path):
    first = Journal.start(tmp_path, "c0", PLAN, VERSIONS)
    first.close()
    first.path.write_text(first.path.read_text().replace('"schema": 1', '"schema": 2'))
    assert resume(tmp_path) is None
