"""How people write releases."""

import pytest
from asv.util import UserError
from packaging.version import Version

from env_matrix.releases import Release, parse, parse_all


@pytest.mark.parametrize("text", ["torch==2.8.0", "torch 2.8.0", "Torch-2.8.0", " torch=2.8.0 ", "torch@2.8.0"])
def test_every_spelling_names_the_release(text):
    assert parse(text) == Release("torch", Version("2.8.0"))


def test_four_parts_local_and_nightly_versions():
    assert str(parse("jax==0.12.0.1")) == "jax 0.12.0.1"
    local = parse("torch==2.14.1+cu130")
    assert local.requirement == "torch==2.14.1+cu130"
    assert local.public.requirement == "torch==2.14.1"
    assert parse("torch==2.16.0.dev20261130").version.dev == 20261130


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("troch==2.8.0", "did you mean torch"),
        ("numpy==2.0", "no framework 'numpy'"),
        ("torch==two", "'two' is no version of torch"),
        ("torch", "names no release"),
        ("../../etc==1", "names no release"),
        ("torch==../2.8.0", "is no version of torch"),
    ],
)
def test_what_names_no_release_is_one_clear_line(text, message):
    with pytest.raises(UserError, match=message) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


def test_a_command_line_of_releases():
    assert parse_all(["torch", "2.9.1", "2.10.0", "jax==0.9.2", "jax", "latest", "torch==latest"]) == [
        ("torch", "2.9.1"),
        ("torch", "2.10.0"),
        ("jax", "0.9.2"),
        ("jax", "latest"),
        ("torch", "latest"),
    ]


@pytest.mark.parametrize("words", [["torch"], ["torch", "jax==0.9.2"], ["torch", "jax", "0.9.2"]])
def test_a_framework_without_a_version_is_asked_for_one(words):
    with pytest.raises(UserError, match="which release of torch"):
        parse_all(words)
