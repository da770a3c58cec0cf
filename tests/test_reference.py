"""The float64 layers that results are compared with: literal values, and every pull-back against differences."""

import math

import numpy
import pytest

from benchmarks import reference


def differences(function, pulled, *inputs):
    """Return the gradients of ⟨pulled, function(*inputs)⟩ by central differences, entry by entry."""
    gradients = []
    for position, value in enumerate(inputs):
        gradient = numpy.zeros_like(value)
        for index in numpy.ndindex(value.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = value.copy()
                moved[index] += step
                shifted = [*inputs[:position], moved, *inputs[position + 1 :]]
                ends.append(numpy.sum(pulled * function(*shifted)))
            gradient[index] = (ends[0] - ends[1]) / 2e-5
        gradients.append(gradient)
    return gradients


def normal(*shape):
    return numpy.random.default_rng(sum(shape)).standard_normal(shape)


def test_gelu_is_the_tanh_form():
    # 0.5·(1 + tanh(0.7978845608·1.044715)) and its mirror.
    numpy.testing.assert_allclose(reference.gelu(numpy.array([-1.0, 0.0, 1.0])), [-0.158808, 0.0, 0.841192], atol=5e-7)


def test_silu():
    numpy.testing.assert_allclose(reference.silu(numpy.array([0.0, math.log(3)])), [0.0, 0.75 * math.log(3)])


def test_softmax_of_logarithms_are_the_shares():
    numpy.testing.assert_allclose(reference.softmax(numpy.log([[1.0, 3.0], [2.0, 2.0]])), [[0.25, 0.75], [0.5, 0.5]])


def test_layer_norm_of_two_numbers():
    found = reference.layer_norm(numpy.array([1.0, 5.0]), numpy.array([2.0, 3.0]), numpy.array([10.0, 20.0]))
    numpy.testing.assert_allclose(found, [8.0, 23.0], rtol=1e-5)


def test_cross_entropy_is_the_mean_logarithm_of_the_chosen_share():
    logits = numpy.log([[1.0, 3.0], [1.0, 1.0]])
    assert reference.cross_entropy(logits, numpy.array([1, 0])) == pytest.approx(-(math.log(0.75) + math.log(0.5)) / 2)


def test_causal_attention_sees_no_later_position():
    # q·k is 0 everywhere, so each position averages the values up to itself.
    query, key = numpy.zeros((1, 3, 1, 2)), normal(1, 3, 1, 2)
    value = numpy.array([3.0, 5.0, 10.0]).reshape(1, 3, 1, 1) * [1.0, 2.0]
    found = reference.causal_attention(query, key, value)
    numpy.testing.assert_allclose(found[0, :, 0], [[3.0, 6.0], [4.0, 8.0], [6.0, 12.0]])


def test_causal_attention_scales_by_the_root_of_the_width():
    query = numpy.zeros((1, 2, 1, 4))
    key = numpy.zeros((1, 2, 1, 4))
    query[0, 1, 0, 0], key[0, 1, 0, 0] = 2.0, math.log(3)
    value = numpy.array([0.0, 1.0]).reshape(1, 2, 1, 1)
    # Scores 0 and 2·log 3/√4: shares 1/4 and 3/4.
    assert reference.causal_attention(query, key, value)[0, 1, 0, 0] == pytest.approx(0.75)


def test_causal_attention_of_more_queries_than_are_held_at_a_time():
    length = reference.QUERY_BLOCK + 44
    query, key, value = (normal(2, length, 3, 4) for _ in range(3))
    scores = numpy.einsum("bqhd,bkhd->bhqk", query, key) / 2
    shares = reference.softmax(numpy.where(numpy.tri(length, dtype=bool), scores, -numpy.inf))
    wanted = numpy.einsum("bhqk,bkhd->bqhd", shares, value)
    numpy.testing.assert_allclose(reference.causal_attention(query, key, value), wanted, rtol=1e-11, atol=1e-12)


def test_convolution_adds_what_the_kernel_covers():
    x = numpy.arange(1.0, 10.0).reshape(1, 3, 3, 1)
    found = reference.convolution(x, numpy.ones((3, 3, 1, 1)))[0, :, :, 0]
    numpy.testing.assert_array_equal(found, [[12, 21, 16], [27, 45, 33], [24, 39, 28]])


def test_convolution_does_not_turn_the_kernel_around():
    x = numpy.zeros((1, 3, 3, 1))
    x[0, 1, 2, 0] = 1.0
    kernel = numpy.zeros((3, 3, 1, 1))
    kernel[1, 2, 0, 0] = 7.0
    # The tap to the right of the middle reads the right neighbour.
    found = reference.convolution(x, kernel)[0, :, :, 0]
    assert found[1, 1] == 7.0
    assert numpy.count_nonzero(found) == 1


def test_depthwise_convolution_keeps_channels_apart():
    x = numpy.ones((1, 1, 1, 1, 2))
    kernel = numpy.zeros((3, 3, 3, 2))
    kernel[1, 1, 1] = [2.0, 5.0]
    numpy.testing.assert_array_equal(reference.convolution(x, kernel)[0, 0, 0, 0], [2.0, 5.0])


@pytest.mark.parametrize(
    ("forward", "backward", "inputs"),
    [
        (reference.gelu, reference.gelu_backward, [normal(7)]),
        (reference.softmax, reference.softmax_backward, [normal(2, 5)]),
        (
            reference.causal_attention,
            reference.causal_attention_backward,
            [normal(1, 4, 2, 3), normal(1, 4, 2, 3) + 1, normal(1, 4, 2, 3) - 1],
        ),
    ],
)
def test_pull_backs_agree_with_differences(forward, backward, inputs):
    pulled = numpy.random.default_rng(3).standard_normal(forward(*inputs).shape)
    found = backward(pulled, *inputs)
    found = found if isinstance(found, tuple) else (found,)
    for gradient, wanted in zip(found, differences(forward, pulled, *inputs), strict=True):
        numpy.testing.assert_allclose(gradient, wanted, rtol=1e-7, atol=1e-8)


def test_layer_norm_backward_agrees_with_differences():
    x, scale, shift = normal(2, 3, 5), normal(5), normal(5)
    pulled = normal(2, 3, 5)[::-1]
    found = reference.layer_norm_backward(pulled, x, scale)
    for gradient, wanted in zip(found, differences(reference.layer_norm, pulled, x, scale, shift), strict=True):
        numpy.testing.assert_allclose(gradient, wanted, rtol=1e-7, atol=1e-8)


def test_cross_entropy_backward_agrees_with_differences():
    logits, classes = normal(4, 3), numpy.array([0, 2, 1, 2])
    (wanted,) = differences(lambda logits: reference.cross_entropy(logits, classes), 1.0, logits)
    numpy.testing.assert_allclose(reference.cross_entropy_backward(logits, classes), wanted, rtol=1e-7, atol=1e-9)
