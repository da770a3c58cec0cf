"""What the tests of workloads share: every kind of a workload, and the same with a fault planted."""

import itertools

from numpy_framework import NumpyAdapter

from benchmarks import workload


def made(workload_class, **chosen):
    """Return a workload of the chosen extra parameters, the first of each where none is chosen."""
    computation = workload_class()
    for name, values in computation.extra_params.items():
        setattr(computation, name, chosen.get(name, values[0]))
    return computation


def variants(workload_class):
    """Yield a workload for every combination of its extra parameters."""
    names = list(workload_class.extra_params)
    for values in itertools.product(*workload_class.extra_params.values()):
        yield made(workload_class, **dict(zip(names, values, strict=True)))


def called(computation):
    """Return the test's name of a workload and its extra parameters."""
    return "-".join([type(computation).__name__, *(getattr(computation, name) for name in computation.extra_params)])


def small_inputs(computation, precision="fp32"):
    return workload.put_all(NumpyAdapter(), computation.arrays("small"), precision)


def with_input_scaled(computation, name):
    """Return the workload with a step that is given twice the input that its reference is given."""

    class Planted(type(computation)):
        def build(self, adapter, mode, pass_, inputs):
            return super().build(adapter, mode, pass_, {**inputs, name: 2 * inputs[name]})

    return made(Planted, **{each: getattr(computation, each) for each in computation.extra_params})
