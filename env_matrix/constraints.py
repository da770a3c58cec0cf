"""The constraints files: the pins that a row is installed under, with what they were resolved for in the header."""

import contextlib
import dataclasses
import datetime
import pathlib
import re

from asv.util import UserError
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from env_matrix.files import write_whole
from env_matrix.releases import Release

FOLDER = pathlib.Path(__file__).parent / "constraints"


@dataclasses.dataclass(frozen=True)
class Constraints:
    """The pins of one release.

    `pins` are requirement lines (`name==version`, with a marker where Pythons differ), `requires_python` says on which
    Pythons they install, `accelerators` for which builds they were resolved.
    """

    release: Release
    released: datetime.date
    exclude_newer: datetime.date
    requires_python: SpecifierSet
    accelerators: tuple[str, ...]
    pins: tuple[str, ...]

    def supports(self, python: str) -> bool:
        return self.requires_python.contains(python, prereleases=True)

    def pinned(self, python: str) -> dict[str, str]:
        """Return name -> version of the pins that hold on a Python (`3.12`)."""
        environment = {"python_version": python, "python_full_version": f"{python}.0"}
        found = {}
        for line in self.pins:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate(environment):
                found[requirement.name] = next(iter(requirement.specifier)).version
        return found


def path_of(release: Release) -> pathlib.Path:
    """Return where the constraints of a release are kept, whichever way its version is written (2.9, 2.9.0)."""
    path = FOLDER / f"{release.framework}-{release.public.version}.txt"
    if path.exists():
        return path
    for other in sorted(FOLDER.glob(f"{release.framework}-*.txt")):
        with contextlib.suppress(InvalidVersion):
            if Version(other.stem.partition("-")[2]) == release.public.version:
                return other
    return path


def load(release: Release) -> Constraints:
    """Read the constraints of a release; raises UserError that names the command which writes a missing file."""
    path = path_of(release)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(_not_ours(path.name, error)) from None
    except FileNotFoundError:
        public = release.public.requirement
        raise UserError(
            f"{release} has no constraints file; check the spelling, or write it: python -m env_matrix lock {public}"
        ) from None
    return parse(text, path.name)


def parse(text: str, name: str) -> Constraints:
    """Parse the content of a constraints file; raises UserError naming the file where it is not one of ours."""
    header, pins = {}, []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("#"):
            key, colon, value = line.lstrip("# ").partition(":")
            if colon:
                header[key.strip().lower()] = value.strip()
        elif line:
            pins.append(line)
    try:
        framework, version = header["release"].split()
        for line in pins:
            if not re.match(r"^[A-Za-z0-9._-]+==", line):
                raise ValueError(line)
            Requirement(line)
        return Constraints(
            release=Release(framework, Version(version)),
            released=datetime.date.fromisoformat(header["released"]),
            exclude_newer=datetime.date.fromisoformat(header["exclude-newer"]),
            requires_python=SpecifierSet(header["requires-python"]),
            accelerators=tuple(header["accelerators"].split()),
            pins=tuple(pins),
        )
    except (KeyError, ValueError, InvalidRequirement) as error:
        raise UserError(_not_ours(name, error)) from None


def _not_ours(name: str, error: Exception) -> str:
    return f"{name} is no constraints file ({error}); write it again: python -m env_matrix lock"


def python_text(requires: SpecifierSet) -> str:
    """Return a range of Pythons as people write it, the floor first: `>=3.9,<3.13`."""
    return ",".join(sorted(map(str, requires), key=lambda text: (not text.startswith(">"), text)))


def save(constraints: Constraints) -> pathlib.Path:
    """Write the constraints file in one step; return where it is."""
    path = path_of(constraints.release)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, render(constraints))
    return path


def render(constraints: Constraints) -> str:
    """Return the content of a constraints file."""
    return "\n".join(
        [
            f"# release: {constraints.release}",
            f"# released: {constraints.released}",
            f"# exclude-newer: {constraints.exclude_newer}",
            f"# requires-python: {python_text(constraints.requires_python)}",
            f"# accelerators: {' '.join(constraints.accelerators)}",
            f"# Written by: python -m env_matrix lock {constraints.release.requirement}",
            *constraints.pins,
            "",
        ]
    )
