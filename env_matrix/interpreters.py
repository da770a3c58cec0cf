"""The interpreters that someone else built, by name or path."""

import hashlib
import os
import pathlib
import shutil
import tomllib

from asv.util import UserError

FILE = pathlib.Path(__file__).parent / "interpreters.toml"
LONGEST_FOLDER = 20


def named() -> dict[str, str]:
    """Return name -> path of interpreters.toml; raises UserError where that is malformed."""
    try:
        content = tomllib.loads(FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{FILE.name} cannot be read: {error}") from None
    return dict(_flattened("", content))


def _flattened(prefix: str, table: dict):
    # An unquoted [ngc-25.09] is, to TOML, a table "09" in a table "ngc-25".
    for key, value in table.items():
        name = f"{prefix}.{key}" if prefix else key
        if not isinstance(value, dict):
            raise UserError(f"{FILE.name}: {name} belongs under a name, as in [name] with python = …")
        if isinstance(value.get("python"), str):
            yield name, value["python"]
        else:
            yield from _flattened(name, value)


def find(spec: str) -> tuple[str, str]:
    """Return (label, absolute path) of an interpreter given by its name or path.

    The label of a path tells it from every other path without spelling it out. Raises UserError when there is none.
    """
    known = named()
    path = known.get(spec, spec)
    # Not resolved further: a virtual environment's python is a link to the one that it was made from.
    found = shutil.which(os.path.expanduser(path))
    if found is None or not os.path.isfile(found):
        names = f", or a name of {FILE.name} ({', '.join(sorted(known))})" if known else ""
        raise UserError(f"there is no interpreter {path}; give the path of a Python{names}")
    found = os.path.abspath(found)
    if spec in known:
        return spec, found
    folder = pathlib.Path(found).parent.parent.name[:LONGEST_FOLDER] or "python"
    return f"{folder}-{hashlib.sha256(found.encode()).hexdigest()[:8]}", found
