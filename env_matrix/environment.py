"""The asv plugin that asv.conf.json names: asv finds the kinds of row as subclasses of its Environment."""

from env_matrix.installed import Installed
from env_matrix.pinned import Pinned

__all__ = ["Installed", "Pinned"]
