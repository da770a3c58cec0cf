"""A small asv project on the real environments: rows of one framework, the repository's constraints, its own suite."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

REPOSITORY = pathlib.Path(__file__).parent.parent
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
RELEASE = "0.10.2"
TORCH_RELEASE = "2.13.0"


def row_of(framework: str, release: str) -> str:
    """Return asv's name of a row."""
    return f"pinned-py{PYTHON}-{framework}{release}-BENCH_ACCELERATORcpu"


ROW = row_of("jax", RELEASE)
MACHINE = "box"

SUITE = """
    import ctypes
    import os
    import time


    class Steps:
        params = [["plain", "crash", "hang", "leave"]]
        param_names = ["what"]
        number = 1
        repeat = 2
        rounds = 1
        warmup_time = 0
        timeout = 5

        def setup(self, what):
            import jax.numpy

            self.one = jax.numpy.ones(4)

        def time_it(self, what):
            if what == "crash":
                ctypes.string_at(0)
            if what == "hang":
                time.sleep(60)
            if what == "leave":
                print("leaving", flush=True)
                os._exit(3)
            (self.one + 1).block_until_ready()
"""


class RowProject:
    """A project in a folder of its own; asv runs there as a user would run it."""

    def __init__(self, folder: pathlib.Path, releases: tuple[str, ...] = (RELEASE,), framework: str = "jax"):
        self.folder, self.framework = folder, framework
        (folder / "benchmarks").mkdir(parents=True)
        (folder / "home").mkdir()
        self.configure(releases)
        (folder / "benchmarks" / "__init__.py").touch()
        (folder / "benchmarks" / "suite.py").write_text(textwrap.dedent(SUITE))
        machine = {"machine": MACHINE, "os": "", "arch": "", "cpu": "", "num_cpu": "2", "ram": ""}
        (folder / "home" / ".asv-machine.json").write_text(json.dumps({MACHINE: machine, "version": 1}))
        git = ["git", "-c", "user.name=tester", "-c", "user.email=tester@example.org"]
        for arguments in (["init", "-q"], ["add", "benchmarks"], ["commit", "-q", "-m", "suite"]):
            subprocess.run([*git, *arguments], cwd=folder, check=True)

    def configure(self, releases: tuple[str, ...] = (RELEASE,), **matrix: dict) -> None:
        """Write asv.conf.json; `matrix` adds `env` or `env_nobuild` lists."""
        configuration = {
            "version": 1,
            "project": "rows",
            "repo": ".",
            "branches": ["HEAD"],
            "environment_type": "pinned",
            "plugins": [".env_matrix.environment"],
            "install_timeout": 900,
            "matrix": {"req": {self.framework: [None, *releases]}, **matrix},
            "exclude": [
                {"req": {self.framework: None}},
                {"environment_type": "installed", "req": {self.framework: ".+"}},
            ],
        }
        (self.folder / "asv.conf.json").write_text(json.dumps(configuration))

    def copy_of(self, folder: pathlib.Path) -> "RowProject":
        """Return the same project elsewhere, with a copy of its rows."""
        shutil.copytree(self.folder, folder, symlinks=True)
        copy = object.__new__(RowProject)
        copy.folder, copy.framework = folder, self.framework
        return copy

    @property
    def environment(self) -> dict[str, str]:
        """What a command in the project sees: the user's pip settings and cache, another user's machines."""
        home = pathlib.Path.home()
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("BENCH_", "ASV"))}
        return {
            **kept,
            "HOME": str(self.folder / "home"),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(home / ".cache")),
            "XDG_CONFIG_HOME": os.environ.get("XDG_CONFIG_HOME", str(home / ".config")),
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONDONTWRITEBYTECODE": "1",
            "BENCH_ACCELERATOR": "cpu",
        }

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        """Start asv."""
        return subprocess.Popen(
            [sys.executable, "-m", "asv", *arguments],
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def asv(self, *arguments: str, timeout: float = 600, **environment: str) -> subprocess.CompletedProcess:
        """Run asv; its output is in `stdout`."""
        process = self.start(*arguments, **environment)
        output, _ = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(process.args, process.returncode, output, "")

    @property
    def row_folders(self) -> list[pathlib.Path]:
        """Folders of the rows on disk."""
        return sorted(path.parent for path in (self.folder / "env").glob("*/bin"))

    @property
    def python(self) -> pathlib.Path:
        """The Python of the only row."""
        (folder,) = self.row_folders
        return folder / "bin" / "python"

    def result_files(self, row: str = ROW) -> list[pathlib.Path]:
        return sorted((self.folder / "results" / MACHINE).glob(f"????????-{row}.json"))

    def records(self, row: str = ROW) -> list[dict]:
        path = self.folder / "results" / MACHINE / f"{row}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def record(self, record: str, row: str = ROW) -> dict | None:
        """Return the newest record of a kind."""
        return next((each for each in reversed(self.records(row)) if each["record"] == record), None)
