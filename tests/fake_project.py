"""A small asv project whose rows build in no time: real asv, real processes, a clock of the suite's own.

Row `fake 1.0` runs on the interpreter that runs the tests. Each sample is a whole number that no other sample has,
appended to samples.log with the process that took it: a count of what was measured that no journal knows of.
"""

import os
import pathlib
import subprocess
import sys
import textwrap
from collections import defaultdict

REPOSITORY = pathlib.Path(__file__).parent.parent

CONFIG = """
{
    "version": 1,
    "project": "fake",
    "repo": ".",
    "branches": ["HEAD"],
    "environment_type": "fake",
    "plugins": [".fake_environment"],
    "default_benchmark_timeout": 20,
    "matrix": {"req": {"fake": [null, "1.0", "1.5", "2.0", "9.0"]}, "env_nobuild": {"REPLICA": [null, "control"]}}
}
"""

ENVIRONMENT = """
import os
import pathlib
import shutil
import sys
import time

from asv import environment, util


class Fake(environment.Environment):
    tool_name = "fake"

    def __init__(self, conf, python, requirements, tagged_env_vars):
        self._python, self._requirements, self._tagged_env_vars = python, requirements, tagged_env_vars
        if requirements.get("fake") == "9.0":
            raise environment.EnvironmentUnavailable("fake 9.0 needs Python >= 9")
        super().__init__(conf, python, requirements, tagged_env_vars)

    @property
    def executable(self):
        return sys.executable

    @property
    def unbuildable(self):
        marker = pathlib.Path(self._env_dir, f"{self._requirements['fake']}.unbuildable")
        return marker.read_text() if marker.exists() else None

    def check_presence(self):
        return pathlib.Path(self._path, "whole").exists()

    def create(self):
        if self.unbuildable or self.check_presence():
            return
        shutil.rmtree(self._path, ignore_errors=True)
        for part in range(int(os.environ.get("FAKE_PARTS", "1"))):
            path = pathlib.Path(self._path, str(part))
            path.mkdir(parents=True)
            time.sleep(0.05)
        assert len(list(pathlib.Path(self._path).iterdir())) == part + 1, "two builds in one folder"
        pathlib.Path(self._path, "whole").touch()

    def benchmark_environment_variables(self):
        return {**os.environ, **self.env_vars, **self._global_env_vars, "FAKE_RELEASE": self._requirements["fake"]}

    def run(self, args, **kwargs):
        kwargs.pop("env", None)
        return util.check_output([self.executable, *args], env=self.benchmark_environment_variables(), **kwargs)

    def checkout_project(self, repo, commit_hash):
        pass

    def install_project(self, conf, repo, commit_hash):
        self._set_commit_hash(commit_hash)


class Installed(Fake):
    # An interpreter with two frameworks: /a holds fake 1.0, any other fake 2.0.

    tool_name = "installed"

    def __init__(self, conf, python, requirements, tagged_env_vars):
        held = {"fake": "1.0" if python == "/a" else "2.0", "other": "3.0"}
        super().__init__(conf, "3.11", held, {**tagged_env_vars, ("build", "INTERPRETER"): python.strip("/")})
"""

SUITE = '''
import os
import time

LOG = os.path.join(os.environ.get("ASV_CONF_DIR", "."), "samples.log")
BASE = {"1.0": 1_000_000_000, "1.5": 1_000_000_000, "2.0": 1_500_000_000}.get(os.environ.get("FAKE_RELEASE"), 0)


class Clock:
    now = 0

    def advance(self, seconds):
        self.now += seconds

    def __call__(self):
        return self.now


CLOCK = Clock()


def take_sample(name, base):
    """Append one line to the log; the length of the log is in the sample, so no two are alike."""
    descriptor = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    row = os.environ["ASV_ENV_NAME"]
    os.write(descriptor, f"{os.getpid()} {row} {name} ".encode())
    sample = base + os.lseek(descriptor, 0, os.SEEK_CUR)
    os.write(descriptor, f"{sample}\\n".encode())
    os.close(descriptor)
    CLOCK.advance(sample)


class Steps:
    params = [["a", "b"]]
    param_names = ["letter"]
    number = 1
    repeat = 3
    warmup_time = 0
    timer = staticmethod(CLOCK)
    released = []

    def setup(self, letter):
        time.sleep(0.002)

    def time_slower(self, letter):
        take_sample(f"slower-{letter}", BASE)

    def time_alike(self, letter):
        take_sample(f"alike-{letter}", 700_000_000)

    def release(self):
        self.released.append(os.getpid())
'''


class Project:
    """A project in a folder of its own. `environment` adds to what its commands see."""

    def __init__(self, folder: pathlib.Path, suite: str = SUITE, **environment: str):
        self.folder = folder
        self.environment = {
            **os.environ,
            "HOME": str(folder / "home"),
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(folder / "tmp"),
            **environment,
        }
        for name in ("home", "tmp", "benchmarks"):
            (folder / name).mkdir(parents=True)
        self.write("asv.conf.json", CONFIG)
        self.write("fake_environment.py", ENVIRONMENT)
        self.write("benchmarks/__init__.py", "")
        self.write("benchmarks/core.txt", "# everything\nSteps\n")
        self.write("benchmarks/suite.py", suite)
        git = ["git", "-c", "user.name=tester", "-c", "user.email=tester@example.org"]
        for arguments in (["init", "--quiet"], ["add", "asv.conf.json"], ["commit", "--quiet", "-m", "fake"]):
            subprocess.run([*git, *arguments], cwd=folder, env=self.environment, check=True)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(textwrap.dedent(text), encoding="utf-8")

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "bumps", *arguments]

    def run(self, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def logged(self) -> list[tuple[int, str, str, float]]:
        """Return (process, row, step, sample) of every sample that was ever taken, in order."""
        path = self.folder / "samples.log"
        found = []
        for line in path.read_text().splitlines() if path.exists() else ():
            # A kill may cut the last line of a process, and the next one then continues it.
            words = line.split()[-4:]
            if len(words) == 4:
                found.append((int(words[0]), words[1], words[2], float(words[3])))
        return found

    def stored(self) -> dict[tuple[str, str], list[float]]:
        """Return (row, step) → the samples in asv's result files."""
        from asv.results import iter_results

        found = defaultdict(list)
        for results in iter_results(str(self.folder / "results")):
            for benchmark in results.get_all_result_keys():
                params = results.get_result_params(benchmark)
                for letter, samples in zip(params[0], results.get_result_samples(benchmark, params), strict=True):
                    step = f"{benchmark.rpartition('_')[2]}-{letter.strip(chr(39))}"
                    found[results.env_name, step] += samples or []
        return dict(found)
