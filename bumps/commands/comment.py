"""python -m bumps comment: the verdicts on the pull request that proposes releases."""

import sys

from bumps import check, comment, pull_request
from bumps.commands import arguments


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "comment",
        help="post the verdicts on the pull request that proposes releases",
        description="Finds the open pull request with this newest commit, and posts the verdicts on the releases whose "
        "constraints it changes as one comment, which the next measurement replaces. Says so when the pull request "
        "edits workloads too. Needs the gh command, logged in.",
        epilog="Example: python -m bumps comment --artifact incoming --head $(git rev-parse HEAD). Exit status: "
        "0 posted, or there is no such pull request, 2 an error.",
    )
    parser.add_argument("--head", required=True, metavar="COMMIT", help="the pull request's newest commit, 40 digits")
    arguments.add_results(parser)
    arguments.add_artifact(parser)
    parser.add_argument("--dry-run", action="store_true", help="show the comment, post nothing")
    return parser


def run(args):
    number = pull_request.find(args.head)
    if number is None:
        print("no open pull request has this commit as its newest", file=sys.stderr)
        return 0
    paths = pull_request.changed_paths(number)
    proposed = comment.proposed(paths)
    config = arguments.config_of(args)
    archive = arguments.archive_of(args, config)
    reports = [
        check.report(archive, config, bump.framework, bump.old, bump.new, bump.machine, bump.python, bump.accelerator)
        for bump in check.bumps(archive)
        if {(bump.framework, bump.old), (bump.framework, bump.new)} & proposed
    ]
    text = comment.text(reports, paths)
    if args.dry_run:
        sys.stdout.write(text)
        return 0
    pull_request.comment(number, text)
    print(f"pull request {number}: {len(reports)} bumps", file=sys.stderr)
    return 0
