"""The two frameworks behind one interface.

An adapter puts arrays on the device, builds the callable of a mode and pass, waits for a result and says what device
and precision were really used. Requirements: `torch` for TorchAdapter, `jax` and `jaxlib` for JaxAdapter, imported when
an adapter is made.
"""

import contextlib
import functools
import glob
import importlib
import os
import shutil
import sys
import time

import numpy

from . import sidecar

FRAMEWORKS = ("torch", "jax")
PRECISIONS = ("bf16", "fp16", "tf32", "fp32", "fp64")
# Numbers from which a GPU converts them sooner than NumPy.
CAST_ON_GPU = 2**22
# What torch hands to MKL's vector math on a CPU.
VECTOR_MATH = (
    *("acos", "asin", "atan", "cos", "erf", "erfc", "erfinv", "exp", "expm1", "lgamma"),
    *("log", "log10", "log1p", "log2", "sin", "sqrt", "tan", "tanh"),
)


class Unsupported(NotImplementedError):
    """The row or device cannot run this; the message is the reason. asv skips a benchmark that raises it in setup."""


def accelerator():
    """Return what the row was built for: `cpu`, `cuda12`, `cuda13`, or None when nobody said."""
    return os.environ.get("BENCH_ACCELERATOR") or None


def available_cpus():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _threads_named(name):
    """Count this process's threads of a name, 0 where the system does not say."""
    count = 0
    for path in glob.glob("/proc/self/task/*/comm"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as stream:
            count += stream.read().strip() == name
    return count


class TorchAdapter:
    """PyTorch. Arrays are tensors on one device; a step ends with `torch.cuda.synchronize()`."""

    name = "torch"
    modes = {"compiled": None, "graphed": "reduce-overhead", "autotuned": "max-autotune-no-cudagraphs"}

    def __init__(self):
        try:
            import torch
        except ImportError as error:
            raise Unsupported("torch is not installed in this row") from error
        self.module = torch
        wanted = accelerator()
        on_gpu = torch.cuda.is_available() if wanted is None else wanted != "cpu"
        if on_gpu and not torch.cuda.is_available():
            raise RuntimeError(f"the row is built for {wanted}, but torch {torch.__version__} sees no GPU")
        self.device = torch.device("cuda" if on_gpu else "cpu")
        self._backend = "inductor"
        # torch takes one thread a physical core, XLA one a logical CPU of the affinity: equal, or no comparison.
        torch.set_num_threads(available_cpus())
        if not self.on_gpu:
            self._settle_vector_math()

    def _settle_vector_math(self):
        # MKL chooses a function's kernel at its first call, and where threads make that call together one of them may
        # run a kernel of 12 bits (https://github.com/pytorch/pytorch/issues/188792): one element has one thread.
        torch = self.module
        for dtype in (torch.float32, torch.float64):
            element = torch.full((1,), 0.5, dtype=dtype)
            for function in VECTOR_MATH:
                getattr(torch, function)(element)

    @property
    def on_gpu(self):
        return self.device.type == "cuda"

    def device_name(self):
        return self.module.cuda.get_device_name() if self.on_gpu else "cpu"

    def threads(self):
        return self.module.get_num_threads()

    def free_bytes(self):
        """Device memory free for a step, in bytes; None on a CPU."""
        return self.module.cuda.mem_get_info()[0] if self.on_gpu else None

    def dtype(self, precision):
        torch = self.module
        return {
            "bf16": torch.bfloat16,
            "fp16": torch.float16,
            "tf32": torch.float32,
            "fp32": torch.float32,
            "fp64": torch.float64,
        }[precision]

    def why_not(self, mode, precision):
        """Return why this row cannot run the mode or the precision, or None."""
        torch = self.module
        if precision == "tf32" and not (self.on_gpu and torch.cuda.get_device_capability() >= (8, 0)):
            return "tf32 needs an NVIDIA GPU of compute capability 8.0 or later"
        if precision == "bf16" and self.on_gpu and torch.cuda.get_device_capability() < (8, 0):
            return "bf16 needs an NVIDIA GPU of compute capability 8.0 or later"
        if mode == "eager":
            return None
        if mode == "graphed" and not self.on_gpu:
            return "CUDA graphs need a GPU"
        if mode == "autotuned" and not self.on_gpu:
            return "max-autotune is measured on a GPU only"
        from torch._dynamo import eval_frame

        if not eval_frame.is_dynamo_supported():
            return f"torch.compile of torch {torch.__version__} does not support this Python"
        compilers = [os.environ.get("CXX"), "g++", "clang++", "c++"]
        if not any(compiler and shutil.which(compiler) for compiler in compilers):
            return "torch.compile needs a C++ compiler, and none was found"
        return None

    def set_precision(self, precision):
        torch = self.module
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = precision == "tf32"

    def put(self, array, precision):
        """Copy a NumPy array to the device: floats in the storage type of the precision, integers as indices."""
        tensor = self.module.from_numpy(numpy.array(array))
        if tensor.is_floating_point():
            tensor = tensor.to(self.dtype(precision))
        elif tensor.dtype != self.module.bool:
            tensor = tensor.to(self.module.int64)
        return tensor.to(self.device)

    def cast_like(self, array, value):
        """Copy a NumPy array to the device in the type of an array that is there."""
        return self.module.from_numpy(numpy.array(array)).to(dtype=value.dtype, device=value.device)

    def fetch(self, result):
        """Return a float64 (or integer) NumPy copy of one array."""
        tensor = result.detach()
        if tensor.is_floating_point():
            tensor = tensor.double()
        return tensor.cpu().numpy()

    def leaves(self, result):
        if isinstance(result, dict):
            result = list(result.values())
        if isinstance(result, (list, tuple)):
            return [leaf for part in result for leaf in self.leaves(part)]
        return [result]

    def compile(self, function, mode):
        """Compile whole: a graph break is an error, and shapes are constants as under jax.jit."""
        # Modes are inductor's; another backend takes none.
        inductor_mode = self.modes[mode] if self._backend == "inductor" else None
        return self.module.compile(function, backend=self._backend, mode=inductor_mode, fullgraph=True, dynamic=False)

    def compile_leniently(self, function):
        """Compile what torch.compile can follow and let it run the rest eagerly."""
        return self.module.compile(function, backend=self._backend)

    @contextlib.contextmanager
    def compiling_with(self, backend):
        """Within the context, compile with another torch.compile backend."""
        self._backend = backend
        self.module._dynamo.reset()
        try:
            yield
        finally:
            self._backend = "inductor"
            self.module._dynamo.reset()

    def compilation_counts(self):
        """Return how often the process has compiled so far: captured graphs and graph breaks."""
        from torch._dynamo.utils import counters

        return {"graphs": counters["stats"]["unique_graphs"], "graph_breaks": sum(counters["graph_break"].values())}

    def result_like(self, function, inputs):
        """Return something of the shape and type of `function(**inputs)`."""
        return self.forward(function, "eager", inputs)()

    def forward(self, function, mode, inputs):
        """Return a callable that computes `function(**inputs)`."""
        torch = self.module
        if mode != "eager":
            function = self.compile(function, mode)

        def step():
            with torch.no_grad():
                return function(**inputs)

        return step

    def grad(self, function, mode, inputs, differentiate, cotangent):
        """Return a callable that computes the value and its vector-Jacobian product: autograd through the forward."""
        torch = self.module
        inputs = {
            name: value.detach().requires_grad_() if name in differentiate else value for name, value in inputs.items()
        }
        sources = [inputs[name] for name in differentiate]
        if mode != "eager":
            function = self.compile(function, mode)

        def step():
            value = function(**inputs)
            return value, torch.autograd.grad(value, sources, cotangent)

        return step

    def wait(self, result):
        if self.on_gpu:
            self.module.cuda.synchronize()
        return result

    def is_ready(self, result):
        """Whether the device has finished everything it was given."""
        return self.module.cuda.current_stream().query() if self.on_gpu else True

    def is_on_device(self, array):
        return array.device.type == self.device.type

    def is_floating(self, array):
        return array.is_floating_point()

    def all_finite(self, arrays):
        return all(bool(self.module.isfinite(array).all()) for array in arrays)

    def release(self):
        """Free what the last benchmark left: compiled code, cached device memory."""
        self.module._dynamo.reset()
        if self.on_gpu:
            self.module.cuda.empty_cache()


class JaxAdapter:
    """JAX. Arrays are committed to one device; a step ends with `jax.block_until_ready(result)`."""

    name = "jax"

    def __init__(self):
        wanted = accelerator()
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        try:
            import jax
        except ImportError as error:
            raise Unsupported("jax is not installed in this row") from error
        self.module = jax
        device = jax.devices()[0]
        if wanted is not None and (device.platform == "gpu") != (wanted != "cpu"):
            raise RuntimeError(f"the row is built for {wanted}, but jax {jax.__version__} runs on {device.platform}")
        self.device = device
        self._programs = 0
        jax.monitoring.register_event_duration_secs_listener(self._count_program)
        if not self.on_gpu:
            self._use_compile_cache()

    def _count_program(self, event, duration, **_):
        self._programs += event == "/jax/core/compile/jaxpr_to_mlir_module_duration"

    def _use_compile_cache(self):
        # On a GPU the cache would also keep the autotuner's choice of kernels, and all processes of a row would
        # repeat one draw of it: their spread, and the control's, would be too small. On a CPU nothing is autotuned.
        folder = os.environ.get("BENCH_CACHE")
        if folder:
            self.module.config.update("jax_compilation_cache_dir", os.path.join(folder, "jax"))
            self.module.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)

    @property
    def on_gpu(self):
        return self.device.platform == "gpu"

    def device_name(self):
        return self.device.device_kind if self.on_gpu else "cpu"

    def threads(self):
        """Threads of XLA's pool; of a release that does not name them, the CPUs that it makes one for each of."""
        return _threads_named("tf_XLAEigen") or available_cpus()

    def free_bytes(self):
        """Device memory free for a step, in bytes; None on a CPU or where the allocator does not say."""
        statistics = self.device.memory_stats() if self.on_gpu else None
        if not statistics or "bytes_limit" not in statistics:
            return None
        return statistics["bytes_limit"] - statistics["bytes_in_use"]

    def dtype(self, precision):
        numpy_like = self.module.numpy
        return {
            "bf16": numpy_like.bfloat16,
            "fp16": numpy_like.float16,
            "tf32": numpy_like.float32,
            "fp32": numpy_like.float32,
            "fp64": numpy_like.float64,
        }[precision]

    def why_not(self, mode, precision):
        """Return why this row cannot run the mode or the precision, or None."""
        if mode == "graphed":
            return "graphed is torch's reduce-overhead; jax.jit decides about command buffers itself"
        if mode == "autotuned":
            return "autotuned is torch's max-autotune; jax.jit autotunes by itself"
        if precision in ("tf32", "bf16"):
            capability = float(getattr(self.device, "compute_capability", 0) or 0) if self.on_gpu else 0
            if capability < 8 and (self.on_gpu or precision == "tf32"):
                return f"{precision} needs an NVIDIA GPU of compute capability 8.0 or later"
        return None

    def set_precision(self, precision):
        config = self.module.config
        # Without x64, float64 silently becomes float32; without "highest", float32 products on a GPU use TF32.
        config.update("jax_enable_x64", precision == "fp64")
        matmul = {"tf32": "tensorfloat32", "fp32": "highest", "fp64": "highest"}.get(precision)
        config.update("jax_default_matmul_precision", matmul)

    def put(self, array, precision):
        """Copy a NumPy array to the device: floats in the storage type of the precision, integers as indices."""
        if numpy.issubdtype(array.dtype, numpy.floating):
            return self._put_as(self.dtype(precision), array)
        return self._put_as(bool if array.dtype == bool else numpy.int32, array)

    def cast_like(self, array, value):
        """Copy a NumPy array to the device in the type of an array that is there."""
        return self._put_as(value.dtype, array)

    def _put_as(self, dtype, array):
        # A GPU rounds float32 to a narrower type as NumPy does, much faster once the program for it is compiled.
        if self.on_gpu and array.dtype == numpy.float32 and array.size >= CAST_ON_GPU:
            return self.module.device_put(array, self.device).astype(dtype)
        return self.module.device_put(numpy.asarray(array).astype(dtype), self.device)

    def fetch(self, result):
        """Return a float64 (or integer) NumPy copy of one array."""
        array = numpy.asarray(result)
        if numpy.issubdtype(array.dtype, numpy.integer) or array.dtype == bool:
            return array
        return array.astype(numpy.float64)

    def leaves(self, result):
        return self.module.tree_util.tree_leaves(result)

    def compile(self, function, mode):
        return self.module.jit(function)

    def compile_leniently(self, function):
        return self.module.jit(function)

    def compilation_counts(self):
        """Return how many programs the process has lowered so far, eager operations included."""
        return {"programs": self._programs}

    def result_like(self, function, inputs):
        """Return something of the shape and type of `function(**inputs)`."""
        # Computing it would compile every operation; only a function that looks at values needs that.
        errors = self.module.errors
        try:
            return self.module.eval_shape(function, **inputs)
        except (errors.ConcretizationTypeError, errors.TracerArrayConversionError):
            return self.forward(function, "eager", inputs)()

    def forward(self, function, mode, inputs):
        """Return a callable that computes `function(**inputs)`."""
        if mode != "eager":
            function = self.compile(function, mode)
        return functools.partial(function, **inputs)

    def grad(self, function, mode, inputs, differentiate, cotangent):
        """Return a callable that computes the value and its vector-Jacobian product."""
        jax = self.module
        fixed = {name: value for name, value in inputs.items() if name not in differentiate}
        sources = tuple(inputs[name] for name in differentiate)

        def value_and_gradient(sources, fixed, cotangent):
            def of_sources(*values):
                return function(**dict(zip(differentiate, values, strict=True)), **fixed)

            value, pull_back = jax.vjp(of_sources, *sources)
            return value, pull_back(cotangent)

        if mode != "eager":
            value_and_gradient = self.compile(value_and_gradient, mode)
        return functools.partial(value_and_gradient, sources, fixed, cotangent)

    def wait(self, result):
        return self.module.block_until_ready(result)

    def is_ready(self, result):
        """Whether the device has finished everything that the result consists of."""
        return all(leaf.is_ready() for leaf in self.leaves(result) if hasattr(leaf, "is_ready"))

    def is_on_device(self, array):
        return array.devices() == {self.device}

    def is_floating(self, array):
        return self.module.numpy.issubdtype(array.dtype, self.module.numpy.floating)

    def all_finite(self, arrays):
        # As one program: operation by operation each shape costs two compilations.
        return bool(self.module.jit(self._all_finite)(arrays))

    def _all_finite(self, arrays):
        jnp = self.module.numpy
        return jnp.stack([jnp.isfinite(array).all() for array in arrays]).all() if arrays else True

    def release(self):
        """Free what the last benchmark left: compiled programs and what they hold."""
        self.module.clear_caches()


ADAPTERS = {"torch": TorchAdapter, "jax": JaxAdapter}


@functools.cache
def get(framework):
    """Return the process's one adapter of a framework, its device started; raises Unsupported without the framework.

    What that took is recorded in the sidecar.
    """
    started = time.perf_counter()
    # Where it is not installed, the adapter says so.
    with contextlib.suppress(ImportError):
        importlib.import_module(framework)
    imported = time.perf_counter()
    adapter = ADAPTERS[framework]()
    # torch starts a GPU for the first array that is put there.
    adapter.wait(adapter.put(numpy.zeros(1, numpy.float32), "fp32"))
    device_seconds = time.perf_counter() - imported
    sidecar.append("cost", framework=framework, import_seconds=imported - started, device_seconds=device_seconds)
    return adapter


def import_before_fork():
    """Import the frameworks in asv's fork server, once for all the processes that it forks.

    Importing starts no device, so a forked child starts its own. Elsewhere a framework is imported when it is used:
    discovering the benchmarks must not cost seconds.
    """
    if sys.argv[1:2] != ["run_server"]:
        return
    for name in FRAMEWORKS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
