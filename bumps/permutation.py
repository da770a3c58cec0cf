"""Exact stratified permutation test of a shift between two sides.

When two releases are identical, which of a batch's processes are called old and which new is arbitrary, so every
assignment of the names within a batch is equally likely, whatever the noise looks like: normal, heavy-tailed or on two
levels. The share of assignments that put the new side at least as high as it was seen is therefore an exact p-value.
Batches are strata, since the machine may have drifted between them (Lehmann & D'Abrera, *Nonparametrics*, 1975,
chapters 1 and 3; Edgington & Onghena, *Randomization Tests*, 2007).

The statistic is the sum of the new side's scores. A score is the distance from the batch's pooled median in units of
the pooled scale, clipped as Huber's psi does (Huber, *Robust Statistics*, 1981, chapter 4), so one disturbed process
cannot hide a shift that all others show. Scores are whole numbers, which lets the distribution over all assignments be
counted instead of sampled (Pagano & Tritchler, JASA 78, 1983).
"""

from collections.abc import Sequence

import numpy as np
from scipy import stats

# A score beyond 2.5 scale units says "far", not "how far".
CLIP = 2.5
STEPS_PER_UNIT = 12
# Beyond this many processes in a batch the sum is normal to within what the p-value is used for.
COUNTED = 60
MAD_TO_SD = 1.4826


def scores(pooled: np.ndarray) -> np.ndarray:
    """Return whole-number scores of one batch's pooled log medians (old and new together)."""
    centred = pooled - np.median(pooled)
    scale = MAD_TO_SD * np.median(np.abs(centred))
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


def p_value(batches: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the exact one-sided p-value that the new side is higher.

    `batches` are pairs (old, new) of log medians, both non-empty. The sides' labels are permuted within a batch.
    """
    observed = 0
    distribution, offset = np.ones(1), 0
    mean, variance, large = 0.0, 0.0, False
    for old, new in batches:
        pooled = np.concatenate([old, new])
        batch_scores = scores(pooled)
        observed += int(batch_scores[len(old) :].sum())
        n, m = len(pooled), len(new)
        mean += m * batch_scores.mean()
        variance += m * (n - m) / (n - 1) * batch_scores.var()
        if n > COUNTED:
            large = True
        if not large:
            counts, lowest = subset_sums(batch_scores, m)
            distribution = np.convolve(distribution, counts / counts.sum())
            offset += lowest
    if large:
        return float(stats.norm.sf((observed - 0.5 - mean) / np.sqrt(variance))) if variance > 0 else 1.0
    return float(min(1.0, distribution[max(observed - offset, 0) :].sum()))
