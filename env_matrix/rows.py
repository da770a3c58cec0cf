"""Changes of the matrix as a whole: the rows in asv.conf.json, their constraints, the controls that follow them."""

import contextlib
import pathlib

import filelock
from asv.util import UserError
from packaging.version import Version

from env_matrix import constraints, index, lock, matrix, output
from env_matrix.constraints import Constraints
from env_matrix.releases import LATEST, Release, release_of

LOCK_FILE = pathlib.Path(".cache") / "matrix.lock"
LONGEST_WAIT_SECONDS = 60


@contextlib.contextmanager
def exclusive():
    """Keep two commands from editing the matrix at the same time."""
    path = matrix.PATH.parent / LOCK_FILE
    path.parent.mkdir(exist_ok=True)
    lock = filelock.FileLock(path)
    try:
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            output.progress("waiting for another command that works on the matrix …")
            lock.acquire(timeout=LONGEST_WAIT_SECONDS)
    except filelock.Timeout:
        raise UserError("another command is changing the matrix; try again when it is done") from None
    try:
        yield
    finally:
        lock.release()


class Catalogue:
    """What the index lists of each framework, asked for once."""

    def __init__(self, settings: index.Settings | None = None, prereleases: bool = False):
        self.settings = settings or index.settings()
        self._prereleases = prereleases
        self._listed: dict[tuple[str, bool], dict] = {}

    def listed(self, framework: str, prereleases: bool = False) -> dict:
        """Return the framework's versions (`index.Published` by version), those of extra indexes for pre-releases."""
        key = framework, prereleases or self._prereleases
        if key not in self._listed:
            self._listed[key] = index.published(index.fetch(framework, self.settings, prereleases=key[1]))
        return self._listed[key]

    def release(self, framework: str, version: str) -> Release:
        """Return the release that a version text means, as the index writes it (2.9.0 for 2.9); `latest` is the newest
        final one."""
        if version != LATEST:
            meant = release_of(framework, version)
            listed = self.listed(framework, meant.version.is_prerelease).get(meant.public.version)
            if listed is None:
                return meant
            local = f"+{meant.version.local}" if meant.version.local else ""
            return Release(framework, Version(f"{listed.version}{local}"))
        newest = index.latest(self.listed(framework))
        if newest is None:
            raise UserError(f"the index has no final release of {framework}")
        return Release(framework, newest)

    def lock(self, release: Release) -> Constraints:
        return lock.lock(release, self.listed(release.framework, release.version.is_prerelease), self.settings)


def supports(known: dict[Release, Constraints]):
    """Return, by Python, whether a row installs there; `known` holds constraints that are not written yet."""

    def holds(python: str):
        return lambda row: (known.get(row.public) or constraints.load(row)).supports(f"{python}.0")

    return {python: holds(python) for python in lock.PYTHONS}


def with_rows(before: matrix.Matrix, releases: list[Release], resolved: list[Constraints]) -> matrix.Matrix:
    """Return the matrix with more rows, whose constraints are `resolved`, and the controls that follow."""
    after = before
    for release in releases:
        after = matrix.add(after, release)
    known = {found.release: found for found in resolved}
    return _with_controls(after, {release.framework for release in releases}, known)


def without_rows(before: matrix.Matrix, releases: list[Release]) -> matrix.Matrix:
    """Return the matrix without some rows, and the controls that follow."""
    after = before
    for release in releases:
        after = matrix.remove(after, release)
    return _with_controls(after, {release.framework for release in releases}, {})


def _with_controls(edited: matrix.Matrix, frameworks: set[str], known: dict[Release, Constraints]) -> matrix.Matrix:
    for framework in sorted(frameworks):
        newest = matrix.newest_by_python(edited.of(framework), supports(known))
        edited = matrix.with_controls(edited, framework, newest)
    return edited


def drop_constraints(releases: list[Release], remaining: matrix.Matrix) -> None:
    """Remove the constraints of releases that no row needs any longer."""
    needed = {row.public for row in remaining.rows}
    for release in releases:
        if release.public not in needed:
            constraints.path_of(release).unlink(missing_ok=True)
