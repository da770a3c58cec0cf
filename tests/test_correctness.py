"""Results of real frameworks against float64 NumPy, and that a wrong one is found."""

import json
import subprocess
import textwrap
from collections import Counter

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


# Of each workload its kinds, times the precisions that a CPU has, times the modes, times the passes.
AGREEING = {
    "ArticleChain": 4 * 2 * 2,
    "Attention": 2 * 2 * 2 * 2,
    "ConvBlock": 6 * 2 * 2 * 2,
    "GatherScatter": 3 * 2 * 2 * 2,
    "MatmulChain": 4 * 2 * 2,
    "MLPTrain": 2 * 2,
    "Normalise": 5 * 2 * 2 * 2,
    "Order": 2 * 2 * 2 * 2,
    # Normals in both precisions, a permutation in one; forward only.
    "RandomNumbers": 3 * 2,
    "Recurrence": 2 * 2 * 2,
    "SmallLinalg": 3 * 2 * 2 * 2,
    "TransformerBlock": 2 * 2 * 2 * 2,
}

# Of each workload that computes with what it is given: the pass, an input whose doubling changes what is compared, and
# the extra parameters.
PLANTED = [
    ("ArticleChain", "forward", "w1", []),
    ("ArticleChain", "grad", "w2", []),
    ("Attention", "forward", "value", ["built-in"]),
    ("Attention", "grad", "key", ["written-out"]),
    ("Attention", "grad", "query", ["built-in"]),
    ("ConvBlock", "forward", "shift", ["dense", "NHWC"]),
    ("ConvBlock", "grad", "scale", ["depthwise", "NCHW"]),
    ("ConvBlock", "grad", "scale", ["3d", "NHWC"]),
    ("GatherScatter", "forward", "x", ["index-add"]),
    ("GatherScatter", "grad", "table", ["embedding"]),
    ("GatherScatter", "grad", "source", ["index-add"]),
    ("GatherScatter", "grad", "values", ["segment-sum"]),
    ("MatmulChain", "forward", "b2", []),
    ("MatmulChain", "grad", "x", []),
    ("MLPTrain", "train", "x", []),
    ("Normalise", "forward", "x", ["softmax"]),
    ("Normalise", "grad", "scale", ["layer-norm"]),
    ("Normalise", "grad", "x", ["variance-1"]),
    ("Order", "forward", "x", ["sort"]),
    ("Order", "grad", "x", ["top-k"]),
    ("Recurrence", "forward", "drive", []),
    ("Recurrence", "grad", "matrix", []),
    ("SmallLinalg", "forward", "matrix", ["solve"]),
    ("SmallLinalg", "grad", "right", ["solve"]),
    ("SmallLinalg", "grad", "matrix", ["cholesky"]),
    ("SmallLinalg", "grad", "matrix", ["eigh"]),
    ("TransformerBlock", "forward", "w_up", ["written-out"]),
    ("TransformerBlock", "train", "x", ["built-in"]),
]

# Run in a row: FRAMEWORK MODE PLANTED; prints the outcomes of the wrong steps, [[error, tolerance], …].
CHECK_SCALED = """
    import json, sys
    from benchmarks import correctness, frameworks, workload

    framework, mode, planted = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    adapter, found = frameworks.get(framework), []
    adapter.set_precision("fp32")
    for name, pass_, scaled, extra in planted:
        computation = correctness.workloads()[name]()
        for parameter, value in zip(computation.extra_params, extra):
            setattr(computation, parameter, value)
        inputs, build = workload.put_all(adapter, computation.arrays("small"), "fp32"), computation.build
        computation.build = lambda adapter, mode, pass_, inputs: build(
            adapter, mode, pass_, {**inputs, scaled: 2 * inputs[scaled]}
        )
        found.append(computation.check(adapter, mode, pass_, "fp32", "small", inputs))
    print(json.dumps(found))
"""


def in_row(row, *arguments):
    """Run the row's Python in the repository; return (exit status, output)."""
    run = subprocess.run(
        [row.python, *arguments], env=row.environment, cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return run.returncode, run.stdout


def test_every_workload_is_expected_to_agree_and_planted_in():
    names = set(correctness.workloads())
    assert set(AGREEING) == names
    passes = {(name, pass_) for name, cls in correctness.workloads().items() for pass_ in cls.passes}
    # Nothing is computed from the inputs of random numbers: test_workloads_b scales what is drawn.
    assert {(name, pass_) for name, pass_, *_ in PLANTED} == passes - {("RandomNumbers", "forward")}


@pytest.mark.end_to_end
@pytest.mark.parametrize("framework", ["jax", "torch"])
def test_every_workload_agrees_with_float64_in_every_precision_mode_and_pass_of_a_cpu(framework, request):
    row = request.getfixturevalue("built_row" if framework == "jax" else "built_torch_row")
    status, said = in_row(row, "-m", "benchmarks.correctness", *AGREEING, "--processes", "2")
    assert [line for line in said.splitlines() if line.startswith("FAILED")] == []
    assert Counter(line.split()[1] for line in said.splitlines() if line.startswith("ok ")) == AGREEING
    assert status == 0


@pytest.mark.end_to_end
def test_selected_checks_of_many_parameters_leave_torch_compile_no_pile_of_programs(built_torch_row):
    # Six kinds in two precisions: more than the programs that torch.compile allows a function.
    status, said = in_row(
        built_torch_row, "-m", "benchmarks.correctness", "ConvBlock", "--match", "torch compiled grad"
    )
    outcomes = Counter(line.split()[0] for line in said.splitlines()[:-1])
    assert (status, outcomes["ok"], outcomes["FAILED"]) == (0, 12, 0)


@pytest.mark.end_to_end
@pytest.mark.parametrize(("framework", "mode"), [("jax", "compiled"), ("torch", "eager")])
def test_an_input_scaled_by_two_is_noticed_in_every_workload_and_pass(framework, mode, request):
    row = request.getfixturevalue("built_row" if framework == "jax" else "built_torch_row")
    status, said = in_row(row, "-c", textwrap.dedent(CHECK_SCALED), framework, mode, json.dumps(PLANTED))
    assert status == 0
    outcomes = json.loads(said.splitlines()[-1])
    assert [each for each, (error, allowed) in zip(PLANTED, outcomes, strict=True) if not error > allowed] == []
