"""Dispatch, transfers, compile time and memory: what the probes measure, and whether a wrong measurement is noticed."""

import numpy
import pytest
from numpy_framework import NumpyAdapter

from benchmarks import correctness, dispatch


class EagerAdapter(NumpyAdapter):
    """NumPy where a probe asks for compilation counts and types, too."""

    def compilation_counts(self):
        return {}

    def set_precision(self, precision):
        pass

    def release(self):
        pass

    def dtype(self, precision):
        return "float32"

    def leaves(self, result):
        return [result]

    def is_on_device(self, array):
        return True

    def is_floating(self, array):
        return True

    def all_finite(self, array):
        return bool(numpy.isfinite(array).all())


def of(probe_class, name):
    return getattr(probe_class, name)


@pytest.mark.parametrize("kind", dispatch.OPERATION)
def test_an_operation_agrees_with_float64_and_one_with_an_input_scaled_by_two_does_not(kind):
    declared = of(dispatch.Dispatch, "time_eager_waiting")
    error, allowed = dispatch.Dispatch().check(declared, EagerAdapter(), kind)
    assert error <= allowed
    for name in dispatch.Dispatch().arrays(kind):

        class Planted(dispatch.Dispatch):
            def build(self, adapter, mode, kind, inputs, name=name):
                return super().build(adapter, mode, kind, {**inputs, name: 2 * inputs[name]})

        error, allowed = Planted().check(declared, EagerAdapter(), kind)
        assert error > allowed, name
        with pytest.raises(correctness.Disagreement):
            Planted().make_ready(declared, EagerAdapter(), kind)


def test_a_sample_is_a_hundred_operations_and_shows_one(monkeypatch):
    calls = []

    class Counted(dispatch.Dispatch):
        def build(self, *arguments):
            step = super().build(*arguments)

            def counted():
                calls.append(None)
                return step()

            return counted

    for kind, wanted in (("no-op", 100), ("add", 100), ("chain", 1)):
        for name in ("time_eager_waiting", "time_eager_asking"):
            probe = Counted()
            probe.make_ready(of(Counted, name), EagerAdapter(), kind)
            calls.clear()
            of(Counted, name)(probe, "numpy", kind)
            assert len(calls) == wanted
    monkeypatch.setattr(dispatch.time, "perf_counter", lambda: 250.0)
    assert dispatch.Dispatch().timer() == 2.5
    numbers = numpy.arange(8.0)
    assert (dispatch.OPERATION["chain"](numbers, numpy.ones(8)) == numbers + 100).all()


def test_an_operation_that_is_asked_for_is_awaited_before_the_next_sample():
    waited = []

    class Waiting(EagerAdapter):
        def wait(self, result):
            waited.append(result)
            return result

    probe = dispatch.Dispatch()
    probe.make_ready(of(dispatch.Dispatch, "time_eager_asking"), Waiting(), "add")
    waited.clear()
    of(dispatch.Dispatch, "time_eager_asking")(probe, "numpy", "add")
    assert waited == []
    probe.before_sample()
    assert [each.shape for each in waited] == [(8,)]


def test_an_operation_that_compiles_at_every_call_is_refused():
    class Retracing(EagerAdapter):
        count = 0

        def compilation_counts(self):
            self.count += 1
            return {"programs": self.count}

    with pytest.raises(RuntimeError, match="compiled again"):
        dispatch.Dispatch().make_ready(of(dispatch.Dispatch, "time_eager_waiting"), Retracing(), "add")
