"""The matrix as asv.conf.json holds it: its rows, and edits that keep comments and layout. Pure but for load and save.

asv reads the file as JSON5. Every edit is read back and compared with what was meant before it is written.
"""

import dataclasses
import json
import pathlib
import re

import json5
from asv.util import UserError
from packaging.version import InvalidVersion, Version

from env_matrix import json5_spans
from env_matrix.files import write_whole
from env_matrix.releases import FRAMEWORKS, Release

PATH = pathlib.Path(__file__).parent.parent / "asv.conf.json"


@dataclasses.dataclass(frozen=True)
class Matrix:
    """The text of asv.conf.json and the rows in it."""

    text: str
    rows: tuple[Release, ...]

    def row_of(self, release: Release) -> Release | None:
        """Return the row of a release as it is written there (2.9 and 2.9.0 are one version), None without one."""
        return next((row for row in self.rows if row == release), None)

    def of(self, framework: str) -> list[Release]:
        """Return the framework's rows, oldest version first."""
        return sorted(row for row in self.rows if row.framework == framework)


def load(path: pathlib.Path | None = None) -> Matrix:
    """Read asv.conf.json; raises UserError where it is missing or holds no matrix of ours."""
    path = path or PATH
    try:
        return parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"there is no {path.name}; run this inside the project") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path.name} cannot be read: {error}") from None


def save(matrix: Matrix, path: pathlib.Path | None = None) -> None:
    """Write asv.conf.json in one step."""
    write_whole(path or PATH, matrix.text)


def parse(text: str) -> Matrix:
    """Return the matrix of a configuration; raises UserError where it cannot be read."""
    content = _content(text)
    rows = []
    for framework in FRAMEWORKS:
        for entry in _list_of(content, framework):
            if entry is not None:
                rows.append(_row(framework, entry))
    return Matrix(text, tuple(rows))


def _content(text: str) -> dict:
    try:
        content = json5.loads(text)
    except RecursionError:
        raise UserError("asv.conf.json cannot be read: it is nested too deeply") from None
    except ValueError as error:
        raise UserError(f"asv.conf.json cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise UserError("asv.conf.json holds no settings")
    return content


def _list_of(content: dict, framework: str) -> list:
    try:
        entries = content["matrix"]["req"][framework]
    except (KeyError, TypeError):
        return []
    return entries if isinstance(entries, list) else [entries]


def _row(framework: str, entry) -> Release:
    try:
        return Release(framework, Version(entry))
    except (InvalidVersion, TypeError):
        raise UserError(
            f'asv.conf.json: {entry!r} is no version of {framework}; write one exact version a row, like "2.8.0"'
        ) from None


def add(matrix: Matrix, release: Release) -> Matrix:
    """Return the matrix with one row more, in version order; the same matrix when it has the row."""
    if release in matrix.rows:
        return matrix
    return _edit(matrix, sorted({*matrix.rows, release}), lambda text: _insert(text, release))


def remove(matrix: Matrix, release: Release) -> Matrix:
    """Return the matrix without a row; raises UserError when there is no such row."""
    if release not in matrix.rows:
        have = ", ".join(str(row.version) for row in matrix.of(release.framework))
        raise UserError(f"the matrix has no {release}; it has {release.framework} {have or 'not at all'}")
    return _edit(matrix, [row for row in matrix.rows if row != release], lambda text: _delete(text, release))


def _edit(matrix: Matrix, wanted: list[Release], change) -> Matrix:
    """Change the text and make sure that exactly the rows changed."""
    try:
        edited = parse(change(matrix.text))
    except (ValueError, KeyError, IndexError, UserError):
        edited = None
    if edited is None or sorted(edited.rows) != sorted(wanted) or _rest(edited.text) != _rest(matrix.text):
        raise UserError("the layout of asv.conf.json cannot be edited; edit its matrix by hand; nothing was changed")
    return edited


def _rest(text: str) -> dict:
    """Return the configuration but for the rows."""
    content = _content(text)
    for framework in FRAMEWORKS:
        content["matrix"]["req"].pop(framework, None)
    return content


def _array(text: str, framework: str) -> json5_spans.Node:
    return json5_spans.parse(text).members["matrix"].members["req"].members[framework]


def _entries(text: str, array: json5_spans.Node) -> list[Version | None]:
    found = [json5.loads(text[item.start : item.end]) for item in array.items]
    return [None if entry is None else Version(entry) for entry in found]


def _insert(text: str, release: Release) -> str:
    array = _array(text, release.framework)
    older = [
        place for place, version in enumerate(_entries(text, array)) if version is None or version < release.version
    ]
    return json5_spans.insert(text, array, older[-1] + 1 if older else 0, json.dumps(str(release.version)))


def _delete(text: str, release: Release) -> str:
    array = _array(text, release.framework)
    return json5_spans.remove(text, array, _entries(text, array).index(release.version))


def newest_by_python(rows: list[Release], supports) -> dict[str, Release]:
    """Return the newest row that each Python can hold: the one with a control in a plain `asv run`.

    `supports` maps each Python (`3.12`) to a function from a release to whether it installs there. A pre-release is
    the newest only where nothing else is.
    """
    found = {}
    for python, holds in supports.items():
        able = [row for row in rows if holds(row)]
        final = [row for row in able if not row.version.is_prerelease]
        if able:
            found[python] = max(final or able)
    return found


def control_rules(framework: str, newest: dict[str, Release]) -> list[dict]:
    """Return the exclude rules that leave a control to the newest release each Python can hold.

    The last group of Pythons is written as "any other", so that a Python newer than those known has a control too.
    """
    groups: dict[Release, list[str]] = {}
    for python in sorted(newest, key=Version):
        groups.setdefault(newest[python], []).append(python)
    rules, earlier = [], []
    for place, (release, pythons) in enumerate(groups.items()):
        rule: dict = {}
        if len(groups) > 1 and place == len(groups) - 1:
            rule["python"] = f"(?!{_either(earlier)}$).+"
        elif len(groups) > 1:
            rule["python"] = _either(pythons)
        rule["req"] = {framework: f"(?!{re.escape(str(release.version))}$).+"}
        rule["env_nobuild"] = {"REPLICA": "control"}
        rules.append(rule)
        earlier += pythons
    return rules


def _either(pythons: list[str]) -> str:
    escaped = [re.escape(python) for python in pythons]
    return escaped[0] if len(escaped) == 1 else f"({'|'.join(escaped)})"


def _is_control_rule(rule: dict, framework: str) -> bool:
    """Whether a rule is one that `control_rules` made; one that a user wrote otherwise is the user's."""
    required = rule.get("req")
    return (
        rule.keys() <= {"python", "req", "env_nobuild"}
        and rule.get("env_nobuild") == {"REPLICA": "control"}
        and isinstance(required, dict)
        and required.keys() == {framework}
        and re.fullmatch(r"\(\?!.+\$\)\.\+", str(required[framework])) is not None
    )


def with_controls(matrix: Matrix, framework: str, newest: dict[str, Release]) -> Matrix:
    """Return the matrix with the framework's control rules made anew.

    A configuration without such a rule (a control for every row, or for none) stays as it is.
    """
    rules = control_rules(framework, newest)
    content = _content(matrix.text)
    exclude = content.get("exclude") or []
    if not isinstance(exclude, list) or not all(isinstance(rule, dict) for rule in exclude):
        raise UserError('asv.conf.json: exclude is no list of rules, as in [{"req": {"torch": "2.8.0"}}]')
    places = [place for place, rule in enumerate(exclude) if _is_control_rule(rule, framework)]
    if not places or [exclude[place] for place in places] == rules or not rules:
        return matrix
    text = matrix.text
    for place in reversed(places[len(rules) :]):
        text = json5_spans.remove(text, _exclude_node(text), place)
    for place, rule in zip(places, rules, strict=False):
        text = json5_spans.replace(text, _exclude_node(text).items[place], json.dumps(rule))
    last = places[min(len(places), len(rules)) - 1]
    for offset, rule in enumerate(rules[len(places) :], start=1):
        text = json5_spans.insert(text, _exclude_node(text), last + offset, json.dumps(rule))
    edited = parse(text)
    others = [rule for place, rule in enumerate(exclude) if place not in places]
    after = _content(text)
    kept = [rule for rule in after.pop("exclude") if not _is_control_rule(rule, framework)]
    if kept != others or after != {key: value for key, value in content.items() if key != "exclude"}:
        raise UserError("asv.conf.json has a layout that cannot be edited; edit its exclude rules by hand")
    return edited


def _exclude_node(text: str) -> json5_spans.Node:
    return json5_spans.parse(text).members["exclude"]
