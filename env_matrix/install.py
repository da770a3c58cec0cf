"""Makes a virtual environment and installs a row into it: one resolver call, under the row's constraints."""

import hashlib
import os
import pathlib
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence

from asv.util import UserError
from packaging.requirements import InvalidRequirement, Requirement

from env_matrix import command, index
from env_matrix.progress import say

# Of the environment that runs asv; they would reach into the row's.
FOREIGN_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_CONSTRAINT")
# How pip's resolver fails, on a conflict and without any answer from an index alike.
UNRESOLVED = ("Could not find a version", "Cannot install")
LONGEST_REASON = 300


def sha256(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def components(override: str) -> list[str]:
    """Return the requirements of a component swap, `nvidia-cudnn-cu12==9.15.* numpy==2.0`.

    Raises UserError for anything that is no requirement: it would be an option of the installer.
    """
    found = override.split()
    for text in found:
        try:
            Requirement(text)
        except InvalidRequirement:
            raise UserError(f"{text!r} overrides no component; write it like nvidia-cudnn-cu12==9.15.*") from None
    return found


class Installer:
    """Installs into one environment. `python` is its interpreter, `lock` a descriptor that every installer inherits."""

    def __init__(self, python: str, timeout: float, lock: int):
        self._python, self._timeout, self._lock = python, timeout, lock
        kept = {key: value for key, value in os.environ.items() if key not in FOREIGN_VARIABLES}
        # Settings in a user's pip.conf that a virtual environment refuses.
        self._environment = {**kept, "PIP_USER": "false"}

    def create_virtualenv(self, base: str, path: str) -> None:
        """Make an empty virtual environment with pip on the Python `base`."""
        options = ["--quiet", "--no-download", "--no-setuptools", "--no-periodic-update"]
        self._run([sys.executable, "-m", "virtualenv", *options, "-p", base, path])

    def install(self, requirements: Sequence[str], pins: Iterable[str]) -> None:
        """Install requirements under pins in one call of the environment's own pip, which honours pip's settings."""
        with tempfile.NamedTemporaryFile("w", prefix="constraints-", suffix=".txt", encoding="utf-8") as file:
            file.write("\n".join([*pins, ""]))
            file.flush()
            try:
                self._pip("install", "-c", file.name, *requirements)
            except UserError as error:
                raise UserError(_with_index_problem(str(error), Requirement(requirements[0]).name)) from None

    def override(self, requirements: Iterable[str]) -> list[str]:
        """Replace components whatever the row's own requirements say; return what `pip check` then finds wrong."""
        self._pip("install", "--no-deps", *requirements)
        status, lines = command.run([self._python, "-m", "pip", "check"], self._environment, self._timeout)
        return [line for line in lines if line.strip()] if status else []

    def _pip(self, verb: str, *arguments: str) -> None:
        self._run([self._python, "-m", "pip", verb, "--no-input", "--disable-pip-version-check", *arguments])

    def _run(self, words: list[str]) -> None:
        try:
            status, lines = command.run(words, self._environment, self._timeout, _show_download, (self._lock,))
        except command.TimedOut:
            raise UserError(
                f"installing took over {self._timeout:.0f} s and was stopped; see install_timeout in asv.conf.json"
            ) from None
        if status:
            raise UserError(reason(lines))


def _show_download(line: str) -> None:
    """Say what is fetched; the rest of what an installer tells is of no interest while it goes well."""
    match = re.match(r"\s*Downloading (?:\S*/)?(\S+) \((\d+(?:\.\d+)? [MG]B)\)", line)
    if match:
        say(f"downloading {match.group(1)} ({match.group(2)})")


def reason(lines: Iterable[str]) -> str:
    """Return the one line of an installer's output that says what went wrong."""
    said = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in lines]
    said = [line for line in said if line]
    if any("No space left on device" in line for line in said):
        return "no space left on the disk; free some, or remove rows: python -m env_matrix prune"
    # pip says there what else it left alone, and at the end what follows from it.
    errors = [line for line in said if line.startswith("ERROR") and "Ignored the following" not in line]
    errors = [line.removeprefix("ERROR:").strip() for line in errors]
    missing = next((line for line in errors if line.startswith("Could not find a version")), None)
    text = missing or (errors[0] if errors else said[-1] if said else "the installer said nothing")
    # pip lists every version there is.
    return re.sub(r"\s*\(from versions: .*\)", "", text)[:LONGEST_REASON]


def _with_index_problem(text: str, project: str) -> str:
    """Return what pip said, after what is wrong with the index when it is that: pip may retry and keep quiet of it."""
    if text.startswith(UNRESOLVED):
        try:
            index.fetch(project)
        except UserError as error:
            return f"{str(error).removesuffix('; nothing was changed')} ({text})"
    return text
