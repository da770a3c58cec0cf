"""Noise models: how the medians of processes of one row spread. Pure: a random generator in, medians out."""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

# sd of the logarithms of process medians, measured on an H200 with 5 processes for each of 12 benchmarks (torch and
# jax, eager and compiled, matmul chains of three sizes).
MEASURED_LEVELS = (0.0015, 0.0025, 0.0028, 0.0053, 0.040, 0.040, 0.068, 0.077, 0.091, 0.096, 0.213, 0.240)

# What a process on the upper of two levels takes longer (cuDNN or autotuning picked another kernel).
LEVEL_STEP = math.log(1.11)
# One process in ten takes up to about 1.6 times as long: the two noisiest of the measured benchmarks look like that.
DISTURBED_SHARE = 0.1
DISTURBED_BY = math.log(1.6)

Model = Callable[..., np.ndarray]


def normal(generator: np.random.Generator, shape: tuple[int, ...], sd: np.ndarray | float) -> np.ndarray:
    """Log effects of processes from a normal distribution with standard deviation `sd`."""
    return generator.standard_normal(shape) * sd


def heavy_tailed(generator: np.random.Generator, shape: tuple[int, ...], sd: np.ndarray | float) -> np.ndarray:
    """Log effects from Student's t with 3 degrees of freedom, scaled to the standard deviation `sd`."""
    return generator.standard_t(3, shape) * (sd / math.sqrt(3))


def two_level(generator: np.random.Generator, shape: tuple[int, ...], sd: np.ndarray | float) -> np.ndarray:
    """Log effects where each process lands on one of two levels 11 % apart with equal chance, with a normal spread
    of `sd` around its level."""
    return normal(generator, shape, sd) + LEVEL_STEP * (generator.random(shape) < 0.5)


def disturbed(generator: np.random.Generator, shape: tuple[int, ...], sd: np.ndarray | float) -> np.ndarray:
    """Normal log effects with standard deviation `sd`, and one process in ten slower by up to 60 %."""
    hit = generator.random(shape) < DISTURBED_SHARE
    return normal(generator, shape, sd) + hit * generator.uniform(0, DISTURBED_BY, shape)


MODELS: dict[str, Model] = {
    "normal": normal,
    "heavy-tailed": heavy_tailed,
    "bimodal": two_level,
    "disturbed": disturbed,
}


def medians(
    generator: np.random.Generator,
    model: Model,
    shape: tuple[int, ...],
    sd: np.ndarray | float,
    centre: np.ndarray | float,
) -> np.ndarray:
    """Return process medians around `centre`; `sd` and `centre` broadcast against `shape`."""
    return centre * np.exp(model(generator, shape, sd))


class Resampled:
    """Log effects as stored controls show them: each benchmark's are drawn from one control's own, with replacement."""

    def __init__(self, pools: Sequence[Sequence[float]]):
        """`pools` holds the log effects of each control (what `effects` returns)."""
        self._sizes = np.array([len(pool) for pool in pools])
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._values = np.concatenate([np.asarray(pool, dtype=float) for pool in pools])

    def draw(self, generator: np.random.Generator, picks: np.ndarray, rounds: int) -> np.ndarray:
        """Return effects of shape (len(picks), rounds); `picks` are numbers of pools."""
        chosen = (generator.random((len(picks), rounds)) * self._sizes[picks][:, None]).astype(int)
        return self._values[self._starts[picks][:, None] + chosen]

    def __len__(self) -> int:
        return len(self._sizes)


def effects(sides: Iterable[Iterable[float]]) -> tuple[float, ...]:
    """Return the log effects of the processes of `sides` (each the medians of one row's processes).

    They are centred on their side and widened by sqrt(n / (n - 1)), since a side's own mean is closer to them than the
    true centre. Sides with fewer than two positive medians give none.
    """
    found: list[float] = []
    for side in sides:
        logs = _logs(side)
        if len(logs) > 1:
            found += ((logs - logs.mean()) * math.sqrt(len(logs) / (len(logs) - 1))).tolist()
    return tuple(found)


def _logs(side: Iterable[float]) -> np.ndarray:
    return np.log([value for value in side if value > 0 and math.isfinite(value)])


def level(sides: Iterable[Iterable[float]]) -> float | None:
    """Return the sd of the log process medians within `sides` (each the medians of one row's processes), pooled over
    them; None where no side has two positive medians."""
    squares, freedom = 0.0, 0
    for side in sides:
        logs = _logs(side)
        if len(logs) > 1:
            squares += float(((logs - logs.mean()) ** 2).sum())
            freedom += len(logs) - 1
    return math.sqrt(squares / freedom) if freedom else None
