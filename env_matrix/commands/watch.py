"""`watch`: which releases came out since, and the matrix with them."""

import contextlib

from asv.util import UserError

from env_matrix import constraints, matrix, output, rows, watch
from env_matrix.releases import FRAMEWORKS


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "watch",
        help="ask the package index for releases newer than the matrix",
        description="Asks the package index of pip's and uv's settings for releases of torch and jax that came out "
        "after those in the matrix. Yanked ones are passed over, pre-releases too unless --pre.",
        epilog="Exit status: 0 nothing new, or all of it added; 1 new releases that were not added; 2 an error "
        "(no network: nothing is changed).",
    )
    parser.add_argument("--apply", action="store_true", help="add them to asv.conf.json and write their constraints")
    parser.add_argument("--pre", action="store_true", help="take pre-releases and nightlies, extra indexes included")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(args) -> int:
    with rows.exclusive() if args.apply else contextlib.nullcontext():
        return _run(args)


def _run(args) -> int:
    before = matrix.load()
    catalogue = rows.Catalogue(prereleases=args.pre)
    news = []
    for framework in FRAMEWORKS:
        output.progress(f"asking the package index for {framework} …")
        own = before.of(framework)
        dates = [constraints.load(row).released for row in own]
        news += watch.newer(framework, own, dates, catalogue.listed(framework), args.pre)
    wanted = [item for item in news if not item.skipped]

    resolved, problems = [], {}
    for item in wanted if args.apply else ():
        output.progress(f"resolving {item.release} …")
        try:
            resolved.append(catalogue.lock(item.release))
        except UserError as error:
            problems[item.release] = str(error)
    if resolved:
        after = rows.with_rows(before, [found.release for found in resolved], resolved)
        for found in resolved:
            constraints.save(found)
        matrix.save(after)
    added = {found.release for found in resolved}
    _print(args, news, added, problems)
    return 1 if len(wanted) > len(added) else 0


def _print(args, news, added, problems) -> None:
    entries = [
        {
            "framework": item.release.framework,
            "release": str(item.release.version),
            "released": item.date.isoformat() if item.date else None,
            "requires_python": item.requires_python,
            "added": item.release in added,
            "skipped": item.skipped or problems.get(item.release),
        }
        for item in news
    ]
    if args.json:
        output.as_json(entries)
    elif not entries:
        print("the matrix holds the newest releases")
    else:
        output.table(
            ["framework", "release", "released", "Python", "outcome"],
            [
                [
                    entry["framework"],
                    entry["release"],
                    entry["released"] or "?",
                    entry["requires_python"] or "any",
                    "added" if entry["added"] else f"skipped: {entry['skipped']}" if entry["skipped"] else "new",
                ]
                for entry in entries
            ],
        )
        if any(not entry["added"] and not entry["skipped"] for entry in entries):
            print("add them: python -m env_matrix watch --apply")
