"""The matrix in asv.conf.json: reading it, and editing it without touching comments or layout."""

import json
import re

import asv.config
import json5
import pytest
from asv import environment
from asv.util import UserError
from packaging.version import Version

from env_matrix import constraints, json5_spans, lock, matrix, rows
from env_matrix.releases import FRAMEWORKS, Release, parse

ONE_LINE = '{"matrix": {"req": {"torch": [null, "2.8.0", "2.10.0"], "jax": [null, "0.9.2"]}}}'
LINES = """\
{
    // The rows.
    "matrix": {
        "req": {
            "torch": [
                null,  // not installed
                "2.8.0",  // the article's second date
                // The one before CUDA 13:
                "2.10.0"
            ],
            "jax": [null, '0.9.2',]  /* one, "so far" */
        }
    }
}
"""


def versions(text):
    return [str(row.version) for row in matrix.parse(text).rows if row.framework == "torch"]


@pytest.mark.parametrize("content", [b"\xff\xfe{}", b"[" * 100_000, b"", b"[1]", b"{", b"7"])
def test_configuration_that_cannot_be_read_is_said(tmp_path, content):
    path = tmp_path / "asv.conf.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"^asv\.conf\.json (cannot be read: .+|holds no settings)$"):
        matrix.load(path)


@pytest.mark.parametrize("text", [ONE_LINE, LINES])
@pytest.mark.parametrize("version", ["1.0", "2.9.0", "2.11.0", "2.9.0.dev20250101", "2.8.0.1"])
def test_an_added_row_stands_in_version_order_and_goes_without_a_trace(text, version):
    release = Release("torch", Version(version))
    added = matrix.add(matrix.parse(text), release)
    assert versions(added.text) == sorted([*versions(text), version], key=Version)
    assert matrix.remove(added, release).text == text


def test_comments_stay_with_their_rows():
    added = matrix.add(matrix.parse(LINES), parse("torch==2.9.0"))
    assert added.text == LINES.replace(
        '"2.8.0",  // the article\'s second date\n',
        '"2.8.0",  // the article\'s second date\n                "2.9.0",\n',
    )
    last = matrix.add(matrix.parse(LINES), parse("torch==2.11.0"))
    assert last.text == LINES.replace('"2.10.0"\n', '"2.10.0",\n                "2.11.0"\n')
    jax = matrix.add(matrix.parse(LINES), parse("jax==0.12.0.1"))
    assert jax.text == LINES.replace("'0.9.2',]", "'0.9.2', \"0.12.0.1\",]")


def test_a_removed_row_takes_its_line_and_its_comma():
    before = matrix.parse(LINES)
    first = matrix.remove(before, parse("torch==2.8.0"))
    assert first.text == LINES.replace('                "2.8.0",  // the article\'s second date\n', "")
    last = matrix.remove(before, parse("torch==2.10.0"))
    wanted = LINES.replace('                "2.10.0"\n', "").replace('"2.8.0",', '"2.8.0"')
    assert last.text == wanted
    assert matrix.remove(before, parse("jax==0.9.2")).text == LINES.replace("'0.9.2',]", "]")


def test_every_row_of_the_real_file_can_go_and_come_back():
    real = matrix.load()
    for row in real.rows:
        assert matrix.add(matrix.remove(real, row), row).text == real.text


def test_a_row_that_is_there_is_not_added_twice():
    before = matrix.parse(ONE_LINE)
    assert matrix.add(before, parse("torch==2.8.0")).text == ONE_LINE


def test_removing_a_missing_row_names_those_there_are():
    with pytest.raises(UserError, match=r"no torch 2\.9\.0; it has torch 2\.8\.0, 2\.10\.0"):
        matrix.remove(matrix.parse(ONE_LINE), parse("torch==2.9.0"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "holds no settings"),
        ('{"matrix": {"req": {"torch": ["2.x"]}}}', "'2.x' is no version of torch"),
        ('{"matrix": {"req": {"torch": [2.8]}}}', "is no version of torch"),
    ],
)
def test_a_configuration_that_holds_no_matrix_is_one_clear_line(text, message):
    with pytest.raises(UserError, match=message):
        matrix.parse(text)


def test_a_list_that_is_missing_cannot_be_edited():
    with pytest.raises(UserError, match="edit its matrix by hand"):
        matrix.add(matrix.parse('{"matrix": {"req": {}}}'), parse("torch==2.9.0"))


@pytest.mark.parametrize("text", ["[1 2]", '{"a" 1}', '{"a": ]', "[1, , 2]"])
def test_spans_refuse_what_is_no_json5(text):
    with pytest.raises(ValueError, match=r"no comma|without a value|unexpected text"):
        json5_spans.parse(text)


def test_spans_find_values_among_comments_and_quotes():
    text = """{a: [1, 'x]', /* ] */ "}\\"", // ]\n null,], "b": {c: -1.5e3}}"""
    found = json5_spans.parse(text)
    assert [text[item.start : item.end] for item in found.members["a"].items] == ["1", "'x]'", '"}\\""', "null"]
    value = found.members["b"].members["c"]
    assert text[value.start : value.end] == "-1.5e3"


def release(framework, version):
    return Release(framework, Version(version))


def test_one_newest_release_needs_one_control_rule():
    newest = dict.fromkeys(("3.11", "3.12", "3.13"), release("torch", "2.15.0"))
    assert matrix.control_rules("torch", newest) == [
        {"req": {"torch": "(?!2\\.15\\.0$).+"}, "env_nobuild": {"REPLICA": "control"}}
    ]


def test_pythons_that_hold_other_newest_releases_have_rules_of_their_own():
    newest = {"3.11": release("jax", "0.10.2"), "3.12": release("jax", "0.12.0.1"), "3.13": release("jax", "0.13.0")}
    patterns = [(rule["python"], rule["req"]["jax"]) for rule in matrix.control_rules("jax", newest)]
    assert patterns == [
        ("3\\.11", "(?!0\\.10\\.2$).+"),
        ("3\\.12", "(?!0\\.12\\.0\\.1$).+"),
        ("(?!(3\\.11|3\\.12)$).+", "(?!0\\.13\\.0$).+"),
    ]
    both = {"3.11": release("jax", "1"), "3.12": release("jax", "1"), "3.13": release("jax", "2")}
    assert [rule["python"] for rule in matrix.control_rules("jax", both)] == [
        "(3\\.11|3\\.12)",
        "(?!(3\\.11|3\\.12)$).+",
    ]


def test_a_nightly_never_takes_the_control_from_a_release():
    candidates = [release("torch", "2.15.0"), release("torch", "2.16.0.dev20261130")]
    assert matrix.newest_by_python(candidates, {"3.12": lambda row: True}) == {"3.12": candidates[0]}
    assert matrix.newest_by_python(candidates[1:], {"3.12": lambda row: True}) == {"3.12": candidates[1]}
    assert matrix.newest_by_python(candidates, {"3.9": lambda row: False}) == {}


def test_control_rules_follow_and_everything_else_stays():
    real = matrix.load()
    newest = {"3.11": release("jax", "0.10.2"), "3.12": release("jax", "0.12.0.1"), "3.13": release("jax", "0.13.0")}
    edited = matrix.with_controls(real, "jax", newest)
    exclude = json5.loads(edited.text)["exclude"]
    wanted = matrix.control_rules("jax", newest)
    assert exclude[-3:] == wanted
    assert exclude[:-3] == json5.loads(real.text)["exclude"][:-2]
    assert re.findall(r"//.*", edited.text) == re.findall(r"//.*", real.text)
    # One group again: the rules that are too many go, and the layout is as before but for the one that stays.
    single = matrix.with_controls(edited, "jax", dict.fromkeys(newest, release("jax", "0.13.0")))
    assert json5.loads(single.text)["exclude"][-1] == matrix.control_rules("jax", {"3.11": release("jax", "0.13.0")})[0]
    assert len(json5.loads(single.text)["exclude"]) == len(exclude) - 2


def test_a_configuration_without_controls_gets_none():
    before = matrix.parse(ONE_LINE)
    assert matrix.with_controls(before, "jax", {"3.11": release("jax", "0.9.2")}) is before


def test_the_control_rules_name_the_newest_release_of_each_python():
    real = matrix.load()
    for framework in FRAMEWORKS:
        newest = matrix.newest_by_python(real.of(framework), rows.supports({}))
        assert matrix.with_controls(real, framework, newest).text == real.text


@pytest.mark.parametrize("python", lock.PYTHONS)
def test_asv_itself_leaves_one_control_for_each_framework(python):
    configuration = asv.config.Config.load(str(matrix.PATH))
    cells = [
        {kind_name: value for kind_name, value in cell.items() if value}
        for cell in environment.iter_matrix("pinned", [python], configuration)
    ]
    held = {
        framework: [row for row in matrix.load().of(framework) if constraints.load(row).supports(f"{python}.0")]
        for framework in FRAMEWORKS
    }
    for framework in FRAMEWORKS:
        controls = [
            cell["req", framework]
            for cell in cells
            if ("req", framework) in cell and cell.get(("env_nobuild", "REPLICA")) == "control"
        ]
        assert controls == [str(max(held[framework]).version)]
    plain = [cell for cell in cells if ("env_nobuild", "REPLICA") not in cell]
    assert len(plain) == len(matrix.load().rows)
    assert all(len([key for key in cell if key[0] == "req"]) == 1 for cell in cells)


def test_asv_knows_every_key_of_the_configuration():
    content = json5.loads(matrix.PATH.read_text(encoding="utf-8"))
    assert set(content) - {"version"} <= set(vars(asv.config.Config()))


@pytest.mark.parametrize(
    "entries",
    [
        'null, "2.2.0",  // of 2.2.0\n   "2.8.0"',
        'null, "2.2.0" /* of 2.2.0 */, "2.8.0"',
        'null, "2.2.0", /* of 2.2.0 */ "2.8.0"',
        'null, // of null\n "2.2.0", // of 2.2.0\n "2.8.0"',
        'null, "2.2.0", "2.8.0" /* of 2.8.0 */',
        'null, "2.2.0", "2.8.0", /* of 2.8.0 */',
        'null, // of null\n "2.2.0", /* of 2.2.0 */ "2.8.0" // of 2.8.0\n',
    ],
)
def test_comments_of_other_rows_stay_and_stay_behind_theirs(entries):
    before = matrix.parse(f'{{"matrix": {{"req": {{"torch": [{entries}]}}}}}}')
    for row in before.rows:
        after = matrix.remove(before, row)
        assert versions(after.text) == [str(other.version) for other in before.rows if other != row]
        lost = set(re.findall(r"of [\w.]+", before.text)) - set(re.findall(r"of [\w.]+", after.text))
        assert lost <= {f"of {row.version}"}
    for version in ("2.0.0", "2.7.0", "2.9.0"):
        after = matrix.add(before, parse(f"torch=={version}"))
        for owner in re.findall(r"of ([\w.]+)", before.text):
            behind = after.text.rpartition(f"of {owner}")[0]
            assert re.findall(r'"[\d.]+"|null', behind)[-1].strip('"') == owner


def test_a_file_keeps_its_line_ends_its_mode_and_its_link(tmp_path):
    target = tmp_path / "elsewhere" / "asv.conf.json"
    target.parent.mkdir()
    target.write_bytes(LINES.replace("\n", "\r\n").encode())
    target.chmod(0o600)
    link = tmp_path / "asv.conf.json"
    link.symlink_to(target)
    matrix.save(matrix.add(matrix.load(link), parse("torch==2.9.0")), link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600
    content = target.read_bytes()
    assert b'"2.9.0",\r\n' in content
    assert content.count(b"\n") == content.count(b"\r\n") == LINES.count("\n") + 1


THEIRS = {"req": {"torch": r"2\.2\.0"}, "env_nobuild": {"REPLICA": "control"}}


def test_a_control_rule_that_a_user_wrote_stays():
    newest = {"3.11": release("torch", "2.9.0")}
    (ours,) = matrix.control_rules("torch", {"3.11": release("torch", "2.8.0")})
    other = {**ours, "env": {"X": "1"}}
    content = {"matrix": {"req": {"torch": ["2.8.0", "2.9.0"]}}, "exclude": [THEIRS, ours, other]}
    edited = matrix.with_controls(matrix.parse(json.dumps(content)), "torch", newest)
    assert json5.loads(edited.text)["exclude"] == [THEIRS, *matrix.control_rules("torch", newest), other]


@pytest.mark.parametrize("exclude", ['["x"]', '{"a": 1}', "7", '"x"', "[null]"])
def test_exclude_rules_that_are_none_are_said(exclude):
    before = matrix.parse(f'{{"matrix": {{"req": {{"torch": ["2.8.0"]}}}}, "exclude": {exclude}}}')
    with pytest.raises(UserError, match="exclude is no list of rules"):
        matrix.with_controls(before, "torch", {"3.11": release("torch", "2.8.0")})


@pytest.mark.parametrize("exclude", ["null", "[]", '[{"req": null, "env_nobuild": {"REPLICA": "control"}}]'])
def test_rules_that_are_not_ours_are_passed_over(exclude):
    before = matrix.parse(f'{{"matrix": {{"req": {{"torch": ["2.8.0"]}}}}, "exclude": {exclude}}}')
    assert matrix.with_controls(before, "torch", {"3.11": release("torch", "2.8.0")}) is before


@pytest.mark.parametrize("rows_text", ['"2.8.0"', '[null\n, "2.8.0"\n, "2.9.0"]'])
def test_a_layout_that_cannot_be_edited_is_not_said_to_be_unreadable(rows_text):
    before = matrix.parse(f'{{"matrix": {{"req": {{"torch": {rows_text}}}}}}}')
    with pytest.raises(UserError, match=r"the layout of asv\.conf\.json cannot be edited"):
        matrix.add(before, parse("torch==2.8.5"))


def test_one_version_written_in_two_ways_is_one_row():
    before = matrix.parse(ONE_LINE)
    assert str(before.row_of(parse("torch==2.8")).version) == "2.8.0"
    assert before.row_of(parse("torch==2.9")) is None
    assert matrix.add(before, parse("torch==2.8")) is before
    assert versions(matrix.remove(before, parse("torch==2.8")).text) == ["2.10.0"]
