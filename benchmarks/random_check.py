"""Whether numbers are what a generator of standard normals, or of permutations, should give. Pure."""

import functools
import math
import statistics

import numpy

from .correctness import UNIT_ROUNDOFF

# Standard deviations that chance is given: one in 500 million is further out.
CHANCE = 6
# Standard deviation, over a sample of one, of z, z² − 1, z³, z⁴ − 3 and of the product of neighbours.
SPREADS = numpy.sqrt([1, 2, 15, 96, 1])


def moments(sample):
    """Return means of z, z² − 1, z³, z⁴ − 3 and of the product of neighbours: zeros for independent normals."""
    z = numpy.asarray(sample, numpy.float64).ravel()
    return numpy.array([z.mean(), (z**2).mean() - 1, (z**3).mean(), (z**4).mean() - 3, (z[1:] * z[:-1]).mean()])


@functools.cache
def granularity(precision):
    """Return the moments of normals made from uniform numbers that have no more bits than a type's fraction.

    The uniform numbers are −1 + 2·k·ε, the first one moved up to the next number of the type; ε is the spacing of the
    type at 1. Zeros for the types whose ε does not show.
    """
    spacing = 2 * UNIT_ROUNDOFF[precision]
    if spacing < 2.0**-12:
        return numpy.zeros(len(SPREADS))
    uniform = -1 + 2 * spacing * numpy.arange(round(1 / spacing))
    uniform[0] += spacing / 2
    normal = statistics.NormalDist()
    z = numpy.array([normal.inv_cdf((1 + float(each)) / 2) for each in uniform])
    found = moments(z)
    # Neighbours are drawn independently.
    found[-1] = z.mean() ** 2
    return found


def normal_error(sample, precision):
    """Return the worst moment's distance from a standard normal's, as a share of what explains it.

    What explains it are chance (CHANCE standard deviations) and, for narrow types, `granularity`. Over 1 is too much.
    """
    if not numpy.isfinite(sample).all():
        return math.inf
    explained = CHANCE * SPREADS / math.sqrt(numpy.size(sample)) + abs(granularity(precision))
    return float(max(abs(moments(sample)) / explained))


def permutation_error(found):
    """Return how far an array is from a shuffled 0, 1, … n − 1: infinite unless each number is there once.

    Else the rank correlations of a number with its place and with its neighbour, as a share of what chance explains.
    """
    count = len(found)
    if not numpy.array_equal(numpy.sort(found), numpy.arange(count)):
        return math.inf
    # Uniform numbers of variance one.
    centred = (numpy.asarray(found, numpy.float64) - (count - 1) / 2) * math.sqrt(12) / count
    place = (numpy.arange(count) - (count - 1) / 2) * math.sqrt(12) / count
    correlations = abs((centred * place).mean()), abs((centred[1:] * centred[:-1]).mean())
    return float(max(correlations)) * math.sqrt(count) / CHANCE
