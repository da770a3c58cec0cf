"""The verdict on a bump from stored results alone, as the report that terminal, site and alerts show.

`docs/report.md` describes the report; `schema.json` beside this file is its JSON schema.
"""

import functools
import pathlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from asv.util import UserError

from bumps import acknowledged, estimate, journals, verdict
from bumps.acknowledged import Acknowledgement
from bumps.cases import Compared, Comparison, Measured
from bumps.margins import Margins
from bumps.results import Archive, Excluded, name_with_params, releases
from bumps.selection import Bump, Pair, available, select
from bumps.verdict import Judgement, Verdict

SCHEMA = 1
# In the order of a reader's interest.
WORST_FIRST = (
    Verdict.REGRESSED,
    Verdict.BROKEN,
    Verdict.AMBIGUOUS,
    Verdict.IMPROVED,
    Verdict.FIXED,
    Verdict.SAME,
    Verdict.UNMEASURED,
)
WITHOUT_REMARK = (Verdict.SAME, Verdict.UNMEASURED)


def bumps(results_dir: str | pathlib.Path | Archive, frameworks: Sequence[str] = ()) -> list[Bump]:
    """Return the neighbouring pairs of releases that can be judged.

    `frameworks` are requirement names; without them, torch, jax and every other requirement measured at two releases.
    Raises UserError when there is no such folder.
    """
    return available(_archive(results_dir), frameworks)


def report(
    results_dir: str | pathlib.Path | Archive,
    config: object | None,
    framework: str,
    old: str,
    new: str,
    machine: str | None = None,
    python: str | None = None,
    accelerator: str | None = None,
    force: bool = False,
    *,
    where: dict[str, str] | None = None,
    assume_interleaved: bool = False,
    acknowledgements: Sequence[Acknowledgement] | None = None,
) -> dict:
    """Judge a bump from what is stored and return the report.

    `results_dir` is asv's results folder, or an Archive of it when several bumps are judged; `config` is asv's Config
    (its regressions_thresholds are the margins; None: the defaults). `where` narrows to rows with these other
    requirements; `assume_interleaved` takes the user's word that `asv run --interleave-rounds` measured them.
    `acknowledgements` are those of acknowledged.toml in the working directory unless given. Raises UserError when the
    rows do not make a bump.
    """
    archive = _archive(results_dir)
    pair = select(archive, framework, old, new, machine, python, accelerator, force, where)
    return report_of(archive, config, pair, force, assume_interleaved, acknowledgements)


def reports(
    archive: Archive, config: object | None, bumps: Iterable[Bump], **options: object
) -> tuple[list[tuple[Bump, dict]], list[str]]:
    """Return the reports of the bumps that can be judged, and of each other one a line that says why not.

    `options` are those of `report`.
    """
    found, problems = [], []
    for bump in bumps:
        try:
            judged = report(archive, config, *bump[:3], bump.machine, bump.python, bump.accelerator, **options)
        except UserError as error:
            problems.append(f"{bump.framework} {bump.old} → {bump.new} on {bump.machine}: {error}")
        else:
            found.append((bump, judged))
    return found, problems


def report_of(
    archive: Archive,
    config: object | None,
    pair: Pair,
    force: bool = False,
    assume_interleaved: bool = False,
    acknowledgements: Sequence[Acknowledgement] | None = None,
) -> dict:
    """Judge two rows that are known and return the report; see `report`."""
    comparison = Comparison(archive, pair, margins_of(config), assume_interleaved)
    if acknowledgements is None:
        acknowledgements = acknowledged.load(pathlib.Path(acknowledged.FILE))
    return _Report(archive, comparison, acknowledgements).build(force, assume_interleaved)


def margins_of(config: object | None) -> Margins:
    return Margins(getattr(config, "regressions_thresholds", None) or {})


def _archive(results_dir: str | pathlib.Path | Archive) -> Archive:
    return results_dir if isinstance(results_dir, Archive) else Archive(results_dir)


class _Report:
    def __init__(self, archive: Archive, comparison: Comparison, known: Sequence[Acknowledgement]):
        self._archive, self._comparison, self._known = archive, comparison, known
        self._pair: Pair = comparison.pair
        self._newest_release = max(
            release
            for release, _ in releases(
                [row for row in archive.rows if row.machine == self._pair.new.machine], self._pair.framework
            )
        )

    def build(self, force: bool, assumed: bool) -> dict:
        pair = self._pair
        forced = [*pair.forced, *self._unlike_devices(force)]
        if assumed:
            forced.append("taken to be interleaved on the user's word")
        compared = self._comparison.compare()
        cases = [each.case for each in compared]
        judgements = verdict.judge(cases)
        controls = verdict.judge_controls(cases)
        rows = [self._row(each, judgement) for each, judgement in zip(compared, judgements, strict=True)]
        summary = self._summary(
            judgements, controls, {each.key: row for each, row in zip(judgements, rows, strict=True)}
        )
        rows.sort(key=_worst_first)
        excluded = [*self._archive_exclusions(), *self._comparison.excluded]
        measured = max((side.measured for each in compared for side in (each.old, each.new)), default=0.0)
        newest = max((side for each in compared for side in (each.old, each.new)), key=_when, default=None)
        return {
            "schema": SCHEMA,
            "framework": pair.framework,
            "old": str(pair.old_release),
            "new": str(pair.new_release),
            "machine": pair.new.machine,
            "python": pair.new.python,
            "accelerator": pair.new.accelerator,
            "commit": newest.commit if newest else None,
            "measured": _iso(measured),
            "interleaved": all(ran) if (ran := [case.interleaved for case in cases if _both_ran(case)]) else False,
            "forced": forced,
            "environments": {"old": pair.old.env_name, "new": pair.new.env_name},
            "summary": summary,
            "components": self._components(),
            "benchmarks": rows,
            "excluded": [_as_dict(each) for each in excluded],
            "superseded": [_as_dict(each) for each in self._comparison.superseded],
            "not_selected": self._comparison.not_selected,
            "notes": list(pair.notes),
        }

    def _row(self, each: Compared, judgement: Judgement) -> dict:
        attribute = functools.partial(self._archive.attribute, each.benchmark)
        name = name_with_params(*each.case.key)
        known = None
        if judgement.verdict in (Verdict.REGRESSED, Verdict.BROKEN):
            known = acknowledged.find(
                self._known,
                name,
                self._pair.framework,
                self._pair.old_release,
                self._pair.new_release,
                self._newest_release,
                self._pair.new.machine,
            )
        return {
            "name": each.benchmark,
            "params": each.params,
            "workload": attribute("workload") or None,
            "mode": attribute("mode"),
            "pass": attribute("pass"),
            "clock": attribute("clock"),
            "unit": attribute("unit"),
            "verdict": str(judgement.verdict),
            "ratio": judgement.ratio,
            "low": judgement.low,
            "high": judgement.high,
            "margin": judgement.margin,
            "smallest_detectable": judgement.smallest_detectable,
            "confirmed": judgement.confirmed,
            "interleaved": each.case.interleaved,
            "processes_old": len(each.old.processes),
            "processes_new": len(each.new.processes),
            "figure_old": _figure(each.old, each.old_replica, each.case.exact),
            "figure_new": _figure(each.new, each.new_replica, each.case.exact),
            "medians_old": _medians(each.old),
            "medians_new": _medians(each.new),
            "medians_control": [*each.old_replica, *each.new_replica],
            "failures_old": list(each.old.failures),
            "failures_new": list(each.new.failures),
            "why": judgement.why,
            "audits": each.flags,
            "acknowledged": known.as_dict() if known else None,
        }

    def _summary(self, judgements: list[Judgement], controls: list[Judgement], by_key: dict[tuple, dict]) -> dict:
        rows = list(by_key.values())

        def workload_of(key):
            # A probe's is empty: no step of a workload is timed.
            return self._archive.attribute(key[0], "workload") or None

        found = verdict.summarise(judgements, workload_of, controls, self._is_averaged(rows))
        open_ones = [row for row in rows if row["acknowledged"] is None]
        counts = Counter(row["verdict"] for row in open_ones)
        status = found.exit_status
        if status == 1 and not (counts["regressed"] or counts["broken"]):
            status = 3 if counts["ambiguous"] else 0
        worst = by_key[found.worst[0]] if found.worst else None
        judged = [row for row in rows if row["verdict"] != Verdict.UNMEASURED]
        summary = {
            "counts": {str(name): count for name, count in found.counts.items()},
            "judged": found.judged,
            "unconfirmed": found.unconfirmed,
            "acknowledged": len(rows) - len(open_ones),
            "geomean": {"overall": found.geomean, "by_workload": found.geomean_by_workload},
            "worst": {key: worst[key] for key in ("name", "params", "ratio")} if worst else None,
            "audits": dict(sorted(Counter(flag for row in judged for flag in row["audits"]).items())),
            "smallest_detectable": found.smallest_detectable,
            "control": {"judged": found.control.judged, "alarms": found.control.alarms},
            "exit_status": status,
        }
        return {"sentence": self._sentence(summary), **summary}

    def _is_averaged(self, rows: list[dict]) -> Callable[[tuple], bool]:
        """Return whether a benchmark counts in the geometric means: a step once, by its wall time, and no count.
        Another suite's benchmarks tell of no clock; there each does."""
        if any(row["clock"] == "wall" for row in rows):
            return lambda key: self._archive.attribute(key[0], "clock") == "wall"
        return lambda key: self._archive.attribute(key[0], "clock") != "kernels"

    def _sentence(self, summary: dict) -> str:
        pair = self._pair
        head = f"{pair.framework} {pair.old_release} → {pair.new_release}"
        if not summary["judged"]:
            return f"{head}: nothing was measured on both sides."
        counts = summary["counts"]
        said = [f"{counts[name]} {name}" for name in WORST_FIRST if counts[name] and name not in WITHOUT_REMARK]
        if summary["unconfirmed"]:
            unconfirmed = f" ({summary['unconfirmed']} of them not confirmed)"
            said = [part + unconfirmed if part.endswith(str(Verdict.REGRESSED)) else part for part in said]
        text = f"{head}: {', '.join(said) or 'nothing changed'}; {counts['same']} of {summary['judged']} the same"
        if summary["worst"]:
            text += f"; worst {summary['worst']['name']} at {summary['worst']['ratio']:.2f}×"
        if summary["acknowledged"]:
            text += f"; {summary['acknowledged']} acknowledged"
        return text + "."

    def _components(self) -> list[dict]:
        """What differs between the two environments besides the framework itself."""
        old, new = (self._inventory(row) for row in (self._pair.old, self._pair.new))
        names = sorted((old.keys() | new.keys()) - {self._pair.framework}, key=str.lower)
        return [
            {"name": name, "old": old.get(name), "new": new.get(name)}
            for name in names
            if old.get(name) != new.get(name)
        ]

    def _inventory(self, row) -> dict[str, str]:
        environment = self._comparison.sidecar(row).environment
        packages = environment.get("packages")
        if not isinstance(packages, dict):
            found = dict(row.requirements)
        else:
            found = {str(name): str(version) for name, version in packages.items()}
        for name in ("python", "driver", "override"):
            if environment.get(name):
                found[{"python": "Python", "driver": "NVIDIA driver"}.get(name, name)] = str(environment[name])
        return found

    def _unlike_devices(self, force: bool) -> list[str]:
        rows = (self._pair.old, self._pair.new)
        if any(row.accelerator in (None, "cpu") for row in rows):
            return []
        old, new = (sorted(map(str, self._comparison.sidecar(row).environment.get("devices") or [])) for row in rows)
        if not (old and new) or old == new:
            return []
        difference = f"devices: {', '.join(old)} and {', '.join(new)}"
        if not force:
            raise UserError(f"the two rows saw other {difference}; --force compares them all the same")
        return [difference]

    def _archive_exclusions(self) -> list[Excluded]:
        """What reading left out that may have belonged to these rows: of their files, and files that name no row."""
        own = {file.path for row in self._rows() for file in row.files}
        others = {file.path for row in self._archive.rows for file in row.files} - own
        folder = f"{self._pair.new.folder.name}/"
        return [
            each
            for each in self._archive.excluded
            if each.file not in others and (each.file.startswith(folder) or "/" not in each.file)
        ]

    def _rows(self):
        return [self._pair.old, self._pair.new, *(row for control in self._pair.controls for row in control)]


def _both_ran(case: verdict.Case) -> bool:
    return bool(case.old.medians and case.new.medians)


def _medians(side: Measured) -> list[float]:
    return [median for _, _, median in sorted(side.processes, key=lambda process: process[1])]


def _figure(side: Measured, replica: Sequence[float], is_count: bool) -> float | None:
    """The row in one number, under both its names, as it is judged; asv's own median where there are no processes."""
    found = estimate.centre([*_medians(side), *replica], is_count)
    return side.value if found is None else found


def _when(side: Measured) -> float:
    return side.measured


def _worst_first(row: dict) -> tuple:
    size = abs((row["ratio"] or 1.0) - 1.0)
    return WORST_FIRST.index(Verdict(row["verdict"])), -size, row["name"], tuple(row["params"].values())


def _as_dict(excluded: Excluded) -> dict:
    return {"file": excluded.file, "benchmark": excluded.benchmark, "why": excluded.why}


def _iso(seconds: float) -> str | None:
    time = journals.utc(seconds or None)
    return time.isoformat() if time else None
