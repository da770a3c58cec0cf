"""Whether what somebody sent is what it should be: a result file, a machine's facts, records. Pure."""

import functools
import json
import math
import pathlib

import jsonschema
from asv.util import UserError

from bumps import journals
from bumps.results import ASV_FORMAT, in_current_format

SCHEMA = pathlib.Path(__file__).with_name("result_schema.json")
# A benchmark of ours has a few hundred.
MOST_COMBINATIONS = 100_000
LONGEST_REASON = 200
# asv has twelve; whether they are unique takes the square of their number.
MOST_COLUMNS = 100
# In asv's milliseconds: what is later is no time that a calendar has.
LATEST = 10**14
INTERVAL = ("stats_ci_99_a", "stats_ci_99_b")
PER_FIGURE = (*INTERVAL, "stats_q_25", "stats_q_75", "stats_number", "stats_repeat")


def parse(raw: bytes, name: str) -> dict:
    """Return the JSON object that a file holds. Raises UserError."""
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name} is no JSON: {_short(error)}") from None
    if not isinstance(content, dict):
        raise UserError(f"{name} is no JSON object")
    return content


def machine(content: dict, name: str) -> dict:
    """Return a machine's facts. Raises UserError for what is none."""
    _validate(content, "machine", name)
    return content


def result(content: dict, name: str) -> dict:
    """Return a result file's content in asv's current format, without profiles: to look at one is to load what its
    sender wrote. Raises UserError for what is no result file."""
    try:
        content = {**in_current_format(content), "version": ASV_FORMAT}
    except ValueError as error:
        raise UserError(f"{name} {_short(error)}") from None
    columns = content.get("result_columns")
    if isinstance(columns, list) and len(columns) > MOST_COLUMNS:
        raise UserError(f"{name} has over {MOST_COLUMNS} result_columns")
    _validate(content, "result", name)
    columns = content["result_columns"]
    for benchmark, values in content["results"].items():
        try:
            check(dict(zip(columns, values, strict=False)))
        except ValueError as error:
            raise UserError(f"{name}: {ascii(benchmark)[1:-1][:LONGEST_REASON]}: {error}") from None
        if "profile" in columns and columns.index("profile") < len(values):
            values[columns.index("profile")] = None
    return content


def lines(raw: bytes, name: str) -> bytes:
    """Return a sidecar's or a journal's content. Raises UserError for one that holds anything but records."""
    found = raw.split(b"\n")
    # A crash may have cut the last line.
    for number, line in enumerate(found[:-1], 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or not isinstance(record.get("record"), str):
            raise UserError(f"{name}: line {number} is no record")
    return raw[: len(raw) - len(found[-1])]


@functools.cache
def _validator(kind: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator({**schema, "$ref": f"#/$defs/{kind}"})


def _validate(content: dict, kind: str, name: str) -> None:
    error = jsonschema.exceptions.best_match(_validator(kind).iter_errors(content))
    if error is not None:
        where = "/".join(map(str, error.absolute_path))
        raise UserError(f"{name} is not as it should be: {_short(where)}{': ' if where else ''}{_short(error.message)}")


def check(figures: dict) -> None:
    """Raise ValueError unless the columns of one benchmark belong together."""
    params = figures.get("params")
    if not isinstance(params, list) or not all(
        isinstance(values, list) and all(isinstance(value, str) for value in values) for values in params
    ):
        raise ValueError("params is no list of lists of names")
    count = math.prod(map(len, params))
    if count > MOST_COMBINATIONS:
        raise ValueError(f"has over {MOST_COMBINATIONS} combinations of parameters")
    for column in ("result", *PER_FIGURE):
        values = figures.get(column)
        # asv's interval of one sample has no ends.
        allowed = _is_limit if column in INTERVAL else _is_value
        if values is not None and not (_has(values, count) and all(map(allowed, values))):
            raise ValueError(f"{column} is no list of {count} numbers")
    samples = figures.get("samples")
    if samples is not None and not (
        _has(samples, count) and all(each is None or journals.are_numbers(each) for each in samples)
    ):
        raise ValueError(f"samples is no list of {count} lists of numbers")
    for column, kinds in (("version", str), ("started_at", int), ("duration", (int, float))):
        value = figures.get(column)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
            raise ValueError(f"{column} is not what asv writes")
    for column in ("started_at", "duration"):
        value = figures.get(column)
        if value is not None and not (journals.are_numbers([value]) and 0 <= value < LATEST):
            raise ValueError(f"{column} is out of range")


def _has(values: object, count: int) -> bool:
    return isinstance(values, list) and len(values) == count


def _is_value(value: object) -> bool:
    """Whether asv writes this of a figure: null failed, NaN was skipped."""
    return value is None or (isinstance(value, float) and value != value) or journals.are_numbers([value])


def _is_limit(value: object) -> bool:
    return _is_value(value) or (isinstance(value, float) and math.isinf(value))


def _short(text: object) -> str:
    first = (str(text).splitlines() or [""])[0]
    printable = "".join(each if each.isprintable() else "?" for each in first)
    return printable if len(printable) <= LONGEST_REASON else printable[:LONGEST_REASON] + " …"
