"""What several test files share."""

import pytest
from row_project import RowProject


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
