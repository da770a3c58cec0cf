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
        assert first in ("make", "bash", "cp", "echo", "gh") or (ROOT / first).exists() or first == ".venv/bin/python"


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
    for job in (jax, load("nightly")["jobs"]["keep"]):
        assert job["if"] == "${{ !cancelled() }}"
    assert upload["if"] == "always()"
    assert load("watch")["jobs"]["watch"]["strategy"]["fail-fast"] is False


def test_few_jobs_may_write_and_those_that_measure_may_not():
    may_write = {
        f"{path.stem}.{name}": {right for right, level in job["permissions"].items() if level == "write"}
        for path in WORKFLOWS
        for name, job in load(path.stem)["jobs"].items()
    }
    assert {name: rights for name, rights in may_write.items() if rights} == {
        "bump.tell": {"actions"},
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
    # Nobody dispatches a workflow without the right to write.
    assert alert["if"].split(" && ")[-1] == (
        "(github.event_name == 'workflow_dispatch' || "
        "github.event.workflow_run.head_repository.full_name == github.repository)"
    )
    assert load("report")[True]["workflow_run"]["workflows"] == ["bump", "nightly"]


def test_what_a_workflows_own_token_started_tells_the_next_workflow_itself():
    """GitHub reports no `workflow_run` of a run that a workflow's own token started."""
    started = re.findall(r"(\w+)\.yml", (ROOT / "tools" / "propose_rows.sh").read_text())
    assert set(started) == {"ci", "bump"}
    waited_for = {
        (name, path.stem)
        for path in WORKFLOWS
        for name in load(path.stem)[True].get("workflow_run", {}).get("workflows", ())
    }
    for name, waiting in waited_for:
        if name not in started:
            continue
        assert "workflow_dispatch" in load(name)[True]
        *_, last = load(name)["jobs"].values()
        assert last["if"] == "${{ !cancelled() && github.event_name == 'workflow_dispatch' }}"
        (step,) = last["steps"]
        fields = re.findall(r"--field (\w+)=", step["run"])
        assert step["run"].startswith(f"gh workflow run {waiting}.yml --field ")
        assert set(fields) == load(waiting)[True]["workflow_dispatch"]["inputs"].keys()
        # The default branch's code reports, whatever was measured.
        assert "--ref" not in step["run"]


def test_a_job_at_its_time_limit_keeps_what_it_measured_and_measuring_ends_before_it():
    """GitHub cancels such a job: only what runs always still runs."""
    for name, budgets in (("bump", [90, 240]), ("nightly", [90, 90])):
        job = load(name)["jobs"]["measure"]
        (upload,) = [step for step in job["steps"] if "upload-artifact" in step.get("uses", "")]
        assert upload["if"] == "always()"
        measuring = [step["run"] for step in job["steps"] if "measure_bumps" in step.get("run", "")]
        assert [int(command.rpartition("--budget ")[2]) for command in measuring] == budgets
        # One that is named by hand, or both of a night.
        assert (max(budgets) if name == "bump" else sum(budgets)) <= job["timeout-minutes"] - 60


def test_a_pull_request_is_compared_with_the_branch_as_it_is_now():
    """The commit in the event is the one that the branch had when the pull request was opened."""
    steps = load("bump")["jobs"]["measure"]["steps"]
    (base,) = [step["env"]["BASE"] for step in steps if "BASE" in step.get("env", {})]
    assert base == "${{ format('origin/{0}', github.base_ref || github.event.repository.default_branch) }}"
    assert steps[0]["with"]["fetch-depth"] == 0


def test_an_artifact_that_cannot_be_fetched_is_no_success():
    (fetch,) = [
        step for step in load("report")["jobs"]["report"]["steps"] if "download-artifact" in step.get("uses", "")
    ]
    assert "continue-on-error" not in fetch
    assert (fetch["with"]["pattern"], fetch["with"]["merge-multiple"]) == ("results", True)


def test_a_site_can_be_deployed_again():
    """A repeated run has its earlier attempts' artifacts, and deploying takes no two of one name."""
    build, deploy = (load("publish")["jobs"][name] for name in ("build", "deploy"))
    named, upload = build["steps"][-2:]
    assert named["env"]["ATTEMPT"] == "${{ github.run_attempt }}"
    assert "$ATTEMPT" in named["run"]
    assert upload["with"]["name"] == build["outputs"]["site"] == "${{ steps.site.outputs.name }}"
    assert deploy["steps"][-1]["with"]["artifact_name"] == "${{ needs.build.outputs.site }}"


def test_tools_actions_and_what_tests_load_are_kept_up_to_date():
    found = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    assert {each["package-ecosystem"] for each in found} == {"github-actions", "pip", "npm"}
    assert {each["directory"] for each in found} == {"/"}


@pytest.mark.parametrize("path", sorted((ROOT / "tools").glob("*.sh")), ids=lambda path: path.name)
def test_scripts_parse(path):
    subprocess.run(["bash", "-n", path], check=True)
