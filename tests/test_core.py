"""The default selection's own syntax."""

import pytest

from bumps import core

TEXT = """
# everything
both\\.Both
cpu: small\\.Chain\\(.*'cpu: x'
gpu:large

  # indented
"""


@pytest.mark.parametrize(
    ("accelerators", "wanted"),
    [
        (["cpu"], [r"both\.Both", r"small\.Chain\(.*'cpu: x'"]),
        (["cuda12", "cuda13"], [r"both\.Both", "large"]),
        (["cpu", "cuda13"], [r"both\.Both", r"small\.Chain\(.*'cpu: x'", "large"]),
        # An environment that says nothing may be either.
        ([None], [r"both\.Both", r"small\.Chain\(.*'cpu: x'", "large"]),
        ([], [r"both\.Both"]),
    ],
)
def test_a_line_counts_for_the_kind_of_device_that_it_names(accelerators, wanted):
    assert core.patterns(TEXT, accelerators) == wanted


def test_an_empty_file_names_nothing():
    assert core.patterns("\n# nothing\n", ["cpu"]) == []
