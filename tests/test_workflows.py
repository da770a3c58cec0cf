"""The workflows: least rights, pinned actions, steps that are commands of this repository."""

import pathlib
import re
import subprocess
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
BIN = pathlib.Path(sys.executable).parent


def load(name):
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text())


def steps(path):
    # A job that calls another workflow has none.
    return [step for job in load(path.stem)["jobs"].values() for step in job.get("steps", ())]


def test_all_workflows_are_there():
    assert [path.stem for path in WORKFLOWS] == ["bump", "ci", "nightly", "publish", "report", "watch"]


def test_zizmor_finds_nothing():
    run = subprocess.run([BIN / "zizmor", "--offline", ROOT / ".github"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize(
    ("schema", "files"),
    [("github-workflows", WORKFLOWS), ("dependabot", [ROOT / ".github" / "dependabot.yml"])],
)
def test_schemas_hold(schema, files):
    command = [BIN / "check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_no_rights_unless_a_job_asks_and_actions_are_pinned_to_commits(path):
    assert load(path.stem)["permissions"] == {}
    for step in steps(path):
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", step["uses"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_step_is_one_line_that_calls_something_here(path):
    for step in steps(path):
        if "run" not in step:
            continue
        assert "\n" not in step["run"].strip()
        assert "${{" not in step["run"], "values reach a command through its environment"
        first = step["run"].split()[0]
        assert first in ("make", "bash", "cp", "echo") or (ROOT / first).exists() or first == ".venv/bin/python"


def test_jobs_on_the_gpu_wait_for_each_other_and_none_is_dropped():
    on_the_machine = {
        f"{path.stem}.{name}": job
        for path in WORKFLOWS
        for name, job in load(path.stem)["jobs"].items()
        if "self-hosted" in job.get("runs-on", ())
    }
    assert on_the_machine.keys() == {"bump.measure", "nightly.measure"}
    for job in on_the_machine.values():
        assert job["concurrency"] == {"group": "gpu", "queue": "max"}
        assert job["permissions"] == {"contents": "read"}
    # No workflow's own group is `gpu`: what waits for approval would hold it.
    assert "gpu" not in {load(path.stem)["concurrency"]["group"] for path in WORKFLOWS}


def test_a_forks_commit_is_measured_after_approval_and_no_other_waits_for_one():
    approve, measure = (load("bump")["jobs"][name] for name in ("approve", "measure"))
    repository = "github.event.pull_request.head.repo.full_name"
    assert approve["if"] == f"github.event_name == 'pull_request' && {repository} != github.repository"
    assert approve["environment"] == "gpu-runner"
    assert approve["runs-on"] == "ubuntu-latest"
    assert (measure["needs"], measure["if"]) == ("approve", "${{ !failure() && !cancelled() }}")
    # YAML reads the key `on` as true.
    assert load("nightly")[True].keys() == {"schedule", "workflow_dispatch"}


def test_no_workflow_reads_a_secret():
    assert "secrets." not in "".join(path.read_text() for path in WORKFLOWS)


def test_every_night_becomes_the_site():
    """Neither a push with a workflow's own token nor one to a branch without workflows starts a workflow."""
    publish = load("nightly")["jobs"]["publish"]
    assert (publish["needs"], publish["uses"]) == ("keep", "$/.github/workflows/publish.yml")
    assert "workflow_call" in load("publish")[True]
    assert "push" not in load("publish")[True]
    called = [job["permissions"] for job in load("publish")["jobs"].values()]
    assert publish["permissions"] == {right: level for rights in called for right, level in rights.items()}


def test_one_framework_that_cannot_be_measured_costs_the_other_nothing():
    *_, torch, jax, upload = load("nightly")["jobs"]["measure"]["steps"]
    assert [torch["run"].split()[1], jax["run"].split()[1]] == ["torch", "jax"]
    for job in (jax, upload, load("nightly")["jobs"]["keep"]):
        assert job["if"] == "${{ !cancelled() }}"
    assert load("watch")["jobs"]["watch"]["strategy"]["fail-fast"] is False


def test_few_jobs_may_write_and_those_that_measure_may_not():
    may_write = {
        f"{path.stem}.{name}": {right for right, level in job["permissions"].items() if level == "write"}
        for path in WORKFLOWS
        for name, job in load(path.stem)["jobs"].items()
    }
    assert {name: rights for name, rights in may_write.items() if rights} == {
        "nightly.keep": {"contents"},
        "nightly.publish": {"pages", "id-token"},
        "publish.deploy": {"pages", "id-token"},
        "report.report": {"issues", "pull-requests"},
        "watch.watch": {"actions", "contents", "pull-requests"},
    }


def test_the_reporting_job_runs_the_default_branch_and_reads_the_artifact_as_one():
    checkout, *_ = [step for step in steps(ROOT / ".github" / "workflows" / "report.yml") if "uses" in step]
    assert checkout["with"] == {"persist-credentials": False}
    commands = [step["run"] for step in steps(ROOT / ".github" / "workflows" / "report.yml") if "run" in step]
    assert [command for command in commands if "bumps" in command and "--artifact incoming" not in command] == []


def test_what_a_fork_uploads_opens_and_closes_no_issue():
    """A fork can call a workflow of its own `bump`: GitHub then reports on what nobody approved or measured."""
    (alert,) = [step for step in load("report")["jobs"]["report"]["steps"] if "bumps alert" in step.get("run", "")]
    assert "github.event.workflow_run.head_repository.full_name == github.repository" in alert["if"].split(" && ")[-1]
    assert load("report")[True]["workflow_run"]["workflows"] == ["bump", "nightly"]


def test_tools_actions_and_what_tests_load_are_kept_up_to_date():
    found = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    assert {each["package-ecosystem"] for each in found} == {"github-actions", "pip", "npm"}
    assert {each["directory"] for each in found} == {"/"}


@pytest.mark.parametrize("path", sorted((ROOT / "tools").glob("*.sh")), ids=lambda path: path.name)
def test_scripts_parse(path):
    subprocess.run(["bash", "-n", path], check=True)
