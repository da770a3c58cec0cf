import math

import numpy as np
import pytest
from scipy import special

from bumps import moderation


@pytest.mark.parametrize("x", [0.01, 0.5, 1.0, 7.0, 1e4])
def test_inverse_trigamma_inverts(x):
    assert moderation.inverse_trigamma(float(special.polygamma(1, x))) == pytest.approx(x, rel=1e-6)


def test_too_few_benchmarks_have_no_prior():
    variances, freedom = np.ones(19), np.full(19, 8.0)
    assert moderation.prior(variances, freedom) == (0.0, 1.0)
    assert moderation.moderate(variances, freedom)[0].tolist() == [1.0] * 19


def test_equal_variances_give_the_largest_prior():
    variances, freedom = np.ones(20), np.full(20, 4.0)
    d0, s02 = moderation.prior(variances, freedom)
    # digamma(2) = 1 - 0.5772...
    assert (d0, s02) == (12.0, pytest.approx(math.exp(math.log(2) - (1 - 0.5772156649)), rel=1e-9))
    moderated, total = moderation.moderate(variances, freedom)
    assert moderated[0] == pytest.approx((12 * s02 + 4) / 16)
    assert total[0] == 16.0


def test_a_far_noisier_benchmark_keeps_its_variance():
    variances = np.append(np.random.default_rng(1).chisquare(8, 50) / 8, 400.0)
    moderated, total = moderation.moderate(variances, np.full(51, 8.0))
    assert (moderated[-1], total[-1]) == (400.0, 8.0)


def test_prior_of_simulated_variances_is_found():
    generator = np.random.default_rng(2)
    true = 4.0 * 6 / generator.chisquare(6, 20_000)
    d0, s02 = moderation.prior(true * generator.chisquare(8, 20_000) / 8, np.full(20_000, 8.0))
    assert d0 == pytest.approx(6, rel=0.1)
    assert s02 == pytest.approx(4, rel=0.05)


def test_zero_variances_are_left_out_of_the_prior():
    variances, freedom = np.zeros(30), np.full(30, 8.0)
    assert moderation.prior(variances, freedom) == (0.0, 1.0)
