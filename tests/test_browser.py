"""The published site in Debian's Chromium, without a network: what is drawn, what can be clicked, what can be read."""

import functools
import http.server
import json
import math
import pathlib
import re
import shutil
import threading

import archive as stored
import pytest
import site_project
from asv.util import UserError

from bumps.site import beside, navigation, node

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed (Debian: chromium)"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed (Debian: npm)"),
]

OUTPUT = site_project.REPOSITORY / ".test-output"
OURS = [file for file, _ in navigation.PAGES] + [navigation.RELEASE_LIST]
GRAPH = "matmul_chain.MatmulChain.time_compiled_forward"
ONE_CURVE = f"#{GRAPH}?p-precision='bf16'&p-size='small'&machine=box"
ASVS = {
    "grid": "#/",
    "list": "#/summarylist",
    "regressions": "#/regressions",
    "graph": ONE_CURVE,
    "graph-log-date": f"{ONE_CURVE}&y-axis-scale=log&x-axis-scale=date",
}
LOOKS = {
    "desktop": {"viewport": {"width": 1280, "height": 850}},
    "dark": {"viewport": {"width": 1280, "height": 850}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
    "phone-dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "is_mobile": True},
}
MARKUP = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>\'../../x'
HOSTILE = MARKUP + "ж" * 220


@pytest.fixture(scope="session")
def modules():
    try:
        return node.ensure()
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def site(tmp_path_factory, modules):
    """A published site: every release of both frameworks on two machines."""
    project = site_project.SiteProject(tmp_path_factory.mktemp("site") / "project")
    project.write_releases()
    project.write_releases(machine={**stored.MACHINE, "machine": "рабочая-станция", "num_cpu": "64"}, seed=1)
    project.publish()
    return project.html


@pytest.fixture(scope="session")
def hostile(tmp_path_factory, modules):
    """A published site whose names are markup, as someone's mailed results may be."""
    project = site_project.SiteProject(tmp_path_factory.mktemp("hostile") / "project")
    suite = site_project.benchmarks(sizes=("small", HOSTILE))
    suite[0]["param_names"] = [*suite[0]["param_names"][:2], HOSTILE]
    suite[1]["pretty_name"] = suite[2]["code"] = suite[3]["unit"] = HOSTILE
    project.write_releases(machine={**stored.MACHINE, "cpu": HOSTILE}, suite=suite)
    (project.results / "box" / "deadbeef-cut.json").write_text('{"version": 2, "params": ')
    project.publish()
    return project.html


@pytest.fixture(scope="session")
def committed(tmp_path_factory, modules):
    """A published site of the results in the repository, measured on real machines."""
    project = site_project.SiteProject(tmp_path_factory.mktemp("committed") / "project")
    shutil.copytree(site_project.REPOSITORY / "results", project.results)
    project.publish()
    return project.html


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Without a sandbox: Chromium has none where it runs as root.
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def serve():
    """A function that serves a folder on localhost and returns its address."""
    servers = []

    def start(folder: pathlib.Path) -> str:
        handler = functools.partial(_Quiet, directory=str(folder))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()


@pytest.fixture
def visit(chromium):
    """A function that opens an address; at the end nothing may have failed, and nothing may have asked the network."""
    contexts, wrong = [], []

    def open_page(address: str, look: str = "desktop"):
        context = chromium.new_context(**LOOKS[look])
        contexts.append(context)

        def route(request_route):
            url = request_route.request.url
            if url.startswith(("http://127.0.0.1:", "file:", "data:", "blob:")):
                request_route.continue_()
            else:
                wrong.append(f"asked the network: {url}")
                request_route.abort()

        context.route("**/*", route)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))
        page.on(
            "console",
            lambda message: wrong.append(f"console: {message.text}") if message.type in ("error", "warning") else None,
        )
        page.goto(address)
        page.wait_for_load_state("networkidle")
        return page

    open_page.wrong = wrong
    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def keep(page, name: str) -> None:
    """Keep a picture of the page for whoever looks at what continuous integration did."""
    OUTPUT.mkdir(exist_ok=True)
    page.screenshot(path=str(OUTPUT / f"{name}.png"))


def violations(page, modules) -> list[tuple[str, str, list[str]]]:
    """Return what axe-core calls serious or critical: rule, help, elements."""
    page.evaluate((modules / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [
        (each["id"], each["help"], [str(element["target"]) for element in each["nodes"]][:5])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


def series(page) -> list[dict]:
    """Return the lines of asv's graph: label and points."""
    page.wait_for_function("jQuery('#main-graph').data('plot') !== undefined")
    return page.evaluate("jQuery('#main-graph').data('plot').getData().map(s => ({label: s.label, data: s.data}))")


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("page_name", OURS)
def test_our_pages_render_and_can_be_read_by_everyone(site, serve, visit, modules, page_name, look):
    page = visit(serve(site) + page_name, look)
    assert page.locator("h1").count() == 1
    keep(page, f"{page_name.removesuffix('.html')}-{look}")
    assert violations(page, modules) == []
    # A phone scrolls tables, not the page.
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def right_of(page, table: str, head: str) -> float:
    """Return how far to the right a column of a table reaches."""
    return page.locator(f"{table} thead th", has_text=re.compile(f"^{head}$")).first.evaluate(
        "head => head.getBoundingClientRect().right"
    )


def test_what_a_table_is_read_for_is_seen_without_scrolling(site, committed, serve, visit):
    for published in (site, committed):
        address = serve(published)
        assert right_of(visit(address + "bumps.html"), "table.sortable", "Why") <= 1280
        assert right_of(visit(address + "frameworks.html"), "#beside", "Faster") <= 1280
        assert right_of(visit(address + "method.html"), "table.sortable", "largest") <= 1280
        assert right_of(visit(address + "release-list.html"), "table.sortable", "Release notes") <= 1280


@pytest.mark.parametrize("page_name", OURS)
def test_wide_tables_scroll_by_keyboard_in_a_region_with_a_name(site, serve, visit, page_name):
    page = visit(serve(site) + page_name, "phone")
    regions = page.locator(".scroll:has(table)").evaluate_all(
        "regions => regions.map(each => [each.role, each.tabIndex, each.ariaLabel])"
    )
    assert len(regions) == page.locator("table").count() > 0
    assert all(role == "region" and index == 0 and label for role, index, label in regions)
    wide = page.locator(".scroll").evaluate_all("all => all.findIndex(each => each.scrollWidth > each.clientWidth + 1)")
    # All of its rows are cards there.
    assert (wide == -1) == (page_name == "bumps.html")
    if wide >= 0:
        page.locator(".scroll").nth(wide).focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"document.querySelectorAll('.scroll')[{wide}].scrollLeft > 0")


@pytest.mark.parametrize(("page_name", "named"), [("bumps.html", "new/old"), ("frameworks.html", "jax/torch")])
def test_on_a_phone_every_figure_is_seen_without_scrolling_aside(site, committed, serve, visit, page_name, named):
    for published in (site, committed):
        page = visit(serve(published) + page_name, "phone")
        cells = page.locator(".cards tbody :is(td, th):visible")
        places = cells.evaluate_all("all => all.map(each => each.getBoundingClientRect()).map(r => [r.left, r.right])")
        assert len(places) > 20
        assert all(0 <= left <= right <= 390 for left, right in places)
        assert page.locator(f".cards tbody [data-name='{named}']:visible").count() > 5
        # It still sorts.
        page.locator(".cards thead button").first.tap()
        assert page.locator(".cards thead th[aria-sort]").count() == 1


@pytest.mark.parametrize("page_name", OURS)
def test_print_cuts_nothing_off(site, committed, serve, visit, page_name):
    for published in (site, committed):
        page = visit(serve(published) + page_name)
        # A4 across, less the margins of a browser.
        page.set_viewport_size({"width": 1046, "height": 718})
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1046
        assert page.locator(".scroll").evaluate_all(
            "all => all.every(each => each.scrollWidth <= each.clientWidth + 1)"
        )
        assert not page.locator("header").is_visible()


@pytest.mark.parametrize("page_name", OURS)
def test_our_pages_open_from_a_file_system(site, visit, page_name):
    page = visit((site / page_name).as_uri())
    assert page.locator("h1").count() == 1
    assert page.locator("table.sortable thead button").count() > 0


@pytest.mark.parametrize("folder", ["", "releases/"])
@pytest.mark.parametrize("view", ASVS)
def test_asvs_own_pages_render_without_a_network(site, serve, visit, folder, view):
    page = visit(f"{serve(site)}{folder}index.html{ASVS[view]}")
    page.wait_for_timeout(300)
    keep(page, f"asv{'-releases' if folder else ''}-{view}")
    bar = page.locator("#nav")
    assert bar.bounding_box()["height"] <= 55
    for file, label in navigation.PAGES:
        tab = bar.get_by_role("link", name=label, exact=True)
        assert tab.get_attribute("href") == ("../" if folder else "") + file


def test_graph_over_releases_has_a_line_for_each_framework(site, serve, visit):
    page = visit(f"{serve(site)}releases/index.html{ONE_CURVE}")
    lines = {re.search(r"framework-(\w+)", each["label"])[1]: each["data"] for each in series(page)}
    assert set(lines) == {"jax", "torch"}
    assert all(len(points) > 5 and all(value is not None for _, value in points) for points in lines.values())
    # The planted steps: torch 2.10.0 ×1.4, jax 0.10.2 ×1.25.
    assert lines["torch"][-1][1] / lines["torch"][0][1] == pytest.approx(1.4, rel=0.05)
    assert lines["jax"][-1][1] / lines["jax"][0][1] == pytest.approx(1.25, rel=0.05)


def test_releases_can_be_zoomed_and_scaled(site, serve, visit):
    page = visit(f"{serve(site)}releases/index.html{ONE_CURVE}")
    series(page)
    first, last = page.locator("#range").input_value().split("..")
    page.locator("#log-scale").click()
    page.wait_for_function("jQuery('#main-graph').data('plot').getOptions().yaxes[0].transform !== null")
    box = page.locator("#main-graph canvas.flot-overlay").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 200, steps=5)
    page.mouse.up()
    page.wait_for_function(f"document.getElementById('range').value !== '{first}..{last}'")
    keep(page, "asv-releases-zoomed")
    assert re.fullmatch(r"(torch|jax)-[\d.]+\.\.(torch|jax)-[\d.]+", page.locator("#range").input_value())


def test_point_says_its_release_and_value(site, serve, visit):
    page = visit(f"{serve(site)}releases/index.html{ONE_CURVE}")
    place = """() => {
        const plot = jQuery('#main-graph').data('plot'), line = plot.getData().find(s => s.label.includes('torch'));
        const [x, y] = line.data[line.data.length - 1], at = plot.pointOffset({x: x, y: y});
        const box = document.getElementById('main-graph').getBoundingClientRect();
        return [box.left + at.left, box.top + at.top];
    }"""
    series(page)
    page.mouse.move(*page.evaluate(place))
    tooltip = page.locator(".tooltip-inner", has_text="@")
    tooltip.wait_for()
    assert re.fullmatch(r"5\.\d+ms @ torch-2\.15\.0", tooltip.inner_text())


def test_regressions_over_releases_name_the_release_and_lead_to_it(site, serve, visit):
    page = visit(f"{serve(site)}releases/index.html#/regressions")
    rows = page.locator("#regressions-body tbody tr:visible")
    rows.first.wait_for()
    releases = {row.locator("td").nth(2).inner_text() for row in rows.all()}
    assert releases == {"torch-2.10.0", "jax-0.10.2"}
    factors = [float(row.locator("td").nth(3).inner_text().rstrip("x")) for row in rows.all()]
    assert factors == sorted(factors, reverse=True)
    page.locator("#regressions-body thead th", has_text="Factor").first.click()
    # The table is sorted a moment after the click.
    page.locator("#regressions-body thead th.asc").first.wait_for()
    again = [float(row.locator("td").nth(3).inner_text().rstrip("x")) for row in rows.all()]
    assert again == sorted(factors)
    rows.first.locator("td").nth(2).locator("a").click()
    page.wait_for_load_state()
    assert page.locator("h1").inner_text() == "Measured releases"
    assert page.locator("tr:target").count() == 1


def test_regression_opens_its_graph_with_the_release_marked(site, serve, visit):
    page = visit(f"{serve(site)}releases/index.html#/regressions")
    page.locator("#regressions-body tbody tr:visible td:first-child a").first.click()
    assert len(series(page)) == 1
    markings = page.evaluate("jQuery('#main-graph').data('plot').getOptions().grid.markings")
    marks = [each["xaxis"]["from"] for each in markings if each["color"] == "#d00"]
    revisions = json.loads((site / "releases" / "index.json").read_text())["revision_to_hash"]
    assert [revisions[str(mark)] for mark in marks] in (["torch-2.10.0"], ["jax-0.10.2"])


def test_table_of_a_bump_sorts_and_filters(site, serve, visit):
    page = visit(serve(site) + "bumps.html")
    table = page.locator("table.sortable").first
    rows = table.locator("tbody tr")

    def ratios():
        head = table.locator("thead th", has_text="new/old")
        position = head.evaluate("head => head.cellIndex")
        return [
            float(value)
            for value in table.locator("tbody tr:visible").evaluate_all(
                f"rows => rows.map(row => row.cells[{position}].dataset.value)"
            )
            if value
        ]

    button = table.locator("thead button", has_text="new/old")
    button.click()
    ascending = ratios()
    assert len(ascending) > 5
    assert ascending == sorted(ascending)
    button.focus()
    page.keyboard.press("Enter")
    assert ratios() == sorted(ascending, reverse=True)
    everything = rows.count()
    page.locator("select[data-filter=mode]").first.select_option("eager")
    shown = table.locator("tbody tr:visible")
    assert 0 < shown.count() < everything
    assert set(shown.evaluate_all("rows => rows.map(row => row.dataset.mode)")) == {"eager"}
    page.locator("select[data-filter=mode]").first.select_option("")
    assert table.locator("tbody tr:visible").count() == everything


@pytest.mark.parametrize("is_served", [True, False], ids=["served", "file"])
def test_older_bump_loads_when_it_is_opened(site, serve, visit, is_served):
    page = visit((serve(site) + "bumps.html") if is_served else (site / "bumps.html").as_uri())
    older = page.locator("details.older").first
    assert older.locator("tbody tr").count() == 0
    older.locator("summary").click()
    older.locator("tbody tr").first.wait_for()
    assert older.locator("thead button").count() > 0


def test_older_bumps_opened_at_once_do_not_mix(site, serve, visit):
    page = visit(serve(site) + "bumps.html")
    page.evaluate("document.querySelectorAll('details.older').forEach(each => each.open = true)")
    page.wait_for_function(
        "Array.from(document.querySelectorAll('details.older')).every(each => each.querySelector('tbody tr'))"
    )
    all_older = page.locator("details.older")
    assert all_older.count() > 5
    for details in all_older.all():
        rows = details.locator("tbody tr").evaluate_all("rows => rows.map(row => row.id.split('-')[0])")
        assert set(rows) == {details.get_attribute("data-bump")}


def test_link_to_a_row_leads_to_that_row(site, serve, visit):
    address = serve(site) + "bumps.html"
    page = visit(address)
    link = page.locator("section table tbody tr td a[href^='#']").nth(3)
    anchor = link.get_attribute("href")
    again = visit(address + anchor)
    assert again.locator("tr:target").get_attribute("id") == anchor[1:]
    assert again.locator("tr:target").is_visible()


def test_link_to_a_row_of_an_older_bump_opens_it(site, serve, visit):
    address = serve(site) + "bumps.html"
    page = visit(address)
    older = page.locator("details.older").nth(2)
    older.locator("summary").first.click()
    older.locator("tbody tr").first.wait_for()
    anchor = older.locator("tbody tr td a[href^='#']").nth(3).get_attribute("href")
    again = visit(address + anchor)
    row = again.locator("tr:target")
    row.wait_for()
    assert row.get_attribute("id") == anchor[1:]
    assert again.locator("details.older[open]").count() == 1


def test_ratios_of_a_bump_as_a_chart(site, serve, visit, modules):
    page = visit(serve(site) + "bumps.html", "phone")
    button = page.locator("button.forest").first
    button.focus()
    page.keyboard.press("Enter")
    page.locator(".forest-chart .scatterlayer .point").first.wait_for()
    keep(page, "bumps-chart-phone")
    assert violations(page, modules) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.keyboard.press("Enter")
    assert page.locator(".forest-chart").count() == 0


def cells(page) -> list[list[str]]:
    """Return the text of every cell of the comparison."""
    return page.locator("#beside tbody tr").evaluate_all(
        "rows => rows.map(row => Array.from(row.cells, cell => cell.innerText))"
    )


def winner_of(row: list[str]) -> str:
    low, high = map(float, row[8].split("–"))
    return "torch" if low > 1 else "jax" if high < 1 else "not clear"


@pytest.mark.parametrize("is_served", [True, False], ids=["served", "file"])
def test_any_release_stands_beside_any_other(site, serve, visit, is_served):
    address = (serve(site) if is_served else site.as_uri() + "/") + "frameworks.html"
    page = visit(address)
    assert len(cells(page)) == 48
    page.get_by_label("Machine").select_option("рабочая-станция, cpu")
    page.get_by_label("torch").select_option("2.9.1")
    page.get_by_label("jax").select_option("0.7.1")
    page.get_by_label("Workload").select_option(site_project.LONG_NAME)
    page.get_by_label("Size").select_option("article")
    shown = cells(page)
    assert len(shown) == 8
    assert all(row[9] == winner_of(row) for row in shown)
    # jax is slower by 1.3 until its release 0.8.3.
    assert {row[9] for row in shown} == {"torch"}
    assert all(float(row[7].lstrip("×")) == pytest.approx(1.3, rel=0.05) for row in shown)
    page.get_by_label("jax").select_option("0.8.3")
    assert {row[9] for row in cells(page)} == {"jax"}
    assert "torch 2.9.1 and jax 0.8.3: 8 steps" in page.get_by_role("status").inner_text()
    again = visit(page.url)
    again.get_by_role("status").get_by_text("torch 2.9.1 and jax 0.8.3: 8 steps").wait_for()
    assert cells(again) == cells(page)


def test_page_and_publisher_compare_alike_and_name_no_winner_without_one(site, serve, visit):
    sides = [beside.Estimate(-5.0, 0.01, 4.6), beside.Estimate(-4.98, 0.02, 12.3)]
    single = beside.Estimate(-4.0, 0.0, 0.0)
    page = visit(serve(site) + "frameworks.html")
    rows = [
        [[number, each.centre, each.error, each.freedom, None, []] for number, each in enumerate(side)]
        for side in (
            (sides[0], sides[0], sides[0], sides[0]),
            (sides[1], single, beside.Estimate(-4.0, 0.02, 12.3), beside.Estimate(-5.0, 0.1, 1.0)),
        )
    ]
    content = {
        "releases": {"torch": ["1"], "jax": ["1"]},
        "dates": {"torch": [None], "jax": [None]},
        "steps": [[name, "eager", "forward", "bf16", "small", "", None] for name in ("a", "b", "c", "d")],
        "flags": [],
        "figures": {"torch": [rows[0]], "jax": [rows[1]]},
    }
    page.evaluate("content => window.showPlace(0, content)", content)
    overlap, single_row, apart, too_few = cells(page)
    ratio, low, high = beside.compare(*sides)
    assert overlap[7:10] == [f"×{ratio:.3f}", f"{low:.3f}–{high:.3f}", "not clear"]
    assert single_row[7:10] == [f"×{math.exp(1):.3f}", "–", "not clear"]
    assert apart[9] == "torch"
    assert too_few[7:10] == ["×1.000", "too few processes", "not clear"]
    assert too_few[6].endswith("too few processes")


def test_step_over_the_releases_as_a_chart(site, serve, visit, modules):
    page = visit(serve(site) + "frameworks.html", "dark")
    button = page.locator("#beside tbody button").first
    button.focus()
    page.keyboard.press("Enter")
    page.locator("#history-chart .scatterlayer .point").first.wait_for()
    keep(page, "frameworks-chart-dark")
    assert violations(page, modules) == []
    names = page.locator("#history-chart .legendtext").all_text_contents()
    assert names == ["torch", "jax"]
    page.keyboard.press("Enter")
    assert not page.locator("#history").is_visible()
    assert button.evaluate("button => button === document.activeElement")


@pytest.mark.parametrize("page_name", [*OURS, "index.html", "releases/index.html"])
def test_results_of_the_repository_render(committed, serve, visit, modules, page_name):
    page = visit(serve(committed) + page_name)
    page.wait_for_timeout(300)
    keep(page, f"committed-{page_name.removesuffix('.html').replace('/', '-')}")
    if page_name in OURS:
        assert violations(page, modules) == []
        assert page.locator("table.sortable tbody tr").count() > 0


def test_graph_of_the_repositorys_results_is_drawn_over_releases(committed, serve, visit):
    index = json.loads((committed / "releases" / "index.json").read_text())
    benchmark = next(name for name in index["benchmarks"] if name.endswith("time_compiled_forward"))
    page = visit(f"{serve(committed)}releases/index.html#{benchmark}")
    lines = series(page)
    keep(page, "committed-releases-graph")
    assert any(value is not None for line in lines for _, value in line["data"])


@pytest.mark.parametrize("page_name", OURS)
def test_hostile_names_are_text_on_our_pages(hostile, serve, visit, page_name):
    page = visit(serve(hostile) + page_name)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.broken") is None
    assert page.locator("img[src=x]").count() == 0
    keep(page, f"hostile-{page_name.removesuffix('.html')}")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("folder", ["", "releases/"])
@pytest.mark.parametrize("view", ["grid", "list", "graph"])
def test_hostile_names_run_nothing_on_asvs_pages(hostile, serve, visit, folder, view):
    page = visit(f"{serve(hostile)}{folder}index.html{ASVS[view]}")
    page.wait_for_timeout(300)
    assert page.evaluate("window.broken") is None
    # That asv's scripts put markup where a name belongs is asv's; what it would run or load is refused, and said so.
    assert not any(each.startswith("asked the network") for each in visit.wrong)
    assert view == "list" or any("Content Security Policy" in each for each in visit.wrong)
    visit.wrong.clear()


def test_file_that_cannot_be_read_is_on_the_method_page(hostile, serve, visit):
    page = visit(serve(hostile) + "method.html")
    assert page.get_by_text("deadbeef-cut.json").count() > 0


@pytest.mark.parametrize("look", ["desktop", "dark"])
def test_site_without_results_says_what_to_run(tmp_path, serve, visit, modules, look):
    project = site_project.SiteProject(tmp_path / "project")
    stored.write_suite(project.results, site_project.benchmarks())
    project.publish()
    address = serve(project.html)
    for page_name, command in (("frameworks.html", "make bench"), ("bumps.html", "python -m bumps run")):
        page = visit(address + page_name, look)
        assert command in page.locator("main").inner_text()
        assert violations(page, modules) == []
    assert not (project.html / "releases").exists()
    assert visit(address + "index.html").get_by_role("link", name=navigation.OVER_TIME[1]).count() == 0
