"""The judgement: process medians of two releases into a verdict. Pure: no files, no asv, no clock."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    REGRESSED = "regressed"
    IMPROVED = "improved"
    SAME = "same"
    AMBIGUOUS = "ambiguous"
    BROKEN = "broken"
    FIXED = "fixed"
    UNMEASURED = "unmeasured"


class Next(StrEnum):
    """What measuring would settle a judgement that is not final."""

    NOTHING = "nothing"
    CONFIRM = "confirm"
    MEASURE_MORE = "measure-more"


@dataclass(frozen=True)
class Side:
    """One benchmark with one set of parameters in one row.

    `batches` are process medians in the benchmark's unit, one tuple per measuring stage in the order measured: the
    first stage and then each confirmation with fresh processes. `failures` are the reasons of processes that ran and
    gave no figure (failed, timed out). `skipped` is the reason why the row does not measure it at all, if so.
    `interval` is asv's own interval (low, high) of the median where no samples were recorded, else None.
    """

    batches: tuple[tuple[float, ...], ...] = ()
    failures: tuple[str, ...] = ()
    skipped: str | None = None
    interval: tuple[float, float] | None = None

    @property
    def medians(self) -> tuple[float, ...]:
        return tuple(median for batch in self.batches for median in batch)


@dataclass(frozen=True)
class Case:
    """What is known of one benchmark with one set of parameters on both sides of a bump.

    `controls` are A/A pairs (a row, the same row under its second name) measured with it; `margin` is the configured
    relative relevance margin (0.05 is 5 %); `interleaved` says that both sides' processes alternated in time (or that
    a control brackets both). `stored_only` says that nothing can be measured again, so the judgement is final.
    `lower_is_better` is true for times and bytes.
    """

    key: Hashable
    old: Side
    new: Side
    controls: tuple[tuple[Side, Side], ...] = ()
    margin: float = 0.05
    interleaved: bool = True
    stored_only: bool = False
    lower_is_better: bool = True


@dataclass(frozen=True)
class Judgement:
    """The verdict on one case.

    `ratio` is new/old of the sides' centres, `low` and `high` its interval (None where there is none), `margin` the
    relevance margin used (the larger of the configured one and what the control can resolve), `smallest_detectable`
    the smallest relative slowdown that these processes would have found with the stated power, `why` one sentence.
    """

    key: Hashable
    verdict: Verdict
    ratio: float | None
    low: float | None
    high: float | None
    margin: float
    smallest_detectable: float | None
    why: str
    next: Next = Next.NOTHING


def judge(cases: Sequence[Case]) -> list[Judgement]:
    """Judge all cases of one bump together (multiplicity is controlled over them), in the order given."""
    raise NotImplementedError
