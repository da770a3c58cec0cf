"""python -m bumps attribute: which component of the environment carries a change."""

import contextlib
import dataclasses
import json
import pathlib
import re
import shutil
import sys
from collections.abc import Sequence

from asv.config import Config
from asv.util import UserError
from rich.text import Text

from bumps import attribution, check, component_rows, verdict
from bumps.attribution import Attribution, Swap
from bumps.cases import Comparison
from bumps.commands import arguments
from bumps.console import Console
from bumps.results import Archive, Row, name_with_params
from bumps.selection import Pair, context_of, select

CACHE = pathlib.Path(".cache") / "attribute"
TRACED = (*attribution.CHANGES, verdict.Verdict.BROKEN, verdict.Verdict.AMBIGUOUS)


def stored_swaps(archive: Archive, pair: Pair, swaps: Sequence[Swap]) -> dict[Swap, Row]:
    """Return the stored rows that are the old one with one component overridden, of the swaps that were measured."""
    overridden = [
        row
        for row in archive.rows
        if row.override
        and not row.replica
        and row.requirements == pair.old.requirements
        and context_of(row, pair.framework) == context_of(pair.old, pair.framework)
    ]
    overridden.sort(key=lambda row: row.measured)
    newest = {row.override: row for row in overridden}
    return {swap: newest[swap.override] for swap in swaps if swap.override in newest}


def judge(archive: Archive, pair: Pair, config: object | None, assume_interleaved: bool) -> dict:
    """Return (benchmark, parameters) → judgement of a pair of rows."""
    compared = Comparison(archive, pair, check.margins_of(config), assume_interleaved).compare()
    return {each.key: each for each in verdict.judge([each.case for each in compared])}


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "attribute",
        help="name the component that carries a change",
        description="Takes the old row, swaps one component of its environment at a time for the new row's version "
        "(cuDNN, cuBLAS, triton, jaxlib, numpy …), and says which swap alone carries a benchmark's change, or that no "
        "one does. A component row is the old row under BENCH_OVERRIDE, a build variable of asv.conf.json's matrix.",
        epilog="Example: python -m bumps attribute torch 2.9.1 2.10.0 --bench 'attention.*bf16'. Exit status: 0 a "
        "component carries the change of every benchmark that changed, 1 none does for at least one, 2 wrong usage, "
        "3 undecided, 4 nothing changed.",
    )
    parser.add_argument("framework", help="torch or jax")
    parser.add_argument("old", metavar="OLD", help="e.g. 2.9.1")
    parser.add_argument("new", metavar="NEW", help="e.g. 2.10.0")
    parser.add_argument("--bench", metavar="REGEX", required=True, help="searched in the name with its parameters")
    parser.add_argument(
        "--component",
        metavar="NAME",
        action="append",
        default=[],
        help="swap this one (may be repeated; default: every component with compiled code that differs)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=int, default=5, help="processes a row (default: 5)")
    parser.add_argument(
        "--stored", action="store_true", help="measure nothing: judge the component rows in the results"
    )
    arguments.add_row(parser)
    arguments.add_assume_interleaved(parser)
    arguments.add_results(parser)
    return parser


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a bump's environments differ in, and what of it is stored as component rows."""

    pair: Pair
    report: dict
    swaps: list[Swap]
    left_out: list[str]
    rows: dict[Swap, Row]

    @property
    def missing(self) -> list[Swap]:
        return [swap for swap in self.swaps if swap not in self.rows]

    def within(self, archive: Archive) -> "Plan":
        """Return the same with the rows of another archive, where the bump and its swaps were measured again."""
        old, new = (row.requirements[self.pair.framework] for row in (self.pair.old, self.pair.new))
        pair = select(archive, self.pair.framework, old, new)
        return dataclasses.replace(self, pair=pair, rows=stored_swaps(archive, pair, self.swaps))


def plan(archive: Archive, config: object | None, args) -> Plan:
    """Return what there is to swap. Raises UserError when the rows do not make a bump or do not differ."""
    where = arguments.where_of(args)
    choice = (args.framework, args.old, args.new, args.machine, args.python, args.accelerator)
    pair = select(archive, *choice, where=where)
    report = check.report(
        archive, config, *choice, where=where, assume_interleaved=args.assume_interleaved, acknowledgements=()
    )
    found, left_out = attribution.swaps(report["components"], args.framework, args.component)
    if not found:
        why = "; ".join(left_out) or "nothing differs, or no inventory of their environments is stored"
        raise UserError(f"no component to swap between {args.framework} {args.old} and {args.new}: {why}")
    return Plan(pair, report, found, left_out, stored_swaps(archive, pair, found))


def attributions(
    archive: Archive, config: object | None, found: Plan, bench: str, assumed: bool
) -> dict[str, Attribution]:
    """Return name with parameters → what carries its change, of every benchmark that `bench` finds."""
    changes = judge(archive, found.pair, config, assumed)
    swapped = {
        swap: judge(archive, dataclasses.replace(found.pair, new=row, controls=(), notes=[]), config, assumed)
        for swap, row in found.rows.items()
    }
    pattern = _pattern(bench)
    chosen = [key for key in changes if pattern.search(name_with_params(*key))]
    if not chosen:
        raise UserError(f"no measured benchmark matches {bench!r}")
    return {
        name_with_params(*key): attribution.attribute(
            changes[key], [(swap, judgements[key]) for swap, judgements in swapped.items() if key in judgements]
        )
        for key in chosen
    }


def _pattern(text: str) -> re.Pattern:
    try:
        return re.compile(text)
    except re.error as error:
        raise UserError(f"--bench {text!r} is no regular expression: {error}") from None


def run(args):
    config = arguments.config_of(args)
    archive = arguments.archive_of(args, config)
    found = plan(archive, config, args)
    assumed = args.assume_interleaved
    if not args.stored:
        archive = measured(archive, config, found, args)
        # What was just measured alternated between the rows, round by round.
        found, assumed = found.within(archive), True
    if not found.rows:
        overrides = ", ".join(swap.override for swap in found.missing)
        raise UserError(
            f"no component row of {args.framework} {args.old} is stored (BENCH_OVERRIDE={overrides}); "
            "without --stored they are measured"
        )
    results = attributions(archive, config, found, args.bench, assumed)
    if args.json:
        print(json.dumps(_as_dict(found, results), indent=2, allow_nan=False))
    else:
        _print(found, results)
    return status(list(results.values()))


def measured(archive: Archive, config: Config | None, found: Plan, args) -> Archive:
    """Measure the component rows beside the bump's own and return what was stored of them.

    Raises UserError when there is no configuration to build rows with, or when nothing changed that could be traced.
    """
    if config is None:
        raise UserError("measuring needs asv.conf.json; judge what is stored with --stored")
    pattern = _pattern(args.bench)
    changes = judge(archive, found.pair, config, args.assume_interleaved)
    names = [
        name_with_params(*key)
        for key, judgement in changes.items()
        if pattern.search(name_with_params(*key)) and judgement.verdict in TRACED
    ]
    if not names:
        raise UserError(f"no stored verdict on a benchmark that matches {args.bench!r} is a change to trace")
    folder = CACHE / f"{args.framework}-{found.report['old']}-{found.report['new']}"
    shutil.rmtree(folder, ignore_errors=True)
    # What asv says while it measures is progress; the result alone goes to standard output.
    with contextlib.redirect_stdout(sys.stderr):
        component_rows.measure(config, found.pair, found.swaps, names, args.rounds, folder)
    return Archive(folder)


def status(results: Sequence[Attribution]) -> int:
    """Return the exit status: 0 all carried, 1 one by no component alone, 3 undecided, 4 nothing changed."""
    changed = [each for each in results if each.change.verdict in (*attribution.CHANGES, verdict.Verdict.BROKEN)]
    if not changed:
        return 4
    if any(not each.carriers and not each.undecided for each in changed):
        return 1
    return 0 if all(each.carriers for each in changed) else 3


def _as_dict(found: Plan, results: dict[str, Attribution]) -> dict:
    return {
        "framework": found.report["framework"],
        "old": found.report["old"],
        "new": found.report["new"],
        "machine": found.report["machine"],
        "missing": [swap.override for swap in found.missing],
        "left_out": found.left_out,
        "benchmarks": [
            {
                "name": name,
                "verdict": str(each.change.verdict),
                "ratio": each.change.ratio,
                "sentence": each.sentence,
                "carriers": [_carried(carried) for carried in each.carriers],
                "undecided": [_carried(carried) for carried in each.undecided],
            }
            for name, each in results.items()
        ],
    }


def _carried(carried: attribution.Carried) -> dict:
    judgement = carried.judgement
    return {
        "component": carried.swap.component,
        "old": carried.swap.old,
        "new": carried.swap.new,
        "verdict": str(judgement.verdict),
        "ratio": judgement.ratio,
        "low": judgement.low,
        "high": judgement.high,
        "share": carried.share,
    }


def _print(found: Plan, results: dict[str, Attribution]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for name, each in results.items():
        ratio = "" if each.change.ratio is None else f" {each.change.ratio:.3f}×"
        console.print(Text(f"{name}: {each.change.verdict}{ratio}", style="bold"))
        console.print(Text(f"  {each.sentence}"))
    for swap in found.missing:
        console.print(Text(f"not measured: {found.report['old']} with {swap.override}", style="yellow"))
    for line in found.left_out:
        console.print(Text(f"not swapped: {line}", style="dim"))
