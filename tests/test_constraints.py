"""The constraints files, and those that are committed."""

import datetime

import json5
import pytest
from asv.util import UserError
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from env_matrix import constraints, files, matrix
from env_matrix.releases import Release, parse

TEXT = """\
# release: torch 2.4.1
# released: 2024-09-04
# exclude-newer: 2024-09-08
# requires-python: >=3.8.0,<3.13
# accelerators: cpu cuda12
# Written by: python -m env_matrix lock torch==2.4.1
networkx==3.6.1 ; python_version < "3.12"
networkx==3.7 ; python_version >= "3.12"
numpy==2.1.1
torch==2.4.1
"""


def test_a_file_reads_back_as_it_was_written():
    found = constraints.parse(TEXT, "torch-2.4.1.txt")
    assert found.release == Release("torch", Version("2.4.1"))
    assert found.released == datetime.date(2024, 9, 4)
    assert found.accelerators == ("cpu", "cuda12")
    assert constraints.render(found) == TEXT


def test_pins_hold_by_python():
    found = constraints.parse(TEXT, "torch-2.4.1.txt")
    assert found.pinned("3.11") == {"networkx": "3.6.1", "numpy": "2.1.1", "torch": "2.4.1"}
    assert found.pinned("3.12")["networkx"] == "3.7"
    assert found.supports("3.12.0")
    assert not found.supports("3.13.0")


@pytest.mark.parametrize(
    "damage",
    [
        ("# release: torch 2.4.1\n", ""),
        ("2024-09-04", "soon"),
        ("numpy==2.1.1", "numpy>=2"),
        ("numpy==2.1.1", "numpy @ file:///tmp/x.whl"),
        ("numpy==2.1.1", "--index-url x"),
    ],
)
def test_what_is_no_constraints_file_is_refused(damage):
    with pytest.raises(UserError, match=r"torch-2\.4\.1\.txt is no constraints file"):
        constraints.parse(TEXT.replace(*damage), "torch-2.4.1.txt")


def test_a_file_that_is_no_utf8_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(constraints, "FOLDER", tmp_path)
    (tmp_path / "torch-2.4.1.txt").write_bytes(TEXT.encode() + b"# caf\xe9\n")
    with pytest.raises(UserError, match=r"torch-2\.4\.1\.txt is no constraints file"):
        constraints.load(parse("torch==2.4.1"))


def test_a_missing_file_names_the_command_that_writes_it(monkeypatch, tmp_path):
    monkeypatch.setattr(constraints, "FOLDER", tmp_path)
    with pytest.raises(UserError, match=r"python -m env_matrix lock torch==2\.14\.1$"):
        constraints.load(parse("torch==2.14.1+cu130"))


def test_a_saved_file_is_found_again(monkeypatch, tmp_path):
    monkeypatch.setattr(constraints, "FOLDER", tmp_path / "made")
    found = constraints.parse(TEXT, "torch-2.4.1.txt")
    assert constraints.save(found).name == "torch-2.4.1.txt"
    assert constraints.load(found.release) == found
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["torch-2.4.1.txt"]


def test_a_full_disk_leaves_the_file_that_was_there(monkeypatch, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")

    def full(self, text, **options):
        path.with_name(self.name).touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        files.write_whole(path, "new")
    assert [(item.name, item.read_text()) for item in tmp_path.iterdir()] == [("x.txt", "old")]


def rows_of_the_configuration():
    content = json5.loads(matrix.PATH.read_text(encoding="utf-8"))
    return [(name, version) for name, versions in content["matrix"]["req"].items() for version in versions if version]


@pytest.mark.parametrize(("framework", "version"), rows_of_the_configuration())
def test_every_row_has_constraints_whose_header_agrees(framework, version):
    release = Release(framework, Version(version))
    found = constraints.load(release)
    assert found.release == release.public
    assert found.exclude_newer > found.released
    assert "cpu" in found.accelerators
    pythons = [python for python in ("3.11", "3.12", "3.13") if found.supports(f"{python}.0")]
    assert pythons
    for python in pythons:
        pins = found.pinned(python)
        assert pins[framework] == version
        assert "numpy" in pins
        if framework == "jax":
            assert "jaxlib" in pins
    assert constraints.path_of(release).read_text(encoding="utf-8") == constraints.render(found)


def test_releases_hold_what_their_first_users_got():
    def pins(text):
        return constraints.load(parse(text)).pinned("3.11")

    assert pins("jax==0.7.1")["nvidia-cudnn-cu12"] == "9.12.0.46"
    assert pins("jax==0.7.1")["nvidia-cublas-cu12"] == "12.9.1.4"
    assert pins("jax==0.4.24")["nvidia-cudnn-cu12"] == "8.9.7.29"
    assert pins("jax==0.4.24")["numpy"] == "1.26.4"
    assert pins("torch==2.8.0")["nvidia-cudnn-cu12"] == "9.10.2.21"
    assert pins("torch==2.8.0")["triton"] == "3.4.0"


def test_a_range_of_pythons_is_written_floor_first():
    assert constraints.python_text(SpecifierSet("<3.13,>=3.9")) == ">=3.9,<3.13"
