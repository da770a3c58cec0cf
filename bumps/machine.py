"""Registers the machine with asv, without asking."""

import json
import pathlib
import re

from asv import util
from asv.machine import Machine, MachineCollection
from asv.util import UserError

from bumps import files, gpu

LONGEST_NAME = 64


def safe_name(text: str) -> str:
    """Return a machine's name that is one plain folder name everywhere."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-_")[:LONGEST_NAME]
    return name or "machine"


def register(results_dir: pathlib.Path, name: str | None = None, device: gpu.Gpu | None = None) -> dict:
    """Return asv's facts of this machine, stored where asv looks for them; `gpu` and `driver` are added.

    What the user registered before stands. Raises UserError for a name that cannot be a folder, and when the facts
    cannot be stored.
    """
    if name is not None and name != safe_name(name):
        raise UserError(f"--machine {name!r} cannot be a folder's name; use {safe_name(name)}")
    known = _known(name or Machine.get_unique_machine_name())
    facts = {**Machine.get_defaults(), **known}
    facts["machine"] = name or safe_name(facts["machine"])
    if device is not None:
        facts.update(gpu=device.name, driver=gpu.driver_version() or "")
    try:
        if facts != known:
            MachineCollection.save(facts["machine"], facts)
        _save(results_dir / facts["machine"] / "machine.json", facts)
    except OSError as error:
        raise UserError(f"{error.filename} cannot be written: {error.strerror}") from None
    return facts


def _known(name: str) -> dict:
    """Return what asv has stored of a machine, nothing when it knows none of the name. Raises UserError."""
    path = MachineCollection.get_machine_file_path()
    try:
        content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        content = None
    machines = [content[each] for each in content.keys() - {"version"}] if isinstance(content, dict) else [None]
    if not all(isinstance(machine, dict) for machine in machines):
        raise UserError(f"{path} is damaged; mend it or remove it, and the machine is registered anew")
    try:
        return MachineCollection.load(name)
    except UserError:
        return {}


def _save(path: pathlib.Path, facts: dict) -> None:
    """Write asv's machine.json, unless it says so already."""
    content = {**facts, "version": Machine.api_version}
    try:
        if util.load_json(str(path), Machine.api_version) == facts:
            return
    except (UserError, OSError):
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_whole(path, (json.dumps(content, indent=4, sort_keys=True) + "\n").encode())
