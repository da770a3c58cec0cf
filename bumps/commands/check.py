"""python -m bumps check: the verdict on a bump from stored results."""

import sys

from bumps import check, report
from bumps.commands import arguments

EXCLUDED = 5


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "check",
        help="judge a bump from stored results",
        description="Judges what a bump changed from stored asv results alone; measures nothing. Also reads results "
        "that stock asv 0.6 wrote for other suites, when the release is among the rows' requirements.",
        epilog="Example: python -m bumps check --framework jax --old 0.9.2 --new 0.10.2. Exit status: 0 nothing "
        "regressed or broken, 1 regressed or broken, 2 wrong usage, 3 only ambiguous left, 4 nothing was measured, "
        "5 (with --strict) something was excluded and nothing worse was found.",
    )
    arguments.add_bump(parser)
    arguments.add_results(parser)
    parser.add_argument(
        "--force", action="store_true", help="compare rows of different Pythons or accelerators; the report says so"
    )
    arguments.add_assume_interleaved(parser)
    parser.add_argument("--strict", action="store_true", help="exit with 5 when anything was excluded")
    parser.add_argument("--all", action="store_true", help="also list what stayed the same or was not measured")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the report as JSON (docs/report.md)")
    form.add_argument("--markdown", action="store_true", help="print it for an issue or a pull request")
    return parser


def run(args):
    config = arguments.config_of(args)
    found = check.report(
        arguments.archive_of(args, config),
        config,
        args.framework,
        args.old,
        args.new,
        machine=args.machine,
        python=args.python,
        accelerator=args.accelerator,
        force=args.force,
        where=arguments.where_of(args),
        assume_interleaved=args.assume_interleaved,
    )
    if args.json:
        print(report.as_json(found))
    elif args.markdown:
        sys.stdout.write(report.as_markdown(found, args.all))
    else:
        report.print_text(found, args.all)
    status = found["summary"]["exit_status"]
    return EXCLUDED if status == 0 and args.strict and found["excluded"] else status
