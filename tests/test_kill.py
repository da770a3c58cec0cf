"""kill -9 at random moments: no finished process's samples are lost, none are doubled."""

import collections
import pathlib
import random
import signal
import subprocess
import threading
import time

import pytest
from fake_project import Project

ROUNDS, ROWS, STEPS, REPEAT = 2, 3, 4, 3
COMMAND = ("run", "fake", "1.0", "2.0", "--rounds", str(ROUNDS), "--no-confirm")
KILLS = 20


class Killed:
    """One run of the driver that is killed; `lines` is what it said until then."""

    def __init__(self, project: Project):
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            project.command(*COMMAND),
            cwd=project.folder,
            env=project.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stderr:
            self.lines.append(line)

    def wait_for(self, condition, timeout: float = 60) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert self.process.poll() is None, f"ended by itself: {''.join(self.lines)}"
            assert time.monotonic() < deadline, f"never came to it: {''.join(self.lines)}"
            time.sleep(0.002)

    def kill(self) -> bool:
        """Kill the driver alone: what it started must notice by itself. Return false when it had already ended."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        return self.process.returncode == -signal.SIGKILL

    def announced(self) -> int:
        return sum(line.startswith("round ") for line in self.lines)


def complete_processes(project: Project, since: int) -> dict[int, list[float]]:
    """Return process → samples, of those that took every sample they were started for."""
    found = collections.defaultdict(list)
    for process, _, _, sample in project.logged()[since:]:
        found[process].append(sample)
    return {process: samples for process, samples in found.items() if len(samples) == STEPS * REPEAT}


def check_session(project: Project, since: int, kills: int, announced: int) -> None:
    """Compare the result files with the log of samples, for the session that began after `since` samples."""
    stored = project.stored()
    assert set(collections.Counter(map(len, stored.values())).items()) == {(ROUNDS * REPEAT, ROWS * STEPS)}
    everything = [sample for samples in stored.values() for sample in samples]
    assert len(set(everything)) == len(everything), "a sample is stored twice"
    where = {sample: (row, step) for _, row, step, sample in project.logged()[since:]}
    for place, samples in stored.items():
        assert {where[sample] for sample in samples} == {place}
    complete = complete_processes(project, since)
    kept = {process for process, samples in complete.items() if set(samples) <= set(everything)}
    assert len(kept) == ROUNDS * ROWS
    assert len(complete) - len(kept) <= kills, "more than the process in progress was lost"
    assert announced <= ROUNDS * ROWS, "a process that was said to be finished was measured again"


@pytest.mark.end_to_end
@pytest.mark.timeout(300)
def test_kills_lose_and_double_nothing(tmp_path):
    """Sessions that are each killed while they install, measure, append and publish."""
    project = Project(tmp_path / "project", FAKE_PARTS="8")
    site, old_site = (project.folder / name / "index.html" for name in ("html", "html.old"))
    moments = random.Random(20260801)
    first = project.run(*COMMAND)
    assert site.exists(), first.stderr
    kills = 0
    while kills < KILLS:
        since, announced = len(project.logged()), 0

        for environment in pathlib.Path(project.folder / "env").glob("*/whole"):
            environment.unlink()
        run = Killed(project)
        run.wait_for(lambda run=run: any(line.startswith("building") for line in run.lines))
        time.sleep(moments.uniform(0, 0.3))
        assert run.kill()
        assert len(project.logged()) == since

        run = Killed(project)
        wanted = since + moments.randrange(STEPS * REPEAT * ROWS)
        run.wait_for(lambda wanted=wanted: len(project.logged()) > wanted)
        assert run.kill()
        announced += run.announced()

        run = Killed(project)
        done = len(complete_processes(project, since))
        run.wait_for(lambda done=done, since=since: len(complete_processes(project, since)) > done)
        time.sleep(moments.uniform(0, 0.2))
        assert run.kill()
        announced += run.announced()

        # The session is finished before the site is written.
        run = Killed(project)
        run.wait_for(lambda run=run: any(line.startswith("measured for") for line in run.lines))
        time.sleep(moments.uniform(0, 0.6))
        kills += 3 + run.kill()
        announced += run.announced()
        assert site.exists() or old_site.exists()
        check_session(project, since, kills=3, announced=announced)

    since = len(project.logged())
    final = project.run(*COMMAND)
    assert final.returncode in (0, 1, 3), final.stderr
    check_session(project, since, kills=0, announced=final.stderr.count("round "))
    assert site.exists()
    left = {path.name for path in project.folder.iterdir()}
    assert not left & {"html.new", "html.old"}
    assert not list((project.folder / "results").rglob("*.part"))
