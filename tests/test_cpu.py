"""How busy the CPU is with other work."""

import subprocess
import sys

import pytest

from bumps import cpu

FIRST = "cpu  100 0 50 800 50 0 0 0 7 7\ncpu0 1 1 1 1 1 1 1 1\n"


@pytest.mark.parametrize(
    ("second", "share"),
    [
        ("cpu  160 0 70 880 90 0 0 0 9 9\n", pytest.approx(0.4)),
        ("cpu  100 0 50 900 50 0 0 0 7 7\n", 0.0),
        ("cpu  200 0 50 800 50 0 0 0 7 7\n", 1.0),
        # Nothing passed, or nothing is said.
        (FIRST, None),
        ("nonsense\n", None),
        ("cpu x\n", None),
        ("", None),
    ],
)
def test_the_share_that_is_not_idle(monkeypatch, tmp_path, second, share):
    stat = tmp_path / "stat"
    stat.write_text(FIRST)
    monkeypatch.setattr(cpu, "STAT", stat)
    monkeypatch.setattr(cpu.time, "sleep", lambda seconds: stat.write_text(second))
    assert cpu.busy_share() == share


def test_a_system_without_the_file_tells_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(cpu, "STAT", tmp_path / "absent")
    assert cpu.busy_share(0) is None


def test_a_process_that_computes_is_seen():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            assert cpu.busy_share(0.5) > 0
        finally:
            busy.kill()
