"""Relevance margins, matched as asv's regressions page matches them."""

import pytest
from asv.util import UserError

from bumps.margins import Margins


@pytest.mark.parametrize(
    ("name", "margin"),
    [
        ("chain.time_step('jax')", 0.1),
        ("chain.time_step('torch')", 0.3),
        # re.match: from the start.
        ("my.chain.time_step('torch')", 0.05),
        ("other.time", 0.05),
    ],
)
def test_the_largest_match_from_the_start_counts(name, margin):
    assert Margins({"chain\\.": 0.1, "chain.*'torch'": 0.3, "chain.time": 0.02}).of(name) == margin


@pytest.mark.parametrize("threshold", ["five", None, 0, -0.1, 50, float("nan")])
def test_a_threshold_that_is_no_share_is_named(threshold):
    with pytest.raises(UserError, match="for 'chain' is no share"):
        Margins({"chain": threshold})


def test_a_pattern_that_is_none_is_named():
    with pytest.raises(UserError, match="is no regular expression"):
        Margins({"chain(": 0.1})
