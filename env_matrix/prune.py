"""What the matrix no longer needs: environments, half-built folders, old pre-release rows."""

import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import re
import shutil
from collections.abc import Sequence

from asv import environment
from asv.config import Config
from asv.util import UserError
from packaging.version import InvalidVersion, Version

from env_matrix import build_lock
from env_matrix.constraints import Constraints
from env_matrix.releases import FRAMEWORKS, Release

# asv names an environment's folder by an MD5 digest.
_FOLDER = re.compile(r"[0-9a-f]{32}")
TOOL = "pinned"
# A build that was killed leaves a folder without asv's record; one that is under way looks the same.
HALF_BUILT_AFTER_SECONDS = 3600


@dataclasses.dataclass(frozen=True)
class Leftover:
    """Something under the folder of environments that no row needs, and why."""

    path: pathlib.Path
    what: str


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What the configuration names: (framework, version) of rows, and component swaps."""

    rows: frozenset[tuple[str, Version]]
    overrides: frozenset[str]


def wanted(configuration: Config, pythons: Sequence[str]) -> Wanted:
    """Return what asv itself would build for any of these Pythons, include rules and old forms of the matrix with it.

    Raises UserError where that is no row at all: then this is no configuration to prune by.
    """
    rows, overrides = set(), set()
    try:
        combinations = list(environment.iter_matrix(TOOL, list(pythons), configuration))
    except (TypeError, AttributeError, ValueError) as error:
        raise UserError(f"asv.conf.json: asv cannot read its matrix ({error}); nothing was removed") from None
    for combination in combinations:
        rows |= _rows_of({name: version for (kind, name), version in combination.items() if kind == "req"})
        overrides.add(combination.get(("env", "BENCH_OVERRIDE")))
    if not rows:
        raise UserError("asv.conf.json names no release of torch or jax; nothing was removed")
    return Wanted(frozenset(rows), frozenset(filter(None, overrides)))


def leftovers(env_dir: pathlib.Path, named: Wanted, now: float) -> list[Leftover]:
    """Return the environments that the configuration does not name, and folders of builds that were killed.

    What asv did not make is never listed, and nothing that is being built.
    """
    found = []
    for path in sorted(env_dir.iterdir()) if env_dir.is_dir() else ():
        if not _FOLDER.fullmatch(path.name) or path.is_symlink() or not path.is_dir() or _is_being_built(path):
            continue
        try:
            content = json.loads((path / "asv-env-info.json").read_text(encoding="utf-8"))
            tool, requirements = content["tool_name"], content["requirements"]
            override = content["build_env_vars"].get("BENCH_OVERRIDE")
            rows = _rows_of(requirements)
        except FileNotFoundError:
            if now - path.stat().st_mtime > HALF_BUILT_AFTER_SECONDS:
                found.append(Leftover(path, "a build that did not finish"))
            continue
        except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
            continue
        if tool != TOOL:
            continue
        name = " ".join(f"{name} {version}" for name, version in requirements.items() if version)
        if not rows <= named.rows:
            found.append(Leftover(path, f"{name}: no longer in the matrix"))
        elif override and override not in named.overrides:
            found.append(Leftover(path, f"{name} with {override}: no longer in the matrix"))
    return found


def _is_being_built(path: pathlib.Path) -> bool:
    try:
        with build_lock.at_once(build_lock.of(path)):
            return False
    except BlockingIOError:
        return True


def _rows_of(requirements: dict) -> set[tuple[str, Version]]:
    found = set()
    for name, version in requirements.items():
        with contextlib.suppress(InvalidVersion):
            if version and name in FRAMEWORKS:
                found.add((name, Version(version)))
    return found


def old_prereleases(
    rows: list[tuple[Release, Constraints]], days: int, today: datetime.date
) -> list[tuple[Release, int]]:
    """Return (row, age in days) of the pre-release rows that are older."""
    aged = [(row, (today - found.released).days) for row, found in rows if row.version.is_prerelease]
    return [(row, age) for row, age in aged if age > days]


def size_of(path: pathlib.Path) -> int:
    """Return the bytes that a folder takes on the disk."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total


def remove(leftover: Leftover, env_dir: pathlib.Path) -> None:
    """Remove a leftover; raises UserError where somebody builds it now, or the disk refuses."""
    if leftover.path.parent.resolve() != env_dir.resolve():
        raise UserError(f"{leftover.path} lies outside {env_dir}; nothing was removed")
    try:
        with build_lock.at_once(build_lock.of(leftover.path)):
            _remove(leftover)
    except BlockingIOError:
        raise UserError(f"{leftover.path.name} is being built; prune again when that is done") from None


def _remove(leftover: Leftover) -> None:
    # Without its record asv builds a folder anew, so a removal that is cut short leaves no half environment in use.
    (leftover.path / "asv-env-info.json").unlink(missing_ok=True)
    try:
        shutil.rmtree(leftover.path)
    except OSError as error:
        raise UserError(f"{leftover.path.name} cannot be removed: {error.strerror}: {error.filename}") from None
