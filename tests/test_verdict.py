import math

import numpy as np
import pytest

from bumps import verdict
from bumps.verdict import Case, ControlAlarms, Next, Side, Verdict, judge, judge_controls, summarise

# Five processes whose logarithms spread by one unit of standard deviation or so around their centre.
SHAPE = (-1.2, -0.5, 0.0, 0.5, 1.2)


def batch(centre, sd, shape=SHAPE):
    return tuple(centre * math.exp(sd * step) for step in shape)


def side(centre, sd=0.005, batches=1):
    return Side(tuple(batch(centre, sd * (1 + 0.01 * number)) for number in range(batches)))


def judged(old, new, **options):
    return judge([Case("key", old, new, **options)])[0]


def outcome(judgement):
    return judgement.verdict, judgement.next


# Verdicts of one case


def test_unchanged_at_low_noise_is_same_at_once():
    found = judged(side(1.0), side(1.001))
    assert outcome(found) == (Verdict.SAME, Next.NOTHING)
    assert found.ratio == pytest.approx(1.001)
    assert found.low < 1 < found.high
    assert "more than 5 % is excluded" in found.why


def test_interval_is_students():
    found = judged(side(1.0), side(1.0))
    # Sum of squares 3.38 on each side, 8 degrees of freedom, standard error sd * sqrt(2 / 5);
    # t quantile of 99.9 % at 8 degrees of freedom is 4.501.
    error = 0.005 * math.sqrt(2 * 3.38 / 8) * math.sqrt(2 / 5)
    assert math.log(found.high) == pytest.approx(4.501 * error, rel=1e-3)
    assert found.low == pytest.approx(1 / found.high)
    # 5 % and then 1.2816 standard errors for a power of 90 %.
    assert found.smallest_detectable == pytest.approx(1.05 * math.exp(1.2816 * error) - 1, rel=1e-4)


def test_relevant_change_in_one_batch_asks_for_confirmation():
    found = judged(side(1.0), side(1.1))
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.CONFIRM)
    assert "must be confirmed" in found.why


@pytest.mark.parametrize(
    ("new", "lower_is_better", "expected"),
    [
        (1.1, True, Verdict.REGRESSED),
        (0.9, True, Verdict.IMPROVED),
        (1.1, False, Verdict.IMPROVED),
        (0.9, False, Verdict.REGRESSED),
    ],
)
def test_confirmed_changes(new, lower_is_better, expected):
    found = judged(side(1.0, batches=2), side(new, batches=2), lower_is_better=lower_is_better)
    assert outcome(found) == (expected, Next.NOTHING)
    assert found.confirmed
    assert found.ratio == pytest.approx(new)
    assert found.cost == pytest.approx(new if lower_is_better else 1 / new)
    # Complete separation of 10 from 10 processes: 1 / 184,756.
    assert "p 5.4e-06" in found.why


def test_significant_but_irrelevant_change_is_same():
    found = judged(side(1.0, 0.001, 3), side(1.02, 0.001, 3))
    assert outcome(found) == (Verdict.SAME, Next.NOTHING)
    assert found.low > 1.015


def test_margin_decides_what_is_relevant():
    old, new = side(1.0, 0.001, 2), side(1.02, 0.001, 2)
    assert judged(old, new, margin=0.01).verdict is Verdict.REGRESSED
    assert judged(old, new, margin=0.03).verdict is Verdict.SAME


def test_batches_that_disagree_are_ambiguous():
    old = Side((batch(1.0, 0.001), batch(1.0, 0.001)))
    new = Side((batch(1.3, 0.001), batch(1.0, 0.001)))
    found = judged(old, new, stored_only=True)
    assert found.verdict is Verdict.AMBIGUOUS
    assert judged(old, new).next is Next.MEASURE_MORE


def test_noise_that_hides_the_margin_is_measured_more_and_then_same_with_what_it_excludes():
    assert outcome(judged(side(1.0, 0.08), side(1.01, 0.08))) == (Verdict.AMBIGUOUS, Next.MEASURE_MORE)
    assert outcome(judged(side(1.0, 0.08, 2), side(1.01, 0.08, 2))) == (Verdict.AMBIGUOUS, Next.MEASURE_MORE)
    found = judged(side(1.0, 0.08, 3), side(1.01, 0.08, 3))
    assert outcome(found) == (Verdict.SAME, Next.NOTHING)
    assert "one of more than 11 % is excluded" in found.why
    assert 0.09 < found.margin < 0.11


def test_shift_that_is_neither_clear_nor_absent_stays_ambiguous():
    found = judged(side(1.0, 0.08, 3), side(1.08, 0.08, 3))
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.NOTHING)
    assert "the noise hides changes of up to" in found.why


def test_same_is_not_said_where_a_doubling_could_hide():
    found = judged(side(1.0, 0.7, 3), side(1.0, 0.7, 3))
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.NOTHING)


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
def test_unit_does_not_matter(factor):
    found = judged(side(factor, 0.01, 2), side(1.2 * factor, 0.01, 2))
    assert (found.verdict, found.ratio) == (Verdict.REGRESSED, pytest.approx(1.2))


# Jumps, single batches


def test_jump_beyond_ten_times_is_confirmed_before_it_is_believed():
    assert outcome(judged(side(1.0), side(11.0))) == (Verdict.AMBIGUOUS, Next.CONFIRM)
    found = judged(side(1.0), side(11.0), stored_only=True)
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.NOTHING)
    assert "beyond 10×" in found.why
    assert judged(side(1.0, batches=2), side(11.0, batches=2)).verdict is Verdict.REGRESSED


def test_one_stored_batch_needs_more_than_two_levels_explain():
    found = judged(side(1.0), side(1.11), stored_only=True)
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.NOTHING)
    found = judged(side(1.0), side(1.3), stored_only=True)
    assert (found.verdict, found.confirmed) == (Verdict.REGRESSED, False)
    assert "not confirmed" in found.why


def test_control_of_the_new_row_lends_its_processes():
    new = side(1.11)
    found = judged(side(1.0), new, controls=((new, Side((batch(1.1101, 0.006),))),), stored_only=True)
    assert (found.verdict, found.confirmed) == (Verdict.REGRESSED, False)
    # All of 10 above all of 5: 1 / 3,003.
    assert "p 0.00033" in found.why
    assert "5 + 5 processes and 5 of the control" in found.why


def test_a_row_that_differs_from_itself_makes_no_bump():
    new = side(1.06, 0.002, 2)
    found = judged(side(1.0, 0.002, 2), new, controls=((new, side(0.9, 0.002, 2)),))
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.MEASURE_MORE)
    assert "the control differs from its own row by" in found.why
    # No change as large as that difference would have been believed.
    assert found.smallest_detectable > 1.06 / 0.9 - 1


def test_control_of_another_row_tells_the_noise_alone():
    other = (side(5.0, 0.08), side(5.0, 0.08))
    quiet = judged(side(1.0), side(1.0))
    noisy = judged(side(1.0), side(1.0), controls=(other,))
    assert noisy.ratio == pytest.approx(quiet.ratio)
    assert noisy.high > quiet.high


def test_control_that_repeats_the_sides_counts_once():
    old, new = side(1.0), side(1.001)
    assert judged(old, new, controls=((old, new),)) == judged(old, new)


# Two levels, disturbed processes

LOWER, UPPER = math.log(1.0), math.log(1.11)


def on_levels(shift, *numbers_above):
    """One batch of five for each number: so many of its processes sit on the upper level."""
    return Side(
        tuple(
            tuple(
                math.exp(shift + (UPPER if place < above else LOWER) + 0.001 * step)
                for place, step in enumerate((0.4, -1.0, 0.1, 0.8, -0.5))
            )
            for above in numbers_above
        )
    )


def test_same_two_levels_are_same():
    found = judged(on_levels(0, 2, 3, 1), on_levels(0, 4, 2, 3))
    assert outcome(found) == (Verdict.SAME, Next.NOTHING)
    assert "two levels 11 % apart" in found.why


def test_two_levels_moved_by_ten_percent_are_not_same():
    old, new = on_levels(0, 4, 4, 4), on_levels(math.log(1.1), 1, 2, 1)
    found = judged(old, new)
    assert found.ratio == pytest.approx(1.0135, abs=1e-3)
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.NOTHING)
    assert "do not match" in found.why


def test_levels_taken_for_each_other_are_not_same():
    found = judged(on_levels(0, 5, 4, 4), on_levels(math.log(1.1), 0, 1, 1))
    assert found.ratio == pytest.approx(1.0, abs=0.01)
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.NOTHING)


def test_slow_processes_may_be_a_level_until_the_last_look():
    found = judged(on_levels(0, 5, 4), on_levels(math.log(1.1), 1, 1))
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.MEASURE_MORE)
    assert "far slower than the rest" in found.why


def test_levels_on_one_side_alone_are_not_same():
    found = judged(on_levels(0, 2, 2, 2), on_levels(math.log(1.05), 0, 0, 0))
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.NOTHING)
    assert "the other's do not" in found.why


def test_levels_closer_than_the_margin_do_not_matter():
    old = Side(((1.0, 1.01, 1.0001, 1.0101, 1.0002),) * 3)
    assert judged(old, Side(((1.01, 1.0101, 1.0102, 1.0103, 1.0104),) * 3)).verdict is Verdict.SAME


def test_a_few_disturbed_processes_do_not_hide_a_change():
    old = Side((batch(1.0, 0.005), batch(1.0, 0.005), (*batch(1.0, 0.005)[:4], 1.6)))
    new = Side((batch(1.1, 0.005), batch(1.1, 0.005), (*batch(1.1, 0.005)[:4], 1.9)))
    found = judged(old, new)
    assert found.verdict is Verdict.REGRESSED
    assert found.ratio == pytest.approx(1.1, abs=0.01)
    assert "1 old processes far slower than the rest count little" in found.why


# Failures, skips


def test_new_side_that_fails_is_broken():
    found = judged(side(1.0), Side(failures=("timeout", "timeout", "timeout", "timeout", "timeout")))
    assert outcome(found) == (Verdict.BROKEN, Next.NOTHING)
    assert found.why == "ran before, all 5 new processes failed: timeout"
    assert found.ratio is None


def test_old_side_that_failed_is_fixed():
    found = judged(Side(failures=("no kernel",) * 5), side(1.0))
    assert outcome(found) == (Verdict.FIXED, Next.NOTHING)
    assert "runs now" in found.why


def test_half_of_the_processes_failing_is_broken_once_confirmed():
    flaky = Side(((1.0, 1.0),), failures=("CUDA error",) * 3)
    assert outcome(judged(side(1.0), flaky)) == (Verdict.BROKEN, Next.CONFIRM)
    assert outcome(judged(side(1.0), flaky, stored_only=True)) == (Verdict.BROKEN, Next.NOTHING)
    twice = Side(((1.0, 1.0), (1.0, 1.0)), failures=("CUDA error",) * 6)
    assert outcome(judged(side(1.0, batches=2), twice)) == (Verdict.BROKEN, Next.NOTHING)
    assert outcome(judged(flaky, side(1.0), stored_only=True)) == (Verdict.FIXED, Next.NOTHING)


def test_some_processes_failing_is_said():
    found = judged(side(1.0), Side((batch(1.0, 0.005)[:4],), failures=("out of memory",)))
    assert found.verdict is Verdict.SAME
    assert "1 new processes failed (out of memory)" in found.why


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (Side(skipped="no graphed mode"), Side(skipped="no graphed mode"), "either side: no graphed mode"),
        (Side(), Side(), "either side: no result"),
        (Side(failures=("boom",)), Side(failures=("bang",)), "old: boom; new: bang"),
        (side(1.0), Side(skipped="needs a GPU"), "not measured on the new side: needs a GPU"),
        (Side(), side(1.0), "not measured on the old side: no result"),
        (Side(((),)), Side(((), ())), "no result"),
    ],
)
def test_unmeasured(old, new, why):
    found = judged(old, new)
    assert outcome(found) == (Verdict.UNMEASURED, Next.NOTHING)
    assert why in found.why


# Counts, strange figures


@pytest.mark.parametrize(
    ("old", "new", "expected", "ratio"),
    [
        (41, 61, Verdict.REGRESSED, 61 / 41),
        (61, 41, Verdict.IMPROVED, 41 / 61),
        (41, 41, Verdict.SAME, 1.0),
        (41, 42, Verdict.SAME, 42 / 41),
        (0, 0, Verdict.SAME, 1.0),
        (0, 3, Verdict.REGRESSED, None),
        (3, 0, Verdict.IMPROVED, 0.0),
    ],
)
@pytest.mark.parametrize("processes", [1, 5])
def test_counts(old, new, expected, ratio, processes):
    found = judged(Side(((old,) * processes,)), Side(((new,) * processes,)), exact=True, interleaved=False)
    assert outcome(found) == (expected, Next.NOTHING)
    assert found.ratio == (None if ratio is None else pytest.approx(ratio))


def test_whole_numbers_that_agree_are_counts_without_being_told():
    assert judged(Side(((41.0,) * 5,)), Side(((61.0,) * 5,))).verdict is Verdict.REGRESSED


def test_counts_that_processes_disagree_on_are_ambiguous():
    found = judged(Side(((41, 41, 43),)), Side(((61, 61, 61),)), exact=True)
    assert found.verdict is Verdict.AMBIGUOUS


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None, "0.1", True])
def test_figures_that_are_no_numbers_count_as_failures(bad):
    found = judged(side(1.0), Side(((*batch(1.0, 0.005)[:4], bad),)))
    assert found.verdict is Verdict.SAME
    assert "1 new processes failed (the figure is not a finite number)" in found.why
    assert judged(side(1.0), Side(((bad,) * 5,))).verdict is Verdict.BROKEN


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_figures_without_a_ratio_are_ambiguous(bad):
    found = judged(side(1.0), Side(((*batch(1.0, 0.005)[:4], bad),)))
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.NOTHING)
    assert "not positive" in found.why


def test_one_process_a_side_knows_no_noise():
    found = judged(Side(((1.0,),)), Side(((2.0,),)), stored_only=True)
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.NOTHING)
    assert (found.ratio, found.low, found.why) == (2.0, None, "too few processes to know the noise")
    assert judged(Side(((1.0,),)), Side(((2.0,),))).next is Next.MEASURE_MORE


def test_sides_that_share_no_batch():
    found = judged(Side((batch(1.0, 0.01), ())), Side(((), batch(1.0, 0.01))), stored_only=True)
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.NOTHING)
    assert found.why == "old and new share no batch"


def test_figures_beyond_any_measure():
    found = judged(Side(((1e-300, 2e-300),)), Side(((1e300, 1e290),)), stored_only=True)
    assert found.verdict is Verdict.AMBIGUOUS
    assert all(math.isfinite(value) for value in (found.ratio, found.low, found.high, found.smallest_detectable))
    assert len(found.why) < 200


@pytest.mark.parametrize("margin", [0.0, -0.05, math.nan, math.inf])
def test_margin_must_be_positive(margin):
    with pytest.raises(ValueError, match="key: the margin must be a positive number"):
        judged(side(1.0), side(1.0), margin=margin)


# Not interleaved, intervals only


def test_not_interleaved_is_at_best_ambiguous():
    for new in (1.0, 1.5):
        found = judged(side(1.0, batches=2), side(new, batches=2), interleaved=False, stored_only=True)
        assert outcome(found) == (Verdict.AMBIGUOUS, Next.NOTHING)
        assert "not measured interleaved" in found.why
    assert judged(side(1.0), side(1.5), interleaved=False).next is Next.CONFIRM
    assert judged(side(1.0), side(1.0), interleaved=False).next is Next.MEASURE_MORE
    assert judged(side(1.0), Side(failures=("boom",)), interleaved=False).verdict is Verdict.BROKEN


def test_intervals_alone_are_ambiguous():
    found = judged(Side(interval=(1.0, 1.1)), Side(interval=(2.0, 2.2)), stored_only=True)
    assert outcome(found) == (Verdict.AMBIGUOUS, Next.NOTHING)
    assert (found.ratio, found.low, found.high) == (pytest.approx(2.0), pytest.approx(2 / 1.1), pytest.approx(2.2))
    assert judged(Side(interval=(1.0, 1.1)), Side(failures=("boom",))).verdict is Verdict.BROKEN


@pytest.mark.parametrize("interval", [(math.nan, 1.0), (0.0, 1.0), (2.0, 1.0), (-math.inf, math.inf), (1e-320, 1.0)])
def test_intervals_that_say_nothing(interval):
    found = judged(Side(interval=interval), side(1.0))
    assert (found.verdict, found.ratio) == (Verdict.AMBIGUOUS, None)


# Many cases together


def cases_of(generator, count, sd, change=0.0, batches=2, start=0, stored_only=False):
    return [
        Case(
            start + key,
            *(
                Side(tuple(tuple(np.exp(generator.normal(centre, sd, 5)).tolist()) for _ in range(batches)))
                for centre in (0.0, math.log1p(change))
            ),
            stored_only=stored_only,
        )
        for key in range(count)
    ]


def test_order_and_keys_are_kept_across_shapes():
    generator = np.random.default_rng(1)
    cases = [
        *cases_of(generator, 3, 0.01, batches=1),
        Case("broken", side(1.0), Side(failures=("boom",))),
        *cases_of(generator, 3, 0.01, batches=3, start=10),
    ]
    assert [found.key for found in judge(cases)] == [0, 1, 2, "broken", 10, 11, 12]


def test_discoveries_are_controlled_over_the_bump():
    # One benchmark at p = 1 / 252 / 252 = 1.6e-5 each way: enough alone, not among 10,000 (0.05 / 10,000 = 5e-6).
    old = Side((batch(1.0, 0.002), batch(3.0, 0.002)))
    new = Side((batch(1.1, 0.002), batch(3.3, 0.002)))
    suspect = Case("suspect", old, new, stored_only=True)
    crowd = [Case(number, side(1.0), side(1.0), stored_only=True) for number in range(9_999)]
    assert judge([suspect])[0].verdict is Verdict.REGRESSED
    found = judge([suspect, *crowd])[0]
    assert found.verdict is Verdict.AMBIGUOUS
    assert "among all benchmarks" in found.why
    assert judge([suspect, *crowd], multiplicity=False)[0].verdict is Verdict.REGRESSED


def test_quiet_suite_steadies_one_benchmarks_lucky_variance():
    generator = np.random.default_rng(3)
    lucky = Case("lucky", side(1.0, 1e-6), side(1.06, 1e-6))
    assert judge([lucky])[0].next is Next.CONFIRM
    noisy = cases_of(generator, 300, 0.08, batches=1)
    assert judge([*noisy, lucky])[-1].next is Next.MEASURE_MORE


def test_judging_is_deterministic():
    cases = cases_of(np.random.default_rng(4), 50, 0.05, 0.1)
    assert judge(cases) == judge(cases)


def test_levels_of_the_looks_add_up():
    looks = [verdict.significance_level((5, 5)), verdict.significance_level((5, 5, 5))]
    assert looks == [pytest.approx(verdict.FALSE_ALARM * 4 / 9), pytest.approx(verdict.FALSE_ALARM * 5 / 9)]
    assert verdict.significance_level((15, 5, 5)) == pytest.approx(verdict.FALSE_ALARM / 10)


# Summary


def test_nothing_judged():
    assert judge([]) == []
    found = summarise([])
    assert (found.judged, found.geomean, found.worst, found.exit_status) == (0, None, None, 4)


def test_summary():
    cases = [
        Case(("a", 1), side(1.0, batches=2), side(1.21, batches=2)),
        Case(("a", 2), side(1.0, batches=2), side(1.44, batches=2)),
        Case(("b", 1), side(1.0, batches=2), side(0.5, batches=2)),
        Case(("c", 1), side(1.0), Side(failures=("boom",))),
        Case(("d", 1), Side(skipped="x"), Side(skipped="x")),
        Case(("e", 1), Side(((0, 0),)), Side(((5, 5),))),
    ]
    found = summarise(judge(cases), lambda key: None if key[0] == "e" else key[0])
    assert {name: count for name, count in found.counts.items() if count} == {
        Verdict.REGRESSED: 3,
        Verdict.IMPROVED: 1,
        Verdict.BROKEN: 1,
        Verdict.UNMEASURED: 1,
    }
    assert found.judged == 5
    assert found.geomean == pytest.approx((1.21 * 1.44 * 0.5) ** (1 / 3))
    assert found.geomean_by_workload == {"a": pytest.approx(math.sqrt(1.21 * 1.44)), "b": pytest.approx(0.5)}
    assert found.worst == (("a", 2), pytest.approx(1.44))
    assert found.broken == (("c", 1),)
    assert found.unconfirmed == 0
    assert found.exit_status == 1
    assert 0.05 < found.smallest_detectable < 0.06


def test_counts_are_neither_averaged_nor_the_worst_of_times():
    cases = [
        Case("count", Side(((40, 40),)), Side(((80, 80),)), exact=True),
        Case("wall", side(1.0, batches=2), side(1.21, batches=2)),
        Case("device", side(1.0, batches=2), side(1.44, batches=2)),
        Case("once", side(1.0), side(1.3), stored_only=True),
    ]
    judgements = judge(cases)
    assert [judgement.verdict for judgement in judgements] == [Verdict.REGRESSED] * 4
    found = summarise(judgements, is_averaged=lambda key: key in ("wall", "once"))
    assert found.geomean == pytest.approx(math.sqrt(1.21 * 1.3))
    assert found.worst == ("device", pytest.approx(1.44))
    assert found.unconfirmed == 1
    assert summarise(judge(cases[:1])).worst == ("count", pytest.approx(2.0))


@pytest.mark.parametrize(
    ("new", "status"),
    [
        (side(1.0, batches=3), 0),
        (side(0.5, batches=3), 0),
        (side(1.5, batches=3), 1),
        (Side(failures=("boom",)), 1),
        (Side(((0.5, 2.0),)), 3),
        (Side(skipped="gone"), 4),
    ],
)
def test_exit_status(new, status):
    old = side(1.0, batches=3)
    assert summarise([judged(old, new, stored_only=True)]).exit_status == status


def test_a_control_with_one_process_on_a_side_proves_nothing_and_does_not_count():
    single = Side(((1.0,),))
    cases = [Case("a", side(1.0), side(1.0), controls=((single, side(1.0)), (single, single)))]
    assert judge_controls(cases) == []


def test_control_alarms():
    steady = (side(1.0), side(1.001))
    jumped = (side(1.0), side(1.4))
    cases = [
        Case("a", *steady, controls=(steady,)),
        Case("b", *steady, controls=(jumped, (Side(), Side()))),
        Case("c", *steady),
        # Counts have no noise that could raise a false alarm.
        Case("d", Side(((40, 40),)), Side(((40, 40),)), exact=True, controls=((Side(((40, 40),)), Side(((40, 40),))),)),
    ]
    controls = judge_controls(cases)
    assert [found.key for found in controls] == [("a", 0), ("b", 0), ("b", 1)]
    assert summarise(judge(cases), controls=controls).control == ControlAlarms(judged=2, alarms=1)
