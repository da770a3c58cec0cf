"""python -m bumps results: bring results of several machines together."""

import pathlib

from asv.util import UserError
from rich.console import Console

from bumps import merging
from bumps.commands import arguments

MERGED, CONFLICTS = 0, 1


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "results",
        help="bring results of several machines together",
        description="Works on results trees: the folders that asv.conf.json calls results_dir.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    merge = actions.add_parser(
        "merge",
        help="add other results trees to this one",
        description="Adds what other machines or shards measured: result files, sidecars and journals. For the same "
        "machine, row and commit samples are appended, each once: merging the same tree again adds nothing. What "
        "contradicts what is here is named and left out.",
        epilog="Example: python -m bumps results merge ../from-the-cluster/results. Exit status: 0 all was merged, "
        "1 something was left out, 2 wrong usage.",
    )
    merge.add_argument("trees", metavar="DIR", nargs="+", type=pathlib.Path, help="a results folder to add")
    arguments.add_results(merge)
    return parser


def run(args):
    config = arguments.config_of(args)
    target = pathlib.Path(args.results or (config.results_dir if config else "results"))
    for tree in args.trees:
        if tree.resolve() == target.resolve():
            raise UserError(f"{tree} is the tree to add to; name another")
    say = Console(highlight=False, soft_wrap=True).print
    left_out = False
    for tree in args.trees:
        found = merging.merge(tree, target)
        left_out = left_out or bool(found.conflicts)
        for conflict in found.conflicts:
            say(f"left out: {conflict}", markup=False)
        say(
            f"{tree}: {', '.join(found.machines) or 'no machine'}: {found.figures} figures, {found.files} files",
            markup=False,
        )
    return CONFLICTS if left_out else MERGED
