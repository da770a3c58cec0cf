"""Where the step ran, with how many threads, on which CPUs."""

import os


def examine(prepared):
    """Record device, threads and CPU affinity; flag `unequal-threads` where a CPU row does not use every CPU it has.

    That the result lies on the claimed device is asserted before any audit.
    """
    adapter = prepared.adapter
    affinity = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    detail = {"device": adapter.device_name(), "threads": adapter.threads(), "cpus": affinity}
    unequal = not adapter.on_gpu and affinity is not None and adapter.threads() != len(affinity)
    return ("unequal-threads" if unequal else "ok"), detail
