"""Random numbers: noise and shuffling, which every training run draws."""

import math

import numpy

from . import random_check, workload

SEED = 0


class RandomNumbers(workload.Workload):
    """An array of standard normals, or a random permutation of 0, 1, … n − 1.

    Normals are compute-bound on a generator's integer rounds when large; a permutation sorts random numbers, or swaps
    one by one. Overhead-bound when small. The generators differ and are the frameworks' defaults: torch advances a
    state that it keeps, jax is given the same key at every step. In bf16 they do not do the same: torch draws in
    float32 and rounds, jax makes its normals of uniform numbers in bf16, which gives 128 different ones within ±2.9.
    A permutation's numbers are of each framework's own integer type. torch.compile of x[torch.randperm(n)] fails in
    some releases (https://github.com/pytorch/pytorch/issues/183988), so the permutation itself is returned.
    """

    sizes = {
        "small": workload.Size("overhead", n=2**13),
        "large": workload.Size("compute", accelerator_only=True, n=2**24),
    }
    precisions = ("bf16", "fp32")
    modes = ("eager", "compiled", "graphed")
    passes = ("forward",)
    extra_params = {"kind": ("normal", "permutation")}

    def why_not(self, adapter, mode, pass_, precision, size):
        if self.kind == "permutation" and precision != "fp32":
            return "a permutation has no precision; it is measured under fp32"
        return super().why_not(adapter, mode, pass_, precision, size)

    def inputs(self, rng, n):
        # For its shape and type, which are constants of the program.
        return {"like": numpy.zeros(n, "float32")}

    def build(self, adapter, mode, pass_, inputs):
        if adapter.name == "torch":
            adapter.module.manual_seed(SEED)
        if adapter.name == "jax":
            inputs = {**inputs, "key": adapter.module.random.key(SEED)}
        return super().build(adapter, mode, pass_, inputs)

    def torch(self, torch, like):
        return torch.randn_like(like) if self.kind == "normal" else torch.randperm(len(like), device=like.device)

    def jax(self, jax, like, key):
        if self.kind == "normal":
            return jax.random.normal(key, like.shape, like.dtype)
        return jax.random.permutation(key, len(like))

    def numpy(self, numpy, like):
        rng = numpy.random.default_rng(SEED)
        return rng.standard_normal(like.shape) if self.kind == "normal" else rng.permutation(len(like))

    def check(self, adapter, mode, pass_, precision, size, inputs):
        """Return (share of what chance and precision explain, 1): no generator's numbers are another's."""
        step = self.build(adapter, mode, pass_, inputs)
        drawn = adapter.fetch(workload.run_synchronised(adapter, step)).copy()
        if adapter.name == "torch" and (drawn == adapter.fetch(workload.run_synchronised(adapter, step))).all():
            # Drawn when it was compiled.
            return math.inf, 1.0
        if drawn.shape != inputs["like"].shape:
            return math.inf, 1.0
        if self.kind == "normal":
            return random_check.normal_error(drawn, precision), 1.0
        return random_check.permutation_error(drawn), 1.0

    def flops(self, pass_, n):
        # Box and Muller, A note on the generation of random normal deviates (1958): logarithm, root, sine, product.
        # A permutation has none.
        return 4 * n if self.kind == "normal" else 0

    def bytes_moved(self, pass_, itemsize, n):
        # 32-bit integers are the narrower ones.
        return n * (itemsize if self.kind == "normal" else 4)
