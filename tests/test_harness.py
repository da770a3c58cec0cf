import importlib.metadata

import pytest
from packaging.requirements import Requirement

from env_matrix import harness
from env_matrix.accelerator import ACCELERATORS


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_everything_is_pinned_to_one_version(accelerator):
    found = harness.load(accelerator)
    for text in (*found.required, *found.optional, *found.pins):
        (specifier,) = Requirement(text).specifier
        assert specifier.operator == "=="
        assert "*" not in specifier.version
    assert bool(found.optional) == (accelerator != "cpu")


def test_rows_are_measured_by_the_runner_of_our_tools():
    assert f"asv_runner=={importlib.metadata.version('asv_runner')}" in harness.load("cpu").required
    assert f"nvidia-ml-py=={importlib.metadata.version('nvidia-ml-py')}" in harness.load("cuda12").optional


def test_what_a_row_pins_itself_is_left_alone():
    found = harness.Harness(("asv_runner==0.3.2", "setuptools==80.9.0"), ("cupti-python==12.8.0",), ("a_b==1",))
    kept = found.without({"setuptools", "a-b", "numpy"})
    assert kept == harness.Harness(("asv_runner==0.3.2",), ("cupti-python==12.8.0",), ())


def test_a_folder_with_the_runner_and_nothing_else(tmp_path):
    found = harness.runner_folder(tmp_path / "harness")
    assert [path.name for path in found.iterdir()] == ["asv_runner"]
    assert (found / "asv_runner" / "discovery.py").exists()
    assert harness.runner_folder(tmp_path / "harness") == found
