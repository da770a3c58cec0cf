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
# EX_SOFTWARE of sysexits.h. Python's own 1 for an exception would say that something was found.
DEFECT = 70


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m env_matrix",
        description="What is installed: the matrix of torch and jax releases, their constraints and environments.",
        epilog="A RELEASE is written torch==2.9.0, 'torch 2.9.0' or torch==latest. Exit status: 0 done or nothing to "
        "do, 1 something was found (COMMAND --help says what), 2 an error, told in one line, 70 a defect of "
        "env_matrix itself.",
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
    args = make_parser().parse_args(argv)
    try:
        return args.run(args)
    except UserError as error:
        print(f"env_matrix: {error}", file=sys.stderr)
        return USAGE_ERROR
    except BrokenPipeError:
        # The reader of a pipe went away (`| head`); keep Python's own flush at exit from complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
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
