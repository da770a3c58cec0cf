"""The command line `python -m env_matrix`."""

import argparse
import importlib
import os
import sys
import traceback

from asv.util import UserError

# In the order of --help: look, change, tidy up.
COMMANDS = ("list", "watch", "why", "doctor", "add", "remove", "lock", "prune")

USAGE_ERROR = 2
INTERRUPTED = 130
# As the shell says of a command that SIGPIPE ended: what was found was not all read.
UNREAD = 141
# EX_SOFTWARE of sysexits.h. Python's own 1 for an exception would say that something was found.
DEFECT = 70


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m env_matrix",
        description="What is installed: the matrix of torch and jax releases, their constraints and environments.",
        epilog="A RELEASE is written torch==2.9.0 or 'torch 2.9.0'; add and lock take torch==latest too. Exit status: "
        "0 done or nothing to do, 1 something was found (COMMAND --help says what), 2 an error, told in one line, "
        "70 a defect of env_matrix itself, 141 when whoever read the output went away.",
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = importlib.import_module(f"env_matrix.commands.{name}")
        module.add_parser(subparsers).set_defaults(run=module.run)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit status.

    What a user can cause arrives here as `asv.util.UserError` or `OSError` and leaves as one line.
    """
    try:
        args = make_parser().parse_args(argv)
        status = args.run(args)
        # Here, where an error in writing is told like any other.
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except UserError as error:
        print(f"env_matrix: {error}", file=sys.stderr)
        return USAGE_ERROR
    except BrokenPipeError:
        # The reader of a pipe went away (`| head`).
        _discard_output()
        return UNREAD
    except OSError as error:
        _discard_output()
        place = f": {error.filename}" if error.filename else ""
        print(f"env_matrix: {error.strerror or error}{place}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("env_matrix: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception:
        traceback.print_exc()
        print("env_matrix: this is a defect of env_matrix; please report it with the lines above", file=sys.stderr)
        return DEFECT


def _discard_output() -> None:
    """Where the output cannot be written, keep Python's own flush at exit from complaining and from its status 120."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
