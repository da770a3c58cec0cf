"""Dispatch, transfers, compile time and memory: what the probes measure, and whether a wrong measurement is noticed."""

import json
import subprocess
import textwrap

import numpy
import pytest
from numpy_framework import NumpyAdapter

from benchmarks import correctness, dispatch, frameworks, transfer


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


class NumpyCopies:
    """Copies within NumPy, which has one kind of memory."""

    def __init__(self, adapter, host):
        self.host = host

    def on_host(self, array):
        return array

    def to_device(self, source):
        return source.copy()

    def to_host(self, source):
        return source.copy()

    def duplicate(self, source):
        return source.copy()

    def kind(self, result):
        return self.host

    def numbers(self, result):
        return result


@pytest.fixture
def copies(monkeypatch):
    class Copies(NumpyCopies):
        pass

    monkeypatch.setitem(transfer.COPIES, "numpy", Copies)
    return Copies


class OnGpu(EagerAdapter):
    on_gpu = True


@pytest.mark.parametrize("name", ["time_to_device", "time_to_host"])
def test_numbers_that_arrive_scaled_by_two_are_noticed(copies, name):
    declared = of(transfer.Transfer, name)
    transfer.Transfer().make_ready(declared, OnGpu(), "pageable", "4KiB")
    copies.to_device = copies.to_host = lambda self, source: 2 * source
    assert transfer.Transfer().check(declared, OnGpu(), "pageable", "4KiB") == (1.0, 0.0)
    with pytest.raises(correctness.Disagreement, match="100% of the numbers"):
        transfer.Transfer().make_ready(declared, OnGpu(), "pageable", "4KiB")


def test_memory_of_another_kind_and_half_of_the_numbers_are_noticed(copies):
    declared = of(transfer.Transfer, "time_to_host")
    copies.kind = lambda self, result: "pageable"
    with pytest.raises(ValueError, match="in pageable memory, not in pinned"):
        transfer.Transfer().make_ready(declared, OnGpu(), "pinned", "4KiB")
    copies.to_host = lambda self, source: source[:512].copy()
    with pytest.raises(ValueError, match=r"float32\(512,\) arrived, float32\(1024,\) was sent"):
        transfer.Transfer().make_ready(declared, OnGpu(), "pageable", "4KiB")


def test_a_transfer_is_what_its_size_says_and_skipped_on_a_cpu():
    assert [transfer.Transfer().arrays(size).nbytes for size in transfer.NUMBERS] == [4096, 268435456]
    with pytest.raises(frameworks.Unsupported, match="nothing is copied"):
        transfer.Transfer().make_ready(of(transfer.Transfer, "time_to_host"), EagerAdapter(), "pageable", "4KiB")


def in_row(row, code, *arguments):
    """Run Python in the row; return what its last line says in JSON."""
    ran = subprocess.run(
        [row.python, "-c", textwrap.dedent(code), *arguments], env=row.environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


TRANSFERS = """
    import json
    from benchmarks import frameworks, transfer

    adapter, found = frameworks.get("jax"), {}
    for host in ("pageable", "pinned"):
        for name in ("time_to_device", "time_to_host"):
            probe = transfer.Transfer()
            right = probe.check(getattr(transfer.Transfer, name), adapter, host, "4KiB")
            sources = []
            for _ in range(2):
                probe.before_sample()
                sources.append(probe._source)
            found[f"{name} {host}"] = right, sources[0] is not sources[1]
    transfer.JaxCopies.to_host = lambda self, source: transfer.numpy.asarray(source)
    try:
        probe.check(transfer.Transfer.time_to_host, adapter, "pinned", "4KiB")
    except ValueError as problem:
        found["planted"] = str(problem)
    print(json.dumps(found))
"""


@pytest.mark.end_to_end
def test_jax_copies_every_number_to_new_memory_of_the_kind_that_is_claimed(built_row):
    # jax keeps the host copy of an array: copied a second time, nothing would be.
    assert in_row(built_row, TRANSFERS) == {
        "time_to_device pageable": [[0.0, 0.0], False],
        "time_to_host pageable": [[0.0, 0.0], True],
        "time_to_device pinned": [[0.0, 0.0], False],
        "time_to_host pinned": [[0.0, 0.0], True],
        "planted": "the result is in pageable memory, not in pinned memory",
    }
