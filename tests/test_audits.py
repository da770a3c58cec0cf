"""Each audit finds the fault planted for it, in a real framework's process, and nothing else does."""

import dataclasses
import functools
import json
import os
import pathlib
import shutil
import sys
import types

import pytest
from row_project import REPOSITORY

from benchmarks.audits import ceiling, device, overhead, precision, work
from bumps import process
from bumps.plan import Item
from bumps.process import Interpreter, Task

FRAMEWORKS = ("torch", "jax")
TWO_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
several_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU has one thread anyway")


@dataclasses.dataclass
class Found:
    """What the processes said of one benchmark: the worker's entry and the sidecar's records."""

    entry: dict
    records: list

    @property
    def audits(self):
        """Audit -> its record."""
        return {record["audit"]: record for record in self.records if record["record"] == "audit"}

    @property
    def flags(self):
        return {record["outcome"] for record in self.audits.values()} - {"ok"}

    @property
    def reason(self):
        return self.entry.get("reason", "")

    @property
    def was_measured(self):
        return bool(self.entry.get("samples"))


class Suite:
    """A copy of benchmarks/ with the planted workloads, on one row."""

    def __init__(self, framework: str, python: pathlib.Path, folder: pathlib.Path):
        self.framework, self._python, self._folder = framework, python, folder
        shutil.copytree(REPOSITORY / "benchmarks", folder / "benchmarks", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(REPOSITORY / "tests" / "planted_faults.py", folder / "benchmarks")
        self._sessions = 0

    def measure(self, *names: str, without: str = "", **variables: str) -> dict[str, Found]:
        """Measure benchmarks of planted_faults, each `Workload.method`, as `bumps run` does."""
        self._sessions += 1
        sidecar = self.last_sidecar
        index = FRAMEWORKS.index(self.framework)
        tasks = [[Task(Item(f"planted_faults.{name}", index), True, 300)] for name in names]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("BENCH_", "ASV", "PYTHON"))}
        interpreter = Interpreter(
            str(self._python),
            {
                **kept,
                "BENCH_ACCELERATOR": "cpu",
                "BENCH_SIDECAR": str(sidecar),
                "BENCH_CACHE": str(self._folder / "cache"),
                "TORCHINDUCTOR_CACHE_DIR": str(self._folder / "cache" / "inductor"),
                "ASV_ENV_NAME": f"{self.framework} row",
                "PLANTED_WITHOUT": without,
                **variables,
            },
        )
        processes = process.measure(interpreter, str(self._folder / "benchmarks"), tasks)
        entries = {entry["benchmark"]: entry for each in processes for entry in each.entries}
        lines = [json.loads(line) for line in sidecar.read_text().splitlines()] if sidecar.exists() else []
        found = {}
        for name in names:
            benchmark = f"planted_faults.{name}"
            found[name] = Found(entries[benchmark], [line for line in lines if line.get("benchmark") == benchmark])
        return found

    @property
    def last_sidecar(self) -> pathlib.Path:
        return self._folder / f"{self._sessions}.jsonl"

    @functools.cached_property
    def with_all_audits(self) -> dict[str, Found]:
        faults = [fault.benchmark for fault in FAULTS if self.framework in fault.frameworks]
        return self.measure(*FINE, *faults, **TWO_DEVICES)


@dataclasses.dataclass(frozen=True)
class Fault:
    """A planted fault: `flag` is what the audit says of it, or `reason` why it fails; `left` the flags that remain when
    `audit` (or several) is taken out and the step gives a number."""

    benchmark: str
    audit: str
    flag: str | None = None
    reason: str | None = None
    left: frozenset = frozenset()
    frameworks: tuple = FRAMEWORKS


FAULTS = [
    Fault("Article.time_compiled_grad", "work", "elided", frameworks=("torch",)),
    Fault("Article.time_compiled_grad", "work", "elided", left=frozenset({"constants"}), frameworks=("jax",)),
    Fault("Article.time_compiled_forward", "constants", "constants", frameworks=("jax",)),
    Fault("BrokenArticle.time_compiled_forward", "work,compilation", "graph-break", frameworks=("torch",)),
    Fault("Bf16Inside.time_eager_forward", "precision", reason="Disagreement: relative error"),
    Fault("Tf32Inside.time_eager_forward", "precision", reason="Disagreement: relative error"),
    Fault("Fp32Inside.time_eager_forward", "precision", reason="Disagreement: relative error"),
    Fault("OneSideDiffers.time_eager_forward", "precision", reason="Disagreement: relative error"),
    Fault("NarrowInputs.time_eager_forward", "precision", reason="the input x is "),
    # Its type and its error both give it away.
    Fault("NoX64.time_eager_forward", "result,precision", reason="the result is float32, not", frameworks=("jax",)),
    Fault("NarrowGradient.time_eager_grad", "result,precision", reason="bfloat16, not"),
    Fault("NotANumber.time_eager_forward", "result,precision", reason="ValueError: the result is not finite"),
    Fault("Elsewhere.time_eager_forward", "result", reason="the result is not on cpu", frameworks=("jax",)),
    Fault("CompilesAlways.time_compiled_forward", "compilation,timing", reason="compiles again at every call"),
    Fault("CompilesLater.time_compiled_forward", "timing", reason="compiled again while it was timed"),
    Fault("CompilesLast.time_compiled_forward", "timing", reason="compiled again while", frameworks=("jax",)),
    Fault("TwoPrograms.time_compiled_forward", "compilation", "recompiled"),
    Fault("Boast.time_eager_forward", "ceiling", "impossible", frameworks=("jax",)),
    Fault("Boast.time_eager_forward", "ceiling", "impossible", left=frozenset({"elided"}), frameworks=("torch",)),
    Fault("Tiny.time_eager_forward", "overhead", "overhead-bound"),
]
FINE = ("Product.time_eager_forward", "Chain.time_compiled_grad", "Chain.time_eager_forward")


@pytest.fixture(scope="module")
def suite(request, tmp_path_factory):
    """Return a function that returns a framework's Suite."""

    @functools.cache
    def of(framework):
        row = request.getfixturevalue("built_row" if framework == "jax" else "built_torch_row")
        return Suite(framework, row.python, tmp_path_factory.mktemp(f"planted_{framework}"))

    return of


@pytest.fixture(params=FRAMEWORKS)
def planted(request, suite):
    return suite(request.param)


def incidental(fault):
    """Flags that say how small the planted steps are, or that half of the claimed work may be faster than the peak."""
    return {"overhead-bound", "impossible"} - {fault.flag}


@pytest.mark.end_to_end
def test_each_planted_fault_is_found(planted):
    for fault in FAULTS:
        if planted.framework not in fault.frameworks:
            continue
        seen = planted.with_all_audits[fault.benchmark]
        if fault.flag:
            assert seen.was_measured, (fault, seen.entry)
            assert fault.flag in seen.flags, (fault, seen.audits)
        else:
            # A reason, never a number: for the driver and in the sidecar.
            assert seen.entry["status"] == "failed", (fault, seen.entry)
            assert not seen.was_measured, (fault, seen.entry)
            assert fault.reason in seen.reason, (fault, seen.entry)
            reasons = [record["reason"] for record in seen.records if record["record"] == "status"]
            assert fault.reason in reasons[0], (fault, reasons)


@pytest.mark.end_to_end
def test_nothing_is_said_of_what_is_fine(planted):
    for name in FINE:
        seen = planted.with_all_audits[name]
        assert seen.was_measured, seen.entry
        assert seen.flags <= {"overhead-bound"}, seen.audits
    # Twenty products are no overhead, however busy the machine.
    assert planted.with_all_audits["Chain.time_compiled_grad"].audits["overhead"]["outcome"] == "ok"


@pytest.mark.end_to_end
def test_a_fault_goes_unnoticed_without_its_audit(planted):
    by_audit = {}
    for fault in FAULTS:
        if planted.framework in fault.frameworks:
            by_audit.setdefault(fault.audit, []).append(fault)
    for audit, faults in by_audit.items():
        found = planted.measure(*(fault.benchmark for fault in faults), without=audit, **TWO_DEVICES)
        for fault in faults:
            seen = found[fault.benchmark]
            assert seen.was_measured, (fault, seen.entry)
            assert seen.flags - incidental(fault) == fault.left, (fault, seen.audits)


@pytest.mark.end_to_end
def test_costly_audits_are_made_once_for_a_row_and_its_control(planted):
    row, control = "Product.time_eager_forward", "Chain.time_eager_forward"
    first = planted.measure(row)[row]
    found = planted.measure(row, control, BENCH_AUDITED=str(planted.last_sidecar))
    assert {"work", "precision", "ceiling", "overhead", "device"} <= set(first.audits)
    assert (found[row].was_measured, set(found[row].audits)) == (True, set(first.audits) & {"compilation", "device"})
    # What the row was not asked for is audited in its control.
    assert "overhead" in found[control].audits


@pytest.mark.end_to_end
def test_both_frameworks_run_on_the_same_cpus_with_as_many_threads(suite):
    details = [
        suite(framework).with_all_audits["Product.time_eager_forward"].audits["device"]["detail"]
        for framework in FRAMEWORKS
    ]
    assert details[0] == details[1]
    assert details[0] == {
        "device": "cpu",
        "threads": len(os.sched_getaffinity(0)),
        "cpus": sorted(os.sched_getaffinity(0)),
    }


@pytest.mark.end_to_end
@several_cpus
def test_a_framework_with_fewer_threads_is_found_and_only_by_the_device_audit(planted):
    name, told = "OneThread.time_eager_forward", {"NPROC": "1"} if planted.framework == "jax" else {}
    seen = planted.measure(name, **told)[name]
    assert "unequal-threads" in seen.flags
    assert seen.audits["device"]["detail"]["threads"] == 1
    assert planted.measure(name, without="device", **told)[name].flags <= {"overhead-bound"}


@pytest.mark.end_to_end
def test_a_step_that_runs_out_of_memory_fails_alone(planted):
    failing, name = "OutOfMemory.time_eager_forward", "Product.time_eager_forward"
    found = planted.measure(failing, name)
    assert found[failing].entry["status"] == "failed"
    assert "emory" in found[failing].reason
    assert found[name].was_measured


@pytest.mark.end_to_end
def test_a_graph_break_where_whole_capture_is_demanded_fails(suite):
    name = "GraphBreak.time_compiled_forward"
    seen = suite("torch").measure(name)[name]
    assert seen.entry["status"] == "failed"
    assert "graph_break" in seen.reason


# In the place of nvidia-ml-py: one GPU whose state before and after the measurement is planted.
NVML = """
import json
import os
import types

NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = 1, 0
states = json.loads(os.environ["PLANTED_STATES"])
reasons = iter(state["reasons"] for state in states)
processes = iter(state["processes"] for state in states)


class NVMLError(Exception):
    pass


def nvmlInit():
    pass


def nvmlDeviceGetHandleByIndex(index):
    return index


def nvmlDeviceGetClockInfo(handle, clock):
    return 1980


def nvmlDeviceGetTemperature(handle, sensor):
    raise NVMLError("not supported")


def nvmlDeviceGetPowerUsage(handle):
    return 350_000


def nvmlDeviceGetCurrentClocksThrottleReasons(handle):
    return next(reasons)


def nvmlDeviceGetComputeRunningProcesses(handle):
    return [types.SimpleNamespace(pid=os.getpid() if each == "own" else each) for each in next(processes)]
"""
POWER_CAP, THERMAL = 0x4, 0x40
QUIET = {"reasons": POWER_CAP, "processes": ["own"]}


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("after", "disturbed"),
    [
        (QUIET, []),
        ({**QUIET, "reasons": POWER_CAP | THERMAL}, ["hardware thermal slowdown"]),
        ({**QUIET, "processes": ["own", 1]}, ["1 other processes on the GPU"]),
        # A container's processes have other numbers for NVML: one of two may be ours.
        ({**QUIET, "processes": [1, 2]}, ["1 other processes on the GPU"]),
    ],
)
def test_telemetry_marks_what_was_throttled_or_shared(suite, tmp_path, after, disturbed):
    (tmp_path / "pynvml.py").write_text(NVML)
    name = "Watched.time_eager_forward"
    # The peak of a GPU is measured by products that a CPU takes hours for.
    told = {"PYTHONPATH": str(tmp_path), "PLANTED_STATES": json.dumps([QUIET, after]), "CUDA_VISIBLE_DEVICES": "0"}
    seen = suite("jax").measure(name, without="ceiling", **told)[name]
    assert seen.was_measured, seen.entry
    (record,) = [each for each in seen.records if each["record"] == "telemetry"]
    assert record["disturbed"] == disturbed
    before = {"sm_clock": 1980, "temperature": None, "power": 350.0, "reasons": POWER_CAP, "foreign_processes": 0}
    assert record["before"] == before


class Adapter:
    """What the audits of one test ask an adapter for."""

    def __init__(self, **fields):
        vars(self).update(fields)


def prepared(first, mode="compiled", framework="torch", **fields):
    """Return what audits see of a step whose first call compiled as `first` says."""
    workload = types.SimpleNamespace(
        work_is_products=True, flops=lambda pass_, **_: 100.0, bytes_moved=lambda pass_, itemsize, **_: 10.0
    )
    return types.SimpleNamespace(
        workload=workload,
        adapter=Adapter(name=framework, **fields),
        mode=mode,
        pass_="grad",
        size=types.SimpleNamespace(dimensions={}),
        itemsize=4,
        first=first,
        jitted=None,
    )


@pytest.mark.parametrize(
    ("first", "graphs", "breaks"),
    [
        # torch 2.2.0 on torch.func.grad: nothing is captured, or pieces are.
        ({"graphs": 0, "graph_breaks": 1}, 0, 1),
        ({"graphs": 0, "graph_breaks": 0}, 0, 0),
        ({"graphs": 2, "graph_breaks": 1}, 2, 1),
    ],
)
def test_what_torch_did_not_capture_whole_ran_eagerly(first, graphs, breaks):
    outcome, detail = work.examine(prepared(first))
    assert outcome == "graph-break"
    assert (detail["graphs"], detail["graph_breaks"]) == (graphs, breaks)


@pytest.mark.parametrize(
    ("flops", "outcome"), [(50.0, "elided"), (89.9, "elided"), (90.0, "ok"), (200.0, "ok"), (None, "ok")]
)
def test_under_nine_tenths_of_the_analytic_work_is_elided(monkeypatch, flops, outcome):
    monkeypatch.setattr(work, "program_flops", lambda prepared: flops)
    assert work.examine(prepared({"graphs": 1, "graph_breaks": 0}))[0] == outcome


def counted_out(*shapes, out=None, **keywords):
    """A formula as torch 2.2 wraps it: whatever else is named goes on to a function that may not know it."""
    return _needs_result(*shapes, out_shape=out, **keywords)


def counted_out_val(*shapes, out_val=None, **keywords):
    """And as later releases do."""
    return _needs_result(*shapes, out_shape=out_val, **keywords)


def _needs_result(left, out_shape=None):
    return left[0] * out_shape[0]


@pytest.mark.parametrize("formula", [counted_out, counted_out_val])
def test_the_formulas_of_every_torch_are_told_the_result(monkeypatch, formula):
    counter = types.ModuleType("torch.utils.flop_counter")
    counter.flop_registry = {"convolution": formula}
    torch_fx = types.ModuleType("torch.fx.node")
    torch_fx.map_arg = lambda structure, told: structure
    for name, module in (("torch.utils.flop_counter", counter), ("torch.fx.node", torch_fx)):
        monkeypatch.setitem(sys.modules, name, module)
    node = types.SimpleNamespace(
        op="call_function",
        target=types.SimpleNamespace(overloadpacket="convolution"),
        args=((3,),),
        kwargs={},
        meta={"val": (5,)},
    )
    graph = types.SimpleNamespace(graph=types.SimpleNamespace(nodes=[node]))
    assert work.graph_flops(graph) == 15


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(2e-4, "ok"), (0.03 * 2**-11, "ok"), (0.01 * 2**-11, "wrong-precision"), (0.0, "wrong-precision")],
)
def test_tf32_that_is_too_good_was_fp32(error, outcome):
    seen = prepared({})
    seen.workload.check = lambda *arguments: (error, 1e-3)
    seen.workload.differentiate = ("x",)
    seen.precision, seen.params, seen.inputs = "tf32", ("torch", "tf32", "small"), {}
    seen.adapter.dtype = lambda precision: "float32"
    assert precision.examine(seen)[0] == outcome


def test_a_peak_is_measured_again_before_a_step_is_called_impossible(monkeypatch):
    rates = iter([1e9, 2e9, 5e9])
    monkeypatch.setattr(ceiling, "ON_CPU", ((256, 1),))
    monkeypatch.setattr(ceiling.Peak, "_fastest", lambda self, precision, width, products: 2 * width**3 / next(rates))
    seen = prepared({}, on_gpu=False)
    seen.size.bound, seen.precision, seen.step_seconds = "compute", "fp32", 100.0 / 4e9
    outcome, detail = ceiling.examine(seen)
    assert outcome == "ok"
    assert detail["peak_flops_per_second"] == 5e9
    assert detail["peak_measurements"] == 3


@pytest.mark.parametrize(("rate", "outcome"), [(1.04e9, "ok"), (1.06e9, "impossible")])
def test_a_step_above_every_measured_peak_is_impossible(monkeypatch, rate, outcome):
    measured = []
    monkeypatch.setattr(ceiling, "ON_CPU", ((256, 1),))
    monkeypatch.setattr(
        ceiling.Peak,
        "_fastest",
        lambda self, precision, width, products: measured.append(width) or 2 * width**3 / 1e9,
    )
    seen = prepared({}, on_gpu=False)
    seen.size.bound, seen.precision, seen.step_seconds = "compute", "fp32", 100.0 / rate
    assert ceiling.examine(seen)[0] == outcome
    assert len(measured) == (1 if outcome == "ok" else ceiling.MEASUREMENTS_ON_CPU)


def test_a_narrow_type_on_a_cpu_may_be_computed_in_fp32(monkeypatch):
    monkeypatch.setattr(ceiling, "ON_CPU", ((256, 1),))
    seconds = {"fp16": 1.0, "fp32": 0.001}
    monkeypatch.setattr(ceiling.Peak, "_fastest", lambda self, precision, width, products: seconds[precision])
    peak = ceiling.Peak(types.SimpleNamespace(on_gpu=False), "fp16")
    peak.measure()
    assert peak.rate == 2 * 256**3 / 0.001


def test_a_product_that_would_take_long_is_left_out(monkeypatch):
    monkeypatch.setattr(ceiling, "ON_CPU", ((256, 1), (1024, 1)))
    widths = []
    monkeypatch.setattr(ceiling.Peak, "_fastest", lambda self, precision, width, products: widths.append(width) or 0.1)
    ceiling.Peak(types.SimpleNamespace(on_gpu=False), "fp64").measure()
    assert widths == [256]


def test_a_step_under_five_no_ops_is_overhead_bound(monkeypatch):
    monkeypatch.setattr(overhead, "no_op_seconds", lambda adapter, mode: 1e-5)
    seen = types.SimpleNamespace(adapter=None, mode="eager", step_seconds=4.9e-5)
    assert overhead.examine(seen)[0] == "overhead-bound"
    seen.step_seconds = 5.1e-5
    assert overhead.examine(seen)[0] == "ok"


@pytest.mark.parametrize(("threads", "on_gpu", "outcome"), [(3, False, "unequal-threads"), (3, True, "ok")])
def test_threads_matter_on_a_cpu_only(monkeypatch, threads, on_gpu, outcome):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {4, 1}, raising=False)
    adapter = types.SimpleNamespace(on_gpu=on_gpu, device_name=lambda: "it", threads=lambda: threads)
    found, detail = device.examine(types.SimpleNamespace(adapter=adapter))
    assert found == outcome
    assert detail == {"device": "it", "threads": 3, "cpus": [1, 4]}
