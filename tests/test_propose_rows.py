"""What tools/propose_rows.sh proposes, day after day. The package index is a stand-in; git and the script are real."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from recording_gh import RecordingGh
from row_project import REPOSITORY

# Lists the releases in the file `releases` that are not in asv.conf.json, adds them there, and is Python otherwise.
PYTHON = """#!/bin/sh
if [ "$1" = -m ]; then
    [ ! -e crashes ] || {{ echo "ModuleNotFoundError" >&2; exit 1; }}
    exec {python} matrix.py "$3" $(shift 3; echo "$@")
fi
exec {python} "$@"
"""
MATRIX = """
import json, pathlib, sys
config = pathlib.Path("asv.conf.json")
known = config.read_text().split()
if sys.argv[1] == "watch":
    new = [each for each in pathlib.Path("../releases").read_text().split() if each not in known]
    listed = [dict(zip(("framework", "release"), each.split("==")), skipped=None) for each in new]
    print(json.dumps(listed))
    sys.exit(bool(new))
config.write_text("\\n".join([*known, *sys.argv[2:]]) + "\\n")
for each in sys.argv[2:]:
    pathlib.Path("env_matrix/constraints", each.replace("==", "-") + ".txt").write_text(each + "\\n")
"""


class Days:
    """A repository on a server, looked at day after day, each in a checkout of its own."""

    def __init__(self, folder):
        self.folder, self.day = folder, 0
        self.gh = RecordingGh(folder / "bin")
        source = folder / "source"
        for name in ("tools", "env_matrix/constraints"):
            (source / name).mkdir(parents=True)
        shutil.copy(REPOSITORY / "tools" / "propose_rows.sh", source / "tools")
        (source / "matrix.py").write_text(MATRIX)
        (source / "env_matrix" / "constraints" / "README").touch()
        self.git("init", "--quiet", "--bare", "--initial-branch", "main", str(folder / "origin"), where=folder)
        self.git("init", "--quiet", "--initial-branch", "main")
        self.git("remote", "add", "origin", str(folder / "origin"))
        self.merge("jax==0.9.2")

    def git(self, *words, where=None):
        author = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
        command = ["git", *author, *words]
        where = where or self.folder / "source"
        return subprocess.run(command, cwd=where, check=True, capture_output=True, text=True).stdout.strip()

    def merge(self, *releases):
        """Put releases into main's matrix."""
        with open(self.folder / "source" / "asv.conf.json", "a") as stream:
            stream.writelines(f"{each}\n" for each in releases)
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "rows")
        self.git("push", "--quiet", "origin", "main")

    def look(self, *releases, framework="jax", crashes=False):
        (self.folder / "releases").write_text(" ".join(releases))
        self.day += 1
        checkout = self.folder / f"day-{self.day}"
        self.git("clone", "--quiet", str(self.folder / "origin"), str(checkout), where=self.folder)
        python = checkout / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(PYTHON.format(python=sys.executable))
        python.chmod(0o755)
        if crashes:
            (checkout / "crashes").touch()
        return subprocess.run(
            ["tools/propose_rows.sh", framework],
            cwd=checkout,
            env={**os.environ, "PATH": self.gh.path},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def pulls(self):
        return [(each["title"], each["state"]) for each in self.gh.pulls]

    @property
    def started(self):
        """The runs of the commit that the branch has now."""
        head = self.git("ls-remote", "origin", "refs/heads/rows/jax").split()[0]
        return [each["workflow"] for each in self.gh.runs if each["commit"] == head]

    def close(self, state):
        self.gh.put(pulls=[{**each, "state": state} for each in self.gh.pulls])


@pytest.fixture
def days(tmp_path):
    return Days(tmp_path)


BOTH = ["ci.yml", "bump.yml"]


def test_a_release_is_proposed_and_measured_once(days):
    assert days.look("jax==0.9.2").stdout == "no release of jax is newer than the matrix\n"
    for said in ("", "jax==0.10.2: proposed before\n", "jax==0.10.2: proposed before\n"):
        look = days.look("jax==0.9.2", "jax==0.10.2")
        assert (look.returncode, look.stdout) == (0, said), look.stderr
        assert days.pulls == [("Rows: jax==0.10.2", "OPEN")]
        assert days.started == BOTH
    assert len(days.gh.runs) == 2


def test_a_newer_release_joins_the_open_proposal_and_is_measured(days):
    days.look("jax==0.10.2")
    assert days.look("jax==0.10.2", "jax==0.11.2").returncode == 0
    assert days.pulls == [("Rows: jax==0.10.2 jax==0.11.2", "OPEN")]
    assert days.started == BOTH
    assert len(days.gh.runs) == 4


def test_what_failed_one_day_is_made_up_for_on_the_next(days):
    days.gh.reach(False)
    failed = days.look("jax==0.10.2")
    assert failed.returncode != 0
    assert "HTTP 502" in failed.stderr
    assert days.started == []
    days.gh.reach(True)
    assert days.look("jax==0.10.2").returncode == 0
    assert days.started == BOTH
    assert days.look("jax==0.10.2").stdout == "jax==0.10.2: proposed before\n"


def test_what_was_declined_is_not_proposed_again_whatever_else_changes(days):
    days.look("jax==0.10.2")
    days.close("CLOSED")
    days.merge("torch==2.14.1")
    assert days.look("jax==0.10.2").stdout == "jax==0.10.2: declined before\n"
    assert days.pulls == [("Rows: jax==0.10.2", "CLOSED")]
    assert len(days.gh.runs) == 2
    # Another one is another question.
    assert days.look("jax==0.10.2", "jax==0.11.2").returncode == 0
    assert days.pulls[1:] == [("Rows: jax==0.10.2 jax==0.11.2", "OPEN")]


def test_the_release_after_one_that_was_merged_is_proposed(days):
    days.look("jax==0.10.2")
    days.close("MERGED")
    days.merge("jax==0.10.2")
    assert days.look("jax==0.10.2").stdout == "no release of jax is newer than the matrix\n"
    assert days.look("jax==0.10.2", "jax==0.11.2").returncode == 0
    assert days.pulls == [("Rows: jax==0.10.2", "MERGED"), ("Rows: jax==0.11.2", "OPEN")]
    assert days.started == BOTH


def test_a_watcher_that_falls_over_fails_the_job(days):
    look = days.look("jax==0.10.2", crashes=True)
    assert look.returncode != 0
    assert "no release" not in look.stdout
    assert json.loads((days.gh.folder / "state.json").read_text())["pulls"] == []
