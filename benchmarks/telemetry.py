"""The state of the NVIDIA GPU around a measurement, through NVML. Requirement: `nvidia-ml-py`; without it, nothing."""

import functools
import os

# NVML's clock event reasons (nvml.h, nvmlClocksEventReasons): those that mean trouble. The power cap is no trouble: a
# large matrix product runs into it on purpose.
DISTURBING_REASONS = {
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}


@functools.cache
def _device():
    """Return (pynvml, handle) of the GPU that the process uses, or None."""
    try:
        import pynvml

        pynvml.nvmlInit()
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip() or "0"
        if visible.isdigit():
            return pynvml, pynvml.nvmlDeviceGetHandleByIndex(int(visible))
        return pynvml, pynvml.nvmlDeviceGetHandleByUUID(visible)
    except Exception:
        # No NVML, no driver, or a device that NVML does not name: the figures stand without telemetry.
        return None


def snapshot(adapter):
    """Return the GPU's state (MHz, °C, W, reasons, other processes), or None where there is none to read."""
    if not adapter.on_gpu or _device() is None:
        return None
    pynvml, handle = _device()

    def read(function, *arguments):
        try:
            return getattr(pynvml, function)(handle, *arguments)
        except pynvml.NVMLError:
            return None

    reasons = read("nvmlDeviceGetCurrentClocksThrottleReasons")
    power = read("nvmlDeviceGetPowerUsage")
    return {
        "sm_clock": read("nvmlDeviceGetClockInfo", pynvml.NVML_CLOCK_SM),
        "temperature": read("nvmlDeviceGetTemperature", pynvml.NVML_TEMPERATURE_GPU),
        "power": power and power / 1000,
        "reasons": reasons,
        "foreign_processes": _foreign(read("nvmlDeviceGetComputeRunningProcesses") or []),
    }


def _foreign(processes):
    """Count the compute processes on the GPU besides this one.

    In a container NVML names processes by the host's numbers; then ours cannot be told, and counts as one of them.
    """
    numbers = [process.pid for process in processes]
    return len(numbers) - (1 if numbers else 0) if os.getpid() not in numbers else len(numbers) - 1


def disturbances(before, after):
    """Return the reasons why a measurement between two snapshots is disturbed; empty where it is not."""
    found = []
    for state in (before, after):
        if not state:
            continue
        found += [text for bit, text in DISTURBING_REASONS.items() if (state["reasons"] or 0) & bit]
        if state["foreign_processes"]:
            found.append(f"{state['foreign_processes']} other processes on the GPU")
    return sorted(set(found))
