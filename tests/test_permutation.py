import numpy as np
import pytest

from bumps import permutation


def batch(old, new):
    return np.array(old, dtype=float), np.array(new, dtype=float)


LOW = (0.00, 0.01, 0.02, 0.03, 0.04)
HIGH = (1.00, 1.01, 1.02, 1.03, 1.04)
HIGH_TWIN = (1.05, 1.06, 1.07, 1.08, 1.09)


def test_subset_sums_counts_every_pair():
    counts, lowest = permutation.subset_sums(np.array([0, 1, 2]), 2)
    assert (counts.tolist(), lowest) == ([0, 1, 1, 1], 0)


def test_subset_sums_of_negative_numbers():
    counts, lowest = permutation.subset_sums(np.array([-3, -1, 5]), 1)
    assert (counts.tolist(), lowest) == ([1, 0, 1, 0, 0, 0, 0, 0, 1], -3)


def test_scores_clip_a_disturbed_process():
    scores = permutation.scores(np.array([-1.0, 0.0, 0.0, 1.0, 1000.0]))
    limit = round(permutation.CLIP * permutation.STEPS_PER_UNIT)
    assert scores.max() == limit
    assert abs(scores[:4]).max() < limit


def test_scores_of_equal_values_are_zero():
    assert permutation.scores(np.full(4, 3.0)).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        # Of the ways to call 5 of 10 processes new, one has all high ones.
        ([batch(LOW, HIGH)], 1 / 252),
        ([batch(HIGH, LOW)], 1.0),
        ([batch(LOW, HIGH + HIGH_TWIN)], 1 / 3003),
        ([batch((1, 2), (3, 4))], 1 / 6),
        # {1, 4}, {2, 3}, {2, 4} and {3, 4} sum to at least as much as {1, 4}.
        ([batch((2, 3), (1, 4))], 4 / 6),
        ([batch((7, 7), (7, 7))], 1.0),
        ([batch((1,), (2,))], 1 / 2),
    ],
)
def test_exact_p_values(batches, expected):
    assert permutation.p_value(batches) == pytest.approx(expected, rel=1e-12)


def test_batches_at_one_level_are_permuted_together():
    assert permutation.p_value([batch(LOW, HIGH), batch(LOW, HIGH)]) == pytest.approx(1 / 184756)


def test_batches_that_drifted_are_permuted_apart():
    drifted = batch(np.array(LOW) + 50, np.array(HIGH) + 50)
    assert permutation.drifted([batch(LOW, HIGH), drifted])
    assert permutation.p_value([batch(LOW, HIGH), drifted]) == pytest.approx(1 / 252**2)


def test_many_processes_use_the_normal_limit_which_errs_on_the_safe_side(monkeypatch):
    generator = np.random.default_rng(5)
    old, new = generator.normal(0, 1, 40), generator.normal(0.6, 1, 40)
    limit = permutation.p_value([(old, new)])
    monkeypatch.setattr(permutation, "COUNTED", 100)
    counted = permutation.p_value([(old, new)])
    assert counted < limit < 2 * counted


def test_level_holds_on_two_levels():
    generator = np.random.default_rng(6)
    sides = generator.random((4000, 2, 10)) < 0.5
    rejected = sum(permutation.p_value([batch(old, new)]) <= 0.01 for old, new in sides)
    # 40 expected at the most; 60 is three standard deviations above.
    assert rejected <= 60
