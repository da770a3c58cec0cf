"""Whether a figure means what it says; docs/audits.md explains each audit and what its flags mean.

The costly audits run once per row, benchmark, parameters and version, and not again for a row's control; the counters
run in every process. A finding that makes the figure wrong raises, so that the benchmark fails with the reason; one
that makes it mean something else is a flag in the sidecar.
"""

import dataclasses
import functools
import os

from .. import sidecar
from . import ceiling, compilation, constants, device, overhead, precision, work

COSTLY = (work, constants, precision, ceiling, overhead)
COUNTERS = (compilation, device)
# What names this row's sidecar and, in its control, that of the row.
SIDECARS = ("BENCH_SIDECAR", "BENCH_AUDITED")


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A step that was built and warmed, and what was seen on the way.

    `first` and `later` are compilation counts (name -> number) of the first step and of the untimed steps after it;
    `step_seconds` is the fastest of the untimed steps.
    """

    workload: object
    adapter: object
    mode: str
    pass_: str
    params: tuple
    step: object
    inputs: dict
    result: object
    first: dict
    later: dict
    step_seconds: float

    @property
    def precision(self):
        return self.params[1]

    @property
    def size(self):
        return self.workload.sizes[self.params[2]]

    @property
    def jitted(self):
        """The function that jax.jit made, where the step is nothing but a call of it; else None."""
        function = getattr(self.step, "func", None)
        return function if hasattr(function, "lower") else None

    @property
    def itemsize(self):
        return {"bf16": 2, "fp16": 2, "fp64": 8}.get(self.precision, 4)


def examine(prepared):
    """Run the audits that are due and append their outcomes to the sidecar.

    Raises the audit's own error where the figure would be wrong: a disagreement with float64, a recompilation.
    """
    benchmark = prepared.workload.benchmark_name(prepared.mode, prepared.pass_)
    version = str(prepared.workload.version)
    due = list(COUNTERS)
    if (benchmark, [str(each) for each in prepared.params], version) not in _examined(*map(os.environ.get, SIDECARS)):
        due += COSTLY
    for audit in due:
        found = audit.examine(prepared)
        if found is None:
            continue
        outcome, detail = found
        sidecar.append(
            "audit",
            benchmark=benchmark,
            params=[str(each) for each in prepared.params],
            version=version,
            audit=audit.__name__.rsplit(".", 1)[-1],
            outcome=outcome,
            detail=detail,
        )


@functools.cache
def _examined(*paths):
    """What the sidecars already hold costly audits of, as this process found them when it started."""
    return _Examined(
        (entry.get("benchmark"), tuple(entry.get("params") or ()), entry.get("version"))
        for path in filter(None, paths)
        for entry in sidecar.records("audit", path)
        if entry.get("audit") == "overhead"
    )


class _Examined(frozenset):
    def __contains__(self, key):
        benchmark, params, version = key
        return super().__contains__((benchmark, tuple(params), version))
