"""What is recorded of a machine's CPU, and what `method.html` says of machines, with and without the records."""

import json
import types

import archive as stored
import pytest

from bumps.results import Archive
from bumps.site import machine_facts, pages
from env_matrix import cpu

CHAIN = stored.benchmark(
    "chain.Chain.time_forward", params=[["'torch'", "'jax'"]], param_names=["framework"], workload="Chain", mode="eager"
)
X86 = """processor\t: 0
model name\t: some CPU
flags\t\t: fpu sse4_2 avx2 avx512f amx_bf16 fpu

processor\t: 1
flags\t\t: fpu sse2
"""
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd sve bf16\nCPU part\t: 0xd4f\n"


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (X86, ["amx_bf16", "avx2", "avx512f", "fpu", "sse4_2"]),
        (ARM, ["asimd", "bf16", "fp", "sve"]),
        ("processor\t: 0\n", None),
    ],
)
def test_flags_of_the_first_cpu(tmp_path, monkeypatch, text, flags):
    (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(cpu, "CPU_INFO", tmp_path / "cpuinfo")
    assert cpu.flags() == flags


def test_a_system_without_the_file_tells_no_flags(tmp_path, monkeypatch):
    monkeypatch.setattr(cpu, "CPU_INFO", tmp_path / "cpuinfo")
    assert cpu.flags() is None


def write(folder, accelerator="cuda12", machine=stored.MACHINE, records=()):
    """Write a row of each framework; `records` go into the sidecar of jax's."""
    stored.write_suite(folder, [CHAIN])
    variables = {"BENCH_ACCELERATOR": accelerator}
    samples = stored.samples_of([0.01] * 3)
    stored.write_row(folder, {"torch": "2.13.0"}, [(CHAIN, [samples, stored.NAN])], machine=machine, env_vars=variables)
    _, name = stored.write_row(
        folder, {"jax": "0.9.2"}, [(CHAIN, [stored.NAN, samples])], machine=machine, env_vars=variables
    )
    if records:
        stored.write_sidecar(folder, name, records)


def facts(folder):
    found = machine_facts.of(Archive(folder), "box")
    return dict(found.listed), found.flags


def device_audit(framework, threads, cpus):
    detail = {"device": "x", "threads": threads, "cpus": cpus}
    return {"record": "audit", "benchmark": CHAIN["name"], "params": [repr(framework)], "audit": "device",
            "outcome": "ok", "detail": detail}  # fmt: skip


INVENTORY = {
    "record": "environment",
    "accelerator": "cuda12",
    "devices": ["NVIDIA H200"],
    "driver": "580.1",
    "cpu_flags": ["fpu", "avx2", "amx_bf16"],
}


def test_records_of_the_rows_are_told(tmp_path):
    telemetry = {"record": "telemetry", "before": {"sm_clock": 1500}, "after": {"sm_clock": 1980}, "disturbed": []}
    write(
        tmp_path,
        records=[INVENTORY, device_audit("torch", 8, [0, 1]), device_audit("jax", 2, [0, 1]), telemetry],
    )
    listed, flags = facts(tmp_path)
    assert listed == {
        "arch": "x86_64",
        "cpu": "some CPU",
        "num_cpu": "2",
        "os": "Linux 6",
        "ram": "8",
        "gpu": "NVIDIA H200",
        "driver": "580.1",
        "GPU clock while measuring": "1500 to 1980 MHz",
        "CPU flags for vectors and matrices": "amx_bf16, avx2",
        "threads": "jax 2 on 2 CPUs; torch 8 on 2 CPUs",
    }
    assert flags == ["amx_bf16", "avx2", "fpu"]


def test_results_without_the_records_say_so(tmp_path):
    write(tmp_path, machine={"machine": "box"})
    listed, flags = facts(tmp_path)
    assert set(listed.values()) == {machine_facts.NOT_RECORDED}
    assert set(machine_facts.ASVS) | {"gpu", "driver", "threads"} < set(listed)
    assert flags == []


def test_machine_that_measured_on_its_cpu_only_has_no_gpu(tmp_path):
    write(tmp_path, accelerator="cpu", records=[{**INVENTORY, "accelerator": "cpu", "devices": ["cpu"]}])
    listed, _ = facts(tmp_path)
    assert listed["gpu"] == "not measured on"
    assert "driver" not in listed


def test_newest_inventory_of_the_machine_counts(tmp_path):
    later = {**INVENTORY, "time": "2031-01-01T00:00:00.000+00:00", "cpu_flags": ["sse2"]}
    write(tmp_path, records=[later])
    _, torch = stored.write_row(tmp_path, {"torch": "2.12.1"}, [(CHAIN, [stored.NAN, stored.NAN])])
    stored.write_sidecar(tmp_path, torch, [INVENTORY])
    listed, flags = facts(tmp_path)
    assert (listed["CPU flags for vectors and matrices"], flags) == ("none", ["sse2"])


@pytest.mark.parametrize(
    "record",
    [
        {**INVENTORY, "cpu_flags": "avx2", "devices": "H200", "driver": None},
        {**INVENTORY, "cpu_flags": None, "devices": None, "driver": {}},
        {**device_audit("jax", "two", None)},
        {**device_audit("jax", None, 3)},
    ],
)
def test_malformed_records_say_nothing(tmp_path, record):
    write(tmp_path, records=[record])
    listed, flags = facts(tmp_path)
    assert {listed[name] for name in ("gpu", "driver", "threads")} == {machine_facts.NOT_RECORDED}
    assert flags == []


def test_method_page_shows_them(tmp_path):
    write(tmp_path / "results", records=[INVENTORY, device_audit("jax", 2, [0, 1])])
    html = tmp_path / "html"
    html.mkdir()
    (html / "index.html").write_text("")
    conf = types.SimpleNamespace(html_dir=str(html), project="p", regressions_thresholds={})
    pages.write(conf, Archive(tmp_path / "results"), {})
    text = (html / "method.html").read_text()
    assert "<dt>CPU flags for vectors and matrices</dt><dd>amx_bf16, avx2</dd>" in text
    assert "<dt>threads</dt><dd>jax 2 on 2 CPUs</dd>" in text
    assert "All 3 CPU flags</summary><p>amx_bf16 avx2 fpu</p>" in text


def test_machine_json_that_is_none_is_passed_over(tmp_path):
    write(tmp_path)
    (tmp_path / "box" / "machine.json").write_text(json.dumps(["box"]))
    listed, _ = facts(tmp_path)
    assert listed["cpu"] == machine_facts.NOT_RECORDED
