"""What the command lines tell scripts when they fail themselves."""

import os
import pathlib
import subprocess
import sys

import pytest

import bumps.cli
import env_matrix.cli

ROOT = pathlib.Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("cli", "command"),
    [(bumps.cli, ["results", "prune"]), (env_matrix.cli, ["list"])],
    ids=["bumps", "env_matrix"],
)
def test_defect_has_an_exit_status_of_its_own(cli, command, monkeypatch, capsys):
    """Python's own 1 for an exception would say that something regressed, or was found."""

    def planted(arguments):
        raise ZeroDivisionError("planted")

    parser = cli.make_parser()
    parser.parse_args = lambda argv: type("Arguments", (), {"run": staticmethod(planted)})
    monkeypatch.setattr(cli, "make_parser", lambda: parser)
    assert cli.main(command) == 70
    said = capsys.readouterr().err
    assert "ZeroDivisionError: planted" in said
    assert "please report it" in said.splitlines()[-1]


@pytest.mark.parametrize("module", ["bumps", "env_matrix"])
@pytest.mark.parametrize(
    ("redirection", "wanted"),
    [("| (exec 0<&-; sleep 5)", 141), (">&-", 0), ("> /dev/full", 2)],
    ids=["unread", "closed", "full"],
)
@pytest.mark.parametrize("command", ["table", "json"])
def test_output_that_cannot_be_written_has_a_status_of_its_own(tmp_path, module, redirection, wanted, command):
    """Neither 1, which says that something was found, nor Python's own 120."""
    words = {
        ("bumps", "table"): f"history jax --bench article --results {ROOT / 'results'}",
        ("bumps", "json"): f"history jax --bench article --results {ROOT / 'results'} --json",
        ("env_matrix", "table"): "list",
        ("env_matrix", "json"): "list --json",
    }[module, command]
    script = f"{{ {sys.executable} -m {module} {words}; echo $? >{tmp_path / 'status'}; }} {redirection}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    run = subprocess.run(["bash", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (tmp_path / "status").read_text() == f"{wanted}\n"
    assert "Traceback" not in run.stderr
    assert "Exception ignored" not in run.stderr


def test_a_package_that_is_missing_is_a_defect(monkeypatch, capsys):
    """Its status is not that of an exception, which says that something was found."""
    for cli in (bumps.cli, env_matrix.cli):
        monkeypatch.setattr(cli, "COMMANDS", ("nonesuch",))
        assert cli.main(["nonesuch"]) == 70
        assert "ModuleNotFoundError" in capsys.readouterr().err
