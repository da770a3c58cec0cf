"""python -m bumps results: bring results of several machines together, and keep them small."""

import json
import pathlib
import subprocess
import time

from asv.util import UserError

from bumps import importing, merging, pruning
from bumps.commands import arguments
from bumps.console import Console

DONE, LEFT_OUT = 0, 1
DEFAULT_DAYS = 7


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "results",
        help="bring results of several machines together, and keep them small",
        description="Works on results trees: the folders that asv.conf.json calls results_dir.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_merge(actions)
    _add_import(actions)
    _add_prune(actions)
    return parser


def _add_merge(actions):
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
    merge.add_argument(
        "--replace",
        action="store_true",
        help="what is added is newer: its figures of the same row and commit take the place of those that are here",
    )
    arguments.add_results(merge)
    merge.set_defaults(act=_merge)


def _add_import(actions):
    take = actions.add_parser(
        "import",
        help="add one file that somebody sent",
        description="Takes a result file of asv's (results/MACHINE/COMMIT-ROW.json), or a zip or tar file of a results "
        "folder, as mailed in or attached to a pull request. All of it is checked before anything is taken: formats, "
        "numbers, sizes, names. Nothing in it is run or loaded. Its machine is shown under its own name, made safe.",
        epilog="Examples: python -m bumps results import 0123abcd-pinned-py3.12-jax0.9.2.json; python -m bumps results "
        "import results.zip --machine alices-workstation. Exit status: 0 all was taken, 1 something was left out, "
        "2 refused.",
    )
    take.add_argument("file", metavar="FILE", type=pathlib.Path, help="a result file, or a packed results folder")
    take.add_argument("--machine", metavar="NAME", help="the name to store it under (default: the file's own)")
    arguments.add_results(take)
    take.set_defaults(act=_import)


def _add_prune(actions):
    prune = actions.add_parser(
        "prune",
        help="thin old samples to process medians, and migrate what an older asv wrote",
        description="Of what is older than --keep-days each process keeps its median, in result files and journals, "
        "and of a sidecar's records that say the same the newest stays. Verdicts stay what they are: they compare "
        "process medians. Samples of `asv run` without a fixed repeat stay whole, since nothing says where one process "
        "ends. Result files of an older asv are written in its current format. Doing it twice changes nothing the "
        "second time. A machine that `bumps run` is measuring is left for another time.",
        epilog="Example: python -m bumps results prune --keep-days 90 --dry-run. Exit status: 0 all was pruned, "
        "1 something was left as it is, 2 wrong usage.",
    )
    prune.add_argument(
        "--keep-days",
        metavar="N",
        type=float,
        default=DEFAULT_DAYS,
        help=f"keep every sample of so many days (default: {DEFAULT_DAYS})",
    )
    prune.add_argument("--dry-run", action="store_true", help="say what would become of it, write nothing")
    arguments.add_results(prune)
    prune.set_defaults(act=_prune)


def run(args):
    config = arguments.config_of(args)
    folder = pathlib.Path(args.results or (config.results_dir if config else "results"))
    if config and args.config and not args.results:
        folder = pathlib.Path(args.config).parent / folder
    return args.act(args, folder)


def _merge(args, target: pathlib.Path) -> int:
    for tree in args.trees:
        if tree.resolve() == target.resolve():
            raise UserError(f"{tree} is the tree to add to; name another")
    left_out = False
    for tree in args.trees:
        with arguments.working(f"merging {tree}"):
            found = merging.merge(tree, target, args.replace)
        left_out = _say_merged(str(tree), found) or left_out
    return LEFT_OUT if left_out else DONE


def _import(args, target: pathlib.Path) -> int:
    with arguments.working(f"reading {args.file}"):
        found = importing.take(args.file, target, args.machine)
    for commit in sorted(found.commits):
        if not _is_known(commit):
            _say(f"commit {commit[:12]} is not in this repository: asv's own pages leave its figures out")
    unknown = found.benchmarks - _suite(target)
    if unknown:
        _say(
            f"{len(unknown)} of its {len(found.benchmarks)} benchmarks are none of this suite's: {min(unknown)[:100]} …"
        )
    left_out = _say_merged(str(args.file), found.merged)
    if left_out and not found.merged.machines:
        _say("store it under another name with --machine NAME")
    return LEFT_OUT if left_out else DONE


def _is_known(commit: str) -> bool:
    try:
        done = subprocess.run(["git", "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True, check=False)
    except FileNotFoundError:
        return True
    return done.returncode == 0


def _suite(target: pathlib.Path) -> set[str]:
    try:
        return set(json.loads((target / merging.SUITE).read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return set()


def _say_merged(name: str, found: merging.Merged) -> bool:
    """Print what a merge did; return whether something was left out."""
    for conflict in found.conflicts:
        _say(f"left out: {conflict}")
    _say(f"{name}: {', '.join(found.machines) or 'no machine'}: {found.figures} figures, {found.files} files")
    return bool(found.conflicts)


def _prune(args, target: pathlib.Path) -> int:
    if not target.is_dir():
        raise UserError(f"there is no results folder {target}; name one with --results")
    if not 0 <= args.keep_days < float("inf"):
        raise UserError("--keep-days takes a number of days, 0 or more")
    with arguments.working(f"pruning {target}"):
        done = pruning.prune(target, args.keep_days, time.time(), args.dry_run)
    for file, why in done.left:
        _say(f"left as it is: {file}: {why}")
    if done.whole:
        _say(f"{done.whole} old figures keep their samples: nothing says where one process ends")
    _say(
        f"{target}: {done.before / 1e6:.1f} MB before, {done.after / 1e6:.1f} MB after; {done.thinned} files thinned, "
        f"{done.migrated} migrated" + ("; nothing was written" if args.dry_run else "")
    )
    return LEFT_OUT if done.left else DONE


def _say(text: str) -> None:
    """Print a line in which whatever a file is called does nothing to a terminal."""
    printable = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    Console(highlight=False, soft_wrap=True).print(printable, markup=False)
