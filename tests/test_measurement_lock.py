"""One measurement at a time, whatever becomes of who holds the lock."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from asv.util import UserError

from bumps import gpu, lock
from bumps.gpu import Gpu

HOLDER = """
    import pathlib, sys, time
    from bumps import lock
    with lock.measuring("cpu", "bumps run jax 1.0 → 2.0", True, print, pathlib.Path(sys.argv[1])):
        print("held", flush=True)
        time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLDER), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_second_run_fails_when_it_must_not_wait(tmp_path, holder):
    with (
        pytest.raises(
            UserError, match=rf"^process {holder.pid} of \w+ \(bumps run jax 1\.0 → 2\.0, since 20.* is meas"
        ),
        lock.measuring("cpu", "second", False, print, tmp_path),
    ):
        pass


def test_second_run_waits_says_for_whom_and_goes_on_after_a_kill(tmp_path, holder):
    said = []

    def say(text):
        said.append(text)
        holder.send_signal(signal.SIGKILL)

    started = time.monotonic()
    with lock.measuring("cpu", "second", True, say, tmp_path):
        assert "of" in lock.describe(tmp_path / "cpu.holder")
    assert time.monotonic() - started < 20
    assert len(said) == 1
    assert said[0].startswith(f"waiting: process {holder.pid} of ")


def test_another_gpu_is_free(tmp_path, holder):
    with lock.measuring("GPU-1234", "second", False, print, tmp_path):
        pass


def test_lock_is_free_again_after_a_failure(tmp_path):
    with pytest.raises(RuntimeError), lock.measuring("cpu", "first", False, print, tmp_path):
        raise RuntimeError
    with lock.measuring("cpu", "second", False, print, tmp_path):
        pass
    assert not (tmp_path / "cpu.holder").exists()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1, "user": 5, "purpose": 1, "since": null}']
)
def test_holder_that_cannot_be_read_is_another_process(tmp_path, content):
    path = tmp_path / "cpu.holder"
    path.write_text(content)
    assert lock.describe(path) == "another process"


def test_folder_that_cannot_be_written_is_said_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(UserError, match=r"^the lock for measuring in .* cannot be had: "),
        lock.measuring("cpu", "first", False, print, tmp_path / "file"),
    ):
        pass


BOARD = Gpu(1, "GPU-b0", "NVIDIA H200")


def test_busy_gpu_is_refused_unless_shared():
    with pytest.raises(UserError, match=r"^2 other processes compute on NVIDIA H200 \(GPU 1\); .*--shared"):
        lock.refuse_busy(BOARD, False, lambda device: 2)
    lock.refuse_busy(BOARD, True, lambda device: 2)
    lock.refuse_busy(BOARD, False, lambda device: 0)


class FakeNvml:
    """Two boards, as pynvml tells of them."""

    class NVMLError(Exception):
        pass

    uuids = ("GPU-a0", "GPU-b0")

    def nvmlInit(self):
        pass

    def nvmlShutdown(self):
        pass

    def nvmlDeviceGetCount(self):
        return len(self.uuids)

    def nvmlDeviceGetHandleByIndex(self, index):
        if index >= len(self.uuids):
            raise self.NVMLError
        return index

    def nvmlDeviceGetIndex(self, handle):
        return handle

    def nvmlDeviceGetUUID(self, handle):
        return self.uuids[handle].encode()

    def nvmlDeviceGetName(self, handle):
        return "NVIDIA H200"

    def nvmlSystemGetDriverVersion(self):
        return "570.1"

    def nvmlDeviceGetComputeRunningProcesses(self, handle):
        return ["someone"] * handle


@pytest.fixture
def two_boards(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml())
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.parametrize(
    ("visible", "uuid"), [(None, "GPU-a0"), ("1", "GPU-b0"), ("1,0", "GPU-b0"), ("GPU-b", "GPU-b0"), ("0", "GPU-a0")]
)
def test_cuda_visible_devices_chooses(two_boards, monkeypatch, visible, uuid):
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpu.chosen().uuid == uuid


@pytest.mark.parametrize("visible", ["7", "GPU-c", "", "-1", "none", "²", "GPU-"])
def test_cuda_visible_devices_that_names_no_gpu(two_boards, monkeypatch, visible):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with pytest.raises(UserError, match="names no GPU of this machine"):
        gpu.chosen()


def test_what_nvml_says(two_boards):
    assert gpu.driver_version() == "570.1"
    assert gpu.compute_processes(Gpu(1, "GPU-b0", "NVIDIA H200")) == 1
