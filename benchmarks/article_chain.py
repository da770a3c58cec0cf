"""The chain of matrix products of the article that this project began with, as it was published."""

import functools

import numpy

from . import workload

LENGTH = 10


class ArticleChain(workload.Workload):
    """Twenty linear matrix products and their mean, written the way the article wrote them.

    x ← (x·w1 − b1)·w2 − b2, ten times, every entry of x 1 and of the weights 1/n; the gradient with respect to x. The
    weights are closed over, torch loops in Python and compiles whatever torch.compile makes of it, jax loops in
    fori_loop. Several of its figures are not what they seem, and the audits say which: its gradient does not depend on
    the forward pass, which compilers drop; under jax.jit the weights become constants of the program; eager fori_loop
    is traced again at every call. MatmulChain is the same chain without these.
    """

    sizes = {
        "small": workload.Size("overhead", n=512, m=64),
        "article": workload.Size("compute", accelerator_only=True, n=10_000, m=1_000),
    }
    precisions = ("bf16", "fp16", "fp32", "fp64")
    differentiate = ("x",)
    work_is_products = True
    rounding_steps = 2 * LENGTH

    def inputs(self, rng, n, m):
        def entries(rows):
            return numpy.full((rows, n), 1 / n, "float32")

        return {
            "x": numpy.ones((m, n), "float32"),
            "w1": entries(n),
            "w2": entries(n),
            "b1": entries(1),
            "b2": entries(1),
        }

    def torch(self, torch, x, w1, w2, b1, b2):
        for _ in range(LENGTH):
            x = torch.matmul(x, w1) - b1
            x = torch.matmul(x, w2) - b2
        return torch.mean(x)

    def jax(self, jax, x, w1, w2, b1, b2):
        def body(_, x):
            x = jax.numpy.matmul(x, w1) - b1
            return jax.numpy.matmul(x, w2) - b2

        return jax.numpy.mean(jax.lax.fori_loop(0, LENGTH, body, x))

    def numpy(self, numpy, x, w1, w2, b1, b2):
        for _ in range(LENGTH):
            x = x @ w1 - b1
            x = x @ w2 - b2
        return numpy.mean(x)

    def build(self, adapter, mode, pass_, inputs):
        """Close over the weights, differentiate with each framework's function transform, compile what comes out."""
        x = inputs["x"]
        weights = {name: value for name, value in inputs.items() if name != "x"}
        computation = self.computation(adapter)

        def function(x):
            return computation(x=x, **weights)

        if pass_ == "grad":
            transform = adapter.module.func.grad if adapter.name == "torch" else adapter.module.grad
            function = transform(function)
        if mode == "compiled":
            # The article let torch.compile fall back to eager where it could not follow.
            function = adapter.compile_leniently(function)
        return functools.partial(function, x)

    def split_grad(self, result):
        return None, (result,)

    def sum_length(self, n, m):
        return n

    def flops(self, pass_, n, m):
        products = 2 * LENGTH * (2 * m * n * n)
        return products if pass_ == "forward" else 2 * products

    def bytes_moved(self, pass_, itemsize, n, m):
        return itemsize * (2 * n * n + m * n + 2 * n + (0 if pass_ == "forward" else m * n))
