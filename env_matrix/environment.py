"""The asv environments: `pinned` rows that we install, and `installed` interpreters that someone else built.

An asv plugin: asv.conf.json names this module, and asv finds the classes as subclasses of its Environment.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import tomllib

from asv import environment, machine, util
from asv.console import log
from packaging.version import Version

from env_matrix import accelerator, constraints, install, sidecar, verify
from env_matrix.releases import FRAMEWORKS, Release

IDENTITY_FILE = "row.json"
UNBUILDABLE_SUFFIX = "-unbuildable"
INTERPRETERS = pathlib.Path(__file__).parent / "interpreters.toml"


def find_python(version: str) -> str | None:
    """Return a Python of this version (`3.12`) that runs, None without one.

    The one that runs asv comes first; a command on PATH may be a version manager's shim that starts nothing.
    """
    candidates = [f"python{version}", f"python{version.split('.')[0]}", "python"]
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    for candidate in candidates:
        path = shutil.which(candidate)
        if path and _version_of(path) == version:
            return path
    return None


def _version_of(path: str) -> str | None:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        run = subprocess.run([path, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.strip() if run.returncode == 0 else None


def machine_name() -> str:
    """Return the name under which asv stores this machine's results: BENCH_MACHINE, --machine, or asv's own choice."""
    if os.environ.get("BENCH_MACHINE"):
        return os.environ["BENCH_MACHINE"]
    for position, argument in enumerate(sys.argv):
        if argument in ("--machine", "-m") and position + 1 < len(sys.argv):
            return sys.argv[position + 1]
        if argument.startswith("--machine="):
            return argument.partition("=")[2]
    name = machine.Machine.get_unique_machine_name()
    try:
        return machine.MachineCollection.load(name)["machine"]
    except (util.UserError, KeyError):
        return name


class Row(environment.Environment):
    """What both kinds of row share: the environment that benchmarks see, the sidecar, and no project to install."""

    def __init__(self, conf, python, requirements, tagged_env_vars):
        self._python, self._requirements, self._tagged_env_vars = python, requirements, tagged_env_vars
        self._results_dir = conf.results_dir
        super().__init__(conf, python, requirements, tagged_env_vars)

    @property
    def accelerator(self) -> str:
        return self.env_vars["BENCH_ACCELERATOR"]

    @property
    def sidecar_path(self) -> pathlib.Path:
        return sidecar.path_of(self._results_dir, machine_name(), self.name)

    @property
    def executable(self) -> str:
        """Absolute path of the row's Python."""
        raise NotImplementedError

    def benchmark_environment_variables(self) -> dict[str, str]:
        """Return the whole environment of a benchmark process of this row."""
        variables = {**os.environ, **self.env_vars, **self._global_env_vars}
        # The driver's and the user's CUDA libraries must not shadow those that the row brought.
        for name in ("LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME"):
            variables.pop(name, None)
        cache = os.path.join(self._path, "cache")
        variables.update(
            BENCH_SIDECAR=str(self.sidecar_path),
            BENCH_CACHE=cache,
            XLA_PYTHON_CLIENT_PREALLOCATE="false",
            PIP_USER="false",
        )
        variables.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(cache, "inductor"))
        if self.accelerator == "cpu":
            variables.update(JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="")
        return variables

    def run(self, args, **kwargs):
        """Start the row's Python as asv asks, and keep what asv drops of a benchmark that timed out or crashed."""
        kwargs.setdefault("timeout", self._install_timeout)
        given = kwargs.pop("env", {})
        ours = self.benchmark_environment_variables()
        result = util.check_output([self.executable, *args], env={**given, **ours}, **kwargs)
        if len(args) > 3 and args[1] == "run" and isinstance(result, tuple):
            self._record_crash(args[3], result[0], result[2])
        return result

    def _record_crash(self, benchmark: str, output: str, code: int) -> None:
        timed_out = code == util.TIMEOUT_RETCODE
        if code >= 0 and not timed_out:
            return
        name, _, index = benchmark.partition("-")
        reason = "timed out" if timed_out else f"the process died of signal {-code}"
        last = (output.strip().splitlines() or [""])[-1]
        sidecar.append(
            self.sidecar_path,
            "status",
            self.name,
            benchmark=name,
            index=int(index) if index else 0,
            status="timeout" if timed_out else "failed",
            reason=f"{reason}: {last}"[:500] if last else reason,
        )

    def checkout_project(self, repo, commit_hash):
        """The benchmarked project is the suite itself: nothing is checked out."""

    def can_install_project(self):
        return True


class Pinned(Row):
    """One release in a virtual environment of its own, installed under its constraints and verified."""

    tool_name = "pinned"

    def __init__(self, conf, python, requirements, tagged_env_vars):
        """Raises EnvironmentUnavailable, which asv prints as one line, for a row this Python cannot hold."""
        tagged_env_vars = dict(tagged_env_vars)
        try:
            self._release = self._release_of(requirements)
            self._constraints = constraints.load(self._release)
            tagged_env_vars["build", "BENCH_ACCELERATOR"] = accelerator.chosen()
        except util.UserError as error:
            raise environment.EnvironmentUnavailable(str(error)) from None
        if not self._constraints.supports(f"{python}.0"):
            needs = str(self._constraints.requires_python).replace(">=", ">= ").replace("<", "< ").replace("< =", "<=")
            raise environment.EnvironmentUnavailable(f"{self._release} needs Python {needs}; this is {python}")
        self._base_python = find_python(python)
        if self._base_python is None:
            raise environment.EnvironmentUnavailable(
                f"no working Python {python} was found; install it, or run asv with another: -E pinned:3.x"
            )
        self._run_id = os.getpid()
        super().__init__(conf, python, requirements, tagged_env_vars)
        self._python = python

    @staticmethod
    def _release_of(requirements) -> Release:
        named = [(name, version) for name, version in requirements.items() if version]
        if len(named) != 1 or named[0][0] not in FRAMEWORKS:
            found = ", ".join(f"{name} {version}" for name, version in named) or "nothing"
            raise util.UserError(f"a row holds one release of {' or '.join(FRAMEWORKS)}, not {found}")
        try:
            return Release(named[0][0], Version(named[0][1]))
        except ValueError:
            raise util.UserError(f"{named[0][1]!r} is no version of {named[0][0]}") from None

    @classmethod
    def matches(cls, python):
        return find_python(python) is not None

    @property
    def release(self) -> Release:
        return self._release

    @property
    def executable(self) -> str:
        return os.path.join(self._path, "bin", "python")

    @property
    def _marker(self) -> pathlib.Path:
        return pathlib.Path(self._env_dir) / f"{self.dir_name}{UNBUILDABLE_SUFFIX}.json"

    @property
    def name(self):
        """asv's name of the row; marked while it cannot be built.

        asv stores null for every benchmark of such a row: under its own name, they replace no earlier result.
        """
        name = super().name
        return name + UNBUILDABLE_SUFFIX if self._marker.exists() else name

    @property
    def unbuildable(self) -> str | None:
        """Why the row could not be built in this run, None where nothing failed."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            content = json.loads(self._marker.read_text(encoding="utf-8"))
            if content["run"] == self._run_id:
                return content["reason"]
        return None

    def identity(self) -> dict:
        """Return what the environment depends on besides what asv compares."""
        return {
            "constraints": install.sha256(constraints.path_of(self._release)),
            "harness": install.sha256(install.HARNESS),
            "override": self.build_env_vars.get("BENCH_OVERRIDE"),
        }

    def check_presence(self):
        identity = pathlib.Path(self._path) / IDENTITY_FILE
        try:
            known = json.loads(identity.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return known == self.identity() and super().check_presence()

    def create(self):
        """Build the row unless it is there. A failure is recorded and remembered, never raised: other rows go on."""
        if self._is_setup or self.unbuildable:
            return
        self._marker.unlink(missing_ok=True)
        pathlib.Path(self._env_dir).mkdir(parents=True, exist_ok=True)
        try:
            super().create()
        except (util.UserError, OSError) as error:
            text = str(error) if isinstance(error, util.UserError) else f"{error.strerror}: {error.filename}"
            self._remember_failure(" ".join(text.split()))

    def _remember_failure(self, reason: str) -> None:
        log.error(f"{self._release} cannot be built: {reason}")
        plain_name = super().name
        with contextlib.suppress(OSError):
            self._marker.write_text(json.dumps({"run": self._run_id, "reason": reason}), encoding="utf-8")
            path = sidecar.path_of(self._results_dir, machine_name(), plain_name)
            sidecar.append(path, "unbuildable", plain_name, **self._labels(), reason=reason)

    def _labels(self) -> dict:
        return {"framework": self._release.framework, "release": str(self._release.version)}

    def _setup(self):
        started = time.monotonic()
        timeout = self._install_timeout
        log.info(f"Building {self._release} ({self.accelerator}, Python {self._python})")
        install.create_virtualenv(self._base_python, self._path, timeout)
        variables = {**os.environ, "PIP_USER": "false"}
        variables.pop("PYTHONPATH", None)
        framework = self._release.framework
        extra = f"[{self.accelerator}]" if framework == "jax" else ""
        required, optional = install.harness(self.accelerator)
        requirements = [f"{framework}{extra}=={self._release.version}", "numpy", *required]
        file = constraints.path_of(self._release)
        install.install(self.executable, requirements, file, variables, timeout)
        for requirement in optional:
            try:
                install.install(self.executable, [requirement], file, variables, timeout)
            except util.UserError as error:
                log.warning(f"{self._release}: without {requirement}: {error}")
        wanted = (self.build_env_vars.get("BENCH_OVERRIDE") or "").split()
        mismatches = install.override(self.executable, wanted, variables, timeout) if wanted else []
        self._verify(mismatches, time.monotonic() - started)
        (pathlib.Path(self._path) / IDENTITY_FILE).write_text(json.dumps(self.identity()), encoding="utf-8")
        for stale in pathlib.Path(self._results_dir).glob(f"*/*-{super().name}{UNBUILDABLE_SUFFIX}.json"):
            stale.unlink()

    def _verify(self, mismatches: list[str], seconds: float) -> None:
        framework = self._release.framework
        found = verify.inspect(self.executable, [framework], self.benchmark_environment_variables())
        jaxlib = None if mismatches else self._constraints.pinned(self._python).get("jaxlib")
        problem = verify.refuse(found, self._release, self.accelerator, jaxlib)
        if problem:
            raise util.UserError(problem)
        facts = found["frameworks"][framework]
        identity = self.identity()
        sidecar.append(
            self.sidecar_path,
            "environment",
            self.name,
            **self._labels(),
            version=facts["version"],
            python=found["python"],
            executable=os.path.relpath(self.executable),
            accelerator=self.accelerator,
            packages=found["packages"],
            driver=accelerator.driver_version(),
            devices=facts["devices"],
            **identity,
            mismatches=mismatches,
            build_seconds=round(seconds, 1),
            ld_library_path="removed" if os.environ.get("LD_LIBRARY_PATH") else None,
        )

    def install_project(self, conf, repo, commit_hash):
        """Record the commit; raises ProcessError for a row that cannot be built, which asv skips."""
        self.create()
        if self.unbuildable:
            raise util.ProcessError([self.name], 1, self.unbuildable, "")
        self._set_installed_commit_hash(commit_hash)
        self._set_commit_hash(commit_hash)


def interpreter(spec: str) -> tuple[str, str]:
    """Return (label, path) of an interpreter given by path or by its name in interpreters.toml.

    Raises UserError when it is neither.
    """
    named = tomllib.loads(INTERPRETERS.read_text(encoding="utf-8"))
    if spec in named:
        return spec, named[spec]["python"]
    path = shutil.which(spec)
    if path is None:
        known = f"; interpreters.toml names {', '.join(sorted(named))}" if named else ""
        raise util.UserError(f"there is no interpreter {spec}; give the path of a python{known}")
    path = os.path.abspath(path)
    folder = pathlib.Path(path).parent.parent.name or "python"
    return f"{folder}-{hashlib.sha256(path.encode()).hexdigest()[:8]}", path


class Installed(Row):
    """An interpreter that someone else built: nothing is installed, what is there is read and recorded."""

    tool_name = "installed"

    def __init__(self, conf, python, requirements, tagged_env_vars):
        """Raises EnvironmentUnavailable for an interpreter that does not run or holds neither framework."""
        try:
            label, self._executable = interpreter(python)
            variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            self._found = verify.inspect(self._executable, list(FRAMEWORKS), variables)
        except util.UserError as error:
            raise environment.EnvironmentUnavailable(str(error)) from None
        working = {name: facts for name, facts in self._found["frameworks"].items() if "error" not in facts}
        if not working:
            errors = "; ".join(f"{name}: {facts['error']}" for name, facts in self._found["frameworks"].items())
            raise environment.EnvironmentUnavailable(f"{python} holds neither torch nor jax ({errors})")
        requirements = {name: Version(facts["version"]).public for name, facts in working.items()}
        cuda = {facts["cuda_major"] for facts in working.values() if facts["sees_gpu"]}
        chosen = os.environ.get("BENCH_ACCELERATOR") or (f"cuda{max(cuda)}" if cuda else "cpu")
        if chosen != "cpu" and not cuda:
            raise environment.EnvironmentUnavailable(f"{chosen} was asked for, but nothing in {python} sees a GPU")
        tagged_env_vars = dict(tagged_env_vars)
        tagged_env_vars["build", "BENCH_ACCELERATOR"] = chosen
        tagged_env_vars["build", "BENCH_INTERPRETER"] = label
        self._commit = None
        version = ".".join(self._found["python"].split(".")[:2])
        super().__init__(conf, version, requirements, tagged_env_vars)
        self._python = version

    @classmethod
    def matches(cls, python):
        return False

    @property
    def executable(self) -> str:
        return self._executable

    @property
    def unbuildable(self) -> None:
        return None

    @property
    def installed_commit_hash(self):
        return self._commit

    def check_presence(self):
        return True

    def create(self):
        """Record what is there, and bring the harness where the interpreter has none."""
        if self._is_setup:
            return
        for framework, release in self._requirements.items():
            facts = self._found["frameworks"][framework]
            sidecar.append(
                self.sidecar_path,
                "environment",
                self.name,
                framework=framework,
                release=release,
                version=facts["version"],
                python=self._found["python"],
                executable=os.path.basename(self._executable),
                accelerator=self.accelerator,
                packages=self._found["packages"],
                driver=accelerator.driver_version(),
                devices=facts["devices"],
                constraints=None,
                harness=install.sha256(install.HARNESS),
                override=None,
                mismatches=[],
                build_seconds=0.0,
            )
        self._is_setup = True

    def benchmark_environment_variables(self):
        variables = super().benchmark_environment_variables()
        if "asv_runner" not in {name.lower().replace("-", "_") for name in self._found["packages"]}:
            # Both names: asv's run script takes what PYTHONPATH brought off sys.path again unless the other is set.
            variables["PYTHONPATH"] = variables["ASV_PYTHONPATH"] = str(self._harness_folder())
        return variables

    def _harness_folder(self) -> pathlib.Path:
        """Return a folder with asv_runner alone: our other tools must not shadow what the interpreter holds."""
        import asv_runner

        folder = pathlib.Path(self._env_dir).absolute() / "harness"
        target = folder / "asv_runner"
        if not target.exists():
            folder.mkdir(parents=True, exist_ok=True)
            temporary = folder / f"asv_runner.{os.getpid()}"
            shutil.copytree(pathlib.Path(asv_runner.__file__).parent, temporary)
            with contextlib.suppress(OSError):
                os.replace(temporary, target)
        return folder

    def install_project(self, conf, repo, commit_hash):
        self.create()
        self._commit = commit_hash
        self._set_commit_hash(commit_hash)
