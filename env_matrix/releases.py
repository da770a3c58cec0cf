"""Releases: one version of one framework, and how people write them. Pure."""

import dataclasses
import difflib
import re

from asv.util import UserError
from packaging.version import InvalidVersion, Version

FRAMEWORKS = ("torch", "jax")


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
    match = re.fullmatch(r"\s*([A-Za-z_]+)\s*(?:==|\s|-|=|@)\s*(\S+)\s*", text)
    if not match:
        raise UserError(f"{text!r} names no release; write it like torch==2.8.0")
    framework, version = match.group(1).lower(), match.group(2)
    if framework not in FRAMEWORKS:
        near = difflib.get_close_matches(framework, FRAMEWORKS, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UserError(f"there is no framework {framework!r} here, only {' and '.join(FRAMEWORKS)}{hint}")
    try:
        return Release(framework, Version(version))
    except InvalidVersion:
        raise UserError(f"{version!r} is no version of {framework}; write it like {framework}==2.8.0") from None
