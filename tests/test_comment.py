"""The comment on a pull request: what it is about, what it says of edited workloads, that names in it harm nobody."""

import subprocess

import pytest
from archive import benchmark, samples_of, write_row, write_suite, write_unlike_devices
from asv.util import UserError
from recording_gh import RecordingGh

from bumps import cli, comment, pull_request

ADDED = ["asv.conf.json", "env_matrix/constraints/jax-0.10.2.txt"]


def test_releases_are_those_of_the_constraints():
    paths = [*ADDED, "env_matrix/constraints/torch-2.15.0.txt", "docs/constraints/jax-0.1.txt", "env_matrix/lock.py"]
    assert comment.proposed(paths) == {("jax", "0.10.2"), ("torch", "2.15.0")}


def test_without_results_it_says_so():
    assert comment.text([], ADDED) == f"{comment.NOTHING}\n"


def test_edited_workloads_are_said_first():
    assert comment.text([], [*ADDED, "benchmarks/matmul_chain.py"]).startswith(comment.TWO_SUITES)
    assert comment.TWO_SUITES not in comment.text([], [*ADDED, "docs/benchmarks/x.md"])


def git(folder, *words):
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def proposal(tmp_path, monkeypatch):
    """A checkout whose origin has a branch with new constraints, and a pull request of it."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin")
    git(tmp_path, "clone", "-q", "origin", "checkout")
    checkout = tmp_path / "checkout"
    git(checkout, "config", "user.name", "tester")
    git(checkout, "config", "user.email", "tester@example.org")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "main")
    git(checkout, "push", "-q", "origin", "HEAD:main")
    for path in [*ADDED, "benchmarks/suite.py"]:
        (checkout / path).parent.mkdir(parents=True, exist_ok=True)
        (checkout / path).write_text("")
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "rows")
    git(checkout, "push", "-q", "origin", "HEAD:rows/jax")
    for path in ADDED:
        (checkout / path).unlink()
    gh = RecordingGh(tmp_path / "bin")
    gh.put(pulls=[{"number": 7, "branch": "rows/jax", "title": "Rows", "state": "OPEN", "comment": None}])
    monkeypatch.setenv("PATH", gh.path)
    monkeypatch.chdir(checkout)
    gh.head = git(checkout, "rev-parse", "HEAD")
    return gh


def write_results(folder, *releases, name="suite.Steps.time_it"):
    steps = benchmark(name)
    for place, release in enumerate(releases):
        medians = [(place + 1) * value for value in (1.0, 1.01, 0.99, 1.0, 1.02)]
        write_row(folder, {"jax": release}, [(steps, [samples_of(medians)])])
    write_suite(folder, [steps])


def test_the_comment_is_about_the_proposed_releases_and_is_replaced(proposal, tmp_path, capsys):
    write_results(tmp_path / "incoming", "0.8.3", "0.9.2", "0.10.2")
    words = ["comment", "--artifact", str(tmp_path / "incoming"), "--head", proposal.head]
    assert cli.main([*words, "--dry-run"]) == 0
    assert proposal.pulls[0]["comment"] is None
    assert cli.main(words) == 0
    said = proposal.pulls[0]["comment"]
    assert said in capsys.readouterr().out
    assert said.startswith(comment.TWO_SUITES)
    assert "jax 0.9.2 → 0.10.2" in said
    assert "0.8.3" not in said
    assert cli.main(words) == 0
    assert len(proposal.calls("pr comment 7 --edit-last --create-if-none")) == 2


def test_a_bump_that_cannot_be_judged_keeps_nobody_from_hearing_of_the_others(proposal, tmp_path, capsys):
    results = tmp_path / "incoming"
    write_unlike_devices(results, "jax", "0.9.2", "0.10.2", benchmark("suite.Steps.time_it"), samples_of([1.0, 1.01]))
    write_results(results, "0.9.2", "0.10.2")
    assert cli.main(["comment", "--artifact", str(results), "--head", proposal.head]) == 2
    assert "the two rows saw other devices" in capsys.readouterr().err
    assert "jax 0.9.2 → 0.10.2" in proposal.pulls[0]["comment"]


def test_names_mention_nobody_and_link_nowhere(proposal, tmp_path):
    hostile = "a.B.time_@everyone_https://example.invalid_www.example.invalid"
    write_results(tmp_path / "incoming", "0.9.2", "0.10.2", name=hostile)
    assert cli.main(["comment", "--artifact", str(tmp_path / "incoming"), "--head", proposal.head]) == 0
    said = proposal.pulls[0]["comment"]
    assert "everyone" in said
    assert not any(live in said for live in ("@everyone", "://", "www."))


def test_a_commit_of_no_pull_request_is_no_error(proposal, tmp_path, capsys):
    assert cli.main(["comment", "--results", str(tmp_path), "--head", "0" * 40]) == 0
    assert "no open pull request" in capsys.readouterr().err
    assert not proposal.calls("pr comment")


def test_what_is_no_commit_and_a_gh_that_is_not_logged_in_are_one_line(proposal, tmp_path, capsys):
    with pytest.raises(UserError, match="40 hexadecimal digits"):
        pull_request.find("--repo=other")
    proposal.write("#!/bin/sh\necho 'To get started with GitHub CLI, please run: gh auth login' >&2\nexit 4\n")
    assert cli.main(["comment", "--results", str(tmp_path), "--head", proposal.head]) == 2
    assert capsys.readouterr().err == (
        "bumps: gh pr list failed: To get started with GitHub CLI, please run: gh auth login\n"
    )


def test_a_comment_that_is_too_long_is_cut_at_a_line(monkeypatch):
    monkeypatch.setattr(comment, "LONGEST", 100)
    monkeypatch.setattr(comment.reports, "as_markdown", lambda report: "a line of a report\n" * 20)
    assert comment.text([{}], ADDED) == "a line of a report\n" * 5 + f"\n{comment.SHORTENED}\n"
