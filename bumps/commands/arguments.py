"""Options that several commands share."""

import argparse
import pathlib

from asv.config import Config
from asv.util import UserError
from rich.status import Status
from rich.text import Text

from bumps import artifact
from bumps.console import Console
from bumps.results import Archive

CONFIG = "asv.conf.json"


def add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--results", metavar="DIR", help=f"asv's results folder (default: the one that {CONFIG} names, else results)"
    )
    parser.add_argument(
        "--config", metavar="FILE", help=f"the asv configuration with the margins (default: {CONFIG}, if it is there)"
    )


def add_artifact(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--artifact",
        metavar="DIR",
        help="in place of --results: results that another job uploaded; refused when it holds anything else",
    )


def add_row(parser: argparse.ArgumentParser) -> None:
    """Options that choose a row among those that were measured."""
    parser.add_argument("--machine", help="the machine, where several were measured")
    parser.add_argument("--python", metavar="X.Y", help="the Python, where several were measured")
    parser.add_argument("--accelerator", help="cpu, cuda12 or cuda13, where several were measured")
    parser.add_argument(
        "--where",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="another requirement or variable of the rows, e.g. scipy=1.14 (may be repeated)",
    )


def add_assume_interleaved(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--assume-interleaved",
        action="store_true",
        help="take the rows as interleaved: say so when `asv run --interleave-rounds` measured them, which its result "
        "files do not tell",
    )


def add_bump(parser: argparse.ArgumentParser) -> None:
    """Options that name a bump."""
    parser.add_argument(
        "--framework", required=True, metavar="NAME", help="torch, jax, or any requirement of another suite's rows"
    )
    parser.add_argument("--old", required=True, metavar="RELEASE", help="e.g. 0.9.2")
    parser.add_argument("--new", required=True, metavar="RELEASE", help="e.g. 0.10.2")
    add_row(parser)


def config_of(args: argparse.Namespace) -> Config | None:
    """Return asv's configuration, None without one; raises UserError for one that cannot be read."""
    path = pathlib.Path(args.config or CONFIG)
    if args.config is None and not path.exists():
        return None
    return Config.load(str(path))


def archive_of(args: argparse.Namespace, config: Config | None) -> Archive:
    """Read the results folder. Raises UserError."""
    if handed_in := getattr(args, "artifact", None):
        with working(f"reading {handed_in}"):
            return Archive(artifact.check(pathlib.Path(handed_in)))
    folder = pathlib.Path(args.results or (config.results_dir if config else "results"))
    if config and args.config and not args.results:
        folder = pathlib.Path(args.config).parent / folder
    with working(f"reading {folder}"):
        return Archive(folder)


def working(text: str) -> Status:
    """Return a context that shows on a terminal that something takes its time."""
    return Console(stderr=True).status(Text(text))


def where_of(args: argparse.Namespace) -> dict[str, str]:
    """Return the further requirements that narrow the rows. Raises UserError."""
    pairs = [text.partition("=") for text in args.where]
    for name, separator, _ in pairs:
        if not name or not separator:
            raise UserError(f"--where takes NAME=VALUE, not {name}{separator}")
    return {name: value.removeprefix("=") for name, _, value in pairs}
