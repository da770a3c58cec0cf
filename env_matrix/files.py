"""Files that are written whole or not at all."""

import contextlib
import os
import pathlib


def write_whole(path: pathlib.Path, text: str) -> None:
    """Write a text file in one step: a full disk or an interruption leaves the file that was there."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
