"""Finds a Python to build rows on. A command on PATH may be a version manager's shim that starts nothing."""

import functools
import sys

from virtualenv.discovery.builtin import get_interpreter

from env_matrix import machine_facts

CHOOSE = "-E pinned:X.Y with asv, --python X.Y with bumps"


@functools.cache
def find(version: str) -> str | None:
    """Return a Python of a version (`3.12`) that runs, None without one; the one that runs asv comes first."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    found = get_interpreter(version, [])
    # Anything that is no X.Y may match too: a path, or an implementation.
    if found is None or f"{found.version_info.major}.{found.version_info.minor}" != version:
        return None
    return found.executable


def why_not(version: str) -> str:
    """Return, for a Python that `find` did not find, what to do about it."""
    seen = machine_facts.find_python(version)
    broken = f": {seen.path} does not run ({seen.problem})" if seen.problem else ""
    return f"no working Python {version} was found{broken}; install it, or choose another: {CHOOSE}"
