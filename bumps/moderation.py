"""Empirical-Bayes moderation of variances across the benchmarks of a bump.

Few processes give a poor variance each, but hundreds of benchmarks together tell how variances are spread: as
s0^2 d0 / chi^2(d0). Each benchmark's variance is then shrunk towards s0^2 as if d0 more degrees of freedom had been
measured: (d0 s0^2 + d s^2) / (d0 + d), with d0 + d degrees of freedom (Smyth, *Statistical Applications in Genetics
and Molecular Biology* 3, 2004). A benchmark far noisier than the others keeps its own variance (after Phipson et al.,
*Annals of Applied Statistics* 10, 2016).
"""

import numpy as np
from scipy import special, stats

# Fewer benchmarks than this cannot tell how variances are spread.
ENOUGH = 20
# However alike the variances look, the prior never counts for more processes than these.
LARGEST_PRIOR = 12.0
HYPERVARIABLE = 0.01


def inverse_trigamma(values: float) -> float:
    """Solve trigamma(x) = `values` for x > 0 by Newton's method (Smyth 2004, appendix)."""
    if values > 1e7:
        return 1 / np.sqrt(values)
    if values < 1e-6:
        return 1 / values
    x = 0.5 + 1 / values
    for _ in range(50):
        trigamma = special.polygamma(1, x)
        step = trigamma * (1 - trigamma / values) / special.polygamma(2, x)
        x += step
        if -step / x < 1e-8:
            break
    return float(x)


def prior(variances: np.ndarray, freedom: np.ndarray) -> tuple[float, float]:
    """Return (d0, s0^2) of the variances' scaled-F distribution; d0 is 0 where there are too few of them."""
    usable = (variances > 0) & (freedom > 0)
    if usable.sum() < ENOUGH:
        return 0.0, 1.0
    s2, d = variances[usable], freedom[usable]
    logs = np.log(s2) - special.digamma(d / 2) + np.log(d / 2)
    spread = logs.var(ddof=1) - special.polygamma(1, d / 2).mean()
    if spread <= 0:
        return LARGEST_PRIOR, float(np.exp(logs.mean()))
    d0 = 2 * inverse_trigamma(spread)
    s02 = np.exp(logs.mean() + special.digamma(d0 / 2) - np.log(d0 / 2))
    return float(min(d0, LARGEST_PRIOR)), float(s02)


def moderate(variances: np.ndarray, freedom: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return moderated variances and their degrees of freedom, one each per benchmark."""
    d0, s02 = prior(variances, freedom)
    if d0 == 0:
        return variances, freedom
    moderated = (d0 * s02 + freedom * variances) / (d0 + freedom)
    total = freedom + d0
    measured = freedom > 0
    limit = s02 * stats.f.isf(HYPERVARIABLE, np.where(measured, freedom, 1), d0)
    own = measured & (variances > limit)
    return np.where(own, variances, moderated), np.where(own, freedom, total)
