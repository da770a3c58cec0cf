"""Results of real frameworks against float64 NumPy, and that a wrong one is found."""

import os
import subprocess

import numpy
import pytest
from row_project import REPOSITORY

from benchmarks import correctness, workload


@pytest.mark.parametrize(
    ("precision", "steps", "length", "expected"),
    [
        ("bf16", 1, 512, 8 * 2**-8),
        ("fp16", 4, 512, 16 * 2**-11),
        ("tf32", 4, 512, 16 * 2**-11),
        ("fp32", 1, 4, 16 * 2**-24),
        ("fp64", 4, 4, 32 * 2**-53),
    ],
)
def test_tolerance_grows_with_the_root_of_the_roundings(precision, steps, length, expected):
    assert correctness.tolerance(precision, steps, length) == expected


def test_relative_error():
    assert correctness.relative_error([3.0, 4.0], [3.0, 4.0]) == 0
    assert correctness.relative_error([3.0, 9.0], [3.0, 4.0]) == 1
    assert correctness.relative_error([3.0], [3.0, 4.0]) == float("inf")
    assert correctness.relative_error([numpy.nan, 4.0], [3.0, 4.0]) == float("inf")


class Cube:
    """x³, and how often the reference was evaluated."""

    differentiate, extra_params, rounding_steps = ("x",), ("sign",), 1
    sign = 1
    evaluations = 0

    def __init__(self):
        self.sizes = {"small": workload.Size("overhead", n=2)}

    def numpy(self, numpy, x):
        type(self).evaluations += 1
        return self.sign * x**3

    def sum_length(self, n):
        return 1


class Host:
    """Arrays of NumPy on the host."""

    fetch = staticmethod(numpy.asarray)


def test_a_gradient_is_held_against_differences_that_are_evaluated_once_for_the_same_inputs():
    cube, x, pulled = Cube(), numpy.array([1.0, 2.0]), numpy.array([1.0, 0.5])

    def error(x, gradient):
        return correctness.check_gradient(cube, Host, "fp64", "small", {"x": x}, pulled, [gradient])[0]

    right = pulled * 3 * x**2
    assert error(x, right) < 1e-8
    assert Cube.evaluations == 4 * correctness.DIRECTIONS
    # Another gradient of the same inputs is still judged, and no evaluation is needed for it.
    assert error(x, 1.001 * right) > 1e-4
    assert error(x, right) < 1e-8
    assert Cube.evaluations == 4 * correctness.DIRECTIONS
    # Other inputs or other parameters have other slopes.
    assert error(2 * x, pulled * 12 * x**2) < 1e-8
    cube.sign = -1
    assert error(x, -right) < 1e-8
    assert Cube.evaluations == 12 * correctness.DIRECTIONS
    # A narrow type is content with two evaluations a direction, and they are no five-point difference.
    assert correctness.check_gradient(cube, Host, "bf16", "small", {"x": x}, pulled, [-right])[0] < 1e-6
    assert Cube.evaluations == 14 * correctness.DIRECTIONS


def check(python, *arguments):
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run(
        [python, "-m", "benchmarks.correctness", *arguments],
        env={**variables, "BENCH_ACCELERATOR": "cpu"},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout


@pytest.mark.end_to_end
def test_jax_chains_agree_in_every_precision(built_row):
    status, said = check(built_row.python, "ArticleChain", "MatmulChain")
    assert status == 0, said
    # Two chains, four precisions that a CPU has, two modes and passes.
    assert "32 agree with float64 NumPy, 0 do not" in said


@pytest.mark.end_to_end
def test_torch_agrees(built_torch_row):
    status, said = check(
        built_torch_row.python, "ArticleChain", "MatmulChain", "--precision", "fp32", "--precision", "bf16"
    )
    assert status == 0, said
    assert "16 agree with float64 NumPy, 0 do not" in said
    status, said = check(built_torch_row.python, "Normalise", "Attention", "MLPTrain", "--precision", "fp32")
    assert status == 0, said
