"""Makes a virtual environment and installs a row into it: one resolver call, under the row's constraints."""

import hashlib
import pathlib
import re
import subprocess
import sys
import tomllib

from asv.util import UserError

HARNESS = pathlib.Path(__file__).parent / "harness.toml"


def harness(accelerator: str) -> tuple[list[str], list[str]]:
    """Return (required, optional) requirements of the harness for an accelerator."""
    content = tomllib.loads(HARNESS.read_text(encoding="utf-8"))
    return content["required"], content["optional"].get(accelerator, [])


def sha256(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def create_virtualenv(executable: str, path: str, timeout: float) -> None:
    """Make an empty virtual environment with pip."""
    _run([sys.executable, "-m", "virtualenv", "--quiet", "--no-download", "-p", executable, path], {}, timeout)


def install(python: str, requirements: list[str], constraints: pathlib.Path, environment: dict, timeout: float) -> None:
    """Install requirements in one call of the environment's own pip, which honours the user's pip settings."""
    _pip(python, ["-c", str(constraints), *requirements], environment, timeout)


def override(python: str, components: list[str], environment: dict, timeout: float) -> list[str]:
    """Replace components whatever the row's own requirements say; return what `pip check` then finds wrong."""
    _pip(python, ["--no-deps", *components], environment, timeout)
    check = subprocess.run([python, "-m", "pip", "check"], env=environment, capture_output=True, text=True, check=False)
    return [] if check.returncode == 0 else check.stdout.strip().splitlines()


def _pip(python: str, arguments: list[str], environment: dict, timeout: float) -> None:
    command = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", *arguments]
    _run(command, environment, timeout)


def _run(command: list[str], environment: dict, timeout: float) -> None:
    try:
        run = subprocess.run(
            command, env=environment or None, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"installing took over {timeout:.0f} s and was stopped") from None
    if run.returncode:
        raise UserError(reason(run.stdout + "\n" + run.stderr))


def reason(output: str) -> str:
    """Return the one line of an installer's output that says what went wrong."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in output.splitlines() if line.strip()]
    for line in reversed(lines):
        if "No space left on device" in line:
            return "no space left on the disk; free some, or remove rows: python -m env_matrix prune"
    if any("NewConnectionError" in line or "Failed to establish" in line for line in lines):
        return "the package index does not answer; check the network"
    errors = [line for line in lines if line.upper().startswith("ERROR")]
    chosen = next((line for line in errors if "Could not find a version" in line), errors[-1] if errors else None)
    text = (chosen or (lines[-1] if lines else "the installer said nothing")).removeprefix("ERROR:").strip()
    # pip lists every version there is.
    return re.sub(r"\(from versions: .*\)", "", text).strip()[:300]
