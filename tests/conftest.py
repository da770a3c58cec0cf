"""What several test files share."""

import signal
import sys

import pytest
from row_project import TORCH_RELEASE, RowProject, row_of


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """What a shell starts in the background ignores Ctrl-C, and so does whatever that starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def built_row(tmp_path_factory) -> RowProject:
    """A project whose row jax 0.10.2 is built under its constraints; the index is needed once a session.

    Tests share it: take a copy (`copy_of`) where one changes it.
    """
    project = RowProject(tmp_path_factory.mktemp("row") / "project")
    # Its exit status is 1 whatever it does.
    run = project.asv("setup")
    assert project.record("environment"), run.stdout
    return project


@pytest.fixture(scope="session")
def built_torch_row(tmp_path_factory) -> RowProject:
    """A project whose row torch 2.13.0 is built under its constraints, once a session."""
    if sys.version_info[:2] != (3, 11):
        pytest.skip("on another Python this release is a CUDA build of gigabytes")
    project = RowProject(tmp_path_factory.mktemp("torch_row") / "project", (TORCH_RELEASE,), "torch")
    run = project.asv("setup")
    assert project.record("environment", row_of("torch", TORCH_RELEASE)), run.stdout
    return project
