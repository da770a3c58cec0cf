"""python -m bumps calibrate: how often the verdicts are wrong, and what they miss."""

import json
import statistics
from dataclasses import replace

from asv.util import UserError
from rich.progress import Progress
from rich.table import Table

from bumps import controls, noise, verdict
from bumps.commands import arguments
from bumps.console import Console
from bumps.controls import Control
from bumps.simulation import Outcome, Truth, judge_alone, simulate
from bumps.verdict import Case, Verdict

SCHEMA = 1
CHANGES = (0.03, 0.05, 0.10, 0.20)
BENCHMARKS = 6000
FEWEST_BENCHMARKS = 300
CHANGED_SHARE = 0.1
# Fewer processes than this cannot show what a control's noise looks like.
FEWEST_EFFECTS = 6


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "calibrate",
        help="simulate how often the verdicts are wrong and what they miss",
        description="Simulates bumps whose truth is known, with the noise of the stored controls (the same row "
        "measured twice), or with noise models where there are none: false alarms per 1,000 unchanged benchmarks "
        "without the help of multiplicity control, and how many slowdowns of 3, 5, 10 and 20 % are found.",
        epilog="Example: python -m bumps calibrate --machine my-gpu. docs/verdicts.md has the method and a table of "
        "its error rates. Exit status: 0, or 2 for wrong usage.",
    )
    arguments.add_results(parser)
    parser.add_argument("--machine", help="only this machine's controls (default: all)")
    parser.add_argument("--models", action="store_true", help="use the noise models even if controls are stored")
    parser.add_argument("--rounds", type=int, default=5, help="processes a side and stage (default: 5)")
    parser.add_argument("--margin", type=float, default=0.05, help="relevance margin (default: 0.05, which is 5 %%)")
    parser.add_argument(
        "--benchmarks", type=int, default=BENCHMARKS, help=f"benchmarks a line (default: {BENCHMARKS}, half a minute)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the simulation (default: 1)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser


def run(args):
    if not 2 <= args.rounds <= verdict.MOST_PROCESSES:
        raise UserError(f"--rounds must be from 2 to {verdict.MOST_PROCESSES}, not {args.rounds}")
    if not 0 < args.margin < 1:
        raise UserError(f"--margin must be between 0 and 1 (0.05 is 5 %), not {args.margin}")
    if args.benchmarks < FEWEST_BENCHMARKS:
        raise UserError(f"--benchmarks must be at least {FEWEST_BENCHMARKS}, not {args.benchmarks}")
    stored = [] if args.models else _stored_controls(args)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        found = calibrate(stored, args.benchmarks, args.rounds, args.margin, args.seed, progress)
    if args.json:
        print(json.dumps(found, indent=2, allow_nan=False))
    else:
        _show(found)
    return 0


def _stored_controls(args) -> list[Control]:
    config = arguments.config_of(args)
    try:
        archive = arguments.archive_of(args, config)
    except UserError:
        # A folder that was asked for must be there; the default one need not be.
        if args.results:
            raise
        return []
    if args.machine and args.machine not in {row.machine for row in archive.rows}:
        raise UserError(f"no results of a machine {args.machine!r} in {archive.folder}")
    return controls.stored(archive, args.machine)


def calibrate(
    stored: list[Control],
    benchmarks: int,
    rounds: int = 5,
    margin: float = 0.05,
    seed: int = 1,
    progress: Progress | None = None,
) -> dict:
    """Return the figures that `--json` prints: `schema`, `margin`, `rounds`, `controls` (judged, alarms) and
    `calibrations`, one for the stored controls or one for each noise model."""
    stored = [each for each in stored if not each.exact]
    pools = [effects for each in stored if (effects := _effects(each))]
    if pools:
        sources = [("stored controls", Truth(pools=tuple(pools), rounds=rounds, margin=margin), _levels(stored))]
    else:
        sources = [
            (f"{name} model", Truth(model=name, rounds=rounds, margin=margin), sorted(noise.MEASURED_LEVELS))
            for name in noise.MODELS
        ]
    task = progress.add_task("simulating", total=len(sources) * (1 + len(CHANGES))) if progress else None
    calibrations = []
    for name, truth, levels in sources:
        figures = []
        for change in (0.0, *CHANGES):
            if change:
                changing = replace(truth, change=change, changed=CHANGED_SHARE)
                outcome = simulate(seed, changing, max(30, round(benchmarks * CHANGED_SHARE)))
            else:
                outcome = simulate(seed, truth, benchmarks, judge_alone)
            figures.append((change, outcome))
            if progress:
                progress.advance(task)
        calibrations.append(
            {
                "noise": name,
                "sd": {"lowest": levels[0], "median": statistics.median(levels), "highest": levels[-1]},
                "unchanged": _unchanged(figures[0][1]),
                "detection": [_detection(change, outcome) for change, outcome in figures[1:]],
            }
        )
    return {
        "schema": SCHEMA,
        "margin": margin,
        "rounds": rounds,
        "controls": _judged_controls(stored, margin),
        "calibrations": calibrations,
    }


def _effects(control: Control) -> tuple[float, ...]:
    effects = noise.effects((control.row.medians, control.replica.medians))
    return effects if len(effects) >= FEWEST_EFFECTS else ()


def _levels(stored: list[Control]) -> list[float]:
    levels = [noise.level((each.row.medians, each.replica.medians)) for each in stored if _effects(each)]
    return sorted(level for level in levels if level is not None)


def _judged_controls(stored: list[Control], margin: float) -> dict:
    pairs = [
        Case(number, each.row, each.replica, margin=margin, stored_only=True) for number, each in enumerate(stored)
    ]
    found = verdict.control_alarms(verdict.judge(pairs))
    return {"judged": found.judged, "alarms": found.alarms}


def _unchanged(outcome: Outcome) -> dict:
    return {
        "benchmarks": outcome.total,
        "false_alarms_per_1000": 1000 * outcome.share(Verdict.REGRESSED),
        "upper_bound_per_1000": 1000 * outcome.upper_bound(Verdict.REGRESSED),
        "same": outcome.share(Verdict.SAME),
        "ambiguous": outcome.share(Verdict.AMBIGUOUS),
        "processes_a_side": outcome.processes_a_side,
    }


def _detection(change: float, outcome: Outcome) -> dict:
    return {
        "change": change,
        "benchmarks": outcome.total,
        "regressed": outcome.share(Verdict.REGRESSED),
        "same": outcome.share(Verdict.SAME),
        "ambiguous": outcome.share(Verdict.AMBIGUOUS),
        "processes_a_side": outcome.processes_a_side,
    }


def _show(found: dict) -> None:
    console = Console()
    for calibration in found["calibrations"]:
        sd = calibration["sd"]
        unchanged = calibration["unchanged"]
        table = Table(
            title=f"{calibration['noise']}: processes spread by {sd['lowest']:.2%} to {sd['highest']:.1%} "
            f"(median {sd['median']:.1%})"
        )
        for column in ("true change", "regressed", "same", "ambiguous", "processes a side"):
            table.add_column(column, justify="right")
        table.add_row(
            "none",
            f"{unchanged['false_alarms_per_1000']:.2f} in 1,000 (at most {unchanged['upper_bound_per_1000']:.2f})",
            f"{unchanged['same']:.1%}",
            f"{unchanged['ambiguous']:.1%}",
            f"{unchanged['processes_a_side']:.1f}",
        )
        for each in calibration["detection"]:
            table.add_row(
                f"{each['change']:+.0%}",
                f"{each['regressed']:.1%}",
                f"{each['same']:.1%}",
                f"{each['ambiguous']:.1%}",
                f"{each['processes_a_side']:.1f}",
            )
        console.print(table)
    console.print(
        f"Margin {found['margin']:.1%}. `same` beyond the margin says how large a change it excludes. "
        "At most: 95 % bound of what the simulation can tell."
    )
    judged = found["controls"]
    if judged["judged"]:
        console.print(f"{judged['judged']} stored controls judged as bumps: {judged['alarms']} false alarms.")
    else:
        console.print("No stored controls: measure some with python -m bumps run, which always measures one.")
