"""An artifact that is not ours is refused with one line that says what is wrong."""

import os

import pytest
from asv.util import UserError

from bumps import artifact


@pytest.fixture
def incoming(tmp_path):
    folder = tmp_path / "incoming"
    (folder / "box" / "sessions").mkdir(parents=True)
    for name in (
        "benchmarks.json",
        "box/machine.json",
        "box/01234567-row.json",
        "box/row.jsonl",
        "box/sessions/a.jsonl",
    ):
        (folder / name).write_text("{}")
    return folder


def test_what_a_measuring_job_uploads_is_taken(incoming):
    assert artifact.check(incoming) == incoming


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("run.sh", "no result"),
        ("box/setup.py", "no result"),
        ("box/sessions/a.json", "no result"),
        ("box/other/a.json", "a folder that no machine has"),
        ("box/sessions/deep/a.jsonl", "a folder that no machine has"),
        ("-rf\x1b[2J/machine.json", "no machine's name"),
    ],
)
def test_anything_else_is_named(incoming, name, why):
    (incoming / name).parent.mkdir(parents=True, exist_ok=True)
    (incoming / name).write_text("{}")
    with pytest.raises(UserError, match=rf"is no artifact of measured results: .*: {why}$") as raised:
        artifact.check(incoming)
    assert str(raised.value).isprintable()


def test_links_and_devices_are_refused(incoming):
    (incoming / "box" / "link.json").symlink_to("/etc/passwd")
    with pytest.raises(UserError, match=r"'box/link\.json': a link"):
        artifact.check(incoming)
    (incoming / "box" / "link.json").unlink()
    os.mkfifo(incoming / "box" / "pipe.json")
    with pytest.raises(UserError, match=r"'box/pipe\.json': no plain file"):
        artifact.check(incoming)


def test_too_much_and_nothing_are_refused(incoming, tmp_path, monkeypatch):
    monkeypatch.setattr(artifact, "MOST_FILES", 4)
    with pytest.raises(UserError, match="over 4 files"):
        artifact.check(incoming)
    with pytest.raises(UserError, match="there is no such folder"):
        artifact.check(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"has no machine\.json"):
        artifact.check(tmp_path / "empty")
