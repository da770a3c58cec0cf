"""The judgement: process medians of two releases into a verdict. Pure: no files, no asv, no clock.

docs/verdicts.md says what is computed and why, with the simulated error rates.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import zip_longest

import numpy as np
from scipy import stats

from bumps import levels, moderation, permutation
from bumps.evidence import ENOUGH_TO_CLIP, Evidence, measure

# The interval that every judgement carries is two-sided at this level.
CONFIDENCE = 0.998
# Chance of calling an unchanged benchmark `regressed`, over all its looks, whatever the noise; and as much `improved`.
FALSE_ALARM = 5e-4
FALSE_DISCOVERY_RATE = 0.05
# Power that `smallest_detectable` is stated for.
POWER = 0.9
POWER_QUANTILE = float(stats.norm.ppf(POWER))
# Processes a side after which a case is final.
MOST_PROCESSES = 15
# A change beyond this factor is believed only when fresh processes show it again.
INCREDIBLE = 10.0
# Where noise forbids excluding the configured margin, `same` also asks that old and new differ by no more than this
# many standard errors; fewer with few processes, whose two levels cannot be told from a shift.
UNREMARKABLE = 2.0
UNREMARKABLE_WHEN_FEW = 1.3
# `same` is not said where a change of this size could hide.
WIDEST_SAME = 1.0
# One batch alone is believed without an exact test only when both sides are this far apart (H200: processes of one
# row sit on two levels 11 % apart) and the t interval is this sure.
SINGLE_BATCH_GAP = 0.15
SINGLE_BATCH_FEWEST = 5
SINGLE_BATCH_ALPHA = 1e-4
LARGEST_LOGARITHM = 700.0


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


@dataclass(frozen=True, slots=True)
class Side:
    """One benchmark with one set of parameters in one row.

    `batches` are process medians in the benchmark's unit, one tuple per measuring stage in the order measured: the
    first stage and then each confirmation with fresh processes. Batches of the two sides belong together by position;
    a stage that a side missed is an empty tuple. `failures` are the reasons of processes that ran and gave no figure
    (failed, timed out). `skipped` is the reason why the row does not measure it at all, if so. `interval` is asv's own
    interval (low, high) of the median where no samples were recorded, else None.
    """

    batches: tuple[tuple[float, ...], ...] = ()
    failures: tuple[str, ...] = ()
    skipped: str | None = None
    interval: tuple[float, float] | None = None

    @property
    def medians(self) -> tuple[float, ...]:
        return tuple(median for batch in self.batches for median in batch)


@dataclass(frozen=True, slots=True)
class Case:
    """What is known of one benchmark with one set of parameters on both sides of a bump.

    `controls` are A/A pairs (a row, the same row under its second name) measured with it; `margin` is the configured
    relative relevance margin (0.05 is 5 %); `interleaved` says that both sides' processes alternated in time (or that
    a control brackets both). `stored_only` says that nothing can be measured again, so the judgement is final.
    `lower_is_better` is true for times and bytes. `exact` says that the figure is a count without noise (kernels per
    step): it is compared as it stands, however few processes there are.
    """

    key: Hashable
    old: Side
    new: Side
    controls: tuple[tuple[Side, Side], ...] = ()
    margin: float = 0.05
    interleaved: bool = True
    stored_only: bool = False
    lower_is_better: bool = True
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one case.

    `ratio` is new/old of the sides' centres, `low` and `high` its interval (None where there is none), `margin` the
    relevance margin used (the larger of the configured one and what the noise lets resolve), `smallest_detectable`
    the smallest relative change for the worse that these processes would have found with a power of `POWER`, `why`
    one sentence. `cost` is the ratio turned so that above 1 is worse. `confirmed` says that at least two batches
    support a `regressed` or `improved`, `exact` that the figures are counts.
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
    cost: float | None = None
    confirmed: bool = False
    exact: bool = False


@dataclass(frozen=True)
class ControlAlarms:
    """How many control pairs were judged as if they were a bump, and how many of them came out changed."""

    judged: int = 0
    alarms: int = 0


@dataclass(frozen=True)
class Summary:
    """One bump in figures.

    `geomean` and `geomean_by_workload` are geometric means of `cost` (above 1 is worse), `worst` the `regressed`
    benchmark with the largest one (a count only where nothing else regressed), `unconfirmed` how many of the
    `regressed` no second batch supports, `smallest_detectable` the median over the benchmarks. `exit_status` is 0 when
    nothing regressed or broke, 1 when something did, 3 when the worst left is ambiguous, 4 when nothing was measured.
    """

    counts: dict[Verdict, int]
    judged: int
    geomean: float | None
    geomean_by_workload: dict[str, float]
    worst: tuple[Hashable, float] | None
    unconfirmed: int
    broken: tuple[Hashable, ...]
    smallest_detectable: float | None
    control: ControlAlarms
    exit_status: int


def judge(cases: Sequence[Case], *, multiplicity: bool = True) -> list[Judgement]:
    """Judge all cases of one bump together, in the order given.

    Multiplicity is controlled over the cases by the false discovery rate (Benjamini & Hochberg, JRSS B 57, 1995), on
    top of each case's own significance level; `multiplicity=False` leaves only the latter, as calibration needs it.
    Raise `ValueError` for a margin that is no positive number.
    """
    judgements: list[Judgement | None] = [None] * len(cases)
    comparable: list[int] = []
    kept: list[Case] = []
    for position, case in enumerate(cases):
        if not 0 < case.margin < math.inf:
            raise ValueError(f"{case.key}: the margin must be a positive number, not {case.margin}")
        case = _cleaned(case)
        judgements[position] = _judge_without_noise(case)
        if judgements[position] is None:
            comparable.append(position)
            kept.append(case)
    for position, judgement in zip(comparable, _judge_with_noise(kept, multiplicity), strict=True):
        judgements[position] = judgement
    return judgements


def judge_controls(cases: Iterable[Case]) -> list[Judgement]:
    """Judge the cases' control pairs as if each were a bump of its own, from what is stored.

    Left out are pairs with one process on a side, of which none could come out changed, and counts, which have no
    noise.
    """
    pairs = {
        (case.key, number): Case(
            (case.key, number),
            *pair,
            margin=case.margin,
            interleaved=case.interleaved,
            stored_only=True,
            lower_is_better=case.lower_is_better,
        )
        for case in cases
        if not case.exact
        for number, pair in enumerate(case.controls)
        if all(len(side.medians) != 1 for side in pair)
    }
    return judge(list(pairs.values()))


def summarise(
    judgements: Sequence[Judgement],
    workload_of: Callable[[Hashable], str | None] = lambda key: None,
    controls: Sequence[Judgement] = (),
    is_averaged: Callable[[Hashable], bool] = lambda key: True,
) -> Summary:
    """Sum up one bump. `workload_of` names a key's workload (None: it has none); `controls` is what
    `judge_controls` returned; `is_averaged` says whether a key belongs in the geometric means."""
    counts = Counter(judgement.verdict for judgement in judgements)
    costs = [
        (judgement.key, judgement.cost) for judgement in judgements if judgement.cost and is_averaged(judgement.key)
    ]
    by_workload = defaultdict(list)
    for key, cost in costs:
        workload = workload_of(key)
        if workload is not None:
            by_workload[workload].append(cost)
    regressed = [judgement for judgement in judgements if judgement.verdict is Verdict.REGRESSED]
    ranked = [judgement for judgement in regressed if judgement.cost is not None]
    worst = max(ranked, key=lambda judgement: (not judgement.exact, judgement.cost), default=None)
    detectable = [
        judgement.smallest_detectable for judgement in judgements if judgement.smallest_detectable is not None
    ]
    judged = len(judgements) - counts[Verdict.UNMEASURED]
    if judged == 0:
        exit_status = 4
    elif counts[Verdict.REGRESSED] or counts[Verdict.BROKEN]:
        exit_status = 1
    elif counts[Verdict.AMBIGUOUS]:
        exit_status = 3
    else:
        exit_status = 0
    return Summary(
        counts={verdict: counts[verdict] for verdict in Verdict},
        judged=judged,
        geomean=_geomean(cost for _, cost in costs),
        geomean_by_workload={workload: _geomean(by_workload[workload]) for workload in sorted(by_workload)},
        worst=(worst.key, worst.cost) if worst else None,
        unconfirmed=sum(not judgement.confirmed for judgement in regressed),
        broken=tuple(judgement.key for judgement in judgements if judgement.verdict is Verdict.BROKEN),
        smallest_detectable=float(np.median(detectable)) if detectable else None,
        control=control_alarms(controls),
        exit_status=exit_status,
    )


def control_alarms(controls: Iterable[Judgement]) -> ControlAlarms:
    """Count what `judge_controls` returned: whatever is neither `same` nor `ambiguous` is a false alarm."""
    counts = Counter(judgement.verdict for judgement in controls)
    judged = counts.total() - counts[Verdict.UNMEASURED]
    return ControlAlarms(judged, judged - counts[Verdict.SAME] - counts[Verdict.AMBIGUOUS])


def _geomean(costs: Iterable[float]) -> float | None:
    logs = [math.log(cost) for cost in costs]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


# What needs no statistics: failures, skips, counts, intervals.


def _usable(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def _cleaned_side(side: Side) -> Side:
    if all(type(value) is float and math.isfinite(value) for batch in side.batches for value in batch):
        return side
    unusable = sum(not _usable(value) for batch in side.batches for value in batch)
    return replace(
        side,
        batches=tuple(tuple(float(value) for value in batch if _usable(value)) for batch in side.batches),
        failures=side.failures + ("the figure is not a finite number",) * unusable,
    )


def _cleaned(case: Case) -> Case:
    old, new = _cleaned_side(case.old), _cleaned_side(case.new)
    controls = tuple((_cleaned_side(first), _cleaned_side(second)) for first, second in case.controls)
    unchanged = old is case.old and new is case.new
    if unchanged and all(a is c and b is d for (a, b), (c, d) in zip(controls, case.controls, strict=True)):
        return case
    return replace(case, old=old, new=new, controls=controls)


def _judge_without_noise(case: Case) -> Judgement | None:
    """Judge a case that needs no statistics; return None for one that does."""
    old, new = case.old.medians, case.new.medians
    plain = (None, None, None, case.margin, None)
    if not (old and new) and not (case.old.interval or case.new.interval):
        return _judge_missing(case, bool(old), bool(new))
    if bool(old or case.old.interval) != bool(new or case.new.interval):
        return _judge_missing(case, bool(old or case.old.interval), bool(new or case.new.interval))
    tried_old, tried_new = len(old) + len(case.old.failures), len(new) + len(case.new.failures)
    for failing, tried, other, verdict in (
        (case.new.failures, tried_new, case.old, Verdict.BROKEN),
        (case.old.failures, tried_old, case.new, Verdict.FIXED),
    ):
        if 2 * len(failing) >= tried > 0 and not other.failures and other.medians:
            side, against = ("new", "old") if verdict is Verdict.BROKEN else ("old", "new")
            more = not case.stored_only and tried < 2 * len(other.batches[0]) and len(other.batches) < 2
            why = f"{len(failing)} of {tried} {side} processes failed and no {against} one: {failing[0]}"
            return Judgement(case.key, verdict, *plain, why, Next.CONFIRM if more else Next.NOTHING)
    if not (old and new):
        return _judge_intervals(case)
    if case.exact or _without_noise(case):
        return _judge_exact(case)
    if min(old) <= 0 or min(new) <= 0:
        why = "some figures are not positive, so old and new have no ratio"
        return Judgement(case.key, Verdict.AMBIGUOUS, *plain, why)
    return None


def _judge_missing(case: Case, old_ran: bool, new_ran: bool) -> Judgement:
    if old_ran and case.new.failures:
        count = len(case.new.failures)
        verdict, why = Verdict.BROKEN, f"ran before, all {count} new processes failed: {case.new.failures[0]}"
    elif new_ran and case.old.failures:
        count = len(case.old.failures)
        verdict, why = Verdict.FIXED, f"runs now, all {count} old processes failed: {case.old.failures[0]}"
    elif old_ran:
        verdict, why = Verdict.UNMEASURED, f"not measured on the new side: {case.new.skipped or 'no result'}"
    elif new_ran:
        verdict, why = Verdict.UNMEASURED, f"not measured on the old side: {case.old.skipped or 'no result'}"
    else:
        sides = [(side.failures[:1] or (side.skipped or "no result",))[0] for side in (case.old, case.new)]
        reason = sides[0] if sides[0] == sides[1] else f"old: {sides[0]}; new: {sides[1]}"
        verdict, why = Verdict.UNMEASURED, f"no figures on either side: {reason}"
    return Judgement(case.key, verdict, None, None, None, case.margin, None, why)


def _judge_intervals(case: Case) -> Judgement:
    """Judge from asv's own intervals, which cover the median of pooled samples and so know nothing of how processes
    differ: never better than ambiguous."""
    old, new = (side.interval or (min(side.medians), max(side.medians)) for side in (case.old, case.new))
    ratio = low = high = None
    if all(_usable(end) and end > 0 for end in (*old, *new)) and old[0] <= old[1] and new[0] <= new[1]:
        low, high = new[0] / old[1], new[1] / old[0]
        ratio = math.sqrt(low) * math.sqrt(high)
        if not math.isfinite(high) or ratio == 0:
            ratio = low = high = None
    why = "no samples were recorded, only asv's intervals, which do not know how processes differ"
    cost = None if ratio is None else _cost(ratio, case)
    following = Next.NOTHING if case.stored_only else Next.MEASURE_MORE
    return Judgement(case.key, Verdict.AMBIGUOUS, ratio, low, high, case.margin, None, why, following, cost)


def _without_noise(case: Case) -> bool:
    """Say whether the figures are whole numbers that no process disagrees on: a count."""
    sides = [case.old, case.new, *(side for pair in case.controls for side in pair)]
    for side in sides:
        medians = side.medians
        if not medians:
            continue
        if medians[0] != int(medians[0]) or min(medians) != max(medians):
            return False
    return min(len(case.old.medians), len(case.new.medians)) >= 2


def _judge_exact(case: Case) -> Judgement:
    old, new = float(np.median(case.old.medians)), float(np.median(case.new.medians))
    spread = any(min(side.medians) != max(side.medians) for side in (case.old, case.new))
    figures = f"{old:g} → {new:g}"
    if old == new:
        ratio, verdict, why = 1.0, Verdict.SAME, f"{figures}, a count"
    else:
        ratio = new / old if old > 0 and new >= 0 and math.isfinite(new / old) else None
        relevant = ratio is None or ratio == 0 or abs(math.log(ratio)) > math.log1p(case.margin)
        worse = (new > old) == case.lower_is_better
        verdict = (Verdict.REGRESSED if worse else Verdict.IMPROVED) if relevant else Verdict.SAME
        why = f"{figures}, a count" + ("" if relevant else f": within the margin of {_percent(case.margin)}")
    if spread:
        verdict = Verdict.AMBIGUOUS
        why = f"{figures}, a count on which processes of one side disagree"
    cost = _cost(ratio, case) if ratio else None
    confirmed = not spread and old != new
    return Judgement(
        case.key, verdict, ratio, ratio, ratio, case.margin, None, why, cost=cost, confirmed=confirmed, exact=True
    )


def _cost(ratio: float, case: Case) -> float:
    return ratio if case.lower_is_better else 1 / ratio


# What needs statistics.


def _cells(case: Case) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Return the batches of old, new, old's twins, new's twins and of other rows' control sides.

    A side's twin is the same row measured again under its second name: its processes count as the side's own.
    """
    twins = {"old": (), "new": ()}
    others = []
    for pair in case.controls:
        for side, twin in (pair, pair[::-1]):
            if min(side.medians, default=0) <= 0:
                continue
            if _same_processes(side, case.new) or _same_processes(side, case.old):
                continue
            if twin.batches == case.new.batches:
                twins["new"] = _joined(twins["new"], side.batches)
            elif twin.batches == case.old.batches:
                twins["old"] = _joined(twins["old"], side.batches)
            else:
                others.append(side.batches)
    return (case.old.batches, case.new.batches, twins["old"], twins["new"], *others)


def _same_processes(one: Side, other: Side) -> bool:
    return one.batches == other.batches or sorted(one.medians) == sorted(other.medians)


def _joined(first: tuple[tuple[float, ...], ...], second: tuple[tuple[float, ...], ...]):
    return tuple(a + b for a, b in zip_longest(first, second, fillvalue=()))


def _judge_with_noise(cases: list[Case], multiplicity: bool) -> list[Judgement]:
    evidence: list[Evidence] = [None] * len(cases)
    groups = defaultdict(list)
    for position, case in enumerate(cases):
        cells = _cells(case)
        groups[tuple(tuple(map(len, batches)) for batches in cells)].append((position, cells))
    for signature, members in groups.items():
        # Slices keep the pairwise differences of many cases from filling the memory.
        for start in range(0, len(members), 10_000):
            part = members[start : start + 10_000]
            measured = measure(signature, [cells for _, cells in part])
            for (position, _), found in zip(part, measured, strict=True):
                evidence[position] = found
    _weigh(cases, evidence, multiplicity)
    return [_decide(case, found) for case, found in zip(cases, evidence, strict=True)]


def _weigh(cases: list[Case], evidence: list[Evidence], multiplicity: bool) -> None:
    """Fill in standard errors, critical values and p-values, and control the false discovery rate."""
    if not evidence:
        return
    freedom = np.array([found.freedom for found in evidence])
    variances, freedom = moderation.moderate(np.array([found.variance for found in evidence]), freedom)
    weights = np.array([found.weight for found in evidence])
    known = (freedom > 0) & (weights > 0)
    degrees = np.where(known, freedom, 1.0)
    errors = np.where(known, np.sqrt(variances / np.where(known, weights, 1.0)), math.nan)
    criticals = stats.t.isf((1 - CONFIDENCE) / 2, degrees)
    shifts = np.array([found.shift for found in evidence])
    with np.errstate(divide="ignore", invalid="ignore"):
        tails = stats.t.sf(np.abs(shifts) / errors, degrees)
    for case, found, error, critical, tail in zip(cases, evidence, errors, criticals, tails, strict=True):
        found.error, found.critical, found.tail = float(error), float(critical), float(tail)
        found.p = found.tail
        margin = math.log1p(case.margin)
        alone = len(found.batch_shifts) < 2
        if abs(found.shift) > max(margin, found.critical * found.error) and (not alone or case.stored_only):
            rising = found.shift > 0
            batches = [(old, new) if rising else (-old, -new) for old, new in found.logs]
            found.p = permutation.p_value(batches)
            if alone and found.tail <= SINGLE_BATCH_ALPHA and _far_apart(*batches[0]):
                found.p = found.tail
    if multiplicity:
        _control_discoveries(evidence)


def _far_apart(lower: np.ndarray, upper: np.ndarray) -> bool:
    fewest = min(len(lower), len(upper))
    return fewest >= SINGLE_BATCH_FEWEST and upper.min() - lower.max() > math.log1p(SINGLE_BATCH_GAP)


def _control_discoveries(evidence: list[Evidence]) -> None:
    tested = sorted((found for found in evidence if not math.isnan(found.p)), key=lambda found: found.p)
    threshold = 0.0
    for rank, found in enumerate(tested, 1):
        if 2 * found.p <= FALSE_DISCOVERY_RATE * rank / len(tested):
            threshold = found.p
    for found in tested:
        found.discovered = found.p <= threshold


def _spent(processes: int) -> float:
    """Return the chance of a false alarm that may be spent by the time this many processes a side are measured (Lan &
    DeMets, Biometrika 70, 1983, with a quadratic spending function)."""
    return FALSE_ALARM * (min(processes, MOST_PROCESSES) / MOST_PROCESSES) ** 2


def significance_level(sizes: Sequence[int]) -> float:
    """Return the one-sided level at which the look after batches of these sizes (processes a side) is tested.

    The first batch only raises suspicion and spends nothing.
    """
    total = sum(sizes)
    level = _spent(total)
    if len(sizes) > 2:
        level -= _spent(total - sizes[-1])
    return max(level, FALSE_ALARM / 10)


@dataclass(frozen=True, slots=True)
class _Decision:
    verdict: Verdict
    why: str
    next: Next = Next.NOTHING
    confirmed: bool = False


def _decide(case: Case, found: Evidence) -> Judgement:
    half = found.critical * found.error
    more = _more_can_be_measured(case, found)
    following = Next.MEASURE_MORE if more else Next.NOTHING
    if math.isnan(half):
        why = "too few processes to know the noise" if found.logs else "old and new share no batch"
        ratio = None if math.isnan(found.shift) else _ratio(found.shift)
        cost = None if ratio is None else _cost(ratio, case)
        return Judgement(case.key, Verdict.AMBIGUOUS, ratio, None, None, case.margin, None, why, following, cost)

    margin = math.log1p(case.margin)
    unsteady = _unsteadiness(found)
    resolvable = max(margin, half, unsteady)
    changed = abs(found.shift) > resolvable
    if not case.interleaved:
        why = "old and new were not measured interleaved and no control brackets them"
        decision = _Decision(Verdict.AMBIGUOUS, why, Next.CONFIRM if changed and more else following)
    elif changed:
        decision = _decide_changed(case, found, more)
    elif unsteady > margin:
        why = f"the control differs from its own row by {_percent(_relative(unsteady))}"
        decision = _Decision(Verdict.AMBIGUOUS, why, following)
    else:
        decision = _decide_unchanged(case, found, more)

    ratio = _ratio(found.shift)
    return Judgement(
        case.key,
        decision.verdict,
        ratio,
        _ratio(found.shift - half),
        _ratio(found.shift + half),
        _relative(resolvable),
        _relative(resolvable + POWER_QUANTILE * found.error),
        f"{_times(ratio)} in {_processes(case, found)}: {decision.why}{_remarks(case, found)}",
        decision.next,
        _cost(ratio, case),
        decision.confirmed,
    )


def _unsteadiness(found: Evidence) -> float:
    """Return what a row significantly differs from itself by: no bump may be blamed for as much."""
    return max(
        (
            abs(shift)
            for shift, weight in found.twin_shifts
            if weight and abs(shift) > found.critical * found.error * math.sqrt(found.weight / weight)
        ),
        default=0.0,
    )


def _more_can_be_measured(case: Case, found: Evidence) -> bool:
    tried = min(len(side.medians) + len(side.failures) for side in (case.old, case.new))
    return not case.stored_only and (tried < MOST_PROCESSES or len(found.logs) < 2)


def _decide_changed(case: Case, found: Evidence, more: bool) -> _Decision:
    """Decide on a shift that is relevant and beyond its own interval."""
    worse = (found.shift > 0) == case.lower_is_better
    change = Verdict.REGRESSED if worse else Verdict.IMPROVED
    name = "a regression" if worse else "an improvement"
    batches = len(found.logs)
    if batches < 2:
        if more:
            why = f"{name} is suspected and must be confirmed by fresh processes"
            return _Decision(Verdict.AMBIGUOUS, why, Next.CONFIRM)
        return _decide_single_batch(found, change)
    level = significance_level(found.sizes)
    supporting = int((np.sign(found.shift) * found.batch_shifts > math.log1p(case.margin) / 2).sum())
    if found.p > level:
        why = f"{name} is likely but not yet certain (p {found.p:.2g}, needed {level:.2g})"
    elif supporting < 2:
        why = f"the batches disagree: {', '.join(_times(_ratio(shift)) for shift in found.batch_shifts)}"
    elif not found.discovered:
        why = f"{name}, but not certain among all benchmarks of this bump (p {found.p:.2g})"
    else:
        why = f"{supporting} of {batches} batches of fresh processes show it (p {found.p:.2g})"
        return _Decision(change, why, confirmed=True)
    return _Decision(Verdict.AMBIGUOUS, why, Next.MEASURE_MORE if more else Next.NOTHING)


def _decide_single_batch(found: Evidence, change: Verdict) -> _Decision:
    """Decide on a change that one batch shows and nothing can confirm any more."""
    if abs(found.shift) > math.log(INCREDIBLE):
        return _Decision(Verdict.AMBIGUOUS, f"a jump beyond {INCREDIBLE:g}× is believed only when measured again")
    if found.p <= FALSE_ALARM and found.discovered:
        return _Decision(change, f"beyond what noise does (p {found.p:.2g}), but not confirmed by fresh processes")
    return _Decision(Verdict.AMBIGUOUS, f"seen in one batch only, too little to believe it (p {found.p:.2g})")


def _decide_unchanged(case: Case, found: Evidence, more: bool) -> _Decision:
    """Decide on a case that shows no relevant change, as far as its interval goes."""
    enough = found.processes >= ENOUGH_TO_CLIP
    by_level = _decide_by_level(case, found) if enough else None
    if by_level is not None:
        if more and by_level.verdict is Verdict.AMBIGUOUS:
            return _Decision(Verdict.AMBIGUOUS, by_level.why, Next.MEASURE_MORE)
        return by_level
    reach = abs(found.shift) + found.critical * found.error
    if more and found.clipped:
        # Slow processes may yet turn out to be a level: only the last look takes them for disturbed.
        why = "some processes are far slower than the rest"
        return _Decision(Verdict.AMBIGUOUS, why, Next.MEASURE_MORE)
    if reach < math.log1p(case.margin):
        return _Decision(Verdict.SAME, f"a change of more than {_percent(case.margin)} is excluded")
    excluded = _relative(reach)
    if more:
        why = f"the noise still hides changes of up to {_percent(excluded)}"
        return _Decision(Verdict.AMBIGUOUS, why, Next.MEASURE_MORE)
    unremarkable = abs(found.shift) <= (UNREMARKABLE if enough else UNREMARKABLE_WHEN_FEW) * found.error
    if unremarkable and excluded <= WIDEST_SAME:
        return _Decision(Verdict.SAME, f"no change seen; one of more than {_percent(excluded)} is excluded")
    return _Decision(Verdict.AMBIGUOUS, f"the noise hides changes of up to {_percent(excluded)}")


def _decide_by_level(case: Case, found: Evidence) -> _Decision | None:
    """Decide on processes that sit on two levels; return None where they do not."""
    margin = math.log1p(case.margin)
    sides = [np.concatenate(side) for side in zip(*found.logs, strict=True)]
    compared = levels.compare(sides, margin / 2, CONFIDENCE)
    if compared is None:
        return None
    if isinstance(compared, levels.Unmatched):
        return _Decision(Verdict.AMBIGUOUS, "one side's processes sit on two levels, the other's do not")
    shown = f"the processes of both sides sit on two levels {_percent(_relative(compared.step))} apart"
    # A shift of half a step could be one level taken for the other.
    unmoved = compared.remarkable <= UNREMARKABLE and compared.excluded < compared.step / 2
    if compared.excluded < margin or unmoved:
        return _Decision(Verdict.SAME, f"{shown}; neither moved by more than {_percent(_relative(compared.excluded))}")
    return _Decision(Verdict.AMBIGUOUS, f"{shown}, which do not match")


def _processes(case: Case, found: Evidence) -> str:
    old, new = len(case.old.medians), len(case.new.medians)
    twins = sum(len(old) + len(new) for old, new in found.logs) - old - new
    return f"{old} + {new} processes" + (f" and {twins} of the control" if twins > 0 else "")


def _remarks(case: Case, found: Evidence) -> str:
    remarks = []
    for name, side, disturbed in (("old", case.old, found.disturbed[0]), ("new", case.new, found.disturbed[1])):
        if side.failures:
            remarks.append(f"{len(side.failures)} {name} processes failed ({side.failures[0]})")
        if disturbed:
            remarks.append(f"{disturbed} {name} processes far slower than the rest count little")
    return "".join(f"; {remark}" for remark in remarks)


def _ratio(logarithm: float) -> float:
    """Return the exponential, of what overflows the largest that does not."""
    return math.exp(min(logarithm, LARGEST_LOGARITHM))


def _relative(logarithm: float) -> float:
    return math.expm1(min(logarithm, LARGEST_LOGARITHM))


def _percent(fraction: float) -> str:
    if fraction >= 10:
        return f"×{1 + fraction:.3g}"
    percent = 100 * fraction
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.2g} %"


def _times(ratio: float) -> str:
    if ratio >= 2 or ratio <= 0.5:
        return f"×{ratio:.3g}"
    change = 100 * (ratio - 1)
    return f"{change:+.1f} %".replace("-", "−")
