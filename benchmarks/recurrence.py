"""A recurrence: a short operation that waits for the one before, thousands of times."""

import functools

import numpy

from . import workload

# torch.compile unrolls a Python loop; on two busy cores 64 steps took it 36 s and their gradient 132 s, 256 steps eight
# minutes: longer than a benchmark may take.
UNROLLED_STEPS = 32


class Recurrence(workload.Workload):
    """h ← tanh(h·w + u) for a small state and one row of input after the other; all states are returned.

    Overhead-bound, whatever the machine: what counts is what a framework needs from one step to the next. Written as
    each framework's users write it: jax.lax.scan, and in torch, which has no public function for it, a Python loop,
    which torch.compile unrolls; loops too long for that are not compiled. Outside of jit jax compiles the gradient of a
    scan at every call. The matrix is orthogonal and so stretches nothing: neither signals nor roundings grow.
    """

    sizes = {
        "small": workload.Size("overhead", steps=32, width=32),
        "long": workload.Size("overhead", steps=4096, width=32),
    }
    precisions = ("fp32", "fp64")
    modes = ("eager", "compiled", "graphed")
    differentiate = ("start", "matrix", "drive")
    # The product, the sum and the tanh of one step.
    rounding_steps = 3

    def why_not(self, adapter, mode, pass_, precision, size):
        steps = self.sizes[size].dimensions["steps"]
        if adapter.name == "torch" and mode != "eager" and steps > UNROLLED_STEPS:
            return f"torch.compile unrolls a Python loop; {steps} steps take many minutes to compile"
        return super().why_not(adapter, mode, pass_, precision, size)

    def inputs(self, rng, steps, width):
        return {
            "start": rng.standard_normal(width, "float32"),
            "matrix": numpy.linalg.qr(rng.standard_normal((width, width)))[0].astype("float32"),
            "drive": rng.standard_normal((steps, width), "float32"),
        }

    def torch(self, torch, start, matrix, drive):
        state, states = start, []
        for push in drive.unbind():
            state = torch.tanh(state @ matrix + push)
            states.append(state)
        return torch.stack(states)

    def jax(self, jax, start, matrix, drive):
        (_, _), states = jax.lax.scan(_jax_step(jax), (start, matrix), drive)
        return states

    def numpy(self, numpy, start, matrix, drive):
        state, states = start, []
        for push in drive:
            state = numpy.tanh(state @ matrix + push)
            states.append(state)
        return numpy.stack(states)

    def sum_length(self, steps, width):
        # tanh forgets a rounding within a few steps; the matrix's gradient is a sum over all of them.
        return max(steps, width)

    def flops(self, pass_, steps, width):
        # The product, the sum and the tanh.
        forward = steps * (2 * width**2 + 2 * width)
        return forward if pass_ == "forward" else 3 * forward

    def bytes_moved(self, pass_, itemsize, steps, width):
        forward = width + width**2 + 2 * steps * width
        # The states read again and the cotangent read, the gradients of all three written.
        return itemsize * (forward if pass_ == "forward" else 2 * forward + steps * width)


@functools.cache
def _jax_step(jax):
    # One function, not one a call: jax recognises by it that a scan outside of jit is compiled already.
    def step(carried, push):
        state, matrix = carried
        state = jax.numpy.tanh(state @ matrix + push)
        return (state, matrix), state

    return step
