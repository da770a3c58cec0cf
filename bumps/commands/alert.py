"""python -m bumps alert: one message a bump, to where people are."""

import pathlib
import sys

from asv.util import UserError

from bumps import alert, check, delivery
from bumps.commands import arguments

UNDELIVERED = 1
MEMORY = "alerts.sent"


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "alert",
        help="tell people what a bump regressed or broke",
        description="Makes one message a bump from the stored results: what is broken, and what is regressed and was "
        "confirmed by fresh processes. Nothing is sent for what is ambiguous, and the same verdict is not sent twice.",
        epilog="Examples: python -m bumps alert --framework jax --old 0.9.2 --new 0.10.2 --to github; python -m bumps "
        "alert --to stdout --dry-run. Exit status: 0 delivered or nothing to tell, 1 not delivered or not "
        "judged, 2 wrong usage.",
    )
    parser.add_argument("--framework", help="only this framework's bumps")
    parser.add_argument("--old", help="only the bump from this release")
    parser.add_argument("--new", help="only the bump to this release")
    parser.add_argument("--machine", help="only this machine's bumps")
    arguments.add_results(parser)
    arguments.add_artifact(parser)
    parser.add_argument(
        "--to",
        action="append",
        default=[],
        metavar="TARGET",
        help="github, stdout, file:PATH or a notification URL of apprise (may be repeated; default: stdout)",
    )
    parser.add_argument("--site", metavar="URL", help="where the pages are served, for links")
    parser.add_argument("--dry-run", action="store_true", help="show every message, send and remember nothing")
    return parser


def run(args):
    config = arguments.config_of(args)
    archive = arguments.archive_of(args, config)
    found = [bump for bump in check.bumps(archive) if _is_chosen(bump, args)]
    if not found:
        raise UserError("no such bump was measured; python -m bumps run measures one")
    reports, problems = check.reports(archive, config, found)
    messages = [alert.message(report, args.site) for _, report in reports]
    # What cannot be judged keeps nobody from hearing of the rest.
    for problem in problems:
        print(f"bumps: {problem}", file=sys.stderr)
    status = UNDELIVERED if problems else 0
    if args.dry_run:
        for each in messages:
            print(f"{each.title}\n\n{each.markdown}")
        return status
    # An artifact stays as it came.
    folder = config.results_dir if args.artifact and config else archive.folder
    return _deliver_all(messages, args.to or ["stdout"], pathlib.Path(folder) / MEMORY) or status


def _is_chosen(bump, args) -> bool:
    wanted = (("framework", args.framework), ("old", args.old), ("new", args.new), ("machine", args.machine))
    return all(value is None or getattr(bump, name) == value for name, value in wanted)


def _deliver_all(messages, targets, memory) -> int:
    sent = delivery.Sent(memory)
    status = 0
    for target in targets:
        for each in messages:
            try:
                done = delivery.deliver(each, target, sent)
            except (UserError, OSError) as error:
                print(f"bumps: {each.title}: {error}", file=sys.stderr)
                status = UNDELIVERED
            else:
                print(f"{each.title}: {done}", file=sys.stderr)
    return status
