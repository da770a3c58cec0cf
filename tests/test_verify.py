"""What is refused as a row, and what an interpreter says of itself."""

import os
import sys

import pytest
from asv.util import UserError

from env_matrix import verify
from env_matrix.releases import parse


def found(framework="torch", version="2.8.0", cuda_major=None, sees_gpu=False, **more):
    facts = {"version": version, "cuda_major": cuda_major, "sees_gpu": sees_gpu, "devices": [], **more}
    return {"python": "3.11.7", "packages": {}, "frameworks": {framework: facts}}


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ("torch==2.8.0", "2.8.0"),
        # A local tag says how it was built, not what it is …
        ("torch==2.8.0", "2.8.0+cpu"),
        ("torch==2.8", "2.8.0+cu128"),
        # … unless the row names it.
        ("torch==2.14.1+cu130", "2.14.1+cu130"),
    ],
)
def test_right_versions(release, version):
    assert verify.refuse(found(version=version), parse(release), "cpu", None) is None


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ("torch==2.8.0", "2.8.1"),
        ("torch==2.8.0", "2.8.0rc1"),
        ("torch==2.14.1+cu130", "2.14.1+cu126"),
        ("torch==2.14.1+cu130", "2.14.1"),
    ],
)
def test_wrong_versions(release, version):
    said = verify.refuse(found(version=version), parse(release), "cpu", None)
    assert said == f"the row says {parse(release)}, but torch {version} is installed"


@pytest.mark.parametrize("version", ["0.9.0", "0.9.0.2", "0.9.1"])
def test_four_part_versions_are_taken_to_the_last_part(version):
    said = verify.refuse(found("jax", version, jaxlib="0.9.0.1"), parse("jax==0.9.0.1"), "cpu", "0.9.0.1")
    assert said == f"the row says jax 0.9.0.1, but jax {version} is installed"
    assert verify.refuse(found("jax", "0.9.0.1", jaxlib="0.9.0.1"), parse("jax==0.9.0.1"), "cpu", "0.9.0.1") is None


def test_jax_and_jaxlib_belong_together():
    row = parse("jax==0.4.24")
    assert verify.refuse(found("jax", "0.4.24", jaxlib="0.4.24"), row, "cpu", "0.4.24") is None
    said = verify.refuse(found("jax", "0.4.24", jaxlib="0.4.23"), row, "cpu", "0.4.24")
    assert said == "jax 0.4.24 belongs with jaxlib 0.4.24, but jaxlib 0.4.23 is installed"
    # A swap of jaxlib itself.
    assert verify.refuse(found("jax", "0.4.24", jaxlib="0.4.23"), row, "cpu", None) is None


@pytest.mark.parametrize(
    ("accelerator", "cuda_major", "sees_gpu", "said"),
    [
        ("cpu", 12, True, None),
        ("cpu", None, False, None),
        ("cuda12", 12, True, None),
        ("cuda13", 13, True, None),
        (
            "cuda12",
            12,
            False,
            "cuda12 was asked for, but torch 2.8.0 sees no GPU; for the CPU set BENCH_ACCELERATOR=cpu",
        ),
        ("cuda12", None, False, "cuda12 was asked for, but torch 2.8.0 is built for the CPU"),
        (
            "cuda12",
            13,
            True,
            "cuda12 was asked for, but torch 2.8.0 is built for CUDA 13; for it set BENCH_ACCELERATOR=cuda13",
        ),
    ],
)
def test_devices(accelerator, cuda_major, sees_gpu, said):
    given = found(cuda_major=cuda_major, sees_gpu=sees_gpu)
    assert verify.refuse(given, parse("torch==2.8.0"), accelerator, None) == said


def test_a_framework_that_cannot_be_imported():
    given = {"frameworks": {"jax": {"error": "ImportError: libcublas.so.12"}}}
    said = verify.refuse(given, parse("jax==0.9.2"), "cpu", None)
    assert said == "jax cannot be imported: ImportError: libcublas.so.12"


def test_our_own_modules_do_not_shadow_the_rows(tmp_path):
    # env_matrix/lock.py, index.py and others lie beside the script that is run there.
    (tmp_path / "jax.py").write_text(
        "import importlib.util\n"
        "assert importlib.util.find_spec('lock') is None\n"
        "__version__ = '1.0'\n"
        "class Device: platform, device_kind = 'cpu', 'cpu'\n"
        "def devices(): return [Device()]\n"
    )
    (tmp_path / "jaxlib.py").write_text("__version__ = '1.0'")
    said = verify.inspect(sys.executable, ["jax"], {**os.environ, "PYTHONPATH": str(tmp_path)})
    assert said["frameworks"]["jax"] == {
        "cuda_major": None,
        "devices": ["cpu"],
        "sees_gpu": False,
        "jaxlib": "1.0",
        "version": "1.0",
    }
    assert said["packages"]["asv"] == "0.6.6"


@pytest.mark.parametrize("version", ["'unknown'", "None", "7"])
def test_a_framework_whose_version_is_none_is_an_error_of_its_own(tmp_path, version):
    """A build from source may say anything."""
    (tmp_path / "jax.py").write_text(
        f"__version__ = {version}\n"
        "class Device: platform, device_kind = 'cpu', 'cpu'\n"
        "def devices(): return [Device()]\n"
    )
    (tmp_path / "jaxlib.py").write_text("__version__ = '1.0'")
    (tmp_path / "torch.py").write_text("raise ImportError('no')")
    found = verify.inspect(sys.executable, ["torch", "jax"], {**os.environ, "PYTHONPATH": str(tmp_path)})
    assert found["frameworks"]["jax"] == {"error": f"it says that its version is {version}"}
    assert found["frameworks"]["torch"] == {"error": "ImportError: no"}


def test_output_of_a_framework_does_not_matter(tmp_path):
    (tmp_path / "torch.py").write_text("print('{\"python\": 1}')\nraise ImportError('no\\nlibrary')")
    said = verify.inspect(sys.executable, ["torch"], {**os.environ, "PYTHONPATH": str(tmp_path)})
    assert said["frameworks"] == {"torch": {"error": "ImportError: no"}}


def test_an_interpreter_that_is_not_there():
    with pytest.raises(UserError, match=r"^/nowhere/python cannot be run: No such file or directory; name a working"):
        verify.inspect("/nowhere/python", ["torch"], {})
