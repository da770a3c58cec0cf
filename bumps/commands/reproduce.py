"""python -m bumps reproduce: one benchmark of a bump as a standalone script."""

import pathlib

from bumps import check, reproduce, sidecars
from bumps.commands import arguments
from bumps.extract import Suite
from bumps.selection import select


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "reproduce",
        help="write one row of a verdict as a standalone script",
        description="Writes one row of a bump's verdict as one standalone script for an upstream bug report: the "
        "framework alone, no asv; the workload's and the adapter's own source, reduced to what this step runs. The "
        "commands that install both environments, every package as it was, stand at its head.",
        epilog="Example: python -m bumps reproduce 'MatmulChain.time_compiled_grad(bf16, small)' --framework torch "
        "--old 2.9.1 --new 2.10.0",
    )
    parser.add_argument(
        "row", metavar="ROW", help="the benchmark with its parameters as the report names it, or a part"
    )
    arguments.add_bump(parser)
    arguments.add_results(parser)
    parser.add_argument("--force", action="store_true", help="also where Python or accelerator differ")
    parser.add_argument(
        "--output", metavar="FILE", type=pathlib.Path, help="default: reproduce_<row>.py; a file that is there stays"
    )
    return parser


def run(args):
    config = arguments.config_of(args)
    archive = arguments.archive_of(args, config)
    choice = (args.framework, args.old, args.new, args.machine, args.python, args.accelerator, args.force)
    where = arguments.where_of(args)
    report = check.report(archive, config, *choice, where=where)
    row = reproduce.find_row(report, args.row)
    pair = select(archive, *choice, where)
    sides = (pair.old, pair.new)
    folder = pathlib.Path(args.config or ".").parent / (config.benchmark_dir if config else "benchmarks")
    path = args.output or pathlib.Path(reproduce.file_name(row))
    text = reproduce.script(
        report,
        row,
        Suite(folder),
        [sidecars.read(side).environment for side in sides],
        [side.requirements for side in sides],
        path.name,
    )
    reproduce.write(path, text)
    print(path)
    return 0
