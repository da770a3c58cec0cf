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


def test_a_process_record_keeps_everything_but_the_samples():
    line = json.dumps(
        {
            "record": "process",
            "env_name": "row",
            "entries": [
                {"benchmark": "a", "index": 0, "samples": [1.0, 2.0, 4.0], "number": 1},
                {"benchmark": "b", "index": 0, "samples": [40], "number": None},
                {"benchmark": "c", "index": 0, "status": "failed", "reason": "no"},
            ],
        }
    ).encode()
    thinned = thinning.journal_line(line)
    assert json.loads(thinned)["entries"] == [
        {"benchmark": "a", "index": 0, "samples": [2.0], "number": 1},
        {"benchmark": "b", "index": 0, "samples": [40], "number": None},
        {"benchmark": "c", "index": 0, "status": "failed", "reason": "no"},
    ]
    assert thinning.journal_line(thinned) == thinned


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
    assert thinning.journal_line(line) == line
    assert thinning.sidecar_lines([line], EPOCH, []) == [line]


def sidecar(*records):
    return [json.dumps({"time": iso(EPOCH + second), **record}).encode() for second, record in enumerate(records)]


def kept(lines, before=EPOCH + 100, spans=()):
    stay = thinning.sidecar_lines(lines, before, spans)
    return [number for number, line in enumerate(lines) if line in stay]


AUDIT = {"record": "audit", "benchmark": "b", "params": ["x"], "audit": "work", "version": "1", "outcome": "ok"}
TELEMETRY = {"record": "telemetry", "benchmark": "b", "params": ["x"], "disturbed": []}
COST = {"record": "cost", "benchmark": "b", "params": ["x"], "setup_seconds": 1.0}


def test_of_old_records_that_say_the_same_the_newest_stays():
    lines = sidecar(AUDIT, {**AUDIT, "version": "2"}, {**AUDIT, "outcome": "elided"}, {**AUDIT, "params": ["y"]})
    assert kept(lines) == [1, 2, 3]
    assert kept(lines, before=EPOCH) == [0, 1, 2, 3]
    assert kept(lines, before=EPOCH + 0.5) == [1, 2, 3]


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
