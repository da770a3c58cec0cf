"""Real rows: built, used, broken and killed. They need a package index."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from row_project import MACHINE, PYTHON, RELEASE, ROW, RowProject

pytestmark = pytest.mark.end_to_end

PLAIN = r"time_it\('plain'\)"
UNREACHABLE = {
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "PIP_EXTRA_INDEX_URL": "",
    "PIP_FIND_LINKS": "",
    "PIP_RETRIES": "0",
    "PIP_CONFIG_FILE": os.devnull,
}


@pytest.fixture
def copy(built_row, tmp_path):
    """A copy of the built row that a test may break."""
    return built_row.copy_of(tmp_path / "project")


def values(project, row=ROW):
    (path,) = project.result_files(row)
    content = json.loads(path.read_text())
    return content["results"]["suite.Steps.time_it"][0]


def test_a_row_is_what_it_claims(built_row):
    found = built_row.record("environment")
    assert (found["framework"], found["release"], found["version"]) == ("jax", RELEASE, RELEASE)
    assert found["packages"]["jaxlib"] == RELEASE
    assert found["packages"]["asv_runner"] == "0.3.2"
    assert (found["accelerator"], found["devices"], found["mismatches"]) == ("cpu", ["cpu"], [])
    said = subprocess.run([built_row.python, "-m", "pip", "list", "--format=json"], capture_output=True, text=True)
    assert {each["name"]: each["version"] for each in json.loads(said.stdout)} == found["packages"]


def test_failures_that_asv_keeps_nothing_of(copy):
    run = copy.asv("run", "HEAD^!", "--record-samples")
    assert run.returncode == 2, run.stdout
    assert "building" not in run.stdout
    measured = values(copy)
    assert measured[0] > 0
    assert measured[1:] == [None, None, None]
    status = {record["params"][0]: record for record in copy.records() if record["record"] == "status"}
    assert status["'crash'"]["status"] == "failed"
    assert f"signal {int(signal.SIGSEGV)}" in status["'crash'"]["reason"]
    assert (status["'hang'"]["status"], status["'hang'"]["reason"]) == ("timeout", "timed out")
    assert status["'leave'"]["reason"] == "the process ended with status 3: leaving"
    assert [record["benchmark"] for record in status.values()] == ["suite.Steps.time_it"] * 3


def test_a_control_shares_the_environment_and_has_its_own_inventory(copy):
    copy.configure(env_nobuild={"REPLICA": [None, "control"]})
    run = copy.asv("run", "HEAD^!", "--bench", PLAIN)
    assert run.returncode == 0, run.stdout
    assert len(copy.row_folders) == 1
    assert copy.record("environment", f"{ROW}-REPLICAcontrol")["packages"]["jax"] == RELEASE
    assert len([record for record in copy.records() if record["record"] == "environment"]) == 1


@pytest.mark.parametrize("parallel", [(), ("--parallel", "2")])
def test_rows_that_cannot_be_built_stop_no_other_and_overwrite_nothing(copy, parallel):
    assert copy.asv("run", "HEAD^!", "--bench", PLAIN).returncode == 0
    (earlier,) = copy.result_files()
    before = earlier.read_bytes()
    # A package that somebody installed by hand: the row is built anew, which fails without an index.
    subprocess.run([copy.python, "-m", "pip", "uninstall", "-q", "-y", "opt_einsum"], check=True)
    copy.configure((RELEASE, "0.10.99", "0.ten"))
    run = copy.asv("run", "HEAD^!", "--bench", PLAIN, *parallel, **UNREACHABLE)
    # No row is left: asv has nothing to discover benchmarks with.
    assert run.returncode == 1, run.stdout
    assert "Traceback" not in run.stdout
    assert f"jax {RELEASE} cannot be built: the package index does not answer (" in run.stdout
    assert "write it: python -m env_matrix lock jax==0.10.99" in run.stdout
    assert "'0.ten' in the matrix is no version of jax" in run.stdout
    assert earlier.read_bytes() == before

    run = copy.asv("run", "HEAD^!", "--bench", PLAIN, *parallel)
    assert run.returncode == 2, run.stdout
    assert "Traceback" not in run.stdout
    assert values(copy)[0] > 0
    unbuildable = f"pinned-py{PYTHON}-jax0.10.99-BENCH_ACCELERATORcpu"
    assert values(copy, f"{unbuildable}-unbuildable") is None
    assert "no constraints file" in copy.record("unbuildable", unbuildable)["reason"]
    assert copy.record("environment")["packages"]["opt_einsum"]


def test_nulls_of_a_row_go_when_it_is_built(copy):
    subprocess.run([copy.python, "-m", "pip", "uninstall", "-q", "-y", "opt_einsum"], check=True)
    nulls = copy.folder / "results" / MACHINE / f"01234567-{ROW}-unbuildable.json"
    nulls.write_text("{}")
    other = copy.folder / "results" / MACHINE / f"01234567-{ROW}2-unbuildable.json"
    other.write_text("{}")
    failed = copy.asv("setup", **UNREACHABLE)
    assert "cannot be built" in failed.stdout
    assert copy.record("unbuildable")["reason"].startswith("the package index does not answer")
    assert nulls.exists()
    assert copy.row_folders == []
    built = copy.asv("setup")
    assert "building jax" in built.stdout
    assert copy.records()[-1]["record"] == "environment"
    assert not nulls.exists()
    assert other.exists()


def test_a_killed_build_is_noticed_and_nobody_builds_beside_what_it_left_running(tmp_path):
    project = RowProject(tmp_path / "project")
    process = project.start("setup")
    deadline = time.monotonic() + 120
    while not list((project.folder / "env").glob("*/lib/python*/site-packages/numpy*")):
        assert time.monotonic() < deadline, "the build never got to installing"
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.02)
    process.kill()
    process.communicate()
    again = project.asv("setup")
    assert "is being built by another process; waiting for it" in again.stdout
    assert "building jax" in again.stdout
    found = project.record("environment")
    assert len([record for record in project.records() if record["record"] == "environment"]) == 1
    code = "import jax, scipy, json; print(jax.__version__)"
    assert subprocess.check_output([project.python, "-c", code], text=True).strip() == found["release"] == RELEASE


def test_a_component_swap_is_a_row_of_its_own(copy):
    copy.configure(env={"BENCH_OVERRIDE": [None, "scipy==1.13.1 ml_dtypes==0.5.3", "--index-url=http://x"]})
    run = copy.asv("run", "HEAD^!", "--bench", PLAIN)
    assert run.returncode == 2, run.stdout
    swapped = f"pinned-py{PYTHON}-jax{RELEASE}-BENCH_ACCELERATORcpu-BENCH_OVERRIDEscipy==1.13.1 ml_dtypes==0.5.3"
    found = copy.record("environment", swapped)
    assert found["override"] == "scipy==1.13.1 ml_dtypes==0.5.3"
    assert (found["packages"]["scipy"], found["packages"]["ml_dtypes"]) == ("1.13.1", "0.5.3")
    assert any("scipy" in line and "1.13.1" in line for line in found["mismatches"]), found["mismatches"]
    assert values(copy, swapped)[0] > 0
    assert copy.record("environment")["packages"]["ml_dtypes"] != "0.5.3"
    assert "'--index-url=http://x' overrides no component" in run.stdout


def without_runner(project, folder):
    """Return an interpreter that holds what the row holds, except asv_runner: as somebody else would have built it."""
    subprocess.run([sys.executable, "-m", "virtualenv", "-q", "--no-download", folder / "venv"], check=True)
    site = next((folder / "venv" / "lib").glob("python*/site-packages"))
    own = next((project.row_folders[0] / "lib").glob("python*/site-packages"))
    held = folder / "held"
    held.mkdir()
    for path in own.iterdir():
        if not path.name.startswith(("asv_runner", "pip", "_virtualenv", "__pycache__")):
            (held / path.name).symlink_to(path)
    (site / "held.pth").write_text(f"{held}\n")
    return folder / "venv" / "bin" / "python"


def test_an_interpreter_that_someone_else_built(copy, tmp_path):
    python = without_runner(copy, tmp_path)
    before = sorted(path for path in (tmp_path / "venv").rglob("*") if "__pycache__" not in path.parts)
    run = copy.asv(
        *("run", "HEAD^!", "--bench", PLAIN, "-E", f"installed:{python}", "-E", f"pinned:{PYTHON}"),
        *("--interleave-rounds", "-a", "rounds=2", "--record-samples"),
    )
    assert run.returncode == 0, run.stdout
    assert run.stdout.count("round 1/2") == run.stdout.count("round 2/2") == 1
    (path,) = (copy.folder / "results" / MACHINE).glob("????????-installed-*.json")
    row = path.stem.partition("-")[2]
    assert row.startswith(f"installed-py{PYTHON}-jax{RELEASE}-BENCH_ACCELERATORcpu-BENCH_INTERPRETERvenv-")
    content = json.loads(path.read_text())
    assert content["requirements"] == {"jax": RELEASE}
    result = dict(zip(content["result_columns"], content["results"]["suite.Steps.time_it"], strict=False))
    assert len(result["samples"][0]) == 4
    found = copy.record("environment", row)
    assert found["executable"] == str(python)
    assert "asv_runner" not in found["packages"]
    assert found["constraints"] is None
    assert sorted(path for path in (tmp_path / "venv").rglob("*") if "__pycache__" not in path.parts) == before
    assert values(copy)[0] > 0


def test_an_interpreter_that_cannot_measure_leaves_other_rows_alone(copy):
    run = copy.asv(
        *("run", "HEAD^!", "--bench", PLAIN, "-E", f"installed:{sys.executable}", "-E", "installed:/nowhere/python"),
        *("-E", f"pinned:{PYTHON}"),
    )
    assert run.returncode == 0, run.stdout
    assert "holds neither torch nor jax" in run.stdout
    assert "there is no interpreter /nowhere/python; give the path of a Python" in run.stdout
    assert "Traceback" not in run.stdout
    assert values(copy)[0] > 0
