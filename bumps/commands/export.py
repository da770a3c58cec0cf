"""python -m bumps export: all figures as one tidy table."""

import pathlib

from asv.util import UserError

from bumps import export
from bumps.commands import arguments


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "export",
        help="write all figures as CSV or Parquet",
        description="Writes every stored figure as one tidy table, one line per process: what was measured, in which "
        "row, when, and the process's median. Failures and skips have lines of their own (column status).",
        epilog="Example: python -m bumps export --parquet figures.parquet",
    )
    form = parser.add_mutually_exclusive_group(required=True)
    form.add_argument("--csv", metavar="FILE", type=pathlib.Path)
    form.add_argument("--parquet", metavar="FILE", type=pathlib.Path)
    arguments.add_results(parser)
    return parser


def run(args):
    form = "csv" if args.csv else "parquet"
    path = getattr(args, form)
    if not path.absolute().parent.is_dir():
        raise UserError(f"there is no folder {path.absolute().parent} to write {path.name} to")
    archive = arguments.archive_of(args, arguments.config_of(args))
    count = export.write(archive, path, form)
    excluded = f"; {len(archive.excluded)} unreadable things left out" if archive.excluded else ""
    print(f"{path}: {count} lines{excluded}")
    return 0
