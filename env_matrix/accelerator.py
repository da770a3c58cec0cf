"""Which accelerator rows are built for: `cpu`, `cuda12` or `cuda13`."""

import contextlib
import os

from asv.util import UserError

ACCELERATORS = ("cpu", "cuda12", "cuda13")


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


def chosen() -> str:
    """Return `BENCH_ACCELERATOR`, else `cuda12` where an NVIDIA driver is present, else `cpu`.

    Raises UserError for a value that is none of these.
    """
    wanted = os.environ.get("BENCH_ACCELERATOR")
    if wanted:
        if wanted not in ACCELERATORS:
            raise UserError(f"BENCH_ACCELERATOR={wanted!r} is unknown; use {', '.join(ACCELERATORS)}")
        return wanted
    return "cuda12" if driver_version() else "cpu"
