"""The pages: written from archives of asv's own classes, hostile names included, and by a real `asv publish`."""

import json
import math
import re
import statistics
import subprocess
import sys
import types
import xml.etree.ElementTree as ElementTree

import archive as stored
import pytest
from scipy import stats

from bumps import controls
from bumps.results import Archive
from bumps.site import article, beside, bump_list, charts, dots, feed, method, navigation, pages

ASV_INDEX = '<html><ul><li id="nav-li-regressions"><a href="#/regressions">Regressions</a></li></ul></html>'
HOSTILE = """<script>alert("x")</script>'../../etc """ + "é" * 200


def write_pages(tmp_path, results):
    html = tmp_path / "html"
    html.mkdir()
    (html / "index.html").write_text(ASV_INDEX)
    conf = types.SimpleNamespace(
        html_dir=str(html), results_dir=str(results), project="JAX and PyTorch", regressions_thresholds={}
    )
    pages.write(conf, Archive(results), {})
    return html


def place_data(html, number):
    """Return what the script of a place hands to the page."""
    text = (html / "frameworks-data" / f"{number}.js").read_text()
    return json.loads(text.removeprefix(f"showPlace({number}, ").removesuffix(");"))


def chain(name="matmul_chain.MatmulChain.time_compiled_forward", frameworks=("'torch'", "'jax'"), size="'small'"):
    return stored.benchmark(
        name,
        params=[list(frameworks), ["'fp32'"], [size]],
        param_names=["framework", "precision", "size"],
        workload="MatmulChain",
        mode="compiled",
        clock="wall",
        **{"pass": "forward"},
    )


def write_results(folder, benchmark=None, machine=stored.MACHINE):
    benchmark = benchmark or chain()
    stored.write_suite(folder, [benchmark])
    fast, slow = [0.010, 0.0101, 0.0099, 0.01, 0.0102], [0.020, 0.0201, 0.0199, 0.02, 0.0202]
    for requirements, torch, jax in (
        ({"jax": "0.9.2"}, stored.NAN, stored.samples_of(fast)),
        ({"jax": "0.10.2"}, stored.NAN, stored.samples_of(slow)),
        ({"torch": "2.13.0"}, stored.samples_of(fast), stored.NAN),
    ):
        stored.write_row(folder, requirements, [(benchmark, [torch, jax])], machine=machine)


def test_pages_show_the_bump_the_comparison_and_the_method(tmp_path):
    write_results(tmp_path / "results")
    html = write_pages(tmp_path, tmp_path / "results")
    bumps = (html / "bumps.html").read_text()
    assert "jax 0.9.2 → 0.10.2" in bumps
    assert "×1.996" in bumps
    frameworks = (html / "frameworks.html").read_text()
    assert "66.7 ms" in frameworks
    assert '<option value="0">box, cpu</option>' in frameworks
    data = place_data(html, 0)
    assert data["releases"] == {"torch": ["2.13.0"], "jax": ["0.9.2", "0.10.2"]}
    assert data["steps"] == [["MatmulChain", "compiled", "forward", "fp32", "small", "", None]]
    method = (html / "method.html").read_text()
    assert "some CPU" in method


def test_json_and_feed_carry_the_same_bumps_under_stable_ids(tmp_path):
    write_results(tmp_path / "results")
    html = write_pages(tmp_path, tmp_path / "results")
    reports = json.loads((html / "bumps.json").read_text())
    assert [(each["framework"], each["old"], each["new"]) for each in reports] == [("jax", "0.9.2", "0.10.2")]
    entries = ElementTree.parse(html / "bumps.xml").findall("{http://www.w3.org/2005/Atom}entry")
    assert [entry.findtext("{http://www.w3.org/2005/Atom}id") for entry in entries] == [
        f"urn:bump:{feed.bump_id(reports[0])}"
    ]
    again = {**reports[0], "measured": "2030-01-01T00:00:00+00:00", "summary": {}}
    assert feed.bump_id(again) == feed.bump_id(reports[0])


def test_hostile_names_are_shown_as_text_and_reach_no_path(tmp_path):
    # As what someone mails in may look: the machine's folder is safe, the name inside it is not.
    machine = {**stored.MACHINE, "cpu": HOSTILE}
    write_results(tmp_path / "results", chain(size=repr(HOSTILE)), machine)
    html = write_pages(tmp_path, tmp_path / "results")
    for page, _ in navigation.PAGES:
        text = (html / page).read_text()
        assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in (html / "bumps.html").read_text()
    assert "&lt;script&gt;alert" in (html / "method.html").read_text()
    names = {path.name for path in html.rglob("*")}
    assert not any("script" in name or "etc" in name for name in names)


def test_older_bumps_are_scripts_of_their_own_and_cannot_break_out(tmp_path):
    folder = tmp_path / "results"
    benchmark = chain(size=repr(HOSTILE))
    stored.write_suite(folder, [benchmark])
    for number in range(8):
        samples = stored.samples_of([0.01] * 5)
        stored.write_row(folder, {"jax": f"0.{number}.0"}, [(benchmark, [stored.NAN, samples])])
    html = write_pages(tmp_path, folder)
    older = sorted((html / "bumps-older").iterdir())
    # Seven bumps, the newest in the page.
    assert len(older) == 6
    assert (html / "bumps.html").read_text().count('<tr id="') == 1
    content = older[0].read_text()
    table = json.loads(content.removeprefix("showOlderBump(").removesuffix(");"))
    assert "<script>alert" not in table
    assert table.count("<tr") == 2


def test_no_results_say_what_to_run(tmp_path):
    (tmp_path / "results").mkdir()
    html = write_pages(tmp_path, tmp_path / "results")
    assert "make bench" in (html / "frameworks.html").read_text()
    assert "python -m bumps run" in (html / "bumps.html").read_text()


def test_a_file_that_cannot_be_read_is_listed_and_the_site_still_written(tmp_path):
    folder = tmp_path / "results"
    write_results(folder)
    (folder / "box" / "01234567-broken.json").write_text("{")
    html = write_pages(tmp_path, folder)
    assert "01234567-broken.json" in (html / "method.html").read_text()
    assert "jax 0.9.2 → 0.10.2" in (html / "bumps.html").read_text()


def test_tabs_are_added_once_and_only_where_asv_has_its_own(tmp_path):
    index = tmp_path / "index.html"
    index.write_text(ASV_INDEX)
    navigation.add_tabs(str(tmp_path))
    once = index.read_text()
    navigation.add_tabs(str(tmp_path))
    assert index.read_text() == once
    assert all(once.count(f'href="{file}"') == 1 for file, _ in navigation.PAGES)
    index.write_text("<html></html>")
    navigation.add_tabs(str(tmp_path))
    assert index.read_text() == "<html></html>"


def test_no_page_asks_the_network_for_anything(tmp_path):
    write_results(tmp_path / "results")
    html = write_pages(tmp_path, tmp_path / "results")
    for page, _ in navigation.PAGES:
        assert not re.search(r'(src|href)="(https?:)?//', (html / page).read_text())


def test_published_figures_are_those_of_the_article():
    assert article.PUBLISHED[3] == ("2025", "jax", "0.7.1", (0.1204, 0.0743, 0.1892, 0.0663))
    elided = [(line.framework, line.release, cell) for line in article.published() for cell in marked(line)]
    assert elided == [
        (*release, ("compiled", "grad")) for release in (("jax", "0.4.24"), ("torch", "2.8.0"), ("jax", "0.7.1"))
    ]


def marked(line):
    return [cell for cell, flags in zip(article.CELLS, line.flags, strict=True) if "elided" in flags]


def test_article_table_has_the_articles_releases_and_the_newest(tmp_path):
    benchmark = chain("article_chain.ArticleChain.time_compiled_forward") | {"workload": "ArticleChain"}
    stored.write_suite(tmp_path, [benchmark])
    for release in ("0.4.24", "0.5.3", "0.7.1", "0.9.2", "0.10.2"):
        stored.write_row(tmp_path, {"jax": release}, [(benchmark, [stored.NAN, stored.samples_of([0.01] * 5)])])
    setting, lines = article.measured(Archive(tmp_path), "box", lambda *args: ())
    assert setting == ("fp32", "small")
    assert [line.release for line in lines] == ["0.4.24", "0.7.1", "0.10.2"]
    assert lines[0].seconds == (None, pytest.approx(0.01), None, None)


def write_sessions(folder, benchmark, values):
    """Write one row of both frameworks; `values` are [torch, jax] of the files of its commits, oldest first."""
    stored.write_suite(folder, [benchmark])
    for number, combinations in enumerate(values):
        stored.write_row(
            folder,
            {"torch": "2.13.0", "jax": "0.10.2"},
            [(benchmark, combinations)],
            commit=f"{number}" * 40,
            started=stored.EPOCH + 10 * number,
        )


def test_both_tables_of_the_page_have_one_time_for_a_step(tmp_path):
    benchmark = chain("article_chain.ArticleChain.time_compiled_forward") | {"workload": "ArticleChain"}
    stored.write_suite(tmp_path, [benchmark])
    for name, medians in (({}, [0.01, 0.03]), ({"REPLICA": "control"}, [0.02, 0.04, 0.02])):
        values = [(benchmark, [stored.NAN, stored.samples_of(medians)])]
        stored.write_row(tmp_path, {"jax": "0.9.2"}, values, env_vars={"BENCH_ACCELERATOR": "cpu", **name})
    archive = Archive(tmp_path)
    _, (line,) = article.measured(archive, "box", lambda *args: ())
    (place,) = beside.places(archive)
    (step,) = place.measured["jax"]["0.9.2"].values()
    assert line.seconds[article.CELLS.index(("compiled", "forward"))] == pytest.approx(math.exp(step.estimate.centre))


@pytest.mark.parametrize("order", [1, -1])
def test_article_table_has_both_frameworks_of_a_row_whose_sessions_measured_one_each(tmp_path, order):
    benchmark = chain("article_chain.ArticleChain.time_compiled_forward") | {"workload": "ArticleChain"}
    torch, jax = (stored.samples_of([seconds] * 5) for seconds in (0.01, 0.02))
    write_sessions(tmp_path, benchmark, [[torch, stored.NAN], [stored.NAN, jax]][::order])
    _, lines = article.measured(Archive(tmp_path), "box", lambda *args: ())
    assert [(line.framework, line.release, line.seconds[1]) for line in lines] == [
        ("torch", "2.13.0", pytest.approx(0.01)),
        ("jax", "0.10.2", pytest.approx(0.02)),
    ]


def test_article_table_has_the_time_of_the_newest_version_that_ran_with_its_flags(tmp_path):
    benchmark = chain("article_chain.ArticleChain.time_compiled_forward") | {"workload": "ArticleChain"}
    values = [[stored.samples_of([seconds] * 5), stored.NAN] for seconds in (0.01, 0.02)]
    write_sessions(tmp_path, benchmark, [*values, [None, stored.NAN]])
    _, (line,) = article.measured(Archive(tmp_path), "box", lambda *args: [f"of version {args[-1]}"])
    # Of all commits with that source together, as beside any other release.
    assert line.seconds == (None, pytest.approx(math.sqrt(0.01 * 0.02)), None, None)
    assert line.flags == ((), ("of version 1",), (), ())


def test_ratio_and_interval_are_welchs():
    torch, jax = [1.0, 1.02, 0.99, 1.01, 1.0], [1.5, 1.6, 1.45, 1.55, 1.52]
    found = beside.compare(
        *(beside.estimates({("a", (), "1"): medians})["a", (), "1"] for medians in (torch, jax)),
    )
    # Degrees of freedom are cut to a whole number: 4 of the 4.63 here.
    logs = [[math.log(value) for value in side] for side in (torch, jax)]
    welch = stats.ttest_ind(*logs, equal_var=False)
    assert int(welch.df) == 4
    shift = statistics.mean(logs[1]) - statistics.mean(logs[0])
    half = stats.t.isf(0.001, 4) * abs(shift / welch.statistic)
    ratio = math.exp(shift)
    assert found == pytest.approx((ratio, ratio * math.exp(-half), ratio * math.exp(half)))


def test_one_process_has_no_interval_and_figures_that_are_not_positive_no_estimate():
    found = beside.estimates({("a", (), "1"): [2.0], ("b", (), "1"): [2.0, 0.0], ("c", (), "1"): []})
    assert list(found) == [("a", (), "1")]
    assert beside.compare(*2 * [found["a", (), "1"]]) == (1.0, None, None)


def test_quantiles_err_on_the_wide_side():
    assert beside.quantile(4.9) == beside.quantile(4.0) == pytest.approx(7.173, abs=1e-3)
    assert beside.quantile(0.5) == beside.quantile(1.0)
    assert beside.quantile(1e9) > stats.norm.isf(0.001)


def test_any_release_can_be_chosen_and_of_two_rows_the_newest_is_shown(tmp_path):
    benchmark = chain()
    stored.write_suite(tmp_path, [benchmark])
    for python, seconds, started in (("3.11", 0.01, 0), ("3.12", 0.02, 1000)):
        stored.write_row(
            tmp_path,
            {"jax": "0.9.2"},
            [(benchmark, [stored.NAN, stored.samples_of([seconds] * 5)])],
            python=python,
            started=stored.EPOCH + started,
        )
    (place,) = beside.places(Archive(tmp_path))
    (measured,) = place.measured["jax"]["0.9.2"].values()
    assert math.exp(measured.estimate.centre) == pytest.approx(0.02)


def test_the_machine_that_was_measured_last_comes_first(tmp_path):
    benchmark = chain()
    stored.write_suite(tmp_path, [benchmark])
    for position, name in enumerate(("b", "c", "a")):
        machine = {**stored.MACHINE, "machine": name}
        values = [(benchmark, [stored.NAN, stored.samples_of([0.01] * 5)])]
        stored.write_row(tmp_path, {"jax": "0.9.2"}, values, machine=machine, started=stored.EPOCH + 1000 * position)
    assert [place.machine for place in beside.places(Archive(tmp_path))] == ["a", "c", "b"]


def test_the_processes_of_a_control_count_with_those_of_their_row(tmp_path):
    benchmark = chain()
    stored.write_suite(tmp_path, [benchmark])
    rows = (("0.9.2", {}, [0.01]), ("0.9.2", {"REPLICA": "control"}, [0.02, 0.04]), ("0.10.2", {}, [0.05]))
    for release, name, medians in rows:
        values = [(benchmark, [stored.NAN, stored.samples_of(medians)])]
        stored.write_row(tmp_path, {"jax": release}, values, env_vars={"BENCH_ACCELERATOR": "cpu", **name})
    (place,) = beside.places(Archive(tmp_path))
    pooled, alone = (next(iter(measured.values())).estimate for measured in place.measured["jax"].values())
    assert math.exp(pooled.centre) == pytest.approx(0.02)
    assert (pooled.freedom, alone.freedom) == (2, 0)


def test_newer_row_without_figures_of_a_framework_does_not_hide_an_older_one_with_them(tmp_path):
    benchmark = chain()
    stored.write_suite(tmp_path, [benchmark])
    samples = stored.samples_of([0.01] * 5)
    for number, (jax, values) in enumerate((("0.9.2", [samples, samples]), ("0.10.2", [stored.NAN, samples]))):
        requirements = {"torch": "2.13.0", "jax": jax}
        stored.write_row(tmp_path, requirements, [(benchmark, values)], started=stored.EPOCH + 10 * number)
    (place,) = beside.places(Archive(tmp_path))
    assert {framework: list(found) for framework, found in place.measured.items()} == {
        "torch": ["2.13.0"],
        "jax": ["0.9.2", "0.10.2"],
    }


def set_medians(archive, by_version):
    """Give figures the medians of their version: without a journal, only those of benchmarks.json's are known."""
    for row in archive.rows:
        for figures in row.figures.values():
            for figure in figures:
                if figure.value is not None:
                    figure.medians = by_version[figure.version]


def test_figures_of_two_sources_of_a_benchmark_are_not_mixed(tmp_path):
    stored.write_suite(tmp_path, [chain()])
    for number, (version, commit) in enumerate((("1", "1" * 40), ("2", "2" * 40), ("2", "3" * 40))):
        benchmark = {**chain(), "version": version}
        stored.write_row(
            tmp_path,
            {"jax": "0.9.2"},
            [(benchmark, [stored.NAN, stored.samples_of([0.01] * 5)])],
            commit=commit,
            started=stored.EPOCH + number,
        )
    archive = Archive(tmp_path)
    set_medians(archive, {"1": (0.01, 0.02, 0.03), "2": (0.01, 0.02, 0.03)})
    data = beside.as_data(archive, beside.places(archive)[0], {})
    assert len(data["steps"]) == 2
    # The newest source comes first, and both commits that have it count: 6 processes.
    newest, older = sorted(data["figures"]["jax"][0])
    assert (newest[3], older[3]) == (5, 2)


def test_work_and_peak_come_from_the_ceiling_audit(tmp_path):
    benchmark = chain()
    stored.write_suite(tmp_path, [benchmark])
    _, env_name = stored.write_row(
        tmp_path, {"torch": "2.13.0"}, [(benchmark, [stored.samples_of([0.01] * 5), stored.NAN])]
    )
    stored.write_sidecar(
        tmp_path,
        env_name,
        [
            {
                "record": "audit",
                "benchmark": benchmark["name"],
                "params": ["torch", "fp32", "small"],
                "version": "1",
                "audit": "ceiling",
                "outcome": "impossible",
                "detail": {"flops_analytic": 5e9, "peak_flops_per_second": 4e11},
            }
        ],
    )
    archive = Archive(tmp_path)
    data = beside.as_data(archive, beside.places(archive)[0], {("torch", "2.13.0"): "2026-07-01"})
    assert data["steps"][0][-1] == 5e9
    assert data["figures"]["torch"][0][0][-2:] == [4e11, [0]]
    assert data["flags"] == ["impossible"]
    assert data["dates"] == {"torch": ["2026-07-01"], "jax": []}


def report(framework, new, measured, rows, machine="box"):
    return {
        "framework": framework,
        "old": "0",
        "new": new,
        "machine": machine,
        "python": "3.11",
        "accelerator": "cpu",
        "measured": measured,
        "benchmarks": [{}] * rows,
    }


def test_newest_bump_of_each_framework_comes_first_and_only_so_much_at_once():
    newest = report("torch", "2.10.0", "2026-01-01", 1500)
    older = report("torch", "2.9.0", "2026-03-01", 10)
    jax = report("jax", "0.9.0", "2026-02-01", 900)
    other = report("jax", "0.9.0", "2025-02-01", 900, "other box")
    assert bump_list.arrange([older, newest, other, jax]) == ([jax, newest], [other, older])


def test_ids_of_rows_stay_when_others_come_before_them(tmp_path):
    write_results(tmp_path / "a")
    html = write_pages(tmp_path, tmp_path / "a")
    (bump,) = json.loads((html / "bumps.json").read_text())
    row = bump["benchmarks"][0]
    identity = feed.row_id(bump, row)
    assert f'<tr id="{identity}"' in (html / "bumps.html").read_text()
    assert feed.row_id(bump, {**row, "verdict": "same", "ratio": 1.0}) == identity
    assert feed.row_id(bump, {**row, "params": {**row["params"], "size": "large"}}) != identity


def test_method_counts_false_alarms_of_controls_and_what_they_detect(tmp_path):
    quiet, moved = chain("a.A.time_a"), chain("b.B.time_b")
    stored.write_suite(tmp_path, [quiet, moved])
    steady = [0.01, 0.0101, 0.0099, 0.01, 0.0102]
    for replica, seconds in ((None, steady), ("control", [2 * value for value in steady])):
        variables = {"BENCH_ACCELERATOR": "cpu"} | ({"REPLICA": replica} if replica else {})
        figures = [
            (each, [stored.NAN, stored.samples_of(medians)]) for each, medians in ((quiet, steady), (moved, seconds))
        ]
        stored.write_row(tmp_path, {"jax": "0.9.2"}, figures, env_vars=variables)
    (machine,) = method.machines(Archive(tmp_path), types.SimpleNamespace(regressions_thresholds={}))
    assert (machine.judged, machine.alarms) == (2, 1)
    # 1 of 2: the 95 % bound of Clopper and Pearson solves p² = 0.95.
    assert machine.bound == pytest.approx(math.sqrt(0.95))
    assert [(each.benchmark, each.alarms) for each in machine.controls] == [("a.A.time_a", 0), ("b.B.time_b", 1)]
    assert machine.controls[0].spread == pytest.approx(0.0114, abs=2e-4)
    assert 0.05 < machine.controls[0].median < 0.1


def test_newer_source_measured_once_does_not_hide_the_controls_of_the_one_before(tmp_path):
    stored.write_suite(tmp_path, [chain()])
    for version, commit, processes, started in (("1", "1" * 40, 5, 0), ("2", "2" * 40, 1, 1000)):
        for replica in (None, "control"):
            variables = {"BENCH_ACCELERATOR": "cpu"} | ({"REPLICA": replica} if replica else {})
            stored.write_row(
                tmp_path,
                {"jax": "0.9.2"},
                [({**chain(), "version": version}, [stored.NAN, stored.samples_of([0.01] * processes)])],
                env_vars=variables,
                commit=commit,
                started=stored.EPOCH + started,
            )
    archive = Archive(tmp_path)
    set_medians(archive, {"1": (0.01, 0.0101, 0.0099), "2": (0.01,)})
    (control,) = controls.stored(archive)
    assert control.row.medians == (0.01, 0.0101, 0.0099)


def test_failures_and_exclusions_are_on_the_method_page(tmp_path):
    benchmark = chain()
    stored.write_suite(tmp_path / "results", [benchmark])
    stored.write_row(tmp_path / "results", {"jax": "0.9.2"}, [(benchmark, [stored.NAN, None])])
    html = write_pages(tmp_path, tmp_path / "results")
    assert "asv keeps no reason" in (html / "method.html").read_text()


@pytest.mark.parametrize(("newest", "failed"), [(stored.NAN, True), (stored.samples_of([0.01] * 5), False)])
def test_failure_is_on_the_method_page_until_the_benchmark_runs_again(tmp_path, newest, failed):
    write_sessions(tmp_path, chain(), [[stored.NAN, None], [stored.samples_of([0.01] * 5), newest]])
    (row,) = method.rows(Archive(tmp_path))
    assert [name for name, _ in row["failures"]] == [f"{chain()['name']}('jax', 'fp32', 'small')"] * failed


def test_site_without_plotly_has_no_charts_and_says_so(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(charts.importlib.util, "find_spec", lambda name: None)
    write_results(tmp_path / "results")
    html = write_pages(tmp_path, tmp_path / "results")
    assert not (html / "bumps-static" / "plotly.min.js").exists()
    assert "chart.js" not in (html / "frameworks.html").read_text()
    assert 'class="forest"' not in (html / "bumps.html").read_text()


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0693, "seconds", "69.3 ms"),
        (2e-4, None, "200 μs"),
        (None, "seconds", "–"),
        # The median of a number of kernels.
        (59.0, "kernels", "59"),
        (59.5, "kernels", "59.5"),
        (1500.0, "bytes", "1.5k"),
    ],
)
def test_figures_are_written_with_their_unit(value, unit, text):
    assert pages._seconds(value, unit) == text


def test_names_may_break_where_their_words_end():
    assert pages._breakable("a.B.time_<i>_") == "a.<wbr>B.<wbr>time_<wbr>&lt;i&gt;_"


def test_times_are_written_in_utc():
    written = '<time datetime="2026-12-01T16:15:01+02:00">2026-12-01 14:15 UTC</time>'
    assert pages._moment("2026-12-01T16:15:01+02:00") == written


def test_dots_lie_on_one_scale():
    text = dots.svg([1.0, 2.0], [3.0])
    assert re.findall(r"M(\d+) (\d+)h0", text) == [("8", "9"), ("80", "9"), ("152", "21")]
    assert dots.svg([], []) == ""


@pytest.mark.end_to_end
def test_asv_publish_writes_our_pages_beside_its_own(tmp_path):
    write_results(tmp_path / "results")
    root = pages.FOLDER.parent.parent
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=tmp_path, check=True)
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "-q", "--allow-empty", "-m", "a"],
        cwd=tmp_path,
        check=True,
    )
    (tmp_path / "bumps").symlink_to(root / "bumps")
    (tmp_path / "asv.conf.json").write_text(
        '{"version": 1, "project": "p", "repo": ".", "branches": ["HEAD"], "environment_type": "virtualenv",'
        ' "plugins": [".bumps.publisher"], "html_dir": "html", "results_dir": "results"}'
    )
    subprocess.run([sys.executable, "-m", "asv", "publish", "--no-pull"], cwd=tmp_path, check=True, capture_output=True)
    assert "bumps.html" in (tmp_path / "html" / "index.html").read_text()
    assert "jax 0.9.2 → 0.10.2" in (tmp_path / "html" / "bumps.html").read_text()
