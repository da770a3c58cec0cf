"""Which bumps `bumps.html` shows at once and which it loads when they are opened."""

from packaging.version import Version

# Benchmarks whose rows stand in the page itself: what a browser opens at once.
INLINE_ROWS = 2500


def arrange(reports: list[dict]) -> tuple[list[dict], list[dict]]:
    """Return (shown at once, loaded when opened).

    The newest bump of each framework in each place comes first, the newest measured of them at the top; then all
    others. What is shown at once has at most INLINE_ROWS benchmarks in all.
    """
    newest: dict[tuple, dict] = {}
    for report in reports:
        line = _line(report)
        if line not in newest or _newness(report) > _newness(newest[line]):
            newest[line] = report
    first = sorted(newest.values(), key=_recency, reverse=True)
    others = sorted((each for each in reports if each is not newest[_line(each)]), key=_recency, reverse=True)
    inline, rows = 0, 0
    for report in first:
        rows += len(report["benchmarks"])
        if rows > INLINE_ROWS:
            break
        inline += 1
    return first[:inline], first[inline:] + others


def _line(report: dict) -> tuple:
    return tuple(report[name] for name in ("framework", "machine", "python", "accelerator"))


def _newness(report: dict) -> tuple:
    return Version(report["new"]), report["measured"] or ""


def _recency(report: dict) -> tuple:
    return report["measured"] or "", *_newness(report)
