"""The commands over stored results, run as a user runs them, on results that stock asv 0.6.6 wrote for another suite.

`data/foreign_*`: a suite of NumPy reductions over numpy 2.1.3 and 2.2.6 in asv's own virtualenvs, with
`--interleave-rounds --record-samples` and plain; on 2.2.6 one benchmark was made to fail.
"""

import csv
import json
import os
import pathlib
import subprocess
import sys

import jsonschema
import pyarrow.parquet
import pytest
from archive import NAN, benchmark, samples_of, write_row, write_suite

from bumps import check, cli

DATA = pathlib.Path(__file__).parent / "data"
INTERLEAVED = DATA / "foreign_interleaved"
NUMPY = ["--framework", "numpy", "--old", "2.1.3", "--new", "2.2.6"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """No command may find this project's own results, configuration or acknowledgements."""
    monkeypatch.chdir(tmp_path)


def run(capsys, *arguments):
    status = cli.main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def report_of(capsys, *arguments):
    status, out, _ = run(capsys, "check", *NUMPY, "--json", *arguments)
    report = json.loads(out)
    jsonschema.validate(report, json.loads((pathlib.Path(check.__file__).parent / "schema.json").read_text()))
    assert report["summary"]["exit_status"] == status
    return report


def test_another_suites_results_with_samples(capsys):
    report = report_of(capsys, "--results", INTERLEAVED, "--assume-interleaved")
    by_name = {(row["name"], *row["params"].values()): row for row in report["benchmarks"]}
    measured = by_name["arrays.Reductions.time_sum", "100", "float32"]
    assert measured["processes_old"] == measured["processes_new"] == 3
    assert measured["unit"] == "seconds"
    broken = by_name["arrays.Reductions.time_fails_new", "100", "float64"]
    assert broken["verdict"] == "broken"
    assert by_name["arrays.track_attributes",]["figure_old"] == 537
    # Without a fixed repeat, asv's own interval is all that can be used.
    adaptive = by_name["arrays.Adaptive.time_sort",]
    assert adaptive["verdict"] == "ambiguous"
    assert adaptive["processes_old"] == 0
    assert adaptive["low"] < adaptive["ratio"] < adaptive["high"]
    # Skipped on both sides: asv's NaN.
    assert ("arrays.Reductions.time_sum", "10000", "float32") not in by_name
    assert report["not_selected"] == 2
    assert report["components"] == []
    assert report["summary"]["exit_status"] == 1


def test_another_suites_results_without_samples_are_never_better_than_ambiguous(capsys):
    report = report_of(capsys, "--results", DATA / "foreign_plain", "--assume-interleaved")
    assert {row["verdict"] for row in report["benchmarks"]} == {"ambiguous", "broken"}


def test_text_and_markdown_say_the_same(capsys):
    status, text, _ = run(capsys, "check", *NUMPY, "--results", INTERLEAVED)
    assert status == 1
    assert text.startswith("numpy 2.1.3 → 2.2.6: 2 broken, ")
    assert "arrays.Reductions.time_fails_new(100, float32)" in text
    status, markdown, _ = run(capsys, "check", *NUMPY, "--results", INTERLEAVED, "--markdown")
    assert status == 1
    assert "| broken | arrays.Reductions.time\\_fails\\_new(100, float32) |" in markdown


def test_wrong_usage_is_one_line_and_status_2(capsys):
    for arguments in (
        ["check", *NUMPY, "--results", "nowhere"],
        ["check", *NUMPY, "--results", INTERLEAVED, "--machine", "other"],
        ["check", *NUMPY, "--results", INTERLEAVED, "--where", "scipy"],
        ["check", "--framework", "numpy", "--old", "2.1", "--new", "2.2.6", "--results", INTERLEAVED],
        ["check", *NUMPY, "--results", INTERLEAVED, "--config", "nowhere.json"],
        ["history", "scipy", "--results", INTERLEAVED],
        ["history", "numpy", "--results", INTERLEAVED, "--bench", "("],
        ["export", "--csv", "nowhere/x.csv", "--results", INTERLEAVED],
        ["acknowledge", "numpy", "2.2.6"],
    ):
        status, out, err = run(capsys, *arguments)
        assert status == 2, arguments
        assert out == ""
        assert err.startswith("bumps: ")
        assert err.count("\n") == 1


def steady_rows(folder, releases=("0.9.2", "0.10.2")):
    each = benchmark("chain.time_plain")
    write_suite(folder, [each])
    levels = [1.0, 1.001, 0.999, 1.0, 1.001]
    return [write_row(folder, {"jax": release}, [(each, [samples_of(levels)])])[0] for release in releases]


def test_strict_fails_only_when_something_was_excluded(capsys, tmp_path):
    steady_rows(tmp_path / "results")
    command = ["check", "--framework", "jax", "--old", "0.9.2", "--new", "0.10.2", "--assume-interleaved", "--strict"]
    assert run(capsys, *command)[0] == 0
    (tmp_path / "results" / "box" / "0-truncated.json").write_text('{"commit')
    status, out, _ = run(capsys, *command)
    assert status == 5
    assert "box/0-truncated.json: is no JSON" in out
    command.remove("--strict")
    assert run(capsys, *command)[0] == 0


def test_the_margin_comes_from_the_configuration(capsys, tmp_path):
    steady_rows(tmp_path / "results")
    (tmp_path / "asv.conf.json").write_text(
        json.dumps({"version": 1, "project": "p", "repo": ".", "regressions_thresholds": {"chain.time_": 0.2}})
    )
    _, out, _ = run(capsys, "check", "--framework", "jax", "--old", "0.9.2", "--new", "0.10.2", "--json")
    assert json.loads(out)["benchmarks"][0]["margin"] == pytest.approx(0.2)


def test_acknowledge_writes_what_check_reads(capsys, tmp_path):
    arguments = ["acknowledge", "numpy", "2.2.6", "--bench", "fails_new", "--until", "2.3", "--who", 'A "B"', "--why"]
    status, out, _ = run(capsys, *arguments, "planted")
    assert status == 0
    assert "commit it" in out
    report = report_of(capsys, "--results", INTERLEAVED)
    known = [row["acknowledged"] for row in report["benchmarks"] if row["verdict"] == "broken"]
    assert known == [{"who": 'A "B"', "why": "planted", "until": "2.3"}] * 2
    assert report["summary"]["acknowledged"] == 2
    assert report["summary"]["exit_status"] == 3
    _, out, _ = run(capsys, "acknowledge")
    assert "planted" in out
    text = (tmp_path / "acknowledged.toml").read_text()
    (tmp_path / "acknowledged.toml").write_text(text + "\nnonsense")
    assert run(capsys, "check", *NUMPY, "--results", INTERLEAVED)[0] == 2


def test_export_has_one_line_a_process(capsys, tmp_path):
    assert run(capsys, "export", "--csv", "x.csv", "--results", INTERLEAVED)[0] == 0
    with open("x.csv", newline="") as stream:
        lines = list(csv.DictReader(stream))
    chosen = [
        line
        for line in lines
        if line["benchmark"] == "arrays.Reductions.time_sum"
        and (line["param_n"], line["param_dtype"]) == ("100", "float32")
        and "numpy==2.1.3" in line["requirements"]
    ]
    assert [line["process"] for line in chosen] == ["1", "2", "3"]
    assert all(float(line["figure"]) > 0 for line in chosen)
    assert {line["status"] for line in lines} == {"measured", "failed", "uncut"}
    assert run(capsys, "export", "--parquet", "x.parquet", "--results", INTERLEAVED)[0] == 0
    assert pyarrow.parquet.read_table("x.parquet").num_rows == len(lines)


def test_export_says_which_framework_ran_in_a_row_that_holds_both(capsys, tmp_path):
    each = benchmark("chain.time_it", [["'torch'", "'jax'"]], ["framework"])
    write_suite(tmp_path / "results", [each])
    values = [(each, [samples_of([1.0, 1.1]), samples_of([2.0, 2.1])])]
    write_row(tmp_path / "results", {"jax": "0.11.2", "torch": "2.11.0"}, values)
    assert run(capsys, "export", "--csv", "x.csv")[0] == 0
    with open("x.csv", newline="") as stream:
        found = {(line["param_framework"], line["framework"], line["release"]) for line in csv.DictReader(stream)}
    assert found == {("torch", "torch", "2.11.0"), ("jax", "jax", "0.11.2")}


def test_acknowledge_says_how_many_benchmarks_it_names(capsys, tmp_path):
    each = benchmark("chain.time_it", [["'torch'", "'jax'"]], ["framework"])
    write_suite(tmp_path / "results", [each])
    write_row(tmp_path / "results", {"jax": "0.11.2"}, [(each, [samples_of([1.0]), samples_of([2.0])])])
    known = ["acknowledge", "jax", "0.11.2", "--until", "0.12.0", "--why", "x", "--bench"]
    status, out, err = run(capsys, *known, r"time_it\('jax'")
    assert (status, err) == (0, "")
    assert out.startswith("1 of the 2 stored benchmarks match\n")
    status, out, err = run(capsys, *known, "nosuchbench")
    assert status == 0
    assert err == "bumps: 'nosuchbench' matches none of the 2 stored benchmarks\n"


def test_history_names_both_releases_of_a_repaired_regression(capsys, tmp_path):
    each = benchmark("chain.time_plain")
    write_suite(tmp_path / "results", [each])
    for release, level in (("0.9.2", 1.0), ("0.10.2", 1.5), ("0.11.2", 1.5), ("0.12.0", 1.0)):
        samples = samples_of([level * (1 + 0.001 * (number % 3)) for number in range(5)])
        write_row(tmp_path / "results", {"jax": release}, [(each, [samples])])
    # Rows that alternate over two commits, since stock files say no more of their order.
    status, out, _ = run(capsys, "history", "jax", "--bench", "plain", "--assume-interleaved")
    assert status == 0
    assert "regressed in 0.10.2, repaired in 0.12.0" in out
    assert [line.split()[0] for line in out.splitlines()[2:6]] == ["0.9.2", "0.10.2", "0.11.2", "0.12.0"]


def test_names_from_results_are_shown_as_text(capsys, tmp_path):
    name = "a|[red]<script>.time_x"
    each = benchmark(name, [["'`|'", "'[/]'"]], ["p[0]"])
    write_suite(tmp_path / "results", [each])
    for release in ("0.9.2", "0.10.2"):
        write_row(tmp_path / "results", {"jax": release}, [(each, [samples_of([1.0]), NAN])])
    command = ["check", "--framework", "jax", "--old", "0.9.2", "--new", "0.10.2", "--all"]
    _, text, _ = run(capsys, *command)
    assert f"{name}(`|)" in text
    _, markdown, _ = run(capsys, *command, "--markdown")
    assert "a\\|\\[red\\]\\<script\\>.time\\_x(\\`\\|)" in markdown


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
@pytest.mark.parametrize("form", [[], ["--markdown"]])
def test_what_a_terminal_cannot_show_is_escaped_and_changes_no_exit_status(tmp_path, encoding, form):
    each = benchmark("chain.time_plain", [["'α'", "'\udcff'"]], ["p"])
    write_suite(tmp_path / "results", [each])
    for release in ("0.9.2", "0.10.2"):
        write_row(tmp_path / "results", {"jax": release}, [(each, [samples_of([1.0]), samples_of([1.0])])])
    command = ["check", "--framework", "jax", "--old", "0.9.2", "--new", "0.10.2", "--all", *form]
    found = subprocess.run(
        [sys.executable, "-m", "bumps", *command],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(pathlib.Path(check.__file__).parent.parent), "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert found.stderr == b""
    assert found.returncode == 3
    assert b"chain.time" in found.stdout
    assert b"udcff" in found.stdout
