"""A report (bumps.check) as text for the terminal, as Markdown for an issue or a pull request, and as JSON."""

import json
from collections.abc import Iterator

from asv.util import human_value
from rich.console import Group
from rich.table import Table
from rich.text import Text

from bumps.console import Console

# From so many columns on, a table's columns have room beside each other.
WIDE = 140
# Colour never stands alone: the word is beside it.
STYLES = {
    "regressed": "bold red",
    "broken": "bold red",
    "ambiguous": "yellow",
    "improved": "green",
    "fixed": "green",
    "same": "dim",
    "unmeasured": "dim",
}
QUIET = ("same", "unmeasured")
MARKDOWN_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>|#~"})


def short_name(row: dict) -> str:
    """Return a benchmark's name with its parameters, the framework left out: the report has one."""
    values = [value for name, value in row["params"].items() if name != "framework"]
    return f"{row['name']}({', '.join(values)})" if values else row["name"]


def ratio_text(row: dict) -> str:
    """Return new/old with its interval."""
    if row["ratio"] is None:
        return ""
    if row["low"] is None or row["high"] is None:
        return f"{row['ratio']:.3f}×"
    return f"{row['ratio']:.3f}× ({row['low']:.3f} … {row['high']:.3f})"


def figures_text(row: dict) -> str:
    """Return both sides' figures in the benchmark's unit."""
    sides = (row["figure_old"], row["figure_new"])
    return " → ".join("–" if side is None else human_value(side, row["unit"] or "") for side in sides)


def _remarks(row: dict) -> str:
    said = [row["why"], *(f"audit: {flag}" for flag in row["audits"])]
    if row["acknowledged"]:
        known = row["acknowledged"]
        said.append(f"acknowledged by {known['who']} until {known['until']}: {known['why']}")
    return "; ".join(said)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f} %"


def change_text(share: float | None) -> str | None:
    """Return a change as people read it: beyond a doubling, how much does not matter."""
    return "more than a doubling" if share is not None and share > 1 else _percent(share)


def facts(report: dict) -> Iterator[tuple[str, str]]:
    """Yield what stands above the table: (name, value)."""
    accelerator = f", {report['accelerator']}" if report["accelerator"] else ""
    yield "row", f"{report['machine']}{accelerator}, Python {report['python']}"
    summary = report["summary"]
    if summary["geomean"]["overall"]:
        parts = [f"{name} {value:.3f}×" for name, value in summary["geomean"]["by_workload"].items()]
        yield (
            "geometric mean of times",
            f"{summary['geomean']['overall']:.3f}×" + (f" ({', '.join(parts)})" if parts else ""),
        )
    if summary["smallest_detectable"]:
        yield "smallest change found", f"{change_text(summary['smallest_detectable'])} (median over the benchmarks)"
    control = summary["control"]
    if control["judged"]:
        yield "control", f"{control['alarms']} of {control['judged']} identical pairs called changed"
    else:
        yield "control", "none was measured"
    if not report["interleaved"]:
        yield "interleaved", "no: without it, or a control around both sides, nothing is more than ambiguous"
    for reason in report["forced"]:
        yield "forced", reason
    if summary["audits"]:
        yield "audits", ", ".join(f"{flag} ({count})" for flag, count in summary["audits"].items())
    if report["components"]:
        changes = [f"{each['name']} {each['old'] or 'none'} → {each['new'] or 'none'}" for each in report["components"]]
        yield "also changed", ", ".join(changes)
    if report["not_selected"]:
        yield "not selected", f"{report['not_selected']} benchmarks with parameters that neither row measured"
    for note in report["notes"]:
        yield "note", note


def as_json(report: dict) -> str:
    """Return strict JSON, as schema.json describes it."""
    return json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False)


def as_text(report: dict, everything: bool = False, width: int = WIDE) -> Group:
    """Return what a rich console of so many columns prints. Without `everything`, benchmarks that stayed the same are
    only counted."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts(report):
        grid.add_row(Text(name), Text(value))
    parts: list = [Text(report["summary"]["sentence"], style="bold"), grid]
    rows = _shown(report, everything)
    if rows:
        parts += [Text(), _table(rows) if width >= WIDE else _list(rows)]
    if hidden := len(report["benchmarks"]) - len(rows):
        parts.append(Text(f"{hidden} the same or unmeasured (--all shows them)", style="dim"))
    if report["excluded"]:
        parts.append(Text(f"\nexcluded ({len(report['excluded'])}):", style="yellow"))
        parts += [Text(f"  {line}") for line in _exclusions(report)]
    return Group(*parts)


def _shown(report: dict, everything: bool) -> list[dict]:
    return [row for row in report["benchmarks"] if everything or row["verdict"] not in QUIET]


def _table(rows: list[dict]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("benchmark", overflow="fold", ratio=3)
    table.add_column("new/old", no_wrap=True)
    table.add_column("old → new", no_wrap=True)
    table.add_column("processes", no_wrap=True)
    table.add_column("why", overflow="fold", ratio=4)
    for row in rows:
        table.add_row(
            Text(row["verdict"], style=STYLES[row["verdict"]]),
            Text(short_name(row)),
            Text(ratio_text(row)),
            Text(figures_text(row)),
            Text(f"{row['processes_old']} + {row['processes_new']}"),
            Text(_remarks(row)),
        )
    return table


def _list(rows: list[dict]) -> Table:
    """The table where its columns have no room beside each other."""
    listed = Table.grid(padding=(0, 2, 0, 0))
    listed.add_column(no_wrap=True)
    listed.add_column(overflow="fold")
    for row in rows:
        figures = (ratio_text(row), figures_text(row), f"{row['processes_old']} + {row['processes_new']} processes")
        told = [Text(short_name(row), style="bold"), Text("  ".join(filter(None, figures))), Text(_remarks(row))]
        listed.add_row(Text(row["verdict"], style=STYLES[row["verdict"]]), Group(*told))
    return listed


def _exclusions(report: dict) -> list[str]:
    return [
        f"{each['file']}: {each['benchmark']}: {each['why']}" if each["benchmark"] else f"{each['file']}: {each['why']}"
        for each in report["excluded"]
    ]


def print_text(report: dict, everything: bool = False) -> None:
    """Print to the terminal; a pipe gets lines as long as they are."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=max(console.width, 200))
    console.print(as_text(report, everything, console.width))


def _escape(text: str) -> str:
    return " ".join(text.split()).translate(MARKDOWN_SPECIAL)


def as_markdown(report: dict, everything: bool = False) -> str:
    """Return GitHub's Markdown; every name in it is text, whatever it holds."""
    lines = [f"### {_escape(report['summary']['sentence'])}", ""]
    lines += [f"- {_escape(name)}: {_escape(value)}" for name, value in facts(report)]
    rows = _shown(report, everything)
    if rows:
        lines += ["", "| verdict | benchmark | new/old | old → new | processes | why |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = (
            row["verdict"],
            short_name(row),
            ratio_text(row),
            figures_text(row),
            f"{row['processes_old']} + {row['processes_new']}",
            _remarks(row),
        )
        lines.append("| " + " | ".join(map(_escape, cells)) + " |")
    if hidden := len(report["benchmarks"]) - len(rows):
        lines += ["", f"{hidden} the same or unmeasured."]
    if report["excluded"]:
        lines += ["", f"Excluded ({len(report['excluded'])}):", ""]
        lines += [f"- {_escape(line)}" for line in _exclusions(report)]
    return "\n".join(lines) + "\n"
