"""Processes that sit on two levels: another kernel was picked in some of them than in the others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

# A side sits on two levels where its widest gap exceeds the range on either side of it, with so many processes below.
LEVEL_MEMBERS = 2
# An upper level holds more than this share of a side's processes; fewer are disturbed processes.
LEVEL_SHARE = 0.2


@dataclass(frozen=True)
class Levels:
    """Both sides' two levels, in logarithms: how far they are apart, how large a shift of either is excluded, and the
    larger of the two shifts in standard errors."""

    step: float
    excluded: float
    remarkable: float


@dataclass(frozen=True)
class Unmatched:
    """One side's processes sit on two levels, the other's do not."""


def _levels(values: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Split one side's processes into a lower and an upper level where they clearly sit on two."""
    ordered = np.sort(values)
    # A few slow processes are no level.
    fewest_upper = int(LEVEL_SHARE * len(ordered)) + 1
    gaps = np.diff(ordered)[LEVEL_MEMBERS - 1 : len(ordered) - fewest_upper]
    if len(gaps) == 0:
        return None
    cut = int(gaps.argmax()) + LEVEL_MEMBERS
    lower, upper = ordered[:cut], ordered[cut:]
    widest = max(lower[-1] - lower[0], upper[-1] - upper[0])
    return (lower, upper) if gaps.max() > widest else None


def _split(values: np.ndarray, at: float) -> tuple[np.ndarray, np.ndarray] | None:
    lower, upper = values[values < at], values[values >= at]
    return (lower, upper) if min(len(lower), len(upper)) >= LEVEL_MEMBERS else None


def compare(sides: Sequence[np.ndarray], least_step: float, confidence: float) -> Levels | Unmatched | None:
    """Compare old and new (log medians) level by level; return None where neither clearly sits on two levels.

    Two sides with the same two levels differ in their means only by how many processes landed on which. Levels no
    further apart than `least_step` cannot hide a change that matters and count as none. `confidence` is the level of
    the two-sided interval that excludes a shift.
    """
    levels = [_levels(side) for side in sides]
    clear = [each for each in levels if each is not None]
    if not clear or min(upper[0] - lower[-1] for lower, upper in clear) < least_step:
        return None
    if len(clear) == 1:
        # The other side must fall into the same two levels.
        (lower, upper) = clear[0]
        levels = [each or _split(side, (lower[-1] + upper[0]) / 2) for each, side in zip(levels, sides, strict=True)]
        if None in levels:
            return Unmatched()
    groups = [group for pair in clear for group in pair]
    freedom = sum(len(group) - 1 for group in groups)
    within = math.sqrt(sum(group.var() * len(group) for group in groups) / freedom)
    critical = float(stats.t.isf((1 - confidence) / 2, freedom))
    excluded, remarkable = 0.0, 0.0
    for before, after in zip(*levels, strict=True):
        shift = abs(float(after.mean() - before.mean()))
        error = within * math.sqrt(1 / len(before) + 1 / len(after))
        excluded = max(excluded, shift + critical * error)
        if shift > 0:
            remarkable = max(remarkable, shift / error if error > 0 else math.inf)
    step = float(np.mean([upper.mean() - lower.mean() for lower, upper in levels]))
    return Levels(step, excluded, remarkable)
