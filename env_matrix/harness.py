"""The harness: what a row gets besides its framework, so that it can be measured."""

import dataclasses
import importlib.metadata
import os
import pathlib
import shutil
import tomllib

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

FILE = pathlib.Path(__file__).parent / "harness.toml"
RUNNER = "asv_runner"


@dataclasses.dataclass(frozen=True)
class Harness:
    """Requirements of the harness for an accelerator: what a row must get, what it may, and pins of what those need."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    pins: tuple[str, ...]

    def without(self, pinned: set[str]) -> "Harness":
        """Return the harness that leaves packages alone which the row pins itself (canonical names)."""

        def kept(requirements):
            return tuple(text for text in requirements if canonicalize_name(Requirement(text).name) not in pinned)

        return Harness(kept(self.required), kept(self.optional), kept(self.pins))


def load(accelerator: str) -> Harness:
    """Read harness.toml for an accelerator."""
    content = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return Harness(
        tuple(content["required"]),
        tuple(content["optional"].get(accelerator, ())),
        tuple(content["pins"].get(accelerator, ())),
    )


def runner_version() -> str:
    """Return the version of asv_runner among our tools."""
    return importlib.metadata.version(RUNNER)


def runner_pythons() -> SpecifierSet:
    """Return the Pythons that our asv_runner runs on."""
    return SpecifierSet(importlib.metadata.metadata(RUNNER)["Requires-Python"] or "")


def runner_folder(folder: pathlib.Path) -> pathlib.Path:
    """Return a folder under `folder` that holds our asv_runner and nothing else, for an interpreter without it.

    The tools' own folder would shadow what the interpreter holds.
    """
    import asv_runner

    found = folder / f"{RUNNER}-{runner_version()}"
    if not (found / RUNNER).is_dir():
        found.mkdir(parents=True, exist_ok=True)
        temporary = found / f"{RUNNER}.{os.getpid()}"
        source = pathlib.Path(asv_runner.__file__).parent
        shutil.copytree(source, temporary, ignore=shutil.ignore_patterns("__pycache__"))
        try:
            os.rename(temporary, found / RUNNER)
        except OSError:
            # Another process was faster.
            shutil.rmtree(temporary)
    return found
