"""A second clock: the seconds that the GPU was busy, whatever the host did meanwhile.

It counts the union of kernel, copy and memset intervals in CUPTI's activity records, so that one instrument serves both
frameworks. Requirements: `cupti-python` at the CUDA major of the row, and an NVIDIA GPU.
"""

import functools
import hashlib

from . import frameworks

BUFFER_BYTES = 8 * 2**20
NANOSECOND = 1e-9


def union_length(intervals):
    """Return the total length covered by (start, end) intervals, which may overlap and come in any order."""
    covered, reached = 0, float("-inf")
    for start, end in sorted(intervals):
        if end > reached:
            covered += end - max(start, reached)
            reached = end
    return covered


def kernel_set(names):
    """Return a short name of a set of kernels: steps that run the same kernels have the same one."""
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:12]


class DeviceClock:
    """Called, it returns the seconds that the device has been busy since the clock was started: asv's `timer`.

    `kernels` is the number of kernels since then, `names` what they are called. Recording costs the host a millisecond
    a step, so it runs only while a device benchmark is measured; device time itself is not affected.
    """

    def __init__(self, cupti):
        self._cupti = cupti
        self._kinds = (
            cupti.ActivityKind.CONCURRENT_KERNEL,
            cupti.ActivityKind.MEMCPY,
            cupti.ActivityKind.MEMSET,
        )
        self._intervals = []
        self._running = False
        self.seconds = 0.0
        self.kernels = 0
        self.names = set()
        cupti.activity_register_callbacks(lambda: (BUFFER_BYTES, 0), self._collect)

    def _collect(self, activities):
        kernel = self._cupti.ActivityKind.CONCURRENT_KERNEL
        for activity in activities:
            self._intervals.append((activity.start, activity.end))
            if activity.kind == kernel:
                self.kernels += 1
                self.names.add(activity.name)

    def start(self):
        if not self._running:
            for kind in self._kinds:
                self._cupti.activity_enable(kind)
            self._running = True
        self()
        self.seconds, self.kernels = 0.0, 0
        self.names.clear()

    def stop(self):
        if self._running:
            for kind in self._kinds:
                self._cupti.activity_disable(kind)
            self._running = False

    def __call__(self):
        forced = 1
        self._cupti.activity_flush_all(forced)
        intervals, self._intervals = self._intervals, []
        self.seconds += union_length(intervals) * NANOSECOND
        return self.seconds


def why_not():
    """Return why there is no device clock here, or None; starts neither a framework nor the GPU."""
    if frameworks.accelerator() == "cpu":
        return "the device clock needs an NVIDIA GPU"
    try:
        import cupti.cupti  # noqa: F401
    except ImportError as error:
        return f"the device clock needs cupti-python in the row ({error})"
    return None


@functools.cache
def get():
    """Return the process's one clock; raises frameworks.Unsupported where there is none."""
    reason = why_not()
    if reason:
        raise frameworks.Unsupported(reason)
    from cupti import cupti

    return DeviceClock(cupti)
