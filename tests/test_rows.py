import pytest
from asv import environment
from asv.config import Config
from asv.util import UserError

from bumps.rows import Rows, load_config


class Pretended(environment.Environment):
    """An environment that is never built; release 9.0 is not for this Python."""

    tool_name = "pretended"
    unbuildable = None

    def __init__(self, conf, python, requirements, tagged_env_vars):
        self._python, self._requirements, self._tagged_env_vars = python, requirements, tagged_env_vars
        if requirements.get("jax") == "9.0":
            raise environment.EnvironmentUnavailable("jax 9.0 needs Python >= 3.99; this is 3.11")
        super().__init__(conf, python, requirements, tagged_env_vars)


class PretendedInstalled(Pretended):
    """An interpreter that holds jax 0.5; its name is its path."""

    tool_name = "installed"

    def __init__(self, conf, python, requirements, tagged_env_vars):
        if "missing" in python:
            raise environment.EnvironmentUnavailable(f"there is no interpreter {python}")
        super().__init__(conf, "3.11", {"jax": "0.5"}, {**tagged_env_vars, ("build", "BENCH_INTERPRETER"): python})


@pytest.fixture(autouse=True)
def only_pretended_environments(monkeypatch):
    """asv looks for an environment type among all subclasses; those that other test modules loaded do not count."""
    known = {cls.tool_name: cls for cls in (Pretended, PretendedInstalled)}
    monkeypatch.setattr(environment, "get_environment_class_by_name", known.__getitem__)


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Rows(config())


def config(matrix=None):
    found = Config()
    found.environment_type = "pretended"
    found.pythons = ["3.11"]
    found.matrix = matrix or {
        "req": {"torch": [None, "2.8.0"], "jax": [None, "0.9.2", "9.0", "0.8.3", "0.10.2"]},
        "env": {"BENCH_OVERRIDE": [None, "numpy==1.0"]},
        "env_nobuild": {"REPLICA": [None, "control"]},
    }
    return found


def test_row_holds_one_release_and_nothing_optional(rows):
    row = rows.row("jax", "0.10.2")
    assert row.environment.requirements == {"jax": "0.10.2"}
    assert row.environment.env_vars == {}
    assert str(row) == "jax 0.10.2"


def test_control_is_the_same_environment_under_another_name(rows):
    row = rows.row("jax", "0.10.2")
    control = rows.control(row)
    assert control.environment.dir_name == row.environment.dir_name
    assert control.env_name == f"{row.env_name}-REPLICAcontrol"
    assert str(control) == "jax 0.10.2 control"


def test_requirements_that_every_row_needs_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matrix = {"req": {"jax": [None, "0.9.2"], "scipy": ["1.14", "1.15"]}, "env": {"MODE": ["fast", "slow"]}}
    row = Rows(config(matrix)).row("jax", "0.9.2")
    assert row.environment.requirements == {"jax": "0.9.2", "scipy": "1.14"}
    assert row.environment.env_vars == {"MODE": "fast"}


def test_old_form_of_the_matrix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Rows(config({"numpy": ["1.26", "2.0"]})).releases("numpy") == ["1.26", "2.0"]


def test_bump_of_two_releases(rows):
    bump = rows.bump("jax", ["0.9.2", "0.10.2"])
    assert str(bump) == "jax 0.9.2 → 0.10.2"
    assert [str(row) for row in bump.rows] == ["jax 0.9.2", "jax 0.10.2", "jax 0.10.2 control"]
    assert rows.bump("jax", ["0.9.2", "0.10.2"], with_control=False).control is None


def test_one_release_is_compared_with_the_one_before_it(rows):
    assert str(rows.bump("jax", ["0.10.2"])) == "jax 0.9.2 → 0.10.2"
    assert str(rows.bump("jax", ["0.9.2"])) == "jax 0.8.3 → 0.9.2"


def test_latest_is_the_newest_that_this_python_can_hold(rows):
    assert str(rows.bump("jax", ["latest"])) == "jax 0.9.2 → 0.10.2"


def test_neighbours_leave_out_what_this_python_cannot_hold(rows):
    said = []
    found = rows.neighbours("jax", said.append)
    assert [str(bump) for bump in found] == ["jax 0.8.3 → 0.9.2", "jax 0.9.2 → 0.10.2"]
    assert found[0].new is found[1].old
    assert said == ["left out: jax 9.0 needs Python >= 3.99; this is 3.11"]


def test_installed_interpreters(rows):
    bump = rows.bump("jax", ["installed:/opt/a/bin/python", "installed:/opt/b/bin/python"])
    assert (bump.old.release, bump.new.release) == ("0.5", "0.5")
    assert len({row.env_name for row in bump.rows}) == 3
    assert bump.control.environment.dir_name == bump.new.environment.dir_name


@pytest.mark.parametrize(
    ("framework", "releases", "message"),
    [
        ("jxa", ["0.9.2"], r"the matrix has no framework 'jxa'; did you mean jax\?"),
        (
            "jax",
            ["0.9.1", "0.10.2"],
            r"the matrix has no jax 0\.9\.1; did you mean 0\.9\.2.*env_matrix add jax==0\.9\.1",
        ),
        ("jax", ["9.0"], r"jax 9\.0 needs Python >= 3\.99; this is 3\.11"),
        ("jax", ["0.8.3"], r"the matrix has no release before jax 0\.8\.3; name two"),
        ("jax", ["0.9.2", "0.9.2"], r"jax 0\.9\.2 and jax 0\.9\.2 are the same row"),
        ("jax", ["0.8.3", "0.9.2", "0.10.2"], r"a bump has two releases, old and new; .*--all"),
        ("jax", ["installed:/opt/a/bin/python"], r"name the other interpreter too: installed:OLD installed:NEW"),
        ("jax", ["installed:/missing", "installed:/b"], r"there is no interpreter /missing"),
        ("torch", ["installed:/a", "installed:/b"], r"/b holds jax, not torch"),
    ],
)
def test_what_makes_no_bump_is_said_in_one_line(rows, framework, releases, message):
    with pytest.raises(UserError, match=f"^{message}") as caught:
        rows.bump(framework, releases)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("jax==0.10.2", "jax 0.10.2"),
        ("jax 0.10.2 control", "jax 0.10.2 control"),
        (" jax==0.10.2  control ", "jax 0.10.2 control"),
        ("jax latest", "jax 0.10.2"),
        ("torch==2.8", "torch 2.8.0"),
        ("jax installed:/opt/a/bin/python", "jax 0.5"),
    ],
)
def test_rows_are_named_as_one_writes_them(rows, text, name):
    assert str(rows.parse(text)) == name


@pytest.mark.parametrize("text", ["", "jax", "jax==", "jax 1 2", "jax control", "==0.10.2"])
def test_text_that_names_no_row(rows, text):
    with pytest.raises(UserError, match="names no row; write it as"):
        rows.parse(text)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe{}",
        b"[" * 100_000,
        b"",
        b"[1]",
        b"7",
        b'{"version": 1, "project": "p", "repo": ".", "pythons": []}',
        b'{"version": 1, "project": "p", "repo": ".", "pythons": [3]}',
        b'{"version": 1, "project": "p", "repo": ".", "pythons": 5}',
    ],
)
def test_configuration_that_cannot_be_read_is_said(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asv.conf.json").write_bytes(content)
    with pytest.raises(UserError, match=r"asv\.conf\.json"):
        load_config("asv.conf.json")
