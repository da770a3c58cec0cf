"""The judgement's error rates, in small. tools/simulate_verdicts.py measures them in full (docs/verdicts.md)."""

from collections import Counter

import numpy as np
import pytest

from bumps import noise
from bumps.simulation import Outcome, Truth, judge_alone, simulate, simulate_bump
from bumps.verdict import Judgement, Next, Verdict


def ask(following, verdict=Verdict.SAME):
    return lambda cases: [
        Judgement(case.key, verdict, 1.0, 1.0, 1.0, case.margin, None, "", following(case)) for case in cases
    ]


def test_nothing_is_measured_again_when_nothing_is_asked_for():
    outcome = simulate_bump(np.random.default_rng(1), Truth(), ask(lambda case: Next.NOTHING))
    assert (outcome.verdicts, outcome.processes_a_side) == (Counter({Verdict.SAME: 300}), 5.0)


def test_only_what_is_asked_for_is_measured_again():
    asking = ask(lambda case: Next.CONFIRM if case.key < 30 and len(case.new.batches) < 3 else Next.NOTHING)
    outcome = simulate_bump(np.random.default_rng(1), Truth(), asking)
    assert outcome.processes == 270 * 5 + 30 * 15


def test_a_judge_that_never_ends_is_ended():
    outcome = simulate_bump(np.random.default_rng(1), Truth(benchmarks=2), ask(lambda case: Next.MEASURE_MORE))
    assert outcome.processes_a_side == 50.0


def test_judge_sees_the_change_the_control_and_the_margin():
    seen = []

    def judge(cases):
        seen.extend(cases)
        return ask(lambda case: Next.NOTHING)(cases)

    simulate_bump(np.random.default_rng(1), Truth("normal", (1e-6,), 0.5, changed=0.1, margin=0.2), judge)
    ratios = [case.new.medians[0] / case.old.medians[0] for case in seen]
    assert sum(ratio == pytest.approx(1.5, rel=1e-3) for ratio in ratios) == 30
    assert sum(ratio == pytest.approx(1.0, rel=1e-3) for ratio in ratios) == 270
    row, replica = seen[0].controls[0]
    assert row == seen[0].new
    assert replica != row
    assert seen[0].margin == 0.2


def test_pools_are_the_noise():
    seen = []

    def judge(cases):
        seen.extend(cases)
        return ask(lambda case: Next.NOTHING)(cases)

    simulate_bump(np.random.default_rng(1), Truth(pools=((0.0, np.log(2.0)),), benchmarks=5), judge)
    assert {round(a / b, 9) for case in seen for a in case.old.medians for b in case.old.medians} == {0.5, 1.0, 2.0}


def test_upper_bound_of_no_event_is_the_rule_of_three():
    outcome = Outcome(Counter({Verdict.SAME: 1000}), 5000)
    assert outcome.upper_bound(Verdict.REGRESSED) == pytest.approx(1 - 0.05 ** (1 / 1000))
    assert Outcome(Counter({Verdict.REGRESSED: 3}), 15).upper_bound(Verdict.REGRESSED) == 1.0


@pytest.mark.parametrize("model", noise.MODELS)
def test_identical_releases(model):
    outcome = simulate(7, Truth(model), 6000, judge_alone)
    # At most 1 in 1,000; 6 expected at that rate, 12 or more once in 50 seeds.
    assert outcome.verdicts[Verdict.REGRESSED] < 12
    assert outcome.verdicts[Verdict.IMPROVED] < 12
    # `same` says what it excludes; hundreds of a bump's benchmarks must not be left ambiguous.
    assert outcome.share(Verdict.SAME) > 0.93


@pytest.mark.parametrize("level", [0.0014, 0.005, 0.01])
@pytest.mark.parametrize("model", ["normal", "heavy-tailed"])
def test_quiet_unchanged_benchmarks_are_same(model, level):
    outcome = simulate(8, Truth(model, (level,)), 1500)
    assert outcome.share(Verdict.SAME) >= 0.99
    assert outcome.processes_a_side < 5.5


@pytest.mark.parametrize(
    ("level", "change", "at_least"),
    [(0.0014, 0.065, 0.99), (0.005, 0.065, 0.99), (0.01, 0.10, 0.99), (0.08, 0.30, 0.99), (0.035, 0.15, 0.95)],
)
@pytest.mark.parametrize("model", ["normal", "heavy-tailed"])
def test_detection(model, level, change, at_least):
    outcome = simulate(9, Truth(model, (level,), change, changed=0.1), 300)
    assert outcome.share(Verdict.REGRESSED) >= at_least
    assert outcome.verdicts[Verdict.SAME] == 0


@pytest.mark.parametrize("level", [0.0014, 0.005, 0.01])
def test_ten_percent_on_two_levels_is_never_same(level):
    outcome = simulate(10, Truth("bimodal", (level,), 0.10), 1500)
    assert outcome.verdicts[Verdict.SAME] == 0


def test_two_percent_at_low_noise_is_same():
    outcome = simulate(11, Truth("normal", (0.005,), 0.02), 1500)
    assert outcome.verdicts == Counter({Verdict.SAME: outcome.total})


def test_same_seed_same_outcome():
    truth = Truth("disturbed", changed=0.5, change=0.1, benchmarks=50)
    assert simulate(3, truth, 50) == simulate(3, truth, 50)
