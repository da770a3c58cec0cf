"""A row's figure in one number."""

import pytest

from bumps import estimate


@pytest.mark.parametrize(
    ("medians", "is_count", "centre"),
    [
        ([], False, None),
        ([3.0], False, 3.0),
        ([1.0, 4.0], False, pytest.approx(2.0)),
        ([1.0, 2.0, 4.0, 8.0], False, pytest.approx(2.0**1.5)),
        # The same value again, without rounding.
        ([0.1] * 7, False, 0.1),
        ([0.0, 4.0], False, 2.0),
        ([-1.0, 4.0], False, 1.5),
        ([40.0, 59.0, 59.0], True, 59),
        ([40.0, 59.0], True, 49.5),
    ],
)
def test_centre(medians, is_count, centre):
    assert estimate.centre(medians, is_count) == centre
    assert type(estimate.centre([59.0, 59.0], is_count=True)) is int
