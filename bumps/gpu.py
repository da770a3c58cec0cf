"""The NVIDIA GPU that is measured on, through NVML."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from asv.util import UserError


@dataclass(frozen=True)
class Gpu:
    """`index` is NVML's, in the order of the PCI bus; `name` as NVML spells it."""

    index: int
    uuid: str
    name: str


@contextlib.contextmanager
def _nvml() -> Iterator:
    """Open NVML; yield pynvml, or None without a driver."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield None
        return
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def driver_version() -> str | None:
    """Return the NVIDIA driver's version, None without a driver."""
    with _nvml() as pynvml:
        return _text(pynvml.nvmlSystemGetDriverVersion()) if pynvml else None


def chosen() -> Gpu | None:
    """Return the GPU that benchmarks use: the first that CUDA_VISIBLE_DEVICES names, else the first there is.

    None without a driver. Raises UserError when the variable names no GPU of this machine.
    """
    with _nvml() as pynvml:
        if pynvml is None:
            return None
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        wanted = "0" if visible is None else visible.split(",")[0].strip()
        try:
            if wanted.isascii() and wanted.isdigit():
                handle = pynvml.nvmlDeviceGetHandleByIndex(int(wanted))
            else:
                handle = _by_uuid(pynvml, wanted)
        except pynvml.NVMLError:
            handle = None
        if handle is None:
            raise UserError(f"CUDA_VISIBLE_DEVICES={visible!r} names no GPU of this machine")
        return Gpu(
            pynvml.nvmlDeviceGetIndex(handle),
            _text(pynvml.nvmlDeviceGetUUID(handle)),
            _text(pynvml.nvmlDeviceGetName(handle)),
        )


def _by_uuid(pynvml, prefix: str):
    """Return the one GPU whose UUID begins so, as CUDA accepts it; a part of a GPU (MIG) stands for the whole."""
    if prefix.startswith("MIG-"):
        return pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(pynvml.nvmlDeviceGetHandleByUUID(prefix))
    handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
    found = [handle for handle in handles if prefix and _text(pynvml.nvmlDeviceGetUUID(handle)).startswith(prefix)]
    return found[0] if len(found) == 1 else None


def compute_processes(gpu: Gpu) -> int:
    """Return how many processes compute on the GPU."""
    with _nvml() as pynvml:
        if pynvml is None:
            return 0
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(gpu.index)
            return len(pynvml.nvmlDeviceGetComputeRunningProcesses(handle))
        except pynvml.NVMLError:
            return 0
