"""What the matrix no longer needs."""

import datetime
import json
import os

import pytest
from asv.config import Config
from asv.util import UserError
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from env_matrix import build_lock, cli, constraints, matrix, prune
from env_matrix.constraints import Constraints
from env_matrix.prune import Leftover, Wanted
from env_matrix.releases import parse

ROWS = frozenset({("jax", Version("0.9.2")), ("torch", Version("2.8.0"))})
NAMED = Wanted(ROWS, frozenset())
NOW = 1_800_000_000


def environment(env_dir, digit, requirements, tool="pinned", **variables):
    folder = env_dir / (digit * 32)
    folder.mkdir(parents=True)
    (folder / "library.so").write_bytes(b"x" * 5000)
    content = {
        "tool_name": tool,
        "python": "3.11",
        "requirements": requirements,
        "build_env_vars": {"BENCH_ACCELERATOR": "cpu", **variables},
    }
    (folder / "asv-env-info.json").write_text(json.dumps(content))
    return folder


def test_only_environments_of_no_row_are_left_over(tmp_path):
    environment(tmp_path, "a", {"jax": "0.9.2"})
    environment(tmp_path, "b", {"torch": "2.8.0"}, BENCH_OVERRIDE="numpy==2.0")
    gone = environment(tmp_path, "c", {"jax": "0.8.3"})
    swapped = environment(tmp_path, "d", {"jax": "0.9.2"}, BENCH_OVERRIDE="scipy==1.0")
    environment(tmp_path, "e", {"jax": "0.8.3"}, tool="installed")
    broken = tmp_path / ("f" * 32)
    broken.mkdir()
    (broken / "asv-env-info.json").write_text("{")
    other = tmp_path / "my notes"
    other.mkdir()
    (tmp_path / ("1" * 32)).symlink_to(gone)
    for digit, content in (("2", "[]"), ("3", "null"), ("4", '{"requirements": ["torch"]}'), ("5", "[" * 100_000)):
        damaged = tmp_path / (digit * 32)
        damaged.mkdir()
        (damaged / "asv-env-info.json").write_text(content)
    environment(tmp_path, "6", None)
    found = prune.leftovers(tmp_path, Wanted(ROWS, frozenset({"numpy==2.0"})), NOW)
    assert [(item.path, item.what) for item in found] == [
        (gone, "jax 0.8.3: no longer in the matrix"),
        (swapped, "jax 0.9.2 with scipy==1.0: no longer in the matrix"),
    ]
    assert prune.leftovers(tmp_path / "absent", NAMED, NOW) == []


def test_a_killed_build_is_left_over_but_not_one_under_way(tmp_path):
    killed, running = tmp_path / ("a" * 32), tmp_path / ("b" * 32)
    for folder, age in ((killed, 4000), (running, 60)):
        folder.mkdir()
        os.utime(folder, (NOW - age, NOW - age))
    assert prune.leftovers(tmp_path, NAMED, NOW) == [Leftover(killed, "a build that did not finish")]


def test_what_somebody_builds_is_never_removed_however_long_it_takes(tmp_path):
    """pip does not touch the folder itself while it installs."""
    slow, gone = tmp_path / ("a" * 32), environment(tmp_path, "b", {"jax": "0.8.3"})
    slow.mkdir()
    os.utime(slow, (NOW - 9000, NOW - 9000))
    locks = [build_lock.of(folder) for folder in (slow, gone)]
    with build_lock.exclusive(locks[0], pytest.fail), build_lock.exclusive(locks[1], pytest.fail):
        assert prune.leftovers(tmp_path, NAMED, NOW) == []
        for folder in (slow, gone):
            with pytest.raises(UserError, match="is being built"):
                prune.remove(Leftover(folder, ""), tmp_path)
    for found in prune.leftovers(tmp_path, NAMED, NOW):
        prune.remove(found, tmp_path)
    assert not slow.exists()
    assert not gone.exists()


PLAIN = {"req": {"torch": [None, "2.8.0"], "jax": [None, "0.9.2"]}}
EXCLUDE = [{"req": {"torch": ".+", "jax": ".+"}}, {"req": {"torch": None, "jax": None}}]


@pytest.mark.parametrize(
    ("content", "rows", "overrides"),
    [
        ({"matrix": PLAIN}, {"torch 2.8.0", "jax 0.9.2"}, set()),
        ({"matrix": {**PLAIN, "env": {"BENCH_OVERRIDE": "numpy==2.0"}}}, {"torch 2.8.0", "jax 0.9.2"}, {"numpy==2.0"}),
        (
            {"matrix": {**PLAIN, "env": {"BENCH_OVERRIDE": [None, "numpy==2.0", "scipy==1.0"]}}},
            {"torch 2.8.0", "jax 0.9.2"},
            {"numpy==2.0", "scipy==1.0"},
        ),
        (
            {
                "matrix": PLAIN,
                "include": [
                    {"environment_type": "pinned", "python": "3.11", "req": {"torch": "2.7.1"}},
                    {"python": "3.12", "req": {"jax": "0.8.3"}, "env": {"BENCH_OVERRIDE": "numpy==1.0"}},
                ],
            },
            {"torch 2.8.0", "jax 0.9.2", "torch 2.7.1", "jax 0.8.3"},
            {"numpy==1.0"},
        ),
        # asv's old form.
        ({"matrix": {"torch": [None, "2.8.0"], "jax": [None, "0.9.2"]}}, {"torch 2.8.0", "jax 0.9.2"}, set()),
    ],
)
def test_what_asv_would_build_is_wanted(content, rows, overrides):
    configuration = Config.from_json({"exclude": EXCLUDE, **content, "project": "p", "repo": "."})
    found = prune.wanted(configuration, ["3.11", "3.12"])
    assert {f"{name} {version}" for name, version in found.rows} == rows
    assert found.overrides == overrides


@pytest.mark.parametrize("content", [{}, {"req": {}}, {"env": None}, {"req": None}, {"req": {"numpy": ["2.0"]}}])
def test_nothing_is_removed_by_a_configuration_that_names_no_row(content):
    configuration = Config.from_json({"exclude": EXCLUDE, "matrix": content, "project": "p", "repo": "."})
    with pytest.raises(UserError, match="nothing was removed"):
        prune.wanted(configuration, ["3.11"])


def test_nothing_outside_the_folder_of_environments_is_removed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    with pytest.raises(UserError, match="nothing was removed"):
        prune.remove(Leftover(outside, ""), tmp_path / "env")
    assert outside.is_dir()


def with_date(text, date):
    day = datetime.date.fromisoformat(date)
    return Constraints(parse(text), day, day, SpecifierSet(">=3.11"), ("cpu",), ("numpy==2.4.0",))


def test_old_prereleases_go_and_releases_stay():
    rows = [
        (parse(text), with_date(text, date))
        for text, date in (
            ("jax==0.1.0", "2020-01-01"),
            ("jax==0.13.0.dev20261001", "2026-10-01"),
            ("torch==2.16.0rc1", "2026-11-25"),
        )
    ]
    today = datetime.date(2026, 12, 1)
    assert prune.old_prereleases(rows, 30, today) == [(rows[1][0], 61)]
    assert prune.old_prereleases(rows, 61, today) == []
    assert len(prune.old_prereleases(rows, 5, today)) == 2


def test_the_command_removes_rows_constraints_and_environments(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(matrix, "PATH", tmp_path / "asv.conf.json")
    monkeypatch.setattr(constraints, "FOLDER", tmp_path / "constraints")
    matrix.PATH.write_text(
        '{"version": 1, "project": "x", "repo": ".", "env_dir": "env",\n'
        ' "matrix": {"req": {"torch": [null], "jax": [null, "0.9.2", "0.13.0.dev20200101"]}}}\n'
    )
    for text in ("jax==0.9.2", "jax==0.13.0.dev20200101"):
        constraints.save(with_date(text, "2020-01-01"))
    nightly = environment(tmp_path / "env", "a", {"jax": "0.13.0.dev20200101"})
    kept = environment(tmp_path / "env", "b", {"jax": "0.9.2"})

    before = matrix.PATH.read_text()
    assert cli.main(["prune", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "would remove the row jax 0.13.0.dev20200101" in said
    assert f"would remove {nightly.name} (0.00 GB): jax 0.13.0.dev20200101: no longer in the matrix" in said
    assert matrix.PATH.read_text() == before
    assert nightly.is_dir()

    assert cli.main(["prune"]) == 0
    assert '"jax": [null, "0.9.2"]' in matrix.PATH.read_text()
    assert not nightly.exists()
    assert kept.is_dir()
    assert [path.name for path in constraints.FOLDER.iterdir()] == ["jax-0.9.2.txt"]
    capsys.readouterr()
    assert cli.main(["prune"]) == 0
    assert capsys.readouterr().out == "nothing to remove\n"
