"""Gathers what is stored and writes the pages."""

import datetime
import json
import pathlib
import re
import shutil
from collections.abc import Iterator, Mapping

import jinja2
import markupsafe
from asv.console import log
from asv.util import human_value

from bumps import check, report, sidecars, verdict
from bumps.results import Archive
from bumps.selection import Bump
from bumps.site import article, beside, bump_list, charts, dots, feed, method, navigation, release_dates, release_list

FOLDER = pathlib.Path(__file__).parent
STATIC = "bumps-static"
# Between a number and its unit.
UNIT = re.compile(r"(?<=\d)(?=[a-zμ])")
BREAK = re.compile(r"([._])(?=.)")
FLAGS = {
    "elided": "The compiler dropped part of the work that the name promises.",
    "graph-break": "torch.compile could not capture the function whole; part of it ran eagerly.",
    "constants": "Arrays closed over by the function became constants of the program.",
    "retraced": "The function is traced and compiled again at every call.",
    "recompiled": "More than one program was compiled for the step.",
    "impossible": "More FLOP/s than this machine's own matrix product reaches: not all the work was done, or the "
    "machine was busy while its peak was measured.",
    "overhead-bound": "Less than five no-op dispatches long: the figure is mostly the framework's overhead.",
    "wrong-precision": "The error is not that of the claimed precision.",
    "unequal-threads": "The framework did not use every CPU that the row had.",
    "disturbed": "The GPU was throttled or shared during some processes; those do not count.",
}


def write(conf, archive: Archive, left_out: Mapping[str, str]) -> None:
    """Write every page about what is stored into asv's html folder; `left_out` is what asv's own pages are without."""
    target = pathlib.Path(conf.html_dir)
    log.info("Generating the pages of bumps")
    judged, problems = check.reports(archive, conf, _bumps(archive))
    reports = [report for _, report in judged]
    shutil.copytree(FOLDER / "static", target / STATIC, dirs_exist_ok=True)
    has_charts = charts.serve(target / STATIC)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    environment = _environment(conf, target, has_charts, now)

    def render(name, **values):
        stream = environment.get_template(name).stream(page=name, **values)
        stream.enable_buffering(100)
        # JSON can hold halves of characters, UTF-8 cannot.
        stream.dump(str(target / name), encoding="utf-8", errors="replace")

    dates = release_dates.read()
    inline, later = bump_list.arrange(reports)
    places = _write_places(target, archive, dates)
    articles = [found for name in sorted({row.machine for row in archive.rows}) if (found := _article(archive, name))]
    render("frameworks.html", places=places, articles=articles, published=article.published())
    render("bumps.html", inline=inline, later=later)
    render(
        "method.html",
        machines=method.machines(archive, conf),
        rows=method.rows(archive),
        excluded=method.excluded(archive, reports),
        problems=problems,
        left_out=sorted(left_out.items()),
    )
    listed = release_list.entries(archive, dates)
    render(navigation.RELEASE_LIST, releases=listed, over_time=navigation.over_time(target))
    _write_older(environment, target, later)
    with open(target / "bumps.json", "w", encoding="utf-8") as stream:
        stream.write(json.dumps(inline + later, allow_nan=False))
    (target / "bumps.xml").write_text(feed.atom(conf.project, inline + later, now), encoding="utf-8")
    navigation.add_tabs(conf.html_dir)


def _environment(conf, target: pathlib.Path, has_charts: bool, now: str) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        seconds=_seconds,
        percent=_percent,
        change=_change,
        dots=_dots,
        parameters=_parameters,
        breakable=_breakable,
        moment=_moment,
    )
    environment.globals.update(
        project=conf.project,
        pages=navigation.tabs(target),
        flags=FLAGS,
        bump_id=feed.bump_id,
        row_id=feed.row_id,
        generated=now,
        cells=article.CELLS,
        charts=has_charts,
        quantiles=beside.QUANTILES,
        confidence=verdict.CONFIDENCE,
    )
    return environment


def _bumps(archive: Archive) -> Iterator[Bump]:
    """Yield all neighbouring pairs, with a dot of progress for each."""
    for bump in check.bumps(archive):
        log.dot()
        yield bump


def _article(archive: Archive, machine: str) -> dict | None:
    def flags_of(row, benchmark, params, version):
        return sidecars.of(archive, row).flags((benchmark, params), version)

    setting, lines = article.measured(archive, machine, flags_of)
    return {"name": machine, "setting": setting, "lines": lines} if lines else None


def _write_places(target: pathlib.Path, archive: Archive, dates: dict) -> list[str]:
    """Write the figures of each place as a script; return the places' names in the order of the scripts' numbers."""
    folder = target / "frameworks-data"
    folder.mkdir(exist_ok=True)
    by_name = {(framework, str(version)): date.isoformat() for (framework, version), date in dates.items()}
    places = beside.places(archive)
    for number, place in enumerate(places):
        content = json.dumps(beside.as_data(archive, place, by_name), separators=(",", ":"), allow_nan=False)
        (folder / f"{number}.js").write_text(f"showPlace({number}, {content});", encoding="utf-8")
    return [place.name for place in places]


def _write_older(environment: jinja2.Environment, target: pathlib.Path, reports: list[dict]) -> None:
    """Write older bumps as scripts: a page opened from a file system may load a script and nothing else."""
    folder = target / "bumps-older"
    folder.mkdir(exist_ok=True)
    module = environment.get_template("bump.html").module
    for each in reports:
        content = json.dumps(module.details(each))
        (folder / f"{feed.bump_id(each)}.js").write_text(f"showOlderBump({content});", encoding="utf-8")


def _seconds(value: float | None, unit: str | None = "seconds") -> str:
    if value is None:
        return "–"
    if float(value).is_integer():
        # A number of kernels is a median, and so a float.
        value = int(value)
    text = human_value(value, unit or "seconds")
    return UNIT.sub(" ", text, count=1) if unit in (None, "seconds") else text


def _change(value: float | None) -> str:
    return report.change_text(value) or "–"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _dots(row: dict):
    return dots.svg(row["medians_old"], row["medians_new"])


def _parameters(params: dict) -> str:
    return ", ".join(str(value) for value in params.values())


def _breakable(name: str) -> markupsafe.Markup:
    """Let a line end inside a name where its words do."""
    return markupsafe.Markup(BREAK.sub(r"\1<wbr>", str(markupsafe.escape(name))))


def _moment(time: str) -> markupsafe.Markup:
    """Return an ISO 8601 time as a reader writes it."""
    moment = datetime.datetime.fromisoformat(time).astimezone(datetime.UTC)
    return markupsafe.Markup('<time datetime="{}">{:%Y-%m-%d %H:%M} UTC</time>').format(time, moment)
