"""Releases: one version of one framework, and how people write them. Pure."""

import dataclasses
import difflib
import re

from asv.util import UserError
from packaging.version import InvalidVersion, Version

FRAMEWORKS = ("torch", "jax")
LATEST = "latest"


@dataclasses.dataclass(frozen=True, order=True)
class Release:
    """One version of one framework. `version` may carry a local tag (`2.14.1+cu130`)."""

    framework: str
    version: Version

    def __str__(self) -> str:
        return f"{self.framework} {self.version}"

    @property
    def requirement(self) -> str:
        """The release as a requirement for a resolver: `torch==2.8.0`."""
        return f"{self.framework}=={self.version}"

    @property
    def public(self) -> "Release":
        """The release without its local tag: what its constraints and its date belong to."""
        return Release(self.framework, Version(self.version.public))


def parse(text: str) -> Release:
    """Return the release that `torch==2.8.0`, `torch 2.8.0` or `torch-2.8.0` names.

    Raises UserError for an unknown framework or something that is no version.
    """
    framework, version = split(text)
    return release_of(framework, version)


def parse_all(words: list[str]) -> list[tuple[str, str]]:
    """Return (framework, version text) of each release in a command line: `torch==2.8.0`, or `torch 2.8.0 2.9.1`.

    The version text may be `latest`. Raises UserError as `split` does, and for a framework without a version.
    """
    found: list[tuple[str, str]] = []
    framework, used = None, True
    for word in words:
        if framework and re.fullmatch(r"v?\d\S*|latest", word):
            found.append((framework, word))
            used = True
        elif re.fullmatch(r"[A-Za-z_]+", word):
            _must_be_used(framework, used)
            framework, used = _framework(word), False
        else:
            _must_be_used(framework, used)
            framework, used = None, True
            found.append(split(word))
    _must_be_used(framework, used)
    return found


def _must_be_used(framework: str | None, used: bool) -> None:
    if not used:
        raise UserError(f"which release of {framework}? write it like {framework}==2.8.0 or {framework}==latest")


def split(text: str) -> tuple[str, str]:
    """Return (framework, version text) of one release; raises UserError where there are not both."""
    match = re.fullmatch(r"\s*([A-Za-z_]+)\s*(?:==|\s|-|=|@)\s*(\S+)\s*", text)
    if not match:
        raise UserError(f"{text!r} names no release; write it like torch==2.8.0")
    return _framework(match.group(1)), match.group(2)


def _framework(name: str) -> str:
    if name.lower() in FRAMEWORKS:
        return name.lower()
    near = difflib.get_close_matches(name.lower(), FRAMEWORKS, n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UserError(f"there is no framework {name!r} here, only {' and '.join(FRAMEWORKS)}{hint}")


def release_of(framework: str, version: str) -> Release:
    """Return a release of a framework; raises UserError for something that is no version."""
    try:
        return Release(framework, Version(version))
    except InvalidVersion:
        raise UserError(f"{version!r} is no version of {framework}; write it like {framework}==2.8.0") from None
