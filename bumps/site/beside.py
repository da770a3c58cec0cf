"""JAX beside PyTorch: the same benchmark of both frameworks' newest measured releases on one machine."""

import statistics
from dataclasses import dataclass

from bumps import verdict
from bumps.results import Archive, Row, releases, unquote

FRAMEWORKS = ("torch", "jax")


@dataclass(frozen=True)
class Beside:
    """One line: seconds of both frameworks, jax/torch with its interval, the winner where the interval excludes 1."""

    workload: str
    mode: str
    pass_: str
    params: tuple[str, ...]
    seconds: dict[str, float]
    flags: dict[str, tuple[str, ...]]
    share_of_peak: dict[str, float]
    flops_per_second: dict[str, float]
    ratio: float | None
    low: float | None
    high: float | None

    @property
    def winner(self) -> str | None:
        if self.low is None or self.high is None:
            return None
        return "torch" if self.low > 1 else "jax" if self.high < 1 else None


def newest(archive: Archive, machine: str) -> dict[str, tuple[str, Row]]:
    """Return framework -> (release, row) of the newest release measured on the machine."""
    rows = [row for row in archive.rows if row.machine == machine and not row.replica and not row.override]
    found = {}
    for framework in FRAMEWORKS:
        known = [(version, row) for version, row in releases(rows, framework) if row.figures]
        if known:
            version, row = max(known, key=lambda each: (each[0], each[1].measured))
            found[framework] = (str(version), row)
    return found


def lines(archive: Archive, rows: dict[str, tuple[str, Row]], sidecar_of) -> list[Beside]:
    """Return a line for every wall-clock benchmark that both frameworks' rows measured."""
    if len(rows) < len(FRAMEWORKS):
        return []
    figures = {name: _figures(archive, row, name) for name, (_, row) in rows.items()}
    shared = sorted(set(figures["torch"]) & set(figures["jax"]))
    cases = [
        verdict.Case(
            key=key,
            old=verdict.Side(batches=(figures["torch"][key].medians,)),
            new=verdict.Side(batches=(figures["jax"][key].medians,)),
            stored_only=True,
        )
        for key in shared
    ]
    return [
        _line(archive, key, judgement, figures, rows, sidecar_of)
        for key, judgement in zip(shared, verdict.judge(cases), strict=True)
    ]


def _figures(archive: Archive, row: Row, framework: str) -> dict:
    found = {}
    for (benchmark, quoted), each in row.figures.items():
        params = tuple(unquote(value) for value in quoted)
        if params and params[0] == framework and archive.attribute(benchmark, "clock") == "wall" and each[-1].medians:
            found[benchmark, params[1:]] = each[-1]
    return found


def _line(archive, key, judgement, figures, rows, sidecar_of) -> Beside:
    benchmark, params = key
    seconds, flags, share, rate = {}, {}, {}, {}
    for name in FRAMEWORKS:
        figure = figures[name][key]
        seconds[name] = statistics.median(figure.medians)
        sidecar = sidecar_of(rows[name][1])
        full = (benchmark, (name, *params))
        flags[name] = tuple(sidecar.flags(full, figure.version))
        detail = sidecar.audits.get(full, {}).get("ceiling", (None, None, {}))[2]
        flops, peak = detail.get("flops_analytic"), detail.get("peak_flops_per_second")
        if isinstance(flops, int | float) and isinstance(peak, int | float) and peak > 0:
            rate[name] = flops / seconds[name]
            share[name] = rate[name] / peak
    return Beside(
        workload=archive.attribute(benchmark, "workload") or benchmark,
        mode=archive.attribute(benchmark, "mode") or "",
        pass_=archive.attribute(benchmark, "pass") or "",
        params=params,
        seconds=seconds,
        flags=flags,
        share_of_peak=share,
        flops_per_second=rate,
        ratio=judgement.ratio,
        low=judgement.low,
        high=judgement.high,
    )
