"""Workloads with one fault each, and two without. tests/test_audits.py measures them in a copy of benchmarks/ that
this file is put into: there the imports below hold.

PLANTED_WITHOUT names checks that are taken out of the copy: what finds their faults then?
"""

import os

from . import article_chain, audits, matmul_chain, workload

SMALL = {"small": workload.Size("overhead", n=384)}
TIMED_CALL = 20


def _take_out(name):
    if name == "result":
        workload.check_result = lambda *arguments: None
    elif name == "timing":
        workload._Ready.refuse_compilation = lambda *arguments: None
    else:
        for kind in ("COSTLY", "COUNTERS"):
            kept = tuple(each for each in getattr(audits, kind) if each.__name__.rsplit(".", 1)[-1] != name)
            setattr(audits, kind, kept)


for taken_out in filter(None, os.environ.get("PLANTED_WITHOUT", "").split(",")):
    _take_out(taken_out)


class Product(workload.Workload):
    """No fault: tanh(x·w)."""

    sizes = SMALL
    precisions = ("fp32",)
    differentiate = ("x", "w")
    work_is_products = True
    rounding_steps = 2
    warmup_time = 0
    repeat = 2

    def inputs(self, rng, n):
        return {
            "x": rng.standard_normal((n, n), "float32"),
            "w": rng.standard_normal((n, n), "float32") / n**0.5,
        }

    def torch(self, torch, x, w):
        return torch.tanh(x @ w)

    def jax(self, jax, x, w):
        return jax.numpy.tanh(x @ w)

    def numpy(self, numpy, x, w):
        return numpy.tanh(x @ w)

    def sum_length(self, n):
        return n

    def flops(self, pass_, n):
        return 2 * n**3 * (1 if pass_ == "forward" else 3)

    def bytes_moved(self, pass_, itemsize, n):
        return itemsize * n * n * (3 if pass_ == "forward" else 5)


class Chain(matmul_chain.MatmulChain):
    """No fault: the chain that is flagged by nothing."""

    sizes = {"small": workload.Size("overhead", n=512, m=64)}
    precisions = ("fp32",)
    warmup_time = 0
    repeat = 2


class Article(article_chain.ArticleChain):
    """The article's chain as it is: its compiled gradient is elided, its weights are constants."""

    sizes = {"small": workload.Size("overhead", n=512, m=64)}
    precisions = ("fp32",)
    warmup_time = 0
    repeat = 2


class BrokenArticle(Article):
    """A chain that torch.compile cannot capture whole, and runs in pieces."""

    def torch(self, torch, x, w1, w2, b1, b2):
        x = torch.matmul(x, w1) - b1
        torch._dynamo.graph_break()
        return super().torch(torch, x, w1, w2, b1, b2)

    def jax(self, jax, x, w1, w2, b1, b2):
        return super().jax(jax, jax.numpy.matmul(x, w1) - b1, w1, w2, b1, b2)

    def numpy(self, numpy, x, w1, w2, b1, b2):
        return super().numpy(numpy, x @ w1 - b1, w1, w2, b1, b2)


class GraphBreak(Product):
    """A graph break where whole capture is demanded."""

    def torch(self, torch, x, w):
        product = x @ w
        torch._dynamo.graph_break()
        return torch.tanh(product)


class Bf16Inside(Product):
    """fp32 outside, bf16 inside."""

    def torch(self, torch, x, w):
        return torch.tanh((x.bfloat16() @ w.bfloat16()).float())

    def jax(self, jax, x, w):
        narrow = jax.numpy.bfloat16
        return jax.numpy.tanh((x.astype(narrow) @ w.astype(narrow)).astype(x.dtype))


class Tf32Inside(Product):
    """fp32 that keeps tf32's ten fraction bits of each factor."""

    def torch(self, torch, x, w):
        x, w = ((each.view(torch.int32) & -(2**13)).view(torch.float32) for each in (x, w))
        return torch.tanh(x @ w)

    def jax(self, jax, x, w):
        x, w = (jax.lax.reduce_precision(each, exponent_bits=8, mantissa_bits=10) for each in (x, w))
        return jax.numpy.tanh(x @ w)


class Fp32Inside(Product):
    """fp64 outside, fp32 inside."""

    precisions = ("fp64",)

    def torch(self, torch, x, w):
        return torch.tanh(x.float() @ w.float()).double()

    def jax(self, jax, x, w):
        narrow = jax.numpy.float32
        return jax.numpy.tanh(x.astype(narrow) @ w.astype(narrow)).astype(x.dtype)


class NoX64(Product):
    """fp64 on a jax whose x64 is off: everything silently is fp32."""

    precisions = ("fp64",)

    def inputs(self, rng, n):
        import jax

        jax.config.update("jax_enable_x64", False)
        return super().inputs(rng, n)


class NarrowInputs(Product):
    """The adapter puts bf16 on the device; the computation makes fp32 of it again."""

    def why_not(self, adapter, *parameters):
        put = type(adapter).put
        adapter.put = lambda array, precision: put(adapter, array, "bf16" if array.ndim == 2 else precision)
        self._adapter = adapter
        return super().why_not(adapter, *parameters)

    def torch(self, torch, x, w):
        return super().torch(torch, x.float(), w.float())

    def jax(self, jax, x, w):
        return super().jax(jax, x.astype("float32"), w.astype("float32"))

    def release(self):
        super().release()
        vars(self._adapter).pop("put", None)


class NarrowGradient(Product):
    """The gradient comes out in bf16."""

    def build(self, adapter, mode, pass_, inputs):
        step = super().build(adapter, mode, pass_, inputs)

        def narrowed():
            value, gradients = step()
            if adapter.name == "torch":
                return value, tuple(each.bfloat16() for each in gradients)
            return value, tuple(each.astype("bfloat16") for each in gradients)

        return narrowed


class CompilesAlways(Product):
    """Another program at every call."""

    def build(self, adapter, mode, pass_, inputs):
        return _Recompiling(adapter, mode, self.computation(adapter), inputs, every=1)


class CompilesLater(Product):
    """Another program from the twentieth call on, when it is timed."""

    repeat = 2 * TIMED_CALL

    def build(self, adapter, mode, pass_, inputs):
        return _Recompiling(adapter, mode, self.computation(adapter), inputs, every=TIMED_CALL)


class CompilesLast(Product):
    """Another program in the very last sample, after which no other begins."""

    def build(self, adapter, mode, pass_, inputs):
        step = _Recompiling(adapter, mode, self.computation(adapter), inputs, every=None)
        # The audits build steps of their own.
        self._timed = getattr(self, "_timed", step)
        return step

    def check_sample(self, *arguments):
        # Two samples: it is called between them and after the second.
        super().check_sample(*arguments)
        self._timed.every = 1


class _Recompiling:
    """A step that is compiled anew every so many calls: in torch through a guarded number, in jax as a new function."""

    def __init__(self, adapter, mode, function, inputs, every):
        self._adapter, self._mode, self._function, self._inputs, self.every = adapter, mode, function, inputs, every
        self._calls = self.number = 0
        self.renew()

    def renew(self):
        self.number += 1
        if self._adapter.name == "torch" and self.number > 1:
            return

        def function(**inputs):
            return self._function(**inputs) * (self.number / self.number)

        self._step = self._adapter.forward(function, self._mode, self._inputs)

    def __call__(self):
        if self._calls and self.every and self._calls % self.every == 0:
            self.renew()
        self._calls += 1
        return self._step()


class TwoPrograms(Product):
    """One step, two programs."""

    def build(self, adapter, mode, pass_, inputs):
        if adapter.name == "torch":
            product = adapter.compile(lambda x, w: x @ w, mode)
            bent = adapter.compile(lambda y: adapter.module.tanh(y), mode)
        else:
            product = adapter.compile(lambda x, w: x @ w, mode)
            bent = adapter.compile(lambda y: adapter.module.numpy.tanh(y), mode)
        return lambda: bent(product(**inputs))


class Elsewhere(Product):
    """The result is on the second device."""

    def build(self, adapter, mode, pass_, inputs):
        step = super().build(adapter, mode, pass_, inputs)
        return lambda: adapter.module.device_put(step(), adapter.module.devices()[1])


class OneThread(Product):
    """torch on one thread of several; jax is told so from outside."""

    def build(self, adapter, mode, pass_, inputs):
        if adapter.name == "jax":
            return super().build(adapter, mode, pass_, inputs)
        self._adapter, self._threads = adapter, adapter.module.get_num_threads()
        adapter.module.set_num_threads(1)
        return super().build(adapter, mode, pass_, inputs)

    def release(self):
        super().release()
        if hasattr(self, "_threads"):
            self._adapter.module.set_num_threads(self._threads)


class Boast(Product):
    """Claims a thousand times the work that it does."""

    sizes = {"small": workload.Size("overhead", n=192)}

    def flops(self, pass_, n):
        return 1000 * super().flops(pass_, n)


class Tiny(Product):
    """A step that is all overhead."""

    sizes = {"small": workload.Size("overhead", n=2)}


class NotANumber(Product):
    """0/0."""

    def torch(self, torch, x, w):
        return super().torch(torch, x, w) / (0 * x)

    def jax(self, jax, x, w):
        return super().jax(jax, x, w) / (0 * x)


class OneSideDiffers(Product):
    """A framework's side computes something else than the reference, and so than the other framework's."""

    def torch(self, torch, x, w):
        return super().torch(torch, x, 1.001 * w)

    def jax(self, jax, x, w):
        return super().jax(jax, x, 1.001 * w)


class OutOfMemory(Product):
    """Asks for more memory than there is."""

    def torch(self, torch, x, w):
        return super().torch(torch, x, w) + torch.ones((2**44,)).sum()

    def jax(self, jax, x, w):
        return super().jax(jax, x, w) + jax.numpy.ones((2**44,)).sum()


class Watched(Product):
    """No fault of its own: what NVML says of the GPU while it is measured is planted."""

    def why_not(self, adapter, *parameters):
        type(adapter).on_gpu = property(lambda adapter: True)
