"""JAX beside PyTorch: every measured release of both frameworks in one place, as data for `frameworks.html`.

A place is a machine and what its rows were built for. The page compares any release of one framework with any of the
other, so what is written here is one estimate for each step of each release; `compare` says how two make a ratio, and
static/frameworks.js does the same.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from bumps import controls, moderation, sidecars, verdict
from bumps.results import Archive, Figure, Row, releases, unquote

FRAMEWORKS = ("torch", "jax")
# Two-sided quantiles of Student's t for 1, 2, … degrees of freedom. More count as this many, fractions are cut: both
# err on the wide side.
QUANTILES = tuple(float(value) for value in stats.t.isf((1 - verdict.CONFIDENCE) / 2, np.arange(1, 61)))

# (benchmark, asv's parameters without quotes and without the framework, asv's version of the benchmark): figures of two
# sources of a benchmark are not compared.
Step = tuple[str, tuple[str, ...], str | None]


@dataclass(frozen=True)
class Estimate:
    """Seconds a step of one release, in logarithms: the mean of its log process medians, its standard error, and that
    error's degrees of freedom (0: one process, no error known)."""

    centre: float
    error: float
    freedom: float


@dataclass(frozen=True)
class Measured:
    """One step of one release: its estimate, when it was measured (seconds since the epoch), the flags that audits
    raised, the analytic work in FLOP and the measured peak of the machine in FLOP/s (None where no audit tells)."""

    estimate: Estimate
    started: float = 0.0
    flags: tuple[str, ...] = ()
    flops: float | None = None
    peak: float | None = None


@dataclass
class Place:
    """What was measured on one machine with one accelerator: framework -> release -> step -> figure, oldest first."""

    machine: str
    accelerator: str | None
    measured: dict[str, dict[str, dict[Step, Measured]]] = field(default_factory=dict)

    @property
    def measured_last(self) -> float:
        """When its newest figure was measured, in seconds since the epoch."""
        steps = (
            each
            for by_release in self.measured.values()
            for by_step in by_release.values()
            for each in by_step.values()
        )
        return max((each.started for each in steps), default=0.0)

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (self.machine, self.accelerator)))


def estimates(medians: Mapping[Step, Sequence[float]]) -> dict[Step, Estimate]:
    """Return an estimate for each step that has positive process medians.

    Variances are moderated across the steps of a release, as a bump's are (bumps.moderation).
    """
    logs = {step: np.log(values) for step, values in medians.items() if len(values) and min(values) > 0}
    if not logs:
        return {}
    freedom = np.array([len(each) - 1.0 for each in logs.values()])
    variances = np.array([each.var(ddof=1) if len(each) > 1 else 0.0 for each in logs.values()])
    variances, freedom = moderation.moderate(variances, freedom)
    return {
        step: Estimate(float(each.mean()), math.sqrt(variance / len(each)), float(free))
        for (step, each), variance, free in zip(logs.items(), variances, freedom, strict=True)
    }


def compare(torch: Estimate, jax: Estimate) -> tuple[float, float | None, float | None]:
    """Return jax/torch with its interval at verdict.CONFIDENCE (None, None where a side's spread is not known).

    Welch's interval of the difference of two means (Biometrika 34, 1947) with Satterthwaite's degrees of freedom.
    """
    shift = jax.centre - torch.centre
    if torch.freedom <= 0 or jax.freedom <= 0:
        return math.exp(shift), None, None
    variance = torch.error**2 + jax.error**2
    freedom = variance**2 / (torch.error**4 / torch.freedom + jax.error**4 / jax.freedom) if variance else 1.0
    half = quantile(freedom) * math.sqrt(variance)
    return math.exp(shift), math.exp(shift - half), math.exp(shift + half)


def quantile(freedom: float) -> float:
    """Return the two-sided quantile of Student's t for at least one degree of freedom."""
    return QUANTILES[min(max(int(freedom), 1), len(QUANTILES)) - 1]


def places(archive: Archive) -> list[Place]:
    """Return every place with wall-clock figures of either framework, the newest measured first."""
    found: dict[tuple[str, str | None], Place] = {}
    for framework in FRAMEWORKS:
        for (machine, accelerator, release), row in _rows(archive, framework).items():
            figures = _figures(archive, row, framework)
            place = found.setdefault((machine, accelerator), Place(machine, accelerator))
            place.measured.setdefault(framework, {})[release] = _measured(archive, row, framework, figures)
    return sorted(found.values(), key=lambda place: (-place.measured_last, place.name))


def _rows(archive: Archive, framework: str) -> dict[tuple[str, str | None, str], Row]:
    """Return (machine, accelerator, release) -> the row to show, releases in order; of several that have figures of the
    framework the newest measured."""
    found: dict[tuple[str, str | None, str], Row] = {}
    for release, row in releases(archive.rows, framework):
        key = row.machine, row.accelerator, str(release)
        is_newest = key not in found or found[key].measured < row.measured
        if not row.replica and not row.override and is_newest and _figures(archive, row, framework):
            found[key] = row
    return found


def _figures(archive: Archive, row: Row, framework: str) -> dict[Step, list[Figure]]:
    """Return the wall-clock figures of a row and of its controls, which are the same row under a second name; those of
    all commits with the same source count together."""
    found: dict[Step, list[Figure]] = {}
    for each in (row, *controls.replicas_of(archive, row)):
        for (benchmark, quoted), figures in each.figures.items():
            params = tuple(map(unquote, quoted))
            if params and params[0] == framework and archive.attribute(benchmark, "clock") == "wall":
                for figure in figures:
                    if figure.medians:
                        found.setdefault((benchmark, params[1:], figure.version), []).append(figure)
    return found


def _measured(archive: Archive, row: Row, framework: str, figures: dict[Step, list[Figure]]) -> dict[Step, Measured]:
    sidecar = sidecars.of(archive, row)
    medians = {step: [median for figure in each for median in figure.medians] for step, each in figures.items()}
    found = {}
    for step, estimate in estimates(medians).items():
        benchmark, params, version = step
        key = benchmark, (framework, *params)
        detail = sidecar.audits.get(key, {}).get("ceiling", (None, None, {}))[2]
        found[step] = Measured(
            estimate,
            max(figure.started or 0.0 for figure in figures[step]),
            tuple(sidecar.flags(key, version)),
            _positive(detail.get("flops_analytic")),
            _positive(detail.get("peak_flops_per_second")),
        )
    return found


def _positive(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < math.inf else None


def as_data(archive: Archive, place: Place, dates: Mapping[tuple[str, str], str]) -> dict:
    """Return a place as the page's script reads it.

    `steps` are [workload, mode, pass, precision, size, further parameters, FLOP or null]; of several that differ only
    in the benchmark's version, the newest comes first. `figures` maps a framework
    to one list per release of [step number, centre, error, freedom, peak or null, flag numbers]. `dates` maps
    (framework, release) to its ISO date.
    """
    described: dict[Step, list[str]] = {}
    flops: dict[Step, float] = {}
    newest: dict[Step, float] = {}
    flags: dict[str, int] = {}
    for by_release in place.measured.values():
        for measured in by_release.values():
            for step, each in measured.items():
                if step not in described:
                    described[step] = _described(archive, step)
                newest[step] = max(newest.get(step, 0.0), each.started)
                if each.flops:
                    flops[step] = each.flops
    ordered = sorted(described, key=lambda step: (described[step], step[:2], -newest[step]))
    numbers = {step: number for number, step in enumerate(ordered)}
    figures = {
        framework: [
            [_compact(numbers[step], each, flags) for step, each in measured.items()]
            for measured in place.measured.get(framework, {}).values()
        ]
        for framework in FRAMEWORKS
    }
    names = {framework: list(place.measured.get(framework, {})) for framework in FRAMEWORKS}
    return {
        "releases": names,
        "dates": {
            framework: [dates.get((framework, release.partition("+")[0])) for release in listed]
            for framework, listed in names.items()
        },
        "steps": [[*described[step], flops.get(step)] for step in ordered],
        "flags": list(flags),
        "figures": figures,
    }


def _compact(number: int, measured: Measured, flags: dict[str, int]) -> list:
    estimate, peak = measured.estimate, measured.peak
    return [
        number,
        round(estimate.centre, 7),
        float(f"{estimate.error:.5g}"),
        round(estimate.freedom, 2),
        peak and float(f"{peak:.5g}"),
        [flags.setdefault(flag, len(flags)) for flag in measured.flags],
    ]


def _described(archive: Archive, step: Step) -> list[str]:
    benchmark, params, _ = step
    names = archive.param_names(benchmark, len(params) + 1)[1:]
    values = dict(zip(names, params, strict=True))
    precision, size = values.pop("precision", ""), values.pop("size", "")
    attributes = [archive.attribute(benchmark, name) or "" for name in ("workload", "mode", "pass")]
    return [attributes[0] or benchmark, *attributes[1:], precision, size, ", ".join(values.values())]
