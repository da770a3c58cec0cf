"""What the matrix no longer needs: environments, half-built folders, old pre-release rows."""

import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import re
import shutil

from asv.util import UserError
from packaging.version import InvalidVersion, Version

from env_matrix.constraints import Constraints
from env_matrix.releases import Release

# asv names an environment's folder by an MD5 digest.
_FOLDER = re.compile(r"[0-9a-f]{32}")
# A build that was killed leaves a folder without asv's record; one that is under way looks the same.
HALF_BUILT_AFTER_SECONDS = 3600


@dataclasses.dataclass(frozen=True)
class Leftover:
    """Something under the folder of environments that no row needs, and why."""

    path: pathlib.Path
    what: str


def leftovers(env_dir: pathlib.Path, rows: list[Release], overrides: set[str], now: float) -> list[Leftover]:
    """Return the environments of no row, and folders of builds that were killed.

    `overrides` are the component swaps that the matrix names. What asv did not make is never listed.
    """
    wanted = {(row.framework, row.version) for row in rows}
    found = []
    for path in sorted(env_dir.iterdir()) if env_dir.is_dir() else ():
        if not _FOLDER.fullmatch(path.name) or path.is_symlink() or not path.is_dir():
            continue
        try:
            content = json.loads((path / "asv-env-info.json").read_text(encoding="utf-8"))
            tool, requirements = content["tool_name"], content["requirements"]
            override = content["build_env_vars"].get("BENCH_OVERRIDE")
        except FileNotFoundError:
            if now - path.stat().st_mtime > HALF_BUILT_AFTER_SECONDS:
                found.append(Leftover(path, "a build that did not finish"))
            continue
        except (OSError, ValueError, KeyError, AttributeError):
            continue
        if tool != "pinned":
            continue
        named = " ".join(f"{name} {version}" for name, version in requirements.items() if version)
        if not _rows_of(requirements) <= wanted:
            found.append(Leftover(path, f"{named}: no longer in the matrix"))
        elif override and override not in overrides:
            found.append(Leftover(path, f"{named} with {override}: no longer in the matrix"))
    return found


def _rows_of(requirements: dict) -> set[tuple[str, Version | None]]:
    found = set()
    for name, version in requirements.items():
        with contextlib.suppress(InvalidVersion):
            if version:
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
    """Remove a leftover; raises UserError where the disk refuses."""
    if leftover.path.parent.resolve() != env_dir.resolve():
        raise UserError(f"{leftover.path} lies outside {env_dir}; nothing was removed")
    # Without its record asv builds a folder anew, so a removal that is cut short leaves no half environment in use.
    (leftover.path / "asv-env-info.json").unlink(missing_ok=True)
    try:
        shutil.rmtree(leftover.path)
    except OSError as error:
        raise UserError(f"{leftover.path.name} cannot be removed: {error.strerror}: {error.filename}") from None
