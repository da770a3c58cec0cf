"""From what the user names to rows: asv environments, made from a narrowed matrix."""

import difflib
import itertools
import os
import pathlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from asv import environment
from asv.config import Config
from asv.plugin_manager import plugin_manager
from asv.util import UserError
from packaging.version import InvalidVersion, Version

from bumps.process import Interpreter

LATEST = "latest"
INSTALLED = "installed"
REPLICA = "REPLICA"
CONTROL = "control"


@dataclass(frozen=True)
class Row:
    """One row: asv's environment, the release that it stands for and how it was named (a release, `installed:…`).

    `is_control` says that it is the row under its second name.
    """

    environment: environment.Environment
    framework: str
    release: str
    named: str
    is_control: bool = False

    @property
    def env_name(self) -> str:
        return self.environment.name

    @property
    def accelerator(self) -> str | None:
        return self.environment.env_vars.get("BENCH_ACCELERATOR")

    @property
    def interpreter(self) -> Interpreter:
        return Interpreter(self.environment.executable, self.environment.benchmark_environment_variables())

    @property
    def unbuildable(self) -> str | None:
        return self.environment.unbuildable

    def __str__(self) -> str:
        return f"{self.framework} {self.release}{' control' if self.is_control else ''}"


@dataclass(frozen=True)
class Bump:
    """Two rows of one framework, old and new, and the new one under its second name."""

    old: Row
    new: Row
    control: Row | None = None

    @property
    def framework(self) -> str:
        return self.new.framework

    @property
    def rows(self) -> list[Row]:
        return [row for row in (self.old, self.new, self.control) if row is not None]

    def __str__(self) -> str:
        return f"{self.framework} {self.old.release} → {self.new.release}"


def load_config(path: str) -> Config:
    """Return asv's configuration with its plugins imported; its folder becomes the working directory, as under asv.

    Raises UserError.
    """
    file = pathlib.Path(path).absolute()
    if not file.is_file():
        raise UserError(f"there is no {path}; run this in the project's folder or name the file with --config")
    os.chdir(file.parent)
    try:
        config = Config.load(file.name)
    except RecursionError:
        raise UserError(f"{file.name} cannot be read: it is nested too deeply") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{file.name} cannot be read: {error}") from None
    pythons = config.pythons
    if not pythons or not isinstance(pythons, list) or not all(isinstance(python, str) for python in pythons):
        raise UserError(f'{file.name}: "pythons" is no list of versions; write one like ["3.11"]')
    for plugin in config.plugins:
        try:
            plugin_manager.import_plugin(plugin)
        except ImportError as error:
            raise UserError(f"{file.name}: the plugin {plugin} cannot be imported: {error}") from None
    return config


class Rows:
    """Makes rows of a configuration. `python` is the Python to build them on, by default the configuration's first."""

    def __init__(self, config: Config, python: str | None = None):
        self._config = config
        self._python = python or config.pythons[0]
        # asv's own reading of the matrix, old form included: (kind, name) → value or list of values, null among them.
        self._matrix = {
            key: values if isinstance(values, list) else [values]
            for key, values in environment._parse_matrix(config.matrix).items()
        }

    @property
    def frameworks(self) -> list[str]:
        """The requirements that the matrix has releases of."""
        return [name for kind, name in self._matrix if kind == "req" and self._listed(name)]

    def releases(self, framework: str) -> list[str]:
        """Return the matrix's releases of a framework, oldest first. Raises UserError for one that it does not have."""
        found = self._listed(framework)
        if not found:
            raise UserError(f"the matrix has no framework {framework!r}{_near(framework, self.frameworks)}")
        return sorted(found, key=_version)

    def _listed(self, framework: str) -> list[str]:
        return [value for value in self._matrix.get(("req", framework), ()) if value]

    def row(self, framework: str, release: str, is_control: bool = False) -> Row:
        """Return a row of the matrix, or of an interpreter (`installed:PATH`).

        Raises UserError for a release that the matrix does not have or this Python cannot hold.
        """
        if release.startswith(f"{INSTALLED}:"):
            return self._installed(framework, release, is_control)
        known = self.releases(framework)
        if release == LATEST:
            return self._first_available(framework, known[::-1], is_control)
        if release not in known:
            same = [each for each in known if _version(each) == _version(release)]
            if not same:
                raise UserError(
                    f"the matrix has no {framework} {release}{_near(release, known)}; "
                    f"to add a release: python -m env_matrix add {framework}=={release}"
                )
            release = same[0]
        made = self._make(self._config.environment_type, self._python, framework, release, is_control)
        return Row(made, framework, release, release, is_control)

    def control(self, row: Row) -> Row:
        """Return the row under its second name. Raises UserError."""
        return self.row(row.framework, row.named, is_control=True)

    def bump(self, framework: str, releases: Sequence[str], with_control: bool = True) -> Bump:
        """Return the bump between two named releases; one alone is compared with the release before it.

        Raises UserError.
        """
        if len(releases) > 2:
            raise UserError("a bump has two releases, old and new; for every neighbouring pair use --all")
        new = self.row(framework, releases[-1])
        if len(releases) == 2:
            old = self.row(framework, releases[0])
        else:
            if releases[0].startswith(f"{INSTALLED}:"):
                raise UserError("name the other interpreter too: installed:OLD installed:NEW")
            known = self.releases(framework)
            before = known[: known.index(new.release)]
            if not before:
                raise UserError(f"the matrix has no release before {new}; name two")
            old = self._first_available(framework, before[::-1], False)
        if old.env_name == new.env_name:
            raise UserError(f"{old} and {new} are the same row; a bump needs two")
        return Bump(old, new, self.control(new) if with_control else None)

    def neighbours(self, framework: str, say: Callable[[str], None], with_control: bool = True) -> list[Bump]:
        """Return the bumps between all neighbouring releases that this Python can hold, oldest first; `say` names
        those that it cannot."""
        rows = []
        for release in self.releases(framework):
            try:
                rows.append(self.row(framework, release))
            except UserError as error:
                say(f"left out: {error}")
        return [Bump(old, new, self.control(new) if with_control else None) for old, new in itertools.pairwise(rows)]

    def parse(self, text: str) -> Row:
        """Return the row that a text names: `torch==2.13.0`, `jax 0.10.2 control`, `jax latest`. Raises UserError."""
        words = re.split(r"==|\s+", text.strip())
        is_control = words[-1] == CONTROL
        if len(words) != 2 + is_control or not all(words):
            raise UserError(f"{text!r} names no row; write it as torch==2.13.0 or 'jax==0.10.2 control'")
        return self.row(words[0], words[1], is_control)

    def _first_available(self, framework: str, releases: Sequence[str], is_control: bool) -> Row:
        problems = []
        for release in releases:
            try:
                return self.row(framework, release, is_control)
            except UserError as error:
                problems.append(str(error))
        raise UserError(f"no release of {framework} can be used here: {problems[0]}")

    def _installed(self, framework: str, named: str, is_control: bool) -> Row:
        spec = named.removeprefix(f"{INSTALLED}:")
        made = self._make(INSTALLED, spec, framework, None, is_control)
        release = made.requirements.get(framework)
        if not release:
            held = " and ".join(made.requirements) or "nothing"
            raise UserError(f"{spec} holds {held}, not {framework}")
        return Row(made, framework, release, named, is_control)

    def _make(
        self, kind: str, python: str, framework: str, release: str | None, is_control: bool
    ) -> environment.Environment:
        requirements, variables = {}, {}
        for (matrix_kind, name), values in self._matrix.items():
            # What else is in the matrix takes its plain value: nothing where null is allowed, else the first.
            value = release if (matrix_kind, name) == ("req", framework) else _plain(values)
            if value and matrix_kind == "req":
                requirements[name] = value
            elif value:
                variables["build" if matrix_kind == "env" else "nobuild", name] = value
        if is_control:
            variables["nobuild", REPLICA] = CONTROL
        try:
            cls = environment.get_environment_class_by_name(kind)
            return cls(self._config, python, requirements, variables)
        except environment.EnvironmentUnavailable as error:
            raise UserError(str(error).strip()) from None


def _plain(values: list) -> str | None:
    return None if None in values or not values else values[0]


def _version(text: str) -> tuple:
    """Return what orders releases; a text that is no version comes before all."""
    try:
        return (1, Version(text))
    except InvalidVersion:
        return (0, text)


def _near(text: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(text, known, n=3, cutoff=0.5) or list(known)[-5:]
    return f"; did you mean {', '.join(near)}?" if near else ""
