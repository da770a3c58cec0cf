"""Pre-flight: what is judged how, and what is found on a machine made up for it."""

import datetime
import json
import os
import sys
import types

import pytest
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.version import Version

from env_matrix import cli, doctor, index, machine_facts
from env_matrix.constraints import Constraints
from env_matrix.doctor import FAILURE, OK, WARNING, Gpu, Python
from env_matrix.releases import parse


def row(text, requires=">=3.10", accelerators=("cpu", "cuda12"), pins=()):
    date = datetime.date(2026, 1, 1)
    release = parse(text)
    return release, Constraints(release, date, date, SpecifierSet(requires), tuple(accelerators), tuple(pins))


OLD_TORCH = row("torch==2.10.0")
NEW_TORCH = row("torch==2.11.0", accelerators=("cpu", "cuda13"))
JAX = row("jax==0.9.2", accelerators=("cpu", "cuda12", "cuda13"))
NEW_JAX = row("jax==0.11.2", requires=">=3.12", accelerators=("cpu", "cuda12", "cuda13"))


def statuses(checks):
    return {check.name: check.status for check in checks}


def test_a_shim_that_does_not_work_is_a_warning():
    check = doctor.judge_python(Python("3.12", "/shims/python3.12", "command not found"), [JAX], running=False)
    assert check.status == WARNING
    assert "/shims/python3.12 does not run: command not found" in check.found
    assert "PATH" in check.advice


def test_the_running_python_says_which_rows_it_leaves_out():
    check = doctor.judge_python(Python("3.11", "/usr/bin/python3", None), [JAX, NEW_JAX], running=True)
    assert check.status == OK
    assert "holds 1 of 2 rows (left out: jax 0.11.2)" in check.found
    absent = doctor.judge_python(Python("3.12", None, None), [JAX, NEW_JAX], running=False)
    assert (absent.status, absent.found) == (OK, "not found; it would hold 2 of 2 rows")


def test_the_driver_against_each_rows_cuda():
    rows = [OLD_TORCH, NEW_TORCH, JAX]
    assert statuses(doctor.judge_driver(None, "cpu", rows)) == {"driver": OK}
    assert statuses(doctor.judge_driver(None, "cuda12", rows)) == {"driver": FAILURE}
    assert statuses(doctor.judge_driver("580.65.06", "cpu", rows)) == {"driver": OK}
    # torch 2.11.0 is a CUDA 13 build whatever was asked for.
    old = doctor.judge_driver("535.104.05", "cuda12", rows)
    assert statuses(old) == {"driver for cuda12": OK, "driver for cuda13": FAILURE}
    assert old[1].found == "535.104.05 is too old for torch 2.11.0"
    assert statuses(doctor.judge_driver("470.57.02", "cuda12", [JAX])) == {"driver for cuda12": FAILURE}
    new = doctor.judge_driver("580.65.06", "cuda12", rows)
    assert statuses(new) == {"driver for cuda12": OK, "driver for cuda13": WARNING}
    assert new[1].advice == "to measure them on the GPU: BENCH_ACCELERATOR=cuda13"
    thirteen = doctor.judge_driver("580.65.06", "cuda13", [row("jax==0.7.1"), NEW_TORCH])
    assert statuses(thirteen) == {"driver for cuda13": OK, "cuda13 builds": WARNING}


def test_a_gpu_that_others_use_is_a_warning():
    checks = doctor.judge_gpus([Gpu("H200", (), 0, 2**30), Gpu("H200", (77,), 91, None)])
    assert [check.status for check in checks] == [OK, WARNING]
    assert checks[0].found == "H200: idle, 1.0 GiB in use"
    assert checks[1].found == "H200: 1 processes (77), 91 % busy"


def test_the_disk_needed_counts_a_shared_download_once():
    shared = {"numpy.whl": 10}
    rows = [({**shared, "jax.whl": 90}, "cpu"), ({**shared, "torch.whl": 990}, "cuda12")]
    assert doctor.disk_needed(rows) == round(100 * 4.6 + 1000 * 1.9 + 10 + 90 + 990)


def test_the_disk_against_what_is_needed():
    missing = [JAX[0]]
    assert (
        doctor.judge_disk(
            None,
            10**9,
            [],
        ).status
        == OK
    )
    assert doctor.judge_disk(None, 10**9, missing).status == WARNING
    assert doctor.judge_disk(10**9, 2 * 10**9, missing).status == OK
    full = doctor.judge_disk(3 * 10**9, 2 * 10**9, missing)
    assert (full.status, full.found) == (FAILURE, "2 GB free, but 1 rows to build need about 3.0 GB")


def test_the_index_is_in_the_way_only_of_rows_to_build():
    assert doctor.judge_index(None, []).status == OK
    assert doctor.judge_index("does not answer", []).status == WARNING
    assert doctor.judge_index("does not answer", [JAX[0]]).status == FAILURE


def test_missing_constraints_name_their_command():
    assert doctor.judge_constraints([]).status == OK
    assert doctor.judge_constraints([JAX[0]]).advice == "python -m env_matrix lock jax==0.9.2"


def test_what_disturbs_a_cpu():
    assert doctor.judge_governors(set()).status == OK
    assert doctor.judge_governors({"performance"}).status == OK
    assert doctor.judge_governors({"performance", "powersave"}).status == WARNING
    assert [doctor.judge_smt(value).status for value in (None, False, True)] == [OK, OK, WARNING]
    assert doctor.judge_load(0.25, 2).status == OK
    assert doctor.judge_load(0.5, 2).status == WARNING
    assert doctor.judge_load(3.0, 64).status == OK
    assert doctor.judge_affinity(2, 2, None).status == OK
    assert doctor.judge_affinity(2, 8, 2.0).found == "2 of 8 cores, a quota of 2 cores"
    assert doctor.judge_affinity(8, 8, 1.5).status == WARNING
    assert doctor.judge_compiler(None).status == WARNING


def test_shadowing_cuda_libraries_are_found(tmp_path):
    (tmp_path / "libcudnn.so.9").touch()
    (tmp_path / "libcudnn_graph.so.9").touch()
    (tmp_path / "libcublas.so.12").touch()
    (tmp_path / "libm.so.6").touch()
    value = f"/nowhere::{tmp_path}"
    found = machine_facts.shadowing_libraries(value)
    assert [os.path.basename(path) for path in found] == ["libcublas.so.12", "libcudnn.so.9"]
    assert doctor.judge_library_path(value, found).status == WARNING
    assert doctor.judge_library_path("/nowhere", []).status == OK
    assert doctor.judge_library_path(None, machine_facts.shadowing_libraries(None)).status == OK


def test_the_best_wheel_is_the_one_an_installer_takes():
    def file(name, *tags):
        return index.File(name, Version("1.0"), frozenset(Tag(*tag) for tag in tags), None, None, False, 1)

    linux, pure, other = (
        file("a-linux", ("cp311", "cp311", "manylinux")),
        file("a-pure", ("py3", "none", "any")),
        file("a-windows", ("cp311", "cp311", "win_amd64")),
    )
    tags = [Tag("cp311", "cp311", "manylinux"), Tag("py3", "none", "any")]
    assert doctor.wheel_for([pure, linux, other], "1.0", tags) is linux
    assert doctor.wheel_for([pure, other], "1.0", tags) is pure
    assert doctor.wheel_for([other], "1.0", tags) is None
    assert doctor.wheel_for([pure], "1.1", tags) is None


def script(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_pythons_on_path_are_started(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert machine_facts.find_python(here) == Python(here, sys.executable, None)
    assert machine_facts.find_python("3.99") == Python("3.99", None, None)
    script(tmp_path, "python3.98", "echo 'shim: no such version' >&2; exit 127")
    assert machine_facts.find_python("3.98").problem == "shim: no such version"
    script(tmp_path, "python3.94", "printf 'pyenv: \\351chec\\n' >&2; exit 127")
    assert machine_facts.find_python("3.94").problem == "pyenv: \ufffdchec"
    script(tmp_path, "python3.97", "echo 3.96")
    assert machine_facts.find_python("3.97").problem == "it is Python 3.96"
    script(tmp_path, "python3.96", "echo 3.96")
    assert machine_facts.find_python("3.96").problem is None
    monkeypatch.setattr(machine_facts, "PYTHON_TIMEOUT_SECONDS", 0.2)
    script(tmp_path, "python3.95", "exec sleep 5")
    assert machine_facts.find_python("3.95").problem == "no answer in 0.2 s"


def test_the_compiler_is_the_one_that_a_row_finds(tmp_path, monkeypatch):
    """A CXX that is no single command is passed over for another, as benchmarks/frameworks.py does."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "ccache g++")
    assert machine_facts.compiler() is None
    script(tmp_path, "clang++", "exit 0")
    assert machine_facts.compiler() == str(tmp_path / "clang++")
    script(tmp_path, "my-compiler", "exit 0")
    monkeypatch.setenv("CXX", "my-compiler")
    assert machine_facts.compiler() == str(tmp_path / "my-compiler")


def test_built_rows_are_those_of_this_python_and_build(tmp_path):
    def environment(name, python="3.11", build="cpu", **more):
        (tmp_path / name).mkdir()
        content = {
            "tool_name": "pinned",
            "python": python,
            "requirements": {"jax": name},
            "build_env_vars": {"BENCH_ACCELERATOR": build, **more},
        }
        (tmp_path / name / "asv-env-info.json").write_text(json.dumps(content))

    environment("0.9.2")
    environment("0.8.3", python="3.12")
    environment("0.7.1", build="cuda12")
    environment("0.6.2", BENCH_OVERRIDE="numpy==2.0")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "asv-env-info.json").write_text("{")
    for name, content in (("list", "[]"), ("null", "null"), ("deep", "[" * 100_000), ("names", '{"requirements": []}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "asv-env-info.json").write_text(content)
    assert machine_facts.built_rows(tmp_path, "3.11", "cpu") == {("jax", "0.9.2")}
    assert machine_facts.built_rows(tmp_path / "absent", "3.11", "cpu") == set()


def test_the_command_says_each_finding_and_its_status(monkeypatch, capsys):
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("BENCH_ACCELERATOR", "cuda13")
    monkeypatch.setattr("env_matrix.accelerator.driver_version", lambda: None)
    monkeypatch.setattr(machine_facts, "built_rows", lambda *arguments: set())
    assert cli.main(["doctor", "--json", "jax==0.9.2"]) == 1
    found = {item["check"]: item for item in json.loads(capsys.readouterr().out)}
    assert found["driver"]["status"] == FAILURE
    assert found["package index"]["status"] == FAILURE
    assert found["disk"]["status"] == WARNING
    assert found["constraints"]["status"] == OK
    assert cli.main(["doctor", "jax==0.9.2"]) == 1
    assert "BENCH_ACCELERATOR=cuda13, but there is no NVIDIA driver" in capsys.readouterr().out


def test_a_gpu_that_answers_some_questions_only():
    class NVMLError(Exception):
        pass

    def refuse(handle):
        raise NVMLError

    process = types.SimpleNamespace
    nvml = types.SimpleNamespace(
        NVMLError=NVMLError,
        nvmlDeviceGetName=lambda handle: b"NVIDIA H200",
        nvmlDeviceGetUtilizationRates=refuse,
        nvmlDeviceGetMemoryInfo=lambda handle: types.SimpleNamespace(used=5),
        nvmlDeviceGetComputeRunningProcesses=lambda handle: [process(pid=7), process(pid=os.getpid())],
    )
    assert machine_facts._gpu(nvml, None) == Gpu("NVIDIA H200", (7,), None, 5)


@pytest.mark.parametrize("content", ["max 100000\n", ""])
def test_no_quota(content, monkeypatch, tmp_path):
    (tmp_path / "cpu.max").write_text(content)
    monkeypatch.setattr(machine_facts, "CPU_QUOTA", tmp_path / "cpu.max")
    assert machine_facts.cpu_quota() is None


def test_a_quota_is_in_cores(monkeypatch, tmp_path):
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    monkeypatch.setattr(machine_facts, "CPU_QUOTA", tmp_path / "cpu.max")
    assert machine_facts.cpu_quota() == 1.5
