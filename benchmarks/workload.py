"""The base of every workload, and the timing policy.

A subclass states one computation three times side by side (`torch`, `jax`, and `numpy` as the float64 reference),
its inputs and its sizes; everything about timing is here.
"""

import abc
import functools
import gc
import inspect
import itertools
import math
import os
import time
import types
import zlib

import numpy

from . import audits, correctness, frameworks, sidecar, versions

UNTIMED_STEPS = 3
# On a CPU a step of more FLOPs takes most of a second on two cores, and a process times over twenty.
CPU_FLOPS_LIMIT = 2e10
# Inputs, outputs, gradients and what the compilers keep besides.
MEMORY_HEADROOM = 4


class Size:
    """One size of a workload: its dimensions, and what bounds a step of that size.

    `bound` is `overhead` (host time decides), `memory` or `compute`. `accelerator_only` sizes are skipped on a CPU.
    """

    def __init__(self, bound, accelerator_only=False, **dimensions):
        self.bound = bound
        self.accelerator_only = accelerator_only
        self.dimensions = dimensions


def _timed_step(mode, pass_):
    def step(self, *params):
        self.step()

    step.__name__ = f"time_{mode}_{pass_}"
    step.mode = mode
    step.clock = "wall"
    step.isolated = False
    setattr(step, "pass", pass_)
    return step


class Workload(abc.ABC):
    """One computation, written once per framework.

    Subclasses define

    - `sizes`: name -> Size
    - `inputs(rng, **dimensions)`: name -> NumPy array; standard normals should be float32, so that every precision
      starts from the same bytes
    - `torch(torch, **inputs)`, `jax(jax, **inputs)`: the computation, returning one array
    - `numpy(numpy, **inputs)`: the same in float64 NumPy, the reference
    - `differentiate`: names of the inputs that the `grad` pass differentiates with respect to
    - `flops(pass_, **dimensions)` and `bytes_moved(pass_, itemsize, **dimensions)`: the least work and memory traffic
      of one step

    and may narrow `precisions`, `modes`, `passes`, add `extra_params` (name -> values; the chosen values are attributes
    of the instance while it is built) and raise `rounding_steps`, the number of roundings in sequence that the
    tolerance of the correctness check is derived from.
    """

    sizes = {}
    precisions = ("bf16", "fp16", "tf32", "fp32", "fp64")
    modes = ("eager", "compiled")
    passes = ("forward", "grad")
    differentiate = ()
    extra_params = {}
    rounding_steps = 1
    # Whether `flops` counts matrix products and convolutions only, so that the work audit can count them too.
    work_is_products = False

    # Timing policy. A sample is one synchronised step, never a batch: what asv would otherwise calibrate differs
    # between releases.
    number = 1
    # A fixed count: samples can be cut back into processes.
    repeat = 20
    # Processes under `asv run`; the unit of replication.
    rounds = 5
    # Seconds of untimed steps before the first sample, on top of UNTIMED_STEPS: clocks and caches settle.
    warmup_time = 0.2
    # Seconds for one benchmark in one process: a cold torch.compile on two cores takes half a minute.
    timeout = 300

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.param_names = ["framework", "precision", "size", *cls.extra_params]
        cls.params = [
            list(frameworks.FRAMEWORKS),
            list(cls.precisions),
            list(cls.sizes),
            *(list(values) for values in cls.extra_params.values()),
        ]
        for mode, pass_ in itertools.product(cls.modes, cls.passes):
            method = _timed_step(mode, pass_)
            method.workload = cls.__name__
            method.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
            setattr(cls, method.__name__, method)

    def __init__(self):
        # asv calls setup without saying which method it is for, but looks for it on the method first.
        for mode, pass_ in itertools.product(self.modes, self.passes):
            method = _timed_step(mode, pass_)
            vars(method).update(vars(getattr(type(self), method.__name__)))
            method.setup = functools.partial(self.prepare, mode, pass_)
            method.pretty_source = inspect.getsource(type(self))
            setattr(self, method.__name__, types.MethodType(method, self))
        self._prepared = None
        self.step = None
        frameworks.import_before_fork()

    @property
    def version(self):
        """asv's version of the benchmark: changes with the computation, the adapters or the timing policy only."""
        return versions.of(type(self))

    @abc.abstractmethod
    def inputs(self, rng, **dimensions):
        """Return name -> NumPy array, drawn from the seeded generator."""

    @abc.abstractmethod
    def torch(self, torch, **inputs):
        """The computation in PyTorch."""

    @abc.abstractmethod
    def jax(self, jax, **inputs):
        """The computation in JAX."""

    @abc.abstractmethod
    def numpy(self, numpy, **inputs):
        """The computation in float64 NumPy."""

    @abc.abstractmethod
    def flops(self, pass_, **dimensions):
        """Floating-point operations that one step cannot do without."""

    @abc.abstractmethod
    def bytes_moved(self, pass_, itemsize, **dimensions):
        """Bytes that one step has to read and write at least: every input and output once."""

    def prepare(self, mode, pass_, *params):
        """Build and warm the step of these parameters, once a process: asv calls it before every sample.

        Raises frameworks.Unsupported (asv skips) with the reason where the row or the device cannot run it, and any
        other error where it should run and does not; both are recorded in the sidecar.
        """
        key = (mode, pass_, params)
        if self._prepared == key:
            return
        report = functools.partial(sidecar.append, "status", benchmark=self.benchmark_name(mode, pass_), params=params)
        try:
            self._prepare(mode, pass_, *params)
        except frameworks.Unsupported as reason:
            report(status="skipped", reason=str(reason))
            raise
        except Exception as error:
            first_line = (str(error).strip().splitlines() or [""])[0]
            report(status="failed", reason=f"{type(error).__name__}: {first_line}"[:500])
            raise
        self._prepared = key

    def benchmark_name(self, mode, pass_):
        """The name that asv gives the benchmark of this mode and pass."""
        module = type(self).__module__.split(".", 1)[-1]
        return f"{module}.{type(self).__name__}.time_{mode}_{pass_}"

    def _prepare(self, mode, pass_, framework, precision, size, *extra):
        started = time.perf_counter()
        adapter = frameworks.get(framework)
        imported = time.perf_counter()
        for name, value in zip(self.extra_params, extra, strict=True):
            setattr(self, name, value)
        reason = adapter.why_not(mode, precision) or self.why_not(adapter, mode, pass_, precision, size)
        if reason:
            raise frameworks.Unsupported(reason)

        adapter.set_precision(precision)
        inputs = put_all(adapter, self.arrays(size), precision)
        step = self.build(adapter, mode, pass_, inputs)
        built = time.perf_counter()
        before = adapter.compilation_counts()
        result = run_synchronised(adapter, step)
        first = time.perf_counter()
        compiled = adapter.compilation_counts()
        seconds = []
        for _ in range(UNTIMED_STEPS - 1):
            started_step = time.perf_counter()
            result = run_synchronised(adapter, step)
            seconds.append(time.perf_counter() - started_step)
        later = adapter.compilation_counts()
        check_result(adapter, precision, result)
        audits.examine(
            audits.Prepared(
                workload=self,
                adapter=adapter,
                mode=mode,
                pass_=pass_,
                params=(framework, precision, size, *extra),
                step=step,
                inputs=inputs,
                result=result,
                first=_difference(before, compiled),
                later=_difference(compiled, later),
                step_seconds=min(seconds),
            )
        )
        sidecar.append(
            "cost",
            benchmark=self.benchmark_name(mode, pass_),
            params=(framework, precision, size, *extra),
            import_seconds=imported - started,
            setup_seconds=built - imported,
            first_step_seconds=first - built,
            audit_seconds=time.perf_counter() - first,
        )
        wait = adapter.wait
        self.step = lambda: wait(step())

    def sum_length(self, **dimensions):
        """The longest sum that a result goes through: it sets the tolerance of fp32 and fp64."""
        return 1

    def why_not(self, adapter, mode, pass_, precision, size):
        """Return why this workload cannot run here in these parameters, or None."""
        chosen = self.sizes[size]
        if not adapter.on_gpu:
            if chosen.accelerator_only:
                return f"size {size} is for accelerators"
            limit = float(os.environ.get("BENCH_CPU_FLOPS", CPU_FLOPS_LIMIT))
            flops = self.flops(pass_, **chosen.dimensions)
            if flops > limit:
                return f"{flops / 1e9:.0f} GFLOP a step is too much for a CPU (BENCH_CPU_FLOPS={limit:g})"
            return None
        itemsize = {"bf16": 2, "fp16": 2, "fp64": 8}.get(precision, 4)
        needed = MEMORY_HEADROOM * self.bytes_moved(pass_, itemsize, **chosen.dimensions)
        free = adapter.free_bytes()
        if free is not None and needed > free:
            return f"size {size} needs about {needed / 2**30:.1f} GiB of device memory, {free / 2**30:.1f} GiB are free"
        return None

    def arrays(self, size):
        """Return the NumPy inputs of a size: the same for both frameworks, every mode and every process."""
        seed = zlib.crc32(f"{type(self).__name__} {size}".encode())
        return self.inputs(numpy.random.default_rng(seed), **self.sizes[size].dimensions)

    def build(self, adapter, mode, pass_, inputs):
        """Return the step as a callable without arguments that does not wait for its result."""
        function = functools.partial(getattr(self, adapter.name), adapter.module)
        if pass_ == "forward":
            return adapter.forward(function, mode, inputs)
        value = adapter.forward(function, "eager", inputs)()
        return adapter.grad(function, mode, inputs, self.differentiate, self.cotangent(adapter, value))

    def check(self, adapter, mode, pass_, precision, size, inputs):
        """Run one step and return (relative error, tolerance) against the float64 reference."""
        result = run_synchronised(adapter, self.build(adapter, mode, pass_, inputs))
        if pass_ == "forward":
            return correctness.check_forward(self, adapter, precision, size, inputs, result)
        value, gradients = self.split_grad(result)
        error, allowed = 0.0, math.inf
        if value is not None:
            error, allowed = correctness.check_forward(self, adapter, precision, size, inputs, value)
            if not error <= allowed:
                return error, allowed
        value = adapter.forward(functools.partial(getattr(self, adapter.name), adapter.module), "eager", inputs)()
        cotangent = self.cotangent(adapter, value)
        return correctness.check_gradient(self, adapter, precision, size, inputs, cotangent, gradients)

    def split_grad(self, result):
        """Return (value or None, gradients in the order of `differentiate`) of a grad step's result."""
        return result

    def cotangent(self, adapter, value):
        """Return what the grad pass pulls back: seeded normals in the value's shape and type, 1 for a scalar."""
        shape = tuple(value.shape)
        if not shape:
            array = numpy.ones((), numpy.float32)
        else:
            array = numpy.random.default_rng(0).standard_normal(shape, numpy.float32)
        return adapter.cast_like(array, value)

    def release(self):
        """Free what the benchmark holds; called by a driver that measures several in one process."""
        framework = self._prepared and self._prepared[2][0]
        self.step = self._prepared = None
        gc.collect()
        if framework:
            frameworks.get(framework).release()


def _difference(before, after):
    return {name: after[name] - before[name] for name in after}


def put_all(adapter, arrays, precision):
    """Copy a (nested) dict of NumPy arrays to the device and wait until they are there."""
    placed = {
        name: put_all(adapter, value, precision) if isinstance(value, dict) else adapter.put(value, precision)
        for name, value in arrays.items()
    }
    adapter.wait([leaf for leaf in adapter.leaves(placed) if leaf is not None])
    return placed


def run_synchronised(adapter, step):
    """Run one step to its end; raises RuntimeError when work was still in flight after the wait."""
    result = adapter.wait(step())
    if not adapter.is_ready(result):
        raise RuntimeError("the step returned before the device had finished")
    return result


def check_result(adapter, precision, result):
    """Raise TypeError or ValueError unless every array of the result has the claimed type and device and is finite."""
    wanted = str(numpy.dtype(adapter.dtype(precision)) if adapter.name == "jax" else adapter.dtype(precision))
    for leaf in adapter.leaves(result):
        if not adapter.is_on_device(leaf):
            raise ValueError(f"the result is not on {adapter.device_name()}")
        if not adapter.is_floating(leaf):
            continue
        if str(leaf.dtype) != wanted:
            raise TypeError(f"the result is {leaf.dtype}, not {wanted}")
        if not adapter.all_finite(leaf):
            raise ValueError("the result is not finite")
