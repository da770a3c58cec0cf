import json

import numpy as np
import pytest
from archive import benchmark, samples_of, write_row, write_suite

from bumps import cli, controls
from bumps.results import Archive

TIMED = benchmark("chain.time_step", params=[["'small'", "'large'"]], param_names=["size"])


def write_controls(folder, spread=0.01):
    generator = np.random.default_rng(1)
    write_suite(folder, [TIMED])
    for variables in ({}, {"REPLICA": "control"}):
        medians = [np.exp(generator.normal(0, spread, 5)).tolist() for _ in range(2)]
        values = [(TIMED, [samples_of(each) for each in medians])]
        write_row(folder, {"jax": "0.10.2"}, values, env_vars={"BENCH_ACCELERATOR": "cpu", **variables})
    write_row(folder, {"jax": "0.9.2"}, values)


def test_stored_controls_are_paired(tmp_path):
    write_controls(tmp_path)
    found = controls.stored(Archive(tmp_path))
    assert [(each.benchmark, each.params) for each in found] == [
        ("chain.time_step", ("'large'",)),
        ("chain.time_step", ("'small'",)),
    ]
    assert [len(each.row.medians) for each in found] == [len(each.replica.medians) for each in found] == [5, 5]
    assert controls.stored(Archive(tmp_path), machine="another") == []


def test_counts_are_no_noise(tmp_path, capsys):
    write_controls(tmp_path)
    write_suite(tmp_path, [{**TIMED, "clock": "kernels"}])
    assert all(each.exact for each in controls.stored(Archive(tmp_path)))
    _, printed = run(capsys, "--results", str(tmp_path), "--benchmarks", "300", "--json")
    assert json.loads(printed.out)["controls"] == {"judged": 0, "alarms": 0}


def run(capsys, *arguments):
    status = cli.main(["calibrate", *arguments])
    return status, capsys.readouterr()


def test_calibrates_from_stored_controls(tmp_path, capsys):
    write_controls(tmp_path)
    status, printed = run(capsys, "--results", str(tmp_path), "--benchmarks", "300", "--json")
    found = json.loads(printed.out)
    assert status == 0
    assert found["schema"] == 1
    assert found["controls"] == {"judged": 2, "alarms": 0}
    (calibration,) = found["calibrations"]
    assert calibration["noise"] == "stored controls"
    assert 0.003 < calibration["sd"]["lowest"] <= calibration["sd"]["highest"] < 0.02
    assert calibration["unchanged"]["benchmarks"] == 300
    assert calibration["unchanged"]["upper_bound_per_1000"] > calibration["unchanged"]["false_alarms_per_1000"]
    assert [each["change"] for each in calibration["detection"]] == [0.03, 0.05, 0.10, 0.20]
    assert calibration["detection"][3]["regressed"] == 1.0


def test_calibrates_from_models_without_controls(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, printed = run(capsys, "--benchmarks", "300")
    assert status == 0
    for words in ("normal model", "heavy-tailed model", "bimodal model", "disturbed model", "No stored controls"):
        assert words in printed.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rounds", "1"], "--rounds must be from 2 to 15, not 1"),
        (["--margin", "5"], "--margin must be between 0 and 1 (0.05 is 5 %), not 5.0"),
        (["--margin", "nan"], "--margin must be between 0 and 1"),
        (["--benchmarks", "10"], "--benchmarks must be at least 300, not 10"),
        (["--results", "nowhere"], "there is no results folder nowhere"),
    ],
)
def test_wrong_usage(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    status, printed = run(capsys, *arguments)
    assert status == 2
    assert message in printed.err


def test_unknown_machine(tmp_path, capsys):
    write_controls(tmp_path)
    status, printed = run(capsys, "--results", str(tmp_path), "--machine", "another")
    assert status == 2
    assert "no results of a machine 'another'" in printed.err
