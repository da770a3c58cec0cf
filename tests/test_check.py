"""Stored results to a report: which rows make a bump, what is judged, what is excluded and said."""

import io
import json
import pathlib
import re

import jsonschema
import pytest
from archive import (
    EPOCH,
    MACHINE,
    NAN,
    benchmark,
    iso,
    samples_of,
    write_journal,
    write_row,
    write_sidecar,
    write_suite,
)
from asv.util import UserError
from packaging.version import Version

from bumps import check, report
from bumps.acknowledged import Acknowledgement
from bumps.cases import Comparison, alternate, bracket
from bumps.console import Console
from bumps.margins import Margins
from bumps.results import Archive
from bumps.selection import select

SCHEMA = json.loads((pathlib.Path(check.__file__).parent / "schema.json").read_text())
REPEAT = 4


def step(name, version="1", **attributes):
    return benchmark(
        f"chain.Chain.time_{name}",
        [["'torch'", "'jax'"], ["'fp32'"]],
        ["framework", "precision"],
        version,
        **{"workload": "Chain", "mode": name, "pass": "forward", "clock": "wall", **attributes},
    )


EAGER, COMPILED = step("eager"), step("compiled")
SUITE = [EAGER, COMPILED]
ROUNDS = 5


class Session:
    """One session as `bumps run` leaves it: rows interleaved round by round, journal and result files."""

    def __init__(self, folder, name="one", started=EPOCH, commit=None):
        self.folder, self.name, self.started = folder, name, started
        self.commit = {} if commit is None else {"commit": commit}
        self.rows = []

    def row(self, requirements, medians, framework="jax", **more):
        """`medians` is a list of (benchmark, one process median a round; None: failed)."""
        self.rows.append((requirements, medians, framework, more))
        return self

    def write(self, stages=1):
        processes = []
        for position, (requirements, medians, framework, more) in enumerate(self.rows):
            values, entries = [], [[] for _ in range(ROUNDS * stages)]
            index = ["torch", "jax"].index(framework)
            for each, found in medians:
                samples = [samples_of([median], REPEAT) if median else None for median in found]
                ran = [value for part in samples if part for value in part]
                combinations = [NAN, NAN]
                combinations[index] = ran or None
                values.append((each, combinations))
                for number, part in enumerate(samples):
                    what = {"samples": part, "number": 1} if part else {"status": "failed", "reason": "it broke"}
                    entries[number].append({"benchmark": each["name"], "index": index, **what})
            _, env_name = write_row(self.folder, requirements, values, started=self.started, **self.commit, **more)
            for number, found in enumerate(entries):
                # old new, new old, …
                order = position if number % 2 == 0 else len(self.rows) - position
                at = self.started + number * 100 + order * 10
                processes.append((env_name, number // ROUNDS, number % ROUNDS, at, found))
        write_journal(self.folder, self.name, processes, versions={EAGER["name"]: "1"}, **self.commit)
        return self


def steady(level, count=ROUNDS):
    return [level * (1 + 0.001 * (number % 3 - 1)) for number in range(count)]


def two_releases(folder, old=None, new=None, control=None):
    """The usual archive: jax 0.9.2 → 0.10.2 with its control, both modes measured."""
    write_suite(folder, SUITE)
    session = Session(folder)
    session.row({"jax": "0.9.2"}, old or measured())
    session.row({"jax": "0.10.2"}, new or measured())
    session.row({"jax": "0.10.2"}, control or measured(), env_vars={"BENCH_ACCELERATOR": "cpu", "REPLICA": "control"})
    return session.write()


def measured(**levels):
    """Return (benchmark, process medians) by mode: a level, or one median a round."""
    suite = {"eager": EAGER, "compiled": COMPILED}
    levels = levels or {"eager": 1.0, "compiled": 0.5}
    return [(suite[mode], level if isinstance(level, list) else steady(level)) for mode, level in levels.items()]


def report_of(folder, old="0.9.2", new="0.10.2", framework="jax", **more):
    found = check.report(folder, None, framework, old, new, acknowledgements=more.pop("known", ()), **more)
    jsonschema.validate(found, SCHEMA)
    return found


def row_of(report, name, **params):
    (row,) = [
        row for row in report["benchmarks"] if row["name"].endswith(name) and params.items() <= row["params"].items()
    ]
    return row


def test_an_unchanged_bump_is_the_same(tmp_path):
    two_releases(tmp_path)
    report = report_of(tmp_path)
    assert {row["verdict"] for row in report["benchmarks"]} == {"same"}
    assert len(report["benchmarks"]) == 2
    assert report["interleaved"]
    assert report["excluded"] == []
    assert report["summary"]["exit_status"] == 0
    assert report["summary"]["control"] == {"judged": 2, "alarms": 0}
    row = row_of(report, "time_eager")
    assert row["params"] == {"framework": "jax", "precision": "fp32"}
    assert (row["workload"], row["mode"], row["pass"], row["clock"]) == ("Chain", "eager", "forward", "wall")
    assert row["processes_old"] == row["processes_new"] == ROUNDS
    assert row["medians_old"] == pytest.approx(steady(1.0))
    assert len(row["medians_control"]) == ROUNDS


def test_a_probe_belongs_to_no_workload(tmp_path):
    two_releases(tmp_path)
    write_suite(tmp_path, [{**each, "workload": ""} for each in SUITE])
    report = report_of(tmp_path)
    assert {row["workload"] for row in report["benchmarks"]} == {None}
    assert report["summary"]["geomean"]["by_workload"] == {}
    assert report["summary"]["geomean"]["overall"] == pytest.approx(1, rel=0.01)


def test_the_geometric_mean_counts_a_step_once_by_its_wall_time(tmp_path):
    two_releases(tmp_path, new=measured(eager=2.0, compiled=0.5))
    for clocks, overall in ((("wall", "device"), 2.0), (("wall", "kernels"), 2.0), (("wall", "wall"), 2**0.5)):
        write_suite(tmp_path, [{**each, "clock": clock} for each, clock in zip(SUITE, clocks, strict=True)])
        assert report_of(tmp_path)["summary"]["geomean"]["overall"] == pytest.approx(overall, rel=0.01)
    # Another suite tells of no clock.
    write_suite(tmp_path, [{name: value for name, value in each.items() if name != "clock"} for each in SUITE])
    assert report_of(tmp_path)["summary"]["geomean"]["overall"] == pytest.approx(2**0.5, rel=0.01)


def test_both_figures_make_the_ratio_that_is_judged(tmp_path):
    noisy = [1.0, 1.7, 1.1, 0.6, 1.3]
    two_releases(
        tmp_path,
        old=measured(eager=[0.9, 1.6, 1.0, 2.4, 1.2]),
        new=measured(eager=noisy),
        control=measured(eager=[1.9, 0.7, 1.2, 1.0, 2.2]),
    )
    row = row_of(report_of(tmp_path), "time_eager")
    assert row["figure_new"] / row["figure_old"] == pytest.approx(row["ratio"])


def test_the_headline_says_how_much_is_not_confirmed(tmp_path):
    two_releases(tmp_path, new=measured(eager=1.0, compiled=0.8), control=measured(eager=1.0, compiled=0.8))
    summary = report_of(tmp_path)["summary"]
    assert summary["unconfirmed"] == 1
    assert "1 regressed (1 of them not confirmed); 1 of 2 the same" in summary["sentence"]


def test_a_slower_benchmark_regressed(tmp_path):
    two_releases(tmp_path, new=measured(eager=1.0, compiled=0.8))
    report = report_of(tmp_path)
    row = row_of(report, "time_compiled")
    assert row["verdict"] == "regressed"
    assert row["ratio"] == pytest.approx(1.6, rel=0.01)
    assert row["low"] < 1.6 < row["high"]
    assert report["benchmarks"][0] is row
    summary = report["summary"]
    assert summary["exit_status"] == 1
    assert summary["worst"] == {"name": row["name"], "params": row["params"], "ratio": row["ratio"]}
    assert "1 regressed" in summary["sentence"]
    assert summary["geomean"]["by_workload"]["Chain"] == pytest.approx(1.6**0.5, rel=0.01)


def test_a_benchmark_that_fails_now_is_broken_with_the_reason(tmp_path):
    two_releases(tmp_path, new=measured(eager=1.0, compiled=[None] * ROUNDS))
    row = row_of(report_of(tmp_path), "time_compiled")
    assert row["verdict"] == "broken"
    assert row["failures_new"] == ["it broke"] * ROUNDS
    assert "it broke" in row["why"]


def test_a_benchmark_that_only_one_side_has_is_named(tmp_path):
    two_releases(tmp_path, old=measured(eager=1.0))
    report = report_of(tmp_path)
    row = row_of(report, "time_compiled")
    assert row["verdict"] == "unmeasured"
    assert "old" in row["why"]
    assert row_of(report, "time_eager")["verdict"] == "same"


def test_rows_measured_one_after_the_other_are_at_best_ambiguous(tmp_path):
    write_suite(tmp_path, SUITE)
    Session(tmp_path, "one").row({"jax": "0.9.2"}, measured()).write()
    Session(tmp_path, "two", EPOCH + 9000).row({"jax": "0.10.2"}, measured(eager=2.0, compiled=0.5)).write()
    report = report_of(tmp_path)
    assert not report["interleaved"]
    assert {row["verdict"] for row in report["benchmarks"]} == {"ambiguous"}
    assert report["summary"]["exit_status"] == 3


@pytest.mark.parametrize(("offset", "verdict"), [(30, "same"), (3000, "ambiguous")], ids=["in turn", "afterwards"])
def test_the_sidecars_times_tell_whether_asv_run_interleaved(tmp_path, offset, verdict):
    write_suite(tmp_path, SUITE)
    for release, start in (("0.9.2", 0), ("0.10.2", offset)):
        _, env_name = write_row(tmp_path, {"jax": release}, [(EAGER, [NAN, samples_of(steady(1.0))])])
        cost = {"record": "cost", "benchmark": EAGER["name"], "params": ["jax", "fp32"]}
        write_sidecar(
            tmp_path, env_name, [{**cost, "time": iso(EPOCH + start + 100 * number)} for number in range(ROUNDS)]
        )
    report = report_of(tmp_path)
    assert row_of(report, "time_eager")["verdict"] == verdict


def test_a_control_that_brackets_both_makes_up_for_interleaving(tmp_path):
    write_suite(tmp_path, SUITE)
    replica = {"BENCH_ACCELERATOR": "cpu", "REPLICA": "control"}
    Session(tmp_path, "one", EPOCH).row({"jax": "0.9.2"}, measured()).write()
    Session(tmp_path, "two", EPOCH + 9000).row({"jax": "0.10.2"}, measured()).write()
    Session(tmp_path, "three", EPOCH + 18000).row({"jax": "0.9.2"}, measured(), env_vars=replica).write()
    report = report_of(tmp_path)
    assert report["interleaved"]
    assert {row["verdict"] for row in report["benchmarks"]} == {"same"}


def test_the_users_word_for_interleaving_is_recorded(tmp_path):
    write_suite(tmp_path, SUITE)
    for release in ("0.9.2", "0.10.2"):
        write_row(tmp_path, {"jax": release}, [(EAGER, [NAN, samples_of(steady(1.0))])])
    assert row_of(report_of(tmp_path), "time_eager")["verdict"] == "ambiguous"
    report = report_of(tmp_path, assume_interleaved=True)
    assert row_of(report, "time_eager")["verdict"] == "same"
    assert report["forced"] == ["taken to be interleaved on the user's word"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([1, 4, 5], [2, 3, 6], True),
        ([1, 3, 5], [2, 4, 6], True),
        ([1, 2, 3], [4, 5, 6], False),
        ([1, 2, 4], [3, 5, 6], True),
        ([1, 2, 3, 4, 6], [5, 7, 8, 9, 10], False),
        ([1], [2], False),
        ([1, 1, 1], [2, 2, 2], False),
    ],
)
def test_alternation(old, new, expected):
    assert alternate(old, new) is expected


@pytest.mark.parametrize(
    ("row", "replica", "expected"),
    [
        ([1], [9], True),
        ([9], [1], True),
        ([1], [5], False),
        ([3], [9], False),
        ([1, 9], [2, 8], False),
        ([], [9], False),
    ],
)
def test_bracketing(row, replica, expected):
    assert bracket(row, replica, [2, 3], [6, 7]) is expected


def test_later_sessions_of_one_side_do_not_disturb_the_bump(tmp_path):
    two_releases(tmp_path)
    # The new release is measured again beside a newer one, on a day when everything was slower.
    path = next(tmp_path.glob("box/*jax0.10.2-BENCH_ACCELERATORcpu.json"))
    content = json.loads(path.read_text())
    columns = content["result_columns"]
    samples = samples_of(steady(2.0))
    content["results"][EAGER["name"]][columns.index("samples")][1] += samples
    path.write_text(json.dumps(content))
    pieces = [samples[start : start + REPEAT] for start in range(0, len(samples), REPEAT)]
    entries = [[{"benchmark": EAGER["name"], "index": 1, "samples": piece, "number": 1}] for piece in pieces]
    write_journal(
        tmp_path,
        "two",
        [(content["env_name"], 0, number, EPOCH + 90_000 + number, each) for number, each in enumerate(entries)],
    )
    report = report_of(tmp_path)
    row = row_of(report, "time_eager")
    assert row["verdict"] == "same"
    assert row["processes_new"] == ROUNDS
    assert any("did not measure the other release" in each["why"] for each in report["superseded"])


def test_what_asv_run_measured_at_another_commit_does_not_count_beside_a_session_of_both(tmp_path):
    two_releases(tmp_path)
    for release, level in (("0.9.2", 1.0), ("0.10.2", 2.0)):
        values = [(EAGER, [NAN, samples_of(steady(level))])]
        write_row(tmp_path, {"jax": release}, values, commit="b" * 40, started=EPOCH + 90_000)
    row = row_of(report_of(tmp_path), "time_eager")
    assert (row["verdict"], row["interleaved"]) == ("same", True)
    assert row["processes_old"] == row["processes_new"] == ROUNDS
    assert row["medians_new"] == pytest.approx(steady(1.0))


def test_failures_of_asv_run_at_another_commit_do_not_count_beside_a_session_of_both(tmp_path):
    two_releases(tmp_path)
    for commit in "bcdef":
        write_row(tmp_path, {"jax": "0.10.2"}, [(EAGER, [NAN, None])], commit=commit * 40, started=EPOCH + 90_000)
    row = row_of(report_of(tmp_path), "time_eager")
    assert row["verdict"] == "same"
    assert row["failures_new"] == []


def test_a_session_that_a_later_one_replaced_still_judges_its_own_bump(tmp_path):
    """The new release is measured afresh for the next bump: its file holds that session alone, the journals both."""
    two_releases(tmp_path)
    newer = Session(tmp_path, "two", EPOCH + 90_000)
    newer.row({"jax": "0.10.2"}, measured(eager=2.0, compiled=1.0)).row({"jax": "0.11.2"}, measured()).write()
    first = report_of(tmp_path)
    assert row_of(first, "time_eager")["verdict"] == "same"
    assert row_of(first, "time_eager")["medians_new"] == pytest.approx(steady(1.0))
    second = report_of(tmp_path, old="0.10.2", new="0.11.2")
    assert row_of(second, "time_eager")["verdict"] == "improved"
    assert row_of(second, "time_eager")["medians_old"] == pytest.approx(steady(2.0))


def test_failures_of_a_replaced_session_are_its_own(tmp_path):
    write_suite(tmp_path, SUITE)
    broken = measured(eager=[None] * ROUNDS, compiled=0.5)
    Session(tmp_path, "one").row({"jax": "0.9.2"}, measured()).row({"jax": "0.10.2"}, broken).write()
    assert row_of(report_of(tmp_path), "time_eager")["verdict"] == "broken"
    again = Session(tmp_path, "two", EPOCH + 90_000)
    again.row({"jax": "0.9.2"}, measured()).row({"jax": "0.10.2"}, measured()).write()
    row = row_of(report_of(tmp_path), "time_eager")
    assert row["verdict"] == "same"
    assert row["failures_new"] == []


def test_a_journal_that_does_not_match_the_file_leaves_the_file_its_processes(tmp_path):
    two_releases(tmp_path)
    path = next(tmp_path.glob("box/sessions/*.jsonl"))
    path.write_text(path.read_text().replace("0.9", "0.8"))
    row = row_of(report_of(tmp_path), "time_eager")
    assert row["processes_old"] == row["processes_new"] == ROUNDS
    assert row["verdict"] == "ambiguous"


def test_a_benchmark_whose_source_changed_is_named_and_left_out(tmp_path):
    write_suite(tmp_path, SUITE)
    plain = [NAN, samples_of(steady(1.0))]
    write_row(tmp_path, {"jax": "0.9.2"}, [(step("eager", "1"), plain), (COMPILED, plain)])
    write_row(tmp_path, {"jax": "0.10.2"}, [(step("eager", "2"), plain), (COMPILED, plain)])
    report = report_of(tmp_path)
    assert [row["name"] for row in report["benchmarks"]] == [COMPILED["name"]]
    (excluded,) = report["excluded"]
    assert excluded["benchmark"] == EAGER["name"]
    assert "source differs" in excluded["why"]
    assert "jax0.10.2" in excluded["file"]


def test_an_older_source_is_superseded_when_both_sides_have_the_newer(tmp_path):
    write_suite(tmp_path, SUITE)
    for release in ("0.9.2", "0.10.2"):
        for version, commit, started in (("1", "a" * 40, EPOCH), ("2", "b" * 40, EPOCH + 500)):
            values = [(step("eager", version), [NAN, samples_of(steady(float(version)))])]
            write_row(tmp_path, {"jax": release}, values, commit=commit, started=started)
    write_suite(tmp_path, [step("eager", "2")])
    report = report_of(tmp_path)
    assert report["excluded"] == []
    assert len(report["superseded"]) == 2
    assert row_of(report, "time_eager")["medians_old"] == pytest.approx(steady(2.0))
    assert report["commit"] == "b" * 40


def test_a_file_without_the_benchmark_dates_no_version(tmp_path):
    write_suite(tmp_path, [step("eager", "2"), COMPILED])
    for release in ("0.9.2", "0.10.2"):
        for version, commit, started in (("1", "a" * 40, EPOCH), ("2", "b" * 40, EPOCH + 500)):
            values = [(step("eager", version), [NAN, samples_of(steady(float(version)))])]
            write_row(tmp_path, {"jax": release}, values, commit=commit, started=started)
        # Another selection, measured later from a checkout of the older source.
        values = [(step("eager", "1"), [NAN, NAN]), (COMPILED, [NAN, samples_of(steady(1.0))])]
        write_row(tmp_path, {"jax": release}, values, commit="c" * 40, started=EPOCH + 1000)
    assert row_of(report_of(tmp_path), "time_eager")["medians_old"] == pytest.approx(steady(2.0))


def test_the_file_named_for_a_changed_source_holds_the_benchmark(tmp_path):
    write_suite(tmp_path, SUITE)
    plain = [NAN, samples_of(steady(1.0))]
    write_row(tmp_path, {"jax": "0.9.2"}, [(step("eager", "1"), plain), (COMPILED, plain)])
    write_row(tmp_path, {"jax": "0.10.2"}, [(step("eager", "2"), plain)], commit="b" * 40)
    later = [(step("eager", "2"), [NAN, NAN]), (COMPILED, plain)]
    write_row(tmp_path, {"jax": "0.10.2"}, later, commit="c" * 40, started=EPOCH + 500)
    (excluded,) = report_of(tmp_path)["excluded"]
    assert excluded["benchmark"] == EAGER["name"]
    assert "bbbbbbbb" in excluded["file"]


def test_another_gpu_under_the_same_name_is_excluded(tmp_path):
    write_suite(tmp_path, SUITE)
    values = [(EAGER, [NAN, samples_of(steady(1.0))])]
    for commit, gpu, started in (("a" * 40, "NVIDIA A100", EPOCH), ("b" * 40, "NVIDIA H200", EPOCH + 100)):
        for release in ("0.9.2", "0.10.2"):
            machine = {**MACHINE, "gpu": gpu}
            write_row(tmp_path, {"jax": release}, values, machine=machine, commit=commit, started=started)
    report = report_of(tmp_path)
    assert len(report["excluded"]) == 2
    assert all("gpu is NVIDIA A100" in each["why"] for each in report["excluded"])
    assert row_of(report, "time_eager")["processes_old"] == ROUNDS


def test_processes_that_were_disturbed_are_left_out_and_named(tmp_path):
    session = two_releases(tmp_path)
    env_name = "pinned-py3.11-jax0.10.2-BENCH_ACCELERATORcpu"
    second = session.started + 100 + 2 * 10
    telemetry = {
        "record": "telemetry",
        "time": iso(second + 1),
        "benchmark": EAGER["name"],
        "params": ["jax", "fp32"],
        "disturbed": ["hardware slowdown"],
    }
    write_sidecar(tmp_path, env_name, [telemetry])
    report = report_of(tmp_path)
    row = row_of(report, "time_eager")
    assert row["processes_new"] == ROUNDS - 1
    assert row["audits"] == ["disturbed"]
    (excluded,) = report["excluded"]
    assert excluded["benchmark"] == EAGER["name"] + "('jax', 'fp32')"
    assert excluded["why"] == "1 of 5 processes were disturbed: hardware slowdown"
    assert row_of(report, "time_compiled")["processes_new"] == ROUNDS


def test_audits_components_and_skips_come_from_the_sidecars(tmp_path):
    two_releases(tmp_path)
    for release, cudnn, flag in (("0.9.2", "9.1", "ok"), ("0.10.2", "9.2", "elided")):
        write_sidecar(
            tmp_path,
            f"pinned-py3.11-jax{release}-BENCH_ACCELERATORcpu",
            [
                {"record": "environment", "packages": {"jax": release, "cudnn": cudnn, "numpy": "2.4"}, "driver": None},
                {
                    "record": "audit",
                    "benchmark": EAGER["name"],
                    "params": ["jax", "fp32"],
                    "version": "1",
                    "audit": "work",
                    "outcome": flag,
                    "detail": {},
                },
            ],
        )
    report = report_of(tmp_path)
    assert report["components"] == [{"name": "cudnn", "old": "9.1", "new": "9.2"}]
    assert row_of(report, "time_eager")["audits"] == ["elided"]
    assert row_of(report, "time_compiled")["audits"] == []
    assert report["summary"]["audits"] == {"elided": 1}


def test_a_row_that_cannot_be_built_is_broken(tmp_path):
    write_suite(tmp_path, SUITE)
    write_row(tmp_path, {"jax": "0.9.2"}, [(EAGER, [NAN, samples_of(steady(1.0))])])
    path, env_name = write_row(tmp_path, {"jax": "0.10.2"}, [(EAGER, [NAN, None])])
    content = json.loads(path.read_text())
    content["env_name"] += "-unbuildable"
    path.write_text(json.dumps(content))
    write_sidecar(tmp_path, env_name, [{"record": "unbuildable", "reason": "no space left on device"}])
    row = row_of(report_of(tmp_path), "time_eager")
    assert row["verdict"] == "broken"
    assert "could not be built: no space left" in row["why"]


def test_an_acknowledged_regression_stays_visible_and_does_not_count(tmp_path):
    two_releases(tmp_path, new=measured(eager=1.0, compiled=0.8))
    known = Acknowledgement(
        "jax", Version("0.10.2"), re.compile("time_compiled"), "Ada", "known upstream", Version("0.12")
    )
    report = report_of(tmp_path, known=[known])
    row = row_of(report, "time_compiled")
    assert row["verdict"] == "regressed"
    assert row["acknowledged"] == {"who": "Ada", "why": "known upstream", "until": "0.12"}
    assert report["summary"]["exit_status"] == 0
    assert "1 acknowledged" in report["summary"]["sentence"]


# Which rows make a bump.


def one_benchmark(folder, requirements, **more):
    return write_row(folder, requirements, [(EAGER, [NAN, samples_of(steady(1.0))])], **more)


def test_a_release_that_was_not_measured_names_the_near_ones(tmp_path):
    two_releases(tmp_path)
    with pytest.raises(UserError, match=r"jax 0\.9\.3 was not measured; measured are 0\.9\.2"):
        report_of(tmp_path, old="0.9.3")
    with pytest.raises(UserError, match="is no version of jax"):
        report_of(tmp_path, old="old")
    with pytest.raises(UserError, match=r"no result .* names numpy in its requirements; they name: jax"):
        report_of(tmp_path, framework="numpy")


def test_other_pythons_are_refused_or_marked(tmp_path):
    write_suite(tmp_path, SUITE)
    one_benchmark(tmp_path, {"jax": "0.9.2"}, python="3.11")
    one_benchmark(tmp_path, {"jax": "0.10.2"}, python="3.12")
    with pytest.raises(UserError, match=r"differ in more than the release \(Python: 0.9.2 on 3.11, 0.10.2 on 3.12\)"):
        report_of(tmp_path)
    assert report_of(tmp_path, force=True)["forced"] == ["Python: 0.9.2 on 3.11, 0.10.2 on 3.12"]


def test_other_accelerators_are_refused(tmp_path):
    write_suite(tmp_path, SUITE)
    one_benchmark(tmp_path, {"jax": "0.9.2"})
    one_benchmark(tmp_path, {"jax": "0.10.2"}, env_vars={"BENCH_ACCELERATOR": "cuda12"})
    with pytest.raises(UserError, match=r"accelerator: 0\.9\.2 on cpu, 0\.10\.2 on cuda12"):
        report_of(tmp_path)


def test_other_machines_are_no_bump_even_when_forced(tmp_path):
    write_suite(tmp_path, SUITE)
    one_benchmark(tmp_path, {"jax": "0.9.2"})
    one_benchmark(tmp_path, {"jax": "0.10.2"}, machine={**MACHINE, "machine": "other"})
    with pytest.raises(UserError, match="a bump is judged on one machine"):
        report_of(tmp_path, force=True)


def test_a_choice_that_is_left_open_says_which_option_decides(tmp_path):
    write_suite(tmp_path, SUITE)
    for python in ("3.11", "3.12"):
        for release in ("0.9.2", "0.10.2"):
            one_benchmark(tmp_path, {"jax": release}, python=python)
    with pytest.raises(UserError, match=r"on 3\.11 and on 3\.12; choose with --python"):
        report_of(tmp_path)
    assert report_of(tmp_path, python="3.12")["python"] == "3.12"


def test_controls_and_overridden_rows_are_no_releases(tmp_path):
    two_releases(tmp_path)
    one_benchmark(tmp_path, {"jax": "0.9.2"}, env_vars={"BENCH_ACCELERATOR": "cpu", "BENCH_OVERRIDE": "numpy==2.0"})
    assert check.bumps(tmp_path) == [("jax", "0.9.2", "0.10.2", "box", "3.11", "cpu")]
    assert report_of(tmp_path)["environments"]["old"] == "pinned-py3.11-jax0.9.2-BENCH_ACCELERATORcpu"


def test_neighbours_are_by_version_whatever_the_text_says(tmp_path):
    write_suite(tmp_path, SUITE)
    for release in ("0.10.2", "0.9.2", "0.12.0.1", "0.9.10"):
        one_benchmark(tmp_path, {"jax": release})
    pairs = [(bump.old, bump.new) for bump in check.bumps(tmp_path)]
    assert pairs == [("0.9.2", "0.9.10"), ("0.9.10", "0.10.2"), ("0.10.2", "0.12.0.1")]


def test_two_installed_interpreters_make_a_bump(tmp_path):
    write_suite(tmp_path, SUITE)
    for label, release in (("a-1", "0.9.2"), ("b-2", "0.10.2")):
        variables = {"BENCH_ACCELERATOR": "cpu", "BENCH_INTERPRETER": label}
        one_benchmark(tmp_path, {"jax": release}, env_vars=variables, env_type="installed")
    assert report_of(tmp_path)["environments"]["new"].startswith("installed")


def test_other_requirements_keep_rows_apart(tmp_path):
    write_suite(tmp_path, [EAGER])
    for scipy in ("1.14", "1.15"):
        for numpy in ("2.1", "2.2"):
            one_benchmark(tmp_path, {"numpy": numpy, "scipy": scipy}, env_vars={}, env_type="virtualenv")
    found = check.report(tmp_path, None, "numpy", "2.1", "2.2", where={"scipy": "1.14"}, acknowledgements=())
    assert found["environments"]["old"] == "virtualenv-py3.11-numpy2.1-scipy1.14"
    assert found["accelerator"] is None


def test_an_archive_is_read_once_for_several_reports(tmp_path):
    two_releases(tmp_path)
    archive = Archive(tmp_path)
    for path in tmp_path.glob("box/*.json"):
        path.unlink()
    assert report_of(archive)["summary"]["judged"] == 2


def test_the_controls_row_is_recognised_as_the_bumps_own(tmp_path):
    """The judgement pools a control's processes with its row's, which it knows by its batches."""
    two_releases(tmp_path)
    archive = Archive(tmp_path)
    comparison = Comparison(archive, select(archive, "jax", "0.9.2", "0.10.2"), Margins({}))
    for each in comparison.compare():
        ((row, replica),) = each.case.controls
        assert row.batches == each.case.new.batches
        assert len(replica.batches) == len(row.batches)


def test_a_narrow_terminal_has_every_figure_in_whole_lines(tmp_path):
    slower = measured(eager=1.0, compiled=0.8)
    two_releases(tmp_path, new=slower, control=slower)
    found = report_of(tmp_path)
    for width in (60, 80, 139, 140, 300):
        console = Console(file=io.StringIO(), width=width)
        console.print(report.as_text(found, True, console.width))
        lines = console.file.getvalue().splitlines()
        assert all(len(line.rstrip()) <= width for line in lines)
        (place,) = [number for number, line in enumerate(lines) if line.startswith("regressed")]
        # Nothing but the reason is folded.
        row = " ".join(lines[place : place + 2])
        for text in ("chain.Chain.time_compiled(fp32)", "1.600× (", "500ms → 800ms", "5 + 5"):
            assert text in row
