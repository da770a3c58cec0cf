"""Files that are written whole or not at all."""

import contextlib
import os
import pathlib
import shutil


def write_whole(path: pathlib.Path, text: str) -> None:
    """Write a text file in one step: a full disk or an interruption leaves the file that was there.

    A file that is there keeps its mode and its line ends, and a link keeps pointing to it.
    """
    path = path.resolve()
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        if path.exists():
            with open(path, "rb") as stream:
                newline = "\r\n" if b"\r\n" in stream.read() else "\n"
            temporary.write_text(text, encoding="utf-8", newline=newline)
            shutil.copymode(path, temporary)
        else:
            temporary.write_text(text, encoding="utf-8", newline="\n")
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
