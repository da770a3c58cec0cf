"""What the command lines tell scripts when they fail themselves."""

import pytest

import bumps.cli
import env_matrix.cli


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
