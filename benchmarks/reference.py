"""Float64 NumPy counterparts of the layers that workloads share, each with its pull-back. Pure.

A function `layer_backward` takes what is pulled back and returns the gradients with respect to the layer's inputs, in
their order.
"""

import concurrent.futures
import math

import numpy

from .layers import NORM_EPSILON

# Of the tanh form of GELU: Hendrycks and Gimpel, Gaussian Error Linear Units (2016), section 2.
GELU_SCALE = math.sqrt(2 / math.pi)
GELU_CUBIC = 0.044715
# Queries whose scores are held at a time.
QUERY_BLOCK = 128


def gelu(x):
    """0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))."""
    return 0.5 * x * (1 + numpy.tanh(GELU_SCALE * (x + GELU_CUBIC * x * x * x)))


def gelu_backward(pulled, x):
    bent = numpy.tanh(GELU_SCALE * (x + GELU_CUBIC * x * x * x))
    slope = GELU_SCALE * (1 + 3 * GELU_CUBIC * x * x) * (1 - bent**2)
    return pulled * 0.5 * (1 + bent + x * slope)


def silu(x):
    """x·σ(x)."""
    return x / (1 + numpy.exp(-x))


def softmax(x):
    """Softmax over the last axis."""
    raised = numpy.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def softmax_backward(pulled, x):
    weights = softmax(x)
    return weights * (pulled - (pulled * weights).sum(-1, keepdims=True))


def normalised(x, axes):
    """(x − mean)/√(variance + 1e-5) over the axes."""
    return (x - x.mean(axes, keepdims=True)) / numpy.sqrt(x.var(axes, keepdims=True) + NORM_EPSILON)


def layer_norm(x, scale, shift):
    """Layer normalisation over the last axis."""
    return normalised(x, -1) * scale + shift


def layer_norm_backward(pulled, x, scale):
    """Return the gradients with respect to x, scale and shift."""
    unit = normalised(x, -1)
    inner = pulled * scale
    inner = inner - inner.mean(-1, keepdims=True) - unit * (inner * unit).mean(-1, keepdims=True)
    rows = tuple(range(x.ndim - 1))
    return (
        inner / numpy.sqrt(x.var(-1, keepdims=True) + NORM_EPSILON),
        (pulled * unit).sum(rows),
        pulled.sum(rows),
    )


def cross_entropy(logits, classes):
    """Mean over the rows of −log softmax(logits) at each row's class; `logits` (rows, classes), `classes` (rows,)."""
    shifted = logits - logits.max(-1, keepdims=True)
    chosen = numpy.take_along_axis(shifted, classes[:, None], -1)[:, 0]
    return numpy.mean(numpy.log(numpy.exp(shifted).sum(-1)) - chosen)


def cross_entropy_backward(logits, classes):
    return (softmax(logits) - numpy.eye(logits.shape[-1])[classes]) / len(logits)


def _causal_scores(query, key):
    """q·kᵀ/√d with −∞ above the diagonal, for (…, length, heads, d): (…, heads, length, length)."""
    scores = numpy.einsum("...qhd,...khd->...hqk", query, key, optimize=True) / math.sqrt(query.shape[-1])
    return numpy.where(numpy.tril(numpy.ones(scores.shape[-2:], bool)), scores, -numpy.inf)


def causal_attention(query, key, value):
    """softmax(q·kᵀ/√d)·v, position i seeing positions up to i; all of shape (batch, length, heads, d)."""
    by_head = [array.swapaxes(1, 2).reshape(-1, array.shape[1], array.shape[3]) for array in (query, key, value)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        found = numpy.stack([_attention_of_head(pool, *head) for head in zip(*by_head, strict=True)])
    batch, length, heads, features = value.shape
    return found.reshape(batch, heads, length, features).swapaxes(1, 2)


def _attention_of_head(pool, query, key, value):
    """Causal attention of arrays of shape (length, d), a block of queries at a time: the keys after it are not seen.

    The products use all CPUs already, and wait for one another where several threads ask for them; NumPy takes
    exponentials with one thread, so the pool takes those.
    """
    ends = [(start, min(start + QUERY_BLOCK, len(query))) for start in range(0, len(query), QUERY_BLOCK)]
    scaled = query / math.sqrt(query.shape[-1])
    scores = (scaled[start:stop] @ key[:stop].T for start, stop in ends)
    weights = pool.map(_causal_weights, scores, (start for start, _ in ends))
    return numpy.concatenate([each @ value[:stop] for each, (_, stop) in zip(weights, ends, strict=True)])


def _causal_weights(scores, first):
    """Softmax in place: scores (queries, keys) of the queries from `first` on, each seeing keys up to its own."""
    queries, keys = scores.shape
    scores[numpy.arange(keys) > numpy.arange(first, first + queries)[:, None]] = -numpy.inf
    scores -= scores.max(-1, keepdims=True)
    numpy.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores


def causal_attention_backward(pulled, query, key, value):
    """Return the gradients with respect to query, key and value."""
    scores = _causal_scores(query, key)
    to_weights = numpy.einsum("bqhd,bkhd->bhqk", pulled, value, optimize=True)
    to_scores = softmax_backward(to_weights, scores) / math.sqrt(query.shape[-1])
    return (
        numpy.einsum("bhqk,bkhd->bqhd", to_scores, key, optimize=True),
        numpy.einsum("bhqk,bqhd->bkhd", to_scores, query, optimize=True),
        numpy.einsum("bhqk,bqhd->bkhd", softmax(scores), pulled, optimize=True),
    )


def convolution(x, weight):
    """Correlate the inner axes of x with an odd-sized kernel, stride 1, zeros around.

    x is (batch, *extents, channels); weight is (*kernel, channels, features), or (*kernel, channels) for a depthwise
    convolution, which filters every channel alone.
    """
    inner = range(1, x.ndim - 1)
    kernel = weight.shape[: x.ndim - 2]
    padded = numpy.pad(x, [(0, 0), *((size // 2, size // 2) for size in kernel), (0, 0)])
    result = 0
    for offset in numpy.ndindex(*kernel):
        window = tuple(slice(start, start + x.shape[axis]) for start, axis in zip(offset, inner, strict=True))
        tap, seen = weight[offset], padded[(slice(None), *window)]
        result = result + (seen * tap if tap.ndim == 1 else seen @ tap)
    return result


def sums_by_index(values, indices, count):
    """Return (count, …): the sum of the values whose index is 0, 1, … count − 1."""
    order = numpy.argsort(indices, kind="stable")
    present, starts = numpy.unique(indices[order], return_index=True)
    sums = numpy.zeros((count, *values.shape[1:]), values.dtype)
    sums[present] = numpy.add.reduceat(values[order], starts, axis=0)
    return sums


def pulled_back_in_order(x, value, gradient, pulled):
    """Return what a sort's or a top-k's gradient holds and what it should, row by row, in the order of the entries.

    x and gradient are (rows, columns); value, some entries of each row of x, and pulled, what is pulled back through
    them, are (rows, kept). Entries that are not kept have a gradient of zero. Which of equal entries was kept is left
    open: among them, gradients are taken in rising order.
    """
    found = numpy.take_along_axis(gradient, numpy.lexsort((gradient, x)), -1)
    # Each kept value takes the gradient's place of one entry of its rank; what is equal lies side by side.
    wanted = numpy.zeros_like(gradient)
    ranked = numpy.sort(x)
    for row, (entries, kept, cotangent) in enumerate(zip(ranked, value, pulled, strict=True)):
        by_value = numpy.lexsort((cotangent, kept))
        first = numpy.searchsorted(entries, kept[by_value])
        repeated = numpy.arange(len(kept)) - numpy.searchsorted(kept[by_value], kept[by_value])
        wanted[row, first + repeated] = cotangent[by_value]
    return found, numpy.take_along_axis(wanted, numpy.lexsort((wanted, ranked)), -1)
