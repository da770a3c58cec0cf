import json

import pytest
from asv.util import UserError

from bumps import machine
from bumps.gpu import Gpu


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("box", "box"),
        ("my box.local", "my-box.local"),
        ("../../etc", "etc"),
        ("..", "machine"),
        ("", "machine"),
        ("a/b\\c:d", "a-b-c-d"),
        ("x" * 100, "x" * 64),
        ("<script>", "script"),
    ],
)
def test_safe_name(text, name):
    assert machine.safe_name(text) == name


def test_registers_without_asking(tmp_path, home):
    facts = machine.register(tmp_path / "results", "box")
    assert facts["machine"] == "box"
    assert {"os", "arch", "cpu", "num_cpu", "ram"} <= facts.keys()
    assert json.loads((home / ".asv-machine.json").read_text())["box"] == facts
    stored = json.loads((tmp_path / "results" / "box" / "machine.json").read_text())
    assert stored == {**facts, "version": 1}


def test_what_the_user_registered_stands(tmp_path, home):
    known = {"machine": "box", "os": "my own words", "arch": "a", "cpu": "c", "num_cpu": "2", "ram": "8", "rack": "7"}
    (home / ".asv-machine.json").write_text(json.dumps({"box": known, "version": 1}))
    assert machine.register(tmp_path / "results", "box") == known
    with_gpu = machine.register(tmp_path / "results", "box", Gpu(0, "GPU-a0", "NVIDIA H200"))
    assert with_gpu == {**known, "gpu": "NVIDIA H200", "driver": with_gpu["driver"]}
    assert json.loads((home / ".asv-machine.json").read_text())["box"] == with_gpu


@pytest.mark.parametrize("content", [b"\xff\xfe{}", b"", b"[1]", b"7", b'{"box": 5}', b"[" * 100_000, b'{"box": {}'])
def test_damaged_file_of_machines_is_said_and_left_alone(tmp_path, home, content):
    (home / ".asv-machine.json").write_bytes(content)
    with pytest.raises(UserError, match=r"\.asv-machine\.json is damaged; mend it or remove it"):
        machine.register(tmp_path / "results", "box")
    assert (home / ".asv-machine.json").read_bytes() == content


def test_name_that_is_no_folder_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"^--machine '\.\./up' cannot be a folder's name; use up$"):
        machine.register(tmp_path / "results", "../up")


def test_asv_finds_the_machine(tmp_path, monkeypatch):
    from asv.machine import Machine

    facts = machine.register(tmp_path / "results")
    assert Machine.load(machine_name=None).machine == facts["machine"]
