"""Gathers what is stored and writes the pages."""

import datetime
import json
import pathlib
import shutil

import jinja2
from asv.console import log
from asv.util import UserError, human_value

from bumps import check, sidecars
from bumps.results import Archive
from bumps.site import article, beside, dots, feed, navigation, release_dates, release_list

FOLDER = pathlib.Path(__file__).parent
# Bumps whose rows stand in the page itself; the others are files that it loads when they are opened.
INLINE_BUMPS = 4
FLAGS = {
    "elided": "The compiler dropped part of the work that the name promises.",
    "graph-break": "torch.compile could not capture the function whole; part of it ran eagerly.",
    "constants": "Arrays closed over by the function became constants of the program.",
    "retraced": "The function is traced and compiled again at every call.",
    "recompiled": "More than one program was compiled for the step.",
    "impossible": "More FLOP/s than this machine's own matrix product reaches: not all the work was done.",
    "overhead-bound": "Less than five no-op dispatches long: the figure is mostly the framework's overhead.",
    "wrong-precision": "The error is not that of the claimed precision.",
    "unequal-threads": "The framework did not use every CPU that the row had.",
}


def write(conf) -> None:
    """Write every page into asv's html folder; raises UserError when the results cannot be read at all."""
    target = pathlib.Path(conf.html_dir)
    archive = Archive(conf.results_dir)
    reports, problems = _reports(archive, conf)
    machines = sorted({row.machine for row in archive.rows})
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")

    shutil.copytree(FOLDER / "static", target / "bumps-static", dirs_exist_ok=True)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(seconds=_seconds, percent=_percent, dots=_dots, parameters=_parameters)
    environment.globals.update(
        project=conf.project,
        pages=navigation.tabs(target),
        flags=FLAGS,
        bump_id=feed.bump_id,
        generated=now,
        cells=article.CELLS,
    )

    def render(name, **values):
        (target / name).write_text(environment.get_template(name).render(page=name, **values), encoding="utf-8")

    render("frameworks.html", machines=[_machine(archive, name) for name in machines], published=article.PUBLISHED)
    render("bumps.html", inline=reports[:INLINE_BUMPS], later=reports[INLINE_BUMPS:])
    render("method.html", **_method(archive, reports, machines, problems))
    listed = release_list.entries(archive, release_dates.read())
    render(navigation.RELEASE_LIST, releases=listed, over_time=navigation.over_time(target))
    _write_older(environment, target, reports[INLINE_BUMPS:])
    (target / "bumps.json").write_text(json.dumps(reports), encoding="utf-8")
    (target / "bumps.xml").write_text(feed.atom(conf.project, reports, now), encoding="utf-8")
    navigation.add_tabs(conf.html_dir)


def _reports(archive: Archive, conf) -> tuple[list[dict], list[str]]:
    """Return the reports of all neighbouring pairs, newest measurement first, and why others could not be judged."""
    reports, problems = [], []
    for bump in check.bumps(archive):
        log.dot()
        try:
            found = check.report(
                archive, conf, bump.framework, bump.old, bump.new, bump.machine, bump.python, bump.accelerator
            )
        except UserError as error:
            problems.append(f"{bump.framework} {bump.old} → {bump.new} on {bump.machine}: {error}")
            continue
        reports.append(found)
    reports.sort(key=lambda report: report["measured"] or "", reverse=True)
    return reports, problems


def _machine(archive: Archive, name: str) -> dict:
    def sidecar(row):
        return sidecars.of(archive, row)

    def flags_of(row, benchmark, params, version):
        return sidecar(row).flags((benchmark, params), version)

    rows = beside.newest(archive, name)
    setting, lines = article.measured(archive, name, flags_of)
    return {
        "name": name,
        "releases": {framework: release for framework, (release, _) in rows.items()},
        "beside": beside.lines(archive, rows, sidecar),
        "article_setting": setting,
        "article": lines,
    }


def _method(archive: Archive, reports: list[dict], machines: list[str], problems: list[str]) -> dict:
    rows = []
    for row in sorted(archive.rows, key=lambda row: (row.machine, row.env_name)):
        found = sidecars.of(archive, row)
        rows.append(
            {
                "machine": row.machine,
                "name": row.env_name,
                "python": row.python,
                "environment": found.environment,
                "unbuildable": found.unbuildable,
                "failures": sorted(
                    (f"{key[0]}({', '.join(key[1])})", why.get("failed") or why.get("timeout"))
                    for key, why in found.reasons.items()
                    if why.get("failed") or why.get("timeout")
                ),
            }
        )
    return {
        "machines": [(name, _facts(archive, name)) for name in machines],
        "rows": rows,
        "reports": reports,
        "excluded": [(each.file, each.benchmark, each.why) for each in archive.excluded],
        "problems": problems,
    }


def _facts(archive: Archive, machine: str) -> list[tuple[str, str]]:
    folder = next(row.folder for row in archive.rows if row.machine == machine)
    try:
        content = json.loads((folder / "machine.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [(str(key), str(value)) for key, value in sorted(content.items()) if key not in ("machine", "version")]


def _write_older(environment: jinja2.Environment, target: pathlib.Path, reports: list[dict]) -> None:
    """Write older bumps as scripts: a page opened from a file system may load a script and nothing else."""
    folder = target / "bumps-older"
    folder.mkdir(exist_ok=True)
    template = environment.get_template("bump.html")
    for report in reports:
        content = json.dumps(template.module.table(report))
        (folder / f"{feed.bump_id(report)}.js").write_text(f"showOlderBump({content});", encoding="utf-8")


def _seconds(value: float | None, unit: str = "seconds") -> str:
    return "–" if value is None else human_value(value, unit or "seconds")


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _dots(row: dict):
    return dots.svg(row["medians_old"], row["medians_new"])


def _parameters(params: dict) -> str:
    return ", ".join(str(value) for value in params.values())
