"""Builds rows from the command line, as `asv run` would."""

import os

import asv.config
from asv import environment
from asv.util import UserError

from env_matrix import matrix
from env_matrix.releases import Release


def row(release: Release, python: str):
    """Return the asv environment of a row on a Python; raises UserError where this Python cannot hold it."""
    # The plugin imports half of asv, and the other commands need none of it.
    from env_matrix.environment import Pinned

    os.chdir(matrix.PATH.parent)
    configuration = asv.config.Config.load(str(matrix.PATH))
    try:
        return Pinned(configuration, python, {release.framework: str(release.version)}, {})
    except environment.EnvironmentUnavailable as error:
        raise UserError(str(error)) from None


def build(release: Release, python: str) -> str | None:
    """Build a row's environment unless it is there; return why it could not be built, None when it is."""
    try:
        made = row(release, python)
    except UserError as error:
        return str(error)
    made.create()
    return made.unbuildable
