"""Where each value of a JSON5 text stands, so that a list can be edited and every comment stays where it is. Pure."""

import dataclasses
import re

# Blanks and comments; a string; anything else up to a delimiter (number, null, unquoted key).
_GAP = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:\\.|[^"\\])*"|' + r"'(?:\\.|[^'\\])*'", re.DOTALL)
_WORD = re.compile(r"[^\s,:\[\]{}/\"']+")


@dataclasses.dataclass(frozen=True)
class Node:
    """One value: text[start:end]. `items` of an array, `members` (by key) of an object."""

    start: int
    end: int
    items: tuple["Node", ...] = ()
    members: dict[str, "Node"] = dataclasses.field(default_factory=dict)


def parse(text: str) -> Node:
    """Return the outermost value; raises ValueError where the text is no JSON5."""
    return _value(text, _skip(text, 0))


def _skip(text: str, position: int) -> int:
    return _GAP.match(text, position).end()


def _value(text: str, position: int) -> Node:
    if text[position : position + 1] == "[":
        return _array(text, position)
    if text[position : position + 1] == "{":
        return _object(text, position)
    return Node(position, _scalar_end(text, position))


def _scalar_end(text: str, position: int) -> int:
    match = _STRING.match(text, position) or _WORD.match(text, position)
    if not match:
        raise ValueError(f"unexpected text at {position}: {text[position : position + 20]!r}")
    return match.end()


def _array(text: str, start: int) -> Node:
    items = []
    position = _skip(text, start + 1)
    while text[position : position + 1] != "]":
        items.append(_value(text, position))
        position = _separator(text, items[-1].end, "]")
    return Node(start, position + 1, items=tuple(items))


def _object(text: str, start: int) -> Node:
    members = {}
    position = _skip(text, start + 1)
    while text[position : position + 1] != "}":
        end = _scalar_end(text, position)
        colon = _skip(text, end)
        if text[colon : colon + 1] != ":":
            raise ValueError(f"a key without a value at {position}")
        value = _value(text, _skip(text, colon + 1))
        members[text[position:end].strip("\"'")] = value
        position = _separator(text, value.end, "}")
    return Node(start, position + 1, members=members)


def _separator(text: str, end: int, closing: str) -> int:
    """Return where the next item or the closing bracket stands."""
    position = _skip(text, end)
    if text[position : position + 1] == ",":
        return _skip(text, position + 1)
    if text[position : position + 1] != closing:
        raise ValueError(f"no comma at {position}")
    return position


def insert(text: str, array: Node, place: int, item: str) -> str:
    """Return the text with an item before the array's item number `place`, laid out like its neighbours."""
    if not array.items:
        return text[: array.start + 1] + item + text[array.start + 1 :]
    if place == 0:
        first = array.items[0]
        return text[: first.start] + item + _between(text, array.start + 1, first.start) + text[first.start :]
    before = array.items[place - 1]
    last = place == len(array.items)
    following = array.end - 1 if last else array.items[place].start
    comma = _skip(text, before.end)
    has_comma = text[comma : comma + 1] == ","
    line_end = text.find("\n", before.end, following)
    if line_end < 0:
        if not last:
            return text[:following] + f"{item}, " + text[following:]
        # A comment behind the item before belongs to that.
        gap = text[before.end : following].rstrip()
        added = f"{gap} {item}," if has_comma else f",{gap} {item}"
        return text[: before.end] + added + text[before.end + len(gap) :]
    # One item a line: a comment at the end of the line before belongs to the item before.
    indent = re.search(r"[^\n]*$", text[: before.start]).group()
    new_line = "\n" + re.match(r"\s*", indent).group() + item + ("," if has_comma else "")
    if not has_comma:
        return text[: before.end] + "," + text[before.end : line_end] + new_line + text[line_end:]
    return text[:line_end] + new_line + text[line_end:]


def _between(text: str, start: int, end: int) -> str:
    gap = text[start:end]
    return ", " if "\n" not in gap else ",\n" + gap.rpartition("\n")[2]


def remove(text: str, array: Node, place: int) -> str:
    """Return the text without the array's item number `place`, its comma, and a line that held nothing else."""
    item = array.items[place]
    last = place == len(array.items) - 1
    comma = _skip(text, item.end)
    has_comma = text[comma : comma + 1] == ","
    line_start = text.rfind("\n", 0, item.start) + 1
    line_end = text.find("\n", item.end)
    end = comma + 1 if has_comma else item.end
    alone = not text[line_start : item.start].strip() and re.match(r"\s*(//[^\n]*)?\n", text[end:])
    if alone and line_start > array.start and line_end < array.end:
        text = text[:line_start] + text[line_end + 1 :]
    elif has_comma:
        text = text[: item.start] + text[re.compile(r"[ \t]*").match(text, end).end() :]
    elif place:
        # The comma before goes; a comment behind that belongs to the item before.
        comma = _skip(text, array.items[place - 1].end)
        gap = text[comma + 1 : item.start]
        kept = gap if "//" in gap else gap.rstrip()
        return text[:comma] + kept + text[item.end :]
    else:
        return text[: item.start] + text[item.end :]
    if last and place and not has_comma:
        # The item before is the last one now; strict JSON has no comma there.
        comma = _skip(text, array.items[place - 1].end)
        text = text[:comma] + text[comma + 1 :]
    return text


def replace(text: str, node: Node, item: str) -> str:
    return text[: node.start] + item + text[node.end :]
