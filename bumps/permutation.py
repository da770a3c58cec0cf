"""Exact permutation test of a shift between two sides.

When two releases are identical, which processes are called old and which new is arbitrary, so every assignment of the
names is equally likely, whatever the noise looks like: normal, heavy-tailed or on two levels. The share of assignments
that put the new side at least as high as it was seen is therefore an exact p-value (Edgington & Onghena,
*Randomization Tests*, 2007). Names are swapped within a batch only where the machine visibly drifted between batches
(Lehmann & D'Abrera, *Nonparametrics*, 1975, chapter 3), and over all batches otherwise.

The statistic is the sum of the new side's scores. A score is the distance from the pooled median in units of the
pooled scale, clipped as Huber's psi does (Huber, *Robust Statistics*, 1981, chapter 4), so one disturbed process
cannot hide a shift that all others show. Scores are whole numbers, which lets the distribution over all assignments be
counted instead of sampled (Pagano & Tritchler, JASA 78, 1983).
"""

from collections.abc import Sequence

import numpy as np
from scipy import stats

# A score beyond this many scale units says "far", not "how far".
CLIP = 1.5
STEPS_PER_UNIT = 16
# Beyond this many processes in a batch the sum is normal to within what the p-value is used for.
COUNTED = 60
# Batches differ visibly at this level.
DRIFT = 0.01
# The median of absolute differences between normal values is this many standard deviations (Shamos, 1976).
SHAMOS_TO_SD = 0.9539


def scores(pooled: np.ndarray) -> np.ndarray:
    """Return whole-number scores of pooled log medians (old and new together)."""
    centred = pooled - np.median(pooled)
    first, second = np.triu_indices(len(pooled), 1)
    scale = np.median(np.abs(pooled[first] - pooled[second])) / SHAMOS_TO_SD
    if scale == 0:
        scale = np.abs(centred).mean()
    if scale == 0:
        return np.zeros(len(pooled), dtype=np.int64)
    return np.rint(np.clip(centred / scale, -CLIP, CLIP) * STEPS_PER_UNIT).astype(np.int64)


def subset_sums(values: np.ndarray, size: int) -> tuple[np.ndarray, int]:
    """Count the subsets of `size` of the whole numbers `values` by their sum.

    Return the counts and the sum that the first count belongs to.
    """
    lowest = int(values.min())
    shifted = values - lowest
    width = int(np.sort(shifted)[len(shifted) - size :].sum()) + 1
    counts = np.zeros((size + 1, width))
    counts[0, 0] = 1
    for value in shifted:
        if value < width:
            counts[1:, value:] += counts[:-1, : width - value]
    return counts[size], lowest * size


def drifted(batches: Sequence[tuple[np.ndarray, np.ndarray]]) -> bool:
    """Say whether the batches' levels differ (one-way analysis of variance, old and new together)."""
    pooled = [np.concatenate(batch) for batch in batches]
    if len(pooled) < 2:
        return False
    size = sum(map(len, pooled))
    centre = sum(values.sum() for values in pooled) / size
    between = sum(len(values) * (values.mean() - centre) ** 2 for values in pooled)
    within = sum(values.var() * len(values) for values in pooled)
    freedom = size - len(pooled)
    if within == 0 or freedom == 0:
        return between > 0
    return stats.f.sf(between / (len(pooled) - 1) / (within / freedom), len(pooled) - 1, freedom) < DRIFT


def p_value(batches: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the exact one-sided p-value that the new side is higher.

    `batches` are pairs (old, new) of log medians, both non-empty.
    """
    if not drifted(batches):
        batches = [tuple(np.concatenate(side) for side in zip(*batches, strict=True))]
    lowness = 0
    distribution, offset = np.ones(1), 0
    mean, variance, large = 0.0, 0.0, False
    for old, new in batches:
        pooled = scores(np.concatenate([old, new]))
        # The smaller side's sum says as much as the other's, and there are fewer of its sums.
        smaller = -pooled if len(old) > len(new) else pooled
        chosen = smaller[len(old) :] if len(old) > len(new) else smaller[: len(old)]
        n, m = len(pooled), len(chosen)
        lowness += int(chosen.sum())
        mean += m * smaller.mean()
        variance += m * (n - m) / (n - 1) * smaller.var()
        large |= n > COUNTED
        if not large:
            counts, lowest = subset_sums(smaller, m)
            distribution = np.convolve(distribution, counts / counts.sum())
            offset += lowest
    if large:
        return float(stats.norm.cdf((lowness + 0.5 - mean) / np.sqrt(variance))) if variance > 0 else 1.0
    return float(min(1.0, distribution[: lowness - offset + 1].sum()))
