"""What is said on a pull request that proposes releases. Pure."""

import re
from collections.abc import Iterable

from bumps import report as reports

# GitHub refuses comments over 65,536 characters.
LONGEST = 60_000
CONSTRAINTS = re.compile(r"env_matrix/constraints/(?P<framework>[a-z]+)-(?P<release>[0-9][^/]*)\.txt")
TWO_SUITES = "**This pull request edits workloads as well: figures compare two suites.**"
NOTHING = "Nothing was measured of the releases that this pull request proposes; the page of the job says why."
SHORTENED = "… shortened: GitHub takes no longer comment. The artifact of the job holds everything."


def proposed(paths: Iterable[str]) -> set[tuple[str, str]]:
    """Return (framework, release) of the constraints among the changed paths."""
    found = (CONSTRAINTS.fullmatch(path) for path in paths)
    return {(match["framework"], match["release"]) for match in found if match}


def edits_workloads(paths: Iterable[str]) -> bool:
    return any(path.startswith("benchmarks/") for path in paths)


def text(found: list[dict], paths: list[str]) -> str:
    """Return the comment's Markdown: the reports of the bumps to or from a proposed release.

    Names in it come from an artifact that anybody may have written: they mention nobody and link nowhere.
    """
    parts = [_harmless(reports.as_markdown(report)) for report in found] or [NOTHING]
    if edits_workloads(paths):
        parts.insert(0, TWO_SUITES)
    whole = "\n\n".join(part.strip() for part in parts) + "\n"
    if len(whole) <= LONGEST:
        return whole
    return f"{whole[:LONGEST].rpartition(chr(10))[0]}\n\n{SHORTENED}\n"


def _harmless(markdown: str) -> str:
    # A zero-width space: GitHub turns an escaped or encoded @ into a mention all the same.
    return markdown.replace("@", "@\u200b").replace("://", ":\u200b//").replace("www.", "www\u200b.")
