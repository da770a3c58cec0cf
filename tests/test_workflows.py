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


def steps(path):
    content = yaml.safe_load(path.read_text())
    return [step for job in content["jobs"].values() for step in job["steps"]]


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
    content = yaml.safe_load(path.read_text())
    assert content["permissions"] == {}
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
        assert first in ("make", "bash", "cp") or (ROOT / first).exists() or first == ".venv/bin/python"


def test_gpu_jobs_wait_for_each_other_hold_no_secret_and_write_nothing():
    for name in ("bump", "nightly"):
        content = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text())
        assert content["concurrency"] == {"group": "gpu", "cancel-in-progress": False}
        job = content["jobs"]["measure"]
        assert job["permissions"] == {"contents": "read"}
        assert job["environment"] == "gpu-runner"
    assert "secrets." not in "".join(path.read_text() for path in WORKFLOWS)


def test_few_jobs_may_write_and_those_that_measure_may_not():
    may_write = {
        f"{path.stem}.{name}": {right for right, level in job["permissions"].items() if level == "write"}
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text())["jobs"].items()
    }
    assert {name: rights for name, rights in may_write.items() if rights} == {
        "nightly.keep": {"contents"},
        "publish.deploy": {"pages", "id-token"},
        "report.report": {"issues", "pull-requests"},
        "watch.watch": {"actions", "contents", "pull-requests"},
    }


def test_the_reporting_job_runs_the_default_branch_and_reads_the_artifact_as_one():
    checkout, *_ = [step for step in steps(ROOT / ".github" / "workflows" / "report.yml") if "uses" in step]
    assert checkout["with"] == {"persist-credentials": False}
    commands = [step["run"] for step in steps(ROOT / ".github" / "workflows" / "report.yml") if "run" in step]
    assert [command for command in commands if "bumps" in command and "--artifact incoming" not in command] == []


@pytest.mark.parametrize("path", sorted((ROOT / "tools").glob("*.sh")), ids=lambda path: path.name)
def test_scripts_parse(path):
    subprocess.run(["bash", "-n", path], check=True)
