"""Runs GitHub's own command."""

import shutil
import subprocess

from asv.util import UserError

TIMEOUT_SECONDS = 60


def gh(*arguments: str, input: str | None = None) -> str:
    """Return what `gh` prints. Raises UserError when it is missing, not logged in, too slow, or fails otherwise."""
    if shutil.which("gh") is None:
        raise UserError("the gh command is missing; install GitHub's CLI, or choose another --to")
    try:
        run = subprocess.run(
            ["gh", *arguments], input=input, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"gh {' '.join(arguments[:2])} took over {TIMEOUT_SECONDS} s and was stopped") from None
    if run.returncode:
        said = (run.stderr.strip().splitlines() or ["no reason given"])[0]
        raise UserError(f"gh {' '.join(arguments[:2])} failed: {said}")
    return run.stdout
