"""The measuring commands, end to end, on a project whose rows build in no time (fake_project.py)."""

import collections
import json
import os
import signal
import subprocess
import time

import pytest
from fake_project import SUITE, Project

from bumps import journal

pytestmark = pytest.mark.end_to_end

FAULTY = (
    SUITE
    + """

from asv_runner.benchmarks.mark import SkipNotImplemented


class Faulty:
    number, repeat, warmup_time = 1, 3, 0
    timer = staticmethod(CLOCK)

    def time_crashes_now(self):
        take_sample("crash", 1_000_000)
        if os.environ["FAKE_RELEASE"] == "2.0":
            os._exit(7)

    def track_count(self):
        return 61 if os.environ["FAKE_RELEASE"] == "2.0" else 41

    def track_skipped(self):
        raise SkipNotImplemented("not on this machine")

    track_skipped.isolated = True
"""
)


TWO_FRAMEWORKS = (
    SUITE
    + """

class Both:
    params = [["fake", "other"]]
    param_names = ["framework"]

    def track_it(self, framework):
        return {"fake": 11, "other": 22}[framework]
"""
)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")


def sessions(project):
    return [journal.read(path) for path in sorted((project.folder / "results").glob("*/sessions/*.jsonl"))]


def test_run_measures_judges_and_publishes(project):
    found = project.run("run", "fake", "1.0", "2.0", "--rounds", "3", "--json")
    assert found.returncode == 1, found.stderr
    report = json.loads(found.stdout, parse_constant=pytest.fail)
    verdicts = {(row["name"], row["params"]["letter"]): row["verdict"] for row in report["benchmarks"]}
    assert verdicts == {
        ("suite.Steps.time_slower", "a"): "regressed",
        ("suite.Steps.time_slower", "b"): "regressed",
        ("suite.Steps.time_alike", "a"): "same",
        ("suite.Steps.time_alike", "b"): "same",
    }
    assert all(row["confirmed"] for row in report["benchmarks"] if row["verdict"] == "regressed")
    assert report["interleaved"]
    assert report["summary"]["control"] == {"judged": 4, "alarms": 0}
    (session,) = sessions(project)
    assert session.finished
    assert [row["role"] for row in session.head["plan"]["rows"]] == ["old", "new", "control"]
    # What was settled is not measured again, what was not has fresh processes of all three rows.
    again = {entry["benchmark"] for process in session.processes if process["stage"] for entry in process["entries"]}
    assert again == {"suite.Steps.time_slower"}
    assert (project.folder / "html" / "index.html").exists()
    assert "duty cycle" in found.stderr
    orders = {tuple(entry["benchmark"] for entry in each["entries"]) for each in session.processes if not each["stage"]}
    assert len(orders) > 1, "every process measured in the same order"


def test_processes_of_a_session_release_and_alternate(project):
    project.run("run", "fake", "1.0", "2.0", "--rounds", "2", "--no-confirm", "--no-publish")
    (session,) = sessions(project)
    order = [(process["round"], process["env_name"].partition("-fake")[2]) for process in session.processes]
    assert order == [
        (0, "1.0"),
        (0, "2.0"),
        (0, "2.0-REPLICAcontrol"),
        (1, "2.0"),
        (1, "2.0-REPLICAcontrol"),
        (1, "1.0"),
    ]
    assert not (project.folder / "html").exists()


def test_interrupted_run_carries_on_where_it_was(project):
    command = ("run", "fake", "1.0", "2.0", "--rounds", "4", "--no-confirm", "--no-publish")
    process = subprocess.Popen(
        project.command(*command), cwd=project.folder, env=project.environment, stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if line.startswith("round 2/4"):
            process.send_signal(signal.SIGINT)
            break
    rest = process.stderr.read()
    assert process.wait() == 130
    assert "the same command carries on" in rest
    assert "Traceback" not in rest
    kept = len(sessions(project)[0].processes)
    assert kept >= 4
    found = project.run(*command)
    assert f"{kept} finished processes are kept" in found.stderr
    assert found.stderr.count("\nround ") == 12 - kept
    (session,) = sessions(project)
    assert session.finished
    assert set(map(len, project.stored().values())) == {4 * 3}


def test_interrupted_build_ends_at_once(tmp_path):
    project = Project(tmp_path / "project", FAKE_PARTS="400")
    process = subprocess.Popen(
        project.command("bench", "--row", "fake==1.0", "--row", "fake==2.0"),
        cwd=project.folder,
        env=project.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr.readline().startswith("building fake")
    time.sleep(0.5)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait() == 130
    assert time.monotonic() - started < 10
    assert "Traceback" not in rest


def test_finished_run_measures_afresh(project):
    command = ("bench", "--row", "fake==1.0", "--rounds", "1", "--bench", "alike", "--no-publish")
    for _ in range(2):
        assert project.run(*command).returncode == 0
    assert len(sessions(project)) == 2
    stored = project.stored()
    newest = {sample for *_, sample in project.logged()[-6:]}
    assert {sample for samples in stored.values() for sample in samples} == newest


def test_crash_is_broken_and_costs_itself_only(tmp_path):
    project = Project(tmp_path / "project", FAULTY)
    found = project.run("run", "fake", "1.0", "2.0", "--rounds", "3", "--json", "--all-benchmarks", "--no-publish")
    assert found.returncode == 1, found.stderr
    report = json.loads(found.stdout)
    verdicts = {row["name"].rpartition(".")[2]: row["verdict"] for row in report["benchmarks"]}
    assert verdicts == {
        "time_slower": "regressed",
        "time_alike": "same",
        "time_crashes_now": "broken",
        "track_count": "regressed",
        "track_skipped": "unmeasured",
    }
    reasons = {row["name"].rpartition(".")[2]: row["why"] for row in report["benchmarks"]}
    assert "the process ended with status 7 in the middle of it" in reasons["time_crashes_now"]
    assert "not on this machine" in reasons["track_skipped"]
    (session,) = sessions(project)
    by_row = collections.defaultdict(list)
    for process in session.processes:
        if process["stage"] == 0:
            by_row[process["env_name"]] += [entry["benchmark"].rpartition(".")[2] for entry in process["entries"]]
            names = {entry["benchmark"] for entry in process["entries"]}
            assert "suite.Faulty.track_skipped" not in names or len(names) == 1, "isolated, but not alone"
    counts = {name: collections.Counter(steps) for name, steps in by_row.items()}
    old, new = counts["fake-py3.11-fake1.0"], counts["fake-py3.11-fake2.0"]
    assert old["time_crashes_now"] == 3
    # After two failures and one skip nothing else can come of it.
    assert new["time_crashes_now"] == 2
    assert old["track_skipped"] == new["track_skipped"] == 1
    assert old["time_slower"] == new["time_slower"] == 6


def test_one_by_one_gives_every_benchmark_a_process(project):
    project.run(
        "bench", "--row", "fake 1.0", "--rounds", "1", "--bench", "Steps", "--launch", "one-by-one", "--no-publish"
    )
    (session,) = sessions(project)
    assert [len(process["entries"]) for process in session.processes] == [1, 1, 1, 1]
    assert len({pid for pid, *_ in project.logged()}) == 4


def test_bench_prints_what_asv_stored(project):
    found = project.run("bench", "--row", "fake==1.0", "--row", "fake==2.0", "--bench", "slower", "--rounds", "2")
    assert found.returncode == 0, found.stderr
    assert "suite.Steps.time_slower(a)" in found.stdout
    assert "fake 1.0" in found.stdout
    assert "site: html/index.html" in found.stderr
    shown = subprocess.run(
        [*project.command()[:2], "asv", "show", "HEAD"],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "suite.Steps.time_slower" in shown.stdout, shown.stdout + shown.stderr


def test_row_that_cannot_be_built_leaves_the_others(project):
    (project.folder / "env").mkdir()
    (project.folder / "env" / "2.0.unbuildable").write_text("no wheel for this Python")
    found = project.run("bench", "--row", "fake==1.0", "--row", "fake==2.0", "--bench", "slower", "--no-publish")
    assert found.returncode == 1
    assert "left out: fake 2.0 cannot be built: no wheel for this Python" in found.stderr
    assert {row for row, _ in project.stored()} == {"fake-py3.11-fake1.0"}
    bump = project.run("run", "fake", "1.0", "2.0", "--bench", "slower")
    assert bump.returncode == 4
    assert "no wheel for this Python" in bump.stderr


def test_all_neighbouring_pairs_in_one_session(project):
    found = project.run("run", "fake", "--all", "--rounds", "2", "--bench", "slower", "--json", "--no-publish")
    assert "left out: fake 9.0 needs Python >= 9" in found.stderr
    reports = json.loads(found.stdout)
    assert [(each["old"], each["new"]) for each in reports] == [("1.0", "1.5"), ("1.5", "2.0")]
    assert [each["summary"]["counts"]["regressed"] for each in reports] == [0, 2]
    assert found.returncode == 1
    assert len(sessions(project)) == 1


def test_interpreters_that_someone_else_built(tmp_path):
    project = Project(tmp_path / "project", TWO_FRAMEWORKS)
    interpreters = ("installed:/a", "installed:/b")
    found = project.run("run", "fake", *interpreters, "--bench", "slower|Both", "--json", "--no-publish")
    report = json.loads(found.stdout)
    assert (report["old"], report["new"]) == ("1.0", "2.0")
    verdicts = {
        (row["name"].rpartition(".")[2], *row["params"].values()): row["verdict"] for row in report["benchmarks"]
    }
    assert verdicts == {
        ("time_slower", "a"): "regressed",
        ("time_slower", "b"): "regressed",
        ("track_it", "fake"): "same",
    }


def test_one_interpreter_as_rows_of_two_frameworks(tmp_path):
    project = Project(tmp_path / "project", TWO_FRAMEWORKS)
    rows = ("--row", "fake installed:/a", "--row", "other installed:/a")
    found = project.run("bench", *rows, "--bench", "Both", "--rounds", "1", "--no-publish")
    assert found.returncode == 0, found.stderr
    (session,) = sessions(project)
    assert [len(process["entries"]) for process in session.processes] == [2]
    header, figures = found.stdout.splitlines()
    assert header.split("  ")[-3:] == ["fake 1.0", "other 3.0", ""]
    assert figures.split() == ["suite.Both.track_it", "11", "22"]


def test_budget_ends_measuring(project):
    found = project.run("run", "fake", "1.0", "2.0", "--rounds", "3", "--budget", "0.01", "--no-publish")
    (session,) = sessions(project)
    assert session.finished
    assert 3 <= len(session.processes) < 18
    assert found.returncode in (0, 1, 3)


def test_two_measurements_at_a_time(project):
    first = subprocess.Popen(
        project.command("run", "fake", "1.0", "2.0", "--rounds", "9", "--no-confirm", "--no-publish"),
        cwd=project.folder,
        env=project.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in first.stderr:
        if line.startswith("round 1/9"):
            break
    second = project.run("bench", "--row", "fake==1.0", "--bench", "alike", "--no-wait", "--no-publish")
    first.kill()
    first.wait()
    first.stderr.close()
    assert second.returncode == 2
    assert f"process {first.pid} of" in second.stderr
    assert "bumps run fake 1.0 → 2.0" in second.stderr


def test_interrupted_while_waiting_leaves_the_session_that_it_waited_for(project):
    command = ("run", "fake", "1.0", "2.0", "--rounds", "9", "--no-confirm", "--no-publish")

    def start_and_read_to(beginning):
        process = subprocess.Popen(
            project.command(*command), cwd=project.folder, env=project.environment, stderr=subprocess.PIPE, text=True
        )
        assert any(line.startswith(beginning) for line in process.stderr)
        return process

    first = start_and_read_to("round 1/9")
    second = start_and_read_to("waiting: ")
    for process in (second, first):
        process.send_signal(signal.SIGINT)
        process.communicate()
    (session,) = sessions(project)
    kept = len(session.processes)
    assert kept >= 1
    assert f"{kept} finished processes are kept" in project.run(*command).stderr


def test_orphans_of_a_killed_run_are_gone(tmp_path):
    slow = SUITE.replace("time.sleep(0.002)", "time.sleep(30)")
    project = Project(tmp_path / "project", slow)
    process = subprocess.Popen(
        project.command("bench", "--row", "fake==1.0", "--bench", "alike", "--no-publish"),
        cwd=project.folder,
        env=project.environment,
        stderr=subprocess.DEVNULL,
    )

    def workers():
        found = subprocess.run(["ps", "-ww", "-eo", "stat,args"], capture_output=True, text=True, check=True).stdout
        return [line for line in found.splitlines() if str(project.folder) in line and not line.startswith("Z")]

    deadline = time.monotonic() + 30
    while not any("worker.py" in line for line in workers()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 5
    while workers():
        assert time.monotonic() < deadline, workers()
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "name a framework and its releases"),
        (["run", "fake"], "name a framework and its releases"),
        (["run", "fake", "1.1", "2.0"], "the matrix has no fake 1.1; did you mean 1.5, 1.0?"),
        (["run", "flake", "1.0", "2.0"], "the matrix has no framework 'flake'; did you mean fake?"),
        (["run", "fake", "1.0", "9.0"], "fake 9.0 needs Python >= 9"),
        (["run", "fake", "1.0", "2.0", "--bench", "("], "--bench '(' is no regular expression"),
        (["run", "fake", "1.0", "2.0", "--bench", "nonesuch"], "no benchmark matches 'nonesuch'"),
        (["run", "fake", "1.0", "2.0", "--budget", "0"], "--budget is a number of minutes above 0"),
        (["run", "fake", "1.0", "2.0", "--machine", "../x"], "--machine '../x' cannot be a folder's name"),
        (["run", "fake", "1.0", "2.0", "--config", "none.json"], "there is no none.json"),
        (["bench", "--row", "fake"], "'fake' names no row"),
    ],
)
def test_wrong_usage_is_one_line(project, arguments, message):
    found = project.run(*arguments)
    assert found.returncode == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr
    assert len([line for line in found.stderr.splitlines() if line.startswith("bumps: ")]) == 1


@pytest.mark.parametrize("timeout", ["'60 s'", "-1", "float('nan')", "[60]"])
def test_timeout_that_is_no_number_of_seconds_is_said_in_one_line(tmp_path, timeout):
    project = Project(tmp_path / "project", SUITE + f"\n\nSteps.timeout = {timeout}\n")
    found = project.run("bench", "--row", "fake==1.0", "--bench", "alike")
    assert found.returncode == 2
    assert "the timeout of suite.Steps.time_alike, " in found.stderr
    assert "is no positive number of seconds" in found.stderr
    assert "Traceback" not in found.stderr


def test_what_gives_way_to_fewer_processes_is_said(project):
    project.run("run", "fake", "1.0", "2.0", "--rounds", "3", "--no-confirm", "--no-publish", "--bench", "alike")
    fewer = project.run("bench", "--row", "fake==2.0", "--bench", "time", "--rounds", "2", "--no-publish")
    assert "2 figures of up to 3 processes give way to this session's of 2; --rounds 3 measures as many" in fewer.stderr
    as_many = project.run("bench", "--row", "fake==2.0", "--bench", "time", "--rounds", "3", "--no-publish")
    assert "give way" not in as_many.stderr


def test_what_no_row_could_run_is_counted_by_its_reason(tmp_path):
    project = Project(tmp_path / "project", FAULTY)
    found = project.run("bench", "--row", "fake==1.0", "--bench", "track_", "--no-publish")
    assert found.returncode == 0, found.stderr
    heading, line, skipped = (line.split() for line in found.stdout.splitlines() if line)
    assert (heading[0], line) == ("benchmark", ["suite.Faulty.track_count", "41"])
    assert " ".join(skipped) == "1 skipped: not on this machine"


def test_each_expression_that_matches_nothing_is_said(project):
    expressions = ["alike", r"time_slower\('a'\)", "nonesuch", r"time_alike\(a\)"]
    options = [word for each in expressions for word in ("--bench", each)]
    found = project.run("bench", "--row", "fake==1.0", "--no-publish", *options)
    assert found.returncode == 0
    said = [line.partition(": ")[0] for line in found.stderr.splitlines() if line.startswith("no benchmark matches")]
    assert said == ["no benchmark matches 'nonesuch'", r"no benchmark matches 'time_alike\\(a\\)'"]


def test_read_only_results_are_said_in_one_line(project):
    if os.geteuid() == 0:
        (project.folder / "results").write_text("a file, not a folder")
    else:
        (project.folder / "results").mkdir(mode=0o500)
    found = project.run("bench", "--row", "fake==1.0", "--bench", "alike")
    assert found.returncode == 2
    assert "Traceback" not in found.stderr
