"""The command line `python -m bumps`."""

import argparse
import importlib
import os
import sys
import traceback

from asv.util import UserError

# In the order of --help: measure, judge, look, tell, keep.
COMMANDS = (
    "run",
    "bench",
    "check",
    "calibrate",
    "history",
    "alert",
    "comment",
    "acknowledge",
    "reproduce",
    "attribute",
    "export",
    "results",
)

USAGE_ERROR = 2
INTERRUPTED = 130
# As the shell says of a command that SIGPIPE ended: what was found was not all read.
UNREAD = 141
# EX_SOFTWARE of sysexits.h. Python's own 1 for an exception would say that something was found.
DEFECT = 70


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bumps",
        description="What a bump of torch or jax changed, and how sure that is.",
        epilog="Exit status of the judging commands: 0 nothing regressed or broken, 1 regressed or broken, "
        "2 wrong usage, 3 only ambiguous left, 4 nothing was measured, 70 a defect of bumps itself.",
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = importlib.import_module(f"bumps.commands.{name}")
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
        print(f"bumps: {error}", file=sys.stderr)
        return USAGE_ERROR
    except BrokenPipeError:
        # The reader of a pipe went away (`| head`).
        _discard_output()
        return UNREAD
    except OSError as error:
        _discard_output()
        print(
            f"bumps: {error.strerror or error}: {error.filename}" if error.filename else f"bumps: {error}",
            file=sys.stderr,
        )
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("bumps: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception:
        traceback.print_exc()
        print("bumps: this is a defect of bumps; please report it with the lines above", file=sys.stderr)
        return DEFECT


def _discard_output() -> None:
    """Where the output cannot be written, keep Python's own flush at exit from complaining and from its status 120."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
