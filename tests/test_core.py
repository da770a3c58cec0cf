"""The default selection's own syntax."""

import pytest
from asv.config import Config
from asv.util import UserError

from bumps import core
from bumps.commands import measuring

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


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        pytest.param(lambda path: None, "No such file", id="absent"),
        pytest.param(lambda path: path.mkdir(), "Is a directory", id="a folder"),
        pytest.param(lambda path: path.write_bytes(b"\xff\xfeSteps\n"), "no UTF-8 text", id="not UTF-8"),
    ],
)
def test_a_selection_that_cannot_be_read_is_said_in_one_line(tmp_path, damage, said):
    damage(tmp_path / "core.txt")
    config = Config()
    config.benchmark_dir = str(tmp_path)
    with pytest.raises(UserError, match=said) as caught:
        measuring.core_patterns(config, [])
    assert "--bench" in str(caught.value)
    assert "\n" not in str(caught.value)
