"""Known regressions: what they cover, when they expire, and the file that they live in."""

import datetime
import re

import pytest
from asv.util import UserError
from packaging.version import Version

from bumps import acknowledged
from bumps.acknowledged import Acknowledgement

ENTRY = Acknowledgement("torch", Version("2.10.0"), re.compile("attention"), "Ada", "fix is merged", Version("2.12.0"))


@pytest.mark.parametrize(
    ("old", "new", "newest", "covered"),
    [
        ("2.9.1", "2.10.0", "2.10.0", True),
        ("2.9.1", "2.11.0", "2.11.0", True),
        # Another bump's regression is another regression.
        ("2.10.0", "2.11.0", "2.11.0", False),
        ("2.8.0", "2.9.1", "2.10.0", False),
        # Expired: the release that should repair it is there.
        ("2.9.1", "2.12.0", "2.12.0", False),
        ("2.9.1", "2.10.0", "2.12.0", False),
    ],
)
def test_which_bumps_are_covered(old, new, newest, covered):
    versions = (Version(text) for text in (old, new, newest))
    assert ENTRY.covers("attention.time_step", "torch", *versions, "box") is covered


def test_other_benchmarks_frameworks_and_machines_are_not_covered():
    bump = (Version("2.9.1"), Version("2.10.0"), Version("2.10.0"))
    assert not ENTRY.covers("chain.time_step", "torch", *bump, "box")
    assert not ENTRY.covers("attention.time_step", "jax", *bump, "box")
    elsewhere = Acknowledgement(**{**vars(ENTRY), "machine": "other"})
    assert not elsewhere.covers("attention.time_step", "torch", *bump, "box")


def test_what_is_written_reads_back_and_what_was_there_stays(tmp_path):
    path = tmp_path / "acknowledged.toml"
    awkward = Acknowledgement(
        "jax",
        Version("0.10.2"),
        re.compile(r"a\.b\('x'"),
        'É "quoted"\x7f',
        "two\nlines # no comment",
        Version("1"),
        "box",
    )
    acknowledged.add(path, ENTRY, datetime.date(2025, 1, 2))
    path.write_text(path.read_text() + "# a person's remark\n")
    acknowledged.add(path, awkward, datetime.date(2025, 1, 2))
    assert acknowledged.load(path) == [ENTRY, awkward]
    assert "# a person's remark" in path.read_text()


def test_no_file_is_no_entry(tmp_path):
    assert acknowledged.load(tmp_path / "acknowledged.toml") == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[regression]\n", "is no TOML"),
        ("regression = 3\n", r"each entry starts with \[\[regression\]\]"),
        ('[[regression]]\nframework = "torch"\n', "entry 1 lacks 'release'"),
        (
            '[[regression]]\nframework="t"\nrelease="x"\nbenchmark="b"\nwho="w"\nwhy="y"\nuntil="2"\n',
            "entry 1: Invalid version",
        ),
        ('regression = ["x"]\n', "entry 1: "),
        ("regression = [3]\n", "entry 1: "),
    ],
)
def test_a_broken_file_is_named(tmp_path, text, why):
    path = tmp_path / "acknowledged.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=why):
        acknowledged.load(path)
