import numpy as np
import pytest

from bumps import levels
from bumps.levels import Unmatched

CONFIDENCE = 0.998
LOW = (0.000, 0.001, 0.002, 0.003)
HIGH = (0.100, 0.101, 0.102, 0.103)


def compare(old, new, least_step=0.02):
    return levels.compare([np.array(old), np.array(new)], least_step, CONFIDENCE)


def test_same_levels():
    found = compare(LOW + HIGH, LOW + HIGH)
    assert found.step == pytest.approx(0.1)
    assert found.remarkable == 0
    # sd within of 0.00129 with 12 degrees of freedom: t = 3.930, standard error 0.00129 * sqrt(1 / 2).
    assert found.excluded == pytest.approx(3.930 * np.sqrt(0.000005 / 3) * np.sqrt(0.5), rel=1e-3)


def test_moved_levels():
    found = compare(LOW + HIGH, [value + 0.05 for value in LOW + HIGH])
    assert found.excluded > 0.05
    assert found.remarkable > 10


def test_one_level_has_none():
    assert compare(np.linspace(0, 0.1, 8), np.linspace(0, 0.1, 8)) is None


def test_levels_closer_than_matters_are_none():
    assert compare(LOW + HIGH, LOW + HIGH, least_step=0.1) is None


def test_a_few_slow_processes_are_no_level():
    mostly_low = (*LOW, *(value + 0.0005 for value in LOW), 0.1, 0.101)
    assert compare(mostly_low, mostly_low) is None


def test_few_processes_on_a_level_match_a_clear_side():
    mostly_low = (*LOW, *(value + 0.0005 for value in LOW), 0.1, 0.101)
    assert compare(mostly_low, LOW + HIGH).step == pytest.approx(0.1, abs=0.002)


def test_one_level_against_two_is_unmatched():
    assert isinstance(compare(LOW + HIGH, [*LOW, *LOW]), Unmatched)
    assert isinstance(compare([value + 0.1 for value in LOW + HIGH], LOW + HIGH[:0] + LOW), Unmatched)


def test_levels_without_spread():
    found = compare([0.0, 0.0, 0.1, 0.1], [0.0, 0.0, 0.1, 0.1])
    assert (found.excluded, found.remarkable) == (0.0, 0.0)
    assert compare([0.0, 0.0, 0.1, 0.1], [0.05, 0.05, 0.15, 0.15]).remarkable == float("inf")
