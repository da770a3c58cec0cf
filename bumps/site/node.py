"""The packages of package-lock.json, installed by npm into node_modules."""

import json
import pathlib
import shutil
import subprocess

import filelock
from asv.console import log
from asv.util import UserError

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ROOT / "node_modules"
# npm's own timeouts add up to minutes on a machine without a network.
COMMAND = (
    "npm",
    "ci",
    "--include=dev",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--fetch-retries=1",
    "--fetch-timeout=20000",
)
LIMIT_SECONDS = 180


def ensure() -> pathlib.Path:
    """Return the folder of installed packages, installing what the lock file names where that is not there yet.

    `npm ci` checks each package against its hash in the lock file and runs no script of a package. Without npm,
    without a network or without the lock file raises UserError that says so in one line.
    """
    if not _is_current():
        _lock_path().parent.mkdir(exist_ok=True)
        with filelock.FileLock(_lock_path()):
            if not _is_current():
                _install()
    return MODULES


def _lock_path() -> pathlib.Path:
    return ROOT / ".cache" / "npm.lock"


def _is_current() -> bool:
    """Return whether npm's record of what it installed says the same as the lock file."""
    try:
        wanted = _packages(ROOT / "package-lock.json")
    except OSError:
        raise UserError("package-lock.json cannot be read; restore it from the repository") from None
    try:
        return wanted == _packages(MODULES / ".package-lock.json")
    except (OSError, ValueError, AttributeError):
        return False


def _packages(path: pathlib.Path) -> dict[str, str]:
    packages = json.loads(path.read_text(encoding="utf-8"))["packages"]
    return {name: package["integrity"] for name, package in packages.items() if name}


def _install() -> None:
    npm = shutil.which(COMMAND[0])
    if npm is None:
        raise UserError("Node's npm is not installed (Debian and Ubuntu: apt install npm)")
    log.info("Installing the scripts of asv's pages with npm")
    try:
        done = subprocess.run(
            [npm, *COMMAND[1:]], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"npm ci did not end within {LIMIT_SECONDS} s; is there a network?") from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise UserError(f"npm ci failed: {said[0] if said else f'exit status {done.returncode}'}")
