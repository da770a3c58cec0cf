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
    args = make_parser().parse_args(argv)
    try:
        return args.run(args)
    except UserError as error:
        print(f"bumps: {error}", file=sys.stderr)
        return USAGE_ERROR
    except BrokenPipeError:
        # The reader of a pipe went away (`| head`); keep Python's own flush at exit from complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
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
