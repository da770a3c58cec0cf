"""How the commands print: tables for people, JSON for machines, progress on standard error."""

import json
import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

# Rich takes 80 columns for a pipe or a log, and would fold there.
WIDTH_OF_A_PIPE = 160


def table(columns: list[str], rows: list[list[str]]) -> None:
    """Print rows of cells under column names."""
    width = None if sys.stdout is not None and sys.stdout.isatty() else WIDTH_OF_A_PIPE
    console = Console(width=width, highlight=False)
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        shown.add_column(name, overflow="fold")
    for row in rows:
        # Cells hold names and messages that others wrote: no markup in them.
        shown.add_row(*[Text(cell) if isinstance(cell, str) else cell for cell in row])
    # Not by rich: where a pipe's reader went away, it ends the process with 1, which says that something was found.
    with console.capture() as rendered:
        console.print(shown)
    print(rendered.get(), end="")


def as_json(content) -> None:
    print(json.dumps(content, indent=2))


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
