"""How much memory training takes."""

from . import frameworks, mlp_train, probe, workload

STATUS = "/proc/self/status"
RESET = "/proc/self/clear_refs"
STEPS = 3


class Memory(probe.Probe):
    """Peak bytes of MLPTrain's step: on the device, and resident on the host.

    Device bytes are the allocator's own account of its peak since the process started, in both frameworks: what has to
    be free for training to start, what compiling and autotuning needed included. Host bytes are the peak of the
    process's resident set over three warm steps, the framework itself and, on a CPU, the arrays included; what
    compiling took is not. A CPU has no allocator statistics. Bound by nothing: bytes, the same at any speed.
    """

    parameters = {"precision": ("bf16", "fp32"), "size": tuple(mlp_train.MLPTrain.sizes)}

    @probe.figure("eager", isolated=True, unit="bytes")
    def track_eager_device_bytes(self, framework, precision, size):
        return self._device_bytes()

    @probe.figure("compiled", isolated=True, unit="bytes")
    def track_compiled_device_bytes(self, framework, precision, size):
        return self._device_bytes()

    @probe.figure("eager", isolated=True, unit="bytes")
    def track_eager_host_bytes(self, framework, precision, size):
        return self._host_bytes()

    @probe.figure("compiled", isolated=True, unit="bytes")
    def track_compiled_host_bytes(self, framework, precision, size):
        return self._host_bytes()

    def _device_bytes(self):
        self._train()
        return self._plausible(PEAK[self._adapter.name](self._adapter))

    def _host_bytes(self):
        forget_peak()
        self._train()
        return self._plausible(peak_resident_bytes(), where_state_is=not self._adapter.on_gpu)

    def _train(self):
        for _ in range(STEPS):
            workload.run_synchronised(self._adapter, self._step)

    def _plausible(self, peak, where_state_is=True):
        """Return the peak; raises RuntimeError where less was seen than the state of the training alone takes."""
        if where_state_is and peak < self._state_bytes:
            raise RuntimeError(f"a peak of {peak} bytes is less than the state of the training, {self._state_bytes}")
        return peak

    def make_ready(self, declared, adapter, precision, size):
        if declared.__name__.endswith("device_bytes") and not adapter.on_gpu:
            raise frameworks.Unsupported("a CPU has no memory of its own, and no allocator statistics")
        self._refuse(declared, adapter, precision, size)
        if declared.__name__.endswith("host_bytes"):
            forget_peak()
        self._adapter = adapter
        self._step = self.build(adapter, declared.mode, precision, size)
        for _ in range(workload.UNTIMED_STEPS):
            result = workload.run_synchronised(adapter, self._step)
        workload.check_result(adapter, precision, result)
        state = self._step.state()
        arrays = [array for part in ("parameters", "first", "second") for array in state[part].values()]
        self._state_bytes = sum(array.nbytes for array in arrays)

    def _refuse(self, declared, adapter, precision, size):
        reason = adapter.why_not(declared.mode, precision)
        reason = reason or mlp_train.MLPTrain().why_not(adapter, declared.mode, "train", precision, size)
        if reason:
            raise frameworks.Unsupported(reason)

    def build(self, adapter, mode, precision, size):
        """Return the training step; what it was built from is not kept."""
        computation = mlp_train.MLPTrain()
        adapter.set_precision(precision)
        inputs = workload.put_all(adapter, computation.arrays(size), precision)
        return computation.build(adapter, mode, "train", inputs)

    def check(self, declared, adapter, precision, size):
        self._refuse(declared, adapter, precision, size)
        adapter.release()
        adapter.set_precision(precision)
        computation = mlp_train.MLPTrain()
        inputs = workload.put_all(adapter, computation.arrays(size), precision)
        return computation.check(adapter, declared.mode, "train", precision, size, inputs)

    def release(self):
        self._step = None
        super().release()


def _torch_peak(adapter):
    return adapter.module.cuda.max_memory_allocated()


def _jax_peak(adapter):
    statistics = adapter.device.memory_stats() or {}
    if "peak_bytes_in_use" not in statistics:
        raise frameworks.Unsupported("this device's allocator does not say what its peak was")
    return statistics["peak_bytes_in_use"]


PEAK = {"torch": _torch_peak, "jax": _jax_peak}


def forget_peak():
    """Let the peak of the process's resident set start from what is resident now (proc(5), clear_refs).

    Raises frameworks.Unsupported where the system does not allow it.
    """
    try:
        with open(RESET, "w", encoding="ascii") as stream:
            stream.write("5")
    except OSError as error:
        raise frameworks.Unsupported(f"the peak of the resident set cannot be reset here: {error}") from error


def peak_resident_bytes():
    """Return the peak of the process's resident set in bytes: VmHWM, which unlike ru_maxrss starts with the program."""
    with open(STATUS, encoding="ascii") as stream:
        for line in stream:
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    raise frameworks.Unsupported(f"{STATUS} does not say what the peak of the resident set was")
