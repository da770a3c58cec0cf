"""What an alert says: a report into one message, and whether it has to be sent at all. Pure."""

import hashlib
import json
import math
import re
from dataclasses import dataclass

from bumps import report as reports
from bumps import reproduce
from bumps.site.feed import bump_id

WORST_SHOWN = 10
# What says nothing of a row that was told about before.
UNSETTLED = ("regressed", "ambiguous", "unmeasured")
# By less than this logarithm a ratio moves from night to night.
SAME_RATIO = math.log(1.1)
RATIO = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")
# An issue's body is limited; the rest of so many rows hardly decides.
MOST_IDS = 1000


@dataclass(frozen=True)
class Message:
    """One message for one bump.

    `bump` names the bump whatever is found, `state` what was found: what repeats it is not sent. `alarming` is
    false when nothing is regressed or broken (any more): such a message only closes an earlier one. `unsettled` are ids
    of rows without a settled verdict.
    """

    bump: str
    state: str
    title: str
    markdown: str
    plain: str
    alarming: bool
    unsettled: frozenset[str]

    def repeats(self, before: str | None) -> bool:
        """Whether the state `before` told of the same rows and verdicts, and of no ratio that moved by a tenth."""
        if before is None or _digest(before) != _digest(self.state):
            return False
        told, found = _ratios(before), _ratios(self.state)
        return all(abs(math.log(found[row] / told[row])) < SAME_RATIO for row in found.keys() & told.keys())

    def clears(self, before: str) -> bool:
        """Whether no row that was told about with the state `before` is regressed, broken or unsettled."""
        return not self.alarming and not self.unsettled & _rows_of(before).keys()

    @property
    def marker(self) -> str:
        """What is hidden in an issue, so that it is found again."""
        return f"<!-- bump:{self.bump} -->"


def _digest(state: str) -> str:
    return state.partition(":")[0]


def _rows_of(state: str) -> dict[str, str]:
    """Return the ids of the rows that a state tells of, with their ratios, empty where a row has none."""
    parts = (each.partition("=") for each in state.partition(":")[2].split(",") if each)
    return {row: ratio for row, _, ratio in parts}


def _ratios(state: str) -> dict[str, float]:
    found = {row: float(ratio) for row, ratio in _rows_of(state).items() if RATIO.fullmatch(ratio)}
    return {row: ratio for row, ratio in found.items() if ratio > 0}


def rows_to_tell(report: dict) -> list[dict]:
    """Return the rows that an alert is about: broken, or regressed and confirmed; not those that are acknowledged."""
    return [
        row
        for row in report["benchmarks"]
        if not row["acknowledged"]
        and (row["verdict"] == "broken" or (row["verdict"] == "regressed" and row["confirmed"]))
    ]


def message(report: dict, site: str | None = None) -> Message:
    """Return the message of a report; `site` is where the pages are served, for links to rows."""
    rows = rows_to_tell(report)
    bump = bump_id(report)
    told = {_row_id(row): row for row in rows}
    unsettled = {
        _row_id(row) for row in report["benchmarks"] if row["verdict"] in UNSETTLED and not row["acknowledged"]
    }
    verdicts = sorted((each, row["verdict"]) for each, row in told.items())
    digest = hashlib.sha256(json.dumps(verdicts).encode()).hexdigest()[:16]
    ratios = [f"{each}={told[each]['ratio'] or 0:.3f}".removesuffix("=0.000") for each in sorted(told)]
    head = f"{report['framework']} {report['old']} → {report['new']}"
    return Message(
        bump=bump,
        state=f"{digest}:{','.join(ratios[:MOST_IDS])}",
        title=_title(head, rows, report),
        markdown=_text(report, rows, site, bump, _code),
        plain=_text(report, rows, site, bump, _plain),
        alarming=bool(rows),
        unsettled=frozenset(unsettled - told.keys()),
    )


def _row_id(row: dict) -> str:
    return hashlib.sha256(json.dumps([row["name"], row["params"]], sort_keys=True).encode()).hexdigest()[:10]


def _title(head: str, rows: list[dict], report: dict) -> str:
    judged = report["summary"]["judged"]
    broken = sum(row["verdict"] == "broken" for row in rows)
    ratios = [row["ratio"] for row in rows if row["verdict"] == "regressed" and row["ratio"]]
    parts = []
    if ratios:
        parts.append(f"{len(ratios)} of {judged} regressed, worst ×{max(ratios, key=lambda r: max(r, 1 / r)):.2f}")
    if broken:
        parts.append(f"{broken} broken")
    return f"{head}: {', '.join(parts) or 'nothing regressed'}"


def _text(report: dict, rows: list[dict], site: str | None, bump: str, quote) -> str:
    summary = report["summary"]
    lines = [quote(summary["sentence"]), ""]
    control = summary["control"]
    lines.append(
        f"Machine {quote(report['machine'])}, Python {quote(report['python'])}, {quote(report['accelerator'] or '')}, "
        f"measured {report['measured'] or 'at an unknown time'}. "
        f"Control: {control['alarms']} false alarms of {control['judged']} judged."
    )
    if rows:
        lines.append("")
    for row in rows[:WORST_SHOWN]:
        lines.append(f"- {row['verdict']}: {quote(reports.short_name(row))} {_figure(row)}".rstrip())
    if len(rows) > WORST_SHOWN:
        lines.append(f"- and {len(rows) - WORST_SHOWN} more")
    if report["components"]:
        lines += ["", "What else changed in the environment:"]
        lines += [
            f"- {quote(each['name'])} {quote(each['old'] or 'absent')} → {quote(each['new'] or 'absent')}"
            for each in report["components"]
        ]
    if site:
        lines += ["", f"All rows: {site.rstrip('/')}/bumps.html#{bump}"]
    scripts = [row for row in rows if reproduce.is_step(row, report)]
    if scripts:
        which = "row" if scripts[0] is rows[0] else "step"
        lines += ["", f"Reproduce the first {which} on your own machine:", "", _reproduce(report, scripts[0], quote)]
    return "\n".join(lines) + "\n"


def _figure(row: dict) -> str:
    if row["verdict"] == "broken" or row["ratio"] is None:
        return ""
    interval = f" ({row['low']:.2f}–{row['high']:.2f})" if row["low"] is not None else ""
    return f"×{row['ratio']:.2f}{interval}"


def _reproduce(report: dict, row: dict, quote) -> str:
    releases = f"--framework {report['framework']} --old {report['old']} --new {report['new']}"
    return quote(f"python -m bumps reproduce {releases} {json.dumps(reports.short_name(row))}")


def _code(text: object) -> str:
    """Return text that Markdown shows as it is: names come from result files, which anybody may have written."""
    clean = "".join(character if character.isprintable() else " " for character in str(text)).replace("`", "'")
    return f"`{clean}`" if clean.strip() else ""


def _plain(text: object) -> str:
    return "".join(character if character.isprintable() else " " for character in str(text))
