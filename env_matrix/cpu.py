"""What the CPU of this machine can do."""

import contextlib
import os
import pathlib

CPU_INFO = pathlib.Path("/proc/cpuinfo")
# The kernel's name of the line: on x86, on ARM.
NAMES = ("flags", "Features")


def flags() -> list[str] | None:
    """Return the flags of the first CPU as Linux names them (`avx2`, `amx_bf16`, …), None where there is no telling."""
    with contextlib.suppress(OSError):
        for line in CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, listed = line.partition(":")
            if name.strip() in NAMES:
                return sorted(set(listed.split()))
    return None


def allowed() -> int:
    """Return how many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
