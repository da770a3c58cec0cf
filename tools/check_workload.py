#!/usr/bin/env python
"""Run the correctness checks and audits of one file's workloads, in every row that is built or in one interpreter.

.venv/bin/python tools/check_workload.py benchmarks/normalise.py
.venv/bin/python tools/check_workload.py benchmarks/normalise.py --python /path/to/python

Exit status: 0 all fine (flags are no failure: they say what a figure means), 1 something failed, 2 wrong usage,
3 nothing could be run, with the reasons.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from asv.util import UserError  # noqa: E402  (the project is no installed package)

from env_matrix import row_environment  # noqa: E402

NOTHING_RAN = 3


@dataclasses.dataclass(frozen=True)
class Interpreter:
    """A Python that holds frameworks, what to call it, and the variables that its row is measured with."""

    name: str
    python: pathlib.Path
    variables: dict


def module_of(file: str) -> str:
    """Return the module of a file directly in benchmarks/; raises UserError for any other."""
    if not file:
        raise UserError("say which file: make check-workload FILE=benchmarks/normalise.py")
    path = pathlib.Path(file).resolve()
    if path.parent != ROOT / "benchmarks" or path.suffix != ".py":
        raise UserError(f"{file} is no Python file directly in benchmarks/, where asv looks for workloads")
    if not path.is_file():
        raise UserError(f"there is no {file}")
    if not path.stem.isidentifier():
        raise UserError(f"{path.name} cannot be imported: letters, digits and underscores only, please")
    return path.stem


def built_rows(env_dir: pathlib.Path) -> list[Interpreter]:
    """Return the rows that are built in the folder of environments, in the order of their names."""
    found = []
    for info in env_dir.glob("*/asv-env-info.json"):
        python = info.parent / "bin" / "python"
        try:
            content = json.loads(info.read_text(encoding="utf-8"))
            requirements = {name: version for name, version in content["requirements"].items() if version}
            variables = dict(content["build_env_vars"])
            name = " ".join(f"{name} {version}" for name, version in requirements.items())
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            continue
        accelerator = variables.get("BENCH_ACCELERATOR")
        if python.exists() and accelerator:
            variables.update(row_environment.device_variables(accelerator))
            found.append(Interpreter(f"{name} (Python {content.get('python')}, {accelerator})", python, variables))
    return sorted(found, key=lambda each: each.name)


def interpreters(python: str | None, env_dir: pathlib.Path) -> list[Interpreter]:
    """Return the one interpreter that was asked for, else the built rows; raises UserError where there is none."""
    if python is not None:
        path = shutil.which(os.path.expanduser(python))
        if path is None:
            raise UserError(f"{python} is no executable; name the Python that holds torch or jax")
        # Not resolved: a virtual environment's Python is a link.
        return [Interpreter(path, pathlib.Path(path).absolute(), {})]
    rows = built_rows(env_dir)
    if not rows:
        raise UserError("no row is built yet: run `make bench`, or say PYTHON=/path/to/python that holds torch or jax")
    return rows


def check(module: str, interpreter: Interpreter) -> int:
    """Check the module in the interpreter, its lines printed as they come; return its exit status."""
    print(f"== {interpreter.name}", flush=True)
    command = [str(interpreter.python), "-m", "benchmarks.file_check", module]
    environment = {**os.environ, **interpreter.variables, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="check_workload"
    )
    parser.add_argument("file", help="the workload's file: benchmarks/normalise.py")
    parser.add_argument(
        "--python", metavar="PATH", help="an interpreter that holds torch or jax (default: every built row)"
    )
    arguments = parser.parse_args()
    try:
        module = module_of(arguments.file)
        found = interpreters(arguments.python, ROOT / "env")
    except UserError as error:
        print(f"check_workload: {error}", file=sys.stderr)
        return 2
    statuses = {check(module, each) for each in found}
    if statuses - {0, NOTHING_RAN}:
        return 1
    return 0 if 0 in statuses else NOTHING_RAN


if __name__ == "__main__":
    sys.exit(main())
