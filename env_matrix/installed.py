"""`installed` rows: an interpreter that someone else built. What it holds is read and recorded, never changed."""

import functools
import os
import pathlib

from asv import environment, util
from asv.console import log
from packaging.utils import canonicalize_name
from packaging.version import Version

from env_matrix import accelerator, harness, install, interpreters, verify
from env_matrix.progress import say
from env_matrix.releases import FRAMEWORKS
from env_matrix.row_environment import Row, device_variables

INTERPRETER = "BENCH_INTERPRETER"


@functools.cache
def _inspected(executable: str, wanted: str | None) -> dict:
    """Read an interpreter once for all of its rows: importing both frameworks takes seconds."""
    say(f"reading {executable}")
    return verify.inspect(executable, FRAMEWORKS, {**os.environ, **device_variables(wanted or "")})


class Installed(Row):
    """One interpreter, whatever the matrix says. Its requirements are the releases of torch and jax that it holds."""

    tool_name = "installed"

    def __init__(self, conf, python, requirements, tagged_env_vars):
        """Raises EnvironmentUnavailable, which asv prints as one line, for an interpreter that does not run, holds
        neither framework, or cannot measure on the accelerator that was asked for."""
        wanted = accelerator.asked_for()
        try:
            label, self._executable = interpreters.find(python)
            self._found = _inspected(self._executable, wanted)
            self._working, chosen = self._able(python, wanted)
            self._check_runner(python)
        except util.UserError as error:
            raise environment.EnvironmentUnavailable(str(error)) from None
        variables = {("build", accelerator.VARIABLE): chosen, ("build", INTERPRETER): label}
        releases = {name: Version(facts["version"]).public for name, facts in self._working.items()}
        version = ".".join(self._found["python"].split(".")[:2])
        self._commit = None
        super().__init__(conf, version, releases, {**tagged_env_vars, **variables})

    def _able(self, python: str, wanted: str | None) -> tuple[dict[str, dict], str]:
        """Return (framework -> facts of those that can measure, the accelerator)."""
        frameworks = self._found["frameworks"]
        working = {name: facts for name, facts in frameworks.items() if "error" not in facts}
        if not working:
            errors = "; ".join(f"{name}: {facts['error']}" for name, facts in frameworks.items())
            raise util.UserError(f"{python} holds neither torch nor jax ({errors})")
        if wanted is None:
            seeing = {name: facts for name, facts in working.items() if facts["sees_gpu"] and facts["cuda_major"]}
            majors = [facts["cuda_major"] for facts in seeing.values()]
            able, chosen = (seeing, f"cuda{max(majors)}") if seeing else (working, "cpu")
        else:
            refused = {
                name: verify.refuse_device(facts, f"{name} {facts['version']} of {python}", wanted)
                for name, facts in working.items()
            }
            able, chosen = {name: facts for name, facts in working.items() if not refused[name]}, wanted
            if not able:
                raise util.UserError("; ".join(refused.values()))
        for name in sorted(set(working) - set(able)):
            log.warning(f"{name} of {python} is left out: it cannot measure on {chosen}")
        return able, chosen

    def _check_runner(self, python: str) -> None:
        """Raise UserError where our asv_runner does not run on the interpreter and it has none of its own."""
        if not harness.runner_pythons().contains(self._found["python"]) and self._own_runner is None:
            raise util.UserError(
                f"{python} is Python {self._found['python']} without {harness.RUNNER}, and ours needs Python "
                f"{harness.runner_pythons()}; install there: pip install {harness.RUNNER}"
            )

    @property
    def _own_runner(self) -> str | None:
        packages = {canonicalize_name(name): version for name, version in self._found["packages"].items()}
        return packages.get(canonicalize_name(harness.RUNNER))

    @property
    def executable(self):
        return self._executable

    @property
    def unbuildable(self):
        return None

    @property
    def installed_commit_hash(self):
        return self._commit

    def check_presence(self):
        return True

    def create(self):
        """Record what is there."""
        if self._is_setup:
            return
        for framework, release in self._requirements.items():
            facts = self._working[framework]
            self._record_inventory(
                {
                    "framework": framework,
                    "release": release,
                    "version": facts["version"],
                    "python": self._found["python"],
                    "executable": self._executable,
                    "accelerator": self.accelerator,
                    "packages": self._found["packages"],
                    "devices": facts["devices"],
                    "constraints": None,
                    "harness": install.sha256(harness.FILE),
                    "override": None,
                    "mismatches": [],
                    "build_seconds": 0.0,
                    "ld_library_path": "kept" if os.environ.get("LD_LIBRARY_PATH") else None,
                }
            )
        self._is_setup = True

    def benchmark_environment_variables(self):
        """Return the environment of a benchmark process: the user's own, LD_LIBRARY_PATH and PYTHONPATH included.

        A cluster's module is made of such variables.
        """
        variables = super().benchmark_environment_variables()
        paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        if self._own_runner != harness.runner_version():
            # The same harness as in every other row, or figures could differ for its sake.
            paths.insert(0, str(harness.runner_folder(pathlib.Path(self._env_dir).absolute() / "harness")))
        if paths:
            # Both: asv's run script takes PYTHONPATH off sys.path again unless the other says the same.
            variables["PYTHONPATH"] = variables["ASV_PYTHONPATH"] = os.pathsep.join(paths)
        return variables

    def install_project(self, conf, repo, commit_hash):
        """Record the commit."""
        self.create()
        self._commit = commit_hash
        self._set_commit_hash(commit_hash)
