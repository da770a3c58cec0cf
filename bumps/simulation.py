"""Simulated bumps: the driver's sequence of measuring, judging and measuring again, with known truth.

Pure: random generator in, counts out. `judge` is any function with the signature of `bumps.verdict.judge`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from bumps import noise
from bumps.verdict import Case, Judgement, Next, Side, Verdict, judge

Judge = Callable[[Sequence[Case]], list[Judgement]]

# What `judge` may ask for at most, so that a faulty one ends.
MOST_STAGES = 10


def judge_alone(cases: Sequence[Case]) -> list[Judgement]:
    """Judge without the help of multiplicity control: each case at its own significance level."""
    return judge(cases, multiplicity=False)


@dataclass(frozen=True)
class Truth:
    """What is simulated: `change` is the true relative change of the `changed` share of the benchmarks of a bump
    (0.1 is +10 %), the rest is unchanged. Each benchmark has a level out of `levels`, the sd of the named noise model,
    or where there are `pools`, the noise of one of them (`bumps.noise.effects` of a control)."""

    model: str = "normal"
    levels: tuple[float, ...] = noise.MEASURED_LEVELS
    change: float = 0.0
    changed: float = 1.0
    benchmarks: int = 300
    rounds: int = 5
    margin: float = 0.05
    pools: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """Verdicts of the benchmarks that have the true change, and processes a side that they took in all."""

    verdicts: Counter
    processes: int

    @property
    def total(self) -> int:
        return self.verdicts.total()

    @property
    def processes_a_side(self) -> float:
        return self.processes / self.total

    def share(self, verdict: Verdict) -> float:
        return self.verdicts[verdict] / self.total

    def upper_bound(self, verdict: Verdict, confidence: float = 0.95) -> float:
        """Return the one-sided upper bound of the verdict's true rate (Clopper & Pearson, Biometrika 26, 1934)."""
        count = self.verdicts[verdict]
        return 1.0 if count == self.total else float(stats.beta.ppf(confidence, count + 1, self.total - count))

    def __add__(self, other: "Outcome") -> "Outcome":
        return Outcome(self.verdicts + other.verdicts, self.processes + other.processes)


def simulate_bump(generator: np.random.Generator, truth: Truth, judge: Judge = judge) -> Outcome:
    """Simulate one bump with its control from the first stage to the last verdict."""
    count = truth.benchmarks
    changed = np.arange(count) < round(truth.changed * count)
    generator.shuffle(changed)
    draw = _noise(generator, truth)
    centres = np.exp(generator.uniform(np.log(1e-4), np.log(1e-1), count))[:, None]
    after = np.where(changed[:, None], centres * (1 + truth.change), centres)

    cases = [Case(key, Side(), Side(), margin=truth.margin) for key in range(count)]
    wanted = np.arange(count)
    for _ in range(MOST_STAGES):
        stages = [(centre[wanted] * np.exp(draw(wanted))).tolist() for centre in (centres, after, after)]
        for key, *measured in zip(wanted.tolist(), *stages, strict=True):
            case = cases[key]
            controlled = case.controls[0][1] if case.controls else Side()
            old, new, control = (
                Side((*side.batches, tuple(batch)))
                for side, batch in zip((case.old, case.new, controlled), measured, strict=True)
            )
            cases[key] = replace(case, old=old, new=new, controls=((new, control),))
        judgements = judge(cases)
        wanted = np.array([judgement.key for judgement in judgements if judgement.next is not Next.NOTHING], dtype=int)
        if len(wanted) == 0:
            break
    of_interest = np.flatnonzero(changed)
    return Outcome(
        Counter(judgements[key].verdict for key in of_interest),
        sum(len(cases[key].new.medians) for key in of_interest),
    )


def _noise(generator: np.random.Generator, truth: Truth) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from benchmarks (their numbers) to log effects of one batch, shape (benchmarks, rounds)."""
    if truth.pools:
        resampled = noise.Resampled(truth.pools)
        picks = generator.integers(len(resampled), size=truth.benchmarks)
        return lambda wanted: resampled.draw(generator, picks[wanted], truth.rounds)
    model = noise.MODELS[truth.model]
    sds = generator.choice(truth.levels, truth.benchmarks)[:, None]
    return lambda wanted: model(generator, (len(wanted), truth.rounds), sds[wanted])


def simulate(seed: int, truth: Truth, at_least: int, judge: Judge = judge) -> Outcome:
    """Simulate bumps until `at_least` benchmarks with the true change have been judged."""
    generator = np.random.default_rng(seed)
    outcome = Outcome(Counter(), 0)
    while outcome.total < at_least:
        outcome += simulate_bump(generator, truth, judge)
    return outcome
