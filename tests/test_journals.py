"""Session journals: which process measured which samples."""

import json
import math

import pytest

from bumps import journals

PROCESS = {"record": "process", "env_name": "row", "round": 1, "started": "2025-01-01T00:00:00+00:00", "ended": None}


def write(folder, name, *records):
    path = folder / "sessions" / f"{name}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in records))


def entry(samples, **more):
    return {"benchmark": "b", "index": 2, "samples": samples, "number": 1, **more}


def test_entries_come_in_the_order_of_time_over_all_sessions(tmp_path):
    write(tmp_path, "later", {"record": "session", "id": "2"}, {**PROCESS, "started": 200, "entries": [entry([2.0])]})
    write(
        tmp_path, "zzz", {"record": "session", "id": "1"}, {**PROCESS, "started": 100, "entries": [entry([1.0, 3.0])]}
    )
    found = journals.read(tmp_path)
    first, second = found.entries["row", "b", 2]
    assert (first.process.session, first.median, first.count) == ("1", 2.0, 2)
    assert (second.process.session, second.median, second.count) == ("2", 2.0, 1)
    assert first.digest == journals.digest([1.0, 3.0]) != second.digest


def test_what_happened_instead_is_kept(tmp_path):
    failed = {"benchmark": "b", "index": 0, "status": "timeout", "reason": "timed out after 300 s"}
    write(tmp_path, "one", {**PROCESS, "stage": 2, "entries": [failed], "disturbed": ["shared"]})
    ((found,),) = journals.read(tmp_path).entries.values()
    assert (found.status, found.reason, found.count) == ("timeout", "timed out after 300 s", 0)
    assert (found.process.session, found.process.stage, found.process.disturbed) == ("one", 2, ("shared",))


def test_malformed_entries_are_passed_over(tmp_path):
    entries = [3, {"benchmark": None}, entry(["x"]), entry([math.nan]), entry([]), entry([True]), entry([1.0])]
    write(tmp_path, "one", {**PROCESS, "entries": entries}, {**PROCESS, "entries": "no list"}, '{"record": "pro')
    ((found,),) = journals.read(tmp_path).entries.values()
    assert found.median == 1.0


def test_no_sessions_is_an_empty_journal(tmp_path):
    assert journals.read(tmp_path).entries == {}


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("1970-01-01T00:00:10+00:00", 10.0),
        ("1970-01-01T00:00:10Z", 10.0),
        (10, 10.0),
        ("yesterday", None),
        (None, None),
        (math.inf, None),
        (True, None),
    ],
)
def test_times(time, expected):
    assert journals.seconds(time) == expected


def test_a_line_nested_too_deep_to_parse_is_passed_over(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("[" * 200_000 + '\n{"record": "finished"}\n')
    assert list(journals.records(path)) == [{"record": "finished"}]
