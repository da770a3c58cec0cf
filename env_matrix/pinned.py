"""`pinned` rows: one release in a virtual environment of its own, installed under its constraints and verified."""

import contextlib
import functools
import importlib.metadata
import json
import os
import pathlib
import shutil
import time
import uuid

from asv import environment, util
from asv.console import log
from asv.results import get_filename
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from env_matrix import accelerator, asv_machine, build_lock, constraints, harness, install, pythons, sidecar, verify
from env_matrix.files import write_whole
from env_matrix.progress import say
from env_matrix.releases import FRAMEWORKS, Release
from env_matrix.row_environment import Row

ROW_FILE = "row.json"
UNBUILDABLE_SUFFIX = "-unbuildable"
OVERRIDE = "BENCH_OVERRIDE"


@functools.cache
def _this_run() -> str:
    """Return what tells this run of asv from others; a process of its pool is told by its environments."""
    return uuid.uuid4().hex


@functools.cache
def _warn_of_library_path() -> None:
    log.warning("LD_LIBRARY_PATH is unset for the rows: CUDA libraries in it would shadow those that they bring")


class Pinned(Row):
    """One release of one framework. asv's `name` of a row that cannot be built ends in `-unbuildable`.

    asv stores null for every benchmark of such a row: under another name, they replace no earlier result.
    """

    tool_name = "pinned"

    def __init__(self, conf, python, requirements, tagged_env_vars):
        """Raises EnvironmentUnavailable, which asv prints as one line, for a row that this Python or accelerator cannot
        hold, and UserError for a BENCH_ACCELERATOR that there is not."""
        self._run_id, self._failure = _this_run(), None
        self._release = self._constraints = self._mistake = None
        try:
            self._release = _release_of(requirements)
            self._constraints = constraints.load(self._release)
        except util.UserError as error:
            # A row that the matrix names and nobody can build; the exit status is to say so.
            self._mistake = str(error)
        chosen = self._choose_accelerator(python)
        self._base_python = pythons.find(python)
        if self._base_python is None:
            raise environment.EnvironmentUnavailable(pythons.why_not(python))
        super().__init__(conf, python, requirements, {**tagged_env_vars, ("build", accelerator.VARIABLE): chosen})

    def _choose_accelerator(self, python: str) -> str:
        if self._mistake:
            return accelerator.chosen()
        if not self._constraints.supports(f"{python}.0"):
            needs = constraints.python_text(self._constraints.requires_python)
            for operator in (">=", "<", "!="):
                needs = needs.replace(operator, f"{operator} ")
            raise environment.EnvironmentUnavailable(
                f"{self._release} needs Python {needs}; this is {python} (another: {pythons.CHOOSE})"
            )
        accelerator.asked_for()
        try:
            return accelerator.of_row(self._release, self._constraints.accelerators)
        except util.UserError as error:
            raise environment.EnvironmentUnavailable(str(error)) from None

    @classmethod
    def matches(cls, python):
        return pythons.find(python) is not None

    @property
    def executable(self):
        return os.path.join(self._path, "bin", "python")

    @property
    def _marker(self) -> pathlib.Path:
        """What tells every process of a run, asv's pool included, that the row cannot be built."""
        return pathlib.Path(f"{self._path}{UNBUILDABLE_SUFFIX}.json")

    @property
    def unbuildable(self):
        if self._failure:
            return self._failure
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            content = json.loads(self._marker.read_text(encoding="utf-8"))
            if content["run"] == self._run_id:
                return content["reason"]
        return None

    @property
    def name(self):
        name = super().name
        return name + UNBUILDABLE_SUFFIX if self.unbuildable else name

    @property
    def installed_commit_hash(self):
        return None if self.unbuildable else super().installed_commit_hash

    @property
    def _override(self) -> str | None:
        return self.build_env_vars.get(OVERRIDE) or None

    def identity(self) -> dict:
        """Return what the environment was made from, besides what asv compares."""
        return {
            "constraints": install.sha256(constraints.path_of(self._release)),
            "harness": install.sha256(harness.FILE),
            "override": self._override,
        }

    def check_presence(self):
        """Return whether the row is there, made from the same constraints and harness, and not changed since."""
        if self._mistake:
            return False
        try:
            row = self._stored()
            if {key: row[key] for key in ("constraints", "harness", "override")} != self.identity():
                return False
            if row["packages"] != _packages_of(pathlib.Path(self._path)):
                return False
        except (OSError, ValueError, KeyError, TypeError):
            return False
        return super().check_presence()

    def _stored(self) -> dict:
        return json.loads((pathlib.Path(self._path) / ROW_FILE).read_text(encoding="utf-8"))

    def create(self):
        """Build the row unless it is there. A failure is recorded and remembered, never raised: other rows go on."""
        if self._is_setup or self.unbuildable:
            return
        try:
            self._refuse_hopeless()
            if not self.check_presence():
                with build_lock.exclusive(build_lock.of(pathlib.Path(self._path)), self._say_waiting) as lock:
                    if not self.check_presence():
                        self._build(lock)
            self._marker.unlink(missing_ok=True)
            self._record_inventory(self._stored())
            self._remove_nulls()
        except (util.UserError, OSError) as error:
            self._remember_failure(_one_line(error))
            return
        if os.environ.get("LD_LIBRARY_PATH"):
            _warn_of_library_path()
        self._is_setup = True

    def _say_waiting(self) -> None:
        say(f"{self._release} is being built by another process; waiting for it")

    def _refuse_hopeless(self) -> None:
        """Raise UserError for what would fail after minutes of downloading."""
        if self._mistake:
            raise util.UserError(self._mistake)
        if self._override:
            install.components(self._override)
        if self.accelerator != "cpu" and accelerator.driver_version() is None:
            raise util.UserError(f"{self.accelerator} was asked for, but there is no NVIDIA driver")

    def _build(self, lock: int) -> None:
        path = pathlib.Path(self._path)
        # Without its record, which is written last, a half removed environment is never taken for a whole one.
        (path / "asv-env-info.json").unlink(missing_ok=True)
        if path.exists():
            shutil.rmtree(path)
        try:
            inventory = self._install(lock)
            write_whole(path / ROW_FILE, json.dumps(inventory))
            self.save_info_file(self._path)
        except (util.UserError, OSError):
            shutil.rmtree(path, ignore_errors=True)
            raise

    def _install(self, lock: int) -> dict:
        """Install and verify the row; return its inventory."""
        started = time.monotonic()
        release, override = self._release, self._override
        say(f"building {release} ({self.accelerator}, Python {self._python}{f', {override}' if override else ''})")
        installer = install.Installer(self.executable, self._install_timeout, lock)
        installer.create_virtualenv(self._base_python, self._path)
        pinned = {canonicalize_name(name) for name in self._constraints.pinned(self._python)}
        added = harness.load(self.accelerator).without(pinned)
        extra = f"[{self.accelerator}]" if release.framework == "jax" else ""
        framework = f"{release.framework}{extra}=={release.version}"
        pins = [*self._constraints.pins, *added.pins]
        installer.install([framework, "numpy", *added.required], pins)
        # What is there must stay: an optional package that needs another version of it is left out.
        for requirement in added.optional:
            try:
                installer.install([requirement], [*pins, *added.required])
            except util.UserError as error:
                log.warning(f"{release}: without {requirement}: {error}")
        swapped = install.components(override) if override else []
        mismatches = installer.override(swapped) if swapped else []
        return {
            **self._verify({canonicalize_name(install.Requirement(text).name) for text in swapped}),
            **self.identity(),
            "mismatches": mismatches,
            "build_seconds": round(time.monotonic() - started, 1),
        }

    def _verify(self, swapped: set[str]) -> dict:
        """Return what is installed; raises UserError when it is not what the row says."""
        release = self._release
        found = verify.inspect(self.executable, [release.framework], self.benchmark_environment_variables())
        jaxlib = None if "jaxlib" in swapped else self._constraints.pinned(self._python).get("jaxlib")
        problem = verify.refuse(found, release, self.accelerator, jaxlib)
        if problem:
            raise util.UserError(problem)
        facts = found["frameworks"][release.framework]
        return {
            **self._labels(),
            "version": facts["version"],
            "python": found["python"],
            "executable": os.path.relpath(self.executable),
            "accelerator": self.accelerator,
            "packages": found["packages"],
            "devices": facts["devices"],
        }

    def _labels(self) -> dict:
        named = {name: version for name, version in self._requirements.items() if version}
        return {"framework": " ".join(named), "release": " ".join(named.values())}

    def _record_inventory(self, inventory):
        removed = "removed" if os.environ.get("LD_LIBRARY_PATH") else None
        super()._record_inventory({**inventory, "ld_library_path": removed})

    def _remember_failure(self, reason: str) -> None:
        plain_name = self.name
        self._failure = reason
        log.error(f"{self._release or plain_name} cannot be built: {reason}")
        # On a full disk neither can be written; this process knows it all the same.
        with contextlib.suppress(OSError):
            self._marker.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._marker, json.dumps({"run": self._run_id, "reason": reason}))
        with contextlib.suppress(OSError):
            path = sidecar.path_of(self._results_dir, asv_machine.name(), plain_name)
            sidecar.append(path, "unbuildable", plain_name, **self._labels(), reason=reason)

    def _remove_nulls(self) -> None:
        """Remove what asv stored of this row while it could not be built."""
        machine = asv_machine.name()
        ending = pathlib.Path(get_filename(machine, "", self.name + UNBUILDABLE_SUFFIX)).name
        folder = pathlib.Path(self._results_dir) / machine
        for path in folder.glob("*.json") if folder.is_dir() else ():
            if path.name.endswith(ending):
                path.unlink(missing_ok=True)

    def benchmark_environment_variables(self):
        variables = super().benchmark_environment_variables()
        # What this process runs on must not reach into the row: the driver's libraries are found without it.
        for name in ("LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "ASV_PYTHONPATH"):
            variables.pop(name, None)
        variables["PYTHONNOUSERSITE"] = "1"
        return variables

    def run(self, args, **kwargs):
        if self.unbuildable:
            raise util.ProcessError([self.name], 1, "", self.unbuildable)
        return super().run(args, **kwargs)

    def install_project(self, conf, repo, commit_hash):
        """Record the commit. Raises ProcessError for a row that cannot be built: asv then skips its benchmarks."""
        self.create()
        if self.unbuildable:
            raise util.ProcessError([self.name], 1, "", self.unbuildable)
        self._set_installed_commit_hash(commit_hash)
        self._set_commit_hash(commit_hash)


def _release_of(requirements: dict) -> Release:
    """Return the one release that a row holds; raises UserError when the matrix says anything else."""
    named = [(name, version) for name, version in requirements.items() if version]
    if len(named) != 1 or named[0][0] not in FRAMEWORKS:
        found = " and ".join(f"{name} {version}" for name, version in named) or "no release"
        raise util.UserError(f"a row holds one release of {' or '.join(FRAMEWORKS)}; the matrix says {found}")
    framework, version = named[0]
    try:
        return Release(framework, Version(version))
    except InvalidVersion:
        raise util.UserError(f"{version!r} in the matrix is no version of {framework}") from None


def _packages_of(path: pathlib.Path) -> dict[str, str]:
    """Return name -> version of what is installed in a virtual environment, without starting it."""
    folders = [str(folder) for folder in (path / "lib").glob("python*/site-packages")]
    found = {}
    for distribution in importlib.metadata.distributions(path=folders):
        found.setdefault(distribution.metadata["Name"], distribution.version)
    return found


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror}: {error.filename}" if error.filename else str(error)
    return " ".join(str(error).split())
