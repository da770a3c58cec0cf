"""Dispatch, transfers, compile time and memory: what the probes measure, and whether a wrong measurement is noticed."""

import json
import subprocess
import textwrap

import numpy
import pytest
from numpy_framework import NumpyAdapter

from benchmarks import compile_time, correctness, dispatch, frameworks, memory, mlp_train, probe, transfer


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

    def all_finite(self, arrays):
        return all(bool(numpy.isfinite(array).all()) for array in arrays)


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


class Compiled(compile_time.CompileTime):
    """A step that is no program, in a cache whose counts are given."""

    computation = mlp_train.MLPTrain
    compiled_pass = "train"

    def first_step(self, adapter, precision, size):
        return lambda: numpy.ones(1, numpy.float32)

    def fill(self, framework, precision, size):
        pass


class CountedCache:
    counted = ((3, 5), (3, 5))

    def __init__(self, folder):
        self._counts = iter(self.counted)

    def open(self, adapter):
        pass

    def counts(self):
        return next(self._counts)


@pytest.mark.parametrize(
    ("name", "found", "missed", "problem"),
    [
        ("time_cold", 0, 2, None),
        ("time_cold", 1, 1, "the cold cache held 1 of 2 programs"),
        ("time_warm", 2, 0, None),
        ("time_warm", 1, 1, "the warm cache lacked 1 of 2 programs"),
    ],
)
def test_a_cold_cache_holds_nothing_and_a_warm_one_everything(monkeypatch, name, found, missed, problem):
    class Cache(CountedCache):
        counted = ((3, 5), (3 + found, 5 + missed))

    monkeypatch.setitem(compile_time.CACHES, "numpy", Cache)
    monkeypatch.setattr(compile_time.frameworks, "get", lambda framework: EagerAdapter())
    figure = getattr(Compiled(), name)
    figure.setup("numpy", "fp32", "small")
    figure("numpy", "fp32", "small")
    if problem is None:
        figure.teardown("numpy", "fp32", "small")
    else:
        with pytest.raises(RuntimeError, match=problem):
            figure.teardown("numpy", "fp32", "small")


def test_a_second_sample_of_a_compilation_is_refused(monkeypatch):
    monkeypatch.setitem(compile_time.CACHES, "numpy", CountedCache)
    monkeypatch.setattr(compile_time.frameworks, "get", lambda framework: EagerAdapter())
    figure = Compiled().time_cold
    figure.setup("numpy", "fp32", "small")
    figure("numpy", "fp32", "small")
    with pytest.raises(RuntimeError, match="second compilation"):
        figure.setup("numpy", "fp32", "small")


def test_a_warm_cache_that_cannot_be_filled_says_why():
    broken = compile_time.CompileMatmulChain()
    broken._folder = "/nonexistent"
    with pytest.raises(RuntimeError, match=r"fills the cache failed: .*(torch|numpy)"):
        broken.fill("torch", "fp32", "small")


def test_a_probe_that_was_skipped_ends_without_a_check(monkeypatch, tmp_path):
    sidecar = tmp_path / "row.jsonl"
    monkeypatch.setenv("BENCH_SIDECAR", str(sidecar))
    monkeypatch.setattr(probe.frameworks, "get", lambda framework: EagerAdapter())
    figure = transfer.Transfer().time_to_host
    with pytest.raises(frameworks.Unsupported):
        figure.setup("numpy", "pageable", "4KiB")
    figure.teardown("numpy", "pageable", "4KiB")
    (record,) = [json.loads(line) for line in sidecar.read_text().splitlines()]
    assert {name: record[name] for name in ("benchmark", "params", "status", "reason")} == {
        "benchmark": "transfer.Transfer.time_to_host",
        "params": ["numpy", "pageable", "4KiB"],
        "status": "skipped",
        "reason": "on a CPU nothing is copied to a device",
    }


def test_the_resident_peak_is_seen_and_forgotten():
    memory.forget_peak()
    before = memory.peak_resident_bytes()
    held = numpy.ones(2**24)
    seen = memory.peak_resident_bytes()
    assert seen - before > 0.9 * held.nbytes
    del held
    memory.forget_peak()
    assert memory.peak_resident_bytes() < seen - 0.9 * 2**27


def test_a_peak_below_the_state_of_the_training_is_refused():
    figure = memory.Memory()
    figure._state_bytes = 1000
    assert figure._plausible(1000) == 1000
    with pytest.raises(RuntimeError, match="less than the state"):
        figure._plausible(999)


CHECKED = """
    import json
    from benchmarks import compile_time, frameworks, matmul_chain, memory, mlp_train

    def twice(build):
        return lambda self, adapter, mode, pass_, inputs: build(
            self, adapter, mode, pass_, {**inputs, "x": 2 * inputs["x"]}
        )

    adapter, found = frameworks.get("jax"), []
    compiled, trained = compile_time.CompileMatmulChain, memory.Memory
    for faulty in (False, True):
        if faulty:
            for computation in (matmul_chain.MatmulChain, mlp_train.MLPTrain):
                computation.build = twice(computation.build)
        found.append(compiled().check(compiled.time_cold, adapter, "fp32", "small"))
        found.append(trained().check(trained.track_compiled_host_bytes, adapter, "fp32", "small"))
    print(json.dumps(found))
"""


@pytest.mark.end_to_end
def test_what_is_compiled_and_trained_agrees_and_an_input_scaled_by_two_is_noticed(built_row):
    compiled, trained, twice_compiled, twice_trained = in_row(built_row, CHECKED)
    assert compiled[0] <= compiled[1]
    assert trained[0] <= trained[1]
    assert twice_compiled[0] > twice_compiled[1]
    assert twice_trained[0] > twice_trained[1]


COMPILED = """
    import json, sys
    from benchmarks import compile_time

    framework = sys.argv[3]
    probe = compile_time.CompileMLPTrain()
    if sys.argv[2] == "empty":
        probe.fill = lambda *arguments: None
    if sys.argv[2] == "filled":
        probe._warm, probe._folder = True, None
        empty = compile_time._empty_folder

        def filled():
            probe._folder = empty()
            probe.fill(framework, "fp32", "small")
            return probe._folder

        compile_time._empty_folder = filled
    figure, params = getattr(probe, sys.argv[1]), (framework, "fp32", "small")
    figure.setup(*params)
    before = probe._cache.counts()
    figure(*params)
    found = [now - then for now, then in zip(probe._cache.counts(), before)]
    try:
        figure.teardown(*params)
    except RuntimeError as problem:
        found.append(str(problem))
    print(json.dumps(found))
"""


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("name", "cache", "found"),
    [
        ("time_cold", "as it is", [0, 1]),
        ("time_warm", "as it is", [1, 0]),
        ("time_warm", "empty", [0, 1, "the warm cache lacked 1 of 1 programs"]),
        ("time_cold", "filled", [1, 0, "the cold cache held 1 of 1 programs"]),
    ],
)
def test_jax_compiles_one_program_or_finds_it(built_row, name, cache, found):
    assert in_row(built_row, COMPILED, name, cache, "jax") == found


@pytest.mark.end_to_end
def test_torch_finds_both_graphs_that_another_process_compiled(built_torch_row):
    assert in_row(built_torch_row, COMPILED, "time_warm", "as it is", "torch") == [2, 0]


KEPT = """
    import gc, json, sys, weakref
    from benchmarks import frameworks, memory, mlp_train, workload

    placed, put_all = {}, workload.put_all

    def remembered(*arguments):
        arrays = put_all(*arguments)
        placed.update({name: weakref.ref(array) for name, array in arrays.items()})
        return arrays

    workload.put_all = remembered
    adapter, probe = frameworks.get(sys.argv[1]), memory.Memory()
    step = probe.build(adapter, "eager", "fp32", "small")
    workload.run_synchronised(adapter, step)
    gc.collect()
    print(json.dumps(sorted(name for name, kept in placed.items() if kept() is not None)))
"""


@pytest.mark.end_to_end
@pytest.mark.parametrize(("framework", "row"), [("torch", "built_torch_row"), ("jax", "built_row")])
def test_training_keeps_its_batch_and_not_the_parameters_that_it_started_from(request, framework, row):
    assert in_row(request.getfixturevalue(row), KEPT, framework) == ["target", "x"]


GREEDY = """
    import json, sys
    import numpy
    from benchmarks import memory

    figure, params = memory.Memory(), ("jax", "fp32", "small")
    if sys.argv[1] == "greedy":
        build = figure.build

        def built(*arguments):
            step = build(*arguments)

            def greedy():
                numpy.ones(2**23)
                return step()

            greedy.state = step.state
            return greedy

        figure.build = built
    method = figure.track_compiled_host_bytes
    method.setup(*params)
    print(json.dumps(method(*params)))
"""


@pytest.mark.end_to_end
def test_a_step_that_takes_64_mib_more_is_seen_to(built_row):
    plain, greedy = (in_row(built_row, GREEDY, which) for which in ("plain", "greedy"))
    assert 2**26 * 0.7 < greedy - plain < 2**26 * 1.3
