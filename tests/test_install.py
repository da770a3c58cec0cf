"""What the installer says, in one line; what is asked of it."""

import pytest
from asv.util import UserError

from env_matrix import index, install

# As pip 26.3 writes them.
MISSING = """\
Looking in indexes: https://pypi.example/simple
ERROR: Ignored the following yanked versions: 0.2.23, 0.4.32
ERROR: Ignored the following versions that require a different python version: 0.11.2 Requires-Python >=3.12
ERROR: Could not find a version that satisfies the requirement jax==99.0 (from versions: 0.0, 0.1, 0.10.2)
ERROR: No matching distribution found for jax==99.0
"""
CONFLICT = """\
ERROR: Cannot install numpy>=2 because these package versions have conflicting dependencies.
ERROR: ResolutionImpossible: for help visit https://pip.example/conflicts
"""
FULL = """\
Downloading jaxlib-0.10.2-cp311-cp311-manylinux_2_27_x86_64.whl (83.3 MB)
ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device

"""
COLOURED = "\x1b[31mERROR: Could not build wheels for thing\x1b[0m\n"
TRACEBACK = "Traceback (most recent call last):\n  File x\nPermissionError: [Errno 13] Permission denied: '/x'\n"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (MISSING, "Could not find a version that satisfies the requirement jax==99.0"),
        (CONFLICT, "Cannot install numpy>=2 because these package versions have conflicting dependencies."),
        (FULL, "no space left on the disk; free some, or remove rows: python -m env_matrix prune"),
        (COLOURED, "Could not build wheels for thing"),
        (TRACEBACK, "PermissionError: [Errno 13] Permission denied: '/x'"),
        ("", "the installer said nothing"),
        ("x" * 1000, "x" * 300),
    ],
)
def test_the_line_that_says_what_went_wrong(output, reason):
    assert install.reason(output.splitlines()) == reason


def test_an_index_that_does_not_answer_is_the_reason(monkeypatch):
    def fetch(project):
        raise UserError(f"the package index does not answer for {project}; nothing was changed")

    monkeypatch.setattr(index, "fetch", fetch)
    text = install._with_index_problem("Cannot install jax==0.10.2", "jax")
    assert text == "the package index does not answer for jax (Cannot install jax==0.10.2)"
    assert install._with_index_problem("no space left on the disk", "jax") == "no space left on the disk"
    monkeypatch.setattr(index, "fetch", lambda project: [])
    assert install._with_index_problem("Cannot install jax==0.10.2", "jax") == "Cannot install jax==0.10.2"


def test_components_of_a_swap():
    assert install.components("nvidia-cudnn-cu12==9.15.*  numpy==2.0") == ["nvidia-cudnn-cu12==9.15.*", "numpy==2.0"]


@pytest.mark.parametrize("text", ["--index-url=http://x", "-e", "./folder", "numpy=2", "numpy==2.0 -r /etc/passwd"])
def test_an_option_is_no_component(text):
    with pytest.raises(UserError, match="overrides no component; write it like"):
        install.components(text)


def test_an_installer_that_takes_too_long_is_stopped(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nsleep 60\n")
    python.chmod(0o755)
    with (
        open(tmp_path / "lock", "w") as lock,
        pytest.raises(UserError, match=r"^installing took over 1 s and was stopped; see install_timeout in asv.conf"),
    ):
        install.Installer(str(python), 1, lock.fileno()).install(["jax==0.10.2"], [])


def test_downloads_of_a_size_are_told(capsys):
    from asv.console import log

    log.enable()
    for line in (
        "  Downloading https://pypi.example/x/torch-2.13.0-cp311-none-any.whl (190.5 MB)",
        "Downloading jaxlib-0.10.2-cp311-cp311-manylinux.whl (83.3 MB)",
        "Downloading opt_einsum-3.4.0-py3-none-any.whl (71 kB)",
        "Collecting numpy",
    ):
        install._show_download(line)
    said = capsys.readouterr().out
    assert "downloading torch-2.13.0-cp311-none-any.whl (190.5 MB)" in said
    assert "downloading jaxlib-0.10.2-cp311-cp311-manylinux.whl (83.3 MB)" in said
    assert said.count("downloading") == 2
