"""Builds every row that this Python can hold, imports its framework and runs the small chain: one line a row.

Usage: python tools/build_rows.py [--framework jax] [--remove] [RELEASE…]

A row that is there already is not built again: its build time then is the time of the check. Exit status: 0 every row
runs, 1 some do not.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from asv.util import UserError  # noqa: E402

from env_matrix import build, constraints, matrix, output, releases  # noqa: E402

CHAIN_TIMEOUT_SECONDS = 600
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help="default: every row this Python can hold")
    parser.add_argument("--framework", choices=releases.FRAMEWORKS, help="rows of one framework only")
    parser.add_argument("--remove", action="store_true", help="remove each environment when its line is printed")
    args = parser.parse_args()
    try:
        rows = [releases.release_of(*pair) for pair in releases.parse_all(args.releases)] or list(matrix.load().rows)
        rows = [row for row in rows if args.framework in (None, row.framework)]
        rows = [row for row in rows if constraints.load(row).supports(f"{PYTHON}.0")]
    except UserError as error:
        print(f"build_rows: {error}", file=sys.stderr)
        return 2
    failed = 0
    for number, row in enumerate(rows, start=1):
        output.progress(f"[{number}/{len(rows)}] {row} …")
        line, fine = try_row(row, args.remove)
        failed += not fine
        print(f"{row!s:<16} {line}", flush=True)
    print(f"{len(rows) - failed} of {len(rows)} rows build, import and run the small chain on Python {PYTHON}")
    return 1 if failed else 0


def try_row(release: releases.Release, remove: bool) -> tuple[str, bool]:
    """Return the line of a row, and whether it runs."""
    started = time.monotonic()
    try:
        row = build.row(release, PYTHON)
    except UserError as error:
        return f"left out: {error}", False
    row.create()
    built = time.monotonic() - started
    if row.unbuildable:
        return f"not built after {built:.1f} s: {row.unbuildable}", False
    started = time.monotonic()
    command = [row.executable, str(ROOT / "tools" / "small_chain.py"), release.framework]
    variables = {**row.benchmark_environment_variables(), "PYTHONPATH": str(ROOT)}
    try:
        run = subprocess.run(
            command,
            cwd=ROOT,
            env=variables,
            capture_output=True,
            text=True,
            timeout=CHAIN_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"built in {built:.1f} s; the chain took over {CHAIN_TIMEOUT_SECONDS} s", False
    took = time.monotonic() - started
    if remove:
        shutil.rmtree(os.path.dirname(os.path.dirname(row.executable)))
    if run.returncode:
        said = (run.stderr.strip().splitlines() or [f"exit status {run.returncode}"])[-1]
        return f"built in {built:.1f} s; the chain failed: {said[:200]}", False
    medians = json.loads(run.stdout.strip().splitlines()[-1])
    steps = ", ".join(f"{name.removeprefix('time_')} {seconds * 1e3:.2f} ms" for name, seconds in medians.items())
    return f"built and imported in {built:.1f} s, chain in {took:.1f} s ({steps})", True


if __name__ == "__main__":
    sys.exit(main())
