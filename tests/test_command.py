import os
import pathlib
import sys
import time

import pytest

from env_matrix import command


def test_lines_come_as_they_are_written(tmp_path):
    seen = []
    code = "import sys; print('one'); print('two', file=sys.stderr); print('no end', end=''); sys.exit(4)"
    status, lines = command.run([sys.executable, "-u", "-c", code], {"A": "1"}, 60, seen.append, folder=str(tmp_path))
    assert (status, lines) == (4, ["one", "two", "no end"])
    assert seen == lines


def test_nothing_is_left_running_when_it_takes_too_long(tmp_path):
    mark = tmp_path / "mark"
    # The child outlives its parent, and holds the output open.
    code = f"import subprocess, sys; subprocess.Popen(['sh', '-c', 'sleep 3; touch {mark}']); sys.stdin.read(); "
    started = time.monotonic()
    with pytest.raises(command.TimedOut):
        command.run([sys.executable, "-c", code + "import time; time.sleep(60)"], os.environ, 1)
    assert time.monotonic() - started < 3
    time.sleep(3)
    assert not mark.exists()


def test_a_command_that_is_not_there():
    with pytest.raises(FileNotFoundError):
        command.run(["/nowhere/command"], {}, 60)


def test_descriptors_are_inherited():
    reader, writer = os.pipe()
    command.run([sys.executable, "-c", f"import os; os.write({writer}, b'x')"], os.environ, 60, keep_open=(writer,))
    os.close(writer)
    assert os.read(reader, 2) == b"x"
    os.close(reader)


def test_output_that_is_no_text_is_kept(tmp_path):
    path = pathlib.Path(tmp_path, "bytes")
    path.write_bytes(b"\xff\n")
    status, lines = command.run(["cat", str(path)], {"PATH": os.defpath}, 60)
    assert (status, lines) == (0, ["�"])
