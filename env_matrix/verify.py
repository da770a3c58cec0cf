"""Whether an interpreter holds what its row says: run `inspect_row.py` in it and judge what it finds."""

import json
import pathlib
import subprocess

from asv.util import UserError
from packaging.version import Version

from env_matrix.releases import Release

IMPORT_TIMEOUT_SECONDS = 300
SCRIPT = pathlib.Path(__file__).parent / "inspect_row.py"


def inspect(executable: str, frameworks: list[str], environment: dict, timeout: float = IMPORT_TIMEOUT_SECONDS) -> dict:
    """Return what the interpreter says of itself; raises UserError when it does not run, hangs or says nothing."""
    command = [executable, str(SCRIPT), *frameworks]
    try:
        run = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=timeout, check=False, cwd="/"
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"importing {' and '.join(frameworks)} took over {timeout:.0f} s and was stopped") from None
    except OSError as error:
        raise UserError(f"{executable} cannot be run ({error.strerror}); name a working Python interpreter") from None
    try:
        return json.loads(run.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        said = (run.stderr.strip().splitlines() or ["nothing"])[-1]
        raise UserError(f"{executable} is no working Python interpreter: {said[:200]}") from None


def refuse(found: dict, release: Release, accelerator: str, jaxlib: str | None) -> str | None:
    """Return why what was found is not the row, or None when it is.

    `jaxlib` is the version that belongs to a jax release by its constraints.
    """
    facts = found["frameworks"].get(release.framework, {"error": "not installed"})
    if "error" in facts:
        return f"{release.framework} cannot be imported: {facts['error']}"
    version = Version(facts["version"])
    right = version == release.version if release.version.local else Version(version.public) == release.version
    if not right:
        return f"the row says {release}, but {release.framework} {version} is installed"
    if release.framework == "jax" and jaxlib and Version(facts["jaxlib"]) != Version(jaxlib):
        return f"jax {version} belongs with jaxlib {jaxlib}, but jaxlib {facts['jaxlib']} is installed"
    if accelerator == "cpu":
        return None
    wanted = int(accelerator.removeprefix("cuda"))
    if facts["cuda_major"] != wanted:
        built = f"CUDA {facts['cuda_major']}" if facts["cuda_major"] else "the CPU"
        return f"{accelerator} was asked for, but this {release.framework} is built for {built}"
    if not facts["sees_gpu"]:
        return f"{accelerator} was asked for, but {release.framework} {version} sees no GPU"
    return None
