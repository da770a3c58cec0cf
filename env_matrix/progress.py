"""Says what takes long, through asv's log."""

import logging

from asv.console import log


def say(text: str) -> None:
    """Print a line also while asv keeps quiet about its environments: a build takes minutes."""
    with log.set_level(logging.INFO):
        log.info(text)
