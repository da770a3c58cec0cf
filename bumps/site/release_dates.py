"""When each release came out: what the headers of the constraints files say."""

import datetime
import pathlib

from packaging.version import InvalidVersion, Version

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "env_matrix" / "constraints"


def read(folder: pathlib.Path = FOLDER) -> dict[tuple[str, Version], datetime.date]:
    """Return (framework, release) → its date, for every constraints file that has both in its header."""
    found = {}
    for path in sorted(folder.glob("*.txt")):
        header = _header(path.read_text(encoding="utf-8", errors="replace"))
        try:
            framework, version = header["release"].split()
            found[framework, Version(version)] = datetime.date.fromisoformat(header["released"])
        except (KeyError, ValueError, InvalidVersion):
            continue
    return found


def _header(text: str) -> dict[str, str]:
    lines = (line.lstrip("# ").partition(":") for line in text.splitlines() if line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in lines}
