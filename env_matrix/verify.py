"""Whether an interpreter holds what its row says: run `inspect_row.py` in it and judge what it finds."""

import json
import os
import pathlib
import signal
import tempfile
from collections.abc import Mapping, Sequence

from asv.util import UserError
from packaging.version import InvalidVersion, Version

from env_matrix import command
from env_matrix.releases import Release

# The first import of a CUDA build compiles its bytecode and reads gigabytes.
IMPORT_TIMEOUT_SECONDS = 300
SCRIPT = pathlib.Path(__file__).parent / "inspect_row.py"
LONGEST_REASON = 200


def inspect(executable: str, frameworks: Sequence[str], environment: Mapping[str, str]) -> dict:
    """Return what an interpreter says of itself.

    `python` is its version, `packages` maps names to versions, `frameworks` maps those asked for to `version`,
    `cuda_major` (None: built for the CPU), `devices`, `sees_gpu`, for jax `jaxlib`, or to an `error`. Raises UserError
    when the interpreter does not run, crashes, or an import hangs.
    """
    with tempfile.TemporaryDirectory(prefix="inspect-") as folder:
        result = os.path.join(folder, "result.json")
        words = [executable, str(SCRIPT), result, *frameworks]
        try:
            status, lines = command.run(words, environment, IMPORT_TIMEOUT_SECONDS, folder=folder)
        except command.TimedOut:
            name = _read(result).get("importing")
            doing = f"importing {name} in {executable}" if name else f"starting {executable}"
            raise UserError(f"{doing} took over {IMPORT_TIMEOUT_SECONDS:g} s and was stopped") from None
        except OSError as error:
            raise UserError(f"{executable} cannot be run: {error.strerror}; name a working Python") from None
        found = _read(result)
    if found and not found["importing"]:
        return {**found, "frameworks": {name: _sound(facts) for name, facts in found["frameworks"].items()}}
    said = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")[:LONGEST_REASON]
    how = signal.strsignal(-status) if status < 0 else f"exit status {status}"
    if found:
        raise UserError(f"importing {found['importing']} ended {executable} ({how}): {said}")
    raise UserError(f"{executable} is no working Python ({how}): {said}")


def _sound(facts: dict) -> dict:
    """Return a framework's facts, an error in their place where its versions are none (a build from source may say
    `unknown`)."""
    for name in ("version", "jaxlib"):
        try:
            Version(facts.get(name, "0"))
        except (InvalidVersion, TypeError):
            return {"error": f"it says that its {name} is {facts[name]!r}"}
    return facts


def _read(path: str) -> dict:
    try:
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def refuse(found: dict, release: Release, accelerator: str, jaxlib: str | None) -> str | None:
    """Return why what `inspect` found is not the row, or None when it is.

    `jaxlib` is the version that belongs to a jax release by its constraints, None where a swap replaced it.
    """
    facts = found["frameworks"][release.framework]
    if "error" in facts:
        return f"{release.framework} cannot be imported: {facts['error']}"
    version = Version(facts["version"])
    right = version == release.version if release.version.local else Version(version.public) == release.version
    if not right:
        return f"the row says {release}, but {release.framework} {version} is installed"
    if release.framework == "jax" and jaxlib and Version(facts["jaxlib"]) != Version(jaxlib):
        return f"{release} belongs with jaxlib {jaxlib}, but jaxlib {facts['jaxlib']} is installed"
    return refuse_device(facts, f"{release.framework} {version}", accelerator)


def refuse_device(facts: dict, name: str, accelerator: str) -> str | None:
    """Return why a framework cannot measure on an accelerator, or None when it can."""
    if accelerator == "cpu":
        return None
    wanted, built = int(accelerator.removeprefix("cuda")), facts["cuda_major"]
    if built != wanted:
        what = f"CUDA {built}; for it set BENCH_ACCELERATOR=cuda{built}" if built else "the CPU"
        return f"{accelerator} was asked for, but {name} is built for {what}"
    if not facts["sees_gpu"]:
        return f"{accelerator} was asked for, but {name} sees no GPU; for the CPU set BENCH_ACCELERATOR=cpu"
    return None
