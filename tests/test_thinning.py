"""What a prune keeps of samples and records."""

import json

import pytest
from archive import EPOCH, iso

from bumps import cutting, journals, thinning
from bumps.cutting import Piece
from bumps.journals import Entry, Process

PROCESS = Process("s1", 0, 0, "row", EPOCH, EPOCH + 5)


def entry(samples, median):
    return Entry(PROCESS, len(samples), journals.digest(samples), median)


A, B = entry([1.0, 3.0], 2.0), entry([5.0, 6.0, 7.0], 6.0)


def test_samples_are_cut_by_the_journal_and_before_it_by_the_fixed_repeat():
    assert cutting.cut([9.0, 8.0, 1.0, 3.0, 5.0, 6.0, 7.0], [A, B], 2) == [
        Piece(0, 2),
        Piece(2, 4, A),
        Piece(4, 7, B),
    ]
    assert cutting.cut([9.0, 8.0, 7.5, 1.0, 3.0], [A], 2) is None
    assert cutting.cut([9.0], [A], None) is None


def test_a_median_stands_for_a_process():
    assert cutting.cut([2.0, 5.0, 6.0, 7.0], [A, B], None) == [Piece(0, 1, A), Piece(1, 4, B)]
    assert cutting.cut([2.0, 6.0], [A, B], None) == [Piece(0, 1, A), Piece(1, 2, B)]
    assert cutting.cut([2.5, 6.0], [A, B], None) is None


def test_medians_that_no_session_tells_of_are_recognised_by_their_digest_wherever_they_stand():
    run = (3, journals.digest([1.0, 2.0, 3.0]))
    assert cutting.cut([1.0, 2.0, 3.0], [], 2, {run}) == [Piece(0, 1), Piece(1, 2), Piece(2, 3)]
    assert cutting.cut([8.0, 9.0, 1.0, 2.0, 3.0], [], 2, {run}) == [Piece(0, 2), Piece(2, 3), Piece(3, 4), Piece(4, 5)]
    assert cutting.cut([1.0, 2.0, 4.0], [], 2, {run}) is None
    assert cutting.cut([1.0], [], None, {(0, journals.digest([]))}) is None


def test_medians_stand_for_old_processes_alone():
    pieces = [Piece(0, 2, A), Piece(2, 5, B)]
    assert thinning.samples([1.0, 3.0, 5.0, 6.0, 7.0], pieces, lambda piece: piece.entry is A) == [2.0, 5.0, 6.0, 7.0]


HEAD = {"record": "session", "id": "s1", "schema": 1, "plan": {"framework": "jax", "selection": {"row": [["a", 0]]}}}
PROCESS_RECORD = {
    "record": "process",
    "env_name": "row",
    "round": 0,
    "started": iso(EPOCH),
    "ended": iso(EPOCH + 5),
    "entries": [
        {"benchmark": "a", "index": 0, "seconds": 2.5, "samples": [1.0, 2.0, 4.0], "number": 1},
        {"benchmark": "c", "index": 0, "status": "failed", "reason": "no"},
        {"benchmark": "b", "index": 3, "seconds": 0.5, "samples": [40], "number": None},
    ],
}
FINISHED = {"record": "finished", "ended": iso(EPOCH + 9)}


def lines_of(*records):
    return [json.dumps(record).encode() for record in records]


def test_an_unfinished_session_keeps_everything_but_the_samples():
    lines = lines_of(HEAD, PROCESS_RECORD)
    thinned = thinning.journal_lines(lines)
    assert thinned[0] == lines[0]
    assert json.loads(thinned[1])["entries"] == [
        {"benchmark": "a", "index": 0, "seconds": 2.5, "samples": [2.0], "number": 1},
        {"benchmark": "c", "index": 0, "status": "failed", "reason": "no"},
        {"benchmark": "b", "index": 3, "seconds": 0.5, "samples": [40], "number": None},
    ]
    assert thinning.journal_lines(thinned) == thinned


def test_a_finished_session_is_packed_and_read_the_same(tmp_path):
    lines = lines_of(HEAD, PROCESS_RECORD, {**PROCESS_RECORD, "round": 1}, FINISHED)
    packed = thinning.journal_lines(lines)
    records = [json.loads(line) for line in packed]
    assert records[0]["plan"] == {"framework": "jax"}
    assert records[1] == {"record": "items", "items": [["a", 0, 1], ["b", 3, None]]}
    for record in records[2:4]:
        assert record["medians"] == [[0, 2.0], [1, 40]]
        assert record["entries"] == [{"benchmark": "c", "index": 0, "status": "failed", "reason": "no"}]
    assert records[4] == FINISHED
    assert thinning.journal_lines(packed) == packed
    found = []
    for name, content in (("whole", lines), ("packed", packed)):
        path = tmp_path / name / "sessions" / "s1.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"\n".join(content))
        read = journals.read(tmp_path / name)
        found.append(
            {key: [(each.process, each.median, each.reason) for each in read.entries[key]] for key in read.entries}
        )
    assert found[0] == found[1]
    assert sorted(found[0]) == [("row", "a", 0), ("row", "b", 3), ("row", "c", 0)]


def test_a_journal_says_the_same_whole_thinned_and_packed():
    whole = lines_of(HEAD, PROCESS_RECORD, FINISHED)
    assert len(thinning.journal_statements(whole)) == 3
    assert thinning.journal_statements(thinning.journal_lines(whole)) == thinning.journal_statements(whole)
    thinned = thinning.journal_lines(whole[:2])
    assert thinning.journal_statements(thinned) == thinning.journal_statements(whole)[:2]
    other = {**PROCESS_RECORD, "entries": [{**PROCESS_RECORD["entries"][0], "samples": [1.0, 2.5, 4.0]}]}
    assert thinning.journal_statements(lines_of(HEAD, other, FINISHED)) != thinning.journal_statements(whole)


@pytest.mark.parametrize(
    "medians", [None, 7, [7], [[0]], [["a", 1.0]], [[-1, 1.0]], [[5, 1.0]], [[0, None]], [[True, 1]]]
)
@pytest.mark.parametrize("items", [[], [None], [["a"]], [[7, 0, 1]], [["a", "0", 1]]])
def test_malformed_packed_records_say_nothing(medians, items):
    assert list(journals.unpacked(items, {"record": "process", "medians": medians})) == []


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b"[]",
        b"7",
        b'{"record": "process"}',
        b'{"record": "process", "entries": 7}',
        b'{"record": "process", "entries": [7, {"samples": "many"}, {"samples": [1e999, 1]}]}',
        b'{"record": "session", "entries": [{"samples": [1, 2]}]}',
    ],
)
def test_lines_of_other_kinds_stay_as_they_are(line):
    assert thinning.journal_lines([line]) == [line]
    assert thinning.journal_lines([*lines_of(HEAD), line, *lines_of(FINISHED)])[-1] == lines_of(FINISHED)[0]
    assert thinning.sidecar_lines([line], []) == [line]
    thinning.journal_statements([line])


def sidecar(*records):
    return [json.dumps({"time": iso(EPOCH + second), **record}).encode() for second, record in enumerate(records)]


def kept(lines, spans=()):
    stay = thinning.sidecar_lines(lines, spans)
    return [number for number, line in enumerate(lines) if line in stay]


AUDIT = {"record": "audit", "benchmark": "b", "params": ["x"], "audit": "work", "version": "1", "outcome": "ok"}
TELEMETRY = {"record": "telemetry", "benchmark": "b", "params": ["x"], "disturbed": []}
COST = {"record": "cost", "benchmark": "b", "params": ["x"], "setup_seconds": 1.0}


def test_of_records_that_say_the_same_the_newest_stays():
    lines = sidecar(AUDIT, {**AUDIT, "version": "2"}, {**AUDIT, "outcome": "elided"}, {**AUDIT, "params": ["y"]})
    assert kept(lines) == [1, 2, 3]


def test_what_changes_verdicts_stays():
    disturbed = {**TELEMETRY, "disturbed": ["throttled"]}
    assert kept(sidecar(disturbed, TELEMETRY, disturbed, TELEMETRY)) == [0, 2, 3]
    # Times of processes of which no journal tells.
    assert kept(sidecar(COST, COST)) == [0, 1]
    assert kept(sidecar(COST, COST), spans=[(EPOCH - 1, EPOCH + 3)]) == [1]


def test_names_of_kernels_and_inventories_that_differ_stay():
    kernels = {"record": "kernels", "benchmark": "b", "params": [], "set": "s", "kernels": 3}
    assert kept(sidecar({**kernels, "names": ["k"]}, kernels, kernels, {**kernels, "set": "t"})) == [0, 2, 3]
    inventory = {"record": "environment", "packages": {"jax": "1"}, "driver": "5", "build_seconds": 3}
    assert kept(sidecar(inventory, {**inventory, "driver": "6"}, {**inventory, "build_seconds": 0})) == [1, 2]


def test_records_of_unknown_kinds_stay():
    assert kept(sidecar({"record": "new"}, {"record": "new"}, {"record": ["audit"]}, {"record": ["audit"]})) == [
        0,
        1,
        2,
        3,
    ]
