import multiprocessing
import subprocess
import time

from env_matrix import build_lock


def hold(path, entered, release):
    with build_lock.exclusive(path, lambda: None):
        entered.set()
        release.wait()


def test_a_second_builder_waits_and_says_so(tmp_path):
    path, waited = tmp_path / "env" / "row.lock", []
    context = multiprocessing.get_context("spawn")
    entered, release = context.Event(), context.Event()
    process = context.Process(target=hold, args=(path, entered, release))
    process.start()
    assert entered.wait(60)

    def on_wait():
        waited.append(time.monotonic())
        release.set()

    with build_lock.exclusive(path, on_wait):
        assert len(waited) == 1
    process.join()
    with build_lock.exclusive(path, lambda: waited.append(0)):
        assert len(waited) == 1


def test_what_a_killed_builder_left_running_holds_the_lock(tmp_path):
    path, waited = tmp_path / "row.lock", []
    with build_lock.exclusive(path, lambda: None) as descriptor:
        left_running = subprocess.Popen(["sleep", "1"], pass_fds=(descriptor,))
    with build_lock.exclusive(path, lambda: waited.append(left_running.poll())):
        assert waited == [None]
        assert left_running.wait(5) == 0
