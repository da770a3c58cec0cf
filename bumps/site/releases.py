"""asv's own site with releases as its time axis, in `releases/`: a history and results made for it, then asv."""

import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

from asv.benchmarks import Benchmarks
from asv.console import log
from asv.results import Results
from asv.runner import BenchmarkResult
from asv.util import UserError, load_json, write_json

from bumps.results import Archive
from bumps.site import grid, navigation, release_dates, release_history, release_results, vendor
from bumps.site.release_results import Converted, Point, Release

FOLDER = "releases"
PROCESS = "bumps.site.release_process"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def write(conf, archive: Archive, is_vendored: bool) -> None:
    """Write `releases/` into asv's html folder; nothing where no dated release has a figure. Raises UserError, OSError.

    `archive` is what is stored; `is_vendored`: the site holds the scripts of asv's pages.

    asv runs in a process of its own on a configuration without plugins, so our publisher is not called again.
    """
    known = release_dates.read()
    converted = release_results.convert(archive, set(known))
    for release in converted.undated:
        log.warning(
            f"releases/ leaves out {release.framework} {release.version}: its date is not known; "
            f"python -m env_matrix lock {release.framework}=={release.version}"
        )
    if not converted.points:
        return
    log.info("Generating asv's site over the releases")
    dates = {release: known[release.framework, release.version] for _, release in converted.points}
    html_dir = pathlib.Path(conf.html_dir).absolute() / FOLDER
    with tempfile.TemporaryDirectory(prefix="bumps-") as temporary:
        work = pathlib.Path(temporary)
        commits = release_history.write(work / "history", dates)
        write_results(work / "results", archive, converted, commits, release_history.times(dates))
        write_json(str(work / "asv.conf.json"), _config(conf))
        _publish(work, html_dir)
    grid.replace(html_dir)
    name_releases(html_dir, {commit: release for release, commit in commits.items()})
    if is_vendored:
        vendor.rewrite(html_dir, f"../{vendor.FOLDER}")
    navigation.add_tabs_over_time(conf.html_dir)


def _config(conf) -> dict:
    return {
        "version": 1,
        "project": f"{conf.project}, by release",
        "project_url": conf.project_url,
        "repo": "history",
        "dvcs": "git",
        "branches": [release_history.BRANCH],
        "results_dir": "results",
        "regressions_thresholds": conf.regressions_thresholds,
        "show_commit_url": f"../{navigation.RELEASE_LIST}#",
    }


def write_results(
    folder: pathlib.Path,
    archive: Archive,
    converted: Converted,
    commits: dict[Release, str],
    times: dict[Release, int],
) -> None:
    """Write the converted figures as asv's own results. No name out of them becomes part of a path here."""
    write_json(str(Benchmarks.get_benchmark_file_path(str(folder))), converted.benchmarks, Benchmarks.api_version)
    folders = {row.folder.name: row.folder for row in archive.rows}
    names = sorted({line.machine for line, _ in converted.points})
    machines = {name: f"machine{number}" for number, name in enumerate(names)}
    for name, alias in machines.items():
        write_json(str(folder / alias / "machine.json"), {**_facts(folders[name]), "machine": name, "version": 1})
    for number, ((line, release), point) in enumerate(converted.points.items()):
        results = Results(
            {"machine": machines[line.machine], "python": line.python},
            {},
            commits[release],
            times[release] * 1000,
            line.python,
            f"line{number}",
            dict(line.variables),
        )
        # The file's name is made by now, without a name from the results; asv's pages show these:
        results.params.update(dict(line.facts), machine=line.machine, **{release_results.FRAMEWORK: line.framework})
        _add(results, point, converted.benchmarks)
        results.save(str(folder))


def _facts(folder: pathlib.Path) -> dict:
    try:
        content = json.loads((folder / "machine.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in content.items()} if isinstance(content, dict) else {}


def _add(results: Results, point: Point, benchmarks: dict[str, dict]) -> None:
    for name, values in point.values.items():
        nothing = [None] * len(values)
        found = BenchmarkResult(result=values, samples=nothing, number=nothing, errcode=0, stderr="", profile=None)
        started = datetime.datetime.fromtimestamp(point.started.get(name, 0.0), datetime.UTC)
        results.add_result(benchmarks[name], found, started_at=started)


def _publish(work: pathlib.Path, html_dir: pathlib.Path) -> None:
    """Run `asv publish`; raises UserError with its last line when it fails."""
    command = [sys.executable, "-m", PROCESS, "publish", "--no-pull", "--html-dir", str(html_dir)]
    with subprocess.Popen(
        command,
        cwd=work,
        env={**release_history.environment(), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as asv:
        said = ""
        for line in asv.stdout:
            log.dot()
            said = line.strip() or said
    if asv.returncode != 0:
        raise UserError(f"asv could not publish the releases: {said}")


def name_releases(html_dir: pathlib.Path, releases: dict[str, Release]) -> None:
    """Put the releases' names where asv's data has commits: its pages then say `torch-2.13.0`, and so do their links.

    A change between neighbouring releases of one framework becomes a change at the later one: asv sees the other
    framework's releases between them.
    """
    path = html_dir / "index.json"
    index = load_json(str(path))
    by_revision = {int(revision): releases[commit] for revision, commit in index["revision_to_hash"].items()}
    index["revision_to_hash"] = {revision: release.name for revision, release in by_revision.items()}
    index["hash_length"] = max(len(release.name) for release in releases.values())
    write_json(str(path), index, compact=True)
    _write_changes(html_dir, by_revision)
    _write_feed(html_dir / "regressions.xml", releases)


def neighbours(by_revision: dict[int, Release]) -> set[tuple[int, int]]:
    """Return the pairs of revisions that are neighbouring releases of one framework on the time axis."""
    found, last = set(), {}
    for revision, release in sorted(by_revision.items()):
        if release.framework in last:
            found.add((last[release.framework], revision))
        last[release.framework] = revision
    return found


def _write_changes(html_dir: pathlib.Path, by_revision: dict[int, Release]) -> None:
    pairs = neighbours(by_revision)

    def single(old: int | None, new: int) -> int | None:
        return None if (old, new) in pairs else old

    path = html_dir / "regressions.json"
    content = load_json(str(path))
    for regression in content["regressions"]:
        regression[6] = [[single(old, new), new, *values] for old, new, *values in regression[6]]
    write_json(str(path), content, compact=True)
    for path in html_dir.glob("graphs/**/summary.json"):
        summary = load_json(str(path))
        for entry in summary:
            if entry["change_rev"]:
                old, new = entry["change_rev"]
                entry["change_rev"] = [single(old, new), new]
        write_json(str(path), summary, compact=True)


def _write_feed(path: pathlib.Path, releases: dict[str, Release]) -> None:
    text = path.read_text(encoding="utf-8")
    for commit, release in releases.items():
        text = text.replace(commit, release.name).replace(commit[:8], release.name)
    path.write_text(text, encoding="utf-8")
