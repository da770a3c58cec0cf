"""The base of every workload, and the timing policy.

A subclass states one computation three times side by side (`torch`, `jax`, and `numpy` as the float64 reference),
its inputs and its sizes; everything about timing is here.
"""

import abc
import atexit
import functools
import gc
import itertools
import math
import os
import time
import types
import zlib

import numpy

from . import audits, correctness, device_clock, drawing, frameworks, sidecar, telemetry, versions

UNTIMED_STEPS = 3
# On a CPU a step of more FLOPs takes most of a second on two cores, and a process times over twenty.
CPU_FLOPS_LIMIT = 2e10
# Inputs, outputs, gradients and what the compilers keep besides.
MEMORY_HEADROOM = 4
# Host memory for drawn inputs that later benchmarks of the process start from; the largest are 0.8 GB.
DRAWN_BYTES_KEPT = 3 * 2**30


class Size:
    """One size of a workload: its dimensions, and what bounds a step of that size.

    `bound` is `overhead` (host time decides), `memory` or `compute`. `accelerator_only` sizes are skipped on a CPU.
    """

    def __init__(self, bound, accelerator_only=False, **dimensions):
        self.bound = bound
        self.accelerator_only = accelerator_only
        self.dimensions = dimensions


# What is measured of one step, and how asv's method for it is called.
CLOCKS = {"wall": "time_{}_{}", "device": "time_{}_{}_device", "kernels": "track_{}_{}_kernels"}


def _figure(clock, mode, pass_, workload):
    """Return asv's method for one figure of the step of a mode and pass."""

    def time_step(self, *params):
        self.step()

    def count_kernels(self, *params):
        counter = device_clock.get()
        counter.start()
        self.step()
        counter()
        self.report_kernels(mode, pass_, params, counter)
        return counter.kernels

    method = count_kernels if clock == "kernels" else time_step
    method.__name__ = CLOCKS[clock].format(mode, pass_)
    method.__qualname__ = f"{workload.__qualname__}.{method.__name__}"
    # Plain attributes of a method go to benchmarks.json.
    method.workload = workload.__name__
    method.mode = mode
    setattr(method, "pass", pass_)
    method.clock = clock
    method.isolated = False
    if clock == "kernels":
        method.unit = "kernels"
    if clock == "device":
        # asv would warm up with the clock running, and each of thousands of kernels would become an object.
        method.warmup_time = 0
    return method


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
    of the instance while it is built), say how long its sums are (`sum_length`) and raise `rounding_steps`, the number
    of roundings in sequence; the tolerance of the correctness check is derived from both.
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
        for clock, mode, pass_ in itertools.product(CLOCKS, cls.modes, cls.passes):
            method = _figure(clock, mode, pass_, cls)
            setattr(cls, method.__name__, method)

    def __init__(self):
        # asv calls setup without saying which method it is for, but looks for it on the method first; the same for the
        # timer, which only a row with a device clock can name.
        for clock, mode, pass_ in itertools.product(CLOCKS, self.modes, self.passes):
            method = _figure(clock, mode, pass_, type(self))
            method.setup = functools.partial(self.prepare, clock, mode, pass_)
            method.teardown = functools.partial(self.check_sample, clock, mode, pass_)
            method.pretty_source = versions.source_of(type(self))
            if clock == "device":
                method.timer = lambda: device_clock.get()()
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

    def sum_length(self, **dimensions):
        """Terms of the longest sum in a step of these dimensions; the tolerance of fp32 and fp64 grows with it."""
        return 1

    def prepare(self, clock, mode, pass_, *params):
        """Make the step of these parameters ready to be measured, once a process: asv calls it before every sample.

        Raises frameworks.Unsupported (asv skips) with the reason where the row or the device cannot run it, and any
        other error where it should run and does not; both are recorded in the sidecar.
        """
        key = (clock, mode, pass_, params)
        if self._prepared == key:
            return
        name = self.benchmark_name(mode, pass_, clock)
        with sidecar.reported(name, params):
            if clock != "wall" and (reason := device_clock.why_not()):
                raise frameworks.Unsupported(reason)
            if not _READY.holds(type(self), mode, pass_, params):
                _READY.clear()
                step = self._ready_step(mode, pass_, *params)
                if clock == "device":
                    _warm_up(step, self.warmup_time)
                _READY.hold((type(self), mode, pass_, params), name, step)
            _READY.choose_clock(clock)
        self.step = _READY.step
        self._prepared = key

    def check_sample(self, clock, mode, pass_, *params):
        """Raise RuntimeError when a compiled step was compiled again since it was warmed: asv's teardown, which it
        calls after every sample, the last one included."""
        if clock != "device" and self._prepared == (clock, mode, pass_, params):
            with sidecar.reported(self.benchmark_name(mode, pass_, clock), params):
                _READY.refuse_compilation(mode)

    def report_kernels(self, mode, pass_, params, counter):
        """Record which kernels a process's step runs: an autotuner chooses others in other processes.

        What a set's kernels are called is recorded once a row.
        """
        chosen = device_clock.kernel_set(counter.names)
        known = any(record["set"] == chosen and "names" in record for record in sidecar.records("kernels"))
        sidecar.append(
            "kernels",
            benchmark=self.benchmark_name(mode, pass_),
            params=[str(each) for each in params],
            kernels=counter.kernels,
            set=chosen,
            **({} if known else {"names": sorted(counter.names)}),
        )

    def benchmark_name(self, mode, pass_, clock="wall"):
        """The name that asv gives the benchmark of this mode, pass and clock."""
        module = type(self).__module__.split(".", 1)[-1]
        return f"{module}.{type(self).__name__}.{CLOCKS[clock].format(mode, pass_)}"

    def _ready_step(self, mode, pass_, framework, precision, size, *extra):
        """Build the step, run the untimed steps, check and audit the result; return the synchronised step."""
        adapter = frameworks.get(framework)
        started = time.perf_counter()
        for name, value in zip(self.extra_params, extra, strict=True):
            setattr(self, name, value)
        reason = adapter.why_not(mode, precision) or self.why_not(adapter, mode, pass_, precision, size)
        if reason:
            raise frameworks.Unsupported(reason)

        adapter.set_precision(precision)
        inputs = put_all(adapter, _DRAWN.arrays(self, size, extra), precision)
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
        warmed = time.perf_counter()
        params = (framework, precision, size, *extra)
        audits.examine(
            audits.Prepared(
                workload=self,
                adapter=adapter,
                mode=mode,
                pass_=pass_,
                params=params,
                step=step,
                inputs=inputs,
                result=result,
                first=_difference(before, compiled),
                later=_difference(compiled, later),
                step_seconds=min(seconds),
            )
        )
        # The audits compile on their own account, and may have emptied the framework's compile caches.
        run_synchronised(adapter, step)
        sidecar.append(
            "cost",
            benchmark=self.benchmark_name(mode, pass_),
            params=[str(each) for each in params],
            setup_seconds=built - started,
            first_step_seconds=first - built,
            audit_seconds=time.perf_counter() - warmed,
        )
        wait = adapter.wait
        return lambda: wait(step())

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
        return self.inputs(drawing.Generator(seed), **self.sizes[size].dimensions)

    def computation(self, adapter):
        """Return the framework's implementation as a function of the inputs alone."""
        implementation, module = getattr(type(self), adapter.name), adapter.module

        # A closure over the plain function: torch.compile before 2.3 follows neither a partial nor a bound method.
        def function(**inputs):
            return implementation(self, module, **inputs)

        return function

    def build(self, adapter, mode, pass_, inputs):
        """Return the step as a callable without arguments that does not wait for its result."""
        function = self.computation(adapter)
        if pass_ == "forward":
            return adapter.forward(function, mode, inputs)
        cotangent = self.cotangent(adapter, adapter.result_like(function, inputs))
        return adapter.grad(function, mode, inputs, self.differentiate, cotangent)

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
        cotangent = self.cotangent(adapter, adapter.result_like(self.computation(adapter), inputs))
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
        self.step = self._prepared = None
        _READY.clear()


def _warm_up(step, seconds):
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        step()


class _Ready:
    """The process's one prepared step: shared by the figures that are measured of it, dropped for the next."""

    def __init__(self):
        self.step = None
        self._key = None
        self._name = None
        self._compiled = None
        self._before = None

    def holds(self, *key):
        return self._key == key

    def hold(self, key, name, step):
        if self._name is None:
            # A process of asv's ends without a word to the benchmark.
            atexit.register(self._report_telemetry)
        self._key, self._name, self.step = key, name, step
        self._compiled = self._adapter().compilation_counts()
        self._before = telemetry.snapshot(self._adapter())

    def _report_telemetry(self):
        if self._key is None or self._before is None:
            return
        after = telemetry.snapshot(self._adapter())
        sidecar.append(
            "telemetry",
            benchmark=self._name,
            params=[str(each) for each in self._key[3]],
            before=self._before,
            after=after,
            disturbed=telemetry.disturbances(self._before, after),
        )

    def refuse_compilation(self, mode):
        """Raise RuntimeError when a compiled step was compiled again since it was warmed."""
        if mode != "eager" and self._adapter().compilation_counts() != self._compiled:
            raise RuntimeError("the compiled step was compiled again while it was timed")

    def choose_clock(self, clock):
        """Record device activity while the device clock is read and never while wall time is measured."""
        if clock != "wall":
            device_clock.get().start()
        elif device_clock.get.cache_info().currsize:
            device_clock.get().stop()

    def _adapter(self):
        framework = self._key[3][0]
        return frameworks.get(framework)

    def clear(self):
        if self._key is None:
            return
        # What comes next is prepared, or timed by a probe, with nothing recorded.
        self.choose_clock("wall")
        self._report_telemetry()
        adapter = self._adapter()
        self.step = self._key = None
        gc.collect()
        adapter.release()


_READY = _Ready()


class _Drawn:
    """The inputs that the process has drawn: on a GPU, drawing 100 million normals takes longer than compiling."""

    def __init__(self):
        self._arrays = {}

    def arrays(self, workload, size, extra):
        """Return `workload.arrays(size)`, drawn once a process where memory allows to keep it."""
        key = (type(workload), size, extra)
        if key not in self._arrays:
            drawn = workload.arrays(size)
            if sum(map(_bytes, [*self._arrays.values(), drawn])) > DRAWN_BYTES_KEPT:
                self._arrays.clear()
            self._arrays[key] = drawn
        return self._arrays[key]


_DRAWN = _Drawn()


def _bytes(arrays):
    return sum(_bytes(value) if isinstance(value, dict) else value.nbytes for value in arrays.values())


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
    wanted = audits.precision.dtype_name(adapter, precision)
    leaves = adapter.leaves(result)
    for leaf in leaves:
        if not adapter.is_on_device(leaf):
            raise ValueError(f"the result is not on {adapter.device_name()}")
        if adapter.is_floating(leaf) and str(leaf.dtype) != wanted:
            raise TypeError(f"the result is {leaf.dtype}, not {wanted}")
    if not adapter.all_finite([leaf for leaf in leaves if adapter.is_floating(leaf)]):
        raise ValueError("the result is not finite")
