"""Which accelerator rows are built for: `cpu`, `cuda12` or `cuda13`."""

import contextlib
import functools
import os
from collections.abc import Sequence

from asv.util import UserError

from env_matrix.releases import Release

ACCELERATORS = ("cpu", "cuda12", "cuda13")
VARIABLE = "BENCH_ACCELERATOR"


@functools.cache
def driver_version() -> str | None:
    """Return the NVIDIA driver's version, None without a driver."""
    import pynvml

    with contextlib.suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        try:
            version = pynvml.nvmlSystemGetDriverVersion()
            return version.decode() if isinstance(version, bytes) else version
        finally:
            pynvml.nvmlShutdown()
    return None


def asked_for() -> str | None:
    """Return `BENCH_ACCELERATOR`, None where it is not set; raises UserError for a value that there is not."""
    wanted = os.environ.get(VARIABLE) or None
    if wanted not in (None, *ACCELERATORS):
        raise UserError(f"{VARIABLE}={wanted!r} is unknown; use {', '.join(ACCELERATORS)}")
    return wanted


def chosen() -> str:
    """Return `BENCH_ACCELERATOR`, else `cuda12` where an NVIDIA driver is present, else `cpu`."""
    return asked_for() or ("cuda12" if driver_version() else "cpu")


def of_row(release: Release, available: Sequence[str]) -> str:
    """Return what a row is built for; `available` are the accelerators that its constraints were resolved for.

    That is what was asked for; else with a driver CUDA 12, or CUDA 13 for a release that the index has no other build
    of. Raises UserError where jax has no such build; torch's builds are the index's, and are judged when installed.
    """
    wanted = asked_for()
    if wanted is None:
        builds = [name for name in ("cuda12", "cuda13") if name in available]
        return builds[0] if builds and driver_version() else "cpu"
    if release.framework == "jax" and wanted not in available:
        raise UserError(f"{release} has no {wanted} build, only {', '.join(available)}; see {VARIABLE}")
    return wanted
