"""The site over releases: what becomes of stored results, of their names and of asv's data about commits."""

import datetime
import json
import math
import subprocess
import types

import archive as stored
import pytest
from asv.util import UserError
from packaging.version import Version

from bumps.results import Archive
from bumps.site import grid, release_dates, release_history, release_list, release_results, releases
from bumps.site.release_results import Release

OLD, NEW, TORCH = (
    Release("jax", Version("0.9.2")),
    Release("jax", Version("0.10.2")),
    Release("torch", Version("2.13.0")),
)
DATES = {
    OLD: datetime.date(2026, 3, 18),
    NEW: datetime.date(2026, 5, 20),
    TORCH: datetime.date(2026, 5, 20),
}
DATED = {(release.framework, release.version) for release in DATES}
CHAIN = stored.benchmark(
    "chain.Chain.time_forward",
    params=[["'fp32'", "'bf16'"], ["'torch'", "'jax'"], ["'small'"]],
    param_names=["precision", "framework", "size"],
    code="a < b",
)
NAN = math.nan


def convert(folder):
    return release_results.convert(Archive(folder), DATED)


def figures(converted):
    """Return (framework, release) → values of CHAIN; every line must be alone in its framework."""
    return {release.name: point.values[CHAIN["name"]] for (_, release), point in converted.points.items()}


def row(folder, requirements, seconds, **options):
    """`seconds` are those of CHAIN's four combinations, NaN where nothing was measured, None where it failed."""
    combinations = [stored.samples_of([each] * 3) if each and each == each else each for each in seconds]
    return stored.write_row(folder, requirements, [(CHAIN, combinations)], **options)


def test_each_framework_of_a_benchmark_becomes_a_line_of_its_own(tmp_path):
    stored.write_suite(tmp_path, [CHAIN])
    row(tmp_path, {"jax": "0.9.2"}, [NAN, 2.0, NAN, 4.0])
    row(tmp_path, {"torch": "2.13.0"}, [1.0, NAN, 3.0, NAN])
    converted = convert(tmp_path)
    assert figures(converted) == {"jax-0.9.2": [2.0, 4.0], "torch-2.13.0": [1.0, 3.0]}
    changed = converted.benchmarks[CHAIN["name"]]
    assert (changed["params"], changed["param_names"]) == ([["'fp32'", "'bf16'"], ["'small'"]], ["precision", "size"])
    assert changed["code"] == "a &lt; b"
    first, second = ({**vars(line), "framework": None} for line, _ in converted.points)
    assert first == second


def test_row_with_both_frameworks_is_a_release_of_each(tmp_path):
    stored.write_suite(tmp_path, [CHAIN])
    row(tmp_path, {"torch": "2.13.0", "jax": "0.9.2"}, [1.0, 2.0, NAN, NAN])
    found = figures(convert(tmp_path))
    assert found["torch-2.13.0"][0] == 1.0
    assert found["jax-0.9.2"][0] == 2.0


def test_control_and_swapped_packages_do_not_touch_the_line(tmp_path):
    stored.write_suite(tmp_path, [CHAIN])
    row(tmp_path, {"jax": "0.9.2"}, [NAN, 2.0, NAN, 4.0])
    for variable in ("REPLICA", "BENCH_OVERRIDE"):
        variables = {"BENCH_ACCELERATOR": "cpu", variable: "control"}
        row(tmp_path, {"jax": "0.9.2"}, [NAN, 99.0, NAN, 99.0], env_vars=variables, started=stored.EPOCH + 99)
    assert figures(convert(tmp_path)) == {"jax-0.9.2": [2.0, 4.0]}


def test_environment_of_this_project_counts_more_than_an_interpreter_of_others(tmp_path):
    stored.write_suite(tmp_path, [CHAIN])
    own = {"BENCH_ACCELERATOR": "cpu"}
    others = {**own, "BENCH_INTERPRETER": "new-1234"}
    row(tmp_path, {"jax": "0.9.2"}, [NAN, 2.0, NAN, NAN], env_vars=own)
    row(tmp_path, {"jax": "0.9.2"}, [NAN, 9.0, NAN, 9.0], env_vars=others, started=stored.EPOCH + 99)
    assert figures(convert(tmp_path)) == {"jax-0.9.2": [2.0, 9.0]}


def test_newest_figure_of_the_benchmarks_version_counts(tmp_path):
    stored.write_suite(tmp_path, [CHAIN])
    row(tmp_path, {"jax": "0.9.2"}, [NAN, 1.0, NAN, 1.0], commit="a" * 40, started=stored.EPOCH)
    row(tmp_path, {"jax": "0.9.2"}, [NAN, 2.0, NAN, 2.0], commit="b" * 40, started=stored.EPOCH + 10)
    older_source = {**CHAIN, "version": "0"}
    combinations = [NAN, stored.samples_of([7.0] * 3), NAN, NAN]
    stored.write_row(
        tmp_path, {"jax": "0.9.2"}, [(older_source, combinations)], commit="c" * 40, started=stored.EPOCH + 20
    )
    assert figures(convert(tmp_path)) == {"jax-0.9.2": [2.0, 2.0]}


@pytest.mark.parametrize("sessions", [("torch", "jax"), ("jax", "torch")])
def test_file_of_a_session_that_measured_one_framework_does_not_hide_the_other(tmp_path, sessions):
    stored.write_suite(tmp_path, [CHAIN])
    seconds = {"torch": [1.0, NAN, 3.0, NAN], "jax": [NAN, 2.0, NAN, 4.0]}
    for number, framework in enumerate(sessions):
        row(
            tmp_path,
            {"torch": "2.13.0", "jax": "0.9.2"},
            seconds[framework],
            commit=f"{number}" * 40,
            started=stored.EPOCH + 10 * number,
        )
    assert figures(convert(tmp_path)) == {"torch-2.13.0": [1.0, 3.0], "jax-0.9.2": [2.0, 4.0]}


@pytest.mark.parametrize(("old", "new", "found"), [(1.0, None, None), (None, 1.0, 1.0), (None, NAN, None)])
def test_newest_figure_is_a_value_or_a_failure(tmp_path, old, new, found):
    stored.write_suite(tmp_path, [CHAIN])
    for number, seconds in enumerate((old, new)):
        row(
            tmp_path,
            {"jax": "0.9.2"},
            [NAN, seconds, NAN, 4.0],
            commit=f"{number}" * 40,
            started=stored.EPOCH + 10 * number,
        )
    assert figures(convert(tmp_path)) == {"jax-0.9.2": [found, 4.0]}


def test_failure_is_told_from_what_was_not_measured(tmp_path):
    stored.write_suite(tmp_path, [CHAIN])
    row(tmp_path, {"jax": "0.9.2"}, [NAN, None, NAN, NAN])
    row(tmp_path, {"jax": "0.10.2"}, [NAN, NAN, NAN, 1.0])
    found = figures(convert(tmp_path))
    failed, measured = found["jax-0.9.2"], found["jax-0.10.2"]
    assert (failed[0], measured[1]) == (None, 1.0)
    assert math.isnan(failed[1])
    assert math.isnan(measured[0])


def test_values_of_parameters_that_no_release_has_are_not_shown(tmp_path):
    suite = {
        **CHAIN,
        "params": [["'fp64'", "'fp32'", "'bf16'"], ["'torch'", "'jax'"], ["'tiny'", "'small'", "'large'"]],
    }
    stored.write_suite(tmp_path, [suite])
    for version, measured in (("0.9.2", {10: 1.0, 17: 2.0}), ("0.10.2", {16: None})):
        values = [measured.get(number, NAN) for number in range(18)]
        values = [stored.samples_of([each] * 3) if each and each == each else each for each in values]
        stored.write_row(tmp_path, {"jax": version}, [(suite, values)])
    converted = convert(tmp_path)
    # Combinations 10, 16 and 17 of jax are fp32 small, bf16 small (failed) and bf16 large.
    assert converted.benchmarks[CHAIN["name"]]["params"] == [["'fp32'", "'bf16'"], ["'small'", "'large'"]]
    assert figures(converted) == {
        "jax-0.9.2": pytest.approx([1.0, NAN, NAN, 2.0], nan_ok=True),
        "jax-0.10.2": pytest.approx([NAN, NAN, None, NAN], nan_ok=True),
    }


def test_other_hardware_under_one_name_is_another_line(tmp_path):
    stored.write_suite(tmp_path, [CHAIN])
    for number, cpu in enumerate(("one", "two")):
        machine = {**stored.MACHINE, "cpu": cpu}
        row(tmp_path, {"jax": "0.9.2"}, [NAN, 1.0, NAN, 1.0], machine=machine, commit=f"{number}" * 40)
    assert len({line for line, _ in convert(tmp_path).points}) == 2


def test_release_without_a_date_is_named(tmp_path):
    stored.write_suite(tmp_path, [CHAIN])
    row(tmp_path, {"jax": "0.99.0"}, [NAN, 1.0, NAN, 1.0])
    converted = convert(tmp_path)
    assert converted.points == {}
    assert [release.name for release in converted.undated] == ["jax-0.99.0"]


def test_dates_are_those_of_the_constraints_headers(tmp_path):
    (tmp_path / "torch-2.8.0.txt").write_text("# release: torch 2.8.0\n# released: 2025-08-06\nnumpy==2.3.2\n")
    (tmp_path / "notes.txt").write_text("# released: soon\n")
    (tmp_path / "jax-x.txt").write_text("# release: jax x\n# released: 2025-08-06\n")
    assert release_dates.read(tmp_path) == {("torch", Version("2.8.0")): datetime.date(2025, 8, 6)}
    assert release_dates.read()["torch", Version("2.8.0")] == datetime.date(2025, 8, 6)


def test_every_release_is_one_tagged_commit_at_its_date(tmp_path):
    commits = release_history.write(tmp_path / "one", DATES)
    log = subprocess.run(
        ["git", "-C", str(tmp_path / "one"), "log", "--reverse", "--format=%H %ct %D", release_history.BRANCH],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert [line.split()[0] for line in log] == [commits[OLD], commits[TORCH], commits[NEW]]
    # 18 March and 20 May 2026 at noon, UTC.
    assert [int(line.split()[1]) for line in log] == [1773835200, 1779278400, 1779278460]
    assert [line.split("tag: ")[1].split(",")[0] for line in log] == ["jax-0.9.2", "torch-2.13.0", "jax-0.10.2"]
    assert release_history.write(tmp_path / "two", DATES) == commits


def test_settings_of_whoever_publishes_have_no_say(tmp_path, monkeypatch):
    (tmp_path / "gitconfig").write_text("[commit]\n\tgpgsign = true\n[init]\n\tdefaultObjectFormat = sha256\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert len(release_history.write(tmp_path / "history", DATES)[OLD]) == 40
    assert not (tmp_path / "elsewhere").exists()


def test_git_that_fails_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(release_history, "BRANCH", "no..name")
    with pytest.raises(UserError, match=r"^git init failed: .*no\.\.name"):
        release_history.write(tmp_path / "history", DATES)


def test_neighbours_are_releases_of_one_framework():
    by_revision = {0: OLD, 1: TORCH, 2: NEW, 5: Release("torch", Version("2.14.0"))}
    assert releases.neighbours(by_revision) == {(0, 2), (1, 5)}


def test_no_name_from_results_becomes_a_path(tmp_path):
    results = tmp_path / "results"
    stored.write_suite(results, [CHAIN])
    variables = {"BENCH_ACCELERATOR": "../../../escaped"}
    path, _ = row(results, {"jax": "0.9.2"}, [NAN, 1.0, NAN, 1.0])
    content = json.loads(path.read_text())
    content["env_vars"] = variables
    path.write_text(json.dumps(content))
    archive = Archive(results)
    converted = release_results.convert(archive, DATED)
    assert dict(next(iter(converted.points))[0].variables) == variables
    releases.write_results(tmp_path / "a" / "b" / "c", archive, converted, {OLD: "1" * 40}, {OLD: 1_700_000_000})
    names = {
        str(each.relative_to(tmp_path / "a" / "b" / "c")) for each in (tmp_path / "a").rglob("*") if each.is_file()
    }
    assert names == {"benchmarks.json", "machine0/machine.json", "machine0/11111111-line0.json"}
    assert not (tmp_path / "escaped").exists()


def test_list_names_where_each_release_was_measured(tmp_path):
    stored.write_suite(tmp_path, [CHAIN])
    row(tmp_path, {"jax": "0.9.2"}, [NAN, 1.0, NAN, 1.0])
    row(tmp_path, {"torch": "2.13.0"}, [1.0, NAN, 1.0, NAN])
    dates = {(release.framework, release.version): date for release, date in DATES.items()}
    found = release_list.entries(Archive(tmp_path), dates)
    assert [(each.name, each.released.isoformat(), each.rows) for each in found] == [
        ("torch-2.13.0", "2026-05-20", ("box, Python 3.11, cpu",)),
        ("jax-0.9.2", "2026-03-18", ("box, Python 3.11, cpu",)),
    ]


@pytest.mark.end_to_end
def test_asv_publishes_both_frameworks_over_their_releases(tmp_path, monkeypatch):
    results = tmp_path / "results"
    stored.write_suite(results, [CHAIN])
    slower = {"0.9.2": 1.0, "0.10.2": 2.0}
    for version, seconds in slower.items():
        row(results, {"jax": version}, [NAN, seconds, NAN, seconds])
    row(results, {"torch": "2.13.0"}, [1.5, NAN, 1.5, NAN])
    site = published(tmp_path, monkeypatch, results)
    index = json.loads((site / "index.json").read_text())
    assert index["revision_to_hash"] == {"0": "jax-0.9.2", "1": "torch-2.13.0", "2": "jax-0.10.2"}
    assert index["tags"] == {"jax-0.9.2": 0, "torch-2.13.0": 1, "jax-0.10.2": 2}
    assert index["params"]["framework"] == ["jax", "torch"]
    graphs = {path.parent.parent.parent.parent.name: path for path in site.glob("graphs/**/chain*.json")}
    lines = [json.loads(path.read_text()) for path in graphs.values() if "summary" not in str(path)]
    assert [[0, [1.0, 1.0]], [2, [2.0, 2.0]]] in lines
    assert [[1, [1.5, 1.5]]] in lines
    # A change between neighbours is one at the later release, though another framework's lies between.
    regressions = json.loads((site / "regressions.json").read_text())["regressions"]
    assert [each[6] for each in regressions] == [[[None, 2, 1.0, 2.0]]] * 2
    summaries = [json.loads(path.read_text()) for path in site.glob("graphs/**/summary.json")]
    assert sorted(entry["change_rev"] or [] for summary in summaries for entry in summary) == [
        [],
        [],
        [None, 2],
        [None, 2],
    ]
    assert "jax-0.10.2" in (site / "regressions.xml").read_text()
    page = (site / "index.html").read_text()
    assert page.count('href="../bumps.html"') == 1


def published(tmp_path, monkeypatch, results, thresholds=None):
    """Publish the site over releases and return its folder."""
    conf = types.SimpleNamespace(
        html_dir=str(tmp_path / "html"),
        results_dir=str(results),
        project="p",
        project_url="#",
        regressions_thresholds=thresholds or {},
    )
    dates = {(release.framework, release.version): date for release, date in DATES.items()}
    monkeypatch.setattr(release_dates, "read", lambda: dates)
    releases.write(conf, Archive(conf.results_dir), is_vendored=False)
    return tmp_path / "html" / "releases"


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("thresholds", "found"),
    [
        ({}, {"'fp32'", "'bf16'"}),
        # As it matches on bumps.html: the framework stands between the precision and the size.
        ({r"chain.*\('fp32', 'jax', 'small'\)$": 2.0}, {"'bf16'"}),
        ({r".*'torch'": 2.0}, {"'fp32'", "'bf16'"}),
        ({r".*'jax'": 2.0}, set()),
    ],
)
def test_margin_that_names_the_framework_holds_over_releases(tmp_path, monkeypatch, thresholds, found):
    results = tmp_path / "results"
    stored.write_suite(results, [CHAIN])
    for version, seconds in (("0.9.2", 1.0), ("0.10.2", 2.0)):
        row(results, {"jax": version}, [NAN, seconds, NAN, seconds])
    site = published(tmp_path, monkeypatch, results, thresholds)
    regressions = json.loads((site / "regressions.json").read_text())["regressions"]
    assert {each[0] for each in regressions} == {f"{CHAIN['name']}({precision}, 'small')" for precision in found}


@pytest.mark.end_to_end
def test_margin_that_is_none_is_one_line(tmp_path, monkeypatch):
    results = tmp_path / "results"
    stored.write_suite(results, [CHAIN])
    row(results, {"jax": "0.9.2"}, [NAN, 1.0, NAN, 1.0])
    with pytest.raises(UserError, match=r"could not publish the releases: .*'chain\(' is no regular expression"):
        published(tmp_path, monkeypatch, results, {"chain(": 0.1})


@pytest.mark.end_to_end
def test_long_names_do_not_end_the_site_over_releases(tmp_path, monkeypatch):
    results = tmp_path / "results"
    long = {**CHAIN, "name": "chain." + "N" * 300}
    stored.write_suite(results, [CHAIN, long])
    machine = {**stored.MACHINE, "cpu": "п" * 300}
    samples = stored.samples_of([1.0] * 3)
    figures = [(each, [NAN, samples, NAN, samples]) for each in (CHAIN, long)]
    variables = {"BENCH_ACCELERATOR": "cpu", "V" * 300: "y" * 300}
    stored.write_row(results, {"jax": "0.9.2"}, figures, machine=machine, env_vars=variables)
    site = published(tmp_path, monkeypatch, results)
    index = json.loads((site / "index.json").read_text())
    assert list(index["benchmarks"]) == [CHAIN["name"]]
    assert [value[:50] for value in index["params"]["cpu"]] == ["п" * 50]
    assert len(list(site.glob("graphs/**/chain.Chain*.json"))) == 2


def test_line_of_the_grid_does_not_jump_between_the_frameworks():
    torch, jax = {0: 1.0, 2: 1.0, 4: 2.0}, {1: 10.0, 3: 10.0, 5: 5.0}
    line = grid.index([torch, jax])
    assert [revision for revision, _ in line] == [0, 1, 2, 3, 4, 5]
    # Twice as slow in one of two is the square root of two; what follows takes it back.
    assert [value for _, value in line] == pytest.approx([1, 1, 1, 1, 2**0.5, 1])
    assert grid.index([]) == []
