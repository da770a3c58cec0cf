"""The name under which asv stores this machine's results. asv tells it to no environment."""

import os
import pathlib
import sys

from asv import util
from asv.machine import Machine, MachineCollection


def name() -> str:
    """Return BENCH_MACHINE, else what `asv --machine` was told, else the name that asv takes by itself."""
    told = os.environ.get("BENCH_MACHINE") or _told_to_asv(sys.argv)
    if told:
        return told
    own = Machine.get_unique_machine_name()
    try:
        return MachineCollection.load(own)["machine"]
    except (util.UserError, KeyError, TypeError, ValueError, RecursionError):
        return own


def _told_to_asv(arguments: list[str]) -> str | None:
    program = pathlib.Path(arguments[0])
    if "asv" not in (program.stem, program.parent.name):
        return None
    for place, argument in enumerate(arguments):
        if argument in ("--machine", "-m"):
            return arguments[place + 1] if place + 1 < len(arguments) else None
        if argument.startswith("--machine="):
            return argument.partition("=")[2]
        if argument.startswith("-m") and len(argument) > 2:
            return argument[2:].removeprefix("=")
    return None
