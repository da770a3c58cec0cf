"""Stored results: cutting samples into processes, other suites, other formats, and every kind of broken file."""

import json
import math

import pytest
from archive import (
    COMMIT,
    EPOCH,
    MACHINE,
    NAN,
    benchmark,
    samples_of,
    write_journal,
    write_row,
    write_suite,
)
from asv.util import UserError

from bumps.results import Archive, parse_version, unquote

TIMED = benchmark("chain.Chain.time_step", [["'torch'", "'jax'"]], ["framework"])
PLAIN = benchmark("chain.time_plain")
KERNELS = benchmark("chain.track_kernels", repeat=0, type="track", unit="kernels")
JAX = {"jax": "0.9.2"}


def only_row(folder):
    archive = Archive(folder)
    assert len(archive.rows) == 1
    return archive, archive.rows[0]


def the_figure(row, name="chain.time_plain", params=()):
    (figure,) = row.figures[name, params]
    return figure


def test_samples_are_cut_by_the_fixed_repeat(tmp_path):
    write_suite(tmp_path, [PLAIN])
    write_row(tmp_path, JAX, [(PLAIN, [[1.0, 3.0, 2.0, 2.0, 5.0, 7.0, 6.0, 6.0]])])
    archive, row = only_row(tmp_path)
    assert the_figure(row).medians == (2.0, 6.0)
    assert the_figure(row).interval is None
    assert archive.excluded == []


def test_samples_that_the_repeat_does_not_divide_stay_whole(tmp_path):
    write_suite(tmp_path, [PLAIN])
    write_row(tmp_path, JAX, [(PLAIN, [[1.0, 3.0, 2.0, 2.0, 5.0, 7.0]])])
    _, row = only_row(tmp_path)
    figure = the_figure(row)
    assert figure.medians == ()
    assert figure.value == 2.5
    assert figure.interval[0] <= 2.5 <= figure.interval[1]


@pytest.mark.parametrize("repeat", [0, [1, 10, 20.0], None, "4"])
def test_samples_without_a_fixed_repeat_stay_whole(tmp_path, repeat):
    each = benchmark("chain.time_plain", repeat=repeat)
    write_suite(tmp_path, [each])
    write_row(tmp_path, JAX, [(each, [[1.0, 3.0, 2.0, 2.0]])])
    _, row = only_row(tmp_path)
    assert the_figure(row).medians == ()
    assert the_figure(row).interval is not None


def test_another_version_of_the_benchmark_says_nothing_of_the_repeat(tmp_path):
    write_suite(tmp_path, [benchmark("chain.time_plain", version="2")])
    write_row(tmp_path, JAX, [(PLAIN, [[1.0, 3.0, 2.0, 2.0]])])
    _, row = only_row(tmp_path)
    assert the_figure(row).medians == ()


def test_without_samples_asvs_interval_is_all_there_is(tmp_path):
    write_suite(tmp_path, [PLAIN])
    write_row(tmp_path, JAX, [(PLAIN, [[1.0, 3.0, 2.0, 2.0]])], record_samples=False)
    _, row = only_row(tmp_path)
    figure = the_figure(row)
    assert figure.medians == ()
    assert figure.value == 2.0
    assert figure.interval[0] < 2.0 < figure.interval[1]


def test_a_tracked_value_is_one_process(tmp_path):
    write_suite(tmp_path, [KERNELS])
    write_row(tmp_path, JAX, [(KERNELS, [41])])
    _, row = only_row(tmp_path)
    assert the_figure(row, "chain.track_kernels").medians == (41,)


def test_failed_skipped_and_measured_are_told_apart(tmp_path):
    three = benchmark("chain.time_three", [["1", "2", "3"]], ["n"])
    write_suite(tmp_path, [three])
    write_row(tmp_path, JAX, [(three, [None, NAN, [1.0, 1.0, 1.0, 1.0]])])
    _, row = only_row(tmp_path)
    failed, skipped, measured = (row.figures["chain.time_three", (n,)][0] for n in "123")
    assert len(failed.failures) == 1
    assert failed.selected
    assert not skipped.selected
    assert measured.medians == (1.0,)


def journalled(env_name, started, samples, stage=0, number=1, name="chain.time_plain", index=0):
    entry = {"benchmark": name, "index": index, "samples": samples, "number": 1}
    return env_name, stage, number, started, [entry]


def test_the_journal_cuts_unequal_processes(tmp_path):
    write_suite(tmp_path, [PLAIN])
    first, second = [1.0, 1.0, 4.0], [2.0, 2.0, 2.0, 2.0, 9.0]
    _, env_name = write_row(tmp_path, JAX, [(PLAIN, [first + second])])
    write_journal(
        tmp_path,
        "one",
        [journalled(env_name, EPOCH, first), journalled(env_name, EPOCH + 60, second, stage=1)],
        versions={"chain.time_plain": "1"},
    )
    _, row = only_row(tmp_path)
    figure = the_figure(row)
    assert figure.medians == (1.0, 2.0)
    assert [process.stage for process in figure.processes] == [0, 1]
    assert figure.processes[1].started == EPOCH + 60


def test_a_journal_that_does_not_match_the_samples_is_not_used(tmp_path):
    write_suite(tmp_path, [PLAIN])
    _, env_name = write_row(tmp_path, JAX, [(PLAIN, [[1.0, 1.0, 1.0, 2.0]])])
    write_journal(tmp_path, "one", [journalled(env_name, EPOCH, [1.0, 1.0, 1.0, 3.0])])
    _, row = only_row(tmp_path)
    assert the_figure(row).processes == ()
    assert the_figure(row).medians == (1.0,)


@pytest.mark.parametrize(
    ("commit", "version"), [("f" * 40, "1"), (COMMIT, "another")], ids=["another commit", "another version"]
)
def test_a_journal_of_something_else_is_not_used(tmp_path, commit, version):
    write_suite(tmp_path, [PLAIN])
    samples = [1.0, 1.0, 1.0, 2.0]
    _, env_name = write_row(tmp_path, JAX, [(PLAIN, [samples])])
    versions = {"chain.time_plain": version}
    write_journal(tmp_path, "one", [journalled(env_name, EPOCH, samples)], commit=commit, versions=versions)
    _, row = only_row(tmp_path)
    assert the_figure(row).processes == ()


def test_the_journal_says_why_a_process_failed(tmp_path):
    write_suite(tmp_path, [PLAIN])
    good = [1.0, 1.0, 1.0, 2.0]
    _, env_name = write_row(tmp_path, JAX, [(PLAIN, [good])])
    entry = {"benchmark": "chain.time_plain", "index": 0, "status": "timeout", "reason": "timed out after 300 s"}
    write_journal(tmp_path, "one", [journalled(env_name, EPOCH, good), (env_name, 0, 2, EPOCH + 60, [entry])])
    _, row = only_row(tmp_path)
    assert the_figure(row).failures == ("timed out after 300 s",)
    assert the_figure(row).medians == (1.0,)


def test_a_journal_that_a_crash_cut_is_read_up_to_there(tmp_path):
    write_suite(tmp_path, [PLAIN])
    samples = [1.0, 1.0, 1.0, 2.0]
    _, env_name = write_row(tmp_path, JAX, [(PLAIN, [samples])])
    write_journal(tmp_path, "one", [journalled(env_name, EPOCH, samples)])
    path = tmp_path / "box" / "sessions" / "one.jsonl"
    path.write_text(path.read_text() + '{"record": "process", "env_na')
    _, row = only_row(tmp_path)
    assert len(the_figure(row).processes) == 1


def test_results_of_several_commits_are_merged_into_one_row(tmp_path):
    write_suite(tmp_path, [PLAIN])
    write_row(tmp_path, JAX, [(PLAIN, [samples_of([1.0])])], commit="a" * 40, started=EPOCH + 100)
    write_row(tmp_path, JAX, [(PLAIN, [samples_of([2.0])])], commit="b" * 40, started=EPOCH)
    _, row = only_row(tmp_path)
    assert [figure.medians for figure in row.figures["chain.time_plain", ()]] == [(2.0,), (1.0,)]


def test_other_suites_requirements_lose_their_prefix(tmp_path):
    write_row(tmp_path, {"pip+NumPy": "2.1"}, [(PLAIN, [samples_of([1.0])])], env_vars={}, env_type="virtualenv")
    _, row = only_row(tmp_path)
    assert row.requirements == {"numpy": "2.1"}
    assert str(row.release("numpy")) == "2.1"
    assert row.accelerator is None


@pytest.mark.parametrize(
    ("text", "version"), [("2.1", "2.1"), ("==2.1", "2.1"), ("2.14.1+cu130", "2.14.1+cu130"), ("", None), (">=2", None)]
)
def test_pinned_versions(text, version):
    assert (parse_version(text) and str(parse_version(text))) == version


@pytest.mark.parametrize(
    ("text", "plain"),
    [("'fp32'", "fp32"), ("1024", "1024"), ('"it\'s"', "it's"), ("<class 'float'>", "float"), ("''", "")],
)
def test_quotes_of_parameters(text, plain):
    assert unquote(text) == plain


# Broken files: each is named with the reason, and its neighbour is read all the same.


def edit(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def truncate(path):
    path.write_text(path.read_text()[:-40])


def of_results(change):
    def apply(path):
        edit(path, lambda content: change(content["results"]["chain.Chain.time_step"], content["result_columns"]))

    return apply


def set_value(value):
    return of_results(lambda row, columns: row[columns.index("result")].__setitem__(0, value))


def set_version(version):
    return lambda path: edit(path, lambda content: content.update(version=version))


WHOLE_FILES = {
    "truncated": (truncate, "cut short"),
    "empty": (lambda path: path.write_text(""), "is empty"),
    "not UTF-8": (lambda path: path.write_bytes(b"\xff\xfe{}"), "not UTF-8"),
    "a list": (lambda path: path.write_text("[1, 2]"), "no JSON object"),
    "deeply nested": (lambda path: path.write_text("[" * 100_000), "no JSON"),
    "without results": (lambda path: edit(path, lambda content: content.pop("results")), "results is missing"),
    "results a list": (lambda path: edit(path, lambda content: content.update(results=[])), "results is missing"),
    "requirements a list": (lambda path: edit(path, lambda content: content.update(requirements=[])), "requirements"),
    "without a version": (lambda path: edit(path, lambda content: content.pop("version")), "no version"),
    "of a newer asv": (set_version(3), "newer asv (format 3"),
    "version 1 in name only": (
        lambda path: edit(path, lambda content: content.update(version=1, results=[])),
        "not asv's format 1",
    ),
    "of another machine": (
        lambda path: edit(path, lambda content: content["params"].update(machine="other")),
        "was measured on machine other, not box",
    ),
}


@pytest.mark.parametrize(("plant", "why"), WHOLE_FILES.values(), ids=WHOLE_FILES)
def test_a_broken_file_is_named_and_the_rest_is_read(tmp_path, plant, why):
    write_suite(tmp_path, [TIMED])
    values = [(TIMED, [NAN, samples_of([1.0])])]
    broken, _ = write_row(tmp_path, JAX, values)
    write_row(tmp_path, {"jax": "0.10.2"}, values)
    plant(broken)
    archive = Archive(tmp_path)
    (excluded,) = archive.excluded
    assert excluded.file == f"box/{broken.name}"
    assert excluded.benchmark is None
    assert why in excluded.why
    assert [row.requirements["jax"] for row in archive.rows] == ["0.10.2"]


BENCHMARKS = {
    "a string among numbers": (set_value("1.5"), "chain.Chain.time_step('torch')", '"1.5" is no number'),
    "a boolean": (set_value(True), "chain.Chain.time_step('torch')", "true is no number"),
    "infinity": (set_value(math.inf), "chain.Chain.time_step('torch')", "infinite"),
    "too few results": (
        of_results(lambda row, columns: row[columns.index("result")].pop()),
        "chain.Chain.time_step",
        "has 1 results for 2 parameter combinations",
    ),
    "samples of other parameters": (
        of_results(lambda row, columns: row[columns.index("samples")].pop()),
        "chain.Chain.time_step",
        "samples does not belong to the 2 results",
    ),
    "params no list": (
        of_results(lambda row, columns: row.__setitem__(columns.index("params"), ["a"])),
        "chain.Chain.time_step",
        "params is no list of lists",
    ),
    "a string among samples": (
        of_results(lambda row, columns: row[columns.index("samples")][0].__setitem__(1, "x")),
        "chain.Chain.time_step('torch')",
        "samples are not all numbers",
    ),
    "NaN among samples": (
        of_results(lambda row, columns: row[columns.index("samples")][0].__setitem__(1, math.nan)),
        "chain.Chain.time_step('torch')",
        "samples are not all numbers",
    ),
    "no columns": (
        lambda path: edit(path, lambda content: content["results"].update({"chain.Chain.time_step": 3.0})),
        "chain.Chain.time_step",
        "no list of columns",
    ),
}


@pytest.mark.parametrize(("plant", "name", "why"), BENCHMARKS.values(), ids=BENCHMARKS)
def test_a_broken_benchmark_is_named_and_the_rest_is_read(tmp_path, plant, name, why):
    write_suite(tmp_path, [TIMED, PLAIN])
    path, _ = write_row(tmp_path, JAX, [(TIMED, [samples_of([1.0]), samples_of([2.0])]), (PLAIN, [samples_of([3.0])])])
    plant(path)
    archive, row = only_row(tmp_path)
    (excluded,) = archive.excluded
    assert (excluded.file, excluded.benchmark) == (f"box/{path.name}", name)
    assert why in excluded.why
    assert the_figure(row).medians == (3.0,)
    if "(" in name:
        assert the_figure(row, "chain.Chain.time_step", ("'jax'",)).medians == (2.0,)


def test_format_1_is_read(tmp_path):
    path, _ = write_row(tmp_path, JAX, [(PLAIN, [samples_of([1.0])])])
    content = json.loads(path.read_text())
    old = {key: content[key] for key in ("params", "requirements", "commit_hash", "date", "python", "env_name")}
    stats = {"ci_99": [0.9, 1.1], "q_25": 0.95, "q_75": 1.05, "number": 1, "repeat": 4}
    old["results"] = {"chain.time_plain": {"result": [1.0], "stats": [stats], "params": []}, "chain.time_bare": 2.0}
    path.write_text(json.dumps({**old, "version": 1}))
    archive, row = only_row(tmp_path)
    assert archive.excluded == []
    assert the_figure(row).interval == (0.9, 1.1)
    assert the_figure(row).value == 1.0
    assert the_figure(row, "chain.time_bare").medians == (2.0,)


def test_broken_benchmarks_json_is_named_and_nothing_is_cut(tmp_path):
    write_row(tmp_path, JAX, [(PLAIN, [samples_of([1.0, 1.0])])])
    (tmp_path / "benchmarks.json").write_text('{"chain.time_pl')
    archive, row = only_row(tmp_path)
    assert [(each.file, each.benchmark) for each in archive.excluded] == [("benchmarks.json", None)]
    assert the_figure(row).medians == ()


def test_a_folder_without_machine_json_is_the_machine(tmp_path):
    path, _ = write_row(tmp_path, JAX, [(PLAIN, [samples_of([1.0])])])
    (path.parent / "machine.json").unlink()
    archive, row = only_row(tmp_path)
    assert row.machine == "box"
    assert archive.excluded == []


def test_hardware_is_what_asv_recorded(tmp_path):
    write_row(tmp_path, JAX, [(PLAIN, [samples_of([1.0])])], machine={**MACHINE, "gpu": "NVIDIA H200", "driver": "570"})
    _, row = only_row(tmp_path)
    assert dict(row.files[0].hardware) == {"arch": "x86_64", "cpu": "some CPU", "num_cpu": "2", "gpu": "NVIDIA H200"}


def test_no_folder_is_a_users_mistake(tmp_path):
    with pytest.raises(UserError, match="there is no results folder"):
        Archive(tmp_path / "nowhere")
