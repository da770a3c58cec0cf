"""Attention: the step of a transformer whose cost grows with the square of the length."""

from . import reference, scaled_dot_product, workload


class Attention(workload.Workload):
    """Causal scaled-dot-product attention over queries, keys and values that are there.

    Compute-bound where a kernel keeps the scores on the chip, memory-bound where length × length scores are written and
    read back, overhead-bound when small.
    """

    sizes = {
        "small": workload.Size("overhead", batch=2, length=128, heads=4, features=32),
        "large": workload.Size("compute", accelerator_only=True, batch=8, length=2048, heads=16, features=128),
    }
    precisions = ("bf16", "tf32", "fp32")
    modes = ("eager", "compiled", "graphed", "autotuned")
    extra_params = {"implementation": scaled_dot_product.IMPLEMENTATIONS}
    differentiate = ("query", "key", "value")
    # Two products, the scaling, and a softmax: the largest, the difference, the exponential, the sum, the quotient.
    rounding_steps = 8

    @property
    def work_is_products(self):
        # Nobody counts the products within a fused kernel.
        return self.implementation == "written-out"

    def why_not(self, adapter, mode, pass_, precision, size):
        reason = super().why_not(adapter, mode, pass_, precision, size)
        return reason or scaled_dot_product.why_not(adapter, self.implementation, precision)

    def inputs(self, rng, batch, length, heads, features):
        return {name: rng.standard_normal((batch, length, heads, features), "float32") for name in self.differentiate}

    def torch(self, torch, query, key, value):
        return scaled_dot_product.torch_attention(torch, query, key, value, self.implementation)

    def jax(self, jax, query, key, value):
        return scaled_dot_product.jax_attention(jax, query, key, value, self.implementation)

    def numpy(self, numpy, query, key, value):
        return reference.causal_attention(query, key, value)

    def sum_length(self, batch, length, heads, features):
        return max(length, features)

    def flops(self, pass_, **dimensions):
        products = scaled_dot_product.flops(**dimensions)
        return products if pass_ == "forward" else 3 * products

    def bytes_moved(self, pass_, itemsize, batch, length, heads, features):
        array = batch * length * heads * features
        scores = batch * heads * length * length if self.implementation == "written-out" else 0
        if pass_ == "forward":
            return itemsize * (4 * array + 2 * scores)
        # Reads the three, the result and its cotangent; writes the result and three gradients.
        return itemsize * (9 * array + 4 * scores)
