"""python -m bumps run: measure a bump and judge it."""

import json
import sys

from asv.config import Config
from asv.util import UserError

from bumps import check, driver, looks, report
from bumps.commands import measuring
from bumps.driver import Nothing, Options, Outcome
from bumps.results import Archive
from bumps.rows import Bump, Row, Rows, load_config

SAME, CHANGED, AMBIGUOUS, NOTHING_MEASURED = 0, 1, 3, measuring.NOTHING_MEASURED


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "run",
        help="measure a bump and judge it",
        description="Builds both rows of a bump, measures old, new and a control (the new row under a second name) "
        "interleaved, one fresh process a row and round, writes ordinary asv results, judges, and measures again with "
        "fresh processes what is ambiguous or seems changed. Every finished process is journalled: after Ctrl-C or a "
        "kill the same command carries on.",
        epilog="Examples: python -m bumps run torch 2.13.0 2.14.1; python -m bumps run jax latest (against the release "
        "before it); python -m bumps run torch installed:/opt/a/bin/python installed:/opt/b/bin/python; python -m "
        "bumps run jax --all. Exit status: 0 nothing regressed or broken, 1 regressed or broken, 2 wrong usage, 3 only "
        "ambiguous left, 4 nothing was measured.",
    )
    parser.add_argument("framework", nargs="?", help="torch or jax")
    parser.add_argument(
        "releases",
        nargs="*",
        metavar="RELEASE",
        help="old and new, as in 2.13.0 2.14.1; one alone is compared with the release before it; `latest`; or "
        "installed:PYTHON, an interpreter that someone else built",
    )
    parser.add_argument("--all", action="store_true", help="every pair of neighbouring releases of the matrix")
    selection = parser.add_mutually_exclusive_group()
    selection.add_argument("--core", action="store_true", help="measure benchmarks/core.txt's selection (the default)")
    selection.add_argument("--all-benchmarks", action="store_true", help="measure every benchmark")
    measuring.add_measuring(parser, rounds=5)
    parser.add_argument(
        "--budget", type=float, metavar="MINUTES", help="measure no longer than this (default: until all is settled)"
    )
    parser.add_argument("--no-confirm", action="store_true", help="measure nothing again: judge after the first rounds")
    parser.add_argument(
        "--no-control", action="store_true", help="measure no control: noisier verdicts, a third faster"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="compare interpreters of different Pythons or accelerators; the report says so",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the reports as JSON (docs/report.md), one a bump")
    form.add_argument("--markdown", action="store_true", help="print them for an issue or a pull request")
    return parser


def run(args):
    if args.budget is not None and args.budget <= 0:
        raise UserError("--budget is a number of minutes above 0")
    config = load_config(args.config)
    progress = measuring.console()
    bumps = _bumps(Rows(config, args.python), args, progress)
    unlike = {(bump.old.env_name, bump.new.env_name): _unlike(bump, args.force) for bump in bumps}
    rows = list({row.env_name: row for bump in bumps for row in bump.rows}.values())
    options = Options(
        patterns=_patterns(config, args, rows),
        rounds=args.rounds,
        budget=None if args.budget is None else 60 * args.budget,
        confirm=not args.no_confirm,
        one_by_one=args.launch == "one-by-one",
        shared=args.shared,
        wait=not args.no_wait,
        show_output=args.show_stderr,
        jobs=args.jobs,
        machine=args.machine,
        purpose=f"bumps run {bumps[0]}" if len(bumps) == 1 else f"bumps run of {len(bumps)} bumps",
    )
    try:
        with measuring.resumable(progress):
            outcome = driver.measure(config, rows, bumps, options, progress)
            measuring.print_costs(outcome, progress)
            if not args.no_publish:
                measuring.publish(config, args.config, progress)
    except Nothing as reason:
        progress.print(str(reason), markup=False)
        return NOTHING_MEASURED
    reports = _reports(config, outcome, unlike)
    _print(reports, args)
    return status(reports, bool(outcome.left_out))


def _bumps(rows: Rows, args, progress) -> list[Bump]:
    with_control = not args.no_control
    if args.all:
        if args.releases:
            raise UserError("--all takes every release of the matrix; name a framework alone, or no --all")
        found = []
        for framework in [args.framework] if args.framework else rows.frameworks:
            found += rows.neighbours(framework, lambda line: progress.print(line, markup=False), with_control)
        if not found:
            raise UserError("no two neighbouring releases can be built on this Python")
        return found
    if not args.framework or not args.releases:
        raise UserError("name a framework and its releases, as in: torch 2.13.0 2.14.1; or --all")
    return [rows.bump(args.framework, args.releases, with_control)]


def _unlike(bump: Bump, force: bool) -> tuple[str, ...]:
    """Return in what more than the release two rows differ. Raises UserError unless that is forced."""
    differences = tuple(
        f"{name}: {bump.old.release} on {old}, {bump.new.release} on {new}"
        for name, old, new in (
            ("Python", bump.old.environment.python, bump.new.environment.python),
            ("accelerator", bump.old.accelerator, bump.new.accelerator),
        )
        if old != new
    )
    if differences and not force:
        raise UserError(f"{bump} is no bump of one release alone ({'; '.join(differences)}); --force compares them")
    return differences


def _patterns(config: Config, args, rows: list[Row]) -> list[str]:
    if args.bench and (args.core or args.all_benchmarks):
        raise UserError("--bench chooses the benchmarks; leave out --core and --all-benchmarks")
    if args.all_benchmarks:
        return []
    return args.bench or measuring.core_patterns(config, rows)


def _reports(config: Config, outcome: Outcome, unlike: dict) -> list[dict]:
    archive = Archive(config.results_dir)
    found = []
    for bump in outcome.plan.bumps:
        forced = unlike[bump.old, bump.new]
        pair = looks.pair_of(archive, outcome.machine, outcome.plan, bump, outcome.benchmarks, forced)
        if pair is not None:
            found.append(check.report_of(archive, config, pair))
    return found


def _print(reports: list[dict], args) -> None:
    if args.json:
        print(json.dumps(reports[0] if len(reports) == 1 else reports, indent=2, ensure_ascii=False, allow_nan=False))
    elif args.markdown:
        for found in reports:
            sys.stdout.write(report.as_markdown(found))
    else:
        for found in reports:
            report.print_text(found)
    sys.stdout.flush()


def status(reports: list[dict], something_unbuildable: bool) -> int:
    """Return the exit status of all bumps together: the worst there is, a row that cannot be built being broken."""
    statuses = {found["summary"]["exit_status"] for found in reports}
    if something_unbuildable or CHANGED in statuses:
        return CHANGED
    if AMBIGUOUS in statuses:
        return AMBIGUOUS
    return SAME if SAME in statuses else NOTHING_MEASURED
