"""Copies between host and device."""

import numpy

from . import correctness, frameworks, probe, workload


class TorchCopies:
    """PyTorch's copies between the device and host memory of one kind."""

    def __init__(self, adapter, host):
        self._torch, self._device, self._pinned = adapter.module, adapter.device, host == "pinned"
        if self._pinned and not adapter.on_gpu:
            raise frameworks.Unsupported("torch pins host memory for a GPU only")

    def on_host(self, array):
        """Return what the copy to the device starts from."""
        tensor = self._torch.from_numpy(array)
        return tensor.pin_memory() if self._pinned else tensor

    def to_device(self, source):
        return source.to(self._device, non_blocking=self._pinned)

    def to_host(self, source):
        if not self._pinned:
            return source.cpu()
        host = self._torch.empty_like(source, device="cpu", pin_memory=True)
        return host.copy_(source, non_blocking=True)

    def duplicate(self, source):
        """Return another array on the device with the same numbers."""
        return source.clone()

    def kind(self, result):
        """Return the kind of host memory that a result of `to_host` is in."""
        return "pinned" if result.is_pinned() else "pageable"

    def numbers(self, result):
        return result.cpu().numpy()


class JaxCopies:
    """JAX's copies between the device and host memory of one kind."""

    MEMORY = "pinned_host"

    def __init__(self, adapter, host):
        self._jax, self._device, self._host = adapter.module, adapter.device, None
        if host == "pinned":
            self._host = self._pinned_memory()

    def _pinned_memory(self):
        try:
            kinds = [memory.kind for memory in self._device.addressable_memories()]
        except Exception as error:
            # Devices of earlier releases know no memories, or do not implement them.
            raise frameworks.Unsupported(f"jax {self._jax.__version__} names no host memories here") from error
        if self.MEMORY not in kinds:
            raise frameworks.Unsupported(f"jax {self._jax.__version__} has no {self.MEMORY} memory here")
        return self._jax.sharding.SingleDeviceSharding(self._device, memory_kind=self.MEMORY)

    def on_host(self, array):
        """Return what the copy to the device starts from."""
        return array if self._host is None else self._jax.device_put(array, self._host)

    def to_device(self, source):
        return self._jax.device_put(source, self._jax.sharding.SingleDeviceSharding(self._device))

    def to_host(self, source):
        return numpy.asarray(source) if self._host is None else self._jax.device_put(source, self._host)

    def duplicate(self, source):
        """Return another array on the device with the same numbers; jax keeps the host copy that it made of one."""
        return self._jax.numpy.array(source, copy=True)

    def kind(self, result):
        """Return the kind of host memory that a result of `to_host` is in."""
        if isinstance(result, numpy.ndarray):
            return "pageable"
        return "pinned" if result.sharding.memory_kind == self.MEMORY else result.sharding.memory_kind

    def numbers(self, result):
        return numpy.asarray(result)


COPIES = {"torch": TorchCopies, "jax": JaxCopies}
NUMBERS = {"4KiB": 2**10, "256MiB": 2**26}


class Transfer(probe.Probe):
    """One copy of float32 numbers to the device, or back into new host memory, and the wait for its end.

    What a data loader and a checkpoint pay. Pageable memory is what NumPy allocates, pinned memory what the device can
    reach by itself: torch's `pin_memory`, jax's memory kind `pinned_host`. The small copy is bound by latency, the
    large one by the bus, and from or to pageable memory by the host's own copy besides. On a CPU nothing is copied to a
    device, so there is nothing to measure.
    """

    parameters = {"host": ("pageable", "pinned"), "size": tuple(NUMBERS)}

    @probe.figure("eager")
    def time_to_device(self, framework, host, size):
        self._wait(self._copy(self._source))

    @probe.figure("eager")
    def time_to_host(self, framework, host, size):
        self._wait(self._copy(self._source))

    def before_sample(self):
        self._source = self._renewed()

    def make_ready(self, declared, adapter, host, size):
        if not adapter.on_gpu:
            raise frameworks.Unsupported("on a CPU nothing is copied to a device")
        error, allowed = self.check(declared, adapter, host, size)
        if not error <= allowed:
            raise correctness.Disagreement(f"{error:.0%} of the numbers are not what was sent")
        for _ in range(workload.UNTIMED_STEPS):
            self.before_sample()
            self._wait(self._copy(self._source))

    def check(self, declared, adapter, host, size):
        """Copy once; the error is the share of the numbers that are not, bit by bit, what was sent."""
        adapter.release()
        adapter.set_precision("fp32")
        copies = COPIES[adapter.name](adapter, host)
        sent = self.arrays(size)
        self._wait = adapter.wait
        if declared.__name__ == "time_to_device":
            source = adapter.wait(copies.on_host(sent))
            self._copy, self._renewed = copies.to_device, lambda: source
        else:
            source = adapter.put(sent, "fp32")
            self._copy, self._renewed = copies.to_host, lambda: adapter.wait(copies.duplicate(source))
        self.before_sample()
        result = self._wait(self._copy(self._source))
        if declared.__name__ == "time_to_device":
            workload.check_result(adapter, "fp32", result)
        elif copies.kind(result) != host:
            raise ValueError(f"the result is in {copies.kind(result)} memory, not in {host} memory")
        arrived = copies.numbers(result)
        if arrived.shape != sent.shape or arrived.dtype != sent.dtype:
            raise ValueError(f"{arrived.dtype}{arrived.shape} arrived, {sent.dtype}{sent.shape} was sent")
        return float(numpy.mean(arrived.view(numpy.uint32) != sent.view(numpy.uint32))), 0.0

    def arrays(self, size):
        """Return the NumPy array of a size that is sent."""
        return numpy.random.default_rng(0).standard_normal(NUMBERS[size], numpy.float32)

    def release(self):
        self._source = self._copy = self._renewed = None
        super().release()
