"""python -m bumps attribute on stored component rows."""

import json
import pathlib

import pytest
from archive import NAN, benchmark, samples_of, write_row, write_sidecar, write_suite
from asv import environment
from asv.config import Config

from bumps import cli, component_rows
from bumps.attribution import Swap

CHAIN = benchmark("chain.Chain.time_step", [["'torch'", "'jax'"]], ["framework"])
CPU = {"BENCH_ACCELERATOR": "cpu"}
COMMAND = ["attribute", "jax", "0.9.2", "0.10.2", "--bench", "Chain", "--stored", "--assume-interleaved"]


def row(release, level, override=None):
    variables = {**CPU, **({"BENCH_OVERRIDE": override} if override else {})}
    samples = samples_of([level * (1 + 0.001 * (number % 3)) for number in range(5)])
    _, env_name = write_row("results", {"jax": release}, [(CHAIN, [NAN, samples])], env_vars=variables)
    return env_name


@pytest.fixture(autouse=True)
def stored(tmp_path, monkeypatch):
    """jax 0.10.2 is slower; so is 0.9.2 with 0.10.2's jaxlib, and not with its numpy."""
    monkeypatch.chdir(tmp_path)
    write_suite("results", [CHAIN])
    for release, level, packages in (
        ("0.9.2", 1.0, {"jax": "0.9.2", "jaxlib": "0.9.2", "numpy": "2.3.0", "scipy": "1.15"}),
        ("0.10.2", 1.5, {"jax": "0.10.2", "jaxlib": "0.10.2", "numpy": "2.4.0", "scipy": "1.15"}),
    ):
        write_sidecar("results", row(release, level), [{"record": "environment", "packages": packages}])


def run(capsys, *more):
    status = cli.main([*COMMAND, *more])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_component_that_carries_the_change_is_named(capsys):
    row("0.9.2", 1.5, "jaxlib==0.10.2")
    row("0.9.2", 1.0, "numpy==2.4.0")
    status, out, _ = run(capsys)
    assert status == 0
    assert "jaxlib 0.9.2 → 0.10.2 (100 % of it) carries the change" in out
    _, out, _ = run(capsys, "--json")
    (found,) = json.loads(out)["benchmarks"]
    assert [carrier["component"] for carrier in found["carriers"]] == ["jaxlib"]


def test_no_component_alone(capsys):
    row("0.9.2", 1.0, "jaxlib==0.10.2")
    row("0.9.2", 1.0, "numpy==2.4.0")
    status, out, _ = run(capsys)
    assert status == 1
    assert "none of the 2 components carries the change alone" in out


def test_what_was_not_measured_is_named(capsys):
    row("0.9.2", 1.5, "jaxlib==0.10.2")
    status, out, _ = run(capsys)
    assert status == 0
    assert "not measured: 0.9.2 with numpy==2.4.0" in out
    # Another version of the component is another row.
    row("0.9.2", 1.0, "numpy==2.9.9")
    assert "not measured: 0.9.2 with numpy==2.4.0" in run(capsys)[1]


def test_wrong_usage(capsys):
    assert run(capsys)[0] == 2
    row("0.9.2", 1.5, "jaxlib==0.10.2")
    assert run(capsys, "--component", "sympy")[0] == 2
    assert run(capsys, "--bench", "nothing")[0] == 2
    assert run(capsys, "--bench", "(")[0] == 2


def test_measuring_needs_a_configuration_and_a_change(capsys):
    command = [argument for argument in COMMAND if argument != "--stored"]
    assert cli.main(command) == 2
    assert "measuring needs asv.conf.json" in capsys.readouterr().err


def test_component_rows_are_rows_of_asv():
    """asv itself makes the old row, the new row and one row for each swap of the old."""
    config = Config()
    config.plugins, config.exclude = [], [{"req": {"torch": ".+"}}]
    swaps = [Swap("numpy", "2.3.0", "2.4.0"), Swap("jaxlib", "0.9.2", "0.10.2")]
    found = component_rows.narrowed(config, "jax", "0.9.2", "0.10.2", swaps, pathlib.Path("elsewhere"))
    rows = [
        (entries["req", "jax"], entries.get(("env", "BENCH_OVERRIDE")))
        for entries in environment.iter_matrix("virtualenv", ["3.11"], found)
    ]
    assert sorted(rows, key=str) == [
        ("0.10.2", None),
        ("0.9.2", "jaxlib==0.10.2"),
        ("0.9.2", "numpy==2.4.0"),
        ("0.9.2", None),
    ]
    assert config.results_dir != found.results_dir == "elsewhere"


def test_a_bump_of_another_machine_is_said_to_be_one(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "asv.conf.json").write_text('{"version": 1, "project": "p", "repo": ".", "results_dir": "results"}')
    measured = [word for word in COMMAND if word != "--stored"]
    assert cli.main(measured) == 2
    assert "measured on box, which this machine is not" in capsys.readouterr().err
