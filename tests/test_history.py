"""A benchmark over the releases: which release brought a regression, and which repaired it."""

import json

import pytest
from archive import benchmark, samples_of, write_row, write_suite, write_unlike_devices

from bumps import cli
from bumps.history import Point, Regression, regressions


def points(*steps):
    """`steps` are (verdict, ratio) of each release from the second on; releases are 1.0, 2.0, …"""
    return [Point("1.0", 1.0), *(Point(f"{n}.0", 1.0, verdict, ratio) for n, (verdict, ratio) in enumerate(steps, 2))]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("same", 1.0), ("same", 1.01)], []),
        ([("regressed", 1.5)], [Regression("2.0", None, 1.5)]),
        ([("regressed", 1.5), ("same", 1.0), ("improved", 0.64)], [Regression("2.0", "4.0", pytest.approx(0.96))]),
        # An improvement that gives back only a part repairs nothing.
        ([("regressed", 2.0), ("improved", 0.75)], [Regression("2.0", None, pytest.approx(1.5))]),
        # Two improvements together do.
        ([("regressed", 2.0), ("improved", 0.75), ("improved", 0.7)], [Regression("2.0", "4.0", pytest.approx(1.05))]),
        # Repaired, and lost again later.
        (
            [("regressed", 1.5), ("improved", 0.66), ("regressed", 1.5)],
            [Regression("2.0", "3.0", pytest.approx(1.485)), Regression("4.0", None, 1.5)],
        ),
        # A gap in what was compared: nothing can be said of what is left.
        ([("regressed", 1.5), ("unmeasured", None), ("improved", 0.5)], [Regression("2.0", None, None)]),
        ([("broken", None), ("unmeasured", None), ("fixed", None)], [Regression("2.0", "4.0", None)]),
        ([("broken", None)], [Regression("2.0", None, None)]),
    ],
)
def test_regressions_and_their_repair(steps, expected):
    assert list(regressions(points(*steps), margin=0.06)) == expected


def test_a_pair_that_cannot_be_judged_is_a_gap(tmp_path, capsys):
    steps = benchmark("suite.Steps.time_it")
    samples = samples_of([1.0, 1.01, 0.99, 1.0, 1.0])
    write_unlike_devices(tmp_path, "jax", "0.9.2", "0.10.2", steps, samples)
    write_suite(tmp_path, [steps])
    assert cli.main(["history", "jax", "--results", str(tmp_path), "--json"]) == 2
    assert "the two rows saw other devices" in capsys.readouterr().err
    for release in ("0.8.0", "0.8.1"):
        write_row(tmp_path, {"jax": release}, [(steps, [samples])], env_vars={"BENCH_ACCELERATOR": "cuda13"})
    assert cli.main(["history", "jax", "--results", str(tmp_path), "--json"]) == 0
    found = capsys.readouterr()
    (history,) = json.loads(found.out)
    assert [each["release"] for each in history["points"]] == ["0.8.0", "0.8.1", "0.9.2"]
    assert found.err.count("jax 0.9.2 → 0.10.2 on box: the two rows saw other devices") == 1
