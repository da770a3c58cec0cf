"""What a program costs before its first result: tracing, lowering, compiling."""

import abc
import atexit
import os
import shutil
import subprocess
import sys
import tempfile

from . import frameworks, matmul_chain, mlp_train, probe, transformer_block, workload

FILL_SECONDS = 240


class TorchCache:
    """Where torch.compile keeps what it has compiled, which is on by default, and how often it found it there."""

    def __init__(self, folder):
        # torch._inductor reads them when it first compiles.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "inductor")
        os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")

    def open(self, adapter):
        # Importing the compiler is no part of compiling.
        import torch._inductor.compile_fx  # noqa: F401

    def counts(self):
        """Return (found, missed) so far; both stay 0 in releases that keep no graphs by default."""
        from torch._dynamo.utils import counters

        inductor = counters["inductor"]
        missed = inductor["fxgraph_cache_miss"] + inductor["fxgraph_cache_bypass"]
        return inductor["fxgraph_cache_hit"], missed


class JaxCache:
    """jax's persistent cache, which a user has to ask for, and how often a program was found there."""

    REQUEST = "/jax/compilation_cache/compile_requests_use_cache"
    HIT = "/jax/compilation_cache/cache_hits"

    def __init__(self, folder):
        self._folder = os.path.join(folder, "jax")
        self._requests = self._hits = 0

    def open(self, adapter):
        config = adapter.module.config
        config.update("jax_compilation_cache_dir", self._folder)
        config.update("jax_persistent_cache_min_compile_time_secs", 0)
        config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        adapter.module.monitoring.register_event_listener(self._count)

    def _count(self, event, **_):
        self._requests += event == self.REQUEST
        self._hits += event == self.HIT

    def counts(self):
        """Return (found, missed) so far."""
        return self._hits, self._requests - self._hits


CACHES = {"torch": TorchCache, "jax": JaxCache}


class CompileTime(probe.Probe):
    """Seconds from the first call of a compiled step to its first result: trace, lower, compile, run once.

    Imports, the start of the device and its libraries, and the inputs are no part of it. *Cold* starts from an empty
    cache folder; *warm* from one that another process has filled, as the second start of the same program does: torch's
    cache as the release has it by default, jax's persistent cache with every program kept. One process gives one
    sample, since what was compiled before in a process is there. Bound by the host, much of it by one core.
    """

    parameters = {"precision": ("bf16", "fp32"), "size": ("small",)}
    repeat = 1
    warmup_time = 0
    # Of the workload's own parameters: name -> value.
    chosen = {}

    @property
    @abc.abstractmethod
    def computation(self):
        """The class of the workload whose step is compiled."""

    @property
    @abc.abstractmethod
    def compiled_pass(self):
        """The pass whose step is compiled."""

    def __init__(self):
        super().__init__()
        self._folder = None

    @probe.figure("compiled", isolated=True)
    def time_cold(self, framework, precision, size):
        self._compile()

    @probe.figure("compiled", isolated=True)
    def time_warm(self, framework, precision, size):
        self._compile()

    def _compile(self):
        self._result = workload.run_synchronised(self._adapter, self._step)

    def before_sample(self):
        if self._result is not None:
            raise RuntimeError("a second compilation in one process is none: leave repeat at 1")

    def after_sample(self):
        """Check the result, and that the cache held what the figure says: nothing, or everything."""
        found, missed = (now - before for now, before in zip(self._cache.counts(), self._counted, strict=True))
        workload.check_result(self._adapter, self._precision, self._result)
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._warm and missed:
            raise RuntimeError(f"the warm cache lacked {missed} of {found + missed} programs")
        if not self._warm and found:
            raise RuntimeError(f"the cold cache held {found} of {found + missed} programs")

    def make_ready(self, declared, adapter, precision, size):
        self.refuse(adapter, precision, size)
        self._adapter, self._precision, self._result = adapter, precision, None
        self._warm = declared.__name__ == "time_warm"
        self._folder = _empty_folder()
        self._cache = CACHES[adapter.name](self._folder)
        if self._warm:
            self.fill(adapter.name, precision, size)
        self._cache.open(adapter)
        self._step = self.first_step(adapter, precision, size)
        self._counted = self._cache.counts()

    def check(self, declared, adapter, precision, size):
        self.refuse(adapter, precision, size)
        adapter.release()
        adapter.set_precision(precision)
        computation = self.made()
        inputs = workload.put_all(adapter, computation.arrays(size), precision)
        return computation.check(adapter, "compiled", self.compiled_pass, precision, size, inputs)

    def made(self):
        """Return the workload, with its own parameters chosen."""
        computation = self.computation()
        for name, value in self.chosen.items():
            setattr(computation, name, value)
        return computation

    def refuse(self, adapter, precision, size):
        """Raise frameworks.Unsupported with the reason where the row cannot run the compiled step."""
        reason = adapter.why_not("compiled", precision)
        reason = reason or self.made().why_not(adapter, "compiled", self.compiled_pass, precision, size)
        if reason:
            raise frameworks.Unsupported(reason)

    def first_step(self, adapter, precision, size):
        """Return the step before its first call, everything else being there."""
        computation = self.made()
        adapter.set_precision(precision)
        inputs = workload.put_all(adapter, computation.arrays(size), precision)
        # The device's libraries start with the first products, whoever asks for them.
        workload.run_synchronised(adapter, computation.build(adapter, "eager", "forward", inputs))
        step = computation.build(adapter, "compiled", self.compiled_pass, inputs)
        # What was traced so far is no part of this program.
        adapter.release()
        return step

    def fill(self, framework, precision, size):
        """Compile the step into the cache folder in another process.

        Raises RuntimeError with its last line where it fails, frameworks.Unsupported where nothing is kept.
        """
        command = [sys.executable, "-m", __name__, type(self).__name__, self._folder, framework, precision, size]
        package = __name__.partition(".")[0]
        root = os.path.dirname(os.path.abspath(sys.modules[package].__file__))
        ran = subprocess.run(
            command, cwd=os.path.dirname(root), capture_output=True, text=True, errors="replace", timeout=FILL_SECONDS
        )
        if ran.returncode:
            last = (ran.stderr.strip().splitlines() or ["no message"])[-1]
            raise RuntimeError(f"the process that fills the cache failed: {last}")
        if not any(files for _, _, files in os.walk(self._folder)):
            raise frameworks.Unsupported(f"this release of {framework} keeps no compiled programs on this device")


class CompileMatmulChain(CompileTime):
    """Compile time of MatmulChain's gradient: twenty products and as many element-wise functions, unrolled."""

    computation = matmul_chain.MatmulChain
    compiled_pass = "grad"


class CompileMLPTrain(CompileTime):
    """Compile time of MLPTrain's step: torch.compile compiles forward and backward, jax.jit the optimizer besides."""

    computation = mlp_train.MLPTrain
    compiled_pass = "train"


class CompileTransformerBlock(CompileTime):
    """Compile time of TransformerBlock's step, attention written out so that every release has it."""

    computation = transformer_block.TransformerBlock
    compiled_pass = "train"
    chosen = {"implementation": "written-out"}


def _empty_folder():
    """Return a new folder, in the row's own cache folder where it has one; it goes with the process."""
    parent = os.environ.get("BENCH_CACHE")
    if parent:
        os.makedirs(parent, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="compile-", dir=parent)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def main(name, folder, framework, precision, size):
    """Fill a cache folder: compile a step as CompileTime does and run it once."""
    cache = CACHES[framework](folder)
    adapter = frameworks.get(framework)
    cache.open(adapter)
    workload.run_synchronised(adapter, globals()[name]().first_step(adapter, precision, size))


if __name__ == "__main__":
    main(*sys.argv[1:])
