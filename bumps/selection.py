"""Which stored rows make a bump: the same machine, Python, accelerator and other requirements, two releases."""

import difflib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from asv.util import UserError
from packaging.utils import canonicalize_name
from packaging.version import Version

from bumps.results import Archive, Row, parse_version, releases

FRAMEWORKS = ("torch", "jax")
# Variables that say which row it is; any other makes another row.
OWN_VARIABLES = ("REPLICA", "BENCH_OVERRIDE", "BENCH_ACCELERATOR", "BENCH_INTERPRETER")


class Bump(NamedTuple):
    """Two neighbouring releases that were both measured. Releases, Python and accelerator are as asv stored them."""

    framework: str
    old: str
    new: str
    machine: str
    python: str
    accelerator: str | None


class Context(NamedTuple):
    """What both sides of a bump have in common; `others` are further requirements and variables (name, value)."""

    machine: str
    python: str
    accelerator: str | None
    others: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Pair:
    """The rows of one bump, the controls of either (a row, the same row under its second name), and what was forced.

    `notes` say which further rows there were and are not part of it.
    """

    framework: str
    old: Row
    new: Row
    controls: tuple[tuple[Row, Row], ...] = ()
    forced: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    @property
    def old_release(self) -> Version:
        return self.old.release(self.framework)

    @property
    def new_release(self) -> Version:
        return self.new.release(self.framework)


def context_of(row: Row, framework: str) -> Context:
    """Return what a row has in common with the rows that it can be compared with."""
    own = {canonicalize_name(framework), *FRAMEWORKS}
    others = [(name, version) for name, version in row.requirements.items() if name not in own]
    others += [(name, value) for name, value in row.env_vars.items() if name not in OWN_VARIABLES]
    return Context(row.machine, row.python, row.accelerator, tuple(sorted(others)))


def _is_plain(row: Row) -> bool:
    return not row.replica and not row.override


def frameworks(archive: Archive) -> list[str]:
    """Return the requirements of which at least two releases were measured."""
    versions: dict[str, set] = {}
    for row in archive.rows:
        for name in row.requirements:
            if (version := row.release(name)) is not None:
                versions.setdefault(name, set()).add(version)
    known = [name for name, found in versions.items() if len(found) > 1]
    return sorted(known, key=lambda name: (name not in FRAMEWORKS, name))


def available(archive: Archive, names: Sequence[str] = ()) -> list[Bump]:
    """Return every pair of neighbouring releases, by version, that was measured in one context, oldest first."""
    found: dict[Bump, None] = {}
    for framework in names or frameworks(archive):
        contexts: dict[Context, dict[Version, str]] = {}
        for version, row in releases(archive.rows, framework):
            if _is_plain(row):
                stored = row.requirements[canonicalize_name(framework)].removeprefix("==")
                contexts.setdefault(context_of(row, framework), {})[version] = stored
        for context, versions in contexts.items():
            ordered = [versions[version] for version in sorted(versions)]
            for old, new in itertools.pairwise(ordered):
                found[Bump(framework, old, new, context.machine, context.python, context.accelerator)] = None
    return list(found)


def select(
    archive: Archive,
    framework: str,
    old: str,
    new: str,
    machine: str | None = None,
    python: str | None = None,
    accelerator: str | None = None,
    force: bool = False,
    where: dict[str, str] | None = None,
) -> Pair:
    """Return the rows of a bump.

    `where` narrows to rows with these other requirements or variables. Raises UserError when a release was not
    measured, when more than one choice is left, or when the sides have no context in common and it is not forced.
    """
    chosen = [
        row
        for row in archive.rows
        if _is_plain(row)
        and machine in (None, row.machine)
        and python in (None, row.python)
        and accelerator in (None, row.accelerator)
        and all((row.requirements | row.env_vars).get(name) == value for name, value in (where or {}).items())
    ]
    sides = [_rows_of(archive, chosen, framework, text) for text in (old, new)]
    contexts = [{context_of(row, framework) for row in rows} for rows in sides]
    shared = contexts[0] & contexts[1]
    forced: tuple[str, ...] = ()
    if shared:
        context = _choose(shared, sides, framework)
        rows = _measured_together([[row for row in side if context_of(row, framework) == context] for side in sides])
    else:
        rows, forced = _unlike(sides, framework, old, new, force)
    pair = Pair(framework, *rows, controls=_controls(archive, framework, rows), forced=forced)
    for side, row in zip(sides, rows, strict=True):
        for other in side:
            if other is not row and context_of(other, framework) == context_of(row, framework):
                pair.notes.append(f"{other.env_name} holds the same release and is not part of it")
    return pair


def _rows_of(archive: Archive, rows: Iterable[Row], framework: str, text: str) -> list[Row]:
    version = parse_version(text)
    if version is None:
        raise UserError(f"{text!r} is no version of {framework}; write it as in 2.8.0")
    found = list(releases(list(rows), framework))
    exact = [row for release, row in found if release == version]
    if not exact and version.local is None:
        exact = [row for release, row in found if Version(release.public) == version]
    if exact:
        return exact
    measured = sorted({release for release, _ in found})
    if not measured:
        elsewhere = sorted({str(release) for release, _ in releases(archive.rows, framework)})
        if elsewhere:
            raise UserError(
                f"nothing of {framework} was measured with these choices; without them: {', '.join(elsewhere)}"
            )
        known = ", ".join(sorted({name for row in archive.rows for name in row.requirements})) or "none"
        raise UserError(f"no result under {archive.folder} names {framework} in its requirements; they name: {known}")
    names = [str(release) for release in measured]
    near = difflib.get_close_matches(text, names, n=3) or names
    raise UserError(f"{framework} {text} was not measured; measured are {', '.join(near)}")


def _choose(shared: set[Context], sides: list[list[Row]], framework: str) -> Context:
    for position, option in ((0, "--machine"), (1, "--python"), (2, "--accelerator")):
        values = sorted({str(context[position]) for context in shared})
        if len(values) > 1:
            raise UserError(f"both releases were measured on {' and on '.join(values)}; choose with {option}")
    rows = [row for side in sides for row in side if context_of(row, framework) in shared]
    return context_of(_newest(rows), framework)


def _newest(rows: list[Row]) -> Row:
    return max(rows, key=_age)


def _age(row: Row) -> tuple:
    return not row.unbuildable, row.measured, row.env_name


def _measured_together(sides: list[list[Row]]) -> list[Row]:
    """Return the newest pair of rows that a session measured interleaved, else the newest row of each side.

    A release may have several rows: the same installation under two interpreters.
    """
    pairs = itertools.product(*sides)
    return list(max(pairs, key=lambda pair: (_have_a_session(*pair), _age(pair[1]), _age(pair[0]))))


def _have_a_session(old: Row, new: Row) -> bool:
    return bool(_sessions(old) & _sessions(new))


def _sessions(row: Row) -> frozenset[str]:
    return frozenset().union(*(figure.sessions for figures in row.figures.values() for figure in figures))


def _unlike(
    sides: list[list[Row]], framework: str, old: str, new: str, force: bool
) -> tuple[list[Row], tuple[str, ...]]:
    machines = {row.machine for row in sides[0]} & {row.machine for row in sides[1]}
    if not machines:
        first, second = (", ".join(sorted({row.machine for row in side})) for side in sides)
        raise UserError(
            f"{framework} {old} was measured on machine {first}, {new} on {second}; a bump is judged on one machine"
        )
    if len(machines) > 1:
        raise UserError(f"both releases were measured on {' and on '.join(sorted(machines))}; choose with --machine")
    rows = [_newest([row for row in side if row.machine in machines]) for side in sides]
    first, second = (context_of(row, framework) for row in rows)
    differences = tuple(
        f"{name}: {old} on {one or 'none'}, {new} on {other or 'none'}"
        for name, one, other in (
            ("Python", first.python, second.python),
            ("accelerator", first.accelerator, second.accelerator),
            ("other requirements", _listed(first.others), _listed(second.others)),
        )
        if one != other
    )
    if not force:
        raise UserError(
            f"{framework} {old} and {new} differ in more than the release ({'; '.join(differences)}); "
            "--force compares them all the same"
        )
    return rows, differences


def _listed(others: tuple[tuple[str, str], ...]) -> str:
    return " ".join(f"{name}={value}" for name, value in others)


def _controls(archive: Archive, framework: str, rows: list[Row]) -> tuple[tuple[Row, Row], ...]:
    found = []
    for row in rows:
        for other in archive.rows:
            is_control = other.replica and not other.override and other.requirements == row.requirements
            if is_control and context_of(other, framework) == context_of(row, framework):
                found.append((row, other))
    return tuple(found)
