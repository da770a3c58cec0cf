"""Looks at what a session has measured so far: which benchmarks need fresh processes, and the final report."""

import itertools
from collections.abc import Mapping

from bumps import check, verdict
from bumps.cases import Comparison
from bumps.plan import Item, PlannedBump
from bumps.results import Archive, Row
from bumps.selection import Pair
from bumps.verdict import Next


def pair_of(archive: Archive, machine: str, bump: PlannedBump, forced: tuple[str, ...] = ()) -> Pair | None:
    """Return the stored rows of a bump, None when one of the two has no result."""
    rows: Mapping[str, Row] = {row.env_name: row for row in archive.rows if row.machine == machine}
    if not {bump.old, bump.new} <= rows.keys():
        return None
    controls = tuple((rows[row], rows[replica]) for row, replica in bump.controls if {row, replica} <= rows.keys())
    return Pair(bump.framework, rows[bump.old], rows[bump.new], controls, forced)


def wanted(archive: Archive, config: object, pair: Pair, benchmarks: Mapping[str, dict]) -> list[Item]:
    """Return the items that are not settled and that fresh processes of both rows may settle."""
    cases = [each.case for each in Comparison(archive, pair, check.margins_of(config)).compare(stored_only=False)]
    asked = [judgement.key for judgement in verdict.judge(cases) if judgement.next is not Next.NOTHING]
    found = []
    for benchmark, combination in asked:
        if benchmark in benchmarks:
            combinations = list(itertools.product(*benchmarks[benchmark]["params"]))
            found.append(Item(benchmark, combinations.index(combination)))
    return found
