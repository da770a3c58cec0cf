"""A row's figure in one number. Pure."""

import statistics
from collections.abc import Sequence


def centre(medians: Sequence[float], is_count: bool = False) -> float | None:
    """Return the geometric mean of process medians, whose ratio the verdicts judge, so that what is shown and what is
    judged agree; the median of counts and where a figure is not positive, None without any."""
    if not medians:
        return None
    if is_count:
        middle = statistics.median(medians)
        return int(middle) if float(middle).is_integer() else middle
    if min(medians) <= 0 or min(medians) == max(medians):
        return statistics.median(medians)
    return statistics.geometric_mean(medians)
