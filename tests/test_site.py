"""The pages: written from archives of asv's own classes, hostile names included, and by a real `asv publish`."""

import json
import re
import subprocess
import sys
import types
import xml.etree.ElementTree as ElementTree

import archive as stored
import pytest

from bumps.site import article, dots, feed, navigation, pages

ASV_INDEX = '<html><ul><li id="nav-li-regressions"><a href="#/regressions">Regressions</a></li></ul></html>'
HOSTILE = """<script>alert("x")</script>'../../etc """ + "é" * 200


def write_pages(tmp_path, results):
    html = tmp_path / "html"
    html.mkdir()
    (html / "index.html").write_text(ASV_INDEX)
    conf = types.SimpleNamespace(
        html_dir=str(html), results_dir=str(results), project="JAX and PyTorch", regressions_thresholds={}
    )
    pages.write(conf)
    return html


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
    assert "torch 2.13.0 and jax 0.10.2" in frameworks
    assert "×1.996" in frameworks
    assert "0.0667" in frameworks
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
    assert len(older) == 7 - pages.INLINE_BUMPS
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


def test_dots_lie_on_one_scale():
    text = dots.svg([1.0, 2.0], [3.0])
    assert [float(x) for x in re.findall(r'cx="([\d.]+)"', text)] == [8.0, 80.0, 152.0]
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
