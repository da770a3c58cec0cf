"""`make check-workload`: one file's checks and audits, and README's own workload through it."""

import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from asv.util import UserError

ROOT = pathlib.Path(__file__).parent.parent


def load_tool():
    spec = importlib.util.spec_from_file_location("check_workload", ROOT / "tools" / "check_workload.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_workload"] = module
    spec.loader.exec_module(module)
    return module


TOOL = load_tool()


def test_a_file_of_the_suite_is_a_module():
    assert TOOL.module_of(str(ROOT / "benchmarks" / "normalise.py")) == "normalise"


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ("", "say which file: make check-workload FILE="),
        (str(ROOT / "bumps" / "cli.py"), "no Python file directly in benchmarks/"),
        (str(ROOT / "benchmarks" / "audits" / "work.py"), "no Python file directly in benchmarks/"),
        (str(ROOT / "benchmarks" / "core.txt"), "no Python file directly in benchmarks/"),
        (str(ROOT / "benchmarks" / "nowhere.py"), "there is no "),
        (str(ROOT / "benchmarks"), "no Python file directly in benchmarks/"),
    ],
)
def test_any_other_file_is_refused_in_one_line(file, problem):
    with pytest.raises(UserError, match=problem):
        TOOL.module_of(file)


def environment(folder, name, content, python=True):
    (folder / name / "bin").mkdir(parents=True)
    (folder / name / "asv-env-info.json").write_text(content if isinstance(content, str) else json.dumps(content))
    if python:
        (folder / name / "bin" / "python").touch()


def info(**requirements):
    return {"requirements": requirements, "build_env_vars": {"BENCH_ACCELERATOR": "cpu"}, "python": "3.11"}


def test_rows_that_are_built_are_found_by_name_and_others_left_out(tmp_path):
    environment(tmp_path, "b", info(torch="2.13.0", jax=None))
    environment(tmp_path, "a", {**info(jax="0.10.2")})
    environment(tmp_path, "half-built", info(jax="0.9.2"), python=False)
    environment(tmp_path, "damaged", '{"requirements": ')
    environment(tmp_path, "strange", "[1]")
    environment(tmp_path, "other", {"requirements": {}, "python": "3.11"})
    found = TOOL.built_rows(tmp_path)
    assert [each.name for each in found] == ["jax 0.10.2 (Python 3.11, cpu)", "torch 2.13.0 (Python 3.11, cpu)"]
    assert found[0].python == tmp_path / "a" / "bin" / "python"
    assert found[0].variables["BENCH_ACCELERATOR"] == "cpu"
    assert found[0].variables["JAX_PLATFORMS"] == "cpu"


def test_without_rows_or_with_no_interpreter_one_line_says_what_to_do(tmp_path):
    with pytest.raises(UserError, match="no row is built yet"):
        TOOL.interpreters(None, tmp_path / "env")
    with pytest.raises(UserError, match="is no executable"):
        TOOL.interpreters(str(tmp_path), tmp_path)
    assert TOOL.interpreters("sh", tmp_path)[0].python.name == "sh"


def run_tool(*arguments, folder=ROOT, **options):
    command = [sys.executable, str(folder / "tools" / "check_workload.py"), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, **options)


def test_an_interpreter_without_a_framework_runs_nothing_and_a_wrong_file_is_wrong_usage():
    nothing = run_tool("benchmarks/normalise.py", "--python", sys.executable)
    assert (nothing.returncode, nothing.stderr) == (3, "")
    assert nothing.stdout.splitlines()[-1] == "0 ok, 0 flagged, 0 failed, 0 skipped"
    wrong = run_tool("README.md")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("check_workload: README.md is no Python file directly in benchmarks/")
    assert len(wrong.stderr.splitlines()) == 1


def test_a_file_that_cannot_be_imported_or_holds_no_workload_fails(tmp_path):
    folder = copied(tmp_path)
    for name, source, problem in (
        ("broken", "import nowhere\n", "FAILED   broken: ModuleNotFoundError: No module named 'nowhere'"),
        ("plain", "LENGTH = 10\n", "FAILED   plain: defines no workload and no probe"),
        ("half", HALF, "FAILED   Half: lacks bytes_moved, flops, inputs, jax, numpy, torch"),
    ):
        (folder / "benchmarks" / f"{name}.py").write_text(source)
        ran = run_tool(f"benchmarks/{name}.py", "--python", sys.executable, folder=folder)
        assert problem in ran.stdout
        assert ran.returncode == 1


HALF = """
from . import workload


class Half(workload.Workload):
    sizes = {"small": workload.Size("overhead", n=8)}
"""


def copied(tmp_path):
    """Return a copy of what the tool needs of the project."""
    folder = tmp_path / "project"
    for name in ("benchmarks", "env_matrix", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_make_hands_file_and_interpreter_to_the_tool():
    said = subprocess.run(
        ["make", "-n", "check-workload", "FILE=benchmarks/x.py", "PYTHON=/usr/bin/python3"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "tools/check_workload.py 'benchmarks/x.py' --python '/usr/bin/python3'" in said


def readme_workload():
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return block


def test_readmes_workload_has_at_most_25_lines():
    assert len(readme_workload().splitlines()) <= 25


@pytest.mark.end_to_end
def test_readmes_workload_passes_in_a_row_and_a_wrong_one_is_named(tmp_path, built_row):
    folder = copied(tmp_path)
    (folder / "env").symlink_to(built_row.folder / "env")
    (folder / "benchmarks" / "softplus.py").write_text(readme_workload())
    ran = run_tool("benchmarks/softplus.py", folder=folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("== jax 0.10.2 (Python ")
    for mode in ("eager", "compiled"):
        for pass_ in ("forward", "grad"):
            for precision in ("bf16", "fp32"):
                step = f"Softplus jax {mode} {pass_} {precision} small"
                assert any(line.startswith(f"ok       {step}, precision: error ") for line in lines), step
    audits = {line.split(", ")[1].split(":")[0] for line in lines if ", " in line and "Softplus" in line}
    assert audits == {"compilation", "device", "constants", "precision", "ceiling", "overhead"}

    wrong = readme_workload().replace("jax.nn.softplus(x)", "jax.nn.softplus(2 * x)")
    assert wrong != readme_workload()
    (folder / "benchmarks" / "softplus.py").write_text(wrong)
    ran = run_tool("benchmarks/softplus.py", "--python", built_row.python, folder=folder)
    assert ran.returncode == 1
    assert "FAILED   Softplus jax compiled grad fp32 small: Disagreement: relative error" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "0 ok, 0 flagged, 8 failed, 0 skipped"
