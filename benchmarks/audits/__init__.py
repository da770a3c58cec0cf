"""Whether a figure means what it says; see docs/audits.md."""

import contextlib


@contextlib.contextmanager
def count_compilations(adapter):
    yield None


def examine(workload, adapter, mode, pass_, params, step, inputs, result, compilations):
    pass
