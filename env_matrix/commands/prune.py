"""`prune`: remove what the matrix no longer needs."""

import contextlib
import dataclasses
import datetime
import time

import asv.config

from env_matrix import constraints, lock, matrix, prune, rows

DEFAULT_DAYS = 30


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "prune",
        help="remove environments no longer in the matrix, and old pre-release rows",
        description="Removes the environments of rows that the matrix no longer has, folders of builds that were "
        "killed over an hour ago, and pre-release rows (with constraints and environments) that are old. "
        "Results stay.",
        epilog="Exit status: 0; 2 an error.",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would go, remove nothing")
    parser.add_argument(
        "--older-than",
        type=int,
        default=DEFAULT_DAYS,
        metavar="DAYS",
        help=f"age at which pre-release rows go (default {DEFAULT_DAYS})",
    )
    return parser


def run(args) -> int:
    with contextlib.nullcontext() if args.dry_run else rows.exclusive():
        return _run(args)


def _run(args) -> int:
    word = "would remove" if args.dry_run else "removed"
    current = matrix.load()
    prereleases = [(row, constraints.load(row)) for row in current.rows if row.version.is_prerelease]
    today = datetime.datetime.now(datetime.UTC).date()
    old = prune.old_prereleases(prereleases, args.older_than, today)
    if old:
        gone = [row for row, _ in old]
        current = rows.without_rows(current, gone)
        if not args.dry_run:
            matrix.save(current)
            rows.drop_constraints(gone, current)
        for row, age in old:
            print(f"{word} the row {row}: a pre-release of {age} days ago")

    configuration = asv.config.Config.load(str(matrix.PATH))
    env_dir = matrix.PATH.parent / configuration.env_dir
    named = prune.wanted(configuration, sorted({*lock.PYTHONS, *configuration.pythons}))
    # A dry run has not taken the old rows out of the file.
    named = dataclasses.replace(named, rows=named.rows - {(row.framework, row.version) for row, _ in old})
    freed, count = 0, 0
    for leftover in prune.leftovers(env_dir, named, time.time()):
        size = prune.size_of(leftover.path)
        if not args.dry_run:
            prune.remove(leftover, env_dir)
        freed += size
        count += 1
        print(f"{word} {leftover.path.name} ({size / 1e9:.2f} GB): {leftover.what}", flush=True)
    if freed:
        print(f"{freed / 1e9:.2f} GB {'would be' if args.dry_run else ''} freed".replace("  ", " "))
    elif not count and not old:
        print("nothing to remove")
    return 0
