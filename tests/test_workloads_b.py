"""Indices, order, small matrices, recurrences and random numbers: references, counts, and what a check notices."""

import math

import numpy
import pytest
from numpy_framework import NumpyAdapter
from workload_checks import called, made, small_inputs, variants, with_input_scaled

from benchmarks import gather_scatter, random_check, random_numbers, recurrence, reference, small_linalg

COMPARED = (gather_scatter.GatherScatter, gather_scatter.Order, small_linalg.SmallLinalg, recurrence.Recurrence)
WORKLOADS = (*COMPARED, random_numbers.RandomNumbers)


@pytest.mark.parametrize("computation", [each for of in COMPARED for each in variants(of)], ids=called)
def test_a_forward_pass_in_float32_agrees_and_one_with_an_input_scaled_by_two_does_not(computation):
    adapter, inputs = NumpyAdapter(), small_inputs(computation)
    error, allowed = computation.check(adapter, "eager", "forward", "fp32", "small", inputs)
    assert error <= allowed
    scaled = [name for name, value in inputs.items() if value.dtype == numpy.float32]
    assert set(computation.differentiate) <= set(scaled)
    for name in scaled:
        planted = with_input_scaled(computation, name)
        error, allowed = planted.check(adapter, "eager", "forward", "fp32", "small", inputs)
        assert error > allowed, name


@pytest.mark.parametrize(("kind", "name"), [("embedding", "indices"), ("index-add", "indices")])
def test_indices_shifted_by_one_are_noticed(kind, name):
    class Planted(gather_scatter.GatherScatter):
        def build(self, adapter, mode, pass_, inputs):
            return super().build(adapter, mode, pass_, {**inputs, name: numpy.roll(inputs[name], 1)})

    computation = made(Planted, kind=kind)
    error, allowed = computation.check(
        NumpyAdapter(), "eager", "forward", "fp32", "small", small_inputs(made(gather_scatter.GatherScatter, kind=kind))
    )
    assert error > allowed


def test_every_row_is_added_to_equally_often_and_segments_are_as_long_as_their_lengths():
    repeats = gather_scatter.REPEATS
    indices = made(gather_scatter.GatherScatter, kind="index-add").arrays("small")["indices"]
    assert (numpy.bincount(indices) == repeats).all()
    assert (numpy.diff(indices) != 1).any()
    drawn = made(gather_scatter.GatherScatter, kind="segment-sum").arrays("small")
    numpy.testing.assert_array_equal(numpy.bincount(drawn["segments"]), drawn["lengths"])
    assert (numpy.diff(drawn["segments"]) >= 0).all()
    assert len(drawn["values"]) == drawn["lengths"].sum() == repeats * len(drawn["lengths"])


def test_sums_by_index_by_hand():
    values = numpy.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0], [8.0, 80.0]])
    found = reference.sums_by_index(values, numpy.array([2, 0, 2, 3]), 5)
    numpy.testing.assert_array_equal(found, [[2, 20], [0, 0], [5, 50], [8, 80], [0, 0]])


@pytest.mark.parametrize("kind", gather_scatter.GatherScatter.extra_params["kind"])
def test_the_gradient_of_a_linear_function_agrees_with_its_transpose(kind):
    computation = made(gather_scatter.GatherScatter, kind=kind)
    inputs = computation.inputs(numpy.random.default_rng(1), rows=8, features=2)
    inputs = {name: value * 1.0 if value.dtype == numpy.float32 else value for name, value in inputs.items()}
    (name,) = computation.differentiate
    zeros = {each: 0 * value for each, value in inputs.items() if value.dtype == numpy.float32}
    value = computation.numpy(numpy, **{**inputs, **zeros, name: inputs[name]})
    pulled = numpy.random.default_rng(2).standard_normal(value.shape)
    gradient = computation.numpy_gradient(numpy, pulled, **inputs)
    assert gradient.shape == inputs[name].shape
    assert (pulled * value).sum() == pytest.approx((gradient * inputs[name]).sum(), rel=1e-5)


X = numpy.array([[3.0, 1.0, 2.0, 1.0]])


@pytest.mark.parametrize(
    ("gradient", "agrees"),
    [
        # The two ones may have been kept in either order.
        ([[30.0, 10.0, 20.0, 11.0]], True),
        ([[30.0, 11.0, 20.0, 10.0]], True),
        ([[20.0, 10.0, 30.0, 11.0]], False),
        ([[30.0, 10.0, 20.0, 10.0]], False),
    ],
)
def test_the_gradient_of_a_sort_by_hand(gradient, agrees):
    value, pulled = numpy.array([[1.0, 1.0, 2.0, 3.0]]), numpy.array([[10.0, 11.0, 20.0, 30.0]])
    found, wanted = reference.pulled_back_in_order(X, value, numpy.array(gradient), pulled)
    assert (found == wanted).all() == agrees


@pytest.mark.parametrize(
    ("gradient", "agrees"),
    [
        ([[30.0, 10.0, 20.0, 0.0]], True),
        ([[30.0, 0.0, 20.0, 10.0]], True),
        ([[30.0, 10.0, 20.0, 10.0]], False),
        ([[10.0, 30.0, 20.0, 0.0]], False),
    ],
)
def test_the_gradient_of_a_top_k_by_hand(gradient, agrees):
    value, pulled = numpy.array([[3.0, 2.0, 1.0]]), numpy.array([[30.0, 20.0, 10.0]])
    found, wanted = reference.pulled_back_in_order(X, value, numpy.array(gradient), pulled)
    assert (found == wanted).all() == agrees


def test_the_largest_come_first():
    x = numpy.arange(2 * gather_scatter.KEPT, dtype=float)[None]
    found = made(gather_scatter.Order, kind="top-k").numpy(numpy, x=x)
    numpy.testing.assert_array_equal(found[0], numpy.arange(gather_scatter.KEPT, 2 * gather_scatter.KEPT)[::-1])


def test_matrices_are_as_well_conditioned_as_the_tolerance_takes_them_to_be():
    for computation in variants(small_linalg.SmallLinalg):
        matrix = computation.arrays("small")["matrix"]
        values = numpy.linalg.svd(matrix.astype(float), compute_uv=False)
        numpy.testing.assert_allclose(values, numpy.tile(numpy.linspace(2, 1, 8), (256, 1)), atol=1e-6)
        assert (matrix == matrix.swapaxes(1, 2)).all() == (computation.kind != "solve")


def test_small_matrices_by_hand():
    matrix = numpy.array([[[4.0, 2.0], [2.0, 5.0]]])

    def found(kind, **inputs):
        return made(small_linalg.SmallLinalg, kind=kind).numpy(numpy, **inputs)

    numpy.testing.assert_allclose(found("cholesky", matrix=matrix), [[[2, 0], [1, 2]]])
    right = numpy.array([[[8.0], [12.0]]])
    numpy.testing.assert_allclose(found("solve", matrix=matrix, right=right), [[[1], [2]]])
    # Along (1, 1) and (1, −1) with eigenvalues 3 and 1.
    near, far = math.e, math.e**3
    wanted = [[[(far + near) / 2, (far - near) / 2], [(far - near) / 2, (far + near) / 2]]]
    numpy.testing.assert_allclose(found("eigh", matrix=numpy.array([[[2.0, 1.0], [1.0, 2.0]]])), wanted)


def test_a_recurrence_by_hand():
    found = recurrence.Recurrence().numpy(
        numpy, start=numpy.array([0.5]), matrix=numpy.array([[2.0]]), drive=numpy.array([[0.0], [-1.0]])
    )
    first = math.tanh(1.0)
    numpy.testing.assert_allclose(found, [[first], [math.tanh(2 * first - 1)]])


def test_a_loop_too_long_to_unroll_is_not_compiled():
    class TorchLike(NumpyAdapter):
        name = "torch"

    computation = recurrence.Recurrence()
    assert "4096 steps" in computation.why_not(TorchLike(), "compiled", "forward", "fp32", "long")
    assert computation.why_not(TorchLike(), "eager", "forward", "fp32", "long") is None
    assert computation.why_not(TorchLike(), "compiled", "forward", "fp32", "small") is None
    assert computation.why_not(NumpyAdapter(), "compiled", "forward", "fp32", "long") is None


@pytest.mark.parametrize("kind", ["normal", "permutation"])
def test_drawn_numbers_agree_and_scaled_ones_do_not(kind):
    class Planted(random_numbers.RandomNumbers):
        def build(self, adapter, mode, pass_, inputs):
            step = super().build(adapter, mode, pass_, inputs)
            return lambda: 2 * step()

    for workload_class, agrees in ((random_numbers.RandomNumbers, True), (Planted, False)):
        computation = made(workload_class, kind=kind)
        inputs = small_inputs(computation)
        error, allowed = computation.check(NumpyAdapter(), "eager", "forward", "fp32", "small", inputs)
        assert (error <= allowed) == agrees


@pytest.mark.parametrize("kind", ["normal", "permutation"])
def test_torch_that_draws_the_same_numbers_at_every_step_is_noticed(kind):
    class TorchLike(NumpyAdapter):
        name = "torch"

    class Seeded(random_numbers.RandomNumbers):
        def build(self, adapter, mode, pass_, inputs):
            rng = numpy.random.default_rng(1)
            draw = rng.standard_normal if kind == "normal" else rng.permutation
            once = draw(len(inputs["like"]))
            return (lambda: draw(len(inputs["like"]))) if self.advances else lambda: once

    for advances in (True, False):
        computation = made(Seeded, kind=kind)
        computation.advances = advances
        inputs = small_inputs(computation)
        error, allowed = computation.check(TorchLike(), "eager", "forward", "fp32", "small", inputs)
        assert (error <= allowed) == advances


NORMALS = numpy.random.default_rng(7).standard_normal(2**13)


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(NORMALS + 0.1, id="shifted"),
        pytest.param(NORMALS * 1.1, id="scaled"),
        pytest.param(numpy.abs(NORMALS), id="folded"),
        pytest.param(numpy.sort(NORMALS), id="sorted"),
        pytest.param(numpy.random.default_rng(7).uniform(-(3**0.5), 3**0.5, 2**13), id="uniform"),
        pytest.param(numpy.where(NORMALS > 3, numpy.nan, NORMALS), id="not a number"),
        pytest.param(numpy.random.default_rng(7).standard_t(5, 2**13) * (3 / 5) ** 0.5, id="heavy tails"),
    ],
)
def test_numbers_that_are_no_standard_normals_are_noticed(sample):
    assert random_check.normal_error(NORMALS, "fp32") <= 1
    assert random_check.normal_error(sample, "fp32") > 1


def test_moments_by_hand():
    numpy.testing.assert_allclose(random_check.moments([1, -1, 2]), [2 / 3, 1, 8 / 3, 3, -1.5])


def test_normals_of_coarse_uniform_numbers_are_explained_in_bf16_and_not_in_fp32():
    # −1 + k/64, the first one −1 + 1/256, through the inverse of the normal distribution.
    lowest, middle, highest = -2.8856, 0.0, 2.4176
    mean = random_check.granularity("bf16")[0]
    assert -0.03 < mean < -0.02
    assert (random_check.granularity("fp32") == 0).all()
    rng = numpy.random.default_rng(3)
    uniform = numpy.maximum(rng.integers(128, size=2**18) / 64 - 1, 1 / 256 - 1)
    coarse = numpy.interp(uniform, *_inverse_of_the_normal_distribution())
    assert highest - 0.01 < coarse.max() < highest + 0.01
    assert (coarse == middle).any()
    assert lowest - 0.01 < coarse.min() < lowest + 0.01
    assert random_check.normal_error(coarse, "bf16") <= 1
    assert random_check.normal_error(coarse, "fp32") > 1


def _inverse_of_the_normal_distribution():
    z = numpy.linspace(-4, 4, 10_001)
    return numpy.array([math.erf(each / math.sqrt(2)) for each in z]), z


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(numpy.arange(4096), id="in order"),
        pytest.param(numpy.arange(4096)[::-1], id="reversed"),
        pytest.param(numpy.roll(numpy.arange(4096), 2000), id="rotated"),
        pytest.param(numpy.random.default_rng(0).integers(4096, size=4096), id="with repetitions"),
        pytest.param(numpy.random.default_rng(0).permutation(4096) + 1, id="from one"),
    ],
)
def test_what_is_no_shuffled_permutation_is_noticed(found):
    assert random_check.permutation_error(numpy.random.default_rng(0).permutation(4096)) <= 1
    assert random_check.permutation_error(found) > 1


def flops(workload_class, pass_, dimensions, **chosen):
    return made(workload_class, **chosen).flops(pass_, **dimensions)


def moved(workload_class, pass_, dimensions, **chosen):
    return made(workload_class, **chosen).bytes_moved(pass_, 2, **dimensions)


def test_flops_of_tiny_sizes_counted_by_hand():
    table = {"rows": 8, "features": 3}
    assert flops(gather_scatter.GatherScatter, "forward", table, kind="embedding") == 0
    # 32 entries into 8 rows: all but the first of each row are added.
    assert flops(gather_scatter.GatherScatter, "grad", table, kind="embedding") == 24 * 3
    assert flops(gather_scatter.GatherScatter, "forward", table, kind="index-add") == 32 * 3
    assert flops(gather_scatter.GatherScatter, "grad", table, kind="segment-sum") == 24 * 3
    # Of four numbers there are 24 orders.
    order = {"rows": 3, "columns": 4}
    assert flops(gather_scatter.Order, "forward", order, kind="sort") == pytest.approx(3 * math.log2(24))
    assert flops(gather_scatter.Order, "forward", {"rows": 3, "columns": 40}, kind="top-k") == 3 * 8
    matrices = {"count": 2, "width": 3, "columns": 5}
    assert flops(small_linalg.SmallLinalg, "forward", matrices, kind="solve") == 2 * (18 + 90)
    assert flops(small_linalg.SmallLinalg, "grad", matrices, kind="solve") == 2 * (18 + 3 * 90)
    assert flops(small_linalg.SmallLinalg, "grad", matrices, kind="cholesky") == pytest.approx(2 * 27)
    assert flops(small_linalg.SmallLinalg, "forward", matrices, kind="eigh") == 2 * 11 * 27
    assert flops(recurrence.Recurrence, "forward", {"steps": 5, "width": 3}) == 5 * (18 + 6)
    assert flops(random_numbers.RandomNumbers, "forward", {"n": 7}, kind="normal") == 28


def test_bytes_of_tiny_sizes_counted_by_hand():
    table = {"rows": 8, "features": 3}
    # A table of 24 numbers read, 96 written, by 32 indices of four bytes.
    assert moved(gather_scatter.GatherScatter, "forward", table, kind="embedding") == 2 * (24 + 96) + 4 * 32
    assert moved(gather_scatter.GatherScatter, "grad", table, kind="embedding") == 2 * 2 * (24 + 96) + 4 * 32
    assert moved(gather_scatter.GatherScatter, "forward", table, kind="index-add") == 2 * (24 + 96 + 24) + 4 * 32
    assert moved(gather_scatter.GatherScatter, "forward", table, kind="segment-sum") == 2 * (96 + 24) + 4 * 8
    order = {"rows": 2, "columns": 40}
    assert moved(gather_scatter.Order, "forward", order, kind="sort") == 2 * (80 + 80)
    assert moved(gather_scatter.Order, "grad", order, kind="top-k") == 2 * (80 + 64 + 64 + 80)
    matrices = {"count": 2, "width": 3, "columns": 5}
    assert moved(small_linalg.SmallLinalg, "forward", matrices, kind="solve") == 2 * 2 * (9 + 15 + 15)
    assert moved(small_linalg.SmallLinalg, "grad", matrices, kind="eigh") == 2 * 2 * (18 + 18)
    assert moved(recurrence.Recurrence, "forward", {"steps": 5, "width": 3}) == 2 * (3 + 9 + 15 + 15)
    assert moved(random_numbers.RandomNumbers, "forward", {"n": 7}, kind="permutation") == 28


def test_small_sizes_are_affordable_and_large_ones_for_accelerators():
    for each in WORKLOADS:
        assert next(iter(each.sizes)) == "small"
        for computation in variants(each):
            for pass_ in each.passes:
                assert computation.flops(pass_, **each.sizes["small"].dimensions) < 2e7
    for each in (gather_scatter.GatherScatter, gather_scatter.Order, small_linalg.SmallLinalg):
        assert each.sizes["large"].accelerator_only
