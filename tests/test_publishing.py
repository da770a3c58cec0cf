"""The site changes in one step; a publish that fails or dies leaves the old one."""

import sys

import pytest

from bumps import publishing


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    site = tmp_path / "html"
    site.mkdir()
    (site / "index.html").write_text("old")
    return tmp_path


def pretend(monkeypatch, code: str) -> None:
    """Let a script stand for `asv publish`; its last argument is the folder to write."""
    guarded = publishing.process.guarded

    def command(given, *rest):
        return guarded([sys.executable, "-c", code, given[-1]], *rest)

    monkeypatch.setattr(publishing.process, "guarded", command)


WRITES = "import pathlib, sys; p = pathlib.Path(sys.argv[1]); p.mkdir(); (p / 'index.html').write_text('new')"


def test_new_site_takes_the_place_of_the_old(folder, monkeypatch):
    pretend(monkeypatch, WRITES)
    assert publishing.publish("asv.conf.json", "html") is None
    assert (folder / "html" / "index.html").read_text() == "new"
    assert [path.name for path in folder.iterdir()] == ["html"]


def test_failure_leaves_the_old_site_and_says_why(folder, monkeypatch):
    pretend(monkeypatch, f"{WRITES}; print('no space'); sys.exit(1)")
    assert publishing.publish("asv.conf.json", "html") == "no space"
    assert (folder / "html" / "index.html").read_text() == "old"
    assert [path.name for path in folder.iterdir()] == ["html"]


def test_leftovers_of_a_killed_publish_go(folder, monkeypatch):
    pretend(monkeypatch, WRITES)
    (folder / "html.new").mkdir()
    (folder / "html.new" / "index.html").write_text("half")
    assert publishing.publish("asv.conf.json", "html") is None
    assert (folder / "html" / "index.html").read_text() == "new"


def test_kill_between_the_two_renames_loses_no_site(folder, monkeypatch):
    pretend(monkeypatch, "import sys; sys.exit('broken')")
    (folder / "html").rename(folder / "html.old")
    assert publishing.publish("asv.conf.json", "html") == "broken"
    assert (folder / "html" / "index.html").read_text() == "old"
