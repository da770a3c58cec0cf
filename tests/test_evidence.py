import math

import numpy as np
import pytest

from bumps.evidence import measure


def evidence(old, new, old_twin=(), new_twin=(), *others):
    """Measure one case; each side is a tuple of batches of logarithms."""
    sides = (old, new, old_twin, new_twin, *others)
    cells = tuple(tuple(tuple(math.exp(value) for value in batch) for batch in side) for side in sides)
    (found,) = measure(tuple(tuple(map(len, side)) for side in sides), [cells])
    return found


def test_shift_variance_and_weight():
    found = evidence(((0, 1, 2),), ((5, 6, 7),))
    assert found.shift == pytest.approx(5)
    assert (found.variance, found.freedom) == (pytest.approx(1), 4)
    assert found.weight == pytest.approx(1.5)
    assert (found.processes, found.sizes) == (3, [3])


def test_drift_between_batches_does_not_matter():
    found = evidence(((0, 1, 2), (100, 101, 102)), ((5, 6, 7), (105, 106, 107)))
    assert found.shift == pytest.approx(5)
    assert found.variance == pytest.approx(1)
    assert found.batch_shifts == pytest.approx([5, 5])


def test_batches_weigh_by_their_processes():
    # Weights 1/2 and 3/2: (0.5 * 1 + 1.5 * 2) / 2.
    found = evidence(((0,), (0, 0, 0)), ((1,), (2, 2, 2)))
    assert found.shift == pytest.approx(1.75)


def test_a_batch_that_one_side_missed_counts_for_the_variance_alone():
    found = evidence(((0, 1, 2), (0, 2, 4)), ((5, 6, 7), ()))
    assert found.shift == pytest.approx(5)
    assert (found.variance, found.freedom) == (pytest.approx((2 + 2 + 8) / 6), 6)
    assert len(found.logs) == 1


def test_twins_join_their_side():
    found = evidence(((0, 1, 2),), ((5, 6, 7),), (), ((8, 9, 10),))
    assert found.shift == pytest.approx(6.5)
    assert found.weight == pytest.approx(2.0)
    # Within new and its twin together: 5..7 and 8..10 around 7.5.
    assert (found.variance, found.freedom) == (pytest.approx((2 + 17.5) / 7), 7)
    assert found.twin_shifts == ((0.0, 0.0), (pytest.approx(3.0), pytest.approx(1.5)))
    assert (found.processes, found.sizes) == (3, [3])


def test_other_rows_lend_their_variance():
    found = evidence(((0, 1, 2),), ((5, 6, 7),), (), (), ((40, 44),))
    assert found.shift == pytest.approx(5)
    assert (found.variance, found.freedom) == (pytest.approx((2 + 2 + 8) / 5), 5)


QUIET = (0.0, 0.01, 0.02, 0.03, 0.04)


def test_few_slow_processes_are_moved_in():
    slow = (0.0, 0.01, 0.02, 0.03, 5.0)
    found = evidence((QUIET, slow), (QUIET, QUIET))
    # Shamos: the median of all 40 differences is 0.02; the limit 0.02 + 3 * 0.02 / 0.9539.
    limit = 0.02 + 3 * 0.02 / 0.9539
    assert (found.disturbed, found.clipped, found.freedom) == ((1, 0), 1, 15)
    assert found.shift == pytest.approx((0.04 - limit) / 10)
    assert found.logs[1][0].max() == pytest.approx(5.0)


def test_many_slow_processes_are_left():
    half = (0.0, 0.01, 0.02, 5.0, 5.01)
    found = evidence((QUIET, half), (half, half))
    assert (found.disturbed, found.clipped) == ((0, 0), 0)


def test_few_processes_are_never_moved_in():
    assert evidence(((0.0, 0.01, 0.02, 0.03, 5.0),), (QUIET,)).clipped == 0


def test_fast_processes_are_left():
    fast = (-5.0, 0.0, 0.01, 0.02, 0.03)
    assert evidence((QUIET, fast), (QUIET, QUIET)).clipped == 0


def test_many_cases_at_once_are_as_each_alone():
    generator = np.random.default_rng(1)
    sides = np.exp(generator.normal(0, 0.1, (50, 2, 2, 5))).tolist()
    members = [(tuple(map(tuple, old)), tuple(map(tuple, new)), (), ()) for old, new in sides]
    signature = ((5, 5), (5, 5), (), ())
    together = measure(signature, members)
    for member, found in zip(members, together, strict=True):
        (alone,) = measure(signature, [member])
        assert (alone.shift, alone.variance) == pytest.approx((found.shift, found.variance), rel=1e-9)
        assert alone.clipped == found.clipped


def test_nothing_shared():
    found = evidence(((0, 1), ()), ((), (2, 3)))
    assert math.isnan(found.shift)
    assert (found.weight, found.logs) == (0.0, [])
