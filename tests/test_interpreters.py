import sys

import pytest
from asv.util import UserError

from env_matrix import interpreters


@pytest.fixture
def listed(monkeypatch, tmp_path):
    def write(text):
        path = tmp_path / "interpreters.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        monkeypatch.setattr(interpreters, "FILE", path)

    write("")
    return write


@pytest.mark.parametrize("table", ['["ngc-25.09"]', "[ngc-25.09]"])
def test_an_interpreter_by_name(listed, table):
    listed(f'{table}\npython = "{sys.executable}"\n')
    assert interpreters.find("ngc-25.09") == ("ngc-25.09", sys.executable)


def test_an_interpreter_by_path(listed, tmp_path):
    labels = set()
    for name in ("one", "two", "a-name-that-is-longer-than-one-wants-to-read"):
        path = tmp_path / name / "venv" / "bin" / "python"
        path.parent.mkdir(parents=True)
        path.symlink_to(sys.executable)
        label, found = interpreters.find(str(path))
        # A virtual environment's python is not the one that it links to.
        assert found == str(path)
        labels.add(label)
    assert len(labels) == 3
    assert all(label.startswith("venv-") for label in labels)


def test_an_interpreter_relative_to_here_or_home(listed, tmp_path, monkeypatch):
    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert interpreters.find("./python") == interpreters.find("~/python")


@pytest.mark.parametrize(
    ("content", "spec", "message"),
    [
        ("", "/nowhere/python", "there is no interpreter /nowhere/python; give the path of a Python$"),
        ("", "/tmp", "there is no interpreter /tmp; give"),
        ('[a]\npython = "/x"', "b", r"there is no interpreter b; give the path of a Python, or a name of .* \(a\)"),
        ('[a]\npython = "/nowhere/python"', "a", "there is no interpreter /nowhere/python; give"),
        ("[a\n", "a", r"interpreters\.toml cannot be read: "),
        (b"# caf\xe9\n", "a", r"interpreters\.toml cannot be read: "),
        ('python = "/x"', "a", r"interpreters\.toml: python belongs under a name"),
        ('[a]\npyhton = "/x"', "a", r"interpreters\.toml: a\.pyhton belongs under a name"),
    ],
)
def test_what_is_no_interpreter(listed, content, spec, message):
    listed(content)
    with pytest.raises(UserError, match=message) as caught:
        interpreters.find(spec)
    assert "\n" not in str(caught.value)
