"""Regressions that a person has acknowledged: they stop counting until a release, and stay visible.

They live in `acknowledged.toml` beside asv.conf.json, a tracked file: who accepted what, and why, is reviewed and
remembered like code.
"""

import datetime
import json
import pathlib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from asv.util import UserError
from packaging.version import InvalidVersion, Version

FILE = "acknowledged.toml"
HEADER = """\
# Known regressions (python -m bumps acknowledge). Each holds for bumps that contain the one into `release`, until
# results of `until` are stored: then what is still slow counts again.
"""


@dataclass(frozen=True)
class Acknowledgement:
    """A known regression.

    `benchmark` is a regular expression, searched in asv's `name(parameters)`; `release` the one that brought the
    regression, `until` the one that should repair it.
    """

    framework: str
    release: Version
    benchmark: re.Pattern
    who: str
    why: str
    until: Version
    machine: str | None = None

    def covers(self, name: str, framework: str, old: Version, new: Version, newest: Version, machine: str) -> bool:
        """Whether it holds for a benchmark in the bump old → new, when `newest` is the newest release measured."""
        return (
            framework == self.framework
            and old < self.release <= new
            and max(new, newest) < self.until
            and self.machine in (None, machine)
            and self.benchmark.search(name) is not None
        )

    def as_dict(self) -> dict:
        return {"who": self.who, "why": self.why, "until": str(self.until)}


def load(path: pathlib.Path) -> list[Acknowledgement]:
    """Return what the file holds, nothing without one; raises UserError when it cannot be understood."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path} is no TOML: {error}") from None
    entries = content.get("regression", [])
    if not isinstance(entries, list):
        raise UserError(f"{path}: each entry starts with [[regression]]")
    return [_parse(path, number, entry) for number, entry in enumerate(entries, 1)]


def _parse(path: pathlib.Path, number: int, entry: dict) -> Acknowledgement:
    try:
        return Acknowledgement(
            framework=str(entry["framework"]),
            release=Version(str(entry["release"])),
            benchmark=re.compile(str(entry["benchmark"])),
            who=str(entry["who"]),
            why=str(entry["why"]),
            until=Version(str(entry["until"])),
            machine=entry.get("machine"),
        )
    except KeyError as error:
        raise UserError(f"{path}: entry {number} lacks {error}") from None
    except (InvalidVersion, re.error, TypeError) as error:
        raise UserError(f"{path}: entry {number}: {error}") from None


def add(path: pathlib.Path, entry: Acknowledgement, today: datetime.date) -> None:
    """Append an entry; what is in the file, comments included, stays. Raises UserError when the file is broken."""
    load(path)
    fields = {
        "framework": entry.framework,
        "release": str(entry.release),
        "benchmark": entry.benchmark.pattern,
        "machine": entry.machine,
        "who": entry.who,
        "why": entry.why,
        "until": str(entry.until),
        "date": today.isoformat(),
    }
    lines = [f"{name} = {_quote(value)}" for name, value in fields.items() if value is not None]
    text = path.read_text(encoding="utf-8") if path.exists() else HEADER
    path.write_text(f"{text.rstrip()}\n\n[[regression]]\n" + "\n".join(lines) + "\n", encoding="utf-8")


def _quote(text: str) -> str:
    # A JSON string is a TOML basic string, but for DEL, which JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def find(
    entries: Sequence[Acknowledgement],
    name: str,
    framework: str,
    old: Version,
    new: Version,
    newest: Version,
    machine: str,
) -> Acknowledgement | None:
    """Return the first entry that covers a benchmark in a bump, or None."""
    return next((entry for entry in entries if entry.covers(name, framework, old, new, newest, machine)), None)
