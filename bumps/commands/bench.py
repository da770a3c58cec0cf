"""python -m bumps bench: measure rows side by side, as `make bench` does."""

import pathlib
from collections import Counter

from asv.config import Config
from asv.results import Results, get_filename
from asv.util import UserError, human_value
from asv_runner.statistics import get_err
from rich.table import Table
from rich.text import Text

from bumps import driver
from bumps.commands import measuring
from bumps.console import Console
from bumps.driver import Nothing, Options, Outcome, combinations_of
from bumps.journal import item_of
from bumps.plan import Item
from bumps.rows import Row, Rows, load_config

STARTER_ROWS = ("jax 0.9.2", "jax 0.10.2", "jax 0.10.2 control", "torch 2.13.0")
# Both chains at their small size, in every mode and pass.
STARTER_BENCHMARKS = r"^\w+\.(ArticleChain|MatmulChain)\.time_[a-z]+_(forward|grad)\(.*'fp32', 'small'"
# The many starter benchmarks lend each other what they know of the noise; few do not, and from two processes of each
# side nobody can say which framework is faster.
STARTER_ROUNDS, ROUNDS = 2, 5
MEASURED, SOMETHING_FAILED = 0, 1
SKIPPED = "skipped"


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "bench",
        help="measure rows side by side",
        description="Builds rows, measures them interleaved, one fresh process a row and round, writes ordinary asv "
        "results, publishes the site and prints a table. Judges nothing. Every finished process is journalled: after "
        "Ctrl-C or a kill the same command carries on; a finished one measures afresh.",
        epilog="Example: python -m bumps bench --row 'jax==0.10.2' --row 'torch==2.13.0' --bench 'MatmulChain.*fp32'. "
        "Exit status: 0 all was measured, 1 a row could not be built or a benchmark failed, 2 wrong usage, 4 nothing "
        "was measured.",
    )
    parser.add_argument(
        "--row",
        metavar="ROW",
        action="append",
        default=[],
        help=f"torch==2.13.0, 'jax==0.10.2 control', 'jax latest' (may be repeated; default: "
        f"{', '.join(STARTER_ROWS)})",
    )
    parser.add_argument("--core", action="store_true", help="measure benchmarks/core.txt's selection, as a bump does")
    measuring.add_measuring(parser, ROUNDS, f", {STARTER_ROUNDS} for the starter benchmarks")
    parser.set_defaults(rounds=None)
    return parser


def run(args):
    if args.core and args.bench:
        raise UserError("--bench chooses the benchmarks; leave out --core")
    config = load_config(args.config)
    progress = measuring.console()
    rows = _rows(Rows(config, args.python), args.row, progress)
    chosen = measuring.core_patterns(config, rows) if args.core else args.bench
    options = Options(
        patterns=chosen or [STARTER_BENCHMARKS],
        rounds=args.rounds or (ROUNDS if chosen else STARTER_ROUNDS),
        one_by_one=args.launch == "one-by-one",
        shared=args.shared,
        wait=not args.no_wait,
        show_output=args.show_stderr,
        jobs=args.jobs,
        machine=args.machine,
        purpose="bumps bench",
    )
    try:
        with measuring.resumable(progress):
            outcome = driver.measure(config, rows, [], options, progress)
            measuring.print_costs(outcome, progress)
            print_table(config, outcome)
            if not args.no_publish:
                measuring.publish(config, args.config, progress)
    except Nothing as reason:
        progress.print(str(reason), markup=False)
        return measuring.NOTHING_MEASURED
    return SOMETHING_FAILED if outcome.left_out or outcome.failures else MEASURED


def _rows(known: Rows, named: list[str], progress: Console) -> list[Row]:
    found = {}
    for text in named or STARTER_ROWS:
        try:
            row = known.parse(text)
        except UserError as error:
            if named:
                raise
            progress.print(f"left out: {error}", markup=False)
            continue
        found[row.env_name, row.framework] = row
    if not found:
        raise UserError("none of the starter rows can be built on this Python; choose with --row")
    return list(found.values())


def print_table(config: Config, outcome: Outcome) -> None:
    """Print what asv's result files now say of the rows: one line a benchmark, one column a row; what no row could run
    is counted below, by reason."""
    rows = {row: _results(config, outcome, row) for row in outcome.rows}
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("benchmark", overflow="fold")
    for row in rows:
        table.add_column(Text(str(row)), justify="right", no_wrap=True)
    skipped: Counter[str] = Counter()
    for name, index in _lines(outcome):
        benchmark = outcome.benchmarks[name]
        values = [value for label, value in _parameters(benchmark, index) if label != "framework"]
        cells = [_cell(results, outcome, row, Item(name, index)) for row, results in rows.items()]
        if set(filter(None, cells)) == {SKIPPED}:
            skipped[_why_skipped(outcome, Item(name, index))] += 1
        else:
            table.add_row(Text(f"{name}({', '.join(values)})" if values else name), *map(Text, cells))
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=200)
    if table.row_count:
        console.print(table)
    for reason, count in skipped.most_common():
        console.print(Text(f"{count} skipped: {reason}", style="dim"))


def _why_skipped(outcome: Outcome, line: Item) -> str:
    """Return why the rows skipped a line of the table, each reason once."""
    wanted = _line(outcome, line)
    reasons = {
        entry.get("reason") or "no reason was given"
        for env_name in outcome.plan.selection
        for _, entry in outcome.session.entries(env_name)
        if entry.get("status") == "skipped"
        and entry["benchmark"] == line.benchmark
        and _line(outcome, item_of(entry)) == wanted
    }
    return "; ".join(sorted(reasons)) or "asv says no more of it"


def _lines(outcome: Outcome) -> list[Item]:
    """Return one item for the items that differ in the framework alone: a row has one framework."""
    found: dict[tuple, Item] = {}
    for items in outcome.plan.selection.values():
        for item in items:
            found.setdefault(_line(outcome, item), item)
    return [found[line] for line in sorted(found)]


def _line(outcome: Outcome, item: Item) -> tuple:
    parameters = _parameters(outcome.benchmarks[item.benchmark], item.index)
    return item.benchmark, tuple(value for name, value in parameters if name != "framework")


def _parameters(benchmark: dict, index: int) -> list[tuple[str, str]]:
    return list(zip(benchmark["param_names"], combinations_of(benchmark)[index], strict=True))


def _results(config: Config, outcome: Outcome, row: Row) -> Results | None:
    """Return what asv has of a row, None where nothing was selected for it yet."""
    path = pathlib.Path(config.results_dir) / get_filename(outcome.machine, outcome.commit, row.env_name)
    return Results.load(str(path)) if path.exists() else None


def _cell(results: Results | None, outcome: Outcome, row: Row, line: Item) -> str:
    """Return a row's figure as asv shows it."""
    benchmark = outcome.benchmarks[line.benchmark]
    wanted = _line(outcome, line)
    of_row = (
        item
        for item in outcome.plan.selection[row.env_name]
        if _line(outcome, item) == wanted
        and dict(_parameters(benchmark, item.index)).get("framework", row.framework) == row.framework
    )
    item = next(of_row, None)
    if item is None or results is None or item.benchmark not in results.get_all_result_keys():
        return ""
    value = results.get_result_value(item.benchmark, benchmark["params"])[item.index]
    if value is None:
        return "failed"
    if value != value:
        return SKIPPED
    spread = results.get_result_stats(item.benchmark, benchmark["params"])[item.index]
    return human_value(value, benchmark["unit"], err=get_err(value, spread) if spread else None)
