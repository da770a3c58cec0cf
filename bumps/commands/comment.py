"""python -m bumps comment: the verdicts on the pull request that proposes releases."""

import sys

from bumps import check, comment, pull_request
from bumps.commands import arguments

ERROR = 2


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "comment",
        help="post the verdicts on the pull request that proposes releases",
        description="Finds the open pull request with this newest commit, and posts the verdicts on the releases whose "
        "constraints it changes as one comment, which the next measurement replaces. Says so when the pull request "
        "edits workloads too. Needs the gh command, logged in.",
        epilog="Example: python -m bumps comment --artifact incoming --head $(git rev-parse HEAD). Exit status: "
        "0 posted, or there is no such pull request, 2 an error, or a bump that cannot be judged.",
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
    about = [
        bump for bump in check.bumps(archive) if {(bump.framework, bump.old), (bump.framework, bump.new)} & proposed
    ]
    reports, problems = check.reports(archive, config, about)
    # What cannot be judged keeps nobody from hearing of the rest.
    for problem in problems:
        print(f"bumps: {problem}", file=sys.stderr)
    status = ERROR if problems else 0
    text = comment.text([report for _, report in reports], paths)
    if args.dry_run:
        sys.stdout.write(text)
        return status
    pull_request.comment(number, text)
    print(f"pull request {number}: {len(reports)} bumps", file=sys.stderr)
    return status
