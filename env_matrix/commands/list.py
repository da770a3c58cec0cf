"""`list`: the releases of the matrix by framework and date."""

import sys

from env_matrix import constraints, matrix, output


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "list",
        help="the releases of the matrix by framework and date",
        description="The rows of the matrix by framework and date, with the Pythons that can hold each, the builds its "
        "constraints cover, and the constraints file.",
        epilog="Exit status: 0; 2 when a row has no constraints.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(args) -> int:
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    known = sorted(
        ((row, constraints.load(row)) for row in matrix.load().rows),
        key=lambda pair: (pair[0].framework != "torch", pair[1].released, pair[0].version),
    )
    entries = [
        {
            "framework": row.framework,
            "release": str(row.version),
            "released": found.released.isoformat(),
            "requires_python": constraints.python_text(found.requires_python),
            "accelerators": list(found.accelerators),
            "constraints": constraints.path_of(row).relative_to(constraints.FOLDER.parent.parent).as_posix(),
            "supported_here": found.supports(f"{here}.0"),
        }
        for row, found in known
    ]
    if args.json:
        output.as_json(entries)
        return 0
    output.table(
        ["framework", "release", "released", "Python", "builds", "constraints", f"on Python {here}"],
        [
            [
                entry["framework"],
                entry["release"],
                entry["released"],
                entry["requires_python"],
                " ".join(entry["accelerators"]),
                entry["constraints"],
                "yes" if entry["supported_here"] else "no",
            ]
            for entry in entries
        ],
    )
    return 0
