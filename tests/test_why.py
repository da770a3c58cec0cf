"""Which components differ between two rows."""

import datetime

import pytest
from asv.util import UserError
from packaging.specifiers import SpecifierSet

from env_matrix import constraints, why
from env_matrix.constraints import Constraints
from env_matrix.releases import parse


def made(release, *pins, python=">=3.10", accelerators=("cpu", "cuda12")):
    date = datetime.date(2026, 1, 1)
    return Constraints(parse(release), date, date, SpecifierSet(python), accelerators, pins)


def test_a_component_keeps_its_name_across_cuda_majors():
    old = made("torch==2.10.0", "nvidia-cudnn-cu12==9.10.2.21", "nvidia-cublas-cu12==12.8.4.1", "triton==3.6.0")
    new = made(
        *("torch==2.11.0", "nvidia-cudnn-cu13==9.19.0.56", "nvidia-cublas==13.1.0.3", "triton==3.6.0"),
        *("cuda-toolkit==13.0.2",),
    )
    found = {item.component: (item.old, item.new, item.change) for item in _between(old, new, "cuda12", "cuda13")}
    assert found == {
        "cuda-toolkit": (None, "13.0.2", "added"),
        "cuBLAS": ("12.8.4.1", "13.1.0.3", "changed"),
        "cuDNN": ("9.10.2.21", "9.19.0.56", "changed"),
        "triton": ("3.6.0", "3.6.0", "same"),
    }


def _between(old, new, *builds):
    return why.differences(old, new, "3.12", builds)


def test_a_jax_row_is_looked_at_for_one_build():
    pins = ("jax==0.9.2", "jax-cuda12-pjrt==0.9.2", "jax-cuda13-pjrt==0.9.2", "nvidia-cublas==13.3.0.5")
    found = made("jax==0.9.2", *pins, "nvidia-cublas-cu12==12.9.1.4", "cuda-bindings==12.9.4").pinned("3.12")
    assert why.components(found, "cuda12") == {
        "jax": "0.9.2",
        "jax-pjrt": "0.9.2",
        "cuBLAS": "12.9.1.4",
        "cuda-bindings": "12.9.4",
    }
    assert why.components(found, "cuda13") == {"jax": "0.9.2", "jax-pjrt": "0.9.2", "cuBLAS": "13.3.0.5"}
    assert why.components(found, "cpu") == {"jax": "0.9.2"}


def test_the_framework_comes_first():
    old, new = made("torch==2.9.1", "torch==2.9.1", "filelock==1"), made("torch==2.10.0", "torch==2.10.0")
    assert [item.component for item in _between(old, new, "cuda12", "cuda12")] == ["torch", "filelock"]
    assert [item.change for item in _between(old, new, "cuda12", "cuda12")] == ["changed", "removed"]


def test_the_build_is_the_lowest_cuda_or_the_wanted_one():
    found = made("jax==0.9.2", accelerators=("cpu", "cuda12", "cuda13"))
    assert why.choose_accelerator(found, None) == "cuda12"
    assert why.choose_accelerator(found, "cuda13") == "cuda13"
    with pytest.raises(UserError, match=r"jax 0\.7\.1 has no build for cuda13, only for cpu, cuda12"):
        why.choose_accelerator(made("jax==0.7.1"), "cuda13")


def test_the_python_holds_both_rows():
    old, new = made("jax==0.10.2"), made("jax==0.11.2", python=">=3.12")
    assert why.choose_python(old, new, None, ["3.11", "3.12"]) == "3.12"
    with pytest.raises(UserError, match=r"jax 0\.11\.2 does not install on Python 3\.11"):
        why.choose_python(old, new, "3.11", ["3.11"])
    with pytest.raises(UserError, match="no Python holds both"):
        why.choose_python(made("jax==0.4.24", python="<3.13"), made("jax==0.13", python=">=3.13"), None, ["3.12"])


def test_two_committed_rows():
    old, new = (constraints.load(parse(text)) for text in ("torch==2.9.1", "torch==2.10.0"))
    found = {item.component: item for item in why.differences(old, new, "3.11", ("cuda12", "cuda12"))}
    assert (found["triton"].old, found["triton"].new) == ("3.5.1", "3.6.0")
    assert found["cuDNN"].change == "same"
