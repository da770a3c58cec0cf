"""Training, attention, normalisation and convolution: references, counts, and whether a wrong step is noticed."""

import numpy
import pytest
from numpy_framework import FAULTS, NumpyAdapter, NumpyStep
from workload_checks import called, made, small_inputs, variants, with_input_scaled

from benchmarks import (
    adamw,
    attention,
    conv_block,
    correctness,
    mlp_train,
    normalise,
    training_check,
    transformer_block,
)

WORKLOADS = (
    attention.Attention,
    conv_block.ConvBlock,
    mlp_train.MLPTrain,
    normalise.Normalise,
    transformer_block.TransformerBlock,
)
TRAINED = (mlp_train.MLPTrain, transformer_block.TransformerBlock)


def tiny(computation, **dimensions):
    """Return float64 inputs of a size that differences can be taken of."""
    drawn = computation.inputs(numpy.random.default_rng(5), **dimensions)
    return {n: v.astype(numpy.float64) if v.dtype == numpy.float32 else v for n, v in drawn.items()}


FORWARD = [computation for each in WORKLOADS if "forward" in each.passes for computation in variants(each)]


@pytest.mark.parametrize("computation", FORWARD, ids=called)
def test_a_forward_pass_in_float32_agrees_and_one_with_an_input_scaled_by_two_does_not(computation):
    adapter = NumpyAdapter()
    inputs = small_inputs(computation)
    error, allowed = computation.check(adapter, "eager", "forward", "fp32", "small", inputs)
    assert 0 < error <= allowed
    for name in inputs:
        if name == "target" or _forgets_scale(computation, name):
            continue
        planted = with_input_scaled(computation, name)
        error, allowed = planted.check(adapter, "eager", "forward", "fp32", "small", inputs)
        assert error > allowed, name


def _forgets_scale(computation, name):
    """A norm divides by the deviation of what it is given, whatever its scale."""
    if isinstance(computation, conv_block.ConvBlock):
        return name in ("x", "kernel")
    return isinstance(computation, normalise.Normalise) and computation.kind == "layer-norm" and name == "x"


@pytest.mark.parametrize("workload_class", TRAINED)
@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_a_training_step_in_float32_agrees(workload_class, precision):
    computation = made(workload_class)
    inputs = small_inputs(computation)
    step = NumpyStep(computation, inputs)
    error, allowed = training_check.check(computation, NumpyAdapter(), precision, "small", inputs, step)
    assert 0 < error <= allowed
    if precision == "tf32":
        # Products in float32 stand out from those in tf32, whatever the update.
        assert error < 0.02 * correctness.UNIT_ROUNDOFF["tf32"]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("workload_class", TRAINED)
def test_a_wrong_training_step_is_noticed(workload_class, fault):
    computation = made(workload_class)
    inputs = small_inputs(computation)
    step = NumpyStep(computation, inputs, fault)
    error, allowed = training_check.check(computation, NumpyAdapter(), "fp32", "small", inputs, step)
    assert error > allowed


def test_an_update_moves_by_the_learning_rate_and_decays():
    # After one step m̂ = g and √v̂ = |g|, so the parameter moves by the learning rate against the gradient's sign.
    gradient = numpy.array([3.0, -0.5])
    found = training_check.updated(numpy.array([1.0, 2.0]), 0.1 * gradient, 0.001 * gradient**2, 1)
    numpy.testing.assert_allclose(found, [1 - 1e-6 - 1e-4, 2 - 2e-6 + 1e-4], rtol=0, atol=1e-11)
    assert (adamw.BETA1, adamw.BETA2, adamw.EPSILON, adamw.WEIGHT_DECAY) == (0.9, 0.999, 1e-8, 0.01)


@pytest.mark.parametrize(
    ("workload_class", "dimensions"),
    [
        (mlp_train.MLPTrain, {"rows": 3, "width": 4, "classes": 3}),
        (transformer_block.TransformerBlock, {"batch": 2, "length": 3, "width": 64}),
    ],
)
def test_gradients_of_the_reference_agree_with_differences(workload_class, dimensions):
    computation = made(workload_class)
    inputs = tiny(computation, **dimensions)
    target = inputs.pop("target")
    gradient = computation.numpy_gradient(numpy, target, **inputs)
    assert sorted(gradient) == sorted(computation.differentiate)
    rng = numpy.random.default_rng(6)

    def loss(shifted):
        return computation.numpy_loss(numpy, computation.numpy(numpy, **{**inputs, **shifted}), target)

    for name in computation.differentiate:
        direction = rng.standard_normal(inputs[name].shape)
        ends = [loss({name: inputs[name] + step * direction}) for step in (1e-5, -1e-5)]
        wanted = (ends[0] - ends[1]) / 2e-5
        assert numpy.sum(gradient[name] * direction) == pytest.approx(wanted, rel=1e-6), name


def test_a_pointwise_convolution_through_a_norm_by_hand():
    computation = made(conv_block.ConvBlock, kind="depthwise", layout="NHWC")
    kernel = numpy.zeros((1, 3, 3, 1))
    kernel[0, 1, 1, 0] = 4.0
    x = numpy.array([1.0, 3.0]).reshape(2, 1, 1, 1)
    # Normalised to −1 and 1 whatever the kernel's middle, scaled to 0 and 2·log 3: SiLU gives 0 and 2·log 3·9/10.
    logarithm = numpy.log(3.0)
    found = computation.numpy(numpy, x=x, kernel=kernel, scale=numpy.array([logarithm]), shift=numpy.array([logarithm]))
    numpy.testing.assert_allclose(found.ravel(), [0.0, 1.8 * logarithm], atol=1e-5)


def test_both_layouts_hold_the_same_numbers():
    for kind in conv_block.ConvBlock.extra_params["kind"]:
        first, last = (made(conv_block.ConvBlock, kind=kind, layout=layout) for layout in ("NCHW", "NHWC"))
        channels_first, channels_last = first.arrays("small"), last.arrays("small")
        for name in ("x", "kernel"):
            assert channels_first[name].flags.c_contiguous
            numpy.testing.assert_array_equal(numpy.moveaxis(channels_first[name], 1, -1), channels_last[name])
        found = first.numpy(numpy, **channels_first)
        numpy.testing.assert_allclose(numpy.moveaxis(found, 1, -1), last.numpy(numpy, **channels_last), rtol=1e-4)


def test_variance_runs_over_the_named_axis():
    x = numpy.zeros((2, 3, 4))
    x[1] = 2.0
    for axis, wanted in ((0, 1.0), (1, 0.0), (2, 0.0)):
        found = made(normalise.Normalise, kind=f"variance-{axis}").numpy(numpy, x=x)
        assert found.shape == x.shape[:axis] + x.shape[axis + 1 :]
        assert (found == wanted).all()


def flops(workload_class, pass_, dimensions, **chosen):
    return made(workload_class, **chosen).flops(pass_, **dimensions)


def test_flops_of_tiny_sizes_counted_by_hand():
    # Three 4×4 layers and one 4×3 over two rows: 2·2·(3·16 + 12) = 240 forward, as much for the weights, and for the
    # inputs all but the first layer's 64.
    assert flops(mlp_train.MLPTrain, "train", {"rows": 2, "width": 4, "classes": 3}) == 240 + 240 + 176
    # Two positions see 1 + 2 = 3 pairs: two products of 2·5 each.
    tiny_attention = {"batch": 1, "length": 2, "heads": 1, "features": 5}
    assert flops(attention.Attention, "forward", tiny_attention) == 60
    assert flops(attention.Attention, "grad", tiny_attention) == 180
    # One token: twelve products of 64×64, and a pair of 64 in two products.
    block = {"batch": 1, "length": 1, "width": 64}
    assert flops(transformer_block.TransformerBlock, "forward", block) == 2 * 12 * 64 * 64 + 4 * 64
    assert flops(transformer_block.TransformerBlock, "train", block) == 3 * (2 * 12 * 64 * 64 + 4 * 64)
    # A row of three positions has 2 + 3 + 2 taps, a square of them 7·7, a cube 7·7·7.
    image = {"batch": 2, "channels": 5, "extent": 3, "extent_3d": 3}
    assert flops(conv_block.ConvBlock, "forward", image, kind="dense") == 2 * 2 * 49 * 25
    assert flops(conv_block.ConvBlock, "forward", image, kind="depthwise") == 2 * 2 * 49 * 5
    assert flops(conv_block.ConvBlock, "grad", image, kind="3d") == 3 * 2 * 2 * 343 * 25


def moved(workload_class, pass_, dimensions, **chosen):
    return made(workload_class, **chosen).bytes_moved(pass_, 1, **dimensions)


def test_bytes_of_tiny_sizes_counted_by_hand():
    array = {"outer": 2, "rows": 3, "features": 5}
    assert moved(normalise.Normalise, "forward", array, kind="softmax") == 30 + 30
    assert moved(normalise.Normalise, "forward", array, kind="variance-0") == 30 + 15
    # Forward, then x, what is pulled back, and the gradient.
    assert moved(normalise.Normalise, "grad", array, kind="variance-1") == (30 + 10) + (30 + 10 + 30)
    tiny_attention = {"batch": 1, "length": 2, "heads": 1, "features": 5}
    assert moved(attention.Attention, "forward", tiny_attention, implementation="built-in") == 4 * 10
    assert moved(attention.Attention, "forward", tiny_attention, implementation="written-out") == 4 * 10 + 2 * 4
    # 3·5·4 + 5·3 parameters, eight times; 2 rows of 4 + 2·3·4 + 3 numbers, written and read.
    assert moved(mlp_train.MLPTrain, "train", {"rows": 2, "width": 4, "classes": 3}) == 8 * 75 + 2 * 62


def test_small_sizes_are_affordable_and_large_ones_for_accelerators():
    for each in WORKLOADS:
        assert next(iter(each.sizes)) == "small"
        assert [size.accelerator_only for size in each.sizes.values()] == [False, True]
        for computation in variants(each):
            for pass_ in each.passes:
                assert computation.flops(pass_, **each.sizes["small"].dimensions) < 5e8
                assert computation.flops(pass_, **each.sizes["large"].dimensions) > 1e8
