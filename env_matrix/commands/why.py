"""`why`: which components differ between two rows."""

import sys

from asv.util import UserError

from env_matrix import constraints, lock, output, why
from env_matrix.accelerator import ACCELERATORS
from env_matrix.releases import parse_all, release_of


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "why",
        help="which components differ between two releases",
        description="Compares what two releases bring with them (cuDNN, cuBLAS, triton, NumPy …) by their constraints.",
        epilog="Examples: why torch 2.9.1 2.10.0; why jax==0.8.3 jax==0.9.2 --accelerator cuda13. "
        "Exit status: 0; 2 an error.",
    )
    parser.add_argument("releases", nargs="+", metavar="RELEASE", help="two releases: torch 2.9.1 2.10.0")
    parser.add_argument("--python", metavar="3.x", help="default: the running one, else the lowest that holds both")
    parser.add_argument("--accelerator", choices=ACCELERATORS, help="default: each release's lowest CUDA build")
    parser.add_argument("--all", action="store_true", help="show the components that are the same too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(args) -> int:
    pairs = parse_all(args.releases)
    if len(pairs) != 2:
        raise UserError(f"why compares two releases, {len(pairs)} given; write it like: why torch 2.9.1 2.10.0")
    old, new = (constraints.load(release_of(*pair)) for pair in pairs)
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    python = why.choose_python(old, new, args.python, [here, *lock.PYTHONS])
    builds = tuple(why.choose_accelerator(found, args.accelerator) for found in (old, new))
    found = why.differences(old, new, python, builds)
    shown = [item for item in found if args.all or item.change != "same"]
    if args.json:
        output.as_json(
            {
                "old": str(old.release),
                "new": str(new.release),
                "python": python,
                "accelerators": list(builds),
                "components": [
                    {"component": item.component, "old": item.old, "new": item.new, "change": item.change}
                    for item in found
                ],
            }
        )
        return 0
    print(f"{old.release} ({builds[0]}, {old.released}) → {new.release} ({builds[1]}, {new.released}), Python {python}")
    output.table(
        ["component", "old", "new", "change"],
        [[item.component, item.old or "–", item.new or "–", item.change] for item in shown],
    )
    same = len(found) - len([item for item in found if item.change != "same"])
    print(f"{same} components are the same" + ("" if args.all else " (--all shows them)"))
    return 0
