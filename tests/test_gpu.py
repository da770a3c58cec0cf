"""The suite's self-test on a GPU, in the interpreters that hold the frameworks.

`BENCH_GPU_PYTHON` names them (separated by colons); without it, nothing can be checked.
"""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PYTHONS = [each for each in os.environ.get("BENCH_GPU_PYTHON", "").split(os.pathsep) if each]


@pytest.mark.gpu
@pytest.mark.skipif(not PYTHONS, reason="BENCH_GPU_PYTHON names no interpreter with torch or jax on a GPU")
@pytest.mark.parametrize("framework", ["torch", "jax"])
@pytest.mark.parametrize("python", PYTHONS or ["python"])
def test_every_check_passes(python, framework):
    command = [python, ROOT / "tools" / "gpu_selftest.py", framework]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
