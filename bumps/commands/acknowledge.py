"""python -m bumps acknowledge: mark a known regression, or list those that are marked."""

import datetime
import getpass
import pathlib
import re
import sys

from asv.util import UserError
from rich.table import Table
from rich.text import Text

from bumps import acknowledged
from bumps.acknowledged import Acknowledgement
from bumps.commands import arguments
from bumps.console import Console
from bumps.results import name_with_params, parse_version


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "acknowledge",
        help="mark a known regression until a release",
        description="Marks a known regression (or a broken benchmark) in acknowledged.toml, a file to commit: it "
        "stays visible with who accepted it and why, and no longer counts for the exit status or an alert. It expires "
        "as soon as results of the release given with --until are stored. Without arguments, lists what is marked.",
        epilog="Example: python -m bumps acknowledge torch 2.10.0 --bench 'attention.*bf16' --until 2.11.0 "
        "--why 'pytorch#12345, fix is merged'",
    )
    parser.add_argument("framework", nargs="?", help="torch, jax, or another suite's requirement")
    parser.add_argument("release", nargs="?", help="the release that brought the regression")
    parser.add_argument("--bench", metavar="REGEX", help="searched in asv's name(parameters), as in the report")
    parser.add_argument("--until", metavar="RELEASE", help="the release that should repair it")
    parser.add_argument("--why", metavar="TEXT", help="the reason, best with a link")
    parser.add_argument("--who", metavar="NAME", help="who accepts it (default: the user)")
    parser.add_argument("--machine", help="only on this machine")
    arguments.add_results(parser)
    return parser


def run(args):
    path = pathlib.Path(acknowledged.FILE)
    if args.framework is None:
        _list(path)
        return 0
    missing = [name for name in ("release", "bench", "until", "why") if not getattr(args, name)]
    if missing:
        options = [name if name == "release" else f"--{name}" for name in missing]
        raise UserError(f"say also {', '.join(options)}; see python -m bumps acknowledge --help")
    entry = Acknowledgement(
        framework=args.framework,
        release=_release(args.release),
        benchmark=_pattern(args.bench),
        who=args.who or getpass.getuser(),
        why=args.why,
        until=_release(args.until),
        machine=args.machine,
    )
    if entry.until <= entry.release:
        raise UserError(f"--until {entry.until} is not after {entry.release}: nothing would be acknowledged")
    acknowledged.add(path, entry, datetime.date.today())
    _say_what_it_covers(args, entry)
    print(f"{path}: {entry.framework} {entry.release}, {entry.benchmark.pattern}, until {entry.until}; commit it")
    return 0


def _say_what_it_covers(args, entry: Acknowledgement) -> None:
    """Say how many stored benchmarks it names: a slip of the pen would acknowledge nothing."""
    try:
        archive = arguments.archive_of(args, arguments.config_of(args))
    except UserError:
        return
    names = {
        name_with_params(benchmark, params)
        for row in archive.rows
        if row.release(entry.framework) and entry.machine in (None, row.machine)
        for benchmark, params in row.figures
    }
    matching = [name for name in names if entry.benchmark.search(name)]
    if names and not matching:
        print(f"bumps: {args.bench!r} matches none of the {len(names)} stored benchmarks", file=sys.stderr)
    elif names:
        print(f"{len(matching)} of the {len(names)} stored benchmarks match")


def _release(text: str):
    version = parse_version(text)
    if version is None:
        raise UserError(f"{text!r} is no version; write it as in 2.8.0")
    return version


def _pattern(text: str) -> re.Pattern:
    try:
        return re.compile(text)
    except re.error as error:
        raise UserError(f"--bench {text!r} is no regular expression: {error}") from None


def _list(path: pathlib.Path) -> None:
    entries = acknowledged.load(path)
    if not entries:
        print("nothing is acknowledged")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("framework", "since", "until", "benchmark", "machine", "who", "why"):
        table.add_column(title, overflow="fold")
    for each in entries:
        cells = (each.framework, each.release, each.until, each.benchmark.pattern, each.machine or "any", each.who)
        table.add_row(*(Text(str(cell)) for cell in (*cells, each.why)))
    Console(highlight=False).print(table)
