"""Chains of matrix products: what a dense network spends its time on."""

from . import workload

LENGTH = 10


class MatmulChain(workload.Workload):
    """Twenty square matrix products with a tanh after each: compute-bound when large, overhead-bound when small.

    x ← tanh(tanh(x·w1 + b1)·w2 + b2), ten times. The article's chain (ArticleChain) made honest: normal data that keeps
    its variance, a nonlinearity that no compiler can drop, weights passed as arguments, and a gradient with respect to
    x and all weights that returns the value too.
    """

    sizes = {
        "small": workload.Size("overhead", n=512, m=64),
        "medium": workload.Size("compute", n=2048, m=512),
        "article": workload.Size("compute", accelerator_only=True, n=10_000, m=1_000),
    }
    modes = ("eager", "compiled", "graphed", "autotuned")
    differentiate = ("x", "w1", "b1", "w2", "b2")
    work_is_products = True
    rounding_steps = 2 * LENGTH

    def inputs(self, rng, n, m):
        # A weight of standard deviation 1.6/sqrt(n) makes up for the variance that tanh takes away.
        def normal(*shape):
            return rng.standard_normal(shape, "float32")

        scale = 1.6 / n**0.5
        return {
            "x": normal(m, n),
            "w1": normal(n, n) * scale,
            "b1": normal(1, n) * 0.1,
            "w2": normal(n, n) * scale,
            "b2": normal(1, n) * 0.1,
        }

    def torch(self, torch, x, w1, b1, w2, b2):
        for _ in range(LENGTH):
            x = torch.tanh(x @ w1 + b1)
            x = torch.tanh(x @ w2 + b2)
        return x

    def jax(self, jax, x, w1, b1, w2, b2):
        for _ in range(LENGTH):
            x = jax.numpy.tanh(x @ w1 + b1)
            x = jax.numpy.tanh(x @ w2 + b2)
        return x

    def numpy(self, numpy, x, w1, b1, w2, b2):
        for _ in range(LENGTH):
            x = numpy.tanh(x @ w1 + b1)
            x = numpy.tanh(x @ w2 + b2)
        return x

    def sum_length(self, n, m):
        return n

    def flops(self, pass_, n, m):
        products = 2 * LENGTH * (2 * m * n * n)
        return products if pass_ == "forward" else 3 * products

    def bytes_moved(self, pass_, itemsize, n, m):
        read = 2 * n * n + m * n + 2 * n
        written = m * n if pass_ == "forward" else m * n + 2 * n * n + m * n + 2 * n
        # The grad pass reads back every activation that the forward pass keeps.
        kept = 0 if pass_ == "forward" else 2 * (2 * LENGTH * m * n)
        return itemsize * (read + written + kept)
