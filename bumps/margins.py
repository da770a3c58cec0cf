"""Relevance margins: the smallest relative change worth reporting, by benchmark, from asv.conf.json."""

import functools
import re

from asv.util import UserError

DEFAULT = 0.05


class Margins:
    """`regressions_thresholds` of asv.conf.json, matched as asv's regressions page matches them.

    A pattern is matched at the start of `name(parameters)`; of several that match, the largest threshold counts.
    """

    def __init__(self, thresholds: dict):
        """Raises UserError for a pattern that is no regular expression or a threshold that is no share."""
        self._thresholds = [(_pattern(regex), _share(regex, threshold)) for regex, threshold in thresholds.items()]

    def of(self, name: str) -> float:
        """Return the margin of `name(parameters)` as a share: 0.05 is 5 %."""
        return max((share for pattern, share in self._thresholds if pattern.match(name)), default=DEFAULT)


@functools.cache
def _pattern(regex: str) -> re.Pattern:
    try:
        return re.compile(regex)
    except re.error as error:
        raise UserError(
            f"regressions_thresholds in asv.conf.json: {regex!r} is no regular expression: {error}"
        ) from None


def _share(regex: str, threshold: object) -> float:
    try:
        share = float(threshold)
    except (TypeError, ValueError):
        share = -1.0
    if not 0 < share < 10:
        raise UserError(
            f"regressions_thresholds in asv.conf.json: {threshold!r} for {regex!r} is no share such as 0.05 (5 %)"
        )
    return share
