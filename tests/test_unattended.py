"""The whole unattended path: a release appears on the index, its issue is opened, and closed when it is well again.

Every step of the workflows that is a command is run as it stands in the workflow's file, each job in a checkout of its
own. The package index is a stand-in that hides releases of the frameworks; `gh` is a recording one. Environments,
measurements and verdicts are real.
"""

import contextlib
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

import pytest
import yaml
from archive import EPOCH, benchmark, iso, samples_of, write_journal, write_row, write_sidecar, write_suite
from recording_gh import RecordingGh
from row_project import PYTHON, REPOSITORY

from env_matrix import index

OLD, NEW = "0.9.2", "0.10.2"
STEP = r"matmul_chain\.MatmulChain\.time_compiled_forward\('jax', 'fp32', 'small'"
# What a step of the new release takes longer while the fault is planted: an idle machine's takes 5 ms.
FAULT = """
import time as _time

_block_until_ready = block_until_ready


def block_until_ready(result):
    _time.sleep(0.04)
    return _block_until_ready(result)
"""
# A machine under load must not decide this test.
MARGIN = 0.5


class Index(http.server.BaseHTTPRequestHandler):
    """The machine's own index, without the frameworks' releases that `server.shown` does not name."""

    def do_GET(self):
        project = self.path.strip("/").rpartition("/")[2]
        location = f"{self.server.real.default.rstrip('/')}/{project}/"
        if project not in self.server.shown:
            self.send_response(302)
            self.send_header("Location", location)
            self.end_headers()
            return
        content = json.loads(json.dumps(self.server.listing(project, location)))
        shown = self.server.shown[project]
        content["files"] = [
            {**each, "url": urllib.parse.urljoin(location, each["url"])}
            for each in content["files"]
            if (parsed := index._parse(each, project)) and parsed.version.public in shown
        ]
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def package_index():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
    server.real = index.settings()
    listings = {}

    def listing(project, location):
        if project not in listings:
            request = urllib.request.Request(location, headers={"Accept": index.ACCEPT.partition(",")[0]})
            with urllib.request.urlopen(request, timeout=60) as response:
                listings[project] = json.load(response)
        return listings[project]

    server.listing, server.shown = listing, {}
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


class Hosted:
    """A repository on a server, and jobs that check it out."""

    def __init__(self, folder: pathlib.Path, package_index: http.server.ThreadingHTTPServer):
        self.folder = folder
        self.gh = RecordingGh(folder / "bin")
        self.summary = folder / "summary.md"
        (folder / "home").mkdir()
        (folder / "tmp").mkdir()
        home = pathlib.Path.home()
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("BENCH_", "ASV", "GIT_", "UV_"))}
        self.environment = {
            **kept,
            "PATH": self.gh.path,
            # asv's machine file is this home's; pip's settings and cache are the user's.
            "HOME": str(folder / "home"),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(home / ".cache")),
            "XDG_CONFIG_HOME": os.environ.get("XDG_CONFIG_HOME", str(home / ".config")),
            "UV_CACHE_DIR": str(folder / "uv-cache"),
            "UV_DEFAULT_INDEX": f"http://127.0.0.1:{package_index.server_address[1]}/simple",
            "BENCH_ACCELERATOR": "cpu",
            # The runner is a machine of its own: it waits for nobody else's measurement.
            "TMPDIR": str(folder / "tmp"),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def run(self, checkout: pathlib.Path, command: str, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", "-c", command],
            cwd=checkout,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def do(self, checkout: pathlib.Path, command: str, **environment: str) -> str:
        """Run a command that has to succeed; return what it printed."""
        run = self.run(checkout, command, **environment)
        assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"
        return run.stdout

    def publish(self, change) -> None:
        """Put this working tree on the server's main branch, changed by `change`."""
        source = self.folder / "source"
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=REPOSITORY,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for name in filter(None, listed.split("\0")):
            if (REPOSITORY / name).is_file():
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(REPOSITORY / name, source / name)
        change(source)
        self.do(self.folder, "git init --quiet --bare --initial-branch main origin")
        self.do(source, "git init --quiet --initial-branch main && git remote add origin ../origin && git add .")
        self.do(source, "git -c user.name=tester -c user.email=tester@example.org commit --quiet --message main")
        self.do(source, "git push --quiet origin main")

    def checkout(self, name: str, branch: str = "main") -> pathlib.Path:
        self.do(self.folder, f"git clone --quiet --branch {branch} origin {name}")
        (self.folder / name / ".venv").symlink_to(pathlib.Path(sys.prefix))
        return self.folder / name

    def job(self, workflow: str, job: str, checkout: pathlib.Path, **values: str) -> list[str]:
        """Run the commands of a workflow's job; `values` are the environment variables that GitHub would fill in."""
        content = yaml.safe_load((checkout / ".github" / "workflows" / f"{workflow}.yml").read_text())
        outputs = []
        for step in content["jobs"][job]["steps"]:
            command = step.get("run", "make setup")
            needed = {name: values.get(name, "") for name in step.get("env", {})}
            if command == "make setup" or step.get("if") == "${{ inputs.framework }}":
                continue
            outputs.append(self.do(checkout, command, **needed))
        return outputs


def narrow(source: pathlib.Path) -> None:
    """A matrix without the newest release and a selection of one step, so that measuring takes no hours."""
    (source / "benchmarks" / "core.txt").write_text(f"{STEP}\n")
    config = source / "asv.conf.json"
    thresholds = '"regressions_thresholds": {'
    text = config.read_text()
    assert thresholds in text
    config.write_text(text.replace(thresholds, f'{thresholds}\n        ".*": {MARGIN}'))


def rows_of(checkout: pathlib.Path, framework: str) -> list[str]:
    listed = subprocess.run(
        [sys.executable, "-m", "env_matrix", "list", "--json"], cwd=checkout, check=True, capture_output=True, text=True
    )
    return [each["release"] for each in json.loads(listed.stdout) if each["framework"] == framework]


@pytest.mark.parametrize(
    ("says", "status", "ends"), [("### verdicts", 1, 0), ("### verdicts", 3, 0), ("", 1, 1), ("### verdicts", 4, 1)]
)
def test_a_regression_fails_no_job_and_a_crash_does(tmp_path, says, status, ends):
    for folder in ("tools", ".venv/bin", "results"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(REPOSITORY / "tools" / "measure_bumps.sh", tmp_path / "tools")
    (tmp_path / "results" / "benchmarks.json").write_text("{}")
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(f"#!/bin/sh\nprintf '{says}'\nexit {status}\n")
    python.chmod(0o755)
    summary = tmp_path / "summary.md"
    run = subprocess.run(
        ["tools/measure_bumps.sh", "jax", "latest"],
        cwd=tmp_path,
        env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)},
        check=False,
    )
    assert run.returncode == ends
    assert summary.read_text().strip() == says


def test_what_is_measured_is_kept_at_once_and_is_results_alone(tmp_path):
    """A job that is stopped at its time limit while it measures keeps the bumps before."""
    for folder in ("tools", ".venv/bin", "results/old/sessions", "results/box/sessions"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(REPOSITORY / "tools" / "measure_bumps.sh", tmp_path / "tools")
    for name in ("benchmarks.json", "old/machine.json", "old/sessions/1.jsonl", "box/machine.json", "box/0-row.json"):
        (tmp_path / "results" / name).write_text("{}")
        os.utime(tmp_path / "results" / name, (EPOCH, EPOCH))
    (tmp_path / "results" / "box" / "0-row.json.damaged").write_text("{")
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(
        "#!/bin/bash\n"
        "if [ -e hang ]; then touch hangs; exec sleep 600; fi\n"
        "touch hang results/box/sessions/2.jsonl\n"
        "echo verdicts\n"
    )
    python.chmod(0o755)
    constraints = tmp_path / "env_matrix" / "constraints"
    constraints.mkdir(parents=True)
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "main")
    for name in ("jax-0.10.2", "torch-2.14.1"):
        (constraints / f"{name}.txt").write_text(name)
    git(tmp_path, "add", "env_matrix")
    git(tmp_path, "commit", "--quiet", "--message", "rows")
    environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "BASE": "HEAD~1"}
    job = subprocess.Popen(["tools/measure_bumps.sh"], cwd=tmp_path, env=environment, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "hangs").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    measured = tmp_path / "measured"
    assert sorted(str(path.relative_to(measured)) for path in measured.rglob("*.*")) == [
        "benchmarks.json",
        "box/0-row.json",
        "box/machine.json",
        "box/sessions/2.jsonl",
    ]


def test_a_base_that_is_no_commit_is_one_line():
    run = subprocess.run(
        [REPOSITORY / "tools" / "measure_bumps.sh"],
        env={**os.environ, "BASE": "nonsense"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (2, "measure_bumps: BASE is no commit: nonsense\n")


def git(folder, *words):
    author = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
    return subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("before", "after", "measured"),
    [
        (["jax-0.9.2"], ["jax-0.9.2", "jax-0.10.2", "torch-2.13.0"], ["run jax 0.10.2", "run torch 2.13.0"]),
        # One takes the place of another that is nearly the same.
        (["jax-0.9.1"], ["jax-0.9.2"], ["run jax 0.9.2"]),
        (["jax-0.9.1", "jax-0.9.2"], ["jax-0.9.2"], []),
    ],
)
def test_every_release_that_a_change_adds_is_measured(tmp_path, before, after, measured):
    for folder in ("tools", ".venv/bin", "results"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(REPOSITORY / "tools" / "measure_bumps.sh", tmp_path / "tools")
    (tmp_path / "results" / "benchmarks.json").write_text("{}")
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text('#!/bin/sh\nshift 2\necho "$*"\n')
    python.chmod(0o755)
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    constraints = tmp_path / "env_matrix" / "constraints"
    for names in (before, after):
        shutil.rmtree(constraints, ignore_errors=True)
        constraints.mkdir(parents=True)
        for name in names:
            pins = "".join(f"package-{number}==1.0\n" for number in range(30))
            (constraints / f"{name}.txt").write_text(f"{pins}{name}\n")
        git(tmp_path, "add", "env_matrix")
        git(tmp_path, "commit", "--quiet", "--message", "rows")
    summary = tmp_path / "summary.md"
    environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(summary), "BASE": "HEAD~1"}
    subprocess.run(["tools/measure_bumps.sh", "--budget", "90"], cwd=tmp_path, env=environment, check=True)
    said = [line for line in summary.read_text().splitlines() if line]
    expected = [f"{each} --budget 90 --no-publish --markdown" for each in measured]
    assert said == (expected or ["This change adds no release: nothing was measured."])
    # What wrote no journal measured nothing; a list of benchmarks alone is no result.
    assert not (tmp_path / "measured").exists()


def test_nights_are_kept_together_and_nothing_else_is(tmp_path):
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch", "main", "origin")
    git(tmp_path, "clone", "--quiet", "origin", "checkout")
    checkout = tmp_path / "checkout"
    (checkout / "tools").mkdir()
    shutil.copy(REPOSITORY / "tools" / "keep_results.sh", checkout / "tools")
    git(checkout, "add", ".")
    (checkout / ".venv").symlink_to(pathlib.Path(sys.executable).parent.parent)
    (checkout / "bumps").symlink_to(REPOSITORY / "bumps")
    git(checkout, "commit", "--quiet", "--message", "main")
    step = benchmark("b.time_it")
    # All of a night is old: its journal is packed and its samples are thinned when it is kept.
    for night, medians in (("first", [2.0]), ("second", [3.0]), ("second", [3.0])):
        incoming = tmp_path / "incoming"
        shutil.rmtree(incoming, ignore_errors=True)
        write_suite(incoming, [step])
        path, env_name = write_row(incoming, {"jax": NEW}, [(step, [samples_of(medians)])])
        entry = {"benchmark": "b.time_it", "index": 0, "samples": samples_of(medians), "number": 1}
        write_journal(incoming, night, [(env_name, 0, 0, EPOCH, [entry])])
        with open(incoming / "box" / "sessions" / f"{night}.jsonl", "a") as stream:
            stream.write(json.dumps({"record": "finished"}) + "\n")
        status = {"record": "status", "benchmark": "b.time_it", "status": "skipped"}
        write_sidecar(incoming, "row", [{**status, "time": iso(EPOCH + second)} for second in (1, 2)])
        (incoming / "box" / "run.sh").write_text("exit 1")
        (incoming / "box" / "0-row.json").write_text("1")
        summary = tmp_path / "summary.md"
        summary.unlink(missing_ok=True)
        done = subprocess.run(
            ["tools/keep_results.sh", incoming],
            cwd=checkout,
            env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)},
            check=True,
            capture_output=True,
            text=True,
        )
        for said in (done.stdout, summary.read_text()):
            assert "left out: " in said
            assert "0-row.json: not readable as a result file" in said
    assert "nothing new" in done.stdout
    assert git(checkout, "ls-tree", "-r", "--name-only", "origin/results").split() == [
        "results/benchmarks.json",
        f"results/box/{path.name}",
        "results/box/machine.json",
        "results/box/row.jsonl",
        "results/box/sessions/first.jsonl",
        "results/box/sessions/second.jsonl",
    ]
    newest = json.loads(git(checkout, "show", f"origin/results:results/box/{path.name}"))
    values = dict(zip(newest["result_columns"], newest["results"]["b.time_it"], strict=False))
    assert values["samples"] == [[3.0]]
    (record,) = git(checkout, "show", "origin/results:results/box/row.jsonl").splitlines()
    assert json.loads(record)["time"] == iso(EPOCH + 2)
    # Pruned, and not brought a second time.
    for night, median in (("first", 2.0), ("second", 3.0)):
        kept = git(checkout, "show", f"origin/results:results/box/sessions/{night}.jsonl").splitlines()
        assert [json.loads(line)["record"] for line in kept] == ["session", "items", "process", "finished"]
        assert json.loads(kept[2])["medians"] == [[0, median]]
    assert git(checkout, "log", "--format=%s", "origin/results").split() == ["Results", "Results"]
    assert git(checkout, "worktree", "list").count("\n") == 1
    # A Python that falls over keeps nothing, and fails the job.
    (checkout / "bumps").unlink()
    crashed = subprocess.run(["tools/keep_results.sh", incoming], cwd=checkout, capture_output=True, check=False)
    assert crashed.returncode == 1
    assert git(checkout, "worktree", "list").count("\n") == 1


@pytest.mark.end_to_end
def test_a_release_appears_regresses_is_told_and_is_cleared(tmp_path, package_index):
    hosted = Hosted(tmp_path, package_index)

    def withhold(source):
        narrow(source)
        newer = rows_of(source, "jax")
        newer = newer[newer.index(OLD) + 1 :]
        assert NEW in newer
        hosted.do(source, f"{sys.executable} -m env_matrix remove {' '.join(f'jax=={each}' for each in newer)}")

    hosted.publish(withhold)
    source = tmp_path / "source"
    package_index.shown = {framework: rows_of(source, framework) for framework in ("torch", "jax")}

    # The days before: nothing is new.
    (said,) = hosted.job("watch", "watch", hosted.checkout("watch-1"), FRAMEWORK="jax")
    assert said == "no release of jax is newer than the matrix\n"
    assert not hosted.gh.pulls

    # The release appears: a pull request, the same day or the next only once.
    package_index.shown["jax"].append(NEW)
    hosted.job("watch", "watch", hosted.checkout("watch-2"), FRAMEWORK="jax")
    assert [(each["branch"], each["title"]) for each in hosted.gh.pulls] == [("rows/jax", f"Rows: jax=={NEW}")]
    started = ["workflow run ci.yml --ref rows/jax", "workflow run bump.yml --ref rows/jax"]
    assert hosted.gh.calls("workflow run") == started
    (said,) = hosted.job("watch", "watch", hosted.checkout("watch-3"), FRAMEWORK="jax")
    assert said.endswith(f"jax=={NEW}: proposed before\n")
    assert hosted.gh.calls("workflow run") == started

    # The runner with the machine; what the new release does to a step is planted into the release itself.
    runner = hosted.checkout("runner", "rows/jax")
    assert rows_of(runner, "jax")[-1] == NEW
    assert f"\njax=={NEW}\n" in (runner / "env_matrix" / "constraints" / f"jax-{NEW}.txt").read_text()
    hosted.do(runner, f".venv/bin/python -m env_matrix add --build jax=={OLD} jax=={NEW}")
    (faulty,) = runner.glob(f"env/*/lib/python{PYTHON}/site-packages/jax-{NEW}.dist-info")
    faulty = faulty.parent / "jax" / "__init__.py"
    sound = faulty.read_text()
    faulty.write_text(sound + FAULT)
    head = hosted.do(runner, "git rev-parse HEAD").strip()
    hosted.job("bump", "measure", runner, BASE="origin/main")
    assert "1 regressed" in hosted.summary.read_text()
    assert "two suites" not in hosted.summary.read_text()

    # The job that may write sees the artifact alone.
    hosted.job("bump", "tell", hosted.checkout("tell"), RUN="17", COMMIT=head)
    assert hosted.gh.calls("workflow run report.yml") == [f"workflow run report.yml --field run=17 --field head={head}"]

    def report(name):
        checkout = hosted.checkout(name)
        shutil.copytree(runner / "measured", checkout / "incoming")
        hosted.job("report", "report", checkout, HEAD_SHA=head, SITE="https://example.invalid/site")

    report("report-1")
    (issue,) = hosted.gh.issues
    assert issue["state"] == "OPEN"
    assert issue["title"].startswith(f"jax {OLD} → {NEW}: 1 of 1 regressed, worst ×")
    assert "https://example.invalid/site/bumps.html#" in issue["body"]
    (pull,) = hosted.gh.pulls
    assert f"jax {OLD} → {NEW}" in pull["comment"]
    assert "| regressed |" in pull["comment"]

    # The release is well again.
    faulty.write_text(sound)
    hosted.summary.unlink()
    hosted.job("bump", "measure", runner, BASE="origin/main")
    assert "| regressed |" not in hosted.summary.read_text()
    report("report-2")
    (issue,) = hosted.gh.issues
    assert issue["state"] == "CLOSED"
    assert issue["comments"] == ["A later measurement finds nothing regressed or broken."]
    assert "| regressed |" not in hosted.gh.pulls[0]["comment"]

    # What is measured every night is kept on a branch of its own, the first night and the next.
    for night in ("keep-1", "keep-2"):
        checkout = hosted.checkout(night)
        shutil.copytree(runner / "measured", checkout / "incoming")
        (said,) = hosted.job("nightly", "keep", checkout)
        assert ("nothing new" in said) == (night == "keep-2")
    kept = hosted.do(source, "git fetch --quiet origin && git ls-tree -r --name-only origin/results").splitlines()
    assert sorted(kept) == sorted(
        f"results/{path.relative_to(runner / 'measured')}" for path in (runner / "measured").rglob("*.json*")
    )
