"""`remove`: take releases out of the matrix."""

from env_matrix import matrix, rows
from env_matrix.releases import parse_all, release_of


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "remove",
        help="take releases out of the matrix",
        description="Removes rows from asv.conf.json and their constraints files, and moves the control to the newest "
        "release that is left. Results stay; `prune` removes the environments.",
        epilog="Exit status: 0 removed, 2 an error (nothing is changed).",
    )
    parser.add_argument("releases", nargs="+", metavar="RELEASE", help="like torch==2.9.0")
    return parser


def run(args) -> int:
    with rows.exclusive():
        before = matrix.load()
        wanted = dict.fromkeys(release_of(*pair) for pair in parse_all(args.releases))
        releases = [before.row_of(release) or release for release in wanted]
        after = rows.without_rows(before, releases)
        matrix.save(after)
        rows.drop_constraints(releases, after)
    for release in releases:
        print(f"{release} removed; its results stay, its environment goes with: python -m env_matrix prune")
    return 0
