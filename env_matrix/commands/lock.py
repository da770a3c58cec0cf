"""`lock`: write the constraints of releases, or check that they reproduce."""

import time

from asv.util import UserError

from env_matrix import constraints, lock, matrix, output
from env_matrix.releases import parse_all
from env_matrix.rows import Catalogue


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "lock",
        help="write the constraints of releases (default: every row)",
        description="Resolves releases as of their dates, for every supported Python and accelerator, and writes "
        "env_matrix/constraints/<framework>-<version>.txt. Existing environments of a release whose "
        "constraints change are built anew at the next run.",
        epilog="Exit status: 0 written (or all reproduce), 1 --check found a difference, 2 some could not be resolved.",
    )
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help="like torch==2.9.0; default: every row")
    parser.add_argument("--check", action="store_true", help="write nothing; say what a new resolution does otherwise")
    return parser


def run(args) -> int:
    catalogue = Catalogue()
    if args.releases:
        releases = [catalogue.release(*pair) for pair in parse_all(args.releases)]
    else:
        releases = list(dict.fromkeys(row.public for row in matrix.load().rows))
    failed = differ = 0
    for number, release in enumerate(releases, start=1):
        started = time.monotonic()
        try:
            resolved = catalogue.lock(release)
            if args.check:
                changes = _changes(release, resolved)
                outcome = "reproduces" if not changes else "differs:\n    " + "\n    ".join(changes)
                differ += bool(changes)
            else:
                outcome = f"{constraints.save(resolved).name}, {len(resolved.pins)} pins"
        except UserError as error:
            failed += 1
            outcome = f"not resolved: {error}"
        print(f"[{number}/{len(releases)}] {release}: {outcome} ({time.monotonic() - started:.1f} s)", flush=True)
    if failed:
        output.progress(f"env_matrix: {failed} of {len(releases)} releases could not be resolved")
        return 2
    return 1 if differ else 0


def _changes(release, resolved) -> list[str]:
    path = constraints.path_of(release)
    return lock.differences(constraints.load(release) if path.exists() else None, resolved)
