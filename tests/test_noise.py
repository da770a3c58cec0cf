import math

import numpy as np
import pytest

from bumps import noise

SHAPE = (4000, 50)


@pytest.fixture
def generator():
    return np.random.default_rng(11)


@pytest.mark.parametrize("model", [noise.normal, noise.heavy_tailed])
def test_sd_is_what_was_asked_for(model, generator):
    assert model(generator, SHAPE, 0.08).std() == pytest.approx(0.08, rel=0.05)


def test_heavy_tails_are_heavy(generator):
    effects = noise.heavy_tailed(generator, SHAPE, 1.0)
    assert (abs(effects) > 4).mean() > 20 * (abs(noise.normal(generator, SHAPE, 1.0)) > 4).mean()


def test_two_levels_are_11_percent_apart(generator):
    effects = noise.two_level(generator, SHAPE, 0.0014)
    upper = effects > math.log(1.11) / 2
    assert upper.mean() == pytest.approx(0.5, abs=0.01)
    assert math.exp(effects[upper].mean() - effects[~upper].mean()) == pytest.approx(1.11, abs=1e-4)


def test_disturbed_processes_are_one_in_ten_and_slower(generator):
    effects = noise.disturbed(generator, SHAPE, 0.0)
    assert (effects > 0).mean() == pytest.approx(0.1, abs=0.01)
    assert 0 <= effects.min() <= effects.max() <= math.log(1.6)


def test_medians_scatter_around_the_centre(generator):
    medians = noise.medians(generator, noise.normal, SHAPE, 0.01, 0.005)
    assert np.median(medians) == pytest.approx(0.005, rel=1e-3)


def test_levels_broadcast_over_benchmarks(generator):
    effects = noise.normal(generator, (2, 10_000), np.array([[0.001], [0.2]]))
    assert effects.std(axis=1) == pytest.approx([0.001, 0.2], rel=0.05)


def test_level_pools_sides():
    # ln 1 = 0, ln e = 1, ln e^2 = 2: sums of squares 2 and 0.5, 2 + 1 degrees of freedom.
    assert noise.level([(1, math.e, math.e**2), (1, math.e)]) == pytest.approx(math.sqrt(2.5 / 3))


@pytest.mark.parametrize("sides", [[], [(1.0,)], [(0.0, -1.0, math.nan, 3.0)]])
def test_level_of_too_little_is_none(sides):
    assert noise.level(sides) is None


def test_effects_are_centred_on_their_side_and_widened():
    effects = noise.effects([(1, math.e**2), (math.e**5, math.e**9), (3.0,)])
    assert effects == pytest.approx([-math.sqrt(2), math.sqrt(2), -2 * math.sqrt(2), 2 * math.sqrt(2)])


def test_resampled_effects_come_from_the_benchmarks_own_pool(generator):
    resampled = noise.Resampled([(1.0, 2.0), (10.0, 20.0, 30.0)])
    drawn = resampled.draw(generator, np.array([1, 0]), 200)
    assert (set(drawn[0]), set(drawn[1])) == ({10.0, 20.0, 30.0}, {1.0, 2.0})
    assert len(resampled) == 2


def test_measured_levels_span_the_machine():
    assert (min(noise.MEASURED_LEVELS), max(noise.MEASURED_LEVELS)) == (0.0015, 0.24)
