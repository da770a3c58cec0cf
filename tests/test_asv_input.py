"""Whatever lies among the results, asv's own publishing gets through: long names, files that asv did not write."""

import copy
import json
import random
import re
import shutil

import archive as stored
import pytest
import site_project
import test_broken_results
from asv import config
from asv.commands import publish as asv_publish
from asv.graph import Graph
from asv.plugins import regressions
from asv.util import UserError
from test_broken_results import damage_file

from bumps.site import asv_input
from bumps.site.asv_input import Reader, Room, shortened

CHAIN = stored.benchmark(
    "chain.Chain.time_forward", params=[["'torch'", "'jax'"], ["'fp32'"]], param_names=["framework", "precision"]
)


@pytest.mark.parametrize(
    ("text", "most", "short"),
    [
        ("AMD EPYC", 16, "AMD EPYC"),
        ("x" * 16, 16, "x" * 16),
        ("x" * 17, 16, "xxxxx…d04fd59f"),
        # A letter is not cut into bytes that are none.
        ("ж" * 10, 16, "жж…1d8ddfa7"),
        ("bad \ud800", 16, "bad ?"),
    ],
)
def test_long_text_is_shortened(text, most, short):
    assert shortened(text, most) == short
    assert len(short.encode()) <= most


def test_other_texts_stay_other_texts():
    assert len({shortened("x" * 300 + end, 20) for end in "abcdef"}) == 6


def test_room_is_that_of_all_parameters_together():
    room = Room()
    assert room.takes({"cpu": "x" * 100, "gpu": None}, {"BENCH": "cpu"})
    # asv gives a line the other lines' parameters, too: what no row has alone they have together.
    accepted = [room.takes({f"fact{number}": "y" * 100}, {}) for number in range(40)]
    # 128 bytes are taken; ten facts have 107 each, later ones 108.
    assert accepted == [True] * 22 + [False] * 18
    # A row that did not fit takes no room.
    assert room.takes({"cpu": "x"}, {})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "results"
    stored.write_suite(folder, [CHAIN])
    for number, version in enumerate(("0.9.2", "0.10.2")):
        samples = stored.samples_of([0.01 * (1 + number)] * 3)
        stored.write_row(folder, {"jax": version}, [(CHAIN, [stored.NAN, samples])])
    return folder


def edit(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def result_file(folder, release="0.9.2"):
    (path,) = folder.glob(f"box/*jax{release}-*.json")
    return path


@pytest.fixture
def results(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "results")
    return tmp_path / "results"


def read(folder):
    """Return the reader and what it handed to asv."""
    reader = Reader()
    assert len(list(reader.machine_files(str(folder)))) <= 1
    return reader, list(reader.results(str(folder)))


def test_whole_results_are_read_as_asv_reads_them(results):
    reader, found = read(results)
    assert [each.params["jax"] for each in found] == ["0.10.2", "0.9.2"]
    assert found[0].params == {**stored.MACHINE, "python": "3.11", "jax": "0.10.2"}
    assert reader.left_out == {}


def test_long_facts_are_shortened_for_asv(results):
    def lengthen(content):
        content["params"]["cpu"] = "п" * 300
        content["params"]["f" * 300] = "x"
        content["env_vars"]["V" * 300] = "y" * 300

    edit(result_file(results), lengthen)
    reader, found = read(results)
    assert reader.left_out == {}
    path = Graph.get_file_path({**found[1].params, **found[1].env_vars}, CHAIN["name"])
    assert max(len(part.encode()) for part in path.split("/")) <= 255
    assert found[1].params["cpu"].startswith("п" * 50)
    assert json.loads(result_file(results).read_text())["params"]["cpu"] == "п" * 300


def test_row_with_more_parameters_than_a_path_holds_is_left_out(results):
    edit(
        result_file(results),
        lambda content: content["params"].update((f"fact{number}", "x" * 100) for number in range(200)),
    )
    reader, found = read(results)
    assert [each.params["jax"] for each in found] == ["0.10.2"]
    assert list(reader.left_out) == [f"box/{result_file(results).name}"]
    assert "so many parameters" in next(iter(reader.left_out.values()))


def test_benchmark_with_a_name_that_no_file_can_have_is_left_out(results):
    long = {**CHAIN, "name": "chain." + "N" * 300}
    stored.write_suite(results, [CHAIN, long])
    edit(
        result_file(results),
        lambda content: content["results"].update({long["name"]: content["results"][CHAIN["name"]]}),
    )
    reader, found = read(results)
    assert reader.too_long == {long["name"]}
    assert all(list(each.get_all_result_keys()) == [CHAIN["name"]] for each in found)
    assert reader.left_out == {long["name"]: "its name is longer than 250 bytes"}


@pytest.mark.parametrize(
    "content",
    [
        *(b"{", b"\xff\xfe", b"[]", b"{}", b'{"machine": 3, "version": 1}', b'{"machine": "box"}', b"[" * 100_000),
        b'{"machine": "box", "version": 1, "ram": NaN}',
        b'{"machine": "box", "version": 1, "more": [{"ram": -Infinity}]}',
    ],
)
def test_machine_file_that_is_none_costs_its_folder_only(results, content):
    shutil.copytree(results / "box", results / "other")
    for path in (results / "other").glob("*jax*.json"):
        edit(path, lambda content: content["params"].update(machine="other"))
    (results / "other" / "machine.json").write_bytes(content)
    reader, found = read(results)
    assert {each.params["machine"] for each in found} == {"box"}
    assert reader.left_out == {"other/machine.json": "it is not what asv writes of a machine"}
    (results / "other" / "machine.json").unlink()
    assert read(results)[0].left_out == {"other": "there is no machine.json"}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"version": 1}', "it is stored in an old file format. Run `asv update` to update it."),
        ('{"version": 2}', "missing key 'params'"),
        ("{", "Error parsing JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[]", "No version specified in it."),
    ],
)
def test_why_a_file_is_left_out_names_no_folder_of_this_machine(results, content, why):
    result_file(results).write_text(content)
    reader, _ = read(results)
    assert list(reader.left_out.values()) == [why]


def test_each_is_said_once(results, caplog):
    result_file(results).write_text("{")
    reader = Reader()
    for _ in range(3):
        list(reader.results(str(results)))
    assert len(caplog.messages) == 1


FIGURES = [["x"], ["a", "b"], [[], {}], [True, 10**400], [1e200, None], {"a": 1}, 3, [float("inf"), None]]


@pytest.mark.parametrize("values", FIGURES)
def test_figures_that_asv_does_not_write_are_left_out(results, values):
    edit(result_file(results), lambda content: content["results"][CHAIN["name"]].__setitem__(0, values))
    reader, found = read(results)
    assert [sorted(each.get_all_result_keys()) for each in found] == [[CHAIN["name"]], []]
    assert list(reader.left_out) == [f"box/{result_file(results).name}, {CHAIN['name']}"]


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """A function that lets asv publish a results folder in this process, and returns the reader."""
    project = site_project.SiteProject(tmp_path / "project")
    monkeypatch.chdir(project.folder)
    # What `install` replaces comes back.
    for module, name in (
        (asv_publish, "iter_machine_files"),
        (asv_publish, "iter_results"),
        (regressions, "iter_results"),
        (regressions, "_GraphDataFilter"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))

    def run(results, **fields):
        own = copy.copy(config.Config())
        own.results_dir, own.html_dir, own.branches = str(results), str(tmp_path / "html"), ["HEAD"]
        own.project, own.repo, own.dvcs = "p", str(project.folder), "git"
        vars(own).update(fields)
        reader = asv_input.install()
        asv_publish.Publish.run(own, pull=False)
        return reader

    run.commit = project.commit
    return run


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("regressions_thresholds", {"(": 0.1}, "'(' is no regular expression: missing ), unterminated subpattern"),
        ("regressions_thresholds", {".*": "much"}, "'much' for '.*' is no share such as 0.05 (5 %)"),
        ("regressions_first_commits", {"*": None}, "'*' is no regular expression: nothing to repeat"),
    ],
)
def test_a_mistake_in_the_configuration_is_one_line(whole, publish, field, value, message):
    with pytest.raises(UserError, match=re.escape(f"{field} in asv.conf.json: {message}")):
        publish(whole, **{field: value})


JUNK = [None, True, -1, 0, 1e308, float("nan"), float("inf"), 10**400, "x", "", "../..", "\ud800", "ж" * 300, [], {}]
JUNK += [[[]], [None], {"a": 1}, "\x00", "branch", "summary"]


@pytest.mark.end_to_end
@pytest.mark.parametrize("seed", range(40))
def test_asv_publishes_damaged_results(whole, publish, tmp_path, monkeypatch, seed):
    generator = random.Random(seed)
    monkeypatch.setattr(test_broken_results, "JUNK", JUNK)
    folder = tmp_path / "results"
    shutil.copytree(whole, folder)
    for path in folder.glob("box/*.json"):
        edit(path, lambda content: content.update(commit_hash=publish.commit) if "commit_hash" in content else None)
    for path in generator.sample(sorted(folder.glob("box/*.json")), 2):
        damage_file(path, generator)
    publish(folder)
    assert (tmp_path / "html" / "index.json").is_file()


@pytest.mark.end_to_end
def test_a_site_of_long_names_and_broken_files_is_whole(tmp_path):
    project = site_project.SiteProject(tmp_path / "project")
    long = {**CHAIN, "name": "chain." + "N" * 300}
    stored.write_suite(project.results, [CHAIN, long])
    machine = {**stored.MACHINE, "cpu": "п" * 300}
    for version, seconds in (("0.9.2", 0.01), ("0.10.2", 0.02)):
        samples = stored.samples_of([seconds] * 5)
        figures = [(each, [stored.NAN, samples]) for each in (CHAIN, long)]
        stored.write_row(project.results, {"jax": version}, figures, machine=machine, commit=project.commit)
    (project.results / "box" / "deadbeef-list.json").write_text('{"version": 2, "params": []}')
    shutil.copytree(project.results / "box", project.results / "other")
    (project.results / "other" / "machine.json").write_bytes(b"\xff")
    said = project.publish()
    assert said.count("asv's own pages are without") == 3
    index = json.loads((project.html / "index.json").read_text())
    assert list(index["benchmarks"]) == [CHAIN["name"]]
    assert [value[:50] for value in index["params"]["cpu"]] == ["п" * 50]
    assert len(list(project.html.glob("graphs/arch-x86_64/**/chain.Chain*.json"))) == 2
    assert (project.html / "releases" / "index.json").is_file()
    assert long["name"] in (project.html / "bumps.html").read_text().replace("<wbr>", "")
    method = (project.html / "method.html").read_text()
    assert "п" * 300 in method
    for missing in (
        f"{long['name']}: its name is longer than 250 bytes",
        "box/deadbeef-list.json: missing key &#39;requirements&#39;",
        "other/machine.json: it is not what asv writes of a machine",
    ):
        assert f"<li>{missing}</li>" in method
