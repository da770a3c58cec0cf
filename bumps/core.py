"""The default selection of a bump check, as benchmarks/core.txt names it. Pure."""

import re
from collections.abc import Iterable

KINDS = ("cpu", "gpu")
_LINE = re.compile(rf"(?:({'|'.join(KINDS)}): *)?(.+)")


def kind_of(accelerator: str | None) -> tuple[str, ...]:
    """Return what kind of device an accelerator (`cpu`, `cuda13`; None where nobody said) is, or may be."""
    if accelerator is None:
        return KINDS
    return ("cpu",) if accelerator == "cpu" else ("gpu",)


def patterns(text: str, accelerators: Iterable[str | None]) -> list[str]:
    """Return the regular expressions for rows on these accelerators: one a line, those behind `cpu:` and `gpu:` for
    rows on such a device alone; empty lines and those that start with # are none."""
    kinds = {kind for accelerator in accelerators for kind in kind_of(accelerator)}
    lines = (line.strip() for line in text.splitlines())
    parsed = (_LINE.fullmatch(line) for line in lines if line and not line.startswith("#"))
    return [pattern for kind, pattern in (match.groups() for match in parsed) if kind is None or kind in kinds]
