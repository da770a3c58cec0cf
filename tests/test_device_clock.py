"""Device time is the union of the intervals in which the device was busy."""

import types

import pytest

from benchmarks import device_clock, telemetry


@pytest.mark.parametrize(
    ("intervals", "length"),
    [
        ([], 0),
        ([(0, 10)], 10),
        ([(0, 10), (20, 30)], 20),
        ([(0, 10), (5, 15)], 15),
        ([(5, 15), (0, 10)], 15),
        ([(0, 100), (10, 20), (30, 40)], 100),
        ([(0, 10), (0, 10), (10, 20)], 20),
    ],
)
def test_union_length(intervals, length):
    assert device_clock.union_length(intervals) == length


def test_a_set_of_kernels_has_one_name_in_any_order():
    assert device_clock.kernel_set(["gemm", "add"]) == device_clock.kernel_set({"add", "gemm"})
    assert device_clock.kernel_set(["gemm"]) != device_clock.kernel_set(["add", "gemm"])


def test_which_kernels_ran_is_recorded_and_their_names_once_a_row(monkeypatch, tmp_path):
    from benchmarks import matmul_chain, sidecar

    monkeypatch.setenv("BENCH_SIDECAR", str(tmp_path / "row.jsonl"))
    counter = types.SimpleNamespace(kernels=3, names={"gemm", "add"})
    for _ in range(2):
        matmul_chain.MatmulChain().report_kernels("compiled", "grad", ("jax", "bf16", "small"), counter)
    first, second = sidecar.records("kernels")
    assert first["benchmark"] == "matmul_chain.MatmulChain.time_compiled_grad"
    assert first["params"] == ["jax", "bf16", "small"]
    assert first["kernels"] == 3
    assert first["names"] == ["add", "gemm"]
    assert first["set"] == second["set"]
    assert "names" not in second


def test_a_cpu_row_has_no_device_clock_and_says_why(monkeypatch):
    monkeypatch.setenv("BENCH_ACCELERATOR", "cpu")
    assert device_clock.why_not() == "the device clock needs an NVIDIA GPU"


def state(reasons=0, foreign=0):
    return {"reasons": reasons, "foreign_processes": foreign}


def test_thermal_slowdown_and_foreign_processes_disturb_and_the_power_cap_does_not():
    assert telemetry.disturbances(state(), state(reasons=0x04)) == []
    assert telemetry.disturbances(state(), state(reasons=0x40)) == ["hardware thermal slowdown"]
    assert telemetry.disturbances(state(foreign=2), state()) == ["2 other processes on the GPU"]
    assert telemetry.disturbances(None, None) == []
