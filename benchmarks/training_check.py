"""Whether a training step computes the loss, the gradients and the update that AdamW in float64 NumPy does."""

import math

import numpy

from . import adamw, correctness

STEPS = 3
# What an update rounds of the parameter itself: the factor of its decay, the product, the difference.
PARAMETER_ROUNDINGS = 3
# And of its change: the corrections (their exponent, expm1 and a cast), two quotients by them, the root, the sum with
# epsilon, the learning rate, its product, the quotient; a GPU's quotients and roots may be off by two units.
CHANGE_ROUNDINGS = 16
# A moment: two products, a sum, and the two factors, in each step.
MOMENT_ROUNDINGS = 5 * STEPS


def updated(parameter, first, second, count):
    """θ·(1 − ηλ) − η·m̂/(√v̂ + ε) with m̂ = m/(1 − β₁ᵗ), v̂ = v/(1 − β₂ᵗ)."""
    mean = first / (1 - adamw.BETA1**count)
    deviation = numpy.sqrt(second / (1 - adamw.BETA2**count))
    decayed = parameter * (1 - adamw.LEARNING_RATE * adamw.WEIGHT_DECAY)
    return decayed - adamw.LEARNING_RATE * mean / (deviation + adamw.EPSILON)


def check(computation, adapter, precision, size, inputs, step):
    """Run three steps and return (error, tolerance) of the worst of what follows.

    An update that is right says nothing of the precision of products, so its error is returned only when it is not. The
    reference of a step starts from the parameters that the framework held before it, so that what earlier steps
    rounded away does not add up. Compared are

    - the loss of every step with the float64 loss, as a relative error;
    - both moments of every parameter after the last with the float64 moments of `computation.numpy_gradient`, as a
      relative error in the Euclidean norm;
    - the update of every parameter in every step with the formula applied in float64 to the framework's own moments, as
      the largest error of an element relative to PARAMETER_ROUNDINGS·|parameter| + CHANGE_ROUNDINGS·|change|, which is
      at most one unit roundoff. With the reference's moments it would say little: where a gradient is smaller than its
      error, m̂/√v̂ may as well be 1 as −1.
    """
    point = correctness.fetch_all(adapter, inputs)
    target = point.pop("target")
    names = computation.differentiate
    sum_length = computation.sum_length(**computation.sizes[size].dimensions)
    roundings = computation.rounding_steps
    of_loss = correctness.tolerance(precision, roundings, sum_length)
    # The backward pass has about as many roundings again as the forward pass.
    of_gradient = correctness.tolerance(precision, 2 * roundings + MOMENT_ROUNDINGS, sum_length)
    # A tf32 update is in float32 throughout.
    of_update = correctness.UNIT_ROUNDOFF["fp32" if precision == "tf32" else precision]

    computed, updates = [], []
    parameters = {name: point[name] for name in names}
    first, second = ({name: numpy.zeros_like(parameters[name]) for name in names} for _ in range(2))
    for count in range(1, STEPS + 1):
        now = {**point, **parameters}
        loss = computation.numpy_loss(numpy, computation.numpy(numpy, **now), target)
        gradient = computation.numpy_gradient(numpy, target, **now)
        first = {name: adamw.BETA1 * first[name] + (1 - adamw.BETA1) * gradient[name] for name in names}
        second = {name: adamw.BETA2 * second[name] + (1 - adamw.BETA2) * gradient[name] ** 2 for name in names}

        value, _ = adapter.wait(step())
        held = {part: _fetched(adapter, step.state()[part]) for part in ("parameters", "first", "second")}
        computed.append((correctness.relative_error(adapter.fetch(value), loss), of_loss))
        for name in names:
            wanted = updated(parameters[name], held["first"][name], held["second"][name], count)
            updates.append((_largest_error(held["parameters"][name], wanted, parameters[name]), of_update))
        parameters = held["parameters"]
    for name in names:
        computed.append((correctness.relative_error(held["first"][name], first[name]), of_gradient))
        # Squaring doubles a relative error.
        computed.append((correctness.relative_error(held["second"][name], second[name]), 2 * of_gradient))
    wrong = [(error, allowed) for error, allowed in updates if not error <= allowed]
    return max(computed + wrong, key=lambda pair: pair[0] / pair[1])


def _fetched(adapter, arrays):
    # Copies: torch updates in place, and a float64 tensor on a CPU is fetched as a view.
    return {name: numpy.array(adapter.fetch(value)) for name, value in arrays.items()}


def _largest_error(found, wanted, before):
    """Return the largest error of an element in units of what an update rounds; infinite for what is not finite."""
    scale = PARAMETER_ROUNDINGS * numpy.abs(before) + CHANGE_ROUNDINGS * numpy.abs(wanted - before)
    error = numpy.abs(found - wanted)
    if found.shape != wanted.shape or not numpy.isfinite(error).all():
        return math.inf
    return float(numpy.max(numpy.divide(error, scale, out=numpy.zeros_like(error), where=scale > 0)))
