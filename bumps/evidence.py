"""What the process medians of one case say before anything is decided: the shift, its precision, its batches.

Pure arrays: many cases whose sides have the same numbers of processes are measured at once.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from bumps.permutation import SHAMOS_TO_SD

# A side's slow processes beyond this many robust standard deviations count as disturbed, if they are few.
DISTURBED_BEYOND = 3.0
DISTURBED_SHARE = 0.3
ENOUGH_TO_CLIP = 10

# For each side, the numbers of processes in its batches. Sides: old, new, old's twins, new's twins, further rows.
Signature = tuple[tuple[int, ...], ...]


@dataclass(slots=True)
class Evidence:
    """What the figures of one case say, in logarithms.

    `shift` is from old to new, its variance `variance / weight` with `freedom` degrees of freedom; `processes` are
    those of the smaller side, `sizes` the same for each batch that both sides have. `batch_shifts` are the batches' own
    shifts; `twin_shifts` what old and new differ by from their twins, with their weights. `disturbed` counts old's and
    new's processes that were moved in, `clipped` all of them. `logs` are old and new of each batch, twins included and
    nothing moved.
    """

    shift: float
    variance: float
    freedom: float
    weight: float
    processes: int
    sizes: list[int]
    batch_shifts: np.ndarray
    twin_shifts: tuple[tuple[float, float], ...]
    disturbed: tuple[int, int]
    clipped: int
    logs: list[tuple[np.ndarray, np.ndarray]]
    # Filled in when the variances of all cases are known.
    error: float = math.nan
    critical: float = math.nan
    tail: float = math.nan
    p: float = math.nan
    discovered: bool = True


@cache
def _pairs(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(count, 1)


def measure(signature: Signature, members: Sequence[tuple]) -> list[Evidence]:
    """Measure cases whose sides have the same numbers of processes: arrays of shape (cases, processes) per batch."""
    count = len(members)
    sides = [
        [
            np.log(np.array([cells[side][batch] for cells in members], dtype=float).reshape(count, size))
            for batch, size in enumerate(sizes)
        ]
        for side, sizes in enumerate(signature)
    ]
    stages = min(len(signature[0]), len(signature[1]))
    raw = [_with_twin(sides[side], sides[side + 2])[:stages] for side in (0, 1)]
    processes = min(sum(signature[0]), sum(signature[1]))
    disturbed = np.zeros((count, len(sides)), dtype=int)
    if processes >= ENOUGH_TO_CLIP:
        sides, disturbed = _clip_disturbed(sides)

    squares, freedom = np.zeros(count), 0
    joined = [_with_twin(sides[0], sides[2]), _with_twin(sides[1], sides[3])]
    for side in (*joined, *sides[4:]):
        for cell in side:
            if cell.shape[1] > 1:
                squares += cell.var(axis=1) * cell.shape[1]
                freedom += cell.shape[1] - 1
    total = sum(map(sum, signature))
    # A clipped process counts as seen in neither the variance nor the degrees of freedom.
    clipped = disturbed.sum(axis=1)
    variance = squares / max(freedom, 1) * (total / (total - clipped)) ** 2
    free = np.maximum(freedom - clipped, 0)
    shifts, weights = _shifts(*joined, count)
    weight = weights.sum()
    shift = weights @ shifts / weight if weight else np.full(count, math.nan)
    twins = [_shifts(sides[side], sides[side + 2], count) for side in (0, 1)]
    twin_shifts = [weights @ shifts / weights.sum() if weights.sum() else np.zeros(count) for shifts, weights in twins]
    used = [stage for stage in range(stages) if raw[0][stage].shape[1] and raw[1][stage].shape[1]]
    sizes = [min(signature[0][stage], signature[1][stage]) for stage in used]
    return [
        Evidence(
            shift=float(shift[i]),
            variance=float(variance[i]),
            freedom=float(free[i]),
            weight=float(weight),
            processes=processes,
            sizes=sizes,
            batch_shifts=shifts[:, i],
            twin_shifts=tuple((float(twin_shifts[side][i]), float(twins[side][1].sum())) for side in (0, 1)),
            disturbed=(int(disturbed[i, 0]), int(disturbed[i, 1])),
            clipped=int(clipped[i]),
            logs=[(raw[0][stage][i], raw[1][stage][i]) for stage in used],
        )
        for i in range(count)
    ]


def _with_twin(side: list[np.ndarray], twin: list[np.ndarray]) -> list[np.ndarray]:
    return [
        np.concatenate([cell, twin[stage]], axis=1) if stage < len(twin) else cell for stage, cell in enumerate(side)
    ]


def _shifts(old: list[np.ndarray], new: list[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the shifts from old to new, shape (batches, cases), and the batches' weights: reciprocals of the
    shifts' variances in units of one process's variance."""
    paired = [(a, b) for a, b in zip(old, new, strict=False) if a.shape[1] and b.shape[1]]
    shifts = np.array([b.mean(axis=1) - a.mean(axis=1) for a, b in paired]).reshape(len(paired), count)
    return shifts, np.array([1 / (1 / a.shape[1] + 1 / b.shape[1]) for a, b in paired])


def _clip_disturbed(sides: list[list[np.ndarray]]) -> tuple[list[list[np.ndarray]], np.ndarray]:
    """Pull slow stragglers in to where they count as slow and no more, if every side has only few of them.

    The scale is Shamos' (median of the absolute differences within each batch and side). Return the sides and how
    many processes were pulled in, shape (cases, sides).
    """
    cells = [cell for side in sides for cell in side if cell.shape[1] > 0]
    differences = [
        np.abs(cell[:, first] - cell[:, second]) for cell in cells for first, second in [_pairs(cell.shape[1])]
    ]
    scale = np.median(np.concatenate(differences, axis=1), axis=1) / SHAMOS_TO_SD
    limited, counts = [], []
    for side in sides:
        near_side, far = [], np.zeros(len(scale), dtype=int)
        for cell in side:
            if cell.shape[1]:
                limit = (np.median(cell, axis=1) + DISTURBED_BEYOND * scale)[:, None]
                far += (cell > limit).sum(axis=1)
                cell = np.minimum(cell, limit)
            near_side.append(cell)
        limited.append(near_side)
        counts.append(far)
    counts = np.array(counts).T
    sizes = np.array([sum(cell.shape[1] for cell in side) for side in sides])
    few = ((counts <= DISTURBED_SHARE * sizes).all(axis=1) & (scale > 0))[:, None]
    clipped = [
        [np.where(few, near, cell) for near, cell in zip(near_side, side, strict=True)]
        for near_side, side in zip(limited, sides, strict=True)
    ]
    return clipped, np.where(few, counts, 0)
