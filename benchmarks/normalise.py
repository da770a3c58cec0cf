"""Normalisations and reductions: much memory, little arithmetic."""

from . import layers, reference, workload

REDUCED_AXES = {"variance-0": 0, "variance-1": 1, "variance-2": 2}


class Normalise(workload.Workload):
    """Layer norm, softmax, or the variance over one axis, of a 3-D array.

    Memory-bound when large: what counts is how often the array is read, which fusion decides, and for the reductions
    how well the axis suits the layout in memory. Overhead-bound when small.
    """

    sizes = {
        "small": workload.Size("overhead", outer=16, rows=64, features=256),
        "large": workload.Size("memory", accelerator_only=True, outer=64, rows=1024, features=2048),
    }
    precisions = ("bf16", "fp32")
    modes = ("eager", "compiled", "graphed")
    extra_params = {"kind": ("layer-norm", "softmax", *REDUCED_AXES)}
    # Mean, difference, square, mean, root, quotient, scale and shift.
    rounding_steps = 8

    @property
    def differentiate(self):
        return ("x", "scale", "shift") if self.kind == "layer-norm" else ("x",)

    def inputs(self, rng, outer, rows, features):
        drawn = {"x": rng.standard_normal((outer, rows, features), "float32")}
        if self.kind == "layer-norm":
            drawn["scale"] = 1 + 0.1 * rng.standard_normal(features, "float32")
            drawn["shift"] = 0.1 * rng.standard_normal(features, "float32")
        return drawn

    def torch(self, torch, x, **affine):
        if self.kind == "layer-norm":
            return torch.nn.functional.layer_norm(x, x.shape[-1:], affine["scale"], affine["shift"])
        if self.kind == "softmax":
            return torch.softmax(x, -1)
        return torch.var(x, REDUCED_AXES[self.kind], correction=0)

    def jax(self, jax, x, **affine):
        if self.kind == "layer-norm":
            return layers.jax_normalised(jax, x, -1, affine["scale"], affine["shift"])
        if self.kind == "softmax":
            return jax.nn.softmax(x, -1)
        return jax.numpy.var(x, REDUCED_AXES[self.kind])

    def numpy(self, numpy, x, **affine):
        if self.kind == "layer-norm":
            return reference.layer_norm(x, affine["scale"], affine["shift"])
        if self.kind == "softmax":
            return reference.softmax(x)
        return numpy.var(x, REDUCED_AXES[self.kind])

    def sum_length(self, outer, rows, features):
        # A gradient of scale and shift is a sum over all rows.
        return {"layer-norm": outer * rows, "variance-0": outer, "variance-1": rows}.get(self.kind, features)

    def flops(self, pass_, outer, rows, features):
        # Of one element: layer norm subtracts, squares, adds twice, divides, scales and shifts; softmax compares,
        # subtracts, raises, adds and divides; a variance does without the last three of layer norm.
        each = {"layer-norm": 7, "softmax": 5}.get(self.kind, 4)
        # The gradient does as much again, and half as much for what the two reductions of it add.
        return outer * rows * features * each * (1 if pass_ == "forward" else 2.5)

    def bytes_moved(self, pass_, itemsize, outer, rows, features):
        array = outer * rows * features
        result = array // {"variance-0": outer, "variance-1": rows, "variance-2": features}.get(self.kind, 1)
        forward = array + result
        # x (or softmax's result) and the cotangent read, the gradient written.
        return itemsize * (forward if pass_ == "forward" else forward + array + result + array)
