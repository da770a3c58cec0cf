"""`add`: put releases into the matrix."""

import sys
import time

from env_matrix import constraints, matrix, output, rows
from env_matrix.releases import parse_all


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "add",
        help="add releases to the matrix",
        description="Adds rows to asv.conf.json (comments and layout stay), writes their constraints, and moves the "
        "control to the newest release of each Python. A yanked or unknown release is refused.",
        epilog="Exit status: 0 added (or there already), 1 --build failed, 2 an error (nothing is changed).",
    )
    parser.add_argument("releases", nargs="+", metavar="RELEASE", help="like torch==2.9.0 or jax==latest")
    parser.add_argument("--build", action="store_true", help="build the row's environment and import the framework")
    return parser


def run(args) -> int:
    with rows.exclusive():
        wanted = _add(args)
    return _build(wanted) if args.build else 0


def _add(args) -> list:
    before = matrix.load()
    catalogue = rows.Catalogue()
    named = [catalogue.release(*pair) for pair in parse_all(args.releases)]
    wanted = [before.row_of(release) or release for release in named]
    new = [release for release in dict.fromkeys(wanted) if release not in before.rows]
    resolved = []
    for release in new:
        output.progress(f"resolving {release} …")
        resolved.append(catalogue.lock(release))
    after = rows.with_rows(before, new, resolved)
    for found in resolved:
        constraints.save(found)
    if new:
        matrix.save(after)
    for release in wanted:
        if release not in new:
            print(f"{release} is in the matrix already")
            continue
        found = next(found for found in resolved if found.release == release.public)
        print(
            f"{release} ({found.released}) added: Python {constraints.python_text(found.requires_python)}, "
            f"{' '.join(found.accelerators)}, {len(found.pins)} pins in {constraints.path_of(release).name}"
        )
    return wanted


def _build(releases: list) -> int:
    from env_matrix import build

    failed = 0
    for release in releases:
        started = time.monotonic()
        output.progress(f"building {release} …")
        problem = build.build(release, f"{sys.version_info[0]}.{sys.version_info[1]}")
        failed += problem is not None
        seconds = time.monotonic() - started
        print(f"{release}: not built: {problem}" if problem else f"{release}: built and imported in {seconds:.0f} s")
    return 1 if failed else 0
