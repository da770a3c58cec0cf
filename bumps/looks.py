"""Looks at what a session has measured so far: which benchmarks need fresh processes, and the final report."""

import dataclasses
import itertools
from collections.abc import Mapping

from bumps import check, verdict
from bumps.cases import Comparison, Key
from bumps.plan import Item, Plan, PlannedBump
from bumps.results import Archive, Row
from bumps.selection import Pair
from bumps.verdict import Next


def pair_of(
    archive: Archive,
    machine: str,
    plan: Plan,
    bump: PlannedBump,
    benchmarks: Mapping[str, dict],
    forced: tuple[str, ...] = (),
) -> Pair | None:
    """Return the stored rows of a bump with what the plan selects of them; None when one of the two has no result."""
    keys = {_key(item, benchmarks) for env_name in (bump.old, bump.new) for item in plan.selection[env_name]}
    rows = {row.env_name: _within(row, keys) for row in archive.rows if row.machine == machine}
    if not {bump.old, bump.new} <= rows.keys():
        return None
    controls = tuple((rows[row], rows[replica]) for row, replica in bump.controls if {row, replica} <= rows.keys())
    return Pair(bump.framework, rows[bump.old], rows[bump.new], controls, forced)


def wanted(archive: Archive, config: object, pair: Pair, benchmarks: Mapping[str, dict]) -> list[Item]:
    """Return the items that are not settled and that fresh processes of both rows may settle."""
    cases = [each.case for each in Comparison(archive, pair, check.margins_of(config)).compare(stored_only=False)]
    asked = [judgement.key for judgement in verdict.judge(cases) if judgement.next is not Next.NOTHING]
    return [_item(key, benchmarks) for key in asked]


def _within(row: Row, keys: set[Key]) -> Row:
    return dataclasses.replace(row, figures={key: found for key, found in row.figures.items() if key in keys})


def _key(item: Item, benchmarks: Mapping[str, dict]) -> Key:
    return item.benchmark, _combinations(benchmarks[item.benchmark])[item.index]


def _item(key: Key, benchmarks: Mapping[str, dict]) -> Item:
    benchmark, combination = key
    return Item(benchmark, _combinations(benchmarks[benchmark]).index(combination))


def _combinations(benchmark: Mapping) -> list[tuple[str, ...]]:
    return list(itertools.product(*benchmark["params"]))
