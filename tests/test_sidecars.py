"""A row's sidecar: the newest record counts, whatever is malformed counts as not said."""

import json
import pathlib

import pytest

from bumps import sidecars
from bumps.results import Row, sidecar_of

KEY = ("chain.time_step", ("jax", "fp32"))
STATED = {"benchmark": "chain.time_step", "params": ["'jax'", "'fp32'"]}


@pytest.fixture
def read(tmp_path):
    folder = tmp_path / "box"
    folder.mkdir()

    def write_and_read(*records, env_name="row", file="row.jsonl"):
        text = "".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in records)
        (folder / file).write_text(text)
        return sidecars.read(Row(folder, "box", env_name, "3.11", {}, {}))

    return write_and_read


def test_no_sidecar_says_nothing(tmp_path):
    found = sidecars.read(Row(tmp_path, "box", "row", "3.11", {}, {}))
    assert (found.environment, found.unbuildable, found.audits, found.skipped(KEY)) == ({}, None, {}, None)


def test_the_newest_inventory_counts_and_a_build_ends_being_unbuildable(read):
    found = read(
        {"record": "environment", "packages": {"jax": "1"}},
        {"record": "unbuildable", "reason": "disk full"},
        {"record": "environment", "packages": {"jax": "2"}},
    )
    assert found.environment["packages"] == {"jax": "2"}
    assert found.unbuildable is None
    assert read({"record": "unbuildable", "reason": "disk full"}).unbuildable == "disk full"


def test_flags_are_those_of_the_benchmarks_version(read):
    found = read(
        {"record": "audit", **STATED, "version": "1", "audit": "work", "outcome": "elided"},
        {"record": "audit", **STATED, "version": "1", "audit": "precision", "outcome": "ok"},
        {"record": "audit", **STATED, "version": "1", "audit": "overhead", "outcome": "overhead-bound"},
        # The newest finding of an audit replaces an older one.
        {"record": "audit", **STATED, "version": "1", "audit": "overhead", "outcome": "ok"},
    )
    assert found.flags(KEY, "1") == ["elided"]
    assert found.flags(KEY, "2") == []
    assert found.flags(("other", ()), "1") == []


def test_reasons_by_parameters_or_by_asvs_number(read):
    found = read(
        {"record": "status", **STATED, "status": "skipped", "reason": "needs a GPU"},
        {"record": "status", "benchmark": "chain.time_step", "index": 3, "status": "timeout", "reason": "timed out"},
    )
    assert found.skipped(KEY) == "needs a GPU"
    assert found.failed(KEY, 3) is None
    assert found.failed(("chain.time_step", ("torch", "fp32")), 3) == "timed out"
    assert found.failed(("chain.time_step", ("torch", "fp32")), 2) is None


def test_what_was_disturbed_between_two_times(read):
    found = read(
        {"record": "telemetry", **STATED, "time": "2025-01-01T00:01:00+00:00", "disturbed": ["thermal slowdown"]},
        {"record": "telemetry", **STATED, "time": "2025-01-01T00:02:00+00:00", "disturbed": []},
        {"record": "telemetry", **STATED, "time": "no time", "disturbed": ["x"]},
    )
    minute = 1735689660.0
    assert found.disturbed([KEY], minute - 5, minute + 5) == ("thermal slowdown",)
    assert found.disturbed([KEY], minute + 5, minute + 100) == ()
    assert found.disturbed([("other", ())], minute - 5, minute + 5) == ()


def test_malformed_records_are_passed_over(read):
    found = read(
        "no JSON\n",
        "[1]\n",
        {"no": "record"},
        {"record": 3},
        {"record": "audit", "benchmark": 3, "params": [], "audit": "work", "outcome": "elided"},
        {"record": "audit", **STATED, "audit": None, "outcome": "elided"},
        {"record": "status", "benchmark": "x", "params": "no list", "status": "skipped"},
        {"record": "telemetry", **STATED, "time": 1.0, "disturbed": "no list"},
        {"record": "from the future", "x": 1},
        '{"record": "environment", "packages": {"jax"',
    )
    assert (found.environment, found.audits, found.reasons, found.disturbances) == ({}, {}, {}, {})


def test_a_long_name_is_looked_up_as_asv_shortens_it(read):
    env_name = "x" * 200
    found = read(
        {"record": "unbuildable", "reason": "r"}, env_name=env_name, file="env-30a83621ce5422fbdfdd539777458c78.jsonl"
    )
    assert found.unbuildable == "r"


def test_a_rows_name_makes_no_path(tmp_path):
    (tmp_path / "box").mkdir()
    (tmp_path / "secret.jsonl").write_text("{}")
    for env_name in ("../secret", str(tmp_path / "secret")):
        assert sidecar_of(Row(pathlib.Path(tmp_path / "box"), "box", env_name, "3.11", {}, {})) is None
