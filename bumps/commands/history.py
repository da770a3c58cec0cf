"""python -m bumps history: benchmarks over all measured releases."""

import dataclasses
import json
import sys

from asv.util import human_value
from rich.table import Table
from rich.text import Text

from bumps import history
from bumps.commands import arguments
from bumps.console import Console
from bumps.report import STYLES


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "history",
        help="show a benchmark over all measured releases",
        description="Shows benchmarks over all measured releases, by version, with the verdict between neighbours. A "
        "regression that a later release repaired stays visible, with both releases.",
        epilog="Example: python -m bumps history torch --bench 'MatmulChain.time_compiled_grad'",
    )
    parser.add_argument("framework", help="torch, jax, or another suite's requirement")
    parser.add_argument("--bench", metavar="REGEX", help="searched in the name with its parameters (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    for option in ("--machine", "--python", "--accelerator"):
        parser.add_argument(option, help="only this one (default: each that was measured)")
    arguments.add_assume_interleaved(parser)
    arguments.add_results(parser)
    return parser


def run(args):
    config = arguments.config_of(args)
    archive = arguments.archive_of(args, config)
    choice = {name: getattr(args, name) for name in ("machine", "python", "accelerator")}
    with arguments.working(f"judging every bump of {args.framework}"):
        found, problems = history.histories(
            archive, config, args.framework, args.bench, **choice, assume_interleaved=args.assume_interleaved
        )
    for problem in problems:
        print(f"bumps: {problem}", file=sys.stderr)
    if args.json:
        print(json.dumps([dataclasses.asdict(each) for each in found], indent=2, allow_nan=False))
        return 0
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=max(console.width, 160))
    for each in found:
        _print(console, args.framework, each)
    return 0


def _print(console: Console, framework: str, each: history.History) -> None:
    place = ", ".join(part for part in (each.machine, each.accelerator, f"Python {each.python}") if part)
    console.print(Text(each.name, style="bold"), Text(f"({place})", style="dim"))
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in (framework, "figure", "verdict", "new/old"):
        table.add_column(title, no_wrap=True)
    table.add_column("why", overflow="fold")
    for point in each.points:
        interval = "" if point.low is None else f" ({point.low:.3f} … {point.high:.3f})"
        table.add_row(
            Text(point.release),
            Text("–" if point.figure is None else human_value(point.figure, each.unit or "")),
            Text(point.verdict or "", style=STYLES.get(point.verdict, "")),
            Text("" if point.ratio is None else f"{point.ratio:.3f}×{interval}"),
            Text(point.why or ""),
        )
    console.print(table)
    for regression in each.regressions:
        end = f"repaired in {regression.repaired}" if regression.repaired else "not repaired yet"
        left = "" if regression.ratio is None else f"; {regression.ratio:.3f}× of it left at {each.points[-1].release}"
        console.print(Text(f"regressed in {regression.release}, {end}{left}", style="bold red"))
    console.print()
